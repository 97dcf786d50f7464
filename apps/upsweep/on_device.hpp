// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/on_device.hpp: the commands' calls on a GPU: a chunk goes there, is computed, and comes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "cuda/staging.hpp"
#include "upsweep/detail/ragged_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/policy.hpp"
#include "values.hpp"

namespace upsweep::command {

/// Each takes a call on host memory, as the CPU's run_scan(), run_reduce() and run_offsets() do, advances its carry and
/// returns the rung. Checked sums are run where no order of the elements could overflow, and refused (unsupported) else.
class OnDevice {
 public:
  explicit OnDevice(std::string_view rung) : rung_(rung) {}

  std::string_view scan(const Policy& policy, const detail::ScanCall& call);
  std::string_view reduce(const Policy& policy, const detail::ReduceCall& call);
  std::string_view offsets(detail::RaggedCall& call);

  [[nodiscard]] const gpu::StagingTimes& times() const { return staging_.times(); }

 private:
  void require_fit(const detail::ReduceCall& call);
  template <class Run>
  std::string_view run(Run run_it);

  std::string rung_;  // once a chunk has run, all others run it too
  gpu::Staging staging_;
};

/// "12 ms in kernels, 40 ms to the device, 41 ms back".
std::string times_text(const gpu::StagingTimes& times);
void add_times(Json& json, const gpu::StagingTimes& times);

}  // namespace upsweep::command
