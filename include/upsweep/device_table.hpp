// SPDX-License-Identifier: Apache-2.0
// upsweep/device_table.hpp: a table's columns in a GPU's memory: brought there once, queried as often as you like.
//
//   const upsweep::DeviceTable there(upsweep::gpu::Policy{}, items);
//   const upsweep::Answer answer = query.run(upsweep::gpu::Policy{}, there);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/table.hpp"

namespace upsweep {

/// Fields and rows are the source's. Queries on the CPU can read it too: batches are copied back.
class UPSWEEP_CONTAINERS DeviceTable final : public Table {
 public:
  /// Copies the columns of those names, or all that queries compute with, to the policy's device. Throws Error
  /// unknown_column, device_memory (where a query on the source itself brings it there chunk by chunk), no_device,
  /// not_built, and those of reading the source.
  DeviceTable(const gpu::Policy& policy, const Table& source, const std::vector<std::string>& names = {});
  ~DeviceTable() override;
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  [[nodiscard]] int device() const;
  [[nodiscard]] const std::vector<Field>& fields() const override;
  [[nodiscard]] int row_groups() const override;
  [[nodiscard]] std::int64_t rows() const override;
  [[nodiscard]] std::int64_t rows(int row_group) const override;
  [[nodiscard]] ColumnRange range(int row_group, int column) const override;
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override;
  [[nodiscard]] const query::DeviceChunk* chunk(int row_group, int device) const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep
