// SPDX-License-Identifier: Apache-2.0
// core/columns.cpp: columns of content as the arguments of a call.
#include "core/columns.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {

void require_moved_size(std::int64_t bytes, const std::string& which, Code code) {
  if (bytes > 0 && detail::is_moved_size(static_cast<std::size_t>(bytes))) return;
  std::string sizes;
  for (const int size : detail::kMovedSizes) {
    sizes.append(sizes.empty() ? "" : size == *std::rbegin(detail::kMovedSizes) ? " or " : ", ");
    sizes += std::to_string(size);
  }
  throw Error(code,
              which + " has elements of " + std::to_string(bytes) + " bytes: the size must be " + sizes + " bytes");
}

namespace {

/// Whether detail::require_array() refuses the array.
bool is_refused(const void* data, std::int64_t n, detail::ArraysAre arrays) {
  return n < 0 || (data == nullptr && n > 0 && arrays == detail::ArraysAre::there);
}

/// Throws the error of column c. The message takes as long as a small call, so it is formatted only after a failure.
[[noreturn]] void refuse_column(const ContentColumn& column, std::size_t c, std::int64_t length, const char* as,
                                detail::ArraysAre arrays) {
  const std::string which = "column " + std::to_string(c);
  require_moved_size(column.element_size, which, Code::unsupported_type);
  if (is_refused(column.data, column.length, arrays)) detail::refuse_array(column.length, which.c_str());
  if (is_refused(column.out, column.capacity, arrays)) {
    detail::refuse_array(column.capacity, ("the output of " + which).c_str());
  }
  throw Error(Code::unequal_lengths, which + " has " + std::to_string(column.length) + " elements, but " + as +
                                         " has " + std::to_string(length));
}

bool is_good(const ContentColumn& column, std::int64_t length, detail::ArraysAre arrays) {
  return column.element_size > 0 && detail::is_moved_size(static_cast<std::size_t>(column.element_size)) &&
         !is_refused(column.data, column.length, arrays) && !is_refused(column.out, column.capacity, arrays) &&
         column.length == length;
}

}  // namespace

std::int64_t require_columns(std::span<const ContentColumn> columns, std::int64_t length, const char* as,
                             detail::ArraysAre arrays) {
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (!is_good(columns[c], length, arrays)) refuse_column(columns[c], c, length, as, arrays);
    capacity = std::min(capacity, columns[c].capacity);
  }
  return capacity;
}

void add_columns(std::span<const ContentColumn> columns, CallArrays& arrays) {
  for (const ContentColumn& column : columns) {
    arrays.read(column.data, column.length, column.element_size);
    arrays.write(column.out, column.capacity, column.element_size);
  }
}

}  // namespace upsweep
