// SPDX-License-Identifier: Apache-2.0
// scan/cuda_lookahead_kernels.cu: cuda.lookahead for elements of one type, UPSWEEP_ELEMENT: compiled once for each.
#include "scan/cuda_lookahead.cuh"

namespace upsweep::scan {
namespace {

using gpu::detail::run_on_device;

template <class T>
Status run_same(const detail::ScanCall& call) noexcept {
  if constexpr (std::is_integral_v<T>) {
    if (call.op == Operator::bit_and) return run_on_device<T, T, BitAnd, true>(call, {});
    if (call.op == Operator::bit_or) return run_on_device<T, T, BitOr, true>(call, {});
    if (call.op == Operator::bit_xor) return run_on_device<T, T, BitXor, true>(call, {});
  }
  if (call.op == Operator::mul) return run_on_device<T, T, Mul, true>(call, {});
  if (call.op == Operator::min) return run_on_device<T, T, Min, true>(call, {});
  if (call.op == Operator::max) return run_on_device<T, T, Max, true>(call, {});
  return run_on_device<T, T, Add, true>(call, {});
}

}  // namespace

template <>
Status lookahead_from<UPSWEEP_ELEMENT>(const detail::ScanCall& call) noexcept {
  using T = UPSWEEP_ELEMENT;
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    if (call.out_type == type_of<Wide>()) return run_on_device<T, Wide, Add, true>(call, {});
  }
  return run_same<T>(call);
}

}  // namespace upsweep::scan
