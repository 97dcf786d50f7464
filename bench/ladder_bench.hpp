// SPDX-License-Identifier: Apache-2.0
// bench/ladder_bench.hpp: climbs a ladder: every rung is verified, then timed beside the machine's own copy rate.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "upsweep/ladder.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep::bench {

/// A column of real data in memory, to climb on instead of made numbers.
struct Column {
  std::string name;
  Type type;
  std::int64_t count;
  std::shared_ptr<const void> data;
};

struct LadderRequest {
  Problem problem = Problem::scan;
  std::vector<std::int64_t> sizes;
  std::vector<Type> types;
  std::vector<Column> input;  ///< scan, reduce: one; ragged: starts and stops. Then `sizes` and `types` are not used
  std::string rung;           ///< only this one; empty: all
  double max_seconds = 5;     ///< a rung that would take longer at a size is skipped there
  bool on_cpu = true;
  bool on_gpu = false;  ///< made numbers only; the device is there
  Policy policy;
};

enum class RowStatus : std::uint8_t { verified, failed, skipped };
[[nodiscard]] std::string_view word(RowStatus status);

/// A rung at one type and size.
struct Row {
  RungInfo rung = {};
  RowStatus status = RowStatus::skipped;
  std::string reason = {};  ///< why it failed or was skipped
  double bytes = 0;         ///< what the problem must read and write at least
  double median_s = 0;
  std::optional<double> checked_s = {};  ///< the same with overflow checks
  std::optional<double> graph_s = {};    ///< on a GPU: of one of many calls in a CUDA graph
};

/// All rungs at one type and size, timed in one run.
struct Group {
  Problem problem;
  std::string input = {};   ///< the column it was climbed on; empty for made numbers
  std::string device = {};  ///< the GPU; empty: the CPU
  Type type;
  std::int64_t n;
  double copy_bytes_per_s = 0;  ///< read plus written, by a copy of as many bytes as the problem moves
  double read_bytes_per_s = 0;
  double inlined_s = 0;  ///< the serial loop, inlined in the caller; 0 for inputs it was not timed on
  double api_s = 0;      ///< the public function, with no rung named
  std::string api_rung = {};
  std::vector<Row> rows = {};
};

/// Told before every step of a long climb, for a progress line.
using Progress = std::function<void(const std::string& what)>;

/// Climbs. Throws upsweep::Error for an unknown rung or an input that the problem cannot take.
std::vector<Group> climb(const LadderRequest& request, const Progress& progress);

}  // namespace upsweep::bench
