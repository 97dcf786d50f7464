// SPDX-License-Identifier: Apache-2.0
// sql/query/list_program.cpp: the table of list functions; equal lists and numbers of a query are found.
#include "sql/query/list_program.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace upsweep::query {
namespace {

constexpr ListFunctionNames kListFunctions[] = {
    {ListFunction::length, "len length array_length", 1},
    {ListFunction::count, "list_count", 1},
    {ListFunction::sum, "list_sum", 1},
    {ListFunction::average, "list_avg", 1},
    {ListFunction::product, "list_product", 1},
    {ListFunction::minimum, "list_min", 1},
    {ListFunction::maximum, "list_max", 1},
    {ListFunction::all, "list_bool_and", 1},
    {ListFunction::any, "list_bool_or", 1},
    {ListFunction::first, "list_first", 1},
    {ListFunction::last, "list_last", 1},
    {ListFunction::any_value, "list_any_value", 1},
    {ListFunction::element, "list_extract list_element array_extract", 2},
    {ListFunction::contains, "list_contains list_has array_contains array_has", 2},
    {ListFunction::filter, "list_filter array_filter filter", 2},
    {ListFunction::transform, "list_transform list_apply array_transform array_apply apply", 2},
};

template <class T, class Same>
int index_of(std::vector<T>& all, const T& one, const Same& same) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& other) { return same(one, other); });
  const auto index = found - all.begin();
  if (found == all.end()) all.push_back(one);
  return static_cast<int>(index);
}

std::string_view first_word(std::string_view words) { return words.substr(0, words.find(' ')); }

}  // namespace

std::span<const ListFunctionNames> list_functions() { return kListFunctions; }

const ListFunctionNames* list_function_named(std::string_view name) {
  const std::string wanted = fmt::format(" {} ", name);
  for (const ListFunctionNames& row : kListFunctions) {
    if (fmt::format(" {} ", row.names).find(wanted) != std::string::npos) return &row;
  }
  return nullptr;
}

std::string names_of_list_functions() {
  std::string all;
  for (const ListFunctionNames& row : kListFunctions) {
    all += fmt::format("{}{}", all.empty() ? "" : ", ", first_word(row.names));
  }
  return all;
}

int ListProgram::slot(ListSlot slot) {
  return index_of(slots, slot, [](const ListSlot& a, const ListSlot& b) { return a == b; });
}

int ListProgram::list(const ListExpression& list) {
  return index_of(lists, list, [](const ListExpression& a, const ListExpression& b) {
    return a.column == b.column && a.function == b.function && a.input == b.input && a.body == b.body;
  });
}

int ListProgram::number(const ListNumber& number) {
  return index_of(numbers, number, [](const ListNumber& a, const ListNumber& b) {
    return a.function == b.function && a.list == b.list && a.argument == b.argument && a.test == b.test;
  });
}

}  // namespace upsweep::query
