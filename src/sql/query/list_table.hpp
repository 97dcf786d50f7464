// SPDX-License-Identifier: Apache-2.0
// sql/query/list_table.hpp: a table with the columns that list functions compute.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sql/query/list_lowering.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// The list functions of a query: the plan that computes them, and the columns that it adds to the table.
struct ListColumnsOfQuery {
  LoweredPlan with_nulls;     ///< for any batch
  LoweredPlan without_nulls;  ///< for batches in which the columns that it reads have no NULL
  std::vector<int> inputs;    ///< the columns of the table that plans read
  std::vector<Field> fields;  ///< the computed columns, which follow those of the table
};

/// A table and the computed columns. A batch is computed by the thread that processes it, not by the one that reads it:
/// Batch::complete.
class ListTable final : public Table {
 public:
  /// The arguments must outlive this object.
  ListTable(const Table& table, const ListColumnsOfQuery& computed);

  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int row_groups() const override { return table_.row_groups(); }
  [[nodiscard]] std::int64_t rows() const override { return table_.rows(); }
  [[nodiscard]] std::int64_t rows(int row_group) const override { return table_.rows(row_group); }
  [[nodiscard]] ColumnRange range(int row_group, int column) const override {
    return is_computed(column) ? ColumnRange() : table_.range(row_group, column);
  }
  [[nodiscard]] std::vector<ColumnRange> batch_ranges(int row_group, int column) const override {
    return is_computed(column) ? std::vector<ColumnRange>() : table_.batch_ranges(row_group, column);
  }
  /// Several columns may be computed from one list. Reading them separately would read the list twice.
  [[nodiscard]] bool skips_cheaply() const override { return false; }
  [[nodiscard]] std::string place(std::int64_t row, int column) const override { return table_.place(row, column); }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override;

 private:
  [[nodiscard]] bool is_computed(int column) const { return column >= static_cast<int>(table_.fields().size()); }

  const Table& table_;
  const ListColumnsOfQuery& computed_;
  std::vector<Field> fields_;
};

}  // namespace upsweep::query
