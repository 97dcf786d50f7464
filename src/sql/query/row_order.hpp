// SPDX-License-Identifier: Apache-2.0
// sql/query/row_order.hpp: compares rows of an answer by the terms of ORDER BY.
#pragma once

#include <cstddef>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

class RowOrder {
 public:
  /// The plan must outlive this object.
  explicit RowOrder(const QueryPlan& plan) : plan_(plan) {}

  /// Returns -1, 0 or 1 if row `a` is before row `b`, equal to it or after it in the order of all terms.
  [[nodiscard]] int compare(const AnswerChunk& of_a, std::size_t a, const AnswerChunk& of_b, std::size_t b) const {
    return compare_by_terms(
        of_b, b, [&](std::size_t which) { return of_a.columns[which].is_null(a); },
        [&](std::size_t which) { return query::compare(of_a.columns[which], a, of_b.columns[which], b); });
  }
  /// Like the function above, for row `a` of a block. `values` has the values of each output.
  [[nodiscard]] int compare(const std::vector<const Vector*>& values, int a, const AnswerChunk& of_b,
                            std::size_t b) const {
    return compare_by_terms(
        of_b, b, [&](std::size_t which) { return null_at(*values[which], a); },
        [&](std::size_t which) { return query::compare(*values[which], a, of_b.columns[which], b); });
  }

 private:
  /// `is_null(which)` returns whether a's value of an output is NULL; `compare_to(which)` compares it with b's.
  template <class IsNull, class CompareTo>
  int compare_by_terms(const AnswerChunk& of_b, std::size_t b, const IsNull& is_null,
                       const CompareTo& compare_to) const {
    for (const OrderTerm& term : plan_.order) {
      const auto which = static_cast<std::size_t>(term.output);
      const bool a_is_null = is_null(which);
      if (a_is_null != of_b.columns[which].is_null(b)) return a_is_null == term.nulls_first ? -1 : 1;
      if (a_is_null) continue;
      const int order = compare_to(which);
      if (order != 0) return (order < 0) != term.descending ? -1 : 1;
    }
    return 0;
  }

  const QueryPlan& plan_;
};

}  // namespace upsweep::query
