// SPDX-License-Identifier: Apache-2.0
// io/column.cpp: a scaled integer as decimal text.
#include "io/column.hpp"

#include <fmt/format.h>

namespace upsweep::io {

std::string format_decimal(std::int64_t value, int scale) {
  // Negated without a sign, so that the least integer works too.
  const auto bits = static_cast<std::uint64_t>(value);
  const auto places = static_cast<std::size_t>(scale);
  std::string digits = fmt::format("{:0{}}", value < 0 ? 0 - bits : bits, scale + 1);
  if (scale > 0) digits.insert(digits.size() - places, ".");
  return value < 0 ? "-" + digits : digits;
}

}  // namespace upsweep::io
