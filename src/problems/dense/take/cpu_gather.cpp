// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/cpu_gather.cpp: converts indices to positions by vectors, then gathers all columns by these.
//
// Idea   A kernel checks indices and adds the beginnings of their lists, with a single branch for all of them. It
//        converts 1024 indices at a time to positions, in L1. Every column is gathered by these positions, so that
//        cache misses do not wait for each other. Arrays are split by indices. With lists, two passes over the bounds
//        measure the lists and run equal work units, which begin anywhere in a list.
// Cost   Indices once, an element read and written for each; bounds of lists twice. Work n/w + n for vectors of w, that
//        / p.
// Needs  AVX-512, AVX2 or baseline.
// Limit  Indices in random order: each element is a cache miss.
// From   Awkward Array's awkward_ListArray_getitem_jagged_apply, on vectors.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/lists.hpp"
#include "cpu/moved_elements.hpp"
#include "cpu/select_kernels.hpp"
#include "cpu/tuning/dense.hpp"
#include "cpu/work_partition.hpp"
#include "problems/dense/take/rung.hpp"

namespace upsweep::impl::take {
namespace {

using cpu::ListElements;
using cpu::ListSize;
using cpu::Range;

/// Number of indices that are checked at a time, and gathered while they are in L1.
constexpr std::int64_t kBatch = cpu::tuning::kDense.take_indices;

/// Copies the columns' elements at valid `positions` to the output, from element `out` on.
void gather(std::span<const SelectColumn> columns, const std::int64_t* positions, std::int64_t count,
            std::int64_t out) {
  for (const SelectColumn& column : columns) {
    cpu::visit_moved_size(column, [&]<int kBytes>(std::integral_constant<int, kBytes>) {
      const auto* const from = static_cast<const std::byte*>(column.data);
      auto* const to = static_cast<std::byte*>(column.out) + out * kBytes;
      for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * kBytes, from + positions[k] * kBytes, kBytes);
    });
  }
}

/// Returns whether check_list() would report an error, without a branch.
bool is_outside(std::int64_t start, std::int64_t stop, std::int64_t content) {
  return (int{start != stop} & (int{stop < start} | int{start < 0} | int{stop > content})) != 0;
}

int workers_of(const Call& call, int threads) {
  std::int64_t bytes = call.indices.length * size_of(call.indices.type) + 24 * call.index_lists.count;
  for (const SelectColumn& column : call.columns) bytes += 2 * call.indices.length * column.element_size;
  return cpu::block_workers(cpu::ceil_div(bytes, cpu::kBlockBytes), threads);
}

// ----------------------------------------------------------------------------------------------------------- of arrays

Status take_of_array(Call& call, const cpu::SelectKernels& kernels, int workers) {
  const auto kernel = kernels.take[cpu::bound_type(call.indices.type)];
  call.taken = call.indices.length;
  const std::int64_t bad = cpu::for_each_block_on(workers, call.indices.length, 8 * kBatch, [&](Range block) {
    std::int64_t positions[kBatch + cpu::kTakeSlack];
    for (std::int64_t at = block.first; at < block.first + block.count; at += kBatch) {
      const std::int64_t stop = std::min(at + kBatch, block.first + block.count);
      const cpu::TakeRange all{.first = at, .stop = stop, .start = 0, .count = call.content};
      if (!kernel(call.indices.data, call.indices.length, &all, 1, positions)) return at;
      gather(call.columns, positions, stop - at, at);
    }
    return kNoIndex;
  });
  return bad == kNoIndex ? Status{} : kBad;
}

// ------------------------------------------------------------------------------------------------------------ of lists

/// Processes a work unit: converts up to 512 ranges of indices at a time to positions, and gathers all columns by them.
template <class Bounds, class IndexBounds>
class TakeWorkUnit {
 public:
  TakeWorkUnit(const Call& call, const Bounds& lists, const IndexBounds& of_indices, const cpu::SelectKernels& kernels,
               std::atomic<bool>& failed)
      : call_(call),
        lists_(lists),
        of_indices_(of_indices),
        kernel_(kernels.take[cpu::bound_type(call.indices.type)]),
        failed_(failed) {}

  void operator()(const ListElements& elements) {
    if (elements.has_begin) call_.out_offsets[elements.list] = elements.out;
    const bool is_null = has_nulls_ && impl::take::is_null(call_.lists, elements.list);
    const std::int64_t start = is_null ? 0 : lists_.start(elements.list);
    const std::int64_t count = is_null ? 0 : lists_.stop(elements.list) - start;
    const std::int64_t first = of_indices_.start(elements.list);
    std::int64_t from = elements.from;
    do {
      if (ranges_count_ == kRanges || taken_ == kBatch) finish();
      if (ranges_count_ == 0) out_ = elements.out + from;
      const std::int64_t to = std::min(elements.to, from + kBatch - taken_);
      ranges_[ranges_count_] = {.first = first + from, .stop = first + to, .start = start, .count = count};
      ranges_count_ += from < to ? 1 : 0;  // without a branch: the next range overwrites the one of an empty list
      taken_ += to - from;
      from = to;
    } while (from < elements.to);
  }

  void finish() {
    std::int64_t positions[kBatch + cpu::kTakeSlack];
    if (!kernel_(call_.indices.data, call_.indices.length, ranges_, ranges_count_, positions)) {
      failed_.store(true, std::memory_order_relaxed);
    } else {
      if (call_.positions != nullptr) std::copy_n(positions, taken_, call_.positions + out_);
      gather(call_.columns, positions, taken_, out_);
    }
    ranges_count_ = 0;
    taken_ = 0;
  }

 private:
  static constexpr std::int64_t kRanges = 512;

  const Call& call_;
  const Bounds& lists_;
  const IndexBounds& of_indices_;
  bool (*kernel_)(const void*, std::int64_t, const cpu::TakeRange*, std::int64_t, std::int64_t*);
  std::atomic<bool>& failed_;
  const bool has_nulls_ = call_.lists.valid.is_given();
  cpu::TakeRange ranges_[kRanges];
  std::int64_t ranges_count_ = 0;
  std::int64_t out_ = 0;  // where the first range's output begins
  std::int64_t taken_ = 0;
};

template <class Bounds, class IndexBounds>
Status take_of_lists(Call& call, const Bounds& lists, const IndexBounds& of_indices, const cpu::SelectKernels& kernels,
                     int workers) {
  const bool has_nulls = call.lists.valid.is_given();
  const bool has_null_indices = call.index_lists.valid.is_given();
  const auto measure = [=, &call, indices_length = call.indices.length,
                        content = call.content](std::int64_t i) -> ListSize {
    if (has_null_indices && impl::take::is_null(call.index_lists, i)) return {};
    const std::int64_t first = of_indices.start(i);
    const std::int64_t stop = of_indices.stop(i);
    // Only conditions that are the same for all lists branch: a third of the lists may have no indices, anywhere.
    const bool is_null = has_nulls && impl::take::is_null(call.lists, i);
    const std::int64_t start = is_null ? 0 : lists.start(i);
    const std::int64_t end = is_null ? 0 : lists.stop(i);
    const bool is_bad =
        is_outside(first, stop, indices_length) | (int{first != stop} & int{is_outside(start, end, content)});
    return {stop - first, stop - first, is_bad};
  };
  const cpu::MeasuredLists measured(call.index_lists.count, workers, measure);
  if (measured.first_bad() != kNoIndex) return kBad;
  if (measured.overflows()) return {.code = Code::overflow, .reason = "the lists have more indices than int64 counts"};
  call.taken = measured.writes();
  if (!has_capacity(call)) return kNoCapacity;
  call.out_offsets[call.index_lists.count] = call.taken;
  std::atomic<bool> failed{false};
  measured.for_each(measure, [&] { return TakeWorkUnit(call, lists, of_indices, kernels, failed); });
  return failed ? kBad : Status{};
}

Status run(Call& call, const Policy& policy) noexcept try {
  const cpu::SelectKernels& kernels = cpu::select_kernels(policy.isa);
  const int workers = workers_of(call, policy.threads);
  if (!call.has_lists) return take_of_array(call, kernels, workers);
  return visit_bounds(call.lists, [&](auto lists) {
    return visit_bounds(call.index_lists,
                        [&](auto of_indices) { return take_of_lists(call, lists, of_indices, kernels, workers); });
  });
} catch (const std::bad_alloc&) {
  return {.code = Code::out_of_memory, .reason = "no memory left for its work units"};
}

}  // namespace

extern const Rung cpu_gather{.info = {.id = "cpu.gather",
                                      .idea = "indices to positions by vectors, then gathered",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = "indices once; elements read and written",
                                      .cost = "n/w + n + lists, that / p",
                                      .limit = "misses of every cache"},
                             .refusal = needs_isa,
                             .run = run};

}  // namespace upsweep::impl::take
