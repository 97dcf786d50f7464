// SPDX-License-Identifier: Apache-2.0
// upsweep/shards.hpp: scans, reductions and filtered sums of one array that lies in shards, one on each of several GPUs of a host.
//
//   upsweep::gpu::Group group({0, 1});
//   const std::vector<std::int64_t> begin = upsweep::gpu::split<float, float>(group, n);  // where each shard begins, and n
//   std::vector<upsweep::gpu::Shard<float, float>> shards;  // in, n, out: memory of device 0, then of device 1
//   upsweep::inclusive_scan(group, shards);  // returns once the work is in the members' streams
//   group.wait();
//
// Shards    one for each member, in the order of the array; of any lengths, empty ones too. What holds for arrays on one GPU holds
//           for each shard: see scan.hpp and gpu.hpp. Members need compute capability 9.0. Some kilobytes go from each to all
//           later ones: read where they are if a device has access to the other's memory, which a group switches on, else copied.
// Order     a shard's work is put into its member's stream, after what is there. Members wait for each other by events, and no
//           kernel waits for one on another device. Calls of several threads with the same Group are put one after the other.
// Graphs    captured from the first member's stream, a call takes the streams of all others into the graph. A replay is in the stream
//           that it is launched into alone: who calls with the same Group after it waits for it first. It uses memory of the Group,
//           which outlives it.
// Cost      scan: every shard is read twice and written once, as the sum of all shards before it is known when they have been read.
//           reduce: every shard is read once.
// Floats    scan: of arrays that one GPU scans by look-ahead (more than 8 MB) the same bits as on one GPU, where all shards but the
//           last that has elements are as long as split() makes them: whole groups of tiles. reduce: the same bits for the same shards.
// Lists in shards: see list_shards.hpp.
// Operators of your own: see shards.cuh.
// Errors    Error: those of scan.hpp and gpu.hpp; unsupported (a device that is too old).
#pragma once

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

/// Whether members read each other's memory where it is, where their devices can; else what they need of it is copied.
enum class PeerAccess : std::uint8_t { if_possible, never };

/// GPUs of one host that work on an array together.
class Group {
 public:
  /// Devices by their ordinals, a member each, with a stream of its own; one may be several members. Throws Error no_device,
  /// not_built, device_failed, and invalid_argument of none.
  explicit Group(const std::vector<int>& devices);
  /// The same with the devices, streams and memory that the policies name, which outlive it.
  [[nodiscard]] static Group of_policies(std::vector<Policy> members, PeerAccess access = PeerAccess::if_possible);
  ~Group();
  Group(Group&&) noexcept;
  Group& operator=(Group&&) noexcept;

  [[nodiscard]] int size() const noexcept;
  /// The device and stream of a member: work that is to come before or after a call's goes into that stream.
  [[nodiscard]] const Policy& policy(int member) const;
  /// Returns once all work in the members' streams is done. Throws Error device_failed.
  void wait() const;

  struct State;
  [[nodiscard]] State& state() const noexcept { return *state_; }

 private:
  Group();

  std::unique_ptr<State> state_;
};

/// A member's shard of an array, and of the results where there are as many: device memory of the member's device.
template <class In, class Out = In>
struct Shard {
  const In* in = nullptr;
  std::int64_t n = 0;
  Out* out = nullptr;
  const std::int64_t* n_at =
      nullptr;  ///< where the length is, up to n, if it is in memory of the device: see gpu::Length
};

/// The same of columns, for filtered_sum().
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

/// f(operator, its kernels), both as the device has them. Those of custom operators are in shards.cuh.
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

/// A reduction of the members' values, which are of type T.
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

/// What a shard's value is that may turn out to have no element. Throws unsupported of an operator without such a value.
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

/// As equal as multiples of so many elements are.
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

/// Where the shard of each member begins, and n after the last: as equal as whole groups of tiles are, of up to 3.2 MB, for a scan of
/// In into Out.
template <class In, class Out>
  requires upsweep::detail::RunsCompiled<In, Out, Add>
std::vector<std::int64_t> split(const Group& group, std::int64_t n) {
  return upsweep::detail::split_by_blocks(group, n, upsweep::detail::shard_block(type_of<In>(), type_of<Out>()));
}

}  // namespace gpu

/// Inclusive scan of all shards as one array, each from its `in` to its `out`.
template <class In, class Out, class Op = Add>
ScanResult inclusive_scan(const gpu::Group& group, const std::vector<gpu::Shard<In, Out>>& shards, Op op = {}) {
  return detail::scan(group, shards, op, false, empty_carry<Out>());
}

/// Starts with `init`.
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

/// The same that start with a value in memory of the first member's device, outside all outputs.
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

/// init ⊕ x0 ⊕ … of all shards as one array, into *out, memory of the first member's device, without waiting. Looks at no
/// shard's `out`.
template <class In, class T, class Op = Add>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out,
                  std::type_identity_t<T> init, Op op = {}) {
  detail::reduce_async(group, shards, out, init, op);
}

/// The same with an initial value in memory of the first member's device, which may be *out.
template <class In, class T, class Op = Add>
void reduce_async(const gpu::Group& group, const std::vector<gpu::Shard<In>>& shards, T* out, gpu::ValueAt<T> init,
                  Op op = {}) {
  detail::require_array(init.at, 1, "initial value");
  detail::reduce_async(group, shards, out, T{}, op, init.at);
}

/// Σ quantity[i]·price[i] where key[i] < limit, modulo 2^64, over all shards: see filtered_sum.hpp. Into *out, memory of the first
/// member's device, without waiting.
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
