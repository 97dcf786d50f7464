// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.cpp: Arrow's arrays: which rows are NULL, how elements are stored, dictionaries of numbers decoded.
#include "io/arrow_elements.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/c/bridge.h>
#include <arrow/util/bit_util.h>
#include <fmt/format.h>

#include <cstring>
#include <string_view>

#include "io/arrow_errors.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

void pass_validity(const arrow::Array& array, ColumnData& data) {
  if (array.null_count() == 0) return;
  data.validity = array.null_bitmap_data();
  data.offset = array.offset();
}

const ArrowType* arrow_type_of(const arrow::DataType& type) {
  // Arrow exports these types as their storage types.
  if (type.id() == arrow::Type::DICTIONARY || type.id() == arrow::Type::EXTENSION) return nullptr;
  ArrowSchema schema{};
  if (!arrow::ExportType(type, &schema).ok()) return nullptr;
  const ArrowType* const row = arrow_type_of(std::string_view(schema.format));
  schema.release(&schema);
  return row;
}

std::shared_ptr<arrow::DataType> stored_type(const Field& field) {
  const auto unit = time_unit(field.scale);
  const bool is_narrow = width_of(field.storage) == 32;
  switch (field.kind) {
    case ValueKind::integer:
    case ValueKind::real: {
      const std::shared_ptr<arrow::DataType> types[] = {
          arrow::int8(),   arrow::int16(),  arrow::int32(),  arrow::int64(),   arrow::uint8(),
          arrow::uint16(), arrow::uint32(), arrow::uint64(), arrow::float32(), arrow::float64()};
      return types[static_cast<int>(element_type(field.storage))];
    }
    case ValueKind::decimal: {
      constexpr int kDigitsOf32 = 9;
      constexpr int kDigitsOf128 = 38;
      return arrow::decimal128(is_narrow                         ? kDigitsOf32
                               : field.storage == Storage::int64 ? kInt64Digits
                                                                 : kDigitsOf128,
                               field.scale);
    }
    case ValueKind::date:
      return arrow::date32();
    case ValueKind::boolean:
      return arrow::boolean();
    case ValueKind::text:
      return arrow::utf8();
    case ValueKind::timestamp:
      return arrow::timestamp(unit, field.zone);
    case ValueKind::time:
      return field.scale <= 3 ? arrow::time32(unit) : arrow::time64(unit);
    case ValueKind::duration:
      return arrow::duration(unit);
    case ValueKind::interval:
      return arrow::month_day_nano_interval();
  }
  detail::no_such_value();
}

Stored stored_as(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DECIMAL32:
      return Stored::decimal32;
    case arrow::Type::DECIMAL128:
      return Stored::decimal128;
    case arrow::Type::DECIMAL256:
      return Stored::decimal256;
    case arrow::Type::FIXED_SIZE_BINARY:
      return Stored::parquet_interval;
    default: {
      const ArrowType* const row = arrow_type_of(type);
      return row == nullptr ? Stored::as_computed : row->stored;
    }
  }
}

std::shared_ptr<arrow::DataType> value_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() != arrow::Type::DICTIONARY) return type;
  return static_cast<const arrow::DictionaryType&>(*type).value_type();
}

std::shared_ptr<arrow::Array> decode_dictionary(const arrow::DictionaryArray& encoded, const std::string& name,
                                                std::int64_t first_row) {
  const arrow::Array& dictionary = *encoded.dictionary();
  const std::int64_t n = encoded.length();
  const std::int64_t width = dictionary.type()->byte_width();
  const std::shared_ptr<arrow::Buffer> values = checked(name, [&] { return arrow::AllocateBuffer(n * width); });
  const std::shared_ptr<arrow::Buffer> validity = checked(name, [&] { return arrow::AllocateEmptyBitmap(n); });
  const std::uint8_t* const entries =
      dictionary.length() == 0 ? nullptr : dictionary.data()->buffers[1]->data() + dictionary.offset() * width;
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint8_t* const to = values->mutable_data() + i * width;
    const std::int64_t index = encoded.IsNull(i) ? -1 : encoded.GetValueIndex(i);
    if (encoded.IsValid(i) && (index < 0 || index >= dictionary.length())) {
      throw_status(name, arrow::Status::Invalid(fmt::format("row {} points past its dictionary", first_row + i)));
    }
    if (index < 0 || dictionary.IsNull(index)) {
      ++nulls;
      std::memset(to, 0, static_cast<std::size_t>(width));
    } else {
      arrow::bit_util::SetBit(validity->mutable_data(), i);
      std::memcpy(to, entries + index * width, static_cast<std::size_t>(width));
    }
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(dictionary.type(), n, {nulls > 0 ? validity : nullptr, values}, nulls));
}

}  // namespace upsweep::io
