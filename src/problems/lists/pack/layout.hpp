// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/layout.hpp: computes and checks the offsets of packed lists, and names the error of a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/adjacent_lists.hpp"
#include "core/lists.hpp"
#include "cpu/block_scans.hpp"
#include "cpu/lookahead.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::impl::pack {

// ------------------------------------------------------------------------------------------------------------- lengths
// Each type returns the length of list i, or a negative number if its bounds are bad.

inline constexpr std::int64_t kBadLength = -1;

template <class Bounds>
struct BoundLengths {
  Bounds bounds;
  std::int64_t content;

  std::int64_t operator()(std::int64_t i) const {
    const std::int64_t start = bounds.start(i);
    const std::int64_t stop = bounds.stop(i);
    const bool bad = (start != stop) & ((stop < start) | (start < 0) | (stop > content));
    return bad ? kBadLength : stop - start;
  }
};

/// The lengths of list views.
template <class T>
struct ViewLengths {
  const T* starts;
  const T* sizes;
  std::int64_t content;

  std::int64_t operator()(std::int64_t i) const {
    const auto start = static_cast<std::int64_t>(starts[i]);
    const auto size = static_cast<std::int64_t>(sizes[i]);
    const bool bad = (size != 0) & ((size < 0) | (start < 0) | (size > content) | (start > content - size));
    return bad ? kBadLength : size;
  }
};

template <class T>
struct GivenLengths {
  const T* lengths;

  std::int64_t operator()(std::int64_t i) const { return static_cast<std::int64_t>(lengths[i]); }
};

/// Null lists have no elements.
template <class Lengths>
struct LengthsOfValid {
  Lengths lengths;
  Mask valid;

  std::int64_t operator()(std::int64_t i) const { return valid[i] ? lengths(i) : 0; }
};

/// Calls f(lengths), or, if there are nulls, f(lengths in which null lists are empty).
template <class Lengths, class F>
decltype(auto) visit_validity(const Lengths& lengths, const Mask& valid, F&& f) {
  if (!valid.is_given()) return f(lengths);
  return f(LengthsOfValid<Lengths>{lengths, valid});
}

/// Calls f(lengths) with the lengths of the call's lists.
template <class F>
decltype(auto) visit_lengths(const detail::PackCall& call, F&& f) {
  const Mask& valid = call.lists.valid;
  if (call.sizes == nullptr) {
    return visit_bounds(call.lists, [&]<class Bounds>(Bounds bounds) {
      return visit_validity(BoundLengths<Bounds>{bounds, call.content}, valid, f);
    });
  }
  return visit_list_bound(call.lists.type, [&]<class T>(std::type_identity<T>) {
    const auto* starts = static_cast<const T*>(call.lists.starts);
    return visit_validity(ViewLengths<T>{starts, static_cast<const T*>(call.sizes), call.content}, valid, f);
  });
}

// ------------------------------------------------------------------------------------------------------------- offsets

/// The steps of a scan of lengths on a range of lists, with the interface of cpu/lookahead.hpp. A negative length, or
/// an offset that overflows int64, sets a sign bit. This bit is tested once per sub-block. One test per sub-block is
/// enough, because offsets grow by less than 2^63 at a time.
template <class Lengths>
class Layout {
 public:
  using Carry = std::int64_t;  // the offset of the next list

  Layout(const Lengths& lengths, std::int64_t* offsets) : lengths_(lengths), offsets_(offsets) {}

  static void clear(Carry& carry) { carry = 0; }
  static void merge(Carry& left, const Carry& right) { left += right; }
  void reduce(cpu::Range range, Carry& carry) const {
    carry = 0;
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) carry += lengths_(i);
  }
  /// Returns the first bad list or kNoIndex.
  std::int64_t scan(cpu::Range range, Carry& carry, cpu::Range = {0, 0}) const {
    const Lengths lengths = lengths_;  // a copy, which stores to offsets cannot alias
    std::int64_t* const offsets = offsets_;
    std::int64_t offset = carry;
    std::int64_t signs = 0;
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      const std::int64_t length = lengths(i);
      offset += length;
      signs |= length | offset;
      offsets[i + 1] = offset;
    }
    const Carry before = carry;
    carry = offset;
    return signs < 0 ? find_bad(range, before) : kNoIndex;
  }
  std::int64_t scan_and_fold(cpu::Range range, Carry& carry, cpu::Range, cpu::Range folded, Carry& total) const {
    Carry total_of_range = 0;
    reduce(folded, total_of_range);
    merge(total, total_of_range);
    return scan(range, carry);
  }
  static constexpr bool exact() { return true; }
  static constexpr bool prefers_scan(const Carry&, const Carry&) { return false; }
  static constexpr std::int64_t block() { return cpu::kBlockBytes / std::int64_t{sizeof(std::int64_t)} / 2; }
  static constexpr std::int64_t sub_block() { return block() / cpu::kSubBlocks; }
  static constexpr std::int64_t first_sub_block() { return sub_block(); }
  static constexpr std::int64_t carry_bytes() { return sizeof(Carry); }
  static constexpr bool in_place() { return false; }

 private:
  [[nodiscard]] std::int64_t find_bad(cpu::Range range, Carry before) const {
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      const std::int64_t length = lengths_(i);
      if (length < 0 || __builtin_add_overflow(before, length, &before)) return i;
    }
    return kNoIndex;  // the finding is the effect of a bad list in an earlier range
  }

  Lengths lengths_;
  std::int64_t* offsets_;
};

/// Writes offsets[0 … n] of lists with these lengths. Returns the first bad list, or kNoIndex. Throws std::bad_alloc.
template <class Lengths>
std::int64_t lay_out(const Lengths& lengths, std::int64_t n, std::int64_t* offsets, int threads) {
  const Layout<Lengths> layout(lengths, offsets);
  std::int64_t total = 0;
  offsets[0] = 0;
  return cpu::scan_lookahead(layout, n, threads, total);
}

/// Computes the offsets of the call's lists, unless they are given, and call.total. Returns the error of a bad
/// list. Does not check whether given offsets fit the lists. Throws std::bad_alloc.
Status lay_out(detail::PackCall& call, int threads);

/// Checks all lists of a call. Returns the error of the first bad list, or ok.
Status first_bad(const detail::PackCall& call) noexcept;

/// Returns the error of list i, or ok.
Code check_packed(const detail::PackCall& call, std::int64_t i) noexcept;

/// Throws the Error for a status about a list or about the capacity of outputs.
[[noreturn]] void throw_bad_packed(const detail::PackCall& call, const Status& status);
/// Throws the Error of a bad list view with this start and size.
[[noreturn]] void throw_bad_view(const Status& status, std::int64_t start, std::int64_t size, std::int64_t content);

}  // namespace upsweep::impl::pack
