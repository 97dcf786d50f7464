// SPDX-License-Identifier: Apache-2.0
// sql/query/bind_choices.cpp: COALESCE, NULLIF, GREATEST, LEAST, IF, IS DISTINCT FROM and IS TRUE, which are written as
// CASE and comparisons.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/query/binder.hpp"

namespace upsweep::query {
namespace {

constexpr ValueType kBoolean{ValueKind::boolean};

Node is_known(Builder& make, const Node& a, int location) { return make.invert(make.is_null(a, location), location); }

/// The first value that is not NULL.
Node coalesced(Builder& make, const std::vector<Node>& values, int location) {
  std::vector<Node> args;
  for (const Node& value : values) {
    if (&value == &values.back()) {
      args.push_back(value);
    } else if (!is_null_literal(value)) {
      args.push_back(is_known(make, value, location));
      args.push_back(value);
    }
  }
  return args.size() == 1 ? args[0] : make.choose(std::move(args), location);
}

/// The maximum or minimum of two values; the other one if one is NULL.
Node extreme(Builder& make, const Node& a, const Node& b, const char* precedes, int location) {
  if (is_null_literal(a)) return b;
  if (is_null_literal(b)) return a;
  return make.choose(
      {make.is_null(b, location), a, make.is_null(a, location), b, make.compare(precedes, b, a, location), b, a},
      location);
}

}  // namespace

bool is_choice(std::string_view name) {
  constexpr std::string_view kNames[] = {"ifnull", "nvl", "if", "iif"};  // the parser has nodes for the others
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Node true_or_null(Builder& make, const Node& condition, int location) {
  return make.choose({condition, make.exact(1, kBoolean, location), make.null(location)}, location);
}

/// Makes COALESCE, NULLIF, GREATEST, LEAST, and the functions of is_choice().
Node Binder::choice(const std::string& name, std::vector<Node> values, Level level, int location) {
  Builder& make = builder(level);
  const auto require_count = [&](std::size_t count) {
    if (values.size() == count) return;
    refuse(location, fmt::format("{}() takes {} arguments, not {}", name, count, values.size()), Code::bad_sql);
  };
  if (name == "if" || name == "iif") {
    require_count(3);
    return make.choose(std::move(values), location);
  }
  if (name == "ifnull" || name == "nvl") require_count(2);
  if (name == "nullif") {
    const Node is_equal = make.compare("=", values[0], values[1], location);
    return make.choose({is_equal, make.null(location), values[0]}, location);
  }
  if (name != "greatest" && name != "least") return coalesced(make, values, location);
  Node result = values[0];
  const char* const precedes = name == "greatest" ? ">" : "<";
  for (std::size_t i = 1; i < values.size(); ++i) {
    require_order_of_letters(values[i], level, location);
    result = extreme(make, result, values[i], precedes, location);
  }
  return result;
}

/// Binds IS [NOT] DISTINCT FROM, for which two NULLs are equal.
Node Binder::bind_distinct_from(const Json& body, Level level, int location, int depth) {
  Builder& make = builder(level);
  const Node a = bind(body.at("lexpr"), level, depth + 1);
  const Node b = bind(body.at("rexpr"), level, depth + 1);
  Node differ;
  if (is_null_literal(a) || is_null_literal(b)) {
    differ = is_known(make, is_null_literal(a) ? b : a, location);
  } else {
    differ = make.choose({make.is_null(a, location), is_known(make, b, location), make.is_null(b, location),
                          make.exact(1, kBoolean, location), make.compare("<>", a, b, location)},
                         location);
  }
  return body.value("kind", "") == "AEXPR_DISTINCT" ? differ : make.invert(differ, location);
}

/// Binds IS [NOT] TRUE, FALSE and UNKNOWN.
Node Binder::bind_truth(const Json& body, Level level, int location, int depth) {
  Builder& make = builder(level);
  const std::string test = body.value("booltesttype", "");
  const Node condition = make.condition(bind(body.at("arg"), level, depth + 1), "IS TRUE, FALSE or UNKNOWN");
  const bool is_inverted = test.starts_with("IS_NOT_");
  Node result;
  if (test.ends_with("UNKNOWN")) {
    result = make.is_null(condition, location);
  } else {
    const Node wanted = test.ends_with("TRUE") ? condition : make.invert(condition, location);
    result = make.choose({wanted, make.exact(1, kBoolean, location), make.exact(0, kBoolean, location)}, location);
  }
  return is_inverted ? make.invert(result, location) : result;
}

}  // namespace upsweep::query
