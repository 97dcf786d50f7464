// SPDX-License-Identifier: Apache-2.0
// scale/not_built.cpp: replaces the functions that need the CUDA runtime in a build without CUDA: errors that say why.
#include "cuda/not_built.hpp"

#include "upsweep/chunked.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/shards.hpp"

namespace upsweep::gpu {

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

// Functions of shards/:
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
void* upsweep::detail::ShardScan::before_buffer() const { return nullptr; }
void* upsweep::detail::ShardScan::groups_buffer() const { return nullptr; }
void* upsweep::detail::ShardScan::after_buffer() const { return nullptr; }
void upsweep::detail::ShardScan::run(const ShardStep&) const {}
std::string_view upsweep::detail::run_reduce(const gpu::Group&, std::size_t, const ReduceCall&) { gpu::refuse(); }
void upsweep::detail::run_fold(const gpu::Group&, const ValueOfShard&, const ReduceCall&) { gpu::refuse(); }
void upsweep::detail::require_members(const gpu::Group&, std::size_t) { gpu::refuse(); }
std::string_view upsweep::detail::run_scan(const gpu::Group&, std::span<const ScanCall>, const DeviceShards*) {
  gpu::refuse();
}
upsweep::detail::ShardOffsets upsweep::detail::run_offsets(const gpu::Group&, std::vector<OffsetsCall>&,
                                                           gpu::OffsetsStatus*) {
  gpu::refuse();
}
std::string_view upsweep::detail::run_segmented_reduce(const gpu::Group&, ShardLists&, gpu::ListsStatus*) {
  gpu::refuse();
}
void upsweep::detail::for_each_member(const gpu::Group&, const std::function<void(std::size_t)>&) { gpu::refuse(); }
std::int64_t upsweep::detail::shard_block(Type, Type) { gpu::refuse(); }

// Functions of chunked/:
std::string_view upsweep::detail::run_scan(const gpu::Chunked&, const gpu::Policy&, const ScanCall&) { gpu::refuse(); }
std::string_view upsweep::detail::run_reduce(const gpu::Chunked&, const gpu::Policy&, const ReduceCall&) {
  gpu::refuse();
}
