// SPDX-License-Identifier: Apache-2.0
// scale/shards/group.cpp: the group of GPUs of a call: streams and events of each.
#include "scale/shards/group.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/capture.hpp"
#include "cuda/device_call.hpp"

namespace upsweep::gpu {
namespace {

void require_members(std::size_t count) {
  if (count == 0) throw Error(Code::invalid_argument, "a group needs a device; none was given");
}

/// Enables kernels on the current device to access the other device's memory. Returns false if that is not possible.
bool enable_access(int device, int other) {
  if (device == other) return true;
  int is_possible = 0;
  require(cudaDeviceCanAccessPeer(&is_possible, device, other), "asking for access between devices");
  if (is_possible == 0) return false;
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error != cudaSuccess) forget_last_error();
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

}  // namespace

OwnMemory::OwnMemory(std::int64_t bytes) {
  const DuringCapture allowed;
  require(cudaMalloc(&handle_, static_cast<std::size_t>(bytes)), "allocating what members share");
}

void* GrownMemory::at_least(std::int64_t bytes) {
  if (bytes > bytes_) {
    bytes_ = std::max(bytes, 2 * bytes_);
    made_.push_back(std::make_unique<OwnMemory>(bytes_));
  }
  return made_.back()->get();
}

Events::Events(const std::vector<Policy>& members) : members_(members) {
  for (const Policy& member : members) {
    const CurrentDevice current(member.device);
    events_.push_back(std::make_unique<OwnEvent>());
  }
}

void Events::record(std::size_t member) const {
  const CurrentDevice current(members_[member].device);
  require(cudaEventRecord(events_[member]->get(), members_[member].stream), "recording an event");
}

void Events::wait_for(std::size_t member, std::size_t later) const {
  const CurrentDevice current(members_[later].device);
  require(cudaStreamWaitEvent(members_[later].stream, events_[member]->get()), "waiting for another member");
}

Group::State::State(std::vector<Policy> all, PeerAccess access)
    : members(std::move(all)),
      given(members),
      taken(members),
      done(members),
      workspaces(members.size() * kWorks),
      shared_(members.size()),
      brought_(members.size() * members.size()) {
  const auto cleared = [](std::int64_t bytes) {
    auto memory = std::make_unique<OwnMemory>(bytes);
    require(cudaMemset(memory->get(), 0, static_cast<std::size_t>(bytes)), "clearing what members share");
    require(cudaStreamSynchronize(nullptr), "clearing what members share");
    return memory;
  };
  for (const Policy& member : members) {
    const CurrentDevice current(member.device);
    // A device's pool is created on first use, which must not happen while a stream is captured.
    if (member.memory == nullptr) const Workspace made({.scratch = 1}, member.device, member.stream);
    buffers.push_back(cleared(kBufferBytes));
    if (values == nullptr) values = cleared(kValueBytes * (std::ssize(members) + 2));
    for (const Policy& other : members) {
      access_.push_back(access == PeerAccess::if_possible && enable_access(member.device, other.device));
    }
  }
}

bool Group::State::fork() const {
  if (capture_of(members[0].stream) != cudaStreamCaptureStatusActive) return false;
  done.record(0);
  for (std::size_t m = 1; m < members.size(); ++m) done.wait_for(0, m);
  return true;
}

const void* Group::State::reach(std::size_t from_member, const void* from, std::size_t to_member, void* here,
                                std::int64_t bytes) const {
  if (has_access(to_member, from_member)) return from;
  copy(from, here, bytes, to_member);
  return here;
}

const void* Group::State::bring(std::size_t from_member, const void* from, std::size_t to_member,
                                std::int64_t bytes) const {
  if (has_access(to_member, from_member)) return from;
  void* const here = brought_[to_member * members.size() + from_member].at_least(bytes);
  copy(from, here, bytes, to_member);
  return here;
}

void Group::State::reserve(std::size_t from_member, std::size_t to_member, std::int64_t bytes) const {
  if (has_access(to_member, from_member)) return;
  const CurrentDevice current(members[to_member].device);
  (void)brought_[to_member * members.size() + from_member].at_least(bytes);
}

void* Group::State::shared_memory(std::size_t member, std::int64_t bytes) const {
  const CurrentDevice current(members[member].device);
  return shared_[member].at_least(bytes);
}

Policy Group::State::policy_for(Work work, std::size_t member, WorkspaceSize needed) const {
  auto& made = workspaces[member * kWorks + static_cast<std::size_t>(work)];
  Policy policy = members[member];
  WorkspaceSize size = made.empty() ? WorkspaceSize{} : made.back()->size();
  if (made.empty() || size.kept < needed.kept || size.scratch < needed.scratch) {
    if (capture_of(policy.stream) != cudaStreamCaptureStatusNone) return policy;
    // Doubles the size. Graphs may still use the earlier workspaces; together these are at most as large as the last.
    const auto grown = [](std::int64_t has, std::int64_t needs) {
      return has < needs ? std::max(needs, 2 * has) : has;
    };
    size = {.kept = grown(size.kept, needed.kept), .scratch = grown(size.scratch, needed.scratch)};
    MemoryResource& memory = policy.memory != nullptr ? *policy.memory : pool();
    made.push_back(std::make_unique<Workspace>(size, policy.device, policy.stream, memory));
  }
  policy.workspace = made.back().get();
  return policy;
}

bool Group::State::has_access(std::size_t member, std::size_t other) const {
  return access_[member * members.size() + other];
}

// Uses cudaMemcpyAsync(), which a capturing stream accepts, unlike cudaMemcpyPeerAsync().
void Group::State::copy(const void* from, void* to, std::int64_t bytes, std::size_t member) const {
  const CurrentDevice current(members[member].device);
  require(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault, members[member].stream),
          "copying from device to device");
}

namespace {

/// Returns whether step() succeeded.
template <class Step>
bool attempt(Step step) noexcept {
  try {
    step();
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

}  // namespace

/// Makes every member's stream wait for the work in all other streams, as far as that is possible. This ends a failed
/// call; the caller gets the call's own error.
void Group::State::settle() const noexcept {
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (!attempt([&] { done.record(m); })) continue;
    for (std::size_t other = 0; other < members.size(); ++other) {
      if (other != m) (void)attempt([&] { done.wait_for(m, other); });
    }
  }
  (void)attempt([&] { join(); });
}

void Group::State::join() const {
  for (std::size_t m = 1; m < members.size(); ++m) {
    done.record(m);
    done.wait_for(m, 0);
  }
}

Group::Group(const std::vector<int>& devices) {
  require_members(devices.size());
  std::vector<Policy> members;
  std::vector<std::unique_ptr<OwnStream>> streams;
  for (const int device : devices) {
    const CurrentDevice current(device);
    streams.push_back(std::make_unique<OwnStream>());
    members.push_back({.device = device, .stream = streams.back()->get()});
  }
  state_ = std::make_unique<State>(std::move(members), PeerAccess::if_possible);
  state_->streams = std::move(streams);
}

Group::Group() = default;

Group Group::of_policies(std::vector<Policy> members, PeerAccess access) {
  require_members(members.size());
  for (Policy& member : members) {
    const CurrentDevice current(member.device);
    (void)launch_on(member);     // the stream belongs to that device
    member.workspace = nullptr;  // each call has a separate workspace
  }
  Group group;
  group.state_ = std::make_unique<State>(std::move(members), access);
  return group;
}

Group::~Group() = default;
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;

int Group::size() const noexcept { return static_cast<int>(state_->members.size()); }

const Policy& Group::policy(int member) const { return state_->members.at(static_cast<std::size_t>(member)); }

void Group::wait() const {
  for (const Policy& member : state_->members) {
    const CurrentDevice current(member.device);
    require(cudaStreamSynchronize(member.stream), "waiting for a member of the group");
  }
}

}  // namespace upsweep::gpu

void upsweep::detail::for_each_member(const gpu::Group& group, const std::function<void(std::size_t)>& work) {
  const gpu::Group::State& state = group.state();
  state.threads.run(state.members.size(), work);
}
