// SPDX-License-Identifier: Apache-2.0
// sql/query/names.hpp: which column, output or table a name in a query means: one rule for all clauses.
//
// A name in double quotes means exactly what is between the quotes. A name without quotes means the one that is spelled as it
// is written; if there is none, the one that differs from it in case only. If there are several of those, the name is ambiguous.
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

/// The `count` names, with points between them, at byte `location`: of `t."Year"` t and Year. Fewer where something else is there.
std::vector<Name> names_at(std::string_view sql, int location, std::size_t count);

/// Whether the name may mean `candidate`, if nothing else fits better.
bool may_mean(const Name& name, std::string_view candidate);

/// The names of a table's columns, of a query's outputs, or of tables.
class Names {
 public:
  void add(const std::string& name);
  /// The places of those that the name means, in order; of several the caller says which, or that the name is ambiguous.
  [[nodiscard]] std::vector<std::size_t> find(const Name& name) const;
  /// A name that differs from `name` in case only, where that has quotes and nothing is spelled as it is; otherwise empty.
  [[nodiscard]] std::string other_case(const Name& name) const;
  [[nodiscard]] const std::string& operator[](std::size_t place) const { return names_[place]; }
  [[nodiscard]] std::size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_lower_name_;
};

/// In double quotes, as a query has it.
std::string in_quotes(std::string_view name);

/// "columns "Year" and "year"": what a name means that is ambiguous. `kind`: "column", "output", "table".
std::string ambiguous(const Name& name, const Names& names, const std::vector<std::size_t>& places,
                      std::string_view kind);

}  // namespace upsweep::query
