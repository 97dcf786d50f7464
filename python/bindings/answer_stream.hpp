// SPDX-License-Identifier: Apache-2.0
// bindings/answer_stream.hpp: answers of queries, given out as streams of Arrow's C interface.
#pragma once

#include "arrow_c_data.hpp"
#include "upsweep/query.hpp"

namespace upsweep::python {

/// One chunk of all rows. Integers are int64, or uint64 or decimals of 38 digits where one does not fit; decimals have 38
/// digits, dates are date32. Throws Error overflow for integers of more than 38 digits, and more than 2 GiB of text in a
/// column.
ArrowArrayStream stream_of(const Answer& answer);

}  // namespace upsweep::python
