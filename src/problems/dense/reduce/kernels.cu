// SPDX-License-Identifier: Apache-2.0
// problems/dense/reduce/kernels.cu: cuda.one_kernel and cuda.cub for one type, UPSWEEP_ELEMENT; compiled per type.
#include <cub/device/device_reduce.cuh>

#include "cuda/cub.cuh"
#include "problems/dense/reduce/cuda_compiled.cuh"

namespace upsweep::impl::reduce {
namespace {

using In = UPSWEEP_ELEMENT;

template <class T, class Op>
cudaError_t run_cub(const detail::ReduceCall& call, Op op, void* temporary, std::size_t& bytes) {
  const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
  const T init = carry.any ? carry.total : Op::template identity<T>();
  gpu::forget_last_error();
  return cub::DeviceReduce::Reduce(temporary, bytes, static_cast<const In*>(call.in), static_cast<T*>(call.out), call.n,
                                   gpu::tuned(op), init, call.launch->stream);
}

}  // namespace

template <>
Status one_kernel_from<In>(const detail::ReduceCall& call) noexcept {
  return with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    return gpu::detail::run_reduce<In, T, Op, true>(call, op);
  });
}

template <>
Status cub_from<In>(const detail::ReduceCall& call) noexcept {
  return with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    auto bytes = static_cast<std::size_t>(call.launch->size.scratch);
    return gpu::status_of(run_cub<T>(call, op, call.launch->scratch, bytes));
  });
}

template <>
std::int64_t cub_bytes_from<In>(const detail::ReduceCall& call) noexcept {
  std::size_t bytes = 0;
  (void)with_operator<In>(call, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const ScanCarry<T> none{};
    const gpu::Launch nowhere;
    detail::ReduceCall asked = call;
    asked.carry = const_cast<ScanCarry<T>*>(&none);
    asked.launch = &nowhere;
    return gpu::status_of(run_cub<T>(asked, op, nullptr, bytes));
  });
  return static_cast<std::int64_t>(bytes);
}

}  // namespace upsweep::impl::reduce
