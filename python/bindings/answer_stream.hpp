// SPDX-License-Identifier: Apache-2.0
// bindings/answer_stream.hpp: exports answers of queries as streams of Arrow's C interface.
#pragma once

#include "arrow_c_data.hpp"
#include "upsweep/query.hpp"

namespace upsweep::python {

/// Returns a stream with one chunk of all rows. Integers are int64, or uint64 or decimals of 38 digits if one does not
/// fit. Decimals have 38 digits, dates are date32. Throws Error overflow for integers of more than 38 digits, and for
/// more than 2 GiB of text in a column.
ArrowArrayStream stream_of(const Answer& answer);

}  // namespace upsweep::python
