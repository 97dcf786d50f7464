// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions_on_device.cpp: conversions of broadcast.hpp on a GPU: validate, run, throw failures
// as Errors.
#include "problems/lists/pack/conversions_on_device.hpp"

#include <limits>
#include <string>

#include "core/apart.hpp"
#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "cuda/list_call.hpp"
#include "problems/lists/pack/conversions.hpp"
#include "problems/lists/pack/layout.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep {
namespace impl::pack {

#if !UPSWEEP_HAS_CUDA
Status launch_conversion(const detail::ConversionCall&) noexcept { return {Code::not_built}; }
std::int64_t conversion_scratch(std::int64_t, std::int64_t) noexcept { return 0; }
#endif

namespace {

using detail::ConversionCall;
using Kind = ConversionCall::Kind;

bool takes_arrays(Kind kind) { return kind == Kind::lengths_to_offsets || kind == Kind::parents_to_offsets; }

/// Checks a call before any list is read, and throws an Error if it is invalid.
void require_call(const ConversionCall& call) {
  const Lists& lists = call.lists;
  switch (call.kind) {
    case Kind::lengths_to_offsets:
      detail::require_array(lists.starts, lists.count, "lengths");
      detail::require_mask(lists.valid, lists.count, "the validity of the lists");
      break;
    case Kind::flatten:
      require_adjacent(lists, "outer lists");
      require_adjacent(call.inner, "inner lists");
      break;
    case Kind::parents_to_offsets:
      detail::require_array(lists.starts, lists.count, "parents");
      if (call.capacity < 0) throw Error(Code::invalid_argument, "the number of lists must not be negative");
      break;
    case Kind::broadcast_to_offsets:
      if (call.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
      detail::require_lists(lists, call.content);
      detail::require_array(call.offsets, 1, "offsets");
      break;
  }
  const bool writes_offsets = takes_arrays(call.kind) || call.kind == Kind::flatten;
  detail::require_array(call.out, writes_offsets ? 1 : call.capacity, writes_offsets ? "offsets" : "output");
}

/// Returns the maximum number of positions or offsets that are written.
std::int64_t outputs_of(const ConversionCall& call) {
  if (call.kind == Kind::broadcast_to_offsets) return call.capacity;
  return (call.kind == Kind::parents_to_offsets ? call.capacity : call.lists.count) + 1;
}

/// Throws if the output overlaps an input.
void require_apart(const ConversionCall& call) {
  constexpr std::int64_t kPositionBytes = sizeof(std::int64_t);
  CallArrays arrays;
  arrays.read(call.lists);
  arrays.read(call.inner);
  if (call.offsets != nullptr) arrays.read(call.offsets, call.lists.count + 1, kPositionBytes);
  arrays.write(call.out, outputs_of(call), kPositionBytes);
  arrays.require_apart();
}

void require_device_arrays(const ConversionCall& call, int device) {
  const bool has_bounds = !takes_arrays(call.kind);
  gpu::require_device_lists(call.lists, device, has_bounds ? "starts" : "the input",
                            has_bounds ? "stops" : "the input");
  gpu::require_device_lists(call.inner, device);
  if (call.offsets != nullptr) gpu::require_device_memory(call.offsets, device, "offsets");
  if (call.out != nullptr) gpu::require_device_memory(call.out, device, "the output");
}

// ------------------------------------------------------------------------------------------------------------ failures

[[noreturn]] void throw_bad(const ConversionCall& call, const gpu::PackStatus& bad) {
  const std::int64_t i = bad.first_bad;
  gpu::Stream stream = call.launch->stream;
  if (takes_arrays(call.kind)) {
    const auto number = [&](std::int64_t k) { return gpu::fetch_bound(call.lists.type, call.lists.starts, k, stream); };
    if (call.kind == Kind::lengths_to_offsets) throw_bad_length(i, number(i));
    throw_bad_parent(i, number(i), i == 0 ? 0 : number(i - 1), call.capacity - 1);
  }
  if (bad.code == Code::unequal_lengths) throw_bad_packed({}, {bad.code, i});
  const gpu::FetchedList list(call.lists, i, stream);
  if (call.kind == Kind::flatten) throw_bad_level(i, list.start, list.stop, call.inner.count);
  throw_bad_list(bad.code, i, list.start, list.stop, call.content);
}

/// Waits for the call. Returns the number of elements of all lists.
std::int64_t await(const ConversionCall& call) {
  gpu::PackStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, call.launch->stream);
  if (status.first_bad != kNoIndex) throw_bad(call, status);
  if (status.code == Code::overflow) throw_too_many_elements();
  if (status.code != Code::ok) throw_too_small("an output", call.capacity, status.total);
  return status.total;
}

/// Returns the call in the form that kernels expect.
ConversionCall prepared(ConversionCall call) {
  if (call.kind == Kind::parents_to_offsets) {  // one list and one offset past the last
    ++call.lists.count;
    ++call.capacity;
  }
  return call;
}

}  // namespace
}  // namespace impl::pack

std::int64_t detail::run_conversion(const gpu::Policy& policy, ConversionCall call) {
  require_no_rung(policy.rung);
  impl::pack::require_call(call);
  impl::pack::require_apart(call);
  const bool waits = call.status == nullptr;
  if (waits) gpu::require_no_capture(policy.stream, "the call of that name in _async");
  const gpu::CurrentDevice current(policy.device);
  impl::pack::require_device_arrays(call, policy.device);
  if (!waits) gpu::require_device_memory(call.status, policy.device, "status");
  call = impl::pack::prepared(call);
  const gpu::WorkspaceSize own{.scratch = impl::pack::conversion_scratch(call.lists.count, call.capacity)};
  const gpu::WorkspaceSize size = gpu::followed_by(own, gpu::kResultBytes);
  const gpu::DeviceCall memory(policy, size);
  call.launch = &memory.launch();
  if (waits) {
    void* const result = static_cast<std::byte*>(memory.launch().scratch) + size.scratch - gpu::kResultBytes;
    call.status = static_cast<gpu::PackStatus*>(result);
  }
  if (const Status status = impl::pack::launch_conversion(call); !status.ok())
    throw_status(status, "conversions of lists");
  return waits ? impl::pack::await(call) : 0;
}

gpu::WorkspaceSize detail::broadcast_workspace(const gpu::Policy& policy, std::int64_t lists, std::int64_t elements) {
  require_lists(Lists::of_size(lists, 0), 0);
  const gpu::CurrentDevice current(policy.device);
  // parents_to_offsets needs one list and one offset past the last.
  return gpu::followed_by({.scratch = impl::pack::conversion_scratch(lists + 1, elements + 1)}, gpu::kResultBytes);
}

}  // namespace upsweep
