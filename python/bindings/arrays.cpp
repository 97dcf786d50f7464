// SPDX-License-Identifier: Apache-2.0
// bindings/arrays.cpp: the only place that knows NumPy's C functions.
#include "arrays.hpp"

#include <string>
#include <string_view>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>

#include "upsweep/detail/operator_hint.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

Type type_of_numpy(char kind, npy_intp size) {
  switch (kind) {
    case 'b':
      return Type::uint8;
    case 'i':
      return size == 1 ? Type::int8 : size == 2 ? Type::int16 : size == 4 ? Type::int32 : Type::int64;
    case 'u':
      return size == 1 ? Type::uint8 : size == 2 ? Type::uint16 : size == 4 ? Type::uint32 : Type::uint64;
    case 'f':
      return size == 4 ? Type::float32 : size == 8 ? Type::float64 : Type::custom;
    default:
      return Type::custom;
  }
}

int numpy_type_of(Type type) {
  constexpr int kNumpyTypes[] = {NPY_INT8,   NPY_INT16,  NPY_INT32,  NPY_INT64,   NPY_UINT8,
                                 NPY_UINT16, NPY_UINT32, NPY_UINT64, NPY_FLOAT32, NPY_FLOAT64};
  return kNumpyTypes[static_cast<int>(type)];
}

bool is_movable(char kind, npy_intp size) {
  constexpr std::string_view kKinds = "iufbcmM";
  return kKinds.find(kind) != std::string_view::npos && upsweep::detail::is_moved_size(static_cast<std::size_t>(size));
}

nb::object new_array_of(std::int64_t n, int numpy_type) {
  const npy_intp shape[] = {n};
  PyObject* const array = PyArray_SimpleNew(1, shape, numpy_type);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

[[noreturn]] void refuse(nb::handle object, const char* what) {
  const std::string text = std::string(what) +
                           ": an array of one dimension whose elements lie side by side is needed, not " +
                           nb::type_name(object.type()).c_str();
  throw nb::type_error(text.c_str());
}

}  // namespace

void import_numpy() {
  if (_import_array() < 0) throw nb::python_error();
}

bool is_plain_array(nb::handle object, Elements& elements, bool any_shape) {
  if (!PyArray_CheckExact(object.ptr())) return false;
  auto* const array = reinterpret_cast<PyArrayObject*>(object.ptr());
  const PyArray_Descr* const descr = PyArray_DESCR(array);
  const int flags = PyArray_FLAGS(array);
  constexpr int kNeeded = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  if ((flags & kNeeded) != kNeeded || !PyArray_ISNOTSWAPPED(array)) return false;
  if (PyArray_NDIM(array) != 1 && !any_shape) return false;
  elements.data = PyArray_DATA(array);
  elements.length = PyArray_SIZE(array);
  elements.size = static_cast<int>(PyDataType_ELSIZE(descr));
  elements.type = type_of_numpy(descr->kind, elements.size);
  elements.is_boolean = descr->kind == 'b';
  elements.is_writable = (flags & NPY_ARRAY_WRITEABLE) != 0;
  elements.is_movable = is_movable(descr->kind, elements.size);
  return true;
}

nb::object new_array(std::int64_t n, Type type) { return new_array_of(n, numpy_type_of(type)); }

nb::object new_booleans(std::int64_t n) { return new_array_of(n, NPY_BOOL); }

nb::object new_array_like(nb::handle array, std::int64_t n) {
  const npy_intp shape[] = {n};
  PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.ptr()));
  Py_INCREF(reinterpret_cast<PyObject*>(descr));  // which the new array takes
  PyObject* const made = PyArray_Empty(1, shape, descr, 0);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

Elements elements_of_new(nb::handle array) {
  Elements elements;
  is_plain_array(array, elements);
  return elements;
}

nb::object new_scalar(const void* element, Type type) {
  PyArray_Descr* const descr = PyArray_DescrFromType(numpy_type_of(type));
  PyObject* const scalar = PyArray_Scalar(const_cast<void*>(element), descr, nullptr);  // which copies it
  Py_DECREF(reinterpret_cast<PyObject*>(descr));
  if (scalar == nullptr) throw nb::python_error();
  return nb::steal(scalar);
}

Elements elements_of(nb::handle object, const char* what) {
  Elements elements;
  if (is_plain_array(object, elements)) return elements;
  if (!nb::try_cast(object, elements)) refuse(object, what);
  return elements;
}

dynamic::ConstArray input(nb::handle object, const char* what) {
  const Elements elements = elements_of(object, what);
  if (elements.type == Type::custom) refuse(object, what);
  return {elements.data, elements.length, elements.type};
}

dynamic::Array output(nb::handle object, const char* what) {
  const Elements elements = elements_of(object, what);
  if (elements.type == Type::custom || !elements.is_writable) refuse(object, what);
  return {elements.data, elements.length, elements.type};
}

const void* initial_of(nb::handle initial, Type type) {
  if (initial.is_none()) return nullptr;
  const dynamic::ConstArray element = input(initial, "initial");
  if (element.type != type || element.length != 1)
    throw nb::type_error("initial: one element of the output's type is needed");
  return element.data;
}

Operator operator_named(std::string_view op) {
  const auto found = parse_operator(op);
  if (!found) {
    throw Error(Code::invalid_argument,
                "op: there is no operator '" + std::string(op) + "'" + detail::operator_hint(op, "op=\"", "\""));
  }
  return *found;
}

Mask mask_of(nb::handle object, const char* what) {
  if (object.is_none()) return {};
  Bits bits;
  if (nb::try_cast(object, bits)) return Mask::bits(bits.bytes.data, bits.length, bits.first_bit);
  const Elements elements = elements_of(object, what);
  if (elements.size != 1) refuse(object, what);
  return Mask::bytes(elements.data, elements.length);
}

Lists lists_of(nb::handle object, nb::handle valid) {
  const Mask mask = mask_of(valid, "valid");
  if (!nb::isinstance<nb::tuple>(object))
    return dynamic::lists_of_offsets(input(object, "offsets")).with_validity(mask);
  const auto pair = nb::borrow<nb::tuple>(object);
  std::int64_t count = 0;
  std::int64_t size = 0;
  if (nb::try_cast(pair[0], count) && nb::try_cast(pair[1], size))
    return Lists::of_size(count, size).with_validity(mask);
  return dynamic::lists_of_bounds(input(pair[0], "starts"), input(pair[1], "stops")).with_validity(mask);
}

std::vector<ContentColumn> columns_of(const nb::list& pairs) {
  std::vector<ContentColumn> columns;
  for (const nb::handle item : pairs) {
    const auto pair = nb::borrow<nb::tuple>(item);
    const Elements content = elements_of(pair[0], "content");
    const Elements out = elements_of(pair[1], "out");
    if (content.size != out.size || !out.is_writable) refuse(pair[1], "out");
    columns.emplace_back(content.data, content.length, out.data, out.length, content.size);
  }
  return columns;
}

}  // namespace upsweep::python
