// SPDX-License-Identifier: Apache-2.0
// sql/query/encoded_batch.hpp: the format that the encoder and the decoder of groups share.
//
// A column is stored as its minimum, a width, and the difference of each value from the minimum. Strings are a
// dictionary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sql/query/plan.hpp"
#include "system/hash.hpp"

namespace upsweep::query {

// Groups of a batch: enough that the header of each column is negligible, and few enough that they fit in cache with
// their bytes.
inline constexpr std::int64_t kMostGroupsOfBatch = 4096;
inline constexpr std::size_t kMostLetters = 1 << 20;  // bytes of strings in a batch, unless one group has more

// Values of up to this many bits may begin at any bit, because a load of eight bytes contains them. Wider values are
// whole words.
inline constexpr unsigned kMostPacked = 56;
inline constexpr unsigned kWord = 64;
inline constexpr unsigned kWide = 128;

/// Precedes an encoded batch.
struct EncodedBatchHeader {
  std::uint64_t bytes;  ///< bytes of the encoded batch, including this one
  std::uint64_t check;  ///< hash of the bytes after it
  std::int64_t count;
};

inline std::uint64_t check_of(std::span<const std::byte> body) {
  constexpr Secret kOfAllProcesses{.a = 0x9e3779b97f4a7c15, .b = 0xc2b2ae3d27d4eb4f};
  return hash_of(kOfAllProcesses, {reinterpret_cast<const char*>(body.data()), body.size()});
}

constexpr std::size_t bytes_for(std::size_t count, unsigned width) { return (count * width + 7) / 8; }

inline bool has_value(const Aggregate& aggregate) { return is_extreme(aggregate) || aggregate.fold == Fold::sum; }
inline bool is_real(const Aggregate& aggregate) { return aggregate.type.kind == ValueKind::real; }

}  // namespace upsweep::query
