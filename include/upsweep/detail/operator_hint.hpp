// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/operator_hint.hpp: what to write in place of a word that other libraries have for an operator.
#pragma once

#include <string>
#include <string_view>

namespace upsweep::detail {

/// Returns ": write add" for "sum", with `before` and `after` the operator as the caller writes it, and the like for other words of NumPy,
/// pandas, SQL and C; empty where nothing is known. It follows a list of the operators.
[[nodiscard]] std::string operator_hint(std::string_view word, std::string_view before = "",
                                        std::string_view after = "");

}  // namespace upsweep::detail
