// SPDX-License-Identifier: Apache-2.0
// segmented_sort/cuda_kernels.hpp: the kernels of rungs on a GPU, compiled once per size of elements in kernels.cu.
#pragma once

#include <cstdint>

#include "segmented_sort/rung.hpp"

namespace upsweep::list_sorting {

enum class Way : std::uint8_t { thread_per_list, warp_per_list, block_per_list, tiles };

/// Checks the lists, sorts them where they are good, and leaves the outcome.
template <class Word>
Status sort_by(Way way, const Call& call) noexcept;

/// Bytes of scratch. Needs n, the number of lists, and whether positions are asked for.
template <class Word>
std::int64_t scratch_of(Way way, const Call& call) noexcept;

/// f(std::type_identity<Word>{}) for the unsigned word of the size of the call's elements.
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

// What the row of a rung names.
template <Way kWay>
Status launch_by(Call& call, const Policy&) noexcept {
  return with_word(call, [&]<class Word>(std::type_identity<Word>) { return sort_by<Word>(kWay, call); });
}
template <Way kWay>
gpu::WorkspaceSize workspace_of(const Call& call) noexcept {
  return with_word(call, [&]<class Word>(std::type_identity<Word>) -> gpu::WorkspaceSize {
    return {.scratch = scratch_of<Word>(kWay, call)};
  });
}

}  // namespace upsweep::list_sorting
