// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/null_order.cpp: selects the elements that are not NULL, sorts them, and puts them before the NULL
// elements.
#include "null_order.hpp"

#include <cstring>

#include "core/lists.hpp"
#include "upsweep/select.hpp"

namespace upsweep::command {
namespace {

/// The elements of lists that are not NULL, as separate lists.
struct Present {
  std::vector<std::int64_t> offsets;
  io::AlignedBuffer elements;
  dynamic::ConstArray content;

  Present(const io::ListBatch& batch, Type type, const Policy& policy)
      : offsets(static_cast<std::size_t>(batch.lists.count) + 1) {
    elements.reserve(batch.length, size_of(type), "the elements that are not NULL");
    const SelectColumn columns[] = {
        dynamic::content_column({batch.content, batch.length, type}, {elements.data(), batch.length, type})};
    const std::int64_t kept = select(policy, batch.lists, batch.valid, offsets.data(), columns);
    content = {elements.data(), kept, type};
  }

  /// Calls each(i, start, stop, first, n) for the lists that are not null: their bounds, and where their n elements
  /// are here.
  template <class Each>
  void for_each_list(const Lists& lists, Each each) const {
    visit_bounds(lists, [&](auto bounds) {
      for (std::int64_t i = 0; i < lists.count; ++i) {
        if (lists.valid.is_given() && !lists.valid[i]) continue;
        const std::int64_t first = offsets[static_cast<std::size_t>(i)];
        each(bounds.start(i), bounds.stop(i), first, offsets[static_cast<std::size_t>(i) + 1] - first);
      }
    });
  }
};

}  // namespace

std::vector<std::uint8_t> sort_nulls_last(const io::ListBatch& batch, Type content, dynamic::Array out,
                                          const Policy& policy, const SortLists& sort) {
  const Present present(batch, content, policy);
  const std::int64_t size = size_of(content);
  io::AlignedBuffer sorted;
  sorted.reserve(present.content.length, size, "the elements that are not NULL");
  sort(present.offsets, present.content, {sorted.data(), present.content.length, content});
  std::vector<std::uint8_t> valid(static_cast<std::size_t>(batch.length), 1);
  auto* const to = static_cast<std::byte*>(out.data);
  present.for_each_list(batch.lists, [&](std::int64_t start, std::int64_t stop, std::int64_t first, std::int64_t n) {
    if (start == stop) return;  // an empty list may have any bounds
    if (n > 0) std::memcpy(to + start * size, sorted.data() + first * size, static_cast<std::size_t>(n * size));
    std::memset(to + (start + n) * size, 0, static_cast<std::size_t>((stop - start - n) * size));
    std::memset(valid.data() + start + n, 0, static_cast<std::size_t>(stop - start - n));
  });
  return valid;
}

void argsort_nulls_last(const io::ListBatch& batch, Type content, std::int64_t* out, const Policy& policy,
                        const SortLists& argsort) {
  const Present present(batch, content, policy);
  std::vector<std::int64_t> order(static_cast<std::size_t>(present.content.length));
  argsort(present.offsets, present.content, {order.data(), present.content.length, Type::int64});
  std::vector<std::int64_t> places;  // positions in one list of its elements that are not NULL
  present.for_each_list(batch.lists, [&](std::int64_t start, std::int64_t stop, std::int64_t first, std::int64_t n) {
    places.clear();
    std::int64_t null_place = start + n;
    for (std::int64_t j = start; j < stop; ++j) {
      if (batch.valid[j]) {
        places.push_back(j - start);
      } else {
        out[null_place++] = j - start;
      }
    }
    for (std::int64_t k = 0; k < n; ++k) {
      out[start + k] = places[static_cast<std::size_t>(order[static_cast<std::size_t>(first + k)])];
    }
  });
}

}  // namespace upsweep::command
