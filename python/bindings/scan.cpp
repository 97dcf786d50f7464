// SPDX-License-Identifier: Apache-2.0
// bindings/scan.cpp: scans, reductions and offsets, in pieces between which Ctrl-C is looked at.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// Elements between two looks at signals: some 50 ms. A multiple of every block and segment.
constexpr std::int64_t kPiece = std::int64_t{1} << 26;

dynamic::Carry carry_of(nb::handle initial, Type type) {
  const void* const element = initial_of(initial, type);
  return element == nullptr ? dynamic::Carry(type) : dynamic::Carry::of(type, element);
}

/// run(first, length) of consecutive pieces of n elements.
template <class Run>
std::string_view in_pieces(std::int64_t n, const Run& run) {
  std::string_view rung = run(std::int64_t{0}, std::min(n, kPiece));
  for (std::int64_t first = kPiece; first < n; first += kPiece) {
    look_at_signals();
    rung = run(first, std::min(n - first, kPiece));
  }
  return rung;
}

dynamic::ConstArray piece(dynamic::ConstArray array, std::int64_t first, std::int64_t length) {
  return {static_cast<const std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}
dynamic::Array piece(dynamic::Array array, std::int64_t first, std::int64_t length) {
  return {static_cast<std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}

[[noreturn]] void throw_overflow(Type type, std::int64_t index) {
  throw Error(Code::overflow,
              "element " + std::to_string(index) + " of the result does not fit " + std::string(name(type)) +
                  ": pass dtype= a wider type, or overflow=\"wrap\"",
              index);
}

/// A call whose overflow is reported as that of an element of the result.
template <class Call>
void run_on_host(const Place& place, std::int64_t elements, Type type, const Call& call) {
  std::optional<nb::gil_scoped_release> released;
  if (elements > Place::kKeepsLock) released.emplace();
  try {
    call(place.cpu_policy());
  } catch (const Error& error) {
    if (error.code() == Code::overflow) throw_overflow(type, error.index());
    throw;
  }
}

std::string_view scan_on(const Policy& policy, const dynamic::ScanOptions& options, dynamic::ConstArray in,
                         dynamic::Array out, dynamic::Carry& carry) {
  if (in.length != out.length) return dynamic::scan(policy, options, in, out, carry);  // refuses it
  return in_pieces(in.length, [&](std::int64_t first, std::int64_t length) {
    try {
      return dynamic::scan(policy, options, piece(in, first, length), piece(out, first, length), carry);
    } catch (const Error& error) {
      if (error.code() == Code::overflow) throw_overflow(out.type, first + error.index());
      throw;
    }
  });
}
std::string_view scan_on(const gpu::Policy& policy, const dynamic::ScanOptions& options, dynamic::ConstArray in,
                         dynamic::Array out, dynamic::Carry& carry) {
  return dynamic::scan(policy, options, in, out, carry);
}

std::string_view scan(const Place& place, std::string_view op, Truth exclusive, nb::handle initial, nb::handle in,
                      nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  dynamic::Carry carry = carry_of(initial, to.type);
  return place.run(from.length, [&](const auto& policy) { return scan_on(policy, options, from, to, carry); });
}

/// Along the middle axis of arrays of outer x length x inner elements in the host's memory.
void scan_along(const Place& place, std::string_view op, Truth exclusive, nb::handle initial,
                std::tuple<std::int64_t, std::int64_t, std::int64_t> shape, nb::handle in, nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const auto [outer, length, inner] = shape;
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  SignalWatch watch;
  run_on_host(place, from.length, to.type, [&](const Policy& policy) {
    dynamic::scan_along(policy, options, {outer, length, inner}, from, to, init, [&] { return watch.goes_on(); });
  });
}

void reduce_along(const Place& place, std::string_view op, nb::handle initial,
                  std::tuple<std::int64_t, std::int64_t, std::int64_t> shape, nb::handle in, nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const auto [outer, length, inner] = shape;
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  SignalWatch watch;
  run_on_host(place, from.length, to.type, [&](const Policy& policy) {
    dynamic::reduce_along(policy, named, {outer, length, inner}, from, to, init, [&] { return watch.goes_on(); });
  });
}

std::string_view reduce_on(const Policy& policy, Operator op, dynamic::ConstArray in, dynamic::Carry& carry) {
  return in_pieces(in.length, [&](std::int64_t first, std::int64_t length) {
    return dynamic::reduce(policy, op, piece(in, first, length), carry);
  });
}
std::string_view reduce_on(const gpu::Policy& policy, Operator op, dynamic::ConstArray in, dynamic::Carry& carry) {
  return dynamic::reduce(policy, op, in, carry);
}

/// `value`: one element in the host's memory, wherever `in` is.
std::string_view reduce(const Place& place, std::string_view op, nb::handle initial, nb::handle in, nb::handle value) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(value, "out");
  const Operator named = operator_named(op);
  dynamic::Carry carry = initial.is_none() ? dynamic::Carry::identity(named, to.type) : carry_of(initial, to.type);
  const std::string_view rung =
      place.run(from.length, [&](const auto& policy) { return reduce_on(policy, named, from, carry); });
  if (place.checked && carry.wraps() != 0) {
    throw Error(Code::overflow, "the sum does not fit " + std::string(name(to.type)) +
                                    ": pass dtype=\"float64\", or overflow=\"wrap\"");
  }
  carry.value(to.data);
  return rung;
}

std::string_view compact_offsets(const Place& place, nb::handle starts, nb::handle stops, nb::handle offsets,
                                 Truth strict) {
  const dynamic::ConstArray first = input(starts, "starts");
  const dynamic::ConstArray last = input(stops, "stops");
  auto* const out = output_of<std::int64_t>(offsets, "out");
  if (output(offsets, "out").length != first.length + 1) {
    throw Error(Code::unequal_lengths,
                "out: " + std::to_string(first.length + 1) + " elements are needed, one more than starts");
  }
  OffsetsCarry carry;
  return place.run(first.length, [&](const auto& policy) {
    return dynamic::compact_offsets(policy, first, last, out, carry, strict);
  });
}

// ------------------------------------------------------------------------------------------------------- cumulative sums

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

/// Whether this thread or task is in a block of `upsweep.options`.
bool is_in_options() {
  PyObject* const read = read_options.load(std::memory_order_acquire);
  if (read == nullptr) return false;
  const nb::object now = nb::steal(PyObject_CallNoArgs(read));
  if (!now.is_valid()) throw nb::python_error();
  return now.ptr() != no_options.load(std::memory_order_relaxed);
}

/// Whether the arrays are one, or lie apart.
bool same_or_apart(const Elements& in, const Elements& out) {
  const auto* const first = static_cast<const std::byte*>(in.data);
  const auto* const other = static_cast<const std::byte*>(out.data);
  if (first == other && in.size == out.size) return true;
  return first + in.length * in.size <= other || other + out.length * out.size <= first;
}

/// The plain case, from plain array to plain array: without it ten elements would take three times as long. Null where
/// something is to be seen to first, or refused.
nb::object cumulative_of_plain(Operator op, nb::handle x, nb::handle given, bool checked) {
  Elements in;
  if (!is_plain_array(x, in) || in.type == Type::custom || in.is_boolean) return {};
  nb::object out = given.is_none() ? new_array(in.length, default_accumulator(in.type)) : nb::borrow(given);
  Elements to;
  if (!is_plain_array(out, to) || to.type == Type::custom || to.is_boolean || !to.is_writable) return {};
  if (to.length != in.length || is_float(in.type) != is_float(to.type) || !same_or_apart(in, to)) return {};
  dynamic::Carry carry(to.type);
  Place place;
  place.checked = checked;
  place.run(in.length, [&](const auto& policy) {
    return scan_on(policy, {.op = op}, {in.data, in.length, in.type}, {to.data, to.length, to.type}, carry);
  });
  return out;
}

/// What may be given by name, in this order.
constexpr const char* kKeywords[] = {"axis", "dtype", "include_initial", "out", "overflow"};
constexpr std::size_t kKeywordCount = std::size(kKeywords);
/// The same as Python's strings, which live as long as the process.
std::array<PyObject*, kKeywordCount> keywords;

struct CumulativeArguments {
  nb::handle x;
  std::array<nb::handle, kKeywordCount> named;

  [[nodiscard]] nb::handle axis() const { return named[0]; }
  [[nodiscard]] nb::handle dtype() const { return named[1]; }
  [[nodiscard]] nb::handle include_initial() const { return named[2]; }
  [[nodiscard]] nb::handle out() const { return named[3]; }
  [[nodiscard]] nb::handle overflow() const { return named[4]; }
};

std::size_t keyword_at(nb::handle given, const std::string& function) {
  for (std::size_t i = 0; i < kKeywordCount; ++i) {
    if (given.ptr() == keywords[i] || PyUnicode_Compare(given.ptr(), keywords[i]) == 0) return i;
  }
  const std::string text = function + "() has no argument '" + nb::cast<std::string>(given) + "'";
  throw nb::type_error(text.c_str());
}

/// Of a call by CPython's vectorcall protocol: `count` values, then those of the names.
CumulativeArguments arguments_of(const std::string& function, PyObject* const* values, Py_ssize_t count,
                                 PyObject* names) {
  if (count != 1) {
    const std::string text = function + "() takes one array by position, not " + std::to_string(count);
    throw nb::type_error(text.c_str());
  }
  CumulativeArguments arguments{.x = values[0], .named = {}};
  arguments.named.fill(Py_None);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < named; ++i)
    arguments.named[keyword_at(PyTuple_GetItem(names, i), function)] = values[1 + i];
  return arguments;
}

bool is_true(nb::handle value) {
  if (value.is_none() || value.ptr() == Py_False) return false;
  const int truth = PyObject_IsTrue(value.ptr());
  if (truth < 0) throw nb::python_error();
  return truth != 0;
}

nb::object cumulative(Operator op, const CumulativeArguments& given) {
  const bool include_initial = is_true(given.include_initial());
  if (given.axis().is_none() && given.dtype().is_none() && given.overflow().is_none() && !include_initial &&
      !is_in_options()) {
    if (nb::object result = cumulative_of_plain(op, given.x, given.out(), true); result.is_valid()) return result;
  }
  return nb::module_::import_("upsweep._scan")
      .attr("_cumulative")(name(op), given.x, given.axis(), given.dtype(), include_initial, given.out(),
                           given.overflow());
}

/// A function of Python's own kind: pickled by its name, with a signature that `inspect` reads, an array that has no name,
/// and called faster than nanobind's. What it throws Python raises.
template <Operator kOp>
PyObject* cumulative_by(PyObject* /*module*/, PyObject* const* values, Py_ssize_t count, PyObject* names) noexcept try {
  const char* const function = kOp == Operator::add ? "cumulative_sum" : "cumulative_prod";
  return cumulative(kOp, arguments_of(function, values, count, names)).release().ptr();
} catch (nb::python_error& error) {
  error.restore();
  return nullptr;
} catch (const nb::builtin_exception& error) {
  PyErr_SetString(PyExc_TypeError, error.what());
  return nullptr;
} catch (const Error& error) {
  raise(error);
  return nullptr;
} catch (const std::exception& error) {
  PyErr_SetString(PyExc_RuntimeError, error.what());
  return nullptr;
}

constexpr const char* kCumulativeSum =
    R"(cumulative_sum($module, x, /, *, axis=None, dtype=None, include_initial=False, out=None, overflow=None)
--

The sum of each element and all before it, as the Array API has it.

Parameters
----------
x : array
    Of integers of 8 to 64 bits, float32, float64 or bool; any shape and strides.
axis : int, optional
    Along which axis; an array of one dimension needs none.
dtype : optional
    The type of the result, and the one that is computed in: by default int64, uint64 or the float type itself.
include_initial : bool
    Begin with 0: one element more along the axis.
out : array, optional
    Where the result goes, of its shape; may be x. It is returned.
overflow : {"checked", "wrap"}, optional
    Sums of integers that do not fit: OverflowError with the first such `index` (the default in the host's memory), or modulo
    2**bits (on a GPU, where "checked" is not possible).

Returns
-------
array
    Of x's shape and library, in the same memory. See `scan` for the libraries, the errors and how floats are added.

Examples
--------
>>> import numpy, upsweep
>>> upsweep.cumulative_sum(numpy.array([3, 1, 4, 1, 5]))
array([ 3,  4,  8,  9, 14])
>>> upsweep.cumulative_sum(numpy.array([3, 1, 4]), include_initial=True)
array([0, 3, 4, 8])
)";

constexpr const char* kCumulativeProd =
    R"(cumulative_prod($module, x, /, *, axis=None, dtype=None, include_initial=False, out=None, overflow=None)
--

The product of each element and all before it, as the Array API has it.

Parameters and errors are those of `cumulative_sum`; products of integers are modulo 2**bits, overflow="checked" of them is a
NotImplementedError, and the initial element is 1.

Examples
--------
>>> import numpy, upsweep
>>> upsweep.cumulative_prod(numpy.array([3, 1, 4, 1, 5]))
array([ 3,  3, 12, 12, 60])
)";

PyMethodDef method(const char* name, decltype(&cumulative_by<Operator::add>) call, const char* doc) {
  // What takes its arguments in another way is called by the flags.
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)), METH_FASTCALL | METH_KEYWORDS, doc};
}

void define_cumulative(nb::module_& module) {
  static PyMethodDef methods[] = {method("cumulative_sum", &cumulative_by<Operator::add>, kCumulativeSum),
                                  method("cumulative_prod", &cumulative_by<Operator::mul>, kCumulativeProd),
                                  {}};
  for (std::size_t i = 0; i < kKeywordCount; ++i) keywords[i] = PyUnicode_InternFromString(kKeywords[i]);
  if (PyModule_AddFunctions(module.ptr(), methods) != 0) throw nb::python_error();
}

}  // namespace

void define_scans(nb::module_& module) {
  define_cumulative(module);
  module.def("look_at_options", &look_at_options);
  module.def("scan", &scan, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("initial").none(),
             nb::arg("x"), nb::arg("out"));
  module.def("reduce", &reduce, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(), nb::arg("x"),
             nb::arg("out"));
  module.def("scan_along", &scan_along, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"),
             nb::arg("initial").none(), nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("reduce_along", &reduce_along, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(),
             nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("compact_offsets", &compact_offsets);
}

}  // namespace upsweep::python
