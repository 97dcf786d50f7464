// SPDX-License-Identifier: Apache-2.0
// cuda/not_built.cpp: replaces runtime.cpp in a build without CUDA: no devices, and errors that name the reason.
#include "cuda/not_built.hpp"

#include "cuda/device_call.hpp"
#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {
namespace {

class NoPool final : public MemoryResource {
 public:
  void* allocate(std::int64_t, Stream) override { refuse(); }
  void deallocate(void*, std::int64_t, Stream) noexcept override {}
};

}  // namespace

MemoryResource& pool() noexcept {
  static NoPool none;
  return none;
}

const std::vector<Device>& devices() {
  static const std::vector<Device> none;
  return none;
}

bool is_built() noexcept { return false; }

Workspace::Workspace(WorkspaceSize size, int device, Stream stream, MemoryResource& memory)
    : size_(size), device_(device), stream_(stream), memory_(memory) {
  refuse();
}
Workspace::~Workspace() { free(); }
void Workspace::free() noexcept {}

int make_current(int) { refuse(); }
void restore_current(int) noexcept {}
void require_device_memory(const void*, int, const char*) { refuse(); }
void require_length(const std::int64_t*, const void*, std::int64_t, int) { refuse(); }
const void* mapped_memory(const void*, int, const char*) { refuse(); }
void require_no_capture(Stream, const char*) { refuse(); }
void fetch(void*, const void*, std::int64_t, Stream) { refuse(); }
void send(void*, const void*, std::int64_t, Stream) { refuse(); }
void clear(void*, std::int64_t, Stream) { refuse(); }
const char* lookahead_refusal(int) noexcept { return "not built"; }
Launch launch_on(const Policy&) { refuse(); }
DeviceCall::DeviceCall(const Policy&, WorkspaceSize) { refuse(); }
DeviceCall::~DeviceCall() { workspace_ = nullptr; }

}  // namespace upsweep::gpu

// In problems/keys/by_key/key_runs.cu:
std::int64_t upsweep::detail::count_key_runs(const gpu::Policy&, const Keys&) { gpu::refuse(); }
std::int64_t upsweep::detail::write_key_offsets(const gpu::Policy&, const Keys&, std::int64_t*, std::int64_t) {
  gpu::refuse();
}
