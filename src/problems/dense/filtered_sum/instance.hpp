// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/instance.hpp: the three columns that the ladder runs on, and the calls on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "climb/generated.hpp"
#include "upsweep/climb.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"

namespace upsweep::impl::filtered_sum {

/// Generated lineitems, or real columns.
struct Table {
  /// Generates rows like TPC-H's: one of 10000 suppliers, 1 to 50 of an item, and their price in cents, at 900.00 to
  /// 2098.99 each.
  explicit Table(std::int64_t n);
  /// Throws Error unequal_lengths, empty.
  explicit Table(const std::vector<Column>& columns);

  std::int64_t rows;
  std::string name;  ///< of real columns
  Elements<std::uint32_t> key;
  Elements<std::int64_t> quantity;
  Elements<std::int64_t> price;
};

/// Where the columns of a rung on a GPU are stored.
enum class Memory : std::uint8_t {
  resident,  ///< on the device
  pinned,    ///< in pinned host memory
};

class FilteredSumInstance : public Instance {
 public:
  FilteredSumInstance(Table& table, std::uint32_t limit, Backend backend, Memory memory);

  [[nodiscard]] std::vector<HostArray> arrays() override;
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override;
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override;
  void run_guest(const GuestPlace& place, Arrays at, std::int64_t n) override;
  [[nodiscard]] gpu::WorkspaceSize workspace(const gpu::Policy& policy) const override;
  [[nodiscard]] bool takes(const RungInfo& rung) const override;
  [[nodiscard]] std::string wrong(const RungInfo& rung) override;
  bool run_inlined() override;
  void add_details(Row& row, const gpu::Policy& policy, Arrays at) override;

 protected:
  Table& table_;
  std::uint32_t limit_;
  std::int64_t expected_ = 0;  ///< by the reference
  std::int64_t sum_ = 0;       ///< of the last run

 private:
  // The rung of the last call on a GPU, and whether the host adds up its partial sums.
  std::string_view asked_;
  bool host_adds_ = false;
};

/// How columns are sent to a GPU in a run that begins with the columns in host memory.
enum class Transfer : std::uint8_t {
  pageable,  ///< from ordinary memory, before the computation
  pinned,    ///< from pinned memory, before the computation
  streams,   ///< from pinned memory in chunks; chunks are sent and computed at the same time
};
inline constexpr std::string_view kTransfers[] = {"pageable", "pinned", "streams"};

/// Returns an instance whose runs all begin with the columns in host memory. Throws not_built.
std::unique_ptr<Instance> sent_instance(Table& table, std::uint32_t limit, Transfer transfer);

/// Records which kernels a rung launches if the host finishes its sum. The columns are on the device.
void note_kernels(Row& row, const gpu::Policy& policy, const detail::FilteredSumCall& call);

/// Times every variant of cuda.occupancy and verifies that its sum is `sum`. The columns are on the device.
void time_occupancy(Row& row, const gpu::Policy& policy, const detail::FilteredSumCall& call, std::int64_t sum);

}  // namespace upsweep::impl::filtered_sum
