// SPDX-License-Identifier: Apache-2.0
// io/text_view.hpp: the interface to text that is computed from the bytes of a file whenever a part of it is read.
#pragma once

#include <cstdint>

#include "io/posix.hpp"

namespace upsweep::io {

/// Text of a file in another form, such as another encoding. The file is open while a view is read.
class TextView {
 public:
  virtual ~TextView() = default;
  /// Returns the size of the text, in bytes.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Copies `bytes` bytes from `offset` on to `to`, or fewer at the end, and returns how many. Any number of threads
  /// may call it. Throws upsweep::Error unreadable.
  virtual std::int64_t read(const Descriptor& file, char* to, std::int64_t bytes, std::int64_t offset) const = 0;
};

}  // namespace upsweep::io
