// SPDX-License-Identifier: Apache-2.0
// sql/query/names.hpp: determines which column, output or table a name in a query means, with one rule for all clauses.
//
// A name in double quotes means exactly the text between the quotes. A name without quotes means the candidate with the
// same spelling. If there is none, it means the candidate that differs only in case. If several candidates differ only
// in case, the name is ambiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace upsweep::query {

/// A name as it is written in a query, without its quotes.
struct Name {
  std::string text = {};
  bool quoted = false;
};

/// Returns the `count` names separated by points at byte `location`: t and Year for `t."Year"`. Returns fewer if the
/// text differs.
std::vector<Name> names_at(std::string_view sql, int location, std::size_t count);

/// Returns whether the name may mean `candidate`, if no other candidate fits better.
bool may_mean(const Name& name, std::string_view candidate);

/// The names of a table's columns, of a query's outputs, or of tables.
class Names {
 public:
  void add(const std::string& name);
  /// Returns the indices of the candidates of a name, in order. If there are several, the caller selects one or reports
  /// that the name is ambiguous.
  [[nodiscard]] std::vector<std::size_t> find(const Name& name) const;
  /// Returns a name that differs from `name` only in case, if `name` has quotes and no candidate has its spelling.
  /// Otherwise returns an empty string.
  [[nodiscard]] std::string other_case(const Name& name) const;
  [[nodiscard]] const std::string& operator[](std::size_t place) const { return names_[place]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_lower_name_;
};

/// Returns the name in double quotes, as in a query.
std::string in_quotes(std::string_view name);

/// Returns the message for an ambiguous name: "columns "Year" and "year"". `kind`: "column", "output", "table".
std::string ambiguous(const Name& name, const Names& names, const std::vector<std::size_t>& places,
                      std::string_view kind);

}  // namespace upsweep::query
