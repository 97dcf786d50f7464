// SPDX-License-Identifier: Apache-2.0
// system/memory.cpp: asks Linux, and the process's control group, how much memory is free.
#include "system/memory.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "system/system_text.hpp"
#include "system/threads.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// Returns the number after the word `name` in a file of names and numbers, or kUnknown.
std::int64_t number_after(std::string_view name, const char* file) {
  const std::string text = system_text(file);
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view line = next_line(rest);
    if (next_word(line) == name) return number_or(kUnknown, next_word(line));
  }
  return kUnknown;
}

std::int64_t free_in_system() {
  const std::int64_t kilobytes = number_after("MemAvailable:", "/proc/meminfo");
  return kilobytes == kUnknown ? kUnknown : kilobytes * 1024;
}

/// Returns the number that a file begins with, or kUnknown, also for "max".
std::int64_t number_in(const char* file) {
  const std::string text = system_text(file);
  std::string_view rest = text;
  return number_or(kUnknown, next_word(rest));
}

/// Returns the memory of cached files that the group could release.
std::int64_t file_cache_in_group() {
  const std::int64_t bytes = number_after("inactive_file", "/sys/fs/cgroup/memory.stat");
  return bytes == kUnknown ? 0 : bytes;
}

/// For the control group at the root of this process's view, which is that of a container.
std::int64_t free_in_group() {
  const std::int64_t most = number_in("/sys/fs/cgroup/memory.max");
  const std::int64_t used = number_in("/sys/fs/cgroup/memory.current");
  if (most == kUnknown || used == kUnknown) return kUnknown;
  return std::max<std::int64_t>(most - used + file_cache_in_group(), 0);
}

}  // namespace

std::int64_t available_memory() {
  const NotCancelled while_files_are_open;
  return std::min(free_in_system(), free_in_group());
}

}  // namespace upsweep
