// SPDX-License-Identifier: Apache-2.0
// bindings/arrays.cpp: the only file that uses NumPy's C functions.
#include "arrays.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

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

static_assert(std::is_same_v<npy_intp, std::int64_t>);

int numpy_type_of(ElementKind kind) {
  if (kind.is_boolean) return NPY_BOOL;
  constexpr int kNumpyTypes[] = {NPY_INT8,   NPY_INT16,  NPY_INT32,  NPY_INT64,   NPY_UINT8,
                                 NPY_UINT16, NPY_UINT32, NPY_UINT64, NPY_FLOAT32, NPY_FLOAT64};
  static_assert(std::size(kNumpyTypes) == kTypeCount, "a new type needs NumPy's name for it here");
  return kNumpyTypes[static_cast<int>(kind.type)];
}

bool is_movable(char kind, npy_intp size) {
  constexpr std::string_view kKinds = "iufbcmM";
  return kKinds.find(kind) != std::string_view::npos && upsweep::detail::is_moved_size(static_cast<std::size_t>(size));
}

/// Returns an invalid object, without an exception, if NumPy refuses. Throws nanobind::python_error if Python must
/// exit.
nb::object made_or_nothing(PyObject* array) {
  if (array == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
    PyErr_Clear();
  }
  return nb::steal(array);
}

constexpr int kPlain = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
/// Maximum number of elements that short calls copy. They are copied twice if another argument leaves the call to
/// Python.
constexpr npy_intp kMostCopied = 1 << 16;

/// Converts a list of numbers with NumPy. Integers must not become floats, as 64-bit integers of both signs do; this is
/// certain only if the first element is a float.
nb::object array_of_list(PyObject* list) {
  if (PySequence_Size(list) > kMostCopied) return {};
  nb::object array = made_or_nothing(PyArray_FromAny(list, nullptr, 0, 0, kPlain | NPY_ARRAY_ENSUREARRAY, nullptr));
  if (!array.is_valid()) return {};
  auto* const made = reinterpret_cast<PyArrayObject*>(array.ptr());
  if (PyArray_ISINTEGER(made) || PyArray_ISBOOL(made)) return array;
  if (!PyArray_ISFLOAT(made) || PyArray_NDIM(made) != 1 || PySequence_Size(list) < 1) return {};
  const nb::object first = nb::steal(PySequence_GetItem(list, 0));
  if (!first.is_valid()) PyErr_Clear();
  return first.is_valid() && PyFloat_Check(first.ptr()) ? array : nb::object();
}

[[noreturn]] void refuse(nb::handle object, const char* what) {
  const std::string text = std::string(what) + ": a contiguous array of one dimension is needed, not " +
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
  elements.shape = {PyArray_DIMS(array), static_cast<std::size_t>(PyArray_NDIM(array))};
  return true;
}

nb::object plain_copy(nb::handle object) {
  if (PyList_CheckExact(object.ptr()) || PyTuple_CheckExact(object.ptr())) return array_of_list(object.ptr());
  if (!PyArray_CheckExact(object.ptr())) return {};
  auto* const array = reinterpret_cast<PyArrayObject*>(object.ptr());
  if ((!PyArray_ISNUMBER(array) && !PyArray_ISBOOL(array)) || PyArray_SIZE(array) > kMostCopied) return {};
  PyArray_Descr* const descr = PyArray_DescrFromType(PyArray_TYPE(array));  // in native byte order; the call owns it
  return made_or_nothing(PyArray_FromArray(array, descr, kPlain));
}

nb::object plain_cast(nb::handle object, Type type) {
  auto* const array = reinterpret_cast<PyArrayObject*>(object.ptr());
  const int to = numpy_type_of({type});
  if (PyArray_CanCastSafely(PyArray_TYPE(array), to) == 0) return {};
  return made_or_nothing(PyArray_FromArray(array, PyArray_DescrFromType(to), kPlain | NPY_ARRAY_FORCECAST));
}

std::optional<Type> number_named(nb::handle dtype) {
  const bool is_numpys = PyArray_DescrCheck(dtype.ptr()) || PyUnicode_CheckExact(dtype.ptr()) ||
                         (PyType_Check(dtype.ptr()) &&
                          PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(dtype.ptr()), &PyGenericArrType_Type));
  if (!is_numpys) return std::nullopt;
  PyArray_Descr* descr = nullptr;
  if (PyArray_DescrConverter(dtype.ptr(), &descr) == NPY_FAIL) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Type type = descr->kind == 'b' ? Type::custom : type_of_numpy(descr->kind, PyDataType_ELSIZE(descr));
  Py_DECREF(reinterpret_cast<PyObject*>(descr));
  return type == Type::custom ? std::nullopt : std::optional(type);
}

nb::object new_array(std::int64_t n, Type type) { return new_array({&n, 1}, {type}); }

nb::object new_array(std::span<const std::int64_t> shape, ElementKind kind) {
  PyObject* const array = PyArray_SimpleNew(static_cast<int>(shape.size()), shape.data(), numpy_type_of(kind));
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

nb::object array_in_memory(void* memory, std::int64_t n, ElementKind kind) {
  std::unique_ptr<void, decltype(&std::free)> held(memory, &std::free);
  const nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  const npy_intp shape[] = {n};
  PyObject* const array = PyArray_SimpleNewFromData(1, shape, numpy_type_of(kind), held.release());
  if (array == nullptr) throw nb::python_error();
  nb::object made = nb::steal(array);
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner.inc_ref().ptr()) != 0) {  // steals it
    throw nb::python_error();
  }
  return made;
}

nb::object new_array_like(nb::handle array, std::int64_t n) {
  const npy_intp shape[] = {n};
  PyArray_Descr* const descr = PyArray_DESCR(reinterpret_cast<PyArrayObject*>(array.ptr()));
  Py_INCREF(reinterpret_cast<PyObject*>(descr));  // the new array steals a reference
  PyObject* const made = PyArray_Empty(1, shape, descr, 0);
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

Elements elements_of_new(nb::handle array) {
  Elements elements;
  is_plain_array(array, elements, true);
  return elements;
}

std::optional<UfuncLoop> ufunc_loop(nb::handle ufunc, std::span<const ElementKind> types) {
  if (!nb::isinstance(ufunc, nb::module_::import_("numpy").attr("ufunc"))) throw nb::type_error("a ufunc is needed");
  const auto& of = *reinterpret_cast<const PyUFuncObject*>(ufunc.ptr());
  if (of.nargs != static_cast<int>(types.size())) return std::nullopt;
  for (int i = 0; i < of.ntypes; ++i) {
    const char* const theirs = of.types + static_cast<std::ptrdiff_t>(i) * of.nargs;
    const bool is_same = std::equal(types.begin(), types.end(), theirs,
                                    [](ElementKind ours, char type) { return numpy_type_of(ours) == type; });
    if (is_same) return UfuncLoop{of.functions[i], of.data == nullptr ? nullptr : const_cast<void*>(of.data[i])};
  }
  return std::nullopt;
}

nb::object new_scalar(const void* element, ElementKind kind) {
  PyArray_Descr* const descr = PyArray_DescrFromType(numpy_type_of(kind));
  PyObject* const scalar = PyArray_Scalar(const_cast<void*>(element), descr, nullptr);  // copies the element
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

static void set_output(ContentColumn& column, nb::handle output) {
  const Elements out = elements_of(output, "out");
  if (column.element_size != out.size || !out.is_writable) refuse(output, "out");
  column.out = out.data;
  column.capacity = out.length;
}

std::vector<ContentColumn> columns_of(const nb::list& pairs) {
  std::vector<ContentColumn> columns;
  for (const nb::handle item : pairs) {
    const auto pair = nb::borrow<nb::tuple>(item);
    const Elements content = elements_of(pair[0], "content");
    columns.emplace_back(content.data, content.length, nullptr, 0, content.size);
    if (!pair[1].is_none()) set_output(columns.back(), pair[1]);
  }
  return columns;
}

void set_outputs(std::vector<ContentColumn>& columns, const nb::list& outputs) {
  if (outputs.size() != columns.size()) refuse(outputs, "out");
  for (std::size_t i = 0; i < columns.size(); ++i) set_output(columns[i], outputs[i]);
}

}  // namespace upsweep::python
