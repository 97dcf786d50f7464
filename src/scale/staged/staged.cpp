// SPDX-License-Identifier: Apache-2.0
// scale/staged/staged.cpp: calls on host arrays that run on a GPU through gpu::Staging, and the carry between chunks.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

#include "api/calls.hpp"
#include "core/visit.hpp"
#include "cpu/overflow.hpp"
#include "scale/staged/staged.hpp"
#include "upsweep/error.hpp"

namespace upsweep::dynamic {
namespace {

using cpu::Int128;

/// Returns the minimum or maximum of elements on the device.
template <class T>
T extreme_of(Operator op, ConstArray in, const gpu::Policy& policy) {
  Carry carry(in.type);
  (void)dynamic::reduce(policy, op, in, carry);
  T value{};
  carry.value(&value);
  return value;
}

/// Updates the carry after a scan that was computed elsewhere. `last` is the scan's last output, for an input that ends
/// with `element`. `last` is null if nothing precedes that element in an exclusive scan. That scan's output, 0.0 for
/// sums, does not enter any sum.
void advance(Carry& carry, const ScanOptions& options, ConstArray element, const void* last) {
  carry = last != nullptr ? Carry::of(carry.type(), last) : Carry(carry.type());
  // The last output of an exclusive scan does not include the last element.
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
                                     ", which is not checked on a GPU: sum in a wider type, allow a scan to wrap, "
                                     "or compute on the CPU");
}

Staged::Staged(std::string_view rung, int device, std::int64_t device_bytes, int threads)
    : state_(new State{.rung = std::string(rung),
                       .staging = gpu::Staging(gpu::Policy{}.with_device(device)),
                       .chunked = gpu::Chunked(gpu::Policy{}.with_device(device), device_bytes, threads)}) {}
Staged::~Staged() = default;

gpu::StagingTimes Staged::times() const {
  gpu::StagingTimes times = state_->staging.times();
  const gpu::StagingTimes& more = use().times;
  times.to_device += more.to_device;
  times.kernel += more.kernel;
  times.to_host += more.to_host;
  return times;
}
const gpu::ChunkedUse& Staged::use() const { return state_->chunked.use(); }
gpu::LinkRates Staged::measure_link() const { return state_->chunked.measure_link(); }

std::string_view Staged::scan(Overflow overflow, const ScanOptions& options, ConstArray in, Array out, Carry& carry) {
  // In place, outputs overwrite the last element.
  std::array<std::byte, sizeof(std::int64_t)> element{};
  const std::int64_t size = size_of(in.type);
  const detail::ScanCall call = scan_call(options, in, out, carry);
  const bool is_first = options.exclusive && in.length == 1 && !carry.any();
  if (in.length > 0) {
    std::memcpy(element.data(), static_cast<const std::byte*>(in.data) + (in.length - 1) * size,
                static_cast<std::size_t>(size));
  }
  const std::string_view ran = detail::run_scan(state_->chunked, {.rung = state_->rung, .overflow = overflow}, call);
  state_->rung = ran;
  if (in.length > 0) {
    const auto* const last = static_cast<const std::byte*>(out.data) + (out.length - 1) * size_of(out.type);
    advance(carry, options, {element.data(), 1, in.type}, is_first ? nullptr : last);
  }
  return ran;
}

std::string_view Staged::reduce(Overflow overflow, Operator op, ConstArray in, Carry& carry) {
  const std::string_view ran =
      detail::run_reduce(state_->chunked, {.rung = state_->rung, .overflow = overflow}, reduce_call(op, in, carry));
  state_->rung = ran;
  return ran;
}

std::string_view Staged::offsets(ConstArray starts, ConstArray stops, std::int64_t* offsets, OffsetsCarry& carry,
                                 bool strict) {
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
    return dynamic::offsets(where, starts_there, stops_there, there, carry, strict);
  });
  staging.download(offsets, 2, bytes);
  return ran;
}

}  // namespace upsweep::dynamic
