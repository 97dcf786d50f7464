// SPDX-License-Identifier: Apache-2.0
// scale/chunked/checked_sums.hpp: whether sums of a chunk's integers fit, by its least and its greatest element.
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

inline constexpr std::int64_t kExtremes = 2;  // the least and the greatest, in a word each
inline constexpr std::int64_t kWord = 8;

/// Whether a call's sums are to be checked.
inline bool checks(const detail::ElementsCall& call, Overflow overflow) {
  return overflow == Overflow::checked && call.op == Operator::add && is_integer(call.out_type);
}

/// Puts the fold of n elements into `out`, of that type, without waiting.
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

/// Puts the least and the greatest element into a word each.
inline void put_extremes(const gpu::Policy& policy, const detail::ElementsCall& call, const void* in, std::int64_t n,
                         void* words) {
  put_fold(policy, call, Operator::min, call.in_type, in, n, words);
  put_fold(policy, call, Operator::max, call.in_type, in, n, static_cast<std::byte*>(words) + kWord);
}

/// Puts what the elements come to by the call's operator into `word`.
inline void put_total(const gpu::Policy& policy, const detail::ElementsCall& call, const void* in, std::int64_t n,
                      void* word) {
  put_fold(policy, call, call.op, call.out_type, in, n, word);
}

/// Throws unsupported where sums of n elements between these two may not fit after `before`, a ScanCarry of the output's type.
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
                                     ", which is not checked on a GPU: sum in a wider type, let a scan wrap around, "
                                     "or compute on the CPU");
}

/// carry = carry ⊕ n elements of its own type, each merged with what rounding loses; wrapped integers count as fitting.
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
