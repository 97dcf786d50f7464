// SPDX-License-Identifier: Apache-2.0
// core/apart.hpp: the arrays of a call, and whether those that it writes lie apart from all others.
#pragma once

#include <cstdint>
#include <vector>

#include "upsweep/lists.hpp"

namespace upsweep {

class CallArrays {
 public:
  void read(const void* data, std::int64_t count, std::int64_t element_size = 1) {
    read_.push_back(bytes_of(data, count, element_size));
  }
  void read(const Mask& mask);
  /// Their bounds, and which of them are null.
  void read(const Lists& lists);
  void write(const void* data, std::int64_t count, std::int64_t element_size = 1) {
    written_.push_back(bytes_of(data, count, element_size));
  }
  /// Throws invalid_argument where an array that is written overlaps another.
  void require_apart() const;

 private:
  struct Bytes {
    std::uintptr_t begin;
    std::uintptr_t end;
  };
  static Bytes bytes_of(const void* data, std::int64_t count, std::int64_t element_size);
  static bool overlap(const Bytes& a, const Bytes& b) { return a.begin < b.end && b.begin < a.end; }

  std::vector<Bytes> read_;
  std::vector<Bytes> written_;
};

}  // namespace upsweep
