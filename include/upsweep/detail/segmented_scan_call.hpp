// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_scan_call.hpp: a scan of every list as the compiled library receives it, with erased types.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep::detail {

/// Scans of lists by a custom operator or type, one list after the other.
struct ListScanKernel {
  /// out[j] ← *init ⊕ the elements starts[i] … j of content (exclusive: … j - 1), for each j of each list i. Elements
  /// from `end` on must not be read.
  void (*scan)(const void* op, const void* content, std::int64_t end, const std::int64_t* starts,
               const std::int64_t* stops, std::int64_t lists, const void* init, bool exclusive, void* out);
};

/// Scans one element after the other. In place (out is the content) works.
template <class In, class Out, class Op>
struct PlainListScan {
  static void lists(const void* op, const void* content, std::int64_t /*end*/, const std::int64_t* starts,
                    const std::int64_t* stops, std::int64_t lists, const void* init, bool exclusive, void* out) {
    const Op& combine = *static_cast<const Op*>(op);
    const In* const x = static_cast<const In*>(content);
    Out* const to = static_cast<Out*>(out);
    for (std::int64_t i = 0; i < lists; ++i) {
      Out total = *static_cast<const Out*>(init);
      for (std::int64_t j = starts[i]; j < stops[i]; ++j) {
        const Out before = total;
        total = combine(total, static_cast<Out>(x[j]));
        to[j] = exclusive ? before : total;
      }
    }
  }
};

template <class In, class Out, class Op>
inline constexpr ListScanKernel kCustomListScan{&PlainListScan<In, Out, Op>::lists};

/// `in` is the content of `n` elements. `out` has the same length.
struct SegmentedScanCall : ElementsCall {
  Lists lists = {};
  const void* init = nullptr;  ///< an element of the output type, in host memory
  bool empty_is_zero = false;  ///< as in SegmentedReduceCall: outputs without preceding elements are 0.0
  bool exclusive = false;
  Mask valid = {};  ///< false for null elements, which are skipped
  const ListScanKernel* custom_scan = nullptr;
  const ListFoldKernel* custom_fold = nullptr;
  gpu::ListsStatus* status = nullptr;  ///< on a GPU: receives the outcome
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_segmented_scan(const Policy& policy, const SegmentedScanCall& call);

/// Runs the call on a GPU. Waits and throws if `call` has no status.
std::string_view run_segmented_scan(const gpu::Policy& policy, const SegmentedScanCall& call);
gpu::WorkspaceSize segmented_scan_workspace(const gpu::Policy& policy, const SegmentedScanCall& call);

}  // namespace upsweep::detail
