#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace moeblaze::rooms {

/// The rules that rooms.txt states. A pattern is a folder, or `folder/*`, which stands for every folder below it.
struct RoomRules {
  std::map<std::string, std::vector<std::string>>
      allowed;  ///< key: a folder; value: patterns of the folders it may include
  std::map<std::string, std::vector<std::string>>
      forbidden;  ///< key: a folder; value: globs of outside headers that it and the folders below it never include
  std::vector<std::string> generated;  ///< names of the headers that the build writes
};

/// Reads rules in the form that the head of rooms.txt describes. Throws std::runtime_error when the file cannot be
/// read, and when a line has no colon, naming the line.
RoomRules readRoomRules(const std::filesystem::path& file);

/// Returns one line for everything in the sources below `root` that breaks the rules: an include (as `file:line: …`), a
/// folder without a rule, a folder of more than `maxFiles` sources, a rule that nobody uses, and a circle. Reads every
/// folder whose room, the first part of its path, has a rule. Empty when nothing breaks a rule.
std::vector<std::string> findRoomFaults(const std::filesystem::path& root, const RoomRules& rules, size_t maxFiles);

}  // namespace moeblaze::rooms
