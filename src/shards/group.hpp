// SPDX-License-Identifier: Apache-2.0
// shards/group.hpp: what a group of GPUs has: its members, and the events by which their streams wait for each other.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/check.hpp"
#include "upsweep/shards.hpp"

namespace upsweep::gpu {

/// Made on the current device.
class OwnStream : public Owned<cudaStream_t, cudaStreamDestroy> {
 public:
  OwnStream() { require(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "making a stream"); }
};
class OwnEvent : public Owned<cudaEvent_t, cudaEventDestroy> {
 public:
  OwnEvent() { require(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming), "making an event"); }
};

/// Device memory, all zero at first, that every device with access to its own can read and write. Made on the current device.
class OwnMemory : public Owned<void*, cudaFree> {
 public:
  explicit OwnMemory(std::size_t bytes) {
    require(cudaMalloc(&handle_, bytes), "allocating what members share");
    require(cudaMemset(handle_, 0, bytes), "clearing what members share");
    require(cudaStreamSynchronize(nullptr), "clearing what members share");
  }
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

/// Room for a value of a member: any element's.
inline constexpr std::int64_t kValueBytes = 32;

struct Group::State {
  explicit State(std::vector<Policy> all);

  std::vector<Policy> members;
  std::vector<std::unique_ptr<OwnStream>> streams;  ///< those that the group has made
  Events given;  ///< what a member's successor, or the first one, waits for is in its memory
  Events taken;  ///< it has what others have given
  Events done;   ///< its work of a captured call; of the first one, what came before the call
  // Memory of each member that others read, if they have access:
  std::vector<std::unique_ptr<OwnMemory>> rows;  ///< what the rows of its shard and those before it come to
  std::unique_ptr<OwnMemory> values;             ///< of the first one: a value of each member
  mutable std::mutex calling;

  /// Where a member's device finds bytes that are in another member's memory: there, if it has access, else here, where they are
  /// brought in its stream.
  const void* reach(std::size_t from_member, const void* from, std::size_t to_member, void* here,
                    std::int64_t bytes) const;
  /// Whether kernels on a member's device may read and write the other one's memory.
  [[nodiscard]] bool has_access(std::size_t member, std::size_t other) const;
  /// Bytes from one device's memory to another's, in a member's stream.
  void copy(const void* from, void* to, std::int64_t bytes, std::size_t member) const;
  /// Where the first member's stream is being captured, the others' go on from it. Returns whether it is.
  [[nodiscard]] bool fork() const;
  /// The first member's stream goes on when all members have done their work.
  void join() const;

 private:
  std::vector<bool> access_;  ///< of each member to each other one
};

}  // namespace upsweep::gpu
