// SPDX-License-Identifier: Apache-2.0
// sql/query/execute.hpp: runs a plan over a table: folds its chunks, and merges their groups in the table's order.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sql/expression/kernels.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/row_group_reader.hpp"
#include "sql/query/totals.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// The groups of a table, and the cost of folding them.
struct Folded {
  std::unique_ptr<Totals> totals;
  std::int64_t rows = 0;
  std::int64_t rows_by_cpu = 0;  ///< for a query on a GPU, like the following members
  std::int64_t bytes_to_device = 0;
  DeviceTimes times = {};
};

/// Folds chunks of a table, on one thread.
class Folder {
 public:
  virtual ~Folder() = default;
  /// Folds consecutive batches into groups.
  virtual Groups fold(std::span<const Batch> batches) = 0;
  /// Like fold(), for groups that may receive further batches. They are complete only after finish().
  virtual Groups begin(std::span<const Batch> batches) { return fold(batches); }
  /// Folds the batches that follow into the same groups. It is called only if chunks may be joined.
  virtual void fold_on(std::span<const Batch> /*batches*/, Groups& /*groups*/) { detail::no_such_value(); }
  virtual void finish(Groups& /*groups*/) {}
  /// Returns whether groups may receive further batches, independent of their number.
  [[nodiscard]] virtual bool are_cached(const Groups& /*groups*/) const { return false; }
  /// Takes groups back to reuse their memory for the next ones.
  virtual void reuse(Groups&& /*groups*/) {}
  /// Adds the cost of all chunks so far.
  virtual void add_cost(Folded& /*folded*/) const {}
};

/// How a table is folded.
struct Folding {
  Reading reading;
  int workers;
  int batches;        ///< maximum number of batches of a chunk
  bool joins_chunks;  ///< consecutive chunks may be folded into one: no sum depends on the order
  std::function<std::unique_ptr<Folder>(const QueryPlan&)> make_folder;  ///< each worker calls it
};

/// Returns one worker per batch, if the number of batches is known.
int workers_for_rows(std::int64_t rows, int threads);

/// `totals` must not have groups.
Folded execute(const QueryPlan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
Folded execute(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
/// Runs on a GPU, over data that is resident there or is copied there chunk by chunk. Uses at most `device_bytes` of
/// device memory unless that is 0.
Folded execute(const QueryPlan& plan, const Table& table, const gpu::Policy& policy, std::int64_t device_bytes,
               const QueryProgress& progress, std::unique_ptr<Totals> totals);

}  // namespace upsweep::query
