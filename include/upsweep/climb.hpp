// SPDX-License-Identifier: Apache-2.0
// upsweep/climb.hpp: climbs a ladder: verifies every rung against the reference, then times it and the machine's rates.
//
// Rungs are timed in turn, round after round, on the same arrays. Each round also times a copy of the number of bytes
// that the problem must move. The result is the median of the rounds. On a GPU the arrays are in device memory before
// the run, and events measure the time. If several thread counts are requested, the CPU rungs, the copy and the read
// are timed with one thread count after the other.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// A column in memory, used as input instead of generated data.
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
  double round_seconds = 0.3;  ///< a rung's rounds take at least this time, unless their maximum number ends them
  bool on_cpu = true;
  bool on_gpu = false;
  std::vector<int> threads = {0};  ///< the thread counts for the CPU rungs; 0: every core
  /// A shared library with a custom rung, by upsweep/rung.h; empty: none. The rung runs on the CPU, or on a GPU if
  /// `on_cpu` is false. In the latter case it is first tried in a child process, which can use a GPU only if this
  /// process has not used CUDA.
  std::string guest = {};
};

enum class RowStatus : std::uint8_t { verified, failed, skipped };
[[nodiscard]] std::string_view word(RowStatus status);
/// Returns a thread count as text: "1 thread", "4 threads".
[[nodiscard]] std::string threads_text(int threads);

/// A variant of a kernel launch, with its properties from the runtime and its time.
struct Variant {
  std::string name;
  int registers = 0;              ///< per thread
  std::int64_t shared_bytes = 0;  ///< per block
  int blocks = 0;                 ///< on a multiprocessor at a time
  double occupancy = 0;           ///< of its warps
  double median_s = 0;
};

/// The time in which a stream copied, or computed, a chunk of the input, in seconds from the start of the run.
struct Span {
  std::string_view what;  ///< "send", "compute" or "fetch"
  int stream = 0;
  double begin_s = 0;
  double end_s = 0;
};

/// A run that begins with the input in host memory.
struct UPSWEEP_CONTAINERS Staged {
  double total_s = 0;               ///< by the host's clock
  double transfer_s = 0;            ///< to the device and back; if steps overlap, until the last input has arrived
  double kernel_s = 0;              ///< kernels, and additions on the host; if steps overlap, the rest of the total
  std::vector<Span> timeline = {};  ///< of the last run
};

/// A kernel that a run launches, with its properties from the runtime.
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

/// The result of a rung for one type and size.
struct UPSWEEP_CONTAINERS Row {
  RungInfo rung = {};
  RowStatus status = RowStatus::skipped;
  std::string reason = {};  ///< why it failed or was skipped
  int threads = 0;          ///< number of threads that it ran on; 0 on a GPU
  double bytes = 0;         ///< the minimum that the problem must read and write; 0: not compared with memory
  double median_s = 0;
  std::vector<double> samples_s = {};       ///< of each round, in order; the group's copies are timed in these rounds
  std::optional<double> checked_s = {};     ///< median with overflow checks
  std::optional<double> graph_s = {};       ///< on a GPU: time of one call, if a CUDA graph contains many calls
  std::optional<double> warm_s = {};        ///< on a GPU: with arrays that stay in its cache
  std::optional<double> warm_graph_s = {};  ///< on a GPU: with arrays that stay in its cache, in a CUDA graph
  std::optional<Staged> staged = {};
  std::vector<Variant> variants = {};
  std::vector<Kernel> kernels = {};  ///< on a GPU: the kernels of one run, if the run can be captured
};

/// A named figure that only one problem has.
using Fact = std::pair<std::string_view, std::variant<std::monostate, bool, std::int64_t, double, std::string>>;

/// All rungs for one place, type, size and thread count, timed in one run.
struct UPSWEEP_CONTAINERS Group {
  std::string title;                                       ///< "scan of 1,000 int32"
  std::vector<std::string> lines;                          ///< further lines about the instance
  std::vector<std::pair<std::string, double>> times = {};  ///< other timed steps, in seconds
  std::string device = {};                                 ///< the GPU; empty: the CPU
  std::string input = {};                                  ///< the input columns; empty for generated data
  Type type = Type::int64;
  std::int64_t n = 0;
  int threads = 0;          ///< requested number; 0 on a GPU
  double bytes = 0;         ///< the minimum that must be read and written
  double limit_bytes = 0;   ///< bytes from which the limit is computed: equal to `bytes`, unless set otherwise
  bool reads_only = false;  ///< nothing large is written: rows are compared with the read rate
  bool is_pinned = false;   ///< the arrays stay in pinned host memory: "read" is the transfer of the first array
  std::string_view work_unit = {};  ///< what is counted instead of bytes, such as "sums"
  double work = 0;                  ///< units of every rung
  std::vector<Fact> facts = {};
  double copy_bytes_per_s = 0;  ///< read plus written
  double read_bytes_per_s = 0;
  std::vector<double> copy_samples_s = {};
  std::vector<double> read_samples_s = {};
  double first_s = 0;    ///< of the first timed rung with the fewest threads, with which other rungs are compared
  double inlined_s = 0;  ///< the serial loop, inlined in the caller; 0: not timed
  double api_s = 0;      ///< the public function, without a named rung
  std::string api_rung = {};
  std::vector<Row> rows = {};
};

/// A set of climbs that is worth measuring for a problem: one climb for each combination of a type and a size.
struct Study {
  struct Value {
    std::string_view setting;
    std::string_view value;
  };
  std::string_view name;                     ///< its topic, "sizes", or the document that measured the same
  std::span<const std::int64_t> sizes = {};  ///< empty: the problem's usual instances
  std::span<const Type> types = {};          ///< empty: the problem's usual ones
  std::span<const Value> settings = {};
  bool scales = false;  ///< with one thread, two, four … and all
};

/// Returns the studies of a problem. Throws Error invalid_argument, which lists the problems.
[[nodiscard]] std::span<const Study> studies(std::string_view problem);

/// Called before every step of a long climb, for a progress line.
using ClimbProgress = std::function<void(const std::string& what)>;

/// Climbs a ladder and returns the groups of results. With several thread counts, an instance on the CPU has one group
/// per count, in ascending order. A rung that always runs on one thread, or always on every core, is in only one of
/// these groups. Throws Error for an unknown problem or rung, for an input that the problem cannot use, and for a
/// negative thread count. Throws not_built or no_device if a GPU is requested and none can be used, also if a custom
/// rung on a GPU cannot be tried. Throws device_failed if failed work prevents this process from using the GPU.
UPSWEEP_CONTAINERS std::vector<Group> climb(const ClimbRequest& request, const ClimbProgress& progress);

}  // namespace upsweep
