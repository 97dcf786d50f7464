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
#include "sql/query/totals.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// The groups of a table, and what it took to fold them.
struct Folded {
  std::unique_ptr<Totals> totals;
  std::int64_t rows = 0;
  std::int64_t rows_by_cpu = 0;  ///< of a query on a GPU, as what follows
  std::int64_t bytes_to_device = 0;
  DeviceTimes times = {};
};

/// Folds chunks of a table, on one thread.
class Folder {
 public:
  virtual ~Folder() = default;
  /// Folds batches, which follow each other, into groups.
  virtual Groups fold(std::span<const Batch> batches) = 0;
  /// The same, for groups that may get further batches: they are complete after finish() only.
  virtual Groups begin(std::span<const Batch> batches) { return fold(batches); }
  /// Folds batches that follow those into the same groups; where chunks may be joined.
  virtual void fold_on(std::span<const Batch> /*batches*/, Groups& /*groups*/) { detail::no_such_value(); }
  virtual void finish(Groups& /*groups*/) {}
  /// Whether groups are to get further batches however many they are.
  [[nodiscard]] virtual bool are_cached(const Groups& /*groups*/) const { return false; }
  /// Gives groups back, whose memory is used for the next ones.
  virtual void reuse(Groups&& /*groups*/) {}
  /// Adds the cost of all chunks so far.
  virtual void add_cost(Folded& /*folded*/) const {}
};

/// How a table is folded.
struct Folding {
  const Kernels& kernels;
  int workers;
  int batches;               ///< of a chunk, at most
  bool may_drop_conditions;  ///< a row group is folded by a plan without those that its statistics prove
  bool may_repeat_texts;     ///< in the dictionary of a batch
  bool joins_chunks;         ///< chunks that follow each other may be folded into one: no sum depends on the order
  std::function<std::unique_ptr<Folder>(const QueryPlan&)> make_folder;  ///< called by each worker
};

/// `totals`: without any groups yet.
Folded execute(const QueryPlan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
Folded execute(const QueryPlan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
/// On a GPU, over what lies there or over what is brought there chunk by chunk, within so many bytes of its memory if not 0.
Folded execute(const QueryPlan& plan, const Table& table, const gpu::Policy& policy, std::int64_t device_bytes,
               const QueryProgress& progress, std::unique_ptr<Totals> totals);

}  // namespace upsweep::query
