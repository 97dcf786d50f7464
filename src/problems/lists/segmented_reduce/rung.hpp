// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/rung.hpp: what the files of the rungs declare their rows with.
#pragma once

#include "core/ladder.hpp"
#include "core/reducer_kind.hpp"
#include "cuda/compiled.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep::impl::segmented_reduce {

using Rung = upsweep::Rung<const detail::SegmentedReduceCall>;

/// The ladder, from the naive loop up.
std::vector<RungInfo> rungs();

inline constexpr const char* kOnePass = "content and bounds read, results written";

// ---- Rungs on a GPU.

/// The constant of float_bound of those that add a list's elements in another order than the loop: each of at least 32
/// lanes adds up at most 1/32 of a tile of 16,384 elements. Tiles are added up in that way too.
inline constexpr FloatBound kDeviceBound{.serial = false, .constant = 1024};

inline constexpr const char* kWraps = "its sums wrap around: cuda.lanes checks them";

/// Whether cuda.pipeline is compiled for folds by an operator; pipeline_kernels.cu holds its kernels to it.
constexpr bool is_piped(Operator op) { return op != Operator::custom && !is_integer_only(op); }

/// Why no kernel takes the call, or null.
inline const char* device_refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.reducer != Reducer::fold) return nullptr;
  if (call.op == Operator::custom) return "runs the compiled operators and types only";
  return compiled_refusal(call.op, call.in_type, call.out_type);
}

/// The same of the simple rungs, which are compiled for less.
inline const char* taught_refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.checked) return kWraps;
  if (call.valid.is_given()) return "it knows no null elements";
  if (kind_of(call.reducer) == ReducerKind::position && call.in_size < 4)
    return "positions are compiled for elements of 4 and 8 bytes";
  if (call.reducer != Reducer::fold) return nullptr;
  const bool sums = call.op == Operator::add && call.in_type == call.out_type && call.out_size >= 4;
  return sums ? nullptr : "folds are compiled for sums of 4 and 8 bytes, same type in and out";
}

}  // namespace upsweep::impl::segmented_reduce
