// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/reduce_lists.cpp: lists in batches: bounds read and checked, content converted where it must be, kernels run.
#include "problems/lists/segmented_reduce/reduce_lists.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/lists.hpp"
#include "core/reducer_kind.hpp"
#include "core/visit.hpp"
#include "cpu/blocks.hpp"
#include "cpu/elements.hpp"
#include "cpu/list_batch.hpp"
#include "cpu/list_values.hpp"
#include "cpu/long_lists.hpp"
#include "cpu/refusals.hpp"
#include "cpu/segments.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

using cpu::Int128;
using cpu::ListKernels;
using cpu::LongList;
using cpu::Range;

/// Lists that are longer are done beside others of about their length, wherever these are.
constexpr std::int64_t kShort = cpu::tuning::kListFolds.short_list;
/// Blocks of long lists that a worker takes at a time: as many as the kernels do side by side.
constexpr std::int64_t kBlocksAtOnce = cpu::tuning::kListFolds.blocks;
/// Elements that are converted or gathered at a time, in the core's second cache.
constexpr std::int64_t kStaged = kBlocksAtOnce * cpu::kListBlock;
/// Outputs of so many bytes go past the caches: they would not stay there.
constexpr std::int64_t kNonTemporalBytes = cpu::tuning::kBlocks.non_temporal_bytes;

/// What the kernels are given of the content.
struct Content {
  const std::byte* data;
  std::int64_t end;  // elements from there on must not be read
};

/// What a call's lists are reduced by: the same for every worker.
class ReducePlan {
 public:
  ReducePlan(const detail::SegmentedReduceCall& call, const Policy& policy, const ListKernels& kernels)
      : call_(call), kernels_(kernels), table_(cpu::kernels(Isa::best)) {
    const ReducerKind kind = kind_of(call.reducer);
    const bool folds = kind == ReducerKind::fold;
    is_checked_ = folds && cpu::is_checked(call, policy);
    is_bits_ = kind == ReducerKind::boolean || kind == ReducerKind::nonzero;
    is_pick_ = kind == ReducerKind::position;
    computed_ = is_pick_ ? cpu::computed_in(call.in_type) : folds ? cpu::computed_in(call.out_type) : call.in_type;
    result_size_ = is_pick_ ? std::int64_t{sizeof(std::int64_t)}
                            : std::int64_t{computed_ == Type::custom ? call.out_size : size_of(computed_)};
    converts_ = computed_ != call.in_type && computed_ != Type::custom;
    const bool contiguous = call.lists.are_adjacent() && !call.lists.valid.is_given();
    folds_runs_ = folds && computed_ == Type::custom && call.valid.is_given();
    gathers_ = !folds_runs_ && (call.valid.is_given() || (!contiguous && (converts_ || is_bits_ || is_checked_)));
    part_size_ = is_checked_ ? std::int64_t{sizeof(Int128)}
                 : is_bits_  ? std::int64_t{sizeof(std::int64_t)}
                             : result_size_;
    if (folds && computed_ != Type::custom) {
      cpu::convert_one(call.out_type, computed_, call.init, init_.bytes.data());
      identity_ = cpu::identity_of(computed_, call.op);
    }
  }

  [[nodiscard]] const detail::SegmentedReduceCall& call() const { return call_; }
  [[nodiscard]] const ListKernels& kernels() const { return kernels_; }
  [[nodiscard]] const cpu::KernelTable& table() const { return table_; }
  [[nodiscard]] bool is_checked() const { return is_checked_; }
  [[nodiscard]] bool is_bits() const { return is_bits_; }
  [[nodiscard]] bool is_pick() const { return is_pick_; }
  [[nodiscard]] bool converts() const { return converts_; }
  [[nodiscard]] bool gathers() const { return gathers_; }
  [[nodiscard]] bool stages() const { return converts_ || gathers_ || is_bits_; }
  /// Whether elements between null ones are folded where they are: an operator of one's own may have no identity.
  [[nodiscard]] bool folds_runs() const { return folds_runs_; }
  [[nodiscard]] Type computed() const { return computed_; }
  [[nodiscard]] std::int64_t staged_size() const {
    return computed_ == Type::custom ? call_.in_size : size_of(computed_);
  }
  [[nodiscard]] std::int64_t result_size() const { return result_size_; }
  /// Bytes of what a block of a long list comes to.
  [[nodiscard]] std::int64_t part_size() const { return part_size_; }
  /// Whether results are converted to the output's type.
  [[nodiscard]] bool narrows() const {
    return call_.reducer == Reducer::fold && computed_ != call_.out_type && computed_ != Type::custom;
  }
  /// Whether results go past the caches.
  [[nodiscard]] bool is_non_temporal() const {
    return kernels_.is_wide && computed_ != Type::custom && call_.lists.count * call_.out_size >= kNonTemporalBytes;
  }
  /// Whether results of a batch are anywhere else before they are put where they belong.
  [[nodiscard]] bool buffers() const { return narrows() || is_non_temporal(); }
  [[nodiscard]] int lists_per_vector() const {
    return computed_ == Type::custom ? 1 : cpu::lists_per_vector(computed_);
  }
  [[nodiscard]] bool is_wide() const { return kernels_.is_wide && computed_ != Type::custom && !is_bits_; }

  [[nodiscard]] const void* op() const { return cpu::operator_object(call_); }

  /// What a fold begins with, and one that goes on from others; null: with its first element.
  [[nodiscard]] const void* init() const { return computed_ == Type::custom ? call_.init : init_.bytes.data(); }
  [[nodiscard]] const void* neutral() const { return computed_ == Type::custom ? nullptr : identity_.bytes.data(); }

  /// The kernel on whole lists of the content: results of result_size() each.
  void run(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
           void* out) const {
    if (is_pick_) return pick(content, from, to, lists, out);
    const auto fold = computed_ == Type::custom ? call_.custom_fold->fold
                      : call_.empty_is_zero     ? kernels_.sum[cpu::at(computed_)]
                                                : kernels_.fold[cpu::at(computed_)][cpu::at(call_.op)];
    fold(op(), content.data, content.end, from, to, lists, init(), out);
    if (computed_ != Type::custom || !call_.empty_is_zero) return;
    for (std::int64_t i = 0; i < lists; ++i) {
      if (from[i] >= to[i]) zero(static_cast<std::byte*>(out) + i * result_size_);
    }
  }
  /// The same on blocks of a list, which begin with nothing.
  void run_blocks(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t blocks,
                  void* out) const {
    if (is_pick_) return pick(content, from, to, blocks, out);
    const auto fold =
        computed_ == Type::custom ? call_.custom_fold->fold : kernels_.fold[cpu::at(computed_)][cpu::at(call_.op)];
    fold(op(), content.data, content.end, from, to, blocks, neutral(), out);
  }
  /// The bytes of a float's 0.0.
  void zero(void* result) const { std::memset(result, 0, static_cast<std::size_t>(result_size_)); }

  /// out ← init ⊕ totals, in order.
  void fold_totals(const std::byte* totals, std::int64_t count, void* out) const {
    const std::int64_t from = 0;
    const auto fold = computed_ == Type::custom ? call_.custom_fold->fold_totals
                                                : cpu::list_kernels_plain().fold[cpu::at(computed_)][cpu::at(call_.op)];
    fold(op(), totals, count, &from, &count, 1, init(), out);
  }

 private:
  void pick(const Content& content, const std::int64_t* from, const std::int64_t* to, std::int64_t lists,
            void* out) const {
    const int type = cpu::at(computed_);
    const auto run = call_.reducer == Reducer::argmin ? kernels_.argmin[type] : kernels_.argmax[type];
    run(content.data, content.end, from, to, lists, static_cast<std::int64_t*>(out));
  }

  const detail::SegmentedReduceCall& call_;
  const ListKernels& kernels_;
  const cpu::KernelTable& table_;
  bool is_checked_ = false;
  bool is_bits_ = false;
  bool is_pick_ = false;
  bool converts_ = false;
  bool gathers_ = false;
  bool folds_runs_ = false;
  Type computed_ = Type::custom;
  std::int64_t result_size_ = 0;
  std::int64_t part_size_ = 0;
  cpu::Value init_;
  cpu::Value identity_;
};

/// The exact sum of elements first … last - 1 that are not null.
Int128 exact_sum(const detail::SegmentedReduceCall& call, std::int64_t first, std::int64_t last) {
  return visit_type(call.in_type, [&]<class T>(std::type_identity<T>) -> Int128 {
    const T* const x = static_cast<const T*>(call.in);
    Int128 sum = 0;
    if constexpr (std::is_integral_v<T>) {
      for (std::int64_t j = first; j < last; ++j) {
        if (!call.valid.is_given() || call.valid[j]) sum += x[j];
      }
    }
    return sum;
  });
}

/// The place in the content of the k-th element that is not null, from `start` on.
std::int64_t place_of(const detail::SegmentedReduceCall& call, std::int64_t start, std::int64_t k) {
  if (!call.valid.is_given()) return start + k;
  for (std::int64_t j = start;; ++j) {
    if (call.valid[j] && k-- == 0) return j;
  }
}

/// Whether there is no element that is not null.
bool is_all_null(const detail::SegmentedReduceCall& call, std::int64_t start, std::int64_t stop) {
  if (!call.valid.is_given()) return start == stop;
  while (start < stop && !call.valid[start]) ++start;
  return start == stop;
}

/// init + sum as an output, or false where it does not fit.
bool put_sum(const detail::SegmentedReduceCall& call, Int128 sum, std::int64_t list) {
  return visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      const Int128 total = sum + *static_cast<const T*>(call.init);
      static_cast<T*>(call.out)[list] = static_cast<T>(total);
      return total >= std::numeric_limits<T>::min() && total <= std::numeric_limits<T>::max();
    }
    return true;
  });
}

/// What one worker has in hand.
class Worker {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): lists are noted before they are looked at
  explicit Worker(const ReducePlan& plan) : plan_(plan), call_(plan.call()) {
    if (!plan.stages()) return;
    if (plan.gathers()) gathered_ = room(call_.in_size);
    if (plan.converts()) converted_ = room(plan.staged_size());
    if (plan.is_bits())
      bits_ = std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(staged() / 8 + 9));
  }

  /// Lists [lists.first, lists.last), but those of more than a block, which it notes. Returns the first bad one or kNoIndex.
  std::int64_t run(cpu::Share lists);
  [[nodiscard]] const std::vector<LongList>& long_lists() const { return long_lists_; }

  /// parts ← what at most kBlocksAtOnce blocks of a long list come to, part_size() bytes each: folds, exact sums of checked ones,
  /// how many elements are not zero (of `all` less how many there are), or the place of the smallest or greatest in content.
  void reduce_blocks(const LongList& list, Range blocks, std::byte* parts);

 private:
  /// Elements that are staged at a time, at most: lists that are gathered may overlap.
  [[nodiscard]] std::int64_t staged() const {
    const std::int64_t times = plan_.gathers() ? std::min(call_.lists.count, kStaged) : 1;
    return std::min(std::min(call_.n, kStaged) * times, kStaged);
  }
  [[nodiscard]] std::unique_ptr<std::byte[]> room(std::int64_t element) const {
    return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(staged() * element));
  }

  std::int64_t read(std::int64_t first, std::int64_t count);
  std::int64_t lists_that_fit(std::int64_t at, std::int64_t count) const;
  Content stage(std::int64_t at, std::int64_t count);
  const std::byte* gather(std::int64_t at, std::int64_t count);
  std::int64_t reduce(std::int64_t first, std::int64_t count);
  void fold_runs(std::int64_t first, std::int64_t count);
  void place_picks(std::int64_t first, std::int64_t count) const;
  void reduce_bits(std::int64_t first, std::int64_t at, std::int64_t count);
  void reduce_values(std::int64_t first, std::int64_t at, std::int64_t count, const Content& content);
  void count_elements(std::int64_t first, std::int64_t count) const;
  [[nodiscard]] std::int64_t check_sums(std::int64_t first, std::int64_t at, std::int64_t count) const;
  [[nodiscard]] bool sums_fit(std::int64_t at, std::int64_t count) const;
  [[nodiscard]] std::pair<const std::byte*, std::int64_t> range_of(std::int64_t at, std::int64_t count) const;
  std::int64_t take_longer(std::int64_t at, std::int64_t count);
  void enqueue(std::int64_t list, std::int64_t from, std::int64_t to, const Content& content);
  void flush(std::size_t queue, const Content& content);
  void flush_all(const Content& content);
  void put(const std::byte* results, std::int64_t count, std::int64_t first) const;
  template <class Reduce>
  void put_each(std::int64_t count, std::int64_t first, Reduce reduce) const;

  const ReducePlan& plan_;
  const detail::SegmentedReduceCall& call_;
  cpu::ListBatch batch_;
  std::int64_t elements_ = 0;       // that are staged
  const std::byte* raw_ = nullptr;  // they, before they are converted
  std::vector<LongList> long_lists_;
  std::unique_ptr<std::byte[]> gathered_;
  std::unique_ptr<std::byte[]> converted_;
  std::unique_ptr<std::uint8_t[]> bits_;

  /// Lists of a batch that are not done with the others of it.
  struct Longer {
    std::int64_t from;
    std::int64_t to;
    std::int64_t at;
  };
  std::array<Longer, cpu::ListBatch::kLists> longer_;

  // Lists that wait for others of about their length, by the number of bits in it.
  struct Queue {  // NOLINT(cppcoreguidelines-pro-type-member-init): the first `count` are there
    std::array<std::int64_t, 16> from;
    std::array<std::int64_t, 16> to;
    std::array<std::int64_t, 16> list;
    int count = 0;
  };
  std::array<Queue, 16> queues_;
  bool are_waiting_ = false;  // some may
};

// ---- Bounds.

/// The bounds of a batch; those of long lists are noted and become empty. Returns the first bad list or kNoIndex.
std::int64_t Worker::read(std::int64_t first, std::int64_t count) {
  const std::int64_t bad = batch_.read(call_.lists, first, count, call_.n, plan_.kernels());
  if (bad != kNoIndex) return bad;
  if (call_.reducer == Reducer::count || plan_.folds_runs()) return kNoIndex;
  cpu::set_long_aside(batch_, first, count, long_lists_);
  return kNoIndex;
}

// ---- Content.

/// How many lists from `at` on are staged together: as there is room for, and, unless they are gathered, without one of the
/// long ones between them, which have become empty.
std::int64_t Worker::lists_that_fit(std::int64_t at, std::int64_t count) const {
  if (!plan_.stages()) return count;
  // Of short lists no long one lies between, and all of them fit.
  if (batch_.longest * count < kStaged && batch_.longest < cpu::kListBlock) return count;
  std::int64_t elements = 0;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = batch_.from[static_cast<std::size_t>(at + i)];
    const std::int64_t to = batch_.to[static_cast<std::size_t>(at + i)];
    if (from == to) continue;
    const bool is_apart = elements > 0 && !plan_.gathers() && from != end;
    elements += to - from;
    if (is_apart || elements > kStaged) return i;
    end = to;
  }
  return count;
}

/// The elements of the lists that are not null, one after the other; bounds become theirs.
const std::byte* Worker::gather(std::int64_t at, std::int64_t count) {
  const auto size = static_cast<std::size_t>(call_.in_size);
  const auto* const in = static_cast<const std::byte*>(call_.in);
  std::byte* to = gathered_.get();
  const auto place = [&] { return (to - gathered_.get()) / call_.in_size; };
  for (std::int64_t i = at; i < at + count; ++i) {
    auto& first = batch_.from[static_cast<std::size_t>(i)];
    auto& last = batch_.to[static_cast<std::size_t>(i)];
    const std::int64_t begin = place();
    if (call_.valid.is_given()) {
      for (std::int64_t j = first; j < last; ++j) {
        if (!call_.valid[j]) continue;
        std::memcpy(to, in + j * call_.in_size, size);
        to += size;
      }
    } else if (first < last) {
      const auto bytes = static_cast<std::size_t>(last - first) * size;
      std::memcpy(to, in + first * call_.in_size, bytes);
      to += bytes;
    }
    first = begin;
    last = place();
  }
  elements_ = place();
  return gathered_.get();
}

/// What the kernels read: the content itself, or the lists' elements where they are converted or gathered.
Content Worker::stage(std::int64_t at, std::int64_t count) {
  const auto* data = static_cast<const std::byte*>(call_.in);
  if (!plan_.stages()) return {data, call_.n};
  if (plan_.gathers()) {
    data = gather(at, count);
  } else {  // adjacent lists: their elements are
    std::int64_t* const from = batch_.from.data() + at;
    std::int64_t* const to = batch_.to.data() + at;
    std::int64_t given = 0;  // the first list that is not empty, and the last one
    while (given < count - 1 && from[given] == to[given]) ++given;
    std::int64_t last = count - 1;
    while (last > given && from[last] == to[last]) --last;
    const std::int64_t first = from[given];
    elements_ = to[last] - first;
    if (!plan_.is_bits()) plan_.kernels().shift_bounds(from, to, count, first);
    data += first * call_.in_size;
  }
  raw_ = data;
  if (!plan_.converts()) return {data, elements_};
  plan_.table().convert[cpu::at(call_.in_type)][cpu::at(plan_.computed())](data, converted_.get(), elements_);
  return {converted_.get(), elements_};
}

// ---- Results.

/// Results of lists `first` and on to the output.
void Worker::put(const std::byte* results, std::int64_t count, std::int64_t first) const {
  const std::int64_t size = call_.out_size;
  std::byte* const out = static_cast<std::byte*>(call_.out) + first * size;
  if (plan_.narrows()) {
    plan_.table().convert[cpu::at(plan_.computed())][cpu::at(call_.out_type)](results, out, count);
  } else if (plan_.is_non_temporal()) {
    plan_.table().copy(out, results, count * size);
  } else {
    std::memcpy(out, results, static_cast<std::size_t>(count * size));
  }
}

/// reduce(out) gives the results of so many lists of a batch, as they are computed.
template <class Reduce>
void Worker::put_each(std::int64_t count, std::int64_t first, Reduce reduce) const {
  if (!plan_.buffers()) return reduce(static_cast<std::byte*>(call_.out) + first * call_.out_size);
  alignas(64) std::array<std::byte, cpu::ListBatch::kLists * 8> results;
  reduce(results.data());
  put(results.data(), count, first);
}

void Worker::flush(std::size_t queue, const Content& content) {
  Queue& q = queues_[queue];
  if (q.count == 0) return;
  const int lanes = plan_.lists_per_vector();
  for (int k = q.count; k < lanes; ++k) q.from[static_cast<std::size_t>(k)] = q.to[static_cast<std::size_t>(k)] = 0;
  alignas(64) std::array<std::byte, 128> results;
  plan_.run(content, q.from.data(), q.to.data(), lanes, results.data());
  for (int k = 0; k < q.count; ++k) {
    put(results.data() + k * plan_.result_size(), 1, q.list[static_cast<std::size_t>(k)]);
  }
  q.count = 0;
}

void Worker::enqueue(std::int64_t list, std::int64_t from, std::int64_t to, const Content& content) {
  const auto queue = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(to - from)));
  Queue& q = queues_[queue];
  const auto place = static_cast<std::size_t>(q.count++);
  q.from[place] = from;
  q.to[place] = to;
  q.list[place] = list;
  are_waiting_ = true;
  if (q.count == plan_.lists_per_vector()) flush(queue, content);
}

void Worker::flush_all(const Content& content) {
  if (!std::exchange(are_waiting_, false)) return;
  for (std::size_t q = 0; q < queues_.size(); ++q) flush(q, content);
}

void Worker::reduce_values(std::int64_t first, std::int64_t at, std::int64_t count, const Content& content) {
  const std::int64_t put_aside = plan_.is_wide() && batch_.longest > kShort ? take_longer(at, count) : 0;
  const std::int64_t* const from = batch_.from.data() + at;
  const std::int64_t* const to = batch_.to.data() + at;
  put_each(count, first, [&](void* out) { plan_.run(content, from, to, count, out); });
  // Only now, as the others' results would take the place of theirs.
  for (std::int64_t k = 0; k < put_aside; ++k) {
    const Longer& one = longer_[static_cast<std::size_t>(k)];
    enqueue(first + one.at - at, one.from, one.to, content);
  }
  if (put_aside > 0 && plan_.stages()) flush_all(content);  // what is staged does not stay
}

/// Lists longer than kShort become empty; how many they are. Where all are of like lengths, those that the kernels do in whole
/// groups stay.
std::int64_t Worker::take_longer(std::int64_t at, std::int64_t count) {
  const bool are_alike = batch_.longest - batch_.shortest <= batch_.longest / 8;
  std::size_t taken = 0;
  for (std::int64_t i = at + (are_alike ? count - count % plan_.lists_per_vector() : 0); i < at + count; ++i) {
    auto& from = batch_.from[static_cast<std::size_t>(i)];
    auto& to = batch_.to[static_cast<std::size_t>(i)];
    if (to - from <= kShort) continue;
    longer_[taken++] = {from, to, i};
    from = to = 0;
  }
  return static_cast<std::int64_t>(taken);
}

void Worker::reduce_bits(std::int64_t first, std::int64_t at, std::int64_t count) {
  const auto& kernels = plan_.kernels().bits;
  const std::int64_t* const from = batch_.from.data() + at;
  const std::int64_t* const to = batch_.to.data() + at;
  put_each(count, first, [&](void* out) {
    if (call_.reducer == Reducer::count_nonzero) {
      kernels.count(bits_.get(), from, to, count, static_cast<std::int64_t*>(out));
    } else {
      (call_.reducer == Reducer::any ? kernels.any : kernels.all)(bits_.get(), from, to, count,
                                                                  static_cast<std::uint8_t*>(out));
    }
  });
}

void Worker::count_elements(std::int64_t first, std::int64_t count) const {
  auto* const out = static_cast<std::int64_t*>(call_.out) + first;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = batch_.from[static_cast<std::size_t>(i)];
    const std::int64_t to = batch_.to[static_cast<std::size_t>(i)];
    out[i] = to - from;
    if (!call_.valid.is_given()) continue;
    for (std::int64_t j = from; j < to; ++j) out[i] -= call_.valid[j] ? 0 : 1;
  }
}

// ---- Sums that are checked.

/// Whether no list's sum can leave the type that it is computed in, nor the output's: by the largest element there is.
bool Worker::sums_fit(std::int64_t at, std::int64_t count) const {
  if (plan_.narrows()) return false;
  const bool from_signed = is_signed(call_.in_type);
  if (from_signed && !is_signed(call_.out_type)) return false;
  const int bits = 8 * size_of(call_.out_type) - (is_signed(call_.out_type) ? 1 : 0);
  const Int128 most = (Int128{1} << bits) - 1;
  const Int128 begin = visit_type(call_.out_type, [&]<class T>(std::type_identity<T>) -> Int128 {
    if constexpr (std::is_integral_v<T>) {
      const Int128 init = *static_cast<const T*>(call_.init);
      return init < 0 ? -init : init;
    }
    return 0;
  });
  const int element_bits = 8 * size_of(call_.in_type) - (from_signed ? 1 : 0);
  if (((Int128{1} << element_bits) * batch_.longest) + begin <= most) return true;
  const auto [data, elements] = plan_.stages() ? std::pair(raw_, elements_) : range_of(at, count);
  if (elements == 0) return begin <= most;
  const auto largest = plan_.table().magnitude[cpu::at(call_.in_type)](data, elements);
  return (static_cast<Int128>(largest) + 1) * batch_.longest + begin <= most;
}

/// The elements of lists that lie one after the other: where they begin, and how many they are.
std::pair<const std::byte*, std::int64_t> Worker::range_of(std::int64_t at, std::int64_t count) const {
  std::int64_t first = call_.n;
  std::int64_t last = 0;
  for (std::int64_t i = at; i < at + count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (batch_.from[k] == batch_.to[k]) continue;
    first = std::min(first, batch_.from[k]);
    last = std::max(last, batch_.to[k]);
  }
  return {static_cast<const std::byte*>(call_.in) + first * call_.in_size, std::max<std::int64_t>(last - first, 0)};
}

/// The first list whose sum does not fit or kNoIndex.
std::int64_t Worker::check_sums(std::int64_t first, std::int64_t at, std::int64_t count) const {
  if (sums_fit(at, count)) return kNoIndex;
  for (std::int64_t list = first; list < first + count; ++list) {
    if (call_.lists.valid.is_given() && !call_.lists.valid[list]) continue;
    const auto [start, stop] =
        visit_bounds(call_.lists, [&](auto bounds) { return std::pair(bounds.start(list), bounds.stop(list)); });
    if (stop - start > cpu::kListBlock) continue;  // later, with the long ones
    if (!put_sum(call_, exact_sum(call_, start, stop), list)) return list;
  }
  return kNoIndex;
}

// ---- The work.

/// Lists first … first + count - 1, whose bounds have been read. Returns the first bad one or kNoIndex.
std::int64_t Worker::reduce(std::int64_t first, std::int64_t count) {
  if (call_.reducer == Reducer::count) {
    count_elements(first, count);
    return kNoIndex;
  }
  if (plan_.folds_runs()) {
    fold_runs(first, count);
    return kNoIndex;
  }
  for (std::int64_t at = 0; at < count;) {
    const std::int64_t some = lists_that_fit(at, count - at);
    const Content content = stage(at, some);
    if (plan_.is_checked()) {
      const std::int64_t overflow = check_sums(first + at, at, some);
      if (overflow != kNoIndex) return overflow;
    }
    if (plan_.is_bits()) {
      plan_.kernels().nonzero[cpu::at(call_.in_type)](content.data, content.end, bits_.get());
      reduce_bits(first + at, at, some);
    } else {
      reduce_values(first + at, at, some, content);
    }
    at += some;
  }
  if (plan_.is_pick() && call_.valid.is_given()) place_picks(first, count);
  return kNoIndex;
}

/// Positions among the elements that are not null become positions in the list.
void Worker::place_picks(std::int64_t first, std::int64_t count) const {
  auto* const out = static_cast<std::int64_t*>(call_.out);
  visit_bounds(call_.lists, [&](auto bounds) {
    for (std::int64_t list = first; list < first + count; ++list) {
      if (out[list] < 0) continue;
      const std::int64_t start = bounds.start(list);
      out[list] = place_of(call_, start, out[list]) - start;
    }
  });
}

void Worker::fold_runs(std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* const total = static_cast<std::byte*>(call_.out) + (first + i) * call_.out_size;
    std::memcpy(total, call_.init, static_cast<std::size_t>(call_.out_size));
    bool is_empty = true;
    const std::int64_t stop = batch_.to[static_cast<std::size_t>(i)];
    for (std::int64_t j = batch_.from[static_cast<std::size_t>(i)]; j < stop;) {
      std::int64_t end = j;
      while (end < stop && call_.valid[end]) ++end;
      if (j < end) call_.custom_fold->fold(plan_.op(), call_.in, call_.n, &j, &end, 1, total, total);
      is_empty = is_empty && j == end;
      j = end + 1;
    }
    if (is_empty && call_.empty_is_zero) plan_.zero(total);
  }
}

std::int64_t Worker::run(cpu::Share lists) {
  for (std::int64_t first = lists.first; first < lists.last; first += cpu::ListBatch::kLists) {
    const std::int64_t count = std::min(cpu::ListBatch::kLists, lists.last - first);
    const std::int64_t bad = read(first, count);
    // Of the lists before a bad one the sum may not fit.
    const std::int64_t good = bad == kNoIndex ? count : bad - first;
    if (bad != kNoIndex && read(first, good) != kNoIndex) return bad;
    const std::int64_t overflow = reduce(first, good);
    if (overflow != kNoIndex || bad != kNoIndex) return cpu::first_index(overflow, bad);
  }
  flush_all({static_cast<const std::byte*>(call_.in), call_.n});
  return kNoIndex;
}

// ---- Long lists.

void Worker::reduce_blocks(const LongList& list, Range blocks, std::byte* parts) {
  for (std::int64_t b = 0; b < blocks.count; ++b) {
    const Range elements = list.block(blocks.first + b);
    batch_.from[static_cast<std::size_t>(b)] = elements.first;
    batch_.to[static_cast<std::size_t>(b)] = elements.first + elements.count;
  }
  if (plan_.is_checked()) {
    for (std::int64_t b = 0; b < blocks.count; ++b) {
      const auto k = static_cast<std::size_t>(b);
      reinterpret_cast<Int128*>(parts)[b] = exact_sum(call_, batch_.from[k], batch_.to[k]);
    }
    return;
  }
  const Content content = stage(0, blocks.count);
  const std::int64_t* const from = batch_.from.data();
  const std::int64_t* const to = batch_.to.data();
  if (plan_.is_bits()) {
    auto* const counts = reinterpret_cast<std::int64_t*>(parts);
    plan_.kernels().nonzero[cpu::at(call_.in_type)](content.data, content.end, bits_.get());
    plan_.kernels().bits.count(bits_.get(), from, to, blocks.count, counts);
    if (call_.reducer != Reducer::all) return;
    for (std::int64_t b = 0; b < blocks.count; ++b) counts[b] -= to[b] - from[b];
    return;
  }
  plan_.run_blocks(content, from, to, blocks.count, parts);
  if (!plan_.is_pick()) return;
  for (std::int64_t b = 0; b < blocks.count; ++b) {  // from positions in blocks to those in the content
    auto& position = reinterpret_cast<std::int64_t*>(parts)[b];
    if (position >= 0) position = place_of(call_, list.block(blocks.first + b).first, position);
  }
}

/// The lists that all workers have set aside: their blocks, in any order, then what these come to, in order.
class LongFolds {
 public:
  LongFolds(const ReducePlan& plan, std::span<Worker* const> workers)
      : plan_(plan),
        workers_(workers),
        lists_(workers),
        parts_(std::make_unique_for_overwrite<detail::CarryBytes[]>(
            static_cast<std::size_t>(cpu::parts(lists_.blocks() * plan.part_size(), sizeof(detail::CarryBytes))))) {}

  /// Returns the first list whose sum does not fit or kNoIndex.
  std::int64_t run() {
    lists_.for_each(workers_, kBlocksAtOnce, [&](Worker& worker, const LongList& list, Range blocks) {
      worker.reduce_blocks(list, blocks, part(list.first_block + blocks.first));
    });
    std::int64_t bad = kNoIndex;
    for (const LongList& list : lists_) {
      if (!finish(list)) bad = cpu::first_index(bad, list.list);
    }
    return bad;
  }

 private:
  [[nodiscard]] std::byte* part(std::int64_t block) const {
    return reinterpret_cast<std::byte*>(parts_.get()) + block * plan_.part_size();
  }

  /// Whether the list's result fits.
  bool finish(const LongList& list) const {
    const detail::SegmentedReduceCall& call = plan_.call();
    std::byte* const parts = part(list.first_block);
    std::byte* const out = static_cast<std::byte*>(call.out) + list.list * call.out_size;
    if (plan_.is_checked()) {
      Int128 sum = 0;
      for (std::int64_t b = 0; b < list.blocks(); ++b) sum += reinterpret_cast<const Int128*>(parts)[b];
      return put_sum(call, sum, list.list);
    }
    if (plan_.is_bits()) {
      std::int64_t count = 0;
      for (std::int64_t b = 0; b < list.blocks(); ++b) count += reinterpret_cast<const std::int64_t*>(parts)[b];
      if (call.reducer == Reducer::count_nonzero) {
        std::memcpy(out, &count, sizeof count);
      } else {
        *out = static_cast<std::byte>(call.reducer == Reducer::any ? count != 0 : count == 0);
      }
    } else if (plan_.is_pick()) {
      const std::int64_t place = pick(list, reinterpret_cast<const std::int64_t*>(parts));
      const std::int64_t position = place < 0 ? -1 : place - list.start;
      std::memcpy(out, &position, sizeof position);
    } else {
      alignas(64) detail::CarryBytes total;
      plan_.fold_totals(parts, list.blocks(), total.bytes);
      if (call.empty_is_zero && is_all_null(call, list.start, list.stop)) plan_.zero(total.bytes);
      if (plan_.narrows()) {
        cpu::convert_one(plan_.computed(), call.out_type, total.bytes, out);
      } else {
        std::memcpy(out, total.bytes, static_cast<std::size_t>(call.out_size));
      }
    }
    return true;
  }

  /// The place of the first smallest or greatest of the elements at these places; below 0: none.
  [[nodiscard]] std::int64_t pick(const LongList& list, const std::int64_t* places) const {
    const detail::SegmentedReduceCall& call = plan_.call();
    return visit_type(call.in_type, [&]<class T>(std::type_identity<T>) {
      const T* const x = static_cast<const T*>(call.in);
      std::int64_t best = -1;
      for (std::int64_t b = 0; b < list.blocks(); ++b) {
        if (places[b] < 0) continue;
        if (best < 0 || precedes(x[best], x[places[b]])) best = places[b];
      }
      return best;
    });
  }
  template <class T>
  [[nodiscard]] bool precedes(T a, T b) const {
    if (a != a) return false;
    return b != b || (plan_.call().reducer == Reducer::argmin ? b < a : a < b);
  }

  const ReducePlan& plan_;
  std::span<Worker* const> workers_;
  cpu::LongLists lists_;
  std::unique_ptr<detail::CarryBytes[]> parts_;  // aligned as any element is
};

/// All lists, range by range. Returns the first bad one, or whose sum does not fit, or kNoIndex.
std::int64_t reduce_by(std::span<Worker* const> workers, const ReducePlan& plan, const Ranges& ranges) {
  cpu::LowestIndex first_bad;
  std::atomic<std::int64_t> ticket{0};
  cpu::run_allocating_workers(static_cast<int>(workers.size()), [&](int w) {
    for (;;) {
      const std::int64_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
      if (mine >= ranges.count) return;
      first_bad.add(workers[static_cast<std::size_t>(w)]->run(ranges.lists(mine)));
    }
  });
  const bool has_long = std::ranges::any_of(workers, [](const Worker* one) { return !one->long_lists().empty(); });
  if (has_long) first_bad.add(LongFolds(plan, workers).run());
  return first_bad.get();
}

std::int64_t reduce_all(const ReducePlan& plan, int workers, const Ranges& ranges) {
  if (workers == 1) {  // without memory of the heap, which would take as long as a small call
    Worker only(plan);
    Worker* const alone = &only;
    return reduce_by({&alone, 1}, plan, ranges);
  }
  std::vector<std::unique_ptr<Worker>> owned;
  std::vector<Worker*> all;
  for (int w = 0; w < workers; ++w) {
    owned.push_back(std::make_unique<Worker>(plan));
    all.push_back(owned.back().get());
  }
  return reduce_by(all, plan, ranges);
}

/// What is wrong with a list that was found bad.
Code code_of(const detail::SegmentedReduceCall& call, std::int64_t list) {
  const Code code = check_list(call.lists, list, call.n);
  return code == Code::ok ? Code::overflow : code;
}

}  // namespace

int workers_for(const detail::SegmentedReduceCall& call, int threads) {
  return cpu::list_workers(call.lists.count, call.n * call.in_size, threads);
}

Ranges even_ranges(const detail::SegmentedReduceCall& call, int workers) {
  return {workers, [lists = call.lists.count, workers](std::int64_t range) {
            return cpu::share_of(lists, static_cast<int>(range), workers);
          }};
}

Status reduce_lists(const detail::SegmentedReduceCall& call, const Policy& policy, const cpu::ListKernels& kernels,
                    int workers, const Ranges& ranges) noexcept try {
  const ReducePlan plan(call, policy, kernels);
  const std::int64_t bad = reduce_all(plan, workers, ranges);
  if (bad == kNoIndex) return {};
  return {code_of(call, bad), bad};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

}  // namespace upsweep::impl::segmented_reduce
