// SPDX-License-Identifier: Apache-2.0
// scale/chunked/scan.cpp: scan of a host array on a GPU: each chunk is a shard that continues from the chunks before
// it.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "core/begin_scan.hpp"
#include "core/checked.hpp"
#include "scale/chunked/checked_sums.hpp"
#include "scale/chunked/ring.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/detail/shard_call.hpp"
#include "upsweep/detail/tuning/transfers.hpp"

namespace upsweep {
namespace {

using chunked::kExtremes;
using chunked::kWord;

constexpr std::string_view kLookahead = "cuda.lookahead";
/// Chunk lengths of other rungs are multiples of this.
constexpr std::int64_t kBlock = gpu::tuning::kChunksOrder.scan_elements;

class ChunkedScan {
 public:
  ChunkedScan(chunked::Ring& ring, const gpu::Policy& how, const detail::ScanCall& call)
      : ring_(ring),
        call_(call),
        policy_(ring.policy().with_rung(how.rung).with_overflow(Overflow::wrap)),
        checks_(chunked::checks(call, how.overflow)) {
    std::memcpy(before_.bytes, call.carry, static_cast<std::size_t>(call.carry_size));
  }

  std::string_view run() {
    detail::ScanCall none = call_;
    none.n = 0;
    policy_.rung =
        detail::run_scan(policy_, none);  // refuses unsupported calls; a shorter last chunk must not change this
    const bool by_shards = policy_.rung == kLookahead;
    const std::int64_t block = by_shards ? detail::shard_block(call_.in_type, call_.out_type) : kBlock;
    const std::int64_t length = ring_.length(call_.in_size, call_.out_size, block);
    if (by_shards && call_.n > length) {
      // Two rows in turn: the total of the chunks before the current one, and the total before the next one.
      rows_.emplace(gpu::WorkspaceSize{.scratch = 2 * detail::kRowsBytes}, policy_.device, policy_.stream,
                    *policy_.memory);
      run_from(0, call_.n, length);
      return policy_.rung;
    }
    // A chunk needs the total of the chunks before it, so chunks run one after the other.
    for (std::int64_t first = 0; first < call_.n; first += length) {
      run_from(first, std::min(length, call_.n - first), length);
    }
    return policy_.rung;
  }

 private:
  void run_from(std::int64_t first, std::int64_t n, std::int64_t length) {
    const bool sums = checks_ || !rows_;
    ring_.run({.in = static_cast<const std::byte*>(call_.in) + first * call_.in_size,
               .in_size = call_.in_size,
               .out = static_cast<std::byte*>(call_.out) + first * call_.out_size,
               .out_size = call_.out_size,
               .n = n,
               .length = length,
               .result_bytes = sums ? (kExtremes + 1) * kWord : 0,
               .compute = [&](const gpu::Policy&, const chunked::Chunk& chunk) { compute(chunk); },
               .done =
                   [&](const chunked::Chunk& chunk, const std::byte* results) {
                     if (checks_) chunked::require_fit(call_, results, chunk.count, before_.bytes);
                     if (sums) chunked::merge_elements(call_, results + kExtremes * kWord, 1, before_.bytes);
                   }});
  }

  void compute(const chunked::Chunk& chunk) {
    detail::ScanCall call = call_;
    call.in = chunk.in;
    call.out = chunk.out;
    call.n = chunk.count;
    if (checks_) chunked::put_extremes(policy_, call, chunk.in, chunk.count, chunk.results);
    if (chunk.results != nullptr) {
      chunked::put_total(policy_, call, chunk.in, chunk.count,
                         static_cast<std::byte*>(chunk.results) + kExtremes * kWord);
    }
    if (!rows_) {
      call.carry = before_.bytes;
      (void)detail::run_scan(policy_, call);
      return;
    }
    auto* const rows = static_cast<std::byte*>(rows_->scratch());
    const void* const before = chunk.number > 0 ? rows + chunk.number % 2 * detail::kRowsBytes : nullptr;
    const detail::ShardScan shard(policy_, call, nullptr, "");
    const void* const groups = shard.groups_buffer();
    shard.publish();
    shard.groups(shard.groups_buffer());
    shard.fold(before, {&groups, 1}, rows + (chunk.number + 1) % 2 * detail::kRowsBytes);
    shard.scan(before);
  }

  chunked::Ring& ring_;
  const detail::ScanCall& call_;
  gpu::Policy policy_;
  const bool checks_;
  detail::CarryBytes before_{};              // the total before the next chunk, if it is requested
  std::optional<gpu::Workspace> rows_ = {};  // used if chunks continue from each other on the device
};

}  // namespace

std::string_view detail::run_scan(const gpu::Chunked& chunked, const gpu::Policy& how, const ScanCall& call) {
  if (!same_or_apart(call.in, call.n * call.in_size, call.out, call.n * call.out_size)) {
    throw Error(Code::invalid_argument, "input and output overlap: they must be the same array or disjoint");
  }
  require_checks(call, how.overflow);
  const BegunScan begun(call);
  const std::string_view rung = ChunkedScan(chunked.state().ring, how, call).run();
  if (begun.zero_is_first()) std::memset(call.out, 0, static_cast<std::size_t>(call.out_size));
  return rung;
}

}  // namespace upsweep
