// SPDX-License-Identifier: Apache-2.0
// cuda/program.hpp: code that is compiled when it is needed, and its kernels, which take one array of 64-bit words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

class Program {
 public:
  /// Launches blocks × threads of the kernel of that name, which takes a struct of `words`, with that amount of dynamic
  /// shared memory. The program's device must be current. Throws Error device_failed.
  void launch(const char* kernel, std::int64_t blocks, int threads, std::int64_t shared_bytes, Stream stream,
              std::span<const std::uint64_t> words) const;

  struct State;
  explicit Program(std::unique_ptr<State> state);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  std::unique_ptr<State> state_;
};

/// Maximum number of programs that a process keeps loaded: the most recently used ones. A query's program takes about
/// 100 KB.
inline constexpr std::size_t kMostPrograms = 256;

/// Returns the source's program for a device, which need not be current. If the process has not loaded the program, the
/// call compiles and loads it. Threads that request other programs do not wait. `seconds` increases by the time for
/// compiling and loading. Throws as compiled() does, and device_failed.
std::shared_ptr<const Program> program_of(const std::string& source, int device, double& seconds);

/// The limits of a launch on a device.
struct LaunchLimits {
  int multiprocessors = 0;
  std::int64_t shared_per_block = 0;  ///< bytes, static and dynamic together
  std::int64_t shared_per_multiprocessor = 0;
};
LaunchLimits launch_limits(int device);

}  // namespace upsweep::gpu
