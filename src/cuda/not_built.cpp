// SPDX-License-Identifier: Apache-2.0
// cuda/not_built.cpp: what stands in for cuda/runtime.cpp in a build without CUDA: no devices, and errors that report it.
#include "cuda/not_built.hpp"

#include "core/place.hpp"
#include "cuda/device_call.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/shards.hpp"

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
void clear(void*, std::int64_t, Stream) { refuse(); }
const char* lookahead_refusal(int) noexcept { return "not built"; }
Launch launch_on(const Policy&) { refuse(); }
DeviceCall::DeviceCall(const Policy&, WorkspaceSize) { refuse(); }
DeviceCall::~DeviceCall() { workspace_ = nullptr; }
LinkTimes measure_link(int) { refuse(); }

struct Group::State {};
Group::Group(const std::vector<int>&) { refuse(); }
Group::Group() = default;
// NOLINTNEXTLINE(performance-unnecessary-value-param): as in a build with CUDA
Group Group::of_policies(std::vector<Policy>, PeerAccess) { refuse(); }
Group::~Group() = default;
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;
int Group::size() const noexcept { return 0; }
const Policy& Group::policy(int) const { refuse(); }
void Group::wait() const { refuse(); }

struct Chunked::State {};
Chunked::Chunked(const Policy&, std::int64_t, int) { refuse(); }
Chunked::~Chunked() = default;
Chunked::Chunked(Chunked&&) noexcept = default;
Chunked& Chunked::operator=(Chunked&&) noexcept = default;
const Policy& Chunked::policy() const { refuse(); }
const ChunkedUse& Chunked::use() const { refuse(); }
LinkRates Chunked::measure_link() const { refuse(); }

}  // namespace upsweep::gpu

std::unique_ptr<upsweep::Place> upsweep::device_place(Instance&) { gpu::refuse(); }

// In shards/:
struct upsweep::detail::ShardScan::State {};
upsweep::detail::ShardScan::ShardScan(const gpu::Policy&, const ScanCall&, const DeviceShards*, const std::string&) {
  gpu::refuse();
}
upsweep::detail::ShardScan::~ShardScan() = default;
upsweep::detail::ShardScan::ShardScan(ShardScan&&) noexcept = default;
upsweep::gpu::WorkspaceSize upsweep::detail::ShardScan::workspace(const ScanCall&, const DeviceShards*) {
  gpu::refuse();
}
std::int64_t upsweep::detail::ShardScan::groups_bytes(const ScanCall&, const DeviceShards*) { gpu::refuse(); }
void* upsweep::detail::ShardScan::room_before() const { return nullptr; }
void* upsweep::detail::ShardScan::room_groups() const { return nullptr; }
void* upsweep::detail::ShardScan::room_after() const { return nullptr; }
void upsweep::detail::ShardScan::run(const ShardStep&) const {}
std::string_view upsweep::detail::run_reduce(const gpu::Group&, std::size_t, const ReduceCall&) { gpu::refuse(); }
void upsweep::detail::run_fold(const gpu::Group&, const ValueOfShard&, const ReduceCall&) { gpu::refuse(); }
void upsweep::detail::require_members(const gpu::Group&, std::size_t) { gpu::refuse(); }
std::string_view upsweep::detail::run_scan(const gpu::Group&, std::span<const ScanCall>, const DeviceShards*) {
  gpu::refuse();
}
upsweep::detail::ShardOffsets upsweep::detail::run_offsets(const gpu::Group&, std::vector<RaggedCall>&,
                                                           gpu::OffsetsStatus*) {
  gpu::refuse();
}
std::string_view upsweep::detail::run_segmented(const gpu::Group&, ShardLists&, gpu::ListsStatus*) { gpu::refuse(); }
void upsweep::detail::for_each_member(const gpu::Group&, const std::function<void(std::size_t)>&) { gpu::refuse(); }
std::int64_t upsweep::detail::shard_unit(Type, Type) { gpu::refuse(); }

// In chunked/:
std::string_view upsweep::detail::run_scan(const gpu::Chunked&, const gpu::Policy&, const ScanCall&) { gpu::refuse(); }
std::string_view upsweep::detail::run_reduce(const gpu::Chunked&, const gpu::Policy&, const ReduceCall&) {
  gpu::refuse();
}

// In by_key/key_runs.cu:
std::int64_t upsweep::detail::count_key_runs(const gpu::Policy&, const Keys&) { gpu::refuse(); }
std::int64_t upsweep::detail::write_key_offsets(const gpu::Policy&, const Keys&, std::int64_t*, std::int64_t) {
  gpu::refuse();
}
