// SPDX-License-Identifier: Apache-2.0
// sql/query/unaggregated_writer.hpp: where nearly each row of a batch is a new group, writes rows as they are instead of finding it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/group_finder.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// What the first rows of a batch say about its groups.
struct BatchSample {
  std::int64_t rows = 0;        ///< kept so far
  std::int64_t new_groups = 0;  ///< of these
  bool are_cached = false;      ///< GroupFinder::are_cached()
  bool by_words = false;        ///< GroupFinder::was_by_words()
  std::int64_t most_cached = 0;
};

enum class WriteRows : std::uint8_t { undecided, no, yes };

/// Whether the batch's other rows are written as they are.
WriteRows decide(const BatchSample& sample);

class UnaggregatedWriter {
 public:
  /// The plan outlives this.
  explicit UnaggregatedWriter(const QueryPlan& plan);

  /// Before the first block of a batch, which has that many rows. `groups`: how many there are.
  void start_batch(std::int64_t rows, std::int64_t groups);
  /// After the groups of a block's rows were found; decides once enough rows were seen.
  void note(Groups& groups, const std::uint64_t* marks, int rows, const GroupFinder& finder, std::int64_t most_cached);
  [[nodiscard]] bool writes() const { return writes_ == WriteRows::yes; }
  /// Adds a block's rows to the unaggregated rows of `groups`. False: these have NULLs or wide values, or do not fit;
  /// from here on the batch's rows go into groups, after the unaggregated ones before.
  bool write(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks);

 private:
  [[nodiscard]] bool can_write(Evaluator& evaluator) const;
  std::size_t load_keys(Evaluator& evaluator, std::size_t rows);
  void write_keys(UnaggregatedRows& unaggregated, Evaluator& evaluator, std::size_t rows);

  const QueryPlan& plan_;
  bool may_write_ = false;  ///< by the query's aggregates
  WriteRows writes_ = WriteRows::no;
  std::int64_t batch_rows_ = 0;
  std::int64_t rows_seen_ = 0;
  std::int64_t groups_before_ = 0;  ///< the batch
  // Of a block.
  std::vector<std::int32_t> rows_;       ///< those that are kept
  std::vector<std::uint64_t> hashes_;    ///< of their keys
  std::vector<Int128> strings_;          ///< of one text key after the other
  std::vector<std::uint64_t*> written_;  ///< where each row is
};

}  // namespace upsweep::query
