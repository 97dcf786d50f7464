// SPDX-License-Identifier: Apache-2.0
// sql/expression/functions.hpp: the scalar functions of SQL as one table: names, arguments, NULL, kernels and text for a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sql/expression/number.hpp"

namespace upsweep::expression {

inline constexpr int kMostArguments = 2;  ///< of a function, as a query calls it
inline constexpr int kMostOperands = 3;   ///< of a body: what Builder::call() makes of the arguments

/// What an argument of a function may be.
enum class Takes : std::uint8_t {
  nothing,  ///< the function has no such argument
  number,   ///< an integer, a decimal or a float
  real,     ///< a number, which is converted to a float
  places    ///< a whole number that the query states; 0 where it is left out
};

/// The type of a function's result.
enum class Gives : std::uint8_t {
  same,    ///< that of the first argument
  real,    ///< a float
  rounded  ///< that of the first argument; a decimal has the decimal places that the second argument states
};

/// When a function's result is NULL.
enum class NullRule : std::uint8_t {
  any  ///< where one argument or more is NULL
};

/// Computes the results of n rows. The first operand has n values, each further one has one value for all rows. Returns whether a
/// row has failed: its result does not fit the type that is computed with, or is not defined. The results of such rows mean nothing.
using FunctionLoop = bool (*)(const void* const* operands, int n, void* results);

/// How a function is computed: `name` is a function of `text`, CUDA C++ that is compiled for the CPU as well. Without a name the
/// function has no such body.
struct FunctionBody {
  const char* name = nullptr;
  const char* text = nullptr;
  FunctionLoop narrow = nullptr;  ///< of int64
  FunctionLoop wide = nullptr;    ///< of Int128
  FunctionLoop real = nullptr;    ///< of doubles
};

/// A scalar function.
struct Function {
  const char* names = nullptr;  ///< in lower case, between blanks; messages use the first one
  Takes takes[kMostArguments] = {};
  Gives gives = Gives::same;
  NullRule nulls = NullRule::any;
  const char* meaning = nullptr;  ///< for the documentation
  const char* failure = nullptr;  ///< what is said of a float that the body refuses; null: it refuses none
  FunctionBody exact = {};        ///< of integers and decimals
  FunctionBody real = {};         ///< of floats
  UInt128 (*bound)(const UInt128* bounds) = nullptr;  ///< of `exact`: a bound of |results|, from those of |operands|
};

/// The table, as it is compiled for an instruction set. Each has the same functions in the same order.
struct FunctionTable {
  const Function* first;
  int count;
  const char* text;  ///< what the text of bodies calls, besides what cuda_prelude.hpp has
};
extern const FunctionTable functions_baseline;
extern const FunctionTable functions_avx2;
extern const FunctionTable functions_avx512;

/// All functions. Their loops are those of the baseline.
std::span<const Function> functions();
/// The place in the table of the function of that name, in lower case; -1 where there is none.
int function_named(std::string_view name);
/// The name that messages use.
std::string name(const Function& function);
/// How the function is called: "round(x) or round(x, n)".
std::string usage(const Function& function);

}  // namespace upsweep::expression
