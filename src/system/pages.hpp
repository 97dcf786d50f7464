// SPDX-License-Identifier: Apache-2.0
// system/pages.hpp: large working memory on huge pages, zero until it is written.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace upsweep::cpu {

/// `count` elements, all bytes zero. Throws std::bad_alloc.
template <class T>
class Pages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Pages() = default;
  explicit Pages(std::int64_t count) : bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    if (bytes_ == 0) return;
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)madvise(memory, bytes_, MADV_HUGEPAGE);  // only advice: it may be refused
    data_ = static_cast<T*>(memory);
  }
  ~Pages() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] T& operator[](std::int64_t i) { return data_[i]; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(bytes_ / sizeof(T)); }

 private:
  T* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace upsweep::cpu
