// SPDX-License-Identifier: Apache-2.0
// sql/query/column_names.hpp: resolves which table column an expression names, and determines the names of outputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sql/query/names.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/sql.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {

/// Returns the name of a column of the answer.
std::string name_of(const Json& target);
/// Returns the table after FROM.
const Json& range_of(const std::string& sql, const Json& select);

class ColumnNames {
 public:
  /// Throws Error unsupported_sql for unsupported FROM clauses. The arguments must outlive this object.
  ColumnNames(const std::string& sql, const Syntax& syntax, const std::string& table, const std::vector<Field>& fields);

  /// Returns the index in the table of the named column. Throws Error unknown_column.
  [[nodiscard]] std::size_t column_of(const Json& body, int location) const;
  /// Throws Error unknown_column unless the table in t.* is the query's.
  void require_table_of_star(const Json& body, int location) const;
  /// Returns the name of a column that is written without a table, or nothing if the node is not such a name.
  [[nodiscard]] std::optional<Name> plain_name(const Json& node) const;
  [[nodiscard]] const Names& of_table() const { return columns_; }
  [[nodiscard]] const Names& selected() const { return selected_; }
  /// Returns the place after SELECT of the expression with that selected name. Several names belong to *.
  [[nodiscard]] std::size_t target_of(std::size_t selected) const { return targets_[selected]; }

 private:
  [[noreturn]] void refuse(int location, const std::string& what, Code code = Code::unsupported_sql) const {
    expression::refuse(sql_, location, code, what);
  }
  std::vector<Name> names_of(const Json& fields, int location) const;
  void require_table(const std::vector<Name>& names, int location) const;

  const std::string& sql_;
  const Syntax& syntax_;
  const std::string& table_;
  const std::vector<Field>& fields_;
  Names columns_;   ///< columns of the table
  Names selected_;  ///< names of the query's outputs
  std::vector<std::size_t> targets_;
  std::string schema_;  ///< of the table's name; usually empty
  Names callable_;      ///< names of the table that may precede a column
};

}  // namespace upsweep::query
