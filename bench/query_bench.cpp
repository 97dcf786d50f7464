// SPDX-License-Identifier: Apache-2.0
// bench/query_bench.cpp: times queries on columns in memory, on the CPU or a GPU, and reads of the bytes that they
// must touch.
//
//   query_bench [--input lineitem.parquet] [--rows N] [--copies N] [--threads N] [--cuda] [--seconds S] [--only NAME]
//
// Without --input the columns are generated with TPC-H's ranges. With --copies 10 every run uses the next of ten copies
// of the table, so that none of it is in cache. Prints one JSON object per query. bench/query_peers.py runs other
// engines.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "climb/clock.hpp"
#include "io/table.hpp"
#include "scale/staging.hpp"
#include "sql/expression/dictionary.hpp"
#include "system/pages.hpp"
#include "upsweep/device_table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::bench {
namespace {

constexpr std::int64_t kLine = 64;  // bytes of a cache line, which is what the CPU reads

struct Ask {
  std::string name;
  std::string sql;
  std::vector<std::string> keys;     ///< columns that are read for every row
  std::vector<std::string> payload;  ///< columns that are read for rows that `limit` keeps
  std::int64_t limit = 0;
};

std::vector<Ask> asks(const std::string& only) {
  std::vector<Ask> all;
  for (const std::int64_t z : {30, 100, 500, 1500, 5000, 10001}) {
    all.push_back({fmt::format("filtered sum, Z = {}", z),
                   fmt::format("SELECT SUM(l_quantity * l_extendedprice) FROM t WHERE l_suppkey < {}", z),
                   {"l_suppkey"},
                   {"l_quantity", "l_extendedprice"},
                   z});
  }
  all.push_back(
      {"TPC-H Q6",
       "SELECT SUM(l_extendedprice * l_discount) FROM t WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < "
       "date '1994-01-01' + interval '1' year AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
       {"l_shipdate", "l_discount", "l_quantity", "l_extendedprice"},
       {}});
  all.push_back(
      {"TPC-H Q1",
       "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (1 - "
       "l_discount)), SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity), "
       "AVG(l_extendedprice), AVG(l_discount), COUNT(*) FROM t WHERE l_shipdate <= date '1998-12-01' - interval "
       "'90' day GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
       {"l_returnflag", "l_linestatus", "l_shipdate", "l_quantity", "l_extendedprice", "l_discount", "l_tax"},
       {}});
  std::erase_if(all, [&](const Ask& ask) { return ask.name.find(only) == std::string::npos; });
  return all;
}

constexpr std::string_view kColumns[] = {"l_suppkey", "l_quantity", "l_extendedprice", "l_discount",
                                         "l_tax",     "l_shipdate", "l_returnflag",    "l_linestatus"};

/// A table's columns, each contiguous.
class Columns {
 public:
  explicit Columns(const Table& source) {
    std::vector<int> wanted;
    for (std::size_t c = 0; c < source.fields().size(); ++c) {
      const Field& field = source.fields()[c];
      if (std::find(std::begin(kColumns), std::end(kColumns), field.name) == std::end(kColumns)) continue;
      wanted.push_back(static_cast<int>(c));
      columns_.push_back({.field = field});
    }
    for (int row_group = 0; row_group < source.row_groups(); ++row_group) {
      const auto reader = source.open(row_group, wanted);
      for (Batch batch; reader->next(batch);) append(batch);
    }
  }
  /// TPC-H's ranges and types: a 32-bit supplier, decimals in cents, days, dictionaries.
  Columns(std::int64_t rows, unsigned seed) : rows_(rows) {
    std::mt19937_64 random(seed);
    const auto add = [&]<class T>(Field field, T least, T greatest) {
      std::uniform_int_distribution<std::int64_t> any(least, greatest);
      Column& column = columns_.emplace_back(Column{.field = std::move(field)});
      column.bytes.resize(static_cast<std::size_t>(rows) * sizeof(T));
      for (std::int64_t i = 0; i < rows; ++i)
        reinterpret_cast<T*>(column.bytes.data())[i] = static_cast<T>(any(random));
    };
    const auto decimal = [](const char* name) {
      return Field{.name = name, .kind = ValueKind::decimal, .storage = Storage::int64, .scale = 2};
    };
    const auto words = [&](const char* name, const std::vector<std::string>& all) {
      add(Field{.name = name, .kind = ValueKind::text, .storage = Storage::int32}, std::int32_t{0},
          static_cast<std::int32_t>(all.size()) - 1);
      for (const std::string& word : all) (void)columns_.back().words.entry(word);
    };
    add(Field{.name = "l_suppkey", .storage = Storage::uint32}, std::uint32_t{1}, std::uint32_t{10'000});
    add(decimal("l_quantity"), std::int64_t{1}, std::int64_t{50});
    for (std::int64_t i = 0; i < rows; ++i) reinterpret_cast<std::int64_t*>(columns_.back().bytes.data())[i] *= 100;
    add(decimal("l_extendedprice"), std::int64_t{90'100}, std::int64_t{10'494'950});
    add(decimal("l_discount"), std::int64_t{0}, std::int64_t{10});
    add(decimal("l_tax"), std::int64_t{0}, std::int64_t{8});
    add(Field{.name = "l_shipdate", .kind = ValueKind::date, .storage = Storage::int32}, std::int32_t{8'036},
        std::int32_t{10'561});
    words("l_returnflag", {"A", "N", "R"});
    words("l_linestatus", {"F", "O"});
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }

  /// A copy in separate memory.
  [[nodiscard]] std::unique_ptr<MemoryTable> copied(std::deque<cpu::Pages<std::byte>>& memory) const {
    auto table = std::make_unique<MemoryTable>();
    for (const Column& column : columns_) {
      cpu::Pages<std::byte>& copy = memory.emplace_back(std::ssize(column.bytes));
      std::memcpy(copy.data(), column.bytes.data(), column.bytes.size());
      std::shared_ptr<const Dictionary> words;
      if (column.field.kind == ValueKind::text) {
        words = std::make_shared<Dictionary>(column.words.all().begin(), column.words.all().end());
      }
      table->add(column.field, copy.data(), rows_, nullptr, words);
    }
    return table;
  }

  /// The bytes that a query must read: its keys as a whole, and the payload's cache lines with a row that is kept.
  [[nodiscard]] std::int64_t bytes_of(const Ask& ask) const {
    std::int64_t bytes = 0;
    for (const std::string& name : ask.keys) bytes += std::ssize(column(name).bytes);
    for (const std::string& name : ask.payload) {
      const std::int64_t in_line = kLine / (width_of(column(name).field.storage) / 8);
      std::int64_t last = -1;
      for (std::int64_t i = 0; i < rows_; ++i) {
        if (key(i) >= ask.limit || i / in_line == last) continue;
        last = i / in_line;
        bytes += kLine;
      }
    }
    return bytes;
  }

 private:
  struct Column {
    Field field;
    std::vector<std::byte> bytes;
    expression::DictionaryBuilder words;
  };

  [[nodiscard]] const Column& column(const std::string& name) const {
    for (const Column& column : columns_) {
      if (column.field.name == name) return column;
    }
    throw Error(Code::unknown_column, "the table has no column '" + name + "'");
  }
  [[nodiscard]] std::int64_t key(std::int64_t i) const {
    const Column& keys = column("l_suppkey");
    if (width_of(keys.field.storage) == 64) return reinterpret_cast<const std::int64_t*>(keys.bytes.data())[i];
    return reinterpret_cast<const std::uint32_t*>(keys.bytes.data())[i];
  }

  void append(const Batch& batch) {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      Column& column = columns_[c];
      const ColumnData& from = batch.columns[c];
      if (from.validity != nullptr) throw Error(Code::null_value, column.field.name + " has NULLs");
      const auto size = static_cast<std::size_t>(width_of(column.field.storage) / 8);
      const std::size_t before = column.bytes.size();
      column.bytes.resize(before + static_cast<std::size_t>(batch.rows) * size);
      std::memcpy(column.bytes.data() + before, from.values, static_cast<std::size_t>(batch.rows) * size);
      if (!from.dictionary) continue;
      auto* const indices = reinterpret_cast<std::int32_t*>(column.bytes.data() + before);
      for (std::int64_t i = 0; i < batch.rows; ++i) {
        indices[i] = column.words.entry((*from.dictionary)[static_cast<std::size_t>(indices[i])]);
      }
    }
    rows_ += batch.rows;
  }

  std::int64_t rows_ = 0;
  std::vector<Column> columns_;
};

struct Options {
  std::string input;
  std::int64_t rows = 6'001'215;
  int copies = 1;
  int threads = 0;
  double seconds = 2;
  std::string only;
  bool cuda = false;
};

std::string cells_of(const Answer& answer) {
  std::string all;
  for (const auto& row : answer.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) all += text(answer.columns[c], row[c]) + " ";
  }
  return all;
}

void time_on_cpu(const Options& options, const Columns& columns) {
  std::deque<cpu::Pages<std::byte>> memory;
  std::vector<std::unique_ptr<MemoryTable>> tables;
  tables.reserve(static_cast<std::size_t>(options.copies));
  for (int copy = 0; copy < options.copies; ++copy) tables.push_back(columns.copied(memory));
  const Policy policy = par.with_threads(options.threads);
  for (const Ask& ask : asks(options.only)) {
    const Query query(ask.sql, *tables[0]);
    const std::int64_t bytes = columns.bytes_of(ask);
    std::vector<std::unique_ptr<cpu::Pages<std::int64_t>>> arrays;
    for (int copy = 0; copy < options.copies; ++copy) {
      auto& array = arrays.emplace_back(std::make_unique<cpu::Pages<std::int64_t>>(bytes / 8));
      for (std::int64_t i = 0; i < bytes / 8; ++i) array->data()[i] = i;
    }
    std::size_t turn = 0;
    std::size_t read_turn = 0;
    std::int64_t unused = 0;
    std::string_view rung;
    std::vector<Contender> contenders;
    contenders.push_back(
        {.name = "query", .run = [&] { rung = query.run(policy, *tables[turn++ % tables.size()]).rung; }});
    contenders.push_back({.name = "read", .run = [&] {
                            const auto& array = *arrays[read_turn++ % arrays.size()];
                            unused += reduce(policy, array.data(), bytes / 8, std::int64_t{0}).value;
                          }});
    HostClock clock;
    time_in_turn(contenders, clock, options.seconds / static_cast<double>(contenders.size()));
    const double seconds = median(contenders[0].samples);
    const double read = median(contenders[1].samples);
    fmt::print(
        "{{\"query\":\"{}\",\"rung\":\"{}\",\"rows\":{},\"copies\":{},\"threads\":{},\"bytes\":{},"
        "\"seconds\":{},\"read_s\":{},\"of_read\":{:.3f}}}\n",
        ask.name, rung, columns.rows(), options.copies, options.threads, bytes, seconds, read, read / seconds);
    std::fflush(stdout);
  }
}

/// Measures the seconds by events that a GPU takes to read `bytes`, from one of `copies` arrays after the other.
class DeviceRead {
 public:
  DeviceRead(std::int64_t bytes, int copies) : n_(bytes / 8), copies_(copies) {
    for (int copy = 0; copy <= copies; ++copy) {
      void* const array = staging_.array(copy, n_ * 8);
      staging_.compute([&](const gpu::Policy&) { staging_.fill(array, 1, n_ * 8); });
    }
  }
  double seconds() {
    const double before = staging_.times().kernel;
    const auto* const from = static_cast<const std::int64_t*>(staging_.array(turn_++ % copies_, n_ * 8));
    auto* const sum = static_cast<std::int64_t*>(staging_.array(copies_, 8));
    staging_.compute([&](const gpu::Policy& policy) { (void)reduce_async(policy, from, n_, sum, std::int64_t{0}); });
    return staging_.times().kernel - before;
  }

 private:
  gpu::Staging staging_;
  std::int64_t n_;
  int copies_;
  int turn_ = 0;
};

void time_on_gpu(const Options& options, const Columns& columns) {
  std::deque<cpu::Pages<std::byte>> memory;
  const auto table = columns.copied(memory);
  const gpu::Policy policy;
  std::vector<std::unique_ptr<DeviceTable>> tables;
  tables.reserve(static_cast<std::size_t>(options.copies));
  for (int copy = 0; copy < options.copies; ++copy) tables.push_back(std::make_unique<DeviceTable>(policy, *table));
  for (const Ask& ask : asks(options.only)) {
    const Query query(ask.sql, *table);
    const Answer first = query.run(policy, *tables[0]);
    if (cells_of(first) != cells_of(query.run(par, *table)) || first.rows_by_cpu != 0) {
      throw Error(Code::malformed, ask.name + ": the answers of the GPU and the CPU differ");
    }
    const std::int64_t bytes = columns.bytes_of(ask);
    DeviceRead read(bytes, options.copies);
    std::size_t turn = 0;
    std::vector<double> kernel;
    std::vector<double> reading;
    std::vector<Contender> contenders;
    contenders.push_back({.name = "query", .run = [&] {
                            kernel.push_back(query.run(policy, *tables[turn++ % tables.size()]).times.kernel);
                          }});
    contenders.push_back({.name = "read", .run = [&] { reading.push_back(read.seconds()); }});
    HostClock clock;
    time_in_turn(contenders, clock, options.seconds / static_cast<double>(contenders.size()));
    fmt::print(
        "{{\"query\":\"{}\",\"rung\":\"{}\",\"rows\":{},\"copies\":{},\"bytes\":{},\"seconds\":{},"
        "\"kernel_s\":{},\"read_s\":{},\"of_read\":{:.3f},\"compile_s\":{}}}\n",
        ask.name, first.rung, columns.rows(), options.copies, bytes, median(contenders[0].samples), median(kernel),
        median(reading), median(reading) / median(kernel), first.times.compile);
    std::fflush(stdout);
  }
}

int run(const Options& options) {
  const Columns columns = options.input.empty() ? Columns(options.rows, 1) : Columns(*io::open_table(options.input));
  if (options.cuda) {
    time_on_gpu(options, columns);
  } else {
    time_on_cpu(options, columns);
  }
  return 0;
}

}  // namespace
}  // namespace upsweep::bench

int main(int argc, char** argv) {
  try {
    upsweep::bench::Options options;
    CLI::App app("Times queries on columns in memory.");
    app.add_option("--input", options.input, "read a lineitem table (default: generate the columns)");
    app.add_option("--rows", options.rows, "generate this number of rows");
    app.add_option("--copies", options.copies, "run on this number of copies of the table in turn");
    app.add_option("--threads", options.threads, "use this number of threads; 0: all cores");
    app.add_option("--seconds", options.seconds, "time each query for this number of seconds");
    app.add_option("--only", options.only, "run only queries whose name contains this text");
    app.add_flag("--cuda", options.cuda, "run on the first GPU");
    CLI11_PARSE(app, argc, argv);
    return upsweep::bench::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "query_bench: %s\n", error.what());
    return 1;
  }
}
