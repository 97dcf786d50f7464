// SPDX-License-Identifier: Apache-2.0
// cuda/staging_not_built.cpp: what stands in for staging.cpp and program.cpp in a build without CUDA.
#include "cuda/not_built.hpp"
#include "cuda/program.hpp"
#include "cuda/staging.hpp"

namespace upsweep::gpu {

struct Staging::State {
  StagingTimes times;
};
Staging::Staging(const Policy&) { refuse(); }
Staging::~Staging() = default;
void* Staging::array(int, std::int64_t) { refuse(); }
void* Staging::host_array(int, std::int64_t) { refuse(); }
void* Staging::upload(int, const void*, std::int64_t) { refuse(); }
void Staging::download(void*, int, std::int64_t) { refuse(); }
void Staging::copy_in(void*, const void*, std::int64_t) { refuse(); }
void Staging::copy_out(void*, const void*, std::int64_t) { refuse(); }
void Staging::start_copies(int, std::span<const Copy>) { refuse(); }
void Staging::wait(int) { refuse(); }
void Staging::compute(const std::function<void(const Policy&)>&) { refuse(); }
void Staging::compute_and_fetch(const std::function<void(const Policy&)>&, void*, const void*, std::int64_t) {
  refuse();
}
void Staging::fill(void*, int, std::int64_t) { refuse(); }
int Staging::device() const { refuse(); }
void Staging::copy(void*, const void*, std::int64_t) { refuse(); }
const StagingTimes& Staging::times() const { return state_->times; }

struct Program::State {};
Program::Program(std::unique_ptr<State>) { refuse(); }
Program::~Program() = default;
void Program::launch(const char*, std::int64_t, int, std::int64_t, Stream, std::span<const std::uint64_t>) const {
  refuse();
}
std::shared_ptr<const Program> program_of(const std::string&, int, double&) { refuse(); }
LaunchLimits launch_limits(int) { refuse(); }

}  // namespace upsweep::gpu
