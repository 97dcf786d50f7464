// SPDX-License-Identifier: Apache-2.0
// reduce/cuda_elements.cuh: a reduction as the teaching rungs on CUDA see it: typed, for a few types.
#pragma once

#include <cstdint>
#include <type_traits>

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

/// f(elements, out) for the operators and types that teaching rungs are compiled for, the same as in the scan.
template <class F>
Status with_elements(const detail::ReduceCall& call, F f) {
  const auto run = [&]<class T, class Op>(std::type_identity<T>, Op op) {
    const auto& carry = *static_cast<const ScanCarry<T>*>(call.carry);
    return f(Elements<T, Op>{static_cast<const T*>(call.in), carry.total, carry.any, op}, static_cast<T*>(call.out));
  };
  switch (call.out_type) {
    case Type::int32:
      return run(std::type_identity<std::int32_t>{}, Add{});
    case Type::int64:
      return run(std::type_identity<std::int64_t>{}, Add{});
    case Type::float32:
      return run(std::type_identity<float>{}, Add{});
    case Type::float64:
      return run(std::type_identity<double>{}, Add{});
    default:
      return run(std::type_identity<Affine<std::uint32_t>>{}, Compose{});
  }
}

}  // namespace upsweep::reduction
