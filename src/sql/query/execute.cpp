// SPDX-License-Identifier: Apache-2.0
// sql/query/execute.cpp: threads take row groups of a table, or chunks of a row group that others read. Chunks are
// merged in the table's order.
//
// A thread reads a row group from front to back and folds each chunk immediately. A chunk is one batch, which is then
// in cache, or many batches for a GPU. Once every row group is taken, idle threads join the row groups that are still
// open: one thread reads while the others compute. A table of a single row group, such as an Arrow IPC stream,
// therefore also keeps all threads busy.
//
// Chunks are folded separately and merged in order, independent of the thread that computed them. Floats have the same
// bits on any number of threads, and of several errors the one of the earliest chunk is thrown.
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
#include "cpu/work_partition.hpp"
#include "sql/query/cpu_folder.hpp"
#include "sql/query/reduced_plans.hpp"
#include "sql/query/row_group_reader.hpp"
#include "sql/query/statistics.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {
namespace {

// -------------------------------------------------------------------------------------------------------------- chunks

/// Position of a chunk in the table.
struct ChunkPlace {
  int row_group;
  std::int64_t chunk;
  auto operator<=>(const ChunkPlace&) const = default;
};

struct TableRowGroup {
  const QueryPlan* plan = nullptr;
  std::mutex reading;
  std::unique_ptr<BatchReader> reader;
  std::int64_t chunks = 0;  ///< chunks that were handed out
  bool ended = false;
  // The executor's lock guards:
  std::map<std::int64_t, std::unique_ptr<Totals::FoldedChunk>>
      waiting;  ///< chunks whose predecessors are not in the totals
  std::int64_t added = 0;
  std::int64_t count = -1;  ///< number of chunks; -1: the row group has not ended
};

/// Chunks per worker that may wait for the totals while threads begin their assigned row groups. If more chunks wait,
/// threads begin the first row group that no thread has begun. If kMostAhead times this number wait, they begin no row
/// group, and read those that other chunks wait for.
constexpr int kMostWaiting = tuning::kWorkers.most_waiting;
constexpr int kMostAhead = tuning::kWorkers.most_ahead;
/// Number of groups up to which further chunks are folded into them.
constexpr std::int64_t kMostHeld = tuning::kWorkers.most_held;
/// Like kMostHeld, for groups that are found immediately. Each group must have several rows for every worker.
constexpr std::int64_t kMostCached = tuning::kWorkers.most_cached;
constexpr std::int64_t kRowsOfEach = tuning::kWorkers.rows_of_each;

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
    for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
      if (may_match(plan, table, row_group)) matching_.push_back(row_group);
    }
    row_groups_ = std::vector<TableRowGroup>(matching_.size());
    for (std::size_t i = 0; i < row_groups_.size(); ++i) {
      row_groups_[i].plan = folding.reading.may_drop_conditions ? &reduced_.plan_for(matching_[i]) : &plan;
    }
  }

  Folded run(int workers) {
    share_row_groups(static_cast<std::size_t>(workers));
    folding_now_ = workers;
    cpu::run_workers(workers, [&](int worker) { work(work_units_[static_cast<std::size_t>(worker)]); });
    if (error_) std::rethrow_exception(error_);
    totals_.merge_all(workers);  // chunks that threads held until now may be most of the data
    return std::move(total_);
  }

 private:
  /// Row groups that a worker has not begun.
  struct WorkUnit {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  void work(WorkUnit& own) noexcept {
    const int count = static_cast<int>(row_groups_.size());
    try {
      std::map<const QueryPlan*, std::unique_ptr<Folder>> folders;
      const auto folder_of = [&](const TableRowGroup& row_group) -> Folder& {
        const auto found = folders.find(row_group.plan);
        if (found != folders.end()) return *found->second;
        return *folders.emplace(row_group.plan, folding_.make_folder(*row_group.plan)).first->second;
      };
      Held held;
      for (int row_group = next_row_group(own); row_group < count; row_group = next_row_group(own))
        take_chunks(row_group, folder_of, held);
      for (int row_group = 0; row_group < count; ++row_group) take_chunks(row_group, folder_of, held);
      release(held);
      if (--folding_now_ == 0) none_folds_ = true;
      if (!has_failed_) totals_.merge_some(&none_folds_);  // while others fold
      const std::lock_guard lock(mutex_);
      for (const auto& [plan, folder] : folders) folder->add_cost(total_);
    } catch (...) {
      fail({std::numeric_limits<int>::max(), 0}, std::current_exception());  // errors of chunks take precedence
    }
  }

  /// Assigns consecutive row groups to a worker if it may join what it folds to one chunk. Otherwise all workers share
  /// one list.
  void share_row_groups(std::size_t workers) {
    work_units_.resize(workers);
    for (std::size_t w = 0; w < workers; ++w) {
      if (folding_.joins_chunks) {
        work_units_[w] = {row_groups_.size() * w / workers, row_groups_.size() * (w + 1) / workers};
      } else if (w == 0) {
        work_units_[w] = {0, row_groups_.size()};
      }
    }
  }

  /// Returns the worker's next row group. If many chunks wait for those of earlier row groups, returns the first one
  /// that no thread has begun. If far too many wait, returns the first one that has chunks left.
  int next_row_group(WorkUnit& own) {
    const std::lock_guard lock(mutex_);
    const int enough = kMostWaiting * folding_.workers;
    if (waiting_ > kMostAhead * enough && !has_failed_) {
      const auto unread = [](const TableRowGroup& row_group) { return row_group.count < 0; };
      const auto earliest =
          std::find_if(row_groups_.begin() + static_cast<std::ptrdiff_t>(added_), row_groups_.end(), unread);
      if (earliest != row_groups_.end()) return static_cast<int>(earliest - row_groups_.begin());
    }
    if (waiting_ > enough) {
      const auto next_of = [&](const WorkUnit& work_unit) {
        return work_unit.begin < work_unit.end ? work_unit.begin : row_groups_.size();
      };
      WorkUnit& first =
          *std::min_element(work_units_.begin(), work_units_.end(),
                            [&](const WorkUnit& a, const WorkUnit& b) { return next_of(a) < next_of(b); });
      return static_cast<int>(first.begin < first.end ? first.begin++ : row_groups_.size());
    }
    WorkUnit& from = folding_.joins_chunks ? own : work_units_[0];
    if (from.begin == from.end) steal_for(from);
    return static_cast<int>(from.begin == from.end ? row_groups_.size() : from.begin++);
  }

  /// Takes the later half of the remaining row groups of the worker that has the most.
  void steal_for(WorkUnit& own) {
    WorkUnit& most =
        *std::max_element(work_units_.begin(), work_units_.end(),
                          [](const WorkUnit& a, const WorkUnit& b) { return a.end - a.begin < b.end - b.begin; });
    own = {most.begin + (most.end - most.begin) / 2, most.end};
    most.end = own.begin;
  }

  /// The groups of consecutive chunks, which form one chunk at the place of the first. The other chunks are added to
  /// the order without groups.
  struct Held {
    std::optional<Groups> groups;
    Folder* folder = nullptr;
    ChunkPlace first = {};
    ChunkPlace last = {};
  };

  /// Returns whether a chunk is the next one.
  bool follows(ChunkPlace last, ChunkPlace next) {
    if (last.row_group == next.row_group) return next.chunk == last.chunk + 1;
    const std::lock_guard lock(mutex_);
    return last.row_group + 1 == next.row_group && next.chunk == 0 &&
           row_groups_[static_cast<std::size_t>(last.row_group)].count == last.chunk + 1;
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
    // Other chunks wait until it is in the totals.
    const bool is_full = (held.groups->count() >= kMostHeld && !held.folder->are_cached(*held.groups)) ||
                         held.groups->unaggregated().count() > 0;
    if (!folding_.joins_chunks || is_full || waiting_ > kMostWaiting) release(held);
  }

  /// Folds the chunks of this row group. While too many bytes wait for chunks of earlier row groups, those are folded
  /// first.
  template <class FolderOf>
  void take_chunks(int number, const FolderOf& folder_of, Held& held) noexcept {
    bool helps = true;
    for (;;) {
      ChunkPlace place{helps ? next_to_read(number) : number, 0};
      try {
        TableRowGroup& row_group = row_groups_[static_cast<std::size_t>(place.row_group)];
        std::vector<Batch> batches = read(row_group, place);
        if (batches.empty() && place.row_group != number) {
          helps = false;  // other threads process its last chunks
          continue;
        }
        helps = true;
        if (batches.empty() || is_too_late(place)) return;
        std::int64_t rows = 0;
        for (Batch& batch : batches) {
          if (batch.complete) batch.complete(batch);
          rows += batch.rows;
        }
        fold(batches, place, folder_of(row_group), held);
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
    return added_ < row_groups_.size() ? std::min(number, static_cast<int>(added_)) : number;
  }

  /// Returns the row group's next chunk. Returns nothing if the row group has ended, or if the chunk is not needed any
  /// more.
  std::vector<Batch> read(TableRowGroup& row_group, ChunkPlace& place) {
    const std::lock_guard lock(row_group.reading);
    std::vector<Batch> batches;
    place.chunk = row_group.chunks;
    if (row_group.ended || is_too_late(place)) return batches;
    row_group.ended = true;  // in case the code below throws
    if (!row_group.reader)
      row_group.reader = open_row_group(*row_group.plan, table_, matching_[static_cast<std::size_t>(place.row_group)],
                                        folding_.reading);
    bool ended = false;
    while (!ended && std::ssize(batches) < folding_.batches) {
      Batch batch;
      ended = !row_group.reader->next(batch);
      if (batch.rows > 0) {
        batches.push_back(std::move(batch));
      } else if (!ended) {
        count_rows(0);  // calls progress_, which may throw to end the query
        if (is_too_late(place)) return {};
      }
    }
    row_group.ended = ended;
    if (ended) row_group.reader.reset();
    if (!batches.empty()) ++row_group.chunks;
    if (ended) {
      const std::lock_guard merging(mutex_);
      row_group.count = row_group.chunks;
      are_all_read_ = ++read_ == std::ssize(row_groups_);
      add_chunks();
    }
    return batches;
  }

  /// Finishes a chunk; it is null if an earlier chunk has its groups.
  void finish(ChunkPlace place, std::unique_ptr<Totals::FoldedChunk> chunk) {
    const std::lock_guard lock(mutex_);
    if (chunk) {
      waiting_bytes_ += chunk->bytes;
      ++waiting_;
    }
    row_groups_[static_cast<std::size_t>(place.row_group)].waiting.emplace(place.chunk, std::move(chunk));
    add_chunks();
  }

  void count_rows(std::int64_t rows) {
    const std::lock_guard lock(mutex_);
    total_.rows += rows;
    if (progress_) progress_(total_.rows);
  }

  /// Adds chunks to the totals in the table's order.
  void add_chunks() {
    for (; added_ < row_groups_.size(); ++added_) {
      TableRowGroup& row_group = row_groups_[added_];
      for (auto next = row_group.waiting.begin(); next != row_group.waiting.end() && next->first == row_group.added;
           next = row_group.waiting.erase(next), ++row_group.added) {
        if (!next->second) continue;
        waiting_bytes_ -= next->second->bytes;
        --waiting_;
        totals_.add(std::move(next->second));
      }
      if (row_group.added != row_group.count) return;
    }
  }

  void fail(ChunkPlace place, std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (error_ && failed_ < place) return;
    error_ = std::move(error);
    failed_ = place;
    has_failed_ = true;
  }
  /// Returns whether an earlier chunk has failed.
  bool is_too_late(ChunkPlace place) {
    if (!has_failed_) return false;
    const std::lock_guard lock(mutex_);
    return failed_ < place;
  }

  const Table& table_;
  const Folding& folding_;
  const QueryProgress& progress_;
  ReducedPlans reduced_;
  Folded total_;
  Totals& totals_;
  std::vector<int> matching_;              ///< the row groups that may have matching rows
  std::vector<TableRowGroup> row_groups_;  ///< one per element of matching_
  std::size_t added_ = 0;                  ///< row groups that are in the totals
  std::ptrdiff_t read_ = 0;                ///< row groups that have been read completely
  std::atomic<bool> are_all_read_{false};
  std::atomic<int> folding_now_{0};  ///< number of workers
  std::atomic<bool> none_folds_{false};
  std::vector<WorkUnit> work_units_;  ///< by worker
  std::mutex mutex_;
  std::atomic<std::int64_t> waiting_bytes_{0};  ///< bytes of chunks that are not in the totals
  std::atomic<int> waiting_{0};                 ///< number of these chunks
  std::atomic<bool> has_failed_{false};
  ChunkPlace failed_{};
  std::exception_ptr error_;
};

/// Returns whether the order in which rows are added does not matter.
bool is_exact(const QueryPlan& plan) {
  return std::none_of(plan.aggregates.begin(), plan.aggregates.end(), [](const Aggregate& aggregate) {
    return aggregate.fold == Fold::sum && aggregate.type.kind == ValueKind::real;
  });
}

}  // namespace

// In memory, a batch takes a core 20 us if few rows are kept (Xeon), which is also the wake-up time of a thread. It
// takes 400 us for TPC-H Q1, and more than 2 ms from Parquet.
int workers_for_rows(std::int64_t rows, int threads) {
  return rows < 0 ? cpu::worker_count(threads) : cpu::workers_for(cpu::ceil_div(rows, kBatchRows), 1, threads);
}

Folded execute(const QueryPlan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
               std::unique_ptr<Totals> totals) {
  return Executor(plan, table, folding, progress, std::move(totals)).run(folding.workers);
}

Folded execute(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
               std::unique_ptr<Totals> totals) {
  require_policy(policy);
  const Kernels& best = kernels(policy.isa);
  const int workers = workers_for_rows(table.rows(), policy.threads);
  const bool joins = is_exact(plan);
  const std::int64_t each = table.rows() < 0 ? 0 : table.rows() / workers / kRowsOfEach;
  const std::int64_t most_cached = joins ? std::min(each, kMostCached) : 0;
  const Folding folding{
      .reading = {.kernels = best, .may_drop_conditions = true, .may_repeat_texts = true},
      .workers = workers,
      .batches = 1,
      .joins_chunks = joins,
      .make_folder = [&](const QueryPlan& reduced) { return std::make_unique<CpuFolder>(reduced, best, most_cached); }};
  return execute(plan, table, folding, progress, std::move(totals));
}

}  // namespace upsweep::query
