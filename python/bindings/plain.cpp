// SPDX-License-Identifier: Apache-2.0
// bindings/plain.cpp: the function objects before functions in Python, and what their plain cases have in common.
#include "plain.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <string>

#include <structmember.h>

#include "bindings.hpp"
#include "upsweep/error.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

constexpr auto kKeywordCount = static_cast<std::size_t>(Keyword::count);
constexpr std::array<const char*, kKeywordCount> kKeywordNames{"op", "exclusive", "lists", "out"};
/// The same as Python's strings, which live as long as the process.
std::array<PyObject*, kKeywordCount> keyword_texts;

std::vector<PlainCase>& all_cases() {
  static std::vector<PlainCase> cases;
  return cases;
}

/// kKeywordCount where it is none of these. Names in a call's source are the same objects.
std::size_t keyword_at(PyObject* name) {
  for (std::size_t i = 0; i < kKeywordCount; ++i) {
    if (name == keyword_texts[i]) return i;
  }
  return kKeywordCount;
}

// --------------------------------------------------------------------------------------------------- the function object

/// As functools' cache wrappers are: called by CPython's vectorcall protocol, with the attributes of the function in Python.
struct Function {
  PyObject_HEAD

      vectorcallfunc call;
  PyObject* general;     ///< the function in Python
  PyObject* attributes;  ///< a dict
  PyObject* references;  ///< weak ones
  const PlainCase* plain;
};

Function* self_of(PyObject* object) { return reinterpret_cast<Function*>(object); }

/// The result, null with an exception of Python's, or null without one: then the call is not plain.
PyObject* run_plain(const PlainCase& plain, const PlainCall& call) noexcept try {
  return is_in_options() ? nullptr : plain.run(call).release().ptr();
} catch (nb::python_error& error) {
  error.restore();
  return nullptr;
} catch (const Error& error) {
  raise(error);
  return nullptr;
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
} catch (const std::exception& error) {
  PyErr_SetString(PyExc_RuntimeError, error.what());
  return nullptr;
}

PyObject* call_function(PyObject* object, PyObject* const* values, std::size_t count, PyObject* names) noexcept {
  const Function& self = *self_of(object);
  PlainCall call;
  if (call.bind(values, PyVectorcall_NARGS(count), names, self.plain->keywords)) {
    PyObject* const result = run_plain(*self.plain, call);
    if (result != nullptr || PyErr_Occurred() != nullptr) return result;
  }
  return PyObject_Vectorcall(self.general, values, count, names);
}

int traverse_function(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self_of(object)->general);
  Py_VISIT(self_of(object)->attributes);
  return 0;
}

int clear_function(PyObject* object) {
  Py_CLEAR(self_of(object)->general);
  Py_CLEAR(self_of(object)->attributes);
  return 0;
}

void free_function(PyObject* object) {
  PyObject_GC_UnTrack(object);
  if (self_of(object)->references != nullptr) PyObject_ClearWeakRefs(object);
  PyTypeObject* const type = Py_TYPE(object);
  clear_function(object);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

/// Of a class's attribute: functions of the package do not become methods.
PyObject* function_of_class(PyObject* object, PyObject* /*instance*/, PyObject* /*type*/) { return Py_NewRef(object); }

/// Pickled and copied by its name, as any function.
PyObject* name_of_function(PyObject* object, PyObject* /*unused*/) {
  return PyObject_GetAttrString(object, "__qualname__");
}

PyObject* text_of_function(PyObject* object) {
  return PyUnicode_FromFormat("<function upsweep.%s>", self_of(object)->plain->function);
}

PyObject* type_of_functions() {
  static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
                                  {"__dictoffset__", T_PYSSIZET, offsetof(Function, attributes), READONLY, nullptr},
                                  {"__weaklistoffset__", T_PYSSIZET, offsetof(Function, references), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", &name_of_function, METH_NOARGS, nullptr}, {}};
  static PyGetSetDef attributes[] = {{"__dict__", &PyObject_GenericGetDict, &PyObject_GenericSetDict, nullptr, nullptr},
                                     {}};
  static PyType_Slot slots[] = {{Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(&function_of_class)},
                                {Py_tp_repr, reinterpret_cast<void*>(&text_of_function)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&traverse_function)},
                                {Py_tp_clear, reinterpret_cast<void*>(&clear_function)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&free_function)},
                                {0, nullptr}};
  static PyType_Spec spec = {
      "upsweep._core.Function", sizeof(Function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nb::python_error();
  return type;
}

nb::object plain(nb::object function) {
  const std::string name = nb::cast<std::string>(function.attr("__name__"));
  const auto& cases = all_cases();
  const auto found = std::ranges::find_if(cases, [&](const PlainCase& each) { return each.function == name; });
  if (found == cases.end()) throw nb::value_error("there is no plain case of such a function");
  auto* const self = PyObject_GC_New(Function, reinterpret_cast<PyTypeObject*>(type_of_functions()));
  if (self == nullptr) throw nb::python_error();
  self->call = &call_function;
  self->general = function.release().ptr();
  self->attributes = nullptr;
  self->references = nullptr;
  self->plain = &*found;
  PyObject_GC_Track(self);
  return nb::steal(reinterpret_cast<PyObject*>(self));
}

// ---------------------------------------------------------------------------------------------------------------- options

/// Reads the context variable of `upsweep.options`; null until a block of it is entered, in whatever thread: most programs
/// never do, and it takes as long as ten elements.
std::atomic<PyObject*> read_options{nullptr};
/// What it holds outside of all blocks.
std::atomic<PyObject*> no_options{nullptr};

void look_at_options(nb::object read, nb::object none) {
  if (read_options.load(std::memory_order_acquire) != nullptr) return;
  // They are never given back: another thread may be about to read them.
  no_options.store(none.release().ptr(), std::memory_order_relaxed);
  read_options.store(read.release().ptr(), std::memory_order_release);
}

}  // namespace

bool is_in_options() {
  PyObject* const read = read_options.load(std::memory_order_acquire);
  if (read == nullptr) return false;
  const nb::object now = nb::steal(PyObject_CallNoArgs(read));
  if (!now.is_valid()) throw nb::python_error();
  return now.ptr() != no_options.load(std::memory_order_relaxed);
}

void add_plain_cases(std::initializer_list<PlainCase> cases) {
  all_cases().insert(all_cases().end(), cases.begin(), cases.end());
}

void define_plain(nb::module_& module) {
  for (std::size_t i = 0; i < kKeywordCount; ++i) keyword_texts[i] = PyUnicode_InternFromString(kKeywordNames[i]);
  module.def("look_at_options", &look_at_options);
  module.def("plain", &plain, nb::arg("function"));
}

// -------------------------------------------------------------------------------------------------------------- arguments

bool PlainCall::bind(PyObject* const* values, std::int64_t count, PyObject* names, unsigned keywords) {
  given_ = {values, static_cast<std::size_t>(count)};
  named_.fill(nullptr);
  if (names == nullptr) return true;
  const Py_ssize_t named = PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    const std::size_t at = keyword_at(PyTuple_GetItem(names, i));
    if (at == kKeywordCount || (keywords & (1U << at)) == 0) return false;
    named_[at] = values[count + i];
  }
  return true;
}

std::string_view PlainCall::op_name() const {
  PyObject* const text = named(Keyword::op).ptr();
  if (text == nullptr) return "add";
  Py_ssize_t length = 0;
  const char* const characters = PyUnicode_Check(text) ? PyUnicode_AsUTF8AndSize(text, &length) : nullptr;
  if (characters == nullptr) {
    PyErr_Clear();
    return {};
  }
  return {characters, static_cast<std::size_t>(length)};
}

std::optional<Operator> PlainCall::op() const { return parse_operator(op_name()); }

std::optional<bool> PlainCall::is_exclusive() const {
  PyObject* const given = named(Keyword::exclusive).ptr();
  if (given == nullptr || given == Py_False) return false;
  return given == Py_True ? std::optional(true) : std::nullopt;
}

bool plain_numbers(nb::handle object, Elements& elements) {
  return is_plain_array(object, elements) && elements.type != Type::custom && !elements.is_boolean;
}

bool plain_counts(nb::handle object, Elements& elements, bool any_shape) {
  if (!is_plain_array(object, elements, any_shape) || elements.type == Type::custom) return false;
  if (!elements.is_boolean) return true;
  const auto* const bytes = static_cast<const std::uint8_t*>(elements.data);
  std::uint8_t any = 0;
  for (std::int64_t i = 0; i < elements.length; ++i) any |= bytes[i];
  return any <= 1;
}

bool plain_bounds(nb::handle object, Elements& elements) {
  return plain_numbers(object, elements) &&
         (elements.type == Type::int64 || elements.type == Type::int32 || elements.type == Type::uint32);
}

bool plain_elements(nb::handle object, Elements& elements) {
  return is_plain_array(object, elements) && elements.is_movable;
}

bool plain_mask(nb::handle object, Mask& mask) {
  Elements elements;
  if (!is_plain_array(object, elements)) return false;
  if (elements.type != Type::uint8 && elements.type != Type::int8) return false;
  mask = Mask::bytes(elements.data, elements.length);
  return true;
}

std::optional<Lists> plain_lists(nb::handle object, std::int64_t content) {
  if (PyLong_CheckExact(object.ptr())) {
    const Py_ssize_t size = PyLong_AsSsize_t(object.ptr());
    PyErr_Clear();
    if (size < 1 || content % size != 0) return std::nullopt;
    return Lists::of_size(content / size, size);
  }
  Elements first;
  Elements last;
  if (plain_bounds(object, first)) {
    if (first.length == 0) return std::nullopt;
    return dynamic::lists_of_offsets(as_input(first));
  }
  if (!PyTuple_CheckExact(object.ptr()) || PyTuple_Size(object.ptr()) != 2) return std::nullopt;
  if (!plain_bounds(PyTuple_GetItem(object.ptr(), 0), first) || !plain_bounds(PyTuple_GetItem(object.ptr(), 1), last)) {
    return std::nullopt;
  }
  if (first.type != last.type || first.length != last.length) return std::nullopt;
  return dynamic::lists_of_bounds(as_input(first), as_input(last));
}

}  // namespace upsweep::python
