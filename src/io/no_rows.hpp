// SPDX-License-Identifier: Apache-2.0
// io/no_rows.hpp: a table that has columns and no rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// Columns without rows, which determine the types of a query.
class NoRows final : public Table {
 public:
  explicit NoRows(std::vector<Field> fields, std::vector<std::string> remarks = {})
      : fields_(std::move(fields)), remarks_(std::move(remarks)) {}

  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int row_groups() const override { return 0; }
  [[nodiscard]] std::int64_t rows() const override { return 0; }
  [[nodiscard]] std::int64_t rows(int /*row_group*/) const override { return 0; }
  [[nodiscard]] ColumnRange range(int /*row_group*/, int /*column*/) const override { return {}; }
  /// Returns null, because the table has no row group.
  [[nodiscard]] std::unique_ptr<BatchReader> open(int /*row_group*/,
                                                  const std::vector<int>& /*columns*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::vector<std::string> remarks() const override { return remarks_; }

 private:
  std::vector<Field> fields_;
  std::vector<std::string> remarks_;
};

}  // namespace upsweep::io
