// SPDX-License-Identifier: Apache-2.0
// sql/query/bind.cpp: walks PostgreSQL's parse tree, and refuses unsupported parts with their position.
#include "sql/query/bind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "sql/expression/clock.hpp"
#include "sql/expression/date.hpp"
#include "sql/expression/functions.hpp"
#include "sql/expression/rules.hpp"
#include "sql/query/binder.hpp"
#include "sql/query/constants.hpp"
#include "sql/query/list_table.hpp"
#include "sql/query/refusals.hpp"

namespace upsweep::query {
namespace {

constexpr int kMostNodes = 20'000;           // different expressions of a query: each has buffers on every thread
constexpr std::size_t kMostListed = 10'000;  // expressions after SELECT, GROUP BY, ORDER BY

constexpr ValueType kCount{ValueKind::integer};
constexpr std::string_view kAggregates[] = {"sum",      "count",   "min",   "max",      "avg",    "mean",
                                            "bool_and", "bool_or", "every", "count_if", "countif"};

/// Returns the list function that computes of a list what an aggregate computes of rows.
std::string name_of_list_function(const std::string& aggregate) { return "list_" + aggregate; }

/// Returns whether brackets follow an expression: x[1].
bool is_subscript(const Json& indirection) { return indirection.at("indirection").at(0).contains("A_Indices"); }

}  // namespace

bool is_aggregate(const Json& call) {
  const std::string name = function_name(call);
  return std::find(std::begin(kAggregates), std::end(kAggregates), name) != std::end(kAggregates);
}

// ------------------------------------------------------------------------------------------------------------- clauses

void Binder::bind_filters(const Node& condition) {
  if (condition->op == Op::both) {
    for (const Node& argument : condition->args) bind_filters(argument);
  } else {
    plan_.filters.push_back(condition);
  }
}

void Binder::bind_keys(const Json& select) {
  if (!select.contains("groupClause")) return;
  plan_.grouped = true;
  const Json& targets = select.at("targetList");
  SeenNames one_value;
  require_few(select.at("groupClause"), "GROUP BY");
  for (const Json& item : select.at("groupClause")) {
    const int location = first_location(item);
    if (is_all(item)) {
      for (std::size_t target = 0; target < targets.size(); ++target) {
        if (contents_.has_aggregate(selected(target)) || !contents_.has_column(selected(target))) continue;
        add_key(bind(selected(target), Level::rows, 0), first_location(selected(target)));
      }
      // Without keys, GROUP BY ALL has one group, like a query without GROUP BY.
      plan_.grouped = !plan_.keys.empty() || select.at("groupClause").size() > 1;
      continue;
    }
    const Json* source = &item;
    const std::optional<Name> name = names_.plain_name(item);
    if (const auto number = selected_by_number(item, std::ssize(targets), location)) {  // GROUP BY 1
      source = &selected(*number);
    } else if (name && names_.of_table().find(*name).empty()) {  // columns of the table take precedence
      const auto bound = [&](std::size_t target) {
        return contents_.has_aggregate(selected(target)) ? nullptr : bind(selected(target), Level::rows, 0);
      };
      if (const auto target = selected_by_name(*name, location, bound, one_value)) source = &selected(*target);
    }
    if (contents_.has_aggregate(*source)) refuse(location, "rows cannot be grouped by an aggregate", Code::bad_sql);
    add_key(bind(*source, Level::rows, 0), location);
  }
}

/// Adds an expression of rows to the keys unless it is one of them. Returns its column of the groups.
Node Binder::add_key(const Node& key, int location) {
  if (key->type.kind == ValueKind::text && key->op != Op::column)
    refuse(location, fmt::format("text in {} must be a column", is_distinct_ ? "SELECT DISTINCT" : "GROUP BY"));
  const auto [found, is_new] = keys_.emplace(key.get(), static_cast<int>(plan_.keys.size()));
  if (is_new) plan_.keys.push_back(key->type.kind == ValueKind::real ? rows_.real_key(key) : key);
  return output(found->second, key->type, location);
}

/// SELECT DISTINCT groups the rows by all selected columns.
void Binder::bind_distinct(const Json& select) {
  if (!select.contains("distinctClause")) return;
  const Json& targets = select.at("targetList");
  if (!select.at("distinctClause").at(0).empty()) {
    refuse(first_location(select.at("distinctClause")),
           "DISTINCT ON is not supported: GROUP BY with MIN and MAX gives one row per group");
  }
  if (select.contains("groupClause") || select.contains("havingClause") || has_aggregates_) {
    // The rows are distinct if every key is selected.
    for (const auto& [key, index] : keys_) {
      const bool is_selected = std::any_of(targets.begin(), targets.end(), [&](const Json& target) {
        const Json& value = target.at("ResTarget").at("val");
        return !contents_.has_aggregate(value) && bind(value, Level::rows, 0).get() == key;
      });
      if (is_selected) continue;
      refuse(first_location(targets),
             "SELECT DISTINCT with GROUP BY needs all expressions of GROUP BY after SELECT: otherwise run a second "
             "query on the answer");
    }
    return;
  }
  is_distinct_ = true;
  plan_.grouped = true;
  require_few(targets, "SELECT");
  bool has_columns = false;
  for (std::size_t target = 0; target < targets.size(); ++target) {
    const Json& value = selected(target);
    const bool is_of_columns = is_star(value) || contents_.has_column(value);
    if (is_of_columns && !is_star(value)) add_key(bind(value, Level::rows, 0), first_location(value));
    has_columns = has_columns || is_of_columns;
  }
  if (!has_columns) add_key(rows_.exact(1, {ValueKind::integer}, 0), 0);  // all rows are equal
}

void Binder::bind_having(const Json& select) {
  if (!select.contains("havingClause")) return;
  plan_.having = outputs_.condition(bind(select.at("havingClause"), Level::outputs, 0), "HAVING");
}

/// Returns the selected column that GROUP BY 1 or ORDER BY 1 means, or nothing if the node is not a number.
std::optional<std::size_t> Binder::selected_by_number(const Json& node, std::ptrdiff_t count, int location) const {
  const auto constant = constant_of(sql_, node);
  if (!constant || constant->op != Op::literal || !is_numeric(constant->type)) return std::nullopt;
  const auto number = whole_number(sql_, node);
  if (!number || *number < 1 || *number > count) {
    const std::string written = number ? std::to_string(*number) : "of that number";
    refuse(location, fmt::format("the query selects no column {}; it has columns 1 to {}", written, count),
           Code::bad_sql);
  }
  return static_cast<std::size_t>(*number - 1);
}

/// Throws if a list has more expressions than a query may have.
void Binder::require_few(const Json& list, const char* clause) const {
  if (list.size() <= kMostListed) return;
  refuse(first_location(list[kMostListed]),
         fmt::format("{} has {} expressions, more than {}", clause, list.size(), kMostListed));
}

void Binder::bind_outputs(const Json& select) {
  const Json& targets = select.at("targetList");
  require_few(targets, "SELECT");
  (void)has(targets, [&](const Json& node) {
    if (!node.is_object() || !node.contains("FuncCall")) return false;
    const Json& call = node.at("FuncCall");
    const std::string name = function_name(call);
    if (!is_aggregate(call) && !is_choice(name) && expression::function_named(name) < 0 &&
        list_function_named(name) == nullptr) {
      refuse_function(sql_, name, location_of(call, 0));
    }
    return false;
  });
  for (const Json& item : targets) {
    const Json& target = item.at("ResTarget");
    const Json& value = target.at("val");
    const int location = location_of(target, 0);
    if (is_star(value)) {
      bind_all_columns(value.at("ColumnRef"), location);
      continue;
    }
    const Node node = bind(value, level_of_outputs(), 0);
    if (node->op == Op::literal && node->type.kind == ValueKind::text) refuse(location, "a string cannot be selected");
    plan_.outputs.push_back({name_of(target), node});
  }
  plan_.selected = plan_.outputs.size();
}

void Binder::refuse_stars(const Json& select) const {
  for (const Json& item : select.at("targetList")) {
    const Json& target = item.at("ResTarget");
    if (!is_star(target.at("val"))) continue;
    refuse(location_of(target, 0),
           "* is not allowed in a query with aggregates or GROUP BY, except in COUNT(*): name the columns",
           Code::bad_sql);
  }
}

/// Selects all columns of the table, for * or t.*.
void Binder::bind_all_columns(const Json& star, int location) {
  names_.require_table_of_star(star, location);
  if (fields_.empty()) refuse(location, fmt::format("{} has no columns", plan_.table), Code::bad_sql);
  std::string unsupported;
  for (const Field& field : fields_) {
    if (field.unsupported.empty()) continue;
    unsupported += fmt::format("{}'{}' ({})", unsupported.empty() ? "" : ", ", field.name, field.unsupported);
  }
  if (!unsupported.empty()) {
    refuse(location,
           fmt::format("columns of unsupported types: {}; omit them from the query: write the names of the other "
                       "columns instead of *",
                       unsupported),
           Code::unsupported_type);
  }
  for (std::size_t place = 0; place < fields_.size(); ++place) {
    require_few_nodes(location);
    const Node column = column_at(place, location);
    plan_.outputs.push_back({fields_[place].name, is_distinct_ ? add_key(column, location) : column});
  }
}

/// Returns the selected column that the name means, or nothing. `value_of` returns a column's expression, because
/// several columns of one name may be equal. `one_value` has the names whose columns a clause has already found to be
/// equal.
template <class ValueOf>
std::optional<std::size_t> Binder::selected_by_name(const Name& name, int location, const ValueOf& value_of,
                                                    SeenNames& one_value) const {
  const std::vector<std::size_t> found = names_.selected().find(name);
  if (found.empty()) return std::nullopt;
  // The columns that a name means are identified by the first column and their number.
  if (!one_value.emplace(found[0], found.size()).second) return found[0];
  for (const std::size_t other : found) {
    if (other == found[0] || value_of(other) == value_of(found[0])) continue;
    refuse(location, ambiguous(name, names_.selected(), found, "selected column"), Code::bad_sql);
  }
  return found[0];
}

/// Returns the output that is equal to an expression of ORDER BY. Adds one if there is none.
std::size_t Binder::output_of(const Json& node, int location) {
  if (constant_of(sql_, node)) {
    refuse(location, "ORDER BY needs a column or an expression, not a constant", Code::bad_sql);
  }
  const Node value = bind(node, level_of_outputs(), 0);
  auto& all = plan_.outputs;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Output& output) { return output.value == value; });
  const auto place = static_cast<std::size_t>(found - all.begin());
  if (found == all.end()) all.push_back({"", value});
  return place;
}

void Binder::bind_order(const Json& select) {
  if (!select.contains("sortClause")) return;
  SeenNames one_value;
  require_few(select.at("sortClause"), "ORDER BY");
  for (const Json& item : select.at("sortClause")) {
    const Json& sort = item.at("SortBy");
    const Json& node = sort.at("node");
    const int location = first_location(sort);
    if (sort.value("sortby_dir", "") == "SORTBY_USING") refuse(location, "ORDER BY … USING is not supported");
    const bool descending = sort.value("sortby_dir", "") == "SORTBY_DESC";
    const std::string nulls = sort.value("sortby_nulls", "SORTBY_NULLS_DEFAULT");
    const bool nulls_first = nulls == "SORTBY_NULLS_DEFAULT" ? descending : nulls == "SORTBY_NULLS_FIRST";
    const auto add = [&](std::size_t output) {
      require_order_of_letters(plan_.outputs[output].value, level_of_outputs(), location);
      plan_.order.push_back({static_cast<int>(output), descending, nulls_first});
    };
    if (is_all(node)) {
      for (std::size_t output = 0; output < plan_.selected; ++output) add(output);
      continue;
    }
    auto found = selected_by_number(node, static_cast<std::ptrdiff_t>(plan_.selected), location);
    const auto value_of = [&](std::size_t output) { return plan_.outputs[output].value; };
    const std::optional<Name> name = names_.plain_name(node);
    if (!found && name) found = selected_by_name(*name, location, value_of, one_value);
    add(found ? *found : output_of(node, location));
  }
}

/// Returns the number of LIMIT or OFFSET; nothing if it is absent, ALL or NULL.
std::optional<Int128> Binder::row_count(const Json& select, const char* member, const char* clause) const {
  if (!select.contains(member)) return std::nullopt;
  const Json& count = select.at(member);
  const int location = first_location(count);
  const auto number = constant_of(sql_, count);
  if (number && number->op == Op::null) return std::nullopt;
  const bool is_whole = number && number->op == Op::literal && is_exact(number->type) && scale_of(number->type) == 0;
  if (!is_whole) refuse(location, fmt::format("{} must be an integer number of rows", clause));
  if (number->exact < 0) refuse(location, fmt::format("{} must not be negative", clause), Code::bad_sql);
  return std::min<Int128>(number->exact, std::numeric_limits<std::int64_t>::max());  // a table never has more rows
}

void Binder::bind_limit(const Json& select) {
  const Int128 offset = row_count(select, "limitOffset", "OFFSET").value_or(0);
  const std::optional<Int128> limit = row_count(select, "limitCount", "LIMIT");
  plan_.offset = static_cast<std::int64_t>(offset);
  if (!limit) return;
  plan_.limit = *limit == 0 ? 0 : static_cast<std::int64_t>(std::min<Int128>(offset + *limit, plan_.limit));
}

QueryPlan Binder::run() {
  const Json& select = syntax_.select;
  plan_.rows = selects_rows(syntax_);
  has_aggregates_ = contents_.has_aggregate(select);
  const bool is_of_rows = !has_aggregates_ && !select.contains("groupClause") && !select.contains("havingClause");
  if (!is_of_rows) refuse_stars(select);
  if (select.contains("whereClause")) {
    const Json& where = select.at("whereClause");
    bind_filters(rows_.condition(bind(where, Level::rows, 0), "WHERE"));
  }
  bind_keys(select);
  bind_distinct(select);
  bind_having(select);
  bind_outputs(select);
  bind_order(select);
  bind_limit(select);
  if (!computed_.empty()) {
    LoweredPlan with_nulls = lowering_.compile(computed_);
    ListLowering without_nulls(program_, false, lowering_.inputs());
    LoweredPlan lowered = without_nulls.compile(computed_);
    plan_.lists = std::make_shared<const ListColumnsOfQuery>(
        ListColumnsOfQuery{std::move(with_nulls), std::move(lowered), lowering_.inputs(), computed_fields_});
  }
  plan_.nodes = rows_.nodes();
  plan_.output_nodes = plan_.rows ? rows_.nodes() : outputs_.nodes();
  return std::move(plan_);
}

// --------------------------------------------------------------------------------------------------------- expressions

Node Binder::bind(const Json& node, Level level, int depth) {
  if (level == Level::outputs) return bind_new(node, level, depth);
  if (const auto known = bound_.find(&node); known != bound_.end()) return known->second;
  return bound_.emplace(&node, bind_new(node, level, depth)).first->second;
}

std::vector<Node> Binder::bind_all(const Json& nodes, Level level, int depth) {
  std::vector<Node> bound;
  for (const Json& node : nodes) bound.push_back(bind(node, level, depth));
  return bound;
}

Node Binder::bind_new(const Json& node, Level level, int depth) {
  const auto [tag, body] = tagged(node);
  const int location = location_of(body, first_location(node));
  if (depth > kDeepest) refuse(location, fmt::format("the expression has more than {} nested operators", kDeepest));
  if (const Json* const meant = level == Level::elements ? nullptr : meant_by(node);
      meant != nullptr && expanded_.insert(meant).second) {
    if (level == Level::rows && contents_.has_aggregate(*meant)) {
      refuse(location, "this selected column is an aggregate: its name can be used in SELECT, HAVING and ORDER BY",
             Code::bad_sql);
    }
    Node value = bind(*meant, level, depth + 1);
    expanded_.erase(meant);
    return value;
  }
  if (level == Level::outputs && !contents_.has_aggregate(node)) {
    if (const auto key = key_for(node, location, depth)) return *key;
  }
  require_few_nodes(location);
  if (const auto constant = constant_of(sql_, node)) return builder(level).make(*constant);
  if (tag == "ColumnRef" && level == Level::elements) {
    if (const auto parameter = bind_parameter(node, location)) return *parameter;
    return bind_column_in_list_function(body, location);
  }
  if (tag == "ColumnRef") return bind_column(body, level, location);
  if (tag == "TypeCast") refuse_cast(sql_, cast_type(body), location);
  if (tag == "A_Expr") return bind_operator(body, level, location, depth);
  if (tag == "BoolExpr") return bind_logic(body, level, location, depth);
  if (tag == "CaseExpr") return bind_case(body, level, location, depth);
  if (tag == "BooleanTest") return bind_truth(body, level, location, depth);
  if (tag == "CoalesceExpr") return choice("coalesce", bind_all(body.at("args"), level, depth + 1), level, location);
  if (tag == "MinMaxExpr") {
    const char* const name = body.value("op", "") == "IS_GREATEST" ? "greatest" : "least";
    return choice(name, bind_all(body.at("args"), level, depth + 1), level, location);
  }
  if (tag == "NullTest") {
    const Node test = builder(level).is_null(bind(body.at("arg"), level, depth + 1), location);
    return body.value("nulltesttype", "") == "IS_NULL" ? test : builder(level).invert(test, location);
  }
  if (tag == "A_Indirection" && is_subscript(body)) return bind_element(body, level, location, depth);
  if (tag == "FuncCall" && !is_aggregate(body)) {
    const ListFunctionNames* const of_lists = list_function_named(function_name(body));
    return of_lists != nullptr ? bind_list_function(*of_lists, body, level, location, depth)
                               : bind_function(body, level, location, depth);
  }
  if (tag == "FuncCall" && level == Level::outputs) return bind_aggregate(body, location, depth);
  if (tag == "FuncCall") {
    refuse(location, level == Level::elements
                         ? fmt::format("{0}() is an aggregate of rows: it cannot be inside a list function; for the "
                                       "elements of a list write {1}()",
                                       function_name(body), name_of_list_function(function_name(body)))
                         : fmt::format("{}() is an aggregate: it cannot be inside another aggregate, in WHERE or in "
                                       "GROUP BY",
                                       function_name(body)));
  }
  refuse_expression(sql_, tag, location);
}

void Binder::require_few_nodes(int location) const {
  if (rows_.nodes() + outputs_.nodes() + elements_.nodes() <= kMostNodes) return;
  refuse(location,
         fmt::format("the query has more than {} different expressions; use IN for long lists of values", kMostNodes));
}

/// Returns the output column of a key that is equal to `node`.
std::optional<Node> Binder::key_for(const Json& node, int location, int depth) {
  if (plan_.keys.empty() || !contents_.has_column(node)) return std::nullopt;
  const Node value = bind(node, Level::rows, depth);
  const auto found = keys_.find(value.get());
  if (found == keys_.end()) return std::nullopt;
  return output(found->second, value->type, location);
}

/// Returns the column that a name means, and sets its place in the table. Throws if its type is not supported.
const Field& Binder::column_of_rows(const Json& body, int location, std::size_t& place) const {
  place = names_.column_of(body, location);
  const Field& field = fields_[place];
  if (field.element) {
    refuse(location,
           fmt::format("column '{0}' contains lists: a query computes numbers from them, such as len({0}), "
                       "list_sum({0}) or {0}[1]",
                       field.name),
           Code::unsupported_type);
  }
  if (!field.unsupported.empty()) {
    refuse(location,
           fmt::format("column '{}' has unsupported type {}; convert it to numbers, dates or text, or "
                       "omit it",
                       field.name, field.unsupported),
           Code::unsupported_type);
  }
  return field;
}

/// Returns the selected expression that a name means which no column of the table has; otherwise null.
const Json* Binder::meant_by(const Json& node) const {
  const std::optional<Name> name = names_.plain_name(node);
  if (!name || !names_.of_table().find(*name).empty() || !names_.of_table().other_case(*name).empty()) return nullptr;
  const std::vector<std::size_t> found = names_.selected().find(*name);
  return found.size() == 1 ? &selected(names_.target_of(found[0])) : nullptr;
}

Node Binder::bind_column(const Json& body, Level level, int location) {
  if (level == Level::outputs) {
    const std::string& column = fields_[names_.column_of(body, location)].name;
    refuse(location,
           is_distinct_ ? fmt::format("with SELECT DISTINCT, ORDER BY takes selected expressions: also select '{}', or "
                                      "leave out DISTINCT",
                                      column)
                        : fmt::format("column '{}' must appear in GROUP BY or inside an aggregate function", column),
           Code::bad_sql);
  }
  std::size_t place = 0;
  (void)column_of_rows(body, location, place);
  return column_at(place, location);
}

/// Returns the column at that place in the table.
Node Binder::column_at(std::size_t place, int location) {
  const Field& field = fields_[place];
  if (field.is_untyped) return rows_.null(location);  // adopts any required type
  const int index = static_cast<int>(place);
  const auto [used, is_new] = used_.emplace(index, static_cast<int>(plan_.columns.size()));
  if (is_new) {
    plan_.columns.push_back(index);
    plan_.fields.push_back(field);
  }
  return rows_.column(used->second, {field.kind, field.scale, !field.zone.empty()}, form_of(field) == Form::wide,
                      location);
}

// ----------------------------------------------------------------------------------------------------------- operators

/// Returns a literal date or timestamp moved by an interval: a date by months or days, a timestamp by months.
std::optional<Node> Binder::bind_date_arithmetic(const Json& body, const std::string& symbol, Level level, int location,
                                                 int depth) {
  if (!body.contains("lexpr") || (symbol != "+" && symbol != "-")) return std::nullopt;
  std::optional<Span> span = span_of(sql_, body.at("rexpr"));
  const bool turned = !span && symbol == "+";
  if (turned) span = span_of(sql_, body.at("lexpr"));
  if (!span) return std::nullopt;
  const Int128 day = Int128{kDaySeconds} * power_of_ten(span->time.scale);
  const bool is_of_days = span->time.count % day == 0;
  const Node date = bind(body.at(turned ? "rexpr" : "lexpr"), level, depth + 1);
  const bool is_date = date->type.kind == ValueKind::date;
  const bool is_literal = date->op == Op::literal && (is_date || date->type.kind == ValueKind::timestamp);
  if (span->months == 0 && !(is_literal && is_date && is_of_days)) return std::nullopt;
  if (!is_literal) {
    refuse(location,
           "intervals of months can only be added to literals: move the interval to the other side of the comparison");
  }
  const int sign = symbol == "-" ? -1 : 1;
  if (span->months > kMostMonths || span->months < -kMostMonths)
    refuse(location, "this interval is too long", Code::overflow);
  const Int128 unit = is_date ? 1 : Int128{kDaySeconds} * power_of_ten(date->type.scale);  // of the date's elements
  const Int128 days = date->exact / unit - (date->exact % unit < 0 ? 1 : 0);
  Int128 moved = add_months(static_cast<int>(days), sign * span->months);
  if (is_of_days) moved += sign * (span->time.count / day);
  if (days < kFirstDay || days > kLastDay || moved < kFirstDay || moved > kLastDay)
    refuse(location, "the date is outside the years 0 to 9999", Code::overflow);
  Builder& make = builder(level);
  const Int128 element = moved * unit + (date->exact - days * unit);
  Node result = is_date ? make.exact(element, date->type, location) : make.seconds(element, date->type, location);
  if (is_of_days) return result;
  const Node rest = make.seconds(span->time.count, {ValueKind::duration, span->time.scale}, location);
  return make.arithmetic(symbol == "-" ? Op::subtract : Op::add, result, rest, location);
}

/// Refuses to order the strings of ordered categories: the order of the categories differs from the order of the
/// strings.
void Binder::require_order_of_letters(const Node& node, Level level, int location) const {
  if (node->type.kind != ValueKind::text) return;
  for (const int column : expression::columns_of({node})) {
    const auto index = static_cast<std::size_t>(column);
    if (level == Level::outputs) {
      if (index < plan_.keys.size()) require_order_of_letters(plan_.keys[index], Level::rows, location);
    } else if (plan_.fields[index].has_own_order) {
      refuse(location,
             fmt::format("column '{}' has ordered categories, but queries order text by its bytes: convert the column "
                         "to text for that order, or to numbers for the order of the categories",
                         plan_.fields[index].name),
             Code::unsupported_type);
    }
  }
}

Node Binder::bind_operator(const Json& body, Level level, int location, int depth) {
  const std::string kind = body.value("kind", "");
  if (kind.find("BETWEEN") != std::string::npos) return bind_between(body, kind, level, location, depth);
  if (kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT") return bind_distinct_from(body, level, location, depth);
  if (kind == "AEXPR_NULLIF") {
    const Node value = bind(body.at("lexpr"), level, depth + 1);
    return choice("nullif", {value, bind(body.at("rexpr"), level, depth + 1)}, level, location);
  }
  const std::string symbol = string_of(body.at("name").back());
  Builder& make = builder(level);
  if (kind == "AEXPR_IN") {
    const Node test = bind_in(body, level, location, depth);
    return symbol == "=" ? test : make.invert(test, location);
  }
  if (kind != "AEXPR_OP") refuse_operator(sql_, kind, symbol, location);
  if (!body.contains("rexpr")) refuse_operator(sql_, "", symbol, location);
  if (const auto date = bind_date_arithmetic(body, symbol, level, location, depth)) return *date;
  Node right = bind(body.at("rexpr"), level, depth + 1);
  if (!body.contains("lexpr")) {
    if (symbol == "-") return make.negate(right, location);
    if (symbol == "+" && is_numeric(right->type)) return right;
    refuse_operator(sql_, "", symbol, location);
  }
  const Node left = bind(body.at("lexpr"), level, depth + 1);
  constexpr std::string_view kArithmetic = "+-*/";  // in the order of the operators in Op
  if (const auto which = symbol.size() == 1 ? kArithmetic.find(symbol) : std::string::npos;
      which != std::string::npos) {
    return make.arithmetic(static_cast<Op>(static_cast<std::size_t>(Op::add) + which), left, right, location);
  }
  for (const char* comparison : {"=", "<>", "<", "<=", ">", ">="}) {
    if (symbol != comparison) continue;
    if (symbol.front() != '=' && symbol != "<>") {
      require_order_of_letters(left, level, location);
      require_order_of_letters(right, level, location);
    }
    return make.compare(symbol, left, right, location);
  }
  refuse_operator(sql_, "", symbol, location);
}

Node Binder::bind_in(const Json& body, Level level, int location, int depth) {
  const Node left = bind(body.at("lexpr"), level, depth + 1);
  std::vector<Expression> constants;  // not nodes, because a list may have very many
  std::vector<Node> others;
  const Json& list = body.at("rexpr");
  for (const Json& item : list.at("List").at("items")) {
    if (auto constant = constant_of(sql_, item)) {
      constants.push_back(std::move(*constant));
    } else {
      others.push_back(bind(item, level, depth + 1));
    }
  }
  return builder(level).is_in(left, constants, others, location);
}

Node Binder::bind_between(const Json& body, const std::string& kind, Level level, int location, int depth) {
  Builder& make = builder(level);
  const Node value = bind(body.at("lexpr"), level, depth + 1);
  require_order_of_letters(value, level, location);
  const Json& bounds = body.at("rexpr").at("List").at("items");
  const Node first = bind(bounds.at(0), level, depth + 1);
  const Node second = bind(bounds.at(1), level, depth + 1);
  const auto is_within = [&](const Node& least, const Node& greatest) {
    return make.logic(
        Op::both,
        std::vector{make.compare(">=", value, least, location), make.compare("<=", value, greatest, location)},
        location);
  };
  Node test = is_within(first, second);
  if (kind.find("SYM") != std::string::npos)
    test = make.logic(Op::either, std::vector{test, is_within(second, first)}, location);
  return kind.find("NOT") == std::string::npos ? test : make.invert(test, location);
}

Node Binder::bind_logic(const Json& body, Level level, int location, int depth) {
  Builder& make = builder(level);
  const std::string op = body.value("boolop", "");
  const Json& args = body.at("args");
  std::vector<Node> conditions;
  for (const Json& arg : args) conditions.push_back(bind(arg, level, depth + 1));
  if (op == "NOT_EXPR") return make.invert(conditions[0], location);
  return make.logic(op == "AND_EXPR" ? Op::both : Op::either, conditions, location);
}

Node Binder::bind_case(const Json& body, Level level, int location, int depth) {
  Builder& make = builder(level);
  std::optional<Node> subject;
  if (body.contains("arg")) subject = bind(body.at("arg"), level, depth + 1);
  std::vector<Node> args;
  for (const Json& item : body.at("args")) {
    const Json& when = item.at("CaseWhen");
    const Node test = bind(when.at("expr"), level, depth + 1);
    args.push_back(subject ? make.compare("=", *subject, test, location_of(when, location)) : test);
    args.push_back(bind(when.at("result"), level, depth + 1));
  }
  args.push_back(body.contains("defresult") ? bind(body.at("defresult"), level, depth + 1) : make.null(location));
  return make.choose(std::move(args), location);
}

// ----------------------------------------------------------------------------------------------------------- functions

Node Binder::bind_function(const Json& body, Level level, int location, int depth) {
  const std::string name = function_name(body);
  if (is_choice(name)) {
    require_scalar_call(sql_, body, location);
    std::vector<Node> values;
    if (body.contains("args")) values = bind_all(body.at("args"), level, depth + 1);
    return choice(name, std::move(values), level, location);
  }
  const int function = expression::function_named(name);
  if (function < 0) refuse_function(sql_, name, location);
  require_scalar_call(sql_, body, location);
  std::vector<Node> args;
  if (body.contains("args")) args = bind_all(body.at("args"), level, depth + 1);
  return builder(level).call(function, std::move(args), location);
}

// ---------------------------------------------------------------------------------------------------------- aggregates

/// Returns the index of an aggregate's output column. Equal aggregates are folded once.
int Binder::aggregate(Fold fold, const Node& input, ValueType type) {
  auto& all = plan_.aggregates;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Aggregate& a) { return a.fold == fold && a.input == input; });
  const auto index = found - all.begin();
  if (found == all.end()) all.push_back({fold, input, type});
  return static_cast<int>(plan_.keys.size()) + 2 * static_cast<int>(index);
}

Node Binder::bind_aggregate(const Json& body, int location, int depth) {
  const std::string name = function_name(body);
  require_plain_call(sql_, body, location);
  std::optional<Node> filter;
  if (body.contains("agg_filter"))
    filter = rows_.condition(bind(body.at("agg_filter"), Level::rows, depth + 1), "FILTER");
  if (name == "count" && (body.value("agg_star", false) || !body.contains("args"))) {
    if (!filter) return output(aggregate(Fold::count_rows, nullptr, kCount), kCount, location);
    return output(aggregate(Fold::count, true_or_null(rows_, *filter, location), kCount), kCount, location);
  }
  if (body.value("agg_star", false)) {
    refuse(location, fmt::format("{}(*) is not defined: name a column; * is only allowed in COUNT(*)", name),
           Code::bad_sql);
  }
  if (!body.contains("args") || body.at("args").size() != 1)
    refuse(location, fmt::format("{}() takes one expression{}", name, name == "count" ? ", or *" : ""), Code::bad_sql);
  const Json& arg = body.at("args")[0];
  Node input = bind(arg, Level::rows, depth + 1);
  const ValueKind kind = input->type.kind;
  std::string type = expression::name(input->type);
  if (input->op == Op::column) {
    const bool is_stored = plan_.columns[static_cast<std::size_t>(input->column)] < static_cast<int>(fields_.size());
    type += is_stored ? fmt::format(", as column '{}' is", plan_.fields[static_cast<std::size_t>(input->column)].name)
                      : ", as the result of the list function is";
  }
  if (input->op == Op::literal && kind == ValueKind::text) refuse(location, "a string cannot be aggregated");
  const bool is_truth = name == "bool_and" || name == "bool_or" || name == "every";
  const bool counts_true = name == "count_if" || name == "countif";
  if (is_truth || counts_true) {
    input = rows_.condition(input, name.c_str());
    if (filter) input = rows_.choose({*filter, input, rows_.null(location)}, location);
    if (counts_true) input = true_or_null(rows_, input, location);
  } else if (filter && name == "count") {
    const Node is_counted = rows_.invert(rows_.is_null(input, location), location);
    input = true_or_null(rows_, rows_.logic(Op::both, std::vector{*filter, is_counted}, location), location);
  } else if (filter) {
    input = rows_.choose({*filter, input, rows_.null(location)}, location);
  }
  if (name == "count" || counts_true) return output(aggregate(Fold::count, input, kCount), kCount, location);
  if (name == "min" || name == "max" || is_truth) {
    require_order_of_letters(input, Level::rows, location);
    const Fold fold = name == "max" || name == "bool_or" ? Fold::maximum : Fold::minimum;
    return output(aggregate(fold, input, input->type), input->type, location);
  }
  const bool is_duration = kind == ValueKind::duration;
  if (!is_numeric(input->type) && (!is_duration || name != "sum")) {
    std::string_view instead = expression::why_text(input->type);
    if (is_duration) instead = "; write SUM(x) / COUNT(x)";
    if (kind == ValueKind::interval) instead = "; MIN, MAX and COUNT are";
    if (kind == ValueKind::timestamp) instead = "; MIN, MAX and COUNT are, and the SUM of differences of timestamps";
    refuse(location, fmt::format("{}() is not defined for {}{}", name, type, instead), Code::unsupported_type);
  }
  const int sum = aggregate(Fold::sum, input, input->type);
  if (name == "sum") return output(sum, input->type, location);
  return output(sum + 1, {ValueKind::real}, location);
}

bool selects_rows(const Syntax& syntax) {
  const Json& select = syntax.select;
  for (const char* clause : {"groupClause", "havingClause", "distinctClause"}) {
    if (select.contains(clause)) return false;
  }
  if (!select.contains("targetList")) return false;
  const auto has_aggregate = [&](const char* clause) {
    return select.contains(clause) && Contents().has_aggregate(select.at(clause));
  };
  return !has_aggregate("targetList") && !has_aggregate("sortClause");
}

std::optional<std::int64_t> row_limit(const std::string& sql, const Syntax& syntax) {
  const Json& select = syntax.select;
  if (!selects_rows(syntax) || select.contains("sortClause") || !select.contains("limitCount")) return std::nullopt;
  const std::optional<std::int64_t> limit = whole_number(sql, select.at("limitCount"));
  return limit && *limit >= 0 ? limit : std::nullopt;  // bind() refuses a negative number
}

std::string table_name(const std::string& sql, const Syntax& syntax) {
  return range_of(sql, syntax.select).value("relname", "");
}

std::string full_table_name(const std::string& sql, const Syntax& syntax) {
  const Json& range = range_of(sql, syntax.select);
  std::string name;
  for (const char* part : {"catalogname", "schemaname", "relname"}) {
    if (range.contains(part)) name += (name.empty() ? "" : ".") + range.value(part, "");
  }
  return name;
}

int table_location(const std::string& sql, const Syntax& syntax) {
  return location_of(range_of(sql, syntax.select), 0);
}

QueryPlan bind(const std::string& sql, const Syntax& syntax, const std::string& table,
               const std::vector<Field>& fields) {
  return Binder(sql, syntax, table, fields).run();
}

}  // namespace upsweep::query
