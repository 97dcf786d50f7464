// SPDX-License-Identifier: Apache-2.0
// sql/query/dense_sums.cpp: recognizes queries whose sums need no selection vectors, and sums their blocks.
#include "sql/query/dense_sums.hpp"

#include <algorithm>
#include <utility>

namespace upsweep::query {

DenseSums::DenseSums(const QueryPlan& plan, const std::vector<Condition>& conditions, const Kernels& kernels)
    : plan_(plan) {
  if (plan.grouped || conditions.size() > 1) return;
  Storage storage = Storage::int64;  // storage of the summed column, which is the key if there is no condition
  ColumnBounds bounds{.column = -1};
  if (!conditions.empty()) {
    if (!conditions[0].bounds) return;
    bounds = *conditions[0].bounds;
    storage = plan.fields[static_cast<std::size_t>(bounds.column)].storage;
  }
  kernel_ = kernels.sum_in_range[at(storage)];
  if (kernel_ == nullptr) return;
  const auto range = stored_bounds(bounds, storage);
  if (!range) return;
  key_ = bounds.column;
  range_ = *range;
  std::vector<Term> terms;
  for (const Aggregate& aggregate : plan.aggregates) {
    const auto term = term_of(aggregate);
    if (!term) return;
    terms.push_back(*term);
  }
  const bool sums = std::any_of(terms.begin(), terms.end(), [](const Term& term) { return term.fold == Fold::sum; });
  if (sums) terms_ = std::move(terms);
}

std::optional<DenseSums::Term> DenseSums::term_of(const Aggregate& aggregate) const {
  const auto& [fold, input, type] = aggregate;
  if (fold == Fold::count_rows) return Term{.fold = fold};
  if (fold != Fold::sum && fold != Fold::count) return std::nullopt;
  const bool is_product = input->op == Op::multiply && fold == Fold::sum;  // a counted product may still overflow
  const int left = column_of(is_product ? input->args[0] : input);
  const int right = is_product ? column_of(input->args[1]) : -1;
  if (left < 0 || (is_product && right < 0)) return std::nullopt;
  return Term{.fold = fold, .left = left, .right = right};
}

/// Returns the column of an expression that is a column of 64-bit integers or decimals, otherwise -1.
int DenseSums::column_of(const Node& node) const {
  const bool fits = node->op == Op::column && is_exact(node->type) &&
                    plan_.fields[static_cast<std::size_t>(node->column)].storage == Storage::int64;
  return fits ? node->column : -1;
}

bool DenseSums::has_nulls(const Batch& batch, int column) const {
  return column >= 0 && batch.columns[static_cast<std::size_t>(column)].validity != nullptr;
}

const void* DenseSums::values(const Batch& batch, int column, std::int64_t first) const {
  const int bits = width_of(plan_.fields[static_cast<std::size_t>(column)].storage);
  return static_cast<const std::byte*>(batch.columns[static_cast<std::size_t>(column)].values) + first * bits / 8;
}

/// Returns false if the sum might not fit 64 bits.
bool DenseSums::add_up(Term& term, const Batch& batch, std::int64_t first, int rows, int& kept) const {
  const void* const key = values(batch, key_ < 0 ? term.left : key_, first);
  const auto* left = static_cast<const std::int64_t*>(values(batch, term.left, first));
  const auto* right = term.right < 0 ? nullptr : static_cast<const std::int64_t*>(values(batch, term.right, first));
  const RangeSum all = kernel_(key, range_.minimum, range_.maximum, left, right, rows);
  const UInt128 bound = (UInt128{all.left} + 1) * (UInt128{all.right} + 1);
  if (!sum_fits({Form::narrow, bound}, kBlock)) return false;
  term.sum = all.sum;
  kept = all.rows;
  return true;
}

std::optional<int> DenseSums::add(const Batch& batch, std::int64_t first, int rows, Groups& groups) {
  if (terms_.empty() || has_nulls(batch, key_)) return std::nullopt;
  for (const Term& term : terms_) {
    if (has_nulls(batch, term.left) || has_nulls(batch, term.right)) return std::nullopt;
  }
  int kept = rows;
  for (Term& term : terms_) {
    if (term.fold == Fold::sum && !add_up(term, batch, first, rows, kept)) return std::nullopt;
  }
  for (std::size_t a = 0; a < terms_.size(); ++a) {
    if (terms_[a].fold == Fold::sum) groups.rows().add_exact(0, a, terms_[a].sum);
    groups.rows().count(0, a) += kept;
  }
  return kept;
}

}  // namespace upsweep::query
