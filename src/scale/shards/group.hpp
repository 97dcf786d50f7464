// SPDX-License-Identifier: Apache-2.0
// scale/shards/group.hpp: the state of a group of GPUs: its members, and the events that order their streams.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/check.hpp"
#include "cuda/events.hpp"
#include "scale/shards/member_threads.hpp"
#include "upsweep/shards.hpp"

namespace upsweep::gpu {

/// An event, created on the current device.
class OwnEvent : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  OwnEvent() { require(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "making an event"); }
};

/// Device memory that every device with peer access can read and write. It is allocated on the current device.
class OwnMemory : public Owned<void*, cudaFree> {
 public:
  explicit OwnMemory(std::int64_t bytes);
};

/// OwnMemory that grows with the calls. It keeps the earlier blocks, because graphs may use them.
class GrownMemory {
 public:
  /// Allocates on the current device, which may be capturing a stream. All requests of one call return the same memory.
  void* at_least(std::int64_t bytes);

 private:
  std::vector<std::unique_ptr<OwnMemory>> made_;
  std::int64_t bytes_ = 0;
};

/// One event per member, by which streams wait for each other.
class Events {
 public:
  explicit Events(const std::vector<Policy>& members);
  /// Records the work that is in a member's stream so far.
  void record(std::size_t member) const;
  /// Makes the stream of `later` wait for the work that was recorded for `member`.
  void wait_for(std::size_t member, std::size_t later) const;

 private:
  std::vector<Policy> members_;
  std::vector<std::unique_ptr<OwnEvent>> events_;
};

/// Bytes of the buffer for the result of a member's shard: a value of any element type, or a result of lists.
inline constexpr std::int64_t kValueBytes = 64;
/// Bytes of the buffer for that result and for the data that a call needs from other members' shards.
inline constexpr std::int64_t kBufferBytes = 2048;

/// Kinds of calls. Their workspaces keep different data.
enum class Work : std::uint8_t { reduction, scan, offsets, lists };
inline constexpr std::size_t kWorks = 4;

/// Calls f() and prefixes its Errors with the shard's number.
template <class F>
auto in_shard(std::size_t shard, F f) {
  try {
    return f();
  } catch (const Error& error) {
    throw Error(error.code(), "shard " + std::to_string(shard) + ": " + error.what(), error.index());
  }
}

struct Group::State {
  State(std::vector<Policy> all, PeerAccess access);

  std::vector<Policy> members;
  std::vector<std::unique_ptr<OwnStream>> streams;  ///< streams that the group has created
  Events given;  ///< the data that a member's successor, or the first member, waits for is in memory
  Events taken;  ///< the member has read the data of the others
  Events done;   ///< end of a member's work in a captured call; for the first member, the work before the call
  /// The workspaces of each member, per Work; graphs may use the earlier ones. They are destroyed after the memory
  /// below, because freeing that memory waits for work that still runs.
  mutable std::vector<std::vector<std::unique_ptr<Workspace>>> workspaces;
  // Memory of each member that other members read, if they have access:
  std::vector<std::unique_ptr<OwnMemory>> buffers;  ///< kBufferBytes each, for the result of the member's shard
  std::unique_ptr<OwnMemory>
      values;  ///< in the first member: one value per member, one total, and the initial value of a scan
  mutable std::mutex calling;
  mutable shards::MemberThreads threads;

  /// Returns where a member's device can read bytes of another member's memory. That is the original place if it has
  /// access. Otherwise the bytes are copied to `here` in the member's stream.
  const void* reach(std::size_t from_member, const void* from, std::size_t to_member, void* here,
                    std::int64_t bytes) const;
  /// Like reach(), but copies into the buffer that reserve() has allocated.
  const void* bring(std::size_t from_member, const void* from, std::size_t to_member, std::int64_t bytes) const;
  void reserve(std::size_t from_member, std::size_t to_member, std::int64_t bytes) const;
  /// Returns a member's memory for a call; other members that have access read it.
  void* shared_memory(std::size_t member, std::int64_t bytes) const;
  /// Returns whether kernels on a member's device may read and write the other member's memory.
  [[nodiscard]] bool has_access(std::size_t member, std::size_t other) const;
  /// Copies bytes from one device's memory to another's, in a member's stream.
  void copy(const void* from, void* to, std::int64_t bytes, std::size_t member) const;
  /// Calls work(), which enqueues a call's work into the members' streams, one call at a time. If the first member's
  /// stream is being captured, the other streams fork from it and join it at the end. If the call fails, the started
  /// work ends on all members before any later work.
  template <class F>
  void run(F work) const {
    const bool is_captured = fork();
    try {
      work();
    } catch (...) {
      settle();
      throw;
    }
    if (is_captured) join();
  }
  /// Makes the first member's stream wait for the work that is in this member's stream so far.
  void give(std::size_t member) const {
    given.record(member);
    given.wait_for(member, 0);
  }
  /// Makes the other streams wait for the first member's stream, which has read their data.
  void release() const {
    taken.record(0);
    for (std::size_t m = 1; m < members.size(); ++m) taken.wait_for(0, m);
  }
  /// Returns the buffer for the result of a member's shard: value_of() in the first member's memory, value_near() in
  /// the member's. For the first member, both are the same.
  [[nodiscard]] void* value_of(std::size_t member) const {
    return static_cast<std::byte*>(values->get()) + kValueBytes * static_cast<std::int64_t>(member);
  }
  /// Returns a member's policy with a workspace that its calls use one after the other. The policy has no workspace if
  /// none exists and none can be allocated because the stream is being captured. Such calls allocate separate memory.
  [[nodiscard]] Policy policy_for(Work work, std::size_t member, WorkspaceSize needed) const;
  [[nodiscard]] void* initial() const { return value_of(members.size() + 1); }
  [[nodiscard]] void* value_near(std::size_t member) const {
    return member == 0 ? values->get() : buffers[member]->get();
  }

 private:
  [[nodiscard]] bool fork() const;
  void join() const;
  void settle() const noexcept;

  std::vector<bool> access_;                  ///< of each member to each other member
  mutable std::vector<GrownMemory> shared_;   ///< one per member
  mutable std::vector<GrownMemory> brought_;  ///< one per pair of members, used where a member has no access
};

}  // namespace upsweep::gpu
