// SPDX-License-Identifier: Apache-2.0
// io/format.hpp: the supported file formats, and some unsupported ones, recognized by a file's first bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace upsweep::io {

enum class Format : std::uint8_t {
  npy,
  parquet,
  ipc_file,
  ipc_stream,
  csv,
  // Decompressed before they are read.
  gzip,
  zstd,
  bzip2,
  // Not supported; messages name them.
  zip,
  xz,
  lz4,
  workbook,
  unknown
};

constexpr bool is_read(Format format) { return format <= Format::csv; }
constexpr bool is_decompressed(Format format) { return format > Format::csv && format <= Format::bzip2; }

inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::string_view kParquetMagic = "PAR1";
inline constexpr std::string_view kIpcFileMagic = "ARROW1";
inline constexpr std::string_view kIpcStreamMark = "\xff\xff\xff\xff";  ///< before each message since Arrow 0.15
inline constexpr std::int64_t kSniffBytes = 6;                          ///< the length of the longest magic number

/// Returns the format of a file that starts with `head`. Never returns csv, which has no magic number.
constexpr Format sniff(std::string_view head) {
  if (head.starts_with(kNpyMagic)) return Format::npy;
  if (head.starts_with(kParquetMagic)) return Format::parquet;
  if (head.starts_with("PARE")) return Format::parquet;  // with an encrypted footer
  if (head.starts_with(kIpcFileMagic)) return Format::ipc_file;
  if (head.starts_with(kIpcStreamMark)) return Format::ipc_stream;
  if (head.starts_with("PK\x03\x04")) return Format::zip;
  if (head.starts_with("\x1f\x8b")) return Format::gzip;
  if (head.starts_with("\x28\xb5\x2f\xfd")) return Format::zstd;
  if (head.starts_with("BZh") && head.substr(4, 2) == "1A") return Format::bzip2;  // after the level, a digit
  if (head.starts_with(std::string_view("\xfd\x37zXZ\0", 6))) return Format::xz;
  if (head.starts_with("\x04\x22\x4d\x18")) return Format::lz4;
  if (head.starts_with("\xd0\xcf\x11\xe0\xa1\xb1")) return Format::workbook;
  return Format::unknown;
}

/// Returns the command that decompresses a file of that format; empty if there is none.
constexpr std::string_view decompressor(Format format) {
  switch (format) {
    case Format::gzip:
      return "gunzip";
    case Format::zstd:
      return "unzstd";
    case Format::bzip2:
      return "bunzip2";
    case Format::xz:
      return "unxz";
    case Format::lz4:
      return "unlz4";
    default:
      return "";
  }
}

/// Returns the size of the byte order mark of UTF-8, with which some programs begin a text file.
constexpr std::size_t size_of_mark(std::string_view text) { return text.starts_with("\xef\xbb\xbf") ? 3 : 0; }

constexpr std::string_view describe(Format format) {
  constexpr std::string_view kNames[] = {".npy",      "Parquet", "Arrow IPC",
                                         "Arrow IPC", "CSV",     "gzip",
                                         "Zstandard", "bzip2",   "a .zip or .npz archive",
                                         "xz",        "LZ4",     "an Excel workbook",
                                         "?"};
  return kNames[static_cast<int>(format)];
}

}  // namespace upsweep::io
