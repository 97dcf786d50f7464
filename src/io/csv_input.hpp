// SPDX-License-Identifier: Apache-2.0
// io/csv_input.hpp: a CSV file's bytes on their way to Arrow, which takes quotes as they come: they are checked here.
#pragma once

#include <arrow/csv/options.h>
#include <arrow/result.h>

#include <memory>
#include <string>

#include "io/arrow_files.hpp"

namespace upsweep::io {

/// Opens `path`. Opening or reading it fails where a quoted field is not closed by the end of the file, or where text
/// follows its closing quote: Arrow would take all that stands between for one cell. So it does where a whole block lies
/// within a field. The status names the row, as Arrow does, and the line where the quote opened. A quote within a field
/// that does not begin with one is a letter.
/// The last line gets an end where it has none: without it, Arrow takes an empty last field for a quoted one.
arrow::Result<std::shared_ptr<CsvReader>> open_checked_csv(const std::string& path, const arrow::csv::ReadOptions& read,
                                                           const arrow::csv::ParseOptions& parse,
                                                           const arrow::csv::ConvertOptions& convert);

/// Throws malformed where the first line has no comma, and as many semicolons, tabs or vertical bars as the second.
void require_commas(const std::string& path);

}  // namespace upsweep::io
