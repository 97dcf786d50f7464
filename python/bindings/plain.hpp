// SPDX-License-Identifier: Apache-2.0
// bindings/plain.hpp: short calls: functions of the package whose plain case runs without Python code.
//
// A public function is written in Python, for all arrays and arguments. For plain NumPy arrays and few arguments, that
// code takes ten times as long as the work of a short call. `plain(function)` adds a PlainCase before the function: C++
// code that recognizes and runs such calls. The Python function handles every other call. It also handles every error:
// if the library refuses a call, the Python function runs the call again, unless the call was in place.
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
#include "upsweep/select.hpp"
#include "upsweep/types.hpp"

namespace upsweep::python {

/// The keyword arguments that plain cases support.
enum class Keyword : std::uint8_t {
  op,
  exclusive,
  initial,
  axis,
  dtype,
  overflow,
  out,
  valid,
  lists,
  index_lists,
  strict,
  include_initial,
  descending,
  nan_first,
  counts,
  replacement,
  witness,
  below,
  above,
  ways,
  count
};

/// Whether a result may be written over the first array that a call reads.
enum class InPlace : std::uint8_t { no, yes };

/// A call: its positional and keyword arguments, the arrays that were read from them, and where it runs.
///
/// Functions that read arguments return false, or nothing, for arguments that the Python code must handle.
class PlainCall {
 public:
  /// Returns false for a name that is not in `keywords`, or if options or `overflow` are not plain.
  bool bind(PyObject* const* values, std::int64_t count, PyObject* names, unsigned keywords);

  [[nodiscard]] std::span<PyObject* const> given() const { return given_; }
  /// Returns an invalid handle if the argument is not given.
  [[nodiscard]] nanobind::handle named(Keyword keyword) const { return named_[static_cast<std::size_t>(keyword)]; }
  /// Whether the argument is given, and is not None, which is the default of most arguments.
  [[nodiscard]] bool has(Keyword keyword) const { return named(keyword).is_valid() && !named(keyword).is_none(); }
  /// Where and how the call runs.
  [[nodiscard]] const CallPlace& place() const { return place_; }
  /// Whether the call overwrites its input: it can then not be repeated.
  [[nodiscard]] bool is_in_place() const { return is_in_place_; }

  /// Returns the named operator, by default the sum; nothing for an unknown operator.
  [[nodiscard]] std::optional<Operator> op() const;
  /// Returns the name of the operator: "add" by default, and "" if the argument is not a string.
  [[nodiscard]] std::string_view op_name() const;
  /// Returns a boolean argument, false by default.
  [[nodiscard]] std::optional<bool> flag(Keyword keyword) const;
  /// Returns an integer of at least `least` that fits int64; nothing for other objects.
  [[nodiscard]] static std::optional<std::int64_t> whole(nanobind::handle object, std::int64_t least = 0);
  /// Returns the axis, counted from 0. For one dimension the default is 0.
  [[nodiscard]] std::optional<std::size_t> axis(std::size_t dimensions) const;

  /// Reads numbers, but not booleans.
  bool numbers(nanobind::handle object, Elements& elements);
  /// Reads numbers, or booleans that are stored as 0 and 1; `any_shape`: allows any number of dimensions.
  bool counts(nanobind::handle object, Elements& elements, bool any_shape = false);
  /// Reads integers of a type that bounds of lists and indices may have.
  bool bounds(nanobind::handle object, Elements& elements);
  /// Reads bytes that are true or false.
  bool mask(nanobind::handle object, Mask& mask);
  /// Reads the argument `valid`; the mask is empty if it is not given.
  bool valid(Mask& mask) { return !has(Keyword::valid) || this->mask(named(Keyword::valid), mask); }
  /// Reads elements that can be moved, which have no pointers. Returns the array that contains them, or an invalid
  /// object.
  nanobind::object moved(nanobind::handle object, Elements& elements);
  /// Reads offsets, a tuple of starts and stops of one type, or the size of every list of a content of that length.
  std::optional<Lists> lists(nanobind::handle object, std::int64_t content);
  /// Converts the elements of the argument that was read last to another type.
  bool cast_last(nanobind::handle given, Elements& elements, Type type);

  /// Returns the type of a fold's results: `dtype`, otherwise the type of `out` if `looks_at_out`, otherwise the
  /// default. Booleans that are folded into int8 become int8 in `x`.
  std::optional<ElementKind> result_kind(Operator op, Elements& x, bool looks_at_out = true);
  /// Returns a pointer to the initial value of folds of that type, which is null without `initial`.
  bool initial(Operator op, ElementKind kind, const void*& first);

  /// Returns the array for a result: `out` if it has that type and shape and does not overlap what was read, otherwise
  /// a new array.
  nanobind::object result(ElementKind kind, std::span<const std::int64_t> shape, Elements& to,
                          InPlace in_place = InPlace::no);
  nanobind::object result(ElementKind kind, std::int64_t length, Elements& to) {
    return result(kind, {&length, 1}, to);
  }
  /// Returns `out` as `count` arrays; those that are not given are invalid handles.
  bool outputs(std::size_t count, std::vector<nanobind::handle>& each) const;
  /// Returns the first elements of an output, or a new array if there is no output.
  nanobind::object first_of(nanobind::handle output, ElementKind kind, std::int64_t length, Elements& to);
  /// Returns the first elements of an output for moved elements of the type of `like`, or a new array.
  nanobind::object first_of(nanobind::handle output, nanobind::handle like, std::int64_t length, Elements& to);
  /// Returns an output of any length, or a new array of that length if there is no output.
  nanobind::object output_of(nanobind::handle output, ElementKind kind, std::int64_t length, Elements& to);

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
  };

  bool read_place();
  /// Returns a plain array, in place or as a copy; an invalid object for others.
  nanobind::object read(nanobind::handle object, Elements& elements, bool any_shape);
  [[nodiscard]] bool is_apart(const Elements& elements) const;
  bool is_output(nanobind::handle object, Elements& elements) const;

  std::span<PyObject* const> given_;
  std::array<PyObject*, static_cast<std::size_t>(Keyword::count)> named_;
  CallPlace place_;
  bool is_in_place_ = false;
  std::array<Range, 8> read_;
  std::size_t reads_ = 0;
  std::vector<nanobind::object> copies_;
  alignas(8) std::array<std::byte, 8> first_;
};

/// Returns keywords as a set of bits.
template <class... Keywords>
constexpr unsigned named(Keywords... keywords) {
  return (0U | ... | (1U << static_cast<unsigned>(keywords)));
}

/// Thrown if a call turns out not to be plain after it has begun. The Python function then runs it.
struct NotPlain {};

/// The C++ implementation of a function's plain case: if it returns an invalid object, the Python function runs the
/// call.
struct PlainCase {
  const char* function;
  unsigned keywords;  ///< that the case supports
  nanobind::object (*run)(PlainCall& call);
};

/// Adds cases, which `plain` finds by the functions' names.
void add_plain_cases(std::initializer_list<PlainCase> cases);
void define_plain(nanobind::module_& module);

inline dynamic::ConstArray as_input(const Elements& elements) {
  return {elements.data, elements.length, elements.type};
}

inline dynamic::Array as_output(const Elements& elements) { return {elements.data, elements.length, elements.type}; }

/// NumPy counts bytes in an int64. For more elements the Python code raises MemoryError.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

/// Writes the position where each run of equal keys begins, and where the last one ends.
void write_key_offsets(const CallPlace& place, const dynamic::ConstArray& keys, const dynamic::Array& offsets);
/// Gathers elements of each content by their positions.
void take(const CallPlace& place, const Indices& at, const std::vector<ContentColumn>& columns);
/// Returns the number of runs of equal keys.
std::int64_t count_key_runs(const CallPlace& place, const dynamic::ConstArray& keys);

}  // namespace upsweep::python
