// SPDX-License-Identifier: Apache-2.0
// core/quota.cpp: reads the quotas of control groups v1 and v2.
#include "core/quota.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// Every `quota` microseconds of CPU time in `period` of them.
double cores_of(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoQuota; }

/// The first number of a file, or 0: "max", "-1" and what is damaged are no quota.
double number_in(const fs::path& file) {
  double number = 0;
  std::ifstream(file) >> number;
  return number;
}

double quota_v1(const fs::path& group) {
  return cores_of(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

double quota_v2(const fs::path& group) {
  double quota = 0;
  double period = 0;
  std::ifstream(group / "cpu.max") >> quota >> period;
  return cores_of(quota, period);
}

bool has_word(const std::string& list, std::string_view wanted) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == wanted) return true;
  }
  return false;
}

/// A hierarchy of groups that can have CPU quotas: where it is mounted, and which of its groups that shows.
struct Hierarchy {
  bool v2;
  fs::path mounted_at;
  fs::path shown;
};

/// Of /proc/self/mountinfo, where a line is
///   id parent device shown mounted_at options [more …] - type source options
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream before(line);
    std::string skipped;
    std::string shown;
    std::string mounted_at;
    before >> skipped >> skipped >> skipped >> shown >> mounted_at;
    const auto dash = line.find(" - ");
    if (!before || dash == std::string::npos) continue;
    std::istringstream after(line.substr(dash + 3));
    std::string type;
    std::string options;
    after >> type >> skipped >> options;
    if (type == "cgroup2" || (type == "cgroup" && has_word(options, "cpu"))) {
      found.push_back({type == "cgroup2", root / fs::path(mounted_at).relative_path(), shown});
    }
  }
  return found;
}

/// The path of this process's group in a hierarchy, of /proc/self/cgroup, where a line is "number:controllers:path" and
/// that of v2 has no controllers.
fs::path own_group(const fs::path& root, bool v2) {
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_word(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

/// The least quota from the process's own group up to what is mounted.
double least_quota(const fs::path& root, const Hierarchy& in) {
  fs::path below = own_group(root, in.v2).lexically_relative(in.shown);
  // A container sees its own group as the root, whatever the path of it says.
  if (below.empty() || *below.begin() == ".." || below == ".") below.clear();
  double least = kNoQuota;
  for (;; below = below.parent_path()) {
    const fs::path group = in.mounted_at / below;
    least = std::min(least, in.v2 ? quota_v2(group) : quota_v1(group));
    if (below.empty()) return least;
  }
}

}  // namespace

int quota_cores(const fs::path& root) noexcept try {
  double least = kNoQuota;
  for (const Hierarchy& hierarchy : hierarchies(root)) least = std::min(least, least_quota(root, hierarchy));
  return least < INT_MAX ? static_cast<int>(std::ceil(least)) : INT_MAX;
} catch (const std::exception&) {
  return INT_MAX;
}

}  // namespace upsweep
