// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/as_lists.hpp: runs a by-key call on runs that have been found, as a call on lists.
#pragma once

#include <cstddef>
#include <exception>
#include <new>

#include "problems/keys/by_key/rung.hpp"

namespace upsweep::impl::by_key {

/// Reduces or scans these runs as lists; the first of them has the number `first`. Uses the rung that the policy names,
/// or the top one. `Policy` is the CPU's or a GPU's.
template <class Policy>
Status run_lists(Call& call, const Policy& policy, const Lists& runs, std::int64_t first) noexcept try {
  if (call.scan != nullptr) {
    detail::SegmentedScanCall scan = *call.scan;
    scan.lists = runs;
    (void)detail::run_segmented_scan(policy, scan);
    return {};
  }
  detail::SegmentedReduceCall reduction = *call.reduction;
  reduction.lists = runs;
  reduction.out = static_cast<std::byte*>(reduction.out) + first * reduction.out_size;
  (void)detail::run_segmented_reduce(policy, reduction);
  return {};
} catch (const Error& error) {
  call.failure = std::current_exception();
  return {error.code(), error.index() == kNoIndex ? kNoIndex : first + error.index()};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::by_key
