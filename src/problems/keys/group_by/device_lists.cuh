// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_lists.cuh: folds adjacent rows of groups as lists, by the rung of the lists' own API.
#pragma once

#include "core/visit.hpp"
#include "problems/keys/group_by/rung.hpp"
#include "upsweep/detail/segmented_reduce_call.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::impl::group_by {

/// Elements in the order of their groups, and the destination of the results.
struct Folded {
  const void* in;
  Type in_type;
  std::int64_t n;
  void* out;
  Type out_type;
};

/// Folds lists with the operator, beginning with its identity.
inline void fold_lists(const gpu::Policy& policy, Operator op, const Folded& folded, const Lists& lists) {
  detail::SegmentedReduceCall call;
  call.in = folded.in;
  call.out = folded.out;
  call.n = folded.n;
  call.in_type = folded.in_type;
  call.out_type = folded.out_type;
  call.in_size = size_of(folded.in_type);
  call.out_size = size_of(folded.out_type);
  call.op = op;
  call.lists = lists;
  visit_type(folded.out_type, [&]<class T>(std::type_identity<T>) {
    const T init = identity<T>(op);
    call.init = &init;
    (void)detail::run_segmented_reduce(policy, call);
  });
}

}  // namespace upsweep::impl::group_by
