// SPDX-License-Identifier: Apache-2.0
// bindings/lists.cpp: what is computed of each list: reductions, scans, sorts.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/segmented.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

std::optional<Reducer> parse_reducer(std::string_view text) {
  for (const Reducer reducer :
       {Reducer::any, Reducer::all, Reducer::count, Reducer::count_nonzero, Reducer::argmin, Reducer::argmax}) {
    if (name(reducer) == text) return reducer;
  }
  return std::nullopt;
}

/// What a call is about: the more, the longer it takes.
std::int64_t work_of(const Lists& lists, const dynamic::ConstArray& content) { return lists.count + content.length; }

std::string_view segmented_reduce(const Place& place, std::string_view op, nb::handle lists, nb::handle lists_valid,
                                  nb::handle content, nb::handle valid, nb::handle initial, nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const Mask mask = mask_of(valid, "valid");
  if (const auto reducer = parse_reducer(op)) {
    return place.run(work_of(of, from), [&](const auto& policy) {
      return dynamic::segmented_reduce(policy, *reducer, of, from, to, mask);
    });
  }
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  return place.run(work_of(of, from), [&](const auto& policy) {
    return dynamic::segmented_reduce(policy, named, of, from, to, init, mask);
  });
}

std::string_view segmented_scan(const Place& place, std::string_view op, Truth exclusive, nb::handle lists,
                                nb::handle lists_valid, nb::handle content, nb::handle valid, nb::handle initial,
                                nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const Mask mask = mask_of(valid, "valid");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  return place.run(work_of(of, from), [&](const auto& policy) {
    return dynamic::segmented_scan(policy, options, of, from, to, init, mask);
  });
}

/// `positions`: what is written is where the elements lie, not these themselves.
std::string_view segmented_sort(const Place& place, bool positions, nb::handle lists, nb::handle lists_valid,
                                nb::handle content, Truth descending, Truth nan_first, nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const SortOptions options{.descending = descending, .nan_first = nan_first};
  return place.run(work_of(of, from), [&](const auto& policy) {
    return positions ? dynamic::segmented_argsort(policy, of, from, to, options)
                     : dynamic::segmented_sort(policy, of, from, to, options);
  });
}

// -------------------------------------------------------------------------------------------------------- runs of equal keys

/// Returns how many runs there are.
std::int64_t reduce_by_key(const Place& place, std::string_view op, nb::handle keys, nb::handle values,
                           nb::handle initial, nb::handle out_keys, nb::handle out) {
  const dynamic::ConstArray of = input(keys, "keys");
  const dynamic::ConstArray from = input(values, "values");
  const dynamic::Array to_keys = output(out_keys, "out_keys");
  const dynamic::Array to = output(out, "out");
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  return place.run(of.length, [&](const auto& policy) {
    return dynamic::reduce_by_key(policy, named, of, from, to_keys, to, init).runs;
  });
}

std::string_view scan_by_key(const Place& place, std::string_view op, Truth exclusive, nb::handle keys,
                             nb::handle values, nb::handle initial, nb::handle out) {
  const dynamic::ConstArray of = input(keys, "keys");
  const dynamic::ConstArray from = input(values, "values");
  const dynamic::Array to = output(out, "out");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  return place.run(of.length,
                   [&](const auto& policy) { return dynamic::scan_by_key(policy, options, of, from, to, init); });
}

}  // namespace

void define_lists(nb::module_& module) {
  module.def("reduce_by_key", &reduce_by_key, nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"),
             nb::arg("initial").none(), nb::arg("out_keys"), nb::arg("out"));
  module.def("scan_by_key", &scan_by_key, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("keys"),
             nb::arg("values"), nb::arg("initial").none(), nb::arg("out"));
  module.def("segmented_reduce", &segmented_reduce, nb::arg("place"), nb::arg("op"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_scan", &segmented_scan, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_sort", &segmented_sort, nb::arg("place"), nb::arg("positions"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("descending"), nb::arg("nan_first"),
             nb::arg("out"));
}

}  // namespace upsweep::python
