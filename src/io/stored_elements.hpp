// SPDX-License-Identifier: Apache-2.0
// io/stored_elements.hpp: converts elements from Arrow's storage format to the types that upsweep computes with.
#pragma once

#include <cstdint>
#include <string>

namespace upsweep::io {

/// The storage format of elements, if it differs from the type that upsweep computes with.
enum class Stored : std::uint8_t {
  as_computed,
  decimal32,
  decimal128,
  decimal256,
  date64,
  half_float,
  months,
  days_and_milliseconds,
  interval,         ///< months, days and nanoseconds
  parquet_interval  ///< months, days and milliseconds, without signs
};

/// Converts `n` elements to elements of `width` bytes: decimals to integers of that width, date64 to days, half floats
/// to float, the parts of intervals to one integer. Other elements are copied. Neither side must be aligned. Returns
/// the first element that does not fit, or n.
std::int64_t convert_elements(Stored stored, std::int64_t width, const std::uint8_t* from, std::int64_t n, void* to);

/// Throws the Error for an element that does not fit.
[[noreturn]] void throw_misfit(Stored stored, const std::string& name, std::int64_t row);

}  // namespace upsweep::io
