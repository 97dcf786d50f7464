// SPDX-License-Identifier: Apache-2.0
// core/threads.hpp: whether the system lets this process make the threads that libraries under it will need.
#pragma once

#include <cstddef>

namespace upsweep {

struct SpareThreads {
  int count;    ///< that could be made at once
  bool enough;  ///< as many as are wanted: a thread for each core, and some for libraries that read files
};

/// Tried out at the first call, by making them: oneTBB and Arrow end the program, or wait forever, where a thread they
/// start cannot be made (limits on processes, on memory, or of a container), and have no way to be asked.
SpareThreads spare_threads() noexcept;

/// Threads that a call may run on, its caller's among them: hardware_threads(). Where threads are short, half of the spare
/// ones are left to whatever else makes some.
[[nodiscard]] int thread_limit() noexcept;

/// The stack of a thread, of oneTBB's as of our own.
inline constexpr std::size_t kThreadStack = std::size_t{4} << 20;

/// Whether the address space is limited, so that what is allocated may take the memory that a thread's stack needs.
[[nodiscard]] bool address_space_is_limited() noexcept;

}  // namespace upsweep
