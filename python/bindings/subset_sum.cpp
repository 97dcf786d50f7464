// SPDX-License-Identifier: Apache-2.0
// bindings/subset_sum.cpp: subset sums, which Ctrl-C interrupts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/error.hpp"
#include "upsweep/subset_sum.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// Returns false once a signal handler has raised an exception.
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

/// Returns (reachable, sum, indices, rung).
nb::tuple find_subset(const CallPlace& place, nb::handle items, std::int64_t target, bool witness, std::int64_t below,
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

/// Returns (ways, rung).
nb::tuple find_subsets(const CallPlace& place, nb::handle items, std::int64_t target, std::int64_t most) {
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

// --------------------------------------------------------------------------------------------------------- plain cases

/// upsweep.SubsetSum, which exists as long as the process.
PyObject* subset_sum_class = nullptr;

nb::object array_of(const std::vector<std::int64_t>& values) {
  nb::object array = new_array(std::ssize(values), Type::int64);
  if (!values.empty()) std::memcpy(elements_of_new(array).data, values.data(), values.size() * sizeof values[0]);
  return array;
}

nb::object plain_ways(const PlainCall& call, std::span<const std::int64_t> items, std::int64_t target) {
  const auto most = PlainCall::whole(call.named(Keyword::ways), 1);
  if (!most || call.named(Keyword::below).is_valid() || call.named(Keyword::above).is_valid()) return {};
  SubsetSums found;
  {
    const nb::gil_scoped_release released;
    found = upsweep::find_subsets(call.place().cpu_policy(), items, target, *most, [](double) { return goes_on(); });
  }
  nb::list ways;
  for (const auto& way : found.found) ways.append(array_of(way));
  return ways;
}

nb::object plain_subset_sum(PlainCall& call) {
  Elements items;
  if (call.given().size() != 2 || !call.numbers(call.given()[0], items)) return {};
  if (items.type != Type::int64 && !call.cast_last(call.given()[0], items, Type::int64)) return {};
  const auto target = PlainCall::whole(call.given()[1]);
  if (!target) return {};
  const auto* const of = static_cast<const std::int64_t*>(items.data);
  if (call.has(Keyword::ways)) return plain_ways(call, {of, static_cast<std::size_t>(items.length)}, *target);
  const bool has_witness = call.named(Keyword::witness).is_valid();
  const auto witness = call.flag(Keyword::witness);
  const auto distance = [&](Keyword keyword) {
    return call.named(keyword).is_valid() ? PlainCall::whole(call.named(keyword)) : std::optional<std::int64_t>(0);
  };
  const auto below = distance(Keyword::below);
  const auto above = distance(Keyword::above);
  if (!witness || !below || !above) return {};
  SubsetSumOptions options{.witness = !has_witness || *witness, .below = *below, .above = *above};
  const std::int64_t work = std::max({items.length, *target, *above});
  // Short calls keep the interpreter's lock; a thread that checks for signals would wait for it.
  if (work > CallPlace::kKeepsLock) options.progress = [](double) { return goes_on(); };
  const SubsetSum found = call.place().run(work, [&](const auto& policy) {
    return upsweep::find_subset(policy, std::span(of, static_cast<std::size_t>(items.length)), *target, options);
  });
  return nb::borrow(subset_sum_class)(found.reachable, found.sum, array_of(found.indices), std::string(found.rung));
}

}  // namespace

void define_subset_sums(nb::module_& module) {
  add_plain_cases(
      {{"subset_sum", named(Keyword::witness, Keyword::below, Keyword::above, Keyword::ways), &plain_subset_sum}});
  module.def("set_subset_sum_class", [](nb::object type) { subset_sum_class = type.release().ptr(); });
  module.def("find_subset", &find_subset);
  module.def("find_subsets", &find_subsets);
}

}  // namespace upsweep::python
