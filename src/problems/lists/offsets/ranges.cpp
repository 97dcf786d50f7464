// SPDX-License-Identifier: Apache-2.0
// problems/lists/offsets/ranges.cpp: runs kernels on ranges of lists, and finds the first bad list where a kernel saw
// one.
#include "problems/lists/offsets/ranges.hpp"

#include <cstddef>

#include "core/list_length.hpp"
#include "core/visit.hpp"
#include "cpu/block_scans.hpp"
#include "cpu/tuning/blocks.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::offsets {
namespace {

// As in the scan: at least this many lists are stored past the caches.
constexpr std::int64_t kNonTemporalLists = cpu::tuning::kBlocks.non_temporal_bytes / std::int64_t{sizeof(std::int64_t)};

template <class T>
List<T> list_at(const detail::OffsetsCall& call, std::int64_t i) {
  return {static_cast<const T*>(call.starts)[i], static_cast<const T*>(call.stops)[i]};
}

}  // namespace

OffsetsRanges::OffsetsRanges(const detail::OffsetsCall& call, const cpu::KernelTable& table)
    : call_(call), kernel_(table.offsets[cpu::at(call.type)]), non_temporal_(call.n >= kNonTemporalLists) {}

void OffsetsRanges::merge(Carry& left, const Carry& right) { left = add(left, right); }

cpu::ListBounds OffsetsRanges::lists(std::int64_t first) const {
  const std::int64_t bytes = first * size_of(call_.type);
  return {static_cast<const std::byte*>(call_.starts) + bytes, static_cast<const std::byte*>(call_.stops) + bytes,
          call_.strict};
}

void OffsetsRanges::reduce(cpu::Range range, Carry& carry) const {
  carry = kernel_.reduce(lists(range.first), range.count);
}

std::int64_t OffsetsRanges::scan(cpu::Range range, Carry& carry, cpu::Range ahead) const {
  return scan_as(range, carry, mode_for(ahead));
}

std::int64_t OffsetsRanges::scan_and_fold(cpu::Range range, Carry& carry, cpu::Range ahead, cpu::Range folded,
                                          Carry& total) const {
  Carry total_of_range = 0;
  detail::ScanMode both = mode_for(ahead);
  both.beside = lists(folded.first).starts;
  both.beside_total = &total_of_range;
  const std::int64_t bad = scan_as(range, carry, both);
  merge(total, total_of_range);
  return bad;
}

detail::ScanMode OffsetsRanges::mode_for(cpu::Range ahead) const {
  detail::ScanMode mode{.non_temporal = non_temporal_};
  if (ahead.count > 0) mode.next = lists(ahead.first).starts;
  return mode;
}

std::int64_t OffsetsRanges::scan_as(cpu::Range range, Carry& carry, const detail::ScanMode& mode) const {
  const Carry before = carry;
  const cpu::ListTotal sum = kernel_.scan(lists(range.first), range.count, output(range.first), before, mode);
  carry = sum.total;
  return sum.bad ? find_bad(range, before) : kNoIndex;
}

std::int64_t OffsetsRanges::shift(cpu::Range range, const Carry& carry) const {
  const bool bad = cpu::shift_offsets(output(range.first), range.count, carry);
  return bad ? find_bad(range, carry) : kNoIndex;
}

std::int64_t OffsetsRanges::difference(cpu::Range range, Carry before) const {
  // Modulo 2^64, as the kernel subtracts: an int64 overflow shows in the sign.
  const auto start_of = [&](std::int64_t list) {
    return visit_list_bound(call_.type, [&]<class T>(std::type_identity<T>) {
      return static_cast<std::uint64_t>(list_at<T>(call_, list).start);
    });
  };
  const std::uint64_t base = start_of(0) - static_cast<std::uint64_t>(before);
  const auto sum = kernel_.difference(lists(range.first), range.count, output(range.first),
                                      static_cast<std::int64_t>(base), non_temporal_);
  if (!sum.bad) return kNoIndex;
  // The offset before the range is computed, not read: another thread may not have written it yet.
  return find_bad(range, static_cast<std::int64_t>(start_of(range.first) - base));
}

std::int64_t OffsetsRanges::find_bad(cpu::Range range, Carry before) const {
  return visit_list_bound(call_.type, [&]<class T>(std::type_identity<T>) {
    // [guide: first bad]
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      const List<T> list = list_at<T>(call_, i);
      if (list.check(call_.strict) != Code::ok || __builtin_add_overflow(before, list.length(), &before)) return i;
    }
    return kNoIndex;  // the kernel's finding is the effect of a bad list in an earlier range
    // [guide: end]
  });
}

Code OffsetsRanges::error_of(std::int64_t list) const {
  return visit_list_bound(call_.type, [&]<class T>(std::type_identity<T>) {
    const Code code = list_at<T>(call_, list).check(call_.strict);
    return code == Code::ok ? Code::overflow : code;  // the list is valid, so its offset overflows
  });
}

std::int64_t OffsetsRanges::block() const { return cpu::kBlockBytes / 2 / size_of(call_.type); }

std::int64_t OffsetsRanges::first_sub_block() const {
  return sub_block() + cpu::before_line(output(0)) / std::int64_t{sizeof(std::int64_t)};
}

}  // namespace upsweep::impl::offsets
