// SPDX-License-Identifier: Apache-2.0
// sql/query/list_program.hpp: the list functions of a query, as data: lists, and numbers that are computed from lists.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sql/expression/expression.hpp"

namespace upsweep::query {

using expression::Node;
using expression::ValueType;

/// The list functions. Those of lambdas return a list, all others a number for each row.
enum class ListFunction : std::uint8_t {
  filter,     ///< the elements for which a lambda is true
  transform,  ///< the value of a lambda for each element
  length,
  count,  ///< the elements that are not NULL
  sum,
  average,
  product,
  minimum,
  maximum,
  all,
  any,
  first,
  last,
  element,  ///< the element with a number, from 1; a negative number counts from the end
  any_value,
  contains,
};

inline bool is_list(ListFunction function) {
  return function == ListFunction::filter || function == ListFunction::transform;
}

/// A row of the table of list functions.
struct ListFunctionNames {
  ListFunction function;
  std::string_view names;  ///< in lower case, separated by blanks; messages use the first one
  int arguments;
};

/// Returns the table of list functions.
std::span<const ListFunctionNames> list_functions();
/// Returns the row of the table with this name in lower case, or null.
const ListFunctionNames* list_function_named(std::string_view name);
/// Returns the names of all list functions, for messages.
std::string names_of_list_functions();

/// A column of expressions over elements, or over rows.
struct ListSlot {
  enum class Kind : std::uint8_t {
    element,   ///< of list `index`
    position,  ///< of an element of list `index`, from 1
    column,    ///< the table's column `index`
    number,    ///< ListProgram::numbers[index]
  };
  Kind kind;
  int index;
  auto operator<=>(const ListSlot&) const = default;
};

/// A column of lists, or what list_filter() or list_transform() makes of a list.
struct ListExpression {
  int column = -1;             ///< of a column of lists: its index in the table; otherwise -1
  ListFunction function = {};  ///< filter or transform
  int input = -1;              ///< its list
  Node body = nullptr;         ///< of the lambda, over slots
  ValueType type = {};         ///< of the elements
};

/// A number for each row.
struct ListNumber {
  ListFunction function;
  int list;
  Node argument = nullptr;  ///< of element and contains: a value for each row, over slots
  Node test = nullptr;      ///< of contains: whether an element equals the argument
  ValueType type = {};      ///< of the result
};

/// The lists and numbers of a query. Equal ones are one.
struct ListProgram {
  std::vector<ListSlot> slots;
  std::vector<ListExpression> lists;
  std::vector<ListNumber> numbers;
  std::vector<Field> fields;  ///< of the table
  std::string sql;            ///< for messages

  int slot(ListSlot slot);
  int list(const ListExpression& list);
  int number(const ListNumber& number);
};

}  // namespace upsweep::query
