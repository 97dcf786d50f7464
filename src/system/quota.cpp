// SPDX-License-Identifier: Apache-2.0
// system/quota.cpp: reads the quotas of control groups v1 and v2.
#include "system/quota.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "system/system_text.hpp"

namespace upsweep {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// Returns the number of cores that `quota` microseconds of CPU time per `period` microseconds are.
double cores_of(double quota, double period) { return quota > 0 && period > 0 ? quota / period : kNoQuota; }

/// Returns the first number of a file, or 0: "max", "-1" and damaged text mean that there is no quota.
double number_in(const fs::path& file) {
  const std::string text = system_text(file);
  std::string_view rest = text;
  return number_or(0.0, next_word(rest));
}

double quota_v1(const fs::path& group) {
  return cores_of(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
}

double quota_v2(const fs::path& group) {
  const std::string text = system_text(group / "cpu.max");
  std::string_view rest = text;
  const double quota = number_or(0.0, next_word(rest));
  return cores_of(quota, number_or(0.0, next_word(rest)));
}

/// Returns whether a comma-separated list contains `wanted`.
bool has_item(std::string_view list, std::string_view wanted) {
  for (;;) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

/// A hierarchy of groups that can have CPU quotas: its mount point, and the group that is shown there.
struct Hierarchy {
  bool v2;
  fs::path mounted_at;
  fs::path shown;
};

/// Reads the hierarchies from /proc/self/mountinfo, where a line is
///   id parent device shown mounted_at options [more …] - type source options
std::vector<Hierarchy> hierarchies(const fs::path& root) {
  std::vector<Hierarchy> found;
  const std::string text = system_text(root / "proc/self/mountinfo");
  for (std::string_view lines = text; !lines.empty();) {
    std::string_view before = next_line(lines);
    const auto dash = before.find(" - ");
    if (dash == std::string_view::npos) continue;
    std::string_view after = before.substr(dash + 3);
    for (int skipped = 0; skipped < 3; ++skipped) next_word(before);
    const std::string_view shown = next_word(before);
    const std::string_view mounted_at = next_word(before);
    const std::string_view type = next_word(after);
    next_word(after);
    if (type == "cgroup2" || (type == "cgroup" && has_item(next_word(after), "cpu"))) {
      found.push_back({type == "cgroup2", root / fs::path(mounted_at).relative_path(), shown});
    }
  }
  return found;
}

/// Returns the path of this process's group in a hierarchy, from /proc/self/cgroup. A line there is
/// "number:controllers:path"; the line of v2 has no controllers.
fs::path own_group(const fs::path& root, bool v2) {
  const std::string text = system_text(root / "proc/self/cgroup");
  for (std::string_view lines = text; !lines.empty();) {
    const std::string_view line = next_line(lines);
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_item(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

/// Returns the minimum quota from the process's own group up to the mounted group.
double least_quota(const fs::path& root, const Hierarchy& in) {
  fs::path below = own_group(root, in.v2).lexically_relative(in.shown);
  // A container sees its own group as the root, whatever its path is.
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
