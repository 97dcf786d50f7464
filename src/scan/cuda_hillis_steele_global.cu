// SPDX-License-Identifier: Apache-2.0
// scan/cuda_hillis_steele_global.cu: the rounds of Hillis and Steele over the whole array, a launch for each.
//
// Idea   A launch is a barrier for the whole device: round k is a kernel that reads one copy of the array and writes the
//        other.
// Cost   1 + log2 n passes, each n read and n written. Work n·log2 n, depth log2 n.
// Needs  Any GPU; a second copy of the array.
// Limit  Memory traffic: 28 passes for 2^28 elements. cuda.hillis_steele_blocks makes the short strides in shared memory.
// From   The second compact_offsets report (double-buffered scan); Hillis and Steele, CACM 29 (1986).
#include <utility>

#include "scan/cuda_elements.cuh"
#include "scan/rungs.hpp"

namespace upsweep::scan {
namespace {

constexpr int kThreads = 256;

template <class T, class Op>
__global__ void copy_elements(Elements<T, Op> element, T* to, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) to[i] = element(i);
}

template <class T, class Op>
__global__ void round_of(Op op, const T* from, T* to, std::int64_t stride, std::int64_t n) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= n) return;
  to[i] = i >= stride ? op(from[i - stride], from[i]) : from[i];
}

}  // namespace

Status cuda_hillis_steele_global(const detail::ScanCall& call, const Policy&) noexcept {
  return with_elements(call, [&]<class T>(const auto& elements, T* out) {
    const auto blocks = static_cast<unsigned>((call.n + kThreads - 1) / kThreads);
    int rounds = 0;
    while ((std::int64_t{1} << rounds) < call.n) ++rounds;
    // The last round writes the output: so the elements are copied to where an even number of rounds leads there. In
    // place that may be where they come from, and a copy would overtake them: then there is a round more.
    if (rounds % 2 == 0 && call.in == call.out) ++rounds;
    T* from = rounds % 2 == 0 ? out : static_cast<T*>(call.launch->scratch);
    T* to = rounds % 2 == 0 ? static_cast<T*>(call.launch->scratch) : out;
    copy_elements<<<blocks, kThreads, 0, stream_of(call)>>>(elements, from, call.n);
    for (int round = 0; round < rounds; ++round) {
      round_of<<<blocks, kThreads, 0, stream_of(call)>>>(elements.op, from, to, std::int64_t{1} << round, call.n);
      std::swap(from, to);
    }
    return gpu::status_of(cudaGetLastError());
  });
}

gpu::WorkspaceSize cuda_hillis_steele_global_workspace(const detail::ScanCall& call) noexcept {
  return {.scratch = call.n * call.out_size};
}

}  // namespace upsweep::scan
