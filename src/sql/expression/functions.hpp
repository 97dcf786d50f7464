// SPDX-License-Identifier: Apache-2.0
// sql/expression/functions.hpp: the table of SQL's scalar functions: names, arguments, NULL, kernels and GPU text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sql/expression/number.hpp"

namespace upsweep::expression {

inline constexpr int kMostArguments = 2;  ///< arguments of a function in a query
inline constexpr int kMostOperands = 3;   ///< operands of a body, which Builder::call() derives from the arguments

/// Kinds of arguments of a function.
enum class Takes : std::uint8_t {
  nothing,  ///< the function has no such argument
  number,   ///< an integer, a decimal or a float
  real,     ///< a number, which is converted to a float
  places    ///< an integer literal; 0 if omitted
};

/// Type of a function's result.
enum class Gives : std::uint8_t {
  same,    ///< type of the first argument
  real,    ///< a float
  rounded  ///< type of the first argument; a decimal has the decimal places of the second argument
};

/// Condition under which a function's result is NULL.
enum class NullRule : std::uint8_t {
  any  ///< at least one argument is NULL
};

/// Computes the results of n rows. The first operand has n values; each further operand has one value for all rows.
/// Returns whether a row failed: its result does not fit the computed type, or is not defined. The results of failed
/// rows are undefined.
using FunctionLoop = bool (*)(const void* const* operands, int n, void* results);

/// The implementation of a function. `name` is a function of `text`, CUDA C++ that is also compiled for the CPU. If
/// `name` is null, the function has no such body.
struct FunctionBody {
  const char* name = nullptr;
  const char* text = nullptr;
  FunctionLoop narrow = nullptr;  ///< for int64
  FunctionLoop wide = nullptr;    ///< for Int128
  FunctionLoop real = nullptr;    ///< for double
};

/// A scalar function.
struct Function {
  const char* names = nullptr;  ///< in lower case, separated by blanks; messages use the first one
  Takes takes[kMostArguments] = {};
  Gives gives = Gives::same;
  NullRule nulls = NullRule::any;
  const char* meaning = nullptr;  ///< for the documentation
  const char* failure = nullptr;  ///< the message for a float that the body refuses; null: it refuses none
  FunctionBody exact = {};        ///< for integers and decimals
  FunctionBody real = {};         ///< for floats
  UInt128 (*bound)(const UInt128* bounds) = nullptr;  ///< bound of |results| of `exact`, from the bounds of |operands|
};

/// The table for one instruction set. All tables have the same functions in the same order.
struct FunctionTable {
  const Function* first;
  int count;
  const char* text;  ///< functions that the bodies call, in addition to those of cuda_prelude.hpp
};
extern const FunctionTable functions_baseline;
extern const FunctionTable functions_avx2;
extern const FunctionTable functions_avx512;

/// Returns all functions. Their loops are those of the baseline.
std::span<const Function> functions();
/// Returns the index in the table of the function with this name in lower case, or -1.
int function_named(std::string_view name);
/// Returns the name that messages use.
std::string name(const Function& function);
/// Returns the usage of the function: "round(x) or round(x, n)".
std::string usage(const Function& function);

}  // namespace upsweep::expression
