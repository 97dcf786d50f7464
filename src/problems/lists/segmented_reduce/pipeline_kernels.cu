// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/pipeline_kernels.cu: cuda.pipeline for one stored element type, UPSWEEP_ELEMENT;
// compiled once per type.
#include <algorithm>
#include <utility>

#include "problems/lists/segmented_reduce/cuda_pipeline.cuh"
#include "upsweep/detail/shared_memory.cuh"

namespace upsweep::impl::segmented_reduce {
namespace {

template <class R>
__global__ void __launch_bounds__(kPipelineThreads, kBlocks)
    reduce_lists(const __grid_constant__ ListsCall call, const typename R::In* content,
                 const __grid_constant__ R reducer) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char shared[];
  run_pipeline(call, content, reducer, shared);
#endif
}

template <class R>
cudaError_t reduce(const detail::SegmentedReduceCall& call, const R& reducer) {
  const gpu::Launch& launch = *call.launch;
  const std::int64_t shares = most_pipeline_shares(call);
  const ListsCall given{lists_of(call), control_at(launch.kept), partials_at(launch.kept, launch.scratch, shares),
                        shares, call.out_size};
  const auto blocks = std::min(std::int64_t{launch.multiprocessors} * kBlocks, needed_blocks(call));
  const gpu::detail::Grid grid{.blocks = static_cast<unsigned>(blocks),
                               .threads = kPipelineThreads,
                               .stream = launch.stream,
                               .shared_bytes = kPipelineShared};
  const auto* const content = content_of<typename R::In>(call).data;
  return gpu::detail::launch_large<R>(grid, launch.device, reduce_lists<R>, given, content, reducer);
}

}  // namespace

/// Returns whether the rung's refusal agrees with the kernels that are compiled.
template <class T, class Op>
constexpr bool is_as_refused(Op) {
  return kIsPiped<decltype(fold_of<T, Op>(std::declval<const detail::SegmentedReduceCall&>()))> ==
         is_piped(Op::kOperator);
}
static_assert([] {
  bool all = true;
  for_each_operator<UPSWEEP_ELEMENT>([&](auto op) { all = all && is_as_refused<UPSWEEP_ELEMENT>(op); });
  return all;
}());

template <>
Status pipeline_on<UPSWEEP_ELEMENT>(const detail::SegmentedReduceCall& call) noexcept {
  return with_reducer<UPSWEEP_ELEMENT>(call, [&]<class R>(const R& reducer) -> Status {
    if constexpr (kIsPiped<R>) {
      return gpu::status_of(reduce(call, reducer));
    } else {
      return {Code::unsupported};
    }
  });
}

}  // namespace upsweep::impl::segmented_reduce
