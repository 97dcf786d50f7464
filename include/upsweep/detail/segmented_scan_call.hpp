// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_scan_call.hpp: a scan of every list as the compiled library receives it, with the types erased.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/segmented_reduce_call.hpp"

namespace upsweep::detail {

/// The scans of lists by a custom operator or type, one after the other.
struct ListScanKernel {
  /// out[j] ← *init ⊕ the elements starts[i] … j of content (exclusive: … j - 1), for each j of each list i. Elements from
  /// `end` on must not be read.
  void (*scan)(const void* op, const void* content, std::int64_t end, const std::int64_t* starts,
               const std::int64_t* stops, std::int64_t lists, const void* init, bool exclusive, void* out);
};

/// One element after the other. In place (out is the content) works.
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

/// `in` is the content of `n` elements, `out` as long.
struct SegmentedScanCall : ElementsCall {
  Lists lists = {};
  const void* init = nullptr;  ///< an element of the output type, in host memory
  bool empty_is_zero = false;  ///< as in SegmentedReduceCall: outputs that nothing precedes are 0.0
  bool exclusive = false;
  Mask valid = {};  ///< false where an element is null, and skipped
  const ListScanKernel* custom_scan = nullptr;
  const ListFoldKernel* custom_fold = nullptr;
  gpu::ListsStatus* status = nullptr;  ///< on a GPU: where the outcome goes
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_segmented_scan(const Policy& policy, const SegmentedScanCall& call);

/// The same on a GPU: waits and throws where `call` has no status.
std::string_view run_segmented_scan(const gpu::Policy& policy, const SegmentedScanCall& call);
gpu::WorkspaceSize segmented_scan_workspace(const gpu::Policy& policy, const SegmentedScanCall& call);

}  // namespace upsweep::detail
