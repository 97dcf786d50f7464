// SPDX-License-Identifier: Apache-2.0
// io/arrow_errors.cpp: converts the errors of Arrow C++ to upsweep::Error.
#include "io/arrow_errors.hpp"

#include <arrow/util/io_util.h>
#include <fmt/format.h>

#include "io/posix.hpp"

namespace upsweep::io {

void throw_status(const std::string& name, const arrow::Status& status) {
  if (const int error = arrow::internal::ErrnoFromStatus(status); error != 0) throw_read_error(name, error);
  std::string text = printable(status.message(), 300);
  text.erase(text.find_last_not_of(" .") + 1);  // some of Arrow's messages are sentences
  if (status.IsOutOfMemory()) throw Error(Code::out_of_memory, fmt::format("{}: no memory to read it: {}", name, text));
  if (status.IsNotImplemented()) {
    throw Error(Code::unsupported_type,
                fmt::format("{}: uses a feature that cannot be read here: {}; write the file without it", name, text));
  }
  // Some writers compute 64-bit differences of 32-bit integers; Arrow's decoder cannot read these.
  if (text.find("InitBlock EOF") != std::string::npos || text.find("delta bit width") != std::string::npos) {
    throw Error(
        Code::unsupported_type,
        fmt::format("{}: cannot be decoded: it has delta-encoded integers whose differences seem to be wider than "
                    "the integers ({}); write it without this encoding",
                    name, text));
  }
  throw Error(Code::malformed, fmt::format("{}: is damaged or truncated: {}; write it again", name, text));
}

}  // namespace upsweep::io
