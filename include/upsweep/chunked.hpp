// SPDX-License-Identifier: Apache-2.0
// upsweep/chunked.hpp: scans and reductions of the host's arrays on a GPU, chunk by chunk: larger than its memory, too.
//
//   const upsweep::gpu::Chunked there;                    // device 0
//   upsweep::inclusive_scan(there, prices, running);      // arrays, vectors and spans of the host
//   const double sum = upsweep::reduce(there, prices, 0.0);
//
// Work      a chunk is on its way to the device while the one before it is computed and the one before that is on its way back: by
//           both copy engines and the multiprocessors. Calls return when all is done. One thread at a time.
// Memory    of the device a few chunks of up to 16 MB, or what fits `device_bytes`, of the policy's resource; they are kept for the
//           next call. Pinned memory of the host (cudaHostAlloc, cudaHostRegister) is copied from where it is; any other is copied by
//           `threads` threads by way of pinned chunks, as many.
// Speed     the link's where arrays are pinned: on PCIe 5 54 GB/s one way, 49 GB/s each of both at once. Else also the host's memory
//           must copy what goes over it; use() says which of them a call waited for. A CPU that reads its memory faster is faster.
// Floats    scans by cuda.lookahead have the bits of a scan of an array of the device; reductions add up 8 MB at a time, in
//           order. So neither depends on device_bytes. Other rungs of scan end where chunks do, and do not overlap.
// Overflow  of integers wraps around; with Overflow::checked sums are refused (unsupported) where by the least and the greatest
//           element of a chunk they might not fit. Results hold anything then.
// Errors    Error: those of gpu.hpp; invalid_argument of device_bytes that hold no chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {
namespace gpu {

/// The time that calls have taken so far, and the busy seconds of each step of a transfer. The steps run at the same
/// time.
struct ChunkedUse {
  double seconds = 0;             ///< of the calls
  StagingTimes times;             ///< of the copy engines and of kernels
  double host_copies = 0;         ///< to and from pinned memory
  std::int64_t to_device = 0;     ///< bytes
  std::int64_t to_host = 0;       ///< bytes
  std::int64_t device_bytes = 0;  ///< the most that chunks had at a time

  ChunkedUse& operator+=(const ChunkedUse& more);
};

/// What calls wait for.
enum class Bound : std::uint8_t {
  to_device,    ///< the link's way there
  to_host,      ///< its way back
  host_memory,  ///< copies to and from pinned memory
  kernels,
};
/// The one that was at work the longest. `share`: of the time of the calls.
struct BoundShare {
  Bound bound;
  double share;
};
[[nodiscard]] BoundShare bound_of(const ChunkedUse& use);

/// Bytes per second of copies of pinned memory.
struct LinkRates {
  double to_device = 0;
  double to_host = 0;
  double both = 0;  ///< each way, at the same time
};

/// A GPU as calls on the host's arrays go there.
class Chunked {
 public:
  /// Of the policy its device, memory, rung and overflow count. `device_bytes`: at most so much of the device's memory, 0: what
  /// it takes not to wait. `threads`: of the host's copies, 0: every core. Throws Error no_device, not_built, device_failed.
  explicit Chunked(const Policy& policy = {}, std::int64_t device_bytes = 0, int threads = 0);
  ~Chunked();
  Chunked(Chunked&&) noexcept;
  Chunked& operator=(Chunked&&) noexcept;

  [[nodiscard]] const Policy& policy() const;
  /// Of all calls so far.
  [[nodiscard]] const ChunkedUse& use() const;
  /// Measured with two chunks; some milliseconds.
  [[nodiscard]] LinkRates measure_link() const;

  struct State;
  [[nodiscard]] State& state() const noexcept { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace gpu

namespace detail {

template <>
inline constexpr bool kTakesInit<gpu::Chunked> = true;

/// Both run calls on the host's arrays, and return the rung. Of `how` the rung and overflow count. Of a reduction the carry is
/// advanced.
std::string_view run_scan(const gpu::Chunked& chunked, const gpu::Policy& how, const ScanCall& call);
std::string_view run_reduce(const gpu::Chunked& chunked, const gpu::Policy& how, const ReduceCall& call);

template <class In, class Out, class Op>
ScanResult scan(const gpu::Chunked& chunked, const In& in, Out&& out, const Op& op, bool exclusive,
                ScanCarry<ElementOf<Out>> carry) {
  require_equal_lengths(std::ssize(in), std::ssize(out));
  ScanCall call;
  describe_elements<ElementOf<In>, ElementOf<Out>>(call, op);
  call.in = std::ranges::data(in);
  call.out = std::ranges::data(out);
  call.n = std::ssize(in);
  call.exclusive = exclusive;
  call.carry = &carry;
  return {call.n, run_scan(chunked, chunked.policy(), call)};
}

}  // namespace detail

/// Inclusive scan of arrays, vectors, spans of the host.
template <detail::InputArray In, detail::OutputArray Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementOf<In>, detail::ElementOf<Out>, Op>
ScanResult inclusive_scan(const gpu::Chunked& chunked, const In& in, Out&& out, Op op = {}) {
  return detail::scan(chunked, in, out, op, false, empty_carry<detail::ElementOf<Out>>());
}

/// Starts with `init`.
template <detail::InputArray In, detail::OutputArray Out, class Op>
  requires detail::RunsCompiled<detail::ElementOf<In>, detail::ElementOf<Out>, Op>
ScanResult inclusive_scan(const gpu::Chunked& chunked, const In& in, Out&& out, detail::ElementOf<Out> init, Op op) {
  return detail::scan(chunked, in, out, op, false, carry_of<detail::ElementOf<Out>>(init));
}

template <detail::InputArray In, detail::OutputArray Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementOf<In>, detail::ElementOf<Out>, Op>
ScanResult exclusive_scan(const gpu::Chunked& chunked, const In& in, Out&& out, detail::ElementOf<Out> init,
                          Op op = {}) {
  return detail::scan(chunked, in, out, op, true, carry_of<detail::ElementOf<Out>>(init));
}

/// init ⊕ x0 ⊕ … over an array, vector or span of the host.
template <detail::InputArray In, class T, class Op = Add>
  requires detail::RunsCompiled<detail::ElementOf<In>, T, Op>
Reduction<T> reduce(const gpu::Chunked& chunked, const In& in, T init, Op op = {}) {
  auto carry = carry_of(init);
  const auto call = detail::reduce_call(std::ranges::data(in), std::ssize(in), op, carry, nullptr);
  const std::string_view rung = detail::run_reduce(chunked, chunked.policy(), call);
  return {detail::value_of(carry), rung};
}

}  // namespace upsweep
