// SPDX-License-Identifier: Apache-2.0
// upsweep/list_shards.hpp: offsets and reductions of lists that lie in shards, one on each of several GPUs of a host.
//
//   upsweep::gpu::Group group({0, 1});
//   std::vector<upsweep::gpu::OffsetsShard<std::int64_t>> bounds;  // starts, stops, n, offsets: memory of device 0, then of device 1
//   std::vector<upsweep::gpu::ListsShard<float>> lists;            // lists, content, its length, out
//   upsweep::offsets(group, bounds);
//   upsweep::segmented_reduce(group, lists, upsweep::max);
//
// As in shards.hpp: shards of any lengths, the order of calls, graphs. Lists may begin in one shard and end in a later one.
//
// Cost      offsets: where stops are not the starts one place on, both are read twice. segmented_reduce: what it costs anywhere;
//           what a shard has of an earlier one's last list is a list more.
// Floats    the same bits for the same shards.
// Errors    Error: those of offsets.hpp, segmented_reduce.hpp and shards.hpp, with the first bad list by its number over all shards; of
//           reductions also index_out_of_range (a list does not begin in its shard) and invalid_argument (the next shard's lists
//           do not begin where it ends). Sums wrap around; unsupported: Overflow::checked, lists that are null. There is no argmin and
//           no argmax.
// Operators of your own: see list_shards.cuh.
#pragma once

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
  const std::int64_t* n_at = nullptr;  ///< where the number of lists is, up to n, if it is in memory of the device
};

/// A member's shard of the content of lists, and the lists that begin in it, for segmented_reduce(). They are given by
/// offsets that count over all shards: where the last one ends, the next shard's first one begins. A shard without
/// lists has the one offset where the next list begins, unless it has no elements either. `out` has an element for each
/// list.
template <class In, class Out = In>
struct ListsShard {
  Lists lists = {};
  const In* in = nullptr;
  std::int64_t n = 0;
  Out* out = nullptr;
  Mask valid = {};  ///< false where an element of the shard is null, and skipped
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

/// Runs a call for each member: call_of(shard) is the one of its shard alone.
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

/// Folds the lists. Custom operators and types have another one in list_shards.cuh.
template <class In, class Out, class Op>
ListsResult fold_shards(OnDevice /*here*/, const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                        const Op& op, const Beginning<Out>& begin, gpu::ListsStatus* status) {
  static_assert(RunsCompiled<ElementType<In>, Out, Op>,
                "operators and types of one's own fold lists in shards by list_shards.cuh, which nvcc compiles");
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

/// By what results of the ranges of a list become that of the list.
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

/// The offsets of all members' lists, packed one after the other: the last of a shard's is the first of the next one's. Waits,
/// as a bad list is an error, whose index counts over all shards. The result has the total of all. It counts lists as if each shard had
/// all n, also where how many there are is in device memory.
template <ListBound T>
OffsetsResult offsets(const gpu::Group& group, const std::vector<gpu::OffsetsShard<T>>& shards, bool strict = false) {
  auto calls = detail::offsets_calls(shards, strict);
  const auto [total, rung] = detail::run_offsets(group, calls, nullptr);
  return {calls.back().carry.lists + calls.back().n, total, rung};
}

/// Does not wait: `status`, in memory of the first member's device, says how it ended, and counts lists in the same way. Returns the
/// rung.
template <ListBound T>
std::string_view offsets_async(const gpu::Group& group, const std::vector<gpu::OffsetsShard<T>>& shards,
                               gpu::OffsetsStatus* status, bool strict = false) {
  detail::require_array(status, 1, "status");
  auto calls = detail::offsets_calls(shards, strict);
  return detail::run_offsets(group, calls, status).rung;
}

/// out[i] = init ⊕ the elements of list i, for each list that begins in a shard: see segmented_reduce.hpp. What of it lies in later shards
/// is folded there, shard by shard. Waits, as a bad list is an error.
template <class In, class Out, class Op>
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                             std::type_identity_t<Out> init, Op op) {
  return detail::segmented_reduce(group, shards, op, detail::begin_with(init), nullptr);
}
/// The same without an initial value.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards, Op op = {}) {
  return detail::segmented_reduce(group, shards, op, detail::usual_beginning<Out, Op>(), nullptr);
}

/// any, all, count or count_nonzero of every list.
template <class In, class Out, detail::MergedReducer Op>
ListsResult segmented_reduce(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards, Op) {
  return detail::segmented_reduce<In, Out, Op>(group, shards, nullptr);
}

/// Does not wait: `status`, in memory of the first member's device, says how it ended. Returns the rung.
template <class In, class Out, class Op>
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, std::type_identity_t<Out> init, Op op) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce(group, shards, op, detail::begin_with(init), status).rung;
}
/// The same without an initial value.
template <class In, class Out, class Op = Add>
  requires(!detail::NamedReducer<Op>)
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, Op op = {}) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce(group, shards, op, detail::usual_beginning<Out, Op>(), status).rung;
}

/// The same of any, all, count or count_nonzero.
template <class In, class Out, detail::MergedReducer Op>
std::string_view segmented_reduce_async(const gpu::Group& group, const std::vector<gpu::ListsShard<In, Out>>& shards,
                                        gpu::ListsStatus* status, Op) {
  detail::require_array(status, 1, "status");
  return detail::segmented_reduce<In, Out, Op>(group, shards, status).rung;
}

}  // namespace upsweep
