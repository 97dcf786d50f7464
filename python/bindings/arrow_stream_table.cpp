// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_stream_table.cpp: converts chunks of any length to row groups and batches.
#include "arrow_stream_table.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "arrow_columns.hpp"
#include "core/utf8.hpp"
#include "upsweep/error.hpp"

namespace upsweep::python {
namespace {

// Rows of a row group: enough to make the cost of opening negligible, few enough that threads finish together.
constexpr std::int64_t kRowGroupRows = 4 * kBatchRows;
// Chunks with at least this number of rows are separate row groups, whose batches are not copied. Shorter chunks are
// combined to batches.
constexpr std::int64_t kAloneRows = kBatchRows / 4;

// A range of a chunk's rows.
struct Rows {
  std::shared_ptr<const Chunk> chunk;  // null: no more rows
  std::int64_t first = 0;
  std::int64_t count = 0;
};
using NextRows = std::function<Rows()>;

// Checks that the chunk matches its stream's schema, as far as an array shows it. Columns of unsupported types, which
// queries do not read, are not checked.
void check_chunk(const ArrowArray& chunk, const std::vector<ColumnType>& columns, const std::string& name) {
  const auto refuse = [&](const std::string& why) { throw Error(Code::malformed, name + ": a chunk of it " + why); };
  if (chunk.n_children != std::ssize(columns)) refuse("has a different number of columns than its schema");
  std::int64_t end = 0;
  if (chunk.length < 0 || chunk.offset < 0 || __builtin_add_overflow(chunk.offset, chunk.length, &end)) {
    refuse("has a negative length");
  }
  if (chunk.null_count != 0 && chunk.n_buffers > 0 && chunk.buffers[0] != nullptr) {
    refuse("has rows that are NULL as a whole, which is not supported");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].field.unsupported.empty() && !columns[i].element) continue;
    const std::string misfit = misfit_of(columns[i], *chunk.children[i]);
    if (!misfit.empty()) {
      refuse("does not match its schema: column '" + columns[i].field.name + "' " + misfit);
    }
    if (chunk.children[i]->length < end) refuse("has columns that are too short");
  }
}

class Stream {
 public:
  Stream(ArrowArrayStream& stream, std::string name, const std::vector<OwnType>& own_types)
      : stream_(stream), name_(std::move(name)) {
    stream.release = nullptr;
    Held<ArrowSchema> schema;
    require(stream_.value.get_schema(&stream_.value, &schema.value));
    if (schema.value.format != std::string_view("+s")) {
      throw Error(Code::unsupported_type,
                  name_ + ": a single column: pass a table, or a dict of column names and columns");
    }
    for (std::int64_t i = 0; i < schema.value.n_children; ++i) {
      columns_.push_back(column_type(*schema.value.children[i]));
      if (!is_utf8(columns_.back().field.name)) {
        throw Error(Code::malformed,
                    name_ + ": the name of column " + std::to_string(i) + " is not UTF-8; rename the column");
      }
      columns_.back().place = name_ + "." + columns_.back().field.name;
    }
    for (std::size_t i = 0; i < std::min(own_types.size(), columns_.size()); ++i) {
      Field& field = columns_[i].field;
      if (!field.unsupported.empty() && !own_types[i].name.empty()) field.unsupported = own_types[i].name;
      field.has_own_order = field.has_own_order || own_types[i].has_own_order;
    }
  }

  [[nodiscard]] const std::vector<ColumnType>& columns() const { return columns_; }

  /// Returns the next chunk; null at the end.
  std::shared_ptr<const Chunk> next() {
    const auto chunk = std::make_shared<Chunk>();
    require(stream_.value.get_next(&stream_.value, &chunk->value));
    if (chunk->value.release == nullptr) return nullptr;
    check_chunk(chunk->value, columns_, name_);
    return chunk;
  }

 private:
  void require(int status) {
    if (status == 0) return;
    const char* const said = stream_.value.get_last_error(&stream_.value);
    std::string why = said == nullptr ? "its stream has failed" : said;
    // A stream implemented in Python received the interrupt, and reports it only in the message.
    const bool interrupted = why.find("KeyboardInterrupt") != std::string::npos;
    why.erase(std::min(why.find(". Detail: Python exception:"), why.size()));  // also removes the traceback
    throw Error(interrupted ? Code::interrupted : Code::unreadable, name_ + ": " + why);
  }

  Held<ArrowArrayStream> stream_;
  std::string name_;
  std::vector<ColumnType> columns_;
};

// The common base of tables of chunks.
class ArrowColumns : public Table {
 public:
  explicit ArrowColumns(std::vector<ColumnType> columns)
      : columns_(std::move(columns)), dictionaries_(columns_.size()), texts_(columns_.size()) {
    for (const ColumnType& column : columns_) fields_.push_back(column.field);
  }
  [[nodiscard]] const std::vector<Field>& fields() const final { return fields_; }
  [[nodiscard]] ColumnRange range(int /*row_group*/, int /*column*/) const final { return {}; }

 protected:
  [[nodiscard]] std::unique_ptr<BatchReader> read(const std::vector<int>& columns, std::int64_t first_row,
                                                  NextRows source) const;

  [[nodiscard]] const std::vector<ColumnType>& columns() const { return columns_; }

 private:
  friend class Reader;
  std::vector<ColumnType> columns_;
  std::vector<Field> fields_;
  mutable std::vector<LastDictionary> dictionaries_;
  mutable std::vector<KeptTextsPool> texts_;
};

class Reader final : public BatchReader {
 public:
  Reader(const ArrowColumns& table, std::vector<int> wanted, std::int64_t first_row, NextRows source)
      : table_(table), wanted_(std::move(wanted)), row_(first_row), source_(std::move(source)) {}

  bool next(Batch& batch) override {
    batch = {.first_row = row_};
    const std::vector<Rows> ranges = gather(batch);
    if (batch.rows == 0) return false;
    const auto memory = std::make_shared<io::Memory>();
    for (const Rows& rows : ranges) memory->push_back(rows.chunk);
    for (const int column : wanted_) batch.columns.push_back(elements(column, ranges, batch, *memory));
    batch.memory = memory;
    row_ += batch.rows;
    return true;
  }

  ~Reader() override {
    for (auto& [column, texts] : texts_) table_.texts_[column].give(std::move(texts));
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void may_repeat_texts() override { may_repeat_texts_ = true; }

 private:
  // Collects the rows of a full batch, or all remaining rows if there are fewer.
  std::vector<Rows> gather(Batch& batch) {
    std::vector<Rows> ranges;
    while (batch.rows < kBatchRows && load()) {
      const std::int64_t n = std::min(left_.count, kBatchRows - batch.rows);
      ranges.push_back({left_.chunk, left_.first, n});
      left_.first += n;
      left_.count -= n;
      batch.rows += n;
    }
    return ranges;
  }

  // Loads more rows if none are left; returns false at the end of the row group.
  bool load() {
    while (left_.count == 0 && !ended_) {
      left_ = source_();
      ended_ = left_.chunk == nullptr;
    }
    return !ended_;
  }

  ColumnData elements(int column, const std::vector<Rows>& rows, const Batch& batch, io::Memory& memory) {
    const auto which = static_cast<std::size_t>(column);
    std::vector<ChunkRange> ranges;
    for (const Rows& some : rows) {
      const ArrowArray& chunk = some.chunk->value;
      const ArrowArray* const array = chunk.children[which];
      ranges.push_back({some.chunk, array, array->offset + chunk.offset + some.first, some.count});
    }
    std::unique_ptr<KeptTexts>& texts = texts_[which];
    if (texts == nullptr) texts = table_.texts_[which].take();
    return elements_of(table_.columns_[which], ranges, batch.rows, batch.first_row, may_repeat_texts_,
                       table_.dictionaries_[which], *texts, memory);
  }

  const ArrowColumns& table_;
  std::vector<int> wanted_;
  std::int64_t row_;
  NextRows source_;
  Rows left_;
  bool ended_ = false;
  bool may_repeat_texts_ = false;
  std::map<std::size_t, std::unique_ptr<KeptTexts>> texts_;  // by column
};

std::unique_ptr<BatchReader> ArrowColumns::read(const std::vector<int>& columns, std::int64_t first_row,
                                                NextRows source) const {
  return std::make_unique<Reader>(*this, columns, first_row, std::move(source));
}

/// A table whose chunks are all in memory.
class ChunkTable final : public ArrowColumns {
 public:
  ChunkTable(std::vector<ColumnType> columns, const std::vector<std::shared_ptr<const Chunk>>& chunks)
      : ArrowColumns(std::move(columns)) {
    for (const auto& chunk : chunks) {
      if (chunk->value.length > 0) add(chunk);
    }
  }

  [[nodiscard]] int row_groups() const override { return static_cast<int>(row_groups_.size()); }
  [[nodiscard]] std::int64_t rows() const override { return rows_; }
  [[nodiscard]] std::int64_t rows(int row_group) const override {
    return row_groups_[static_cast<std::size_t>(row_group)].rows;
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override {
    const RowGroup& opened = row_groups_[static_cast<std::size_t>(row_group)];
    return read(columns, opened.first_row, [&opened, at = std::size_t{0}]() mutable {
      return at < opened.ranges.size() ? opened.ranges[at++] : Rows();
    });
  }

 private:
  struct RowGroup {
    std::int64_t first_row = 0;
    std::int64_t rows = 0;
    std::vector<Rows> ranges = {};
  };

  void add(const std::shared_ptr<const Chunk>& chunk) {
    const std::int64_t length = chunk->value.length;
    if (length < kAloneRows) {
      if (row_groups_.empty() || !takes_more_) begin_row_group();
      takes_more_ = add_rows({chunk, 0, length}) < kRowGroupRows;
      return;
    }
    const std::int64_t each = has_plain_text() ? kBatchRows : kRowGroupRows;
    for (std::int64_t first = 0; first < length; first += each) {
      begin_row_group();
      add_rows({chunk, first, std::min(each, length - first)});
    }
    takes_more_ = false;
  }
  /// Whether there is plain text. A single thread converts a row group's text to a dictionary, which is most of
  /// the work. With few row groups left the other threads would wait.
  [[nodiscard]] bool has_plain_text() const {
    return std::any_of(columns().begin(), columns().end(),
                       [](const ColumnType& type) { return type.text != TextLayout::none && !type.indices; });
  }
  void begin_row_group() { row_groups_.push_back({.first_row = rows_}); }
  /// Adds rows to the last row group, and returns the number of its rows.
  std::int64_t add_rows(Rows rows) {
    RowGroup& last = row_groups_.back();
    last.rows += rows.count;
    rows_ += rows.count;
    last.ranges.push_back(std::move(rows));
    return last.rows;
  }

  std::vector<RowGroup> row_groups_;
  std::int64_t rows_ = 0;
  bool takes_more_ = false;  // the last row group consists of short chunks and may grow
};

/// A table whose chunks are read once, one after the other, and released.
class PassTable final : public ArrowColumns {
 public:
  PassTable(std::shared_ptr<Stream> stream, std::string name)
      : ArrowColumns(stream->columns()), stream_(std::move(stream)), name_(std::move(name)) {}

  [[nodiscard]] int row_groups() const override { return 1; }
  [[nodiscard]] std::int64_t rows() const override { return -1; }
  [[nodiscard]] std::int64_t rows(int /*row_group*/) const override { return -1; }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int /*row_group*/, const std::vector<int>& columns) const override {
    if (is_open_.test_and_set())
      throw Error(Code::unreadable, name_ + ": it was read already; it can be read only once");
    return read(columns, 0, [stream = stream_] {
      std::shared_ptr<const Chunk> chunk = stream->next();
      const std::int64_t rows = chunk ? chunk->value.length : 0;
      return Rows{std::move(chunk), 0, rows};
    });
  }

 private:
  std::shared_ptr<Stream> stream_;
  std::string name_;
  mutable std::atomic_flag is_open_;
};

/// Arrays as the columns of a chunk.
struct ArraysOfChunk {
  explicit ArraysOfChunk(const std::vector<ArrayColumn>& columns, std::int64_t rows)
      : buffers(columns.size()), children(columns.size()) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      buffers[i] = {columns[i].validity, columns[i].values};
      children[i].length = rows;
      children[i].null_count = columns[i].validity == nullptr ? 0 : -1;
      children[i].n_buffers = std::ssize(buffers[i]);
      children[i].buffers = buffers[i].data();
      pointers.push_back(&children[i]);
    }
  }

  std::vector<std::array<const void*, 2>> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

}  // namespace

std::shared_ptr<Table> table_of_stream(ArrowArrayStream& stream, StreamKind kind, std::string name,
                                       const std::vector<OwnType>& own_types) {
  const auto taken = std::make_shared<Stream>(stream, name, own_types);
  if (kind == StreamKind::one_pass) return std::make_shared<PassTable>(taken, std::move(name));
  std::vector<std::shared_ptr<const Chunk>> chunks;
  while (auto chunk = taken->next()) chunks.push_back(std::move(chunk));
  return std::make_shared<ChunkTable>(taken->columns(), chunks);
}

std::shared_ptr<Table> table_of_arrays(const std::vector<ArrayColumn>& columns, std::int64_t rows) {
  std::vector<ColumnType> types;
  for (const ArrayColumn& column : columns) {
    types.push_back(column_type(column.name, column.format.c_str()));
    if (!column.unsupported.empty()) types.back().field.unsupported = column.unsupported;
  }
  auto arrays = std::make_unique<ArraysOfChunk>(columns, rows);
  ArrowArray chunk{};
  chunk.length = rows;
  chunk.n_children = std::ssize(arrays->pointers);
  chunk.children = arrays->pointers.data();
  chunk.release = [](ArrowArray* array) { delete static_cast<ArraysOfChunk*>(array->private_data); };
  chunk.private_data = arrays.release();
  return std::make_shared<ChunkTable>(std::move(types),
                                      std::vector<std::shared_ptr<const Chunk>>{std::make_shared<const Chunk>(chunk)});
}

}  // namespace upsweep::python
