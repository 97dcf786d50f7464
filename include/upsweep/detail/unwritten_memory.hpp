// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/unwritten_memory.hpp: memory of vectors whose new elements have any value, as they are written anyway.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace upsweep::detail {

template <class T>
struct UnwrittenMemory : std::allocator<T> {
  UnwrittenMemory() = default;
  template <class U>
  explicit UnwrittenMemory(const UnwrittenMemory<U>& /*other*/) noexcept {}
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
};

/// A vector of numbers; what resize() adds to it is not initialised.
template <class T>
using Unwritten = std::vector<T, UnwrittenMemory<T>>;

}  // namespace upsweep::detail
