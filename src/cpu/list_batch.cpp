// SPDX-License-Identifier: Apache-2.0
// cpu/list_batch.cpp: reads and checks bounds of lists, with kernels if no list can be null.
#include "cpu/list_batch.hpp"

#include <algorithm>
#include <cstddef>

#include "core/lists.hpp"

namespace upsweep::cpu {
namespace {

bool is_null(const Lists& lists, std::int64_t i) { return lists.valid.is_given() && !lists.valid[i]; }

std::int64_t find_bad(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content) {
  for (std::int64_t i = first; i < first + count; ++i) {
    if (!is_null(lists, i) && check_list(lists, i, content) != Code::ok) return i;
  }
  return kNoIndex;
}

}  // namespace

/// Reads lists of which some are null. The bounds of null lists are ignored. Returns false if any other list is bad.
bool ListBatch::read_valid(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content) {
  longest = 0;
  shortest = 0;  // a null list may be among them
  return visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      from[k] = to[k] = 0;
      if (is_null(lists, first + i)) continue;
      const std::int64_t start = bounds.start(first + i);
      const std::int64_t stop = bounds.stop(first + i);
      if (check_list(start, stop, content) != Code::ok) return false;
      if (start == stop) continue;
      from[k] = start;
      to[k] = stop;
      longest = std::max(longest, stop - start);
    }
    return true;
  });
}

std::int64_t ListBatch::read(const Lists& lists, std::int64_t first, std::int64_t count, std::int64_t content,
                             const ListKernels& kernels) {
  if (lists.valid.is_given()) {
    return read_valid(lists, first, count, content) ? kNoIndex : find_bad(lists, first, count, content);
  }
  if (lists.has_size) {
    longest = shortest = lists.size;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      from[k] = (first + i) * lists.size;
      to[k] = (first + i + 1) * lists.size;
    }
    return kNoIndex;
  }
  const std::int64_t bytes = first * size_of(lists.type);
  const auto seen = kernels.read_bounds[at(lists.type)](static_cast<const std::byte*>(lists.starts) + bytes,
                                                        static_cast<const std::byte*>(lists.stops) + bytes, count,
                                                        content, from.data(), to.data());
  longest = seen.longest;
  shortest = seen.shortest;
  return seen.bad < 0 ? find_bad(lists, first, count, content) : kNoIndex;
}

}  // namespace upsweep::cpu
