// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/shard_call.hpp: calls on shards as the compiled library receives them, and the steps that a shard's scan takes.
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

/// Bytes of device memory for what all shards up to one come to: it goes from rank to rank as it is.
inline constexpr std::int64_t kRowsBytes = 2048;

/// Of a shard, in its member's stream, one after the other.
struct ShardStep {
  enum class Kind : std::uint8_t {
    publish,  ///< the aggregates of its tiles
    groups,   ///< what groups of these come to, into `after`
    fold,     ///< the groups of earlier shards, in order, onto `before`, into `after`
    scan      ///< its tiles, after `before`
  };
  Kind kind = Kind::publish;
  const void* before = nullptr;  ///< null: nothing
  void* after = nullptr;
  std::span<const void* const> earlier = {};  ///< of a fold; one at least
};

/// How a custom operator's scan is run on a shard, compiled where it is used (shards.cuh).
struct DeviceShards {
  const char* (*refusal)(int device) noexcept;  ///< null where it runs on the current device, which is that
  Status (*step)(const ScanCall& call, const ShardStep& step) noexcept;
  std::int64_t (*workspace)(const ScanCall& call) noexcept;  ///< bytes, cleared before the first step
  std::int64_t (*groups)(const ScanCall& call) noexcept;     ///< bytes of what its groups come to
};

/// The scan of a shard: its memory, and its steps, which go into the policy's stream.
class ShardScan {
 public:
  /// The carry outlives this. `custom`: null for an operator of the library. `which`: the shard, after the name of an array. Throws
  /// Error as a scan does, and unsupported of a device that is too old.
  ShardScan(const gpu::Policy& policy, const ScanCall& call, const DeviceShards* custom, const std::string& which);
  ~ShardScan();
  ShardScan(ShardScan&&) noexcept;
  ShardScan& operator=(ShardScan&&) = delete;

  /// The workspace that it takes, where the policy has one.
  [[nodiscard]] static gpu::WorkspaceSize workspace(const ScanCall& call, const DeviceShards* custom);
  /// Bytes for groups().
  [[nodiscard]] static std::int64_t groups_bytes(const ScanCall& call, const DeviceShards* custom);

  void publish() const { run({.kind = ShardStep::Kind::publish}); }
  /// What the shard comes to, for later ones, into memory that the device reaches.
  void groups(void* into) const { run({.kind = ShardStep::Kind::groups, .after = into}); }
  /// Folds the groups of shards onto what all shards before them come to, where kernels of the device reach all of it. `after` may be
  /// `before`, of which null is nothing.
  void fold(const void* before, std::span<const void* const> shards, void* after) const {
    run({.kind = ShardStep::Kind::fold, .before = before, .after = after, .earlier = shards});
  }
  /// `before`: what all shards before it come to.
  void scan(const void* before) const { run({.kind = ShardStep::Kind::scan, .before = before}); }
  /// Where scan() finds the initial value instead of where its call says.
  void begin_with(const void* init_at) const;

  /// A buffer of kRowsBytes for either, in device memory.
  [[nodiscard]] void* before_buffer() const;
  [[nodiscard]] void* after_buffer() const;
  /// A buffer for an initial value, of calls that find it in device memory.
  [[nodiscard]] void* init_buffer() const;
  /// A buffer for the shard's groups.
  [[nodiscard]] void* groups_buffer() const;

 private:
  void run(const ShardStep& step) const;

  struct State;
  std::unique_ptr<State> state_;
};

/// Runs a call for each member, in the order of the array; all have the same types, operator and carry. Where the initial value is in
/// device memory it is the first member's.
std::string_view run_scan(const gpu::Group& group, std::span<const ScanCall> shards, const DeviceShards* custom);
/// As run_reduce(), where the caller has seen to it that kernels reach call.out, which may be another device's memory.
std::string_view run_reduce_in_reach(const gpu::Policy& policy, const ReduceCall& call);
/// The same of a member's shard of a call, in memory that the group keeps.
std::string_view run_reduce(const gpu::Group& group, std::size_t member, const ReduceCall& call);
/// Puts the value of a member's shard there, which its kernels reach, by work in its stream; false: the shard has none.
using ValueOfShard = std::function<bool(std::size_t member, const gpu::Policy& policy, void* out)>;
/// Folds the members' values in their order by `totals`, a reduction of such values whose `out` is memory of the first member.
void run_fold(const gpu::Group& group, const ValueOfShard& value, const ReduceCall& totals);
/// Offsets of the lists of all members. The outcome goes to `status`, in memory of the first one; null: waits for it, and throws
/// for a bad list. Returns the last offset, where it waits, and the rung.
struct ShardOffsets {
  std::int64_t total;
  std::string_view rung;
};
ShardOffsets run_offsets(const gpu::Group& group, std::vector<OffsetsCall>& calls, gpu::OffsetsStatus* status);

/// What of a list lies in later shards, by an operator of one's own, which need not have an identity (list_shards.cuh).
struct DeviceHeads {
  const DeviceKernel<SegmentedReduceCall>* fold;  ///< as a call's, of one list: a value or none, `bytes` of it
  std::int64_t bytes;
  /// *total ← *total ⊕ those of the heads that have a value, in order.
  Status (*merge)(const SegmentedReduceCall& call, void* total, const void* heads, std::int64_t count,
                  gpu::Stream stream) noexcept;
};

/// The reductions of lists by offsets that count over all shards, each by the member that has its first element.
struct ShardLists {
  std::vector<SegmentedReduceCall> calls = {};  ///< of each member, with the offsets as they are given
  const void* identity = nullptr;               ///< what changes nothing: an element of the output type, in host memory
  ReduceCall merge = {};                        ///< of elements of the output type; its carry has a value
  const DeviceHeads* heads = nullptr;           ///< instead of both
};
/// As run_offsets(). Returns the rung.
std::string_view run_segmented_reduce(const gpu::Group& group, ShardLists& lists, gpu::ListsStatus* status);
/// work(m) of every member, which must not throw, at the same time, by threads that the group keeps.
void for_each_member(const gpu::Group& group, const std::function<void(std::size_t member)>& work);
/// Throws invalid_argument where there is not one for each member.
void require_members(const gpu::Group& group, std::size_t shards);
/// Shards of multiples of so many elements leave the order in which floats are added as it is, in such calls.
std::int64_t shard_block(Type in, Type out);

}  // namespace detail
}  // namespace upsweep
