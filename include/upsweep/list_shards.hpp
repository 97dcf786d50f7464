// SPDX-License-Identifier: Apache-2.0
// upsweep/list_shards.hpp: offsets and reductions of lists in shards, one on each of several GPUs of a host.
//
//   upsweep::gpu::Group group({0, 1});
//   // starts, stops, n, offsets: memory of device 0, then of device 1
//   std::vector<upsweep::gpu::OffsetsShard<std::int64_t>> bounds;
//   std::vector<upsweep::gpu::ListsShard<float>> lists;  // lists, content, its length, out
//   upsweep::offsets(group, bounds);
//   upsweep::segmented_reduce(group, lists, upsweep::max);
//
// The lengths of shards, the order of calls, and graphs are as in shards.hpp. Lists may begin in one shard and end in
// a later one.
//
// Cost      offsets: starts and stops are both read twice, unless the stops are the starts of the next lists. A
//           segmented_reduce costs the same as on one GPU. If a list continues in later shards, each of these shards
//           processes one additional list.
// Floats    the same bits for the same shards.
// Errors    Error: those of offsets.hpp, segmented_reduce.hpp and shards.hpp. The index of the first bad list counts
//           over all shards. Reductions also throw index_out_of_range (a list does not begin in its shard) and
//           invalid_argument (the next shard's lists do not begin where this shard ends). Sums wrap; Overflow::checked
//           and null lists are unsupported. argmin and argmax are not available.
// Operators custom ones: see list_shards.cuh.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/detail/shard_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/shards.hpp"

namespace upsweep {
namespace gpu {

/// A member's lists, for offsets(): n starts and stops, and capacity for n + 1 offsets.
template <ListBound T>
struct OffsetsShard {
  const T* starts = nullptr;
  const T* stops = nullptr;
  std::int64_t n = 0;
  std::int64_t* offsets = nullptr;
  const std::int64_t* n_at = nullptr;  ///< the address of the number of lists, up to n, if it is in device memory
};

/// A member's shard of the content of lists, and the lists that begin in this shard, for segmented_reduce(). Lists are
/// given by offsets that count over all shards. The first list of the next shard begins where the last list of this
/// shard ends. A shard without lists has one offset, which is where the next list begins, unless the shard also has no
/// elements. `out` has one element per list.
template <class In, class Out = In>
struct ListsShard {
  Lists lists = {};
  const In* in = nullptr;
  std::int64_t n = 0;
  Out* out = nullptr;
  Mask valid = {};  ///< false where an element of the shard is null; null elements are skipped
};

}  // namespace gpu

namespace detail {

template <ListBound T>
std::vector<OffsetsCall> offsets_calls(const std::vector<gpu::OffsetsShard<T>>& shards, bool strict) {
  std::vector<OffsetsCall> calls;
  std::int64_t before = 0;
  for (const auto& [starts, stops, n, offsets, n_at] : shards) {
    require_array(starts, n, "starts of a shard");
    require_array(stops, n, "stops of a shard");
    calls.push_back(offsets_call(starts, stops, n, offsets, strict));
    calls.back().n_at = n_at;
    calls.back().carry.lists = before;
    before += n;
  }
  return calls;
}

/// Runs a call for each member; call_of(shard) returns the call of its shard.
template <class In, class Out, class CallOf>
ListsResult run_lists(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards, ShardLists& lists,
                      gpu::ListsStatus* status, const CallOf& call_of) {
  std::int64_t count = 0;
  for (const auto& shard : shards) {
    lists.calls.push_back(call_of(shard));
    count += shard.lists.count;
  }
  return {count, run_segmented_reduce(group, lists, status)};
}

/// Folds the lists. list_shards.cuh has an overload for custom operators and types.
template <class In, class Out, class Op>
ListsResult fold_shards(OnDevice /*here*/, const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                        const Op& op, const Beginning<Out>& begin, gpu::ListsStatus* status) {
  static_assert(RunsCompiled<ElementType<In>, Out, Op>,
                "custom operators and types fold lists in shards by list_shards.cuh, which nvcc compiles");
  constexpr Out kIdentity = identity<Out>(operator_of<Op, Out>());
  auto carry = carry_of(kIdentity);
  ShardLists lists{.identity = &kIdentity};
  lists.merge = reduce_call(static_cast<const Out*>(nullptr), 0, op, carry, nullptr);
  return run_lists(group, shards, lists, status, [&](const gpu::ListsShard<In, Out>& shard) {
    auto call = fold_call(shard.lists, shard.in, shard.n, shard.out, op, shard.valid);
    set_beginning(call, begin);
    return call;
  });
}

template <class In, class Out, class Op>
static ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                    const Op& op, const Beginning<Out>& begin, gpu::ListsStatus* status) {
  return fold_shards(OnDevice{}, group, shards, op, begin, status);
}

/// The operator that merges the results of a list's ranges into the result of the list.
template <Reducer kReducer>
using MergeOf =
    std::conditional_t<kReducer == Reducer::any, Max, std::conditional_t<kReducer == Reducer::all, Min, Add>>;
template <class Op>
concept MergedReducer = NamedReducer<Op> && (Op::kReducer == Reducer::any || Op::kReducer == Reducer::all ||
                                             Op::kReducer == Reducer::count || Op::kReducer == Reducer::count_nonzero);

template <class In, class Out, MergedReducer Op>
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                             gpu::ListsStatus* status) {
  using Result = ElementType<Out>;
  auto carry = carry_of(Result{});
  ShardLists lists;
  lists.merge = reduce_call(static_cast<const Result*>(nullptr), 0, MergeOf<Op::kReducer>{}, carry, nullptr);
  return run_lists(group, shards, lists, status, [](const gpu::ListsShard<In, Out>& shard) {
    return reducer_call<In, Out, Op>(shard.lists, shard.in, shard.n, shard.out, shard.valid);
  });
}

}  // namespace detail

/// Computes the offsets of all members' lists, packed one after the other. The last offset of a shard is the first
/// offset of the next shard. Waits, because a bad list is an error, whose index counts over all shards. The result
/// contains the total of all shards. Its number of lists is n for each shard, also if the number of lists of a shard is
/// in device memory.
template <ListBound T>
OffsetsResult offsets(const gpu::Group& group, const std::vector<gpu::OffsetsShard<T>>& shards, bool strict = false) {
  auto calls = detail::offsets_calls(shards, strict);
  const auto [total, rung] = detail::run_offsets(group, calls, nullptr);
  return {calls.back().carry.lists + calls.back().n, total, rung};
}

/// Computes the offsets of all members' lists without waiting. `status`, in memory of the first member's device,
/// contains the outcome and counts lists as offsets() does. Returns the rung.
template <ListBound T>
std::string_view offsets_async(const gpu::Group& group, const std::vector<gpu::OffsetsShard<T>>& shards,
                               gpu::OffsetsStatus* status, bool strict = false) {
  detail::require_array(status, 1, "status");
  auto calls = detail::offsets_calls(shards, strict);
  return detail::run_offsets(group, calls, status).rung;
}

/// Computes out[i] = init ⊕ the elements of list i, for each list that begins in a shard: see segmented_reduce.hpp.
/// Each shard folds its own elements, also those of a list that began in an earlier shard. Waits, because a bad list is
/// an error.
template <class In, class Out, class Op>
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                             std::type_identity_t<Out> init, Op op) {
  return detail::segmented_reduce(group, shards, op, detail::begin_with(init), nullptr);
}
/// Reduces each list in shards without an initial value. Waits.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards, Op op = {}) {
  return detail::segmented_reduce(group, shards, op, detail::usual_beginning<Out, Op>(), nullptr);
}

/// Computes any, all, count or count_nonzero of each list in shards. Waits.
template <class In, class Out, detail::MergedReducer Op>
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards, Op) {
  return detail::segmented_reduce<In, Out, Op>(group, shards, nullptr);
}

/// Reduces each list in shards without waiting. `status`, in memory of the first member's device, contains the
/// outcome. Returns the rung.
template <class In, class Out, class Op>
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, std::type_identity_t<Out> init, Op op) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce(group, shards, op, detail::begin_with(init), status).rung;
}
/// Reduces each list in shards without waiting and without an initial value. Returns the rung.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, Op op = {}) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce(group, shards, op, detail::usual_beginning<Out, Op>(), status).rung;
}

/// Computes any, all, count or count_nonzero of each list in shards without waiting. Returns the rung.
template <class In, class Out, detail::MergedReducer Op>
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, Op) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce<In, Out, Op>(group, shards, status).rung;
}

}  // namespace upsweep
