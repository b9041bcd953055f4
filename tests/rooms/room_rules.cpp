#include "tests/rooms/room_rules.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>

namespace moeblaze::rooms {
namespace {

namespace fs = std::filesystem;

bool matchesRoom(const std::string& pattern, const std::string& folder) {
  if (!pattern.ends_with("/*")) return pattern == folder;
  return folder.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool isSource(const fs::path& path) {
  static const std::set<std::string> kEndings{".h", ".cpp", ".cu", ".cuh", ".c"};
  return kEndings.contains(path.extension().string());
}

/// Walks over the tree once, and collects the faults and the rules that an include made use of.
class Inspection {
 public:
  Inspection(const fs::path& root, const RoomRules& rules) : root_(root), rules_(rules) {}

  std::vector<std::string> run(size_t maxFiles) {
    std::set<std::string> tops;
    for (const auto& [folder, unused] : rules_.allowed) tops.insert(folder.substr(0, folder.find('/')));
    for (const std::string& top : tops)
      for (const auto& entry : fs::recursive_directory_iterator(root_ / top))
        if (entry.is_regular_file() && isSource(entry.path())) inspect(entry.path());
    for (const auto& [folder, count] : filesOf_)
      if (count > maxFiles) faults_.push_back(fmt::format("{}: {} sources, at most {}", folder, count, maxFiles));
    reportUnusedRules();
    reportCircles();
    std::ranges::sort(faults_);
    return faults_;
  }

 private:
  void inspect(const fs::path& path) {
    const std::string file = fs::relative(path, root_).generic_string();
    const std::string folder = fs::path(file).parent_path().generic_string();
    if (++filesOf_[folder] == 1 && !rules_.allowed.contains(folder))
      faults_.push_back(fmt::format("{}: has no line in rooms.txt", folder));
    std::ifstream in(path);
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      std::istringstream words(line);
      std::string directive, header;
      if (!(words >> directive >> header) || directive != "#include" || header.size() < 3) continue;
      const std::string name = header.substr(1, header.size() - 2);
      const std::string fault = header[0] == '<' ? outsideFault(folder, name) : insideFault(folder, name);
      if (!fault.empty()) faults_.push_back(fmt::format("{}:{}: {}", file, number, fault));
    }
  }

  std::string outsideFault(const std::string& folder, const std::string& header) const {
    for (const auto& [room, globs] : rules_.forbidden)
      if (room == folder || folder.starts_with(room + "/"))
        for (const std::string& glob : globs)
          if (fnmatch(glob.c_str(), header.c_str(), 0) == 0) return fmt::format("{} never includes <{}>", room, header);
    return {};
  }

  std::string insideFault(const std::string& folder, const std::string& header) {
    if (header.find('/') == std::string::npos)
      return std::ranges::count(rules_.generated, header) > 0
                 ? std::string{}
                 : fmt::format("\"{}\" is named without its folder", header);
    if (!fs::exists(root_ / header)) return fmt::format("\"{}\" does not exist", header);
    const std::string target = fs::path(header).parent_path().generic_string();
    if (target == folder) return {};
    arrows_[folder].insert(target);
    const auto rule = rules_.allowed.find(folder);
    if (rule != rules_.allowed.end())
      for (const std::string& pattern : rule->second)
        if (matchesRoom(pattern, target)) {
          used_.insert({folder, pattern});
          return {};
        }
    return fmt::format("{} may not include {} (\"{}\")", folder, target, header);
  }

  void reportUnusedRules() {
    for (const auto& [folder, patterns] : rules_.allowed) {
      if (!filesOf_.contains(folder)) faults_.push_back(fmt::format("rooms.txt: {} holds no sources", folder));
      for (const std::string& pattern : patterns)
        if (!used_.contains({folder, pattern}))
          faults_.push_back(fmt::format("rooms.txt: {} does not include {}", folder, pattern));
    }
  }

  void reportCircles() {
    std::map<std::string, int> state;  // 0: not visited; 1: its arrows are being followed; 2: done
    const std::function<void(const std::string&)> follow = [&](const std::string& folder) {
      state[folder] = 1;
      for (const std::string& target : arrows_[folder]) {
        if (state[target] == 1)
          faults_.push_back(fmt::format("{} and {} include each other in a circle", folder, target));
        if (state[target] == 0) follow(target);
      }
      state[folder] = 2;
    };
    for (const auto& [folder, unused] : filesOf_)
      if (state[folder] == 0) follow(folder);
  }

  const fs::path root_;
  const RoomRules& rules_;
  std::map<std::string, size_t> filesOf_;
  std::map<std::string, std::set<std::string>> arrows_;
  std::set<std::pair<std::string, std::string>> used_;
  std::vector<std::string> faults_;
};

}  // namespace

RoomRules readRoomRules(const fs::path& file) {
  RoomRules rules;
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + " cannot be read");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) throw std::runtime_error(fmt::format("{}:{}: no colon", file.string(), number));
    std::istringstream words(line.substr(colon + 1));
    const std::vector<std::string> names{std::istream_iterator<std::string>(words), {}};
    const std::string head = line.substr(0, colon);
    if (head == "generated") {
      rules.generated = names;
    } else if (head.starts_with("never ")) {
      rules.forbidden[head.substr(6)] = names;
    } else {
      rules.allowed[head] = names;
    }
  }
  return rules;
}

std::vector<std::string> findRoomFaults(const fs::path& root, const RoomRules& rules, size_t maxFiles) {
  return Inspection(root, rules).run(maxFiles);
}

}  // namespace moeblaze::rooms
