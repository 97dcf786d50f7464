// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/problem.cpp: the pack ladder in order, the choice of a rung, and the public calls: validate, run,
// throw failures as Errors.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/apart.hpp"
#include "core/columns.hpp"
#include "core/ladder.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/pack/layout.hpp"
#include "problems/lists/pack/rung.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::pack {

// The ladder, starting with the naive loop. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_tbb, cpu_shares, cpu_staged, cuda_thread_per_list, cuda_warp_per_list,
    cuda_block_per_list, cuda_cub, cuda_tiles;

constexpr const Rung* kRungs[] = {
    &cpu_serial,         &cpu_threads,         &cpu_tbb,  &cpu_shares, &cpu_staged, &cuda_thread_per_list,
    &cuda_warp_per_list, &cuda_block_per_list, &cuda_cub, &cuda_tiles};
constexpr Ladder<detail::PackCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// Returns the rung that the policy names, or the highest one. Throws unknown_rung, unsupported.
const Rung& choose(const detail::PackCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_tiles : &cpu_staged, call, policy);
}

void require_column(const PackColumn& column, std::int64_t content, detail::ArraysAre arrays) {
  require_moved_size(column.element_size, "a column", Code::invalid_argument);
  detail::require_array(column.data, column.length, "content", arrays);
  detail::require_array(column.out, column.capacity, "output", arrays);
  if (column.length == content) return;
  throw Error(Code::unequal_lengths, "columns of " + std::to_string(content) + " and " + std::to_string(column.length) +
                                         " elements: they must be equally long");
}

/// Checks a call before any list is read, and throws an Error if it is invalid. Fills in what follows from the columns.
void require_call(detail::PackCall& call, detail::ArraysAre arrays = detail::ArraysAre::there) {
  call.capacity = std::numeric_limits<std::int64_t>::max();
  if (!call.columns.empty()) call.content = call.columns.front().length;
  for (const PackColumn& column : call.columns) {
    require_column(column, call.content, arrays);
    call.capacity = std::min(call.capacity, column.capacity);
  }
  if (call.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
  detail::require_lists(call.lists, call.content, arrays);
}

/// Throws if the offsets are null, or an output overlaps another array.
void require_outputs(const detail::PackCall& call) {
  if (call.offsets == nullptr) throw Error(Code::invalid_argument, "offsets: a null pointer");
  CallArrays arrays;
  arrays.read(call.lists);
  for (const PackColumn& column : call.columns) {
    arrays.read(column.data, column.length, column.element_size);
    arrays.write(column.out, column.capacity, column.element_size);
  }
  if (call.offsets_given) {
    arrays.read(call.offsets, call.lists.count + 1, sizeof(std::int64_t));
  } else {
    arrays.write(call.offsets, call.lists.count + 1, sizeof(std::int64_t));
  }
  arrays.require_apart();
}

// ---- On a GPU.

/// Throws for an array of the call that is not in the device's memory.
void require_device_arrays(const detail::PackCall& call, int device) {
  for (const PackColumn& column : call.columns) {
    gpu::require_device_array(column.data, column.length, device, "content");
    gpu::require_device_array(column.out, column.capacity, device, "an output");
  }
  gpu::require_device_lists(call.lists, device, "starts", call.sizes != nullptr ? "sizes" : "stops");
  gpu::require_device_memory(call.offsets, device, "offsets");
}

/// Throws the error of the bounds of a list on the device.
[[noreturn]] void throw_bad_bounds(const gpu::Launch& launch, const detail::PackCall& call, const Status& bad) {
  const gpu::FetchedList list(call.lists, bad.index, launch.stream);
  if (call.sizes != nullptr) throw_bad_view(bad, list.start, list.stop, call.content);  // `stop` is the view's size
  throw_bad_list(bad.code, bad.index, list.start, list.stop, call.content);
}

/// Waits for the call, sets the total, and throws the call's error, if any.
void await(const gpu::Launch& launch, detail::PackCall& call) {
  gpu::PackStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, launch.stream);
  call.total = status.total;
  const Status ended{status.code, status.first_bad};
  if (ended.ok()) return;
  if (ended.code == Code::overflow || ended.code == Code::unequal_lengths) throw_bad_packed(call, ended);
  throw_bad_bounds(launch, call, ended);
}

}  // namespace
}  // namespace impl::pack

std::string_view detail::run_pack(const Policy& policy, PackCall& call) {
  impl::pack::require_call(call);
  impl::pack::require_outputs(call);
  require_policy(policy);
  const auto& rung = impl::pack::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (status.code == Code::out_of_memory) throw_status(status, rung.info.id);
  if (!status.ok()) impl::pack::throw_bad_packed(call, status);
  return rung.info.id;
}

std::string_view detail::run_pack(const gpu::Policy& policy, PackCall& call) {
  impl::pack::require_call(call);
  impl::pack::require_outputs(call);
  return gpu::run_on_device(
      policy, call, &impl::pack::choose, "pack_async", [&] { impl::pack::require_device_arrays(call, policy.device); },
      [&] { impl::pack::await(*call.launch, call); });
}

gpu::WorkspaceSize detail::pack_workspace(const gpu::Policy& policy, const PackCall& asked) {
  PackCall call = asked;
  impl::pack::require_call(call, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, call, &impl::pack::choose);
}

}  // namespace upsweep
