// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/row_place.hpp: the position of a table's row in a file, for errors found while computing with rows.
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
  std::int64_t row = 0;    ///< within the file, from 0
  std::int64_t line = -1;  ///< as an editor counts it; -1: the file has no lines

  [[nodiscard]] std::string text() const {
    return file + (line >= 0 ? ": line " + std::to_string(line) : ": row " + std::to_string(row));
  }
};

/// A table whose rows come from files.
class RowPlaces {
 public:
  virtual ~RowPlaces() = default;
  /// `row` is the row's number in the batches of the table.
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
