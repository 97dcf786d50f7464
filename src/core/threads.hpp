// SPDX-License-Identifier: Apache-2.0
// core/threads.hpp: whether the system lets this process make the threads that libraries under it will need.
#pragma once

namespace upsweep {

struct SpareThreads {
  int count;    ///< that could be made at once
  bool enough;  ///< as many as are wanted: a thread for each core, and some for libraries that read files
};

/// Tried out at the first call, by making them: oneTBB and Arrow end the program, or wait forever, where a thread they
/// start cannot be made (limits on processes, on memory, or of a container), and have no way to be asked.
const SpareThreads& spare_threads() noexcept;

/// Whether the address space is limited, so that what is allocated may take the memory that a thread's stack needs.
[[nodiscard]] bool address_space_is_limited() noexcept;

}  // namespace upsweep
