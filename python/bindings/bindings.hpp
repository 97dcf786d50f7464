// SPDX-License-Identifier: Apache-2.0
// bindings/bindings.hpp: the files of the module upsweep._core, each of which defines its functions, and what all
// modules need.
#pragma once

#include <chrono>
#include <thread>

#include <nanobind/nanobind.h>

#include "upsweep/error.hpp"

namespace upsweep::python {

// Of every module.
/// Errors of the library become Python's own.
void define_errors(nanobind::module_& module);
/// Has Python raise it, or what keeps Python from making its exception. Does not throw.
void raise(const Error& error);
/// Throws Error interrupted where a signal's handler has raised something, which then stands. Called without the
/// interpreter's lock, by the thread that Python has called from.
void look_at_signals();

/// Looks at signals now and then, in the thread that has made it, which Python has called.
class SignalWatch {
 public:
  /// False where a signal's handler has raised something, which then stands.
  bool goes_on();

 private:
  using Clock = std::chrono::steady_clock;
  // To take the interpreter's lock from another thread may take milliseconds.
  static constexpr std::chrono::milliseconds kPause{50};

  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + kPause;
};

// Of upsweep._core. All before define_plain().
void define_scans(nanobind::module_& module);
void define_lists(nanobind::module_& module);
void define_moves(nanobind::module_& module);
void define_ladders(nanobind::module_& module);
void define_subset_sums(nanobind::module_& module);

}  // namespace upsweep::python
