// SPDX-License-Identifier: Apache-2.0
// sql/query/column_names.hpp: which column of the table an expression names, and what the query's outputs are called.
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

/// What a column of the answer is called.
std::string name_of(const Json& target);
/// The table after FROM.
const Json& range_of(const std::string& sql, const Json& select);

class ColumnNames {
 public:
  /// Throws Error unsupported_sql for FROM clauses that queries do not have. The arguments outlive this.
  ColumnNames(const std::string& sql, const Syntax& syntax, const std::string& table, const std::vector<Field>& fields);

  /// The place in the table of the column that is named. Throws Error unknown_column.
  [[nodiscard]] std::size_t column_of(const Json& body, int location) const;
  /// The name of a column that is written without the table; nothing where the node is something else.
  [[nodiscard]] std::optional<Name> plain_name(const Json& node) const;
  [[nodiscard]] const Names& of_table() const { return columns_; }
  [[nodiscard]] const Names& selected() const { return selected_; }

 private:
  [[noreturn]] void refuse(int location, const std::string& what, Code code = Code::unsupported_sql) const {
    expression::refuse(sql_, location, code, what);
  }
  std::vector<Name> names_of(const Json& body, int location) const;
  void require_table(const std::vector<Name>& names, int location) const;

  const std::string& sql_;
  const Syntax& syntax_;
  const std::string& table_;
  const std::vector<Field>& fields_;
  Names columns_;   ///< of the table
  Names selected_;  ///< what the query's outputs are called
  Names callable_;  ///< what the table may be called before a column
};

}  // namespace upsweep::query
