// SPDX-License-Identifier: Apache-2.0
// bench/parquet_bench.cpp: times the stages of reading Parquet on one thread: file, Snappy, decoding, batches, query.
//
//   parquet_bench FILE.parquet [--columns a,b] [--sql "SELECT …"] [--seconds S]
//
// Every stage also does the work of the stages above it, except the query, which reads what its SQL names. Prints for
// each the median in milliseconds, nanoseconds per row, the output in bytes, and its rate.
#include <arrow/array/array_base.h>
#include <arrow/buffer.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/metadata.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "climb/clock.hpp"
#include "io/parquet_pages.hpp"
#include "io/parquet_rows.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/query.hpp"

namespace upsweep::bench {
namespace {

struct Options {
  std::string input;
  std::vector<std::string> columns;
  std::string sql;
  double seconds = 1;
};

/// The input of all stages.
struct Input {
  std::string path;
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  io::ParquetSchema schema;
  std::vector<int> columns;

  [[nodiscard]] const parquet::FileMetaData& metadata() const { return *schema.metadata; }
};

/// Returns the number of bytes that a stage produces.
using Stage = std::function<std::int64_t(const Input&)>;

template <class F>
void each_chunk(const Input& input, const F& f) {
  for (int group = 0; group < input.metadata().num_row_groups(); ++group) {
    const auto rows = input.metadata().RowGroup(group);
    for (const int column : input.columns) f(group, *rows->ColumnChunk(column));
  }
}

std::int64_t read_file(const Input& input) {
  std::int64_t bytes = 0;
  each_chunk(input, [&](int, const parquet::ColumnChunkMetaData& chunk) {
    const auto [start, length] = io::range_in_file(chunk);
    bytes += input.file->ReadAt(start, length).ValueOrDie()->size();
  });
  return bytes;
}

std::int64_t decompress(const Input& input) {
  std::int64_t bytes = 0;
  each_chunk(input, [&](int, const parquet::ColumnChunkMetaData& chunk) {
    const auto pages = io::open_snappy_pages(input.file, input.metadata(), chunk, parquet::default_reader_properties());
    if (pages == nullptr) throw upsweep::Error(Code::unsupported, "a column is not compressed with Snappy");
    while (const auto page = pages->NextPage()) bytes += page->size();
  });
  return bytes;
}

std::int64_t decode(const Input& input) {
  std::int64_t bytes = 0;
  for (int group = 0; group < input.metadata().num_row_groups(); ++group) {
    auto rows = io::ParquetRows::open(input.path, input.schema, group, input.columns).ValueOrDie();
    while (const auto batch = rows.next().ValueOrDie()) {
      for (const auto& column : batch->columns()) bytes += column->data()->buffers[1]->size();
    }
  }
  return bytes;
}

std::int64_t batches(const std::string& path, const std::vector<int>& columns) {
  const auto table = io::open_table(path);
  std::int64_t bytes = 0;
  for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
    const auto reader = table->open(row_group, columns);
    for (Batch batch; reader->next(batch);) {
      for (const int column : columns) {
        bytes += batch.rows * width_of(table->fields()[static_cast<std::size_t>(column)].storage) / 8;
      }
    }
  }
  return bytes;
}

void run(const Options& options) {
  Input input{options.input,
              arrow::io::ReadableFile::Open(options.input).ValueOrDie(),
              io::read_parquet_schema(options.input).ValueOrDie(),
              {}};
  const auto table = io::open_table(options.input);
  for (const std::string& name : options.columns) {
    const auto& fields = table->fields();
    const auto found =
        std::find_if(fields.begin(), fields.end(), [&](const Field& field) { return field.name == name; });
    if (found == fields.end()) throw upsweep::Error(Code::unknown_column, "unknown column " + name);
    input.columns.push_back(static_cast<int>(found - fields.begin()));
  }
  std::sort(input.columns.begin(), input.columns.end());
  const auto rows = static_cast<double>(table->rows());
  std::vector<std::pair<std::string, Stage>> stages{
      {"file read", read_file},
      {"+ decompressed", decompress},
      {"+ decoded", decode},
      {"+ as batches", [&](const Input& from) { return batches(options.input, from.columns); }}};
  if (!options.sql.empty()) {
    stages.emplace_back("query", [&](const Input&) {
      const auto opened = io::open_table(options.input);
      Policy one;
      one.threads = 1;
      (void)Query(options.sql, *opened).run(one, *opened);
      return std::int64_t{0};
    });
  }
  std::vector<std::int64_t> bytes(stages.size());
  std::vector<Contender> contenders;
  contenders.reserve(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    contenders.push_back({stages[s].first, [&, s] { bytes[s] = stages[s].second(input); }});
  }
  HostClock clock;
  time_in_turn(contenders, clock, options.seconds);
  fmt::print("{:16}{:>10}{:>10}{:>12}{:>10}\n", "stage", "ms", "ns/row", "MB", "GB/s");
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const double median = contenders[s].median();
    const auto out = static_cast<double>(bytes[s]);
    fmt::print("{:16}{:10.1f}{:10.2f}{:12.1f}{:10.2f}\n", stages[s].first, median * 1e3, median / rows * 1e9, out / 1e6,
               out / median / 1e9);
  }
}

}  // namespace
}  // namespace upsweep::bench

int main(int argc, char** argv) {
  try {
    upsweep::bench::Options options;
    CLI::App app("Times the stages of reading Parquet.");
    app.add_option("input", options.input, "read this Parquet file")->required();
    app.add_option("--columns", options.columns, "read these columns of numbers, compressed with Snappy")
        ->delimiter(',')
        ->required();
    app.add_option("--sql", options.sql, "also time this query of the file");
    app.add_option("--seconds", options.seconds, "time each stage for this number of seconds");
    CLI11_PARSE(app, argc, argv);
    upsweep::bench::run(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "parquet_bench: %s\n", error.what());
    return 1;
  }
}
