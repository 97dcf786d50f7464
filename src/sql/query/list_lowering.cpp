// SPDX-License-Identifier: Apache-2.0
// sql/query/list_lowering.cpp: lowers expressions over elements and rows, and list functions, to the nodes of a plan.
//
// Three rules of SQL differ from those of plans: NULL, NaN, and results that cannot be computed. A value is therefore
// several nodes: the value, whether it is not NULL, and whether it has a fault. NaN equals itself, and is greater than
// every other number.
#include "sql/query/list_lowering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "sql/expression/caret.hpp"
#include "sql/expression/functions.hpp"
#include "sql/expression/rules.hpp"

namespace upsweep::query {
namespace {

using expression::UInt128;
using plan::ElementType;
using plan::Reduction;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr UInt128 kMostBound = UInt128{1} << 63;              // of int64
constexpr std::int64_t kLongestList = std::int64_t{1} << 31;  // elements of a list, a limit of plans
constexpr double kHigh = 4294967296.0;                        // what the high part of a wide sum counts
constexpr ValueType kInteger{ValueKind::integer};
constexpr ValueType kReal{ValueKind::real};
constexpr ValueType kBoolean{ValueKind::boolean};

ElementType element_type_of(Storage storage) {
  return storage == Storage::bit ? ElementType::boolean : static_cast<ElementType>(element_type(storage));
}

std::size_t at(ListFault fault) { return static_cast<std::size_t>(fault); }

Int128 floor_of(Int128 number, Int128 divisor) { return number / divisor - (number % divisor < 0 ? 1 : 0); }

}  // namespace

ListLowering::ListLowering(const ListProgram& program, bool has_nulls, std::vector<int> inputs)
    : program_(program), has_nulls_(has_nulls), rows_(make_.events()), inputs_(std::move(inputs)) {}

// -------------------------------------------------------------------------------------------------------------- values

plan::Value ListLowering::over(plan::Value value, plan::Domain domain) {
  return make_.domain(value) ? value : make_.fill(value, domain);
}

ListLowering::Maybe ListLowering::both(const Maybe& a, const Maybe& b) {
  return a && b ? map(Op::bit_and, {*a, *b}) : a ? a : b;
}

ListLowering::Maybe ListLowering::either(const Maybe& a, const Maybe& b) {
  return a && b ? map(Op::bit_or, {*a, *b}) : a ? a : b;
}

ListLowering::Faults ListLowering::either(const Faults& a, const Faults& b) {
  Faults all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = either(a[i], b[i]);
  return all;
}

ListLowering::Faults ListLowering::masked(const Faults& faults, const Maybe& mask) {
  Faults all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = faults[i] ? both(faults[i], mask) : std::nullopt;
  return all;
}

/// Returns for each list whether an element has the fault.
ListLowering::Faults ListLowering::any_of(const Faults& faults, plan::Domain lists) {
  Faults all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (faults[i]) all[i] = make_.reduce(Reduction::any, over(*faults[i], lists), lists);
  }
  return all;
}

void ListLowering::add_fault(LoweredValue& to, ListFault fault, plan::Value is) {
  to.faults[at(fault)] = either(to.faults[at(fault)], both(is, to.valid));
}

/// Returns the value, or `otherwise` where it is NULL.
plan::Value ListLowering::where_valid(const LoweredValue& x, plan::Value otherwise) {
  return x.valid ? map(Op::where, {*x.valid, x.value, otherwise}) : x.value;
}

/// Returns a number as float64.
plan::Value ListLowering::real_of(const LoweredValue& x) {
  if (x.type.kind == ValueKind::real) return x.value;
  return unscaled(make_.convert(x.value, ElementType::float64), x.type);
}

/// Divides a float64 by the power of ten of a decimal's type.
plan::Value ListLowering::unscaled(plan::Value real, ValueType type) {
  const int scale = expression::scale_of(type);
  if (scale == 0) return real;
  return map(Op::divide, {real, constant(static_cast<double>(expression::power_of_ten(scale)))});
}

/// Returns a value of operands that is NULL if one of them is, with their faults.
LoweredValue ListLowering::result_of(const LoweredValue& a, const LoweredValue& b, ValueType type) {
  LoweredValue result{.valid = both(a.valid, b.valid), .type = type};
  result.faults = masked(either(a.faults, b.faults), result.valid);
  return result;
}

/// Returns the elements of x at positions.
LoweredValue ListLowering::taken(const LoweredValue& x, plan::Value index) {
  const auto take = [&](plan::Value value) { return make_.domain(value) ? make_.take(value, index) : value; };
  LoweredValue all{.value = take(x.value), .type = x.type, .bound = x.bound};
  if (x.valid) all.valid = take(*x.valid);
  for (std::size_t i = 0; i < all.faults.size(); ++i) {
    if (x.faults[i]) all.faults[i] = take(*x.faults[i]);
  }
  return all;
}

// --------------------------------------------------------------------------------------------------------------- lists

int ListLowering::input(int column) {
  const auto found = std::find(inputs_.begin(), inputs_.end(), column);
  const auto index = found - inputs_.begin();
  if (found == inputs_.end()) inputs_.push_back(column);
  return static_cast<int>(index);
}

const ListLowering::List& ListLowering::list(int index) {
  if (const auto known = lists_.find(index); known != lists_.end()) return known->second;
  List lowered = lower_list(program_.lists[static_cast<std::size_t>(index)]);
  return lists_.emplace(index, std::move(lowered)).first->second;
}

ListLowering::List ListLowering::lower_list(const ListExpression& list) {
  if (list.column >= 0) {
    const Field& element = *program_.fields[static_cast<std::size_t>(list.column)].element;
    const int number = input(list.column);
    const plan::Domain domain = make_.list(rows_, ListColumns::values(number), ElementType::int64);
    List lowered{.domain = domain, .valid = {}, .element = {}, .faults = {}};
    if (has_nulls_) lowered.valid = make_.column(ListColumns::valid(number), ElementType::boolean, rows_);
    lowered.element = stored(element, ListColumns::elements(number), ListColumns::valid_elements(number), domain);
    return lowered;
  }
  const List& input = this->list(list.input);
  const LoweredValue& body = lower(list.body, input.domain);
  if (list.function == ListFunction::transform) {
    List lowered = input;
    lowered.element = body;
    lowered.element.value = over(body.value, input.domain);
    return lowered;
  }
  const Maybe kept = both(body.value, body.valid);
  List lowered{.domain = make_.filter(input.domain, over(*kept, input.domain)),
               .valid = input.valid,
               .element = {},
               .faults = either(input.faults, any_of(body.faults, input.domain))};
  lowered.element = taken(input.element, make_.source(lowered.domain));
  return lowered;
}

/// Returns an input as values of 64 bits.
LoweredValue ListLowering::stored(const Field& field, int values, int valid, plan::Domain domain) {
  LoweredValue result{.type = {field.kind, field.scale}};
  result.value = make_.column(values, element_type_of(field.storage), domain);
  if (has_nulls_) result.valid = make_.column(valid, ElementType::boolean, domain);
  if (field.kind == ValueKind::boolean) return result;
  if (field.kind == ValueKind::real) {
    result.value = make_.convert(result.value, ElementType::float64);
    return result;
  }
  result.bound = std::min(expression::bound_of(field.storage), kMostBound);
  result.value = make_.convert(result.value, ElementType::int64);
  if (field.storage == Storage::uint64) {
    add_fault(result, ListFault::overflow, map(Op::less, {result.value, constant(std::int64_t{0})}));
  }
  return result;
}

// ------------------------------------------------------------------------------------------------------------- numbers

const LoweredValue& ListLowering::number(int index) {
  if (const auto known = numbers_.find(index); known != numbers_.end()) return known->second;
  LoweredValue lowered = lower_number(program_.numbers[static_cast<std::size_t>(index)]);
  return numbers_.emplace(index, std::move(lowered)).first->second;
}

/// Returns for each list the number of elements that are not NULL.
plan::Value ListLowering::number_of_values(const List& list) {
  if (list.element.valid) {
    return make_.reduce(Reduction::sum, over(*list.element.valid, list.domain), list.domain);
  }
  return make_.convert(make_.counts(list.domain), ElementType::int64);
}

LoweredValue ListLowering::lower_number(const ListNumber& number) {
  const List& list = this->list(number.list);
  const LoweredValue& element = list.element;
  const auto reduce = [&](Reduction reduction, plan::Value x) { return make_.reduce(reduction, x, list.domain); };
  LoweredValue result{.type = number.type};
  const auto finish = [&](const Faults& faults) {
    result.faults = masked(either(result.faults, either(list.faults, faults)), list.valid);
    return result;
  };
  if (number.function == ListFunction::length || number.function == ListFunction::count) {
    const bool all = number.function == ListFunction::length;
    result.value = all ? make_.convert(make_.counts(list.domain), ElementType::int64) : number_of_values(list);
    result.valid = list.valid;
    result.bound = UInt128{kLongestList};
    return finish({});
  }
  if (number.function == ListFunction::contains) {
    const LoweredValue& argument = lower(number.argument, rows_);
    const LoweredValue& test = lower(number.test, list.domain);
    result.value = reduce(Reduction::any, over(*both(test.value, test.valid), list.domain));
    result.valid = both(list.valid, argument.valid);
    result.faults = argument.faults;
    return finish(any_of(test.faults, list.domain));
  }
  const plan::Value count = number_of_values(list);
  const Maybe has_values = map(Op::greater, {count, constant(std::int64_t{0})});
  result.valid = both(list.valid, has_values);
  const bool is_real = element.type.kind == ValueKind::real;
  switch (number.function) {
    case ListFunction::sum:
    case ListFunction::average: {
      if (is_real) {
        result.value = reduce(Reduction::sum, where_valid(element, constant(0.0)));
      } else {
        const plan::Value x = where_valid(element, constant(std::int64_t{0}));
        result.value = reduce(Reduction::sum, x);
        result.bound = std::min(expression::saturated_product(element.bound, UInt128{kLongestList}), kMostBound);
        if (result.bound == kMostBound) {
          result.wide = {reduce(Reduction::sum, map(Op::shift_right, {x, constant(std::int64_t{32})})),
                         reduce(Reduction::sum, map(Op::bit_and, {x, constant(std::int64_t{0xffffffff})}))};
        }
      }
      if (number.function == ListFunction::sum) break;
      plan::Value sum = result.value;
      if (result.wide) {
        const plan::Value high = make_.convert(result.wide->first, ElementType::float64);
        const plan::Value low = make_.convert(result.wide->second, ElementType::float64);
        sum = map(Op::add, {map(Op::multiply, {high, constant(kHigh)}), low});
      } else if (!is_real) {
        sum = make_.convert(sum, ElementType::float64);
      }
      result.wide = std::nullopt;
      result.value = map(Op::divide, {unscaled(sum, element.type), make_.convert(count, ElementType::float64)});
      break;
    }
    case ListFunction::product: {
      LoweredValue real = element;
      real.value = real_of(element);
      result.value = reduce(Reduction::product, where_valid(real, constant(1.0)));
      break;
    }
    case ListFunction::minimum:
    case ListFunction::maximum: {
      const LoweredValue found = extreme(list, number.function == ListFunction::minimum);
      result.value = found.value;
      result.bound = found.bound;
      break;
    }
    case ListFunction::all:
      result.value = reduce(Reduction::all, where_valid(element, constant(true)));
      break;
    case ListFunction::any:
      result.value = reduce(Reduction::any, where_valid(element, constant(false)));
      break;
    case ListFunction::first:
    case ListFunction::last: {
      const std::int64_t place = number.function == ListFunction::first ? 1 : -1;
      result = element_at(list, {.value = constant(place), .type = kInteger});
      return finish({});
    }
    case ListFunction::element:
      result = element_at(list, lower(number.argument, rows_));
      return finish({});
    case ListFunction::any_value: {
      if (!element.valid) {
        result = element_at(list, {.value = constant(std::int64_t{1}), .type = kInteger});
        return finish({});
      }
      const plan::Value valid = make_.convert(over(*element.valid, list.domain), ElementType::int8);
      LoweredValue found = taken(element, make_.reduce(Reduction::argmax, valid, list.domain));
      found.valid = result.valid;
      result = std::move(found);
      result.faults = masked(result.faults, result.valid);
      return finish({});
    }
    case ListFunction::length:
    case ListFunction::count:
    case ListFunction::contains:
    case ListFunction::filter:
    case ListFunction::transform:
      break;
  }
  return finish(any_of(element.faults, list.domain));
}

/// Returns the minimum or maximum of each list.
LoweredValue ListLowering::extreme(const List& list, bool is_minimum) {
  const LoweredValue& element = list.element;
  const Reduction reduction = is_minimum ? Reduction::minimum : Reduction::maximum;
  LoweredValue result{.type = element.type, .bound = element.bound};
  if (element.type.kind == ValueKind::boolean) {
    const plan::Value x = where_valid(element, constant(is_minimum));
    result.value = make_.reduce(is_minimum ? Reduction::all : Reduction::any, x, list.domain);
  } else if (element.type.kind != ValueKind::real) {
    result.value = make_.reduce(reduction, where_valid(element, constant(is_minimum ? kMost : kLeast)), list.domain);
  } else {
    const plan::Value nan = constant(std::numeric_limits<double>::quiet_NaN());
    // The reductions of plans ignore NaN, and here also NULL.
    const plan::Value found = make_.reduce(reduction, where_valid(element, nan), list.domain);
    const plan::Value is_nan = map(Op::is_nan, {element.value});
    const plan::Value test = is_minimum ? map(Op::invert, {is_nan}) : is_nan;
    const plan::Value some = make_.reduce(Reduction::any, over(*both(test, element.valid), list.domain), list.domain);
    result.value = is_minimum ? map(Op::where, {some, found, nan}) : map(Op::where, {some, nan, found});
  }
  return result;
}

/// Returns the element with a number, from 1, or with a negative number from the end. There is none with number 0.
LoweredValue ListLowering::element_at(const List& list, const LoweredValue& number) {
  const auto zero = constant(std::int64_t{0});
  const plan::Value place = over(number.value, rows_);
  const plan::Value count = make_.convert(make_.counts(list.domain), ElementType::int64);
  const plan::Value from_begin = map(Op::subtract, {place, constant(std::int64_t{1})});
  const plan::Value from_end = map(Op::add, {count, place});
  const plan::Value is_positive = map(Op::greater, {place, zero});
  const plan::Value position = map(Op::where, {is_positive, from_begin, from_end});
  Maybe is_there = both(map(Op::greater_equal, {position, zero}), map(Op::less, {position, count}));
  is_there = both(is_there, map(Op::unequal, {place, zero}));
  is_there = both(both(is_there, number.valid), list.valid);
  const plan::Value inside = make_.convert(map(Op::where, {*is_there, position, zero}), ElementType::int32);
  LoweredValue result = taken(list.element, map(Op::add, {make_.starts(list.domain), inside}));
  result.valid = both(is_there, result.valid);
  result.faults = either(masked(result.faults, result.valid), number.faults);
  return result;
}

// --------------------------------------------------------------------------------------------------------- expressions

const LoweredValue& ListLowering::lower(const Node& node, plan::Domain domain) {
  const std::pair key(node->id, domain);
  if (const auto known = lowered_.find(key); known != lowered_.end()) return known->second;
  LoweredValue value = lower_new(node, domain);
  return lowered_.emplace(key, std::move(value)).first->second;
}

LoweredValue ListLowering::lower_new(const Node& node, plan::Domain domain) {
  using expression::Op;
  const auto argument = [&](std::size_t i) -> const LoweredValue& { return lower(node->args[i], domain); };
  if (node->type.kind == ValueKind::date || expression::is_temporal(node->type)) {
    expression::refuse(program_.sql, node->location, Code::unsupported_sql,
                       "dates and times are not supported in a list function");
  }
  switch (node->op) {
    case Op::column:
      return slot(program_.slots[static_cast<std::size_t>(node->column)], domain);
    case Op::literal:
    case Op::null:
      return literal(*node);
    case Op::rescale:
      return arithmetic(Op::multiply, argument(0), argument(1), node->type);
    case Op::to_real: {
      LoweredValue result = argument(0);
      result.value = real_of(result);
      result.type = kReal;
      return result;
    }
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return arithmetic(node->op, argument(0), argument(1), node->type);
    case Op::divide:
    case Op::ratio:
      return divide(argument(0), argument(1), node->args[1], node->type);
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
      return compare(node, domain);
    case Op::both:
    case Op::either:
      return logic(node->op == Op::both, argument(0), argument(1));
    case Op::invert: {
      LoweredValue result = argument(0);
      result.value = map(plan::Op::invert, {result.value});
      return result;
    }
    case Op::is_null: {
      LoweredValue result = argument(0);
      result.value = result.valid ? map(plan::Op::invert, {*result.valid}) : constant(false);
      result.valid = std::nullopt;
      result.type = kBoolean;
      return result;
    }
    case Op::choose:
      return choose(node, domain);
    case Op::call:
      return call(node, argument(0));
    case Op::is_member:
      expression::refuse(program_.sql, node->location, Code::unsupported_sql,
                         "a long IN list is not supported inside a list function: compare ranges");
    case Op::string_test:
    case Op::real_key:  // only in GROUP BY
      break;
  }
  expression::refuse(program_.sql, node->location, Code::unsupported_sql, "text is not supported in a list function");
}

LoweredValue ListLowering::slot(const ListSlot& slot, plan::Domain domain) {
  if (slot.kind == ListSlot::Kind::element) return list(slot.index).element;
  if (slot.kind == ListSlot::Kind::position) {
    const plan::Value first = make_.take(make_.starts(domain), make_.parents(domain));
    const plan::Value before = make_.convert(map(Op::subtract, {make_.positions(domain), first}), ElementType::int64);
    return {.value = map(Op::add, {before, constant(std::int64_t{1})}), .type = kInteger, .bound = kLongestList};
  }
  LoweredValue value;
  if (slot.kind == ListSlot::Kind::column) {
    const int number = input(slot.index);
    value = stored(program_.fields[static_cast<std::size_t>(slot.index)], ListColumns::values(number),
                   ListColumns::valid(number), rows_);
  } else {
    value = number(slot.index);
    if (value.wide) {
      // The sum fits 64 bits if the high part and what the low part adds to it fit 32.
      const plan::Value carried = map(Op::shift_right, {value.wide->second, constant(std::int64_t{32})});
      const plan::Value high = map(Op::add, {value.wide->first, carried});
      const plan::Value is_low = map(Op::less, {high, constant(std::int64_t{INT32_MIN})});
      const plan::Value is_high = map(Op::greater, {high, constant(std::int64_t{INT32_MAX})});
      add_fault(value, ListFault::overflow, map(Op::bit_or, {is_low, is_high}));
      value.wide = std::nullopt;
    }
  }
  return domain == rows_ ? value : taken(value, make_.parents(domain));
}

LoweredValue ListLowering::literal(const expression::Expression& node) {
  LoweredValue result{.type = node.type};
  if (node.op == expression::Op::null) result.valid = constant(false);
  if (node.type.kind == ValueKind::real) {
    result.value = constant(node.real);
  } else if (node.type.kind == ValueKind::boolean) {
    result.value = constant(node.exact != 0);
  } else {
    if (node.exact > kMost || node.exact < kLeast) {
      expression::refuse(program_.sql, node.location, Code::overflow,
                         "this number does not fit 64 bits, as numbers inside a list function must");
    }
    result.value = constant(static_cast<std::int64_t>(node.exact));
    result.bound = expression::magnitude(node.exact);
  }
  return result;
}

/// Computes a sum, difference or product.
LoweredValue ListLowering::arithmetic(expression::Op op, const LoweredValue& a, const LoweredValue& b, ValueType type) {
  LoweredValue result = result_of(a, b, type);
  const Op in_plan = op == expression::Op::add ? Op::add : op == expression::Op::subtract ? Op::subtract : Op::multiply;
  result.value = map(in_plan, {a.value, b.value});
  if (type.kind == ValueKind::real) return result;
  const UInt128 bound = in_plan == Op::multiply ? expression::saturated_product(a.bound, b.bound) : a.bound + b.bound;
  result.bound = std::min(bound, kMostBound);
  if (bound < kMostBound) return result;
  const auto zero = constant(std::int64_t{0});
  if (in_plan == Op::multiply) {
    // The quotient of a product that does not fit is not b, except for a product of the minimum and -1.
    const plan::Value quotient = map(Op::floor_divide, {result.value, a.value});
    const plan::Value differs =
        map(Op::bit_and, {map(Op::unequal, {quotient, b.value}), map(Op::unequal, {a.value, zero})});
    const plan::Value is_opposite = map(Op::bit_and, {map(Op::equal, {a.value, constant(std::int64_t{-1})}),
                                                      map(Op::equal, {b.value, constant(kLeast)})});
    add_fault(result, ListFault::overflow, map(Op::bit_or, {differs, is_opposite}));
    return result;
  }
  // The signs of a sum differ from those of both operands.
  const plan::Value left = map(Op::bit_xor, {a.value, result.value});
  const plan::Value right =
      map(Op::bit_xor, {in_plan == Op::add ? b.value : a.value, in_plan == Op::add ? result.value : b.value});
  add_fault(result, ListFault::overflow, map(Op::less, {map(Op::bit_and, {left, right}), zero}));
  return result;
}

/// Divides floats, integers with truncation, and decimals as floats.
LoweredValue ListLowering::divide(const LoweredValue& a, const LoweredValue& b, const Node& divisor, ValueType type) {
  LoweredValue result = result_of(a, b, type);
  result.bound = a.bound;
  const bool is_real = b.type.kind == ValueKind::real;
  const bool is_literal = divisor->op == expression::Op::literal;
  if (!is_literal || (is_real ? divisor->real == 0 : divisor->exact == 0)) {
    const plan::Value zero = is_real ? constant(0.0) : constant(std::int64_t{0});
    add_fault(result, ListFault::zero_division, map(Op::equal, {b.value, zero}));
  }
  if (is_real) {
    result.value = map(Op::divide, {a.value, b.value});
    return result;
  }
  if (type.kind == ValueKind::real) {
    // Both are scaled to the same number of decimal places.
    const int shift = expression::scale_of(b.type) - expression::scale_of(a.type);
    const auto scaled = [&](const LoweredValue& x, int places) {
      const plan::Value real = make_.convert(x.value, ElementType::float64);
      if (places <= 0) return real;
      return map(Op::multiply, {real, constant(static_cast<double>(expression::power_of_ten(places)))});
    };
    result.value = map(Op::divide, {scaled(a, shift), scaled(b, -shift)});
    return result;
  }
  const auto zero = constant(std::int64_t{0});
  const plan::Value quotient = map(Op::floor_divide, {a.value, b.value});
  const plan::Value is_inexact = map(Op::unequal, {map(Op::multiply, {quotient, b.value}), a.value});
  const plan::Value is_negative = map(Op::unequal, {map(Op::less, {a.value, zero}), map(Op::less, {b.value, zero})});
  const plan::Value add = make_.convert(map(Op::bit_and, {is_inexact, is_negative}), ElementType::int64);
  result.value = map(Op::add, {quotient, add});
  if (a.bound >= kMostBound && (!is_literal || divisor->exact == -1)) {
    const plan::Value is_least = map(Op::equal, {a.value, constant(kLeast)});
    add_fault(result, ListFault::overflow,
              map(Op::bit_and, {is_least, map(Op::equal, {b.value, constant(std::int64_t{-1})})}));
  }
  return result;
}

/// Compares an integer or decimal with a literal that has more decimal places or does not fit 64 bits. The literal is
/// rounded to the places of the number. Returns nothing for other literals.
ListLowering::Maybe ListLowering::compared_with_literal(expression::Op op, const LoweredValue& a,
                                                        const expression::Expression& literal, bool is_right) {
  using expression::Op;
  if (literal.op != Op::literal || !expression::is_exact(literal.type) || !expression::is_exact(a.type)) return {};
  const int places = expression::scale_of(literal.type) - expression::scale_of(a.type);
  const bool fits = literal.exact <= kMost && literal.exact >= kLeast;
  if (places < 0 || (places == 0 && fits)) return {};
  const Int128 factor = expression::power_of_ten(places);
  const Int128 floor = floor_of(literal.exact, factor);
  const bool is_whole = literal.exact % factor == 0;
  if (op == Op::equal || op == Op::unequal) {
    if (!is_whole || floor > kMost || floor < kLeast) return constant(op == Op::unequal);
    return map(op == Op::equal ? plan::Op::equal : plan::Op::unequal,
               {a.value, constant(static_cast<std::int64_t>(floor))});
  }
  // a <= c, a < c, c <= a, c < a are comparisons of a with an integer: of a <= floor(c), or a > floor(c) inverted.
  const bool is_or_equal = op == Op::less_equal;
  const bool rounds_down = is_right ? is_or_equal || !is_whole : !is_or_equal || !is_whole;
  const Int128 most = rounds_down ? floor : floor - 1;  // a <= most
  if (most > kMost || most < kLeast) return constant((most > kMost) == is_right);
  return map(is_right ? plan::Op::less_equal : plan::Op::greater, {a.value, constant(static_cast<std::int64_t>(most))});
}

LoweredValue ListLowering::compare(const Node& node, plan::Domain domain) {
  using expression::Op;
  const Node& left = node->args[0];
  const Node& right = node->args[1];
  const auto of = [&](const Node& number, const Node& literal, bool is_right) -> std::optional<LoweredValue> {
    if (number->op == Op::literal || number->op == Op::null) return std::nullopt;
    const LoweredValue& a = lower(number, domain);
    const Maybe test = compared_with_literal(node->op, a, *literal, is_right);
    if (!test) return std::nullopt;
    LoweredValue result{.value = *test, .valid = a.valid, .type = kBoolean};
    result.faults = a.faults;
    return result;
  };
  if (auto test = of(left, right, true)) return *test;
  if (auto test = of(right, left, false)) return *test;
  LoweredValue a = lower(left, domain);
  LoweredValue b = lower(right, domain);
  if (expression::is_exact(a.type) && expression::is_exact(b.type)) {
    const int places = expression::scale_of(a.type) - expression::scale_of(b.type);
    LoweredValue& fewer = places > 0 ? b : a;
    const std::int64_t factor = places == 0 ? 1 : static_cast<std::int64_t>(expression::power_of_ten(std::abs(places)));
    if (places != 0) {
      fewer = arithmetic(Op::multiply, fewer, {.value = constant(factor), .type = kInteger, .bound = UInt128(factor)},
                         fewer.type);
    }
  }
  LoweredValue result = result_of(a, b, kBoolean);
  const bool is_real = a.type.kind == ValueKind::real;
  const auto may_be_nan = [&](const Node& operand) {
    return is_real && !(operand->op == Op::literal && operand->real == operand->real);
  };
  const auto is_nan = [&](const LoweredValue& x) { return map(plan::Op::is_nan, {x.value}); };
  if (node->op == Op::equal || node->op == Op::unequal) {
    result.value = map(plan::Op::equal, {a.value, b.value});
    if (may_be_nan(left) && may_be_nan(right)) {
      const plan::Value both_nan = map(plan::Op::bit_and, {is_nan(a), is_nan(b)});
      result.value = map(plan::Op::bit_or, {result.value, both_nan});
    }
    if (node->op == Op::unequal) result.value = map(plan::Op::invert, {result.value});
    return result;
  }
  // a < b; a <= b is the opposite of b < a. NaN is greater than every number.
  const bool is_less = node->op == Op::less;
  const LoweredValue& smaller = is_less ? a : b;
  const LoweredValue& larger = is_less ? b : a;
  if (!may_be_nan(left) && !may_be_nan(right)) {
    result.value = map(is_less ? plan::Op::less : plan::Op::less_equal, {a.value, b.value});
    return result;
  }
  plan::Value less = map(plan::Op::less, {smaller.value, larger.value});
  if (may_be_nan(is_less ? right : left)) {
    plan::Value is_above = is_nan(larger);
    if (may_be_nan(is_less ? left : right)) {
      is_above = map(plan::Op::bit_and, {is_above, map(plan::Op::invert, {is_nan(smaller)})});
    }
    less = map(plan::Op::bit_or, {less, is_above});
  }
  result.value = is_less ? less : map(plan::Op::invert, {less});
  return result;
}

/// Computes AND or OR. The second operand is not evaluated if the first one decides.
LoweredValue ListLowering::logic(bool is_and, const LoweredValue& a, const LoweredValue& b) {
  LoweredValue result{.type = kBoolean};
  const auto is = [&](const LoweredValue& x, bool value) {
    return *both(value ? x.value : map(Op::invert, {x.value}), x.valid);
  };
  const plan::Value decided = is(a, !is_and);
  result.faults = either(a.faults, masked(b.faults, map(Op::invert, {decided})));
  if (!a.valid && !b.valid) {
    result.value = map(is_and ? Op::bit_and : Op::bit_or, {a.value, b.value});
    return result;
  }
  // Known if one operand decides, or both are known.
  const plan::Value some_decides = map(Op::bit_or, {decided, is(b, !is_and)});
  const plan::Value none_decides = map(Op::bit_and, {is(a, is_and), is(b, is_and)});
  result.value = is_and ? none_decides : some_decides;
  result.valid = map(Op::bit_or, {some_decides, none_decides});
  return result;
}

LoweredValue ListLowering::choose(const Node& node, plan::Domain domain) {
  LoweredValue result = lower(node->args.back(), domain);
  result.type = node->type;
  for (std::size_t i = node->args.size() - 1; i >= 2; i -= 2) {
    const LoweredValue& condition = lower(node->args[i - 2], domain);
    const LoweredValue& value = lower(node->args[i - 1], domain);
    const plan::Value is = *both(condition.value, condition.valid);
    const auto chosen = [&](const Maybe& x, const Maybe& y, bool otherwise) -> Maybe {
      if (!x && !y) return std::nullopt;
      return map(Op::where, {is, x ? *x : constant(otherwise), y ? *y : constant(otherwise)});
    };
    result.value = map(Op::where, {is, value.value, result.value});
    result.valid = chosen(value.valid, result.valid, true);
    result.bound = std::max(value.bound, result.bound);
    for (std::size_t f = 0; f < result.faults.size(); ++f) {
      result.faults[f] = either(condition.faults[f], chosen(value.faults[f], result.faults[f], false));
    }
  }
  return result;
}

LoweredValue ListLowering::call(const Node& node, const LoweredValue& a) {
  const std::string name = expression::name(expression::functions()[static_cast<std::size_t>(node->function)]);
  LoweredValue result = a;
  result.type = node->type;
  if (name == "abs") {
    result.value = map(Op::absolute, {a.value});
    if (a.type.kind != ValueKind::real && a.bound >= kMostBound) {
      add_fault(result, ListFault::overflow, map(Op::equal, {a.value, constant(kLeast)}));
    }
    return result;
  }
  if (name == "sqrt") {
    result.value = map(Op::sqrt, {a.value});
    add_fault(result, ListFault::negative_root, map(Op::less, {a.value, constant(0.0)}));
    return result;
  }
  expression::refuse(program_.sql, node->location, Code::unsupported_sql,
                     fmt::format("{}() is not supported inside a list function: apply it to the result", name));
}

// ---------------------------------------------------------------------------------------------------------------- plan

LoweredPlan ListLowering::compile(const std::vector<ListOutput>& outputs) {
  std::vector<LoweredPlan::Column> columns;
  for (const ListOutput& output : outputs) {
    const LoweredValue& number = this->number(output.number);
    LoweredPlan::Column column{};
    if (output.is_fault) {
      plan::Value code = constant(kNoFault);
      const std::pair<ListFault, std::int64_t> codes[] = {{ListFault::overflow, kOverflow},
                                                          {ListFault::negative_root, kNegativeRoot},
                                                          {ListFault::zero_division, kZeroDivision}};
      for (const auto& [fault, value] : codes) {
        const Maybe& is = number.faults[at(fault)];
        if (is) code = map(Op::where, {*is, constant(value), code});
      }
      column.value = make_.output(over(code, rows_));
    } else {
      column.value = make_.output(over(number.wide ? number.wide->first : number.value, rows_));
      if (number.wide) column.low = make_.output(number.wide->second);
      if (number.valid) column.valid = make_.output(over(*number.valid, rows_));
    }
    columns.push_back(column);
  }
  return {make_.compile(), std::move(columns)};
}

}  // namespace upsweep::query
