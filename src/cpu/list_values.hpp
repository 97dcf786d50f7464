// SPDX-License-Identifier: Apache-2.0
// cpu/list_values.hpp: the types in which folds and scans of lists compute, and their initial values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/visit.hpp"
#include "cpu/kernels.hpp"
#include "cpu/tuning/blocks.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::cpu {

/// Elements of a block: lists of up to this length are folded one element after the other. Longer lists are folded
/// block by block.
inline constexpr std::int64_t kListBlock = tuning::kBlocksOrder.list_block;

/// The type in which kernels compute results of a type: types of 1 and 2 bytes use 4 bytes.
constexpr Type computed_in(Type type) {
  if (type == Type::custom || size_of(type) >= 4) return type;
  return is_signed(type) ? Type::int32 : Type::uint32;
}

/// Converts one element to another type.
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

}  // namespace upsweep::cpu
