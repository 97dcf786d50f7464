// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_call.hpp: a reduction of every list, with erased types.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// The result that a list's elements are reduced to.
enum class Reducer : std::uint8_t {
  fold,           ///< init ⊕ x0 ⊕ …, by an operator
  any,            ///< whether at least one element is not zero
  all,            ///< whether no element is zero
  count,          ///< the number of elements
  count_nonzero,  ///< the number of elements that are not zero
  argmin,         ///< the position in its list of the first minimum; -1 if there is none
  argmax,         ///< the position in its list of the first maximum; -1 if there is none
};

namespace gpu {

/// The outcome of a call on lists that does not wait, in device memory.
struct ListsStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none, but all together may be too long: see `code`
  Code code;  ///< stop_before_start, negative_start, stop_past_end, overflow; unequal_lengths for all together; or ok
};

}  // namespace gpu

namespace detail {

/// Folds of lists by a custom operator or type, one list after the other.
struct ListFoldKernel {
  /// out[i] ← *init ⊕ the elements starts[i] … stops[i] - 1 of content. Without init, lists are not empty. Elements
  /// from `end` on must not be read.
  void (*fold)(const void* op, const void* content, std::int64_t end, const std::int64_t* starts,
               const std::int64_t* stops, std::int64_t lists, const void* init, void* out);
  /// The same fold for elements of the output type.
  void (*fold_totals)(const void* op, const void* totals, std::int64_t end, const std::int64_t* starts,
                      const std::int64_t* stops, std::int64_t lists, const void* init, void* out);
};

/// Folds one element after the other.
template <class In, class Out, class Op>
struct PlainFold : CheckedOperator<Out, Op> {
  static void lists(const void* op, const void* content, std::int64_t /*end*/, const std::int64_t* starts,
                    const std::int64_t* stops, std::int64_t lists, const void* init, void* out) {
    const Op& combine = *static_cast<const Op*>(op);
    const In* const x = static_cast<const In*>(content);
    for (std::int64_t i = 0; i < lists; ++i) {
      std::int64_t j = starts[i];
      Out total = init != nullptr ? *static_cast<const Out*>(init) : static_cast<Out>(x[j++]);
      for (; j < stops[i]; ++j) total = combine(total, static_cast<Out>(x[j]));
      static_cast<Out*>(out)[i] = total;
    }
  }
};

template <class In, class Out, class Op>
inline constexpr ListFoldKernel kCustomFold{&PlainFold<In, Out, Op>::lists, &PlainFold<Out, Out, Op>::lists};

/// `in` is the content of `n` elements. `out` has one element per list.
struct SegmentedReduceCall : ElementsCall {
  Lists lists = {};
  Reducer reducer = Reducer::fold;
  const void* init = nullptr;  ///< of a fold: an element of the output type, in host memory
  /// For a sum of floats without an initial value: `init` is -0.0, which changes no bit of what is added to it. Lists
  /// without elements produce 0.0.
  bool empty_is_zero = false;
  Mask valid = {};  ///< false for null elements, which are skipped
  const ListFoldKernel* custom_fold = nullptr;
  gpu::ListsStatus* status = nullptr;      ///< on a GPU: receives the outcome
  const std::int64_t* count_at = nullptr;  ///< on a GPU: the number of lists in device memory; null: lists.count
  bool checked = false;                    ///< on a GPU: a sum of integers that does not fit is an error
  const DeviceKernel<SegmentedReduceCall>* device =
      nullptr;  ///< the GPU kernel of a custom operator or type, otherwise null
  /// On a GPU: `in` is a shard of an array whose offsets count over all shards. Its first element has the number
  /// `first`. The end of the last list may be in later shards.
  std::int64_t first = 0;
  bool cuts_last = false;
  bool out_is_reached = false;  ///< on a GPU: the caller has ensured access to `out`, which may be on another device
};

/// Runs the rung that the policy names, or the top rung that supports the call. Returns its id; throws Error.
std::string_view run_segmented_reduce(const Policy& policy, const SegmentedReduceCall& call);
/// Runs the call on a GPU. Waits if the call has no status.
std::string_view run_segmented_reduce(const gpu::Policy& policy, const SegmentedReduceCall& call);
gpu::WorkspaceSize segmented_reduce_workspace(const gpu::Policy& policy, const SegmentedReduceCall& call);

}  // namespace detail
}  // namespace upsweep
