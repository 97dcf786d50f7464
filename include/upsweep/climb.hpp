// SPDX-License-Identifier: Apache-2.0
// upsweep/climb.hpp: climbs a ladder: every rung verified against the reference, then timed beside the machine's own rates.
//
// Rungs are timed in turn, round after round, on the same arrays as a copy of as many bytes as the problem must move; what
// counts is the median. On a GPU the arrays are on the device before and events are the clock. With several counts of threads
// the CPU's rungs, the copy and the read are timed at each of them, one count after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

/// A column in memory to climb on instead of generated data.
struct Column {
  std::string name;
  Type type = Type::int64;
  std::int64_t count = 0;
  std::shared_ptr<const void> data = {};
  int scale = 0;  ///< of decimals: elements are in units of 10^-scale
};

/// A number, or the position of a choice.
struct Setting {
  std::int64_t value = 0;
  int scale = 0;  ///< of a decimal: in units of 10^-scale
};

struct UPSWEEP_CONTAINERS ClimbRequest {
  std::string_view problem;
  std::vector<std::int64_t> sizes = {};  ///< empty: the usual ones
  std::vector<Type> types = {};          ///< empty: the usual ones
  std::vector<Column> input = {};  ///< one for each of the problem's inputs; then `sizes` and `types` are not used
  std::map<std::string_view, Setting> settings = {};
  std::string rung;            ///< only this one; empty: all
  double max_seconds = 5;      ///< a rung that is estimated to take longer is skipped
  double round_seconds = 0.3;  ///< that the rounds of a rung take, if there are so many
  bool on_cpu = true;
  bool on_gpu = false;
  std::vector<int> threads = {0};  ///< the counts that the CPU's rungs are run with; 0: every core
  std::string guest = {};          ///< a shared library with one more rung, by upsweep/rung.h; empty: none
};

enum class RowStatus : std::uint8_t { verified, failed, skipped };
[[nodiscard]] std::string_view word(RowStatus status);
/// "1 thread", "4 threads".
[[nodiscard]] std::string threads_text(int threads);

/// One way to launch a kernel, what the runtime says about it, and how long it takes.
struct Variant {
  std::string name;
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block
  int blocks = 0;                 ///< on a multiprocessor at a time
  double occupancy = 0;           ///< of its warps
  double median_s = 0;
};

/// From when to when a stream copied, or computed, a chunk of the input, in seconds from the start of the run.
struct Span {
  std::string_view what;  ///< "send", "compute" or "fetch"
  int stream = 0;
  double begin_s = 0;
  double end_s = 0;
};

/// A run that begins with the input in the host's memory.
struct UPSWEEP_CONTAINERS Staged {
  double total_s = 0;     ///< by the host's clock
  double transfer_s = 0;  ///< to the device and back; of overlapping steps, until the last input is there
  double kernel_s = 0;    ///< kernels, and what the host adds up; of overlapping steps, what is left of the total
  std::vector<Span> timeline = {};  ///< of the last run
};

/// A kernel that a run launches, and what the runtime says about it.
struct Kernel {
  std::string name;
  int launches = 0;  ///< in one run, with these blocks
  std::int64_t blocks = 0;
  int threads = 0;                ///< of a block
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block
  int resident_blocks = 0;        ///< on a multiprocessor at a time
  double occupancy = 0;           ///< of its warps
};

/// A rung at one type and size.
struct UPSWEEP_CONTAINERS Row {
  RungInfo rung = {};
  RowStatus status = RowStatus::skipped;
  std::string reason = {};  ///< why it failed or was skipped
  int threads = 0;          ///< that it ran on; 0 on a GPU
  double bytes = 0;         ///< what the problem must read and write at least; 0: not measured against memory
  double median_s = 0;
  std::vector<double> samples_s = {};       ///< of each round, in their order; rounds are those of the group's copies
  std::optional<double> checked_s = {};     ///< the same with overflow checks
  std::optional<double> graph_s = {};       ///< on a GPU: of one of many calls in a CUDA graph
  std::optional<double> warm_s = {};        ///< on a GPU: on arrays that stay in its cache
  std::optional<double> warm_graph_s = {};  ///< the same in a CUDA graph
  std::optional<Staged> staged = {};
  std::vector<Variant> variants = {};
  std::vector<Kernel> kernels = {};  ///< on a GPU: of one run, where it can be captured
};

/// A figure of one problem alone, by its name.
using Fact = std::pair<std::string_view, std::variant<std::monostate, bool, std::int64_t, double, std::string>>;

/// All rungs at one place, type, size and count of threads, timed in one run.
struct UPSWEEP_CONTAINERS Group {
  std::string title;                                       ///< "scan of 1,000 int32"
  std::vector<std::string> lines;                          ///< what else there is to be said of the instance
  std::vector<std::pair<std::string, double>> times = {};  ///< what was timed beside the rungs, in seconds
  std::string device = {};                                 ///< the GPU; empty: the CPU
  std::string input = {};                                  ///< the columns it was climbed on; empty for generated data
  Type type = Type::int64;
  std::int64_t n = 0;
  int threads = 0;          ///< that were asked for; 0 on a GPU
  double bytes = 0;         ///< what must be read and written at least
  double limit_bytes = 0;   ///< what the limit is measured on: as many, unless said otherwise
  bool reads_only = false;  ///< nothing of size is written: rows are compared to the read rate
  bool is_pinned = false;   ///< the arrays stay in pinned memory of the host: "read" is sending the first of them
  std::string_view work_unit = {};  ///< "sums": what is counted instead of bytes
  double work = 0;                  ///< units of every rung
  std::vector<Fact> facts = {};
  double copy_bytes_per_s = 0;  ///< read plus written
  double read_bytes_per_s = 0;
  std::vector<double> copy_samples_s = {};
  std::vector<double> read_samples_s = {};
  double first_s = 0;    ///< of the first rung that was timed, with the fewest threads: what the others are compared to
  double inlined_s = 0;  ///< the serial loop, inlined in the caller; 0: not timed
  double api_s = 0;      ///< the public function, with no rung named
  std::string api_rung = {};
  std::vector<Row> rows = {};
};

/// What of a problem is worth measuring: climbs of each of these types and sizes.
struct Study {
  struct Value {
    std::string_view setting;
    std::string_view value;
  };
  std::string_view name;                     ///< what it is about, "sizes", or the document that measured the same
  std::span<const std::int64_t> sizes = {};  ///< empty: the problem's usual instances
  std::span<const Type> types = {};          ///< empty: the problem's usual ones
  std::span<const Value> settings = {};
  bool scales = false;  ///< with one thread, two, four … and all
};

/// The studies of a problem. Throws Error invalid_argument, naming the problems there are.
[[nodiscard]] std::span<const Study> studies(std::string_view problem);

/// Reported before every step of a long climb, for a progress line.
using ClimbProgress = std::function<void(const std::string& what)>;

/// Climbs. With several counts of threads an instance on the CPU is a group for each, one after the other, in ascending
/// order; a rung that runs on one thread or on every core, whatever is asked for, is in one of them alone. Throws Error for
/// an unknown problem or rung, for an input that the problem cannot take, for a negative count of threads, and not_built or
/// no_device where a GPU is asked for and none can be used.
UPSWEEP_CONTAINERS std::vector<Group> climb(const ClimbRequest& request, const ClimbProgress& progress);

}  // namespace upsweep
