// SPDX-License-Identifier: Apache-2.0
// cpu/list_values.hpp: what folds and scans of lists compute in, begin with, and are shared out by.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/visit.hpp"
#include "cpu/blocks.hpp"
#include "cpu/kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::cpu {

/// Elements of a block: lists of up to so many are folded one element after the other; longer ones are cut.
inline constexpr std::int64_t kListBlock = tuning::kBlocksOrder.list_block;

/// The type that kernels compute in where results are of a type: those of 1 and 2 bytes in 4.
constexpr Type computed_in(Type type) {
  if (type == Type::custom || size_of(type) >= 4) return type;
  return is_signed(type) ? Type::int32 : Type::uint32;
}

/// One element as another type has it.
inline void convert_one(Type from, Type to, const void* in, void* out) {
  if (from == to) {
    std::memcpy(out, in, static_cast<std::size_t>(size_of(from)));
  } else {
    kernels(Isa::best).convert[at(from)][at(to)](in, out, 1);
  }
}

/// One element of any compiled type.
struct Value {
  alignas(8) std::array<std::byte, 8> bytes{};
};

inline Value identity_of(Type type, Operator op) {
  Value value;
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    const T one = identity<T>(op);
    std::memcpy(value.bytes.data(), &one, sizeof one);
  });
  return value;
}

/// How many workers so many lists and bytes of content are worth.
inline int list_workers(std::int64_t lists, std::int64_t bytes, int threads) {
  return block_workers(parts(bytes + lists * tuning::kLists.list_bytes, kBlockBytes), threads);
}

/// Lists of a range that a worker takes at a time, by their mean length.
inline std::int64_t range_lists(std::int64_t lists, std::int64_t bytes, int workers) {
  if (workers == 1) return std::max<std::int64_t>(lists, 1);
  constexpr std::int64_t kRangeBytes = tuning::kLists.range_bytes;
  const std::int64_t mean = bytes / std::max<std::int64_t>(lists, 1) + 1;
  const std::int64_t most = std::clamp<std::int64_t>(kRangeBytes / mean, 256, 16384);
  return std::clamp<std::int64_t>(lists / (std::int64_t{workers} * 16), 1, most);
}

}  // namespace upsweep::cpu
