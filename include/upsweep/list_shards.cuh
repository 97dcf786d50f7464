// SPDX-License-Identifier: Apache-2.0
// upsweep/list_shards.cuh: reduces lists in shards with custom operators and types, compiled into your code by nvcc.
//
// The calls are those of list_shards.hpp. The rules for operators and elements are those of segmented_reduce.cuh. An
// operator also needs an `init`, the result for an empty list.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <type_traits>
#include <vector>

#include "upsweep/detail/kernel_launch.cuh"
#include "upsweep/list_shards.hpp"
#include "upsweep/segmented_reduce.cuh"

namespace upsweep {
namespace impl::segmented_reduce {

/// Folds to x0 ⊕ x1 …, or to no value if there are no elements.
template <class Element, class T, class Op>
struct PartialFold : CustomFold<Element, T, Op> {
  __device__ void write(std::int64_t list, const MaybeValue<T>& all) const {
    reinterpret_cast<MaybeValue<T>*>(this->out)[list] = all;
  }
};
template <class Element, class T, class Op>
inline constexpr bool kFoldsInOrder<PartialFold<Element, T, Op>> = !is_commutative<Op, T>;

}  // namespace impl::segmented_reduce

namespace detail {

/// Appends the partial folds to `total`, in order. Runs on one thread.
template <class T, class Op>
static __global__ void append_partials(T* total, const impl::segmented_reduce::MaybeValue<T>* partials,
                                       std::int64_t count, Op op) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (partials[i].any) *total = op(*total, partials[i].value);
  }
}

template <class In, class Out, class Op>
static constexpr DeviceKernel<SegmentedReduceCall> kDevicePartialFold{
    [](const SegmentedReduceCall& call) noexcept {
      const impl::segmented_reduce::PartialFold<In, Out, Op> fold{
          {static_cast<Out*>(call.out), *static_cast<const Out*>(call.init), *static_cast<const Op*>(call.op_object)}};
      return impl::segmented_reduce::with_status(call,
                                                 [&] { return impl::segmented_reduce::launch_lanes(call, fold); });
    },
    kDeviceFold<In, Out, Op>.workspace};

template <class In, class Out, class Op>
static constexpr DeviceHeads kDeviceHeads{
    .fold = &kDevicePartialFold<In, Out, Op>,
    .bytes = sizeof(impl::segmented_reduce::MaybeValue<Out>),
    .merge = [](const SegmentedReduceCall& call, void* total, const void* heads, std::int64_t count,
                gpu::Stream stream) noexcept {
      return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, append_partials<Out, Op>,
                                                static_cast<Out*>(total),
                                                static_cast<const impl::segmented_reduce::MaybeValue<Out>*>(heads),
                                                count, *static_cast<const Op*>(call.op_object)));
    }};

template <class In, class Out, class Op>
  requires RunsCustomFold<In, Out, Op>
static ListsResult fold_shards(OnDevice /*here*/, const gpu::Group& group,
                               const std::vector<gpu::ListsShard<In, Out>>& shards, const Op& op,
                               const Beginning<Out>& begin, gpu::ListsStatus* status) {
  using Element = ElementType<In>;
  require_device_elements<Element, Out>();
  const auto on_device = device_operator<Out>(op);
  using OnDeviceOp = std::remove_const_t<decltype(on_device)>;
  static_assert(sizeof(impl::segmented_reduce::MaybeValue<Out>) <= 128,
                "a member has a buffer of that size for the partial fold of a list");
  ShardLists lists{.heads = &kDeviceHeads<Element, Out, OnDeviceOp>};
  return run_lists(group, shards, lists, status, [&](const gpu::ListsShard<In, Out>& shard) {
    auto call = fold_call(shard.lists, shard.in, shard.n, shard.out, on_device, shard.valid);
    call.device = &kDeviceFold<Element, Out, OnDeviceOp>;
    set_beginning(call, begin);
    return call;
  });
}

}  // namespace detail
}  // namespace upsweep
