// SPDX-License-Identifier: Apache-2.0
// problems/dense/scan/ranges.cpp: scans ranges with the kernels: conversion, overflow checks, type-erased carries.
#include "problems/dense/scan/ranges.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "core/visit.hpp"
#include "cpu/block_scans.hpp"
#include "cpu/overflow.hpp"
#include "cpu/refusals.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::impl::scan {
namespace {

// Outputs of at least this size are stored with stores that bypass the caches. Smaller outputs stay in cache for their
// next use. If the scan is in place, the lines are already in cache.
constexpr std::int64_t kNonTemporalBytes = cpu::tuning::kBlocks.non_temporal_bytes;

/// For elements of at most 8 bytes; compiled operators have no others.
template <class T>
const ScanCarry<T>& as(const detail::CarryBytes& carry) {
  return *reinterpret_cast<const ScanCarry<T>*>(carry.bytes);
}

}  // namespace

ScanRanges::ScanRanges(const detail::ScanCall& call, const Policy& policy, const cpu::KernelTable& table)
    : call_(call),
      magnitudes_(cpu::kernels(policy.isa)),
      fold_(call, table),
      scan_(call, table, fold_.kernel(), fold_.op()),
      checked_(cpu::is_checked(call, policy)),
      notes_magnitudes_(checked_ && &table != &cpu::kernels_plain() && !in_place() && !fold_.elements().converts()),
      non_temporal_(call.n * call.out_size >= kNonTemporalBytes && !in_place()) {}

std::int64_t ScanRanges::scan(cpu::Range range, Carry& carry, cpu::Range ahead) const {
  if (!notes_magnitudes_) {
    const std::int64_t bad = find_overflow(range, carry);
    write(range, carry, ahead);
    return bad;
  }
  const Carry before = carry;
  std::uint64_t magnitude = 0;
  write(range, carry, ahead, &magnitude);
  return all_fit(range, before, magnitude) ? kNoIndex : find_overflow(range, before);
}

std::int64_t ScanRanges::scan_alone(cpu::Range range, Carry& carry) const {
  write(range, carry, {0, 0});
  return kNoIndex;
}

void ScanRanges::write(cpu::Range range, Carry& carry, cpu::Range ahead, std::uint64_t* magnitude) const {
  make_plain(carry);
  detail::ScanMode mode{.exclusive = call_.exclusive, .non_temporal = non_temporal_, .note = magnitude};
  const cpu::Elements& elements = fold_.elements();
  if (ahead.count > 0 && !elements.converts()) mode.next = elements.at_index(ahead.first);
  elements.for_each_block(range, [&](const void* x, std::int64_t first, std::int64_t count) {
    scan_(x, output(first), count, carry.bytes, mode);
  });
}

std::int64_t ScanRanges::shift(cpu::Range range, const Carry& carry) const {
  const std::int64_t bad = find_overflow(range, carry);
  Carry before = carry;
  make_plain(before);
  fold_.kernel().shift(fold_.op(), output(range.first), range.count, before.bytes, call_.exclusive);
  return bad;
}

void ScanRanges::make_plain(Carry& carry) const {
  if (!fold_.is_product()) return;
  visit_type(call_.out_type, [&]<class T>(std::type_identity<T>) {
    auto& product = *reinterpret_cast<ScanCarry<T>*>(carry.bytes);
    if (product.any) product = carry_of(detail::value_of(product));
  });
}

bool ScanRanges::prefers_scan(const Carry& before, const Carry& total) const {
  if (call_.op != Operator::add || !is_float(call_.out_type)) return false;
  return visit_type(call_.out_type, [&]<class T>(std::type_identity<T>) {
    return std::is_floating_point_v<T> && !std::isfinite(as<T>(total).total) &&
           !(as<T>(before).any && !std::isfinite(as<T>(before).total));
  });
}

bool ScanRanges::all_fit(cpu::Range range, const Carry& before, std::uint64_t magnitude) const {
  return visit_type(call_.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const auto first = as<T>(before).any ? as<T>(before).total : T{0};
      return cpu::all_fit<T, T>(first, range.count, cpu::largest_magnitude(type_of<T>(), magnitude));
    }
    return true;
  });
}

std::int64_t ScanRanges::find_overflow(cpu::Range range, const Carry& carry) const {
  if (!checked_) return kNoIndex;
  const std::int64_t found = visit_type(call_.out_type, [&]<class Out>(std::type_identity<Out>) -> std::int64_t {
    if constexpr (std::is_integral_v<Out>) {
      const Out before = as<Out>(carry).any ? as<Out>(carry).total : Out{0};
      return visit_type(call_.in_type, [&]<class In>(std::type_identity<In>) -> std::int64_t {
        if constexpr (std::is_integral_v<In>) {
          const auto* x = static_cast<const In*>(fold_.elements().at_index(range.first));
          return cpu::first_overflow(magnitudes_, x, range.count, before);
        }
        return kNoIndex;
      });
    }
    return kNoIndex;
  });
  if (found == kNoIndex) return kNoIndex;
  // An exclusive scan writes the sum that overflowed one place later.
  return range.first + found + (call_.exclusive ? 1 : 0);
}

bool ScanRanges::spoiled(const Carry& carry) const {
  if (!checked_ || call_.n == 0) return false;
  return visit_type(call_.out_type, [&]<class Out>(std::type_identity<Out>) {
    return as<Out>(carry).any && as<Out>(carry).wraps != 0;
  });
}

Status ScanRanges::finish(std::int64_t bad, Carry& carry) const {
  if (bad != kNoIndex && bad < call_.n) return {Code::overflow, bad};
  if (call_.n == 0 || call_.op != Operator::add || !is_integer(call_.out_type)) return {};
  // If no prefix has left its type, totals of ranges may still have left it, and a carry merged from these counts that.
  // If the total of an exclusive scan does not fit, it is not an output, but it makes the following ranges invalid.
  visit_type(call_.out_type, [&]<class Out>(std::type_identity<Out>) {
    auto& end = *reinterpret_cast<ScanCarry<Out>*>(carry.bytes);
    end.wraps = 0;
    if (!checked_ || bad == kNoIndex) return;
    const auto before = *static_cast<const Out*>(output(call_.n - 1));
    end.wraps = end.total < before ? 1 : -1;  // a sum that wraps past the upper end is smaller than the one before it
  });
  return {};
}

void* ScanRanges::output(std::int64_t i) const { return static_cast<std::byte*>(call_.out) + i * call_.out_size; }

// A size that is not a power of two is rounded up to the next one, because a division would be expensive in a short
// scan.
std::int64_t ScanRanges::block() const {
  const auto size = std::bit_ceil(static_cast<std::uint64_t>(std::max(call_.in_size, call_.out_size)));
  return std::max<std::int64_t>(1, cpu::kBlockBytes >> std::countr_zero(size));
}

std::int64_t ScanRanges::sub_block() const { return std::max<std::int64_t>(1, block() / cpu::kSubBlocks); }

// Integers may be split anywhere. Custom types are not scanned by vectors.
std::int64_t ScanRanges::first_sub_block() const {
  if (call_.custom != nullptr || !exact()) return sub_block();
  return sub_block() + cpu::before_line(call_.out) / call_.out_size;
}

}  // namespace upsweep::impl::scan
