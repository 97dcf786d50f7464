// SPDX-License-Identifier: Apache-2.0
// sql/query/column_names.cpp: looks up names as they are written; if none is found, the error lists the existing names.
#include "sql/query/column_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/printable.hpp"
#include "sql/expression/caret.hpp"
#include "sql/query/refusals.hpp"

namespace upsweep::query {

std::string name_of(const Json& target) {
  if (target.contains("name")) return target.at("name");
  const auto [tag, body] = tagged(target.at("val"));
  if (tag == "ColumnRef" && body.at("fields").back().contains("String")) return string_of(body.at("fields").back());
  if (tag == "FuncCall") return function_name(body);
  if (tag == "CaseExpr") return "case";
  if (tag == "CoalesceExpr") return "coalesce";
  if (tag == "MinMaxExpr") return body.value("op", "") == "IS_GREATEST" ? "greatest" : "least";
  if (tag == "A_Expr" && body.value("kind", "") == "AEXPR_NULLIF") return "nullif";
  return "?column?";  // the name that PostgreSQL uses
}

const Json& range_of(const std::string& sql, const Json& select) {
  require_clauses(sql, select);
  if (!select.contains("fromClause")) {
    refuse(sql, 0, Code::unsupported_sql,
           "a query needs a table: FROM 'FILE', or FROM NAME with the name of a given table");
  }
  const Json& from = select.at("fromClause");
  require_one_table(sql, from);
  return from.at(0).at("RangeVar");
}

ColumnNames::ColumnNames(const std::string& sql, const Syntax& syntax, const std::string& table,
                         const std::vector<Field>& fields)
    : sql_(sql), syntax_(syntax), table_(table), fields_(fields) {
  for (const Field& field : fields) columns_.add(field.name);
  const Json& select = syntax.select;
  const Json& range = range_of(sql_, select);
  if (range.contains("alias")) {
    const Json& alias = range.at("alias");
    if (alias.contains("colnames")) refuse(location_of(range, 0), "columns cannot be renamed here");
    callable_.add(alias.value("aliasname", ""));
  }
  if (!range.contains("alias") && syntax_.path.empty()) callable_.add(range.value("relname", ""));
  schema_ = range.value("schemaname", "");
  const Json& targets = select.at("targetList");
  for (std::size_t place = 0; place < targets.size(); ++place) {
    const Json& target = targets[place].at("ResTarget");
    if (!is_star(target.at("val"))) {
      selected_.add(name_of(target));
    } else {
      for (const Field& field : fields) selected_.add(field.name);
    }
    targets_.resize(selected_.size(), place);
  }
}

/// Returns the names of a column and its qualifiers, as they are written.
std::vector<Name> ColumnNames::names_of(const Json& fields, int location) const {
  std::vector<Name> names = names_at(sql_, location, fields.size());
  if (names.size() == fields.size()) return names;
  // U&"…", whose characters only the parser can decode.
  names.clear();
  for (const Json& field : fields) names.push_back({string_of(field), true});
  return names;
}

std::optional<Name> ColumnNames::plain_name(const Json& node) const {
  const auto [tag, body] = tagged(node);
  if (tag != "ColumnRef" || body.at("fields").size() != 1 || !body.at("fields")[0].contains("String")) return {};
  return names_of(body.at("fields"), location_of(body, -1))[0];
}

/// Throws unless the qualifier of a column is a valid name of the table.
void ColumnNames::require_table(const std::vector<Name>& names, int location) const {
  const Name& qualifier = names[0];
  if (!callable_.find(qualifier).empty()) return;
  const std::vector<std::size_t> columns = columns_.find(qualifier);
  std::string what =
      fmt::format("the query has no table '{0}': omit the table name, or name the table with AS {0}", qualifier.text);
  if (!columns.empty()) {
    const Field& field = fields_[columns[0]];
    what = fmt::format("'{}' is a column, not a table", field.name);
    if (!field.unsupported.empty()) {
      what +=
          fmt::format(", of type {}: its fields cannot be named; convert them to separate columns", field.unsupported);
    }
  }
  std::string all = qualifier.text;
  for (std::size_t i = 1; i < names.size(); ++i) all += "." + names[i].text;
  const std::vector<std::size_t> joined = columns_.find({all, false});
  if (names.size() > 1 && !joined.empty())
    what += fmt::format("; the column '{}' is written {}", all, in_quotes(fields_[joined[0]].name));
  refuse(location, what, Code::unknown_column);
}

void ColumnNames::require_table_of_star(const Json& body, int location) const {
  Json qualifiers = body.at("fields");
  qualifiers.erase(qualifiers.size() - 1);
  if (qualifiers.empty()) return;
  require_table(names_of(qualifiers, location), location);
  if (qualifiers.size() > 1) refuse_expression(sql_, "A_Indirection", location);
}

std::size_t ColumnNames::column_of(const Json& body, int location) const {
  const Json& fields = body.at("fields");
  if (fields.back().contains("A_Star")) refuse(location, "* is only allowed after SELECT and in COUNT(*)");
  std::vector<Name> names = names_of(fields, location);
  if (names.size() > 2 && !schema_.empty() && may_mean(names[0], schema_)) names.erase(names.begin());
  if (names.size() > 1) require_table(names, location);
  if (names.size() > 2) refuse_expression(sql_, "A_Indirection", location);
  const Name& name = names.back();
  const std::vector<std::size_t> found = columns_.find(name);
  if (found.size() > 1) {
    refuse(location, fmt::format("{}: {}", table_, ambiguous(name, columns_, found, "column")), Code::unknown_column);
  }
  if (found.size() == 1) return found[0];
  for (const Names* names_of_case : {&columns_, &selected_}) {
    const std::string other = names_of_case->other_case(name);
    if (other.empty()) continue;
    refuse(location,
           fmt::format("{} has no column {}; a name in double quotes must match exactly: write {}", table_,
                       in_quotes(name.text), in_quotes(other)),
           Code::unknown_column);
  }
  std::string hints;
  if (name.quoted) hints += fmt::format("if it is text, write it in single quotes: '{}'; ", name.text);
  const Json& targets = syntax_.select.at("targetList");
  const bool is_alias = std::any_of(targets.begin(), targets.end(), [&](const Json& target) {
    return may_mean(name, target.at("ResTarget").value("name", ""));
  });
  if (is_alias) hints += fmt::format("its own name cannot be used in the selected column '{}'; ", name.text);
  // The columns are listed last, because there may be many.
  const std::string all = fields_.empty() ? "it has no columns" : "its columns are: " + names_of_columns(fields_);
  refuse(location, fmt::format("{} has no column '{}'; {}{}", table_, name.text, hints, all), Code::unknown_column);
}

}  // namespace upsweep::query
