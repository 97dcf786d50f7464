// SPDX-License-Identifier: Apache-2.0
// bench/table.hpp: the three columns that the aggregate ladder is climbed on: made ones, or real ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ladder_bench.hpp"

namespace upsweep::bench {

class Table {
 public:
  /// Made lineitems.
  explicit Table(std::int64_t rows);
  /// Throws Error unequal_lengths.
  explicit Table(const std::vector<Column>& columns);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] const std::string& name() const { return name_; }  ///< of the columns; empty for made ones
  [[nodiscard]] const std::uint32_t* key() const { return static_cast<const std::uint32_t*>(columns_[0].get()); }
  [[nodiscard]] const std::int64_t* quantity() const { return static_cast<const std::int64_t*>(columns_[1].get()); }
  [[nodiscard]] const std::int64_t* price() const { return static_cast<const std::int64_t*>(columns_[2].get()); }

 private:
  std::int64_t rows_;
  std::string name_;
  std::shared_ptr<const void> columns_[3];
};

}  // namespace upsweep::bench
