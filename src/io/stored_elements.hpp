// SPDX-License-Identifier: Apache-2.0
// io/stored_elements.hpp: elements as Arrow's format stores them, made into those that are computed with.
#pragma once

#include <cstdint>
#include <string>

namespace upsweep::io {

/// Elements that lie in memory in another way than they are computed with.
enum class Stored : std::uint8_t { as_computed, decimal32, decimal128, decimal256, date64, half_float };

/// Makes `n` elements into elements of `width` bytes: decimals into integers of that width, date64 into days, half floats
/// into float; others stay as they are. Neither side need be aligned. Returns the first that does not fit, or n.
std::int64_t convert_elements(Stored stored, std::int64_t width, const std::uint8_t* from, std::int64_t n, void* to);

/// Throws the Error for an element that does not fit.
[[noreturn]] void throw_misfit(Stored stored, const std::string& name, std::int64_t row);

}  // namespace upsweep::io
