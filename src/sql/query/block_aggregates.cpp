// SPDX-License-Identifier: Apache-2.0
// sql/query/block_aggregates.cpp: one loop for each kind of aggregate and number of groups.
#include "sql/query/block_aggregates.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "sql/query/block_keys.hpp"
#include "sql/query/group_merge.hpp"

namespace upsweep::query {
namespace {

// Rows after which 32-bit counts are added to the states.
constexpr std::int64_t kMostCounted = std::int64_t{1} << 30;

/// Subtracts rows whose value is NULL; these were counted for all aggregates.
void discount_nulls(std::size_t aggregate, const Vector& v, const BlockGroups& block) {
  if (v.nulls == nullptr) return;
  for (int i = 0; i < block.rows; ++i) {
    const std::int32_t group = block.group[i];
    if (group != kNoGroup && null_at(v, i)) --block.groups.rows().count(group, aggregate);
  }
}

}  // namespace

BlockAggregates::BlockAggregates(const QueryPlan& plan, const Kernels& kernels)
    : plan_(plan), kernels_(kernels), many_(plan.aggregates.size()) {}

void BlockAggregates::add(Evaluator& evaluator, const BlockGroups& block) {
  few_are_counted_ = false;
  const bool are_many = block.groups.count() > kFewGroups;
  if (are_many) count_for_all(block);
  const Vector never_null;  // the input of COUNT(*)
  for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
    const auto& [fold, input, type] = plan_.aggregates[a];
    const Vector& v = input ? evaluator.value(input) : never_null;
    evaluator.read_ahead();
    if (is_extreme(plan_.aggregates[a])) {
      include_extremes(a, v, block);
      continue;
    }
    if (fold == Fold::sum) include_sums(a, v, block);
    if (are_many) {
      discount_nulls(a, v, block);
    } else {
      count_rows(a, v, block);
    }
  }
}

/// Counts the block's rows per group, for all aggregates at once, as if no value were NULL.
void BlockAggregates::count_for_all(const BlockGroups& block) {
  const int n = block.rows;
  if (rows_counted_ > kMostCounted) settle(block.groups);
  rows_counted_ += n;
  counts_.resize(static_cast<std::size_t>(block.groups.count()) + 1);
  std::int32_t* const rows = counts_.data() + 1;  // follows the count of rows without a group
  for (int i = 0; i < n; ++i) ++rows[block.group[i]];
}

/// Adds the values to `many_` and returns true, if no value is NULL and the sums fit.
bool BlockAggregates::include_many(std::size_t aggregate, const Vector& v, const BlockGroups& block) {
  const int n = block.rows;
  Sums& many = many_[aggregate];
  const UInt128 bound = std::max(many.bound, v.bound);
  if (!sum_fits({Form::narrow, bound}, static_cast<UInt128>(many.rows) + static_cast<UInt128>(n))) {
    settle_sums(block.groups, aggregate);
    if (!sum_fits(v.operand(), static_cast<UInt128>(n))) return false;
  }
  many.bound = std::max(many.bound, v.bound);
  many.rows += n;
  many.sums.resize(static_cast<std::size_t>(block.groups.count()) + 1);
  kernels_.sum_groups(v.as<std::int64_t>(), block.group, n, static_cast<int>(block.groups.count()),
                      many.sums.data() + 1);
  return true;
}

void BlockAggregates::settle_sums(Groups& groups, std::size_t aggregate) {
  Sums& many = many_[aggregate];
  for (std::size_t g = 1; g < many.sums.size(); ++g) {
    groups.rows().add_exact(static_cast<std::int64_t>(g) - 1, aggregate, many.sums[g]);
  }
  many.forget();
}

void BlockAggregates::settle(Groups& groups) {
  for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
    settle_sums(groups, a);
    if (is_extreme(plan_.aggregates[a])) continue;
    for (std::size_t g = 1; g < counts_.size(); ++g)
      groups.rows().count(static_cast<std::int64_t>(g) - 1, a) += counts_[g];
  }
  counts_.clear();
  rows_counted_ = 0;
}

void BlockAggregates::forget() {
  for (Sums& many : many_) many.forget();
  counts_.clear();
  rows_counted_ = 0;
}

/// Returns the block's rows per group, counted once for all aggregates.
const std::int64_t* BlockAggregates::rows_of_few(const BlockGroups& block) {
  const int n = block.rows;
  if (!few_are_counted_) kernels_.count_few(block.group, n, static_cast<int>(block.groups.count()), rows_of_few_);
  few_are_counted_ = true;
  return rows_of_few_;
}

/// Counts rows if there are few groups.
void BlockAggregates::count_rows(std::size_t aggregate, const Vector& v, const BlockGroups& block) {
  GroupRows& rows = block.groups.rows();
  const int n = block.rows;
  if (v.one && null_at(v, 0)) return;
  if (v.one || v.nulls == nullptr) {
    if (block.groups.count() == 1 && block.are_all) {
      rows.count(0, aggregate) += n;
      return;
    }
    for (std::int64_t g = 0; g < block.groups.count(); ++g) rows.count(g, aggregate) += rows_of_few(block)[g];
    return;
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = block.group[i];
    if (group != kNoGroup && v.nulls[i] == 0) ++rows.count(group, aggregate);
  }
}

void BlockAggregates::include_sums(std::size_t aggregate, const Vector& v, const BlockGroups& block) {
  GroupRows& rows = block.groups.rows();
  const int n = block.rows;
  if (v.form == Form::real) return include_reals(aggregate, v, block);
  const auto* const group = block.group;
  if (is_plain(v) && block.groups.count() > kFewGroups && include_many(aggregate, v, block)) return;
  if (is_plain(v) && block.groups.count() <= kFewGroups && sum_fits(v.operand(), kBlock)) {
    std::int64_t with_none[kFewGroups + 1] = {};
    std::int64_t* const sums = with_none + 1;  // follows the sum of rows without a group
    if (block.groups.count() == 1 && block.are_all) {
      sums[0] = kernels_.integers.sum(v.as<std::int64_t>(), n);
    } else {
      kernels_.sum_groups(v.as<std::int64_t>(), group, n, static_cast<int>(block.groups.count()), sums);
    }
    for (std::int64_t g = 0; g < block.groups.count(); ++g) rows.add_exact(g, aggregate, sums[g]);
    return;
  }
  with_type(v.form, [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup && !null_at(v, i)) rows.add_exact(group[i], aggregate, static_cast<Int128>(v.at<T>(i)));
    }
  });
}

/// Rows without a group do not change the order, provided that no value is NULL.
void BlockAggregates::include_reals(std::size_t aggregate, const Vector& v, const BlockGroups& block) {
  GroupRows& rows = block.groups.rows();
  int n = block.rows;
  const auto* const group = block.group;
  if (block.groups.count() > 1 || v.nulls != nullptr || v.one) {
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup && !null_at(v, i)) rows.add_real(group[i], aggregate, v.at<double>(i));
    }
    return;
  }
  const auto* values = v.as<double>();
  if (!block.are_all) {
    reals_.clear();
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup) reals_.push_back(values[i]);
    }
    values = reals_.data();
    n = static_cast<int>(reals_.size());
  }
  rows.add_real(0, aggregate, kernels_.reals.sum(values, n));
}

void BlockAggregates::include_extremes(std::size_t aggregate, const Vector& v, const BlockGroups& block) const {
  GroupRows& rows = block.groups.rows();
  const int n = block.rows;
  const Aggregate& asked = plan_.aggregates[aggregate];
  const Fold fold = asked.fold;
  const ValueKind kind = asked.type.kind;
  const bool whole = block.groups.count() == 1 && block.are_all && v.nulls == nullptr && !v.one;
  const auto best_of = [&]<class T>(const TypedKernels<T>& kernels) {
    return (fold == Fold::minimum ? kernels.minimum : kernels.maximum)(v.as<T>(), n);
  };
  if (whole && (v.form == Form::narrow || v.form == Form::real)) {
    State best;
    best.count = 1;
    if (v.form == Form::real) {
      best.set_real(best_of(kernels_.reals));
    } else {
      best.exact = best_of(kernels_.integers);
    }
    improve(block.groups, 0, aggregate, best, block.groups.strings());
    rows.count(0, aggregate) += n;
    return;
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = block.group[i];
    if (group == kNoGroup || null_at(v, i)) continue;
    const State best = block.groups.state(group, aggregate);
    State other;
    other.count = 1;
    if (kind == ValueKind::real) {
      other.set_real(v.at<double>(i));
    } else if (kind == ValueKind::text) {
      // Keeps a string only if it is better than all before it, because there may be one entry per row.
      const std::string_view mine = string_at(v, i);
      const bool is_kept =
          best.count > 0 && !is_better(fold, mine, block.groups.strings()[static_cast<std::int32_t>(best.exact)]);
      other.exact = is_kept ? static_cast<std::int32_t>(best.exact) : block.groups.entry(mine);
    } else {
      other.exact = exact_at(v, i);
    }
    improve(block.groups, group, aggregate, other, block.groups.strings());
    ++rows.count(group, aggregate);
  }
}

}  // namespace upsweep::query
