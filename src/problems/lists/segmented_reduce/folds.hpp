// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/folds.hpp: folds lists by an operator: converts elements, then puts one list into
// each SIMD lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/list_values.hpp"
#include "cpu/work_partition.hpp"
#include "problems/lists/segmented_reduce/lists_by_length.hpp"

namespace upsweep::impl::segmented_reduce {

/// The kernel of a fold, with its initial value.
class FoldKernel {
 public:
  explicit FoldKernel(const Job& job);

  /// The type of the computation.
  [[nodiscard]] Type type() const { return type_; }
  [[nodiscard]] std::int64_t result_size() const { return is_custom() ? call_.out_size : size_of(type_); }

  /// Folds whole lists, starting with the call's initial value.
  void run(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
           void* out) const;
  /// Folds blocks of a list, without an initial value.
  void run_blocks(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t blocks,
                  void* out) const;
  /// Computes out ← init ⊕ totals, in order.
  void fold_totals(const std::byte* totals, std::int64_t count, void* out) const;
  /// Stores the bytes of a float's 0.0.
  void zero(void* result) const;

 private:
  [[nodiscard]] bool is_custom() const { return type_ == Type::custom; }

  const detail::SegmentedReduceCall& call_;
  const cpu::ListKernels& kernels_;
  Type type_;
  cpu::Value init_;
  cpu::Value identity_;
};

/// Returns whether all elements start … stop - 1 are null.
bool is_all_null(const detail::SegmentedReduceCall& call, std::int64_t start, std::int64_t stop);

/// See Worker.
class Folds {
 public:
  static constexpr bool kSetsLongAside = true;

  explicit Folds(const Job& job, Layout layout = Layout::anywhere);

  [[nodiscard]] StagedContent& content() { return content_; }
  [[nodiscard]] const StagedContent& content() const { return content_; }
  [[nodiscard]] const Results& results() const { return results_; }

  std::int64_t reduce(const SomeLists& lists);
  /// Folds lists that are staged.
  void fold(const SomeLists& lists, const Content& content) { by_length_.reduce(lists, content, !content_.stages()); }
  void finish();
  [[nodiscard]] std::int64_t total_size() const { return kernel_.result_size(); }
  void fold_blocks(const cpu::LongList& list, cpu::Range blocks, const SomeLists& bounds, std::byte* totals);
  [[nodiscard]] bool finish_long(const cpu::LongList& list, const std::byte* totals) const;

 private:
  const detail::SegmentedReduceCall& call_;
  FoldKernel kernel_;
  StagedContent content_;
  Results results_;
  ListsByLength<FoldKernel> by_length_;
};

}  // namespace upsweep::impl::segmented_reduce
