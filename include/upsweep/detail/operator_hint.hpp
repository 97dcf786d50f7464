// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/operator_hint.hpp: a hint for a word that other libraries use for an operator.
#pragma once

#include <string>
#include <string_view>

namespace upsweep::detail {

/// Returns ": write add" for "sum", with `before` and `after` around the operator as the caller writes it. Also
/// translates other words of NumPy, pandas, SQL and C. Returns an empty string for unknown words. Messages append it to
/// a list of the operators.
[[nodiscard]] std::string operator_hint(std::string_view word, std::string_view before = "",
                                        std::string_view after = "");

}  // namespace upsweep::detail
