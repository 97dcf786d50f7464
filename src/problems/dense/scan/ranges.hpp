// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/ranges.hpp: the operations of a scan on a range of elements; a rung is an order of ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "cpu/fold_range.hpp"
#include "cpu/kernels.hpp"
#include "cpu/scan_range.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::impl::scan {

/// One call on the plain or the SIMD kernels: conversion to the output type, overflow checks, then the kernel.
class ScanRanges {
 public:
  using Carry = detail::CarryBytes;

  ScanRanges(const detail::ScanCall& call, const Policy& policy, const cpu::KernelTable& table);

  /// carry ← the carry of no elements.
  void clear(Carry& carry) const { fold_.clear(carry.bytes); }
  /// left ← left ⊕ right.
  void merge(Carry& left, const Carry& right) const { fold_.merge(left.bytes, right.bytes); }
  /// carry ← the fold of the range.
  void reduce(cpu::Range range, Carry& carry) const { fold_(range, carry.bytes); }
  /// Writes the range that `carry` precedes; carry becomes the value that precedes the next element. `ahead` is the
  /// next range of the same thread, which is prefetched. Returns the first output that overflows, or kNoIndex.
  std::int64_t scan(cpu::Range range, Carry& carry, cpu::Range ahead = {0, 0}) const;
  /// Calls scan(), then total ← total ⊕ the fold of `folded`. One loop for both would be 1.2 times slower for doubles
  /// on an EPYC, and 3 % faster for integers.
  std::int64_t scan_and_fold(cpu::Range range, Carry& carry, cpu::Range ahead, cpu::Range folded, Carry& total) const {
    const std::int64_t bad = scan(range, carry, ahead);
    Carry total_of_range;
    reduce(folded, total_of_range);
    merge(total, total_of_range);
    return bad;
  }
  /// Writes the range as if nothing preceded it. shift() combines the preceding value, and also checks for overflow.
  std::int64_t scan_alone(cpu::Range range, Carry& carry) const;
  std::int64_t shift(cpu::Range range, const Carry& carry) const;
  /// Whether scan() leaves the same bits in its carry as reduce() and merge() do.
  [[nodiscard]] bool exact() const { return fold_.kernel().exact; }
  /// Returns whether scan() must compute the carry after a range that reduce() has folded to `total`. In another order,
  /// floats may add up to infinity where one after the other they do not.
  [[nodiscard]] bool prefers_scan(const Carry& before, const Carry& total) const;
  /// Returns the outcome of a call that ended with `carry` and the first bad output `bad`.
  Status finish(std::int64_t bad, Carry& carry) const;
  /// Returns whether an overflow after the last output of an earlier range makes this range invalid.
  [[nodiscard]] bool spoiled(const Carry& carry) const;
  /// Numbers of elements: of a block that fits a core's L2, of its sub-blocks, and of the first sub-block.
  [[nodiscard]] std::int64_t block() const;
  [[nodiscard]] std::int64_t sub_block() const;
  [[nodiscard]] std::int64_t first_sub_block() const;
  [[nodiscard]] std::int64_t carry_bytes() const { return call_.carry_size; }
  [[nodiscard]] bool in_place() const { return call_.in == call_.out; }

 private:
  /// `magnitude`, unless null, is as in ScanMode.
  void write(cpu::Range range, Carry& carry, cpu::Range ahead, std::uint64_t* magnitude = nullptr) const;
  /// Returns whether all sums of the range after `before` fit their type, judging by the magnitude of its elements.
  [[nodiscard]] bool all_fit(cpu::Range range, const Carry& before, std::uint64_t magnitude) const;
  [[nodiscard]] std::int64_t find_overflow(cpu::Range range, const Carry& carry) const;
  [[nodiscard]] void* output(std::int64_t i) const;
  /// Makes a carry that kernels accept: products without an exponent.
  void make_plain(Carry& carry) const;

  const detail::ScanCall& call_;
  const cpu::KernelTable& magnitudes_;  // the plain table has none
  cpu::FoldRange fold_;
  cpu::ScanRange scan_;
  bool checked_;
  bool notes_magnitudes_;  // the overflow check follows the writing of a range and uses the magnitudes it recorded
  bool non_temporal_;
};

/// Runs one rung: schedule(ranges, carry) scans all elements and returns the first bad output or kNoIndex.
template <class Schedule>
Status run_ranges(const detail::ScanCall& call, const Policy& policy, const cpu::KernelTable& table,
                  Schedule schedule) noexcept try {
  const ScanRanges ranges(call, policy, table);
  ScanRanges::Carry carry;
  std::memcpy(carry.bytes, call.carry, static_cast<std::size_t>(call.carry_size));
  if (ranges.spoiled(carry)) return {Code::overflow, 0};
  const std::int64_t bad = schedule(ranges, carry);
  const Status status = ranges.finish(bad, carry);
  std::memcpy(call.carry, carry.bytes, static_cast<std::size_t>(call.carry_size));
  return status;
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::scan
