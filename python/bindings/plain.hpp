// SPDX-License-Identifier: Apache-2.0
// bindings/plain.hpp: short calls: functions of the package whose plain case is done without Python.
//
// A public function is written in Python, for all arrays and arguments. Where it is called with plain arrays of NumPy and few
// arguments, that takes ten times as long as a short call's work. `plain(function)` puts a PlainCase before it: C++ that
// recognizes such a call, does it, and leaves every other call, and every refusal, to the function in Python: what the library
// refuses is asked of that once more, unless it was done in place.
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

/// The arguments by name that plain cases know.
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

/// A call: what is given by position and by name, what of it has been read, and where it runs.
///
/// Functions that read arguments give false, or nothing, where these are to be looked at by Python.
class PlainCall {
 public:
  /// False where there is a name that is none of `keywords`, or where options or `overflow` are not plain.
  bool bind(PyObject* const* values, std::int64_t count, PyObject* names, unsigned keywords);

  [[nodiscard]] std::span<PyObject* const> given() const { return given_; }
  /// An invalid handle where it is not given.
  [[nodiscard]] nanobind::handle named(Keyword keyword) const { return named_[static_cast<std::size_t>(keyword)]; }
  /// Whether it is given, and is not None, which is the default of most.
  [[nodiscard]] bool has(Keyword keyword) const { return named(keyword).is_valid() && !named(keyword).is_none(); }
  /// Where and how it runs.
  [[nodiscard]] const CallPlace& place() const { return place_; }
  /// Whether what it has read is overwritten: it can then not be done again.
  [[nodiscard]] bool is_in_place() const { return is_in_place_; }

  /// The operator that is named, which is the sum by default; nothing where there is no such operator.
  [[nodiscard]] std::optional<Operator> op() const;
  /// The name; "add" by default, and "" where it is no string.
  [[nodiscard]] std::string_view op_name() const;
  /// Whether it is True; False by default.
  [[nodiscard]] std::optional<bool> flag(Keyword keyword) const;
  /// An integer from `least` on that fits int64; nothing for other objects.
  [[nodiscard]] static std::optional<std::int64_t> whole(nanobind::handle object, std::int64_t least = 0);
  /// The axis, counted from 0; of one dimension 0 by default.
  [[nodiscard]] std::optional<std::size_t> axis(std::size_t dimensions) const;

  /// Numbers, but no booleans.
  bool numbers(nanobind::handle object, Elements& elements);
  /// Numbers, or booleans that are stored as 0 and 1; `any_shape`: not only of one dimension.
  bool counts(nanobind::handle object, Elements& elements, bool any_shape = false);
  /// Of a type that bounds of lists and indices have.
  bool bounds(nanobind::handle object, Elements& elements);
  /// Bytes that are true or false.
  bool mask(nanobind::handle object, Mask& mask);
  /// The same of `valid`, which is no mask where it is not given.
  bool valid(Mask& mask) { return !has(Keyword::valid) || this->mask(named(Keyword::valid), mask); }
  /// Elements that are moved: those that have no pointers. Returns the array that they are in, or an invalid object.
  nanobind::object moved(nanobind::handle object, Elements& elements);
  /// Offsets, a tuple of starts and stops of one type, or the size of every list of a content of that length.
  std::optional<Lists> lists(nanobind::handle object, std::int64_t content);
  /// The elements of the argument that was read last as another type.
  bool cast_last(nanobind::handle given, Elements& elements, Type type);

  /// What results of folds are: `dtype`, else the type of `out`, where `looks_at_out`, else the usual one. Booleans that become
  /// int8 are int8 afterwards.
  std::optional<ElementKind> result_kind(Operator op, Elements& x, bool looks_at_out = true);
  /// What folds of that type begin with: a pointer to it, which is null without `initial`.
  bool initial(Operator op, ElementKind kind, const void*& first);

  /// Where a result goes: `out`, where it is of that type and shape and apart from what has been read, else a new array.
  nanobind::object result(ElementKind kind, std::span<const std::int64_t> shape, Elements& to,
                          InPlace in_place = InPlace::no);
  nanobind::object result(ElementKind kind, std::int64_t length, Elements& to) {
    return result(kind, {&length, 1}, to);
  }
  /// `out` as that many arrays; those that are not given are invalid handles.
  bool outputs(std::size_t count, std::vector<nanobind::handle>& each) const;
  /// The first elements of an output, or without one of a new array.
  nanobind::object first_of(nanobind::handle output, ElementKind kind, std::int64_t length, Elements& to);
  /// The same of the elements of an array that are moved.
  nanobind::object first_of(nanobind::handle output, nanobind::handle like, std::int64_t length, Elements& to);
  /// An output of any length, or without one a new array of that length.
  nanobind::object output_of(nanobind::handle output, ElementKind kind, std::int64_t length, Elements& to);

 private:
  struct Range {
    const std::byte* begin;
    const std::byte* end;
  };

  bool read_place();
  /// A plain array, in place or as a copy; an invalid object for others.
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

/// Keywords as a set of bits.
template <class... Keywords>
constexpr unsigned named(Keywords... keywords) {
  return (0U | ... | (1U << static_cast<unsigned>(keywords)));
}

/// Thrown where a call is found not to be plain after it has begun: it is left to Python as well.
struct NotPlain {};

/// What C++ does of a function: an invalid object leaves the call to Python.
struct PlainCase {
  const char* function;
  unsigned keywords;  ///< that the case knows
  nanobind::object (*run)(PlainCall& call);
};

/// Adds to the cases that `plain` finds by the functions' names.
void add_plain_cases(std::initializer_list<PlainCase> cases);
void define_plain(nanobind::module_& module);

inline dynamic::ConstArray as_input(const Elements& elements) {
  return {elements.data, elements.length, elements.type};
}

inline dynamic::Array as_output(const Elements& elements) { return {elements.data, elements.length, elements.type}; }

/// NumPy counts bytes in an int64: more elements are MemoryError, which is Python's to say.
inline constexpr std::int64_t kMostElements = std::int64_t{1} << 58;

/// Where each run of equal keys begins, and the last one ends.
void write_key_offsets(const CallPlace& place, const dynamic::ConstArray& keys, const dynamic::Array& offsets);
/// Elements of each content by their positions.
void take(const CallPlace& place, const Indices& at, const std::vector<ContentColumn>& columns);
/// How many runs of equal keys there are.
std::int64_t count_key_runs(const CallPlace& place, const dynamic::ConstArray& keys);

}  // namespace upsweep::python
