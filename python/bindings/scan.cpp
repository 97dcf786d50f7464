// SPDX-License-Identifier: Apache-2.0
// bindings/scan.cpp: scans, reductions and offsets, in pieces between which Ctrl-C is looked at.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

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

/// Elements between two looks at signals: some 50 ms. A multiple of every block and segment.
constexpr std::int64_t kPiece = std::int64_t{1} << 26;

dynamic::Carry carry_of(nb::handle initial, Type type) {
  const void* const element = initial_of(initial, type);
  return element == nullptr ? dynamic::Carry(type) : dynamic::Carry::of(type, element);
}

/// run(first, length) of consecutive pieces of n elements.
template <class Run>
std::string_view in_pieces(std::int64_t n, const Run& run) {
  std::string_view rung = run(std::int64_t{0}, std::min(n, kPiece));
  for (std::int64_t first = kPiece; first < n; first += kPiece) {
    look_at_signals();
    rung = run(first, std::min(n - first, kPiece));
  }
  return rung;
}

dynamic::ConstArray piece(dynamic::ConstArray array, std::int64_t first, std::int64_t length) {
  return {static_cast<const std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}
dynamic::Array piece(dynamic::Array array, std::int64_t first, std::int64_t length) {
  return {static_cast<std::byte*>(array.data) + first * size_of(array.type), length, array.type};
}

[[noreturn]] void throw_overflow(Type type, std::int64_t index) {
  throw Error(Code::overflow,
              "element " + std::to_string(index) + " of the result does not fit " + std::string(name(type)) +
                  ": pass dtype= a wider type, or overflow=\"wrap\"",
              index);
}

/// A call whose overflow is reported as that of an element of the result.
template <class Call>
void run_on_host(const Place& place, std::int64_t elements, Type type, const Call& call) {
  std::optional<nb::gil_scoped_release> released;
  if (elements > Place::kKeepsLock) released.emplace();
  try {
    call(place.cpu_policy());
  } catch (const Error& error) {
    if (error.code() == Code::overflow) throw_overflow(type, error.index());
    throw;
  }
}

std::string_view scan_on(const Policy& policy, const dynamic::ScanOptions& options, dynamic::ConstArray in,
                         dynamic::Array out, dynamic::Carry& carry) {
  if (in.length != out.length) return dynamic::scan(policy, options, in, out, carry);  // refuses it
  return in_pieces(in.length, [&](std::int64_t first, std::int64_t length) {
    try {
      return dynamic::scan(policy, options, piece(in, first, length), piece(out, first, length), carry);
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

std::string_view scan(const Place& place, std::string_view op, Truth exclusive, nb::handle initial, nb::handle in,
                      nb::handle out) {
  const dynamic::ConstArray from = input(in, "x");
  const dynamic::Array to = output(out, "out");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  dynamic::Carry carry = carry_of(initial, to.type);
  return place.run(from.length, [&](const auto& policy) {
    return scan_on(policy_for(policy, options.op), options, from, to, carry);
  });
}

/// Along the middle axis of arrays of outer x length x inner elements in the host's memory.
void scan_along(const Place& place, std::string_view op, Truth exclusive, nb::handle initial,
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

void reduce_along(const Place& place, std::string_view op, nb::handle initial,
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
  return in_pieces(in.length, [&](std::int64_t first, std::int64_t length) {
    return dynamic::reduce(policy, op, piece(in, first, length), carry);
  });
}
std::string_view reduce_on(const gpu::Policy& policy, Operator op, dynamic::ConstArray in, dynamic::Carry& carry) {
  return dynamic::reduce(policy, op, in, carry);
}

/// Writes one element of the carry's type to `value`, in the host's memory.
std::string_view reduce(const Place& place, Operator op, dynamic::ConstArray from, dynamic::Carry& carry, void* value) {
  const std::string_view rung =
      place.run(from.length, [&](const auto& policy) { return reduce_on(policy_for(policy, op), op, from, carry); });
  if (place.checked && carry.wraps() != 0) {
    throw Error(Code::overflow, "the sum does not fit " + std::string(name(carry.type())) +
                                    ": pass dtype=\"float64\", or overflow=\"wrap\"");
  }
  (carry.any() ? carry : dynamic::Carry::identity(op, carry.type())).value(value);
  return rung;
}

std::string_view reduce_array(const Place& place, std::string_view op, nb::handle initial, nb::handle in,
                              nb::handle value) {
  const dynamic::Array to = output(value, "out");
  const Operator named = operator_named(op);
  dynamic::Carry carry = carry_of(initial, to.type);
  return reduce(place, named, input(in, "x"), carry, to.data);
}

std::string_view compact_offsets(const Place& place, nb::handle starts, nb::handle stops, nb::handle offsets,
                                 Truth strict) {
  const dynamic::ConstArray first = input(starts, "starts");
  const dynamic::ConstArray last = input(stops, "stops");
  auto* const out = output_of<std::int64_t>(offsets, "out");
  if (output(offsets, "out").length != first.length + 1) {
    throw Error(Code::unequal_lengths,
                "out: " + std::to_string(first.length + 1) + " elements are needed, one more than starts");
  }
  OffsetsCarry carry;
  return place.run(first.length, [&](const auto& policy) {
    return dynamic::compact_offsets(policy, first, last, out, carry, strict);
  });
}

// ------------------------------------------------------------------------------------------------------------ plain cases

/// Whether the arrays are one, or lie apart.
bool same_or_apart(const Elements& in, const Elements& out) {
  const auto* const first = static_cast<const std::byte*>(in.data);
  const auto* const other = static_cast<const std::byte*>(out.data);
  if (first == other && in.size == out.size) return true;
  return first + in.length * in.size <= other || other + out.length * out.size <= first;
}

nb::object plain_scan(Operator op, bool exclusive, const PlainCall& call) {
  Elements in;
  if (call.given().size() != 1 || !plain_counts(call.given()[0], in)) return {};
  if (in.is_boolean && op != Operator::add) return {};
  nb::object out =
      call.has(Keyword::out) ? nb::borrow(call.named(Keyword::out)) : new_array(in.length, result_type(op, in));
  Elements to;
  if (!plain_numbers(out, to) || !to.is_writable) return {};
  if (to.length != in.length || is_float(in.type) != is_float(to.type) || !same_or_apart(in, to)) return {};
  const Place place = Place::plain();
  dynamic::Carry carry(to.type);
  place.run(in.length, [&](const auto& policy) {
    return scan_on(policy_for(policy, op), {op, exclusive}, as_input(in), {to.data, to.length, to.type}, carry);
  });
  return out;
}

nb::object plain_scan(const PlainCall& call) {
  const auto op = call.op();
  const auto exclusive = call.is_exclusive();
  return op && exclusive ? plain_scan(*op, *exclusive, call) : nb::object();
}

template <Operator kOp>
nb::object plain_cumulative(const PlainCall& call) {
  return plain_scan(kOp, false, call);
}

nb::object plain_reduce(const PlainCall& call) {
  Elements in;
  const auto op = call.op();
  if (call.given().size() != 1 || !plain_counts(call.given()[0], in, true) || !op || in.length == 0) return {};
  if (in.is_boolean && *op != Operator::add) return {};
  const Type type = result_type(*op, in);
  dynamic::Carry carry(type);
  std::uint64_t value = 0;
  reduce(Place::plain(), *op, as_input(in), carry, &value);
  return new_scalar(&value, type);
}

nb::object plain_compact_offsets(const PlainCall& call) {
  if (call.given().size() != 2) return {};
  Elements starts;
  Elements stops;
  if (!plain_bounds(call.given()[0], starts) || !plain_bounds(call.given()[1], stops)) return {};
  if (starts.type != stops.type || starts.length != stops.length) return {};
  nb::object out = new_array(starts.length + 1, Type::int64);
  compact_offsets(Place::plain(), call.given()[0], call.given()[1], out, Truth{false});
  return out;
}

}  // namespace

void define_scans(nb::module_& module) {
  add_plain_cases({{"cumulative_sum", named(Keyword::out), &plain_cumulative<Operator::add>},
                   {"cumulative_prod", named(Keyword::out), &plain_cumulative<Operator::mul>},
                   {"scan", named(Keyword::op, Keyword::exclusive, Keyword::out), &plain_scan},
                   {"reduce", named(Keyword::op), &plain_reduce},
                   {"compact_offsets", 0, &plain_compact_offsets}});
  module.def("scan", &scan, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("initial").none(),
             nb::arg("x"), nb::arg("out"));
  module.def("reduce", &reduce_array, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(), nb::arg("x"),
             nb::arg("out"));
  module.def("scan_along", &scan_along, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"),
             nb::arg("initial").none(), nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("reduce_along", &reduce_along, nb::arg("place"), nb::arg("op"), nb::arg("initial").none(),
             nb::arg("shape"), nb::arg("x"), nb::arg("out"));
  module.def("compact_offsets", &compact_offsets);
}

}  // namespace upsweep::python
