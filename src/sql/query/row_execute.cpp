// SPDX-License-Identifier: Apache-2.0
// sql/query/row_execute.cpp: threads take row groups of a table, or batches of a row group that others read. The rows
// of batches are handed out in the table's order.
//
// A thread reads a row group from front to back. Once every row group is taken, idle threads join the row groups that
// are still open. The rows of a batch wait until those of all earlier batches have been handed out. While too many
// bytes wait, only the first batch that is missing is computed. With LIMIT, threads begin one by one: the number of
// open batches may exceed the number of finished ones by one. A few rows from the beginning of a table are therefore
// read by one thread.
//
// Errors wait like rows. An error after the last needed row is therefore never seen, whichever thread met it.
#include "sql/query/row_execute.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "sql/query/reduced_plans.hpp"
#include "sql/query/row_gatherer.hpp"
#include "sql/query/row_group_reader.hpp"
#include "sql/query/statistics.hpp"

namespace upsweep::query {
namespace {

struct RowGroupOfRows {
  const QueryPlan* plan = nullptr;
  int number = 0;  ///< in the table
  std::mutex reading;
  // `reading` guards:
  std::unique_ptr<BatchReader> reader;
  std::int64_t read = 0;  ///< batches
  bool ended = false;
  // The executor's lock guards:
  std::int64_t count = -1;                       ///< number of batches; -1: the row group has not ended
  std::int64_t used = 0;                         ///< batches whose rows have been handed out
  std::int64_t open = 0;                         ///< batches that a thread has taken and that are not used
  std::map<std::int64_t, GatheredRows> waiting;  ///< by the number of the batch
};

class RowExecutor {
 public:
  RowExecutor(const QueryPlan& plan, const Table& table, const RowReading& how, const QueryProgress& progress)
      : table_(table),
        how_(how),
        progress_(progress),
        reading_{.kernels = how.kernels, .may_drop_conditions = true, .may_repeat_texts = true},
        reduced_(plan, table),
        has_limit_(plan.limit < std::numeric_limits<std::int64_t>::max() && plan.order.empty()) {
    std::vector<int> matching;
    for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
      if (may_match(plan, table, row_group)) matching.push_back(row_group);
    }
    row_groups_ = std::vector<RowGroupOfRows>(matching.size());
    for (std::size_t i = 0; i < matching.size(); ++i) {
      row_groups_[i].plan = &reduced_.plan_for(matching[i]);
      row_groups_[i].number = matching[i];
    }
  }

  std::int64_t run() {
    cpu::run_workers(how_.workers, [&](int) { work(); });
    if (error_) std::rethrow_exception(error_);
    return rows_;
  }

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

  struct TakenBatch {
    std::int64_t number;
    Batch batch;
    std::exception_ptr error;  ///< of reading it
  };

  void work() noexcept {
    try {
      std::map<const QueryPlan*, RowGatherer> gatherers;
      std::size_t own = kNone;
      for (;;) {
        own = next_row_group(own);
        if (own == kNone) return;
        RowGroupOfRows& row_group = row_groups_[own];
        std::optional<TakenBatch> taken = read(row_group);
        if (!taken) continue;
        GatheredRows rows{.error = taken->error};
        if (!rows.error) {
          RowGatherer& gatherer = gatherers.try_emplace(row_group.plan, *row_group.plan, how_.kernels).first->second;
          rows = gathered(gatherer, taken->batch);
        }
        finish(row_group, taken->number, std::move(rows), taken->batch.rows);
      }
    } catch (...) {
      end(std::current_exception());
    }
  }

  // ------------------------------------------------------------------------------------------------------- taking work

  /// Takes a batch of a row group, and returns the row group. Waits while too many rows wait. Returns kNone if no batch
  /// is left, or no more rows are needed.
  std::size_t next_row_group(std::size_t own) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (is_done_) return kNone;
      std::size_t number = unread(own);
      if (number == kNone) return kNone;
      if (has_enough_open()) {
        // The first batch that is missing is always computed: others wait for it.
        if (row_groups_[first_].count >= 0 || row_groups_[first_].open > 0) {
          changed_.wait(lock);
          continue;
        }
        number = first_;
      }
      if (number == next_) ++next_;
      ++row_groups_[number].open;
      ++open_;
      return number;
    }
  }

  /// Returns a row group that has not ended: the thread's own one, one that no thread has begun, or the first one.
  std::size_t unread(std::size_t own) const {
    if (own != kNone && row_groups_[own].count < 0) return own;
    if (next_ < row_groups_.size()) return next_;
    for (std::size_t i = first_; i < row_groups_.size(); ++i) {
      if (row_groups_[i].count < 0) return i;
    }
    return kNone;
  }

  [[nodiscard]] bool has_enough_open() const {
    return waiting_bytes_ > how_.most_waiting || (has_limit_ && open_ > used_);
  }

  /// Reads the next batch of a row group. Returns nothing if the row group has ended.
  std::optional<TakenBatch> read(RowGroupOfRows& row_group) {
    if (std::optional<TakenBatch> taken = read_next(row_group)) return taken;
    std::unique_lock lock(mutex_);
    --row_group.open;
    --open_;
    use_waiting(lock);  // those of the next row group
    return std::nullopt;
  }

  std::optional<TakenBatch> read_next(RowGroupOfRows& row_group) {
    const std::lock_guard reading(row_group.reading);
    if (row_group.ended) return std::nullopt;
    TakenBatch taken{.number = row_group.read};
    bool is_read = false;
    try {
      if (!row_group.reader) row_group.reader = open_row_group(*row_group.plan, table_, row_group.number, reading_);
      is_read = row_group.reader->next(taken.batch);
    } catch (...) {
      taken.error = std::current_exception();
    }
    if (is_read || taken.error) ++row_group.read;
    if (!is_read) {
      row_group.ended = true;
      row_group.reader.reset();
      const std::lock_guard lock(mutex_);
      row_group.count = row_group.read;
    }
    if (!is_read && !taken.error) return std::nullopt;
    return taken;
  }

  GatheredRows gathered(RowGatherer& gatherer, Batch& batch) {
    try {
      if (batch.complete) batch.complete(batch);
      const std::shared_ptr<const AnswerChunk> last = how_.last();
      GatheredRows rows = gatherer.gather(batch, last.get());
      if (rows.count() == 0) rows.rows = {};
      return rows;
    } catch (...) {
      return {.error = std::current_exception()};
    }
  }

  // -------------------------------------------------------------------------------------------------- handing out rows

  void finish(RowGroupOfRows& row_group, std::int64_t number, GatheredRows rows, std::int64_t rows_read) {
    std::unique_lock lock(mutex_);
    rows_ += rows_read;
    if (progress_ && !is_done_) progress_(rows_);
    waiting_bytes_ += rows.rows.bytes();
    row_group.waiting.emplace(number, std::move(rows));
    use_waiting(lock);
  }

  /// Hands out the rows whose predecessors have been handed out, unless another thread is doing so.
  void use_waiting(std::unique_lock<std::mutex>& lock) {
    if (is_using_) return;
    is_using_ = true;
    while (!is_done_) {
      while (first_ < row_groups_.size() && row_groups_[first_].used == row_groups_[first_].count) ++first_;
      if (first_ == row_groups_.size()) break;
      RowGroupOfRows& row_group = row_groups_[first_];
      const auto next = row_group.waiting.find(row_group.used);
      if (next == row_group.waiting.end()) break;
      GatheredRows rows = std::move(next->second);
      row_group.waiting.erase(next);
      const std::int64_t bytes = rows.rows.bytes();
      lock.unlock();
      std::exception_ptr error;
      bool needs_more = true;
      try {
        if (rows.count() > 0) needs_more = how_.use(std::move(rows.rows));
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      waiting_bytes_ -= bytes;
      ++row_group.used;
      --row_group.open;
      --open_;
      ++used_;
      if (!error && needs_more) error = rows.error;
      if (error && !error_) error_ = error;
      is_done_ = is_done_ || error || !needs_more;
      changed_.notify_all();
    }
    is_using_ = false;
    changed_.notify_all();
  }

  void end(std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    is_done_ = true;
    changed_.notify_all();
  }

  const Table& table_;
  const RowReading& how_;
  const QueryProgress& progress_;
  const Reading reading_;
  ReducedPlans reduced_;
  const bool has_limit_;
  std::vector<RowGroupOfRows> row_groups_;  ///< those that may have kept rows
  std::mutex mutex_;                        // guards the following members:
  std::condition_variable changed_;
  std::size_t first_ = 0;  ///< the first row group that has batches which are not used
  std::size_t next_ = 0;   ///< the first row group that no thread has begun
  std::int64_t open_ = 0;  ///< batches that threads have taken and that are not used
  std::int64_t used_ = 0;  ///< batches whose rows have been handed out
  std::int64_t waiting_bytes_ = 0;
  std::int64_t rows_ = 0;  ///< that were read
  bool is_using_ = false;  ///< a thread is handing out rows
  bool is_done_ = false;   ///< no more rows are needed
  std::exception_ptr error_;
};

}  // namespace

std::int64_t execute_rows(const QueryPlan& plan, const Table& table, const RowReading& reading,
                          const QueryProgress& progress) {
  return RowExecutor(plan, table, reading, progress).run();
}

}  // namespace upsweep::query
