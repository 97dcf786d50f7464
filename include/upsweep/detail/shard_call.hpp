// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shard_call.hpp: calls on shards as the compiled library gets them, and the steps of a shard's scan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep {
namespace gpu {
class Group;
}

namespace detail {

/// Bytes of device memory for the fold of all shards up to one of them. It is sent from rank to rank unchanged.
inline constexpr std::int64_t kRowsBytes = 2048;

/// A step of a shard's scan. The steps run in the stream of the shard's member, one after the other.
struct ShardStep {
  enum class Kind : std::uint8_t {
    publish,  ///< publishes the aggregates of its tiles
    groups,   ///< writes the folds of groups of these to `after`
    fold,     ///< folds the groups of earlier shards, in order, onto `before`, into `after`
    scan      ///< scans its tiles, after `before`
  };
  Kind kind = Kind::publish;
  const void* before = nullptr;  ///< null: nothing precedes
  void* after = nullptr;
  std::span<const void* const> earlier = {};  ///< of a fold; at least one
};

/// Functions that run a custom operator's scan on a shard, compiled where it is used (shards.cuh).
struct DeviceShards {
  const char* (*refusal)(int device) noexcept;  ///< null if it runs on `device`, the current device
  Status (*step)(const ScanCall& call, const ShardStep& step) noexcept;
  std::int64_t (*workspace)(const ScanCall& call) noexcept;  ///< bytes, cleared before the first step
  std::int64_t (*groups)(const ScanCall& call) noexcept;     ///< bytes of the folds of its groups
};

/// The scan of a shard: its memory, and its steps, which run in the policy's stream.
class ShardScan {
 public:
  /// The carry must outlive this object. `custom` is null for an operator of the library. `which` names the shard, for
  /// messages: it follows the name of an array. Throws the errors of a scan. Throws unsupported for a device that is
  /// too old.
  ShardScan(const gpu::Policy& policy, const ScanCall& call, const DeviceShards* custom, const std::string& which);
  ~ShardScan();
  ShardScan(ShardScan&&) noexcept;
  ShardScan& operator=(ShardScan&&) = delete;

  /// Returns the size of the workspace that the shard's scan uses, if the policy has a workspace.
  [[nodiscard]] static gpu::WorkspaceSize workspace(const ScanCall& call, const DeviceShards* custom);
  /// Returns the number of bytes that groups() writes.
  [[nodiscard]] static std::int64_t groups_bytes(const ScanCall& call, const DeviceShards* custom);

  void publish() const { run({.kind = ShardStep::Kind::publish}); }
  /// Writes the folds of the shard's groups, for later shards, to memory that the device can access.
  void groups(void* into) const { run({.kind = ShardStep::Kind::groups, .after = into}); }
  /// Folds the groups of `shards`, in order, onto `before`, which is the fold of all shards before them. Kernels of the
  /// device must be able to access `before`, the groups and `after`. `after` may be equal to `before`. A null `before`
  /// means that no elements precede.
  void fold(const void* before, std::span<const void* const> shards, void* after) const {
    run({.kind = ShardStep::Kind::fold, .before = before, .after = after, .earlier = shards});
  }
  /// Scans the shard. `before` is the fold of all shards before it.
  void scan(const void* before) const { run({.kind = ShardStep::Kind::scan, .before = before}); }
  /// Sets the address where scan() reads the initial value. It replaces the address in the call.
  void begin_with(const void* init_at) const;

  /// Buffers of kRowsBytes for `before` and `after`, in device memory.
  [[nodiscard]] void* before_buffer() const;
  [[nodiscard]] void* after_buffer() const;
  /// A buffer for an initial value, for calls that read it from device memory.
  [[nodiscard]] void* init_buffer() const;
  /// A buffer for the shard's groups.
  [[nodiscard]] void* groups_buffer() const;

 private:
  void run(const ShardStep& step) const;

  struct State;
  std::unique_ptr<State> state_;
};

/// Runs one call for each member, in the order of the array. All have the same types, operator and carry. An initial
/// value in device memory belongs to the first member.
std::string_view run_scan(const gpu::Group& group, std::span<const ScanCall> shards, const DeviceShards* custom);
/// Runs a reduction as run_reduce() does. The caller has ensured that kernels can access call.out, which may be the
/// memory of another device.
std::string_view run_reduce_in_reach(const gpu::Policy& policy, const ReduceCall& call);
/// Reduces a member's shard of a call, in memory that the group keeps.
std::string_view run_reduce(const gpu::Group& group, std::size_t member, const ReduceCall& call);
/// Writes the value of a member's shard to `out`, by work in the member's stream. Its kernels can access `out`. Returns
/// false if the shard has no value.
using ValueOfShard = std::function<bool(std::size_t member, const gpu::Policy& policy, void* out)>;
/// Folds the members' values in order. `totals` is a reduction of such values whose `out` is memory of the first
/// member.
void run_fold(const gpu::Group& group, const ValueOfShard& value, const ReduceCall& totals);
/// Computes the offsets of the lists of all members. The outcome is written to `status`, in memory of the first member.
/// If `status` is null, it waits for the outcome, and throws for a bad list. Returns the rung, and the last offset if
/// it waits.
struct ShardOffsets {
  std::int64_t total;
  std::string_view rung;
};
ShardOffsets run_offsets(const gpu::Group& group, std::vector<OffsetsCall>& calls, gpu::OffsetsStatus* status);

/// The elements of a list in later shards, for a custom operator, which may have no identity (list_shards.cuh).
struct DeviceHeads {
  const DeviceKernel<SegmentedReduceCall>* fold;  ///< of a call with one list: a value or none, in `bytes` bytes
  std::int64_t bytes;
  /// *total ← *total ⊕ the heads that have a value, in order.
  Status (*merge)(const SegmentedReduceCall& call, void* total, const void* heads, std::int64_t count,
                  gpu::Stream stream) noexcept;
};

/// Reductions of lists by offsets that count over all shards. The member with the first element of a list reduces it.
struct ShardLists {
  std::vector<SegmentedReduceCall> calls = {};  ///< of each member, with the offsets as they are given
  const void* identity = nullptr;               ///< the identity: an element of the output type, in host memory
  ReduceCall merge = {};                        ///< of elements of the output type; its carry has a value
  const DeviceHeads* heads = nullptr;           ///< replaces `identity` and `merge`
};
/// Runs the reductions; `status` as in run_offsets(). Returns the rung.
std::string_view run_segmented_reduce(const gpu::Group& group, ShardLists& lists, gpu::ListsStatus* status);
/// Calls work(m) for every member m at the same time, in threads that the group keeps. work() must not throw.
void for_each_member(const gpu::Group& group, const std::function<void(std::size_t member)>& work);
/// Throws invalid_argument unless there is one shard for each member.
void require_members(const gpu::Group& group, std::size_t shards);
/// Returns a number of elements for such calls. If the lengths of shards are multiples of it, the order in which floats
/// are added is the same as without shards.
std::int64_t shard_block(Type in, Type out);

}  // namespace detail
}  // namespace upsweep
