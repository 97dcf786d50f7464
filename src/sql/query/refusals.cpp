// SPDX-License-Identifier: Apache-2.0
// sql/query/refusals.cpp: tables of unsupported words, each with an alternative.
#include "sql/query/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sql/expression/caret.hpp"
#include "sql/expression/functions.hpp"
#include "sql/query/lexer.hpp"
#include "sql/query/list_program.hpp"
#include "sql/query/names.hpp"

namespace upsweep::query {
namespace {

constexpr const char* kInsteadOfWindows =
    "for one row per group write GROUP BY; for running values call scan or scan_by_key, outside SQL";

[[noreturn]] void refuse_syntax(const std::string& sql, int location, const std::string& what) {
  expression::refuse(sql, location, Code::unsupported_sql, what);
}

/// Returns the alternative to write, or an empty string if none is known. `table`: pairs of names between blanks and
/// the alternative.
template <std::size_t kCount>
std::string_view instead_of(std::string_view name,
                            const std::pair<std::string_view, std::string_view> (&table)[kCount]) {
  const std::string wanted = fmt::format(" {} ", name);
  for (const auto& [names, instead] : table) {
    if (fmt::format(" {} ", names).find(wanted) != std::string::npos) return instead;
  }
  return {};
}

std::string with(const std::string& what, std::string_view instead) {
  return instead.empty() ? what : fmt::format("{}: {}", what, instead);
}

std::string upper(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c; });
  return name;
}

}  // namespace

void require_clauses(const std::string& sql, const Json& select) {
  struct Clause {
    const char* member;
    const char* name;
    const char* words;  ///< keywords, any of which begins the clause
    const char* instead;
  };
  constexpr Clause kRefused[] = {
      {"intoClause", "INTO", "into", "the answer is what the query returns"},
      {"windowClause", "WINDOW (window functions)", "window", kInsteadOfWindows},
      {"valuesLists", "VALUES", "values", "a query reads a table"},
      {"lockingClause", "FOR UPDATE", "for", "tables are only read"},
      {"withClause", "WITH", "with", "a query is one SELECT from one table"},
      {"larg", "UNION, EXCEPT or INTERSECT", "union except intersect", "run each SELECT as a separate query"},
      {"groupDistinct", "GROUP BY DISTINCT", "distinct", "groups are distinct"}};
  for (const Clause& clause : kRefused) {
    if (!select.contains(clause.member)) continue;
    const int location = std::max(location_of_word(sql, clause.words), 0);
    refuse_syntax(sql, location, fmt::format("{} is not supported: {}", clause.name, clause.instead));
  }
  if (select.value("limitOption", "LIMIT_OPTION_DEFAULT") == "LIMIT_OPTION_WITH_TIES") {
    refuse_syntax(sql, first_location(select.at("limitCount")),
                  "WITH TIES is not supported: LIMIT takes a number of rows");
  }
  if (!select.contains("targetList")) refuse_syntax(sql, 0, "the query selects nothing");
}

void require_one_table(const std::string& sql, const Json& from) {
  const auto [tag, body] = tagged(from.at(0));
  if (tag == "JoinExpr") {
    const int word = location_of_word(sql, "join");
    refuse_syntax(sql, word >= 0 ? word : first_location(from.at(0)),
                  "JOIN is not supported: a query reads one table; join the tables first, and query the result");
  }
  if (from.size() > 1) {
    refuse_syntax(sql, first_location(from.at(1)),
                  "several tables are not supported: a query reads one; join the tables first, and query the result");
  }
  if (tag == "RangeSubselect") refuse_syntax(sql, first_location(from.at(0)), kNoSubquery);
  if (tag == "RangeFunction") {
    std::string file;
    (void)has(body, [&](const Json& node) {
      const bool is_string = node.is_object() && node.contains("sval") && node.at("sval").is_object();
      if (is_string) file = node.at("sval").value("sval", file);
      return is_string;
    });
    refuse_syntax(
        sql, first_location(from.at(0)),
        file.empty() ? kNoTableFunction : fmt::format("functions after FROM are not supported: write FROM '{}'", file));
  }
  if (tag == "RangeTableSample") refuse_syntax(sql, first_location(from.at(0)), "TABLESAMPLE is not supported");
  if (tag != "RangeVar")
    refuse_syntax(sql, first_location(from.at(0)), "a query reads one table: FROM 'FILE' or FROM NAME");
}

void require_plain_call(const std::string& sql, const Json& call, int location) {
  const std::string name = function_name(call);
  if (call.contains("over")) {
    refuse_syntax(sql, location, with("window functions (OVER) are not supported", kInsteadOfWindows));
  }
  if (call.value("agg_distinct", false)) {
    refuse_syntax(sql, location,
                  fmt::format("{}(DISTINCT …) is not supported: GROUP BY the column gives one row per value", name));
  }
  for (const char* member : {"agg_order", "agg_within_group"}) {
    if (call.contains(member)) refuse_syntax(sql, location, fmt::format("{}() is not supported with ORDER BY", name));
  }
}

void require_scalar_call(const std::string& sql, const Json& call, int location) {
  constexpr std::pair<const char*, const char*> kAggregatesOnly[] = {{"agg_star", "*"},
                                                                     {"agg_distinct", "DISTINCT"},
                                                                     {"agg_filter", "FILTER"},
                                                                     {"agg_order", "ORDER BY"},
                                                                     {"agg_within_group", "WITHIN GROUP"},
                                                                     {"over", "OVER"},
                                                                     {"func_variadic", "VARIADIC"}};
  for (const auto& [member, words] : kAggregatesOnly) {
    if (!call.contains(member)) continue;
    refuse_syntax(sql, location,
                  fmt::format("{}() is not an aggregate function: {} is not supported", function_name(call), words));
  }
}

void refuse_function(const std::string& sql, const std::string& name, int location) {
  constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
      {"floor ceil ceiling trunc",
       "ROUND(x, n) rounds to the nearest number; x / 10 * 10 rounds a positive integer down"},
      {"mod", "write a - a / b * b, the remainder of integers"},
      {"sign", "write CASE WHEN x < 0 THEN -1 WHEN x > 0 THEN 1 ELSE 0 END"},
      {"average", "write AVG(x)"},
      {"total sum0", "write SUM(x)"},
      {"any_value first last", "MIN(x) or MAX(x) returns one of the values"},
      {"isnull", "write x IS NULL"},
      {"stddev stddev_samp stddev_pop variance var_samp var_pop var std",
       "compute it from SUM(x), SUM(x * x), COUNT(x) and SQRT"},
      {"approx_count_distinct", "GROUP BY the column gives one row per value"},
      {"extract date_part date_trunc year month day quarter week",
       "compare dates: CASE WHEN d < date '2025-01-01' THEN 2024 ELSE 2025 END defines ranges"},
      {"to_date strptime make_date date", "write date '2025-12-31'"},
      {"lower upper substr substring left right btrim ltrim rtrim trim replace concat length strlen",
       "text can only be compared and grouped unchanged"},
      {"read_csv read_csv_auto read_parquet read_json", "FROM 'FILE' reads a file"}};
  constexpr std::string_view kWindows =
      " row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value ";
  if (kWindows.find(fmt::format(" {} ", name)) != std::string_view::npos) {
    refuse_syntax(sql, location, fmt::format("window functions ({}) are not supported: {}", name, kInsteadOfWindows));
  }
  std::string_view instead = instead_of(name, kInstead);
  const std::string lists = fmt::format("the functions of lists are {}", names_of_list_functions());
  if (name.starts_with("list_") || name.starts_with("array_")) instead = lists;
  std::string all =
      "the aggregate functions are SUM, COUNT, COUNT_IF, MIN, MAX, AVG, BOOL_AND and BOOL_OR, the other functions ";
  for (const expression::Function& function : expression::functions()) {
    const bool is_first = &function == &expression::functions().front();
    const bool is_last = &function == &expression::functions().back();
    all += fmt::format("{}{}", is_first ? "" : is_last ? " and " : ", ", upper(expression::name(function)));
  }
  refuse_syntax(sql, location, with(fmt::format("{}() is not supported", name), instead.empty() ? all : instead));
}

void refuse_operator(const std::string& sql, std::string_view kind, std::string_view symbol, int location) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"AEXPR_LIKE", "LIKE is not supported: s >= 'ab' AND s < 'ac' finds a prefix, IN whole strings"},
      {"AEXPR_ILIKE", "ILIKE is not supported: IN finds whole strings"},
      {"AEXPR_SIMILAR", "SIMILAR TO is not supported: IN finds whole strings"},
      {"AEXPR_OP_ANY AEXPR_OP_ALL",
       "a comparison with ANY or ALL is not supported: write IN, or comparisons with AND and OR"}};
  if (const std::string_view what = instead_of(kind, kKinds); !what.empty())
    refuse_syntax(sql, location, std::string(what));
  constexpr std::pair<std::string_view, std::string_view> kSymbols[] = {
      {"%", "a - a / b * b is the remainder of integers"},
      {"^ **", "write x * x"},
      {"||", "text can only be compared and grouped unchanged"},
      {"==", "write ="},
      {"&&", "write AND"},
      {"!", "write NOT"},
      {"~ ~* !~ !~*", "patterns are not supported: IN finds whole strings"},
      {"->", "only list_filter() and list_transform() take a lambda, as their second argument"},
      {"->> #> #>>", "text is not parsed as JSON"}};
  refuse_syntax(sql, location,
                with(fmt::format("the operator {} is not supported", symbol), instead_of(symbol, kSymbols)));
}

void refuse_cast(const std::string& sql, const std::string& type, int location) {
  constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
      {"float4 float8 double", "x / 1.0 is a float64"},
      {"int2 int4 int8 numeric decimal", "numbers are exact: integers and decimals can be combined without a cast"},
      {"date timestamp timestamptz time",
       "write date '2025-12-31' or timestamp '2025-12-31 23:59:59', and compare with it"},
      {"text varchar bpchar", "text can only be compared and grouped unchanged"}};
  const std::string_view instead = instead_of(type, kInstead);
  refuse_syntax(
      sql, location,
      with("CAST is not supported",
           instead.empty() ? "only date '…', timestamp '…', time '…' and interval '…' are supported" : instead));
}

void refuse_expression(const std::string& sql, std::string_view tag, int location) {
  constexpr std::pair<std::string_view, std::string_view> kRefused[] = {
      {"SubLink", kNoSubquery},
      {"ParamRef", "parameters are not supported: write the value"},
      {"SQLValueFunction", "a value of the session, such as CURRENT_DATE or user, is not supported: write the value"},
      {"GroupingSet", "ROLLUP, CUBE, GROUPING SETS and GROUP BY () are not supported: run a query for each grouping"},
      {"RowExpr", "rows of several values are not supported: compare each value, with AND"},
      {"CollateClause", "COLLATE is not supported: text is ordered by its bytes"},
      {"A_ArrayExpr", "ARRAY is not supported: write IN (…)"},
      {"A_Indirection", "fields of a column are not supported: convert them to separate columns"},
      {"NamedArgExpr",
       "a lambda or a named argument is not supported here: only list_filter() and list_transform() take a lambda"},
      {"GroupingFunc", "GROUPING is not supported: run a query for each grouping"}};
  const std::string_view what = instead_of(tag, kRefused);
  refuse_syntax(sql, location, what.empty() ? "this expression is not supported" : std::string(what));
}

}  // namespace upsweep::query
