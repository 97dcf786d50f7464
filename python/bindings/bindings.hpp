// SPDX-License-Identifier: Apache-2.0
// bindings/bindings.hpp: the parts of the module upsweep._core, each of which defines its functions, and what all modules need.
#pragma once

#include <nanobind/nanobind.h>

#include "upsweep/error.hpp"

namespace upsweep::python {

// Of every module.
/// Errors of the library become Python's own.
void define_errors(nanobind::module_& module);
/// Has Python raise it.
void raise(const Error& error);
/// Throws Error interrupted where a signal's handler has raised something, which then stands. Called without the
/// interpreter's lock, by the thread that Python has called from.
void look_at_signals();

// Of upsweep._core.
void define_scans(nanobind::module_& module);
void define_lists(nanobind::module_& module);
void define_moves(nanobind::module_& module);
void define_ladders(nanobind::module_& module);
void define_subset_sums(nanobind::module_& module);

}  // namespace upsweep::python
