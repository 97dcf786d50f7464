// SPDX-License-Identifier: Apache-2.0
// scale/shards/group.hpp: what a group of GPUs has: its members, and the events by which their streams wait for each other.
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

/// Made on the current device.
class OwnEvent : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  OwnEvent() { require(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "making an event"); }
};

/// Device memory that every device with access to its own can read and write. Made on the current device.
class OwnMemory : public Owned<void*, cudaFree> {
 public:
  explicit OwnMemory(std::int64_t bytes);
};

/// The same, as large as calls have needed it. Graphs may have the earlier ones.
class GrownMemory {
 public:
  /// Made on the current device, which may be capturing a stream. Of a call all get the same.
  void* at_least(std::int64_t bytes);

 private:
  std::vector<std::unique_ptr<OwnMemory>> made_;
  std::int64_t bytes_ = 0;
};

/// An event of each member, by which streams wait for each other.
class Events {
 public:
  explicit Events(const std::vector<Policy>& members);
  /// What is in a member's stream so far.
  void record(std::size_t member) const;
  /// The stream of `later` goes on once that is done.
  void wait_for(std::size_t member, std::size_t later) const;

 private:
  std::vector<Policy> members_;
  std::vector<std::unique_ptr<OwnEvent>> events_;
};

/// A buffer for the result of a member's shard: a value of any element's type, or what lists do.
inline constexpr std::int64_t kValueBytes = 64;
/// A buffer for that and for what a call needs of other members' shards.
inline constexpr std::int64_t kBufferBytes = 2048;

/// Calls whose workspaces keep different things.
enum class Work : std::uint8_t { reduction, scan, offsets, lists };
inline constexpr std::size_t kWorks = 4;

/// f(), whose Errors say of which shard they are.
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
  std::vector<std::unique_ptr<OwnStream>> streams;  ///< those that the group has made
  Events given;  ///< what a member's successor, or the first one, waits for is in its memory
  Events taken;  ///< it has what others have given
  Events done;   ///< its work of a captured call; of the first one, what came before the call
  /// Of each member, for each Work; graphs may have the earlier ones. They end after the memory below, the freeing of which waits for what
  /// still runs.
  mutable std::vector<std::vector<std::unique_ptr<Workspace>>> workspaces;
  // Memory of each member that others read, if they have access:
  std::vector<std::unique_ptr<OwnMemory>> buffers;  ///< kBufferBytes for what its shard comes to
  std::unique_ptr<OwnMemory>
      values;  ///< of the first one: a value of each member, one of all, and what a scan begins with
  mutable std::mutex calling;
  mutable shards::MemberThreads threads;

  /// Where a member's device finds bytes that are in another member's memory: there, if it has access, else here, where they are
  /// brought in its stream.
  const void* reach(std::size_t from_member, const void* from, std::size_t to_member, void* here,
                    std::int64_t bytes) const;
  /// The same, into the buffer that reserve() has made.
  const void* bring(std::size_t from_member, const void* from, std::size_t to_member, std::int64_t bytes) const;
  void reserve(std::size_t from_member, std::size_t to_member, std::int64_t bytes) const;
  /// Of a member's, for a call: others that have access to it read it.
  void* shared_memory(std::size_t member, std::int64_t bytes) const;
  /// Whether kernels on a member's device may read and write the other one's memory.
  [[nodiscard]] bool has_access(std::size_t member, std::size_t other) const;
  /// Bytes from one device's memory to another's, in a member's stream.
  void copy(const void* from, void* to, std::int64_t bytes, std::size_t member) const;
  /// work(), which puts a call's work into the members' streams, one call at a time. Where the first one's stream is being captured, the
  /// others' go on from it, and it goes on when they are done. Where the call fails, too, what it has begun is over on all members before
  /// anything else is.
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
  /// Has the first member's stream wait for what is in a member's so far.
  void give(std::size_t member) const {
    given.record(member);
    given.wait_for(member, 0);
  }
  /// The others' streams wait for what is in the first one's: it has read what they gave.
  void release() const {
    taken.record(0);
    for (std::size_t m = 1; m < members.size(); ++m) taken.wait_for(0, m);
  }
  /// A buffer for the result of a member's shard, in the first one's memory, and in its own. The first one's are the
  /// same.
  [[nodiscard]] void* value_of(std::size_t member) const {
    return static_cast<std::byte*>(values->get()) + kValueBytes * static_cast<std::int64_t>(member);
  }
  /// A member's policy with memory that its calls take one after the other; without, where that is not there and cannot be made, as the
  /// stream is being captured: such calls have memory of their own.
  [[nodiscard]] Policy policy_for(Work work, std::size_t member, WorkspaceSize needed) const;
  [[nodiscard]] void* initial() const { return value_of(members.size() + 1); }
  [[nodiscard]] void* value_near(std::size_t member) const {
    return member == 0 ? values->get() : buffers[member]->get();
  }

 private:
  [[nodiscard]] bool fork() const;
  void join() const;
  void settle() const noexcept;

  std::vector<bool> access_;                  ///< of each member to each other one
  mutable std::vector<GrownMemory> shared_;   ///< of each member
  mutable std::vector<GrownMemory> brought_;  ///< the same, of each one's that it has no access to
};

}  // namespace upsweep::gpu
