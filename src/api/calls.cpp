// SPDX-License-Identifier: Apache-2.0
// api/calls.cpp: carries, and scans, reductions and offsets of types known at run time.
#include "api/calls.hpp"

#include <cstring>
#include <string>

#include "core/visit.hpp"
#include "upsweep/error.hpp"

namespace upsweep::dynamic {
namespace {

template <class T>
ScanCarry<T>& as(void* bytes) {
  return *static_cast<ScanCarry<T>*>(bytes);
}
template <class T>
const ScanCarry<T>& as(const detail::CarryBytes& carry) {
  return *reinterpret_cast<const ScanCarry<T>*>(carry.bytes);
}

/// Integers have all operators. Floats have those that are not only for integers.
void require_operator(Operator op, Type type) {
  if (op == Operator::custom) throw Error(Code::invalid_argument, "op: `custom` has no kernel chosen at run time");
  if (is_float(type) && is_integer_only(op)) {
    throw Error(Code::invalid_argument, std::string(name(op)) + " is for integers, not " + std::string(name(type)));
  }
}

/// Whether the first integer type holds every value of the other one.
constexpr bool holds(Type type, Type other) {
  if (is_signed(type) == is_signed(other)) return size_of(type) >= size_of(other);
  return is_signed(type) && size_of(type) > size_of(other);
}

/// Elements are converted to the output's type before they are folded. Sums and products stay the same modulo 2^bits.
/// Floats, and elements that become floats, keep their order. But which integer is the minimum or maximum may change.
void require_order_kept(Operator op, Type in, Type out) {
  if (!selects(op) || !is_integer(in) || !is_integer(out) || holds(out, in)) return;
  throw Error(Code::invalid_argument, std::string(name(op)) + " of " + std::string(name(in)) +
                                          " elements is not computed in " + std::string(name(out)) +
                                          ", which does not hold all of them: use " + std::string(name(in)));
}

void describe(detail::ElementsCall& call, Operator op, ConstArray in, Type out, Carry& carry) {
  describe_fold(call, op, in, out);
  call.carry_size = carry.size();
  call.carry = carry.data();
}

}  // namespace

void require_element(Type type, const char* what) {
  if (type != Type::custom) return;
  throw Error(Code::invalid_argument, std::string(what) + ": `custom` elements have no kernels chosen at run time");
}

void require_bounds(Type starts, Type stops, Code code) {
  if (starts == stops && is_list_bound(starts)) return;
  throw Error(code, "starts are " + std::string(name(starts)) + ", stops " + std::string(name(stops)) +
                        ": both must be int32, uint32 or int64");
}

void describe_elements(detail::ElementsCall& call, ConstArray in, Type out) {
  require_element(in.type, "input");
  require_element(out, "output");
  detail::require_array(in.data, in.length, "input");
  call.in = in.data;
  call.n = in.length;
  call.in_type = in.type;
  call.out_type = out;
  call.in_size = size_of(in.type);
  call.out_size = size_of(out);
}

void describe_fold(detail::ElementsCall& call, Operator op, ConstArray in, Type out) {
  describe_elements(call, in, out);
  require_operator(op, out);
  if (is_float(in.type) && is_integer(out)) {
    throw Error(Code::invalid_argument, std::string(name(in.type)) + " elements are not folded into " +
                                            std::string(name(out)) + ": convert them first");
  }
  require_order_kept(op, in.type, out);
  call.op = op;
}

Beginning beginning_of(Operator op, Type type, const void* init) {
  Beginning beginning;
  if (init != nullptr) {
    std::memcpy(beginning.init.bytes, init, static_cast<std::size_t>(size_of(type)));
    return beginning;
  }
  require_operator(op, type);
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    const T identity = upsweep::identity<T>(op);
    std::memcpy(beginning.init.bytes, &identity, sizeof identity);
  });
  beginning.empty_is_zero = op == Operator::add && is_float(type);
  return beginning;
}

Carry::Carry(Type type) : type_(type) {
  require_element(type, "carry");
  visit_type(type, [&]<class T>(std::type_identity<T>) { as<T>(bytes_.bytes) = empty_carry<T>(); });
}

Carry Carry::of(Type type, const void* element) {
  Carry carry(type);
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    T value{};
    std::memcpy(&value, element, sizeof value);
    as<T>(carry.bytes_.bytes) = carry_of(value);
  });
  return carry;
}

Carry Carry::identity(Operator op, Type type) {
  require_operator(op, type);
  Carry carry(type);
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    // A sum of nothing is 0.0, not -0.0, which is neutral bit for bit.
    as<T>(carry.bytes_.bytes) = carry_of(op == Operator::add ? T{0} : upsweep::identity<T>(op));
  });
  return carry;
}

bool Carry::any() const {
  return visit_type(type_, [&]<class T>(std::type_identity<T>) { return as<T>(bytes_).any; });
}

void Carry::value(void* element) const {
  visit_type(type_, [&]<class T>(std::type_identity<T>) {
    const T value = as<T>(bytes_).any ? detail::value_of(as<T>(bytes_)) : T{0};
    std::memcpy(element, &value, sizeof value);
  });
}

std::int64_t Carry::wraps() const {
  return visit_type(type_, [&]<class T>(std::type_identity<T>) {
    return std::is_integral_v<T> && as<T>(bytes_).any ? as<T>(bytes_).wraps : std::int64_t{0};
  });
}

int Carry::size() const {
  return visit_type(type_, []<class T>(std::type_identity<T>) { return static_cast<int>(sizeof(ScanCarry<T>)); });
}

detail::ScanCall scan_call(const ScanOptions& options, ConstArray in, Array out, Carry& carry) {
  detail::ScanCall call;
  describe(call, options.op, in, out.type, carry);
  detail::require_array(out.data, out.length, "output");
  detail::require_equal_lengths(in.length, out.length);
  if (carry.type() != out.type) throw Error(Code::invalid_argument, "the carry and the output are of different types");
  call.out = out.data;
  call.exclusive = options.exclusive;
  return call;
}

detail::ReduceCall reduce_call(Operator op, ConstArray in, Carry& carry) {
  detail::ReduceCall call;
  describe(call, op, in, carry.type(), carry);
  return call;
}

detail::OffsetsCall offsets_call(ConstArray starts, ConstArray stops, std::int64_t* offsets, const OffsetsCarry& carry,
                                 bool strict) {
  require_bounds(starts.type, stops.type, Code::invalid_argument);
  if (starts.length != stops.length) {
    throw Error(Code::unequal_lengths, "starts have " + std::to_string(starts.length) + " elements, stops " +
                                           std::to_string(stops.length) + ": they must be equal");
  }
  detail::OffsetsCall call;
  call.starts = starts.data;
  call.stops = stops.data;
  call.type = starts.type;
  call.n = starts.length;
  call.offsets = offsets;
  call.strict = strict;
  call.carry = carry;
  return call;
}

std::string_view scan(const Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry) {
  return detail::run_scan(policy, scan_call(options, in, out, carry));
}

std::string_view scan(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out, Carry& carry) {
  return detail::run_scan(policy, scan_call(options, in, out, carry));
}

gpu::WorkspaceSize scan_workspace(const gpu::Policy& policy, const ScanOptions& options, ConstArray in, Array out) {
  Carry carry(out.type);
  return detail::scan_workspace(policy, scan_call(options, in, out, carry));
}

std::string_view reduce(const Policy& policy, Operator op, ConstArray in, Carry& carry) {
  return detail::run_reduce(policy, reduce_call(op, in, carry));
}

std::string_view reduce(const gpu::Policy& policy, Operator op, ConstArray in, Carry& carry) {
  const std::string_view rung = detail::run_reduce_and_wait(policy, reduce_call(op, in, carry));
  // Only the total is fetched.
  visit_type(carry.type(), [&]<class T>(std::type_identity<T>) {
    auto& advanced = as<T>(carry.data());
    advanced.any = advanced.any || in.length > 0;
  });
  return rung;
}

namespace {

template <class AnyPolicy>
std::string_view run_offsets(const AnyPolicy& policy, detail::OffsetsCall call, OffsetsCarry& carry) {
  const std::string_view rung = detail::run_offsets(policy, call);
  carry = call.carry;
  return rung;
}

}  // namespace

std::string_view offsets(const Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict) {
  return run_offsets(policy, offsets_call(starts, stops, offsets, carry, strict), carry);
}

std::string_view offsets(const gpu::Policy& policy, ConstArray starts, ConstArray stops, std::int64_t* offsets,
                         OffsetsCarry& carry, bool strict) {
  return run_offsets(policy, offsets_call(starts, stops, offsets, carry, strict), carry);
}

}  // namespace upsweep::dynamic
