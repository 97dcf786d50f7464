// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/cpu_shares.cpp: tuples of short lists from a table, by whole vectors; threads share the
// tuples.
//
// Idea   A list of up to 15 elements with at most 64 tuples takes its tuples from a table for its length and adds its
//        start. Other lists are walked in runs of tuples in which only the last position grows. Work is split by
//        tuples, also within a list: a binary search finds the list, and another one the tuple in it. Tuples are
//        gathered in the core's L1/L2 cache. If the outputs do not fit the caches, stores bypass the caches.
// Cost   Bounds are read three times (counts, offsets, tuples), the tuples written once. Work n/8 per tuple if lists
//        are short or very long; depth that of 65,536 tuples.
// Needs  AVX-512, AVX2 or baseline.
// Limit  Memory bandwidth. Runs of a few elements: cartesian products of short lists, and medium lists with n > 2.
// From   Own.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>

#include "cpu/combination_kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/lists.hpp"
#include "problems/lists/combinations/rung.hpp"

namespace upsweep::impl::combinations {

namespace {

using cpu::kTableLists;
using cpu::kTableTuples;

/// Number of tuples of a share.
constexpr std::int64_t kShare = cpu::tuning::kCombinations.work_unit;
/// Minimum number of positions and lists per worker.
constexpr std::int64_t kWork = cpu::tuning::kCombinations.work;
/// Number of tuples that are gathered before they are written.
constexpr std::int64_t kGathered = cpu::tuning::kCombinations.gathered;
/// Outputs of this many bytes or more are stored past the caches. Smaller outputs may be read again soon.
constexpr std::int64_t kNonTemporalBytes = cpu::tuning::kBlocks.non_temporal_bytes;
/// Maximum number of positions of a tuple for which a table is made.
constexpr std::int64_t kTablePositions = cpu::tuning::kCombinations.table_positions;
/// Calls with fewer tuples do not use a table.
constexpr std::int64_t kLeastWithTable = cpu::tuning::kCombinations.table_tuples;

/// The tuples of all lists that are short enough. Throws std::bad_alloc.
class Table {
 public:
  explicit Table(const Call& call) : table_{.n = call.n, .counts = {}, .positions = nullptr} {
    std::fill_n(table_.counts, kTableLists, kNoIndex);
    if (call.is_cartesian || call.n > kTablePositions || call.total < kLeastWithTable) return;
    positions_.resize(static_cast<std::size_t>(kTableLists * call.n * kTableTuples));
    table_.positions = positions_.data();
    for (std::int64_t length = 0; length < kTableLists; ++length) fill(call, length);
  }

  [[nodiscard]] const cpu::TupleTable& get() const { return table_; }

 private:
  void fill(const Call& call, std::int64_t length) {
    const std::int64_t tuples = combinations_of(length, call.n, call.replacement);
    if (tuples > kTableTuples) return;
    table_.counts[length] = tuples;
    Walk walk(call.n, call.replacement);
    walk.length(0) = length;
    if (tuples > 0) walk.start(0);
    for (std::int64_t k = 0; k < tuples; ++k, walk.skip(1)) {
      for (std::int64_t d = 0; d < call.n; ++d) {
        positions_[static_cast<std::size_t>((length * call.n + d) * kTableTuples + k)] = walk.digit(d);
      }
    }
  }

  cpu::TupleTable table_;
  std::vector<std::int64_t> positions_;
};

/// Writes the tuples of one worker. The constructor throws std::bad_alloc.
class Writer {
 public:
  Writer(const Call& call, const Table& table, Isa isa, TupleWorkUnit& work_unit)
      : call_(call),
        table_(table.get()),
        tuples_(cpu::combination_kernels(isa).tuples),
        copy_(cpu::kernels(isa).copy),
        past_caches_(call.total * call.n * std::int64_t{sizeof(std::int64_t)} >= kNonTemporalBytes),
        work_unit_(work_unit),
        walk_(walk_of(call)),
        gathered_(std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(call.n * kRow))) {
    for (std::int64_t d = 0; d < call.n; ++d) rows_.push_back(gathered_.get() + d * kRow);
  }

  /// Writes tuples first … last - 1 of the call; there is at least one.
  void write_tuples(std::int64_t first, std::int64_t last) {
    const auto& starts = call_.plan->first_tuple;
    std::int64_t which = std::upper_bound(starts.begin(), starts.end(), first) - starts.begin() - 1;
    next_ = first;
    left_ = last - first;
    std::int64_t skipped = first - starts[static_cast<std::size_t>(which)];
    for (; left_ > 0; ++which) {
      (void)work_unit_.read(which);
      write_work_unit(skipped);
      skipped = 0;
    }
    flush();
  }

 private:
  static constexpr std::int64_t kRow = kGathered + kTableTuples;

  /// Writes the lists of the work unit from its tuple number `skipped` on, until no tuple of the share is left.
  void write_work_unit(std::int64_t skipped) {
    std::int64_t i = 0;
    while (i < work_unit_.count() && skipped >= work_unit_.tuples(i)) skipped -= work_unit_.tuples(i++);
    while (i < work_unit_.count() && left_ > 0) {
      if (skipped == 0) {
        const std::int64_t done = write_short_lists(i);
        i += done;
        if (done > 0) continue;
      }
      write_list(i++, skipped);
      skipped = 0;
    }
  }

  /// Writes whole lists from i on as long as the table has them. Returns their number.
  std::int64_t write_short_lists(std::int64_t i) {
    if (gathered_count_ > kGathered - kTableTuples) flush();
    const std::int64_t before = gathered_count_;
    const std::int64_t capacity = std::min(kGathered - gathered_count_, left_);
    const std::int64_t done = tuples_(table_, work_unit_.input(0).starts + i, work_unit_.input(0).lengths + i,
                                      work_unit_.count() - i, rows_.data(), gathered_count_, capacity);
    left_ -= gathered_count_ - before;
    return done;
  }

  /// Writes the tuples of list i from number `skipped` on.
  void write_list(std::int64_t i, std::int64_t skipped) {
    std::int64_t todo = std::min(work_unit_.tuples(i) - skipped, left_);
    if (todo <= 0) return;
    left_ -= todo;
    set_lengths(walk_, work_unit_, i);
    walk_.start(skipped);
    while (todo > 0) {
      if (gathered_count_ == kGathered) flush();
      const std::int64_t count = std::min({walk_.run(), todo, kGathered - gathered_count_});
      for (std::int64_t d = 0; d < call_.n; ++d) {
        write_run(rows_[static_cast<std::size_t>(d)] + gathered_count_, count,
                  work_unit_.at(d).starts[i] + walk_.digit(d), d + 1 == call_.n);
      }
      gathered_count_ += count;
      todo -= count;
      walk_.skip(count);
    }
  }

  /// Writes eight elements at a time; the buffer is longer than its tuples.
  static void write_run(std::int64_t* to, std::int64_t count, std::int64_t first, bool grows) {
    const std::int64_t step = grows ? 1 : 0;
    for (std::int64_t k = 0; k < count; k += 8) {
      for (std::int64_t j = 0; j < 8; ++j) to[k + j] = first + (k + j) * step;
    }
  }

  void flush() {
    const std::int64_t bytes = gathered_count_ * std::int64_t{sizeof(std::int64_t)};
    for (std::int64_t d = 0; d < call_.n; ++d) {
      std::int64_t* const to = call_.out[d] + next_;
      const std::int64_t* const from = rows_[static_cast<std::size_t>(d)];
      if (past_caches_) {
        copy_(to, from, bytes);
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
      }
    }
    next_ += gathered_count_;
    gathered_count_ = 0;
  }

  const Call& call_;
  const cpu::TupleTable& table_;
  decltype(cpu::CombinationKernels::tuples) tuples_;
  decltype(cpu::KernelTable::copy) copy_;
  bool past_caches_;
  TupleWorkUnit& work_unit_;
  Walk walk_;
  std::unique_ptr<std::int64_t[]> gathered_;
  std::vector<std::int64_t*> rows_;
  std::int64_t gathered_count_ = 0;  // tuples in rows_
  std::int64_t next_ = 0;            // output position of the first of them
  std::int64_t left_ = 0;            // tuples of the share that are not in rows_ yet
};

/// Writes the offsets of the lists of work unit number `which`.
void write_offsets(const Call& call, TupleWorkUnit& work_unit, std::int64_t which) {
  (void)work_unit.read(which);
  std::int64_t total = call.plan->first_tuple[static_cast<std::size_t>(which)];
  std::int64_t* const offsets = call.offsets + which * cpu::kBlockLists;
  for (std::int64_t i = 0; i < work_unit.count(); ++i) {
    offsets[i] = total;
    total += work_unit.tuples(i);
  }
}

/// Buffers are made only if there are tuples to write, because a tuple may have very many positions.
Status run(Call& call, const Policy& policy) noexcept try {
  const std::int64_t work_units = call.offsets == nullptr ? 0 : work_unit_count(call);
  const std::int64_t shares = call.out == nullptr ? 0 : cpu::ceil_div(call.total, kShare);
  if (call.offsets != nullptr) call.offsets[list_count(call)] = call.total;
  // The work determines the number of threads. If it overflows, it is enough for all threads.
  std::int64_t work = list_count(call);
  if (shares > 0) work += std::min(call.total, std::int64_t{1} << 40) * std::min<std::int64_t>(call.n, 64);
  const std::optional<Table> table = shares > 0 ? std::optional<Table>(std::in_place, call) : std::nullopt;
  std::atomic<std::int64_t> ticket{0};
  std::atomic<bool> no_memory{false};
  cpu::run_workers(cpu::workers_for(work, kWork, policy.threads), [&](int) noexcept {
    try {
      TupleWorkUnit work_unit(call, policy.isa);
      std::optional<Writer> writer;
      for (std::int64_t mine = ticket++; mine < work_units + shares; mine = ticket++) {
        if (mine < work_units) {
          write_offsets(call, work_unit, mine);
        } else {
          if (!writer) writer.emplace(call, *table, policy.isa, work_unit);
          const std::int64_t first = (mine - work_units) * kShare;
          writer->write_tuples(first, std::min(first + kShare, call.total));
        }
      }
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  });
  return {no_memory ? Code::out_of_memory : Code::ok};
} catch (const std::bad_alloc&) {
  return {Code::out_of_memory};
}

const char* refusal(const Call&, const Policy& policy) noexcept { return isa_refusal(policy.isa); }

}  // namespace

extern const Rung cpu_shares{.info = {.id = "cpu.shares",
                                      .idea = "short lists from a table, by vectors; shares of tuples",
                                      .needs = "AVX2, AVX-512 or baseline",
                                      .traffic = "lists read, tuples written",
                                      .cost = "t·n/8, t·n/(8p) for lists of up to 15 elements and 64 tuples",
                                      .limit = "memory bandwidth"},
                             .refusal = refusal,
                             .run = run};

}  // namespace upsweep::impl::combinations
