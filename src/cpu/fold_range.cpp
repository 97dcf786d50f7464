// SPDX-License-Identifier: Apache-2.0
// cpu/fold_range.cpp: products of floats as mantissas and exponents, in the order in which the kernels multiply.
#include "cpu/fold_range.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/range_flags.hpp"
#include "cpu/tuning/blocks.hpp"

namespace upsweep::cpu {
namespace {

constexpr std::size_t kAccumulators = tuning::kBlocksOrder.accumulators;

/// kChains products, of the elements whose indices are equal modulo kChains. They are scaled by exact powers of two,
/// and so rounded as if multiplied one by one. The bits are therefore those of the kernels if these stay in range.
template <class T, std::size_t kChains>
class Chains {
 public:
  Chains() {
    std::fill_n(mantissa_, kChains, T{1});
    std::fill_n(special_, kChains, T{1});
  }

  void multiply(const T* x, std::int64_t n) {
    for (; n >= kRow; n -= kRow, x += kRow) {
      if (all_normal(x)) {
        multiply_normal(x);
      } else {
        multiply_any(x, kChains);
      }
    }
    multiply_any(x, static_cast<std::size_t>(n));
  }

  [[nodiscard]] ScanCarry<T> product(std::size_t chain) const {
    auto all = carry_of<T>(mantissa_[chain] * special_[chain]);
    all.wraps = exponent_[chain];
    return all;
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  static constexpr auto kRow = static_cast<std::int64_t>(kChains);
  static constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  static constexpr Bits kField = (Bits{1} << (8 * sizeof(T) - 1 - kFraction)) - 1;
  static constexpr Bits kBias = kField / 2;

  static Bits field_of(T x) { return (std::bit_cast<Bits>(x) >> kFraction) & kField; }
  /// Returns x / 2^exponent, in [1, 2) or its negative.
  static T mantissa_of(T x) {
    return std::bit_cast<T>((std::bit_cast<Bits>(x) & ~(kField << kFraction)) | (kBias << kFraction));
  }

  static bool all_normal(const T* x) {
    Bits strange = 0;
    for (std::size_t c = 0; c < kChains; ++c) strange |= field_of(x[c]) == 0 || field_of(x[c]) == kField ? 1 : 0;
    return strange == 0;
  }

  void multiply_normal(const T* x) {
    for (std::size_t c = 0; c < kChains; ++c) {
      const T product = mantissa_[c] * mantissa_of(x[c]);  // in [1, 4)
      exponent_[c] += field_of(x[c]) + field_of(product) - 2 * kBias;
      mantissa_[c] = mantissa_of(product);
    }
  }

  void multiply_any(const T* x, std::size_t n) {
    for (std::size_t c = 0; c < n; ++c) {
      int exponent = 0;
      const T fraction = std::frexp(x[c], &exponent);
      if (fraction == 0 || !std::isfinite(fraction)) {
        special_[c] *= fraction;
        continue;
      }
      const T product = mantissa_[c] * (2 * fraction);
      exponent_[c] += static_cast<Bits>(exponent - 1 + field_of(product) - kBias);
      mantissa_[c] = mantissa_of(product);
    }
  }

  T mantissa_[kChains];
  T special_[kChains];  // the zeros, infinities and NaNs among the elements
  Bits exponent_[kChains] = {};
};

template <class T, std::size_t kChains>
void multiply(const void* x, std::int64_t n, void* carry) {
  Chains<T, kChains> chains;
  chains.multiply(static_cast<const T*>(x), n);
  ScanCarry<T> all[kChains];
  for (std::size_t c = 0; c < kChains; ++c) all[c] = chains.product(c);
  const auto join = [&](std::size_t distance) {
    for (std::size_t c = 0; c + distance < kChains; ++c) {
      if ((c & distance) == 0) detail::merge(Mul{}, all[c], all[c + distance]);
    }
  };
  // First the accumulators, then the lanes of their product.
  constexpr std::size_t kLanes = kChains / kAccumulators;
  for (std::size_t distance = kLanes; 0 < distance && distance < kChains; distance *= 2) join(distance);
  for (std::size_t distance = 1; distance < kLanes; distance *= 2) join(distance);
  *static_cast<ScanCarry<T>*>(carry) = all[0];
}

/// carry ← a sum modulo 2^bits of an integer type.
void put_sum(Type type, Int128 sum, void* carry) {
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      *static_cast<ScanCarry<T>*>(carry) = carry_of(static_cast<T>(sum));
    }
  });
}

}  // namespace

FoldRange::Multiply FoldRange::product_of(Type type, bool vectors) {
  if (type == Type::float32) {
    return vectors ? &multiply<float, kAccumulators * kVectorBytes / 4> : &multiply<float, 1>;
  }
  return vectors ? &multiply<double, kAccumulators * kVectorBytes / 8> : &multiply<double, 1>;
}

void FoldRange::fold(const void* x, std::int64_t n, void* carry) const {
  if (multiply_ == nullptr || n == 0) return kernel_.reduce(op_, x, n, carry);
  const RangeFlags flags;
  kernel_.reduce(op_, x, n, carry);
  if (flags.raised()) multiply_(x, n, carry);
}

void FoldRange::operator()(Range range, void* carry) const {
  if (!elements_.converts()) return fold(elements_.at_index(range.first), range.count, carry);
  if (exact_sum_ != nullptr) {
    return put_sum(out_type_, exact_sum_(elements_.at_index(range.first), range.count), carry);
  }
  clear(carry);
  elements_.for_each_block(range, [&](const void* x, std::int64_t, std::int64_t count) {
    detail::CarryBytes total;
    fold(x, count, total.bytes);
    merge(carry, total.bytes);
  });
}

}  // namespace upsweep::cpu
