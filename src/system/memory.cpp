// SPDX-License-Identifier: Apache-2.0
// system/memory.cpp: asks Linux, and the control group that the process may be in, how much memory is free.
#include "system/memory.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/ascii.hpp"
#include "system/system_text.hpp"
#include "system/threads.hpp"
#include "upsweep/machine.hpp"

namespace upsweep {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// The number after the word `name` in a file of names and numbers, or kUnknown.
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

/// The number that a file begins with; kUnknown for "max" too.
std::int64_t number_in(const char* file) {
  const std::string text = system_text(file);
  std::string_view rest = text;
  return number_or(kUnknown, next_word(rest));
}

/// What the group could give back of the files it has read.
std::int64_t file_cache_in_group() {
  const std::int64_t bytes = number_after("inactive_file", "/sys/fs/cgroup/memory.stat");
  return bytes == kUnknown ? 0 : bytes;
}

/// Of the control group at the root of what this process sees, which is a container's.
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

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  if (bytes >= 0x1p70) return "> 1000 EB";
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  char text[32];
  (void)std::snprintf(text, sizeof text, bytes < 1000 ? "%.3g %s" : "%.0f %s", bytes, kUnits[unit]);
  return text;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  constexpr std::string_view kPrefixes = "kmgtpe";
  if (const std::size_t prefix = text.empty() ? kPrefixes.npos : kPrefixes.find(lower_case(text[0]));
      prefix != kPrefixes.npos) {
    value *= std::pow(1024.0, static_cast<double>(prefix + 1));
    text.remove_prefix(1);
    if (text.size() == 2 && lower_case(text[0]) == 'i') text.remove_prefix(1);
  }
  if (text.size() > 1 || (text.size() == 1 && lower_case(text[0]) != 'b')) return std::nullopt;
  if (!(value >= 1 && value < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace upsweep
