// SPDX-License-Identifier: Apache-2.0
// sql/expression/function_calls.cpp: finds called functions, determines types, and computes calls with constant
// arguments.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "sql/expression/builder.hpp"
#include "sql/expression/functions.hpp"
#include "sql/expression/rules.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::expression {
namespace {

// Powers of ten that are 0 or infinity as a double have the same effect, so more decimal places make no difference.
constexpr int kMostPlaces = 400;

std::string_view first_word(std::string_view words) { return words.substr(0, words.find(' ')); }

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::string_view first = first_word(words);
    if (first == word) return true;
    words.remove_prefix(std::min(first.size() + 1, words.size()));
  }
  return false;
}

int most_arguments(const Function& function) {
  return static_cast<int>(std::find(std::begin(function.takes), std::end(function.takes), Takes::nothing) -
                          std::begin(function.takes));
}
int min_arguments(const Function& function) {
  return static_cast<int>(std::count_if(std::begin(function.takes), std::end(function.takes),
                                        [](Takes takes) { return takes == Takes::number || takes == Takes::real; }));
}

double real_power_of_ten(int exponent) { return std::strtod(fmt::format("1e{}", exponent).c_str(), nullptr); }

/// Returns the function's value for constants. Returns nothing if a row with these constants is an error.
std::optional<Expression> constant_call(const Function& function, ValueType type, const std::vector<Node>& operands) {
  std::array<const void*, kMostOperands> from = {};
  const bool is_real = type.kind == ValueKind::real;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    from[i] = is_real ? static_cast<const void*>(&operands[i]->real) : &operands[i]->exact;
  }
  Expression result{.op = Op::literal, .type = type};
  if (is_real) {
    if (function.real.real(from.data(), 1, &result.real)) return std::nullopt;
    return result;
  }
  const Limits limits = limits_of(type, false);
  if (function.exact.wide(from.data(), 1, &result.exact)) return std::nullopt;
  if (result.exact < limits.minimum || result.exact > limits.maximum) return std::nullopt;
  return result;
}

}  // namespace

std::span<const Function> functions() {
  return {functions_baseline.first, static_cast<std::size_t>(functions_baseline.count)};
}

int function_named(std::string_view name) {
  const auto all = functions();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Function& function) { return has_word(function.names, name); });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

std::string name(const Function& function) { return std::string(first_word(function.names)); }

std::string usage(const Function& function) {
  constexpr const char* kNumbers[] = {"x", "y"};
  std::string all;
  std::string arguments;
  for (int count = 0; count <= most_arguments(function); ++count) {
    if (count >= min_arguments(function)) {
      all += fmt::format("{}{}({})", all.empty() ? "" : " or ", name(function), arguments);
    }
    if (count == most_arguments(function)) break;
    const char* const argument = function.takes[count] == Takes::places ? "n" : kNumbers[count];
    arguments += fmt::format("{}{}", arguments.empty() ? "" : ", ", argument);
  }
  return all;
}

void Builder::require_arguments(const Function& function, const std::vector<Node>& args, int location) const {
  const auto count = static_cast<int>(args.size());
  if (count < min_arguments(function) || count > most_arguments(function)) {
    expression::refuse(sql_, location, Code::bad_sql,
                       fmt::format("wrong number of arguments; usage: {}", usage(function)));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Node& a = args[i];
    if (is_null_literal(a)) continue;
    if (function.takes[i] == Takes::places) {
      if (a->op == Op::literal && a->type.kind == ValueKind::integer) continue;
      refuse(a->location, fmt::format("the number of decimal places of {}() must be an integer literal, "
                                      "such as 2 or -3",
                                      name(function)));
    }
    if (!is_numeric(a->type)) {
      expression::refuse(
          sql_, location, Code::unsupported_type,
          fmt::format("{}() is not defined for {}{}", name(function), expression::name(a->type), why_text(a->type)));
    }
  }
}

Node Builder::call(int function, std::vector<Node> args, int location) {
  const Function& called = functions()[static_cast<std::size_t>(function)];
  require_arguments(called, args, location);
  const ValueType type = called.gives == Gives::real ? ValueType{ValueKind::real} : args[0]->type;
  if (std::any_of(args.begin(), args.end(), is_null_literal)) return convert(null(location), type);
  switch (called.gives) {
    case Gives::same:
      return call_of(function, type, {args[0]}, location);
    case Gives::real:
      return call_of(function, type, {convert(args[0], type)}, location);
    case Gives::rounded: {
      const Int128 places = args.size() > 1 ? args[1]->exact : 0;
      return rounded(function, args[0], static_cast<int>(std::clamp<Int128>(places, -kMostPlaces, kMostPlaces)),
                     location);
    }
  }
  detail::no_such_value();
}

/// Builds the call of a rounding function. For floats, the further operands are powers of ten that multiply and divide
/// before rounding. For decimals and integers, they are powers of ten to divide by before and to multiply by after
/// rounding.
Node Builder::rounded(int function, const Node& a, int places, int location) {
  if (a->type.kind == ValueKind::real) {
    const Node up = real(real_power_of_ten(std::max(places, 0)), location);
    const Node down = real(real_power_of_ten(std::max(-places, 0)), location);
    return call_of(function, a->type, {a, up, down}, location);
  }
  const int dropped = scale_of(a->type) - places;
  if (dropped <= 0) return a;
  const ValueType type =
      a->type.kind == ValueKind::integer ? a->type : ValueType{ValueKind::decimal, std::max(places, 0)};
  const ValueType plain{ValueKind::decimal};
  if (dropped > kMostDigits) return computed(Op::multiply, exact(0, plain, location), a, type, location);
  const Node divisor = exact(power_of_ten(dropped), plain, location);
  const Node multiple = exact(power_of_ten(std::max(-places, 0)), plain, location);
  return call_of(function, type, {a, divisor, multiple}, location);
}

/// Returns a call with the operands of the function's body.
Node Builder::call_of(int function, ValueType type, std::vector<Node> operands, int location) {
  if (std::all_of(operands.begin(), operands.end(), [](const Node& a) { return a->op == Op::literal; })) {
    auto constant = constant_call(functions()[static_cast<std::size_t>(function)], type, operands);
    if (constant) {
      constant->location = location;
      return make(*std::move(constant));
    }
  }
  return make({.op = Op::call, .type = type, .args = std::move(operands), .function = function, .location = location});
}

}  // namespace upsweep::expression
