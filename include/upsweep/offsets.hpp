// SPDX-License-Identifier: Apache-2.0
// upsweep/offsets.hpp: ragged arrays: the offsets of lists that are given by where each starts and stops.
//
// offsets() writes, for lists starts[i] … stops[i],
//   offsets[0] = 0,  offsets[i+1] = offsets[i] + (stops[i] - starts[i])
// which is the offsets array of the same lists packed one after another.
//
// Shapes    starts and stops hold n bounds each, offsets n + 1.
// Types     bounds are int32, uint32 or int64, offsets int64. Differences are taken in 64 bits.
// Errors    validation is part of the pass. Error, with index() the first bad list i: stop_before_start
//           (stops[i] < starts[i]), overflow (a difference or an offset leaves int64), and with ListOptions::strict
//           negative_start (starts[i] < 0). Then offsets[0 … i] are right and the rest is unspecified.
//           unequal_lengths, invalid_argument, unknown_rung and unsupported are about no list and write nothing.
// In place  `offsets` must not overlap the bounds.
// GPU       the same with a gpu::Policy and device memory: see gpu.hpp. Calls wait for the stream, as a bad list is an error; those
//           in …_async do not.
// Source    Awkward Array's kernel awkward_ListArray_compact_offsets; Arrow's conversion of ListView to List.
#pragma once

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
  std::int64_t length = -1;        ///< lists; -1: what follows both offsets, which must then be equal
  bool strict = false;             ///< negative starts are errors too
};

/// The result of offsets().
struct OffsetsResult {
  std::int64_t lists;     ///< offsets written, less one
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

/// A few lists, by the reference loop; false where something is wrong, which the library then finds and names.
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
  // Copies, as a store to an offset could change the call's own fields for all the compiler knows.
  std::int64_t* const offsets = call.offsets;
  const std::int64_t n = call.n;
  std::int64_t offset = call.carry.total;
  std::int64_t bad = offset;  // its sign
  std::int64_t some_start = 0;
  offsets[0] = offset;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const auto stop = static_cast<std::int64_t>(stops[i]);
    // Modulo 2^64: a length or an offset that leaves int64 shows as a negative one, but for a stop below zero with a
    // start that is not. Of 32-bit bounds no length leaves it, and of a few no offset comes round again.
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

/// Offsets that continue the sequence of `carry`.
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

/// Offsets of n lists that continue a sequence: offsets[0] is `carry.total`, and carry is advanced; so lists can come
/// in chunks. An error's index counts from the first list of the sequence. offsets holds n + 1.
template <ListBound T, detail::AnyPolicy P = Policy>
OffsetsResult offsets(const P& policy, const T* starts, const T* stops, std::int64_t n, std::int64_t* offsets,
                      bool strict, OffsetsCarry& carry) {
  auto call = detail::offsets_call(starts, stops, n, offsets, strict);
  call.carry = carry;
  return detail::continue_offsets<T>(policy, call, carry);
}

/// Offsets of n lists; offsets holds n + 1.
template <ListBound T, detail::AnyPolicy P = Policy>
OffsetsResult offsets(const P& policy, const T* starts, const T* stops, std::int64_t n, std::int64_t* offsets,
                      bool strict = false) {
  OffsetsCarry carry;
  return upsweep::offsets(policy, starts, stops, n, offsets, strict, carry);
}

/// Offsets of arrays, vectors, spans: `upsweep::offsets(par, starts, stops, offsets)`.
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

/// Does not wait: `status`, in device memory, says how it ended once the stream has come that far. How many lists there are may
/// also be in device memory: gpu::Length(address, most), outside the offsets; they hold up to most + 1 elements.
/// Returns the rung.
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

/// The device memory that offsets of up to n lists with bounds of type T need under that policy: for a Workspace.
template <ListBound T>
WorkspaceSize offsets_workspace(const Policy& policy, std::int64_t n) {
  upsweep::detail::OffsetsCall call;
  call.type = type_of<T>();
  call.n = n;
  return upsweep::detail::offsets_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
