// SPDX-License-Identifier: Apache-2.0
// bindings/core.cpp: the module upsweep._core, which upsweep's Python modules call.
#include <cstdint>
#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/detail/content_column.hpp"
#include "upsweep/detail/no_cuda.hpp"
#include "upsweep/detail/operator_hint.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// `owner` owns the memory. nanobind keeps it alive.
Elements elements_at(std::uintptr_t address, std::int64_t length, const std::string& type, int size,
                     nb::handle /*owner*/) {
  Elements elements;
  elements.data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): an address from Python
  elements.length = length;
  elements.type = parse_type(type).value_or(Type::custom);
  elements.size = size;
  elements.is_writable = true;
  return elements;
}

void define_arrays(nb::module_& module) {
  nb::class_<Elements>(module, "Elements", "Contiguous elements at an address, for example on a GPU.")
      .def_static("at", &elements_at, nb::arg("address"), nb::arg("length"), nb::arg("type"), nb::arg("size"),
                  nb::arg("owner"), nb::keep_alive<0, 5>());
  nb::class_<Bits>(module, "Bits", "The booleans of a bitmap, starting at its first bit.")
      .def(
          "__init__",
          [](Bits* bits, nb::handle bytes, std::int64_t length, std::int64_t first_bit) {
            new (bits) Bits{elements_of(bytes, "bitmap"), length, first_bit};
          },
          nb::arg("bytes"), nb::arg("length"), nb::arg("first_bit") = 0, nb::keep_alive<1, 2>());
  nb::class_<CallPlace>(module, "Place", "Where and how a call runs.")
      .def(
          "__init__",
          [](CallPlace* place, int threads, std::string rung, bool checked, int device, std::uintptr_t stream) {
            new (place) CallPlace{threads, std::move(rung), checked, device, stream};
          },
          nb::arg("threads") = 0, nb::arg("rung") = "", nb::arg("checked") = false, nb::arg("device") = -1,
          nb::arg("stream") = 0);
}

nb::list devices() {
  nb::list all;
  for (const gpu::Device& device : gpu::devices()) {
    nb::dict entry;
    entry["name"] = device.name;
    entry["compute_capability"] = nb::make_tuple(device.major, device.minor);
    entry["multiprocessors"] = device.multiprocessors;
    entry["memory_bytes"] = device.memory_bytes;
    entry["l2_bytes"] = device.l2_bytes;
    entry["error"] = device.error;
    all.append(entry);
  }
  return all;
}

/// Defines the element types, and the sizes of elements that can be moved.
void define_types(nb::module_& module) {
  nb::list types;
  for (int i = 0; i < kTypeCount; ++i) {
    const std::string_view type = name(static_cast<Type>(i));
    types.append(nb::str(type.data(), type.size()));
  }
  nb::list sizes;
  for (const int size : upsweep::detail::kMovedSizes) sizes.append(size);
  module.attr("NUMBERS") = nb::tuple(types);
  module.attr("MOVED_SIZES") = nb::tuple(sizes);
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_core, module) {
  using namespace upsweep::python;
  module.doc() = "Functions that upsweep's Python modules call. Private: its names may change with any version.";
  import_numpy();
  define_errors(module);
  define_arrays(module);
  define_scans(module);
  define_lists(module);
  define_moves(module);
  define_ladders(module);
  define_subset_sums(module);
  define_plain(module);
  module.attr("__version__") = UPSWEEP_VERSION;
  define_types(module);
  module.def("devices", &devices);
  module.def("has_cuda", &upsweep::gpu::is_built);
  module.def("require_built", &upsweep::detail::require_built, nb::arg("rung"));
  nb::list operators;
  for (int i = 0; i < upsweep::kOperatorCount; ++i) operators.append(name(static_cast<upsweep::Operator>(i)));
  module.attr("OPERATORS") = nb::tuple(operators);
  module.def(
      "operator_hint", [](std::string_view word) { return upsweep::detail::operator_hint(word, "op=\"", "\""); },
      nb::arg("word"));
}
