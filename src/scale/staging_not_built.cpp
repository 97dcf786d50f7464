// SPDX-License-Identifier: Apache-2.0
// scale/staging_not_built.cpp: replaces staging.cpp in a build without CUDA: errors that say why.
#include "cuda/not_built.hpp"
#include "scale/staging.hpp"

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

}  // namespace upsweep::gpu
