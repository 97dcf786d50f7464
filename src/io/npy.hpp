// SPDX-License-Identifier: Apache-2.0
// io/npy.hpp: the headers of .npy files, versions 1.0, 2.0 and 3.0, and how their elements are stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "io/posix.hpp"
#include "upsweep/table.hpp"
#include "upsweep/types.hpp"

namespace upsweep::io {

/// How the elements of a .npy file are stored, and what they mean.
struct NpyElements {
  ValueKind kind = ValueKind::integer;
  Storage storage = Storage::int64;  ///< of the elements in a table
  std::int64_t width = 8;            ///< bytes of an element in the file
  bool is_swapped = false;           ///< the most significant byte is first
  int scale = 0;                     ///< of timestamps and durations
  std::int64_t factor = 1;           ///< a timestamp, duration or date is the stored integer times this number

  /// Whether elements are used as they are in the file. Dates and times are not: one of their integers means NULL.
  [[nodiscard]] bool are_in_place() const {
    const bool is_number = kind == ValueKind::integer || kind == ValueKind::real;
    return is_number && !is_swapped && width == width_of(storage) / 8;
  }
};

/// The contents of the header of a .npy file.
struct NpyLayout {
  NpyElements elements;
  std::vector<std::int64_t> shape;
  bool is_fortran = false;  ///< the first index changes fastest, not the last one
  std::int64_t count = 0;   ///< elements, the product of the shape
  std::int64_t data = 0;    ///< where in the file the elements start
};

/// Converts the n stored elements to those of a table, of which bits are packed. Returns the bits of their validity, or
/// nothing if no element is NULL. `first` is the number of the first element, and `name` the file's, for messages.
/// Throws upsweep::Error overflow.
std::vector<std::uint8_t> convert_npy(const NpyElements& elements, const std::byte* stored, std::int64_t n, void* to,
                                      std::int64_t first, std::string_view name);

/// Throws unsupported_type for an array that does not have one dimension.
void require_one_dimension(const NpyLayout& layout, std::string_view name);

/// Reads from the file's position, which is then at the elements. `name` is used in messages.
/// Throws upsweep::Error: malformed, unsupported_type, unreadable.
NpyLayout read_npy_layout(const Descriptor& file, std::string_view name);

/// Throws the error for a .npy file that cannot be read.
[[noreturn]] void throw_bad_npy(std::string_view name, std::string_view what);

}  // namespace upsweep::io
