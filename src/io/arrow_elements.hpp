// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.hpp: elements as Arrow stores them, made into those that are computed with.
#pragma once

#include <arrow/array/array_dict.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// What a batch's columns point to.
using Memory = std::vector<std::shared_ptr<const void>>;

/// Which rows of the array are NULL.
void pass_validity(const arrow::Array& array, ColumnData& data);

/// The type of the values themselves, which a dictionary-encoded column holds once each.
std::shared_ptr<arrow::DataType> value_type(const std::shared_ptr<arrow::DataType>& type);

/// The elements of a dictionary-encoded array one by one. They are of fixed width, whole bytes. `name` and `first_row`,
/// the number of its first row, are for messages; throws malformed where an index is outside the dictionary.
std::shared_ptr<arrow::Array> decode_dictionary(const arrow::DictionaryArray& encoded, const std::string& name,
                                                std::int64_t first_row);

/// Makes `n` elements of Arrow's type `id` into elements of `width` bytes: decimals into integers of that width, date64
/// into days, half floats into float; others stay as they are. Neither side need be aligned. Returns the first that does
/// not fit, or n.
std::int64_t convert_elements(arrow::Type::type id, std::int64_t width, const std::uint8_t* from, std::int64_t n,
                              void* to);

/// Throws the Error for an element that does not fit.
[[noreturn]] void throw_misfit(arrow::Type::type id, const std::string& name, std::int64_t row);

}  // namespace upsweep::io
