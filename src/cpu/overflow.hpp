// SPDX-License-Identifier: Apache-2.0
// cpu/overflow.hpp: finds the first prefix of an integer sum that overflows, usually without reading single elements.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/kernels.hpp"
#include "upsweep/error.hpp"

namespace upsweep::cpu {

/// Returns a bound that no |x| exceeds, for elements whose KernelTable::magnitude is `any`.
inline Int128 largest_magnitude(Type type, std::uint64_t any) {
  return Int128{any} + (is_signed(type) ? 1 : 0);  // -8 = ~7: a negative x is one further from 0 than its bits show
}

inline Int128 largest_magnitude(const KernelTable& table, Type type, const void* in, std::int64_t n) {
  return largest_magnitude(type, table.magnitude[at(type)](in, n));
}

inline Int128 largest_magnitude(Type type) {
  return visit_type(type, []<class T>(std::type_identity<T>) -> Int128 {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<Int128>(std::numeric_limits<T>::max()) + 1;
    } else {
      return 0;
    }
  });
}

template <class T>
constexpr bool fits(Int128 value) {
  return value >= static_cast<Int128>(std::numeric_limits<T>::min()) &&
         value <= static_cast<Int128>(std::numeric_limits<T>::max());
}

/// Whether all sums of up to n elements of at most that magnitude after `before` fit Out.
template <class In, class Out>
constexpr bool all_fit(Int128 before, std::int64_t n, Int128 magnitude) {
  return fits<Out>(before + magnitude * n) && (!std::is_signed_v<In> || fits<Out>(before - magnitude * n));
}

/// Returns the first i with before + x0 + … + xi outside the type Out; kNoIndex if there is none. Until a sum
/// overflows, the running sum is exact, so the first step that overflows is the first bad sum.
template <class In, class Out>
std::int64_t find_overflow(const In* x, std::int64_t n, Out before) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (__builtin_add_overflow(before, x[i], &before)) return i;
  }
  return kNoIndex;
}

/// Returns the first overflow, with cheap tests first: by the input's type, then by the maximum magnitude. After an
/// overflow `before` is the sum modulo 2^bits, so later findings are spurious; the lowest index of all is correct.
template <class In, class Out>
std::int64_t first_overflow(const KernelTable& table, const In* x, std::int64_t n, Out before) {
  if (sizeof(In) < sizeof(Out) && all_fit<In, Out>(before, n, largest_magnitude(type_of<In>()))) return kNoIndex;
  if (all_fit<In, Out>(before, n, largest_magnitude(table, type_of<In>(), x, n))) return kNoIndex;
  return find_overflow(x, n, before);
}

}  // namespace upsweep::cpu
