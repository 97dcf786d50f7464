// SPDX-License-Identifier: Apache-2.0
// io/arrow_batches.cpp: converts Arrow's record batches, of any length, to the batches of a table.
#include "io/arrow_batches.hpp"

#include <arrow/array/array_base.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/concatenate.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "core/utf8.hpp"
#include "io/arrow_elements.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_text.hpp"
#include "io/first_fault.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

bool set_decimal(Field& field, const arrow::DataType& type) {
  const auto& decimal = static_cast<const arrow::DecimalType&>(type);
  if (decimal.precision() > kMostDigits || decimal.scale() < 0 || decimal.scale() > kMostDigits) return false;
  const Storage wide = decimal.precision() <= kInt64Digits ? Storage::int64 : Storage::int128;
  field.kind = ValueKind::decimal;
  field.storage = type.id() == arrow::Type::DECIMAL32 ? Storage::int32 : wide;
  field.scale = decimal.scale();
  return true;
}

// Returns false for an unsupported type.
bool set_type(Field& field, const arrow::DataType& type) {
  if (arrow::is_decimal(type.id())) return set_decimal(field, type);
  const ArrowType* const known = arrow_type_of(type);
  if (known == nullptr) return false;
  field.kind = known->kind;
  field.storage = known->storage;
  field.scale = known->scale;
  if (type.id() == arrow::Type::TIMESTAMP) field.zone = static_cast<const arrow::TimestampType&>(type).timezone();
  return true;
}

// Returns the type of the elements of lists that queries read; null for other types. The elements of views need not be
// consecutive.
std::shared_ptr<arrow::DataType> element_type_of(const arrow::DataType& type) {
  const bool is_list = type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
                       type.id() == arrow::Type::FIXED_SIZE_LIST;
  return is_list ? static_cast<const arrow::BaseListType&>(type).value_type() : nullptr;
}

// Returns the field of the elements of lists of numbers, booleans or nothing but NULL; null for other types.
std::shared_ptr<const Field> element_of(const arrow::DataType& type) {
  const auto element = element_type_of(type);
  Field field;
  if (element == nullptr || !set_type(field, *element)) return nullptr;
  field.is_untyped = element->id() == arrow::Type::NA;
  const bool is_read =
      field.kind == ValueKind::integer || field.kind == ValueKind::real || field.kind == ValueKind::boolean;
  return is_read ? std::make_shared<const Field>(std::move(field)) : nullptr;
}

// Consecutive chunks of one column, and which rows they hold.
struct Rows {
  Arrays chunks;
  std::int64_t count = 0;
  std::int64_t first = 0;  // number of the first row in the table
};

class Column {
 public:
  Column(Field field, const std::string& path)
      : field_(std::move(field)), name_(full_name(path, field_.name)), text_(name_) {
    if (field_.element == nullptr) return;
    Field element = *field_.element;
    element.name = field_.name;
    elements_ = std::make_unique<Column>(std::move(element), path);
  }

  ColumnData make(Rows rows, Memory& memory) {
    if (elements_) return make_lists(rows, memory);
    return field_.kind == ValueKind::text ? text_.encode(rows.chunks, rows.count, rows.first, memory)
                                          : make_numbers(std::move(rows), memory);
  }

  // Whether an array has the type that the table declares for the column.
  [[nodiscard]] bool fits(const arrow::DataType& type) const {
    if (elements_) {
      const auto element = element_type_of(type);
      return element != nullptr && elements_->fits(*element);
    }
    if (field_.kind == ValueKind::interval && type.id() == arrow::Type::FIXED_SIZE_BINARY) return true;
    Field field;
    const bool known = set_type(field, type);
    return known && field.kind == field_.kind && field.storage == field_.storage && field.scale == field_.scale &&
           field.zone.empty() == field_.zone.empty();
  }

  void may_repeat_texts() { text_.may_repeat(); }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  // Returns the rows' chunks as one array, which `memory` owns.
  std::shared_ptr<arrow::Array> joined(const Rows& rows, Memory& memory) const {
    auto array = rows.chunks.size() == 1 ? rows.chunks[0] : checked(name_, [&] { return Concatenate(rows.chunks); });
    memory.push_back(array);
    return array;
  }

  ColumnData make_lists(const Rows& rows, Memory& memory) {
    const auto array = joined(rows, memory);
    ColumnData data;
    pass_validity(*array, data);
    const auto lists = std::make_shared<ColumnLists>();
    std::shared_ptr<arrow::Array> content;
    if (array->type_id() == arrow::Type::LIST) {
      content = set_offsets(static_cast<const arrow::ListArray&>(*array), rows.first, *lists, memory);
    } else if (array->type_id() == arrow::Type::LARGE_LIST) {
      content = set_offsets(static_cast<const arrow::LargeListArray&>(*array), rows.first, *lists, memory);
    } else {
      const auto& of_size = static_cast<const arrow::FixedSizeListArray&>(*array);
      const std::int64_t size = of_size.value_length();
      content = of_size.values()->Slice(of_size.value_offset(0), size * array->length());
      auto* const offsets = allocate_offsets(array->length(), memory);
      for (std::int64_t i = 0; i <= array->length(); ++i) offsets[i] = i * size;
      lists->offsets = offsets;
    }
    if (const std::int64_t n = content->length(); n > 0) {  // otherwise there may be no buffer
      lists->elements = elements_->make({{content}, n, rows.first}, memory);
    }
    data.lists = lists;
    return data;
  }

  std::int64_t* allocate_offsets(std::int64_t rows, Memory& memory) const {
    return reinterpret_cast<std::int64_t*>(allocate((rows + 1) * std::int64_t{sizeof(std::int64_t)}, memory));
  }

  // Sets the offsets, from 0, and returns the elements between the first and the last. Arrow does not check offsets.
  template <class ListArray>
  std::shared_ptr<arrow::Array> set_offsets(const ListArray& array, std::int64_t first_row, ColumnLists& lists,
                                            Memory& memory) const {
    const std::int64_t n = array.length();
    const auto* const raw = array.raw_value_offsets();
    auto* const offsets = allocate_offsets(n, memory);
    const std::int64_t first = n > 0 ? std::int64_t{raw[0]} : 0;
    std::int64_t last = first;
    offsets[0] = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t stop = raw[i + 1];
      if (first < 0 || stop < last || stop > array.values()->length()) {
        throw Error(
            Code::malformed,
            fmt::format("{}: the list in row {} is outside its content; write the file again", name_, first_row + i),
            first_row + i);
      }
      last = stop;
      offsets[i + 1] = stop - first;
    }
    lists.offsets = offsets;
    return array.values()->Slice(first, last - first);
  }

  ColumnData make_numbers(Rows rows, Memory& memory) const {
    decode(rows);
    const auto array = joined(rows, memory);
    ColumnData data;
    if (array->type_id() == arrow::Type::NA) {
      data.values = zeros(rows.count * (width_of(field_.storage) / 8), memory);
      data.validity = zeros(arrow::bit_util::BytesForBits(rows.count), memory);
      return data;
    }
    pass_validity(*array, data);
    if (field_.storage == Storage::bit) data.offset = array->offset();
    data.values = in_place(*array);
    if (data.values == nullptr) data.values = convert(*array, rows.first, memory);
    return data;
  }

  void decode(Rows& rows) const {
    std::int64_t row = rows.first;
    for (auto& chunk : rows.chunks) {
      row += chunk->length();
      if (chunk->type_id() != arrow::Type::DICTIONARY) continue;
      const auto& encoded = static_cast<const arrow::DictionaryArray&>(*chunk);
      chunk = decode_dictionary(encoded, name_, row - chunk->length());
    }
  }

  // The elements in place, or null if they must be converted or moved.
  [[nodiscard]] const void* in_place(const arrow::Array& chunk) const {
    const std::uint8_t* const values = chunk.data()->buffers[1]->data();
    if (field_.storage == Storage::bit) return values;
    const std::int64_t width = width_of(field_.storage) / 8;
    const std::uint8_t* const first = values + chunk.offset() * width;
    const bool is_converted = field_.kind == ValueKind::interval;
    const bool as_stored = !is_converted && chunk.type()->byte_width() == width;
    const bool aligned = reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(width) == 0;
    return as_stored && aligned ? first : nullptr;
  }

  std::uint8_t* allocate(std::int64_t bytes, Memory& memory) const {
    const std::shared_ptr<arrow::Buffer> buffer = checked(name_, [&] { return arrow::AllocateBuffer(bytes); });
    memory.push_back(buffer);
    return buffer->mutable_data();
  }

  std::uint8_t* zeros(std::int64_t bytes, Memory& memory) const {
    std::uint8_t* const data = allocate(bytes, memory);
    std::fill_n(data, bytes, std::uint8_t{0});
    return data;
  }

  // Rows that are NULL may contain values that do not fit.
  const void* convert(const arrow::Array& array, std::int64_t first_row, Memory& memory) const {
    const Stored stored = stored_as(*array.type());
    const std::int64_t width = width_of(field_.storage) / 8;
    const std::int64_t raw_width = array.type()->byte_width();
    const std::uint8_t* const from = array.data()->buffers[1]->data() + array.offset() * raw_width;
    std::uint8_t* const to = allocate(array.length() * width, memory);
    std::int64_t i = convert_elements(stored, width, from, array.length(), to);
    for (; i < array.length(); ++i) {
      const bool fits = convert_elements(stored, width, from + i * raw_width, 1, to + i * width) == 1;
      if (!fits && array.IsValid(i)) throw_misfit(stored, name_, first_row + i);
    }
    return to;
  }

  Field field_;
  std::string name_;
  TextEncoder text_;
  std::unique_ptr<Column> elements_;  // of lists
};

// A row group of a table, opened for reading.
struct OpenedRowGroup {
  FilePath file;
  std::string path;            // in messages
  FileState state;             // of the file when the table was opened
  std::vector<Field> fields;   // of the requested columns
  std::vector<int> places;     // their indices in a record batch
  std::int64_t first_row = 0;  // its number in the table
  std::int64_t rows = -1;      // -1 if unknown before reading
  RecordBatches source;
};

class ArrowBatches final : public BatchReader {
 public:
  explicit ArrowBatches(OpenedRowGroup row_group) : opened_(std::move(row_group)) {
    for (const Field& field : opened_.fields) columns_.emplace_back(field, opened_.path);
  }

  bool next(Batch& batch) override {
    batch = {};
    return of_unchanged([&] { return read(batch); });
  }

  void skip() override {
    of_unchanged([&] { skip_rows(kBatchRows); });
  }

  void may_repeat_texts() override {
    for (Column& column : columns_) column.may_repeat_texts();
  }

 private:
  // Data from a file that another program is writing to looks damaged.
  template <class Read>
  std::invoke_result_t<const Read&> of_unchanged(const Read& some) {
    try {
      return some();
    } catch (const Error& error) {
      if (error.code() == Code::malformed) require_unchanged(opened_.state, file_state(opened_.file), opened_.path);
      throw;
    }
  }

  void skip_rows(std::int64_t n) {
    std::int64_t rows = pass_over(n);
    if (rows > 0 && opened_.source.skip && !ended_) {
      leave_chunk();
      rows_before_ += checked(opened_.path, [&] { return opened_.source.skip(rows); });
      return;
    }
    while (rows > 0 && load()) rows = pass_over(rows);
  }

  bool read(Batch& batch) {
    const auto chunks = gather(batch);
    if (batch.rows == 0) return false;
    auto memory = std::make_shared<Memory>(chunks.begin(), chunks.end());
    FirstFault faults;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Rows rows{{}, batch.rows, batch.first_row};
      for (const auto& chunk : chunks) rows.chunks.push_back(chunk->column(opened_.places[i]));
      faults.attempt(opened_.path, [&] { batch.columns.push_back(columns_[i].make(std::move(rows), *memory)); });
    }
    faults.rethrow();
    batch.memory = std::move(memory);
    return true;
  }

  // Takes the rows of one batch, or fewer at the end.
  arrow::RecordBatchVector gather(Batch& batch) {
    arrow::RecordBatchVector chunks;
    batch.first_row = opened_.first_row + rows_before_ + position_;
    while (batch.rows < kBatchRows && load()) {
      const std::int64_t n = std::min(left(), kBatchRows - batch.rows);
      chunks.push_back(n == chunk_->num_rows() ? chunk_ : chunk_->Slice(position_, n));
      position_ += n;
      batch.rows += n;
    }
    return chunks;
  }

  // Skips at most `rows` rows of the current chunk; returns how many are still to be skipped.
  std::int64_t pass_over(std::int64_t rows) {
    const std::int64_t n = std::min(left(), rows);
    position_ += n;
    return rows - n;
  }

  void leave_chunk() {
    rows_before_ += chunk_ ? chunk_->num_rows() : 0;
    position_ = 0;
    chunk_.reset();
  }

  [[nodiscard]] std::int64_t left() const { return chunk_ ? chunk_->num_rows() - position_ : 0; }

  // Loads chunks until the current one has rows left; returns false at the end of the row group.
  bool load() {
    while (left() == 0) {
      if (ended_) return false;
      leave_chunk();
      // This check also protects the process: touching a mapped page past the end of a file that shrank kills it.
      require_unchanged(opened_.state, file_state(opened_.file), opened_.path);
      chunk_ = checked(opened_.path, opened_.source.next);
      if (!chunk_) return end();
      accept();
    }
    return true;
  }

  bool end() {
    ended_ = true;
    require_unchanged(opened_.state, file_state(opened_.file), opened_.path);
    if (opened_.rows >= 0 && rows_before_ != opened_.rows) {
      throw Error(Code::malformed,
                  fmt::format("{}: is damaged: expected {} rows from row {} on, found {}; write the file "
                              "again",
                              opened_.path, opened_.rows, opened_.first_row, rows_before_));
    }
    return false;
  }

  // Arrow does not check the lengths that a file claims unless it is asked to.
  void accept() {
    if (opened_.rows >= 0 && chunk_->num_rows() > opened_.rows - rows_before_) {
      throw_status(opened_.path, arrow::Status::Invalid("more rows than the row group declares"));
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto& array = chunk_->column(opened_.places[i]);
      const std::string& name = columns_[i].name();
      if (const arrow::Status valid = array->Validate(); !valid.ok()) throw_status(name, valid);
      if (array->length() != chunk_->num_rows() || !columns_[i].fits(*value_type(array->type()))) {
        throw_status(name, arrow::Status::Invalid("a batch whose length or type differs from the schema"));
      }
    }
  }

  OpenedRowGroup opened_;
  std::vector<Column> columns_;
  std::shared_ptr<arrow::RecordBatch> chunk_;
  std::int64_t position_ = 0;     // rows of the chunk that were returned
  std::int64_t rows_before_ = 0;  // rows of the chunks before it
  bool ended_ = false;
};

}  // namespace

Field field_of(const arrow::Field& field) {
  Field result;
  result.name = field.name();
  const auto type = value_type(field.type());
  // Only dictionaries of text and of numbers are decoded.
  const bool is_encoded = type != field.type();
  const bool decodable = !is_encoded || (type->id() != arrow::Type::BOOL && type->id() != arrow::Type::NA);
  if (!decodable || !set_type(result, *type)) result.unsupported = printable(field.type()->ToString());
  result.is_untyped = type->id() == arrow::Type::NA;
  if (is_encoded) result.has_own_order = static_cast<const arrow::DictionaryType&>(*field.type()).ordered();
  // An extension type that Arrow does not have registered. Its elements mean something other than those of its storage
  // type.
  if (!is_encoded) result.element = element_of(*type);
  const auto& metadata = field.metadata();
  const int extension = metadata ? metadata->FindKey("ARROW:extension:name") : -1;
  if (extension >= 0) {
    result.unsupported = printable("extension<" + metadata->value(extension) + ">");
    result.element = nullptr;
  }
  return result;
}

ColumnData elements_of(const Field& field, const std::string& path, const std::shared_ptr<arrow::Array>& array,
                       std::int64_t first_row, Memory& memory) {
  return Column(field, path).make({{array}, array->length(), first_row}, memory);
}

Selection::Selection(const std::vector<int>& asked) : columns(asked) {
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  for (const int column : asked) {
    const auto found = std::lower_bound(columns.begin(), columns.end(), column);
    places.push_back(static_cast<int>(found - columns.begin()));
  }
}

void ArrowTable::declare(const arrow::FieldVector& fields) {
  fields_.clear();
  types_.clear();
  for (const auto& field : fields) {
    if (!is_utf8(field->name())) {
      throw Error(Code::malformed, fmt::format("{}: the name of column {}, '{}', is not UTF-8; rename the column",
                                               path_, fields_.size(), printable(field->name())));
    }
    fields_.push_back(field_of(*field));
    types_.push_back(field->type());
  }
}

void ArrowTable::add_row_group(std::int64_t rows) {
  std::int64_t end = 0;
  if (rows < 0 || __builtin_add_overflow(starts_.back(), rows, &end)) {
    throw_status(path_, arrow::Status::Invalid(fmt::format("a row group has {} rows", rows)));
  }
  starts_.push_back(end);
}

std::unique_ptr<BatchReader> ArrowTable::read(int row_group, const std::vector<int>& columns,
                                              RecordBatches source) const {
  OpenedRowGroup opened{
      file_, path_, state_, {}, Selection(columns).places, start(row_group), rows(row_group), std::move(source)};
  for (const int column : columns) {
    const Field& field = opened.fields.emplace_back(fields_[static_cast<std::size_t>(column)]);
    if (field.unsupported.empty() || field.element) continue;
    throw Error(Code::unsupported_type, fmt::format("{}: has unsupported type {}; omit it from the query",
                                                    full_name(path_, field.name), field.unsupported));
  }
  return std::make_unique<ArrowBatches>(std::move(opened));
}

}  // namespace upsweep::io
