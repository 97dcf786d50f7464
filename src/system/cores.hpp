// SPDX-License-Identifier: Apache-2.0
// system/cores.hpp: the number of cores this process may use. Only this file determines it.
#pragma once

namespace upsweep {

/// Returns the number of cores this process may use. These are the cores in the affinity masks of its main thread and
/// of the calling thread, at most quota_cores(), at least 1. The number is determined at the first call and kept. A
/// child of fork() determines it again.
///   At the first call, not when the library is loaded: a restriction by sched_setaffinity() in the program or a child
///   is respected, as by oneTBB. The restrictions of taskset, numactl or Slurm are the same at both times.
///   Kept: binding the main thread to a core later does not reduce the number.
///   From both threads: binding it earlier does not reduce the number either, if another thread calls. OpenMP does so
///   with OMP_PROC_BIND when it is loaded. If the bound main thread makes the first call, the number is one core,
///   because nothing shows that there were more.
[[nodiscard]] int hardware_threads() noexcept;

/// Lets the calling thread run on each of those cores, whatever core its creator was bound to.
void use_every_core() noexcept;

}  // namespace upsweep
