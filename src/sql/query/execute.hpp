// SPDX-License-Identifier: Apache-2.0
// sql/query/execute.hpp: runs a plan over a table, piece by piece, and merges what the pieces come to in their order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/dense_sums.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/totals.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// What a table has come to, and what that took.
struct Folded {
  std::unique_ptr<Totals> totals;
  std::int64_t rows = 0;
  std::int64_t rows_by_cpu = 0;  ///< of a query on a GPU, as what follows
  std::int64_t bytes_to_device = 0;
  DeviceTimes times = {};
};

/// Folds pieces of a table, on one thread.
class Folder {
 public:
  virtual ~Folder() = default;
  /// What the batches, which follow each other, come to.
  virtual Groups fold(std::span<const Batch> batches) = 0;
  /// Adds batches that follow those to what they came to, which is not settled yet; where pieces may be joined.
  virtual void fold_on(std::span<const Batch> /*batches*/, Groups& /*groups*/) { detail::no_such_value(); }
  /// What it has folded, back: its memory will do for the next ones.
  virtual void reuse(Groups&& /*groups*/) {}
  /// Adds what all pieces so far have taken.
  virtual void add_cost(Folded& /*folded*/) const {}
};

class CpuFolder final : public Folder {
 public:
  /// The arguments outlive this.
  CpuFolder(const Plan& plan, const Kernels& kernels, std::int64_t most_at_hand = 0);
  Groups fold(std::span<const Batch> batches) override;
  void fold_on(std::span<const Batch> batches, Groups& groups) override;
  void reuse(Groups&& groups) override { groups_.emplace(std::move(groups)); }

 private:
  void add_block(const Batch& batch, std::int64_t first, int rows, Groups& groups);
  bool mark_rows();
  bool add_marked(const Batch& batch, Groups& groups);
  void add_gathered(const Batch& batch, Groups& groups);

  const Plan& plan_;
  const Kernels& kernels_;
  std::int64_t most_at_hand_;
  std::vector<Condition> conditions_;
  Evaluator evaluator_;
  Evaluator gathered_;  ///< of rows that blocks with few left have given
  std::vector<std::int32_t> rows_;
  std::vector<int> later_columns_;  ///< that no condition reads
  bool gathers_ = true;
  DenseSums dense_sums_;
  std::uint64_t marks_[kBlockMarks] = {};
  bool marks_rows_ = true;        ///< blocks may be computed whole: none of this piece has failed yet
  int kept_ = 0;                  ///< rows of the last block
  std::optional<Groups> groups_;  ///< of the last piece, for their memory
};

/// How a table is folded.
struct Folding {
  const Kernels& kernels;
  int workers;
  int batches;                    ///< of a piece, at most
  bool may_drop_conditions;       ///< a part is folded by a plan without those that its statistics prove
  bool may_repeat_texts;          ///< in the dictionary of a batch
  bool joins_pieces;              ///< pieces that follow each other may be folded into one: no sum depends on the order
  std::int64_t most_at_hand = 0;  ///< up to which Groups::are_at_hand() are kept from piece to piece
  std::function<std::unique_ptr<Folder>(const Plan&)> make_folder;  ///< called by each worker
};

/// `totals`: without any groups yet.
Folded execute(const Plan& plan, const Table& table, const Folding& folding, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
Folded execute(const Plan& plan, const Table& table, const Policy& policy, const QueryProgress& progress,
               std::unique_ptr<Totals> totals);
/// On a GPU, over what lies there or over what is brought there piece by piece, within so many bytes of its memory if not 0.
Folded execute(const Plan& plan, const Table& table, const gpu::Policy& policy, std::int64_t device_bytes,
               const QueryProgress& progress, std::unique_ptr<Totals> totals);

}  // namespace upsweep::query
