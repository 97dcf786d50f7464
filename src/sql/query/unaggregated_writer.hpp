// SPDX-License-Identifier: Apache-2.0
// sql/query/unaggregated_writer.hpp: writes rows unaggregated if nearly every row of a batch is a new group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/group_finder.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Statistics of the first rows of a batch about its groups.
struct BatchSample {
  std::int64_t rows = 0;        ///< rows kept so far
  std::int64_t new_groups = 0;  ///< new groups of these rows
  bool are_cached = false;      ///< GroupFinder::are_cached()
  bool by_words = false;        ///< GroupFinder::was_by_words()
  std::int64_t most_cached = 0;
};

enum class WriteRows : std::uint8_t { undecided, no, yes };

/// Returns whether the batch's other rows are written unaggregated.
WriteRows decide(const BatchSample& sample);

class UnaggregatedWriter {
 public:
  /// The plan must outlive this object.
  explicit UnaggregatedWriter(const QueryPlan& plan);

  /// Must be called before the first block of a batch of `rows` rows. `groups`: number of existing groups.
  void start_batch(std::int64_t rows, std::int64_t groups);
  /// Must be called after the groups of a block's rows were found. It decides once enough rows were seen.
  void note(Groups& groups, const std::uint64_t* marks, int rows, const GroupFinder& finder, std::int64_t most_cached);
  [[nodiscard]] bool writes() const { return writes_ == WriteRows::yes; }
  /// Adds a block's rows to the unaggregated rows of `groups`. Returns false if these have NULLs or wide values, or do
  /// not fit. From then on, the batch's rows are added to groups, after the earlier unaggregated rows.
  bool write(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks);

 private:
  [[nodiscard]] bool can_write(Evaluator& evaluator) const;
  std::size_t load_keys(Evaluator& evaluator, std::size_t rows);
  void write_keys(UnaggregatedRows& unaggregated, Evaluator& evaluator, std::size_t rows);

  const QueryPlan& plan_;
  bool may_write_ = false;  ///< depends on the query's aggregates
  WriteRows writes_ = WriteRows::no;
  std::int64_t batch_rows_ = 0;
  std::int64_t rows_seen_ = 0;
  std::int64_t groups_before_ = 0;  ///< groups before the batch
  // The state of a block:
  std::vector<std::int32_t> rows_;       ///< rows that are kept
  std::vector<std::uint64_t> hashes_;    ///< hashes of their keys
  std::vector<Int128> strings_;          ///< keys of one text key after the other
  std::vector<std::uint64_t*> written_;  ///< address of each row
};

}  // namespace upsweep::query
