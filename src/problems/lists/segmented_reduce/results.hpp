// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/results.hpp: stores the results of lists: converted to a narrower type if needed, or
// past the caches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/kernels.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/tuning/blocks.hpp"
#include "problems/lists/segmented_reduce/algorithms.hpp"

namespace upsweep::impl::segmented_reduce {

class Results {
 public:
  /// Results are computed in `type`.
  Results(const Job& job, Type type)
      : call_(job.call),
        table_(cpu::kernels(Isa::best)),
        type_(type),
        narrows_(call_.reducer == Reducer::fold && type != call_.out_type && type != Type::custom),
        is_non_temporal_(job.kernels.is_wide && type != Type::custom &&
                         call_.lists.count * call_.out_size >= cpu::tuning::kBlocks.non_temporal_bytes) {}

  /// Returns whether results are converted to the output's type.
  [[nodiscard]] bool narrows() const { return narrows_; }

  /// Stores the results of `count` lists from `first` on.
  void put(const std::byte* results, std::int64_t count, std::int64_t first) const {
    const std::int64_t size = call_.out_size;
    std::byte* const out = static_cast<std::byte*>(call_.out) + first * size;
    if (narrows_) {
      table_.convert[cpu::at(type_)][cpu::at(call_.out_type)](results, out, count);
    } else if (is_non_temporal_) {
      table_.copy(out, results, count * size);
    } else {
      std::memcpy(out, results, static_cast<std::size_t>(count * size));
    }
  }

  /// Stores the results that reduce(out) computes for at most a batch of lists.
  template <class Reduce>
  void put_each(std::int64_t count, std::int64_t first, Reduce reduce) const {
    if (!narrows_ && !is_non_temporal_) return reduce(static_cast<std::byte*>(call_.out) + first * call_.out_size);
    alignas(64) std::array<std::byte, cpu::ListBatch::kLists * 8> results;
    reduce(results.data());
    put(results.data(), count, first);
  }

 private:
  const detail::SegmentedReduceCall& call_;
  const cpu::KernelTable& table_;
  Type type_;
  bool narrows_;
  bool is_non_temporal_;
};

}  // namespace upsweep::impl::segmented_reduce
