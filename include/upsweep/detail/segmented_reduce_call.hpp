// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/segmented_reduce_call.hpp: a reduction of every list as the compiled library receives it, with the types erased.
#pragma once

#include <cstdint>
#include <string_view>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// What becomes of a list's elements.
enum class Reducer : std::uint8_t {
  fold,           ///< init ⊕ x0 ⊕ …, by an operator
  any,            ///< whether one of them is not zero
  all,            ///< whether none of them is zero
  count,          ///< how many there are
  count_nonzero,  ///< how many are not zero
  argmin,         ///< the position in its list of the first smallest one; -1 where there is none
  argmax,         ///< the same of the greatest
};

namespace gpu {

/// How a call on lists ended that does not wait, in device memory.
struct ListsStatus {
  std::int64_t first_bad;  ///< the first invalid list; kNoIndex: none, though all together may be too long: see `code`
  Code code;  ///< stop_before_start, negative_start, stop_past_end; overflow; of all together unequal_lengths; else ok
};

}  // namespace gpu

namespace detail {

/// The folds of lists by a custom operator or type, one after the other.
struct ListFoldKernel {
  /// out[i] ← *init ⊕ the elements starts[i] … stops[i] - 1 of content; without init lists are not empty. Elements from
  /// `end` on must not be read.
  void (*fold)(const void* op, const void* content, std::int64_t end, const std::int64_t* starts,
               const std::int64_t* stops, std::int64_t lists, const void* init, void* out);
  /// The same of elements of the output type.
  void (*fold_totals)(const void* op, const void* totals, std::int64_t end, const std::int64_t* starts,
                      const std::int64_t* stops, std::int64_t lists, const void* init, void* out);
};

/// One element after the other.
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

/// `in` is the content of `n` elements; `out` has an element per list.
struct SegmentedReduceCall : ElementsCall {
  Lists lists = {};
  Reducer reducer = Reducer::fold;
  const void* init = nullptr;  ///< of a fold: an element of the output type, in host memory
  /// A sum of floats without an initial value: `init` is -0.0, which changes no bit of what is added to it, but lists without
  /// elements give 0.0.
  bool empty_is_zero = false;
  Mask valid = {};  ///< false where an element is null, and skipped
  const ListFoldKernel* custom_fold = nullptr;
  gpu::ListsStatus* status = nullptr;      ///< on a GPU: where the outcome goes
  const std::int64_t* count_at = nullptr;  ///< there: how many of the lists there are, where that is in device memory
  bool checked = false;                    ///< there: a sum of integers that does not fit is an error
  const DeviceKernel<SegmentedReduceCall>* device =
      nullptr;  ///< the kernel on a GPU of a custom operator or type, else null
  /// There: the content's first element is number `first` of those that bounds count, and what of the last list is past the end is
  /// not here: a shard of an array whose offsets count over all shards.
  std::int64_t first = 0;
  bool cuts_last = false;
  bool out_is_reached = false;  ///< there: by kernels, as the caller has seen to; `out` may be another device's memory
};

/// Runs the rung that the policy names, or the top one that fits; returns its id and throws Error.
std::string_view run_segmented_reduce(const Policy& policy, const SegmentedReduceCall& call);
/// On a GPU: waits where the call has no status.
std::string_view run_segmented_reduce(const gpu::Policy& policy, const SegmentedReduceCall& call);
gpu::WorkspaceSize segmented_reduce_workspace(const gpu::Policy& policy, const SegmentedReduceCall& call);

}  // namespace detail
}  // namespace upsweep
