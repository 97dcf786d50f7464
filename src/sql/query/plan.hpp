// SPDX-License-Identifier: Apache-2.0
// sql/query/plan.hpp: a bound query: which columns it reads, what rows it keeps, what it groups and folds, what it gives out.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sql/expression/expression.hpp"

namespace upsweep::query {

using namespace expression;  // what a query is made of

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
/// What it comes to is.
inline bool is_text(const Aggregate& aggregate) {
  return is_extreme(aggregate) && aggregate.type.kind == ValueKind::text;
}
inline bool is_text(const Node& key) { return key->type.kind == ValueKind::text; }

/// A column of the answer: an expression whose columns are the keys, then of each aggregate its value and, of a sum, the
/// mean of what was summed.
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

/// The kernels that have been made for a plan. A copy of the plan may be changed, so it begins without any.
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
  std::vector<int> columns;   ///< of the table, which expressions call 0, 1, 2, …
  std::vector<Field> fields;  ///< of these
  std::vector<Node> filters;  ///< a row is kept where all are true; tried in this order
  std::vector<Node> keys;
  std::vector<Aggregate> aggregates;
  std::vector<Output> outputs;
  std::vector<OrderTerm> order;
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  int nodes = 0;         ///< ids of expressions over rows are below
  int output_nodes = 0;  ///< and of those over keys and aggregates
  std::string sql;       ///< for messages
  std::string table;     ///< as messages call it
  bool grouped = false;  ///< GROUP BY: no rows, no groups; otherwise there is always one
  KernelStore kernels = {};
};

}  // namespace upsweep::query
