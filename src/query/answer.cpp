// SPDX-License-Identifier: Apache-2.0
// query/answer.cpp: groups as a batch of keys and aggregates, over which the outputs are expressions like any others.
#include "query/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "expression/date.hpp"
#include "expression/evaluate.hpp"
#include "expression/number.hpp"
#include "query/sql.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::query {
namespace {

/// How keys and aggregates lie in the batch that outputs are computed from.
Storage storage_for(ValueKind kind) {
  if (kind == ValueKind::real) return Storage::float64;
  if (kind == ValueKind::boolean) return Storage::bit;
  return kind == ValueKind::text ? Storage::int32 : Storage::int128;
}

/// A column of keys or aggregates in the making.
class Column {
 public:
  Column(ValueType type, std::int64_t rows, std::shared_ptr<const Dictionary> dictionary)
      : field_{.kind = type.kind, .storage = storage_for(type.kind), .scale = type.scale},
        words_(std::move(dictionary)),
        values_(static_cast<std::size_t>(rows)),
        validity_(static_cast<std::size_t>(rows + 7) / 8) {}

  void put(std::int64_t row, Int128 exact, double real) {
    validity_[static_cast<std::size_t>(row / 8)] |= static_cast<std::uint8_t>(1 << (row % 8));
    if (field_.kind == ValueKind::real) {
      at<double>(row) = real;
    } else if (field_.kind == ValueKind::boolean) {
      at<std::uint8_t>(row / 8) |= static_cast<std::uint8_t>(static_cast<int>(exact) << (row % 8));
    } else if (field_.kind == ValueKind::text) {
      at<std::int32_t>(row) = static_cast<std::int32_t>(exact);
    } else {
      at<Int128>(row) = exact;
    }
  }
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] ColumnData data() const {
    return {.values = values_.data(), .validity = validity_.data(), .dictionary = words_};
  }

 private:
  template <class T>
  T& at(std::int64_t i) {
    return reinterpret_cast<T*>(values_.data())[i];
  }

  Field field_;
  std::shared_ptr<const Dictionary> words_;
  std::vector<Int128> values_;  ///< room for any storage
  std::vector<std::uint8_t> validity_;
};

/// What an aggregate has come to in each group.
void put_values(const Plan& plan, std::size_t aggregate, const Groups& groups, Column& column) {
  const auto& [fold, input, type] = plan.aggregates[aggregate];
  const bool is_real = type.kind == ValueKind::real;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    const State& state = groups.state(g, aggregate);
    if (fold == Fold::count || fold == Fold::count_rows) {
      column.put(g, state.count, 0);
    } else if (!is_real && state.high() != 0) {
      refuse(plan.sql, input->location, Code::overflow, "this adds up to more than 38 digits");
    } else if (state.count > 0) {
      column.put(g, state.exact, state.real());
    }
  }
}

void put_means(ValueType type, std::size_t aggregate, const Groups& groups, Column& column) {
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    const State& sum = groups.state(g, aggregate);
    if (sum.count == 0) continue;
    column.put(g, 0,
               type.kind == ValueKind::real ? sum.real() / static_cast<double>(sum.count)
                                            : average(sum.exact, sum.high(), sum.count, scale_of(type)));
  }
}

/// Those that outputs ask for: a sum that does not fit may have an average all the same.
std::vector<Column> columns_for(const Plan& plan, const Groups& groups,
                                const std::shared_ptr<const Dictionary>& dictionary) {
  std::vector<Node> outputs;
  outputs.reserve(plan.outputs.size());
  for (const Output& output : plan.outputs) outputs.push_back(output.value);
  const std::set<int> wanted = columns_of(outputs);
  std::vector<Column> columns;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    Column& column = columns.emplace_back(plan.keys[k]->type, groups.count(), dictionary);
    for (std::int64_t g = 0; g < groups.count(); ++g) {
      if (!groups.key_is_null(g, k)) column.put(g, groups.key(g, k), 0);
    }
  }
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    const ValueType type = plan.aggregates[a].type;
    const bool value = wanted.contains(static_cast<int>(columns.size()));
    const bool mean = wanted.contains(static_cast<int>(columns.size()) + 1);
    Column& values = columns.emplace_back(type, value ? groups.count() : 0, dictionary);
    if (value) put_values(plan, a, groups, values);
    Column& means = columns.emplace_back(ValueType{ValueKind::real}, mean ? groups.count() : 0, dictionary);
    if (mean) put_means(type, a, groups, means);
  }
  return columns;
}

Cell cell_at(const Vector& v, int i) {
  Cell cell;
  cell.null = null_at(v, i);
  if (cell.null) return cell;
  if (v.form == Form::real) {
    cell.real = v.at<double>(i);
  } else if (v.form == Form::text) {
    cell.word = (**v.dictionary)[static_cast<std::size_t>(exact_at(v, i))];
  } else {
    cell.exact = exact_at(v, i);
  }
  return cell;
}

/// -1, 0 or 1 as a comes before b, with it or after it.
int compare(ValueKind kind, const Cell& a, const Cell& b) {
  const auto order = [](const auto& x, const auto& y) { return is_less(x, y) ? -1 : is_less(y, x) ? 1 : 0; };
  if (kind == ValueKind::text) return order(a.word, b.word);
  return kind == ValueKind::real ? order(a.real, b.real) : order(a.exact, b.exact);
}

void sort(const Plan& plan, Answer& answer) {
  if (plan.order.empty()) return;
  // Of rows that are equal the earlier one comes first.
  const auto precedes = [&](std::size_t a_row, std::size_t b_row) {
    const std::vector<Cell>& a = answer.rows[a_row];
    const std::vector<Cell>& b = answer.rows[b_row];
    for (const OrderTerm& term : plan.order) {
      const auto which = static_cast<std::size_t>(term.output);
      if (a[which].null != b[which].null) return a[which].null == term.nulls_first;
      if (a[which].null) continue;
      const int order = compare(answer.columns[which].kind, a[which], b[which]);
      if (order != 0) return (order < 0) != term.descending;
    }
    return a_row < b_row;
  };
  std::vector<std::size_t> order(answer.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto wanted = std::min<std::int64_t>(std::ssize(order), plan.limit);
  if (wanted < std::ssize(order)) {
    std::nth_element(order.begin(), order.begin() + wanted, order.end(), precedes);
    order.resize(static_cast<std::size_t>(wanted));
  }
  std::sort(order.begin(), order.end(), precedes);
  std::vector<std::vector<Cell>> rows;
  rows.reserve(order.size());
  for (const std::size_t row : order) rows.push_back(std::move(answer.rows[row]));
  answer.rows = std::move(rows);
}

/// The groups that a thread makes rows of at a time.
constexpr std::int64_t kStretch = 16 * kBlock;

/// The outputs of these groups, as rows.
void put_rows(const Plan& plan, const Batch& batch, std::int64_t first, std::int64_t end, Evaluator& evaluator,
              Answer& answer) {
  for (; first < end; first += kBlock) {
    const int n = static_cast<int>(std::min<std::int64_t>(kBlock, end - first));
    std::vector<Cell>* const rows = answer.rows.data() + first;
    for (int i = 0; i < n; ++i) rows[i].reserve(plan.outputs.size());
    evaluator.start(batch, first, n);
    for (const Output& output : plan.outputs) {
      const Vector& v = evaluator.value(output.value);
      for (int i = 0; i < n; ++i) rows[i].push_back(cell_at(v, i));
    }
  }
}

}  // namespace

Answer answer_of(const Plan& plan, const Groups& groups, const Kernels& kernels, int threads) {
  auto dictionary = std::make_shared<Dictionary>(groups.texts().begin(), groups.texts().end());
  const std::vector<Column> columns = columns_for(plan, groups, dictionary);
  std::vector<Field> fields;
  Batch batch{.rows = groups.count()};
  for (const Column& column : columns) {
    fields.push_back(column.field());
    batch.columns.push_back(column.data());
  }
  Answer answer{.table = plan.table, .groups = groups.count()};
  for (const Output& output : plan.outputs) {
    answer.columns.push_back({.name = output.name, .kind = output.value->type.kind, .scale = output.value->type.scale});
  }
  const std::int64_t count = plan.order.empty() ? std::min(groups.count(), plan.limit) : groups.count();
  answer.rows.resize(static_cast<std::size_t>(count));
  const std::int64_t stretches = cpu::parts(count, kStretch);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(stretches));
  std::atomic<std::int64_t> next{0};
  cpu::run_allocating_workers(cpu::workers_for(stretches, 1, threads), [&](int) {
    Evaluator evaluator(fields, plan.output_nodes, plan.sql, kernels, plan.grouped ? " in group " : nullptr);
    for (std::int64_t stretch = next++; stretch < stretches; stretch = next++) {
      const std::int64_t first = stretch * kStretch;
      try {
        put_rows(plan, batch, first, std::min(first + kStretch, count), evaluator, answer);
      } catch (...) {
        errors[static_cast<std::size_t>(stretch)] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) std::rethrow_exception(error);
  }
  sort(plan, answer);
  if (std::ssize(answer.rows) > plan.limit) answer.rows.resize(static_cast<std::size_t>(plan.limit));
  return answer;
}

}  // namespace upsweep::query

namespace upsweep {

std::string text(const Field& column, const Cell& cell) {
  if (cell.null) return "NULL";
  switch (column.kind) {
    case ValueKind::real:
      if (std::isnan(cell.real)) return "NaN";
      if (std::isinf(cell.real)) return cell.real > 0 ? "Infinity" : "-Infinity";
      return fmt::format("{}", cell.real);
    case ValueKind::date:
      return expression::date_text(static_cast<std::int64_t>(cell.exact));
    case ValueKind::boolean:
      return cell.exact != 0 ? "true" : "false";
    case ValueKind::text:
      return cell.word;
    case ValueKind::integer:
    case ValueKind::decimal:
      return expression::to_text(cell.exact, column.kind == ValueKind::decimal ? column.scale : 0);
  }
  detail::no_such_value();
}

std::optional<std::int64_t> days_of(std::string_view date) { return expression::parse_date(date); }

double decimal_value(Int128 exact, int scale) { return expression::to_double(exact, scale); }

}  // namespace upsweep
