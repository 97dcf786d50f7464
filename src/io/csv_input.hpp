// SPDX-License-Identifier: Apache-2.0
// io/csv_input.hpp: a CSV file's bytes on their way to Arrow, which takes quotes as they come: they are checked here.
#pragma once

#include <arrow/record_batch.h>
#include <arrow/result.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <string_view>

#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {

using CsvReader = arrow::RecordBatchReader;

/// Opens the fields of a CSV file that are wanted, as what they are to be read; all of them where there are none, as what
/// they look like in the first block. `one_column`: the file has no other, so that an empty line is a row of it.
/// `cells`: whether text such as NA is NULL too.
/// Opening or reading it fails where a quoted field is not closed by the end of the file, or where text
/// follows its closing quote: Arrow would take all that stands between for one cell. So it does where a whole block lies
/// within a field. The status names the row, as Arrow does, and the line where the quote opened. A quote within a field
/// that does not begin with one is a letter.
/// The last line gets an end where it has none: without it, Arrow takes an empty last field for a quoted one.
arrow::Result<std::shared_ptr<CsvReader>> start_csv(const std::string& path, const arrow::FieldVector& fields,
                                                    bool one_column = false, CsvCells cells = CsvCells::typed);

/// Whether Arrow could not read a CSV field as the type asked for.
bool is_conversion(const arrow::Status& status);

/// Throws the Error for a failure of Arrow that is about a row of a CSV file.
[[noreturn]] void throw_csv(const std::string& name, const arrow::Status& status, Code code, std::string_view advice);

/// Throws malformed where the first line has no comma, and as many semicolons, tabs or vertical bars as the second.
void require_commas(const std::string& path);

}  // namespace upsweep::io
