// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/unwritten_memory.hpp: memory of large vectors, and of vectors whose new elements are not initialized.
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace upsweep::detail {

/// Allocates memory. Throws std::bad_alloc.
[[nodiscard]] void* take_memory(std::size_t bytes);
/// Returns memory; `bytes` must be the allocated size. While no LargeMemoryUse exists, the system may reclaim the
/// returned memory when it needs it, except for a small part.
void give_memory(void* memory, std::size_t bytes) noexcept;

/// While an object of this class exists, returned memory is kept for the next allocations.
class LargeMemoryUse {
 public:
  LargeMemoryUse();
  ~LargeMemoryUse();
  LargeMemoryUse(const LargeMemoryUse&) = delete;
  LargeMemoryUse& operator=(const LargeMemoryUse&) = delete;
};

/// An allocator that uses these functions.
template <class T>
struct LargeMemory {
  using value_type = T;  // NOLINT(readability-identifier-naming): the name is required of allocators

  LargeMemory() = default;
  template <class U>
  explicit LargeMemory(const LargeMemory<U>& /*other*/) noexcept {}
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_memory(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t count) noexcept { give_memory(memory, count * sizeof(T)); }
  friend bool operator==(const LargeMemory& /*a*/, const LargeMemory& /*b*/) { return true; }
};

template <class T>
struct UnwrittenMemory : LargeMemory<T> {
  UnwrittenMemory() = default;
  template <class U>
  explicit UnwrittenMemory(const UnwrittenMemory<U>& /*other*/) noexcept {}
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
};

/// A vector that may become large.
template <class T>
using Large = std::vector<T, LargeMemory<T>>;

/// Returns a vector's memory, which assigning {} does not.
template <class Vector>
void free_vector(Vector& vector) {
  Vector().swap(vector);
}

/// A vector of numbers. resize() does not initialize the new elements.
template <class T>
using Unwritten = std::vector<T, UnwrittenMemory<T>>;

}  // namespace upsweep::detail
