// SPDX-License-Identifier: Apache-2.0
// dynamic/staged.cpp: calls on the host's arrays by way of gpu::Staging, and the carry from one piece to the next.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include "core/visit.hpp"
#include "cpu/overflow.hpp"
#include "dynamic/calls.hpp"
#include "dynamic/staged.hpp"
#include "upsweep/error.hpp"

namespace upsweep::dynamic {
namespace {

using cpu::Int128;

/// The minimum or maximum of elements on the device.
template <class T>
T extreme_of(Operator op, ConstArray in, const gpu::Policy& policy) {
  Carry carry(in.type);
  (void)dynamic::reduce(policy, op, in, carry);
  T value{};
  carry.value(&value);
  return value;
}

/// The carry where `last`, the last output, has been computed elsewhere, of an input that ends with `element`.
void advance(Carry& carry, const ScanOptions& options, ConstArray element, const void* last) {
  carry = Carry::of(carry.type(), last);
  // An exclusive scan's last output does not hold the last element yet.
  if (options.exclusive) (void)dynamic::reduce(seq, options.op, element, carry);
}

}  // namespace

bool Staged::State::sums_fit(ConstArray in, const Carry& carry) {
  return visit_type(in.type, [&]<class In>(std::type_identity<In>) {
    return visit_type(carry.type(), [&]<class Out>(std::type_identity<Out>) {
      if constexpr (std::is_integral_v<In> && std::is_integral_v<Out>) {
        using Limits = std::numeric_limits<Out>;
        Int128 minimum = 0;
        Int128 maximum = 0;
        staging.compute([&](const gpu::Policy& policy) {
          minimum = extreme_of<In>(Operator::min, in, policy);
          maximum = extreme_of<In>(Operator::max, in, policy);
        });
        Out before{};
        carry.value(&before);
        return static_cast<Int128>(before) + std::min<Int128>(minimum, 0) * in.length >=
                   static_cast<Int128>(Limits::min()) &&
               static_cast<Int128>(before) + std::max<Int128>(maximum, 0) * in.length <=
                   static_cast<Int128>(Limits::max());
      } else {
        return true;
      }
    });
  });
}

void Staged::State::require_fit(ConstArray in, const Carry& carry) {
  if (sums_fit(in, carry)) return;
  throw Error(Code::unsupported, "sums may not fit " + std::string(name(carry.type())) +
                                     ", which is not checked on a GPU: sum in a wider type, let a scan wrap around, "
                                     "or compute on the CPU");
}

Staged::Staged(std::string_view rung, int device)
    : state_(new State{.rung = std::string(rung), .staging = gpu::Staging(gpu::Policy{}.with_device(device))}) {}
Staged::~Staged() = default;

const gpu::StagingTimes& Staged::times() const { return state_->staging.times(); }

std::string_view Staged::scan(Overflow overflow, const ScanOptions& options, ConstArray in, Array out, Carry& carry) {
  gpu::Staging& staging = state_->staging;
  const std::int64_t out_bytes = out.length * size_of(out.type);
  const ConstArray in_there{staging.upload(0, in.data, in.length * size_of(in.type)), in.length, in.type};
  const Array out_there{staging.array(1, out_bytes), out.length, out.type};
  const bool checks = overflow == Overflow::checked && options.op == Operator::add;
  if (checks && in.length > 0) state_->require_fit(in_there, carry);
  const std::string_view ran =
      state_->run([&](const gpu::Policy& where) { return dynamic::scan(where, options, in_there, out_there, carry); });
  if (in.length == 0) return ran;
  // In place, outputs take the place of the last element.
  std::array<std::byte, sizeof(std::int64_t)> element{};
  const std::int64_t size = size_of(in.type);
  std::memcpy(element.data(), static_cast<const std::byte*>(in.data) + (in.length - 1) * size,
              static_cast<std::size_t>(size));
  staging.download(out.data, 1, out_bytes);
  advance(carry, options, {element.data(), 1, in.type},
          static_cast<const std::byte*>(out.data) + out_bytes - size_of(out.type));
  return ran;
}

std::string_view Staged::reduce(Overflow overflow, Operator op, ConstArray in, Carry& carry) {
  const ConstArray there{state_->staging.upload(0, in.data, in.length * size_of(in.type)), in.length, in.type};
  const bool checks = overflow == Overflow::checked && op == Operator::add;
  if (checks && in.length > 0) state_->require_fit(there, carry);
  return state_->run([&](const gpu::Policy& where) { return dynamic::reduce(where, op, there, carry); });
}

std::string_view Staged::compact_offsets(ConstArray starts, ConstArray stops, std::int64_t* offsets,
                                         OffsetsCarry& carry, bool strict) {
  gpu::Staging& staging = state_->staging;
  const std::int64_t size = size_of(starts.type);
  const std::int64_t n = starts.length;
  const bool adjacent = n > 0 && stops.data == static_cast<const std::byte*>(starts.data) + size;
  ConstArray starts_there = starts;
  ConstArray stops_there = stops;
  starts_there.data = staging.upload(0, starts.data, (adjacent ? n + 1 : n) * size);
  stops_there.data =
      adjacent ? static_cast<const std::byte*>(starts_there.data) + size : staging.upload(1, stops.data, n * size);
  const std::int64_t bytes = (n + 1) * std::int64_t{sizeof(std::int64_t)};
  auto* const there = static_cast<std::int64_t*>(staging.array(2, bytes));
  const std::string_view ran = state_->run([&](const gpu::Policy& where) {
    return dynamic::compact_offsets(where, starts_there, stops_there, there, carry, strict);
  });
  staging.download(offsets, 2, bytes);
  return ran;
}

}  // namespace upsweep::dynamic
