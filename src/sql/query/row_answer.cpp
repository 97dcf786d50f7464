// SPDX-License-Identifier: Apache-2.0
// sql/query/row_answer.cpp: rows arrive in the table's order. They are kept, handed out, or reduced to the first ones
// by ORDER BY.
#include "sql/query/row_answer.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/ladder.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/execute.hpp"
#include "sql/query/row_execute.hpp"
#include "sql/query/row_gatherer.hpp"
#include "sql/query/row_order.hpp"
#include "sql/query/row_sort.hpp"
#include "system/memory.hpp"

namespace upsweep::query {
namespace {

/// Rows of chunks that a sink gets at least, except in the last chunk.
constexpr std::size_t kLeastChunk = kBatchRows / 2;
/// Bytes of rows up to which the free memory is not determined.
constexpr std::int64_t kFewRowBytes = std::int64_t{16} << 20;
/// Bytes of rows per thread that may wait for earlier ones: some batches of a dozen columns.
constexpr std::int64_t kWaitingBytes = std::int64_t{64} << 20;

std::vector<std::int64_t> counts_of(std::span<const AnswerChunk> chunks) {
  std::vector<std::int64_t> counts;
  counts.reserve(chunks.size());
  for (const AnswerChunk& chunk : chunks) counts.push_back(static_cast<std::int64_t>(count_of(chunk)));
  return counts;
}

/// Returns rows `first` … `end` - 1 of a chunk.
AnswerChunk part_of(AnswerChunk&& chunk, std::size_t first, std::size_t end) {
  if (first == 0 && end == count_of(chunk)) return std::move(chunk);
  std::vector<Source> rows(end - first);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = {0, static_cast<std::uint32_t>(first + i)};
  return chunk_of({&chunk, 1}, rows);
}

/// Counts the bytes of rows that are kept. Throws out_of_memory if they are too many.
class RowBytes {
 public:
  explicit RowBytes(std::int64_t most) : most_(most) {}
  void set(std::int64_t bytes) {
    if (most_ == 0 && bytes > kFewRowBytes) most_ = bytes + available_memory() / 4 * 3;
    if (most_ > 0 && bytes > most_) refuse_rows(bytes, most_);
    bytes_ = bytes;
  }
  void add(std::int64_t bytes) { set(bytes_ + bytes); }

 private:
  std::int64_t most_;
  std::int64_t bytes_ = 0;
};

/// Takes rows in the table's order, by one thread at a time.
class RowUser {
 public:
  virtual ~RowUser() = default;
  /// Returns whether more rows are needed.
  virtual bool use(AnswerChunk&& rows) = 0;
  /// Returns a row that all needed rows precede, or null. Any thread calls it.
  [[nodiscard]] virtual std::shared_ptr<const AnswerChunk> last() { return nullptr; }
  /// Returns the rows that the sink did not get. All rows have been used.
  virtual std::vector<AnswerColumn> finish(int threads) = 0;
};

/// Rows without ORDER BY.
class RowsOfTable final : public RowUser {
 public:
  RowsOfTable(const QueryPlan& plan, std::int64_t most_bytes, const AnswerSink& sink)
      : plan_(plan), bytes_(most_bytes), sink_(sink) {}

  bool use(AnswerChunk&& rows) override {
    const auto count = static_cast<std::int64_t>(count_of(rows));
    const std::int64_t first = std::clamp<std::int64_t>(plan_.offset - used_, 0, count);
    const std::int64_t end = std::min(count, plan_.limit - used_);
    used_ += count;
    if (first < end) keep(part_of(std::move(rows), static_cast<std::size_t>(first), static_cast<std::size_t>(end)));
    return used_ < plan_.limit;
  }

  std::vector<AnswerColumn> finish(int threads) override {
    std::vector<AnswerColumn> columns = take(threads);
    if (!sink_ || columns.empty()) return columns;
    sink_({.columns = std::move(columns)});
    return {};
  }

 private:
  void keep(AnswerChunk&& rows) {
    if (!sink_) bytes_.add(rows.bytes() + static_cast<std::int64_t>(count_of(rows) * sizeof(Source)));
    kept_ += count_of(rows);
    chunks_.push_back(std::move(rows));
    if (sink_ && kept_ >= kLeastChunk) sink_({.columns = take(1)});
  }

  /// Returns the columns of the kept rows, and keeps none.
  std::vector<AnswerColumn> take(int threads) {
    kept_ = 0;
    if (chunks_.empty()) return {};
    if (chunks_.size() == 1) {
      std::vector<AnswerColumn> columns = std::move(chunks_[0].columns);
      chunks_.clear();
      return columns;
    }
    return taken_columns(chunks_, one_after_the_other(counts_of(chunks_), threads), plan_.selected, threads);
  }

  const QueryPlan& plan_;
  RowBytes bytes_;
  const AnswerSink& sink_;
  std::int64_t used_ = 0;
  std::size_t kept_ = 0;  ///< number of rows in `chunks_`
  std::vector<AnswerChunk> chunks_;
};

/// Rows with ORDER BY. With LIMIT, at most twice the limit is kept at a time; then all except the first are dropped.
class SortedRows final : public RowUser {
 public:
  SortedRows(const QueryPlan& plan, std::int64_t most_bytes, const AnswerSink& sink)
      : plan_(plan), order_(plan), bytes_(most_bytes), sink_(sink) {}

  bool use(AnswerChunk&& rows) override {
    kept_ += static_cast<std::int64_t>(count_of(rows));
    bytes_.add(rows.bytes() + static_cast<std::int64_t>(count_of(rows)) * kSortBytes);
    chunks_.push_back(std::move(rows));
    if (kept_ / 2 >= plan_.limit && kept_ >= plan_.limit + kBlock) drop_past_limit();
    return true;
  }

  std::shared_ptr<const AnswerChunk> last() override {
    const std::lock_guard lock(last_changing_);
    return last_;
  }

  std::vector<AnswerColumn> finish(int threads) override {
    if (chunks_.empty()) return {};
    if (kept_ > plan_.limit) drop_past_limit();
    const detail::Unwritten<Source> rows = sorted_rows(plan_, chunks_, threads);
    std::span<const Source> left = past_offset(plan_, rows);
    if (!sink_) return taken_columns(chunks_, left, plan_.selected, threads);
    for (AnswerChunk& chunk : chunks_) chunk.columns.resize(plan_.selected);
    while (!left.empty()) {
      const auto some = left.first(std::min(left.size(), static_cast<std::size_t>(kBatchRows)));
      sink_({.columns = chunk_of(chunks_, some).columns});
      left = left.subspan(some.size());
    }
    return {};
  }

 private:
  [[nodiscard]] int compare(Source a, Source b) const {
    return order_.compare(chunks_[a.chunk], a.row, chunks_[b.chunk], b.row);
  }

  void drop_past_limit() {
    const std::vector<Source> first = first_rows(plan_, chunks_);
    const Source last =
        *std::max_element(first.begin(), first.end(), [&](Source a, Source b) { return compare(a, b) < 0; });
    auto one = std::make_shared<const AnswerChunk>(chunk_of(chunks_, {&last, 1}));
    AnswerChunk kept = chunk_of(chunks_, first);
    chunks_.clear();
    chunks_.push_back(std::move(kept));
    kept_ = std::ssize(first);
    bytes_.set(chunks_[0].bytes());
    const std::lock_guard lock(last_changing_);
    last_ = std::move(one);
  }

  const QueryPlan& plan_;
  const RowOrder order_;
  RowBytes bytes_;
  const AnswerSink& sink_;
  std::int64_t kept_ = 0;            ///< number of rows in `chunks_`
  std::vector<AnswerChunk> chunks_;  ///< in the table's order
  std::mutex last_changing_;
  std::shared_ptr<const AnswerChunk> last_;  ///< one row: only rows that precede it may be among the first
};

std::unique_ptr<RowUser> user_of(const QueryPlan& plan, std::int64_t most_bytes, const AnswerSink& sink) {
  if (plan.order.empty()) return std::make_unique<RowsOfTable>(plan, most_bytes, sink);
  const bool keeps_few = most_bytes > 0 && plan.limit < std::numeric_limits<std::int64_t>::max();
  return std::make_unique<SortedRows>(plan, keeps_few ? std::max(most_bytes, kMinFewBytes) : most_bytes, sink);
}

}  // namespace

Answer answer_of_rows(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
                      std::int64_t most_bytes, const AnswerSink& sink) {
  require_policy(policy);
  Answer answer{.columns = fields_of_answer(plan), .table = plan.table};
  if (plan.limit > plan.offset) {
    const std::unique_ptr<RowUser> user = user_of(plan, most_bytes, sink);
    const int workers = workers_for_rows(table.rows(), policy.threads);
    const std::int64_t waiting = workers * kWaitingBytes;
    answer.rows_read = execute_rows(plan, table,
                                    {.kernels = kernels(policy.isa),
                                     .workers = workers,
                                     .most_waiting = most_bytes > 0 ? std::min(waiting, most_bytes / 4) : waiting,
                                     .use = [&](AnswerChunk&& rows) { return user->use(std::move(rows)); },
                                     .last = [&] { return user->last(); }},
                                    progress);
    answer.rows.columns = user->finish(policy.threads);
  }
  if (answer.rows.columns.empty() && !sink) {
    for (const Field& field : answer.columns) answer.rows.columns.push_back({.kind = field.kind});
  }
  return answer;
}

}  // namespace upsweep::query
