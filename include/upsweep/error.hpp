// SPDX-License-Identifier: Apache-2.0
// upsweep/error.hpp: the error codes, the status that rungs return, and the exception that public functions throw.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace upsweep {

/// The error codes. `word()` returns the lower-case word that JSON output uses, exit_code() the command's exit status.
enum class Code : std::uint8_t {
  ok,
  // The content is bad (exit status 1).
  overflow,            ///< a value does not fit the output type; index: the first such output
  stop_before_start,   ///< stops[i] < starts[i]; index: the first such list
  negative_start,      ///< starts[i] < 0 under strict validation; index: the first such list
  stop_past_end,       ///< a list ends past its content; index: the first such list
  index_out_of_range,  ///< an index does not name an element, or list; its position is the error's index
  unequal_lengths,     ///< arrays that must have one length do not, or are shorter than requested
  null_value,          ///< a missing value in a column; index: its row
  empty,               ///< the minimum or maximum of no elements
  malformed,           ///< a file is not of its claimed format, or ends too early
  unsupported_type,    ///< the type of a file or column is not supported
  division_by_zero,    ///< in a query; index: the row
  not_positive,        ///< an item of a subset sum is below 1, or SQRT has a negative argument; index: the item or row
  // The request is bad (exit status 2).
  invalid_argument,  ///< an option or argument out of range, overlapping arrays, a null pointer
  unknown_rung,      ///< no ladder has a rung of that name
  unknown_column,    ///< the file has no such column
  unknown_table,     ///< a query names a table that no --table defines
  bad_sql,           ///< a query is not SQL; index: the byte in it
  unsupported_sql,   ///< a query is outside the supported subset; index: the byte in it
  unsupported,       ///< a request by name (for a rung of this ladder or another, for a check) is not supported
  not_built,         ///< this build does not include the feature
  // The system refused (exit status 3).
  not_found,      ///< no such file
  unreadable,     ///< a file cannot be opened or read
  is_directory,   ///< a directory where a file is needed
  disk_full,      ///< the file system of the output is full
  unwritable,     ///< an output cannot be created or written
  out_of_memory,  ///< an allocation failed
  communication,  ///< MPI reported an error
  // A device (exit status 4).
  no_device,      ///< no device of that kind on this machine
  device_memory,  ///< an allocation on the device failed
  device_failed,  ///< the device or its driver reported an error; work before this call may have caused it
  // The caller (exit status 130, the status of a command that Ctrl-C ended).
  interrupted,  ///< the progress callback asked to stop
};

/// Returns the word of a code: "overflow", "stop_before_start", …. Words are stable, for programs.
[[nodiscard]] std::string_view word(Code code) noexcept;

/// Returns the command's exit status for a code: 0 to 4, or 130.
[[nodiscard]] int exit_code(Code code) noexcept;

inline constexpr std::int64_t kNoIndex = -1;

/// The result of a rung, which never throws and never allocates. `reason` is a static string, or null if the code is
/// enough.
struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::int64_t index = kNoIndex;  ///< the first wrong element, or kNoIndex
  const char* reason = nullptr;

  [[nodiscard]] constexpr bool ok() const noexcept { return code == Code::ok; }
};

/// The exception that the public functions throw. `what()` says what is wrong, where, and what to do.
class Error : public std::exception {
 public:
  Error(Code code, std::string message, std::int64_t index = kNoIndex);

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] Code code() const noexcept { return code_; }
  /// Returns the first wrong element, list or row; kNoIndex if the error is not about one.
  [[nodiscard]] std::int64_t index() const noexcept { return index_; }

 private:
  std::string message_;
  std::int64_t index_;
  Code code_;
};

}  // namespace upsweep
