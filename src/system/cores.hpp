// SPDX-License-Identifier: Apache-2.0
// system/cores.hpp: how many cores this process may use: the one place that knows.
#pragma once

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

}  // namespace upsweep
