// SPDX-License-Identifier: Apache-2.0
// cpu/block_totals.hpp: the totals of an array's blocks, each published once, by its owner or by somebody who helps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/pages.hpp"

namespace upsweep::cpu {

/// A slot per block, in cache lines of its own: whoever waits for one block does not slow down those who publish others.
/// A slot is a total, filled up, and a state: a flag that somebody writes or has written the total, one that it can be
/// read, and the number of helpers that read the block to fold it in its owner's place.
class BlockTotals {
 public:
  /// Throws std::bad_alloc.
  BlockTotals(std::int64_t slots, std::int64_t total_bytes)
      : total_bytes_(static_cast<std::size_t>(total_bytes)),
        stride_((total_bytes + kStateBytes + kLine - 1) / kLine * kLine),
        slots_(slots_at(slots * stride_)) {}
  BlockTotals(const BlockTotals&) = delete;
  BlockTotals& operator=(const BlockTotals&) = delete;

  /// Of several who publish a block, who all have the same total, the first one does.
  void publish(std::int64_t block, const void* total) {
    if ((state(block).fetch_or(kWritten, std::memory_order_relaxed) & kWritten) != 0) return;
    std::memcpy(slot(block), total, total_bytes_);
    state(block).fetch_or(kKnown, std::memory_order_release);
  }

  /// The block's total, where it is known.
  bool read(std::int64_t block, void* total) const {
    if ((state(block).load(std::memory_order_acquire) & kKnown) == 0) return false;
    std::memcpy(total, slot(block), total_bytes_);
    return true;
  }
  void fetch(std::int64_t block) const { __builtin_prefetch(slot(block)); }

  /// Whether this thread may fold the block for its owner, who overwrites it in place only once end_help() was called:
  /// the total is missing, and nobody else helps, or this thread insists.
  [[nodiscard]] bool begin_help(std::int64_t block, bool insists) {
    const std::uint64_t seen = state(block).load(std::memory_order_relaxed);
    if ((seen & kKnown) != 0 || (seen >= kHelper && !insists)) return false;
    if ((state(block).fetch_add(kHelper, std::memory_order_acq_rel) & kKnown) == 0) return true;
    end_help(block);
    return false;
  }
  void end_help(std::int64_t block) { state(block).fetch_sub(kHelper, std::memory_order_release); }

  /// Whether nobody reads the block any more to fold it, nor will.
  [[nodiscard]] bool is_left(std::int64_t block) const {
    return state(block).load(std::memory_order_acquire) == (kWritten | kKnown);
  }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kStateBytes = sizeof(std::uint64_t);
  static constexpr std::uint64_t kWritten = 1;
  static constexpr std::uint64_t kKnown = 2;
  static constexpr std::uint64_t kHelper = 4;
  // 64 slots of small carries, of 32 blocks: asking for pages takes longer than scanning so few.
  static constexpr std::int64_t kFewBytes = 4096;

  std::byte* slots_at(std::int64_t bytes) {
    if (bytes <= kFewBytes) return static_cast<std::byte*>(std::memset(few_, 0, static_cast<std::size_t>(bytes)));
    pages_ = Pages<std::byte>(bytes);
    return pages_.data();
  }
  [[nodiscard]] std::byte* slot(std::int64_t block) const { return slots_ + block * stride_; }
  [[nodiscard]] std::atomic_ref<std::uint64_t> state(std::int64_t block) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(slot(block) + stride_ - kStateBytes));
  }

  std::size_t total_bytes_;
  std::int64_t stride_;
  alignas(kLine) std::byte few_[kFewBytes];
  Pages<std::byte> pages_;
  std::byte* slots_;
};

}  // namespace upsweep::cpu
