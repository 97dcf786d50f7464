// SPDX-License-Identifier: Apache-2.0
// bindings/plain.hpp: short calls: functions of the package whose plain case is done without Python.
//
// A public function is written in Python, for all arrays and arguments. Where it is called with plain arrays of NumPy and few
// arguments, that takes ten times as long as a short call's work. `plain(function)` puts a PlainCase before it: C++ that
// recognizes such a call, does it, and leaves every other call, and every refusal, to the function in Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "arrays.hpp"
#include "place.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::python {

/// The arguments by name that plain cases know.
enum class Keyword : std::uint8_t { op, exclusive, lists, out, count };

/// A call: what is given by position, and by name.
class PlainCall {
 public:
  [[nodiscard]] std::span<PyObject* const> given() const { return given_; }
  /// An invalid handle where it is not given.
  [[nodiscard]] nanobind::handle named(Keyword keyword) const { return named_[static_cast<std::size_t>(keyword)]; }
  /// Whether it is given, and is not None, which is the default of what is an array.
  [[nodiscard]] bool has(Keyword keyword) const { return named(keyword).is_valid() && !named(keyword).is_none(); }

  /// The operator that is named, which is the sum by default; nothing where there is no such operator.
  [[nodiscard]] std::optional<Operator> op() const;
  /// The name; "add" by default, and "" where it is no string.
  [[nodiscard]] std::string_view op_name() const;
  /// Whether `exclusive` is True; nothing where it is neither that nor False.
  [[nodiscard]] std::optional<bool> is_exclusive() const;

  /// False where there is a name that is none of `keywords`.
  bool bind(PyObject* const* values, std::int64_t count, PyObject* names, unsigned keywords);

 private:
  std::span<PyObject* const> given_;
  std::array<PyObject*, static_cast<std::size_t>(Keyword::count)> named_;
};

/// Keywords as a set of bits.
template <class... Keywords>
constexpr unsigned named(Keywords... keywords) {
  return (0U | ... | (1U << static_cast<unsigned>(keywords)));
}

/// What C++ does of a function: an invalid object leaves the call to Python.
struct PlainCase {
  const char* function;
  unsigned keywords;  ///< that the case knows
  nanobind::object (*run)(const PlainCall& call);
};

/// Adds to the cases that `plain` finds by the functions' names.
void add_plain_cases(std::initializer_list<PlainCase> cases);
void define_plain(nanobind::module_& module);

/// Whether this thread or task is in a block of `upsweep.options`.
bool is_in_options();

// Arguments of plain cases; false, or nothing, where they are to be looked at by Python.
/// Numbers, but no booleans.
bool plain_numbers(nanobind::handle object, Elements& elements);
/// Numbers, or booleans that are stored as 0 and 1; `any_shape`: not only of one dimension.
bool plain_counts(nanobind::handle object, Elements& elements, bool any_shape = false);
/// Of a type that bounds of lists and indices have.
bool plain_bounds(nanobind::handle object, Elements& elements);
/// Elements that are moved: those that have no pointers.
bool plain_elements(nanobind::handle object, Elements& elements);
/// Bytes that are true or false.
bool plain_mask(nanobind::handle object, Mask& mask);
/// Offsets, a tuple of starts and stops of one type, or the size of every list of a content of that length.
std::optional<Lists> plain_lists(nanobind::handle object, std::int64_t content);

/// A sum's and a product's type is the widest of its kind; booleans are counted as int64.
inline Type result_type(Operator op, const Elements& elements) {
  if (op != Operator::add && op != Operator::mul) return elements.type;
  return elements.is_boolean ? Type::int64 : default_accumulator(elements.type);
}

inline dynamic::ConstArray as_input(const Elements& elements) {
  return {elements.data, elements.length, elements.type};
}

/// How many runs of equal keys there are.
std::int64_t count_key_runs(const Place& place, const dynamic::ConstArray& keys);

}  // namespace upsweep::python
