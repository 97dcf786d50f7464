// SPDX-License-Identifier: Apache-2.0
// tests/sparse.hpp: arrays of zeros that take memory only where they are written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace upsweep::tests {

/// Zeros, of which only what is written takes memory. The system gives them out where there is less: cpu::Pages it refuses.
template <class T>
class Sparse {
 public:
  explicit Sparse(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    (void)madvise(memory_, bytes_, MADV_HUGEPAGE);  // of which one page of zeros is read, too
  }
  ~Sparse() { munmap(memory_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  [[nodiscard]] T* data() { return static_cast<T*>(memory_); }
  T& operator[](std::int64_t i) { return data()[i]; }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace upsweep::tests
