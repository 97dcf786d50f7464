// SPDX-License-Identifier: Apache-2.0
// plan/tuples.cpp: the combinations of the elements of a list, in lexicographic order.
#include "plan/tuples.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace upsweep::plan::detail {
namespace {

__extension__ using UInt128 = unsigned __int128;

/// The largest k for which a table is made: of 3 of 8 elements there are 56 tuples, with replacement of 2 there are 36.
constexpr int kTableK = 3;
constexpr bool has_table(int k, bool replacement) { return k <= (replacement ? kTableK - 1 : kTableK); }

struct Tables {
  // By replacement, k, member, length.
  std::int32_t places[2][kTableK + 1][kTableK][kTableLength + 1][kTableTuples] = {};
};

constexpr Tables made_tables() {
  Tables tables;
  for (const bool replacement : {false, true}) {
    for (int k = 1; k <= kTableK; ++k) {
      if (!has_table(k, replacement)) continue;
      for (int length = 0; length <= kTableLength; ++length) {
        int count = 0;
        int total = 1;
        for (int m = 0; m < k; ++m) total *= length;
        for (int code = 0; code < total; ++code) {  // all tuples; those that ascend are kept
          int digits[kTableK] = {};
          for (int m = k - 1, rest = code; m >= 0; --m, rest /= length) digits[m] = rest % length;
          bool ascends = true;
          for (int m = 1; m < k; ++m)
            ascends = ascends && (replacement ? digits[m - 1] <= digits[m] : digits[m - 1] < digits[m]);
          if (!ascends) continue;
          for (int m = 0; m < k; ++m) {
            tables.places[replacement ? 1 : 0][k][m][length][count] = digits[m];
          }
          ++count;
        }
      }
    }
  }
  return tables;
}
constexpr Tables kTables = made_tables();

}  // namespace

std::int64_t tuple_count(std::int64_t length, int k, bool replacement) noexcept {
  if (replacement && length > 0) length += k - 1;
  if (k == 2) return std::min(length * (length - 1) / 2, kMostTuples);  // length is less than 2^31 + 1
  UInt128 count = 1;
  for (int i = 0; i < k; ++i) {
    if (length <= i) return 0;
    count = count * static_cast<UInt128>(length - i) / static_cast<UInt128>(i + 1);
    // Later factors make it smaller only if k exceeds half of the length. Such lists have few tuples.
    if (count > UInt128{kMostTuples} << 32U) return kMostTuples;
  }
  return static_cast<std::int64_t>(std::min<UInt128>(count, UInt128{kMostTuples}));
}

const std::int32_t* tuple_table(int k, bool replacement, int member) noexcept {
  return has_table(k, replacement) ? &kTables.places[replacement ? 1 : 0][k][member][0][0] : nullptr;
}

std::int32_t* put_tuples(std::int32_t first, std::int64_t length, int k, bool replacement, int member,
                         std::int32_t* out) noexcept {
  if (tuple_count(length, k, replacement) == 0) return out;
  const std::int64_t skip = replacement ? 0 : 1;
  const int rest = k - 1 - member;              // members after this one: each element is repeated for their tuples
  std::array<std::int64_t, kMostMembers> at{};  // the members up to this one
  for (int m = 0; m < member; ++m) at[static_cast<std::size_t>(m)] = m * skip;
  for (;;) {
    const std::int64_t begin = member == 0 ? 0 : at[static_cast<std::size_t>(member - 1)] + skip;
    const std::int64_t end = length - rest * skip;
    if (rest == 0) {
      for (std::int64_t i = begin; i < end; ++i) *out++ = first + static_cast<std::int32_t>(i);
    } else {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t count = tuple_count(length - i - skip, rest, replacement);
        out = std::fill_n(out, count, first + static_cast<std::int32_t>(i));
      }
    }
    int m = member - 1;  // the last member before this one that can advance
    while (m >= 0 && at[static_cast<std::size_t>(m)] + 1 >= length - (k - 1 - m) * skip) --m;
    if (m < 0) return out;
    ++at[static_cast<std::size_t>(m)];
    for (int later = m + 1; later < member; ++later) {
      at[static_cast<std::size_t>(later)] = at[static_cast<std::size_t>(later - 1)] + skip;
    }
  }
}

}  // namespace upsweep::plan::detail
