// SPDX-License-Identifier: Apache-2.0
// upsweep/offsets.hpp: computes the offsets of lists of ragged arrays from their starts and stops.
//
// offsets() writes, for lists starts[i] … stops[i],
//   offsets[0] = 0,  offsets[i+1] = offsets[i] + (stops[i] - starts[i])
// which is the offsets array of the same lists packed one after another.
//
// Shapes    starts and stops have n bounds each, offsets n + 1.
// Types     bounds are int32, uint32 or int64, offsets int64. Differences are computed in 64 bits.
// Errors    a call validates lists while it computes their offsets. Error, with index() the first bad list i:
//           stop_before_start (stops[i] < starts[i]), overflow (a difference or an offset exceeds int64), and with
//           ListOptions::strict negative_start (starts[i] < 0). After such an error, offsets[0 … i] are right and the
//           others are unspecified. The errors unequal_lengths, invalid_argument, unknown_rung and unsupported have no
//           index; after them, nothing is written.
// In place  `offsets` must not overlap the bounds.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, because a bad list is an
//           error; those named …_async do not.
// Source    Awkward Array's kernel awkward_ListArray_compact_offsets; Arrow's conversion of ListView to List.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

struct ListOptions {
  std::int64_t starts_offset = 0;  ///< the first list starts at starts[starts_offset]
  std::int64_t stops_offset = 0;   ///< … and stops at stops[stops_offset]
  std::int64_t length = -1;        ///< number of lists; -1: all lists after both offsets, in arrays of equal length
  bool strict = false;             ///< negative starts are also errors
};

/// The result of offsets().
struct OffsetsResult {
  std::int64_t lists;     ///< number of written offsets, minus one
  std::int64_t total;     ///< the last offset: elements in all lists
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

template <ListBound T>
OffsetsCall offsets_call(const T* starts, const T* stops, std::int64_t n, std::int64_t* offsets, bool strict) {
  OffsetsCall call;
  call.starts = starts;
  call.stops = stops;
  call.type = type_of<T>();
  call.n = n;
  call.offsets = offsets;
  call.strict = strict;
  return call;
}

/// Computes the offsets of a few lists by the reference loop. Returns false if there is an error, which the library
/// then reports.
template <ListBound T>
bool offset_few(const OffsetsCall& call) {
  const auto* starts = static_cast<const T*>(call.starts);
  const auto* stops = static_cast<const T*>(call.stops);
  const std::int64_t in_bytes = call.n * std::int64_t{sizeof(T)};
  const std::int64_t out_bytes = (call.n + 1) * std::int64_t{sizeof(std::int64_t)};
  const bool there = call.offsets != nullptr && call.n >= 0 && (call.n == 0 || (starts != nullptr && stops != nullptr));
  if (!there || !same_or_apart(starts, in_bytes, call.offsets, out_bytes) ||
      !same_or_apart(stops, in_bytes, call.offsets, out_bytes)) {
    return false;
  }
  // Copies: otherwise the compiler must assume that a store to an offset changes the call's fields.
  std::int64_t* const offsets = call.offsets;
  const std::int64_t n = call.n;
  std::int64_t offset = call.carry.total;
  std::int64_t bad = offset;  // only its sign matters
  std::int64_t some_start = 0;
  offsets[0] = offset;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const auto stop = static_cast<std::int64_t>(stops[i]);
    // Modulo 2^64: a length or an offset that exceeds int64 appears as a negative number. There is one exception: the
    // stop is negative and the start is not. With 32-bit bounds no length exceeds int64. With only a few lists, no
    // offset wraps so far that it is positive again.
    const auto length = static_cast<std::int64_t>(static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start));
    offset = add(offset, length);
    bad |= length;
    if constexpr (sizeof(T) == sizeof(std::int64_t)) {
      bad |= offset | (stop & ~start);
    }
    some_start |= start;
    offsets[i + 1] = offset;
  }
  bad |= offset | (call.strict ? some_start : 0);
  return bad >= 0;
}

/// Computes offsets that continue the sequence of `carry`.
template <ListBound T>
OffsetsResult continue_offsets(const Policy& policy, OffsetsCall& call, OffsetsCarry& carry) {
  if (runs_inline(policy, call.n) && offset_few<T>(call)) {
    carry.total = call.offsets[call.n];
    carry.lists += call.n;
    return {call.n, carry.total, kInlineRung};
  }
  const std::string_view rung = run_offsets(policy, call);
  carry = call.carry;
  return {call.n, carry.total, rung};
}
template <ListBound T>
OffsetsResult continue_offsets(const gpu::Policy& policy, OffsetsCall& call, OffsetsCarry& carry) {
  const std::string_view rung = run_offsets(policy, call);
  carry = call.carry;
  return {call.n, carry.total, rung};
}

inline constexpr ArgumentRules kOffsetsRules{.alike = 4, .integers = true};

}  // namespace detail

/// Computes the offsets of n lists that continue a sequence: offsets[0] is `carry.total`, and the call updates `carry`.
/// Lists can thus be processed in chunks. An error's index counts from the first list of the sequence. `offsets` has n
/// + 1 elements.
template <ListBound T, detail::AnyPolicy P = Policy>
OffsetsResult offsets(const P& policy, const T* starts, const T* stops, std::int64_t n, std::int64_t* offsets,
                      bool strict, OffsetsCarry& carry) {
  auto call = detail::offsets_call(starts, stops, n, offsets, strict);
  call.carry = carry;
  return detail::continue_offsets<T>(policy, call, carry);
}

/// Computes the offsets of n lists; `offsets` has n + 1 elements.
template <ListBound T, detail::AnyPolicy P = Policy>
OffsetsResult offsets(const P& policy, const T* starts, const T* stops, std::int64_t n, std::int64_t* offsets,
                      bool strict = false) {
  OffsetsCarry carry;
  return upsweep::offsets(policy, starts, stops, n, offsets, strict, carry);
}

/// Computes the offsets of lists from ranges (arrays, vectors, spans): `upsweep::offsets(par, starts, stops, offsets)`.
template <std::ranges::range Bounds, std::ranges::range OtherBounds, std::ranges::range Offsets,
          detail::AnyPolicy P = Policy>
OffsetsResult offsets(const P& policy, const Bounds& starts, const OtherBounds& stops, Offsets&& offsets,
                      const ListOptions& options = {}) {
  detail::require_memory_of<P, Bounds, OtherBounds, Offsets>();
  const auto* const first = detail::bounds_of(starts);
  const auto* const last = detail::bounds_beside<Bounds>(stops);
  std::int64_t* const out = detail::offsets_of(offsets);
  const std::int64_t n = detail::list_count(detail::length_of(starts), detail::length_of(stops), options.starts_offset,
                                            options.stops_offset, options.length);
  detail::require_offsets(detail::length_of(offsets), n);
  return upsweep::offsets(policy, first + options.starts_offset, last + options.stops_offset, n, out, options.strict);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kOffsetsRules, First, Rest...>
auto offsets(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kOffsetsRules, First, Rest...>();
}
/// @endcond

/// Computes offsets without waiting. `status`, in device memory, contains the outcome once the stream has finished the
/// call. The number of lists may also be in device memory, but not within `offsets`: pass gpu::Length(address, most).
/// In this case, `offsets` has up to most + 1 elements. Returns the rung.
template <ListBound T>
std::string_view offsets_async(const gpu::Policy& policy, const T* starts, const T* stops, gpu::Length n,
                               std::int64_t* offsets, gpu::OffsetsStatus* status, bool strict = false) {
  detail::require_array(status, 1, "status");
  auto call = detail::offsets_call(starts, stops, n.most, offsets, strict);
  call.n_at = n.at;
  call.status = status;
  return detail::run_offsets(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that offsets of up to n lists with bounds of type T need under the policy.
template <ListBound T>
WorkspaceSize offsets_workspace(const Policy& policy, std::int64_t n) {
  upsweep::detail::OffsetsCall call;
  call.type = type_of<T>();
  call.n = n;
  return upsweep::detail::offsets_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
