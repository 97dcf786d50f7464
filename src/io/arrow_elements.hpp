// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.hpp: Arrow's arrays: which rows are NULL, how elements are stored, dictionaries of numbers decoded.
#pragma once

#include <arrow/array/array_dict.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/arrow_types.hpp"
#include "io/vocabulary.hpp"
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

/// Returns how elements of the type are stored. Binary elements of a fixed size are the intervals of Parquet.
Stored stored_as(const arrow::DataType& type);

}  // namespace upsweep::io
