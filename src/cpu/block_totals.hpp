// SPDX-License-Identifier: Apache-2.0
// cpu/block_totals.hpp: the totals of an array's blocks, each published once, by its owner or by another thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/tuning/dense.hpp"
#include "system/pages.hpp"

namespace upsweep::cpu {

/// A slot per block, in separate cache lines: a thread that waits for one block does not slow down threads that publish
/// others. A slot contains a total, padded, and whether it is known. It also counts the helpers: threads that read the
/// block to fold it instead of its owner. Publishing uses plain stores: a locked instruction, as for taking a block,
/// waits until all non-temporal stores have reached memory.
class BlockTotals {
 public:
  /// Throws std::bad_alloc.
  BlockTotals(std::int64_t slots, std::int64_t total_bytes)
      : words_((total_bytes + kWord - 1) / kWord),
        total_bytes_(total_bytes),
        stride_(((words_ + 2) * kWord + kLine - 1) / kLine * kLine / kWord),
        slots_(slots_at(slots * stride_ * kWord)) {}
  BlockTotals(const BlockTotals&) = delete;
  BlockTotals& operator=(const BlockTotals&) = delete;

  /// Publishes a block's total. Several threads may publish a block, because they all have the same total.
  void publish(std::int64_t block, const void* total) {
    const auto* from = static_cast<const std::byte*>(total);
    for (std::int64_t w = 0; w < words_; ++w) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + w * kWord, bytes_of(w));
      at(block, w).store(word, std::memory_order_relaxed);
    }
    known(block).store(1, std::memory_order_release);
  }

  /// Reads the block's total; returns false if it is not known.
  bool read(std::int64_t block, void* total) const {
    if (known(block).load(std::memory_order_acquire) == 0) return false;
    auto* to = static_cast<std::byte*>(total);
    for (std::int64_t w = 0; w < words_; ++w) {
      const std::uint64_t word = at(block, w).load(std::memory_order_relaxed);
      std::memcpy(to + w * kWord, &word, bytes_of(w));
    }
    return true;
  }
  void fetch(std::int64_t block) const { __builtin_prefetch(slot(block) + words_); }

  /// Returns whether this thread may fold the block instead of its owner: if the total is missing and no other thread
  /// folds the block. With `insists`, this thread may also fold a block that another thread folds. The owner overwrites
  /// the block in place only after end_help() was called.
  [[nodiscard]] bool begin_help(std::int64_t block, bool insists) {
    if (known(block).load(std::memory_order_acquire) != 0) return false;
    if (helpers(block).load(std::memory_order_relaxed) != 0 && !insists) return false;
    helpers(block).fetch_add(1, std::memory_order_acq_rel);
    if (known(block).load(std::memory_order_acquire) == 0) return true;
    end_help(block);
    return false;
  }
  void end_help(std::int64_t block) { helpers(block).fetch_sub(1, std::memory_order_release); }

  /// Whether no thread reads the block to fold it, now or later. Only for the thread that has published its total. The
  /// read-modify-write is before a helper's, which then sees that the total is known, or after it, and sees the helper.
  [[nodiscard]] bool is_left(std::int64_t block) { return helpers(block).fetch_add(0, std::memory_order_acq_rel) == 0; }

 private:
  static constexpr std::int64_t kLine = 64;
  static constexpr std::int64_t kWord = sizeof(std::uint64_t);
  static constexpr std::int64_t kFewBytes = tuning::kDense.few_totals_bytes;

  std::uint64_t* slots_at(std::int64_t bytes) {
    if (bytes <= kFewBytes) return static_cast<std::uint64_t*>(std::memset(few_, 0, static_cast<std::size_t>(bytes)));
    pages_ = Pages<std::uint64_t>(bytes / kWord);
    return pages_.data();
  }
  [[nodiscard]] std::size_t bytes_of(std::int64_t word) const {
    return static_cast<std::size_t>(std::min(kWord, total_bytes_ - word * kWord));
  }
  [[nodiscard]] std::uint64_t* slot(std::int64_t block) const { return slots_ + block * stride_; }
  [[nodiscard]] std::atomic_ref<std::uint64_t> at(std::int64_t block, std::int64_t word) const {
    return std::atomic_ref(slot(block)[word]);
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> known(std::int64_t block) const { return at(block, words_); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> helpers(std::int64_t block) const { return at(block, words_ + 1); }

  std::int64_t words_;  // of a total
  std::int64_t total_bytes_;
  std::int64_t stride_;  // words from slot to slot
  alignas(kLine) std::uint64_t few_[std::size_t{kFewBytes / kWord}];
  Pages<std::uint64_t> pages_;
  std::uint64_t* slots_;
};

}  // namespace upsweep::cpu
