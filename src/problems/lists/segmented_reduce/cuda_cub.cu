// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_cub.cu: cub::DeviceSegmentedReduce, as a CUDA programmer would use it without
// upsweep.
//
// Idea   One block per list: tiles with vector loads, then shuffles. Iterators check the bounds, so that no element of
//        a bad list is read.
// Cost   One pass. Work n + 256 per list, depth the longest list / 256.
// Needs  Any GPU.
// Limit  One block per list, as cuda.block_per_list: 180 times cuda.pipeline's time for lists of three elements.
// From   CUB 3 of the CUDA toolkit.
#include "problems/lists/segmented_reduce/cuda_lists.cuh"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <cub/device/device_segmented_reduce.cuh>

#include "cuda/cub.cuh"
#include "upsweep/detail/tuning/teaching.hpp"
#endif

namespace upsweep::impl::segmented_reduce {

namespace {

#if UPSWEEP_HAS_CUDA
struct StartOf {
  GivenLists lists;
  __device__ std::int64_t operator()(std::int64_t i) const { return lists.list(i).start; }
};
struct StopOf {
  GivenLists lists;
  __device__ std::int64_t operator()(std::int64_t i) const {
    Code code;
    const Extent list = lists.extent(i, code);
    return list.start + list.length;
  }
};

constexpr int kThreads = gpu::tuning::kTeaching.threads;

/// Writes zero for empty lists, because CUB writes its initial value.
template <class T>
__global__ void zero_empty(GivenLists lists, T* out) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  Code code;
  if (i < lists.count && lists.extent(i, code).length == 0) out[i] = T{0};
}

template <class T, class Op>
cudaError_t reduce_by_cub(const detail::SegmentedReduceCall& call, Op op, void* temporary, std::size_t& bytes) {
  gpu::forget_last_error();
  const GivenLists lists = lists_of(call);
  const thrust::counting_iterator<std::int64_t> first(0);
  T* const out = static_cast<T*>(call.out);
  const gpu::Stream stream = call.launch->stream;
  const cudaError_t error = cub::DeviceSegmentedReduce::Reduce(
      temporary, bytes, content_of<T>(call).data, out, call.lists.count,
      thrust::make_transform_iterator(first, StartOf{lists}), thrust::make_transform_iterator(first, StopOf{lists}),
      gpu::tuned(op), init_of<T>(call), stream);
  if (error != cudaSuccess || temporary == nullptr || !call.empty_is_zero || lists.count == 0) return error;
  const auto blocks = static_cast<unsigned>((lists.count + kThreads - 1) / kThreads);
  return gpu::detail::launch({.blocks = blocks, .threads = kThreads, .stream = stream}, zero_empty<T>, lists, out);
}

/// Runs the call with its type and operator.
cudaError_t reduce_by_cub(const detail::SegmentedReduceCall& call, void* temporary, std::size_t& bytes) {
  cudaError_t error = cudaErrorNotSupported;
  (void)with_few_types(call.out_type, [&]<class T, class Any>(std::type_identity<T>, Any) -> Status {
    if constexpr (std::is_arithmetic_v<T>) {
      if (call.op == Operator::add) error = reduce_by_cub<T>(call, Add{}, temporary, bytes);
      if constexpr (std::is_integral_v<T>) {
        if (call.op == Operator::min) error = reduce_by_cub<T>(call, Min{}, temporary, bytes);
        if (call.op == Operator::max) error = reduce_by_cub<T>(call, Max{}, temporary, bytes);
      }
    }
    return {};
  });
  return error;
}

Status launch(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  return with_status(call, [&] {
    auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
    return reduce_by_cub(call, call.launch->scratch, bytes);
  });
}

gpu::WorkspaceSize workspace(const detail::SegmentedReduceCall& call) noexcept {
  std::size_t bytes = 0;
  (void)reduce_by_cub(call, nullptr, bytes);
  return {.scratch = static_cast<std::int64_t>(bytes)};
}
#endif

const char* cub_refusal(const detail::SegmentedReduceCall& call, const Policy&) noexcept {
  if (call.checked) return kWraps;
  if (call.valid.is_given()) return "does not support null elements";
  const bool is_picked = call.op == Operator::min || call.op == Operator::max;
  if (call.reducer != Reducer::fold || (call.op != Operator::add && !is_picked))
    return "supports only sums, minima and maxima";
  if (is_picked && is_float(call.in_type)) return "may pick another one of equal zeros";
  return teaching_refusal(Operator::add, call.in_type, call.out_type);
}

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceSegmentedReduce",
                                    .needs = "any GPU",
                                    .traffic = kOnePass,
                                    .cost = "n + 256 per list, the longest list / 256",
                                    .limit = "one block per list",
                                    .kind = Kind::library,
                                    .determinism = Determinism::no},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::segmented_reduce
