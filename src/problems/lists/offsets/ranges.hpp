// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/ranges.hpp: the steps of offsets() on a range of lists; a rung is an order of such steps.
#pragma once

#include <cstdint>
#include <new>

#include "cpu/block_scans.hpp"
#include "cpu/kernels.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/detail/offsets_call.hpp"

namespace upsweep::impl::offsets {

class OffsetsRanges {
 public:
  using Carry = std::int64_t;  // the offset of the next list

  OffsetsRanges(const detail::OffsetsCall& call, const cpu::KernelTable& table);

  static void clear(Carry& carry) { carry = 0; }
  static void merge(Carry& left, const Carry& right);
  void reduce(cpu::Range range, Carry& carry) const;
  /// Writes the offsets after the lists of the range; `carry` is the offset before them. Returns the first bad list or
  /// kNoIndex.
  std::int64_t scan(cpu::Range range, Carry& carry, cpu::Range ahead = {0, 0}) const;
  /// Does the same, and total ← total ⊕ the fold of the same number of lists of `folded`.
  std::int64_t scan_and_fold(cpu::Range range, Carry& carry, cpu::Range ahead, cpu::Range folded, Carry& total) const;
  std::int64_t scan_alone(cpu::Range range, Carry& carry) const { return scan(range, carry); }
  std::int64_t shift(cpu::Range range, const Carry& carry) const;
  static constexpr bool exact() { return true; }
  static constexpr bool prefers_scan(const Carry&, const Carry&) { return false; }
  /// Number of lists of a block whose bounds fit a core's L2, of its sub-blocks, and of the first sub-block.
  [[nodiscard]] std::int64_t block() const;
  [[nodiscard]] std::int64_t sub_block() const { return block() / cpu::kSubBlocks; }
  [[nodiscard]] std::int64_t first_sub_block() const;
  static constexpr std::int64_t carry_bytes() { return sizeof(Carry); }
  static constexpr bool in_place() { return false; }

  /// For stops == starts + 1: writes offsets as bounds minus the first bound. Returns the first bad list or kNoIndex.
  std::int64_t difference(cpu::Range range, Carry before) const;

  /// Returns the error of a bad list at offset `before`: stop_before_start, negative_start or overflow.
  [[nodiscard]] Code error_of(std::int64_t list) const;

 private:
  std::int64_t scan_as(cpu::Range range, Carry& carry, const detail::ScanMode& mode) const;
  [[nodiscard]] detail::ScanMode mode_for(cpu::Range ahead) const;
  [[nodiscard]] cpu::ListBounds lists(std::int64_t first) const;
  [[nodiscard]] std::int64_t find_bad(cpu::Range range, Carry before) const;
  [[nodiscard]] std::int64_t* output(std::int64_t list) const { return call_.offsets + 1 + list; }

  const detail::OffsetsCall& call_;
  const cpu::OffsetsKernel& kernel_;
  bool non_temporal_;
};

/// Runs one rung: schedule(ranges, carry) writes offsets[1 … n] and returns the first bad list or kNoIndex.
template <class Schedule>
Status run_ranges(detail::OffsetsCall& call, const cpu::KernelTable& table, Schedule schedule) noexcept try {
  const OffsetsRanges ranges(call, table);
  OffsetsRanges::Carry carry = call.carry.total;
  call.offsets[0] = carry;
  const std::int64_t bad = schedule(ranges, carry);
  if (bad != kNoIndex) {
    call.carry.first_bad = call.carry.lists + bad;
    return {ranges.error_of(bad), call.carry.first_bad};
  }
  call.carry.total = carry;
  call.carry.lists += call.n;
  return {};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::offsets
