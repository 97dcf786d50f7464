// SPDX-License-Identifier: Apache-2.0
// upsweep/policy.hpp: how a call runs (threads, rung, overflow, instruction set): its first argument.
//
// Threads   a call runs on its caller's thread, and on others that all calls into one copy of the library share: callers at
//           the same time share the cores, and each gets on by itself where no core is free. Calls may come from any
//           thread, from tasks of oneTBB and OpenMP, and under locks. The caller's rounding and denormal modes hold on
//           every thread; signals are handled on the program's own threads; pthread_cancel() of a caller acts after a
//           call that runs on several threads and reads no files.
// Cores     that a call may use are found out at the first one, in a child of fork() at its own: those that the main thread
//           or the calling one may run on, within the CPU quota. A program that binds its main thread to a core, and calls
//           from it, makes a call with `par` before it does (with OMP_PROC_BIND, OpenMP does as it is loaded).
// Stack     a call takes up to 256 KiB of its caller's stack (96 KiB were measured). Threads have 8 MiB unless they are made with
//           less, by pthread_attr_setstacksize() for instance. A query takes more the deeper its expressions nest.
// Between   calls, the shared threads sleep. They end a second after the last call that used them, and at once when the
//           program ends or the library is unloaded, at which time no call may be running.
// fork()    a child may make calls whatever its parent's threads were doing, and has threads of its own. (POSIX promises a
//           child of a program with threads next to nothing before exec(); glibc, that it can allocate memory, and no more
//           is needed.) Not: cpu.std_par, which is oneTBB's, and the call itself where its operator or callback forks.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace upsweep {

/// What happens when a sum of integers does not fit the output type. Products of integers and custom operators cannot be checked.
enum class Overflow : std::uint8_t {
  wrap,     ///< modulo 2^bits, as hardware does
  checked,  ///< Error overflow, with the index of the first output that does not fit; unsupported where nothing is checked
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
  /// At most so many; calls with little work take fewer. 0: every core that this process may use: of its affinity mask, within
  /// its CPU quota.
  int threads = 0;
  std::string_view rung = {};  ///< empty: the top rung that fits; a rung asked for by name never falls back
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
/// Every core that the call is worth.
inline constexpr Policy par{};

}  // namespace upsweep
