// SPDX-License-Identifier: Apache-2.0
// upsweep/chunked.hpp: scans and reductions of host arrays on a GPU, chunk by chunk, also if larger than its memory.
//
//   const upsweep::gpu::Chunked there;                    // device 0
//   upsweep::inclusive_scan(there, prices, running);      // arrays, vectors and spans in host memory
//   const double sum = upsweep::reduce(there, prices, 0.0);
//
// Work      three steps run at the same time, on three consecutive chunks: a copy to the device, the computation, and
//           the copy back. They use both copy engines and the multiprocessors. Calls return when all chunks are done.
//           Only one thread may make calls at a time.
// Memory    in device memory, a few chunks of up to 16 MB, or the chunks that fit `device_bytes`, from the policy's
//           resource. The chunks are kept for the next call. Pinned host memory (cudaHostAlloc, cudaHostRegister) is
//           copied directly. Any other host memory is copied by `threads` threads through pinned chunks: one pinned
//           chunk for each chunk in device memory.
// Speed     if arrays are pinned, a call runs at the rate of the link: on PCIe 5, 54 GB/s in one direction, 49 GB/s in
//           each direction if both are used. If arrays are not pinned, host memory must also copy the transferred data.
//           `use()` shows for which of these a call waited. A CPU is faster than the GPU if it reads its memory faster
//           than the link transfers.
// Floats    scans by cuda.lookahead have the bits of a scan of an array in device memory. Reductions add up 8 MB at a
//           time, in order. Therefore the bits of both do not depend on device_bytes. In other scan rungs, the folds of
//           blocks end at the end of a chunk. These rungs process one chunk after the other, without overlap.
// Overflow  integers wrap (modulo 2^bits). With Overflow::checked, a call uses the minimum and maximum element of each
//           chunk to prove that sums fit. Otherwise sums are refused (unsupported), and the results are unspecified.
// Errors    Error: those of gpu.hpp; invalid_argument if device_bytes are too few for a chunk.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// The time of all calls so far, and the busy seconds of each step of a transfer. The steps run at the same time.
struct ChunkedUse {
  double seconds = 0;             ///< of the calls
  StagingTimes times;             ///< of the copy engines and of kernels
  double host_copies = 0;         ///< to and from pinned memory
  std::int64_t to_device = 0;     ///< bytes
  std::int64_t to_host = 0;       ///< bytes
  std::int64_t device_bytes = 0;  ///< the maximum that chunks used at a time

  ChunkedUse& operator+=(const ChunkedUse& more);
};

/// The step that calls wait for.
enum class Bound : std::uint8_t {
  to_device,    ///< transfers over the link to the device
  to_host,      ///< transfers over the link to the host
  host_memory,  ///< copies to and from pinned memory
  kernels,
};
/// The step that was busy for the longest time. `share` is its share of the time of the calls.
struct BoundShare {
  Bound bound;
  double share;
};
[[nodiscard]] BoundShare bound_of(const ChunkedUse& use);

/// Bytes per second of copies of pinned memory.
struct LinkRates {
  double to_device = 0;
  double to_host = 0;
  double both = 0;  ///< in each direction, at the same time
};

/// A GPU that processes host arrays chunk by chunk.
class Chunked {
 public:
  /// Uses the policy's device, memory, rung and overflow. `device_bytes` is the maximum of device memory; 0: enough
  /// that steps never wait for a free chunk. `threads` is the number of threads that copy host memory; 0: every core.
  /// Throws Error no_device, not_built, device_failed.
  explicit Chunked(const Policy& policy = {}, std::int64_t device_bytes = 0, int threads = 0);
  ~Chunked();
  Chunked(Chunked&&) noexcept;
  Chunked& operator=(Chunked&&) noexcept;

  [[nodiscard]] const Policy& policy() const;
  /// Returns the use of all calls so far.
  [[nodiscard]] const ChunkedUse& use() const;
  /// Measures the link with two chunks, in some milliseconds.
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

/// Run calls on host arrays and return the rung. They use the rung and overflow of `how`. A reduction advances its
/// carry.
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

/// Computes the inclusive scan of a range in host memory (array, vector, span).
template <detail::InputArray In, detail::OutputArray Out, class Op = Add>
  requires detail::RunsCompiled<detail::ElementOf<In>, detail::ElementOf<Out>, Op>
ScanResult inclusive_scan(const gpu::Chunked& chunked, const In& in, Out&& out, Op op = {}) {
  return detail::scan(chunked, in, out, op, false, empty_carry<detail::ElementOf<Out>>());
}

/// Computes the inclusive scan of a range in host memory, starting with `init`.
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

/// Returns init ⊕ x0 ⊕ … over a range in host memory (array, vector, span).
template <detail::InputArray In, class T, class Op = Add>
  requires detail::RunsCompiled<detail::ElementOf<In>, T, Op>
Reduction<T> reduce(const gpu::Chunked& chunked, const In& in, T init, Op op = {}) {
  auto carry = carry_of(init);
  const auto call = detail::reduce_call(std::ranges::data(in), std::ssize(in), op, carry, nullptr);
  const std::string_view rung = detail::run_reduce(chunked, chunked.policy(), call);
  return {detail::value_of(carry), rung};
}

}  // namespace upsweep
