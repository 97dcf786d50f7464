// SPDX-License-Identifier: Apache-2.0
// scale/chunked/checked_sums.hpp: checks from a chunk's minimum and maximum whether sums of its integers fit.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/overflow.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/types.hpp"

namespace upsweep::chunked {

inline constexpr std::int64_t kExtremes = 2;  // the minimum and the maximum, one word each
inline constexpr std::int64_t kWord = 8;

/// Returns whether a call's sums must be checked.
inline bool checks(const detail::ElementsCall& call, Overflow overflow) {
  return overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type);
}

/// Enqueues the fold of n elements into `out`, which has the given type. Does not wait.
inline void put_fold(const gpu::Policy& policy, const detail::ElementsCall& call, Operator op, Type type,
                     const void* in, std::int64_t n, void* out) {
  detail::CarryBytes nothing{};  // ScanCarry::any is false
  detail::ReduceCall fold;
  static_cast<detail::ElementsCall&>(fold) = call;
  fold.op = op;
  fold.in = in;
  fold.n = n;
  fold.out = out;
  fold.out_type = type;
  fold.out_size = size_of(type);
  fold.carry = nothing.bytes;
  (void)detail::run_reduce(policy.with_rung({}).with_overflow(Overflow::wrap), fold);
}

/// Enqueues the minimum and the maximum of the elements, one word each.
inline void put_extremes(const gpu::Policy& policy, const detail::ElementsCall& call, const void* in, std::int64_t n,
                         void* words) {
  put_fold(policy, call, Operator::min, call.in_type, in, n, words);
  put_fold(policy, call, Operator::max, call.in_type, in, n, static_cast<std::byte*>(words) + kWord);
}

/// Enqueues the total of the elements under the call's operator into `word`.
inline void put_total(const gpu::Policy& policy, const detail::ElementsCall& call, const void* in, std::int64_t n,
                      void* word) {
  put_fold(policy, call, call.op, call.out_type, in, n, word);
}

/// Throws unsupported if a sum of n elements within the extremes may overflow. The sum starts from `before`, a
/// ScanCarry of the output type.
inline void require_fit(const detail::ElementsCall& call, const std::byte* extremes, std::int64_t n,
                        const void* before) {
  const bool fit = visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
    return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
      if constexpr (std::is_integral_v<In> && std::is_integral_v<Out>) {
        std::array<In, 2> elements{};
        std::memcpy(&elements[0], extremes, sizeof(In));
        std::memcpy(&elements[1], extremes + kWord, sizeof(In));
        const auto& carry = *static_cast<const ScanCarry<Out>*>(before);
        const cpu::Int128 sum = carry.any ? carry.total : Out{0};
        return sum + std::min<cpu::Int128>(elements[0], 0) * n >= std::numeric_limits<Out>::min() &&
               sum + std::max<cpu::Int128>(elements[1], 0) * n <= std::numeric_limits<Out>::max();
      } else {
        return true;
      }
    });
  });
  if (fit) return;
  throw Error(Code::unsupported, "sums may not fit " + std::string(name(call.out_type)) +
                                     ", which is not checked on a GPU: sum in a wider type, allow a scan to wrap, "
                                     "or compute on the CPU");
}

/// Computes carry = carry ⊕ n elements of the carry's type. Merges each with its rounding error. Wrapped integers count
/// as fitting.
inline void merge_elements(const detail::ElementsCall& call, const std::byte* elements, std::int64_t n, void* carry) {
  visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    auto& all = *static_cast<ScanCarry<T>*>(carry);
    visit_operator<T>(call.op, [&](auto op) {
      for (std::int64_t i = 0; i < n; ++i) {
        T element{};
        std::memcpy(&element, elements + i * std::int64_t{sizeof element}, sizeof element);
        detail::merge(op, all, carry_of(element));
      }
    });
    if constexpr (std::is_integral_v<T>) all.wraps = 0;
  });
}

}  // namespace upsweep::chunked
