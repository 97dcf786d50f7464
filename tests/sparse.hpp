// SPDX-License-Identifier: Apache-2.0
// tests/sparse.hpp: arrays of zeros that only use memory for pages that are written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace upsweep::tests {

/// Zeros, which only use memory for pages that are written. The system provides more of them than there is memory;
/// cpu::Pages would refuse.
template <class T>
class Sparse {
 public:
  explicit Sparse(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    (void)madvise(memory_, bytes_, MADV_HUGEPAGE);  // a huge page of zeros is also used for reads
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
