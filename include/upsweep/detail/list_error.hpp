// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/list_error.hpp: the text of errors about a list with invalid bounds.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/error.hpp"

namespace upsweep::detail {

/// Returns "list 17 is invalid: " and the reason, which has the form "stop (3) < start (5)".
std::string invalid_list(std::int64_t list, const std::string& reason);
/// Returns "list 17 is invalid: " and the reason, formatted from the code and the bounds. `content` is the length that
/// stops are compared with.
std::string invalid_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t content);

}  // namespace upsweep::detail
