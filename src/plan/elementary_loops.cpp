// SPDX-License-Identifier: Apache-2.0
// plan/elementary_loops.cpp: the kernels of elementary functions, by the functions of the C++ library.
#include "plan/elementary_loops.hpp"

#include <cmath>

namespace upsweep::plan::detail {
namespace {

template <class T, T (*kFunction)(T)>
void unary(void* to, const void* const* in, std::int64_t n, std::int64_t /*first*/) {
  const T* x = static_cast<const T*>(in[0]);
  T* out = static_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = kFunction(x[i]);
}

template <class T, T (*kFunction)(T, T)>
void binary(void* to, const void* const* in, std::int64_t n, std::int64_t /*first*/) {
  const T *x = static_cast<const T*>(in[0]), *y = static_cast<const T*>(in[1]);
  T* out = static_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = kFunction(x[i], y[i]);
}

template <class T>
ElementKernel loop(Op op) noexcept {
  switch (op) {
    case Op::power:
      return binary<T, std::pow>;
    case Op::arctan2:
      return binary<T, std::atan2>;
    case Op::hypot:
      return binary<T, std::hypot>;
    case Op::cbrt:
      return unary<T, std::cbrt>;
    case Op::exp:
      return unary<T, std::exp>;
    case Op::exp2:
      return unary<T, std::exp2>;
    case Op::expm1:
      return unary<T, std::expm1>;
    case Op::log:
      return unary<T, std::log>;
    case Op::log2:
      return unary<T, std::log2>;
    case Op::log10:
      return unary<T, std::log10>;
    case Op::log1p:
      return unary<T, std::log1p>;
    case Op::sin:
      return unary<T, std::sin>;
    case Op::cos:
      return unary<T, std::cos>;
    case Op::tan:
      return unary<T, std::tan>;
    case Op::arcsin:
      return unary<T, std::asin>;
    case Op::arccos:
      return unary<T, std::acos>;
    case Op::arctan:
      return unary<T, std::atan>;
    case Op::sinh:
      return unary<T, std::sinh>;
    case Op::cosh:
      return unary<T, std::cosh>;
    case Op::tanh:
      return unary<T, std::tanh>;
    case Op::arcsinh:
      return unary<T, std::asinh>;
    case Op::arccosh:
      return unary<T, std::acosh>;
    case Op::arctanh:
      return unary<T, std::atanh>;
    default:
      return nullptr;
  }
}

}  // namespace

ElementKernel elementary_loop(Op op, ElementType type, Isa /*isa*/) noexcept {
  if (type == ElementType::float32) return loop<float>(op);
  if (type == ElementType::float64) return loop<double>(op);
  return nullptr;
}

}  // namespace upsweep::plan::detail
