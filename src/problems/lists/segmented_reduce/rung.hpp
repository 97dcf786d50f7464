// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/rung.hpp: types and constants that the files of the rungs share.
#pragma once

#include "core/ladder.hpp"
#include "core/reducer_kind.hpp"
#include "cuda/compiled.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep::impl::segmented_reduce {

using Rung = upsweep::Rung<const detail::SegmentedReduceCall>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "content and bounds read, results written";

// ---- Rungs on a GPU.

/// The constant of float_bound for rungs that add a list's elements in a different order than the loop. At least 32
/// lanes each add at most 1/32 of a tile of 16,384 elements. Tiles are also added in this way.
inline constexpr FloatBound kDeviceBound{.serial = false, .constant = 1024};

inline constexpr const char* kWraps = "its sums wrap (modulo 2^bits): cuda.lanes checks them";

/// Returns whether cuda.pipeline is compiled for folds by an operator; pipeline_kernels.cu asserts that its kernels
/// agree.
constexpr bool is_piped(Operator op) { return op != Operator::custom && !is_integer_only(op); }

/// Returns the reason why no kernel supports the call, or null.
inline const char* device_refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.reducer != Reducer::fold) return nullptr;
  if (call.op == Operator::custom) return "supports only compiled operators and types";
  return compiled_refusal(call.op, call.in_type, call.out_type);
}

/// Does the same for the simple rungs, which are compiled for fewer types.
inline const char* taught_refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.checked) return kWraps;
  if (call.valid.is_given()) return "does not support null elements";
  if (kind_of(call.reducer) == ReducerKind::position && call.in_size < 4)
    return "positions are compiled for elements of 4 and 8 bytes";
  if (call.reducer != Reducer::fold) return nullptr;
  const bool sums = call.op == Operator::add && call.in_type == call.out_type && call.out_size >= 4;
  return sums ? nullptr : "folds are compiled for sums of 4 and 8 bytes, same type in and out";
}

}  // namespace upsweep::impl::segmented_reduce
