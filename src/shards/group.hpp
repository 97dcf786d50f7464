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

struct Group::State {
  explicit State(std::vector<Policy> all) : members(std::move(all)), given(members), taken(members), done(members) {}

  std::vector<Policy> members;
  std::vector<std::unique_ptr<OwnStream>> streams;  ///< those that the group has made
  Events given;  ///< what a shard and those before it come to is in the member's memory
  Events taken;  ///< the member has what its predecessor has given
  Events done;   ///< its work of a captured call; of the first one, what came before the call
  mutable std::mutex calling;

  /// Where the first member's stream is being captured, the others' go on from it. Returns whether it is.
  [[nodiscard]] bool fork() const;
  /// Bytes from one member's memory to another's, in the other one's stream.
  void copy(std::size_t from_member, const void* from, std::size_t to_member, void* to, std::int64_t bytes) const;
  /// The first member's stream goes on when all members have done their work.
  void join() const;
};

}  // namespace upsweep::gpu
