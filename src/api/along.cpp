// SPDX-License-Identifier: Apache-2.0
// api/along.cpp: scans and reductions along any axis except the last: rows are folded into a row of totals, by blocks
// of columns.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "api/calls.hpp"
#include "core/apart.hpp"
#include "core/checked.hpp"
#include "core/no_ladder.hpp"
#include "core/visit.hpp"
#include "cpu/list_kernels.hpp"
#include "cpu/list_values.hpp"
#include "cpu/parallel.hpp"
#include "cpu/refusals.hpp"
#include "cpu/work_partition.hpp"
#include "system/interruption.hpp"

namespace upsweep::dynamic {
namespace {

using cpu::Int128;

/// Maximum number of columns that a worker processes at a time: their totals, a row of them and of outputs stay in L1.
constexpr std::int64_t kMostColumns = 4096;
/// Minimum, for few columns and many threads: a cache line or two of each row.
constexpr std::int64_t kFewestColumns = 16;
/// Rows that are folded in order. Floats of longer columns are added in blocks, as in long lists.
constexpr std::int64_t kRowBlock = cpu::kListBlock;
/// Rows that are examined, and folded while they are in L1.
constexpr std::int64_t kBlockRows = 4;

struct AlongCall : detail::ElementsCall {
  Axis axis;
  void* out = nullptr;
  const void* init = nullptr;
  bool empty_is_zero = false;  ///< as in detail::SegmentedReduceCall
  bool reduces = false;        ///< to a row; otherwise scans
  bool exclusive = false;
};

/// Columns [first, first + count) of one of the outer matrices.
struct Columns {
  std::int64_t outer;
  std::int64_t first;
  std::int64_t count;
};

/// The maximum sum of all |elements| for which every prefix fits.
Int128 limit_of(const AlongCall& call) {
  return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) -> Int128 {
    if constexpr (std::is_integral_v<Out>) {
      using Limits = std::numeric_limits<Out>;
      const Int128 begin = *static_cast<const Out*>(call.init);
      const Int128 above = Limits::max() - begin;
      return is_signed(call.in_type) ? std::min(above, begin - Limits::min()) : above;
    }
    return 0;
  });
}

/// Whether the types guarantee that all sums fit.
bool always_fits(const AlongCall& call) {
  const int bits = 8 * size_of(call.in_type) - (is_signed(call.in_type) ? 1 : 0);
  return (Int128{1} << bits) * call.axis.length <= limit_of(call);
}

/// The first output of these columns that does not fit, or kNoIndex.
template <class In, class Out>
std::int64_t first_overflow(const AlongCall& call, const Columns& columns, Interruption& interruption) {
  const auto fits = [](Int128 sum) {
    return sum >= std::numeric_limits<Out>::min() && sum <= std::numeric_limits<Out>::max();
  };
  const auto [outer, length, inner] = call.axis;
  std::vector<Int128> sums(static_cast<std::size_t>(columns.count), *static_cast<const Out*>(call.init));
  for (std::int64_t row = 0; row < length; ++row) {
    if (row % kRowBlock == 0 && !interruption.goes_on()) return kNoIndex;
    const std::int64_t at = (columns.outer * length + row) * inner + columns.first;
    for (std::int64_t j = 0; j < columns.count; ++j) {
      Int128& sum = sums[static_cast<std::size_t>(j)];
      if (!call.reduces && call.exclusive && !fits(sum)) return at + j;
      sum += static_cast<const In*>(call.in)[at + j];
      if (!call.reduces && !call.exclusive && !fits(sum)) return at + j;
    }
  }
  for (std::int64_t j = 0; call.reduces && j < columns.count; ++j) {
    if (!fits(sums[static_cast<std::size_t>(j)])) return columns.outer * inner + columns.first + j;
  }
  return kNoIndex;
}

std::int64_t first_overflow(const AlongCall& call, const Columns& columns, Interruption& interruption) {
  return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
    return visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
      if constexpr (std::is_integral_v<Out> && std::is_integral_v<In>) {
        return first_overflow<In, Out>(call, columns, interruption);
      }
      return kNoIndex;
    });
  });
}

/// The work of one thread on columns.
class Worker {
 public:
  Worker(const AlongCall& call, const Policy& policy, std::int64_t most_columns, Interruption& interruption)
      : call_(call),
        interruption_(interruption),
        computed_(cpu::computed_in(call.out_type)),
        fold_(cpu::list_kernels(Isa::best).rows[cpu::at(computed_)][cpu::at(call.op)]),
        is_checked_(cpu::is_checked(call, policy) && !always_fits(call)),
        limit_(is_checked_ ? limit_of(call) : 0),
        row_bytes_(most_columns * size_of(computed_)),
        memory_(std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(5 * row_bytes_))),
        identity_(cpu::identity_of(computed_, call.op)) {
    cpu::convert_one(call.out_type, computed_, call.init, init_.bytes.data());
  }

  /// Returns the first output that does not fit, or kNoIndex. Also returns kNoIndex once the call is to stop.
  std::int64_t run(const Columns& columns) {
    magnitudes_ = 0;
    // In place, outputs overwrite the elements.
    const bool checks_before = is_checked_ && call_.in == call_.out;
    if (checks_before) {
      const std::int64_t bad = first_overflow(call_, columns, interruption_);
      if (bad != kNoIndex) return bad;
    }
    fill(total(), init_, columns.count);
    const bool in_blocks = is_float(computed_) && call_.axis.length > kRowBlock;
    for (std::int64_t row = 0; row < call_.axis.length; row += kRowBlock) {
      if (!interruption_.goes_on()) return kNoIndex;
      const std::int64_t end = std::min(call_.axis.length, row + kRowBlock);
      if (in_blocks) {
        fold_block(columns, row, end);
      } else {
        fold_rows(columns, row, end, total(), !call_.reduces);
      }
    }
    const auto bytes = static_cast<std::size_t>(columns.count * call_.out_size);
    if (call_.reduces) {
      std::byte* const out = out_at(columns.outer * call_.axis.inner + columns.first);
      convert(computed_, total(), call_.out_type, out, columns.count);
      if (call_.empty_is_zero && call_.axis.length == 0) std::memset(out, 0, bytes);
    } else if (call_.empty_is_zero && call_.exclusive && call_.axis.length > 0) {
      std::memset(out_at(index(columns, 0)), 0, bytes);
    }
    const bool surely_fits = !is_checked_ || checks_before || magnitudes_ <= limit_;
    return surely_fits ? kNoIndex : first_overflow(call_, columns, interruption_);
  }

 private:
  [[nodiscard]] std::byte* row(int i) const { return memory_.get() + i * row_bytes_; }
  [[nodiscard]] std::byte* total() const { return row(0); }
  [[nodiscard]] std::byte* block() const { return row(1); }
  [[nodiscard]] std::byte* running() const { return row(2); }
  [[nodiscard]] std::byte* elements() const { return row(3); }
  [[nodiscard]] std::byte* outputs() const { return row(4); }

  [[nodiscard]] std::int64_t index(const Columns& columns, std::int64_t row) const {
    return (columns.outer * call_.axis.length + row) * call_.axis.inner + columns.first;
  }
  [[nodiscard]] const std::byte* in_at(std::int64_t i) const {
    return static_cast<const std::byte*>(call_.in) + i * call_.in_size;
  }
  [[nodiscard]] std::byte* out_at(std::int64_t i) const {
    return static_cast<std::byte*>(call_.out) + i * call_.out_size;
  }
  [[nodiscard]] bool converts() const { return computed_ != call_.in_type; }
  [[nodiscard]] bool narrows() const { return computed_ != call_.out_type; }

  void fill(std::byte* to, const cpu::Value& value, std::int64_t count) const {
    const auto size = static_cast<std::size_t>(size_of(computed_));
    for (std::int64_t j = 0; j < count; ++j, to += size) std::memcpy(to, value.bytes.data(), size);
  }
  static void convert(Type from, const void* in, Type to, void* out, std::int64_t count) {
    if (from == to) {
      std::memcpy(out, in, static_cast<std::size_t>(count * size_of(from)));
    } else {
      cpu::kernels(Isa::best).convert[cpu::at(from)][cpu::at(to)](in, out, count);
    }
  }

  /// total ← total ⊕ (the fold of rows [first, last)). Scans write prefixes that start from the total before.
  void fold_block(const Columns& columns, std::int64_t first, std::int64_t last) {
    const std::int64_t n = columns.count;
    std::memcpy(running(), total(), static_cast<std::size_t>(row_bytes_));
    fill(block(), identity_, n);
    fold_rows(columns, first, last, block(), false);
    fold_(block(), 0, 1, n, total(), nullptr, 0, false);
    if (!call_.reduces) fold_rows(columns, first, last, running(), true);
  }

  void fold_rows(const Columns& columns, std::int64_t first, std::int64_t last, std::byte* to, bool writes) {
    const bool staged = converts() || (writes && narrows());
    const std::int64_t step = staged ? 1 : is_checked_ ? kBlockRows : last - first;
    for (std::int64_t row = first; row < last; row += step) {
      const std::int64_t rows = std::min(step, last - row);
      if (is_checked_) add_magnitudes(columns, row, rows);
      if (staged) {
        fold_staged(index(columns, row), columns.count, to, writes);
      } else {
        const std::int64_t at = index(columns, row);
        fold_(in_at(at), call_.axis.inner, rows, columns.count, to, writes ? out_at(at) : nullptr, call_.axis.inner,
              call_.exclusive);
      }
    }
  }

  /// Folds a block of a row whose elements or outputs do not have the type of the computation.
  void fold_staged(std::int64_t at, std::int64_t count, std::byte* to, bool writes) {
    if (converts()) convert(call_.in_type, in_at(at), computed_, elements(), count);
    const void* const from = converts() ? elements() : in_at(at);
    std::byte* const results = narrows() ? outputs() : out_at(at);
    fold_(from, 0, 1, count, to, writes ? results : nullptr, 0, call_.exclusive);
    if (writes && narrows()) convert(computed_, outputs(), call_.out_type, out_at(at), count);
  }

  /// No |element| exceeds the kernel's result by more than one.
  void add_magnitudes(const Columns& columns, std::int64_t first, std::int64_t rows) {
    const auto magnitude = cpu::kernels(Isa::best).magnitude[cpu::at(call_.in_type)];
    for (std::int64_t row = first; row < first + rows; ++row) {
      magnitudes_ += Int128{magnitude(in_at(index(columns, row)), columns.count)} + 1;
    }
  }

  const AlongCall& call_;
  Interruption& interruption_;
  Type computed_;
  cpu::FoldRows fold_;
  bool is_checked_;
  Int128 limit_;
  std::int64_t row_bytes_;
  std::unique_ptr<std::byte[]> memory_;
  cpu::Value init_;
  cpu::Value identity_;
  Int128 magnitudes_ = 0;
};

/// The number of columns that a worker processes at a time.
std::int64_t columns_at_once(const Axis& axis, int workers) {
  const std::int64_t share = cpu::ceil_div(axis.outer * axis.inner, std::int64_t{workers} * 2 * kFewestColumns);
  return std::min(axis.inner, std::clamp(share * kFewestColumns, kFewestColumns, kMostColumns));
}

/// Throws overflow, interrupted.
void run(const Policy& policy, const AlongCall& call, const detail::GoOn& go_on) {
  require_no_rung(policy.rung);
  require_checks(call, policy.overflow);
  const Axis& axis = call.axis;
  if (axis.outer * axis.inner == 0) return;
  const int threads = cpu::list_workers(0, call.n * call.in_size, policy.threads);
  const std::int64_t each = columns_at_once(axis, threads);
  const std::int64_t blocks = cpu::ceil_div(axis.inner, each);
  // With nothing left to do, the caller's thread would not check whether to continue.
  const auto workers = static_cast<int>(std::min<std::int64_t>(threads, axis.outer * blocks));
  Interruption interruption(&go_on);
  cpu::LowestIndex first_bad;
  std::atomic<std::int64_t> next{0};
  cpu::run_allocating_workers(workers, [&](int) {
    Worker worker(call, policy, each, interruption);
    for (std::int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < axis.outer * blocks;) {
      const std::int64_t first = i % blocks * each;
      first_bad.add(worker.run({i / blocks, first, std::min(each, axis.inner - first)}));
    }
  });
  if (interruption.is_stopped()) throw Error(Code::interrupted, "interrupted");
  const std::int64_t bad = first_bad.get();
  if (bad == kNoIndex) return;
  throw Error(Code::overflow, "output " + std::to_string(bad) + " does not fit " + std::string(name(call.out_type)),
              bad);
}

AlongCall along_call(Operator op, const Axis& axis, ConstArray in, Array out, const Beginning& beginning) {
  AlongCall call;
  describe_fold(call, op, in, out.type);
  detail::require_array(out.data, out.length, "output");
  if (axis.outer < 0 || axis.length < 0 || axis.inner < 0) {
    throw Error(Code::invalid_argument, "the lengths of an axis must not be negative");
  }
  detail::require_equal_lengths(in.length, axis.outer * axis.length * axis.inner);
  call.axis = axis;
  call.out = out.data;
  call.init = beginning.init.bytes;
  call.empty_is_zero = beginning.empty_is_zero;
  return call;
}

}  // namespace

void scan_along(const Policy& policy, const ScanOptions& options, const Axis& axis, ConstArray in, Array out,
                const void* init, const detail::GoOn& go_on) {
  const Beginning beginning = beginning_of(options.op, out.type, init);
  AlongCall call = along_call(options.op, axis, in, out, beginning);
  detail::require_equal_lengths(in.length, out.length);
  if (!detail::same_or_apart(in.data, call.n * call.in_size, out.data, call.n * call.out_size)) {
    throw Error(Code::invalid_argument, "input and output overlap: they must be the same array or disjoint");
  }
  call.exclusive = options.exclusive;
  run(policy, call, go_on);
}

void reduce_along(const Policy& policy, Operator op, const Axis& axis, ConstArray in, Array out, const void* init,
                  const detail::GoOn& go_on) {
  const Beginning beginning = beginning_of(op, out.type, init);
  AlongCall call = along_call(op, axis, in, out, beginning);
  detail::require_equal_lengths(out.length, axis.outer * axis.inner);
  CallArrays arrays;
  arrays.read(in.data, in.length, call.in_size);
  arrays.write(out.data, out.length, call.out_size);
  arrays.require_apart();
  call.reduces = true;
  run(policy, call, go_on);
}

}  // namespace upsweep::dynamic
