// SPDX-License-Identifier: Apache-2.0
// sql/expression/caret.hpp: errors that show a line of a text, with a caret under the position that they refer to.
#pragma once

#include <cstdint>
#include <string>

#include "upsweep/error.hpp"

namespace upsweep::expression {

/// Returns `what`, and the line of the text with a caret under byte `location`.
[[nodiscard]] std::string with_caret(const std::string& text, int location, const std::string& what);

/// Throws an Error whose message shows the line with a caret under byte `location`. `index` is the row of the error, or
/// the byte if there is no row.
[[noreturn]] void refuse(const std::string& text, int location, Code code, const std::string& what,
                         std::int64_t index = kNoIndex);

}  // namespace upsweep::expression
