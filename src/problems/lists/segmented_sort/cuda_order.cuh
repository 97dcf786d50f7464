// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/cuda_order.cuh: elements as unsigned words of their size, and the order of these words.
#pragma once

#include <cstdint>

#include "upsweep/types.hpp"

namespace upsweep::impl::segmented_sort {

/// key() converts an element's bits to an unsigned key that compares as the element does. Equal elements have equal
/// keys: -0.0 and 0.0, and all NaN. A comparison does not depend on the type: kernels are compiled for four sizes,
/// instead of twice for each of ten types.
template <class Word>
struct Order {
  Word negative_flip;  ///< for elements whose first bit is set
  Word other_flip;
  Word low;   ///< keys below this are NaN; integers have none
  Word high;  ///< keys above this are NaN
  Word minus_zero;
  Word zero;
  Word nan;
  Word direction;  ///< flips keys that are not NaN

  __host__ __device__ Word key(Word bits) const {
    constexpr int kSign = int{sizeof(Word)} * 8 - 1;
    const Word flipped = static_cast<Word>(bits ^ (((bits >> kSign) & 1) != 0 ? negative_flip : other_flip));
    const Word one = flipped == minus_zero ? zero : flipped;
    return flipped < low || flipped > high ? nan : static_cast<Word>(one ^ direction);
  }
};

template <class Word>
Order<Word> order_of(Type type, bool descending, bool nan_first) {
  constexpr Word kAll = static_cast<Word>(~Word{0});
  constexpr Word kSign = static_cast<Word>(Word{1} << (sizeof(Word) * 8 - 1));
  Order<Word> order{.low = 0, .high = kAll, .minus_zero = 0, .zero = 0};
  order.nan = nan_first ? Word{0} : kAll;
  order.direction = descending ? kAll : Word{0};
  if (is_float(type)) {
    constexpr Word kInfinity =
        sizeof(Word) == 8 ? static_cast<Word>(0x7ff0000000000000U) : static_cast<Word>(0x7f800000U);
    order.negative_flip = kAll;
    order.other_flip = kSign;
    order.low = static_cast<Word>(~(kSign | kInfinity));  // -inf
    order.high = static_cast<Word>(kSign | kInfinity);
    order.minus_zero = static_cast<Word>(~kSign);
    order.zero = kSign;
  } else {
    order.negative_flip = order.other_flip = is_signed(type) ? kSign : Word{0};
  }
  return order;
}

}  // namespace upsweep::impl::segmented_sort
