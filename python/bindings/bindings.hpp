// SPDX-License-Identifier: Apache-2.0
// bindings/bindings.hpp: the parts of the module upsweep._core, each of which defines its functions.
#pragma once

#include <nanobind/nanobind.h>

namespace upsweep::python {

void define_errors(nanobind::module_& module);
void define_scans(nanobind::module_& module);
void define_lists(nanobind::module_& module);
void define_moves(nanobind::module_& module);
void define_ladders(nanobind::module_& module);
void define_subset_sums(nanobind::module_& module);

}  // namespace upsweep::python
