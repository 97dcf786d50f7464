// SPDX-License-Identifier: Apache-2.0
// cuda/list_facts.hpp: the results that the pass over the bounds of lists stores in device memory.
#pragma once

#include <cstdint>

namespace upsweep::gpu {

/// The results of the pass. All are zero before it.
struct ListFacts {
  unsigned long long bad;       ///< the complement of the first bad list's number; 0: there is none
  unsigned long long end;       ///< no list has an element from here on
  unsigned long long before;    ///< the complement of where the first list with elements begins; 0: there is none
  unsigned long long elements;  ///< of all lists
};

/// Returns the number of 32-bit words of a bitmap of heads: the elements at which lists begin, and one more for the
/// end.
constexpr std::int64_t head_words(std::int64_t elements) { return elements / 32 + 1; }
/// Whether 32-bit indices can address the words of a bitmap of heads.
constexpr bool fits_heads(std::int64_t elements) { return elements < std::int64_t{1} << 37; }

}  // namespace upsweep::gpu
