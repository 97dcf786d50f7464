// SPDX-License-Identifier: Apache-2.0
// io/csv_dialect.hpp: tells CSV files that are read from those of another form, by their first rows.
#pragma once

#include "io/csv_rows.hpp"

namespace upsweep::io {

/// Inspects the first rows of a CSV file: 1,000 rows, or 1 MiB. Throws malformed where they are not one header row above rows
/// of as many cells, separated by commas and quoted by double quotes. The message names the cause, the line and the remedy.
/// What it cannot tell apart it accepts, if no value would be wrong; otherwise it refuses.
void require_dialect(const CsvFile& file);

}  // namespace upsweep::io
