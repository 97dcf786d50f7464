// SPDX-License-Identifier: Apache-2.0
// core/columns.cpp: columns of content as the arguments of a call.
#include "core/columns.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

std::int64_t require_columns(std::span<const ContentColumn> columns, std::int64_t length, const char* as,
                             detail::ArraysAre arrays) {
  std::int64_t room = std::numeric_limits<std::int64_t>::max();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const ContentColumn& column = columns[c];
    const std::string which = "column " + std::to_string(c);
    if (column.element_size != 1 && column.element_size != 2 && column.element_size != 4 && column.element_size != 8 &&
        column.element_size != 16) {
      throw Error(Code::unsupported_type, which + " has elements of " + std::to_string(column.element_size) +
                                              " bytes: they must be of 1, 2, 4, 8 or 16");
    }
    detail::require_array(column.data, column.length, which.c_str(), arrays);
    detail::require_array(column.out, column.capacity, ("the output of " + which).c_str(), arrays);
    if (column.length != length) {
      throw Error(Code::unequal_lengths, which + " has " + std::to_string(column.length) + " elements, but " + as +
                                             " has " + std::to_string(length));
    }
    room = std::min(room, column.capacity);
  }
  return room;
}

void add_columns(std::span<const ContentColumn> columns, CallArrays& arrays) {
  for (const ContentColumn& column : columns) {
    arrays.read(column.data, column.length, column.element_size);
    arrays.write(column.out, column.capacity, column.element_size);
  }
}

}  // namespace upsweep
