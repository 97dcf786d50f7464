// SPDX-License-Identifier: Apache-2.0
// upsweep/device_table.hpp: a table's columns in a GPU's memory, copied there once and queried any number of times.
//
//   const upsweep::DeviceTable there(upsweep::gpu::Policy{}, items);
//   const upsweep::Answer answer = query.run(upsweep::gpu::Policy{}, there);
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/table.hpp"

namespace upsweep {

/// A table in device memory, with the fields and rows of its source. Queries on the CPU can also read it: batches are
/// copied back.
class UPSWEEP_CONTAINERS DeviceTable final : public Table {
 public:
  /// Copies the named columns to the policy's device. Without names, copies all columns whose types queries support.
  /// Throws Error unknown_column, device_memory, no_device, not_built, and the errors of reading the source. After
  /// device_memory, query the source itself: a query on the GPU copies it chunk by chunk.
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
