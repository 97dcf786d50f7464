// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.hpp: arrays of Arrow's: which rows are NULL, how elements are stored, dictionaries of numbers decoded.
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

/// Which rows of the array are NULL.
void pass_validity(const arrow::Array& array, ColumnData& data);

/// The type of the values themselves, which a dictionary-encoded column holds once each.
std::shared_ptr<arrow::DataType> value_type(const std::shared_ptr<arrow::DataType>& type);

/// The elements of a dictionary-encoded array one by one. They are of fixed width, whole bytes. `name` and `first_row`,
/// the number of its first row, are for messages; throws malformed where an index is outside the dictionary.
std::shared_ptr<arrow::Array> decode_dictionary(const arrow::DictionaryArray& encoded, const std::string& name,
                                                std::int64_t first_row);

/// The row of the table of types; null for a type that is not computed with, and for decimals.
const ArrowType* arrow_type_of(const arrow::DataType& type);

/// How elements of the type are stored.
Stored stored_as(const arrow::DataType& type);

}  // namespace upsweep::io
