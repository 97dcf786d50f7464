// SPDX-License-Identifier: Apache-2.0
// upsweep/shards.hpp: scans, reductions and filtered sums of one array in shards, on several GPUs of a host.
//
//   upsweep::gpu::Group group({0, 1});
//   // where each shard begins, and n
//   const std::vector<std::int64_t> begin = upsweep::gpu::split<float, float>(group, n);
//   std::vector<upsweep::gpu::Shard<float, float>> shards;  // in, n, out: memory of device 0, then of device 1
//   upsweep::inclusive_scan(group, shards);  // returns once the work is in the members' streams
//   group.wait();
//
// Shards    one for each member, in the order of the array, with any lengths, also empty. The rules for arrays on one
//           GPU apply to each shard: see scan.hpp and gpu.hpp. Members need compute capability 9.0. Each member passes
//           some kilobytes to all later members. A device reads them in place if it has access to the memory of the
//           other device, which a group enables; otherwise they are copied.
// Order     a shard's work is put into its member's stream, after earlier work in that stream. Members wait for each
//           other by events, and no kernel waits for a kernel on another device. If several threads make calls with one
//           Group, the calls run one after the other.
// Graphs    a call can be captured from the first member's stream; the call adds the streams of all other members to
//           the graph. A replay runs only in the stream that it is launched into. Therefore wait for the replay before
//           another call with the same Group. The replay uses memory of the Group, which must outlive the graph.
// Cost      scan: every shard is read twice and written once, because the sum of all shards before a shard is known
//           only after these have been read. `reduce`: every shard is read once.
// Floats    scan: an array that one GPU scans by look-ahead (more than 8 MB) has the same bits as on one GPU, if all
//           shards before the last non-empty shard have the lengths of split(): whole groups of tiles. `reduce`: the
//           same bits for the same shards.
// Lists     in shards: see list_shards.hpp.
// Operators custom ones: see shards.cuh.
// Errors    Error: those of scan.hpp and gpu.hpp; unsupported (a device that is too old).
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "upsweep/detail/shard_call.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {
namespace gpu {

/// Whether members read each other's memory in place, if their devices can. Otherwise the required bytes are copied.
enum class PeerAccess : std::uint8_t { if_possible, never };

/// GPUs of one host that work on an array together.
class Group {
 public:
  /// Makes one member for each device ordinal, each with a separate stream. A device may be several members. Throws
  /// Error no_device, not_built, device_failed, and invalid_argument if there are no devices.
  explicit Group(const std::vector<int>& devices);
  /// Makes one member for each policy, with the policy's device, stream and memory, which must outlive the group.
  [[nodiscard]] static Group of_policies(std::vector<Policy> members, PeerAccess access = PeerAccess::if_possible);
  ~Group();
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;

  [[nodiscard]] int size() const noexcept;
  /// Returns the device and stream of a member. Put work that must run before or after a call into this stream.
  [[nodiscard]] const Policy& policy(int member) const;
  /// Returns once all work in the members' streams is done. Throws Error device_failed.
  void wait() const;

  struct State;
  [[nodiscard]] State& state() const noexcept { return *state_; }

 private:
  Group();

  std::unique_ptr<State> state_;
};

/// A member's shard of an array, and of the results if there is one per element, in memory of the member's device.
template <class In, class Out = In>
struct Shard {
  const In* in = nullptr;
  std::int64_t n = 0;
  Out* out = nullptr;
  const std::int64_t* n_at =
      nullptr;  ///< the address of the length, up to n, if it is in device memory: see gpu::Length
};

/// A member's shard of the columns of filtered_sum().
struct FilteredSumShard {
  const std::uint32_t* key = nullptr;
  const std::int64_t* quantity = nullptr;
  const std::int64_t* price = nullptr;
  std::int64_t n = 0;
  const std::int64_t* n_at = nullptr;
};

}  // namespace gpu

namespace detail {

template <>
inline constexpr bool kTakesInit<gpu::Group> = true;

/// Calls f(op, nullptr): operators of upsweep have compiled kernels. An overload in shards.cuh passes the kernels of a
/// custom operator.
template <class In, class Out, class Op, class F>
auto with_device_shards(OnDevice /*here*/, const Op& op, F f) {
  static_assert(RunsCompiled<In, Out, Op>,
                "custom operators and types are scanned in shards by upsweep/shards.cuh, which nvcc compiles");
  return f(op, static_cast<const DeviceShards*>(nullptr));
}

template <class In, class Out, class Op>
ScanResult scan_shards(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, const Op& op,
                       bool exclusive, ScanCarry<Out>& carry, const DeviceShards* custom, const Out* init_at) {
  std::vector<ScanCall> calls;
  std::int64_t count = 0;
  for (const gpu::Shard<In, Out>& shard : shards) {
    require_array(shard.in, shard.n, "input of a shard");
    require_array(shard.out, shard.n, "output of a shard");
    ScanCall& call = calls.emplace_back();
    describe_elements<In, Out>(call, op);
    call.in = shard.in;
    call.out = shard.out;
    call.n = shard.n;
    call.n_at = shard.n_at;
    call.exclusive = exclusive;
    call.carry = &carry;
    call.init_at = init_at;
    count += shard.n;
  }
  return {count, run_scan(group, calls, custom)};
}
template <class In, class Out, class Op>
static ScanResult scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, const Op& op,
                       bool exclusive, ScanCarry<Out> carry, const Out* init_at = nullptr) {
  return with_device_shards<In, Out>(OnDevice{}, op, [&](const auto& on_device, const DeviceShards* custom) {
    return scan_shards(group, shards, on_device, exclusive, carry, custom, init_at);
  });
}

/// Reduces the members' values, which have type T.
template <class T, class Op>
void fold(const gpu::Group& group, const ValueOfShard& value, T* out, T init, const Op& op,
          const DeviceKernel<ReduceCall>* custom = nullptr, const T* init_at = nullptr) {
  require_array(out, 1, "result");
  auto carry = carry_of(init);
  ReduceCall totals = reduce_call(static_cast<const T*>(nullptr), 0, op, carry, custom);
  totals.out = out;
  totals.init_at = init_at;
  run_fold(group, value, totals);
}

/// Returns the value of a shard that may be empty when the call's work runs. Throws unsupported for an operator without
/// such a value.
template <class T, class Op>
ScanCarry<T> begin_of_shard(const Op& /*op*/) {
  if constexpr (constexpr Operator kOp = operator_of<Op, T>(); kOp != Operator::custom) {
    return carry_of<T>(identity<T>(kOp));
  } else {
    throw Error(Code::unsupported,
                "the operator has no value for a shard whose length is in device memory and may be 0");
  }
}

template <class In, class T, class Op>
static void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out, T init,
                         const Op& op, const T* init_at = nullptr) {
  require_members(group, shards.size());
  with_device_reduce<In, T>(OnDevice{}, op, [&](const auto& on_device, const auto* kernel) {
    const auto value = [&](std::size_t member, const gpu::Policy&, void* to) {
      const gpu::Shard<In>& shard = shards[member];
      auto carry = shard.n_at == nullptr ? empty_carry<T>() : begin_of_shard<T>(on_device);
      ReduceCall call = reduce_call(shard.in, shard.n, on_device, carry, kernel);
      call.n_at = shard.n_at;
      call.out = to;
      if (shard.n > 0) run_reduce(group, member, call);
      return shard.n > 0;
    };
    with_device_reduce<T, T>(OnDevice{}, on_device, [&](const auto& of_totals, const auto* kernel_of_totals) {
      fold(group, value, out, init, of_totals, kernel_of_totals, init_at);
    });
  });
}

/// Returns where each shard begins, and n. The lengths are multiples of `block` (except the last), as equal as
/// possible.
inline std::vector<std::int64_t> split_by_blocks(const gpu::Group& group, std::int64_t n, std::int64_t block) {
  require_array(&block, n, "array");
  const std::int64_t blocks = (n + block - 1) / block;
  std::vector<std::int64_t> begin;
  begin.reserve(static_cast<std::size_t>(group.size()) + 1);
  for (int member = 0; member < group.size(); ++member) begin.push_back(blocks * member / group.size() * block);
  begin.push_back(n);
  return begin;
}

}  // namespace detail

namespace gpu {

/// Returns where the shard of each member begins, and n after the last, for a scan of In into Out. The lengths are
/// whole groups of tiles, as equal as possible; a group is up to 3.2 MB.
template <class In, class Out>
  requires upsweep::detail::RunsCompiled<In, Out, Add>
std::vector<std::int64_t> split(const Group& group, std::int64_t n) {
  return upsweep::detail::split_by_blocks(group, n, upsweep::detail::shard_block(type_of<In>(), type_of<Out>()));
}

}  // namespace gpu

/// Computes the inclusive scan of all shards as one array, each from its `in` to its `out`.
template <class In, class Out, class Op = Add>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, Op op = {}) {
  return detail::scan(group, shards, op, false, empty_carry<Out>());
}

/// Computes the inclusive scan of all shards as one array, starting with `init`.
template <class In, class Out, class Op>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          std::type_identity_t<Out> init, Op op) {
  return detail::scan(group, shards, op, false, carry_of<Out>(init));
}

template <class In, class Out, class Op = Add>
ScanResult exclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan(group, shards, op, true, carry_of<Out>(init));
}

/// Compute scans of all shards that start with a value. The value is in memory of the first member's device, outside
/// all outputs.
template <class In, class Out, class Op>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          gpu::ValueAt<Out> init, Op op) {
  detail::require_array(init.at, 1, "initial value");
  return detail::scan(group, shards, op, false, carry_of(Out{}), init.at);
}
template <class In, class Out, class Op = Add>
ScanResult exclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards,
                          gpu::ValueAt<Out> init, Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  return detail::scan(group, shards, op, true, carry_of(Out{}), init.at);
}

/// Computes init ⊕ x0 ⊕ … of all shards as one array, into *out in memory of the first member's device, without
/// waiting. The `out` of the shards is not used.
template <class In, class T, class Op = Add>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out,
                  std::type_identity_t<T> init, Op op = {}) {
  detail::reduce_async(group, shards, out, init, op);
}

/// Reduces all shards as one array, with an initial value in memory of the first member's device. The value may be
/// *out.
template <class In, class T, class Op = Add>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out, gpu::ValueAt<T> init,
                  Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  detail::reduce_async(group, shards, out, T{}, op, init.at);
}

/// Computes Σ quantity[i]·price[i] of the rows with key[i] < limit, modulo 2^64, over all shards: see
/// filtered_sum.hpp. The result is written to *out, in memory of the first member's device, without waiting.
inline void filtered_sum_async(const gpu::Group& group, const std::vector<gpu::FilteredSumShard>& shards,
                               std::uint32_t limit, std::int64_t* out) {
  detail::require_members(group, shards.size());
  const auto value = [&](std::size_t member, const gpu::Policy& policy, void* to) {
    const auto& [key, quantity, price, n, n_at] = shards[member];
    detail::FilteredSumCall call = detail::filtered_sum_call(key, quantity, price, n, limit);
    call.n_at = n_at;
    call.out = static_cast<std::int64_t*>(to);
    call.out_is_reached = true;
    if (n != 0) detail::run_filtered_sum(policy, call);
    return n != 0;
  };
  detail::fold(group, value, out, std::int64_t{0}, add);
}

}  // namespace upsweep
