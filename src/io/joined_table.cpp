// SPDX-License-Identifier: Apache-2.0
// io/joined_table.cpp: consecutive files as one table. Columns that already have the common type are returned in place.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/decimal.hpp"
#include "core/visit.hpp"
#include "io/file_table.hpp"
#include "io/first_fault.hpp"
#include "io/joined_fields.hpp"
#include "io/no_rows.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/table.hpp"
#include "io/vocabulary.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {
namespace {

// --------------------------------------------------------------------------------------------------------------
// elements

// Converts a decimal to float64. Returns false if the same float64 would represent other decimals of that many digits.
bool real_of(Int128 value, int scale, double& result) {
  constexpr Int128 kMost = 1'000'000'000'000'000;  // all decimals of 15 digits differ as float64
  constexpr int kMostScale = 22;  // powers of ten up to this one are exact in float64: the quotient is the nearest
  for (; (value <= -kMost || value >= kMost || scale > kMostScale) && scale > 0 && value % 10 == 0; --scale)
    value /= 10;
  result = static_cast<double>(value) / static_cast<double>(power_of_ten<Int128>(scale));
  return -kMost < value && value < kMost && scale <= kMostScale;
}

// Calls f with a zero of the storage's type. It does not support bits.
template <class F>
void visit_storage(Storage storage, F f) {
  if (storage == Storage::int128) return f(Int128{});
  visit_type(element_type(storage), [&]<class T>(std::type_identity<T>) { f(T{}); });
}

// Converts numbers of one type to the common type of the files.
class Widening {
 public:
  Widening(const Field& from, const Field& to)
      : from_(from), to_(to), factor_(power_of_ten<Int128>(std::max(to.scale - from.scale, 0))) {}

  // Returns the first of n rows whose value would change, or n. Rows that are NULL may contain any value.
  std::int64_t operator()(const ColumnData& data, std::int64_t n, void* to) const {
    std::int64_t bad = n;
    visit_storage(from_.storage, [&]<class From>(From) {
      visit_storage(to_.storage, [&]<class To>(To) {
        const auto* const elements = static_cast<const From*>(data.values);
        auto* const results = static_cast<To*>(to);
        if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
          return;  // a column of floats stays a column of floats
        } else if (factor_ == 1 && std::is_floating_point_v<To> == std::is_floating_point_v<From>) {
          std::transform(elements, elements + n, results, [](From value) { return static_cast<To>(value); });
        } else {
          for (bad = 0; bad < n; ++bad) {
            if (!widen(elements[bad], results[bad]) && !is_null(data, bad)) return;
          }
        }
      });
    });
    return bad;
  }

 private:
  template <class From, class To>
  bool widen(From value, To& result) const {
    if constexpr (std::is_floating_point_v<From>) {
      result = static_cast<To>(value);
      return true;
    } else if constexpr (std::is_floating_point_v<To>) {
      double real = 0;
      const bool is_exact = from_.kind == ValueKind::decimal
                                ? real_of(value, from_.scale, real)
                                : static_cast<Int128>(real = static_cast<double>(value)) == static_cast<Int128>(value);
      result = static_cast<To>(real);
      return is_exact;
    } else {
      const Int128 limit = power_of_ten<Int128>(38);
      Int128 scaled = 0;
      const bool fits = !__builtin_mul_overflow(static_cast<Int128>(value), factor_, &scaled);
      result = static_cast<To>(scaled);
      return fits && static_cast<Int128>(result) == scaled && -limit < scaled && scaled < limit;
    }
  }

  Field from_;
  Field to_;
  Int128 factor_;
};

// -----------------------------------------------------------------------------------------------------------------
// files

// The source of a column of the table in one file.
struct ColumnSource {
  int column = -1;                           // -1: none, or only NULLs
  bool is_widened = false;                   // it has another type
  const PartitionValue* constant = nullptr;  // of all rows: the value in the name of a folder
};

struct File {
  std::string path;
  std::shared_ptr<const Table> table;
  int first_row_group = 0;
  std::int64_t first_row = 0;                   // of the file in the table
  std::vector<ColumnSource> sources = {};       // by column of the table
  std::vector<PartitionValue> partitions = {};  // of columns that it does not have itself
};

// The rows of a row group, in the columns of the table.
class JoinedRows final : public BatchReader {
 public:
  JoinedRows(const File& file, const std::vector<Field>& fields, int row_group, const std::vector<int>& columns)
      : file_(file) {
    std::vector<int> read;
    for (const int column : columns) {
      const ColumnSource& source = file.sources[static_cast<std::size_t>(column)];
      outputs_.push_back({fields[static_cast<std::size_t>(column)], source});
      if (source.column >= 0) read.push_back(source.column);
    }
    reader_ = file.table->open(row_group, read);
  }

  bool next(Batch& batch) override {
    Batch own;
    if (!reader_->next(own)) {
      batch = {};
      return false;
    }
    const auto memory = std::make_shared<Memory>();
    memory->push_back(own.memory);
    batch = {.rows = own.rows, .first_row = file_.first_row + own.first_row};
    auto given = own.columns.begin();
    FirstFault faults;
    for (const Output& output : outputs_) {
      if (output.source.column < 0) {
        batch.columns.push_back(output.source.constant != nullptr ? constants(output, own.rows, *memory)
                                                                  : nulls(output.field, own.rows, *memory));
        continue;
      }
      ColumnData data = std::move(*given++);
      if (output.source.is_widened) {
        faults.attempt(file_.path, [&] { data = widened(output, data, own, *memory); });
      }
      batch.columns.push_back(std::move(data));
    }
    faults.rethrow();
    batch.memory = memory;
    return true;
  }
  void skip() override { reader_->skip(); }
  void may_repeat_texts() override { reader_->may_repeat_texts(); }

 private:
  struct Output {
    Field field;
    ColumnSource source;
  };

  template <class T>
  static T* keep(const std::shared_ptr<T[]>& made, Memory& memory) {
    memory.push_back(made);
    return made.get();
  }

  static ColumnData nulls(const Field& field, std::int64_t rows, Memory& memory) {
    static const auto no_texts = std::make_shared<const Dictionary>(1);  // contains every index
    const auto zeros = [&](std::int64_t bits) {
      return keep(std::make_shared<std::uint8_t[]>(static_cast<std::size_t>((bits + 7) / 8)), memory);
    };
    ColumnData data;
    data.validity = zeros(rows);
    if (field.element) {
      const auto* const offsets = keep(std::make_shared<std::int64_t[]>(static_cast<std::size_t>(rows + 1)), memory);
      data.lists = std::make_shared<const ColumnLists>(ColumnLists{.offsets = offsets});
      return data;
    }
    data.values = zeros(rows * width_of(field.storage));
    if (field.kind == ValueKind::text) data.dictionary = no_texts;
    return data;
  }

  ColumnData constants(const Output& output, std::int64_t rows, Memory& memory) const {
    const PartitionValue& value = *output.source.constant;
    const auto n = static_cast<std::size_t>(rows);
    ColumnData data;
    if (output.field.kind == ValueKind::text) {
      data.values = keep(std::make_shared<std::int32_t[]>(n), memory);
      data.dictionary = std::make_shared<const Dictionary>(1, value.text);
      return data;
    }
    const Field int64;
    visit_storage(output.field.storage, [&]<class T>(T number) {
      if (Widening(int64, output.field)({.values = &value.number}, 1, &number) < 1) {
        throw Error(Code::malformed,
                    fmt::format("{}: {} in the name of a folder changes when converted to {}, the common type of "
                                "column '{}' in all files; convert the column in one of them",
                                file_.path, value.number, type_name(output.field), printable(output.field.name)));
      }
      T* const numbers = keep(std::make_shared_for_overwrite<T[]>(n), memory);
      std::fill_n(numbers, n, number);
      data.values = numbers;
    });
    return data;
  }

  ColumnData widened(const Output& output, ColumnData data, const Batch& own, Memory& memory) const {
    const Field& from = file_.table->fields()[static_cast<std::size_t>(output.source.column)];
    const std::int64_t bytes = own.rows * (width_of(output.field.storage) / 8);
    void* const values = keep(std::make_shared_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes)), memory);
    const std::int64_t bad = Widening(from, output.field)(data, own.rows, values);
    if (bad < own.rows) {
      const std::int64_t row = own.first_row + bad;
      throw Error(Code::malformed,
                  fmt::format("{}: {} has a value of type {} that changes when converted to {}, the common type of "
                              "the column in all files; convert the column in one of them",
                              full_name(file_.path, from.name), file_.table->place(row, output.source.column),
                              type_name(from), type_name(output.field)),
                  row);
    }
    data.values = values;
    return data;
  }

  const File& file_;
  std::vector<Output> outputs_;
  std::unique_ptr<BatchReader> reader_;
};

// The assumed number of rows of a file that must be read to be counted. Row numbers of a table are then distinct.
constexpr std::int64_t kMostRows = std::int64_t{1} << 40;

class JoinedTable final : public Table, public RowPlaces {
 public:
  JoinedTable(std::vector<JoinedFile> files, std::vector<Field> fields, std::vector<std::string> remarks)
      : fields_(std::move(fields)), remarks_(std::move(remarks)) {
    for (JoinedFile& file : files) add(std::move(file));
  }

  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int row_groups() const override { return row_groups_; }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t expected_rows() const {
    std::int64_t sum = 0;
    for (const File& file : files_) {
      const std::int64_t rows = io::expected_rows(*file.table);
      if (rows < 0) return -1;
      sum += rows;
    }
    return sum;
  }
  [[nodiscard]] std::int64_t rows(int row_group) const override {
    const File& file = file_of(row_group);
    return file.table->rows(row_group - file.first_row_group);
  }
  [[nodiscard]] std::string place(std::int64_t row, int /*column*/) const override { return place_of_row(row).text(); }
  [[nodiscard]] ColumnRange range(int row_group, int column) const override {
    const File& file = file_of(row_group);
    const ColumnSource& source = file.sources[static_cast<std::size_t>(column)];
    if (source.constant != nullptr && fields_[static_cast<std::size_t>(column)].kind != ValueKind::text) {
      const auto number = static_cast<double>(source.constant->number);
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      return {.least = std::nextafter(number, -kInfinity),
              .greatest = std::nextafter(number, kInfinity),
              .has_nulls = false};
    }
    if (source.constant != nullptr) return {.has_nulls = false};
    if (source.column < 0) return {.has_values = false};
    return file.table->range(row_group - file.first_row_group, source.column);
  }
  [[nodiscard]] std::vector<ColumnRange> batch_ranges(int row_group, int column) const override {
    const File& file = file_of(row_group);
    const ColumnSource& source = file.sources[static_cast<std::size_t>(column)];
    if (source.column < 0) return {};
    return file.table->batch_ranges(row_group - file.first_row_group, source.column);
  }
  [[nodiscard]] bool is_partial() const {
    return std::any_of(files_.begin(), files_.end(), [](const File& file) { return io::is_partial(*file.table); });
  }
  [[nodiscard]] std::vector<std::string> remarks() const override {
    constexpr std::size_t kMost = 10;  // more lines would hide the answer
    std::vector<std::string> all = remarks_;
    for (const File& file : files_) {
      for (std::string& line : file.table->remarks()) all.push_back(std::move(line));
    }
    if (all.size() > kMost) {
      const std::size_t others = all.size() - kMost;
      all.resize(kMost);
      all.push_back("and " + std::to_string(others) + " more such lines");
    }
    return all;
  }
  [[nodiscard]] bool skips_cheaply() const override {
    return std::all_of(files_.begin(), files_.end(), [](const File& file) { return file.table->skips_cheaply(); });
  }
  [[nodiscard]] RowPlace place_of_row(std::int64_t row) const override {
    const auto later = std::upper_bound(files_.begin(), files_.end(), row,
                                        [](std::int64_t wanted, const File& file) { return wanted < file.first_row; });
    const File& file = *(later - 1);
    const auto* const places = dynamic_cast<const RowPlaces*>(file.table.get());
    const std::int64_t own = row - file.first_row;
    return places != nullptr ? places->place_of_row(own) : RowPlace{file.path, own};
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override {
    const File& file = file_of(row_group);
    return std::make_unique<JoinedRows>(file, fields_, row_group - file.first_row_group, columns);
  }

 private:
  void add(JoinedFile file) {
    read_as_joined(file);
    const std::int64_t rows = file.table->rows();
    const int row_groups = file.table->row_groups();
    const auto* const of_file = dynamic_cast<const FileTable*>(file.table.get());
    const std::int64_t counted = of_file != nullptr ? of_file->counted_rows() : rows;
    files_.push_back({std::move(file.path), std::move(file.table), row_groups_, next_row_});
    set_sources(files_.back(), file.places);
    files_.back().partitions = std::move(file.partitions);
    set_constants(files_.back());
    row_groups_ += row_groups;
    next_row_ += counted >= 0 ? counted : kMostRows;
    rows_ = rows_ < 0 || rows < 0 ? -1 : rows_ + rows;
  }

  // A column of a CSV file is read as text if other files have another type there, and dates as timestamps.
  void read_as_joined(JoinedFile& file) const {
    const auto* const of_file = dynamic_cast<const FileTable*>(file.table.get());
    if (of_file == nullptr || of_file->format() != Format::csv) return;
    std::vector<std::pair<int, ValueKind>> columns;
    for (std::size_t i = 0; i < of_file->fields().size(); ++i) {
      const Field& own = of_file->fields()[i];
      const Field& field = fields_[static_cast<std::size_t>(file.places[i])];
      const bool is_other = own.kind != field.kind && field.unsupported.empty() && !own.is_untyped && !own.is_all_null;
      const bool is_date = own.kind == ValueKind::date && field.kind == ValueKind::timestamp;
      if (is_other && (field.kind == ValueKind::text || is_date)) columns.emplace_back(static_cast<int>(i), field.kind);
    }
    if (!columns.empty()) file.table = of_file->with_kinds(columns);
  }

  void set_sources(File& file, const std::vector<int>& places) const {
    const std::vector<Field>& own = file.table->fields();
    file.sources.resize(fields_.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Field& field = fields_[static_cast<std::size_t>(places[i])];
      // Lists that are read have the same elements, or NULLs of 64 bits each, which is enough for any type.
      const bool are_lists = own[i].element && field.element;
      const bool is_same = are_lists || (own[i].kind == field.kind && own[i].storage == field.storage &&
                                         own[i].scale == field.scale && own[i].unsupported == field.unsupported);
      // Words such as NA are values of a column of text.
      if (own[i].is_untyped || (own[i].is_all_null && !is_same)) continue;
      file.sources[static_cast<std::size_t>(places[i])] = {static_cast<int>(i), !is_same};
    }
  }

  void set_constants(File& file) const {
    for (const PartitionValue& value : file.partitions) {
      file.sources[static_cast<std::size_t>(value.place)].constant = &value;
    }
  }

  // Files without row groups have the number of the next file's first row group.
  [[nodiscard]] const File& file_of(int row_group) const {
    const auto later = std::upper_bound(files_.begin(), files_.end(), row_group,
                                        [](int wanted, const File& file) { return wanted < file.first_row_group; });
    return *(later - 1);
  }

  std::vector<Field> fields_;
  std::vector<std::string> remarks_;  // about the columns
  std::vector<File> files_;
  int row_groups_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t next_row_ = 0;  // the number of the next file's first row
};

}  // namespace

bool is_partial(const Table& table) {
  if (const auto* const file = dynamic_cast<const FileTable*>(&table)) return file->is_partial();
  const auto* const joined = dynamic_cast<const JoinedTable*>(&table);
  return joined != nullptr && joined->is_partial();
}

std::int64_t expected_rows(const Table& table) {
  if (table.rows() >= 0) return table.rows();
  if (const auto* const file = dynamic_cast<const FileTable*>(&table)) return file->counted_rows();
  const auto* const joined = dynamic_cast<const JoinedTable*>(&table);
  return joined != nullptr ? joined->expected_rows() : -1;
}

std::unique_ptr<Table> join(std::vector<JoinedFile> files, std::vector<Field> fields,
                            std::vector<std::string> remarks) {
  return std::make_unique<JoinedTable>(std::move(files), std::move(fields), std::move(remarks));
}

namespace {

// Adds columns by folders. Where files have a column of that name, only the other files take the value of their folder.
void add_partitions(std::vector<Partition> partitions, JoinedFields& fields, JoinedFiles& joined) {
  std::vector<Field> others;
  for (Partition& partition : partitions) {
    const int own = fields.place_of(partition.field.name);
    const int place = own >= 0 ? own : static_cast<int>(fields.fields().size() + others.size());
    for (std::size_t i = 0; i < joined.files.size(); ++i) {
      JoinedFile& file = joined.files[i];
      std::optional<PartitionValue>& value = partition.values[i];
      if (!value || std::ranges::find(file.places, place) != file.places.end()) continue;
      if (own >= 0) fields.add_folder(own, partition.field, file.path);
      value->place = place;
      file.partitions.push_back(std::move(*value));
    }
    if (own < 0) others.push_back(std::move(partition.field));
  }
  joined.fields = fields.fields();
  std::ranges::move(others, std::back_inserter(joined.fields));
}

}  // namespace

JoinedFiles open_files(const std::vector<std::string>& paths, const CsvOptions& csv, const ChooseColumn& choose,
                       int threads, const std::string& spool_folder) {
  JoinedFiles joined;
  JoinedFields fields(static_cast<bool>(choose));
  std::vector<std::string> patterned;  // the files that match a pattern; an empty name for any other file
  bool has_gap = false;                // rows of an earlier file are missing
  for (const std::string& path : paths) {
    for (const std::string& file : matching_files(path)) {
      const std::string name = file == "-" ? std::string(kStandardInput) : file;
      std::unique_ptr<Table> table = open_table(file, csv, choose, threads, spool_folder);
      std::vector<int> places = fields.add(name, table->fields(), written_numbers(*table));
      if (has_gap) table = std::make_unique<NoRows>(table->fields(), table->remarks());
      has_gap = has_gap || is_partial(*table);
      joined.files.push_back({name, std::move(table), std::move(places)});
      patterned.push_back(file == path ? "" : file);
    }
  }
  if (joined.files.empty()) throw Error(Code::invalid_argument, "no file is given: at least one is needed");
  add_partitions(partitions_of(patterned), fields, joined);
  joined.remarks = fields.remarks();
  return joined;
}

std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, const CsvOptions& csv, int threads) {
  return open_tables(paths, csv, {}, threads);
}

std::unique_ptr<Table> open_tables(const std::vector<std::string>& paths, const CsvOptions& csv,
                                   const ChooseColumn& choose, int threads, const std::string& spool_folder) {
  if (paths.size() == 1) {
    const std::vector<std::string> files = matching_files(paths[0]);
    const bool has_folders = files[0] != paths[0] && !folders_with_values(files[0]).empty();
    if (files.size() == 1 && !has_folders) return open_table(files[0], csv, choose, threads, spool_folder);
  }
  JoinedFiles joined = open_files(paths, csv, choose, threads, spool_folder);
  return join(std::move(joined.files), std::move(joined.fields), std::move(joined.remarks));
}

}  // namespace upsweep::io
