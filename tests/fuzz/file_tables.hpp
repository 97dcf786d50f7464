// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/file_tables.hpp: code of the fuzz targets of files: a file in memory, and every byte of a column.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "io/posix.hpp"
#include "tests/fuzz/input.hpp"
#include "upsweep/table.hpp"

namespace upsweep::fuzz {

inline bool bit(const void* bits, std::int64_t i) { return (static_cast<const std::uint8_t*>(bits)[i / 8] >> i % 8 & 1) != 0; }

/// Touches every byte, so that the sanitizers see it, and checks the column against the rules of upsweep/table.hpp.
inline std::int64_t touch(const Field& field, const ColumnData& data, std::int64_t rows) {
  const std::int64_t width = width_of(field.storage) / 8;
  std::int64_t sum = 0;
  require(data.values != nullptr, "no values");
  require(width == 0 || reinterpret_cast<std::uintptr_t>(data.values) % static_cast<std::uintptr_t>(width) == 0,
          "values are not aligned");
  for (std::int64_t i = 0; data.validity != nullptr && i < rows; ++i)
    sum += bit(data.validity, data.offset + i) ? 1 : 0;
  for (std::int64_t i = 0; i < rows * width; ++i) sum += static_cast<const std::uint8_t*>(data.values)[i];
  for (std::int64_t i = 0; width == 0 && i < rows; ++i) sum += bit(data.values, data.offset + i) ? 1 : 0;
  require((field.kind == ValueKind::text) == (data.dictionary != nullptr), "text and a dictionary do not go together");
  for (std::int64_t i = 0; data.dictionary && i < rows; ++i) {
    const std::int32_t index = static_cast<const std::int32_t*>(data.values)[i];
    require(index >= 0 && index < std::ssize(*data.dictionary), "an index past the dictionary");
    for (const char letter : (*data.dictionary)[static_cast<std::size_t>(index)]) sum += letter;
  }
  return sum;
}

/// A file that exists only in memory.
inline io::Descriptor memory_file(const std::uint8_t* data, std::size_t size) {
  io::Descriptor file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(file.get() >= 0 && ::write(file.get(), data, size) == static_cast<ssize_t>(size), "no file in memory");
  return file;
}

}  // namespace upsweep::fuzz
