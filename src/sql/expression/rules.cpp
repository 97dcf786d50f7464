// SPDX-License-Identifier: Apache-2.0
// sql/expression/rules.cpp: forms, limits and bounds, each defined in one place.
#include "sql/expression/rules.hpp"

#include <algorithm>
#include <cstddef>

#include "sql/expression/functions.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::expression {
namespace {

UInt128 saturated_sum(UInt128 a, UInt128 b) { return a > ~UInt128{0} - b ? ~UInt128{0} : a + b; }

/// Only literals of decimals are wide; they do not make an integer wide.
bool is_wide(const Node& node) { return node->wide && node->type.kind == ValueKind::integer; }

}  // namespace

UInt128 saturated_product(UInt128 a, UInt128 b) { return b != 0 && a > ~UInt128{0} / b ? ~UInt128{0} : a * b; }

Form form_of(const Field& column) {
  switch (column.storage) {
    case Storage::float32:
    case Storage::float64:
      return Form::real;
    case Storage::bit:
      return Form::boolean;
    case Storage::uint64:
    case Storage::int128:
      return Form::wide;
    case Storage::int8:
    case Storage::int16:
    case Storage::int32:
    case Storage::int64:
    case Storage::uint8:
    case Storage::uint16:
    case Storage::uint32:
      return column.kind == ValueKind::text ? Form::text : Form::narrow;
  }
  detail::no_such_value();
}

Form form_of(const Expression& node) {
  switch (node.type.kind) {
    case ValueKind::real:
      return Form::real;
    case ValueKind::boolean:
      return Form::boolean;
    case ValueKind::text:
      return Form::text;
    case ValueKind::integer:
    case ValueKind::decimal:
    case ValueKind::date:
    case ValueKind::timestamp:
    case ValueKind::time:
    case ValueKind::duration:
    case ValueKind::interval:
      return node.wide ? Form::wide : Form::narrow;
  }
  detail::no_such_value();
}

Limits limits_of(ValueType type, bool wide) {
  if (type.kind == ValueKind::date) return {INT32_MIN, INT32_MAX, "the result is not a valid date"};
  if (is_temporal(type)) return {INT64_MIN, INT64_MAX, "the result does not fit 64 bits"};
  if (type.kind == ValueKind::integer && !wide) {
    return {INT64_MIN, INT64_MAX, "the result does not fit a 64-bit integer"};
  }
  return {kInt128Min, kInt128Max, "the result has more than 38 digits"};
}

Limits limits_of(Storage storage) {
  const int bits = width_of(storage);
  const bool is_unsigned = storage >= Storage::uint8 && storage <= Storage::uint64;
  const auto maximum = static_cast<Int128>(kWideBound >> (is_unsigned ? 127 - bits : 128 - bits));
  return {is_unsigned ? 0 : -maximum - 1, maximum, ""};
}

UInt128 bound_of(Storage storage) {
  const Limits limits = limits_of(storage);
  return std::max(magnitude(limits.minimum), magnitude(limits.maximum));
}

ExactRule rule_of(Op op, const Limits& limits, Operand a, Operand b) {
  const UInt128 bound = op == Op::multiply ? saturated_product(a.bound, b.bound) : saturated_sum(a.bound, b.bound);
  return rule_of(bound, limits, a.form == Form::narrow && b.form == Form::narrow);
}

ExactRule rule_of(UInt128 bound, const Limits& limits, bool narrow) {
  const bool to_narrow = magnitude(limits.maximum) <= kNarrowBound;
  const bool in_narrow = narrow && (to_narrow || bound <= kNarrowBound);
  return {.computed = in_narrow ? Form::narrow : Form::wide,
          .wraps = bound > (in_narrow ? kNarrowBound : kWideBound),
          .leaves = bound > magnitude(limits.maximum),
          .form = in_narrow || to_narrow ? Form::narrow : Form::wide,
          .bound = std::min(bound, magnitude(limits.minimum))};
}

Form form_of_quotient(Form a, Form b) { return a == Form::wide || b == Form::wide ? Form::wide : Form::narrow; }

Int128 minimum_of(Form form) { return form == Form::wide ? kInt128Min : INT64_MIN; }

bool sum_fits(Operand value, UInt128 rows) {
  return saturated_product(value.bound, rows) <= (value.form == Form::narrow ? kNarrowBound : kWideBound);
}

void derive(Expression& node) {
  const auto& args = node.args;
  const bool is_calendar = node.type.kind == ValueKind::date || is_temporal(node.type);
  const bool is_arithmetic = node.op >= Op::add && node.op <= Op::multiply;
  const bool fails = node.op == Op::call && functions()[static_cast<std::size_t>(node.function)].failure != nullptr;
  node.can_fail = node.op == Op::divide || node.op == Op::ratio || node.op == Op::rescale || fails ||
                  ((is_arithmetic || node.op == Op::call) && (is_exact(node.type) || is_calendar)) ||
                  std::any_of(args.begin(), args.end(), [](const Node& arg) { return arg->can_fail; });
  if (node.op == Op::column || is_calendar) return;
  if (node.type.kind == ValueKind::interval) {
    node.wide = true;
  } else if (node.op == Op::literal) {
    node.wide = node.exact > INT64_MAX || node.exact < INT64_MIN;
  } else if (node.op == Op::choose) {
    node.wide = args.back()->wide;
    for (std::size_t i = 1; i < args.size(); i += 2) node.wide = node.wide || args[i]->wide;
  } else {
    node.wide = std::any_of(args.begin(), args.end(), is_wide);
  }
}

}  // namespace upsweep::expression
