// SPDX-License-Identifier: Apache-2.0
// cuda/program_not_built.cpp: replaces program.cpp in a build without CUDA: errors that name the reason.
#include "cuda/not_built.hpp"
#include "cuda/program.hpp"

namespace upsweep::gpu {

struct Program::State {};
Program::Program(std::unique_ptr<State>) { refuse(); }
Program::~Program() = default;
void Program::launch(const char*, std::int64_t, int, std::int64_t, Stream, std::span<const std::uint64_t>) const {
  refuse();
}
std::shared_ptr<const Program> program_of(const std::string&, int, double&) { refuse(); }
LaunchLimits launch_limits(int) { refuse(); }

}  // namespace upsweep::gpu
