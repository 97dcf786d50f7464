// SPDX-License-Identifier: Apache-2.0
// upsweep/policy.hpp: how a call runs (threads, rung, overflow, instruction set): its first argument.
//
// Threads   a call runs on its caller's thread, and on threads that all calls into one copy of the library share.
//           Concurrent callers share the cores. If no core is free, a call runs without the shared threads. Calls may
//           come from any thread, from tasks of oneTBB and OpenMP, and under locks. The caller's rounding and denormal
//           modes apply on every thread. Signals are handled on the program's threads. A caller's pthread_cancel()
//           takes effect after a call, if the call runs on several threads and reads no files.
// Cores     the cores for calls are determined at the first call; in a child of fork(), at the child's first call.
//           They are the cores that the main thread or the calling thread may run on, within the CPU quota. A program
//           may bind its main thread to a core and make calls from it. Such a program must make a call with `par`
//           before it binds the thread; otherwise calls run only on that core. With OMP_PROC_BIND, OpenMP binds the
//           main thread when OpenMP is loaded.
// Stack     a call uses up to 256 KiB of its caller's stack (96 KiB were measured). Threads have 8 MiB unless they are
//           created with less, for instance by pthread_attr_setstacksize(). The stack of a query grows with the nesting
//           depth of its expressions.
// Idle      between calls, the shared threads sleep. They end a second after the last call that used them. They end at
//           once when the program ends or the library is unloaded. No call may be running then.
// fork()    a child may make calls, whatever its parent's threads were doing, and starts separate threads. For a child
//           of a program with threads, POSIX guarantees almost nothing before exec(). The guarantee of glibc that the
//           child can allocate memory is enough. Exceptions: cpu.std_par, which uses oneTBB, and a call whose operator
//           or callback forks.
//           callback forks.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>

namespace upsweep {

/// The treatment of sums of integers that do not fit the output type. Products of integers and custom operators cannot
/// be checked.
enum class Overflow : std::uint8_t {
  wrap,     ///< modulo 2^bits, as hardware does
  checked,  ///< Error overflow, with the index of the first output that does not fit; unsupported if there is no check
};

/// The instruction set of the SIMD rungs. The result has the same bits with each instruction set.
enum class Isa : std::uint8_t {
  best,      ///< the widest that this CPU supports
  baseline,  ///< what every CPU of the architecture supports (SSE2 on x86-64)
  avx2,
  avx512,  ///< AVX-512 F, BW, DQ and VL
};

/// Describes how a call runs. Copy a policy and change it: `upsweep::par.with_threads(4)`.
struct Policy {
  /// Maximum number of threads. Small calls use fewer. 0: every core that this process may use, by its affinity mask
  /// and its CPU quota.
  int threads = 0;
  std::string_view rung = {};  ///< empty: the top rung that fits; a rung requested by name never falls back
  Overflow overflow = Overflow::wrap;
  Isa isa = Isa::best;

  [[nodiscard]] constexpr Policy with_threads(int count) const {
    Policy policy = *this;
    policy.threads = count;
    return policy;
  }
  /// @cond
  template <std::floating_point T>
  [[nodiscard]] constexpr Policy with_threads(T /*count*/) const {
    static_assert(!std::floating_point<T>, "lengths, counts and targets must be integers: convert a float first");
    return *this;
  }
  /// @endcond
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
/// Every core, or fewer for small calls.
inline constexpr Policy par{};

}  // namespace upsweep
