// SPDX-License-Identifier: Apache-2.0
// tests/table_test.cpp: tables of valid, invalid and hostile files: types, NULLs, strings, batches, row groups and
// ranges.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "io/table.hpp"
#include "tests/files.hpp"
#include "upsweep/error.hpp"
#include "upsweep/interval.hpp"

#if UPSWEEP_HAVE_ARROW
#include <parquet/column_writer.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/size_statistics.h>
#include <parquet/statistics.h>

#include "io/csv_rows.hpp"
#include "io/parquet_range.hpp"
#include "io/source.hpp"
#endif

namespace upsweep::io {
namespace {

bool bit(const void* bits, std::int64_t i) { return (static_cast<const std::uint8_t*>(bits)[i / 8] >> i % 8 & 1) != 0; }

bool is_null(const ColumnData& data, std::int64_t row) {
  return data.validity != nullptr && !bit(data.validity, data.offset + row);
}

// Reads every batch of a row group, and checks what the interface specifies about batches.
void each_batch(const Table& table, int row_group, const std::vector<int>& columns,
                const std::function<void(const Batch&)>& use) {
  const auto reader = table.open(row_group, columns);
  Batch batch;
  std::int64_t rows = 0;
  std::int64_t before = kBatchRows;
  std::optional<std::int64_t> first_row;
  while (reader->next(batch)) {
    EXPECT_EQ(before, kBatchRows);  // all except the last
    EXPECT_GT(batch.rows, 0);
    EXPECT_LE(batch.rows, kBatchRows);
    EXPECT_EQ(batch.columns.size(), columns.size());
    EXPECT_EQ(batch.first_row, first_row.value_or(batch.first_row) + rows);
    first_row = first_row.value_or(batch.first_row);
    use(batch);
    rows += batch.rows;
    before = batch.rows;
  }
  EXPECT_FALSE(reader->next(batch));
  EXPECT_EQ(batch.rows, 0);
  if (table.rows(row_group) >= 0) {
    EXPECT_EQ(rows, table.rows(row_group));
  }
}

int column_of(const Table& table, std::string_view name) {
  for (std::size_t i = 0; i < table.fields().size(); ++i) {
    if (table.fields()[i].name == name) return static_cast<int>(i);
  }
  ADD_FAILURE() << "no column " << name;
  return 0;
}

const Field& field_of_column(const Table& table, std::string_view name) {
  return table.fields()[static_cast<std::size_t>(column_of(table, name))];
}

template <class T>
using Optionals = std::vector<std::optional<T>>;

// Returns the elements of a column in all row groups; NULLs are nullopt.
template <class T>
Optionals<T> numbers(const Table& table, const std::string& name) {
  EXPECT_EQ(width_of(field_of_column(table, name).storage), int{8 * sizeof(T)});
  Optionals<T> all;
  for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
    each_batch(table, row_group, {column_of(table, name)}, [&](const Batch& batch) {
      const ColumnData& data = batch.columns[0];
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.values) % sizeof(T), 0U);
      for (std::int64_t i = 0; i < batch.rows; ++i) {
        all.push_back(is_null(data, i) ? std::nullopt : std::optional<T>(static_cast<const T*>(data.values)[i]));
      }
    });
  }
  return all;
}

Optionals<bool> booleans(const Table& table, const std::string& name) {
  EXPECT_EQ(field_of_column(table, name).kind, ValueKind::boolean);
  EXPECT_EQ(field_of_column(table, name).storage, Storage::bit);
  Optionals<bool> all;
  for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
    each_batch(table, row_group, {column_of(table, name)}, [&](const Batch& batch) {
      const ColumnData& data = batch.columns[0];
      for (std::int64_t i = 0; i < batch.rows; ++i) {
        all.push_back(is_null(data, i) ? std::nullopt : std::optional(bit(data.values, data.offset + i)));
      }
    });
  }
  return all;
}

// Reads everything, whatever its type: for hostile files. Touches every byte, so that sanitizers see it.
std::int64_t touch_all(const std::string& path) {
  const auto table = open_table(path);
  std::vector<int> columns;
  for (std::size_t i = 0; i < table->fields().size(); ++i) {
    if (table->fields()[i].unsupported.empty()) columns.push_back(static_cast<int>(i));
  }
  if (columns.empty()) return 0;  // without columns, a file can claim any number of rows
  std::int64_t sum = 0;
  for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
    for (const int column : columns) {
      sum += std::isfinite(table->range(row_group, column).least) ? 1 : 0;
      sum += std::ssize(table->batch_ranges(row_group, column));
    }
    each_batch(*table, row_group, columns, [&](const Batch& batch) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const ColumnData& data = batch.columns[c];
        const std::int64_t width = width_of(table->fields()[static_cast<std::size_t>(columns[c])].storage) / 8;
        for (std::int64_t i = 0; i < batch.rows; ++i) sum += is_null(data, i) ? 1 : 0;
        for (std::int64_t i = 0; i < batch.rows * width; ++i) sum += static_cast<const std::uint8_t*>(data.values)[i];
        for (std::int64_t i = 0; width == 0 && i < batch.rows; ++i) sum += bit(data.values, data.offset + i) ? 1 : 0;
        for (std::int64_t i = 0; data.dictionary && i < batch.rows; ++i) {
          const auto index = static_cast<std::size_t>(static_cast<const std::int32_t*>(data.values)[i]);
          for (const char letter : data.dictionary->at(index)) sum += letter;
        }
      }
    });
  }
  return sum;
}

// Also sets the modification time, because file systems may not distinguish two moments.
void write_over(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(2));
}

TEST_F(IoTest, OpenTableTellsWhatIsNoReadableFile) {
  expect_error(Code::not_found, path("none.npy"), [&] { open_table(path("none.npy")); });
  expect_error(Code::not_found, "no such file", [&] { open_table(""); });
  expect_error(Code::is_directory, "is a directory", [&] { open_table(folder_.string()); });
  expect_error(Code::malformed, "is empty", [&] { open_table(put("empty.parquet", "")); });
  expect_error(Code::malformed, ".npz", [&] { open_table(put("a.npz", "PK\x03\x04 and more")); });
  expect_error(Code::unreadable, "is a device", [&] { open_table("/dev/null"); });
  if (::geteuid() == 0) return;  // root may read everything
  fs::permissions(put("secret.csv", "x\n1\n"), fs::perms::none);
  expect_error(Code::unreadable, "ermission", [&] { open_table(path("secret.csv")); });
}

#if UPSWEEP_HAVE_ARROW
TEST_F(IoTest, OtherFilesAreCsvWhateverTheirNames) {
  EXPECT_EQ(open_table(put("a.tsv", "x\ty\n1\t2\n"))->fields().size(), 2U);
  EXPECT_EQ(open_table(put("text.txt", "1\n2\n"))->fields()[0].name, "column0");
  expect_error(Code::malformed, "NUL byte", [&] { open_table(put("binary", std::string("root\0\1", 6))); });
}
#else
TEST_F(IoTest, WithoutArrowOtherTablesAreNotBuilt) {
  expect_error(Code::not_built, "UPSWEEP_ARROW", [&] { open_table(put("a.csv", "x\n1\n")); });
}
#endif

template <class T>
void expect_npy_table(const std::string& file, const std::string& descr, ValueKind kind, Storage storage) {
  std::vector<T> values = counting<T>(kBatchRows + 100);
  values.front() = std::numeric_limits<T>::lowest();
  values.back() = std::numeric_limits<T>::max();
  std::ofstream(file, std::ios::binary) << npy_of(values, descr);
  const auto table = open_table(file);
  ASSERT_EQ(table->fields().size(), 1U);
  EXPECT_EQ(table->fields()[0].kind, kind);
  EXPECT_EQ(table->fields()[0].storage, storage);
  EXPECT_EQ(table->row_groups(), 1);
  EXPECT_EQ(table->rows(), kBatchRows + 100);
  EXPECT_EQ(numbers<T>(*table, "some.name"), Optionals<T>(values.begin(), values.end()));
}

TEST_F(IoTest, NpyIsATableOfOneColumn) {
  const std::string file = path("some.name.npy");
  expect_npy_table<std::int8_t>(file, "|i1", ValueKind::integer, Storage::int8);
  expect_npy_table<std::int16_t>(file, "<i2", ValueKind::integer, Storage::int16);
  expect_npy_table<std::int32_t>(file, "<i4", ValueKind::integer, Storage::int32);
  expect_npy_table<std::int64_t>(file, "<i8", ValueKind::integer, Storage::int64);
  expect_npy_table<std::uint8_t>(file, "|u1", ValueKind::integer, Storage::uint8);
  expect_npy_table<std::uint16_t>(file, "<u2", ValueKind::integer, Storage::uint16);
  expect_npy_table<std::uint32_t>(file, "<u4", ValueKind::integer, Storage::uint32);
  expect_npy_table<std::uint64_t>(file, "<u8", ValueKind::integer, Storage::uint64);
  expect_npy_table<float>(file, "<f4", ValueKind::real, Storage::float32);
  expect_npy_table<double>(file, "<f8", ValueKind::real, Storage::float64);
  const auto table = open_table(file);
  EXPECT_EQ(table->range(0, 0).least, -std::numeric_limits<double>::infinity());
  each_batch(*table, 0, {0, 0},
             [](const Batch& batch) { EXPECT_EQ(batch.columns[0].values, batch.columns[1].values); });
  each_batch(*table, 0, {}, [](const Batch& batch) { EXPECT_TRUE(batch.columns.empty()); });
  EXPECT_TRUE(numbers<double>(*open_table(put("a.npy", npy("<f8", "(0,)", ""))), "a").empty());
}

TEST_F(IoTest, NpyOfTruthValuesIsATable) {
  const std::string bytes("\0\1\1\0\0\0\1\0\1\2", 10);
  for (const char* descr : {"|b1", "?", "<b1"}) {
    EXPECT_EQ(booleans(*open_table(put("a.npy", npy(descr, "(10,)", bytes))), "a"),
              (Optionals<bool>{false, true, true, false, false, false, true, false, true, true}));
  }
}

TEST_F(IoTest, RowGroupsOfNpyAreReadByThemselves) {
  const std::int64_t row_group = 32 * kBatchRows;
  const auto values = counting<std::int32_t>(2 * row_group + 5);
  const auto table = open_table(put("a.npy", npy_of(values, "<i4")));
  ASSERT_EQ(table->row_groups(), 3);
  EXPECT_EQ(table->rows(1), row_group);
  EXPECT_EQ(table->rows(2), 5);
  EXPECT_EQ(numbers<std::int32_t>(*table, "a"), Optionals<std::int32_t>(values.begin(), values.end()));
  // Stored batches must not change when others are read.
  const auto reader = table->open(1, {0});
  std::vector<Batch> batches(5);
  for (Batch& batch : batches) ASSERT_TRUE(reader->next(batch));
  batches.erase(batches.begin() + 1, batches.begin() + 3);
  for (Batch more; reader->next(more);) EXPECT_EQ(more.rows, kBatchRows);
  for (const Batch& batch : batches) {
    EXPECT_EQ(static_cast<const std::int32_t*>(batch.columns[0].values)[7],
              values[static_cast<std::size_t>(batch.first_row + 7)]);
  }
}

TEST_F(IoTest, NpyTablesCutAnywhereAreMalformed) {
  const std::string good = npy_of<std::int16_t>({1, 2, 3}, "<i2");
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_error(Code::malformed, path("a.npy"), [&] { touch_all(put("a.npy", good.substr(0, size))); });
  }
}

std::ptrdiff_t open_ones() { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); }

TEST_F(IoTest, NpyTablesAreOpenWhileTheyAreReadOnly) {
  const auto before = open_ones();
  const std::string of_numbers = put("x.npy", npy_of<std::int64_t>({1, 2, 3}, "<i8"));
  const std::string of_booleans = put("y.npy", npy_of<std::uint8_t>({1, 0, 1}, "|b1"));
  const auto x = open_tables({of_numbers, of_numbers});
  const auto y = open_tables({of_booleans, of_booleans});
  EXPECT_EQ(open_ones(), before);
  EXPECT_EQ(numbers<std::int64_t>(*x, "x"), (Optionals<std::int64_t>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(booleans(*y, "y"), (Optionals<bool>{true, false, true, true, false, true}));
  EXPECT_EQ(open_ones(), before);
}

// Opening a pipe would wait forever for a writer.
void expect_replaced_by_a_pipe(const std::string& file) {
  const auto table = open_table(file);
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  for (int i = 0; i < 2; ++i) {
    Batch batch;
    expect_error(Code::malformed, file + ": was changed or replaced", [&] { table->open(0, {0})->next(batch); });
    EXPECT_NE(table->place(0, 0), "");
    fs::remove(file);
    fs::create_directory(file);
  }
  fs::remove(file);
}

TEST_F(IoTest, APipeInPlaceOfANpyFileIsNotWaitedFor) {
  expect_replaced_by_a_pipe(put("a.npy", npy_of<std::int64_t>({1, 2, 3}, "<i8")));
}

TEST_F(IoTest, NpyThatChangesWhileItIsReadIsMalformed) {
  const std::string good = npy_of(counting<std::int64_t>(kBatchRows + 1), "<i8");
  const std::string file = put("a.npy", good);
  const auto table = open_table(file);
  const auto reader = table->open(0, {0});
  Batch batch;
  EXPECT_TRUE(reader->next(batch));
  write_over(file, good.substr(0, 500));
  EXPECT_EQ(static_cast<const std::int64_t*>(batch.columns[0].values)[kBatchRows - 1],
            kBatchRows - 1);  // the batch has separate memory
  expect_error(Code::malformed, "changed while it was read: it ends before element 65536;",
               [&] { reader->next(batch); });
  write_over(file, good);
  expect_error(Code::malformed, "changed or replaced while it was read", [&] { table->open(0, {0})->next(batch); });
}

#if UPSWEEP_HAVE_ARROW

// Checks that every index, also of NULL rows, is valid, and that every string occurs once in the dictionary.
Optionals<std::string> words(const Table& table, const std::string& name) {
  EXPECT_EQ(field_of_column(table, name).kind, ValueKind::text);
  EXPECT_EQ(field_of_column(table, name).storage, Storage::int32);
  Optionals<std::string> all;
  for (int row_group = 0; row_group < table.row_groups(); ++row_group) {
    each_batch(table, row_group, {column_of(table, name)}, [&](const Batch& batch) {
      const ColumnData& data = batch.columns[0];
      Dictionary sorted = *data.dictionary;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end());
      for (std::int64_t i = 0; i < batch.rows; ++i) {
        const std::string word(
            data.dictionary->at(static_cast<std::size_t>(static_cast<const std::int32_t*>(data.values)[i])));
        all.push_back(is_null(data, i) ? std::nullopt : std::optional(word));
      }
    });
  }
  return all;
}

using Columns = std::vector<std::pair<std::string, ArrayPtr>>;

class TableTest : public IoTest {
 protected:
  // Writes a Parquet file with these settings of its pages.
  std::string put_parquet(const Columns& columns, parquet::WriterProperties::Builder& pages, std::int64_t rows = 64) {
    fs::remove(path("table"));
    const auto file = require(arrow::io::FileOutputStream::Open(path("table")));
    const auto table = table_of(columns);
    require(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, rows, pages.build()));
    require(file->Close());
    return path("table");
  }

  // Writes in row groups or batches of `rows`.
  std::string put_columns(Container container, const Columns& columns, std::int64_t rows = 64,
                          arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED) {
    fs::remove(path("table"));
    put_table(container, path("table"), *table_of(columns), rows, compression);
    return path("table");
  }

  std::unique_ptr<Table> table_with(Container container, const ArrayPtr& x, std::int64_t rows = 64) {
    const auto other = array_of<arrow::DoubleType>(counting<double>(static_cast<std::size_t>(x->length())));
    return open_table(put_columns(container, {{"a", other}, {"x", x}, {"z", other}}, rows));
  }
};

// Copies `values`; every third value is missing, starting with the second row.
template <class T>
Optionals<T> with_gaps(const std::vector<T>& values) {
  Optionals<T> all(values.begin(), values.end());
  for (std::size_t i = 1; i < all.size(); i += 3) all[i].reset();
  return all;
}

template <class ArrowType, class T>
ArrayPtr array_of_optionals(const Optionals<T>& values, std::shared_ptr<arrow::DataType> type = nullptr) {
  if (!type) type = arrow::TypeTraits<ArrowType>::type_singleton();
  const auto builder = require(arrow::MakeBuilder(type));
  auto& typed = static_cast<typename arrow::TypeTraits<ArrowType>::BuilderType&>(*builder);
  for (const auto& value : values) require(value ? typed.Append(*value) : typed.AppendNull());
  return require(typed.Finish());
}

// Without NULLs, with NULLs, and from the middle of longer arrays, in every container.
template <class ArrowType, class T = typename ArrowType::c_type>
void expect_numbers(const std::function<std::unique_ptr<Table>(Container, const ArrayPtr&)>& write, ValueKind kind,
                    Storage storage) {
  std::vector<T> values = counting<T>(101);
  values.front() = std::numeric_limits<T>::lowest();
  values.back() = std::numeric_limits<T>::max();
  for (const Container container : kContainers) {
    for (const auto& expected : {Optionals<T>(values.begin(), values.end()), with_gaps(values)}) {
      const ArrayPtr array = array_of_optionals<ArrowType>(expected);
      const auto table = write(container, array);
      EXPECT_EQ(field_of_column(*table, "x").kind, kind);
      EXPECT_EQ(field_of_column(*table, "x").storage, storage);
      EXPECT_EQ(field_of_column(*table, "x").unsupported, "");
      EXPECT_EQ(numbers<T>(*table, "x"), expected);
      EXPECT_EQ(numbers<T>(*write(container, array->Slice(13, 77)), "x"),
                Optionals<T>(expected.begin() + 13, expected.begin() + 90));
    }
  }
}

TEST_F(TableTest, NumbersOfEveryTypeAreRead) {
  const auto write = [&](Container container, const ArrayPtr& array) { return table_with(container, array, 30); };
  expect_numbers<arrow::Int8Type>(write, ValueKind::integer, Storage::int8);
  expect_numbers<arrow::Int16Type>(write, ValueKind::integer, Storage::int16);
  expect_numbers<arrow::Int32Type>(write, ValueKind::integer, Storage::int32);
  expect_numbers<arrow::Int64Type>(write, ValueKind::integer, Storage::int64);
  expect_numbers<arrow::UInt8Type>(write, ValueKind::integer, Storage::uint8);
  expect_numbers<arrow::UInt16Type>(write, ValueKind::integer, Storage::uint16);
  expect_numbers<arrow::UInt32Type>(write, ValueKind::integer, Storage::uint32);
  expect_numbers<arrow::UInt64Type>(write, ValueKind::integer, Storage::uint64);
  expect_numbers<arrow::FloatType>(write, ValueKind::real, Storage::float32);
  expect_numbers<arrow::DoubleType>(write, ValueKind::real, Storage::float64);
  expect_numbers<arrow::Date32Type>(write, ValueKind::date, Storage::int32);
}

TEST_F(TableTest, RowGroupsAreThoseOfParquetAndRecordBatches) {
  const auto values = counting<std::int64_t>(100);
  for (const Container container : kContainers) {
    const auto table = table_with(container, array_of<arrow::Int64Type>(values), 30);
    const bool stream = container == Container::ipc_stream;
    EXPECT_EQ(table->row_groups(), stream ? 1 : 4);
    EXPECT_EQ(table->rows(), stream ? -1 : 100);
    EXPECT_EQ(table->rows(table->row_groups() - 1), stream ? -1 : 10);
    for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
      each_batch(*table, row_group, {1}, [&](const Batch& batch) { EXPECT_EQ(batch.first_row, 30 * row_group); });
    }
  }
}

TEST_F(TableTest, ColumnsComeAsTheyAreAskedFor) {
  const auto one = array_of<arrow::Int64Type>({1, 1});
  const auto two = array_of<arrow::Int64Type>({2, 2});
  const auto three = array_of<arrow::Int64Type>({3, 3});
  for (const Container container : kContainers) {
    for (const auto compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD}) {
      const auto table = open_table(put_columns(container, {{"a", one}, {"b", two}, {"b", three}}, 64, compression));
      const auto at = [](const Batch& batch, std::size_t i) {
        return *static_cast<const std::int64_t*>(batch.columns[i].values);
      };
      each_batch(*table, 0, {2, 0, 2, 1}, [&](const Batch& batch) {
        EXPECT_EQ(at(batch, 0), 3);
        EXPECT_EQ(at(batch, 1), 1);
        EXPECT_EQ(at(batch, 2), 3);
        EXPECT_EQ(at(batch, 3), 2);
      });
      std::int64_t rows = 0;
      each_batch(*table, 0, {}, [&](const Batch& batch) { rows += batch.rows; });
      EXPECT_EQ(rows, 2);
    }
  }
}

// Batches end where the table's batches end, not Arrow's.
TEST_F(TableTest, BatchesAreJoinedAndSplit) {
  const std::size_t n = 3 * kBatchRows + 17;
  const auto values = with_gaps(counting<std::int64_t>(n));
  Optionals<bool> bits;
  Optionals<std::string> texts;
  for (const auto& value : values) {
    bits.push_back(value ? std::optional(*value % 5 == 0) : std::nullopt);
    texts.push_back(value ? std::optional(std::to_string(*value / 1000)) : std::nullopt);
  }
  const std::vector<std::pair<std::string, ArrayPtr>> columns = {{"n", array_of_optionals<arrow::Int64Type>(values)},
                                                                 {"b", array_of_optionals<arrow::BooleanType>(bits)},
                                                                 {"t", array_of_optionals<arrow::StringType>(texts)}};
  const auto expect = [&](const Table& table) {
    EXPECT_EQ(numbers<std::int64_t>(table, "n"), values);
    EXPECT_EQ(booleans(table, "b"), bits);
    EXPECT_EQ(words(table, "t"), texts);
  };
  for (const Container container : kContainers) {
    expect(*open_table(put_columns(container, columns, std::ssize(values))));
    expect(*open_table(put_columns(container, columns, 2 * kBatchRows + 3, arrow::Compression::ZSTD)));
  }
  expect(*open_table(put_columns(Container::ipc_stream, columns, 999)));
}

TEST_F(TableTest, TruthValuesAreBits) {
  Optionals<bool> values;
  for (int i = 0; i < 300; ++i) values.push_back(i % 7 == 3 ? std::nullopt : std::optional(i % 3 == 0));
  const auto array = array_of_optionals<arrow::BooleanType>(values);
  for (const Container container : kContainers) {
    EXPECT_EQ(booleans(*table_with(container, array, 100), "x"), values);
    EXPECT_EQ(booleans(*table_with(container, array->Slice(13, 200), 77), "x"),
              Optionals<bool>(values.begin() + 13, values.begin() + 213));
  }
}

TEST_F(TableTest, HalfFloatsAreFloats) {
  arrow::HalfFloatBuilder builder;
  require(builder.Append(std::uint16_t{0x3c00}));
  require(builder.AppendNull());
  require(builder.Append(std::uint16_t{0xc500}));
  const auto array = require(builder.Finish());
  for (const Container container : kContainers) {
    EXPECT_EQ(numbers<float>(*table_with(container, array), "x"), (Optionals<float>{1.0F, std::nullopt, -5.0F}));
  }
}

TEST_F(TableTest, ColumnsOfNothingAreNullIntegers) {
  for (const Container container : kContainers) {
    const auto table = table_with(container, require(arrow::MakeArrayOfNull(arrow::null(), 70)));
    EXPECT_EQ(field_of_column(*table, "x").kind, ValueKind::integer);
    EXPECT_EQ(numbers<std::int64_t>(*table, "x"), Optionals<std::int64_t>(70));
  }
}

TEST_F(TableTest, DatesAreDays) {
  constexpr std::int64_t kDay = 86'400'000;
  const Optionals<std::int32_t> days = {-1, std::nullopt, 20'000};
  for (const Container container : kContainers) {
    const auto table = table_with(
        container, array_of_optionals<arrow::Date64Type>(Optionals<std::int64_t>{-kDay, std::nullopt, 20'000 * kDay}));
    EXPECT_EQ(field_of_column(*table, "x").kind, ValueKind::date);
    EXPECT_EQ(field_of_column(*table, "x").storage, Storage::int32);
    EXPECT_EQ(numbers<std::int32_t>(*table, "x"), days);
  }
  const auto odd = table_with(Container::ipc_file, array_of<arrow::Date64Type>({0, kDay + 1}), 1);
  const Error error = error_of([&] { numbers<std::int32_t>(*odd, "x"); });
  EXPECT_EQ(error.code(), Code::malformed);
  EXPECT_EQ(error.index(), 1);
}

template <class Builder, class Decimal>
ArrayPtr decimals(const std::shared_ptr<arrow::DataType>& type, const Optionals<Decimal>& values) {
  Builder builder(type);
  for (const auto& value : values) require(value ? builder.Append(*value) : builder.AppendNull());
  return require(builder.Finish());
}

using Wide = std::array<std::int64_t, 2>;  // an int128, least significant word first

TEST_F(TableTest, DecimalsAreIntegersOfTheirWidth) {
  const auto expect = [&](const auto& type, const ArrayPtr& array, Storage storage, const auto& expected) {
    using T = typename std::remove_cvref_t<decltype(expected)>::value_type::value_type;
    for (const Container container : kContainers) {
      const auto table = table_with(container, array, 2);
      EXPECT_EQ(field_of_column(*table, "x").kind, ValueKind::decimal);
      EXPECT_EQ(field_of_column(*table, "x").storage, storage) << type->ToString();
      EXPECT_EQ(field_of_column(*table, "x").scale, 2);
      EXPECT_EQ(numbers<T>(*table, "x"), expected) << type->ToString();
    }
  };
  const Optionals<std::int64_t> narrow = {-12'34, std::nullopt, 0, 999'999'999'999'999'999};
  const Optionals<Wide> wide = {Wide{-12'34, -1}, std::nullopt, Wide{0, 0}, Wide{7, 1}};
  const auto type32 = arrow::decimal32(9, 2);
  expect(type32,
         decimals<arrow::Decimal32Builder, arrow::Decimal32>(
             type32, {arrow::Decimal32(-12'34), std::nullopt, arrow::Decimal32(0), arrow::Decimal32(999'999'999)}),
         Storage::int32, Optionals<std::int32_t>{-12'34, std::nullopt, 0, 999'999'999});
  const auto make = [&]<class Builder, class Decimal>(std::type_identity<Builder>, std::type_identity<Decimal>,
                                                      const auto& type, const Optionals<Decimal>& values) {
    return decimals<Builder, Decimal>(type, values);
  };
  const auto type64 = arrow::decimal64(18, 2);
  expect(type64,
         make(std::type_identity<arrow::Decimal64Builder>{}, std::type_identity<arrow::Decimal64>{}, type64,
              {arrow::Decimal64(-12'34), std::nullopt, arrow::Decimal64(0), arrow::Decimal64(*narrow[3])}),
         Storage::int64, narrow);
  for (const int precision : {18, 38}) {
    const auto type128 = arrow::decimal128(precision, 2);
    const auto type256 = arrow::decimal256(precision, 2);
    const auto last = precision == 18 ? arrow::Decimal128(*narrow[3]) : arrow::Decimal128(1, 7);
    const auto last256 = arrow::Decimal256(last);
    const ArrayPtr array128 =
        make(std::type_identity<arrow::Decimal128Builder>{}, std::type_identity<arrow::Decimal128>{}, type128,
             {arrow::Decimal128(-12'34), std::nullopt, arrow::Decimal128(0), last});
    const ArrayPtr array256 =
        make(std::type_identity<arrow::Decimal256Builder>{}, std::type_identity<arrow::Decimal256>{}, type256,
             {arrow::Decimal256(-12'34), std::nullopt, arrow::Decimal256(0), last256});
    if (precision == 18) {
      expect(type128, array128, Storage::int64, narrow);
      expect(type256, array256, Storage::int64, narrow);
    } else {
      expect(type128, array128, Storage::int128, wide);
      expect(type256, array256, Storage::int128, wide);
    }
  }
}

// Parquet may also store decimals as integers, and most writers do so.
TEST_F(TableTest, DecimalsStoredAsIntegersAreRead) {
  for (const auto& type : {arrow::decimal128(5, 2), arrow::decimal128(15, 2)}) {
    const auto array = decimals<arrow::Decimal128Builder, arrow::Decimal128>(
        type, {arrow::Decimal128(-12'34), std::nullopt, arrow::Decimal128(999)});
    const auto table = open_table(
        put_parquet({{"x", array}}, *parquet::WriterProperties::Builder().enable_store_decimal_as_integer()));
    const bool narrow = field_of_column(*table, "x").storage == Storage::int32;
    if (narrow) {
      EXPECT_EQ(numbers<std::int32_t>(*table, "x"), (Optionals<std::int32_t>{-12'34, std::nullopt, 999}));
    } else {
      EXPECT_EQ(numbers<std::int64_t>(*table, "x"), (Optionals<std::int64_t>{-12'34, std::nullopt, 999}));
    }
    EXPECT_LE(table->range(0, 0).least, -12.34);
    EXPECT_NEAR(table->range(0, 0).least, -12.34, 1e-12);
    EXPECT_NEAR(table->range(0, 0).greatest, 9.99, 1e-12);
  }
}

// Arrow's own writer stores them as bytes, with the smallest number of bytes for the digits.
TEST_F(TableTest, DecimalsStoredAsBytesAreRead) {
  std::mt19937_64 random(6);
  std::int64_t top = 0;
  for (int digits = 1; digits <= 18; ++digits) {
    top = 10 * top + 9;
    Optionals<std::int64_t> values{top, -top, 0, -1};
    for (int i = 0; i < 2000; ++i) {
      const std::int64_t value =
          static_cast<std::int64_t>(random() >> 1) % (i % 2 == 0 ? top : std::min<std::int64_t>(top, 50));
      values.push_back(random() % 7 == 0 ? std::nullopt : std::optional(random() % 2 == 0 ? value : -value));
    }
    std::vector<std::optional<arrow::Decimal128>> wide;
    for (const auto& value : values) wide.push_back(value ? std::optional(arrow::Decimal128(*value)) : std::nullopt);
    const auto array = decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(digits, 1), wide);
    for (const bool dictionary : {false, true}) {
      parquet::WriterProperties::Builder pages;
      pages.compression(parquet::Compression::SNAPPY)->data_pagesize(500)->write_batch_size(90);
      if (!dictionary) pages.disable_dictionary();
      const auto table = open_table(put_parquet({{"x", array}}, pages, 1500));
      if (field_of_column(*table, "x").storage == Storage::int32) {
        EXPECT_EQ(numbers<std::int32_t>(*table, "x"), Optionals<std::int32_t>(values.begin(), values.end())) << digits;
      } else {
        EXPECT_EQ(numbers<std::int64_t>(*table, "x"), values) << digits;
      }
    }
  }
}

// Writers other than Arrow's use more bytes than the digits need, or only the bytes that each number needs.
TEST_F(TableTest, DecimalsMayBeStoredInAnyNumberOfBytes) {
  using parquet::schema::GroupNode;
  const std::vector<std::int64_t> values{0, 7, -7, 99999, -99999, 127, -128, 255, -256};
  const auto bytes_of = [](Int128 value, int length) {
    std::string bytes;
    for (int i = length - 1; i >= 0; --i) bytes.push_back(static_cast<char>(i < 16 ? value >> 8 * i : value >> 127));
    return bytes;
  };
  const auto shortest = [](std::int64_t value) {
    int length = 1;
    while (value >> (8 * length - 1) != value >> 63) ++length;
    return length;
  };
  // `length`: bytes of each number; 0: the bytes that it needs, or alternately two more.
  const auto write = [&](int digits, int length, bool dictionary, const std::vector<Int128>& all) {
    const auto type = length == 0 ? parquet::Type::BYTE_ARRAY : parquet::Type::FIXED_LEN_BYTE_ARRAY;
    const auto leaf = parquet::schema::PrimitiveNode::Make(
        "x", parquet::Repetition::REQUIRED, parquet::LogicalType::Decimal(digits, 2), type, length == 0 ? -1 : length);
    const auto schema =
        std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", parquet::Repetition::REQUIRED, {leaf}));
    parquet::WriterProperties::Builder properties;
    if (!dictionary) properties.disable_dictionary();
    const auto file = parquet::ParquetFileWriter::Open(require(arrow::io::FileOutputStream::Open(path("table"))),
                                                       schema, properties.build());
    parquet::ColumnWriter& column = *file->AppendRowGroup()->NextColumn();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const int own = length > 0 ? length : shortest(static_cast<std::int64_t>(all[i])) + static_cast<int>(i % 2) * 2;
      const std::string bytes = bytes_of(all[i], own);
      const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
      if (length == 0) {
        const parquet::ByteArray value(static_cast<std::uint32_t>(own), begin);
        static_cast<parquet::ByteArrayWriter&>(column).WriteBatch(1, nullptr, nullptr, &value);
      } else {
        const parquet::FixedLenByteArray value(begin);
        static_cast<parquet::FixedLenByteArrayWriter&>(column).WriteBatch(1, nullptr, nullptr, &value);
      }
    }
    file->Close();
    return path("table");
  };
  const std::vector<Int128> exact(values.begin(), values.end());
  const auto expect = [&](const std::string& file) {
    const auto table = open_table(file);
    const Field& field = table->fields()[0];
    EXPECT_EQ(field.kind, ValueKind::decimal);
    EXPECT_EQ(field.scale, 2);
    if (field.storage == Storage::int32) {
      EXPECT_EQ(numbers<std::int32_t>(*table, "x"), Optionals<std::int32_t>(values.begin(), values.end()));
    } else if (field.storage == Storage::int64) {
      EXPECT_EQ(numbers<std::int64_t>(*table, "x"), Optionals<std::int64_t>(values.begin(), values.end()));
    } else {
      EXPECT_TRUE(numbers<Int128>(*table, "x") == Optionals<Int128>(exact.begin(), exact.end()));
    }
  };
  for (const int digits : {5, 9, 10, 18, 19, 38}) {
    const int least = digits == 5 ? 3 : digits == 9 ? 4 : digits == 10 ? 5 : digits == 18 ? 8 : digits == 19 ? 9 : 16;
    for (const bool dictionary : {false, true}) {
      SCOPED_TRACE(testing::Message() << digits << " digits, dictionary " << dictionary);
      expect(write(digits, 0, dictionary, exact));
      for (int length = least; length <= 20; ++length) {
        SCOPED_TRACE(length);
        const std::string file = write(digits, length, dictionary, exact);
        expect(file);
        EXPECT_NEAR(open_table(file)->range(0, 0).least, -999.99, 1e-9);
        EXPECT_NEAR(open_table(file)->range(0, 0).greatest, 999.99, 1e-9);
      }
      if (digits > 18) continue;
      for (const int length : {16, 17, 20}) {
        const auto table = open_table(write(digits, length, dictionary, {1, 2, static_cast<Int128>(1) << 64, 3}));
        const Error error = error_of([&] { numbers<std::int64_t>(*table, "x"); });
        EXPECT_EQ(error.code(), Code::malformed);
        EXPECT_EQ(error.index(), 2) << error.what();
      }
    }
  }
  // A byte before the last 16 that is not the sign.
  for (const bool dictionary : {false, true}) {
    const std::string file = write(38, 18, dictionary, {1, 2, 3});
    std::string bytes = slurp(file);
    const std::size_t at = bytes.find(bytes_of(2, 18));
    ASSERT_NE(at, std::string::npos);
    bytes[at] = 1;
    const auto table = open_table(put("bad.parquet", bytes));
    expect_error(Code::malformed, "more than 128 bits", [&] { numbers<Int128>(*table, "x"); });
  }
}

TEST_F(TableTest, DecimalsOfMoreDigitsThanArrowHasAreRefused) {
  using parquet::schema::GroupNode;
  const auto leaf = parquet::schema::PrimitiveNode::Make(
      "x", parquet::Repetition::OPTIONAL, parquet::LogicalType::Decimal(77, 2), parquet::Type::BYTE_ARRAY);
  const auto schema =
      std::static_pointer_cast<GroupNode>(GroupNode::Make("schema", parquet::Repetition::REQUIRED, {leaf}));
  parquet::ParquetFileWriter::Open(require(arrow::io::FileOutputStream::Open(path("table"))), schema)->Close();
  expect_error(Code::unsupported_type, "column x has decimals of 77 digits", [&] { open_table(path("table")); });
}

TEST_F(TableTest, DecimalsPastTheirDigitsNameTheirRow) {
  const auto misfit = decimals<arrow::Decimal128Builder, arrow::Decimal128>(
      arrow::decimal128(18, 0), {arrow::Decimal128(1), std::nullopt, arrow::Decimal128(1, 0)});
  const auto table = table_with(Container::ipc_file, misfit, 2);
  const Error error = error_of([&] { numbers<std::int64_t>(*table, "x"); });
  EXPECT_EQ(error.code(), Code::malformed);
  EXPECT_EQ(error.index(), 2);
  // The value under a NULL does not matter.
  const auto data = misfit->data()->Copy();
  data->buffers[0] = require(arrow::AllocateEmptyBitmap(3));
  data->null_count = 3;
  EXPECT_EQ(numbers<std::int64_t>(*table_with(Container::ipc_file, arrow::MakeArray(data)), "x"),
            Optionals<std::int64_t>(3));
}

TEST_F(TableTest, TextBecomesWords) {
  const Optionals<std::string> values = {"b", "a", std::nullopt, "", "b", "a longer word than lies in a view", "ä"};
  for (const Container container : kContainers) {
    for (const std::int64_t rows : {1, 3, 64}) {
      const auto expect = [&](const ArrayPtr& array, const Optionals<std::string>& expected) {
        EXPECT_EQ(words(*table_with(container, array, rows), "x"), expected) << array->type()->ToString();
        EXPECT_EQ(words(*table_with(container, array->Slice(1, 4), rows), "x"),
                  Optionals<std::string>(expected.begin() + 1, expected.begin() + 5));
      };
      expect(array_of_optionals<arrow::StringType>(values), values);
      expect(array_of_optionals<arrow::LargeStringType>(values), values);
      expect(array_of_optionals<arrow::StringViewType>(values), values);
    }
    EXPECT_EQ(words(*table_with(container, array_of_optionals<arrow::StringType>(Optionals<std::string>(9))), "x"),
              Optionals<std::string>(9));
  }
}

// Indices of every width, into a dictionary that contains one string twice and one NULL.
template <class IndexType>
ArrayPtr dictionary_of_text(const Optionals<std::string>& dictionary) {
  const auto codes = array_of_optionals<IndexType>(Optionals<typename IndexType::c_type>{2, 0, std::nullopt, 3, 2, 1});
  const auto type = arrow::dictionary(codes->type(), arrow::utf8());
  return require(arrow::DictionaryArray::FromArrays(type, codes, array_of_optionals<arrow::StringType>(dictionary)));
}

TEST_F(TableTest, DictionariesOfTextAreWords) {
  const Optionals<std::string> twice = {"x", "y", "x", std::nullopt};
  for (const auto& array :
       {dictionary_of_text<arrow::Int8Type>(twice), dictionary_of_text<arrow::UInt16Type>(twice),
        dictionary_of_text<arrow::Int32Type>(twice), dictionary_of_text<arrow::UInt64Type>(twice)}) {
    for (const Container container : {Container::ipc_file, Container::ipc_stream}) {
      for (const std::int64_t rows : {2, 6}) {
        EXPECT_EQ(words(*table_with(container, array, rows), "x"),
                  (Optionals<std::string>{"x", "x", std::nullopt, std::nullopt, "x", "y"}));
      }
    }
  }
  for (const Container container : kContainers) {
    const auto array = dictionary_of_text<arrow::Int32Type>({"x", "y", "z", "w"});
    EXPECT_EQ(words(*table_with(container, array, 6), "x"),
              (Optionals<std::string>{"z", "x", std::nullopt, "w", "z", "y"}));
  }
}

// A stream may replace a dictionary between batches; here one batch of the table contains two dictionaries.
TEST_F(TableTest, DictionariesMayChange) {
  const auto type = arrow::dictionary(arrow::int32(), arrow::utf8());
  const auto codes = array_of<arrow::Int32Type>({0, 1, 1});
  const auto make = [&](const Optionals<std::string>& dictionary) {
    return require(arrow::DictionaryArray::FromArrays(type, codes, array_of_optionals<arrow::StringType>(dictionary)));
  };
  const auto schema = arrow::schema({arrow::field("x", type)});
  const auto file = require(arrow::io::FileOutputStream::Open(path("table")));
  const auto writer = require(arrow::ipc::MakeStreamWriter(file, schema));
  for (const auto& array : {make({"a", "b"}), make({"b", "c"}), make({"a", "b"})}) {
    require(writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, 3, {array})));
  }
  require(writer->Close());
  require(file->Close());
  EXPECT_EQ(words(*open_table(path("table")), "x"),
            (Optionals<std::string>{"a", "b", "b", "b", "c", "c", "a", "b", "b"}));
}

TEST_F(TableTest, BatchesWithTheSameDictionaryShareTheirWords) {
  Optionals<std::string> values;
  for (std::int64_t i = 0; i < 2 * kBatchRows + 5; ++i) values.emplace_back(std::to_string(i % 7));
  const auto table = table_with(Container::parquet, array_of_optionals<arrow::StringType>(values), std::ssize(values));
  std::vector<std::shared_ptr<const Dictionary>> seen;
  each_batch(*table, 0, {1}, [&](const Batch& batch) { seen.push_back(batch.columns[0].dictionary); });
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0]->size(), 7U);
}

// Parquet stops using its dictionary if there are too many strings.
TEST_F(TableTest, TextOfManyWordsIsRead) {
  Optionals<std::string> values;
  for (int i = 0; i < 200'000; ++i) values.emplace_back("a comment of some length, number " + std::to_string(i));
  const auto array = array_of_optionals<arrow::StringType>(values);
  for (const Container container : kContainers) {
    EXPECT_EQ(words(*table_with(container, array, 150'000), "x"), values);
  }
}

// If allowed, a dictionary may contain a string several times when nearly all are different. If there are few, each
// occurs once.
TEST_F(TableTest, TextsMayRepeatWhereNearlyAllAreDifferent) {
  Optionals<std::string> apart;
  Optionals<std::string> few;
  for (int i = 0; i < 100'000; ++i) {
    apart.emplace_back(i % 10 == 9 ? std::to_string(i / 20'000) : "a comment, number " + std::to_string(i));
    if (i % 100 == 7) apart.back() = i % 200 == 7 ? std::optional<std::string>() : "";
    few.emplace_back(std::to_string(i % 3000));
  }
  const auto entries_of = [&](const Optionals<std::string>& values, bool may_repeat) {
    const auto table = table_with(Container::parquet, array_of_optionals<arrow::StringType>(values), 100'000);
    const auto reader = table->open(0, {column_of(*table, "x")});
    if (may_repeat) reader->may_repeat_texts();
    std::size_t entries = 0;
    std::size_t row = 0;
    for (Batch batch; reader->next(batch);) {
      const ColumnData& data = batch.columns[0];
      entries += data.dictionary->size();
      for (std::int64_t i = 0; i < batch.rows; ++i, ++row) {
        const auto index = static_cast<std::size_t>(static_cast<const std::int32_t*>(data.values)[i]);
        EXPECT_EQ(is_null(data, i), !values[row].has_value()) << row;
        if (values[row]) {
          EXPECT_EQ(data.dictionary->at(index), *values[row]) << row;
        }
      }
    }
    EXPECT_EQ(row, values.size());
    return entries;
  };
  EXPECT_GT(entries_of(apart, true), entries_of(apart, false) + 8000);
  EXPECT_EQ(entries_of(few, true), entries_of(few, false));
}

TEST_F(TableTest, IndicesPastTheirDictionaryAreMalformed) {
  const auto make = [](const auto& type, const ArrayPtr& indices, const ArrayPtr& dictionary) {
    return ArrayPtr(std::make_shared<arrow::DictionaryArray>(type, indices, dictionary));
  };
  const auto text = array_of_optionals<arrow::StringType>(Optionals<std::string>{"a", "b"});
  const auto numbers_type = arrow::dictionary(arrow::int32(), arrow::int64());
  for (const std::int32_t bad : {2, -1, 1 << 30}) {
    const auto codes = array_of<arrow::Int32Type>({0, 1, bad});
    for (const auto& array : {make(arrow::dictionary(arrow::int32(), arrow::utf8()), codes, text),
                              make(numbers_type, codes, array_of<arrow::Int64Type>({5, 6}))}) {
      const auto table = table_with(Container::ipc_stream, array);
      expect_error(Code::malformed, "row 2 points past its dictionary",
                   [&] { each_batch(*table, 0, {1}, [](const Batch&) {}); });
    }
  }
}

TEST_F(TableTest, DictionariesOfNumbersAreDecoded) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::float64());
  const auto codes = array_of_optionals<arrow::Int8Type>(Optionals<std::int8_t>{2, 0, std::nullopt, 1, 2});
  const auto array = require(arrow::DictionaryArray::FromArrays(
      type, codes, array_of_optionals<arrow::DoubleType>(Optionals<double>{0.5, std::nullopt, 2.5})));
  for (const Container container : {Container::ipc_file, Container::ipc_stream}) {
    EXPECT_EQ(numbers<double>(*table_with(container, array, 5), "x"),
              (Optionals<double>{2.5, 0.5, std::nullopt, std::nullopt, 2.5}));
  }
  const auto whole = require(arrow::DictionaryArray::FromArrays(type, codes, array_of<arrow::DoubleType>({0, 1, 2})));
  EXPECT_EQ(numbers<double>(*table_with(Container::parquet, whole, 2), "x"),
            (Optionals<double>{2, 0, std::nullopt, 1, 2}));
}

TEST_F(TableTest, IntervalsAreElementsOf128Bits) {
  arrow::MonthIntervalBuilder months;
  arrow::DayTimeIntervalBuilder days;
  arrow::MonthDayNanoIntervalBuilder all;
  require(months.AppendValues({14, -1}));
  require(months.AppendNull());
  require(days.Append({3, -5}));
  require(days.Append({-1, 90'000'000}));
  require(days.AppendNull());
  require(all.Append({1, -30, 5}));
  require(all.Append({0, 0, INT64_MIN}));
  require(all.AppendNull());
  constexpr std::int64_t kMillisecond = 1'000'000;
  const auto path =
      put_columns(Container::ipc_file,
                  {{"m", require(months.Finish())}, {"d", require(days.Finish())}, {"a", require(all.Finish())}});
  const auto table = open_table(path);
  const std::vector<Optionals<Interval>> expected = {
      {Interval{.months = 14}, Interval{.months = -1}, std::nullopt},
      {Interval{0, 3, -5 * kMillisecond}, Interval{0, -1, 90'000'000 * kMillisecond}, std::nullopt},
      {Interval{1, -30, 5}, Interval{0, 0, INT64_MIN}, std::nullopt}};
  for (const int column : {0, 1, 2}) {
    EXPECT_EQ(table->fields()[static_cast<std::size_t>(column)].kind, ValueKind::interval);
    Optionals<Interval> read;
    for (const auto& element : numbers<Int128>(*table, table->fields()[static_cast<std::size_t>(column)].name)) {
      read.push_back(element ? std::optional(interval_of(*element)) : std::nullopt);
    }
    EXPECT_EQ(read, expected[static_cast<std::size_t>(column)]);
  }
}

TEST_F(TableTest, IntervalsThatAreTooLongNameTheirRow) {
  arrow::MonthDayNanoIntervalBuilder builder;
  require(builder.Append({kMostIntervalMonths, kMostIntervalDays, INT64_MAX}));
  require(builder.Append({-kMostIntervalMonths, -kMostIntervalDays, INT64_MIN}));
  require(builder.Append({0, kMostIntervalDays + 1, 0}));
  const auto path = put_columns(Container::ipc_file, {{"x", require(builder.Finish())}});
  expect_error(Code::malformed, "row 2 is an interval of more than",
               [&] { (void)numbers<Int128>(*open_table(path), "x"); });
}

TEST_F(TableTest, OtherTypesDoNotKeepATableFromBeingOpened) {
  const auto array = array_of<arrow::Int64Type>({1, 2});
  const auto structs = require(arrow::StructArray::Make({array}, std::vector<std::string>{"b"}));
  for (const Container container : kContainers) {
    for (const auto& [type, shown] : {std::pair{arrow::binary(), "binary"},
                                      {arrow::list(arrow::utf8()), "list<"},
                                      {arrow::decimal256(50, 2), "decimal256(50, 2)"}}) {
      const auto table = table_with(container, require(arrow::MakeArrayOfNull(type, 2)));
      EXPECT_NE(field_of_column(*table, "x").unsupported.find(shown), std::string::npos) << type->ToString();
      EXPECT_EQ(numbers<double>(*table, "z"), (Optionals<double>{0, 1}));
      expect_error(Code::unsupported_type, shown, [&] { (void)table->open(0, {1}); });
      EXPECT_TRUE(std::isinf(table->range(0, 1).least));
    }
    const auto table = open_table(put_columns(container, {{"s", structs}, {"n", array}}));
    EXPECT_EQ(table->fields()[0].unsupported, "struct<b: int64>");
    EXPECT_EQ(numbers<std::int64_t>(*table, "n"), (Optionals<std::int64_t>{1, 2}));
  }
}

TEST_F(TableTest, ListsOfNumbersAreRead) {
  const auto offsets = array_of<arrow::Int32Type>({0, 2, 2, 3});
  const auto lists = require(arrow::ListArray::FromArrays(*offsets, *array_of<arrow::Int64Type>({7, 8, 9})));
  for (const Container container : kContainers) {
    const auto table = open_table(put_columns(container, {{"x", lists}}));
    const Field& field = table->fields()[0];
    ASSERT_NE(field.element, nullptr);
    EXPECT_EQ(field.element->storage, Storage::int64);
    EXPECT_NE(field.unsupported.find("list<"), std::string::npos);
    Batch batch;
    ASSERT_TRUE(table->open(0, {0})->next(batch));
    ASSERT_EQ(batch.rows, 3);
    const ColumnLists& read = *batch.columns[0].lists;
    EXPECT_EQ(std::vector(read.offsets, read.offsets + 4), (std::vector<std::int64_t>{0, 2, 2, 3}));
    const auto* const elements = static_cast<const std::int64_t*>(read.elements.values);
    EXPECT_EQ(std::vector(elements, elements + 3), (std::vector<std::int64_t>{7, 8, 9}));
  }
}

TEST_F(TableTest, TablesWithoutRowsAreRead) {
  for (const Container container : kContainers) {
    EXPECT_TRUE(numbers<std::int32_t>(*table_with(container, array_of<arrow::Int32Type>({})), "x").empty());
    EXPECT_TRUE(
        words(*table_with(container, array_of_optionals<arrow::StringType>(Optionals<std::string>{})), "x").empty());
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_F(TableTest, RangesAreThoseOfParquetsStatistics) {
  const auto expect = [&](const ArrayPtr& array, double least, double greatest) {
    const auto table = table_with(Container::parquet, array);
    const ColumnRange range = table->range(0, 1);
    EXPECT_TRUE(range.has_values);
    EXPECT_EQ(range.least, least) << array->ToString();
    EXPECT_EQ(range.greatest, greatest) << array->ToString();
  };
  using Limits = std::numeric_limits<std::int64_t>;
  expect(array_of<arrow::Int64Type>({3, -5, 7}), -5, 7);
  expect(array_of<arrow::Int64Type>({Limits::min(), Limits::max()}), -0x1p63, 0x1p63);
  expect(array_of<arrow::Int64Type>({(1L << 53) + 1, (1L << 53) + 3}), 0x1p53, 0x1p53 + 4);
  expect(array_of<arrow::Int64Type>({-(1L << 53) - 1}), -0x1p53 - 2, -0x1p53);
  expect(array_of<arrow::UInt64Type>({1, ~0UL}), 1, 0x1p64);
  expect(array_of<arrow::UInt32Type>({1, ~0U}), 1, 0xffffffffp0);
  expect(array_of<arrow::UInt8Type>({1, 255}), 1, 255);
  expect(array_of<arrow::Int8Type>({-128, 127}), -128, 127);
  expect(array_of<arrow::Date32Type>({-3, 20'000}), -3, 20'000);
  expect(array_of<arrow::FloatType>({-1.5F, 2.5F}), -1.5, 2.5);
  expect(array_of<arrow::DoubleType>({-1.5, std::nan("")}), -1.5, -1.5);
  expect(array_of<arrow::DoubleType>({std::nan("")}), -kInfinity, kInfinity);
  expect(array_of_optionals<arrow::BooleanType>(Optionals<bool>{true}), -kInfinity, kInfinity);
  expect(array_of_optionals<arrow::StringType>(Optionals<std::string>{"a"}), -kInfinity, kInfinity);
}

TEST_F(TableTest, RangesOfZerosHaveBothSigns) {
  const auto table = table_with(Container::parquet, array_of<arrow::DoubleType>({0.0, 0.0}));
  EXPECT_TRUE(std::signbit(table->range(0, 1).least));
  EXPECT_FALSE(std::signbit(table->range(0, 1).greatest));
}

TEST_F(TableTest, RangesOfDecimalsAreTheirValues) {
  const auto range_with = [&](int precision, const Optionals<arrow::Decimal128>& values) {
    const auto array = decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(precision, 2), values);
    return table_with(Container::parquet, array)->range(0, 1);
  };
  for (const int precision : {9, 18, 38}) {
    const ColumnRange exact = range_with(precision, {arrow::Decimal128(-7'00), arrow::Decimal128(24'00)});
    EXPECT_EQ(exact.least, -7) << precision;
    EXPECT_EQ(exact.greatest, 24);
    const ColumnRange between = range_with(precision, {arrow::Decimal128(5), arrow::Decimal128(7)});
    EXPECT_LT(between.least, 0.05L);
    EXPECT_GT(between.greatest, 0.07L);
    EXPECT_LE(0.05 - between.least, 0x1p-56);
    EXPECT_LE(between.greatest - 0.07, 0x1p-55);
  }
  const ColumnRange wide = range_with(38, {arrow::Decimal128(-1, 0), arrow::Decimal128(1, 0)});
  EXPECT_LE(wide.least, -0x1p64 / 100);
  EXPECT_GE(wide.greatest, 0x1p64 / 100);
  EXPECT_NEAR(wide.greatest, 0x1p64 / 100, 100);
}

// Compares with quotients of 113 bits, which are exact for all of these.
TEST(Range, RoundsOutward) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100'000; ++round) {
    const auto value = static_cast<std::int64_t>(random()) >> random() % 63;
    const int scale = static_cast<int>(random() % 19);
    double power = 1;
    for (int i = 0; i < scale; ++i) power *= 10;
    const double below = round_down(value, scale);
    const double above = round_up(value, scale);
    // Products of two doubles are exact in __float128.
    EXPECT_LE(static_cast<__float128>(below) * static_cast<__float128>(power), static_cast<__float128>(value));
    EXPECT_GE(static_cast<__float128>(above) * static_cast<__float128>(power), static_cast<__float128>(value));
    EXPECT_LE(above, std::nextafter(std::nextafter(below, kInfinity), kInfinity));
  }
}

TEST_F(TableTest, RangesOfNullsAreEmpty) {
  const auto array = array_of_optionals<arrow::Int64Type>(Optionals<std::int64_t>{std::nullopt, std::nullopt, 5});
  const auto table = table_with(Container::parquet, array, 2);
  EXPECT_FALSE(table->range(0, 1).has_values);
  EXPECT_TRUE(table->range(1, 1).has_values);
  EXPECT_EQ(table->range(1, 1).least, 5);
  EXPECT_TRUE(table_with(Container::ipc_file, array)->range(0, 1).has_values);
}

TEST_F(TableTest, RangesAreUnknownWithoutStatistics) {
  const std::string file =
      put_parquet({{"x", with_null(3, 1)}}, *parquet::WriterProperties::Builder().disable_statistics());
  const ColumnRange range = open_table(file)->range(0, 0);
  EXPECT_TRUE(range.has_values);
  EXPECT_EQ(range.least, -kInfinity);
  EXPECT_EQ(range.greatest, kInfinity);
}

// Statistics that a file may contain about the values of a column.
class ClaimTest : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 3;

  // Returns the value as Parquet stores it.
  template <class T>
  static std::string stored(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  static parquet::EncodedStatistics claim(const std::string& min, const std::string& max, std::int64_t nulls = 0) {
    parquet::EncodedStatistics claimed;
    claimed.set_min(min).set_max(max).set_null_count(nulls);
    return claimed;
  }

  void declare(parquet::Type::type type, const std::shared_ptr<const parquet::LogicalType>& meaning, Field field,
               int length = -1) {
    using parquet::schema::GroupNode;
    leaf_ = parquet::schema::PrimitiveNode::Make("x", parquet::Repetition::OPTIONAL, meaning, type, length);
    schema_.Init(GroupNode::Make("schema", parquet::Repetition::REQUIRED, {leaf_}));
    field_ = std::move(field);
  }
  void declare_integers() { declare(parquet::Type::INT64, parquet::LogicalType::None(), Field{}); }
  void forget_order() {
    static_cast<parquet::schema::PrimitiveNode&>(*leaf_).SetColumnOrder(parquet::ColumnOrder::undefined_);
  }

  // Returns the range of a row group of three rows.
  ColumnRange of_chunk(const parquet::EncodedStatistics& claimed) {
    const auto file = parquet::FileMetaDataBuilder::Make(&schema_, parquet::default_writer_properties());
    parquet::RowGroupMetaDataBuilder& group = *file->AppendRowGroup();
    group.set_num_rows(kRows);
    parquet::ColumnChunkMetaDataBuilder& chunk = *group.NextColumnChunk();
    chunk.SetStatistics(claimed);
    chunk.Finish(kRows, -1, -1, 4, 10, 10, false, false, {}, {});
    group.Finish(10);
    const auto metadata = file->Finish();
    return range_of(*metadata->RowGroup(0)->ColumnChunk(0), field_);
  }
  // Returns the range of a page of three rows, by the index.
  ColumnRange of_page(const parquet::EncodedStatistics& claimed) {
    const auto values = parquet::ColumnIndexBuilder::Make(schema_.Column(0));
    values->AddPage(claimed, {});
    values->Finish();
    const auto places = parquet::OffsetIndexBuilder::Make();
    places->AddPage(4, 10, 0);
    places->Finish(0);
    const auto ranges = ranges_of_batches(*schema_.Column(0), *values->Build(), *places->Build(), kRows, field_);
    EXPECT_EQ(ranges.size(), 1U);
    return ranges.empty() ? ColumnRange() : ranges[0];
  }
  void expect(const parquet::EncodedStatistics& claimed, double least, double greatest) {
    for (const ColumnRange& range : {of_chunk(claimed), of_page(claimed)}) {
      EXPECT_TRUE(range.has_values);
      EXPECT_EQ(range.least, least);
      EXPECT_EQ(range.greatest, greatest);
    }
  }
  void expect_nothing(const parquet::EncodedStatistics& claimed) {
    expect(claimed, -kInfinity, kInfinity);
    EXPECT_TRUE(of_chunk(claimed).has_nulls);
  }

  parquet::schema::NodePtr leaf_;
  parquet::SchemaDescriptor schema_;
  Field field_;
};

TEST_F(ClaimTest, BoundsInTheWrongOrderAreNotBelieved) {
  const auto reversed = [&](auto least, auto greatest) {
    expect(claim(stored(least), stored(greatest)), static_cast<double>(least), static_cast<double>(greatest));
    expect_nothing(claim(stored(greatest), stored(least)));
  };
  declare_integers();
  reversed(std::int64_t{1}, std::int64_t{9});
  declare(parquet::Type::INT32, parquet::LogicalType::None(), {.storage = Storage::int32});
  reversed(-1, 9);
  declare(parquet::Type::INT32, parquet::LogicalType::Int(32, false), {.storage = Storage::uint32});
  reversed(9U, ~0U);
  declare(parquet::Type::INT32, parquet::LogicalType::Date(), {.kind = ValueKind::date, .storage = Storage::int32});
  reversed(-1, 9);
  declare(parquet::Type::FLOAT, parquet::LogicalType::None(), {.kind = ValueKind::real, .storage = Storage::float32});
  reversed(-1.5F, 9.0F);
  declare(parquet::Type::DOUBLE, parquet::LogicalType::None(), {.kind = ValueKind::real, .storage = Storage::float64});
  reversed(-1.5, 9.0);
  expect(claim(stored(-0.0), stored(0.0)), 0, 0);
  expect(claim(stored(0.0), stored(-0.0)), 0, 0);  // both are equal
  declare(parquet::Type::FIXED_LEN_BYTE_ARRAY, parquet::LogicalType::Decimal(4, 0), {.kind = ValueKind::decimal}, 2);
  expect(claim({'\xff', '\xff'}, {'\1', '\0'}), -1, 256);
  expect_nothing(claim({'\1', '\0'}, {'\xff', '\xff'}));
}

TEST_F(ClaimTest, CountsThatCannotBeAreNotBelieved) {
  declare_integers();
  const std::string one = stored(std::int64_t{1});
  const std::string nine = stored(std::int64_t{9});
  for (const std::int64_t nulls : {-1, 4}) expect_nothing(claim(one, nine, nulls));
  expect_nothing(claim(one, nine, kRows));  // all rows are NULL, so the bounds belong to no value
  expect(claim(one, nine, 2), 1, 9);
  auto distinct = claim(one, nine, 1);
  distinct.set_distinct_count(2);
  EXPECT_EQ(of_chunk(distinct).greatest, 9);
  for (const std::int64_t count : {-1, 1, 3}) {  // there are two different values
    distinct.set_distinct_count(count);
    EXPECT_EQ(of_chunk(distinct).greatest, kInfinity) << count;
  }
  parquet::EncodedStatistics nulls;
  nulls.set_null_count(kRows);
  EXPECT_FALSE(of_chunk(nulls).has_values);
  nulls.all_null_value = true;
  EXPECT_FALSE(of_page(nulls).has_values);
  nulls.set_null_count(2);
  EXPECT_TRUE(of_page(nulls).has_values) << "a page that claims to contain only NULLs, but has a value";
}

TEST_F(ClaimTest, BoundsThatAreNoNumbersOfTheTypeAreNotBelieved) {
  declare_integers();
  const std::string nine = stored(std::int64_t{9});
  EXPECT_EQ(of_chunk(claim(stored(std::int64_t{1}) + "12345678", nine)).least, -kInfinity);
  declare(parquet::Type::DOUBLE, parquet::LogicalType::None(), {.kind = ValueKind::real, .storage = Storage::float64});
  expect(claim(stored(std::nan("")), stored(9.0)), -kInfinity, kInfinity);
  expect(claim(stored(1.0), stored(std::nan(""))), -kInfinity, kInfinity);
  declare(parquet::Type::FIXED_LEN_BYTE_ARRAY, parquet::LogicalType::Decimal(4, 0), {.kind = ValueKind::decimal}, 2);
  EXPECT_EQ(of_chunk(claim({'\0', '\1', '\0'}, {'\0', '\x9', '\0'})).greatest, kInfinity);
}

// Files that are older than such orders.
TEST_F(ClaimTest, BoundsInAnUnknownOrderAreThoseOfSignedNumbersOnly) {
  declare_integers();
  forget_order();
  EXPECT_EQ(of_page(claim(stored(std::int64_t{1}), stored(std::int64_t{9}))).greatest, 9);
  declare(parquet::Type::INT32, parquet::LogicalType::Int(32, false), {.storage = Storage::uint32});
  EXPECT_EQ(of_page(claim(stored(1), stored(9))).greatest, 9);
  forget_order();
  EXPECT_EQ(of_page(claim(stored(1), stored(9))).greatest, kInfinity);
  declare(parquet::Type::FIXED_LEN_BYTE_ARRAY, parquet::LogicalType::Decimal(4, 0), {.kind = ValueKind::decimal}, 2);
  forget_order();
  EXPECT_EQ(of_page(claim({'\0', '\1'}, {'\0', '\x9'})).greatest, kInfinity);
}

// Numbers of every width, with NULLs and without, in many small pages of each kind.
TEST_F(TableTest, PagesOfEveryKindAreRead) {
  std::mt19937_64 random(4);
  Optionals<std::int64_t> longs;
  std::vector<std::int32_t> ints;
  std::vector<double> reals;
  for (int i = 0; i < 5000; ++i) {
    longs.push_back(random() % 9 == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(random() % 700)));
    ints.push_back(static_cast<std::int32_t>(random()) >> (i % 29));
    reals.push_back(std::floor(i / 100.0));
  }
  const Columns columns{{"l", array_of_optionals<arrow::Int64Type>(longs)},
                        {"i", array_of<arrow::Int32Type>(ints)},
                        {"r", array_of<arrow::DoubleType>(reals)}};
  for (const auto compression :
       {parquet::Compression::UNCOMPRESSED, parquet::Compression::SNAPPY, parquet::Compression::ZSTD}) {
    for (const auto version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
      for (const bool dictionary : {false, true}) {
        parquet::WriterProperties::Builder pages;
        pages.compression(compression)->data_page_version(version)->data_pagesize(2000)->write_batch_size(100);
        pages.enable_page_checksum();
        if (!dictionary) pages.disable_dictionary();
        const auto table = open_table(put_parquet(columns, pages, 3000));
        EXPECT_EQ(table->row_groups(), 2);
        EXPECT_EQ(numbers<std::int64_t>(*table, "l"), longs);
        EXPECT_EQ(numbers<std::int32_t>(*table, "i"), Optionals<std::int32_t>(ints.begin(), ints.end()));
        EXPECT_EQ(numbers<double>(*table, "r"), Optionals<double>(reals.begin(), reals.end()));
      }
    }
  }
}

// Only the first page has a NULL: the values of later pages are all valid.
TEST_F(TableTest, PagesWithoutNullsFollowOnesWithThem) {
  Optionals<std::int64_t> values;
  for (int i = 0; i < 60'000; ++i)
    values.push_back(i == 0 || i == 40'000 ? std::nullopt : std::optional<std::int64_t>(i % 7));
  for (const auto version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
    for (const bool dictionary : {false, true}) {
      parquet::WriterProperties::Builder pages;
      pages.compression(parquet::Compression::SNAPPY)
          ->data_page_version(version)
          ->data_pagesize(4000)
          ->write_batch_size(500);
      if (!dictionary) pages.disable_dictionary();
      const auto table = open_table(put_parquet({{"x", array_of_optionals<arrow::Int64Type>(values)}}, pages, 60'000));
      EXPECT_EQ(numbers<std::int64_t>(*table, "x"), values);
    }
  }
}

// Returns the rows of a batch as text, whatever their types.
std::vector<std::string> lines(const Batch& batch) {
  std::vector<std::string> all;
  for (std::int64_t i = 0; i < batch.rows; ++i) {
    std::string line;
    for (const ColumnData& data : batch.columns) {
      if (is_null(data, i)) {
        line += "-";
      } else if (data.dictionary) {
        line += data.dictionary->at(static_cast<std::size_t>(static_cast<const std::int32_t*>(data.values)[i]));
      } else {
        line += std::to_string(static_cast<const std::int64_t*>(data.values)[i]);
      }
      line += ' ';
    }
    all.push_back(std::move(line));
  }
  return all;
}

// Few numbers, some of them NULL; many different numbers; and strings that fill their dictionary within the column.
Columns long_columns(std::int64_t rows) {
  std::mt19937_64 random(3);
  Optionals<std::int64_t> some;
  std::vector<std::int64_t> many;
  Optionals<std::string> words;
  for (std::int64_t i = 0; i < rows; ++i) {
    some.push_back(random() % 5 == 0 && i % 100'000 > 50'000 ? std::nullopt : std::optional<std::int64_t>(i % 300));
    many.push_back(i * 7);
    const std::string word = std::string(random() % 3 * 9, 'x') + std::to_string(random() % 40'000);
    words.push_back(random() % 9 == 0 ? std::nullopt : std::optional(word));
  }
  return {{"s", array_of_optionals<arrow::Int64Type>(some)},
          {"m", array_of<arrow::Int64Type>(many)},
          {"w", array_of_optionals<arrow::StringType>(words)}};
}

// Skipped batches must not change the others.
void check_skips(const Table& table, const std::vector<int>& columns) {
  std::vector<std::vector<std::string>> batches;
  std::vector<std::int64_t> first_rows;
  each_batch(table, 0, columns, [&](const Batch& batch) {
    batches.push_back(lines(batch));
    first_rows.push_back(batch.first_row);
  });
  for (const unsigned skipped : {0b0001U, 0b0110U, 0b1010U, 0b0111U, 0b1111U, 0b1001U}) {
    const auto reader = table.open(0, columns);
    Batch batch;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      if ((skipped >> i & 1) != 0) {
        reader->skip();
        continue;
      }
      ASSERT_TRUE(reader->next(batch));
      ASSERT_EQ(batch.first_row, first_rows[i]);
      ASSERT_TRUE(lines(batch) == batches[i]) << "batch " << i << ", skipped " << skipped;
    }
    EXPECT_FALSE(reader->next(batch));
    reader->skip();
    EXPECT_FALSE(reader->next(batch));
  }
}

TEST_F(TableTest, BatchesAreSkipped) {
  constexpr std::int64_t kRows = 3 * kBatchRows + 1234;
  const Columns columns = long_columns(kRows);
  for (const auto compression : {parquet::Compression::SNAPPY, parquet::Compression::ZSTD}) {
    for (const auto version : {parquet::ParquetDataPageVersion::V1, parquet::ParquetDataPageVersion::V2}) {
      for (const std::int64_t page : {3000, 1 << 20}) {
        parquet::WriterProperties::Builder pages;
        pages.compression(compression)->data_page_version(version)->data_pagesize(page);
        pages.max_row_group_length(kRows)->dictionary_pagesize_limit(100'000);
        const auto table = open_table(put_parquet(columns, pages, kRows));
        check_skips(*table, {0, 1});
        check_skips(*table, {2, 1, 0});
        check_skips(*table, {2});
      }
    }
  }
  check_skips(*open_table(put_columns(Container::ipc_file, columns, kRows)), {0, 1, 2});
  check_skips(*open_table(put_columns(Container::ipc_stream, columns, 50'000)), {0, 1, 2});
}

TEST_F(TableTest, RangesOfBatchesAreThoseOfTheirPages) {
  // A batch of numbers, three of NULL, and one more number in the last batch.
  constexpr std::int64_t kRows = 4 * kBatchRows + 10;
  Optionals<std::int64_t> values(kRows);
  for (std::int64_t i = 0; i < kBatchRows; ++i) values[static_cast<std::size_t>(i)] = 1000 + i;
  values.back() = -5;
  const Columns columns{{"x", array_of_optionals<arrow::Int64Type>(values)}};
  parquet::WriterProperties::Builder pages;
  pages.enable_write_page_index()->disable_dictionary()->data_pagesize(1000)->write_batch_size(64);
  pages.max_row_group_length(kRows);
  const auto ranges = open_table(put_parquet(columns, pages, kRows))->batch_ranges(0, 0);
  ASSERT_EQ(ranges.size(), 5U);
  EXPECT_TRUE(ranges[0].has_values && !ranges[0].has_nulls);
  EXPECT_EQ(ranges[0].least, 1000);
  EXPECT_EQ(ranges[0].greatest, 999 + kBatchRows);
  EXPECT_FALSE(ranges[2].has_values);
  EXPECT_TRUE(ranges[4].has_values && ranges[4].has_nulls);
  EXPECT_EQ(ranges[4].least, -5);
  EXPECT_EQ(ranges[4].greatest, -5);
  pages.disable_write_page_index();
  EXPECT_TRUE(open_table(put_parquet(columns, pages, kRows))->batch_ranges(0, 0).empty());
  EXPECT_TRUE(open_table(put_columns(Container::ipc_file, columns))->batch_ranges(0, 0).empty());
  pages.enable_write_page_index();
  const std::string file = put_parquet(columns, pages, kRows);
  const auto table = open_table(file);
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  expect_error(Code::malformed, "was changed or replaced", [&] { (void)table->batch_ranges(0, 0); });
}

// Some columns of every kind.
Columns varied() {
  const auto numbers_type = arrow::dictionary(arrow::int8(), arrow::float64());
  return {{"i", with_null(4, 2)},
          {"b", array_of_optionals<arrow::BooleanType>(Optionals<bool>{true, std::nullopt, false, true})},
          {"t", array_of_optionals<arrow::StringType>(Optionals<std::string>{"a", std::nullopt, "bb", "a"})},
          {"d", decimals<arrow::Decimal128Builder, arrow::Decimal128>(
                    arrow::decimal128(15, 2),
                    {arrow::Decimal128(1), std::nullopt, arrow::Decimal128(-1), arrow::Decimal128(99)})},
          {"n", require(arrow::DictionaryArray::FromArrays(numbers_type, array_of<arrow::Int8Type>({2, 0, 1, 2}),
                                                           array_of<arrow::DoubleType>({0.5, 1.5, 2.5})))}};
}

TEST_F(TableTest, TablesCutAnywhereAreMalformed) {
  for (const Container container : kContainers) {
    const std::string good = slurp(put_columns(container, varied(), 2));
    for (std::size_t size = 0; size < good.size(); ++size) {
      const std::string file = put("cut", good.substr(0, size));
      expect_error(Code::malformed, file, [&] { touch_all(file); });
    }
    EXPECT_GT(touch_all(put("cut", good)), 0);
  }
}

TEST_F(TableTest, TablesWithFlippedBitsAreReadOrRefused) {
  std::mt19937 random(2);
  for (const Container container : kContainers) {
    for (const auto& compression :
         {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD, arrow::Compression::SNAPPY}) {
      if (compression == arrow::Compression::SNAPPY && container != Container::parquet) continue;
      const std::string good = slurp(put_columns(container, varied(), 3, compression));
      for (int round = 0; round < 1500; ++round) {
        const std::string file = put("flipped", flipped(good, good.size(), random));
        try {
          touch_all(file);
        } catch (const Error& error) {
          EXPECT_EQ(std::string(error.what()).find(file), 0U) << error.what();
        }
      }
    }
  }
}

TEST_F(TableTest, APipeInPlaceOfAFileIsNotWaitedFor) {
  expect_replaced_by_a_pipe(put("a.csv", "x,y\n1,2\n"));
  for (const Container container : kContainers) {
    expect_replaced_by_a_pipe(put_columns(container, {{"x", array_of<arrow::Int64Type>({1, 2, 3})}}));
  }
}

TEST_F(TableTest, AFileThatChangesWhileItIsReadIsMalformed) {
  const auto values = counting<std::int64_t>(2 * kBatchRows);
  for (const Container container : kContainers) {
    const auto open = [&] { return table_with(container, array_of<arrow::Int64Type>(values), std::ssize(values)); };
    const auto expect_changed = [](BatchReader& reader) {
      expect_error(Code::malformed, "was changed or replaced while it was read", [&] {
        Batch batch;
        while (reader.next(batch)) continue;
      });
    };
    const std::string good = slurp(put_columns(container, {{"x", array_of<arrow::Int64Type>(values)}}));
    Batch batch;
    for (const bool started : {false, true}) {
      auto table = open();
      auto reader = table->open(0, {1});
      EXPECT_TRUE(!started || reader->next(batch));
      fs::rename(put("other", good), path("table"));
      expect_changed(*reader);
      table = open();
      reader = table->open(0, {1});
      EXPECT_TRUE(!started || reader->next(batch));
      fs::last_write_time(path("table"), fs::last_write_time(path("table")) + std::chrono::seconds(2));
      expect_changed(*reader);
    }
    const auto table = open();
    fs::remove(path("table"));
    expect_error(Code::not_found, "no such file", [&] { table->open(0, {1})->next(batch); });
  }
}

// Also for ThreadSanitizer: row groups are read at the same time, some of them twice.
TEST_F(TableTest, RowGroupsAreReadAtTheSameTime) {
  const std::int64_t rows = 20'000;
  Optionals<std::string> texts;
  for (std::int64_t i = 0; i < rows; ++i) texts.emplace_back(std::to_string(i % 100));
  for (const Container container : kContainers) {
    const auto table = open_table(put_columns(container,
                                              {{"n", array_of<arrow::Int64Type>(counting<std::int64_t>(rows))},
                                               {"t", array_of_optionals<arrow::StringType>(texts)}},
                                              1000));
    std::array<std::int64_t, 4> sums{};
    std::vector<std::thread> threads;
    threads.reserve(sums.size());
    for (std::size_t t = 0; t < sums.size(); ++t) {
      threads.emplace_back([&, t] {
        for (int row_group = static_cast<int>(t) % 2; row_group < table->row_groups(); row_group += 2) {
          EXPECT_TRUE(table->range(row_group, 0).has_values);
          each_batch(*table, row_group, {0, 1}, [&](const Batch& batch) {
            const auto* const values = static_cast<const std::int64_t*>(batch.columns[0].values);
            sums[t] = std::accumulate(values, values + batch.rows, sums[t]);
            EXPECT_GE(batch.columns[1].dictionary->size(), 100U);
          });
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(sums[0] + sums[1] + sums[2] + sums[3], rows * (rows - 1));  // each row group twice
  }
}

// One row group of 64 MiB, read without holding it in memory.
TEST_F(TableTest, ParquetIsReadInBoundedMemory) {
  constexpr std::int64_t kRows = 1 << 22;
  const auto values = array_of<arrow::Int64Type>(counting<std::int64_t>(kRows));
  const auto table = open_table(put_columns(Container::parquet, {{"x", values}, {"y", values}}, kRows));
  const std::int64_t before = arrow::default_memory_pool()->bytes_allocated();
  std::int64_t most = 0;
  each_batch(*table, 0, {0, 1},
             [&](const Batch&) { most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before); });
  EXPECT_LT(most, 16 << 20);
}

TEST_F(TableTest, CsvColumnsAreReadAsWhatTheyAre) {
  const auto table = open_table(put("a.csv",
                                    "i,u,d,f,b,t,e\n"
                                    "-1,18446744073709551615,2001-12-31,1,true,\"a\nb\",\n"
                                    "2,0,1970-01-01,nan,false,x,\n"
                                    ",,,,,,\n"));
  EXPECT_EQ(table->rows(), -1);
  EXPECT_EQ(numbers<std::int64_t>(*table, "i"), (Optionals<std::int64_t>{-1, 2, std::nullopt}));
  EXPECT_EQ(numbers<std::uint64_t>(*table, "u"), (Optionals<std::uint64_t>{~0ULL, 0, std::nullopt}));
  EXPECT_EQ(field_of_column(*table, "d").kind, ValueKind::date);
  EXPECT_EQ(numbers<std::int32_t>(*table, "d"), (Optionals<std::int32_t>{11'687, 0, std::nullopt}));
  EXPECT_TRUE(std::isnan(*numbers<double>(*table, "f")[1]));
  EXPECT_EQ(booleans(*table, "b"), (Optionals<bool>{true, false, std::nullopt}));
  EXPECT_EQ(words(*table, "t"), (Optionals<std::string>{"a\nb", "x", std::nullopt}));
  EXPECT_EQ(numbers<std::int64_t>(*table, "e"), Optionals<std::int64_t>(3));
  std::int64_t rows = 0;
  each_batch(*table, 0, {}, [&](const Batch& batch) { rows += batch.rows; });
  EXPECT_EQ(rows, 3);
}

TEST_F(TableTest, CsvDecimalsAreExact) {
  std::string text = "i,d,w,e,n,t\n";
  for (int i = 0; i < 200'000; ++i) text += "1,2.5,3,1.5,,0.5\n";
  text += "0.25,-0.125,12345678901234567890.5,1e2,0.75,x\n,NA,,,null,\n";
  const std::string file = put("a.csv", text);
  const auto table = open_table(file);
  const std::tuple<const char*, Storage, int> decimals[] = {
      {"i", Storage::int64, 2}, {"d", Storage::int64, 3}, {"w", Storage::int128, 1}, {"n", Storage::int64, 2}};
  for (const auto& [name, storage, scale] : decimals) {
    EXPECT_EQ(field_of_column(*table, name).kind, ValueKind::decimal) << name;
    EXPECT_EQ(field_of_column(*table, name).storage, storage) << name;
    EXPECT_EQ(field_of_column(*table, name).scale, scale) << name;
  }
  const auto ends = [](const auto& values) {
    EXPECT_EQ(values.size(), 200'002U);
    return std::tuple(values[0], values[200'000], values[200'001]);
  };
  constexpr std::nullopt_t kNone = std::nullopt;
  EXPECT_EQ(ends(numbers<std::int64_t>(*table, "i")), std::tuple(100, 25, kNone));
  EXPECT_EQ(ends(numbers<std::int64_t>(*table, "d")), std::tuple(2500, -125, kNone));
  const auto wide = numbers<Int128>(*table, "w");
  EXPECT_TRUE(wide[0] == 30 && wide[200'000] == Int128{12'345'678'901'234'567'890U} * 10 + 5 && !wide[200'001]);
  EXPECT_EQ(ends(numbers<double>(*table, "e")), std::tuple(1.5, 100.0, kNone));
  EXPECT_EQ(ends(numbers<std::int64_t>(*table, "n")), std::tuple(kNone, 75, kNone));
  EXPECT_EQ(words(*table, "t")[200'000], "x");
  // Any columns, in any order, and no columns.
  std::int64_t sum = 0;
  each_batch(*table, 0, {4, 0, 4}, [&](const Batch& batch) {
    for (std::int64_t i = 0; i < batch.rows; ++i)
      sum += static_cast<const std::int64_t*>(batch.columns[1].values)[i] != 0;
  });
  EXPECT_EQ(sum, 200'001);
  put("a.csv", text + "0.123,1,1,1,1,1\n");
  expect_error(Code::malformed, "changed", [&] { numbers<std::int64_t>(*table, "i"); });
}

TEST_F(TableTest, CsvTimesAreTimesAndMixturesAreText) {
  const auto table = open_table(put("a.CSV", "t,m,q\n12:30:00,1,\"\"\n13:30:00,true,NA\n"));
  constexpr std::int64_t kHalfHour = 1'800'000'000;  // microseconds
  EXPECT_EQ(field_of_column(*table, "t").kind, ValueKind::time);
  EXPECT_EQ(numbers<std::int64_t>(*table, "t"), (Optionals<std::int64_t>{25 * kHalfHour, 27 * kHalfHour}));
  EXPECT_EQ(words(*table, "m"), (Optionals<std::string>{"1", "true"}));
  EXPECT_EQ(open_table(put("b.csv", "x,y\n"))->fields().size(), 2U);
}

TEST_F(TableTest, CsvCellsAreTextWhereAskedFor) {
  const std::string file = put("a.csv",
                               "i,d,t\r\n"
                               "007,1.10,NA\r\n"
                               "18446744073709551617,,\"\"\r\n"
                               "true,\" a\nb\",\"say \"\"x\"\"\"");
  const auto table = open_table(file, as_written());
  EXPECT_EQ(words(*table, "i"), (Optionals<std::string>{"007", "18446744073709551617", "true"}));
  EXPECT_EQ(words(*table, "d"), (Optionals<std::string>{"1.10", std::nullopt, " a\nb"}));
  EXPECT_EQ(words(*table, "t"), (Optionals<std::string>{"NA", "", "say \"x\""}));
  EXPECT_EQ(words(*open_table(put("b.csv", "x\n01\n\n02\n"), as_written()), "x"),
            (Optionals<std::string>{"01", std::nullopt, "02"}));
  const auto values = array_of<arrow::Int64Type>({7});
  const auto typed = open_table(put_columns(Container::parquet, {{"x", values}}), as_written());
  EXPECT_EQ(numbers<std::int64_t>(*typed, "x"), Optionals<std::int64_t>{7});
}

// Cells of any length around the 64 bytes that are processed together. Quotes occur where they are needed and where
// they are not, lines have every kind of end, and some lines are empty.
TEST_F(TableTest, CsvCellsAreWhatWasWritten) {
  std::mt19937 random(17);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (const unsigned columns : {1U, 2U, 5U}) {
    for (unsigned round = 0; round < 20; ++round) {
      std::vector<Optionals<std::string>> cells(columns);
      std::string text;
      for (unsigned c = 0; c < columns; ++c) text += (c > 0 ? ",c" : "c") + std::to_string(c);
      text += "\n";
      const unsigned longest = round % 2 == 0 ? 6 : 140;
      for (unsigned row = 0; row < 3000; ++row) {
        // The first 1,000 rows determine the format of the file: in them no quote is a letter.
        const unsigned letters = row < 1000 ? 4 : round % 4 < 2 ? 5 : 10;
        for (unsigned c = 0; c < columns; ++c) {
          std::string cell;
          for (unsigned n = below(longest); n > 0; --n) cell += "abc7\",\n\r-."[below(letters)];
          const bool needs_quotes = cell.find_first_of(",\n\r") != std::string::npos || cell.starts_with('"');
          const bool quoted = needs_quotes || below(4) == 0;
          cells[c].push_back(cell.empty() && !quoted ? std::nullopt : std::optional(cell));
          text += c > 0 ? "," : "";
          text += quoted ? "\"" : "";
          for (const char letter : cell) text += letter == '"' && quoted ? "\"\"" : std::string(1, letter);
          text += quoted ? "\"" : "";
        }
        const bool is_last = row == 2999 && cells[0].back().has_value();
        constexpr std::array<const char*, 3> kEnds{"\n", "\r\n", "\r"};
        text += is_last && round % 3 == 0 ? "" : kEnds[columns > 1 ? below(3) : round % 2];
        if (columns > 1 && below(8) == 0) text += "\n";
      }
      const auto table = open_table(put("random.csv", text), as_written());
      for (unsigned c = 0; c < columns; ++c) EXPECT_EQ(words(*table, "c" + std::to_string(c)), cells[c]) << round;
    }
  }
}

TEST_F(TableTest, CsvColumnsAreFoundByTheirSource) {
  const std::string file = put("a.csv", "x,y,10.00\n1,2,3\n");
  EXPECT_EQ(open_csv_column(file + ":y")->column, 1);
  EXPECT_EQ(open_csv_column(file + ":y")->name, file + ":y");
  expect_error(Code::unknown_column, "'x', 'y', '10.00'", [&] { open_csv_column(file + ":z"); });
  expect_error(Code::unknown_column, "has 3 columns", [&] { open_csv_column(file); });
  EXPECT_EQ(open_csv_column(file + ":10.00")->column, 2);
  EXPECT_EQ(open_csv_column(put("b.csv", "1\n2\n"))->column, 0);
  expect_error(Code::not_found, "no such file", [&] { open_csv_column(path("none.csv:x")); });
  EXPECT_FALSE(open_csv_column(put("a.npy", npy_of<double>({1, 2}, "<f8"))));
  EXPECT_FALSE(open_csv_column(folder_.string() + ":x"));
}

TEST_F(TableTest, CsvLargerThanABlockIsRead) {
  Optionals<std::int64_t> values;
  Optionals<std::string> texts;
  std::string text = "x,y\n";
  for (std::int64_t i = 0; i < 400'000; ++i) {
    values.emplace_back(i);
    texts.emplace_back("word " + std::to_string(i % 1000));
    text += std::to_string(i) + "," + *texts.back() + "\n";
  }
  const auto table = open_table(put("a.csv", text));
  EXPECT_EQ(numbers<std::int64_t>(*table, "x"), values);
  EXPECT_EQ(words(*table, "y"), texts);
}

struct CsvColumn {
  std::vector<std::string> cells;
  ValueKind kind;
  Storage storage;
  int scale = 0;
  int values = -1;  // cells that are not NULL; -1: all
};

// A column's type depends only on all of its cells: not on their order, and not on their positions in the file.
TEST_F(TableTest, CsvColumnsHaveTheTypeOfAllTheirCells) {
  const std::string nines(38, '9');
  const CsvColumn columns[] = {
      {{"5", "\"\"", "-7"}, ValueKind::integer, Storage::int64, 0, 2},
      {{"5", "\"NA\"", "\"6\"", "NULL", "\"null\"", "None", "N/A", "#N/A"}, ValueKind::integer, Storage::int64, 0, 2},
      {{"9.50", "\"\"", "10"}, ValueKind::decimal, Storage::int64, 2, 2},
      {{"2024-01-02", "\"\"", "NA", "\" 2024-01-01\""}, ValueKind::date, Storage::int32, 0, 2},
      {{"true", "\"\"", "NA", "\"FALSE\""}, ValueKind::boolean, Storage::bit, 0, 2},
      {{"1.5", "1e3", "\"\"", "nan", "-inf", "+2.", "5"}, ValueKind::real, Storage::float64, 0, 6},
      {{"", "\"\""}, ValueKind::integer, Storage::int64, 0, 0},
      {{"NA", "DE", "\"NA\"", "\"\"", "None"}, ValueKind::text, Storage::int32, 0, 5},
      {{"NA"}, ValueKind::text, Storage::int32},
      {{"NA", "DE", ""}, ValueKind::text, Storage::int32, 0, 2},
      {{"5", "oops"}, ValueKind::text, Storage::int32},
      {{"5", "2024-01-02"}, ValueKind::text, Storage::int32},
      {{"5", "true"}, ValueKind::text, Storage::int32},
      {{"2024-01-02", "false"}, ValueKind::text, Storage::int32},
      {{"2024-01-02", "2024-02-30"}, ValueKind::text, Storage::int32},
      {{"31/01/2017", "01/02/2018"}, ValueKind::date, Storage::int32},
      {{"11/01/2017", "01/02/2018"}, ValueKind::text, Storage::int32},
      {{"9:30", "10:00"}, ValueKind::time, Storage::int64, 6},
      {{"08701", "8701"}, ValueKind::text, Storage::int32},
      {{"00", "1"}, ValueKind::text, Storage::int32},
      {{"00e1", "12e3"}, ValueKind::text, Storage::int32},
      {{"0x10", "1"}, ValueKind::text, Storage::int32},
      {{"0", "-0", "+0", "-007", "10"}, ValueKind::integer, Storage::int64},
      {{"0.5", "00.25", "1"}, ValueKind::decimal, Storage::int64, 2},
      {{"+123456789012345678", "1"}, ValueKind::integer, Storage::int64},
      {{"9223372036854775807", "-9223372036854775808"}, ValueKind::integer, Storage::int64},
      {{"18446744073709551615", "9223372036854775808", "0"}, ValueKind::integer, Storage::uint64},
      {{"9223372036854775808", "-5"}, ValueKind::decimal, Storage::int128},
      {{"18446744073709551616", "1"}, ValueKind::decimal, Storage::int128},
      {{"-9223372036854775809", "1"}, ValueKind::decimal, Storage::int128},
      {{nines, "-" + nines, "+1"}, ValueKind::decimal, Storage::int128},
      {{"1" + nines, "1"}, ValueKind::text, Storage::int32},
      {{"1" + nines, "1.5"}, ValueKind::text, Storage::int32},
      {{"1" + nines.substr(0, 12), "0.0000000000000000000000000000123"}, ValueKind::real, Storage::float64},
      {{"1" + nines.substr(0, 12) + ".5", "0.1234567890123456789012345678901"}, ValueKind::text, Storage::int32},
  };
  const std::string filler = [] {
    std::string rows;
    for (int i = 0; i < 300'000; ++i) rows += ",,12\n";
    return rows;
  }();
  for (const CsvColumn& column : columns) {
    std::string rows;
    std::string reversed;
    for (const std::string& cell : column.cells) {
      rows.append(cell).append(",a,1\n");
      reversed.insert(0, cell + ",a,1\n");
    }
    for (const std::string& text :
         {rows, reversed, rows + filler, filler + reversed, std::string(rows).append(filler).append(rows)}) {
      const auto table = open_table(put("a.csv", "x,y,z\n" + text));
      const Field& field = field_of_column(*table, "x");
      EXPECT_EQ(name(field.kind), name(column.kind)) << text.substr(0, 80);
      EXPECT_EQ(field.storage, column.storage) << text.substr(0, 80);
      EXPECT_EQ(field.scale, column.scale) << text.substr(0, 80);
      const std::int64_t copies = text.size() > filler.size() && text.starts_with(rows) && text.ends_with(rows) ? 2 : 1;
      const auto values = column.values < 0 ? std::ssize(column.cells) : column.values;
      std::int64_t found = 0;
      each_batch(*table, 0, {0}, [&](const Batch& batch) {
        for (std::int64_t i = 0; i < batch.rows; ++i) found += is_null(batch.columns[0], i) ? 0 : 1;
      });
      EXPECT_EQ(found, copies * values) << text.substr(0, 80);
    }
  }
}

// Numbers of every length, with and without a sign, spaces and quotes, and with fewer decimals than the column has.
TEST_F(TableTest, CsvNumbersAreExact) {
  std::mt19937_64 random(11);
  for (int scale = 0; scale <= 20; ++scale) {
    for (const int most : {3, 8, 9, 16, 17, 18, 20, 38}) {
      if (scale >= most) continue;
      std::string text = "x,y\n";
      Optionals<Int128> expected;
      for (int row = 0; row < 300; ++row) {
        const int decimals =
            scale == 0 || random() % 3 == 0 ? 0 : 1 + static_cast<int>(random() % static_cast<unsigned>(scale));
        const int whole = static_cast<int>(random() % static_cast<unsigned>(most - scale + 1));
        std::string digits;
        for (int i = 0; i < std::max(whole, 1) + decimals; ++i) digits += static_cast<char>('0' + random() % 10);
        if (whole <= 1 || digits[0] == '0') digits[0] = whole == 0 ? '0' : '7';
        Int128 value = 0;
        for (const char digit : digits) value = 10 * value + (digit - '0');
        for (int i = decimals; i < scale; ++i) value *= 10;
        std::string cell = digits;
        if (decimals > 0) cell.insert(cell.size() - static_cast<std::size_t>(decimals), ".");
        if (decimals > 0 && whole == 0 && random() % 2 == 0) cell.erase(0, 1);
        const auto sign = random() % 8;
        if (sign < 2) cell.insert(0, sign == 0 ? "+" : "-");
        if (random() % 8 == 0) cell.insert(0, " ").append("\t ");
        if (random() % 8 == 0) cell.insert(0, "\"").append("\"");
        expected.emplace_back(sign == 1 ? -value : value);
        text += cell + ",a\n";
      }
      text += scale == 0 ? "1,a\n" : "0." + std::string(static_cast<std::size_t>(scale), '7') + ",a\n";
      const auto table = open_table(put("a.csv", text));
      const Field& field = field_of_column(*table, "x");
      ASSERT_EQ(field.scale, scale) << text;
      Optionals<Int128> found;
      if (field.storage == Storage::int128) {
        found = numbers<Int128>(*table, "x");
      } else {
        ASSERT_EQ(field.storage, Storage::int64) << text;
        for (const auto& value : numbers<std::int64_t>(*table, "x")) found.emplace_back(*value);
      }
      found.pop_back();
      ASSERT_TRUE(found == expected) << text;
    }
  }
}

// Returns a table whose column x is read as float64, also where a cell is past its range.
std::unique_ptr<Table> table_of_reals(const std::string& path) {
  CsvOptions options;
  options.set("types", "x=float64");
  return open_table(path, options);
}

TEST_F(TableTest, CsvRealsAreTheNearestDoubles) {
  const std::string text =
      "x,y\n1e5,\n+1.5e-3,\n.5,\n5.,\n1.e2,\n-0.0,\n1e999,\n-1e999,\n1e-999,\n4.9e-324,\n"
      "0.1234567890123456789,\nInfinity,\n-INF,\n\" 7 \",\n";
  EXPECT_EQ(field_of_column(*open_table(put("a.csv", text)), "x").kind, ValueKind::text);
  const auto table = table_of_reals(put("a.csv", text));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(numbers<double>(*table, "x"),
            (Optionals<double>{1e5, 1.5e-3, 0.5, 5, 100, -0.0, kInfinite, -kInfinite, 0, 4.9e-324,
                               0.1234567890123456789, kInfinite, -kInfinite, 7}));
  EXPECT_TRUE(std::signbit(*numbers<double>(*table, "x")[5]));
}

// The exponent and the place of the first digit that is not 0 decide together.
TEST_F(TableTest, CsvRealsPastFloat64AreZeroOrInfinity) {
  const std::string zeros(400, '0');
  const std::string nines(400, '9');
  const std::string cells[] = {"0." + zeros + "1e10",    "." + zeros + "1e-10",    "-0." + zeros + "1e10",
                               "0." + zeros + "1e405",   "+0" + nines + ".",       "-0" + nines + ".",
                               "+00" + nines + ".5e-10", nines + "e-10",           nines + "e-800",
                               nines + "e-400",          "0." + zeros + "1e800",   "0e99999999999999999999",
                               "1e99999999999999999999", "1e-99999999999999999999"};
  std::string text = "x,y\n";
  for (const std::string& cell : cells) text += cell + ",\n";
  const auto table = table_of_reals(put("a.csv", text));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(numbers<double>(*table, "x"), (Optionals<double>{0, 0, -0.0, 1e4, kInfinite, -kInfinite, kInfinite,
                                                             kInfinite, 0, 1, kInfinite, 0, kInfinite, 0}));
}

// Lines are counted as in an editor, also if quotes contain line ends, and if lines are empty.
TEST_F(TableTest, CsvMessagesNameTheLine) {
  const std::tuple<const char*, std::int64_t, int, std::int64_t> places[] = {
      {"x,y\n1,2\n3,4\n", 0, 0, 2},
      {"x,y\n1,2\n3,4\n", 1, 1, 3},
      {"x,y\n1,2\n3,4\n", -1, 1, 1},
      {"\n\nx,y\n\n1,2\n\n\n3,4", 1, 0, 8},
      {"x,y\r\n\r\n1,2\r\n3,4\r\n", 1, 0, 4},
      {"x,y\r1,2\r3,4\r", 1, 0, 3},
      {"x,y\n\"a\nb\",\"c\n\"\n\"d\n\",4\n", 0, 1, 3},
      {"x,y\n\"a\nb\",\"c\n\"\n\"d\n\",4\n", 1, 0, 5},
      {"x,y\n\"a\nb\",\"c\n\"\n\"d\n\",4\n", 1, 1, 6},
      {"\"x\n\",y\n1,2\n", 0, 1, 3},
      {"x\n1\n\n3\n", 2, 0, 4},
      {"x\r\n1\r\n\r\n3\r\n", 1, 0, 3},
  };
  for (const auto& [text, row, column, line] : places) {
    const auto file = open_csv(path("a.csv"), open_file(put("a.csv", text)).file);
    EXPECT_EQ(line_of(*file, row, column, std::string(text).find(',') == std::string::npos), line) << text << row;
  }
  std::string text = "x,y\n";
  for (int i = 0; i < 300'000; ++i) text += "\"a\n\",1\n";
  EXPECT_EQ(line_of(*open_csv(path("a.csv"), open_file(put("a.csv", text)).file), 299'999, 1, false), 600'001);
  expect_error(Code::malformed, "b.csv: line 600002 has 1 cell, and the header row in line 1 has 2",
               [&] { open_table(put("b.csv", text + "b\n")); });
}

TEST_F(TableTest, RowsOfCsvAreCountedWithoutAColumn) {
  std::string text = "x,y\n";
  for (int i = 0; i < 200'000; ++i) text += "5,1\n";
  const auto table = open_table(put("a.csv", text + "A5,2\n"));
  std::int64_t rows = 0;
  each_batch(*table, 0, {}, [&](const Batch& batch) {
    EXPECT_TRUE(batch.columns.empty());
    rows += batch.rows;
  });
  EXPECT_EQ(rows, 200'001);
  EXPECT_EQ(numbers<std::int64_t>(*table, "y").back(), 2);
  put("b.csv", "x,y\n5,1\nA5\n6,2\n");
  EXPECT_EQ(error_of([&] { each_batch(*open_table(path("b.csv")), 0, {}, [](const Batch&) {}); }).index(), 1);
}

// Rows of a number and of text in quotes with many line ends, in more than one row group, and their expected contents.
struct LongCsv {
  std::string text = "x,y\n";
  Optionals<std::int64_t> numbers;
  Optionals<std::string> words;
};

LongCsv long_csv(const std::string& line_end, int lines) {
  LongCsv csv;
  for (std::int64_t row = 0; csv.text.size() < (9 << 20); ++row) {
    std::string word = "word " + std::to_string(row % 100);
    for (int line = 0; line < lines; ++line) word += line_end + "1,2";
    csv.text.append(std::to_string(row)).append(",\"").append(word).append("\"").append(line_end);
    if (row % 1000 == 0) csv.text += line_end;
    csv.numbers.emplace_back(row);
    csv.words.emplace_back(std::move(word));
  }
  return csv;
}

TEST_F(TableTest, RowGroupsOfCsvBeginWithRows) {
  const std::pair<const char*, int> kinds[] = {{"\n", 0},   {"\r\n", 0},   {"\r", 1},
                                               {"\n", 100}, {"\r\n", 100}, {"\n", 30'000}};
  for (const auto& [line_end, lines] : kinds) {
    const LongCsv csv = long_csv(line_end, lines);
    const auto table = open_table(put("a.csv", csv.text), CsvOptions{}, 3);
    EXPECT_EQ(table->row_groups(), 3) << lines;
    EXPECT_EQ(table->rows(), -1);
    EXPECT_TRUE(numbers<std::int64_t>(*table, "x") == csv.numbers) << lines;
    EXPECT_TRUE(words(*table, "y") == csv.words) << lines;
    std::int64_t row = 0;
    for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
      each_batch(*table, row_group, {0}, [&](const Batch& batch) {
        EXPECT_EQ(batch.first_row, row);
        row += batch.rows;
      });
    }
  }
}

TEST_F(TableTest, EmptyLinesOfTheOnlyColumnAreRowsOfEveryRowGroup) {
  std::string text = "\n\nx\n";
  Optionals<std::int64_t> expected;
  for (std::int64_t row = 0; text.size() < (9 << 20); ++row) {
    const bool is_empty = row % 3 == 0;
    text += is_empty ? "\n" : std::to_string(row) + "\n";
    expected.push_back(is_empty ? std::nullopt : std::optional(row));
  }
  const auto table = open_table(put("a.csv", text));
  EXPECT_EQ(table->row_groups(), 3);
  EXPECT_TRUE(numbers<std::int64_t>(*table, "x") == expected);
}

TEST_F(TableTest, FaultsOfCsvNameTheirRowInEveryRowGroup) {
  for (const int lines : {0, 100}) {
    const LongCsv csv = long_csv("\n", lines);
    const auto row = std::ssize(csv.numbers);
    const auto line = std::to_string(std::count(csv.text.begin(), csv.text.end(), '\n') + 1);
    const std::pair<std::string, std::string> rows[] = {
        {"1,\"a\n2,b\n", "line " + line + ": a quote opens, and no quote closes it before the end"},
        {"1,\"a\"b\n2,b\n", "line " + line + ": a quote opens, and text follows"},
        {"1,\"" + std::string(3 << 20, 'a') + "\"\n2,b\n",
         "line " + line + ": a quote opens, and no quote closes it in 2097152 bytes"},
        {"1," + std::string(3 << 20, 'a') + "\n2,b\n", "is longer than 2097152 bytes"},
        {"1,2,3\n2,b\n", "has 3 cells, and the header row in line 1 has 2"},
    };
    for (const auto& [text, expected] : rows) {
      const Error error = error_of([&, &more = text] { touch_all(put("a.csv", csv.text + more)); });
      EXPECT_EQ(error.code(), Code::malformed);
      EXPECT_EQ(error.index(), row) << error.what();
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  }
}

TEST_F(TableTest, AFaultyRowOfCsvIsReportedAheadOfALaterQuote) {
  const Error error = error_of([&] { touch_all(put("a.csv", "x,y\n1,2,3\n1,\"a\n")); });
  EXPECT_EQ(error.index(), 0) << error.what();
}

TEST_F(TableTest, ARowOfCsvWithoutAnEndIsRefusedAfterSomeMegabytes) {
  const std::string rest(std::size_t{32} << 20, '7');
  const std::string beginnings[] = {"", "a,", "\"", "a,\"", "a,b\n1.5,", "a,b\n1.5,2\n3.5,\""};
  for (const std::string& text : beginnings) {
    const std::string name = put("a.csv", text + rest);
    const std::clock_t start = std::clock();
    const Error error = error_of([&] { open_table(name); });
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20) << "seconds of CPU time for " << text;
    EXPECT_EQ(error.code(), Code::malformed);
    const std::int64_t row = std::count(text.begin(), text.end(), '\n') - 1;
    EXPECT_EQ(error.index(), row < 0 ? kNoIndex : row) << error.what();
    const std::string what = error.what();
    EXPECT_NE(what.find(row < 0 ? "line 1, the header row" : "line " + std::to_string(row + 2)), std::string::npos)
        << what;
    EXPECT_NE(what.find("2097152 bytes"), std::string::npos) << what;
  }
}

TEST_F(TableTest, RowsOfCsvMayHaveTwoMebibytes) {
  const std::string name(kLongestRow - 4, 'n');
  const std::string quoted = "\"" + std::string(kLongestRow - 5, 'q') + "\"";
  for (const std::string& field : {name, quoted}) {
    const auto names = open_table(put("a.csv", field + ",x\n1,2\n"));
    EXPECT_EQ(std::ssize(names->fields()), 2);
    const auto rows = open_table(put("a.csv", "a,x\n" + field + ",2\n"));
    EXPECT_EQ(numbers<std::int64_t>(*rows, "x"), (Optionals<std::int64_t>{2}));
  }
}

TEST_F(TableTest, BadCsvIsMalformed) {
  expect_error(Code::malformed, "a.csv", [&] { open_table(put("a.csv", "\n")); });
  expect_error(Code::malformed, "line 3 has 3 cells, and line 1 has 2",
               [&] { touch_all(put("a.csv", "x,y\n1,2\n1,2,3\n")); });
  expect_error(Code::malformed, "a.csv", [&] { open_table(put("a.csv", "x\n" + std::string(3 << 20, '1') + "\n")); });
}

// ------------------------------------------------------------------------------------------------------- several files

class JoinedTest : public TableTest {
 protected:
  // Returns the table of these files, in their order.
  std::unique_ptr<Table> join(const std::vector<std::string>& texts) {
    std::vector<std::string> paths;
    paths.reserve(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) paths.push_back(put(std::to_string(i) + ".csv", texts[i]));
    return open_tables(paths);
  }
  std::string write(const std::string& name, const ArrayPtr& array) {
    fs::copy_file(put_columns(Container::ipc_file, {{"x", array}, {"y", array_of<arrow::Int8Type>({1})}}), path(name),
                  fs::copy_options::overwrite_existing);
    return path(name);
  }
  std::unique_ptr<Table> join_arrays(const ArrayPtr& a, const ArrayPtr& b) {
    return open_tables({write("a", a), write("b", b)});
  }
};

TEST_F(JoinedTest, ColumnsAreMatchedByName) {
  const auto table = join({"x,y\n1,2\n", "y,x\n4,3\n", "Y,X\n6,5\n", "z,x\n0,7\n"});
  EXPECT_EQ(table->row_groups(), 4);
  ASSERT_EQ(table->fields().size(), 3U);
  EXPECT_EQ(numbers<std::int64_t>(*table, "x"), (Optionals<std::int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(numbers<std::int64_t>(*table, "y"), (Optionals<std::int64_t>{2, 4, 6, std::nullopt}));
  EXPECT_EQ(numbers<std::int64_t>(*table, "z"), (Optionals<std::int64_t>{std::nullopt, std::nullopt, std::nullopt, 0}));
  // A name with the same case has priority over one with different case.
  const auto both = join({"x,X\n1,2\n", "X,x\n4,3\n"});
  EXPECT_EQ(numbers<std::int64_t>(*both, "x"), (Optionals<std::int64_t>{1, 3}));
  EXPECT_EQ(numbers<std::int64_t>(*both, "X"), (Optionals<std::int64_t>{2, 4}));
  expect_error(Code::invalid_argument, "column 'xy' could be 'Xy' or 'xY'",
               [&] { join({"Xy,xY\n1,2\n", "xy,a\n1,2\n"}); });
  expect_error(Code::invalid_argument, "shares no column with " + path("0.csv"),
               [&] { join({"x,y\n1,2\n", "a,b\n1,2\n"}); });
}

TEST_F(JoinedTest, FilesAreOpenWhileTheyAreReadOnly) {
  const auto before = open_ones();
  for (const Container container : kContainers) {
    const std::string file = put_columns(container, {{"x", array_of<arrow::Int64Type>({1, 2, 3})}});
    const auto twice = open_tables({file, file});
    EXPECT_EQ(open_ones(), before);
    EXPECT_EQ(numbers<std::int64_t>(*twice, "x"), (Optionals<std::int64_t>{1, 2, 3, 1, 2, 3}));
    EXPECT_EQ(open_ones(), before);
  }
  const std::string utf16(
      "\xff\xfe"
      "x\0,\0y\0\n\0"
      "5\0,\0"
      "6\0\n\0",
      18);
  const auto table = join({"x,y\n1,2\n", "x,y\n3,4\n", utf16});
  EXPECT_EQ(open_ones(), before);
  EXPECT_EQ(numbers<std::int64_t>(*table, "x"), (Optionals<std::int64_t>{1, 3, 5}));
  EXPECT_EQ(open_ones(), before);
  write_over(path("1.csv"), "x,y\n3,4\n5,6\n");
  expect_error(Code::malformed, path("1.csv") + ": was changed or replaced while it was read",
               [&] { numbers<std::int64_t>(*table, "x"); });
  fs::remove(path("1.csv"));
  expect_error(Code::not_found, path("1.csv"), [&] { numbers<std::int64_t>(*table, "x"); });
}

TEST_F(JoinedTest, ColumnsOfNothingAreNullOfAnyType) {
  for (const std::string text :
       {"x,y\nword,1\n", "x,y\n2.50,1\n", "x,y\n2001-12-31,1\n", "x,y\ntrue,1\n", "x,y\n7,1\n"}) {
    const ValueKind kind = open_table(put("only.csv", text))->fields()[0].kind;
    for (const std::string none : {"x,y\n", "x,y\n,7\n", "x,y\n\"\",7\n", "y\n7\n"}) {
      for (const bool first : {false, true}) {
        const auto table = first ? join({none, text}) : join({text, none});
        EXPECT_EQ(name(field_of_column(*table, "x").kind), name(kind)) << text << none;
        std::int64_t rows = 0;
        std::int64_t nulls = 0;
        for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
          each_batch(*table, row_group, {column_of(*table, "x"), column_of(*table, "y")}, [&](const Batch& batch) {
            for (std::int64_t i = 0; i < batch.rows; ++i) nulls += is_null(batch.columns[0], i) ? 1 : 0;
            rows += batch.rows;
            if (kind != ValueKind::text) return;
            ASSERT_FALSE(batch.columns[0].dictionary == nullptr || batch.columns[0].dictionary->empty());
          });
        }
        EXPECT_EQ(rows, none == "x,y\n" ? 1 : 2);
        EXPECT_EQ(nulls, rows - 1);
      }
    }
  }
  EXPECT_EQ(numbers<std::int64_t>(*join({"x,y\n", "x,y\n,\n"}), "x"), Optionals<std::int64_t>(1));
}

TEST_F(JoinedTest, WordsForNullAreTextBesideTextOnly) {
  const std::string words = "x,y\nNA,1\n\"\",2\nNone,3\n\"null\",4\n";
  for (const std::string text :
       {"x,y\n2.50,1\n", "x,y\n2001-12-31,1\n", "x,y\ntrue,1\n", "x,y\n7,1\n", "x,y\nword,1\n"}) {
    const ValueKind kind = open_table(put("only.csv", text))->fields()[0].kind;
    for (const auto& texts : {std::vector{words, text}, {text, words}, {"x,y\n,1\n", words, text}}) {
      const auto table = join(texts);
      EXPECT_EQ(name(field_of_column(*table, "x").kind), name(kind)) << text;
      std::vector<std::string> values;
      for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
        each_batch(*table, row_group, {column_of(*table, "x")}, [&](const Batch& batch) {
          const ColumnData& x = batch.columns[0];
          for (std::int64_t i = 0; i < batch.rows; ++i) {
            if (is_null(x, i)) continue;
            values.emplace_back(
                x.dictionary == nullptr
                    ? "value"
                    : (*x.dictionary)[static_cast<std::size_t>(static_cast<const std::int32_t*>(x.values)[i])]);
          }
        });
      }
      std::sort(values.begin(), values.end());
      const std::vector<std::string> expected = kind == ValueKind::text
                                                    ? std::vector<std::string>{"", "NA", "None", "null", "word"}
                                                    : std::vector<std::string>{"value"};
      EXPECT_EQ(values, expected) << text;
    }
  }
}

TEST_F(JoinedTest, ColumnsWithoutAValueHaveATypeOtherThanTextInAnyOrder) {
  const auto nulls = array_of_optionals<arrow::Int32Type>(Optionals<std::int32_t>{std::nullopt, std::nullopt});
  const std::string typed = put_columns(Container::parquet, {{"x", nulls}});
  const std::string words = put("words.csv", "x\nNA\nNA\n");
  for (const auto& paths : {std::vector{typed, words}, {words, typed}}) {
    const auto table = open_tables(paths);
    EXPECT_EQ(name(field_of_column(*table, "x").kind), name(ValueKind::integer)) << paths[0];
    EXPECT_EQ(numbers<std::int32_t>(*table, "x"), Optionals<std::int32_t>(4)) << paths[0];
  }
}

TEST_F(JoinedTest, NumbersWiden) {
  const auto expect = [&](const ArrayPtr& a, const ArrayPtr& b, Storage storage, ValueKind kind, int scale = 0) {
    for (const auto& table : {join_arrays(a, b), join_arrays(b, a)}) {
      const Field& field = field_of_column(*table, "x");
      const std::string what = a->type()->ToString() + " + " + b->type()->ToString();
      EXPECT_EQ(static_cast<int>(field.storage), static_cast<int>(storage)) << what;
      EXPECT_EQ(name(field.kind), name(kind)) << what;
      EXPECT_EQ(field.scale, scale) << what;
    }
  };
  const auto integer = ValueKind::integer;
  expect(array_of<arrow::Int32Type>({1}), array_of<arrow::Int64Type>({1}), Storage::int64, integer);
  expect(array_of<arrow::UInt8Type>({1}), array_of<arrow::UInt32Type>({1}), Storage::uint32, integer);
  expect(array_of<arrow::UInt8Type>({1}), array_of<arrow::Int8Type>({1}), Storage::int16, integer);
  expect(array_of<arrow::UInt32Type>({1}), array_of<arrow::Int8Type>({1}), Storage::int64, integer);
  expect(array_of<arrow::UInt8Type>({1}), array_of<arrow::Int64Type>({1}), Storage::int64, integer);
  expect(array_of<arrow::UInt64Type>({~0UL}), array_of<arrow::Int8Type>({-1}), Storage::int128, ValueKind::decimal);
  expect(array_of<arrow::FloatType>({1}), array_of<arrow::DoubleType>({1}), Storage::float64, ValueKind::real);
  expect(array_of<arrow::FloatType>({1}), array_of<arrow::Int8Type>({1}), Storage::float64, ValueKind::real);
  const auto decimal = [](int precision, int scale, std::int64_t value) {
    return decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(precision, scale),
                                                                 {arrow::Decimal128(value)});
  };
  expect(decimal(18, 2, 250), decimal(18, 3, 1125), Storage::int128, ValueKind::decimal, 3);
  expect(decimal(38, 2, 250), decimal(18, 3, 1125), Storage::int128, ValueKind::decimal, 3);
  expect(decimal(18, 4, 250), array_of<arrow::Int8Type>({1}), Storage::int64, ValueKind::decimal, 4);
  expect(decimal(18, 2, 250), array_of<arrow::Int64Type>({1}), Storage::int128, ValueKind::decimal, 2);
  expect(decimal(18, 2, 250), array_of<arrow::DoubleType>({1}), Storage::float64, ValueKind::real);

  const auto wide = join_arrays(array_of<arrow::UInt64Type>({~0UL}), array_of<arrow::Int8Type>({-1}));
  EXPECT_TRUE(numbers<Int128>(*wide, "x") == (Optionals<Int128>{Int128{~0UL}, -1}));
  const auto points = join_arrays(decimal(18, 2, -250), decimal(18, 3, 1125));
  EXPECT_TRUE(numbers<Int128>(*points, "x") == (Optionals<Int128>{-2500, 1125}));
  const auto mixed = join_arrays(array_of<arrow::Int8Type>({-7}), decimal(18, 4, 250));
  EXPECT_EQ(numbers<std::int64_t>(*mixed, "x"), (Optionals<std::int64_t>{-70000, 250}));
  const auto long_ones = join_arrays(array_of<arrow::Int32Type>({-7}), array_of<arrow::Int64Type>({1L << 40}));
  EXPECT_EQ(numbers<std::int64_t>(*long_ones, "x"), (Optionals<std::int64_t>{-7, 1L << 40}));
  const auto reals = join_arrays(decimal(18, 2, -10), array_of<arrow::DoubleType>({0.5}));
  EXPECT_EQ(numbers<double>(*reals, "x"), (Optionals<double>{-0.1, 0.5}));
  EXPECT_EQ(numbers<double>(*join({"x,y\n1,1\n2,1\n", "x,y\n1.5e0,1\n"}), "x"), (Optionals<double>{1, 2, 1.5}));
}

TEST_F(JoinedTest, ValuesThatWouldChangeAreErrors) {
  const auto real = array_of<arrow::DoubleType>({0.5});
  const auto bad = [&](const ArrayPtr& array, int row) {
    const std::string file = write("b", array);
    const auto table = open_tables({write("a", real), file});
    const Error error = error_of([&] { numbers<double>(*table, "x"); });
    EXPECT_EQ(error.code(), Code::malformed);
    EXPECT_EQ(std::string(error.what()).find(file + ":x: row " + std::to_string(row)), 0U) << error.what();
  };
  const std::int64_t odd = (1L << 53) + 1;
  const auto longs = [](const Optionals<std::int64_t>& values) { return array_of_optionals<arrow::Int64Type>(values); };
  const auto write_rows = [&](const ArrayPtr& array) {
    fs::copy_file(put_columns(Container::ipc_file, {{"x", array}}), path("b"), fs::copy_options::overwrite_existing);
    return open_tables({write("a", real), path("b")});
  };
  EXPECT_EQ(numbers<double>(*write_rows(longs({1L << 53, std::nullopt, -(1L << 62)})), "x"),
            (Optionals<double>{0.5, 0x1p53, std::nullopt, -0x1p62}));
  const auto table = write_rows(longs({1, odd}));
  const Error error = error_of([&] { numbers<double>(*table, "x"); });
  EXPECT_EQ(error.index(), 1);
  EXPECT_NE(std::string(error.what()).find(path("b") + ":x: row 1 has a value of type int64"), std::string::npos)
      << error.what();
  bad(array_of<arrow::UInt64Type>({~0UL}), 0);
  bad(array_of<arrow::Int64Type>({std::numeric_limits<std::int64_t>::max()}), 0);
  bad(decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(38, 2),
                                                            {arrow::Decimal128(10'000'000'000'000'001)}),
      0);
  const auto small =
      decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(38, 30), {arrow::Decimal128(1)});
  const auto large = decimals<arrow::Decimal128Builder, arrow::Decimal128>(arrow::decimal128(38, 0),
                                                                           {arrow::Decimal128(1'000'000'000, 0)});
  const auto both = open_tables({write("a", small), write("b", large)});
  EXPECT_EQ(error_of([&] { numbers<Int128>(*both, "x"); }).code(), Code::malformed);
}

TEST_F(JoinedTest, CsvColumnsOfTypesThatDoNotGoTogetherAreText) {
  const std::vector<std::string> texts{"x,y\n1,2\n", "x,y\n2.50,2\n", "x,y\nword,2\n", "x,y\n2001-12-31,2\n"};
  const auto table = join(texts);
  EXPECT_EQ(field_of_column(*table, "x").unsupported, "");
  EXPECT_EQ(words(*table, "x"), (Optionals<std::string>{"1", "2.50", "word", "2001-12-31"}));
  EXPECT_EQ(numbers<std::int64_t>(*table, "y"), (Optionals<std::int64_t>{2, 2, 2, 2}));
  EXPECT_EQ(table->remarks(), (std::vector<std::string>{"column 'x' is read as text: it contains int64 in " +
                                                        path("0.csv") + " and text in " + path("2.csv")}));
}

TEST_F(JoinedTest, TypesThatDoNotGoTogetherNameBothFiles) {
  const std::string text = write("text", array_of_optionals<arrow::StringType>(Optionals<std::string>{"a"}));
  const std::string day = write("day", array_of<arrow::Date32Type>({11}));
  const std::string csv = put("a.csv", "x,y\n1,2\n");
  const auto unsupported = [&](const std::vector<std::string>& files) {
    return field_of_column(*open_tables(files), "x").unsupported;
  };
  EXPECT_EQ(unsupported({text, day}), "text in " + text + " and date in " + day);
  EXPECT_EQ(unsupported({text, csv}),
            "text in " + text + " and int64 in " + csv + " (--types x=string reads the CSV files alike)");
  EXPECT_EQ(unsupported({csv, day}),
            "int64 in " + csv + " and date in " + day + " (--types x=date reads the CSV files alike)");
  // The files after the first two that differ also count, in any order.
  const std::string word = put("b.csv", "x,y\nword,2\n");
  EXPECT_EQ(unsupported({csv, word, text}),
            "int64 in " + csv + " and text in " + word + " (--types x=string reads the CSV files alike)");
  EXPECT_NE(unsupported({text, word, csv}), "");
  CsvOptions options;
  options.set("types", "x=string");
  EXPECT_EQ(field_of_column(*open_tables({text, csv}, options), "x").unsupported, "");
}

TEST_F(JoinedTest, DatesBesideTimestampsAreTheirMidnights) {
  for (const bool first : {false, true}) {
    const std::string day = "x,y\n1970-01-02,1\n";
    const std::string moment = "x,y\n1970-01-01 00:00:01,1\n";
    const auto table = first ? join({day, moment}) : join({moment, day});
    EXPECT_EQ(field_of_column(*table, "x").kind, ValueKind::timestamp);
    const std::int64_t midnight = std::int64_t{86'400} * 1'000'000;
    EXPECT_EQ(numbers<std::int64_t>(*table, "x"),
              first ? (Optionals<std::int64_t>{midnight, 1'000'000}) : (Optionals<std::int64_t>{1'000'000, midnight}));
  }
}

TEST_F(JoinedTest, ColumnsThatStatisticsSayAreNullGoWithAnyType) {
  const auto put_one = [&](const std::string& file, const ArrayPtr& array) {
    fs::copy_file(put_columns(Container::parquet, {{"x", array}, {"y", array_of<arrow::Int8Type>({1})}}), path(file),
                  fs::copy_options::overwrite_existing);
    return path(file);
  };
  const std::string none = put_one("none", array_of_optionals<arrow::Int16Type>(Optionals<std::int16_t>{std::nullopt}));
  const std::string day = put_one("day", array_of<arrow::Date32Type>({11}));
  for (const bool first : {false, true}) {
    const auto table = open_tables(first ? std::vector{none, day} : std::vector{day, none});
    EXPECT_EQ(field_of_column(*table, "x").unsupported, "");
    EXPECT_EQ(name(field_of_column(*table, "x").kind), "date");
    const Optionals<std::int32_t> days{11, std::nullopt};
    EXPECT_EQ(numbers<std::int32_t>(*table, "x"), first ? Optionals<std::int32_t>(days.rbegin(), days.rend()) : days);
  }
  const std::string number = put_one("number", array_of<arrow::Int16Type>({7}));
  EXPECT_NE(field_of_column(*open_tables({number, day}), "x").unsupported, "");
}

// A folder is searched once per row group of the pattern: a chain of 40 folders has 10^11 ways to be split into ten.
TEST_F(JoinedTest, PatternsOfManyFoldersAreFoundAtOnce) {
  std::string folder = "deep";
  fs::create_directory(path(folder));
  for (int i = 0; i < 40; ++i) fs::create_directory(path(folder += "/d"));
  put(folder + "/a.csv", "x\n1\n");
  std::string pattern = "deep/";
  for (int i = 0; i < 12; ++i) pattern += "**/d/";
  EXPECT_EQ(matching_files(path(pattern + "a.csv")), std::vector{path(folder + "/a.csv")});
  EXPECT_EQ(matching_files(path("deep/**/**/**/**/**/**/**/**/**/**/**/**/a.csv")),
            std::vector{path(folder + "/a.csv")});
}

TEST_F(JoinedTest, RangesAreThoseOfTheFiles) {
  const auto write_range = [&](const std::string& name, const std::string& column, std::int64_t value) {
    fs::copy_file(put_columns(Container::parquet, {{column, array_of<arrow::Int64Type>({value})},
                                                   {"k", array_of<arrow::Int64Type>({value})}}),
                  path(name));
    return path(name);
  };
  const auto table = open_tables({write_range("a", "x", 7), write_range("b", "z", 9)});
  EXPECT_EQ(table->rows(), 2);
  EXPECT_EQ(table->range(0, column_of(*table, "x")).greatest, 7);
  EXPECT_FALSE(table->range(1, column_of(*table, "x")).has_values);
  EXPECT_TRUE(table->range(1, column_of(*table, "x")).has_nulls);
  EXPECT_EQ(table->range(1, column_of(*table, "k")).least, 9);
  EXPECT_EQ(numbers<std::int64_t>(*table, "k"), (Optionals<std::int64_t>{7, 9}));
}

TEST_F(JoinedTest, PatternsStandForFiles) {
  for (const char* const folder : {"d", "d/deep", "d/.hidden"}) fs::create_directory(path(folder));
  for (const char* const name : {"d/b.csv", "d/a.csv", "d/a1.csv", "d/.a.csv", "d/ä.csv", "d/[a].csv", "d/x.txt",
                                 "d/deep/a.csv", "d/.hidden/a.csv"}) {
    put(name, "x\n1\n");
  }
  fs::create_directory_symlink(path("d"), path("d/deep/up"));
  fs::create_directory(path("d/c.csv"));
  const auto expect = [&](const std::string& pattern, const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    paths.reserve(names.size());
    for (const std::string& name : names) paths.push_back(path(name));
    EXPECT_EQ(matching_files(path(pattern)), paths) << pattern;
  };
  expect("d/*.csv", {"d/[a].csv", "d/a.csv", "d/a1.csv", "d/b.csv", "d/ä.csv"});
  expect("d/?.csv", {"d/a.csv", "d/b.csv", "d/ä.csv"});
  expect("d/[ab].csv", {"d/a.csv", "d/b.csv"});
  expect("d/[!a-b].csv", {"d/ä.csv"});
  expect("d/[a].csv", {"d/[a].csv"});  // there is a file of this name
  expect("d/[[]a].csv", {"d/[a].csv"});
  expect("d/.*.csv", {"d/.a.csv"});
  expect("d/*/a.csv", {"d/deep/a.csv"});
  expect("**/a.csv", {"d/a.csv", "d/deep/a.csv"});
  expect("d/**/*1*", {"d/a1.csv"});
  expect("d/**", {"d/[a].csv", "d/a.csv", "d/a1.csv", "d/b.csv", "d/deep/a.csv", "d/x.txt", "d/ä.csv"});
  expect("d/a.csv", {"d/a.csv"});
  expect("d/none.csv", {"d/none.csv"});  // the error is reported when it is opened
  expect_error(Code::not_found, path("d/*.parquet"), [&] { matching_files(path("d/*.parquet")); });
  expect_error(Code::not_found, path("none/*"), [&] { matching_files(path("none/*")); });
  EXPECT_EQ(open_tables({path("d/a*.csv"), path("d/b.csv")})->row_groups(), 3);
  EXPECT_EQ(open_tables({path("d/a.cs*")})->fields()[0].name, "x");
  expect_error(Code::invalid_argument, "no file is given", [&] { open_tables({}); });
}

#endif

}  // namespace
}  // namespace upsweep::io
