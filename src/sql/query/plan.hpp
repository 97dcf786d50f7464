// SPDX-License-Identifier: Apache-2.0
// sql/query/plan.hpp: a bound query: its columns, conditions, keys, aggregates and outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sql/expression/expression.hpp"

namespace upsweep::query {

using namespace expression;  // the types that a query consists of

enum class Fold : std::uint8_t {
  count_rows,  ///< COUNT(*)
  count,       ///< rows whose input is not NULL
  sum,
  minimum,
  maximum
};

struct Aggregate {
  Fold fold;
  Node input;  ///< null for count_rows
  ValueType type;
};

inline bool is_extreme(const Aggregate& aggregate) {
  return aggregate.fold == Fold::minimum || aggregate.fold == Fold::maximum;
}
/// Returns whether the result is text.
inline bool is_text(const Aggregate& aggregate) {
  return is_extreme(aggregate) && aggregate.type.kind == ValueKind::text;
}
inline bool is_text(const Node& key) { return key->type.kind == ValueKind::text; }

/// A column of the answer. Its expression uses these columns: the keys, then for each aggregate its value and, for a
/// sum, the mean of the summed values. In a query of rows, its expression uses the columns of the plan.
struct Output {
  std::string name;
  Node value;
};

struct OrderTerm {
  int output;
  bool descending;
  bool nulls_first;
};

class GpuKernels;
struct ListColumnsOfQuery;

/// The kernels that have been created for a plan. A copy of the plan may be changed, so it begins without kernels.
class KernelStore {
 public:
  KernelStore();
  ~KernelStore() = default;
  KernelStore(const KernelStore&) : KernelStore() {}
  KernelStore& operator=(const KernelStore& other) {
    if (this != &other) *this = KernelStore();
    return *this;
  }
  KernelStore(KernelStore&&) noexcept = default;
  KernelStore& operator=(KernelStore&&) noexcept = default;

  GpuKernels* operator->() const { return kernels_.get(); }

 private:
  std::shared_ptr<GpuKernels> kernels_;
};

struct QueryPlan {
  std::vector<int> columns;   ///< columns of the table, which expressions call 0, 1, 2, …
  std::vector<Field> fields;  ///< fields of these columns
  std::vector<Node> filters;  ///< a row is kept if all are true; evaluated in this order
  std::vector<Node> keys;
  std::vector<Aggregate> aggregates;
  std::vector<Output> outputs;  ///< the columns of the answer, then those that only ORDER BY uses
  std::size_t selected = 0;     ///< number of columns of the answer
  Node having;  ///< a condition on keys and aggregates: the answer has only groups for which it is true; null: all
  std::vector<OrderTerm> order;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();  ///< no later rows are needed: OFFSET plus LIMIT
  std::int64_t offset = 0;                                        ///< number of first rows that the answer omits
  int nodes = 0;                                                  ///< ids of expressions over rows are less than this
  int output_nodes = 0;  ///< ids of expressions over keys and aggregates are less than this
  std::string sql;       ///< for messages
  std::string table;     ///< name of the table in messages
  bool grouped = false;  ///< GROUP BY: no rows, no groups; otherwise there is always one group
  bool rows = false;     ///< the answer consists of rows of the table: there are neither keys nor aggregates
  /// The list functions; null without any. The columns that they compute follow those of the table.
  std::shared_ptr<const ListColumnsOfQuery> lists = {};
  KernelStore kernels = {};
};

}  // namespace upsweep::query
