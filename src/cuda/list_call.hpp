// SPDX-License-Identifier: Apache-2.0
// cuda/list_call.hpp: calls on lists in device memory: where their arrays may lie, and the outcome that is waited for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/lists.hpp"
#include "cuda/device_call.hpp"
#include "cuda/list_facts.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/segmented_call.hpp"

namespace upsweep::gpu {

/// Throws invalid_argument for bounds and validity that are not in memory of the device.
inline void require_device_lists(const Lists& lists, int device) {
  if (lists.count == 0) return;
  if (!lists.has_size) {
    require_device_memory(lists.starts, device, "starts");
    require_device_memory(lists.stops, device, "stops");
  }
  if (lists.valid.is_given()) require_device_memory(lists.valid.data, device, "the validity of the lists");
}

/// Waits for the call and throws the Error of the first bad list. Returns how many elements the lists have, which the
/// ListFacts say that the call's scratch begins with.
inline std::int64_t await_lists(const Launch& launch, const Lists& lists, std::int64_t content,
                                const ListsStatus* status) {
  ListsStatus outcome = {};
  fetch(&outcome, status, sizeof outcome, launch.stream);
  if (outcome.first_bad == kNoIndex) {
    ListFacts facts = {};
    fetch(&facts, launch.scratch, sizeof facts, launch.stream);
    return static_cast<std::int64_t>(facts.elements);
  }
  const std::int64_t size = size_of(lists.type);
  // Of the type of the bounds: as Lists of one list, which are then read from here.
  alignas(8) std::byte bounds[2][sizeof(std::int64_t)] = {};
  fetch(bounds[0], static_cast<const std::byte*>(lists.starts) + outcome.first_bad * size, size, launch.stream);
  fetch(bounds[1], static_cast<const std::byte*>(lists.stops) + outcome.first_bad * size, size, launch.stream);
  Lists bad = lists;
  bad.starts = bounds[0];
  bad.stops = bounds[1];
  visit_bounds(bad,
               [&](auto one) { throw_bad_list(outcome.code, outcome.first_bad, one.start(0), one.stop(0), content); });
  upsweep::detail::no_such_value();
}

static_assert(sizeof(ListsStatus) <= kResultBytes);

}  // namespace upsweep::gpu
