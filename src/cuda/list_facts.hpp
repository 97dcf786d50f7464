// SPDX-License-Identifier: Apache-2.0
// cuda/list_facts.hpp: what the pass over the bounds of lists leaves in device memory.
#pragma once

#include <cstdint>

namespace upsweep::gpu {

/// What the pass finds. All zero before it.
struct ListFacts {
  unsigned long long bad;       ///< the complement of the first bad list's number; 0: there is none
  unsigned long long end;       ///< no list has an element from here on
  unsigned long long before;    ///< the complement of where the first list with elements begins; 0: there is none
  unsigned long long elements;  ///< of all lists
};

/// 32-bit words of a bitmap of heads, of elements that a list begins with; and one more for the end.
constexpr std::int64_t head_words(std::int64_t elements) { return elements / 32 + 1; }
/// Whether a bitmap of heads has 32-bit indices to its words.
constexpr bool fits_heads(std::int64_t elements) { return elements < std::int64_t{1} << 37; }

}  // namespace upsweep::gpu
