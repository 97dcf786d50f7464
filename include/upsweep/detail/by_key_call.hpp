// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/by_key_call.hpp: a reduction or scan by keys as the compiled library receives it, with the types erased.
#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/detail/segmented_scan_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// The result of a reduction by keys.
struct ReducedByKey {
  std::int64_t runs;      ///< how many keys and values were written
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

struct Keys {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;
};

/// What is to be done with each run of equal keys as a list: a reduction or a scan, the other of which is null.
struct ByKeyCall {
  Keys keys = {};
  const SegmentedReduceCall* reduction = nullptr;  ///< of as many values; the runs become its lists
  const SegmentedScanCall* scan = nullptr;         ///< the same
  void* out_keys = nullptr;                        ///< of a reduction
  std::int64_t keys_capacity = 0;                  ///< elements of `out_keys`
  std::int64_t capacity = 0;                       ///< the same of the reduction's output

  const gpu::Launch* launch = nullptr;  ///< where on a GPU; null: the arrays are the host's
  const gpu::Policy* device_policy = nullptr;
  bool checked = false;  ///< there: a sum of integers that does not fit is an error

  // What a rung leaves.
  std::int64_t runs = 0;            ///< how many there are; kNoIndex: not counted
  std::exception_ptr failure = {};  ///< of what the rung has called
};

/// Runs the rung that the policy names, or the top one that fits; throws Error. ReducedByKey::runs of scans that do not count
/// them is kNoIndex.
ReducedByKey run_by_key(const Policy& policy, ByKeyCall call);
/// The same on a GPU. Waits.
ReducedByKey run_by_key(const gpu::Policy& policy, ByKeyCall call);

std::int64_t count_key_runs(const Policy& policy, const Keys& keys);
/// Throws unequal_lengths where more than `capacity` offsets are to be written. Returns the runs.
std::int64_t write_key_offsets(const Policy& policy, const Keys& keys, std::int64_t* offsets, std::int64_t capacity);
/// The same of keys in device memory. Both wait for the stream.
std::int64_t count_key_runs(const gpu::Policy& policy, const Keys& keys);
std::int64_t write_key_offsets(const gpu::Policy& policy, const Keys& keys, std::int64_t* offsets,
                               std::int64_t capacity);

}  // namespace detail
}  // namespace upsweep
