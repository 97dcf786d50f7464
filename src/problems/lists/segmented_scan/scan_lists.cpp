// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/scan_lists.cpp: scans lists in batches: reads and checks bounds, converts content if
// needed, runs kernels.
#include "problems/lists/segmented_scan/scan_lists.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "core/lists.hpp"
#include "core/visit.hpp"
#include "cpu/elements.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/list_values.hpp"
#include "cpu/long_lists.hpp"
#include "cpu/refusals.hpp"
#include "cpu/tuning/lists.hpp"
#include "cpu/work_partition.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::segmented_scan {
namespace {

using cpu::Int128;
using cpu::kListBlock;
using cpu::ListBatch;
using cpu::ListKernels;
using cpu::LongList;
using cpu::Range;

/// Number of elements that are converted at a time: they fit the core's L2.
constexpr std::int64_t kStaged = cpu::tuning::kListFolds.scan_blocks * kListBlock;

/// How a call's lists are scanned; all workers share it.
class ScanPlan {
 public:
  ScanPlan(const detail::SegmentedScanCall& call, const Policy& policy, const ListKernels& kernels)
      : call_(call),
        kernels_(kernels),
        computed_(cpu::computed_in(call.out_type)),
        is_checked_(cpu::is_checked(call, policy)) {
    if (is_custom()) return;
    cpu::convert_one(call.out_type, computed_, call.init, init_.bytes.data());
    identity_ = cpu::identity_of(computed_, call.op);
  }

  [[nodiscard]] const detail::SegmentedScanCall& call() const { return call_; }
  [[nodiscard]] const ListKernels& kernels() const { return kernels_; }
  [[nodiscard]] bool is_custom() const { return computed_ == Type::custom; }
  [[nodiscard]] bool is_checked() const { return is_checked_; }
  [[nodiscard]] Type computed() const { return computed_; }
  [[nodiscard]] bool converts() const { return !is_custom() && computed_ != call_.in_type; }
  [[nodiscard]] bool narrows() const { return !is_custom() && computed_ != call_.out_type; }
  /// Returns whether kernels read a copy of the elements: converted, or with nulls replaced.
  [[nodiscard]] bool stages() const { return converts() || (!is_custom() && call_.valid.is_given()); }
  /// Return the bytes of an element as kernels read it, and of a value in the type of the computation.
  [[nodiscard]] std::int64_t element_size() const { return is_custom() ? call_.in_size : size_of(computed_); }
  [[nodiscard]] std::int64_t size() const { return is_custom() ? call_.out_size : size_of(computed_); }
  [[nodiscard]] const void* op() const { return cpu::operator_object(call_); }
  [[nodiscard]] const void* init() const { return is_custom() ? call_.init : init_.bytes.data(); }
  /// Returns 0 in the type of the computation; not for custom operators.
  [[nodiscard]] const void* zero() const { return zero_.bytes.data(); }
  /// Returns the identity e, with x ⊕ e = x for every x; not for custom operators.
  [[nodiscard]] const void* identity() const { return identity_.bytes.data(); }

  void scan(const void* content, std::int64_t end, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
            const void* begin, void* out) const {
    const auto run = is_custom() ? call_.custom_scan->scan : kernels_.scan[cpu::at(computed_)][cpu::at(call_.op)];
    run(op(), content, end, from, to, lists, begin, call_.exclusive, out);
  }
  void fold(const void* content, std::int64_t end, std::int64_t from, std::int64_t to, const void* begin,
            void* out) const {
    const auto run = is_custom() ? call_.custom_fold->fold : kernels_.fold[cpu::at(computed_)][cpu::at(call_.op)];
    run(op(), content, end, &from, &to, 1, begin, out);
  }
  /// Computes total ← total ⊕ right, both in the type of the computation.
  void merge(void* total, const void* right) const {
    const std::int64_t from = 0;
    const std::int64_t to = 1;
    const auto run = is_custom() ? call_.custom_fold->fold_totals
                                 : cpu::list_kernels_plain().fold[cpu::at(computed_)][cpu::at(call_.op)];
    run(op(), right, 1, &from, &to, 1, total, total);
  }

 private:
  const detail::SegmentedScanCall& call_;
  const ListKernels& kernels_;
  Type computed_;
  bool is_checked_;
  cpu::Value init_;
  cpu::Value zero_;
  cpu::Value identity_;
};

// ---- Checked sums.

/// Returns whether the types alone guarantee that no prefix of `elements` elements overflows the output's type.
bool always_fits(const detail::SegmentedScanCall& call, std::int64_t elements) {
  const bool from_signed = is_signed(call.in_type);
  if (from_signed && !is_signed(call.out_type)) return false;
  const int element_bits = 8 * size_of(call.in_type) - (from_signed ? 1 : 0);
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const Int128 init = *static_cast<const T*>(call.init);
      return (Int128{1} << element_bits) * elements + (init < 0 ? -init : init) <= std::numeric_limits<T>::max();
    }
    return false;
  });
}

template <class In, class Out>
bool sums_fit(const detail::SegmentedScanCall& call, std::int64_t start, std::int64_t stop) {
  Int128 sum = *static_cast<const Out*>(call.init);
  const std::int64_t last = stop - (call.exclusive ? 1 : 0);  // exclusive outputs do not include the last sum
  for (std::int64_t j = start; j < last; ++j) {
    if (call.valid.is_given() && !call.valid[j]) continue;
    sum += static_cast<const In*>(call.in)[j];
    if (sum < std::numeric_limits<Out>::min() || sum > std::numeric_limits<Out>::max()) return false;
  }
  return true;
}

/// Returns whether all outputs of a list fit their type.
bool sums_fit(const detail::SegmentedScanCall& call, std::int64_t start, std::int64_t stop) {
  return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
    return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
      if constexpr (std::is_integral_v<Out> && std::is_integral_v<In>) return sums_fit<In, Out>(call, start, stop);
      return true;
    });
  });
}

// ---- Workers.

class Worker {
 public:
  explicit Worker(const ScanPlan& plan) : plan_(plan), call_(plan.call()) {
    if (plan.stages() || plan.narrows()) {
      staged_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(kStaged * plan.size()));
    }
  }

  /// Scans lists [first, last) except those of more than a block, which it notes. Returns the first bad list or
  /// kNoIndex.
  std::int64_t run(std::int64_t first, std::int64_t last) {
    for (; first < last; first += ListBatch::kLists) {
      const std::int64_t count = std::min(ListBatch::kLists, last - first);
      const std::int64_t bad = batch_.read(call_.lists, first, count, call_.n, plan_.kernels());
      const std::int64_t good = bad == kNoIndex ? count : bad - first;
      // The sums of lists before a bad list may overflow.
      if (bad != kNoIndex && batch_.read(call_.lists, first, good, call_.n, plan_.kernels()) != kNoIndex) return bad;
      if (!scans_runs()) cpu::set_long_aside(batch_, first, good, long_lists_);
      const std::int64_t overflow = find_overflow(first, good);
      if (overflow != kNoIndex || bad != kNoIndex) return cpu::first_index(overflow, bad);
      scan_batch(good);
    }
    return kNoIndex;
  }

  [[nodiscard]] const std::vector<LongList>& long_lists() const { return long_lists_; }

  /// Computes total ← the fold of a block; custom operators begin with its first element.
  void fold_block(Range block, void* total) {
    const Staged content = stage(block);
    const std::int64_t from = block.first - content.first;
    plan_.fold(content.data, content.end, from, from + block.count, plan_.is_custom() ? nullptr : plan_.identity(),
               total);
  }
  /// Writes the outputs of a block whose prefix is `before`.
  void scan_block(Range block, const void* before) {
    batch_.from[0] = block.first;
    batch_.to[0] = block.first + block.count;
    scan_some(block, 0, 1, before);
  }
  /// Finishes a list after its outputs are written: outputs without a prefix become 0, if the call requires it.
  void finish_list(std::int64_t start, std::int64_t stop) const {
    if (zeroes()) zero_first(start, stop);
  }
  /// Scans a list with null elements by a custom operator, which may have no identity.
  void scan_runs(std::int64_t start, std::int64_t stop);

 private:
  /// Elements in the form that kernels read: `data` starts with element `first` of the call and has elements up to
  /// `end`.
  struct Staged {
    const std::byte* data;
    std::int64_t first;
    std::int64_t end;
  };

  /// Returns whether some outputs become 0 afterwards.
  [[nodiscard]] bool zeroes() const { return call_.empty_is_zero && (call_.exclusive || call_.valid.is_given()); }
  /// Returns whether lists may be scanned with the initial value 0.0, which those outputs then get. No list of the
  /// batch may begin with -0.0.
  [[nodiscard]] bool begins_with_zero() const { return zeroes() && !plan_.is_custom() && !call_.valid.is_given(); }
  [[nodiscard]] bool scans_runs() const { return plan_.is_custom() && call_.valid.is_given(); }

  [[nodiscard]] std::int64_t find_overflow(std::int64_t first, std::int64_t count) const {
    if (!plan_.is_checked() || always_fits(call_, batch_.longest)) return kNoIndex;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (!sums_fit(call_, batch_.from[k], batch_.to[k])) return first + i;
    }
    return kNoIndex;
  }

  void scan_batch(std::int64_t count);
  void scan_some(Range elements, std::int64_t at, std::int64_t count, const void* before);
  void zero_first(std::int64_t start, std::int64_t stop) const;
  [[nodiscard]] bool meets_negative_zero(std::int64_t first, std::int64_t last, Range elements) const;
  Staged stage(Range elements);

  const ScanPlan& plan_;
  const detail::SegmentedScanCall& call_;
  ListBatch batch_;
  std::vector<LongList> long_lists_;
  std::unique_ptr<std::byte[]> staged_;
};

/// Returns the elements in the type of the computation, with nulls replaced by the identity.
Worker::Staged Worker::stage(Range elements) {
  const auto* const in = static_cast<const std::byte*>(call_.in);
  // In place, elements that other threads write must not be read, nor written again.
  if (!plan_.stages()) return {in, 0, call_.in == call_.out ? elements.first + elements.count : call_.n};
  const std::byte* const from = in + elements.first * call_.in_size;
  if (plan_.converts()) {
    cpu::kernels(Isa::best).convert[cpu::at(call_.in_type)][cpu::at(plan_.computed())](from, staged_.get(),
                                                                                       elements.count);
  } else {
    std::memcpy(staged_.get(), from, static_cast<std::size_t>(elements.count * call_.in_size));
  }
  for (std::int64_t j = 0; call_.valid.is_given() && j < elements.count; ++j) {
    if (call_.valid[elements.first + j]) continue;
    std::memcpy(staged_.get() + j * plan_.size(), plan_.identity(), static_cast<std::size_t>(plan_.size()));
  }
  return {staged_.get(), elements.first, elements.count};
}

/// Scans lists at … at + count - 1 of the batch, all of them within the elements.
void Worker::scan_some(Range elements, std::int64_t at, std::int64_t count, const void* before) {
  const Staged content = stage(elements);
  const bool moves = plan_.stages() || plan_.narrows();
  const std::int64_t shift = moves ? elements.first : 0;
  if (moves) {
    for (std::int64_t i = at; i < at + count; ++i) {
      auto& from = batch_.from[static_cast<std::size_t>(i)];
      auto& to = batch_.to[static_cast<std::size_t>(i)];
      if (from == to) continue;
      from -= shift;
      to -= shift;
    }
  }
  const std::int64_t* const from = batch_.from.data() + at;
  const std::int64_t* const to = batch_.to.data() + at;
  const std::byte* const data = content.data + (shift - content.first) * plan_.element_size();
  const std::int64_t end = content.end - (shift - content.first);
  std::byte* const out = static_cast<std::byte*>(call_.out) + shift * call_.out_size;
  plan_.scan(data, end, from, to, count, before, plan_.narrows() ? staged_.get() : out);
  if (!plan_.narrows()) return;
  const auto narrow = cpu::kernels(Isa::best).convert[cpu::at(plan_.computed())][cpu::at(call_.out_type)];
  // Null lists leave gaps, where nothing is written.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bytes_before = from[i] * plan_.size();
    if (from[i] < to[i]) narrow(staged_.get() + bytes_before, out + from[i] * call_.out_size, to[i] - from[i]);
  }
}

/// Sets the outputs before the first valid element to zero; if exclusive, also that of this element.
void Worker::zero_first(std::int64_t start, std::int64_t stop) const {
  const auto size = static_cast<std::size_t>(call_.out_size);
  auto* const out = static_cast<std::byte*>(call_.out);
  for (std::int64_t j = start; j < stop; ++j) {
    const bool is_null = call_.valid.is_given() && !call_.valid[j];
    if (is_null || call_.exclusive) std::memset(out + j * call_.out_size, 0, size);
    if (!is_null) return;
  }
}

/// Returns whether any of the batch's lists first … last - 1 begins with -0.0. `elements` is the range of their
/// elements. The scan of such a list must not begin with 0.0, because 0.0 + -0.0 is 0.0. This is tested before the
/// scan: in place, the scan overwrites the first elements.
bool Worker::meets_negative_zero(std::int64_t first, std::int64_t last, Range elements) const {
  return visit_type(call_.in_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_floating_point_v<T>) {
      return false;
    } else {
      if (plan_.converts()) return true;  // very small elements become -0.0
      using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      constexpr Bits kNegativeZero = Bits{1} << (8 * sizeof(T) - 1);
      const T* const in = static_cast<const T*>(call_.in);
      const std::int64_t* const from = batch_.from.data();
      const std::int64_t* const to = batch_.to.data();
      bool any = false;
      // For an empty list, any of these elements is tested: empty lists are too frequent for a predictable branch.
      for (std::int64_t i = first; elements.count > 0 && i < last; ++i) {
        const std::int64_t is_filled = from[i] < to[i] ? 1 : 0;
        any |= std::bit_cast<Bits>(in[elements.first + (from[i] - elements.first) * is_filled]) == kNegativeZero;
      }
      return any;
    }
  });
}

/// Scans the batch's lists, in runs whose elements fit the staging buffer.
void Worker::scan_batch(std::int64_t count) {
  if (scans_runs()) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      scan_runs(batch_.from[i], batch_.to[i]);
      finish_list(batch_.from[i], batch_.to[i]);
    }
    return;
  }
  const bool moves = plan_.stages() || plan_.narrows();
  for (std::int64_t at = 0; at < count;) {
    Range elements{0, 0};
    std::int64_t next = at;
    for (; next < count; ++next) {
      const std::int64_t from = batch_.from[static_cast<std::size_t>(next)];
      const std::int64_t to = batch_.to[static_cast<std::size_t>(next)];
      if (from == to) continue;
      if (elements.count == 0) elements.first = from;
      if (moves && to - elements.first > kStaged) break;
      elements.count = to - elements.first;
    }
    if (begins_with_zero() && !meets_negative_zero(at, next, elements)) {
      scan_some(elements, at, next - at, plan_.zero());
    } else {
      scan_some(elements, at, next - at, plan_.init());
      const std::int64_t begin = moves ? elements.first : 0;
      for (auto i = static_cast<std::size_t>(at); zeroes() && i < static_cast<std::size_t>(next); ++i) {
        finish_list(batch_.from[i] + begin, batch_.to[i] + begin);
      }
    }
    at = next;
  }
}

void Worker::scan_runs(std::int64_t start, std::int64_t stop) {
  alignas(64) detail::CarryBytes total;
  const auto size = static_cast<std::size_t>(call_.out_size);
  std::memcpy(total.bytes, call_.init, size);
  auto* const out = static_cast<std::byte*>(call_.out);
  for (std::int64_t j = start; j < stop;) {
    std::int64_t end = j;
    while (end < stop && call_.valid[end]) ++end;
    if (j < end) {
      alignas(64) detail::CarryBytes before = total;
      plan_.fold(call_.in, call_.n, j, end, before.bytes, total.bytes);  // must precede the scan, which may be in place
      plan_.scan(call_.in, call_.n, &j, &end, 1, before.bytes, call_.out);
    }
    if (end < stop) std::memcpy(out + end * call_.out_size, total.bytes, size);
    j = end + 1;
  }
}

// ---- Long lists.

/// Scans the blocks of all long lists. Each block is folded, prefixes are computed from these folds in order, and then
/// each block is scanned.
class LongScans {
 public:
  LongScans(const ScanPlan& plan, const std::vector<std::unique_ptr<Worker>>& workers)
      : plan_(plan),
        workers_(workers),
        lists_(workers),
        totals_(std::make_unique_for_overwrite<detail::CarryBytes[]>(
            static_cast<std::size_t>(cpu::ceil_div(lists_.blocks() * plan.size(), sizeof(detail::CarryBytes))))) {}

  /// Returns the first list whose sums overflow, or kNoIndex.
  std::int64_t run() {
    const std::int64_t bad = find_overflow();  // must precede the scan, which may be in place
    lists_.for_each(workers_, 1, [&](Worker& worker, const LongList& list, Range blocks) {
      worker.fold_block(list.block(blocks.first), total(list.first_block + blocks.first));
    });
    for (const LongList& list : lists_) scan_totals(list);
    lists_.for_each(workers_, 1, [&](Worker& worker, const LongList& list, Range blocks) {
      worker.scan_block(list.block(blocks.first), total(list.first_block + blocks.first));
    });
    for (const LongList& list : lists_) workers_.front()->finish_list(list.start, list.stop);
    return bad;
  }

 private:
  [[nodiscard]] std::int64_t find_overflow() const {
    std::int64_t bad = kNoIndex;
    for (const LongList& list : lists_) {
      if (!plan_.is_checked() || always_fits(plan_.call(), list.stop - list.start)) continue;
      if (!sums_fit(plan_.call(), list.start, list.stop)) bad = cpu::first_index(bad, list.list);
    }
    return bad;
  }

  [[nodiscard]] std::byte* total(std::int64_t block) const {
    return reinterpret_cast<std::byte*>(totals_.get()) + block * plan_.size();
  }

  /// Replaces the totals of blocks by their prefixes.
  void scan_totals(const LongList& list) const {
    alignas(64) detail::CarryBytes before;
    const auto size = static_cast<std::size_t>(plan_.size());
    std::memcpy(before.bytes, plan_.init(), size);
    for (std::int64_t b = list.first_block; b < list.first_block + list.blocks(); ++b) {
      alignas(64) detail::CarryBytes own;
      std::memcpy(own.bytes, total(b), size);
      std::memcpy(total(b), before.bytes, size);
      plan_.merge(before.bytes, own.bytes);
    }
  }

  const ScanPlan& plan_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  cpu::LongLists lists_;
  std::unique_ptr<detail::CarryBytes[]> totals_;  // with the alignment of any element type
};

}  // namespace

Status scan_lists(const detail::SegmentedScanCall& call, const Policy& policy, const ListKernels& kernels,
                  int workers) noexcept try {
  const ScanPlan plan(call, policy, kernels);
  std::vector<std::unique_ptr<Worker>> all(static_cast<std::size_t>(workers));
  for (auto& worker : all) worker = std::make_unique<Worker>(plan);
  const std::int64_t each = cpu::lists_of_work_unit(call.lists.count, call.n * call.in_size, workers);
  cpu::LowestIndex first_bad;
  std::atomic<std::int64_t> next{0};
  cpu::run_allocating_workers(workers, [&](int w) {
    for (;;) {
      const std::int64_t first = next.fetch_add(each, std::memory_order_relaxed);
      if (first >= call.lists.count) return;
      first_bad.add(all[static_cast<std::size_t>(w)]->run(first, std::min(call.lists.count, first + each)));
    }
  });
  first_bad.add(LongScans(plan, all).run());
  const std::int64_t bad = first_bad.get();
  if (bad == kNoIndex) return {};
  const Code code = check_list(call.lists, bad, call.n);
  return {code == Code::ok ? Code::overflow : code, bad};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::segmented_scan
