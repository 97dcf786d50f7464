// SPDX-License-Identifier: Apache-2.0
// io/tuning.hpp: how much of a file is read, decoded or written at a time, as data.
//
// Not here: limits of formats (the longest row, digits of a decimal), which are part of what a reader accepts.
#pragma once

#include <cstdint>

namespace upsweep::io::tuning {

/// Rows and bytes of text files.
struct TextTuning {
  std::int64_t row_group;    ///< bytes of a CSV file that one thread reads front to back
  std::int64_t block;        ///< bytes of a CSV file that are split into cells at a time
  std::int64_t first_block;  ///< bytes of rows that are checked before the types of columns are determined
  std::int64_t examined;     ///< bytes of rows that are scanned and examined together
  std::int64_t end_of_row;   ///< bytes that are read at a time to find the end of a row
  std::int64_t numbers;      ///< bytes of a text of numbers that are read at a time
  std::int64_t chunk;        ///< elements of a column of numbers that are converted at a time
  std::int64_t decoded;      ///< bytes of UTF-16 that are decoded at a time
  std::int64_t written;      ///< bytes of CSV and JSON that are written at a time
};
constexpr TextTuning kText{
    // Reading a row group takes about 10 ms. All threads therefore end within about 10 ms of each other.
    .row_group = std::int64_t{4} << 20,
    // Derived: a block and its cells stay in the L2 cache of a core.
    .block = std::int64_t{1} << 18,
    // Not measured: a quarter of a row group.
    .first_block = std::int64_t{1} << 20,
    // Derived: they stay in the L2 cache of a core.
    .examined = std::int64_t{1} << 19,
    // Not measured: a page.
    .end_of_row = std::int64_t{1} << 12,
    // Not measured.
    .numbers = std::int64_t{1} << 20,
    .chunk = std::int64_t{1} << 16,
    .decoded = std::int64_t{1} << 16,
    .written = std::int64_t{1} << 18};

/// Rows and bytes of binary files.
struct BinaryTuning {
  std::int64_t
      npy_batches;  ///< batches of an `.npy` column that are read into memory at a time; also a row group of a file
  std::int64_t npy_dropped;    ///< bytes of a mapped `.npy` file after which the pages that were read are released
  std::int64_t column_chunk;   ///< bytes of a Parquet column chunk up to which it is read as a whole
  std::int64_t stream_buffer;  ///< bytes that are read at a time from a longer column chunk
  std::int64_t arrow_rows;     ///< rows of a record batch that is written
  std::int64_t copied;         ///< bytes that are copied at a time from a temporary file to a pipe
};
constexpr BinaryTuning kBinary{
    // Not measured.
    .npy_batches = 32,
    .npy_dropped = std::int64_t{16} << 20,
    // Derived: pages are used in the buffer of the chunk. A stream would copy each page once more. The limit bounds the
    // memory, because a file may have a single chunk.
    .column_chunk = std::int64_t{1} << 24,
    // Not measured.
    .stream_buffer = std::int64_t{1} << 18,
    .arrow_rows = std::int64_t{1} << 20,
    .copied = std::int64_t{1} << 20};

/// When the dictionary of a column of strings is given up.
struct VocabularyTuning {
  std::int64_t tried;     ///< strings after which it is decided whether nearly all strings are different
  std::int64_t distinct;  ///< distinct strings among them from which on they are
};
// Not measured.
constexpr VocabularyTuning kVocabulary{.tried = 1 << 12, .distinct = (1 << 12) / 8 * 7};

}  // namespace upsweep::io::tuning
