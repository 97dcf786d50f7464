// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/row_place.hpp: where in a file a row of a table is, for errors that are found while rows are computed with.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "upsweep/error.hpp"

/// @cond
namespace upsweep {

/// A row of a file.
struct RowPlace {
  std::string file;
  std::int64_t row = 0;    ///< counted from 0 within the file
  std::int64_t line = -1;  ///< as an editor counts it; -1: the file has no lines

  [[nodiscard]] std::string text() const {
    return file + (line >= 0 ? ": line " + std::to_string(line) : ": row " + std::to_string(row));
  }
};

/// A table whose rows are those of files.
class RowPlaces {
 public:
  virtual ~RowPlaces() = default;
  /// `row`: the number that batches of the table give it.
  [[nodiscard]] virtual RowPlace place_of_row(std::int64_t row) const = 0;
};

/// An error in a row of a file.
class RowError final : public Error {
 public:
  RowError(Code code, std::string message, RowPlace place)
      : Error(code, std::move(message), place.row), place_(std::move(place)) {}
  [[nodiscard]] const RowPlace& place() const noexcept { return place_; }

 private:
  RowPlace place_;
};

}  // namespace upsweep
/// @endcond
