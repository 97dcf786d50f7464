// SPDX-License-Identifier: Apache-2.0
// io/globs.hpp: names with wildcards, as in shells and Python's glob.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace upsweep::io {

/// Whether the path has a wildcard: * ? or [.
[[nodiscard]] bool has_wildcard(std::string_view path);

/// Whether a name without slashes matches a pattern: * matches any text and ? one character. [a-z] matches one of these
/// characters and [!a-z] one of the others. A name that begins with a point matches only a pattern that does.
[[nodiscard]] bool fits_pattern(std::string_view name, std::string_view pattern);

/// Returns the files that match a pattern, in order; empty if there is none.
[[nodiscard]] std::vector<std::string> files_of_pattern(const std::string& pattern);
/// Throws upsweep::Error not_found for a pattern that no file matches.
[[noreturn]] void refuse_pattern(const std::string& pattern);

}  // namespace upsweep::io
