// SPDX-License-Identifier: Apache-2.0
// bindings/arrays.hpp: arrays, masks and lists from Python as arguments of the library: views without a copy.
//
// upsweep's Python modules have simplified them already. An array is a one-dimensional, contiguous NumPy array in
// native byte order, or an Elements, which describes such an array on a GPU. Anything else is a TypeError.
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

/// Contiguous elements at an address.
struct Elements {
  void* data = nullptr;
  std::int64_t length = 0;
  Type type = Type::custom;  ///< for booleans uint8, which is how they are stored
  int size = 0;              ///< bytes per element
  bool is_writable = false;
  bool is_boolean = false;
  bool is_movable = false;  ///< for NumPy arrays: of a size that can be moved, without pointers to Python objects
  std::span<const std::int64_t> shape = {};  ///< of a NumPy array, valid while the array exists

  [[nodiscard]] std::int64_t bytes() const { return length * size; }
};

/// The booleans of a bitmap, which are bits of an array of bytes.
struct Bits {
  Elements bytes = {};
  std::int64_t length = 0;
  std::int64_t first_bit = 0;
};

/// Imports NumPy's C functions into this module.
void import_numpy();

/// Whether it is a NumPy array as described above, but not of a subclass; if so, describes it in `elements`.
/// `any_shape`: allows any number of dimensions.
bool is_plain_array(nanobind::handle object, Elements& elements, bool any_shape = false);
/// Returns a NumPy array as described above with the elements of a strided or byte-swapped array, or of a list or tuple
/// of numbers. Returns an invalid object if the type of the NumPy array would be uncertain, or if the argument is
/// longer than those of short calls.
nanobind::object plain_copy(nanobind::handle object);
/// Returns the same elements as another type, or an invalid object if that type cannot represent all of them.
nanobind::object plain_cast(nanobind::handle array, Type type);
/// Returns the element type that a dtype names: a NumPy dtype, a string, or a class of scalars.
std::optional<Type> number_named(nanobind::handle dtype);

/// The type of a result's elements: booleans are stored as uint8.
struct ElementKind {
  Type type = Type::custom;
  bool is_boolean = false;

  bool operator==(const ElementKind&) const = default;
};

/// Returns a new NumPy array of n elements of that type, not initialized.
nanobind::object new_array(std::int64_t n, Type type);
/// Returns a new NumPy array of any shape, not initialized.
nanobind::object new_array(std::span<const std::int64_t> shape, ElementKind kind);
/// Returns a NumPy array of n elements in memory of std::malloc(), which the array frees.
nanobind::object array_in_memory(void* memory, std::int64_t n, ElementKind kind);
/// Returns a new NumPy array of n elements with the element type of `array`, not initialized.
nanobind::object new_array_like(nanobind::handle array, std::int64_t n);
/// Returns the elements of an array that one of these functions has created.
Elements elements_of_new(nanobind::handle array);
/// Returns one element as a NumPy scalar.
nanobind::object new_scalar(const void* element, ElementKind kind);

/// A loop of a ufunc, as NumPy calls it: operands, then the result; steps in bytes. It does not need the
/// interpreter's lock.
struct UfuncLoop {
  void (*run)(char** args, const std::intptr_t* n, const std::intptr_t* steps, void* data);
  void* data;
};
/// Returns the loop for operands and a result of these types, if the ufunc has one. Throws nanobind::type_error for
/// other objects.
std::optional<UfuncLoop> ufunc_loop(nanobind::handle ufunc, std::span<const ElementKind> types);

/// Returns the elements of an array. Throws nanobind::type_error, which names `what`.
Elements elements_of(nanobind::handle object, const char* what);
dynamic::ConstArray input(nanobind::handle object, const char* what);
dynamic::Array output(nanobind::handle object, const char* what);
/// Returns an output of exactly that type.
template <class T>
T* output_of(nanobind::handle object, const char* what) {
  const dynamic::Array array = output(object, what);
  if (array.type != type_of<T>()) throw nanobind::type_error(what);
  return static_cast<T*>(array.data);
}

/// Returns one element of the output's type in host memory, or null for None.
const void* initial_of(nanobind::handle initial, Type type);
/// Returns the operator of that name. Throws Error invalid_argument.
Operator operator_named(std::string_view op);

/// Converts a mask: None (no mask), an array of bytes, or Bits.
Mask mask_of(nanobind::handle object, const char* what);
/// Converts lists: offsets, a tuple (starts, stops) of arrays, or a tuple (count, size) of integers. `valid`: as for
/// mask_of.
Lists lists_of(nanobind::handle object, nanobind::handle valid);
/// Converts pairs (content, out).
std::vector<ContentColumn> columns_of(const nanobind::list& pairs);
/// Sets the columns' outputs, one array per column.
void set_outputs(std::vector<ContentColumn>& columns, const nanobind::list& outputs);

/// Calls f(pointer) with bounds of lists, as a pointer of their type. Throws Error unsupported_type.
template <class F>
auto visit_bounds(const dynamic::ConstArray& array, F&& f) {
  if (array.type == Type::int32) return f(static_cast<const std::int32_t*>(array.data));
  if (array.type == Type::uint32) return f(static_cast<const std::uint32_t*>(array.data));
  if (array.type == Type::int64) return f(static_cast<const std::int64_t*>(array.data));
  throw Error(Code::unsupported_type, "int32, uint32 or int64 are needed, not " + std::string(name(array.type)));
}

}  // namespace upsweep::python
