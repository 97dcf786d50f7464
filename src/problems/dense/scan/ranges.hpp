// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/ranges.hpp: what a scan does to a range of its elements; every rung is an order in which ranges are done.
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
  /// Writes the range, `carry` preceding it; carry becomes what precedes the next element. `ahead` is the range that
  /// the same thread does next, fetched into cache meanwhile. Returns the first output that overflows or kNoIndex.
  std::int64_t scan(cpu::Range range, Carry& carry, cpu::Range ahead = {0, 0}) const;
  /// The same, and total ← total ⊕ the fold of `folded`: one after the other, as one loop for both takes doubles 1.2 times
  /// as long on an EPYC and gains integers 3 %.
  std::int64_t scan_and_fold(cpu::Range range, Carry& carry, cpu::Range ahead, cpu::Range folded, Carry& total) const {
    const std::int64_t bad = scan(range, carry, ahead);
    Carry total_of_range;
    reduce(folded, total_of_range);
    merge(total, total_of_range);
    return bad;
  }
  /// Writes the range as if nothing preceded it: what does is combined in by shift(), which also checks for overflow.
  std::int64_t scan_alone(cpu::Range range, Carry& carry) const;
  std::int64_t shift(cpu::Range range, const Carry& carry) const;
  /// Whether scan() leaves the same bits in its carry as reduce() and merge() do.
  [[nodiscard]] bool exact() const { return fold_.kernel().exact; }
  /// Whether the carry after a range that reduce() has folded to `total` is rather scan()'s: in another order floats may add
  /// up to infinity where one after the other they do not.
  [[nodiscard]] bool prefers_scan(const Carry& before, const Carry& total) const;
  /// The outcome of a call that ended with `carry` and first bad output `bad`.
  Status finish(std::int64_t bad, Carry& carry) const;
  /// Whether an overflow after the last output of an earlier range makes this one invalid.
  [[nodiscard]] bool spoiled(const Carry& carry) const;
  /// Elements of a block that fits a core's own cache, of its sub-blocks, and of the first one.
  [[nodiscard]] std::int64_t block() const;
  [[nodiscard]] std::int64_t sub_block() const;
  [[nodiscard]] std::int64_t first_sub_block() const;
  [[nodiscard]] std::int64_t carry_bytes() const { return call_.carry_size; }
  [[nodiscard]] bool in_place() const { return call_.in == call_.out; }

 private:
  /// `magnitude`, if any: as in ScanMode.
  void write(cpu::Range range, Carry& carry, cpu::Range ahead, std::uint64_t* magnitude = nullptr) const;
  /// Whether no sum of the range, `before` preceding it, leaves its type, by the magnitude of its elements.
  [[nodiscard]] bool all_fit(cpu::Range range, const Carry& before, std::uint64_t magnitude) const;
  [[nodiscard]] std::int64_t find_overflow(cpu::Range range, const Carry& carry) const;
  [[nodiscard]] void* output(std::int64_t i) const;
  /// A carry that kernels take: products without an exponent.
  void make_plain(Carry& carry) const;

  const detail::ScanCall& call_;
  const cpu::KernelTable& magnitudes_;  // the plain table has none
  cpu::FoldRange fold_;
  cpu::ScanRange scan_;
  bool checked_;
  bool notes_magnitudes_;  // overflow is looked for after a range is written, by what its kernel saw
  bool non_temporal_;
};

/// Runs one rung: schedule(ranges, carry) scans everything and returns the first bad output or kNoIndex.
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
