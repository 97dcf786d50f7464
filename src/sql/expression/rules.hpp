// SPDX-License-Identifier: Apache-2.0
// sql/expression/rules.hpp: what the CPU's evaluation and the GPU's generated code must agree on: how values are held, what fits.
//
// Integers have 64 bits, or 128 where an operand has (Expression::wide); decimals have 128, and are held in 64 as long as a
// bound of the values says that these suffice; dates have 32. A result outside of that is an error. The CPU takes bounds from
// the values of a block, the GPU from what is known of a column; what follows from bounds is decided here for both.
#pragma once

#include <cstdint>
#include <limits>

#include "sql/expression/expression.hpp"

namespace upsweep::expression {

/// How values are held while they are computed with.
enum class Form : std::uint8_t {
  narrow,   ///< int64: integers, decimals, dates
  wide,     ///< Int128: integers and decimals
  real,     ///< double
  boolean,  ///< uint8: 0 or 1
  text      ///< int32: index into a dictionary
};

Form form_of(const Field& column);
/// By an expression's type alone: of constants, booleans and reals. Exact results that bounds are known of may be narrower.
Form form_of(const Expression& node);

/// From where to where values may go.
struct Limits {
  Int128 minimum;
  Int128 maximum;
  const char* failure;  ///< what is said of a value outside
};
/// Of what a result may be: an integer of 64 bits or, if `wide`, of 128; a decimal; a date.
Limits limits_of(ValueType type, bool wide);
/// Of what elements can be; `storage` is one of integers.
Limits limits_of(Storage storage);

inline constexpr UInt128 kNarrowBound = std::numeric_limits<std::int64_t>::max();
inline constexpr UInt128 kWideBound = static_cast<UInt128>(kInt128Max);

/// An exact operand, as far as it is known before its values are: no |value| is larger than the bound.
struct Operand {
  Form form;
  UInt128 bound;
};
/// Of elements of a storage, whatever they are.
UInt128 bound_of(Storage storage);
UInt128 saturated_product(UInt128 a, UInt128 b);

/// How a op b is computed, for add, subtract and multiply.
struct ExactRule {
  Form computed;  ///< in 64 bits or in 128
  bool wraps;     ///< these may not hold the result
  bool leaves;    ///< the result may be outside of the limits
  Form form;      ///< of results
  UInt128 bound;  ///< of results
};
ExactRule rule_of(Op op, const Limits& limits, Operand a, Operand b);
/// The same of any results with that bound; `narrow`: all operands are.
ExactRule rule_of(UInt128 bound, const Limits& limits, bool narrow);

/// The form of a / b, which truncates. It fails where b is 0, and where a is the form's minimum value and b is -1.
Form form_of_quotient(Form a, Form b);
Int128 minimum_of(Form form);

/// Whether a sum of so many values fits the form that they are held in.
bool sum_fits(Operand value, UInt128 rows);

/// Sets what follows from an expression's operator, type and operands: `wide` (but a column's), and `can_fail`.
void derive(Expression& node);

}  // namespace upsweep::expression
