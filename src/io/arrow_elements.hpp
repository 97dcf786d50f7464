// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.hpp: Arrow's arrays: which rows are NULL, how elements are stored, dictionaries of numbers decoded.
#pragma once

#include <arrow/array/array_dict.h>
#include <arrow/buffer.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/arrow_types.hpp"
#include "io/vocabulary.hpp"
#include "upsweep/interval.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// Sets in `data` which rows of the array are NULL.
void pass_validity(const arrow::Array& array, ColumnData& data);

/// Returns the type of the values. A dictionary-encoded column stores each value once.
std::shared_ptr<arrow::DataType> value_type(const std::shared_ptr<arrow::DataType>& type);

/// Returns the elements of a dictionary-encoded array one by one. They must have a fixed width in whole bytes. `name`
/// and `first_row`, the number of its first row, are for messages. Throws malformed if an index is outside the
/// dictionary.
std::shared_ptr<arrow::Array> decode_dictionary(const arrow::DictionaryArray& encoded, const std::string& name,
                                                std::int64_t first_row);

/// Returns the row of the table of types; null for an unsupported type, and for decimals.
const ArrowType* arrow_type_of(const arrow::DataType& type);

/// Returns the unit of times with 0, 3, 6 or 9 digits after the second.
constexpr arrow::TimeUnit::type time_unit(int digits) {
  return digits >= 9 ? arrow::TimeUnit::NANO : static_cast<arrow::TimeUnit::type>(digits / 3);
}
static_assert(time_unit(0) == arrow::TimeUnit::SECOND && time_unit(9) == arrow::TimeUnit::NANO);

/// Returns the type of a field in Arrow tables. Decimals have the digits of their storage.
std::shared_ptr<arrow::DataType> stored_type(const Field& field);

/// Returns n intervals of months, days and nanoseconds; element_at(i) is their element as queries compute with it.
template <class ElementAt>
arrow::Result<std::shared_ptr<arrow::Buffer>> intervals_of(std::int64_t n, const ElementAt& element_at) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer,
                        arrow::AllocateBuffer(n * static_cast<std::int64_t>(sizeof(Interval))));
  auto* const to = reinterpret_cast<Interval*>(buffer->mutable_data());
  for (std::int64_t i = 0; i < n; ++i) to[i] = interval_of(element_at(i));
  return buffer;
}

/// Returns how elements of the type are stored. Binary elements of a fixed size are the intervals of Parquet.
Stored stored_as(const arrow::DataType& type);

}  // namespace upsweep::io
