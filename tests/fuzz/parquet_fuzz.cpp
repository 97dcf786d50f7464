// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/parquet_fuzz.cpp: bytes as a Parquet file: every column of every row group is read, or refused as
// specified.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/table.hpp"
#include "tests/fuzz/file_tables.hpp"
#include "tests/fuzz/input.hpp"
#include "upsweep/error.hpp"

namespace upsweep::fuzz {
namespace {

// A few bytes of a file may describe billions of rows, and the same number of row groups: no more than these are read.
constexpr int kMostRowGroups = 8;
constexpr int kMostBatches = 4;

/// `skipped`: the number of full batches to skip.
void read_row_group(const Table& table, int row_group, const std::vector<int>& columns, std::int64_t skipped = 0) {
  const auto reader = table.open(row_group, columns);
  Batch batch;
  std::int64_t rows = skipped * kBatchRows;
  for (std::int64_t i = 0; i < skipped; ++i) reader->skip();
  for (int batches = 0; batches < kMostBatches; ++batches) {
    if (!reader->next(batch)) {
      require(rows == table.rows(row_group), "a part with other rows than it says");
      return;
    }
    require(rows % kBatchRows == 0, "a batch after one that is not full");
    require(batch.rows > 0 && batch.rows <= kBatchRows, "a batch with an invalid number of rows");
    require(batch.columns.size() == columns.size(), "other columns than asked for");
    rows += batch.rows;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      touch(table.fields()[static_cast<std::size_t>(columns[c])], batch.columns[c], batch.rows);
    }
  }
}

void read_all(const std::string& path) {
  const auto table = io::open_table(path);
  std::vector<int> columns;
  for (std::size_t i = 0; i < table->fields().size(); ++i) {
    if (table->fields()[i].unsupported.empty()) columns.push_back(static_cast<int>(i));
  }
  const int row_groups = std::min(table->row_groups(), kMostRowGroups);
  for (int row_group = 0; row_group < row_groups; ++row_group) {
    for (const int column : columns) {
      (void)table->range(row_group, column);
      const std::int64_t known = std::ssize(table->batch_ranges(row_group, column));
      require(known == 0 || known == (table->rows(row_group) + kBatchRows - 1) / kBatchRows, "ranges of other batches");
    }
    if (!columns.empty()) read_row_group(*table, row_group, columns);
  }
  // Also one by one: an error in one column must not prevent reading the others.
  for (const int column : columns) {
    try {
      if (row_groups > 0) read_row_group(*table, 0, {column});
      if (row_groups > 0 && table->rows(0) >= kBatchRows) read_row_group(*table, 0, {column}, 1);
    } catch (const Error&) {
      continue;
    }
  }
}

}  // namespace
}  // namespace upsweep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace upsweep;
  if (size < 4 || std::string(data, data + 4) != "PAR1") return 0;
  const io::Descriptor file = fuzz::memory_file(data, size);
  try {
    fuzz::read_all("/proc/self/fd/" + std::to_string(file.get()));
  } catch (const Error& error) {
    const std::string message = error.what();
    fuzz::require(!message.empty() && error.code() != Code::ok, "an error that says nothing");
  }
  return 0;
}
