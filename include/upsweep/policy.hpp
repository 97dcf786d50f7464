// SPDX-License-Identifier: Apache-2.0
// upsweep/policy.hpp: how a call runs (threads, rung, overflow, instruction set): its first argument.
#pragma once

#include <cstdint>
#include <string_view>

namespace upsweep {

/// What happens when a prefix or a sum of integers does not fit the output type. Concerns addition only.
enum class Overflow : std::uint8_t {
  wrap,     ///< modulo 2^bits, as hardware does
  checked,  ///< Error overflow, with the index of the first output that does not fit
};

/// The instruction set of the SIMD rungs. The result has the same bits with each of them.
enum class Isa : std::uint8_t {
  best,      ///< the widest that this CPU has
  baseline,  ///< what every CPU of the architecture has (SSE2 on x86-64)
  avx2,
  avx512,  ///< AVX-512 F, BW, DQ and VL
};

/// How to run a call. Copy one and change it: `upsweep::par.with_threads(4)`.
struct Policy {
  int threads = 0;             ///< 0: every core that this process may use: of its affinity mask, within its CPU quota
  std::string_view rung = {};  ///< empty: the top rung that fits; a rung asked for by name never falls back
  Overflow overflow = Overflow::wrap;
  Isa isa = Isa::best;

  [[nodiscard]] constexpr Policy with_threads(int count) const {
    Policy policy = *this;
    policy.threads = count;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_rung(std::string_view id) const {
    Policy policy = *this;
    policy.rung = id;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_overflow(Overflow mode) const {
    Policy policy = *this;
    policy.overflow = mode;
    return policy;
  }
  [[nodiscard]] constexpr Policy with_isa(Isa forced) const {
    Policy policy = *this;
    policy.isa = forced;
    return policy;
  }
};

/// One thread.
inline constexpr Policy seq{.threads = 1};
/// Every core.
inline constexpr Policy par{};

}  // namespace upsweep
