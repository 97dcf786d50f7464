// SPDX-License-Identifier: Apache-2.0
// bindings/bindings.hpp: the functions that define the module upsweep._core, one per file, and declarations for all
// modules.
#pragma once

#include <chrono>
#include <thread>

#include <nanobind/nanobind.h>

#include "upsweep/error.hpp"

namespace upsweep::python {

// For every module.
/// Translates errors of the library to Python exceptions.
void define_errors(nanobind::module_& module);
/// Raises the error in Python, or any exception that prevents Python from creating it. Does not throw.
void raise(const Error& error);
/// Throws Error interrupted if a signal handler has raised an exception, which stays set. Must be called without the
/// interpreter's lock, by the thread that Python has called.
void look_at_signals();

/// Checks for signals at intervals, in the thread that has created it, which Python has called.
class SignalWatch {
 public:
  /// Returns false if a signal handler has raised an exception, which stays set.
  bool goes_on();

 private:
  using Clock = std::chrono::steady_clock;
  // Acquiring the interpreter's lock from another thread may take milliseconds.
  static constexpr std::chrono::milliseconds kPause{50};

  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + kPause;
};

// For upsweep._core. All must be called before define_plain().
void define_scans(nanobind::module_& module);
void define_lists(nanobind::module_& module);
void define_moves(nanobind::module_& module);
void define_ladders(nanobind::module_& module);
void define_subset_sums(nanobind::module_& module);

}  // namespace upsweep::python
