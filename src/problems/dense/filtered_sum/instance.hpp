// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/instance.hpp: the three columns that the ladder is climbed on, and the calls on them.
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
  /// Like TPC-H's: one of 10000 suppliers, 1 to 50 of a part, and what these cost in cents, at 900.00 to 2098.99 apiece.
  explicit Table(std::int64_t n);
  /// Throws Error unequal_lengths, empty.
  explicit Table(const std::vector<Column>& columns);

  std::int64_t rows;
  std::string name;  ///< of real columns
  Elements<std::uint32_t> key;
  Elements<std::int64_t> quantity;
  Elements<std::int64_t> price;
};

/// Where the columns are for a rung on a GPU.
enum class Memory : std::uint8_t {
  resident,  ///< on the device
  pinned,    ///< in pinned memory of the host
};

class FilteredSumInstance : public Instance {
 public:
  FilteredSumInstance(Table& table, std::uint32_t limit, Backend backend, Memory memory);

  [[nodiscard]] std::vector<HostArray> arrays() override;
  std::string_view run(const Policy& policy, Arrays at, std::int64_t n) override;
  std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) override;
  void run_guest(int threads, Arrays at, std::int64_t n) override;
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
  // The rung of the last call on a GPU, and whether the host adds the last partials.
  std::string_view asked_;
  bool host_adds_ = false;
};

/// How columns come to a GPU in a run that begins with them in the host's memory.
enum class Transfer : std::uint8_t {
  pageable,  ///< from ordinary memory, then computed
  pinned,    ///< the same from pinned memory
  streams,   ///< from pinned memory in chunks, which are sent and computed at the same time
};
inline constexpr std::string_view kTransfers[] = {"pageable", "pinned", "streams"};

/// Every run of this one begins with the columns in the host's memory. Throws not_built.
std::unique_ptr<Instance> sent_instance(Table& table, std::uint32_t limit, Transfer transfer);

/// Notes which kernels a rung launches whose sum the host finishes, on columns that are on the device.
void note_kernels(Row& row, const gpu::Policy& policy, const detail::FilteredSumCall& call);

/// Times every way to launch cuda.occupancy on columns that are on the device, and verifies that each has that sum.
void time_occupancy(Row& row, const gpu::Policy& policy, const detail::FilteredSumCall& call, std::int64_t sum);

}  // namespace upsweep::impl::filtered_sum
