// SPDX-License-Identifier: Apache-2.0
// bindings/arrays.hpp: arrays, masks and lists as Python hands them to the library: views, which copy nothing.
//
// upsweep's Python modules have made them simple before: an array is a NumPy array of one dimension whose elements lie side by
// side in native byte order, or an Elements, which says where such ones lie on a GPU. TypeError for anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "upsweep/detail/content_column.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::python {

/// Elements side by side at an address.
struct Elements {
  void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::custom;  ///< of booleans uint8, which is how they are stored
  int size = 0;              ///< bytes of each
  bool is_writable = false;
  bool is_boolean = false;
  bool is_movable =
      false;  ///< known of NumPy's arrays: of a size that is moved, and without pointers to Python's objects
  std::span<const std::int64_t> shape = {};  ///< of a NumPy array, as long as that lives

  [[nodiscard]] std::int64_t bytes() const { return length * size; }
};

/// A bitmap's booleans: bits of an array of bytes.
struct Bits {
  Elements bytes = {};
  std::int64_t length = 0;
  std::int64_t first_bit = 0;
};

/// Makes NumPy's C functions known to this module.
void import_numpy();

/// Whether it is a NumPy array as above, then described in `elements`; subclasses are none. `any_shape`: not only of one dimension.
bool is_plain_array(nanobind::handle object, Elements& elements, bool any_shape = false);
/// A NumPy array as above with the elements of one that is strided or byte-swapped, or of a list or tuple of numbers; an invalid
/// object where there is none that NumPy makes without a doubt about its type, or where it is longer than short calls' arguments.
nanobind::object plain_copy(nanobind::handle object);
/// The same elements as another type, or an invalid object where that does not hold all of them.
nanobind::object plain_cast(nanobind::handle array, Type type);
/// The number that a dtype names: NumPy's, a string, or a class of scalars.
std::optional<Type> number_named(nanobind::handle dtype);

/// What elements of a result are: booleans are stored as uint8.
struct ElementKind {
  Type type = Type::custom;
  bool is_boolean = false;

  bool operator==(const ElementKind&) const = default;
};

/// A new NumPy array of n elements of that type, not initialized.
nanobind::object new_array(std::int64_t n, Type type);
/// The same of any shape.
nanobind::object new_array(std::span<const std::int64_t> shape, ElementKind kind);
/// The same of another NumPy array's elements.
nanobind::object new_array_like(nanobind::handle array, std::int64_t n);
/// The elements of an array that was made by these.
Elements elements_of_new(nanobind::handle array);
/// One element as a scalar of NumPy's.
nanobind::object new_scalar(const void* element, ElementKind kind);

/// Throws nanobind::type_error, naming `what`.
Elements elements_of(nanobind::handle object, const char* what);
dynamic::ConstArray input(nanobind::handle object, const char* what);
dynamic::Array output(nanobind::handle object, const char* what);
/// An output of exactly that type.
template <class T>
T* output_of(nanobind::handle object, const char* what) {
  const dynamic::Array array = output(object, what);
  if (array.type != type_of<T>()) throw nanobind::type_error(what);
  return static_cast<T*>(array.data);
}

/// One element of the output's type in the host's memory, or null for None.
const void* initial_of(nanobind::handle initial, Type type);
/// Throws Error invalid_argument.
Operator operator_named(std::string_view op);

/// None: no mask. An array of bytes, or Bits.
Mask mask_of(nanobind::handle object, const char* what);
/// Offsets; a tuple (starts, stops) of arrays; a tuple (count, size) of integers. `valid`: as mask_of has it.
Lists lists_of(nanobind::handle object, nanobind::handle valid);
/// Pairs (content, out).
std::vector<ContentColumn> columns_of(const nanobind::list& pairs);
/// The columns' outputs, one array for each.
void set_outputs(std::vector<ContentColumn>& columns, const nanobind::list& outputs);

/// f(pointer) with bounds of lists as their own type. Throws Error unsupported_type.
template <class F>
auto visit_bounds(const dynamic::ConstArray& array, F&& f) {
  if (array.type == Type::int32) return f(static_cast<const std::int32_t*>(array.data));
  if (array.type == Type::uint32) return f(static_cast<const std::uint32_t*>(array.data));
  if (array.type == Type::int64) return f(static_cast<const std::int64_t*>(array.data));
  throw Error(Code::unsupported_type, "int32, uint32 or int64 are needed, not " + std::string(name(array.type)));
}

}  // namespace upsweep::python
