// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/stream.hpp: how much of a column is in memory at a time, and what may be written where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "commands.hpp"
#include "io/column.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {

/// Elements of a chunk: all of a short column; of a longer one 16 MB of the widest type. That is a multiple of 2^18,
/// where every rung's blocks and segments end, so that a float scan in chunks has the bits of a scan of the whole.
inline std::int64_t chunk_length(const io::ColumnInfo& info) {
  constexpr std::int64_t kLongest = std::int64_t{1} << 21;
  return info.count < 0 ? kLongest : std::clamp<std::int64_t>(info.count, 1, kLongest);
}

/// Where the output goes: "-" where the name is another one of standard output's, such as /dev/stdout. Throws
/// invalid_argument: .npy bytes and JSON cannot both go to standard output.
inline std::optional<std::string> output_of(const Common& common, std::optional<std::string> output) {
  if (output == "") throw Error(Code::invalid_argument, "-o needs the name of a file, or - for standard output");
  if (output && io::is_standard_output(*output)) output = "-";
  if (output == "-" && common.json) {
    throw Error(Code::invalid_argument, "-o - and --json both want standard output: choose one");
  }
  return output;
}

}  // namespace upsweep::command
