// SPDX-License-Identifier: Apache-2.0
// core/apart.hpp: the arrays of a call, and whether its outputs overlap other arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "upsweep/lists.hpp"

namespace upsweep {

class CallArrays {  // NOLINT(cppcoreguidelines-pro-type-member-init): the buffer is written before it is read
 public:
  void read(const void* data, std::int64_t count, std::int64_t element_size = 1) {
    read_.push_back(bytes_of(data, count, element_size));
  }
  void read(const Mask& mask);
  /// Adds the bounds of lists, and the mask of null lists.
  void read(const Lists& lists);
  void write(const void* data, std::int64_t count, std::int64_t element_size = 1) {
    written_.push_back(bytes_of(data, count, element_size));
  }
  /// Throws invalid_argument if a written array overlaps another.
  void require_apart() const;

 private:
  struct Bytes {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  static Bytes bytes_of(const void* data, std::int64_t count, std::int64_t element_size);
  static bool overlap(const Bytes& a, const Bytes& b) { return a.begin < b.end && b.begin < a.end; }

  /// Holds the arrays of most calls. An allocation from the heap would take as long as a small call.
  std::array<std::byte, 512> buffer_;
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
  std::pmr::vector<Bytes> read_{&memory_};
  std::pmr::vector<Bytes> written_{&memory_};
};

}  // namespace upsweep
