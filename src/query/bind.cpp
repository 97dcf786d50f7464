// SPDX-License-Identifier: Apache-2.0
// query/bind.cpp: walks PostgreSQL's parse tree; what is not in the supported subset is refused where it stands.
#include "query/bind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <locale>
#include <map>
#include <optional>
#include <sstream>

#include "core/decimal.hpp"
#include "core/printable.hpp"
#include "expression/builder.hpp"
#include "expression/date.hpp"
#include "expression/rules.hpp"

namespace upsweep::query {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 500;                 // operators, one in another
constexpr std::int64_t kMostMonths = 120000;  // of an interval: all that there are between two dates

/// The node's only member: its name says what it is.
struct Tagged {
  std::string tag;
  const Json& body;
};
Tagged tagged(const Json& node) {
  const auto only = node.begin();
  return {only.key(), only.value()};
}

int location_of(const Json& body, int otherwise) {
  const int location = body.value("location", otherwise);
  return location >= 0 ? location : otherwise;
}

std::string string_of(const Json& node) { return node.at("String").value("sval", ""); }

/// A constant's whole number. The parser's JSON leaves negative ones out as it does 0: they are read where they stand.
std::int64_t whole_number(const std::string& sql, const Json& constant) {
  const Json& number = constant.at("ival");
  if (number.contains("ival")) return number.at("ival");
  const auto location = static_cast<std::size_t>(location_of(constant, 0));
  return location < sql.size() && sql[location] == '-' ? -first_number(std::string_view(sql).substr(location)) : 0;
}

/// A number of days, months or years, of the sort that is added to a date.
struct Interval {
  std::int64_t months = 0;
  std::int64_t days = 0;
};

class Binder {
 public:
  Binder(const std::string& sql, const Syntax& syntax, const std::string& table, const std::vector<Field>& fields)
      : sql_(sql), syntax_(syntax), table_(table), fields_(fields), rows_(sql), outputs_(sql) {
    plan_.sql = sql;
    plan_.table = table;
  }

  Plan run();

 private:
  /// Where an expression stands: over the table's rows, or over keys and aggregates.
  enum class Level : std::uint8_t { rows, outputs };

  [[noreturn]] void refuse(int location, const std::string& what, Code code = Code::unsupported_sql) const {
    expression::refuse(sql_, location, code, what);
  }
  Builder& builder(Level level) { return level == Level::rows ? rows_ : outputs_; }

  void bind_from(const Json& select);
  void bind_filters(const Node& condition);
  void bind_keys(const Json& select);
  void bind_outputs(const Json& select);
  void bind_order(const Json& select);
  void bind_limit(const Json& select);

  Node bind(const Json& node, Level level, int depth);
  Node bind_constant(const Json& body, Level level, int location);
  Node bind_number(const std::string& text, Level level, int location);
  Node bind_real(const std::string& text, Level level, int location);
  Node bind_column(const Json& body, int location);
  Node bind_cast(const Json& body, Level level, int location);
  Node bind_operator(const Json& body, Level level, int location, int depth);
  Node bind_between(const Json& body, const std::string& kind, Level level, int location, int depth);
  Node bind_logic(const Json& body, Level level, int location, int depth);
  Node bind_case(const Json& body, Level level, int location, int depth);
  Node bind_aggregate(const Json& body, int location, int depth);
  std::optional<Node> bind_date_arithmetic(const Json& body, const std::string& symbol, Level level, int location,
                                           int depth);
  std::optional<Interval> interval_of(const Json& node) const;
  void require_order_of_letters(const Node& node, Level level, int location) const;
  int aggregate(Fold fold, const Node& input, ValueType type);
  std::optional<Node> key_for(const Json& node, int location, int depth);
  std::optional<std::size_t> selected_by_number(const Json& node, std::ptrdiff_t count, int location) const;
  std::optional<std::size_t> selected_by_name(const std::string& name, int location) const;
  std::optional<std::size_t> selected_by_value(const Json& node, int location);
  std::string name_of(const Json& target) const;
  /// A key or aggregate, as answer.cpp gives it to the outputs: integers in 128 bits.
  Node output(int index, ValueType type, int location) {
    return outputs_.column(index, type, type.kind == ValueKind::integer, location);
  }

  const std::string& sql_;
  const Syntax& syntax_;
  const std::string& table_;
  const std::vector<Field>& fields_;
  Builder rows_;
  Builder outputs_;
  Plan plan_;
  std::map<int, int> used_;            // table column -> the plan's
  std::vector<std::string> callable_;  // what the table may be called before a column
};

constexpr ValueType kCount{ValueKind::integer};
constexpr std::string_view kAggregates[] = {"sum", "count", "min", "max", "avg"};

bool is_aggregate(const Json& call) {
  const std::string name = string_of(call.at("funcname").back());
  return std::find(std::begin(kAggregates), std::end(kAggregates), name) != std::end(kAggregates);
}

/// Whether the node is such a one, or any below it.
template <class Is>
bool has(const Json& node, const Is& is) {
  return is(node) || (node.is_structured() &&
                      std::any_of(node.begin(), node.end(), [&](const Json& child) { return has(child, is); }));
}
bool has_aggregate(const Json& node) {
  return has(node,
             [](const Json& n) { return n.is_object() && n.contains("FuncCall") && is_aggregate(n.at("FuncCall")); });
}
bool has_column(const Json& node) {
  return has(node, [](const Json& n) { return n.is_object() && n.contains("ColumnRef"); });
}

/// The name of a column that stands alone; empty where the node is something else.
std::string plain_name(const Json& node) {
  const auto [tag, body] = tagged(node);
  const bool is_name = tag == "ColumnRef" && body.at("fields").size() == 1 && body.at("fields")[0].contains("String");
  return is_name ? string_of(body.at("fields")[0]) : "";
}

// -------------------------------------------------------------------------------------------------------------- clauses

/// Where in the tree a clause begins: its first location; 0 where it has none.
int first_location(const Json& node) {
  int location = -1;
  (void)has(node, [&](const Json& n) {
    if (n.is_object() && n.contains("location") && n.at("location").is_number()) location = n.at("location");
    return location >= 0;
  });
  return std::max(location, 0);
}

void require_clauses(const std::string& sql, const Json& select) {
  struct Clause {
    const char* member;
    const char* name;
    const char* words;  ///< any of which begins it
  };
  constexpr Clause kRefused[] = {{"distinctClause", "DISTINCT", "distinct"},
                                 {"intoClause", "INTO", "into"},
                                 {"havingClause", "HAVING", "having"},
                                 {"windowClause", "WINDOW", "window"},
                                 {"valuesLists", "VALUES", "values"},
                                 {"limitOffset", "OFFSET", "offset"},
                                 {"lockingClause", "FOR UPDATE", "for"},
                                 {"withClause", "WITH", "with"},
                                 {"larg", "UNION, EXCEPT or INTERSECT", "union except intersect"},
                                 {"groupDistinct", "GROUP BY DISTINCT", "distinct"}};
  for (const Clause& clause : kRefused) {
    if (!select.contains(clause.member)) continue;
    const int location = std::max(location_of_word(sql, clause.words), 0);
    refuse(sql, location, Code::unsupported_sql, fmt::format("{} is not supported", clause.name));
  }
  if (select.value("limitOption", "LIMIT_OPTION_DEFAULT") == "LIMIT_OPTION_WITH_TIES") {
    refuse(sql, first_location(select.at("limitCount")), Code::unsupported_sql, "WITH TIES is not supported");
  }
  if (!select.contains("targetList")) refuse(sql, 0, Code::unsupported_sql, "the query selects nothing");
}

/// The table after FROM.
const Json& range_of(const std::string& sql, const Json& select) {
  require_clauses(sql, select);
  if (!select.contains("fromClause")) {
    refuse(sql, 0, Code::unsupported_sql, "a query needs a table: FROM 'file.parquet', or a --table name");
  }
  const Json& from = select.at("fromClause");
  const auto [tag, body] = tagged(from.at(0));
  if (tag != "RangeVar" || from.size() > 1) {
    refuse(sql, first_location(from.at(from.size() > 1 ? 1 : 0)), Code::unsupported_sql, kOneTable);
  }
  if (body.contains("schemaname")) {
    refuse(sql, location_of(body, 0), Code::unsupported_sql, "tables have no schema before their name");
  }
  return from.at(0).at("RangeVar");
}

void Binder::bind_from(const Json& select) {
  const Json& range = range_of(sql_, select);
  const std::string name = range.value("relname", "");
  if (range.contains("alias")) {
    const Json& alias = range.at("alias");
    if (alias.contains("colnames")) refuse(location_of(range, 0), "columns cannot be renamed here");
    callable_.push_back(alias.value("aliasname", ""));
  } else if (syntax_.path.empty()) {
    callable_.push_back(name);
  }
}

void Binder::bind_filters(const Node& condition) {
  if (condition->op == Op::both) {
    for (const Node& part : condition->args) bind_filters(part);
  } else {
    plan_.filters.push_back(condition);
  }
}

void Binder::bind_keys(const Json& select) {
  if (!select.contains("groupClause")) return;
  plan_.grouped = true;
  for (const Json& item : select.at("groupClause")) {
    const int location = first_location(item);
    const Json& targets = select.at("targetList");
    const Json* source = &item;
    if (const auto number = selected_by_number(item, std::ssize(targets), location)) {  // GROUP BY 1
      source = &targets.at(*number).at("ResTarget").at("val");
    } else if (const std::string name = plain_name(item); !name.empty()) {
      // A column of the table, else of the answer: as in PostgreSQL.
      const bool is_field = std::any_of(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == name; });
      for (const Json& target : targets) {
        if (!is_field && target.at("ResTarget").value("name", "") == name) source = &target.at("ResTarget").at("val");
      }
    }
    if (has_aggregate(*source)) refuse(location, "rows cannot be grouped by an aggregate", Code::bad_sql);
    const Node key = bind(*source, Level::rows, 0);
    if (key->type.kind == ValueKind::real)
      refuse(location,
             "rows cannot be grouped by floats: round them first, or group by an integer, a decimal, a date or text");
    if (key->type.kind == ValueKind::text && key->op != Op::column)
      refuse(location, "text can be grouped by as a column only");
    if (std::find(plan_.keys.begin(), plan_.keys.end(), key) == plan_.keys.end()) plan_.keys.push_back(key);
  }
}

/// Which of the selected columns GROUP BY 1 or ORDER BY 1 means; none where the node is no number.
std::optional<std::size_t> Binder::selected_by_number(const Json& node, std::ptrdiff_t count, int location) const {
  const auto [tag, body] = tagged(node);
  if (tag != "A_Const" || !body.contains("ival")) return std::nullopt;
  const std::int64_t number = whole_number(sql_, body);
  if (number < 1 || number > count)
    refuse(location, fmt::format("the query selects no column {}", number), Code::bad_sql);
  return static_cast<std::size_t>(number - 1);
}

std::string Binder::name_of(const Json& target) const {
  if (target.contains("name")) return target.at("name");
  const auto [tag, body] = tagged(target.at("val"));
  if (tag == "ColumnRef" && body.at("fields").back().contains("String")) return string_of(body.at("fields").back());
  if (tag == "FuncCall") return string_of(body.at("funcname").back());
  if (tag == "CaseExpr") return "case";
  return "?column?";  // as PostgreSQL calls it
}

void Binder::bind_outputs(const Json& select) {
  for (const Json& item : select.at("targetList")) {
    const Json& target = item.at("ResTarget");
    const Json& value = target.at("val");
    const int location = location_of(target, 0);
    const Node node = bind(value, Level::outputs, 0);
    if (node->op == Op::literal && node->type.kind == ValueKind::text) refuse(location, "a string cannot be selected");
    plan_.outputs.push_back({name_of(target), node});
  }
  if (!plan_.grouped && plan_.aggregates.empty()) {
    refuse(location_of(select.at("targetList")[0].at("ResTarget"), 0),
           "a query needs an aggregate or GROUP BY: rows themselves are not given out");
  }
}

std::optional<std::size_t> Binder::selected_by_name(const std::string& name, int location) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < plan_.outputs.size() && !name.empty(); ++i) {
    if (plan_.outputs[i].name != name) continue;
    if (found && plan_.outputs[i].value != plan_.outputs[*found].value)
      refuse(location, fmt::format("the query selects more than one '{}'", name), Code::bad_sql);
    if (!found) found = i;
  }
  return found;
}

std::optional<std::size_t> Binder::selected_by_value(const Json& node, int location) {
  const std::size_t aggregates = plan_.aggregates.size();
  const Node value = bind(node, Level::outputs, 0);
  const auto& all = plan_.outputs;
  const auto found = std::find_if(all.begin(), all.end(), [&](const Output& output) { return output.value == value; });
  if (found == all.end() || plan_.aggregates.size() != aggregates)
    refuse(location, "ORDER BY takes what the query selects, by name, number or as it stands there");
  return static_cast<std::size_t>(found - all.begin());
}

void Binder::bind_order(const Json& select) {
  if (!select.contains("sortClause")) return;
  for (const Json& item : select.at("sortClause")) {
    const Json& sort = item.at("SortBy");
    const Json& node = sort.at("node");
    const int location = first_location(sort);
    if (sort.value("sortby_dir", "") == "SORTBY_USING") refuse(location, "ORDER BY … USING is not supported");
    auto found = selected_by_number(node, std::ssize(plan_.outputs), location);
    if (!found) found = selected_by_name(plain_name(node), location);
    if (!found) found = selected_by_value(node, location);
    require_order_of_letters(plan_.outputs[*found].value, Level::outputs, location);
    const bool descending = sort.value("sortby_dir", "") == "SORTBY_DESC";
    const std::string nulls = sort.value("sortby_nulls", "SORTBY_NULLS_DEFAULT");
    const bool nulls_first = nulls == "SORTBY_NULLS_DEFAULT" ? descending : nulls == "SORTBY_NULLS_FIRST";
    plan_.order.push_back({static_cast<int>(*found), descending, nulls_first});
  }
}

void Binder::bind_limit(const Json& select) {
  if (!select.contains("limitCount")) return;
  const auto [tag, body] = tagged(select.at("limitCount"));
  const int location = first_location(select.at("limitCount"));
  if (tag == "A_Const" && body.contains("isnull")) return;  // LIMIT ALL
  const Node limit = tag == "A_Const" ? bind_constant(body, Level::rows, location) : nullptr;
  if (!limit || limit->op != Op::literal || limit->type.kind != ValueKind::integer) {
    refuse(location, "LIMIT takes a whole number");
  }
  plan_.limit = static_cast<std::int64_t>(limit->exact);
  if (plan_.limit < 0) refuse(location, "LIMIT must not be negative", Code::bad_sql);
}

Plan Binder::run() {
  const Json& select = syntax_.select;
  bind_from(select);
  if (select.contains("whereClause")) {
    const Json& where = select.at("whereClause");
    bind_filters(rows_.condition(bind(where, Level::rows, 0), "WHERE"));
  }
  bind_keys(select);
  bind_outputs(select);
  bind_order(select);
  bind_limit(select);
  plan_.nodes = rows_.nodes();
  plan_.output_nodes = outputs_.nodes();
  return std::move(plan_);
}

// ---------------------------------------------------------------------------------------------------------- expressions

Node Binder::bind(const Json& node, Level level, int depth) {
  const auto [tag, body] = tagged(node);
  const int location = location_of(body, first_location(node));
  if (depth > kDeepest)
    refuse(location, fmt::format("the expression has more than {} operators one in another", kDeepest));
  if (level == Level::outputs && tag != "FuncCall" && !has_aggregate(node)) {
    if (const auto key = key_for(node, location, depth)) return *key;
  }
  if (tag == "A_Const") return bind_constant(body, level, location);
  if (tag == "ColumnRef" && level == Level::rows) return bind_column(body, location);
  if (tag == "ColumnRef") {
    (void)bind_column(body, location);
    refuse(location, "this column must stand in GROUP BY or in an aggregate", Code::bad_sql);
  }
  if (tag == "TypeCast") return bind_cast(body, level, location);
  if (tag == "A_Expr") return bind_operator(body, level, location, depth);
  if (tag == "BoolExpr") return bind_logic(body, level, location, depth);
  if (tag == "CaseExpr") return bind_case(body, level, location, depth);
  if (tag == "NullTest") {
    const Node test = builder(level).is_null(bind(body.at("arg"), level, depth + 1), location);
    return body.value("nulltesttype", "") == "IS_NULL" ? test : builder(level).invert(test, location);
  }
  if (tag == "FuncCall" && !is_aggregate(body)) {
    const std::string name = string_of(body.at("funcname").back());
    refuse(location, fmt::format("{}() is not supported; there are SUM, COUNT, MIN, MAX and AVG", name));
  }
  if (tag == "FuncCall" && level == Level::outputs) return bind_aggregate(body, location, depth);
  if (tag == "FuncCall")
    refuse(location, "aggregates stand in what is selected: not in WHERE or GROUP BY, nor within each other");
  constexpr std::pair<std::string_view, const char*> kRefused[] = {
      {"SubLink", "a subquery"},
      {"ParamRef", "a parameter"},
      {"BooleanTest", "IS TRUE, IS FALSE or IS UNKNOWN"},
      {"CoalesceExpr", "COALESCE"},
      {"MinMaxExpr", "GREATEST or LEAST"},
      {"SQLValueFunction", "a value of the session, such as CURRENT_DATE or user,"},
      {"GroupingSet", "ROLLUP, CUBE, GROUPING SETS or GROUP BY ()"},
      {"RowExpr", "a row of several values"},
      {"CollateClause", "COLLATE"},
      {"A_ArrayExpr", "ARRAY"}};
  for (const auto& [refused, name] : kRefused) {
    if (tag == refused) refuse(location, fmt::format("{} is not supported", name));
  }
  refuse(location, "this is not supported");
}

/// The output column of a key that `node` is equal to.
std::optional<Node> Binder::key_for(const Json& node, int location, int depth) {
  if (plan_.keys.empty() || !has_column(node)) return std::nullopt;
  const Node value = bind(node, Level::rows, depth);
  const auto found = std::find(plan_.keys.begin(), plan_.keys.end(), value);
  if (found == plan_.keys.end()) return std::nullopt;
  return output(static_cast<int>(found - plan_.keys.begin()), value->type, location);
}

Node Binder::bind_constant(const Json& body, Level level, int location) {
  if (body.contains("isnull")) return builder(level).null(location);
  if (body.contains("ival")) {
    return builder(level).exact(whole_number(sql_, body), {ValueKind::integer}, location);
  }
  if (body.contains("fval")) return bind_number(body.at("fval").value("fval", "0"), level, location);
  if (body.contains("boolval")) {
    return builder(level).exact(body.at("boolval").value("boolval", false) ? 1 : 0, {ValueKind::boolean}, location);
  }
  if (body.contains("sval")) return builder(level).text(body.at("sval").value("sval", ""), location);
  refuse(location, "this constant is not supported");
}

/// "12.50", "1e6", ".5", "-9223372036854775808": decimals, exact; integers that 64 bits do not hold are decimals too.
Node Binder::bind_number(const std::string& text, Level level, int location) {
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  int exponent = 0;
  if (mark < text.size()) {
    const char* first = text.data() + mark + 1;
    if (*first == '+') ++first;
    const auto [end, error] = std::from_chars(first, text.data() + text.size(), exponent);
    if (error != std::errc()) return bind_real(text, level, location);
  }
  std::string digits = text.substr(0, mark);
  if (digits.ends_with('.')) digits.pop_back();
  WrittenNumber number;
  Int128 value = 0;
  bool fits = split_number(digits, number);
  const int places = std::max(static_cast<int>(number.decimals.size()), exponent);
  fits = fits && scaled_by(number, places, value);
  const std::int64_t scale = std::int64_t{places} - exponent;
  if (!fits || scale > kMostDigits) return bind_real(text, level, location);
  const bool whole = text.find_first_of(".eE") == std::string::npos;
  const bool is_bigint = whole && value >= INT64_MIN && value <= INT64_MAX;
  const ValueType type =
      is_bigint ? ValueType{ValueKind::integer} : ValueType{ValueKind::decimal, static_cast<int>(scale)};
  return builder(level).exact(value, type, location);
}

/// A number with more digits than decimals have: the nearest float64.
Node Binder::bind_real(const std::string& text, Level level, int location) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool tiny = error == std::errc::result_out_of_range && std::strtod(text.c_str(), nullptr) == 0;
  if (error != std::errc() && !tiny) refuse(location, "this number does not fit a float64", Code::overflow);
  return builder(level).real(tiny ? 0 : value, location);
}

Node Binder::bind_column(const Json& body, int location) {
  const Json& parts = body.at("fields");
  if (parts.back().contains("A_Star")) refuse(location, "* stands in COUNT(*) only: name the columns");
  if (parts.size() > 2) refuse(location, "a column is named as column or table.column");
  if (parts.size() == 2 && std::find(callable_.begin(), callable_.end(), string_of(parts[0])) == callable_.end()) {
    refuse(location, fmt::format("the query has no table '{}'", string_of(parts[0])), Code::unknown_column);
  }
  const std::string name = string_of(parts.back());
  // As it is written, else without regard to case: the parser has made names lower case that are not quoted.
  const auto is_it = [&](const Field& field) { return field.name == name; };
  const auto is_like_it = [&](const Field& field) { return folded(field.name) == name; };
  auto found = std::find_if(fields_.begin(), fields_.end(), is_it);
  const bool exact = found != fields_.end();
  if (!exact) found = std::find_if(fields_.begin(), fields_.end(), is_like_it);
  if (found == fields_.end()) {
    refuse(location, fmt::format("{} has no column '{}'; its columns are: {}", table_, name, names_of_columns(fields_)),
           Code::unknown_column);
  }
  const auto next =
      exact ? std::find_if(found + 1, fields_.end(), is_it) : std::find_if(found + 1, fields_.end(), is_like_it);
  if (next != fields_.end()) {
    refuse(location, fmt::format("{} has more than one column '{}'; rename one of them", table_, name),
           Code::unknown_column);
  }
  if (!found->unsupported.empty()) {
    refuse(location, fmt::format("column '{}' is of type {}, which is not computed with", name, found->unsupported),
           Code::unsupported_type);
  }
  const int index = static_cast<int>(found - fields_.begin());
  const auto [used, is_new] = used_.emplace(index, static_cast<int>(plan_.columns.size()));
  if (is_new) {
    plan_.columns.push_back(index);
    plan_.fields.push_back(*found);
  }
  return rows_.column(used->second, {found->kind, found->scale}, form_of(*found) == Form::wide, location);
}

Node Binder::bind_cast(const Json& body, Level level, int location) {
  const Json& type = body.at("typeName");
  const std::string name = type.contains("names") ? string_of(type.at("names").back()) : "";
  const auto [tag, constant] = tagged(body.at("arg"));
  const bool is_string = tag == "A_Const" && constant.contains("sval");
  if (is_string && name == "date") {
    const int days = parse_date(sql_, constant.at("sval").value("sval", ""), location_of(constant, location));
    return builder(level).exact(days, {ValueKind::date}, location);
  }
  if (is_string && name == "interval")
    refuse(location, "an interval is added to a date literal or subtracted from one");
  refuse(location, "casts are not supported, but for date '…' and interval '…' literals");
}

// ------------------------------------------------------------------------------------------------------------- operators

/// The interval that `node` is, if it is one.
std::optional<Interval> Binder::interval_of(const Json& node) const {
  const auto [tag, body] = tagged(node);
  if (tag != "TypeCast" || !body.at("typeName").contains("names")) return std::nullopt;
  const Json& type = body.at("typeName");
  if (string_of(type.at("names").back()) != "interval") return std::nullopt;
  const auto [constant_tag, constant] = tagged(body.at("arg"));
  const int location = location_of(body, first_location(node));
  const auto refuse_it = [&] {
    refuse(location, "an interval is written as interval '3' month, in days, months or years");
  };
  if (constant_tag != "A_Const" || !constant.contains("sval")) refuse_it();
  std::istringstream text(constant.at("sval").value("sval", ""));
  text.imbue(std::locale::classic());
  std::int64_t number = 0;
  if (!(text >> number)) refuse_it();
  std::string unit;
  std::string more;
  if (text >> unit >> more) refuse_it();
  if (unit.size() > 1 && unit.back() == 's') unit.pop_back();
  if (unit.empty() && type.contains("typmods")) {
    // The bits by which PostgreSQL distinguishes the units that stand after the string.
    constexpr int kMonth = 1 << 1;
    constexpr int kYear = 1 << 2;
    constexpr int kDay = 1 << 3;
    const auto [mask_tag, mask_body] = tagged(type.at("typmods")[0]);
    const int mask = mask_tag == "A_Const" && mask_body.contains("ival") ? mask_body.at("ival").value("ival", 0) : 0;
    unit = mask == kDay ? "day" : mask == kMonth ? "month" : mask == kYear ? "year" : "?";
  }
  if (number > kMostMonths * 31 || number < -kMostMonths * 31)
    refuse(location, "this interval is too long", Code::overflow);
  if (unit == "day") return Interval{.days = number};
  if (unit == "week") return Interval{.days = 7 * number};
  if (unit == "month" || unit == "mon") return Interval{.months = number};
  if (unit == "year") return Interval{.months = 12 * number};
  refuse_it();
  return std::nullopt;
}

/// A date literal moved by an interval.
std::optional<Node> Binder::bind_date_arithmetic(const Json& body, const std::string& symbol, Level level, int location,
                                                 int depth) {
  if (!body.contains("lexpr") || (symbol != "+" && symbol != "-")) return std::nullopt;
  std::optional<Interval> interval = interval_of(body.at("rexpr"));
  const bool turned = !interval && symbol == "+";
  if (turned) interval = interval_of(body.at("lexpr"));
  if (!interval) return std::nullopt;
  const Node date = bind(body.at(turned ? "rexpr" : "lexpr"), level, depth + 1);
  if (date->type.kind != ValueKind::date || date->op != Op::literal) {
    refuse(location, "intervals are added to date literals only: move it to the other side of the comparison");
  }
  const int sign = symbol == "-" ? -1 : 1;
  const auto days = static_cast<int>(date->exact);
  if (interval->months > kMostMonths || interval->months < -kMostMonths)
    refuse(location, "this interval is too long", Code::overflow);
  const std::int64_t moved = add_months(days, sign * interval->months) + sign * interval->days;
  if (moved < kFirstDay || moved > kLastDay)
    refuse(location, "the date is outside of the years 1 to 9999", Code::overflow);
  return builder(level).exact(moved, {ValueKind::date}, location);
}

/// Refuses to order the texts of ordered categories, which have an order of their own: that of their letters is another one.
void Binder::require_order_of_letters(const Node& node, Level level, int location) const {
  if (node->type.kind != ValueKind::text) return;
  for (const int column : expression::columns_of({node})) {
    const auto index = static_cast<std::size_t>(column);
    if (level == Level::outputs) {
      if (index < plan_.keys.size()) require_order_of_letters(plan_.keys[index], Level::rows, location);
    } else if (plan_.fields[index].has_own_order) {
      refuse(
          location,
          fmt::format("column '{}' has ordered categories, and queries order text by its letters: convert the column "
                      "to text to have that, or to numbers in the order of the categories",
                      plan_.fields[index].name),
          Code::unsupported_type);
    }
  }
}

/// What SQL calls an operator that is refused.
std::string words_of_operator(std::string_view kind) {
  if (kind == "AEXPR_LIKE") return "LIKE";
  if (kind == "AEXPR_ILIKE") return "ILIKE";
  if (kind == "AEXPR_SIMILAR") return "SIMILAR TO";
  if (kind == "AEXPR_NULLIF") return "NULLIF";
  if (kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT") return "IS DISTINCT FROM";
  if (kind == "AEXPR_OP_ANY" || kind == "AEXPR_OP_ALL") return "a comparison with ANY or ALL";
  if (kind.find("BETWEEN") != std::string_view::npos) return "BETWEEN SYMMETRIC";
  return "this operator";
}

Node Binder::bind_operator(const Json& body, Level level, int location, int depth) {
  const std::string kind = body.value("kind", "");
  if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") return bind_between(body, kind, level, location, depth);
  const std::string symbol = string_of(body.at("name").back());
  Builder& make = builder(level);
  if (kind == "AEXPR_IN") {
    const Node left = bind(body.at("lexpr"), level, depth + 1);
    std::vector<Node> list;
    for (const Json& item : body.at("rexpr").at("List").at("items")) list.push_back(bind(item, level, depth + 1));
    const Node test = make.is_in(left, list, location);
    return symbol == "=" ? test : make.invert(test, location);
  }
  if (kind != "AEXPR_OP" || !body.contains("rexpr")) refuse(location, words_of_operator(kind) + " is not supported");
  if (const auto date = bind_date_arithmetic(body, symbol, level, location, depth)) return *date;
  Node right = bind(body.at("rexpr"), level, depth + 1);
  if (!body.contains("lexpr")) {
    if (symbol == "-") return make.negate(right, location);
    if (symbol == "+" && is_numeric(right->type)) return right;
    refuse(location, fmt::format("the operator {} is not supported", symbol));
  }
  const Node left = bind(body.at("lexpr"), level, depth + 1);
  constexpr std::string_view kArithmetic = "+-*/";  // as the operators follow each other in Op
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
  refuse(location, fmt::format("the operator {} is not supported", symbol));
}

Node Binder::bind_between(const Json& body, const std::string& kind, Level level, int location, int depth) {
  Builder& make = builder(level);
  const Node value = bind(body.at("lexpr"), level, depth + 1);
  require_order_of_letters(value, level, location);
  const Json& bounds = body.at("rexpr").at("List").at("items");
  const Node least = make.compare(">=", value, bind(bounds.at(0), level, depth + 1), location);
  const Node greatest = make.compare("<=", value, bind(bounds.at(1), level, depth + 1), location);
  const Node test = make.logic(Op::both, least, greatest, location);
  return kind == "AEXPR_BETWEEN" ? test : make.invert(test, location);
}

Node Binder::bind_logic(const Json& body, Level level, int location, int depth) {
  Builder& make = builder(level);
  const std::string op = body.value("boolop", "");
  const Json& args = body.at("args");
  Node all = bind(args.at(0), level, depth + 1);
  if (op == "NOT_EXPR") return make.invert(all, location);
  for (std::size_t i = 1; i < args.size(); ++i) {
    all = make.logic(op == "AND_EXPR" ? Op::both : Op::either, all, bind(args.at(i), level, depth + 1), location);
  }
  return all;
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

// ------------------------------------------------------------------------------------------------------------ aggregates

/// The number of an aggregate's output column; equal ones are folded once.
int Binder::aggregate(Fold fold, const Node& input, ValueType type) {
  auto& all = plan_.aggregates;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Aggregate& a) { return a.fold == fold && a.input == input; });
  const auto index = found - all.begin();
  if (found == all.end()) all.push_back({fold, input, type});
  return static_cast<int>(plan_.keys.size()) + 2 * static_cast<int>(index);
}

Node Binder::bind_aggregate(const Json& body, int location, int depth) {
  const std::string name = string_of(body.at("funcname").back());
  for (const char* member : {"agg_distinct", "agg_filter", "agg_order", "over", "agg_within_group"}) {
    if (body.contains(member))
      refuse(location, fmt::format("{}() takes an expression only: no DISTINCT, FILTER, ORDER BY or OVER", name));
  }
  if (body.value("agg_star", false)) {
    if (name != "count") refuse(location, "* stands in COUNT(*) only", Code::bad_sql);
    return output(aggregate(Fold::count_rows, nullptr, kCount), kCount, location);
  }
  if (!body.contains("args") || body.at("args").size() != 1)
    refuse(location, fmt::format("{}() takes one expression", name), Code::bad_sql);
  const Json& arg = body.at("args")[0];
  const Node input = bind(arg, Level::rows, depth + 1);
  const ValueKind kind = input->type.kind;
  const std::string type = expression::name(input->type);
  if (input->op == Op::literal && kind == ValueKind::text) refuse(location, "a string cannot be aggregated");
  if (name == "count") return output(aggregate(Fold::count, input, kCount), kCount, location);
  if (name == "min" || name == "max") {
    if (kind == ValueKind::boolean)
      refuse(location, fmt::format("{}() is not defined for {}", name, type), Code::unsupported_type);
    require_order_of_letters(input, Level::rows, location);
    const Fold fold = name == "min" ? Fold::least : Fold::greatest;
    return output(aggregate(fold, input, input->type), input->type, location);
  }
  if (!is_numeric(input->type))
    refuse(location, fmt::format("{}() is not defined for {}", name, type), Code::unsupported_type);
  const int sum = aggregate(Fold::sum, input, input->type);
  if (name == "sum") return output(sum, input->type, location);
  return output(sum + 1, {ValueKind::real}, location);
}

}  // namespace

std::string table_name(const std::string& sql, const Syntax& syntax) {
  return range_of(sql, syntax.select).value("relname", "");
}

int table_location(const std::string& sql, const Syntax& syntax) {
  return location_of(range_of(sql, syntax.select), 0);
}

Plan bind(const std::string& sql, const Syntax& syntax, const std::string& table, const std::vector<Field>& fields) {
  return Binder(sql, syntax, table, fields).run();
}

}  // namespace upsweep::query
