// SPDX-License-Identifier: Apache-2.0
// reduce/cuda_elements.cuh: a reduction as the simple rungs on CUDA get it: typed, for a few types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/compiled.hpp"
#include "upsweep/detail/cuda_status.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::reduction {

template <class T, class Op>
struct Elements {
  const T* in;
  T init;
  bool has_init;
  Op op;
};

/// f(elements, out) for the operator and type of the call.
template <class F>
Status with_elements(const detail::ReduceCall& call, F f) {
  return with_few_types(call.out_type, [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
    return f(Elements<T, Op>{static_cast<const T*>(call.in), carry.total, carry.any, op}, static_cast<T*>(call.out));
  });
}

}  // namespace upsweep::reduction
