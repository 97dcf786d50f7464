// SPDX-License-Identifier: Apache-2.0
// bindings/subset_sum.cpp: subset sums, which Ctrl-C stops.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "upsweep/error.hpp"
#include "upsweep/subset_sum.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// False once a signal's handler has raised.
bool goes_on() {
  const nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() == 0;
}

const std::int64_t* items_of(nb::handle object, std::int64_t& n) {
  const dynamic::ConstArray items = input(object, "items");
  if (items.type != Type::int64) throw nb::type_error("items: an array of int64 is needed");
  n = items.length;
  return static_cast<const std::int64_t*>(items.data);
}

nb::list list_of(const std::vector<std::int64_t>& values) {
  nb::list all;
  for (const std::int64_t value : values) all.append(value);
  return all;
}

/// (reachable, sum, indices, rung)
nb::tuple find_subset(const Place& place, nb::handle items, std::int64_t target, bool witness, std::int64_t below,
                      std::int64_t above) {
  std::int64_t n = 0;
  const std::int64_t* const of = items_of(items, n);
  SubsetSumOptions options{.witness = witness, .below = below, .above = above};
  options.progress = [](double) { return goes_on(); };
  SubsetSum found;
  {
    const nb::gil_scoped_release released;
    found = place.is_gpu()
                ? upsweep::find_subset(place.gpu_policy(), std::span(of, static_cast<std::size_t>(n)), target, options)
                : upsweep::find_subset(place.cpu_policy(), of, n, target, options);
  }
  return nb::make_tuple(found.reachable, found.sum, list_of(found.indices), std::string(found.rung));
}

/// (ways, rung)
nb::tuple find_subsets(const Place& place, nb::handle items, std::int64_t target, std::int64_t most) {
  std::int64_t n = 0;
  const std::int64_t* const of = items_of(items, n);
  SubsetSums found;
  {
    const nb::gil_scoped_release released;
    found = upsweep::find_subsets(place.cpu_policy(), std::span(of, static_cast<std::size_t>(n)), target, most,
                                  [](double) { return goes_on(); });
  }
  nb::list ways;
  for (const auto& way : found.found) ways.append(list_of(way));
  return nb::make_tuple(ways, std::string(found.rung));
}

}  // namespace

void define_subset_sums(nb::module_& module) {
  module.def("find_subset", &find_subset);
  module.def("find_subsets", &find_subsets);
}

}  // namespace upsweep::python
