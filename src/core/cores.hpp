// SPDX-License-Identifier: Apache-2.0
// core/cores.hpp: how many cores this process may use: the one place that knows.
#pragma once

#include <filesystem>

namespace upsweep {

/// How many cores this process may use: those of the affinity masks of its main thread and of the calling one, but no more than
/// quota_cores(); at least 1. Found out at the first call and kept; a child of fork() finds out for itself.
///   At the first call, not when the library is loaded: what a program, or a child, has left itself by sched_setaffinity() holds,
///   as under oneTBB, and what taskset, numactl or Slurm leave is the same at both times.
///   Kept: whoever binds the main thread to a core afterwards loses nothing.
///   Of both threads: nor does who does so before, as OpenMP does with OMP_PROC_BIND when it is loaded, and calls from another
///   thread. Where the main thread is bound and makes the first call, it is one core: nothing says that there were more.
[[nodiscard]] int hardware_threads() noexcept;

/// Lets the calling thread run on each of those cores, whatever core the thread that made it was bound to.
void use_every_core() noexcept;

/// The CPU quota of this process's control groups in cores, the least of its own group and of those above it; INT_MAX where
/// there is none. Rounded up, as the runtimes of Java, .NET and Go do: with a quota of 1.5 cores a second thread can use the
/// half. Control groups v1 and v2; what cannot be read or understood limits nothing. `root` is where proc/ and sys/ are.
[[nodiscard]] int quota_cores(const std::filesystem::path& root) noexcept;

}  // namespace upsweep
