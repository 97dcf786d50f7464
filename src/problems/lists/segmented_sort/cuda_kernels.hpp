// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_kernels.hpp: the kernels of the GPU rungs, compiled once per element size in
// kernels.cu.
#pragma once

#include <cstddef>
#include <cstdint>

#include "problems/lists/segmented_sort/rung.hpp"

namespace upsweep::impl::segmented_sort {

/// Checks the lists, sorts them if they are valid, and writes the outcome.
template <class Word>
Status sort_by(Way way, const Call& call) noexcept;

/// Returns the bytes of scratch. It depends on n, the number of lists, and whether positions are requested.
template <class Word>
std::int64_t scratch_of(Way way, const Call& call) noexcept;

/// Calls f(std::type_identity<Word>{}) with the unsigned type of the size of the call's elements.
template <class F>
auto with_word(const Call& call, F f) {
  switch (size_of(call.type)) {
    case 1:
      return f(std::type_identity<std::uint8_t>{});
    case 2:
      return f(std::type_identity<std::uint16_t>{});
    case 4:
      return f(std::type_identity<std::uint32_t>{});
    default:
      return f(std::type_identity<std::uint64_t>{});
  }
}

/// Scratch memory for lists that may be anywhere: they are packed one after the other, as in the output. In
/// packed_lists.cu.
struct PackedLists {
  /// With a null `memory`, only computes the size.
  PackedLists(const Call& call, void* memory);

  /// Returns the call that sorts the packed lists.
  [[nodiscard]] Call packed(const Call& call) const;
  /// Moves the elements there if the lists are valid and the output has enough capacity.
  Status pack(const Call& call) const noexcept;
  /// Writes the outcome after the sort if the lists were not packed. The call must have the sort's scratch.
  Status report(const Call& call) const noexcept;

  std::int64_t bytes = 0;
  void* content;  ///< the output, or a copy of the elements if positions are requested
  void* outcome;
  void* status;
  std::int64_t* totals;
  std::int64_t* offsets;
  std::int64_t* firsts;
};

// The functions that a rung's row names.

template <Way kWay>
std::int64_t scratch_by(const Call& call) noexcept {
  return with_word(call, [&]<class Word>(std::type_identity<Word>) { return scratch_of<Word>(kWay, call); });
}
template <Way kWay>
Status launch_by(Call& call, const Policy&) noexcept {
  const auto sort = [](const Call& lists) {
    return with_word(lists, [&]<class Word>(std::type_identity<Word>) { return sort_by<Word>(kWay, lists); });
  };
  if (call.lists.are_adjacent()) return sort(call);
  const Call asked = PackedLists(call, nullptr).packed(call);
  const PackedLists lists(call, static_cast<std::byte*>(call.launch->scratch) + scratch_by<kWay>(asked));
  Status status = lists.pack(call);
  if (status.ok()) status = sort(lists.packed(call));
  return status.ok() ? lists.report(call) : status;
}
template <Way kWay>
gpu::WorkspaceSize workspace_by(const Call& call) noexcept {
  if (call.lists.are_adjacent()) return {.scratch = scratch_by<kWay>(call)};
  const PackedLists lists(call, nullptr);
  return {.scratch = scratch_by<kWay>(lists.packed(call)) + lists.bytes};
}

}  // namespace upsweep::impl::segmented_sort
