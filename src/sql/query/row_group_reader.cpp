// SPDX-License-Identifier: Apache-2.0
// sql/query/row_group_reader.cpp: readers that skip batches that statistics exclude, and the other columns of batches
// in which no row is kept.
#include "sql/query/row_group_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "sql/expression/evaluate.hpp"
#include "sql/query/statistics.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

/// Counts rows of a row group without reading them, because the query uses none of their columns.
class CountReader final : public BatchReader {
 public:
  explicit CountReader(std::int64_t rows) : left_(rows) {}
  bool next(Batch& batch) override {
    batch.rows = std::min(left_, kBatchRows);
    left_ -= batch.rows;
    return batch.rows > 0;
  }

 private:
  std::int64_t left_;
};

/// Reads the batches of a row group that may have matching rows.
class MatchingReader final : public BatchReader {
 public:
  MatchingReader(std::unique_ptr<BatchReader> all, std::vector<bool> matching)
      : all_(std::move(all)), matching_(std::move(matching)) {}
  bool next(Batch& batch) override {
    go_to_matching();
    return all_->next(batch);
  }
  void skip() override {
    go_to_matching();
    all_->skip();
  }

 private:
  void go_to_matching() {
    for (; next_ < matching_.size() && !matching_[next_]; ++next_) all_->skip();
    ++next_;
  }

  std::unique_ptr<BatchReader> all_;
  std::vector<bool> matching_;
  std::size_t next_ = 0;
};

/// Reads some of a plan's columns, and stores them at their positions among all columns.
class PlacedReader final : public BatchReader {
 public:
  PlacedReader(std::unique_ptr<BatchReader> some, std::vector<int> places, std::size_t columns)
      : some_(std::move(some)), places_(std::move(places)), columns_(columns) {}
  bool next(Batch& batch) override {
    if (!some_->next(batch)) return false;
    if (batch.complete) std::exchange(batch.complete, nullptr)(batch);  // before its columns move
    std::vector<ColumnData> all(columns_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      all[static_cast<std::size_t>(places_[i])] = std::move(batch.columns[i]);
    }
    batch.columns = std::move(all);
    return true;
  }
  void skip() override { some_->skip(); }

 private:
  std::unique_ptr<BatchReader> some_;
  std::vector<int> places_;
  std::size_t columns_;
};

/// Returns the conditions on numbers. Conditions on text are tested on all strings of a batch, which is too expensive
/// to do twice.
std::vector<Node> filters_tried_early(const QueryPlan& plan) {
  std::vector<Node> tried;
  for (const Node& filter : plan.filters) {
    const std::set<int> columns = columns_of({filter});
    const bool has_text = std::any_of(columns.begin(), columns.end(), [&](int column) {
      return plan.fields[static_cast<std::size_t>(column)].kind == ValueKind::text;
    });
    if (!has_text) tried.push_back(filter);
  }
  return tried;
}

/// Reads the batches of a row group that have rows which the conditions keep. Conditions are tested up to the first
/// such row, which is early unless few rows are kept. The other columns are read only then.
class LateColumns final : public BatchReader {
 public:
  /// `tried`: conditions. For the same batches, `early` reads their columns and `late` the other columns, all with the
  /// plan's numbers.
  LateColumns(const QueryPlan& plan, const std::vector<Node>& tried, const Kernels& kernels,
              std::unique_ptr<BatchReader> early, std::unique_ptr<BatchReader> late)
      : conditions_(conditions_of(tried)),
        evaluator_(plan.fields, plan.nodes, plan.sql, kernels),
        early_(std::move(early)),
        late_(std::move(late)) {}

  /// Returns a batch without rows if no row is kept.
  bool next(Batch& batch) override {
    if (!early_->next(batch)) return false;
    if (keeps_some(batch)) {
      add_late(batch);
    } else {
      late_->skip();
      batch = {};
    }
    return true;
  }

 private:
  bool keeps_some(const Batch& batch) {
    for (std::int64_t first = 0; first < batch.rows; first += kBlock) {
      evaluator_.start(batch, first, static_cast<int>(std::min<std::int64_t>(kBlock, batch.rows - first)));
      evaluator_.mark_all(marks_);
      if (evaluator_.mark(conditions_.front(), marks_) == 0) continue;
      evaluator_.keep_marked(marks_);
      for (std::size_t i = 1; i < conditions_.size() && evaluator_.count() > 0; ++i) evaluator_.keep(conditions_[i]);
      if (evaluator_.count() > 0) return true;
    }
    return false;
  }

  void add_late(Batch& batch) {
    Batch late;
    if (!late_->next(late) || late.rows != batch.rows) {
      throw Error(Code::malformed, "columns of one row group have different numbers of rows");
    }
    for (std::size_t i = 0; i < batch.columns.size(); ++i) {
      if (batch.columns[i].values == nullptr) batch.columns[i] = std::move(late.columns[i]);
    }
    using Memories = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
    batch.memory = std::make_shared<const Memories>(std::move(batch.memory), std::move(late.memory));
  }

  std::vector<Condition> conditions_;
  Evaluator evaluator_;
  std::unique_ptr<BatchReader> early_;
  std::unique_ptr<BatchReader> late_;
  std::uint64_t marks_[kBlockMarks] = {};
};

/// A row group, and the known properties of its batches.
struct MatchingRowGroup {
  const QueryPlan& plan;
  const Table& table;
  int number;
  const Reading& reading;
  std::vector<bool> matching;
};

/// Opens columns of a row group, with the plan's numbers.
std::unique_ptr<BatchReader> open_columns(const MatchingRowGroup& row_group, std::vector<int> places) {
  const std::size_t all = row_group.plan.columns.size();
  std::vector<int> columns;
  columns.reserve(places.size());
  for (const int place : places) columns.push_back(row_group.plan.columns[static_cast<std::size_t>(place)]);
  auto reader = row_group.table.open(row_group.number, columns);
  if (row_group.reading.may_repeat_texts) reader->may_repeat_texts();
  if (std::find(row_group.matching.begin(), row_group.matching.end(), false) != row_group.matching.end()) {
    reader = std::make_unique<MatchingReader>(std::move(reader), row_group.matching);
  }
  if (columns.size() == all) return reader;
  return std::make_unique<PlacedReader>(std::move(reader), std::move(places), all);
}

/// Returns whether conditions may be tested before the rest is read. They must not fail, because they are tested twice.
bool may_read_late(const MatchingRowGroup& row_group) {
  const std::vector<Node>& filters = row_group.plan.filters;
  return row_group.reading.may_drop_conditions && row_group.table.skips_cheaply() &&
         std::none_of(filters.begin(), filters.end(), [](const Node& filter) { return filter->can_fail; });
}

std::vector<int> columns_to_open(const QueryPlan& plan, const Reading& reading) {
  if (reading.may_drop_conditions) return columns_read(plan);
  std::vector<int> all(plan.columns.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

std::vector<int> columns_read(const QueryPlan& plan) {
  std::vector<Node> all = plan.filters;
  all.insert(all.end(), plan.keys.begin(), plan.keys.end());
  for (const Aggregate& aggregate : plan.aggregates) {
    if (aggregate.input) all.push_back(aggregate.input);
  }
  if (plan.rows) {
    for (const Output& output : plan.outputs) all.push_back(output.value);
  }
  const std::set<int> read = columns_of(all);
  return {read.begin(), read.end()};
}

std::unique_ptr<BatchReader> open_row_group(const QueryPlan& plan, const Table& table, int number,
                                            const Reading& reading) {
  std::vector<int> columns = columns_to_open(plan, reading);
  if (columns.empty()) {
    const std::int64_t rows = table.rows(number);
    if (rows >= 0) return std::make_unique<CountReader>(rows);
    return table.open(number, {});
  }
  const MatchingRowGroup row_group{plan, table, number, reading, matching_batches(plan, table, number)};
  const auto& matching = row_group.matching;
  if (!matching.empty() && std::find(matching.begin(), matching.end(), true) == matching.end()) {
    return std::make_unique<CountReader>(0);
  }
  std::vector<int> early;
  std::vector<int> late;
  const std::vector<Node> tried = may_read_late(row_group) ? filters_tried_early(plan) : std::vector<Node>();
  const std::set<int> of_conditions = columns_of(tried);
  for (const int column : columns) (of_conditions.contains(column) ? early : late).push_back(column);
  if (early.empty() || late.empty()) return open_columns(row_group, std::move(columns));
  return std::make_unique<LateColumns>(plan, tried, reading.kernels, open_columns(row_group, std::move(early)),
                                       open_columns(row_group, std::move(late)));
}

}  // namespace upsweep::query
