// SPDX-License-Identifier: Apache-2.0
// io/whole_table.cpp: converts the batches of a table to Arrow's arrays, row group by row group.
#include "io/whole_table.hpp"

#include <arrow/array/array_base.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/c/abi.h>
#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "io/arrow_elements.hpp"
#include "io/arrow_errors.hpp"
#include "io/arrow_file.hpp"
#include "io/csv_rows.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

using ArrayOrError = arrow::Result<std::shared_ptr<arrow::Array>>;
using BufferOrError = arrow::Result<std::shared_ptr<arrow::Buffer>>;

std::shared_ptr<arrow::DataType> column_type(const Field& field) {
  if (field.element) return arrow::large_list(field.element->is_untyped ? arrow::null() : stored_type(*field.element));
  return field.is_untyped ? arrow::null() : stored_type(field);
}

// Returns n bits from bit `first` on.
BufferOrError copied_bits(const void* bits, std::int64_t first, std::int64_t n) {
  std::int64_t zeros = 0;
  return bitmap_of(n, zeros, [&](std::int64_t i) {
    return arrow::bit_util::GetBit(static_cast<const std::uint8_t*>(bits), static_cast<std::uint64_t>(first + i));
  });
}

BufferOrError copied_bytes(const void* from, std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes));
  std::memcpy(buffer->mutable_data(), from, static_cast<std::size_t>(bytes));
  return buffer;
}

template <class From, class To>
BufferOrError converted(const void* from, std::int64_t n) {
  constexpr std::int64_t kBytes = sizeof(To);
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(n * kBytes));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<To>(static_cast<const From*>(from)[i]);
    std::memcpy(buffer->mutable_data() + i * kBytes, &value, sizeof value);
  }
  return buffer;
}

BufferOrError copied_values(const Field& field, const ColumnData& data, std::int64_t n) {
  if (field.storage == Storage::bit) return copied_bits(data.values, data.offset, n);
  const bool is_decimal = field.kind == ValueKind::decimal;
  if (is_decimal && field.storage == Storage::int32) return converted<std::int32_t, Int128>(data.values, n);
  if (is_decimal && field.storage == Storage::int64) return converted<std::int64_t, Int128>(data.values, n);
  // Joined files have times of 64 bits, also where Arrow's type has 32.
  if (field.kind == ValueKind::time && field.scale <= 3 && field.storage == Storage::int64) {
    return converted<std::int64_t, std::int32_t>(data.values, n);
  }
  if (field.kind == ValueKind::interval) {
    return intervals_of(n, [&](std::int64_t i) { return static_cast<const Int128*>(data.values)[i]; });
  }
  return copied_bytes(data.values, n * (width_of(field.storage) / 8));
}

// Copies a column, so that the result does not depend on the file. Mapped files may change.
ArrayOrError array_of(const Field& field, const ColumnData& data, std::int64_t n) {
  if (field.is_untyped) return arrow::MakeArrayOfNull(arrow::null(), n);
  const std::shared_ptr<arrow::DataType> type = column_type(field);
  std::shared_ptr<arrow::Buffer> validity;
  if (data.validity != nullptr) {
    ARROW_ASSIGN_OR_RAISE(validity, copied_bits(data.validity, data.offset, n));
  }
  if (field.element) {
    const std::int64_t elements = data.lists->offsets[n];
    ARROW_ASSIGN_OR_RAISE(auto offsets,
                          copied_bytes(data.lists->offsets, (n + 1) * std::int64_t{sizeof(std::int64_t)}));
    ARROW_ASSIGN_OR_RAISE(const auto content, array_of(*field.element, data.lists->elements, elements));
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, n, {std::move(validity), std::move(offsets)}, {content->data()}));
  }
  if (field.kind != ValueKind::text) {
    ARROW_ASSIGN_OR_RAISE(auto values, copied_values(field, data, n));
    return arrow::MakeArray(arrow::ArrayData::Make(type, n, {std::move(validity), std::move(values)}));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> offsets,
                        arrow::AllocateBuffer((n + 1) * std::int64_t{sizeof(std::int32_t)}));
  const auto* const indices = static_cast<const std::int32_t*>(data.values);
  const auto word = [&](std::int64_t i) {
    return is_null(data, i) ? std::string_view() : (*data.dictionary)[static_cast<std::size_t>(indices[i])];
  };
  auto* const ends = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
  std::int64_t letters = 0;
  ends[0] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    letters += std::ssize(word(i));
    if (letters > std::numeric_limits<std::int32_t>::max()) {
      return arrow::Status::CapacityError("more than 2 GiB of text in 65,536 rows");
    }
    ends[i + 1] = static_cast<std::int32_t>(letters);
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> text, arrow::AllocateBuffer(letters));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string_view one = word(i);
    if (!one.empty()) std::memcpy(text->mutable_data() + ends[i], one.data(), one.size());
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type, n, {std::move(validity), std::move(offsets), std::move(text)}));
}

void require_supported(const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (field.unsupported.empty() || field.element) continue;
    throw Error(Code::unsupported_type, fmt::format("column '{}' has unsupported type {}; read this file with pyarrow",
                                                    printable(field.name), field.unsupported));
  }
}

arrow::RecordBatchVector batches_of(const Table& table, int row_group, const std::shared_ptr<arrow::Schema>& schema,
                                    const std::function<void()>& step) {
  const std::vector<Field>& fields = table.fields();
  std::vector<int> columns(fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  arrow::RecordBatchVector batches;
  const auto reader = table.open(row_group, columns);
  reader->may_repeat_texts();
  for (Batch batch; reader->next(batch);) {
    if (batch.complete) batch.complete(batch);
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      arrays.push_back(checked(fields[i].name, [&] { return array_of(fields[i], batch.columns[i], batch.rows); }));
    }
    batches.push_back(arrow::RecordBatch::Make(schema, batch.rows, std::move(arrays)));
    step();
  }
  return batches;
}

// Returns what was understood of the files, a line for each remark; null without remarks.
std::shared_ptr<const arrow::KeyValueMetadata> metadata_of(const std::vector<std::string>& remarks) {
  if (remarks.empty()) return nullptr;
  return arrow::key_value_metadata({"upsweep.remarks"}, {fmt::format("{}", fmt::join(remarks, "\n"))});
}

}  // namespace

void read_whole(const Table& table, int threads, const std::function<void()>& step, ArrowArrayStream* stream) {
  require_supported(table.fields());
  arrow::FieldVector fields;
  for (const Field& field : table.fields()) fields.push_back(arrow::field(field.name, column_type(field)));
  const auto schema = arrow::schema(std::move(fields), metadata_of(table.remarks()));
  std::vector<arrow::RecordBatchVector> row_groups(static_cast<std::size_t>(table.row_groups()));
  run_each(row_groups.size(), threads,
           [&](std::size_t i) { row_groups[i] = batches_of(table, static_cast<int>(i), schema, step); });
  arrow::RecordBatchVector all;
  for (arrow::RecordBatchVector& batches : row_groups) {
    all.insert(all.end(), std::make_move_iterator(batches.begin()), std::make_move_iterator(batches.end()));
  }
  checked("the table", [&]() -> arrow::Result<bool> {
    ARROW_ASSIGN_OR_RAISE(auto reader, arrow::RecordBatchReader::Make(std::move(all), schema));
    ARROW_RETURN_NOT_OK(arrow::ExportRecordBatchReader(std::move(reader), stream));
    return true;
  });
}

}  // namespace upsweep::io
