// SPDX-License-Identifier: Apache-2.0
// bindings/plans.cpp: the module upsweep._plans: builders of list programs, and plans over NumPy arrays.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "upsweep/error.hpp"
#include "upsweep/plan.hpp"
#include "upsweep/policy.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

using plan::Builder;
using plan::Domain;
using plan::ElementType;
using plan::Op;
using plan::Plan;
using plan::Value;

/// Python has handles as integers.
int handle_of(Value value) { return static_cast<int>(value); }
int handle_of(Domain domain) { return static_cast<int>(domain); }
Value value_of(int handle) { return static_cast<Value>(handle); }
Domain domain_of(int handle) { return static_cast<Domain>(handle); }

std::vector<Value> values_of(const std::vector<int>& handles) {
  std::vector<Value> all;
  all.reserve(handles.size());
  for (const int handle : handles) all.push_back(value_of(handle));
  return all;
}

std::vector<Domain> domains_of(const std::vector<int>& handles) {
  std::vector<Domain> all;
  all.reserve(handles.size());
  for (const int handle : handles) all.push_back(domain_of(handle));
  return all;
}

ElementType type_named(std::string_view text) {
  const std::optional<ElementType> type = plan::parse_element_type(text);
  if (!type) throw Error(Code::unsupported_type, "no type of plans: " + std::string(text));
  return *type;
}

Op op_named(std::string_view text) {
  const std::optional<Op> op = plan::parse_op(text);
  if (!op) throw Error(Code::invalid_argument, "no operation of plans: " + std::string(text));
  return *op;
}

nb::str text_of(std::string_view text) { return nb::str(text.data(), text.size()); }

/// Returns a number of Python or NumPy as that type.
plan::Scalar scalar_of(nb::handle number, ElementType type) {
  switch (type) {
    case ElementType::float32:
    case ElementType::float64: {
      const double real = PyFloat_AsDouble(number.ptr());
      if (real == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
      return plan::Scalar::of(type, real);
    }
    case ElementType::boolean:
      return plan::Scalar(PyObject_IsTrue(number.ptr()) > 0);
    case ElementType::uint64:
      return plan::Scalar::of(type, nb::cast<std::uint64_t>(nb::int_(nb::borrow(number))));
    default:
      return plan::Scalar::of(type, nb::cast<std::int64_t>(nb::int_(nb::borrow(number))));
  }
}

ElementKind kind_of(ElementType type) {
  if (type == ElementType::boolean) return {.type = Type::uint8, .is_boolean = true};
  return {.type = static_cast<Type>(type)};
}

/// Returns a ufunc's loop for operands and a result of these types.
plan::Loop loop_of(nb::handle ufunc, const std::vector<ElementType>& types) {
  std::vector<ElementKind> kinds(types.size());
  std::ranges::transform(types, kinds.begin(), kind_of);
  const std::optional<UfuncLoop> loop = ufunc_loop(ufunc, kinds);
  if (!loop) throw Error(Code::unsupported_type, "call: this ufunc has no loop for these types");
  return {.run = loop->run, .data = loop->data};
}

/// Runs on fewer events keep the interpreter's lock: releasing and acquiring it takes longer than the runs.
constexpr std::int64_t kKeepsLock = 256;

/// Returns an axis of a tuple. It begins with "regular", bins, low, high; or "variable", edges; or "integer", start,
/// stop; or "category", values. It ends with two booleans: whether there are an underflow and an overflow.
plan::Axis axis_of(const nb::tuple& given) {
  const auto kind = nb::cast<std::string_view>(given[0]);
  const auto whole = [&](int i) { return nb::cast<std::int64_t>(given[i]); };
  plan::Axis axis;
  if (kind == "regular") {
    axis = plan::Axis::regular(whole(1), nb::cast<double>(given[2]), nb::cast<double>(given[3]));
  } else if (kind == "variable") {
    axis = plan::Axis::variable(nb::cast<std::vector<double>>(given[1]));
  } else if (kind == "integer") {
    axis = plan::Axis::integer(whole(1), whole(2));
  } else if (kind == "category") {
    axis = plan::Axis::category(nb::cast<std::vector<std::int64_t>>(given[1]));
  } else {
    throw Error(Code::invalid_argument, "no kind of axis of plans: " + std::string(kind));
  }
  const std::size_t flags = nb::len(given) - 2;
  axis.underflow = nb::cast<bool>(given[flags]), axis.overflow = nb::cast<bool>(given[flags + 1]);
  return axis;
}

/// Returns the bins of a histogram, of int64. With weights they are float64, and an additional last dimension has the
/// sum of the weights and the sum of their squares.
template <class Result>
nb::object bins_of(const Plan& plan, const Result& result, int histogram) {
  const auto extents = plan.shape(histogram);
  std::vector<std::int64_t> shape(extents.begin(), extents.end());
  const bool has_weights = plan.has_weights(histogram);
  if (has_weights) shape.push_back(2);
  nb::object made = new_array(shape, kind_of(has_weights ? ElementType::float64 : ElementType::int64));
  void* to = elements_of_new(made).data;
  if (has_weights) {
    result.copy_sums(histogram, static_cast<plan::WeightedBin*>(to));
  } else {
    result.copy_counts(histogram, static_cast<std::int64_t*>(to));
  }
  return made;
}

/// Returns the numbers of tuples (number, type).
std::vector<plan::Scalar> numbers_of(const nb::list& parameters) {
  std::vector<plan::Scalar> numbers;
  numbers.reserve(nb::len(parameters));
  for (const nb::handle each : parameters) {
    numbers.push_back(scalar_of(each[0], type_named(nb::cast<std::string_view>(each[1]))));
  }
  return numbers;
}

/// Runs a plan. `columns` has arrays, and anything at columns that the plan does not read; `parameters` has tuples
/// (number, type). Returns the outputs followed by the histograms. If a check has failed, returns a tuple of its
/// message and event.
nb::object run(const Plan& plan, const nb::list& columns, const nb::list& parameters, std::int64_t events,
               std::optional<int> threads) {
  std::vector<plan::Column> inputs(nb::len(columns));
  std::vector<nb::object> copies;  // of columns that are not contiguous and aligned
  for (const int i : plan.columns()) {
    const auto number = static_cast<std::size_t>(i);
    if (number >= inputs.size()) break;  // the plan says what is missing
    nb::object column = columns[number];
    Elements elements;
    if (!is_plain_array(column, elements)) {
      column = copies.emplace_back(nb::module_::import_("numpy").attr("require")(column, nb::none(), "CA"));
      elements = elements_of(column, "column");
    }
    inputs[number] = {.data = elements.data, .length = elements.length};
  }
  const std::vector<plan::Scalar> numbers = numbers_of(parameters);
  SignalWatch watch;
  const detail::GoOn go_on = [&] { return watch.goes_on(); };
  const Policy policy = par.with_threads(threads.value_or(0));
  const bool keeps_lock = events <= kKeepsLock;
  nb::list outputs;
  std::vector<void*> to;  // the memory of the outputs, of which some are made after the run
  const auto add_output = [&](int i, std::int64_t size) {
    const std::int64_t shape[] = {size};
    nb::object array = new_array(shape, kind_of(plan.type(i)));
    to[static_cast<std::size_t>(i)] = elements_of_new(array).data;
    return array;
  };
  to.resize(static_cast<std::size_t>(plan.outputs()));
  const std::vector<std::int64_t> sizes = plan.sizes(inputs, events);
  for (int i = 0; i < plan.outputs(); ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    outputs.append(size < 0 ? nb::none() : add_output(i, size));
  }
  std::optional<nb::gil_scoped_release> released;
  if (!keeps_lock) released.emplace();
  plan::Result result = plan.run(policy, inputs, numbers, events, {}, go_on, to);
  released.reset();
  if (const std::optional<plan::Failure> failure = result.failure()) {
    return nb::make_tuple(failure->message, failure->event);
  }
  for (int i = 0; i < result.outputs(); ++i) {
    const auto o = static_cast<std::size_t>(i);
    if (sizes[o] >= 0) continue;
    const std::int64_t size = result.size(i);
    void* const memory = result.release(i);
    outputs[o] = memory != nullptr ? array_in_memory(memory, size, kind_of(plan.type(i))) : add_output(i, size);
    if (memory != nullptr) to[o] = nullptr;
  }
  if (!keeps_lock) released.emplace();
  for (int i = 0; i < result.outputs(); ++i) {
    if (to[static_cast<std::size_t>(i)] != nullptr) result.copy(i, to[static_cast<std::size_t>(i)]);
  }
  released.reset();
  for (int i = 0; i < plan.histograms(); ++i) outputs.append(bins_of(plan, result, i));
  return outputs;
}

/// Runs a plan on a GPU. `columns` has tuples (address, length), and None for columns that the plan does not read.
/// Returns a DeviceResult. If a check has failed, returns a tuple of its message and event.
nb::object run_on_gpu(const Plan& plan, const nb::list& columns, const nb::list& parameters, std::int64_t events,
                      int device, std::uintptr_t stream) {
  std::vector<plan::Column> inputs(nb::len(columns));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (columns[i].is_none()) continue;
    const auto [address, length] = nb::cast<std::pair<std::uintptr_t, std::int64_t>>(columns[i]);
    const auto* const data = reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr): CuPy's
    inputs[i] = {.data = data, .length = length};
  }
  const std::vector<plan::Scalar> numbers = numbers_of(parameters);
  const gpu::Policy policy = CallPlace{.device = device, .stream = stream}.gpu_policy();
  std::optional<nb::gil_scoped_release> released(std::in_place);
  plan::DeviceResult result = plan.run(policy, inputs, numbers, events);
  released.reset();
  if (const std::optional<plan::Failure> failure = result.failure()) {
    return nb::make_tuple(failure->message, failure->event);
  }
  return nb::cast(std::move(result));
}

void define_domains(nb::class_<Builder>& builder) {
  builder.def("events", [](Builder& self) { return handle_of(self.events()); })
      .def(
          "list",
          [](Builder& self, int parent, int column, std::string_view offsets) {
            return handle_of(self.list(domain_of(parent), column, type_named(offsets)));
          },
          nb::arg("parent"), nb::arg("column"), nb::arg("offsets") = "int64")
      .def("regular", [](Builder& self, int parent,
                         std::int64_t size) { return handle_of(self.regular(domain_of(parent), size)); })
      .def("filter", [](Builder& self, int domain,
                        int mask) { return handle_of(self.filter(domain_of(domain), value_of(mask))); })
      .def("gather", [](Builder& self, int lists,
                        int index) { return handle_of(self.gather(domain_of(lists), value_of(index))); })
      .def(
          "combinations",
          [](Builder& self, int lists, int k, bool replacement) {
            return handle_of(self.combinations(domain_of(lists), k, replacement));
          },
          nb::arg("lists"), nb::arg("k"), nb::arg("replacement") = false)
      .def("product", [](Builder& self, int a, int b,
                         bool nested) { return handle_of(self.product(domain_of(a), domain_of(b), nested)); })
      .def(
          "concatenation",
          [](Builder& self, const std::vector<int>& lists) { return handle_of(self.concatenation(domains_of(lists))); })
      .def("pad",
           [](Builder& self, int lists, std::int64_t length) { return handle_of(self.pad(domain_of(lists), length)); })
      .def("flatten", [](Builder& self, int lists) { return handle_of(self.flatten(domain_of(lists))); })
      .def("parent",
           [](const Builder& self, int domain) -> std::optional<int> {
             const std::optional<Domain> parent = self.parent(domain_of(domain));
             return parent ? std::optional(handle_of(*parent)) : std::nullopt;
           })
      .def("same_elements",
           [](const Builder& self, int a, int b) { return self.same_elements(domain_of(a), domain_of(b)); });
}

void define_values(nb::class_<Builder>& builder) {
  builder
      .def("column", [](Builder& self, int column, std::string_view type,
                        int domain) { return handle_of(self.column(column, type_named(type), domain_of(domain))); })
      .def("constant",
           [](Builder& self, nb::handle number, std::string_view type) {
             return handle_of(self.constant(scalar_of(number, type_named(type))));
           })
      .def("parameter", [](Builder& self, int index,
                           std::string_view type) { return handle_of(self.parameter(index, type_named(type))); })
      .def_static("is_op", [](std::string_view op) { return plan::parse_op(op).has_value(); })
      .def_static("is_defined", [](std::string_view op,
                                   std::string_view type) { return plan::is_defined(op_named(op), type_named(type)); })
      .def("map", [](Builder& self, std::string_view op,
                     const std::vector<int>& args) { return handle_of(self.map(op_named(op), values_of(args))); })
      .def("call",
           [](Builder& self, nb::handle ufunc, const std::vector<int>& args, std::string_view type) {
             std::vector<ElementType> types(args.size() + 1, type_named(type));
             std::ranges::transform(args, types.begin(), [&](int arg) { return self.type(value_of(arg)); });
             return handle_of(self.call(loop_of(ufunc, types), values_of(args), types.back()));
           })
      .def("convert", [](Builder& self, int x,
                         std::string_view type) { return handle_of(self.convert(value_of(x), type_named(type))); })
      .def("fill", [](Builder& self, int scalar,
                      int domain) { return handle_of(self.fill(value_of(scalar), domain_of(domain))); })
      .def("take", [](Builder& self, int x, int index) { return handle_of(self.take(value_of(x), value_of(index))); })
      .def("lookup", [](Builder& self, int column, std::string_view type,
                        int index) { return handle_of(self.lookup(column, type_named(type), value_of(index))); })
      .def("search", [](Builder& self, int column, int x,
                        bool right) { return handle_of(self.search(column, value_of(x), right)); })
      .def("positions", [](Builder& self, int domain) { return handle_of(self.positions(domain_of(domain))); })
      .def("numbers", [](Builder& self, int index,
                         int domain) { return handle_of(self.numbers(value_of(index), domain_of(domain))); })
      .def("parents", [](Builder& self, int lists) { return handle_of(self.parents(domain_of(lists))); })
      .def("starts", [](Builder& self, int lists) { return handle_of(self.starts(domain_of(lists))); })
      .def("counts", [](Builder& self, int lists) { return handle_of(self.counts(domain_of(lists))); })
      .def(
          "source",
          [](Builder& self, int domain, int which) { return handle_of(self.source(domain_of(domain), which)); },
          nb::arg("domain"), nb::arg("which") = 0)
      .def("concatenate",
           [](Builder& self, int domain, const std::vector<int>& parts) {
             return handle_of(self.concatenate(domain_of(domain), values_of(parts)));
           })
      .def("reduce",
           [](Builder& self, std::string_view name, int x, int lists) {
             const std::optional<plan::Reduction> reduction = plan::parse_reduction(name);
             if (!reduction) throw Error(Code::invalid_argument, "no reduction of plans: " + std::string(name));
             return handle_of(self.reduce(*reduction, value_of(x), domain_of(lists)));
           })
      .def("argsort", [](Builder& self, int x, int lists,
                         bool ascending) { return handle_of(self.argsort(value_of(x), domain_of(lists), ascending)); })
      .def("type", [](const Builder& self, int value) { return text_of(plan::name(self.type(value_of(value)))); })
      .def("domain", [](const Builder& self, int value) -> std::optional<int> {
        const std::optional<Domain> domain = self.domain(value_of(value));
        return domain ? std::optional(handle_of(*domain)) : std::nullopt;
      });
}

void define_plans(nb::module_& module) {
  nb::class_<Plan>(module, "Plan", "A compiled list program.")
      .def("run", &run, nb::arg("columns"), nb::arg("parameters"), nb::arg("events"),
           nb::arg("threads").none() = nb::none())
      .def("run_on_gpu", &run_on_gpu, nb::arg("columns"), nb::arg("parameters"), nb::arg("events"), nb::arg("device"),
           nb::arg("stream"))
      .def("columns",
           [](const Plan& plan) {
             const auto columns = plan.columns();
             return std::vector<int>(columns.begin(), columns.end());
           })
      .def_prop_ro("histograms", &Plan::histograms)
      .def_prop_ro("instructions", &Plan::instructions)
      .def("to_text", &Plan::to_text)
      .def("to_cuda", &Plan::to_cuda);
  nb::class_<plan::DeviceResult>(module, "DeviceResult", "Outputs in the memory of a GPU.")
      .def_prop_ro("outputs", &plan::DeviceResult::outputs)
      .def("size", &plan::DeviceResult::size)
      .def("type", [](const plan::DeviceResult& self, int output) { return text_of(plan::name(self.type(output))); })
      .def("copy",
           [](const plan::DeviceResult& self, int output, std::uintptr_t to) {
             const nb::gil_scoped_release released;
             self.copy(output, reinterpret_cast<void*>(to));  // NOLINT(performance-no-int-to-ptr): CuPy's memory
           })
      .def("bins", [](const plan::DeviceResult& self, const Plan& plan, int histogram) {
        return bins_of(plan, self, histogram);
      });
  nb::class_<Builder> builder(module, "Builder", "A list program. Handles of values and domains are integers.");
  builder.def(nb::init<>());
  define_domains(builder);
  define_values(builder);
  builder.def("output", [](Builder& self, int value) { return self.output(value_of(value)); })
      .def("output_offsets", [](Builder& self, int lists) { return self.output_offsets(domain_of(lists)); })
      .def(
          "histogram",
          [](Builder& self, const std::vector<int>& values, const nb::list& axes, std::optional<int> weight) {
            std::vector<plan::Axis> all;
            for (const nb::handle axis : axes) all.push_back(axis_of(nb::cast<nb::tuple>(axis)));
            return self.histogram(values_of(values), all, weight ? std::optional(value_of(*weight)) : std::nullopt);
          },
          nb::arg("values"), nb::arg("axes"), nb::arg("weight").none() = nb::none())
      .def("check", [](Builder& self, int mask, int message) { self.check(value_of(mask), message); })
      .def("to_text", &Builder::to_text)
      .def("compile", &Builder::compile);
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_plans, module) {
  using namespace upsweep::python;
  module.doc() = "List programs, which upsweep.awkward.fuse builds. Private: its names may change with any version.";
  import_numpy();
  define_errors(module);
  define_plans(module);
}
