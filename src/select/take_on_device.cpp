// SPDX-License-Identifier: Apache-2.0
// select/take_on_device.cpp: takes on a GPU: validated, run by take_kernels.cu, awaited, failures as Errors.
#include <cstdint>
#include <span>
#include <string>

#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "cuda/list_call.hpp"
#include "select/arrays.hpp"
#include "select/rung.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace selection {

extern const upsweep::Rung<detail::TakeCall> take_on_device;

namespace {

/// The one way there is.
const upsweep::Rung<detail::TakeCall>& choose(const detail::TakeCall& call, const Policy& policy) {
  require_no_rung(policy.rung);
  return usable(&take_on_device, call, policy);
}

void require_arrays_on_device(const detail::TakeCall& call, int device) {
  require_columns_on_device(call.columns, device);
  gpu::require_device_array(call.indices.data, call.indices.length, device, "indices");
  if (!call.has_lists) return;
  gpu::require_device_lists(call.lists, device);
  gpu::require_device_lists(call.index_lists, device);
  gpu::require_device_memory(call.out_offsets, device, "out_offsets");
  if (call.positions != nullptr) gpu::require_device_array(call.positions, call.room, device, "positions");
}

/// Throws what is wrong with a list, or first with that of its indices.
[[noreturn]] void throw_bad_lists(const detail::TakeCall& call, const gpu::TakeStatus& status, gpu::Stream stream) {
  const gpu::FetchedList indices(call.index_lists, status.first_bad, stream);
  if (check_list(indices.start, indices.stop, call.indices.length) != Code::ok) {
    throw_bad_index_list(status.code, status.first_bad, indices.start, indices.stop, call.indices.length);
  }
  gpu::throw_bad_device_list(status.code, call.lists, status.first_bad, call.content, stream);
}

/// Waits for the call, sets how many elements are taken, and throws what is wrong.
void await(const gpu::Launch& launch, detail::TakeCall& call) {
  gpu::TakeStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, launch.stream);
  call.taken = status.taken;
  if (status.code == Code::ok) return;
  if (status.code == Code::unequal_lengths) throw_no_room_to_take(call.room, status.taken);
  if (status.code == Code::overflow) throw Error(Code::overflow, "the lists have more indices than int64 counts");
  if (status.code != Code::index_out_of_range) throw_bad_lists(call, status, launch.stream);
  throw_bad_index(gpu::fetch_bound(call.indices.type, call.indices.data, status.first_bad, launch.stream),
                  status.first_bad,
                  call.has_lists ? "its list" : "the content, which has " + std::to_string(call.content) + " elements");
}

static_assert(sizeof(gpu::TakeStatus) <= gpu::kResultBytes);

}  // namespace
}  // namespace selection

void detail::run_take(const gpu::Policy& policy, TakeCall& call) {
  selection::require_take(call);
  const bool waits = call.status == nullptr;
  if (waits) gpu::require_no_capture(policy.stream, "take_async");
  gpu::CallOnDevice on_device(policy, call, &selection::choose, gpu::Fetches::result);
  selection::require_arrays_on_device(call, policy.device);
  if (!waits) gpu::require_device_memory(call.status, policy.device, "status");
  void* const result = on_device.allocate();
  if (waits) call.status = static_cast<gpu::TakeStatus*>(result);
  on_device.run();
  if (waits) selection::await(*call.launch, call);
}

gpu::WorkspaceSize detail::take_workspace(const gpu::Policy& policy, const TakeCall& asked) {
  TakeCall call = asked;
  call.room = selection::require_columns(call.columns, call.content, "the content", ArraysAre::to_come);
  require_lists(call.index_lists, call.indices.length, ArraysAre::to_come);
  return gpu::CallOnDevice(policy, call, &selection::choose, gpu::Fetches::result).workspace();
}

}  // namespace upsweep
