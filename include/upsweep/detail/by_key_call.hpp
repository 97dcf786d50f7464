// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/by_key_call.hpp: a reduction or scan by keys as the compiled library receives it, with erased types.
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
  std::int64_t runs;      ///< number of keys and values that were written
  std::string_view rung;  ///< the id of the rung that ran
};

namespace detail {

struct Keys {
  const void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::int64;
};

/// A reduction or a scan of each run of equal keys as one list. The other pointer is null.
struct ByKeyCall {
  Keys keys = {};
  const SegmentedReduceCall* reduction = nullptr;  ///< of one value per key; the runs become its lists
  const SegmentedScanCall* scan = nullptr;         ///< of one value per key; the runs become its lists
  void* out_keys = nullptr;                        ///< of a reduction
  std::int64_t keys_capacity = 0;                  ///< elements that `out_keys` holds
  std::int64_t capacity = 0;                       ///< elements that the output of the reduction holds

  const gpu::Launch* launch = nullptr;  ///< where it runs on a GPU; null: the arrays are in host memory
  const gpu::Policy* device_policy = nullptr;
  bool checked = false;  ///< on a GPU: a sum of integers that does not fit is an error

  // Set by the rung.
  std::int64_t runs = 0;            ///< number of runs; kNoIndex: not counted
  std::exception_ptr failure = {};  ///< thrown by a call that the rung made
};

/// Runs the rung that the policy names, or the top rung that supports the call. Throws Error. ReducedByKey::runs is
/// kNoIndex for scans that do not count the runs.
ReducedByKey run_by_key(const Policy& policy, ByKeyCall call);
/// Runs the call on a GPU, and waits.
ReducedByKey run_by_key(const gpu::Policy& policy, ByKeyCall call);

std::int64_t count_key_runs(const Policy& policy, const Keys& keys);
/// Writes the offsets of the runs and returns their number. Throws unequal_lengths if there are more than `capacity`
/// offsets.
std::int64_t write_key_offsets(const Policy& policy, const Keys& keys, std::int64_t* offsets, std::int64_t capacity);
/// Variants for keys in device memory. Both wait for the stream.
std::int64_t count_key_runs(const gpu::Policy& policy, const Keys& keys);
std::int64_t write_key_offsets(const gpu::Policy& policy, const Keys& keys, std::int64_t* offsets,
                               std::int64_t capacity);

}  // namespace detail
}  // namespace upsweep
