// SPDX-License-Identifier: Apache-2.0
// sql/expression/rules.hpp: rules that CPU evaluation and generated GPU code share: how values are stored, and what
// fits.
//
// Integers have 64 bits, or 128 if an operand has 128 (Expression::wide). Decimals have 128 bits, and are stored in 64
// while a bound of the values proves that these suffice. Dates have 32 bits, seconds 64. A result outside these limits
// is an error.
// The CPU computes bounds from the values of a block, the GPU from the known properties of a column. The rules that
// follow from bounds are defined here for both.
#pragma once

#include <cstdint>
#include <limits>

#include "sql/expression/expression.hpp"

namespace upsweep::expression {

/// How values are stored during a computation.
enum class Form : std::uint8_t {
  narrow,   ///< int64: integers, decimals, dates, seconds
  wide,     ///< Int128: integers and decimals
  real,     ///< double
  boolean,  ///< uint8: 0 or 1
  text      ///< int32: index into a dictionary
};

Form form_of(const Field& column);
/// Returns the form that follows from an expression's type. Constants, booleans and reals always have this form. Exact
/// results (integers, decimals, dates, seconds) whose bounds are known may have a narrower form.
Form form_of(const Expression& node);

/// Minimum and maximum of the allowed values.
struct Limits {
  Int128 minimum;
  Int128 maximum;
  const char* failure;  ///< the message for a value outside the limits
};
/// Returns the limits of a result: a 64-bit integer, a 128-bit integer if `wide`, a decimal, a date, or seconds.
Limits limits_of(ValueType type, bool wide);
/// Returns the limits of elements; `storage` is an integer storage.
Limits limits_of(Storage storage);

inline constexpr UInt128 kNarrowBound = std::numeric_limits<std::int64_t>::max();
inline constexpr UInt128 kWideBound = static_cast<UInt128>(kInt128Max);

/// The known properties of an exact operand before its values are computed: no |value| is larger than the bound.
struct Operand {
  Form form;
  UInt128 bound;
};
/// Returns the bound of elements of a storage, independent of their values.
UInt128 bound_of(Storage storage);
UInt128 saturated_product(UInt128 a, UInt128 b);

/// How a op b is computed, for add, subtract and multiply.
struct ExactRule {
  Form computed;  ///< in 64 bits or in 128
  bool wraps;     ///< the computed form may not hold the result
  bool leaves;    ///< the result may be outside the limits
  Form form;      ///< form of results
  UInt128 bound;  ///< bound of results
};
ExactRule rule_of(Op op, const Limits& limits, Operand a, Operand b);
/// Returns the rule for any results with that bound; `narrow`: all operands are narrow.
ExactRule rule_of(UInt128 bound, const Limits& limits, bool narrow);

/// Returns the form of a / b, which truncates. The division fails if b is 0, or if a is the form's minimum and b is -1.
Form form_of_quotient(Form a, Form b);
Int128 minimum_of(Form form);

/// Returns whether a sum of `rows` values fits the form that stores them.
bool sum_fits(Operand value, UInt128 rows);

/// Sets the properties that follow from an expression's operator, type and operands: `can_fail`, and `wide` except for
/// a column.
void derive(Expression& node);

}  // namespace upsweep::expression
