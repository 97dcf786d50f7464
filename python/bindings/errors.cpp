// SPDX-License-Identifier: Apache-2.0
// bindings/errors.cpp: the library's errors as Python exceptions with the attributes `code` and `index`. Errors in rows
// of files also have `file` and `line`.
#include <exception>
#include <string>
#include <string_view>

#include "bindings.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

PyObject* exception_of(Code code) {
  switch (code) {
    case Code::overflow:
      return PyExc_OverflowError;
    case Code::index_out_of_range:
      return PyExc_IndexError;
    case Code::unsupported_type:
      return PyExc_TypeError;
    case Code::division_by_zero:
      return PyExc_ZeroDivisionError;
    case Code::unsupported:
    case Code::unsupported_sql:
    case Code::not_built:
      return PyExc_NotImplementedError;
    case Code::not_found:
      return PyExc_FileNotFoundError;
    case Code::is_directory:
      return PyExc_IsADirectoryError;
    case Code::unreadable:
    case Code::unwritable:
    case Code::disk_full:
      return PyExc_OSError;
    case Code::out_of_memory:
    case Code::device_memory:
      return PyExc_MemoryError;
    case Code::communication:
    case Code::no_device:
    case Code::device_failed:
      return PyExc_RuntimeError;
    case Code::interrupted:
      return PyExc_KeyboardInterrupt;
    case Code::ok:
    case Code::stop_before_start:
    case Code::negative_start:
    case Code::stop_past_end:
    case Code::unequal_lengths:
    case Code::null_value:
    case Code::empty:
    case Code::malformed:
    case Code::not_positive:
    case Code::invalid_argument:
    case Code::unknown_rung:
    case Code::unknown_column:
    case Code::unknown_table:
    case Code::bad_sql:
      break;
  }
  return PyExc_ValueError;
}

/// The error's message in Python's terms: in Python, wrapping is an argument.
std::string text_of(const Error& error) {
  constexpr std::string_view kWrap = "or let it wrap";
  std::string text = error.what();
  const std::size_t at = error.code() == Code::overflow ? text.find(kWrap) : std::string::npos;
  return at == std::string::npos ? text : text.replace(at, kWrap.size(), "or pass overflow=\"wrap\"");
}

}  // namespace

void raise(const Error& error) try {
  // The exception of a signal handler stays set: it is the reason why the library was interrupted.
  if (error.code() == Code::interrupted && PyErr_Occurred() != nullptr) return;
  const nb::object type = nb::borrow(exception_of(error.code()));
  // Names of files need not be UTF-8: as in paths, Python represents their other bytes as surrogates.
  const std::string text = text_of(error);
  const nb::object message =
      nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
  if (!message.is_valid()) throw nb::python_error();
  const nb::object exception = type(message);
  const std::string code(word(error.code()));
  exception.attr("code") = nb::str(code.c_str());
  exception.attr("index") = error.index() == kNoIndex ? nb::none() : nb::object(nb::int_(error.index()));
  if (const auto* const in_file = dynamic_cast<const RowError*>(&error)) {
    const std::string& file = in_file->place().file;
    exception.attr("file") =
        nb::steal(PyUnicode_DecodeFSDefaultAndSize(file.data(), static_cast<Py_ssize_t>(file.size())));
    exception.attr("line") = in_file->place().line < 0 ? nb::none() : nb::object(nb::int_(in_file->place().line));
  }
  PyErr_SetObject(type.ptr(), exception.ptr());
} catch (nb::python_error& instead) {
  instead.restore();
}

void define_errors(nb::module_& /*module*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

void look_at_signals() {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw Error(Code::interrupted, "interrupted");
}

bool SignalWatch::goes_on() {
  if (std::this_thread::get_id() != caller_) return true;
  const auto now = Clock::now();
  if (now < next_) return true;
  next_ = now + kPause;
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0;
}

}  // namespace upsweep::python
