// SPDX-License-Identifier: Apache-2.0
// io/csv_dialect.hpp: refuses CSV files of an unsupported form, by their first rows.
#pragma once

#include "io/csv_rows.hpp"

namespace upsweep::io {

/// Inspects the first rows of a CSV file: 1,000 rows, or 1 MiB. Throws malformed unless they are one header row above
/// rows with the same number of cells, separated by commas and quoted by double quotes. The message names the cause,
/// the line and the remedy. If it cannot tell two forms apart, it accepts the file only if no value would be wrong.
void require_dialect(const CsvFile& file);

}  // namespace upsweep::io
