// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/problem.cpp: the order of the rungs, the choice of a rung, validation, execution, errors.
//
// Source  Awkward Array's kernel awkward_ListArray_getitem_jagged_apply, with the order of its checks. For each list in
//         turn it checks the bounds of its indices, the bounds of the list (if it has indices), and its indices.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "core/columns.hpp"
#include "core/lists.hpp"
#include "cuda/list_call.hpp"
#include "problems/dense/take/rung.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace impl::take {

// The ladder, from the naive loop up. Every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_std_par, cpu_gather, cuda_thrust, cuda_tiles;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_std_par, &cpu_gather, &cuda_thrust, &cuda_tiles};
constexpr Ladder<Call> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

using detail::ArraysAre;

const Rung& choose(const Call& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(call.launch != nullptr ? &cuda_tiles : &cpu_gather, call, policy);
}

// ---- Errors.

/// Throws the Error of an index that names no element of `where`, for example "the content, which has 3 elements".
[[noreturn]] void throw_bad_index(std::int64_t index, std::int64_t position, const std::string& where) {
  throw Error(
      Code::index_out_of_range,
      "index " + std::to_string(index) + " at position " + std::to_string(position) + " names no element of " + where,
      position);
}

/// Throws the Error of a list of indices whose bounds are bad.
[[noreturn]] void throw_bad_index_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop,
                                       std::int64_t indices) {
  try {
    throw_bad_list(code, list, start, stop, indices);
  } catch (const Error& error) {
    throw Error(code, "indices: " + std::string(error.what()), list);
  }
}

/// Throws for the first of the indices first … stop - 1 that is out of range of `elements` elements, if there is one.
void require_indices(const Call& call, std::int64_t first, std::int64_t stop, std::int64_t elements,
                     const std::string& where) {
  for (std::int64_t j = first; j < stop; ++j) {
    const std::int64_t index = index_at(call.indices, j);
    if (is_in(index, elements)) continue;
    throw_bad_index(index, j, where + ", which has " + std::to_string(elements) + " elements");
  }
}

/// Throws the first error, list by list, if there is one. A null list is treated as empty.
template <class Bounds, class IndexBounds>
void require_lists_and_indices(const Call& call, const Bounds& lists, const IndexBounds& of_indices) {
  for (std::int64_t i = 0; i < call.index_lists.count; ++i) {
    if (is_null(call.index_lists, i) || of_indices.start(i) == of_indices.stop(i)) continue;
    const std::int64_t first = of_indices.start(i);
    const std::int64_t stop = of_indices.stop(i);
    if (const Code code = check_list(first, stop, call.indices.length); code != Code::ok) {
      throw_bad_index_list(code, i, first, stop, call.indices.length);
    }
    std::int64_t count = 0;
    if (!is_null(call.lists, i)) {
      const Code code = check_list(lists.start(i), lists.stop(i), call.content);
      if (code != Code::ok) throw_bad_list(code, i, lists.start(i), lists.stop(i), call.content);
      count = lists.stop(i) - lists.start(i);
    }
    require_indices(call, first, stop, count, "list " + std::to_string(i));
  }
}

void require_lists_and_indices(const Call& call) {
  visit_bounds(call.lists, [&](auto lists) {
    visit_bounds(call.index_lists, [&](auto of_indices) { require_lists_and_indices(call, lists, of_indices); });
  });
}

/// Throws the Error of a failed rung on the CPU.
[[noreturn]] void throw_failure(const Call& call, const Status& status, std::string_view rung) {
  if (call.failure != nullptr) {  // a bad list or index comes first
    require_lists_and_indices(call);
    std::rethrow_exception(call.failure);
  }
  if (status.code == kNoCapacity.code) throw_too_small("an output", call.capacity, call.taken);
  if (status.code == kBad.code && call.has_lists) {
    require_lists_and_indices(call);
  } else if (status.code == kBad.code) {
    require_indices(call, 0, call.indices.length, call.content, "the content");
  }
  throw_status(status, rung);
}

// ---- Requirements of a call.

/// Checks all but the policy. Sets the capacity, and without lists the length of the content. Throws Error.
void require_call(Call& call) {
  detail::require_array(call.indices.data, call.indices.length, "indices");
  if (!is_list_bound(call.indices.type)) {
    throw Error(Code::unsupported_type,
                "indices are int32, uint32 or int64, not " + std::string(name(call.indices.type)));
  }
  if (!call.has_lists) call.content = call.columns.empty() ? 0 : call.columns[0].length;
  const std::int64_t capacity = require_columns(call.columns, call.content, "the content");
  call.capacity = call.positions == nullptr ? capacity : std::min(capacity, call.capacity);
  CallArrays arrays;
  add_columns(call.columns, arrays);
  arrays.read(call.indices.data, call.indices.length, size_of(call.indices.type));
  if (call.has_lists) {
    if (call.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
    detail::require_lists(call.lists, call.content);
    detail::require_lists(call.index_lists, call.indices.length);
    if (call.lists.count != call.index_lists.count) {
      throw Error(Code::unequal_lengths, "there are " + std::to_string(call.lists.count) + " lists, but indices of " +
                                             std::to_string(call.index_lists.count));
    }
    arrays.read(call.lists);
    arrays.read(call.index_lists);
    arrays.write(call.out_offsets, call.index_lists.count + 1, sizeof(std::int64_t));
    arrays.write(call.positions, call.capacity, sizeof(std::int64_t));
  }
  arrays.require_apart();
  if (!call.has_lists) require_capacity("an output", call.capacity, call.indices.length);
}

// ---- On a GPU.

void require_arrays_on_device(const Call& call, int device) {
  gpu::require_device_columns(call.columns, device);
  gpu::require_device_array(call.indices.data, call.indices.length, device, "indices");
  if (!call.has_lists) return;
  gpu::require_device_lists(call.lists, device);
  gpu::require_device_lists(call.index_lists, device);
  gpu::require_device_memory(call.out_offsets, device, "out_offsets");
  if (call.positions != nullptr) gpu::require_device_array(call.positions, call.capacity, device, "positions");
}

/// Throws the error of the list of indices, or, if that is good, of the list itself.
[[noreturn]] void throw_bad_lists(const Call& call, const gpu::TakeStatus& status, gpu::Stream stream) {
  const gpu::FetchedList indices(call.index_lists, status.first_bad, stream);
  if (check_list(indices.start, indices.stop, call.indices.length) != Code::ok) {
    throw_bad_index_list(status.code, status.first_bad, indices.start, indices.stop, call.indices.length);
  }
  gpu::throw_bad_device_list(status.code, call.lists, status.first_bad, call.content, stream);
}

/// Waits for the call, sets the number of taken elements, and throws any error.
void await(const gpu::Launch& launch, Call& call) {
  gpu::TakeStatus status = {};
  gpu::fetch(&status, call.status, sizeof status, launch.stream);
  call.taken = status.taken;
  if (status.code == Code::ok) return;
  if (status.code == Code::unequal_lengths) throw_too_small("an output", call.capacity, status.taken);
  if (status.code == Code::overflow) throw Error(Code::overflow, "the lists have more indices than int64 counts");
  if (status.code != Code::index_out_of_range) throw_bad_lists(call, status, launch.stream);
  throw_bad_index(gpu::fetch_bound(call.indices.type, call.indices.data, status.first_bad, launch.stream),
                  status.first_bad,
                  call.has_lists ? "its list" : "the content, which has " + std::to_string(call.content) + " elements");
}

/// Runs a rung twice if it counts elements while it moves them. The first run has no columns: outputs wait for the
/// count.
Status count_and_run(const Rung& rung, Call& call, const Policy& policy) {
  const auto columns = std::exchange(call.columns, {});
  call.capacity = std::numeric_limits<std::int64_t>::max();
  const Status counted = rung.run(call, policy);
  call.columns = columns;
  if (!counted.ok()) return counted;
  if (!has_capacity(call)) return kNoCapacity;
  call.allocate_outputs = {};
  return rung.run(call, policy);
}

}  // namespace

bool has_capacity(Call& call) noexcept try {
  if (call.allocate_outputs) {
    call.allocate_outputs(call.taken);
    require_call(call);
  }
  return call.taken <= call.capacity;
} catch (...) {
  call.failure = std::current_exception();
  return false;
}

}  // namespace impl::take

std::string_view detail::run_take(const Policy& policy, TakeCall& call) {
  require_policy(policy);
  impl::take::require_call(call);
  const auto& rung = impl::take::choose(call, policy);
  if (!call.has_lists && call.columns.empty()) return rung.info.id;  // nothing is taken or checked
  const bool runs_once =
      !call.allocate_outputs || &rung == &impl::take::cpu_gather;  // it requests outputs before it moves anything
  const Status status = runs_once ? rung.run(call, policy) : impl::take::count_and_run(rung, call, policy);
  if (!status.ok()) impl::take::throw_failure(call, status, rung.info.id);
  return rung.info.id;
}

std::string_view detail::run_take(const gpu::Policy& policy, TakeCall& call) {
  if (call.allocate_outputs) {
    TakeCall count = call;
    count.columns = {};
    count.allocate_outputs = {};
    run_take(policy, count);
    call.allocate_outputs(count.taken);
  }
  impl::take::require_call(call);
  return gpu::run_on_device(
      policy, call, &impl::take::choose, "take_async",
      [&] { impl::take::require_arrays_on_device(call, policy.device); },
      [&] { impl::take::await(*call.launch, call); });
}

gpu::WorkspaceSize detail::take_workspace(const gpu::Policy& policy, const TakeCall& asked) {
  TakeCall call = asked;
  call.capacity = require_columns(call.columns, call.content, "the content", ArraysAre::to_come);
  require_lists(call.index_lists, call.indices.length, ArraysAre::to_come);
  return gpu::workspace_on_device(policy, call, &impl::take::choose);
}

}  // namespace upsweep
