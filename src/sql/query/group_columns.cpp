// SPDX-License-Identifier: Apache-2.0
// sql/query/group_columns.cpp: copies keys and states, column by column.
#include "sql/query/group_columns.hpp"

#include <algorithm>

#include "sql/expression/evaluate.hpp"
#include "sql/expression/number.hpp"

namespace upsweep::query {
namespace {

/// Returns the storage of keys and aggregates in the batch that outputs are computed from. `is_word`: all of them fit
/// 64 bits.
Storage storage_for(ValueKind kind, bool is_word) {
  if (kind == ValueKind::real) return Storage::float64;
  if (kind == ValueKind::boolean) return Storage::bit;
  if (kind == ValueKind::text) return Storage::int32;
  return is_word ? Storage::int64 : Storage::int128;
}

/// Writes the aggregate's value of each group. A sum that does not fit has no valid value.
void put_values(const Aggregate& aggregate, std::size_t which, std::span<const GroupAt> groups, GroupColumn& column) {
  const bool is_count = aggregate.fold == Fold::count || aggregate.fold == Fold::count_rows;
  const bool is_real = aggregate.type.kind == ValueKind::real;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [of, group] = groups[i];
    const std::int64_t count = of->rows().count(group, which);
    if (is_count) {
      column.put_word(i, count);
    } else if (count == 0) {
      column.put_null(i);
    } else if (is_real || column.is_of_words()) {
      column.put_word(i, of->rows().state_word(group, which));
    } else if (aggregate.type.kind == ValueKind::text) {
      column.put_string(i, of->text(of->state(group, which).exact));
    } else {
      column.put(i, of->state(group, which).exact);
    }
  }
}

void put_means(ValueType type, std::size_t aggregate, std::span<const GroupAt> groups, GroupColumn& column) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const State sum = groups[i].groups->state(groups[i].group, aggregate);
    if (sum.count == 0) {
      column.put_null(i);
    } else {
      column.put_real(i, type.kind == ValueKind::real ? sum.real() / static_cast<double>(sum.count)
                                                      : average(sum.exact, sum.high(), sum.count, scale_of(type)));
    }
  }
}

void put_keys(std::size_t which, std::span<const GroupAt> groups, GroupColumn& column) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [of, group] = groups[i];
    if (of->key_is_null(group, which)) {
      column.put_null(i);
    } else if (column.field().kind == ValueKind::text) {
      column.put_string(i, of->key_string(group, which));
    } else if (column.is_of_words() || column.field().kind == ValueKind::real) {
      column.put_word(i, of->rows().key_word(group, which));
    } else {
      column.put(i, of->key(group, which));
    }
  }
}

}  // namespace

std::set<int> wanted_columns(const QueryPlan& plan) {
  std::vector<Node> outputs;
  outputs.reserve(plan.outputs.size() + 1);
  for (const Output& output : plan.outputs) outputs.push_back(output.value);
  if (plan.having) outputs.push_back(plan.having);
  return columns_of(outputs);
}

std::vector<Field> fields_of(const QueryPlan& plan, std::span<const Totals::View> views) {
  const auto field = [](ValueType type, bool is_word) {
    return Field{.kind = type.kind, .storage = storage_for(type.kind, is_word), .scale = type.scale};
  };
  const auto all = [&](const auto& is) {
    return std::all_of(views.begin(), views.end(), [&](const Totals::View& view) { return is(view.groups->rows()); });
  };
  std::vector<Field> fields;
  fields.reserve(plan.keys.size() + 2 * plan.aggregates.size());
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    const bool is_real = plan.keys[k]->op == Op::real_key;  // its key has the bits of the float64
    const ValueType type = is_real ? plan.keys[k]->args[0]->type : plan.keys[k]->type;
    fields.push_back(field(type, all([&](const GroupRows& rows) { return rows.is_word(k); })));
  }
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    fields.push_back(field(plan.aggregates[a].type, all([&](const GroupRows& rows) { return rows.is_narrow(a); })));
    fields.push_back(field({ValueKind::real}, true));
  }
  return fields;
}

std::vector<GroupColumn> columns_for(const QueryPlan& plan, const std::set<int>& wanted,
                                     const std::vector<Field>& fields, std::span<const GroupAt> groups) {
  std::vector<GroupColumn> columns;
  columns.reserve(fields.size());
  for (std::size_t c = 0; c < fields.size(); ++c) {
    const bool is_wanted = wanted.contains(static_cast<int>(c));
    GroupColumn& column = columns.emplace_back(fields[c], is_wanted ? groups.size() : 0);
    if (!is_wanted) continue;
    if (c < plan.keys.size()) {
      put_keys(c, groups, column);
      continue;
    }
    const std::size_t a = (c - plan.keys.size()) / 2;
    if (static_cast<int>(c) == column_of(plan, a)) {
      put_values(plan.aggregates[a], a, groups, column);
    } else {
      put_means(plan.aggregates[a].type, a, groups, column);
    }
  }
  return columns;
}

Batch batch_of(const std::vector<GroupColumn>& columns, std::size_t rows) {
  Batch batch{.rows = static_cast<std::int64_t>(rows)};
  for (const GroupColumn& column : columns) batch.columns.push_back(column.data());
  return batch;
}

}  // namespace upsweep::query
