// SPDX-License-Identifier: Apache-2.0
// io/globs.hpp: names with wildcards, as shells and Python's glob have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace upsweep::io {

/// Whether the path has a wildcard: * ? or [.
[[nodiscard]] bool has_wildcard(std::string_view path);

/// Whether a name without slashes fits a pattern: * stands for any text, ? for one character, [a-z] for one of these and [!a-z]
/// for one of the others. A name that begins with a point fits only a pattern that does.
[[nodiscard]] bool fits_pattern(std::string_view name, std::string_view pattern);

/// The files that a pattern stands for, in order; none where no file fits it.
[[nodiscard]] std::vector<std::string> files_of_pattern(const std::string& pattern);
/// Throws upsweep::Error not_found for a pattern that no file fits.
[[noreturn]] void refuse_pattern(const std::string& pattern);

}  // namespace upsweep::io
