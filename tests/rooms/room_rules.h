#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace moeblaze::rooms {

/// What rooms.txt allows. A pattern is a folder, or `folder/*` for every folder below it.
struct RoomRules {
  std::map<std::string, std::vector<std::string>> allowed;    ///< by folder: patterns of folders it may include
  std::map<std::string, std::vector<std::string>> forbidden;  ///< by folder: globs of outside headers, also below it
  std::vector<std::string> generated;                         ///< headers that the build writes
};

/// Reads rules written as rooms.txt describes; throws std::runtime_error naming the line that is neither.
RoomRules readRoomRules(const std::filesystem::path& file);

/// Everything in the sources below `root` that breaks the rules, a line each: an include as `file:line: …`, a folder
/// without a rule, a folder of more than `mostFiles` sources, a rule nobody uses, a circle. Looks at folders whose
/// first part has a rule; empty when all is well.
std::vector<std::string> findRoomFaults(const std::filesystem::path& root, const RoomRules& rules, size_t mostFiles);

}  // namespace moeblaze::rooms
