// SPDX-License-Identifier: Apache-2.0
// io/whole_table.hpp: all rows of a table in memory, as a stream of Arrow's C interface.
#pragma once

#include <functional>

#include "upsweep/table.hpp"

struct ArrowArrayStream;

namespace upsweep::io {

/// Reads all columns of a table into memory, by at most `threads` threads (0: one for each core), and sets `stream`.
/// The columns keep their types. Text is utf8, decimals have 128 bits, and lists have 64-bit offsets. If
/// the table has remarks, the metadata of the schema has them as the lines of "upsweep.remarks". `step` is called after
/// each batch, by any thread; an exception ends the reading. Throws unsupported_type for a column that tables do
/// not read, and the errors of reading the table.
void read_whole(const Table& table, int threads, const std::function<void()>& step, ArrowArrayStream* stream);

}  // namespace upsweep::io
