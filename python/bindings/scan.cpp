// SPDX-License-Identifier: Apache-2.0
// bindings/scan.cpp: scans, reductions and offsets, in chunks between which signals such as Ctrl-C are checked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// Number of elements between two checks for signals, some 50 ms. It is a multiple of every block.
constexpr std::int64_t kChunk = std::int64_t{1} << 26;

dynamic::Carry carry_of(nb::handle initial, Type type) {
  const void* const element = initial_of(initial, type);
  return element == nullptr ? dynamic::Carry(type) : dynamic::Carry::of(type, element);
}

/// Calls run(first, length) on consecutive chunks of n elements.
template <class Run>
std::string_view in_chunks(std::int64_t n, const Run& run) {
  std::string_view rung = run(std::int64_t{0}, std::min(n, kChunk));
  for (std::int64_t first = kChunk; first < n; first += kChunk) {
    look_at_signals();
    rung = run(first, std::min(n - first, kChunk));
  }
  return rung;
}

dynamic::ConstArray chunk(dynamic::ConstArray array, std::int64_t first, std::int64_t length) {
  return {static_cast<const std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}
dynamic::Array chunk(dynamic::Array array, std::int64_t first, std::int64_t length) {
  return {static_cast<std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}

[[noreturn]] void throw_overflow(Type type, std::int64_t index) {
  throw Error(Code::overflow,
              "element " + std::to_string(index) + " of the result does not fit " + std::string(name(type)) +
                  ": pass dtype= a wider type, or overflow=\"wrap\"",
              index);
}

/// Runs a call whose overflow is reported as that of an element of the result.
template <class Call>
void run_on_host(const CallPlace& place, std::int64_t elements, Type type, const Call& call) {
  std::optional<nb::gil_scoped_release> released;
  if (elements > CallPlace::kKeepsLock) released.emplace();
  try {
    call(place.cpu_policy());
  } catch (const Error& error) {
    if (error.code() == Code::overflow) throw_overflow(type, error.index());
    throw;
  }
}

std::string_view scan_on(const Policy& policy, const dynamic::ScanOptions& options, dynamic::ConstArray in,
                         dynamic::Array out, dynamic::Carry& carry) {
  if (in.length != out.length) return dynamic::scan(policy, options, in, out, carry);  // throws an Error
  return in_chunks(in.length, [&](std::int64_t first, std::int64_t length) {
    try {
      return dynamic::scan(policy, options, chunk(in, first, length), chunk(out, first, length), carry);
    } catch (const Error& error) {
      if (error.code() == Code::overflow) throw_overflow(out.type, first + error.index());
      throw;
    }
  });
}
std::string_view scan_on(const gpu::Policy& policy, const dynamic::ScanOptions& options, dynamic::ConstArray in,
                         dynamic::Array out, dynamic::Carry& carry) {
  return dynamic::scan(policy, options, in, out, carry);
}

std::string_view scan(const CallPlace& place, std::string_view op, Truth exclusive, nb::handle initial, nb::handle in,
                      nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  dynamic::Carry carry = carry_of(initial, to.type);
  return place.run(from.length, [&](const auto& policy) {
    return scan_on(policy_for(policy, options.op), options, from, to, carry);
  });
}

/// Scans along the middle axis of arrays of outer x length x inner elements in host memory.
void scan_along(const CallPlace& place, std::string_view op, Truth exclusive, nb::handle initial,
                std::tuple<std::int64_t, std::int64_t, std::int64_t> shape, nb::handle in, nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const auto [outer, length, inner] = shape;
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  SignalWatch watch;
  run_on_host(place, from.length, to.type, [&](const Policy& policy) {
    dynamic::scan_along(policy_for(policy, options.op), options, {outer, length, inner}, from, to, init,
                        [&] { return watch.goes_on(); });
  });
}

void reduce_along(const CallPlace& place, std::string_view op, nb::handle initial,
                  std::tuple<std::int64_t, std::int64_t, std::int64_t> shape, nb::handle in, nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const auto [outer, length, inner] = shape;
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  SignalWatch watch;
  run_on_host(place, from.length, to.type, [&](const Policy& policy) {
    dynamic::reduce_along(policy_for(policy, named), named, {outer, length, inner}, from, to, init,
                          [&] { return watch.goes_on(); });
  });
}

std::string_view reduce_on(const Policy& policy, Operator op, dynamic::ConstArray in, dynamic::Carry& carry) {
  return in_chunks(in.length, [&](std::int64_t first, std::int64_t length) {
    return dynamic::reduce(policy, op, chunk(in, first, length), carry);
  });
}
std::string_view reduce_on(const gpu::Policy& policy, Operator op, dynamic::ConstArray in, dynamic::Carry& carry) {
  return dynamic::reduce(policy, op, in, carry);
}

/// Writes one element of the carry's type to `value`, in host memory.
std::string_view reduce(const CallPlace& place, Operator op, dynamic::ConstArray from, dynamic::Carry& carry,
                        void* value) {
  const std::string_view rung =
      place.run(from.length, [&](const auto& policy) { return reduce_on(policy_for(policy, op), op, from, carry); });
  if (place.checked && carry.wraps() != 0) {
    throw Error(Code::overflow, "the sum does not fit " + std::string(name(carry.type())) +
                                    ": pass dtype=\"float64\", or overflow=\"wrap\"");
  }
  (carry.any() ? carry : dynamic::Carry::identity(op, carry.type())).value(value);
  return rung;
}

std::string_view reduce_array(const CallPlace& place, std::string_view op, nb::handle initial, nb::handle in,
                              nb::handle value) {
  const dynamic::Array to = output(value, "out");
  const Operator named = operator_named(op);
  dynamic::Carry carry = carry_of(initial, to.type);
  return reduce(place, named, input(in, "x"), carry, to.data);
}

std::string_view offsets(const CallPlace& place, const dynamic::ConstArray& first, const dynamic::ConstArray& last,
                         const dynamic::Array& offsets, bool strict) {
  if (offsets.length != first.length + 1) {
    throw Error(Code::unequal_lengths,
                "out: " + std::to_string(first.length + 1) + " elements are needed, one more than starts");
  }
  OffsetsCarry carry;
  return place.run(first.length, [&](const auto& policy) {
    return dynamic::offsets(policy, first, last, static_cast<std::int64_t*>(offsets.data), carry, strict);
  });
}

// --------------------------------------------------------------------------------------------------------- plain cases

/// The shape of an array, combined to the elements before, along and after an axis.
struct Axis {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;

  Axis(std::span<const std::int64_t> shape, std::size_t along) : length(shape[along]) {
    for (const std::int64_t extent : shape.first(along)) outer *= extent;
    for (const std::int64_t extent : shape.subspan(along + 1)) inner *= extent;
  }
};

void scan_plain_axis(const PlainCall& call, const dynamic::ScanOptions& options, const Axis& axis,
                     const dynamic::ConstArray& in, const dynamic::Array& out, const void* first) {
  if (in.length == 0) return;
  if (axis.inner > 1) {
    SignalWatch watch;
    return run_on_host(call.place(), in.length, out.type, [&](const Policy& policy) {
      dynamic::scan_along(policy, options, {axis.outer, axis.length, axis.inner}, in, out, first,
                          [&] { return watch.goes_on(); });
    });
  }
  call.place().run(in.length, [&](const auto& policy) {
    if (axis.outer > 1) {
      dynamic::segmented_scan(policy_for(policy, options.op), options, Lists::of_size(axis.outer, axis.length), in, out,
                              first);
      return;
    }
    dynamic::Carry carry = first == nullptr ? dynamic::Carry(out.type) : dynamic::Carry::of(out.type, first);
    scan_on(policy_for(policy, options.op), options, in, out, carry);
  });
}

nb::object plain_scan(Operator op, bool exclusive, PlainCall& call) {
  Elements in;
  Elements to;
  const void* first = nullptr;
  if (call.given().size() != 1 || !call.counts(call.given()[0], in, true)) return {};
  const auto along = call.axis(in.shape.size());
  const auto kind = call.result_kind(op, in);
  if (!along || !kind || !call.initial(op, *kind, first)) return {};
  const bool is_row = in.shape.size() == 1;  // several rows could not be scanned again after they were overwritten
  nb::object out = call.result(*kind, in.shape, to, is_row ? InPlace::yes : InPlace::no);
  if (!out.is_valid()) return {};
  scan_plain_axis(call, {op, exclusive}, Axis(in.shape, *along), as_input(in), as_output(to), first);
  return out;
}

nb::object plain_scan(PlainCall& call) {
  const auto op = call.op();
  const auto exclusive = call.flag(Keyword::exclusive);
  return op && exclusive ? plain_scan(*op, *exclusive, call) : nb::object();
}

template <Operator kOp>
nb::object plain_cumulative(PlainCall& call) {
  const auto has_initial = call.flag(Keyword::include_initial);
  if (!has_initial) return {};
  if (!*has_initial) return plain_scan(kOp, false, call);
  Elements in;
  Elements to;
  if (call.given().size() != 1 || !call.counts(call.given()[0], in) || !call.axis(1)) return {};
  const auto kind = call.result_kind(kOp, in);
  if (!kind) return {};
  nb::object out = call.result(*kind, in.length + 1, to);
  if (!out.is_valid()) return {};
  dynamic::Carry::identity(kOp, to.type).value(to.data);
  dynamic::Carry carry(to.type);
  call.place().run(in.length, [&](const auto& policy) {
    return scan_on(policy_for(policy, kOp), {kOp, false}, as_input(in), chunk(as_output(to), 1, in.length), carry);
  });
  return out;
}

void reduce_plain_axis(const PlainCall& call, Operator op, const Axis& axis, const dynamic::ConstArray& in,
                       const dynamic::Array& out, const void* first) {
  if (axis.inner > 1) {
    SignalWatch watch;
    return run_on_host(call.place(), in.length, out.type, [&](const Policy& policy) {
      dynamic::reduce_along(policy, op, {axis.outer, axis.length, axis.inner}, in, out, first,
                            [&] { return watch.goes_on(); });
    });
  }
  call.place().run(in.length, [&](const auto& policy) {
    dynamic::segmented_reduce(policy_for(policy, op), op, Lists::of_size(axis.outer, axis.length), in, out, first);
  });
}

nb::object plain_reduce(PlainCall& call) {
  Elements in;
  Elements to;
  const void* first = nullptr;
  const auto op = call.op();
  if (call.given().size() != 1 || !op || !call.counts(call.given()[0], in, true) || in.length == 0) return {};
  const auto kind = call.result_kind(*op, in);
  if (!kind || !call.initial(*op, *kind, first)) return {};
  if (call.has(Keyword::axis)) {
    const auto along = call.axis(in.shape.size());
    if (!along) return {};
    std::vector<std::int64_t> shape(in.shape.begin(), in.shape.end());
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*along));
    nb::object out = call.result(*kind, shape, to);
    if (out.is_valid()) reduce_plain_axis(call, *op, Axis(in.shape, *along), as_input(in), as_output(to), first);
    return out;
  }
  dynamic::Carry carry = first == nullptr ? dynamic::Carry(kind->type) : dynamic::Carry::of(kind->type, first);
  std::uint64_t value = 0;
  nb::object out = call.has(Keyword::out) ? call.result(*kind, std::span<const std::int64_t>(), to) : nb::object();
  if (!out.is_valid() && call.has(Keyword::out)) return {};
  reduce(call.place(), *op, as_input(in), carry, out.is_valid() ? to.data : &value);
  return out.is_valid() ? out : new_scalar(&value, *kind);
}

nb::object plain_offsets(PlainCall& call) {
  Elements starts;
  Elements stops;
  Elements to;
  const auto strict = call.flag(Keyword::strict);
  if (call.given().size() != 2 || !strict) return {};
  if (!call.bounds(call.given()[0], starts) || !call.bounds(call.given()[1], stops)) return {};
  if (starts.type != stops.type || starts.length != stops.length) return {};
  nb::object out = call.result({Type::int64}, starts.length + 1, to);
  if (out.is_valid()) offsets(call.place(), as_input(starts), as_input(stops), as_output(to), *strict);
  return out;
}

}  // namespace

void define_scans(nb::module_& module) {
  constexpr unsigned kFold =
      named(Keyword::initial, Keyword::axis, Keyword::dtype, Keyword::overflow, Keyword::out, Keyword::op);
  constexpr unsigned kCumulative =
      named(Keyword::axis, Keyword::dtype, Keyword::include_initial, Keyword::out, Keyword::overflow);
  add_plain_cases({{"cumulative_sum", kCumulative, &plain_cumulative<Operator::add>},
                   {"cumulative_prod", kCumulative, &plain_cumulative<Operator::mul>},
                   {"scan", kFold | named(Keyword::exclusive), &plain_scan},
                   {"reduce", kFold, &plain_reduce},
                   {"offsets", named(Keyword::strict, Keyword::out), &plain_offsets}});
  module.def("scan", &scan, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("initial").none(),
             nb::arg("x"), nb::arg("out"));
  module.def("reduce", &reduce_array, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(), nb::arg("x"),
             nb::arg("out"));
  module.def("scan_along", &scan_along, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"),
             nb::arg("initial").none(), nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("reduce_along", &reduce_along, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(),
             nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("offsets", [](const CallPlace& place, nb::handle starts, nb::handle stops, nb::handle out, Truth strict) {
    output_of<std::int64_t>(out, "out");
    return offsets(place, input(starts, "starts"), input(stops, "stops"), output(out, "out"), strict);
  });
}

}  // namespace upsweep::python
