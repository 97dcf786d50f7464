// SPDX-License-Identifier: Apache-2.0
// bench/buffer.hpp: page-aligned memory on huge pages where the system has them, as NumPy's large arrays are.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace upsweep::bench {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::int64_t n) : bytes_(static_cast<std::size_t>(n + 1) * sizeof(T)) {
    // Not reserved: what is never written takes no memory, however long the array.
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)madvise(memory, bytes_, MADV_HUGEPAGE);  // advice: it may be refused
    data_ = static_cast<T*>(memory);
  }
  ~Buffer() { munmap(data_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  T& operator[](std::int64_t i) { return data_[i]; }

 private:
  T* data_;
  std::size_t bytes_;
};

}  // namespace upsweep::bench
