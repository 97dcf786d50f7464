// SPDX-License-Identifier: Apache-2.0
// plan/elementary_loops.cpp: the kernels of elementary functions: those of cpu/elementary/, as steps of a group.
#include "plan/elementary_loops.hpp"

#include <array>
#include <utility>

#include "cpu/elementary/elementary.hpp"

namespace upsweep::plan::detail {
namespace {

using cpu::BinaryFunction;
using cpu::UnaryFunction;

template <class T, Isa kIsa, int kFunction>
void unary(void* out, const void* const* in, std::int64_t n, std::int64_t /*first*/) {
  cpu::elementary_loops<T>(kIsa).unary[kFunction](static_cast<const T*>(in[0]), static_cast<T*>(out), n);
}

template <class T, Isa kIsa, BinaryFunction kFunction>
void binary(void* out, const void* const* in, std::int64_t n, std::int64_t /*first*/) {
  cpu::elementary_loops<T>(kIsa).binary[static_cast<int>(kFunction)](
      static_cast<const T*>(in[0]), static_cast<const T*>(in[1]), static_cast<T*>(out), n);
}

// From cbrt to arctanh, both enumerations have the same functions in the same order.
constexpr int kFirst = static_cast<int>(UnaryFunction::cbrt);
constexpr int kUnary = cpu::kUnaryFunctions - kFirst;
static_assert(static_cast<int>(Op::arctanh) - static_cast<int>(Op::cbrt) + 1 == kUnary);

template <class T, Isa kIsa, int... kOffsets>
constexpr std::array<ElementKernel, kUnary> unary_loops(std::integer_sequence<int, kOffsets...> /*offsets*/) {
  return {unary<T, kIsa, kFirst + kOffsets>...};
}

template <class T, Isa kIsa>
ElementKernel loop(Op op) noexcept {
  static constexpr auto kLoops = unary_loops<T, kIsa>(std::make_integer_sequence<int, kUnary>{});
  switch (op) {
    case Op::power:
      return binary<T, kIsa, BinaryFunction::power>;
    case Op::arctan2:
      return binary<T, kIsa, BinaryFunction::arctan2>;
    case Op::hypot:
      return binary<T, kIsa, BinaryFunction::hypot>;
    case Op::fmod:
      return binary<T, kIsa, BinaryFunction::fmod>;
    case Op::floor_divide:
      return binary<T, kIsa, BinaryFunction::floor_divide>;
    default:
      break;
  }
  if (op < Op::cbrt || op > Op::arctanh) return nullptr;
  return kLoops[static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::cbrt)];
}

template <class T>
ElementKernel loop(Op op, Isa isa) noexcept {
  if (isa == Isa::avx512) return loop<T, Isa::avx512>(op);
  return isa == Isa::avx2 ? loop<T, Isa::avx2>(op) : loop<T, Isa::baseline>(op);
}

}  // namespace

ElementKernel elementary_loop(Op op, ElementType type, Isa isa) noexcept {
  if (type == ElementType::float32) return loop<float>(op, isa);
  if (type == ElementType::float64) return loop<double>(op, isa);
  return nullptr;
}

}  // namespace upsweep::plan::detail
