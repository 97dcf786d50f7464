// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/problem.cpp: the ladder in order, the choice of a rung, and the public calls: validate, run,
// throw failures as Errors.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "core/list_length.hpp"
#include "core/lists.hpp"
#include "core/visit.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/offsets/rung.hpp"
#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::offsets {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_lookahead, cpu_adjacent, cuda_one_thread, cuda_turn_taking,
    cuda_hillis_steele_global, cuda_hillis_steele_blocks, cuda_thrust, cuda_cub, cuda_lookahead, cuda_adjacent;

constexpr const Rung* kRungs[] = {&cpu_serial,
                                  &cpu_threads,
                                  &cpu_lookahead,
                                  &cpu_adjacent,
                                  &cuda_one_thread,
                                  &cuda_turn_taking,
                                  &cuda_hillis_steele_global,
                                  &cuda_hillis_steele_blocks,
                                  &cuda_thrust,
                                  &cuda_cub,
                                  &cuda_lookahead,
                                  &cuda_adjacent};
constexpr Ladder<detail::OffsetsCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

// ---- The choice of a rung.

/// Returns the rung for a call on a GPU whose lists may be anywhere.
const Rung& scanning_rung(const detail::OffsetsCall& call) {
  if (refusal_of(cuda_lookahead, call, {}) == nullptr) return cuda_lookahead;
  detail::require_length_of_host(call.n_at, cuda_cub.info.id);
  return cuda_cub;
}

/// Returns the rung that the policy names, or the highest one that supports the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::OffsetsCall& call, const Policy& policy) {
  if (!policy.rung.empty()) {
    const Rung& rung = named_rung(kLadder, call, policy);
    if (&rung != &cuda_lookahead && &rung != &cuda_adjacent) detail::require_length_of_host(call.n_at, rung.info.id);
    return rung;
  }
  if (call.launch != nullptr) return is_adjacent(call) ? cuda_adjacent : scanning_rung(call);
  return refusal_of(cpu_adjacent, call, policy) == nullptr ? cpu_adjacent : cpu_lookahead;
}

/// Returns the rungs that a call on a GPU may use, wherever its lists are: the named rung, or those that the API
/// chooses from. Throws unknown_rung.
std::vector<const Rung*> possible_rungs(const detail::OffsetsCall& call, std::string_view name) {
  if (name.empty()) return {&scanning_rung(call), &cuda_adjacent};
  return {rung_called(kLadder, name)};
}

// ---- Errors.

/// The call's lists. The first is list call.carry.lists of all lists that the offsets cover.
Lists lists_of(const detail::OffsetsCall& call) { return lists_between(call.type, call.starts, call.stops, call.n); }

void require_arrays(const detail::OffsetsCall& call) {
  detail::require_array(call.starts, call.n, "starts");
  detail::require_array(call.stops, call.n, "stops");
  if (call.offsets == nullptr) throw Error(Code::invalid_argument, "offsets: a null pointer");
  const std::int64_t in_bytes = call.n * size_of(call.type);
  const std::int64_t out_bytes = (call.n + 1) * std::int64_t{sizeof(std::int64_t)};
  if (!detail::same_or_apart(call.starts, in_bytes, call.offsets, out_bytes) ||
      !detail::same_or_apart(call.stops, in_bytes, call.offsets, out_bytes)) {
    throw Error(Code::invalid_argument, "offsets overlap the starts or stops: they need separate memory");
  }
}

/// Waits for the call, throws its error if there is one, and advances the carry.
void await(const gpu::Launch& launch, detail::OffsetsCall& call) {
  gpu::OffsetsStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, launch.stream);
  if (status.first_bad == kNoIndex) {
    call.carry.total = status.total;
    call.carry.lists += call.n;
    return;
  }
  call.carry.first_bad = status.first_bad;
  detail::throw_bad_offsets(call, status, launch.stream);
}

}  // namespace
}  // namespace impl::offsets

std::string_view detail::run_offsets(const Policy& policy, OffsetsCall& call) {
  impl::offsets::require_arrays(call);
  require_policy(policy);
  const auto& rung = impl::offsets::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.index == kNoIndex) throw_status(status, rung.info.id);
  const std::int64_t i = status.index - call.carry.lists;
  visit_bounds(impl::offsets::lists_of(call),
               [&](auto bounds) { throw_bad_list(status.code, status.index, bounds.start(i), bounds.stop(i), 0); });
  no_such_value();
}

std::string_view detail::run_offsets(const gpu::Policy& policy, OffsetsCall& call) {
  impl::offsets::require_arrays(call);
  const auto require = [&] {
    gpu::require_device_array(call.starts, call.n, policy.device, "starts");
    gpu::require_device_array(call.stops, call.n, policy.device, "stops");
    gpu::require_device_memory(call.offsets, policy.device, "offsets");
    gpu::require_length(call.n_at, call.offsets, (call.n + 1) * std::int64_t{sizeof *call.offsets}, policy.device);
  };
  return gpu::run_on_device(policy, call, &impl::offsets::choose, "offsets_async", require,
                            [&] { impl::offsets::await(*call.launch, call); });
}

void detail::throw_bad_offsets(const OffsetsCall& call, const gpu::OffsetsStatus& status, gpu::Stream stream) {
  const gpu::FetchedList bad(impl::offsets::lists_of(call), status.first_bad - call.carry.lists, stream);
  throw_bad_list(status.code, status.first_bad, bad.start, bad.stop, 0);
}

gpu::WorkspaceSize detail::offsets_workspace(const gpu::Policy& policy, const OffsetsCall& asked) {
  const gpu::CurrentDevice current(policy.device);
  const gpu::Launch bare = gpu::launch_on(policy);
  OffsetsCall call = asked;
  call.launch = &bare;
  gpu::WorkspaceSize size;
  // It is not known yet whether stops will be the starts shifted by one.
  for (const auto* rung : impl::offsets::possible_rungs(call, policy.rung)) {
    const gpu::WorkspaceSize one = gpu::workspace_of(*rung, call, gpu::Fetches::result);
    size = {.kept = std::max(size.kept, one.kept), .scratch = std::max(size.scratch, one.scratch)};
  }
  return size;
}

std::int64_t detail::list_count(std::int64_t starts, std::int64_t stops, std::int64_t starts_offset,
                                std::int64_t stops_offset, std::int64_t length) {
  if (starts_offset < 0 || stops_offset < 0) {
    throw Error(Code::invalid_argument, "the offsets into starts and stops must not be negative");
  }
  if (length < -1) throw Error(Code::invalid_argument, "the length must not be negative");
  const auto left = [](const char* what, std::int64_t size, std::int64_t offset) {
    return std::string(what) + " has " + std::to_string(size) + " elements, " + std::to_string(size - offset) +
           " of them after offset " + std::to_string(offset);
  };
  const auto require_reach = [](const char* what, std::int64_t size, std::int64_t offset) {
    if (offset <= size) return;
    throw Error(Code::unequal_lengths, std::string(what) + " has " + std::to_string(size) +
                                           " elements: too few for offset " + std::to_string(offset));
  };
  require_reach("starts", starts, starts_offset);
  require_reach("stops", stops, stops_offset);
  if (length == -1) {
    if (starts - starts_offset != stops - stops_offset) {
      throw Error(Code::unequal_lengths, left("starts", starts, starts_offset) + ", but " +
                                             left("stops", stops, stops_offset) +
                                             ": they must be equal, or give a length");
    }
    return starts - starts_offset;
  }
  const auto require_length = [&](const char* what, std::int64_t size, std::int64_t offset) {
    if (size - offset >= length) return;
    throw Error(Code::unequal_lengths, left(what, size, offset) + ": too few for length " + std::to_string(length));
  };
  require_length("starts", starts, starts_offset);
  require_length("stops", stops, stops_offset);
  return length;
}

void detail::require_offsets(std::int64_t offsets, std::int64_t n) {
  if (offsets == n + 1) return;
  throw Error(Code::unequal_lengths, "offsets of " + std::to_string(n) + " lists take " + std::to_string(n + 1) +
                                         " elements, not " + std::to_string(offsets));
}

}  // namespace upsweep
