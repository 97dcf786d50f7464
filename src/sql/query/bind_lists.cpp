// SPDX-License-Identifier: Apache-2.0
// sql/query/bind_lists.cpp: binds list functions and their lambdas: a number that they return becomes a column.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sql/expression/functions.hpp"
#include "sql/query/binder.hpp"
#include "sql/query/refusals.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {

/// Returns the parameter of a lambda that a name means, or nothing.
std::optional<Node> Binder::bind_parameter(const Json& node, int location) {
  const std::optional<Name> name = names_.plain_name(node);
  if (!name) return std::nullopt;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const std::size_t place = scope->place_of(*name);
    if (place == scope->names->size()) continue;
    const bool is_element = place == 0;
    const int slot = program_.slot({is_element ? ListSlot::Kind::element : ListSlot::Kind::position, scope->list});
    const ValueType type =
        is_element ? program_.lists[static_cast<std::size_t>(scope->list)].type : ValueType{ValueKind::integer};
    return elements_.column(slot, type, false, location);
  }
  if (is_hidden_parameter(*name)) {
    refuse(location,
           fmt::format("a list function inside a lambda cannot use '{}', the parameter of the lambda", name->text));
  }
  return std::nullopt;
}

/// Binds a column of one value for each row, inside a list function.
Node Binder::bind_column_in_list_function(const Json& body, int location) {
  std::size_t place = 0;
  const Field& field = column_of_rows(body, location, place);
  if (field.is_untyped) return elements_.null(location);
  const bool is_supported = field.kind == ValueKind::integer || field.kind == ValueKind::real ||
                            field.kind == ValueKind::boolean || field.kind == ValueKind::decimal;
  if (!is_supported || field.storage == Storage::int128) {
    refuse(location,
           fmt::format("column '{}' is {}{}: a list function computes with numbers of 64 bits and booleans only",
                       field.name, expression::name(ValueType{field.kind, field.scale}),
                       field.storage == Storage::int128 ? " in 128 bits" : ""),
           Code::unsupported_type);
  }
  const int slot = program_.slot({ListSlot::Kind::column, static_cast<int>(place)});
  return elements_.column(slot, {field.kind, field.scale}, false, location);
}

/// Returns the list that an expression means. `caller`: the function that takes it, for messages.
int Binder::bind_list(const Json& node, const std::string& caller, int depth) {
  const auto [tag, body] = tagged(node);
  const int location = location_of(body, first_location(node));
  if (depth > kDeepest) refuse(location, fmt::format("the expression has more than {} nested operators", kDeepest));
  if (tag == "FuncCall") {
    const ListFunctionNames* const function = list_function_named(function_name(body));
    if (function != nullptr && is_list(function->function)) return bind_lambda(*function, body, location, depth);
  }
  if (tag != "ColumnRef") {
    refuse(location, fmt::format("{} takes a list: a column of lists, list_filter(…) or list_transform(…)", caller));
  }
  if (const auto name = names_.plain_name(node); name && is_hidden_parameter(*name)) {
    refuse(location, fmt::format("{} takes a list, but '{}' is an element: lists of lists are not supported", caller,
                                 name->text));
  }
  const std::size_t place = names_.column_of(body, location);
  const Field& field = fields_[place];
  if (field.element == nullptr) {
    const bool is_list = field.unsupported.find("list") != std::string::npos;
    refuse(location,
           fmt::format(
               "{} takes a list of numbers or booleans, but column '{}' is {}{}", caller, field.name,
               field.unsupported.empty() ? expression::name(ValueType{field.kind, field.scale}) : field.unsupported,
               is_list ? "; convert its elements to numbers, or flatten lists of lists" : ""),
           Code::unsupported_type);
  }
  return program_.list({.column = static_cast<int>(place), .type = {field.element->kind, field.element->scale}});
}

/// Binds list_filter() or list_transform().
int Binder::bind_lambda(const ListFunctionNames& function, const Json& body, int location, int depth) {
  const std::string name = function_name(body);
  require_scalar_call(sql_, body, location);
  const auto refuse_arguments = [&](int where) {
    refuse(where, fmt::format("{0}() takes a list and a lambda: {0}(x, e -> e > 20) or {0}(x, lambda e: e > 20)", name),
           Code::bad_sql);
  };
  if (!body.contains("args") || body.at("args").size() != 2) refuse_arguments(location);
  const Json& args = body.at("args");
  const auto [tag, lambda] = tagged(args[1]);
  const auto head = syntax_.lambdas.find(location_of(lambda, -1));
  if (tag != "NamedArgExpr" || head == syntax_.lambdas.end()) refuse_arguments(std::max(first_location(args[1]), 0));
  if (head->second.size() > 2) {
    refuse(head->first, "a lambda has at most two parameters: an element and its position, from 1", Code::bad_sql);
  }
  const Scope parameters{-1, &head->second};
  if (parameters.place_of(head->second.back()) + 1 != head->second.size()) {
    refuse(head->first, fmt::format("both parameters of the lambda are called '{}': rename one", head->second[1].text),
           Code::bad_sql);
  }
  ListExpression list{.function = function.function};
  list.input = bind_list(args[0], name + "()", depth + 1);
  scopes_.push_back({list.input, &head->second});
  list.body = bind(lambda.at("arg"), Level::elements, depth + 1);
  scopes_.pop_back();
  if (function.function == ListFunction::filter) {
    list.body = elements_.condition(list.body, (name + "()").c_str());
    list.type = program_.lists[static_cast<std::size_t>(list.input)].type;
  } else {
    if (list.body->op == Op::literal && list.body->type.kind == ValueKind::text) {
      refuse(list.body->location, "lists of text are not supported");
    }
    list.type = list.body->type;
  }
  return program_.list(list);
}

Node Binder::bind_list_function(const ListFunctionNames& function, const Json& body, Level level, int location,
                                int depth) {
  const std::string name = function_name(body);
  if (is_list(function.function)) {
    refuse(location, fmt::format("{0}() returns a list, and a query computes numbers from lists: write for example "
                                 "len({0}(…)) or list_sum({0}(…))",
                                 name));
  }
  if (level == Level::outputs) {
    refuse(location, fmt::format("{}() of a row must appear in GROUP BY or inside an aggregate function", name),
           Code::bad_sql);
  }
  require_scalar_call(sql_, body, location);
  const std::size_t count = body.contains("args") ? body.at("args").size() : 0;
  if (count != static_cast<std::size_t>(function.arguments)) {
    refuse(location, fmt::format("{}() takes {}", name, function.arguments == 1 ? "a list" : "a list and a value"),
           Code::bad_sql);
  }
  const Json& args = body.at("args");
  return bind_number(function.function, args[0], count == 2 ? &args[1] : nullptr, name + "()", level, location, depth);
}

/// Binds x[i].
Node Binder::bind_element(const Json& body, Level level, int location, int depth) {
  if (level == Level::outputs) {
    refuse(location, "an element of a list must appear in GROUP BY or inside an aggregate function", Code::bad_sql);
  }
  const Json& indirection = body.at("indirection");
  if (indirection.size() > 1) {
    refuse(location, "only one [ ] is supported after a list: an element of a list is a number, without fields");
  }
  const Json& index = indirection.at(0).at("A_Indices");
  if (index.value("is_slice", false)) {
    refuse(location, "a slice of a list is not supported: write list_filter(x, (e, i) -> i BETWEEN first AND last)");
  }
  return bind_number(ListFunction::element, body.at("arg"), &index.at("uidx"), "[ ]", level, location, depth);
}

/// Binds a function that returns a number for each row.
Node Binder::bind_number(ListFunction function, const Json& list, const Json* argument, const std::string& caller,
                         Level level, int location, int depth) {
  // Lists are computed outside of all lambdas around them.
  const std::size_t hidden = hidden_scopes_.size();
  for (const Scope& scope : scopes_) hidden_scopes_.push_back(scope);
  const std::vector<Scope> around = std::exchange(scopes_, {});
  ListNumber number{.function = function, .list = bind_list(list, caller, depth + 1)};
  const ValueType element = program_.lists[static_cast<std::size_t>(number.list)].type;
  if (argument != nullptr) number.argument = bind(*argument, Level::elements, depth + 1);
  scopes_ = around;
  while (hidden_scopes_.size() > hidden) hidden_scopes_.pop_back();

  const auto require = [&](bool is_defined) {
    if (!is_defined) {
      refuse(location, fmt::format("{} is not defined for a list of {}", caller, expression::name(element)),
             Code::unsupported_type);
    }
  };
  const bool is_boolean = element.kind == ValueKind::boolean;
  number.type = element;
  switch (function) {
    case ListFunction::length:
    case ListFunction::count:
      number.type = {ValueKind::integer};
      break;
    case ListFunction::sum:
      require(!is_boolean);
      break;
    case ListFunction::average:
    case ListFunction::product:
      require(!is_boolean);
      number.type = {ValueKind::real};
      break;
    case ListFunction::all:
    case ListFunction::any:
      require(is_boolean);
      break;
    case ListFunction::contains: {
      const Node slot =
          elements_.column(program_.slot({ListSlot::Kind::element, number.list}), element, false, location);
      number.test = elements_.compare("=", slot, number.argument, location);
      number.type = {ValueKind::boolean};
      break;
    }
    case ListFunction::element:
      if (number.argument->op != Op::null && number.argument->type.kind != ValueKind::integer) {
        refuse(number.argument->location,
               fmt::format("the number of an element must be an integer, but this is {}",
                           expression::name(number.argument->type)),
               Code::unsupported_type);
      }
      break;
    case ListFunction::minimum:
    case ListFunction::maximum:
    case ListFunction::first:
    case ListFunction::last:
    case ListFunction::any_value:
      break;
    case ListFunction::filter:
    case ListFunction::transform:
      detail::no_such_value();
  }
  return value_of(program_.number(number), level, location);
}

/// Returns the column of the table that a list function computes.
Node Binder::column_of_list(ListOutput output, bool is_wide, int location) {
  const auto found = std::find(computed_.begin(), computed_.end(), output);
  const int index = static_cast<int>(fields_.size()) + static_cast<int>(found - computed_.begin());
  const ValueType type =
      output.is_fault ? ValueType{ValueKind::integer} : program_.numbers[static_cast<std::size_t>(output.number)].type;
  if (found == computed_.end()) {
    const Storage storage = type.kind == ValueKind::real      ? Storage::float64
                            : type.kind == ValueKind::boolean ? Storage::bit
                            : is_wide                         ? Storage::int128
                                                              : Storage::int64;
    computed_.push_back(output);
    computed_fields_.push_back({.name = "a list function", .kind = type.kind, .storage = storage, .scale = type.scale});
    used_.emplace(index, static_cast<int>(plan_.columns.size()));
    plan_.columns.push_back(index);
    plan_.fields.push_back(computed_fields_.back());
  }
  return rows_.column(used_.at(index), type, is_wide, location);
}

/// Returns a number that is computed from a list: inside a list function a slot, otherwise a column.
Node Binder::value_of(int number, Level level, int location) {
  const ValueType type = program_.numbers[static_cast<std::size_t>(number)].type;
  if (level == Level::elements) {
    return elements_.column(program_.slot({ListSlot::Kind::number, number}), type, false, location);
  }
  const LoweredValue& lowered = lowering_.number(number);
  Node value = column_of_list({number, false}, lowered.wide.has_value(), location);
  const auto has = [&](ListFault fault) { return lowered.faults[static_cast<std::size_t>(fault)].has_value(); };
  if (!has(ListFault::overflow) && !has(ListFault::zero_division) && !has(ListFault::negative_root)) return value;
  // A fault must fail only in rows that the query computes. Each code of a fault is therefore an operand of an
  // expression that fails with it, in the branch of a CASE.
  const Node code = column_of_list({number, true}, false, location);
  const auto whole = [&](std::int64_t exact) { return rows_.exact(exact, {ValueKind::integer}, location); };
  const auto is = [&](std::int64_t exact) { return rows_.compare("=", code, whole(exact), location); };
  const Node opposite = rows_.negate(code, location);
  std::vector<Node> cases{is(kNoFault), value};
  const auto add = [&](std::int64_t exact, const Node& failing) {
    const Node fails = rows_.compare("<>", failing, whole(0), location);
    cases.push_back(rows_.logic(Op::both, std::vector{is(exact), fails}, location));
    cases.push_back(rows_.null(location));
  };
  if (has(ListFault::overflow)) add(kOverflow, opposite);
  if (has(ListFault::zero_division)) {
    const Node zero = rows_.arithmetic(Op::subtract, code, whole(kZeroDivision), location);
    add(kZeroDivision, rows_.arithmetic(Op::divide, whole(1), zero, location));
  }
  if (has(ListFault::negative_root)) {
    add(kNegativeRoot, rows_.call(expression::function_named("sqrt"), {opposite}, location));
  }
  cases.push_back(rows_.null(location));
  return rows_.choose(std::move(cases), location);
}

}  // namespace upsweep::query
