// SPDX-License-Identifier: Apache-2.0
// sql/query/statistics.cpp: decides comparisons of columns with constants by the minimum and the maximum value.
#include "sql/query/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "sql/expression/evaluate.hpp"
#include "sql/expression/members.hpp"

namespace upsweep::query {
namespace {

/// A comparison of a column with a constant, and the known properties of both.
struct Bounded {
  ColumnRange range;
  bool is_real;  ///< the column is a float: NaN is greater than every bound, and statistics omit it
  bool turned;   ///< the constant is on the left
  bool known;    ///< the constant is a double; otherwise it is between these:
  double below;
  double above;
};

/// Returns the known range of a column, by the plan's number, in the current rows.
using RangeOf = std::function<ColumnRange(int column)>;

std::optional<Bounded> bounded(const Expression& condition, const RangeOf& range_of) {
  const auto comparison = column_comparison(condition);
  if (!comparison) return std::nullopt;
  const auto& [column, constant, turned] = *comparison;
  const Expression& bound = *constant;
  const ColumnRange range = range_of(column->column);
  const int scale = scale_of(bound.type);
  const double value = bound.type.kind == ValueKind::real ? bound.real : to_double(bound.exact, scale);
  // Tests the value before it is rounded: 2^53 + 1 as a double is 2^53.
  constexpr UInt128 kWhole = UInt128{1} << kExactBits;
  const bool known = bound.type.kind == ValueKind::real || (scale == 0 && magnitude(bound.exact) <= kWhole);
  return Bounded{.range = range,
                 .is_real = column->type.kind == ValueKind::real,
                 .turned = turned,
                 .known = known,
                 .below = known ? value : std::nextafter(value, -HUGE_VAL),
                 .above = known ? value : std::nextafter(value, HUGE_VAL)};
}

/// Returns whether some member of a list is within the column's bounds.
bool may_be_member(const Expression& test, const RangeOf& range_of) {
  const Expression& column = *test.args[0];
  if (column.op != Op::column) return true;
  const ColumnRange range = range_of(column.column);
  const auto is_within = [&](const auto& members, const auto& below, const auto& above) {
    const auto first = std::partition_point(members.begin(), members.end(),
                                            [&](const auto& member) { return above(member) < range.least; });
    return first != members.end() && below(*first) <= range.greatest;
  };
  if (!range.has_values) return false;
  const auto itself = [](double value) { return value; };
  if (column.type.kind == ValueKind::real) return is_within(test.members->reals(), itself, itself);
  // Bounds are doubles, so the bound for a member may differ slightly from the member.
  const auto near = [&](Int128 member, double toward) {
    return std::nextafter(to_double(member, scale_of(column.type)), toward);
  };
  return is_within(
      test.members->exact(), [&](Int128 member) { return near(member, -HUGE_VAL); },
      [&](Int128 member) { return near(member, HUGE_VAL); });
}

/// Returns whether some of the rows may fulfill a condition.
bool may_hold(const Expression& condition, const RangeOf& range_of) {
  if (condition.op == Op::both || condition.op == Op::either) {
    const bool first = may_hold(*condition.args[0], range_of);
    if (first == (condition.op == Op::either)) return first;
    return may_hold(*condition.args[1], range_of);
  }
  if (condition.op == Op::is_member) return may_be_member(condition, range_of);
  const auto at = bounded(condition, range_of);
  if (!at) return true;
  const ColumnRange& range = at->range;
  if (!range.has_values) return false;
  const bool open = at->known && condition.op == Op::less;
  const bool reaches_up = range.greatest > at->below || (range.greatest == at->below && !open) || at->is_real;
  const bool reaches_down = range.least < at->above || (range.least == at->above && !open);
  if (std::isnan(at->below)) return true;
  if (condition.op == Op::equal) return range.greatest >= at->below && reaches_down;
  return at->turned ? reaches_up : reaches_down;
}

/// Returns whether all of the rows fulfill a condition.
bool must_hold(const Expression& condition, const RangeOf& range_of) {
  if (condition.op == Op::both || condition.op == Op::either) {
    const bool first = must_hold(*condition.args[0], range_of);
    if (first == (condition.op == Op::either)) return first;
    return must_hold(*condition.args[1], range_of);
  }
  const auto at = bounded(condition, range_of);
  if (!at || at->range.has_nulls || at->is_real || std::isnan(at->below)) return false;
  const ColumnRange& range = at->range;
  if (condition.op == Op::equal) return at->known && range.least == at->above && range.greatest == at->below;
  const bool closed = condition.op == Op::less_equal;
  if (at->turned) return range.least > at->above || (closed && range.least == at->above);
  return range.greatest < at->below || (closed && range.greatest == at->below);
}

bool may_match(const QueryPlan& plan, const RangeOf& range_of) {
  return std::all_of(plan.filters.begin(), plan.filters.end(),
                     [&](const Node& filter) { return may_hold(*filter, range_of); });
}

RangeOf ranges_in(const QueryPlan& plan, const Table& table, int row_group) {
  return [&, row_group](int column) { return table.range(row_group, plan.columns[static_cast<std::size_t>(column)]); };
}

}  // namespace

bool may_match(const QueryPlan& plan, const Table& table, int row_group) {
  return may_match(plan, ranges_in(plan, table, row_group));
}

bool must_hold(const Expression& condition, const QueryPlan& plan, const Table& table, int row_group) {
  return must_hold(condition, ranges_in(plan, table, row_group));
}

std::vector<bool> matching_batches(const QueryPlan& plan, const Table& table, int row_group) {
  if (plan.filters.empty() || table.rows(row_group) < 0) return {};
  std::map<int, std::vector<ColumnRange>> known;
  for (const int column : columns_of(plan.filters)) {
    auto ranges = table.batch_ranges(row_group, plan.columns[static_cast<std::size_t>(column)]);
    if (!ranges.empty()) known.emplace(column, std::move(ranges));
  }
  if (known.empty()) return {};
  std::vector<bool> matching;
  for (std::int64_t first = 0; first < table.rows(row_group); first += kBatchRows) {
    matching.push_back(may_match(plan, [&](int column) {
      const auto ranges = known.find(column);
      return ranges == known.end() ? ColumnRange() : ranges->second[matching.size()];
    }));
  }
  return matching;
}

}  // namespace upsweep::query
