// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/folds.cuh: the folds that consecutive elements pass on if some of them begin a list.
#pragma once

#include <cstdint>
#include <type_traits>

namespace upsweep::impl::segmented_scan {

/// A fold of consecutive elements: from the last head on, with init, if there is a head.
template <class T>
struct Fold {
  /// The flag is as large as the value: padding between them would keep them out of registers.
  using Flag = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                                     std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

  T value;
  Flag has_head;
};

template <class T>
__device__ __forceinline__ Fold<T> fold_of(T value, bool has_head) {
  return {value, static_cast<typename Fold<T>::Flag>(has_head ? 1 : 0)};
}

template <class T, class Op>
struct Join {
  Op op;
  __device__ Fold<T> operator()(const Fold<T>& left, const Fold<T>& right) const {
    if (right.has_head != 0) return right;
    return {op(left.value, right.value), left.has_head};
  }
};

}  // namespace upsweep::impl::segmented_scan
