// SPDX-License-Identifier: Apache-2.0
// io/result_format.hpp: the formats of files that results are written to, by the names of the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "upsweep/query.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// The format of a file of results. `text` has a line for each row, without a header row.
enum class ResultFormat : std::uint8_t { csv, parquet, arrow, json, npy, text };

/// The endings of the names of files, for messages.
inline constexpr std::string_view kResultNames = ".csv, .parquet, .arrow, .json or .npy";

/// Returns the format that the ending of a name shows, in lower or upper case.
[[nodiscard]] std::optional<ResultFormat> format_of_name(std::string_view path);

/// Returns the format in which a file of results is written: that of its name. Standard output, devices and pipes
/// without such a name are written in the format `other`. Throws invalid_argument for other files whose name does not
/// end in one of kResultNames. Faults of a folder are reported by OutputFile.
[[nodiscard]] ResultFormat format_of_results(const std::string& path, ResultFormat other);

/// Whether the format stores rows, in which lists are values. A .npy file has one array of numbers.
constexpr bool is_table(ResultFormat format) { return format != ResultFormat::npy; }

/// Returns a value as text. The functions are passed, because they are in the library of queries.
using CellText = std::string (*)(const Field& column, const Cell& cell);

}  // namespace upsweep::io
