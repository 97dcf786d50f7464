// SPDX-License-Identifier: Apache-2.0
// cpu/combination_kernels.cpp: computes a list's tuples as those of the table plus its start, stored in whole vectors.
// The next list overwrites elements past the last tuple.
#include "cpu/combination_kernels.hpp"

#include <cstddef>
#include <cstdint>

#include "cpu/simd.hpp"
#include "upsweep/error.hpp"

#define UPSWEEP_COMBINATION_TABLE(isa) UPSWEEP_COMBINATION_TABLE_OF(isa)
#define UPSWEEP_COMBINATION_TABLE_OF(isa) combination_kernels_##isa

namespace upsweep::cpu {
namespace {

constexpr int kStep = kLanes<std::int64_t>;

struct Plus {
  template <class R>
  UPSWEEP_INLINE R operator()(R a, R b) const {
    return a + b;
  }
};

void pairs(const std::int64_t* lengths, std::int64_t count, bool replacement, std::int64_t* __restrict tuples) {
  const std::int64_t other = replacement ? 1 : -1;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto twice = static_cast<std::uint64_t>(lengths[i] * (lengths[i] + other));
    tuples[i] = static_cast<std::int64_t>(twice / 2);
  }
}

/// kN: positions of a tuple, if known at compile time.
template <int kN>
std::int64_t tuples_of(const TupleTable& table, const std::int64_t* starts, const std::int64_t* lengths,
                       std::int64_t count, std::int64_t* const* out, std::int64_t& at, std::int64_t capacity) {
  const std::int64_t n = kN != 0 ? kN : table.n;
  const std::int64_t* const positions = table.positions;
  std::int64_t* rows[kN != 0 ? std::size_t{kN}
                             : 1];  // copies, because for the compiler, a store to a row could change the pointers
  for (int d = 0; d < kN; ++d) rows[d] = out[d];
  std::int64_t* const* const to_rows = kN != 0 ? rows : out;
  std::int64_t to = at;
  std::int64_t i = 0;
  for (; i < count; ++i) {
    const std::int64_t length = lengths[i];
    if (length >= kTableLists) break;
    const std::int64_t tuples = table.counts[length];
    if ((tuples == kNoIndex) | (tuples > capacity)) break;
    const Vector<std::int64_t> start = splat(starts[i]);
    const std::int64_t* const from = positions + length * n * kTableTuples;
    std::int64_t k = 0;
    do {
      for (std::int64_t d = 0; d < n; ++d) {
        store(to_rows[d] + to + k, combine<std::int64_t>(Plus{}, start, load(from + d * kTableTuples + k)));
      }
      k += kStep;
    } while (k < tuples);
    to += tuples;
    capacity -= tuples;
  }
  at = to;
  return i;
}

std::int64_t tuples(const TupleTable& table, const std::int64_t* starts, const std::int64_t* lengths,
                    std::int64_t count, std::int64_t* const* out, std::int64_t& at, std::int64_t capacity) {
  if (table.n == 2) return tuples_of<2>(table, starts, lengths, count, out, at, capacity);
  if (table.n == 3) return tuples_of<3>(table, starts, lengths, count, out, at, capacity);
  return tuples_of<0>(table, starts, lengths, count, out, at, capacity);
}

constexpr CombinationKernels kTable{&pairs, &tuples};

}  // namespace

const CombinationKernels& UPSWEEP_COMBINATION_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
