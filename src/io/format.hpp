// SPDX-License-Identifier: Apache-2.0
// io/format.hpp: the file formats that are read, recognised by a file's first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace upsweep::io {

enum class Format : std::uint8_t { npy, parquet, ipc_file, ipc_stream, csv, zip, unknown };

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::int64_t kSniffBytes = 6;  ///< as many as the longest of the magic numbers

/// The format that a file starting with `head` has; never csv, which has no magic number.
constexpr Format sniff(std::string_view head) {
  if (head.starts_with(kNpyMagic)) return Format::npy;
  if (head.starts_with("PAR1") || head.starts_with("PARE")) return Format::parquet;  // PARE: with its footer encrypted
  if (head.starts_with("ARROW1")) return Format::ipc_file;
  if (head.starts_with("\xff\xff\xff\xff")) return Format::ipc_stream;  // the mark before each message since Arrow 0.15
  if (head.starts_with("PK\x03\x04")) return Format::zip;
  return Format::unknown;
}

/// The bytes that some programs begin a text file with, to say that it is UTF-8.
constexpr std::size_t size_of_mark(std::string_view text) { return text.starts_with("\xef\xbb\xbf") ? 3 : 0; }

constexpr std::string_view describe(Format format) {
  constexpr std::string_view kNames[] = {".npy", "Parquet", "Arrow IPC", "Arrow IPC", "CSV", "a .zip or .npz archive",
                                         "?"};
  return kNames[static_cast<int>(format)];
}

}  // namespace upsweep::io
