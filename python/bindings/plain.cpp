// SPDX-License-Identifier: Apache-2.0
// bindings/plain.cpp: the function objects that wrap Python functions, and the common code of their plain cases.
#include "plain.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include <nanobind/stl/string.h>
#include <structmember.h>

#include "bindings.hpp"
#include "upsweep/error.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

constexpr auto kKeywordCount = static_cast<std::size_t>(Keyword::count);
constexpr std::array<const char*, kKeywordCount> kKeywordNames{
    "op",     "exclusive",   "initial",     "axis",   "dtype",           "overflow",   "out",
    "valid",  "lists",       "index_lists", "strict", "include_initial", "descending", "nan_first",
    "counts", "replacement", "witness",     "below",  "above",           "ways"};
/// The keywords as Python strings, which exist as long as the process.
std::array<PyObject*, kKeywordCount> keyword_texts;

std::vector<PlainCase>& all_cases() {
  static std::vector<PlainCase> cases;
  return cases;
}

/// Returns kKeywordCount for an unknown name. Names in a call's source are the same objects.
std::size_t keyword_at(PyObject* name) {
  for (std::size_t i = 0; i < kKeywordCount; ++i) {
    if (name == keyword_texts[i]) return i;
  }
  return kKeywordCount;
}

// ------------------------------------------------------------------------------------------------- the function object

/// A function object like functools' cache wrappers: called by CPython's vectorcall protocol, with the attributes of
/// the Python function.
struct Function {
  PyObject_HEAD

      vectorcallfunc call;
  PyObject* general;     ///< the function in Python
  PyObject* attributes;  ///< a dict
  PyObject* references;  ///< weak references
  const PlainCase* plain;
};

Function* self_of(PyObject* object) { return reinterpret_cast<Function*>(object); }

/// Returns the result, null with a Python exception, or null without one, which means that the call is not plain.
PyObject* run_plain(const PlainCase& plain, PlainCall& call) noexcept try {
  return plain.run(call).release().ptr();
} catch (const NotPlain&) {
  return nullptr;
} catch (nb::python_error& error) {
  error.restore();
  return nullptr;
} catch (const Error& error) {
  if (call.is_in_place() || error.code() == Code::interrupted) raise(error);
  return nullptr;
} catch (const std::bad_alloc&) {
  return PyErr_NoMemory();
} catch (const std::exception& error) {
  PyErr_SetString(PyExc_RuntimeError, error.what());
  return nullptr;
}

PyObject* call_function(PyObject* object, PyObject* const* values, std::size_t count, PyObject* names) noexcept {
  const Function& self = *self_of(object);
  {
    PlainCall call;
    if (call.bind(values, PyVectorcall_NARGS(count), names, self.plain->keywords)) {
      PyObject* const result = run_plain(*self.plain, call);
      if (result != nullptr || PyErr_Occurred() != nullptr) return result;
    }
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

/// Returns the function itself if it is a class attribute: functions of the package do not become methods.
PyObject* function_of_class(PyObject* object, PyObject* /*instance*/, PyObject* /*type*/) { return Py_NewRef(object); }

/// Pickles and copies the function by its name, as for any Python function.
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

// ------------------------------------------------------------------------------------------------------------- options

/// Reads the context variable of `upsweep.options`. It is null until some thread enters a block of options: most
/// programs never do, and reading takes as long as ten elements.
std::atomic<PyObject*> read_options{nullptr};

void look_at_options(nb::object read) {
  if (read_options.load(std::memory_order_acquire) != nullptr) return;
  // The reference is never released: another thread may be about to read it.
  read_options.store(read.release().ptr(), std::memory_order_release);
}

/// Returns the text of a Python string, which is valid while the string exists; nothing for other objects.
std::optional<std::string_view> text_of(PyObject* object) {
  if (!PyUnicode_Check(object)) return std::nullopt;
  Py_ssize_t length = 0;
  const char* const characters = PyUnicode_AsUTF8AndSize(object, &length);
  if (characters == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(characters, static_cast<std::size_t>(length));
}

/// Returns an integer of exactly Python's int class that fits int64.
std::optional<std::int64_t> integer_of(PyObject* object) {
  if (!PyLong_CheckExact(object)) return std::nullopt;
  int is_outside = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &is_outside);
  return is_outside == 0 ? std::optional<std::int64_t>(number) : std::nullopt;
}

/// Whether sums are checked, from the word "checked" or "wrap"; nothing for other values.
std::optional<bool> checks_of(PyObject* object) {
  const auto word = text_of(object);
  if (word != "checked" && word != "wrap") return std::nullopt;
  return word == "checked";
}

/// Writes one element of that type; returns false if the type cannot represent the number.
bool write_number(PyObject* number, ElementKind kind, std::byte* to) {
  return visit_type(kind.type, [&]<class T>(std::type_identity<T>) {
    T value{};
    if constexpr (std::is_floating_point_v<T>) {
      const double given = PyFloat_AsDouble(number);
      if (PyErr_Occurred() != nullptr) return false;
      value = static_cast<T>(given);
      if (std::isinf(value) && !std::isinf(given)) return false;
    } else if (PyBool_Check(number)) {
      value = static_cast<T>(number == Py_True);
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      value = PyLong_AsUnsignedLongLong(number);
      if (PyErr_Occurred() != nullptr) return false;
    } else {
      const auto given = integer_of(number);
      if (!given || !std::in_range<T>(*given) || (kind.is_boolean && *given > 1)) return false;
      value = static_cast<T>(*given);
    }
    std::memcpy(to, &value, sizeof value);
    return true;
  });
}

bool is_bound(Type type) { return type == Type::int64 || type == Type::int32 || type == Type::uint32; }

/// Whether all these uint64 fit int64.
bool fit_int64(const Elements& elements) {
  const auto* const each = static_cast<const std::uint64_t*>(elements.data);
  std::uint64_t any = 0;
  for (std::int64_t i = 0; i < elements.length; ++i) any |= each[i];
  return any >> 63 == 0;
}

}  // namespace

void add_plain_cases(std::initializer_list<PlainCase> cases) {
  all_cases().insert(all_cases().end(), cases.begin(), cases.end());
}

void define_plain(nb::module_& module) {
  for (std::size_t i = 0; i < kKeywordCount; ++i) keyword_texts[i] = PyUnicode_InternFromString(kKeywordNames[i]);
  module.def("look_at_options", &look_at_options);
  module.def("plain", &plain, nb::arg("function"));
}

// ----------------------------------------------------------------------------------------------------------- arguments

bool PlainCall::bind(PyObject* const* values, std::int64_t count, PyObject* names, unsigned keywords) {
  given_ = {values, static_cast<std::size_t>(count)};
  named_.fill(nullptr);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    const std::size_t at = keyword_at(PyTuple_GetItem(names, i));
    if (at == kKeywordCount || (keywords & (1U << at)) == 0) return false;
    named_[at] = values[count + i];
  }
  return read_place();
}

bool PlainCall::read_place() {
  place_.checked = true;
  if (PyObject* const read = read_options.load(std::memory_order_acquire)) {
    const nb::object settings = nb::steal(PyObject_CallNoArgs(read));
    if (!settings.is_valid()) {
      PyErr_Clear();
      return false;
    }
    const auto threads = integer_of(PyTuple_GetItem(settings.ptr(), 0));
    PyObject* const overflow = PyTuple_GetItem(settings.ptr(), 2);
    if (!threads || PyUnicode_GetLength(PyTuple_GetItem(settings.ptr(), 1)) != 0) return false;
    place_.threads = static_cast<int>(*threads);
    if (overflow != Py_None) place_.checked = checks_of(overflow).value_or(true);
  }
  if (!has(Keyword::overflow)) return true;
  const auto checks = checks_of(named(Keyword::overflow).ptr());
  place_.checked = checks.value_or(true);
  return checks.has_value();
}

std::string_view PlainCall::op_name() const {
  PyObject* const text = named(Keyword::op).ptr();
  return text == nullptr ? "add" : text_of(text).value_or("");
}

std::optional<Operator> PlainCall::op() const { return parse_operator(op_name()); }

std::optional<bool> PlainCall::flag(Keyword keyword) const {
  PyObject* const given = named(keyword).ptr();
  if (given == nullptr || given == Py_False) return false;
  return given == Py_True ? std::optional(true) : std::nullopt;
}

std::optional<std::int64_t> PlainCall::whole(nb::handle object, std::int64_t least) {
  const auto given = integer_of(object.ptr());
  return given && *given >= least ? given : std::nullopt;
}

std::optional<std::size_t> PlainCall::axis(std::size_t dimensions) const {
  if (!has(Keyword::axis)) return dimensions == 1 ? std::optional<std::size_t>(0) : std::nullopt;
  const auto given = integer_of(named(Keyword::axis).ptr());
  const auto count = static_cast<std::int64_t>(dimensions);
  if (!given || *given < -count || *given >= count) return std::nullopt;
  return static_cast<std::size_t>(*given < 0 ? *given + count : *given);
}

nb::object PlainCall::read(nb::handle object, Elements& elements, bool any_shape) {
  if (reads_ == read_.size()) return {};
  nb::object array = nb::borrow(object);
  if (!is_plain_array(array, elements, any_shape)) {
    array = plain_copy(object);
    if (!array.is_valid() || !is_plain_array(array, elements, any_shape)) return {};
    copies_.push_back(array);
  }
  const auto* const begin = static_cast<const std::byte*>(elements.data);
  read_[reads_++] = {begin, begin + elements.bytes()};
  return array;
}

bool PlainCall::numbers(nb::handle object, Elements& elements) {
  return read(object, elements, false).is_valid() && elements.type != Type::custom && !elements.is_boolean;
}

bool PlainCall::counts(nb::handle object, Elements& elements, bool any_shape) {
  if (!read(object, elements, any_shape).is_valid() || elements.type == Type::custom) return false;
  if (!elements.is_boolean) return true;
  const auto* const bytes = static_cast<const std::uint8_t*>(elements.data);
  std::uint8_t any = 0;
  for (std::int64_t i = 0; i < elements.length; ++i) any |= bytes[i];
  return any <= 1;
}

bool PlainCall::bounds(nb::handle object, Elements& elements) {
  if (!numbers(object, elements) || is_float(elements.type)) return false;
  if (is_bound(elements.type)) return true;
  if (elements.type != Type::uint64) return cast_last(object, elements, Type::int32);
  elements.type = Type::int64;
  return fit_int64(elements);
}

nb::object PlainCall::moved(nb::handle object, Elements& elements) {
  nb::object array = read(object, elements, false);
  return elements.is_movable ? array : nb::object();
}

bool PlainCall::mask(nb::handle object, Mask& mask) {
  Elements elements;
  if (!read(object, elements, false).is_valid()) return false;
  if (elements.type != Type::uint8 && elements.type != Type::int8) return false;
  mask = Mask::bytes(elements.data, elements.length);
  return true;
}

std::optional<Lists> PlainCall::lists(nb::handle object, std::int64_t content) {
  if (PyLong_CheckExact(object.ptr())) {
    const auto size = integer_of(object.ptr());
    if (!size || *size < 1 || content % *size != 0) return std::nullopt;
    return Lists::of_size(content / *size, *size);
  }
  Elements first;
  Elements last;
  if (!PyTuple_Check(object.ptr())) {
    if (!bounds(object, first) || first.length == 0) return std::nullopt;
    return dynamic::lists_of_offsets(as_input(first));
  }
  if (PyTuple_Size(object.ptr()) != 2) return std::nullopt;
  if (!bounds(PyTuple_GetItem(object.ptr(), 0), first) || !bounds(PyTuple_GetItem(object.ptr(), 1), last)) {
    return std::nullopt;
  }
  if (first.type != last.type || first.length != last.length) return std::nullopt;
  return dynamic::lists_of_bounds(as_input(first), as_input(last));
}

// ------------------------------------------------------------------------------------------------------------- results

std::optional<ElementKind> PlainCall::result_kind(Operator op, Elements& x, bool looks_at_out) {
  const bool is_widened = op == Operator::add || op == Operator::mul;
  const ElementKind usual = !is_widened ? ElementKind{x.type, x.is_boolean}
                                        : ElementKind{x.is_boolean ? Type::int64 : default_accumulator(x.type)};
  ElementKind kind = usual;
  if (has(Keyword::dtype)) {
    const auto named_type = number_named(named(Keyword::dtype));
    if (!named_type) return std::nullopt;
    kind = {*named_type};
  } else if (looks_at_out && has(Keyword::out)) {
    Elements out;
    if (!is_output(named(Keyword::out), out) || out.type == Type::custom) return std::nullopt;
    kind = {out.type, out.is_boolean};
  }
  if (kind.is_boolean && !usual.is_boolean) return std::nullopt;
  if (is_float(x.type) && !is_float(kind.type)) return std::nullopt;
  if (op == Operator::mul && has(Keyword::overflow) && place_.checked && !is_float(kind.type)) return std::nullopt;
  if (x.is_boolean && kind.type == Type::int8) x.type = Type::int8;  // uint8 cannot be folded into int8
  return kind;
}

bool PlainCall::initial(Operator op, ElementKind kind, const void*& first) {
  first = nullptr;
  if (has(Keyword::initial)) {
    PyObject* const number = named(Keyword::initial).ptr();
    const bool is_known = PyFloat_Check(number) || PyBool_Check(number) || PyLong_CheckExact(number);
    if (!is_known || (PyFloat_Check(number) && !is_float(kind.type))) return false;
    if (!write_number(number, kind, first_.data())) {
      PyErr_Clear();
      return false;
    }
    first = first_.data();
  } else if (kind.is_boolean && (op == Operator::min || op == Operator::bit_and)) {
    first_[0] = std::byte{1};  // the identity of booleans; that of bytes differs
    first = first_.data();
  }
  return true;
}

bool PlainCall::is_apart(const Elements& elements) const {
  const auto* const begin = static_cast<const std::byte*>(elements.data);
  return std::all_of(read_.begin(), read_.begin() + static_cast<std::ptrdiff_t>(reads_),
                     [&](const Range& range) { return range.end <= begin || begin + elements.bytes() <= range.begin; });
}

bool PlainCall::is_output(nb::handle object, Elements& elements) const {
  return is_plain_array(object, elements, true) && elements.is_writable;
}

nb::object PlainCall::result(ElementKind kind, std::span<const std::int64_t> shape, Elements& to, InPlace in_place) {
  if (!has(Keyword::out)) {
    nb::object made = new_array(shape, kind);
    to = elements_of_new(made);
    return made;
  }
  if (!is_output(named(Keyword::out), to) || ElementKind{to.type, to.is_boolean} != kind) return {};
  if (!std::ranges::equal(to.shape, shape)) return {};
  if (!is_apart(to)) {
    const auto* const begin = static_cast<const std::byte*>(to.data);
    is_in_place_ = in_place == InPlace::yes && read_[0].begin == begin && read_[0].end == begin + to.bytes();
    if (!is_in_place_) return {};
  }
  return nb::borrow(named(Keyword::out));
}

bool PlainCall::outputs(std::size_t count, std::vector<nb::handle>& each) const {
  each.assign(count, {});
  if (!has(Keyword::out)) return true;
  if (count == 0) return false;
  PyObject* const out = named(Keyword::out).ptr();
  const bool is_tuple = PyTuple_CheckExact(out);
  if (!is_tuple && !PyList_CheckExact(out)) {
    each[0] = out;
    return count == 1;
  }
  if (PySequence_Size(out) != static_cast<Py_ssize_t>(count)) return false;
  if (!is_tuple) return false;  // another thread may change it
  for (std::size_t i = 0; i < count; ++i) each[i] = PyTuple_GetItem(out, static_cast<Py_ssize_t>(i));
  return true;
}

nb::object PlainCall::output_of(nb::handle output, ElementKind kind, std::int64_t length, Elements& to) {
  if (!output.is_valid()) {
    if (length > kMostElements) return {};
    nb::object made = new_array({&length, 1}, kind);
    to = elements_of_new(made);
    return made;
  }
  if (!is_output(output, to) || to.shape.size() != 1 || ElementKind{to.type, to.is_boolean} != kind) return {};
  return to.type != Type::custom && is_apart(to) ? nb::borrow(output) : nb::object();
}

nb::object PlainCall::first_of(nb::handle output, ElementKind kind, std::int64_t length, Elements& to) {
  nb::object array = output_of(output, kind, length, to);
  if (!array.is_valid() || to.length < length) return {};
  if (to.length == length) return array;
  to.length = length;
  return array[nb::slice(length)];
}

nb::object PlainCall::first_of(nb::handle output, nb::handle like, std::int64_t length, Elements& to) {
  if (output.is_valid()) {
    const Elements elements = elements_of_new(like);
    return first_of(output, {elements.type, elements.is_boolean}, length, to);
  }
  if (length > kMostElements) return {};
  nb::object made = new_array_like(like, length);
  to = elements_of_new(made);
  return made;
}

bool PlainCall::cast_last(nb::handle given, Elements& elements, Type type) {
  const nb::object made = plain_cast(is_plain_array(given, elements) ? given : copies_.back(), type);
  if (!made.is_valid() || !is_plain_array(made, elements)) return false;
  copies_.push_back(made);
  return true;
}

}  // namespace upsweep::python
