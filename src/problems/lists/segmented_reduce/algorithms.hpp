// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/algorithms.hpp: the CPU algorithms that reduce lists; reduce_lists.cpp chooses one.
#pragma once

#include <cstdint>

#include "problems/lists/segmented_reduce/reduce_lists.hpp"

namespace upsweep::impl::segmented_reduce {

/// A call, the kernels that it uses, and how its lists are divided into work units.
struct Job {
  const detail::SegmentedReduceCall& call;
  const cpu::ListKernels& kernels;
  int workers;
  const WorkUnits& units;
};

// Each algorithm reduces all lists. It returns the first list that is bad or whose sum overflows, or kNoIndex. Throws
// std::bad_alloc.

/// Counts elements that are not null.
std::int64_t count_elements(const Job& job);
/// Computes any, all and count_nonzero: elements become bits, which are counted.
std::int64_t reduce_bits(const Job& job);
/// Finds the positions of minima and maxima.
std::int64_t pick_positions(const Job& job);
/// Folds the elements that are not null; integers wrap (modulo 2^bits).
std::int64_t fold_values(const Job& job);
/// Adds integers and finds sums that overflow.
std::int64_t sum_checked(const Job& job);
/// Folds the elements between nulls in place: a custom operator may have no identity to put in place of a null.
std::int64_t fold_between_nulls(const Job& job);

}  // namespace upsweep::impl::segmented_reduce
