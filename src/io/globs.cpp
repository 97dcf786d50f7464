// SPDX-License-Identifier: Apache-2.0
// io/globs.cpp: finds the files that match a pattern, a folder at a time.
#include "io/globs.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {
namespace {

// Returns the character at `at`: a code point, or a byte if the text is not UTF-8.
CodePoint character(std::string_view text, std::size_t at) {
  const CodePoint c = code_point(text, at);
  return c.bytes > 0 ? c : CodePoint{static_cast<unsigned char>(text[at]), 1};
}

// Returns the end, after its ], of the set that begins with the [ at `at`. Without an end, the [ is an ordinary
// character.
std::optional<std::size_t> end_of_set(std::string_view pattern, std::size_t at) {
  std::size_t next = at + 1;
  if (next < pattern.size() && pattern[next] == '!') ++next;
  if (next < pattern.size() && pattern[next] == ']') ++next;  // the first ] is a member of the set
  const std::size_t end = pattern.find(']', next);
  return end == std::string_view::npos ? std::nullopt : std::optional(end + 1);
}

// Whether a set, without its brackets, contains the character.
bool is_in_set(std::string_view set, std::uint32_t c) {
  const bool is_inverted = set.starts_with('!');
  if (is_inverted) set.remove_prefix(1);
  bool found = false;
  for (std::size_t at = 0; at < set.size();) {
    const CodePoint first = character(set, at);
    at += first.bytes;
    CodePoint last = first;
    if (at + 1 < set.size() && set[at] == '-') {
      last = character(set, at + 1);
      at += 1 + last.bytes;
    }
    found = found || (first.value <= c && c <= last.value);
  }
  return found != is_inverted;
}

// Whether the pattern, from `p` on, begins with an element that matches the one character `c`. Moves `p` past that
// element.
bool takes_one(std::string_view pattern, std::size_t& p, std::uint32_t c) {
  if (pattern[p] == '?') return ++p, true;
  if (const auto end = pattern[p] == '[' ? end_of_set(pattern, p) : std::nullopt) {
    const bool is_in = is_in_set(pattern.substr(p + 1, *end - p - 2), c);
    p = *end;
    return is_in;
  }
  const CodePoint own = character(pattern, p);
  p += own.bytes;
  return own.value == c;
}

enum class Kind : std::uint8_t { none, file, folder };

Kind kind_of(const std::string& path, bool follow_links) {
  struct stat status{};
  if ((follow_links ? ::stat : ::lstat)(path.c_str(), &status) != 0) return Kind::none;
  return S_ISDIR(status.st_mode) ? Kind::folder : Kind::file;
}

// Returns the names in a folder; none if it does not exist. A folder that may not be read is an error: its files would
// be missing.
std::vector<std::string> names_in(const std::string& folder) {
  const std::string path = folder.empty() ? "." : folder;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(path.c_str()), &::closedir);
  if (!opened) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    throw_read_error(path, errno);
  }
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(opened.get());
    if (entry == nullptr && errno != 0) throw_read_error(path, errno);
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

// Finds the files that match a pattern.
class Finder {
 public:
  // Adds the files in `folder` that match `rest`, the end of the pattern. `folder` is empty or ends with a slash.
  void find(const std::string& folder, std::string_view rest) {
    // A pattern with several ** can match a folder in several ways.
    if (!seen_.emplace(folder, rest.size()).second) return;
    const std::size_t slash = rest.find('/');
    const std::string_view pattern = rest.substr(0, slash);
    const std::string_view later = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
    const bool is_last = slash == std::string_view::npos;
    if (pattern == "**") {
      if (!is_last) find(folder, later);
      for (const std::string& name : names_in(folder)) {
        if (name.starts_with('.')) continue;
        const std::string path = folder + name;
        // Links to folders are not followed here, because they may form cycles. Links to files are followed.
        if (kind_of(path, false) == Kind::folder) {
          find(path + "/", rest);
        } else if (is_last && kind_of(path, true) == Kind::file) {
          found_.push_back(path);
        }
      }
      return;
    }
    if (!has_wildcard(pattern)) {
      const std::string path = folder + std::string(pattern);
      if (!is_last) return find(path + "/", later);
      if (kind_of(path, true) == Kind::file) found_.push_back(path);
      return;
    }
    for (const std::string& name : names_in(folder)) {
      if (!fits_pattern(name, pattern)) continue;
      const std::string path = folder + name;
      const Kind kind = kind_of(path, true);
      if (is_last && kind == Kind::file) found_.push_back(path);
      if (!is_last && kind == Kind::folder) find(path + "/", later);
    }
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  std::set<std::pair<std::string, std::size_t>> seen_;  // folders, and the length of the remaining pattern there
  std::vector<std::string> found_;
};

}  // namespace

bool has_wildcard(std::string_view path) { return path.find_first_of("*?[") != std::string_view::npos; }

bool fits_pattern(std::string_view name, std::string_view pattern) {
  if (name.starts_with('.') && !pattern.starts_with('.')) return false;
  // After a mismatch the last * matches one character more.
  std::size_t n = 0;
  std::size_t p = 0;
  std::optional<std::size_t> after_star;
  std::size_t star_takes = 0;  // the end of its match in the name
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_takes = n;
      continue;
    }
    const CodePoint c = character(name, n);
    if (p < pattern.size() && takes_one(pattern, p, c.value)) {
      n += c.bytes;
      continue;
    }
    if (!after_star) return false;
    star_takes += character(name, star_takes).bytes;
    n = star_takes;
    p = *after_star;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<std::string> files_of_pattern(const std::string& pattern) {
  const std::size_t root = pattern.starts_with('/') ? 1 : 0;
  Finder finder;
  finder.find(pattern.substr(0, root), std::string_view(pattern).substr(root));
  std::vector<std::string> found = finder.take();
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void refuse_pattern(const std::string& pattern) {
  throw Error(Code::not_found, fmt::format("{}: no file matches this pattern; check the path", pattern));
}

std::vector<std::string> matching_files(const std::string& path) {
  if (!has_wildcard(path) || kind_of(path, true) != Kind::none) return {path};
  std::vector<std::string> found = files_of_pattern(path);
  if (found.empty()) refuse_pattern(path);
  return found;
}

}  // namespace upsweep::io
