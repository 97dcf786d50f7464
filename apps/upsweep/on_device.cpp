// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/on_device.cpp: chunks on a GPU by way of gpu::Staging, and the carry from one to the next.
#include "on_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/visit.hpp"
#include "cpu/overflow.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {
namespace {

using cpu::Int128;

/// The call's least or greatest element.
template <class T>
T extreme_of(const detail::ReduceCall& call, Operator op, const gpu::Policy& policy) {
  auto carry = upsweep::empty_carry<T>();
  detail::ReduceCall asked = call;
  asked.op = op;
  asked.out_type = call.in_type;
  asked.out_size = call.in_size;
  asked.carry_size = sizeof carry;
  asked.carry = &carry;
  detail::run_reduce_and_wait(policy, asked);
  return carry.total;
}

/// The call's carry where `last`, its last output, has been worked out elsewhere.
void continue_behind(const detail::ScanCall& call, const void* last) {
  visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    *static_cast<ScanCarry<T>*>(call.carry) = carry_of(*static_cast<const T*>(last));
  });
  if (!call.exclusive) return;
  // The last output does not hold the last element yet.
  detail::ReduceCall rest;
  rest.in = static_cast<const std::byte*>(call.in) + (call.n - 1) * call.in_size;
  rest.n = 1;
  rest.in_type = call.in_type;
  rest.out_type = call.out_type;
  rest.in_size = call.in_size;
  rest.out_size = call.out_size;
  rest.carry_size = call.carry_size;
  rest.op = call.op;
  rest.carry = call.carry;
  detail::run_reduce(seq, rest);
}

}  // namespace

template <class Run>
std::string_view OnDevice::run(Run run_it) {
  std::string_view ran;
  staging_.compute([&](const gpu::Policy& policy) { ran = run_it(policy.with_rung(rung_)); });
  rung_ = ran;
  return ran;
}

/// call.in lies on the device; call.carry is what precedes it.
void OnDevice::require_fit(const detail::ReduceCall& call) {
  const bool fits = visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
    return visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
      if constexpr (std::is_integral_v<In> && std::is_integral_v<Out>) {
        using Limits = std::numeric_limits<Out>;
        Int128 least = 0;
        Int128 greatest = 0;
        staging_.compute([&](const gpu::Policy& policy) {
          least = extreme_of<In>(call, Operator::min, policy);
          greatest = extreme_of<In>(call, Operator::max, policy);
        });
        const auto& carry = *static_cast<const ScanCarry<Out>*>(call.carry);
        const Int128 before = carry.any ? static_cast<Int128>(carry.total) : 0;
        return before + std::min<Int128>(least, 0) * call.n >= static_cast<Int128>(Limits::min()) &&
               before + std::max<Int128>(greatest, 0) * call.n <= static_cast<Int128>(Limits::max());
      } else {
        return true;
      }
    });
  });
  if (fits) return;
  throw Error(Code::unsupported,
              fmt::format("--device cuda: sums may not fit {}, which is not checked on a GPU: choose a wider --dtype, "
                          "--overflow wrap for a scan, or --device cpu",
                          name(call.out_type)));
}

std::string_view OnDevice::scan(const Policy& policy, const detail::ScanCall& call) {
  detail::ScanCall there = call;
  there.in = staging_.upload(0, call.in, call.n * call.in_size);
  there.out = staging_.array(1, call.n * call.out_size);
  if (policy.overflow == Overflow::checked && call.n > 0) {
    detail::ReduceCall sum;
    sum.in = there.in;
    sum.n = call.n;
    sum.in_type = call.in_type;
    sum.out_type = call.out_type;
    sum.in_size = call.in_size;
    sum.carry = call.carry;
    require_fit(sum);
  }
  const std::string_view ran = run([&](const gpu::Policy& where) { return detail::run_scan(where, there); });
  if (call.n == 0) return ran;
  staging_.download(call.out, 1, call.n * call.out_size);
  continue_behind(call, static_cast<const std::byte*>(call.out) + (call.n - 1) * call.out_size);
  return ran;
}

std::string_view OnDevice::reduce(const Policy& policy, const detail::ReduceCall& call) {
  detail::ReduceCall there = call;
  there.in = staging_.upload(0, call.in, call.n * call.in_size);
  if (policy.overflow == Overflow::checked && call.n > 0) require_fit(there);
  const std::string_view ran = run([&](const gpu::Policy& where) { return detail::run_reduce_and_wait(where, there); });
  visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
    auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
    carry.any = carry.any || call.n > 0;
  });
  return ran;
}

std::string_view OnDevice::offsets(detail::RaggedCall& call) {
  const std::int64_t size = size_of(call.type);
  const std::int64_t bytes = call.n * size;
  const bool adjacent = call.n > 0 && call.stops == static_cast<const std::byte*>(call.starts) + size;
  detail::RaggedCall there = call;
  there.starts = staging_.upload(0, call.starts, adjacent ? bytes + size : bytes);
  there.stops = adjacent ? static_cast<const std::byte*>(there.starts) + size : staging_.upload(1, call.stops, bytes);
  there.offsets = static_cast<std::int64_t*>(staging_.array(2, (call.n + 1) * 8));
  const std::string_view ran = run([&](const gpu::Policy& where) { return detail::run_offsets(where, there); });
  staging_.download(call.offsets, 2, (call.n + 1) * 8);
  call.carry = there.carry;
  return ran;
}

std::string times_text(const gpu::StagingTimes& times) {
  return fmt::format("{} in kernels, {} to the device, {} back", duration(times.kernel), duration(times.to_device),
                     duration(times.to_host));
}

void add_times(Json& json, const gpu::StagingTimes& times) {
  json["seconds"] = times.kernel;
  json["to_device_s"] = times.to_device;
  json["to_host_s"] = times.to_host;
}

}  // namespace upsweep::command
