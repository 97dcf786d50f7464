// SPDX-License-Identifier: Apache-2.0
// scale/chunked/reduce.cpp: reduction of a host array on a GPU: the GPU reduces blocks of fixed length, the host folds
// the totals in order.
#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/checked.hpp"
#include "scale/chunked/checked_sums.hpp"
#include "scale/chunked/ring.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/detail/tuning/transfers.hpp"

namespace upsweep {
namespace {

/// The GPU adds floats in the order of these blocks, independent of the chunk length.
constexpr std::int64_t kBlockBytes = gpu::tuning::kChunksOrder.reduce_bytes;

}  // namespace

std::string_view detail::run_reduce(const gpu::Chunked& chunked, const gpu::Policy& how, const ReduceCall& call) {
  using chunked::kWord;
  require_checks(call, how.overflow);
  chunked::Ring& ring = chunked.state().ring;
  const gpu::Policy wraps = ring.policy().with_rung(how.rung).with_overflow(Overflow::wrap);
  CarryBytes nothing{};
  const std::int64_t length = kBlockBytes / call.in_size;
  ReduceCall block = call;
  block.carry = nothing.bytes;
  block.n = std::min(call.n, length);
  gpu::Workspace workspace(reduce_workspace(wraps, block), wraps.device, wraps.stream, *wraps.memory);
  const gpu::Policy in_workspace = wraps.with_workspace(workspace);
  if (call.n == 0) return run_reduce_and_wait(wraps, block);  // refuses unsupported calls here also
  const bool checks = chunked::checks(call, how.overflow);
  const std::int64_t before_totals = checks ? chunked::kExtremes * kWord : 0;
  // whole blocks, or the entire array
  const std::int64_t in_chunk = ring.length(call.in_size, 0, std::min(call.n, length));
  std::string_view rung;
  const auto compute = [&](const gpu::Policy& policy, const chunked::Chunk& chunk) {
    const auto* const in = static_cast<const std::byte*>(chunk.in);
    auto* const results = static_cast<std::byte*>(chunk.results);
    if (checks) chunked::put_extremes(policy, call, in, chunk.count, results);
    for (std::int64_t first = 0; first < chunk.count; first += length) {
      block.in = in + first * call.in_size;
      block.n = std::min(length, chunk.count - first);
      block.out = results + before_totals + first / length * call.out_size;
      rung = run_reduce(in_workspace, block);
    }
  };
  const auto done = [&](const chunked::Chunk& chunk, const std::byte* results) {
    if (checks) chunked::require_fit(call, results, chunk.count, call.carry);
    chunked::merge_elements(call, results + before_totals, (chunk.count + length - 1) / length, call.carry);
  };
  ring.run({.in = call.in,
            .in_size = call.in_size,
            .n = call.n,
            .length = in_chunk,
            .result_bytes = before_totals + (in_chunk + length - 1) / length * call.out_size,
            .compute = compute,
            .done = done});
  return rung;
}

}  // namespace upsweep
