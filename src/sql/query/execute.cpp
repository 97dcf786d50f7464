// SPDX-License-Identifier: Apache-2.0
// sql/query/execute.cpp: threads take parts of a table, or chunks of a part that others read; chunks are merged in the table's order.
//
// A thread reads a part front to back and folds each chunk at once: a batch, which then lies in cache, or for a GPU many.
// Once every part is taken, threads that are free help with the parts still open, one reading while the others compute: so
// a table of a single part, such as an Arrow IPC stream, keeps all of them busy too. Chunks are folded alone and merged in
// order, whoever computed them: floats have the same bits on any number of threads, and of several errors the one of the
// earliest chunk is thrown.
#include "sql/query/execute.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "core/ladder.hpp"
#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "sql/query/cpu_folder.hpp"
#include "sql/query/part_reader.hpp"
#include "sql/query/statistics.hpp"

namespace upsweep::query {
namespace {

/// Plans with fewer conditions, for parts whose statistics prove the others; made as they are seen.
class Reduced {
 public:
  /// The arguments outlive this.
  Reduced(const QueryPlan& plan, const Table& table) : plan_(plan), table_(table) {}

  const QueryPlan& plan_for(int part) {
    std::vector<bool> kept;
    kept.reserve(plan_.filters.size());
    // Those that can fail stay: whether a row fails does not depend on statistics.
    for (const Node& filter : plan_.filters) {
      kept.push_back(filter->can_fail || !must_hold(*filter, plan_, table_, part));
    }
    const auto [found, is_new] = plans_.try_emplace(kept);
    if (!is_new) return found->second;
    QueryPlan& plan = found->second = plan_;
    plan.filters.clear();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) plan.filters.push_back(plan_.filters[i]);
    }
    return plan;
  }

 private:
  const QueryPlan& plan_;
  const Table& table_;
  std::map<std::vector<bool>, QueryPlan> plans_;
};

// ---------------------------------------------------------------------------------------------------------------- chunks

/// Where a chunk stands in the table.
struct ChunkPlace {
  int part;
  std::int64_t chunk;
  auto operator<=>(const ChunkPlace&) const = default;
};

struct TablePart {
  const QueryPlan* plan = nullptr;
  std::mutex reading;
  std::unique_ptr<BatchReader> reader;
  std::int64_t chunks = 0;  ///< handed out
  bool ended = false;
  // Under the executor's lock:
  std::map<std::int64_t, std::unique_ptr<Totals::FoldedChunk>>
      waiting;  ///< chunks whose predecessors are not in the totals
  std::int64_t added = 0;
  std::int64_t count = -1;  ///< of its chunks; -1: it has not ended
};

/// Chunks for each worker that may wait for the totals while threads begin parts of their own. Where more wait, threads begin the first
/// part that nobody has begun. Where kMostAhead times as many wait, they begin no part, and read those that others wait for.
constexpr int kMostWaiting = 4;
constexpr int kMostAhead = 4;
/// Groups up to which further chunks are folded into them: they are in a core's L2 cache then.
constexpr std::int64_t kMostHeld = 1 << 14;
/// The same for groups that are found at once: an entry of a table, a sum and a count of each are touched. Each group must have
/// several rows for every worker, as all workers' groups are merged at the end.
constexpr std::int64_t kMostCached = 1 << 18;
constexpr std::int64_t kRowsOfEach = 16;

class Executor {
 public:
  Executor(const QueryPlan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
           std::unique_ptr<Totals> totals)
      : table_(table),
        folding_(folding),
        progress_(progress),
        reduced_(plan, table),
        total_{.totals = std::move(totals)},
        totals_(*total_.totals) {
    for (int part = 0; part < table.parts(); ++part) {
      if (may_match(plan, table, part)) matching_.push_back(part);
    }
    parts_ = std::vector<TablePart>(matching_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].plan = folding.may_drop_conditions ? &reduced_.plan_for(matching_[i]) : &plan;
    }
  }

  Folded run(int workers) {
    share_parts(static_cast<std::size_t>(workers));
    folding_now_ = workers;
    cpu::run_workers(workers, [&](int worker) { work(work_units_[static_cast<std::size_t>(worker)]); });
    if (error_) std::rethrow_exception(error_);
    totals_.merge_all(workers);  // now that the last chunk has come, which may be most of all: each thread has one then
    return std::move(total_);
  }

 private:
  /// Parts that a worker has not begun.
  struct WorkUnit {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void work(WorkUnit& own) noexcept {
    const int count = static_cast<int>(parts_.size());
    try {
      std::map<const QueryPlan*, std::unique_ptr<Folder>> folders;
      const auto folder_of = [&](const TablePart& part) -> Folder& {
        const auto found = folders.find(part.plan);
        if (found != folders.end()) return *found->second;
        return *folders.emplace(part.plan, folding_.make_folder(*part.plan)).first->second;
      };
      Held held;
      for (int part = next_part(own); part < count; part = next_part(own)) take_chunks(part, folder_of, held);
      for (int part = 0; part < count; ++part) take_chunks(part, folder_of, held);
      release(held);
      if (--folding_now_ == 0) none_folds_ = true;
      if (!has_failed_) totals_.merge_some(&none_folds_);  // while others fold
      const std::lock_guard lock(mutex_);
      for (const auto& [plan, folder] : folders) folder->add_cost(total_);
    } catch (...) {
      fail({std::numeric_limits<int>::max(), 0}, std::current_exception());  // of no chunk: theirs come first
    }
  }

  /// A worker's parts follow each other where what it folds can be one chunk; otherwise all have the same ones.
  void share_parts(std::size_t workers) {
    work_units_.resize(workers);
    for (std::size_t w = 0; w < workers; ++w) {
      if (folding_.joins_chunks) {
        work_units_[w] = {parts_.size() * w / workers, parts_.size() * (w + 1) / workers};
      } else if (w == 0) {
        work_units_[w] = {0, parts_.size()};
      }
    }
  }

  /// The next part of a worker's own; where many chunks wait for those of earlier parts, the first that nobody has begun, and where
  /// far too many do, the first that has chunks left.
  int next_part(WorkUnit& own) {
    const std::lock_guard lock(mutex_);
    const int enough = kMostWaiting * folding_.workers;
    if (waiting_ > kMostAhead * enough && !has_failed_) {
      const auto unread = [](const TablePart& part) { return part.count < 0; };
      const auto earliest = std::find_if(parts_.begin() + static_cast<std::ptrdiff_t>(added_), parts_.end(), unread);
      if (earliest != parts_.end()) return static_cast<int>(earliest - parts_.begin());
    }
    if (waiting_ > enough) {
      const auto next_of = [&](const WorkUnit& unit) { return unit.begin < unit.end ? unit.begin : parts_.size(); };
      WorkUnit& first =
          *std::min_element(work_units_.begin(), work_units_.end(),
                            [&](const WorkUnit& a, const WorkUnit& b) { return next_of(a) < next_of(b); });
      return static_cast<int>(first.begin < first.end ? first.begin++ : parts_.size());
    }
    WorkUnit& from = folding_.joins_chunks ? own : work_units_[0];
    if (from.begin == from.end) steal_for(from);
    return static_cast<int>(from.begin == from.end ? parts_.size() : from.begin++);
  }

  /// The later half of what the worker has left that has most.
  void steal_for(WorkUnit& own) {
    WorkUnit& most =
        *std::max_element(work_units_.begin(), work_units_.end(),
                          [](const WorkUnit& a, const WorkUnit& b) { return a.end - a.begin < b.end - b.begin; });
    own = {most.begin + (most.end - most.begin) / 2, most.end};
    most.end = own.begin;
  }

  /// The groups of chunks that follow each other: one chunk, at the place of the first. The others are in order without
  /// anything.
  struct Held {
    std::optional<Groups> groups;
    Folder* folder = nullptr;
    ChunkPlace first = {};
    ChunkPlace last = {};
  };

  /// Whether a chunk is the next one.
  bool follows(ChunkPlace last, ChunkPlace next) {
    if (last.part == next.part) return next.chunk == last.chunk + 1;
    const std::lock_guard lock(mutex_);
    return last.part + 1 == next.part && next.chunk == 0 &&
           parts_[static_cast<std::size_t>(last.part)].count == last.chunk + 1;
  }

  void release(Held& held) {
    if (!held.groups) return;
    held.folder->finish(*held.groups);
    finish(held.first, totals_.chunk_of(*held.groups));
    held.folder->reuse(std::move(*held.groups));
    held.groups.reset();
  }

  void fold(std::span<const Batch> batches, ChunkPlace place, Folder& folder, Held& held) {
    if (held.groups && held.folder == &folder && follows(held.last, place)) {
      folder.fold_on(batches, *held.groups);
      finish(place, nullptr);
    } else {
      release(held);
      held = {folder.begin(batches), &folder, place, place};
    }
    held.last = place;
    // Others wait for it to be in the totals, for which it holds.
    const bool is_full = (held.groups->count() >= kMostHeld && !held.folder->are_cached(*held.groups)) ||
                         held.groups->unaggregated().count() > 0;
    if (!folding_.joins_chunks || is_full || waiting_ > kMostWaiting) release(held);
  }

  /// Of this part; while too much waits for chunks of earlier ones, those first.
  template <class FolderOf>
  void take_chunks(int number, const FolderOf& folder_of, Held& held) noexcept {
    bool helps = true;
    for (;;) {
      ChunkPlace place{helps ? next_to_read(number) : number, 0};
      try {
        TablePart& part = parts_[static_cast<std::size_t>(place.part)];
        const std::vector<Batch> batches = read(part, place);
        if (batches.empty() && place.part != number) {
          helps = false;  // others are at its last chunks
          continue;
        }
        helps = true;
        if (batches.empty() || is_too_late(place)) return;
        std::int64_t rows = 0;
        for (const Batch& batch : batches) rows += batch.rows;
        fold(batches, place, folder_of(part), held);
        count_rows(rows);
        totals_.merge_some(&are_all_read_);
      } catch (...) {
        fail(place, std::current_exception());
        return;
      }
    }
  }

  int next_to_read(int number) {
    if (waiting_bytes_ <= totals_.most_waiting()) return number;
    const std::lock_guard lock(mutex_);
    return added_ < parts_.size() ? std::min(number, static_cast<int>(added_)) : number;
  }

  /// The part's next chunk; none where it has ended, or where nobody waits for it.
  std::vector<Batch> read(TablePart& part, ChunkPlace& place) {
    const std::lock_guard lock(part.reading);
    std::vector<Batch> batches;
    place.chunk = part.chunks;
    if (part.ended || is_too_late(place)) return batches;
    part.ended = true;  // should what follows throw
    if (!part.reader)
      part.reader = open_part(*part.plan, table_, matching_[static_cast<std::size_t>(place.part)], folding_);
    bool ended = false;
    while (!ended && std::ssize(batches) < folding_.batches) {
      Batch batch;
      ended = !part.reader->next(batch);
      if (batch.rows > 0) {
        batches.push_back(std::move(batch));
      } else if (!ended) {
        count_rows(0);  // calls progress_, which may throw to end the query
        if (is_too_late(place)) return {};
      }
    }
    part.ended = ended;
    if (ended) part.reader.reset();
    if (!batches.empty()) ++part.chunks;
    if (ended) {
      const std::lock_guard merging(mutex_);
      part.count = part.chunks;
      are_all_read_ = ++read_ == std::ssize(parts_);
      add_chunks();
    }
    return batches;
  }

  /// A chunk, or null for one whose groups an earlier one has.
  void finish(ChunkPlace place, std::unique_ptr<Totals::FoldedChunk> chunk) {
    const std::lock_guard lock(mutex_);
    if (chunk) {
      waiting_bytes_ += chunk->bytes;
      ++waiting_;
    }
    parts_[static_cast<std::size_t>(place.part)].waiting.emplace(place.chunk, std::move(chunk));
    add_chunks();
  }

  void count_rows(std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    total_.rows += rows;
    if (progress_) progress_(total_.rows);
  }

  /// Chunks join the totals in the table's order.
  void add_chunks() {
    for (; added_ < parts_.size(); ++added_) {
      TablePart& part = parts_[added_];
      for (auto next = part.waiting.begin(); next != part.waiting.end() && next->first == part.added;
           next = part.waiting.erase(next), ++part.added) {
        if (!next->second) continue;
        waiting_bytes_ -= next->second->bytes;
        --waiting_;
        totals_.add(std::move(next->second));
      }
      if (part.added != part.count) return;
    }
  }

  void fail(ChunkPlace place, std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (error_ && failed_ < place) return;
    error_ = std::move(error);
    failed_ = place;
    has_failed_ = true;
  }
  /// Whether an earlier chunk has failed.
  bool is_too_late(ChunkPlace place) {
    if (!has_failed_) return false;
    const std::lock_guard lock(mutex_);
    return failed_ < place;
  }

  const Table& table_;
  const Folding& folding_;
  const QueryProgress& progress_;
  Reduced reduced_;
  Folded total_;
  Totals& totals_;
  std::vector<int> matching_;     ///< the parts that may have rows
  std::vector<TablePart> parts_;  ///< of these
  std::size_t added_ = 0;         ///< parts that are in the totals
  std::ptrdiff_t read_ = 0;       ///< parts of which nothing is left to be read
  std::atomic<bool> are_all_read_{false};
  std::atomic<int> folding_now_{0};  ///< workers
  std::atomic<bool> none_folds_{false};
  std::vector<WorkUnit> work_units_;  ///< by worker
  std::mutex mutex_;
  std::atomic<std::int64_t> waiting_bytes_{0};  ///< of chunks that are not in the totals
  std::atomic<int> waiting_{0};                 ///< such chunks
  std::atomic<bool> has_failed_{false};
  ChunkPlace failed_{};
  std::exception_ptr error_;
};

/// Whether it does not matter in which order rows are added up.
bool is_exact(const QueryPlan& plan) {
  return std::none_of(plan.aggregates.begin(), plan.aggregates.end(), [](const Aggregate& aggregate) {
    return aggregate.fold == Fold::sum && aggregate.type.kind == ValueKind::real;
  });
}

/// One for each batch, if it is known how many there are. In memory a batch takes a core 20 us where few rows are kept
/// (Xeon), as long as a thread takes to wake, and 400 us for TPC-H Q1; from Parquet more than 2 ms.
int workers_of(std::int64_t rows, int threads) {
  return rows < 0 ? cpu::worker_count(threads) : cpu::workers_for(cpu::parts(rows, kBatchRows), 1, threads);
}

}  // namespace

Folded execute(const QueryPlan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
               std::unique_ptr<Totals> totals) {
  return Executor(plan, table, folding, progress, std::move(totals)).run(folding.workers);
}

Folded execute(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
               std::unique_ptr<Totals> totals) {
  require_policy(policy);
  const Kernels& best = kernels(policy.isa);
  const int workers = workers_of(table.rows(), policy.threads);
  const bool joins = is_exact(plan);
  const std::int64_t each = table.rows() < 0 ? 0 : table.rows() / workers / kRowsOfEach;
  const std::int64_t most_cached = joins ? std::min(each, kMostCached) : 0;
  const Folding folding{
      .kernels = best,
      .workers = workers,
      .batches = 1,
      .may_drop_conditions = true,
      .may_repeat_texts = true,
      .joins_chunks = joins,
      .make_folder = [&](const QueryPlan& reduced) { return std::make_unique<CpuFolder>(reduced, best, most_cached); }};
  return execute(plan, table, folding, progress, std::move(totals));
}

}  // namespace upsweep::query
