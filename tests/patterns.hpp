// SPDX-License-Identifier: Apache-2.0
// tests/patterns.hpp: inputs, sizes and guarded memory for the rung tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "upsweep/machine.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::tests {

// Sanitizers check accesses, which depend on positions and not on values: they run every test, with fewer cases of
// each.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// All instruction sets that this CPU supports.
inline std::vector<Isa> supported_isas() {
  std::vector<Isa> all{Isa::baseline};
  if (machine().isa >= Isa::avx2) all.push_back(Isa::avx2);
  if (machine().isa >= Isa::avx512) all.push_back(Isa::avx512);
  return all;
}

/// The instruction sets to force.
inline std::vector<Isa> isas() { return kSanitized ? std::vector<Isa>{machine().isa} : supported_isas(); }

enum class Pattern : std::uint8_t { random, equal, extremes, zeros };
inline constexpr Pattern kPatterns[] = {Pattern::random, Pattern::equal, Pattern::extremes, Pattern::zeros};

inline std::string_view name(Pattern pattern) {
  constexpr std::string_view kNames[] = {"random", "equal", "extremes", "zeros"};
  return kNames[static_cast<int>(pattern)];
}

template <class>
struct TypesOf;
template <class... T>
struct TypesOf<std::tuple<T...>> {
  using Type = testing::Types<T...>;
};
/// The element types of the library.
using ElementTypes = TypesOf<Types>::Type;

/// Elements of a pattern. Floats are small integers, so that their sums up to 2^20 elements are exact in any order.
template <class T>
std::vector<T> make(Pattern pattern, std::int64_t n, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) {
    if constexpr (std::is_floating_point_v<T>) {
      const auto small = static_cast<T>(static_cast<int>(random() % 17) - 8);
      value = pattern == Pattern::random     ? small
              : pattern == Pattern::equal    ? T{3}
              : pattern == Pattern::extremes ? (random() % 2 != 0 ? T{8} : T{-8})
                                             : T{0};
    } else {
      using Limits = std::numeric_limits<T>;
      value = pattern == Pattern::random     ? static_cast<T>(random())
              : pattern == Pattern::equal    ? static_cast<T>(7)
              : pattern == Pattern::extremes ? (random() % 2 != 0 ? Limits::max() : Limits::min())
                                             : T{0};
    }
  }
  return values;
}

/// Random floats of mixed magnitude: sums are rounded, so the order changes the bits.
template <class T>
std::vector<T> rounded(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) {
    const auto mantissa = static_cast<T>(static_cast<std::int64_t>(random() >> 12)) / T{4503599627370496.0};
    value = std::ldexp(mantissa - T{0.5}, static_cast<int>(random() % 12));
  }
  return values;
}

/// x -> a·x + b modulo 2^32, composed from left to right. It is associative and not commutative, and not one of the
/// library's operators.
struct AffineMap {
  std::uint32_t a;
  std::uint32_t b;
  bool operator==(const AffineMap&) const = default;
};
inline constexpr auto kCompose = [](AffineMap f, AffineMap g) { return AffineMap{f.a * g.a, g.a * f.b + g.b}; };

/// Whether an operator is exact on such elements, in any order: for floats only products round.
template <class T, class Op>
inline constexpr bool is_exact = std::is_integral_v<T> || !std::is_same_v<Op, Mul>;

/// Memory of n elements at a chosen distance from a 64-byte boundary, poisoned, with guard bytes on both sides.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::int64_t n, std::int64_t misaligned_elements = 0)
      : n_(n), bytes_(kGuard * 2 + kAlign + (n + misaligned_elements) * std::int64_t{sizeof(T)}) {
    memory_.reset(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes_), std::align_val_t{kAlign})));
    std::memset(memory_.get(), kPoison, static_cast<std::size_t>(bytes_));
    first_ = memory_.get() + kGuard + misaligned_elements * std::int64_t{sizeof(T)};
  }

  [[nodiscard]] T* data() { return reinterpret_cast<T*>(first_); }
  [[nodiscard]] std::span<T> span() { return {data(), static_cast<std::size_t>(n_)}; }

  /// Whether nothing outside the n elements was written.
  [[nodiscard]] bool intact() const {
    const auto is_poison = [](std::byte b) { return b == std::byte{kPoison}; };
    const std::byte* end = first_ + n_ * std::int64_t{sizeof(T)};
    return std::all_of(static_cast<const std::byte*>(memory_.get()), static_cast<const std::byte*>(first_),
                       is_poison) &&
           std::all_of(end, static_cast<const std::byte*>(memory_.get()) + bytes_, is_poison);
  }

 private:
  static constexpr std::int64_t kAlign = 64;
  static constexpr std::int64_t kGuard = 128;  // a multiple of kAlign: the elements have the requested alignment
  static constexpr unsigned char kPoison = 0xA5;
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, std::align_val_t{kAlign}); }
  };

  std::int64_t n_;
  std::int64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  std::byte* first_;
};

}  // namespace upsweep::tests
