// SPDX-License-Identifier: Apache-2.0
// io/arrow_lists.cpp: list columns of Parquet and Arrow files: the offsets and the content of Arrow's arrays, in place.
#include <arrow/array/array_nested.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "io/arrow_batches.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_table.hpp"
#include "io/column.hpp"
#include "upsweep/error.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::io {
namespace {

bool is_view(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST_VIEW || type.id() == arrow::Type::LARGE_LIST_VIEW;
}

bool is_list(const arrow::DataType& type) {
  return type.id() == arrow::Type::LIST || type.id() == arrow::Type::LARGE_LIST ||
         type.id() == arrow::Type::FIXED_SIZE_LIST || is_view(type);
}

// Returns which of `n` elements are not null, from element `first` of the array on.
Mask validity_of(const arrow::Array& array, std::int64_t first, std::int64_t n) {
  if (array.null_count() == 0) return {};
  return Mask::bits(array.null_bitmap_data(), n, array.offset() + first);
}

// Lists, or views of them, and the array that contains their elements.
struct ArrowLists {
  Lists lists;
  std::shared_ptr<arrow::Array> content;
  std::optional<ListViews> views = {};
};

template <class ListArray>
ArrowLists by_offsets(const arrow::Array& array) {
  const auto& lists = static_cast<const ListArray&>(array);
  return {Lists::by_offsets(lists.raw_value_offsets(), lists.length()), lists.values()};
}

ArrowLists by_size(const arrow::Array& array) {
  const auto& lists = static_cast<const arrow::FixedSizeListArray&>(array);
  const std::int64_t size = lists.value_length();
  return {Lists::of_size(lists.length(), size), lists.values()->Slice(lists.value_offset(0), lists.length() * size)};
}

template <class ViewArray>
ArrowLists by_views(const arrow::Array& array) {
  const auto& lists = static_cast<const ViewArray&>(array);
  const auto views = ListViews::by_sizes(lists.raw_value_offsets(), lists.raw_value_sizes(), lists.length());
  return {{}, lists.values(), views.with_validity(validity_of(array, 0, array.length()))};
}

ArrowLists arrow_lists_of(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::LIST_VIEW) return by_views<arrow::ListViewArray>(array);
  if (array.type_id() == arrow::Type::LARGE_LIST_VIEW) return by_views<arrow::LargeListViewArray>(array);
  ArrowLists found = array.type_id() == arrow::Type::LIST         ? by_offsets<arrow::ListArray>(array)
                     : array.type_id() == arrow::Type::LARGE_LIST ? by_offsets<arrow::LargeListArray>(array)
                                                                  : by_size(array);
  found.lists.valid = validity_of(array, 0, array.length());
  return found;
}

class ArrowListReader final : public ListReader {
 public:
  ArrowListReader(std::unique_ptr<Table> table, const ArrowTable& arrow, int column, std::string name, int threads,
                  Levels most)
      : table_(std::move(table)),
        arrow_(arrow),
        column_(column),
        type_(arrow.type(column)),
        policy_(par.with_threads(threads)) {
    const auto* list = static_cast<const arrow::BaseListType*>(&type_);
    const arrow::DataType& inner = *list->value_type();
    // Two levels with views would need packing: their elements need not be consecutive.
    is_nested_ = most == Levels::two && is_list(inner) && !is_view(inner) && !is_view(type_);
    if (is_nested_) list = static_cast<const arrow::BaseListType*>(&inner);
    element_ = field_of(*list->value_field());
    element_.name = arrow.fields()[static_cast<std::size_t>(column)].name;
    info_.name = std::move(name);
    info_.count = arrow.rows();
    require_elements(*list->value_type());
    if (element_.kind == ValueKind::decimal && element_.storage == Storage::int128) {
      throw Error(Code::unsupported_type,
                  fmt::format("{}: contains lists of decimals of more than {} digits; convert them to float64",
                              info_.name, kInt64Digits));
    }
    set_elements(info_, element_, Booleans::bytes);
  }

  [[nodiscard]] const ColumnInfo& info() const override { return info_; }
  [[nodiscard]] bool is_nested() const override { return is_nested_; }

  bool next(ListBatch& batch) override {
    batch = {};
    try {
      const auto rows = next_rows();
      if (!rows) return false;
      fill(batch, rows->column(0));
      batch.first_list = std::exchange(first_list_, first_list_ + rows->num_rows());
      return true;
    } catch (const Error& error) {
      // Data from a file that another program is writing to looks damaged.
      if (error.code() == Code::malformed) require_unchanged();
      throw;
    }
  }

 private:
  void require_elements(const arrow::DataType& element) const {
    if (!is_list(element)) return;
    throw Error(Code::unsupported_type, fmt::format("{}: is a column of lists of lists, {}: only segment reads two "
                                                    "levels, and only without list views; all other "
                                                    "commands read one level; flatten the lists first, with "
                                                    "pyarrow.compute.list_flatten or awkward.flatten",
                                                    info_.name, printable(type_.ToString())));
  }

  // This check also protects the process: touching a mapped page past the end of a file that shrank kills it.
  void require_unchanged() const {
    upsweep::io::require_unchanged(arrow_.state(), file_state(arrow_.file()), arrow_.file().name);
  }

  // Returns null at the end.
  std::shared_ptr<arrow::RecordBatch> next_rows() {
    for (;;) {
      if (!source_.next) {
        if (row_group_ == arrow_.row_groups()) return end();
        source_ = arrow_.batches(row_group_++, {column_});
      }
      require_unchanged();
      const auto rows = checked(info_.name, source_.next);
      if (!rows) source_ = {};
      if (rows && rows->num_rows() > 0) return rows;
    }
  }

  std::shared_ptr<arrow::RecordBatch> end() const {
    if (arrow_.rows() >= 0 && arrow_.rows() != first_list_) {
      throw_status(info_.name,
                   arrow::Status::Invalid(fmt::format("{} rows instead of {}", first_list_, arrow_.rows())));
    }
    return nullptr;
  }

  void fill(ListBatch& batch, const std::shared_ptr<arrow::Array>& array) const {
    // Arrow does not check the lengths that a file claims unless it is asked to. Offsets are checked when their lists
    // are read.
    if (const arrow::Status valid = array->Validate(); !valid.ok()) throw_status(info_.name, valid);
    if (array->type_id() != type_.id()) {
      throw_status(info_.name, arrow::Status::Invalid("a batch whose type differs from the schema"));
    }
    ArrowLists found = arrow_lists_of(*array);
    if (is_nested_) {
      batch.outer = found.lists;
      found = arrow_lists_of(*found.content);
    }
    const auto memory = std::make_shared<Memory>(Memory{array, found.content});
    batch.lists = found.lists;
    batch.length = found.content->length();
    batch.memory = memory;
    if (batch.length > 0) {  // otherwise there may be no buffer
      const ColumnData data = elements_there(found.content, *memory);
      if (data.validity != nullptr) batch.valid = Mask::bits(data.validity, batch.length, data.offset);
      batch.content = as_computed(data, batch.length, *memory);
    }
    if (found.views) pack_views(*found.views, batch, *memory);
  }

  // Returns the batch's elements. An element that does not fit is named by its place in the batch: it may be in any
  // list, or none.
  ColumnData elements_there(const std::shared_ptr<arrow::Array>& content, Memory& memory) const try {
    return elements_of(element_, arrow_.file().name, content, 0, memory);
  } catch (const Error& error) {
    if (error.index() == kNoIndex) throw;
    throw Error(error.code(),
                fmt::format("in the elements of the lists from number {} on: {}", first_list_, error.what()));
  }

  // Returns memory for n elements.
  std::byte* buffer(std::int64_t n, std::int64_t size, Memory& memory) const {
    const auto buffer = std::make_shared<AlignedBuffer>();
    buffer->reserve(n, size, info_.name);
    memory.push_back(buffer);
    return buffer->data();
  }
  template <class T>
  T* buffer(std::int64_t n, Memory& memory) const {
    return reinterpret_cast<T*>(buffer(n, sizeof(T), memory));
  }

  // Converts views, which may be in any order and share elements, to consecutive lists.
  void pack_views(const ListViews& views, ListBatch& batch, Memory& memory) const try {
    auto* const offsets = buffer<std::int64_t>(views.count + 1, memory);
    const std::int64_t total = pack_offsets(policy_, views, batch.length, offsets).total;
    const int size = size_of(info_.type);
    std::vector<PackColumn> columns;
    std::byte* const content = buffer(total, size, memory);
    columns.emplace_back(batch.content, batch.length, content, total, size);
    std::uint8_t* valid = nullptr;
    std::vector<std::uint8_t> valid_bytes;
    if (batch.valid.is_given()) {
      valid_bytes.resize(static_cast<std::size_t>(batch.length));
      unpack_bits(batch.valid.data, batch.valid.first_bit, batch.length, valid_bytes.data());
      valid = buffer<std::uint8_t>(total, memory);
      columns.emplace_back(valid_bytes.data(), batch.length, valid, total, 1);
    }
    (void)pack_content(policy_, views, offsets, columns);
    batch.lists = Lists::by_offsets(offsets, views.count).with_validity(views.valid);
    batch.content = content;
    batch.length = total;
    if (batch.valid.is_given()) batch.valid = total > 0 ? Mask::bytes(valid, total) : Mask();
  } catch (const Error& error) {
    if (error.index() == kNoIndex) throw;
    const std::int64_t list = first_list_ + error.index();
    throw Error(error.code(), fmt::format("{}: list {} is outside its content; write the file again", info_.name, list),
                list);
  }

  // Converts booleans to bytes, and decimals of few digits to 64 bits.
  [[nodiscard]] const void* as_computed(const ColumnData& data, std::int64_t n, Memory& memory) const {
    if (width_of(element_.storage) == 8 * size_of(info_.type)) return data.values;
    if (element_.storage == Storage::bit) {
      auto* const bytes = buffer<std::uint8_t>(n, memory);
      unpack_bits(static_cast<const std::uint8_t*>(data.values), data.offset, n, bytes);
      return bytes;
    }
    auto* const wide = buffer<std::int64_t>(n, memory);
    std::copy_n(static_cast<const std::int32_t*>(data.values), n, wide);
    return wide;
  }

  std::unique_ptr<Table> table_;
  const ArrowTable& arrow_;  // the table, as an ArrowTable
  int column_;
  const arrow::DataType& type_;
  Policy policy_;  // for packing views
  bool is_nested_ = false;
  Field element_;
  ColumnInfo info_;
  int row_group_ = 0;
  RecordBatches source_;  // of the current row group
  std::int64_t first_list_ = 0;
};

}  // namespace

std::unique_ptr<ListReader> open_lists(TableColumn& column, int threads, Levels most) {
  const auto* const arrow = dynamic_cast<const ArrowTable*>(column.table.get());
  if (arrow == nullptr || !is_list(arrow->type(column.column))) return nullptr;
  return std::make_unique<ArrowListReader>(std::move(column.table), *arrow, column.column, column.name, threads, most);
}

}  // namespace upsweep::io
