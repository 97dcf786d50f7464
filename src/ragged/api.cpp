// SPDX-License-Identifier: Apache-2.0
// ragged/api.cpp: validates a request for ragged offsets, runs its rung and turns a failure into an Error.
#include <algorithm>
#include <cstddef>
#include <string>

#include "core/visit.hpp"
#include "cuda/device_call.hpp"
#include "ragged/ladder.hpp"
#include "ragged/list.hpp"
#include "upsweep/detail/ragged_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {
namespace {

std::string bound_text(Type type, const void* bound) {
  return visit_list_bound(
      type, [&]<class T>(std::type_identity<T>) { return std::to_string(*static_cast<const T*>(bound)); });
}

/// `start`, `stop`: the bad list's, in host memory.
std::string message(const Status& status, Type type, const void* start_at, const void* stop_at) {
  const std::string list = "list " + std::to_string(status.index);
  const std::string start = bound_text(type, start_at);
  const std::string stop = bound_text(type, stop_at);
  switch (status.code) {
    case Code::stop_before_start:
      return list + " stops at " + stop + ", before its start " + start;
    case Code::negative_start:
      return list + " starts at " + start + ": starts must not be negative";
    default:
      return list + ", from " + start + " to " + stop + ", takes the offsets past the largest int64";
  }
}

const void* bound_at(const RaggedCall& call, const void* bounds, std::int64_t list) {
  return static_cast<const std::byte*>(bounds) + (list - call.carry.lists) * size_of(call.type);
}

void require_arrays(const RaggedCall& call) {
  require_array(call.starts, call.n, "starts");
  require_array(call.stops, call.n, "stops");
  if (call.offsets == nullptr) throw Error(Code::invalid_argument, "offsets: a null pointer");
  const std::int64_t in_bytes = call.n * size_of(call.type);
  const std::int64_t out_bytes = (call.n + 1) * std::int64_t{sizeof(std::int64_t)};
  if (!same_or_apart(call.starts, in_bytes, call.offsets, out_bytes) ||
      !same_or_apart(call.stops, in_bytes, call.offsets, out_bytes)) {
    throw Error(Code::invalid_argument, "offsets overlap the starts or stops: they need memory of their own");
  }
}

}  // namespace

std::string_view run_offsets(const Policy& policy, RaggedCall& call) {
  require_arrays(call);
  require_policy(policy);
  const auto& rung = ragged_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.index == kNoIndex) throw_status(status, rung.info.id);
  throw Error(
      status.code,
      message(status, call.type, bound_at(call, call.starts, status.index), bound_at(call, call.stops, status.index)),
      status.index);
}

namespace {

// Where the status goes that a waiting call looks at: behind what the rung has for itself.
constexpr std::int64_t kStatusRoom = 256;
static_assert(sizeof(gpu::OffsetsStatus) <= kStatusRoom);

gpu::WorkspaceSize needed_by(const Rung<RaggedCall>& rung, const RaggedCall& call) {
  gpu::WorkspaceSize size = rung.workspace != nullptr ? rung.workspace(call) : gpu::WorkspaceSize{};
  size.scratch = (size.scratch + kStatusRoom - 1) / kStatusRoom * kStatusRoom + kStatusRoom;
  return size;
}

/// Waits for the call and throws what it says; advances the carry.
void await(const gpu::Launch& launch, RaggedCall& call) {
  gpu::OffsetsStatus told = {};
  gpu::fetch(&told, call.status, sizeof told, launch.stream);
  if (told.first_bad == kNoIndex) {
    call.carry.total = told.total;
    call.carry.lists += call.n;
    return;
  }
  call.carry.first_bad = told.first_bad;
  std::int64_t start = 0;
  std::int64_t stop = 0;
  const auto bytes = size_of(call.type);
  gpu::fetch(&start, bound_at(call, call.starts, told.first_bad), bytes, launch.stream);
  gpu::fetch(&stop, bound_at(call, call.stops, told.first_bad), bytes, launch.stream);
  throw Error(told.code, message({told.code, told.first_bad}, call.type, &start, &stop), told.first_bad);
}

}  // namespace

std::string_view run_offsets(const gpu::Policy& policy, RaggedCall& call) {
  require_arrays(call);
  const gpu::CurrentDevice current(policy.device);
  const bool waits = call.status == nullptr;
  if (waits) gpu::require_no_capture(policy.stream, "compact_offsets_async");
  gpu::Launch launch = gpu::launch_on(policy);
  call.launch = &launch;
  const auto& rung = ragged_rung(call, Policy{.rung = policy.rung});
  if (call.n > 0) {
    gpu::require_device_memory(call.starts, policy.device, "starts");
    gpu::require_device_memory(call.stops, policy.device, "stops");
  }
  gpu::require_device_memory(call.offsets, policy.device, "offsets");
  if (!waits) gpu::require_device_memory(call.status, policy.device, "status");
  const gpu::WorkspaceSize size = needed_by(rung, call);
  const gpu::DeviceCall memory(policy, size);
  launch = memory.launch();
  if (waits) {
    void* const behind = static_cast<std::byte*>(launch.scratch) + size.scratch - kStatusRoom;
    call.status = static_cast<gpu::OffsetsStatus*>(behind);
  }
  if (const Status status = rung.run(call, {}); !status.ok()) throw_status(status, rung.info.id);
  if (waits) await(launch, call);
  return rung.info.id;
}

gpu::WorkspaceSize offsets_workspace(const gpu::Policy& policy, const RaggedCall& asked) {
  const gpu::CurrentDevice current(policy.device);
  const gpu::Launch launch = gpu::launch_on(policy);
  RaggedCall call = asked;
  call.launch = &launch;
  gpu::WorkspaceSize size;
  // Whether stops will be the starts one place on is not known yet.
  for (const auto* rung : ragged_rungs(call, policy.rung)) {
    const gpu::WorkspaceSize one = needed_by(*rung, call);
    size = {.kept = std::max(size.kept, one.kept), .scratch = std::max(size.scratch, one.scratch)};
  }
  return size;
}

std::int64_t list_count(std::int64_t starts, std::int64_t stops, std::int64_t starts_offset, std::int64_t stops_offset,
                        std::int64_t length) {
  if (starts_offset < 0 || stops_offset < 0) {
    throw Error(Code::invalid_argument, "the offsets into starts and stops must not be negative");
  }
  if (length < -1) throw Error(Code::invalid_argument, "the length must not be negative");
  const std::int64_t left_starts = starts - starts_offset;
  const std::int64_t left_stops = stops - stops_offset;
  const auto left = [](const char* what, std::int64_t size, std::int64_t offset) {
    return std::string(what) + " has " + std::to_string(size) + " elements, " + std::to_string(size - offset) +
           " of them behind offset " + std::to_string(offset);
  };
  const auto require_reach = [](const char* what, std::int64_t size, std::int64_t offset) {
    if (offset <= size) return;
    throw Error(Code::unequal_lengths, std::string(what) + " has " + std::to_string(size) +
                                           " elements: too few for offset " + std::to_string(offset));
  };
  require_reach("starts", starts, starts_offset);
  require_reach("stops", stops, stops_offset);
  if (length == -1) {
    if (left_starts != left_stops) {
      throw Error(Code::unequal_lengths, left("starts", starts, starts_offset) + ", but " +
                                             left("stops", stops, stops_offset) +
                                             ": they must be equal, or give a length");
    }
    return left_starts;
  }
  if (left_starts < length) {
    throw Error(Code::unequal_lengths,
                left("starts", starts, starts_offset) + ": too few for length " + std::to_string(length));
  }
  if (left_stops < length) {
    throw Error(Code::unequal_lengths,
                left("stops", stops, stops_offset) + ": too few for length " + std::to_string(length));
  }
  return length;
}

void require_offsets(std::int64_t offsets, std::int64_t n) {
  if (offsets == n + 1) return;
  throw Error(Code::unequal_lengths, "offsets of " + std::to_string(n) + " lists take " + std::to_string(n + 1) +
                                         " elements, not " + std::to_string(offsets));
}

}  // namespace upsweep::detail
