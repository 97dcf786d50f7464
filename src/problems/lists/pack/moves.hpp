// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/moves.hpp: the first step of the CPU rungs except cpu.serial, and how rungs find and copy
// elements.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

#include "problems/lists/pack/layout.hpp"
#include "problems/lists/pack/rung.hpp"

namespace upsweep::impl::pack {

/// Returns the address of an element of a column.
inline const std::byte* content_at(const PackColumn& column, std::int64_t element) {
  return static_cast<const std::byte*>(column.data) + element * column.element_size;
}
inline std::byte* output_at(const PackColumn& column, std::int64_t element) {
  return static_cast<std::byte*>(column.out) + element * column.element_size;
}
/// Returns the bytes of an element in all columns; 1 if there is no column.
inline std::int64_t element_bytes(const detail::PackCall& call) {
  std::int64_t bytes = 0;
  for (const PackColumn& column : call.columns) bytes += column.element_size;
  return bytes == 0 ? 1 : bytes;
}
inline void copy_elements(const PackColumn& column, std::int64_t from, std::int64_t to, std::int64_t count) {
  std::memcpy(output_at(column, to), content_at(column, from), static_cast<std::size_t>(count * column.element_size));
}

/// Returns the start of list i of the call.
inline std::int64_t start_of(const detail::PackCall& call, std::int64_t i) {
  return visit_bounds(call.lists, [&](auto bounds) { return bounds.start(i); });
}

/// Computes offsets, or checks all lists if offsets are given. Then calls move(call) if all lists are valid.
template <class Move>
Status lay_out_and_move(detail::PackCall& call, const Policy& policy, Move move) noexcept try {
  if (const Status status = lay_out(call, policy.threads); !status.ok()) return status;
  if (call.offsets_given) {
    if (const Status status = first_bad(call); !status.ok()) return status;
  }
  move(static_cast<const detail::PackCall&>(call));
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

/// Copies `count` elements of list i from its element `from` on, in every column, by copy(column, from, to, count).
template <class Copy>
void copy_columns(const detail::PackCall& call, std::int64_t i, std::int64_t from, std::int64_t count, Copy copy) {
  if (count == 0) return;  // the start of an empty or null list is not read
  const std::int64_t start = start_of(call, i) + from;
  const std::int64_t to = call.offsets[i] - call.offsets[0] + from;
  for (const PackColumn& column : call.columns) copy(column, start, to, count);
}

}  // namespace upsweep::impl::pack
