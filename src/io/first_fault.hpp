// SPDX-License-Identifier: Apache-2.0
// io/first_fault.hpp: picks the fault in the first row when several columns of a file have faults.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "upsweep/error.hpp"

namespace upsweep::io {

/// Columns of a file are read one after the other. An error in one of them is kept until the other columns of the file
/// are read, because these may have a fault in an earlier row.
class FirstFault {
 public:
  /// Runs `step`, which reads the column `source` ("FILE:COLUMN"), unless a column of another file has a fault. Keeps
  /// an Error about a row. Throws any other Error immediately, if no fault was found before.
  template <class Step>
  void attempt(std::string_view source, Step&& step) {
    if (error_ && !is_same_file(source)) return;
    try {
      std::forward<Step>(step)();
    } catch (const Error& error) {
      if (!keep(source, error)) throw;
    }
  }

  /// Throws the error in the first row, if there is one.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  [[nodiscard]] bool is_same_file(std::string_view source) const;
  bool keep(std::string_view source, const Error& error);

  std::exception_ptr error_;
  std::string source_;
  // The place of the row: the file, in the order of a pattern's files, which is by name; and the row in the file.
  std::pair<std::string, std::int64_t> place_;
};

}  // namespace upsweep::io
