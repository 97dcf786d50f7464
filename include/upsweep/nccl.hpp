// SPDX-License-Identifier: Apache-2.0
// upsweep/nccl.hpp: scans and reductions of one array in shards, one on the GPU of each rank of an NCCL communicator.
//
//   const auto policy = upsweep::gpu::Policy{}.with_device(device).with_stream(stream);
//   upsweep::nccl::inclusive_scan(communicator, policy, x, n, y);  // on every rank; returns when the work is queued
//
// Header-only: needs NCCL's nccl.h, and a program that is linked with NCCL. NCCL does the communication: 2 KB from
// each rank to the next, or one value from each rank to all.
//
// Shards    are in the order of the ranks, with any lengths, also empty. See shards.hpp, which describes the cost of a
//           scan and the bits of floats. All ranks must make the same calls with the same types and operators, as NCCL
//           requires for its own calls.
// Order     stream-ordered like NCCL's calls. Calls can be captured into a graph.
// Errors    Error: those of shards.hpp, before anything is sent. Other ranks may already have sent. As in NCCL, these
//           ranks then wait until the communicator is aborted. `device_failed`: NCCL reports an error.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <nccl.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "upsweep/shards.hpp"

namespace upsweep::nccl {
namespace detail {

inline void require(ncclResult_t result, const char* what) {
  if (result == ncclSuccess) return;
  throw Error(Code::device_failed, std::string(what) + ": " + ncclGetErrorString(result));
}

struct Rank {
  explicit Rank(ncclComm_t comm) {
    require(ncclCommUserRank(comm, &number), "asking for the rank");
    require(ncclCommCount(comm, &count), "asking for the number of ranks");
  }
  int number = 0;
  int count = 0;
};

template <class In, class Out, class Op>
ScanResult scan(ncclComm_t comm, const gpu::Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op,
                bool exclusive, ScanCarry<Out> carry) {
  upsweep::detail::require_array(in, n, "input");
  upsweep::detail::require_array(out, n, "output");
  upsweep::detail::ScanCall call;
  upsweep::detail::describe_elements<In, Out>(call, op);
  call.in = in;
  call.out = out;
  call.n = n;
  call.exclusive = exclusive;
  call.carry = &carry;
  const Rank rank(comm);
  const upsweep::detail::ShardScan shard(policy, call, nullptr, " of rank " + std::to_string(rank.number));
  constexpr auto kBytes = static_cast<std::size_t>(upsweep::detail::kRowsBytes);
  const bool gives = rank.number + 1 < rank.count;
  void* const before = rank.number > 0 ? shard.before_buffer() : nullptr;
  shard.publish();
  if (gives) shard.groups(shard.groups_buffer());
  if (rank.number > 0) {
    require(ncclRecv(before, kBytes, ncclUint8, rank.number - 1, comm, policy.stream), "receiving");
  }
  if (gives) {
    const void* const groups = shard.groups_buffer();
    shard.fold(before, {&groups, 1}, shard.after_buffer());
    require(ncclSend(shard.after_buffer(), kBytes, ncclUint8, rank.number + 1, comm, policy.stream), "sending");
  }
  shard.scan(before);
  return {n, "cuda.lookahead"};
}

}  // namespace detail

/// Computes the inclusive scan of all ranks' elements as one array; this rank has n elements.
template <class In, class Out, class Op = Add>
  requires upsweep::detail::RunsCompiled<In, Out, Op>
ScanResult inclusive_scan(ncclComm_t comm, const gpu::Policy& policy, const In* in, std::int64_t n, Out* out,
                          Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, false, empty_carry<Out>());
}

/// Computes the inclusive scan of all ranks' elements, starting with `init`, which must be the same on all ranks.
template <class In, class Out, class Op>
  requires upsweep::detail::RunsCompiled<In, Out, Op>
ScanResult inclusive_scan(ncclComm_t comm, const gpu::Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op) {
  return detail::scan(comm, policy, in, n, out, op, false, carry_of<Out>(init));
}

template <class In, class Out, class Op = Add>
  requires upsweep::detail::RunsCompiled<In, Out, Op>
ScanResult exclusive_scan(ncclComm_t comm, const gpu::Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, true, carry_of<Out>(init));
}

/// Computes init ⊕ x0 ⊕ … of all ranks' elements as one array, on every rank, into *out in memory of this rank's
/// device. `init` must be the same on all ranks. Floats have the same bits on all ranks.
template <class In, class T, class Op = Add>
  requires upsweep::detail::RunsCompiled<In, T, Op>
void reduce_async(ncclComm_t comm, const gpu::Policy& policy, const In* in, std::int64_t n, T* out,
                  std::type_identity_t<T> init, Op op = {}) {
  const detail::Rank rank(comm);
  constexpr T kIdentity = identity<T>(operator_of<Op, T>());  // for ranks without elements
  gpu::MemoryResource& memory = policy.memory != nullptr ? *policy.memory : gpu::pool();
  const gpu::Workspace buffer({.scratch = std::int64_t{sizeof(T)} * (rank.count + 1)}, policy.device, policy.stream,
                              memory);
  T* const all = static_cast<T*>(buffer.scratch());
  T* const own = all + rank.count;
  upsweep::reduce_async(policy, in, n, own, rank.number == 0 ? init : kIdentity, op);
  detail::require(ncclAllGather(own, all, sizeof(T), ncclUint8, comm, policy.stream), "gathering");
  upsweep::reduce_async(policy, all, rank.count, out, kIdentity, op);
}

/// @cond
// Calls that are refused, with the reason.
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto inclusive_scan(ncclComm_t /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto exclusive_scan(ncclComm_t /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto reduce_async(ncclComm_t /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
/// @endcond

}  // namespace upsweep::nccl
