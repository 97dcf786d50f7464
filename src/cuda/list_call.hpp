// SPDX-License-Identifier: Apache-2.0
// cuda/list_call.hpp: calls on lists in device memory: checks of arrays, the outcome, and the cause of an error.
#pragma once

#include <cstdint>
#include <span>

#include "core/lists.hpp"
#include "cuda/device_call.hpp"
#include "cuda/list_facts.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep::gpu {

/// Throws invalid_argument for an array whose elements are not in memory of the device.
inline void require_device_array(const void* data, std::int64_t count, int device, const char* what) {
  if (count > 0) require_device_memory(data, device, what);
}
/// Checks a mask that is present.
inline void require_device_mask(const Mask& mask, int device, const char* what) {
  require_device_array(mask.data, mask.length, device, what);
}
/// Checks content and outputs.
inline void require_device_columns(std::span<const ContentColumn> columns, int device) {
  for (const ContentColumn& column : columns) {
    require_device_array(column.data, column.length, device, "content");
    require_device_array(column.out, column.capacity, device, "an output");
  }
}
/// Checks bounds, and the validity of the lists.
inline void require_device_lists(const Lists& lists, int device, const char* starts = "starts",
                                 const char* stops = "stops") {
  if (!lists.has_size) {
    require_device_array(lists.starts, lists.count, device, starts);
    require_device_array(lists.stops, lists.count, device, stops);
  }
  require_device_mask(lists.valid, device, "the validity of the lists");
}

/// Fetches number i of an array of bounds, lengths or indices on the device.
inline std::int64_t fetch_bound(Type type, const void* bounds, std::int64_t i, Stream stream) {
  return visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
    T bound{};
    fetch(&bound, static_cast<const T*>(bounds) + i, sizeof bound, stream);
    return static_cast<std::int64_t>(bound);
  });
}

/// The bounds of list i, from the device or computed from its size.
struct FetchedList {
  FetchedList(const Lists& lists, std::int64_t i, Stream stream)
      : start(lists.has_size ? i * lists.size : fetch_bound(lists.type, lists.starts, i, stream)),
        stop(lists.has_size ? start + lists.size : fetch_bound(lists.type, lists.stops, i, stream)) {}

  std::int64_t start;
  std::int64_t stop;
};

/// Throws the Error of a bad list whose bounds are on the device.
[[noreturn]] inline void throw_bad_device_list(Code code, const Lists& lists, std::int64_t i, std::int64_t content,
                                               Stream stream) {
  const FetchedList bad(lists, i, stream);
  throw_bad_list(code, i, bad.start, bad.stop, content);
}

/// Waits for the call and throws the Error of the first bad list. Returns the number of elements of the lists, from the
/// ListFacts at the beginning of the call's scratch.
inline std::int64_t await_lists(const Launch& launch, const Lists& lists, std::int64_t content,
                                const ListsStatus* status) {
  ListsStatus outcome = {};
  fetch(&outcome, status, sizeof outcome, launch.stream);
  if (outcome.first_bad == kNoIndex) {
    ListFacts facts = {};
    fetch(&facts, launch.scratch, sizeof facts, launch.stream);
    return static_cast<std::int64_t>(facts.elements);
  }
  throw_bad_device_list(outcome.code, lists, outcome.first_bad, content, launch.stream);
}

}  // namespace upsweep::gpu
