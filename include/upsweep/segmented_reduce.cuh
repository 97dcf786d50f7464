// SPDX-License-Identifier: Apache-2.0
// upsweep/segmented_reduce.cuh: reduces lists on a GPU with custom operators and types; nvcc compiles them.
//
// The calls are those of segmented_reduce.hpp, with a gpu::Policy. With by_key.hpp they also reduce by key. Elements
// and operators follow the rules of scan.cuh. An operator that is not known to commute is folded in order. The operator
// only receives valid elements. Which elements are combined first depends only on the length of their list. The rung
// is cuda.lanes.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <type_traits>

#include "upsweep/detail/cuda_operators.cuh"
#include "upsweep/detail/segmented_reduce_lanes.cuh"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep {
namespace impl::segmented_reduce {

/// A value, or no value yet: a custom operator need not have an identity.
template <class T>
struct MaybeValue {
  T value;
  bool any;
};

/// Folds to init ⊕ x0 ⊕ x1 …
template <class Element, class T, class Op>
struct CustomFold {
  using In = Element;
  using Value = MaybeValue<T>;
  T* out;
  T init;
  Op op;

  __device__ bool reads() const { return true; }
  __device__ Value none() const { return {T{}, false}; }
  __device__ Value of(const In& x, std::int64_t) const { return {static_cast<T>(x), true}; }
  __device__ Value merge(const Value& a, const Value& b) const {
    if (!a.any) return b;
    return b.any ? Value{static_cast<T>(op(a.value, b.value)), true} : a;
  }
  __device__ void write(std::int64_t list, const Value& all) const {
    out[list] = all.any ? static_cast<T>(op(init, all.value)) : init;
  }
};
template <class Element, class T, class Op>
inline constexpr bool kFoldsInOrder<CustomFold<Element, T, Op>> = !is_commutative<Op, T>;

}  // namespace impl::segmented_reduce

namespace detail {

template <class In, class Out, class Op>
concept RunsCustomFold = !NamedReducer<Op> && RunsCustom<ElementType<In>, Out, Op>;

template <class In, class Out, class Op>
static constexpr DeviceKernel<SegmentedReduceCall> kDeviceFold{
    [](const SegmentedReduceCall& call) noexcept {
      const impl::segmented_reduce::CustomFold<In, Out, Op> fold{
          static_cast<Out*>(call.out), *static_cast<const Out*>(call.init), *static_cast<const Op*>(call.op_object)};
      return impl::segmented_reduce::with_status(call,
                                                 [&] { return impl::segmented_reduce::launch_lanes(call, fold); });
    },
    [](const SegmentedReduceCall& call) noexcept {
      constexpr std::int64_t kSlot = impl::segmented_reduce::kSlotBytes<impl::segmented_reduce::MaybeValue<Out>>;
      return gpu::WorkspaceSize{.scratch = impl::segmented_reduce::list_tiles_bytes(call, kSlot)};
    }};

/// Calls use(call). The call has the custom operator in the form that its kernel calls, and the kernel compiled for it.
template <class In, class Out, class Op, class Use>
  requires RunsCustomFold<In, Out, Op>
static auto with_fold(OnDevice, const Lists& lists, const In* content, std::int64_t n, Out* out, const Op& op,
                      const Mask& valid, Use use) {
  using Element = ElementType<In>;
  require_device_elements<Element, Out>();
  const auto on_device = device_operator<Out>(op);
  auto call = fold_call(lists, content, n, out, on_device, valid);
  call.device = &kDeviceFold<Element, Out, std::remove_const_t<decltype(on_device)>>;
  return use(call);
}

}  // namespace detail
}  // namespace upsweep
