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

/// How the columns of `aggregate` come to a GPU.
enum class Transfer : std::uint8_t {
  none,      ///< they are there, and stay
  pageable,  ///< sent from ordinary memory, then computed
  pinned,    ///< the same from pinned memory
  streams,   ///< from pinned memory in parts, which are sent and computed at the same time
};

/// What subset-sum is climbed on, where it is not the usual instances.
struct SubsetRequest {
  std::vector<std::int64_t> items;  ///< real ones; else `sizes` many made ones
  std::string name;                 ///< of the real ones
  std::int64_t target = -1;         ///< -1, for made ones only: a quarter of n·largest, as the document's
  std::int64_t largest = 10'000'000;
  int per_thread = 8;  ///< cuda.agglomerated
};

struct LadderRequest {
  Problem problem = Problem::scan;
  std::vector<std::int64_t> sizes;
  std::vector<Type> types;
  std::vector<Column>
      input;         ///< scan, reduce: one; ragged: starts, stops; aggregate: key (uint32), quantity, price (int64).
                     ///< Then `sizes` and `types` are not used
  std::string rung;  ///< only this one; empty: all
  double max_seconds = 5;  ///< a rung that would take longer at a size is skipped there
  bool on_cpu = true;
  bool on_gpu = false;                 ///< made numbers only, but for aggregate
  std::uint32_t limit = 30;            ///< aggregate: rows with a smaller key are summed
  Transfer transfer = Transfer::none;  ///< aggregate, on a GPU
  SubsetRequest subset;                ///< subset-sum; without sizes the usual instances
  Policy policy;
};

enum class RowStatus : std::uint8_t { verified, failed, skipped };
[[nodiscard]] std::string_view word(RowStatus status);

/// One way to launch a kernel, what the runtime says about it, and how long it takes.
struct Variant {
  std::string name;
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block
  int blocks = 0;                 ///< on a multiprocessor at a time
  double occupancy = 0;           ///< of its warps
  double median_s = 0;
};

/// A run that begins with the columns in the host's memory.
struct Staged {
  double total_s = 0;     ///< by the host's clock
  double transfer_s = 0;  ///< to the device and back; of overlapping parts, until the last column is there
  double kernel_s = 0;    ///< kernels, and what the host adds up; of overlapping parts, what is left of the total
};

/// A rung at one type and size.
struct Row {
  RungInfo rung = {};
  RowStatus status = RowStatus::skipped;
  std::string reason = {};  ///< why it failed or was skipped
  double bytes = 0;         ///< what the problem must read and write at least
  double median_s = 0;
  std::optional<double> checked_s = {};  ///< the same with overflow checks
  std::optional<double> graph_s = {};    ///< on a GPU: of one of many calls in a CUDA graph
  // Of aggregate on a GPU.
  std::optional<double> warm_s = {};        ///< on columns that stay in the device's cache
  std::optional<double> warm_graph_s = {};  ///< the same in a CUDA graph
  std::optional<Staged> staged = {};
  std::vector<Variant> variants = {};
};

/// The predicate of aggregate, and what it comes to.
struct Filter {
  std::uint32_t limit = 0;
  std::int64_t kept = 0;  ///< rows
  std::int64_t sum = 0;   ///< of their products, which every rung comes to
};

/// The instance of a subset-sum.
struct Subset {
  std::int64_t target = 0;
  std::int64_t largest = 0;  ///< item
  std::int64_t seed = 0;     ///< of made items; 0: real ones
  bool fills = true;         ///< the bitmap of all sums up to the target; else a decision about it is timed
  double bitmap_bytes = 0;
  double window = 0;              ///< of n·(target + 1) sums, those that can be reached when their item's turn comes
  double decide_s = 0;            ///< find_subset for the target, without the items; 0: not timed
  std::string decide_rung = {};   ///< by that rung
  bool reachable = false;         ///< its answer
  std::int64_t found_target = 0;  ///< the target, or where that is no sum one that is near
  double find_s = 0;              ///< find_subset for that, with the items
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
  bool host_resident = false;         ///< columns in pinned memory; read_bytes_per_s is that of sending the keys
  std::string transfer = {};          ///< how columns were sent; empty: they were there
  std::optional<Filter> filter = {};  ///< of aggregate, whose rows are compared to the read rate
  std::optional<Subset> subset = {};  ///< of subset-sum
  double inlined_s = 0;               ///< the serial loop, inlined in the caller; 0 for inputs it was not timed on
  double api_s = 0;                   ///< the public function, with no rung named
  std::string api_rung = {};
  std::vector<Row> rows = {};
};

/// Told before every step of a long climb, for a progress line.
using Progress = std::function<void(const std::string& what)>;

/// Climbs. Throws upsweep::Error for an unknown rung or an input that the problem cannot take.
std::vector<Group> climb(const LadderRequest& request, const Progress& progress);

}  // namespace upsweep::bench
