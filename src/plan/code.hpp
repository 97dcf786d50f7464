// SPDX-License-Identifier: Apache-2.0
// plan/code.hpp: the instructions of a compiled program, and the places of their operands.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plan/kernels.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// Where the elements of a slot are.
enum class Place : std::uint8_t {
  block,   ///< an array of the block, in a buffer
  tile,    ///< a register: one tile
  scalar,  ///< a tile of equal elements
  column,  ///< an input
  table,   ///< an input that is not divided into blocks
};

struct Slot {
  Place place{};
  ElementType type{};
  std::int32_t index = -1;  ///< the buffer, register or column
};

enum class Action : std::uint8_t {
  group,          ///< steps first … last - 1, over the domain
  input_offsets,  ///< out: offsets of the lists; domain: parent; input: which of Compiled::inputs
  regular_offsets,
  filter,                 ///< in: mask; out: positions; extra: before
  filter_offsets,         ///< in: offsets, before; domain: parent
  gather_offsets,         ///< in: offsets of the lists, index; domain: that of the index
  gather_source,          ///< in: offsets of the lists, index, own offsets
  combination_offsets,    ///< in: offsets of the lists; size: k; flag: replacement
  combination_source,     ///< in: offsets of the lists, own offsets; flag; size: k; operands: (slot, member) of results
  product_offsets,        ///< in: parents of the first, offsets of the second; domain: elements of the first
  product_source,         ///< in: parents of the first, offsets of the second, own offsets: positions in the second
  concatenation_offsets,  ///< operands: offsets of the parts; domain: parent
  concatenation_source,   ///< in: own offsets; operands: offsets of the parts
  pad_offsets,            ///< in: offsets; size: length
  pad_source,             ///< in: offsets, own offsets
  flat_offsets,           ///< in: offsets of the inner lists, of the outer lists
  parents,                ///< in: offsets; domain: parent; made: the elements
  beside,                 ///< operands: (slot, domain) of each part
  reduce,                 ///< in: x, offsets; domain: parent; made: elements; which, type: of x
  argsort,                ///< in: x, offsets; flag: ascending
  output,                 ///< in: x; member: which output
  output_offsets,         ///< in: offsets
  check,                  ///< in: mask; member: which check
  histogram,              ///< operands: the value of each axis, and the weight; member: which histogram
};

struct Instruction {
  Action action{};
  ElementType type{};       ///< of the operand, where the action depends on it
  std::uint8_t which = 0;   ///< Reduction
  bool flag = false;        ///< replacement, order, whether an output is already where it belongs
  std::int32_t out = -1;    ///< slot
  std::int32_t extra = -1;  ///< second result
  std::int32_t in[3] = {-1, -1, -1};
  std::int32_t domain = -1;  ///< whose elements are gone over
  std::int32_t made = -1;    ///< the domain whose length the action determines or needs
  std::int32_t first = 0;    ///< of the steps or operands
  std::int32_t last = 0;
  std::int32_t member = 0;
  std::int64_t size = 0;
};

/// An element-wise instruction of a group.
struct Step {
  std::int32_t kernel = 0;
  std::int32_t out = -1;
  std::int32_t in[4] = {-1, -1, -1, -1};
  std::uint8_t out_stride = 0;  ///< bytes per element by which the tile advances; 0: the tile is at the beginning
  std::uint8_t in_stride[4] = {0, 0, 0, 0};
  std::int32_t output = -1;  ///< the output that is nothing but this result, and that nothing else reads
  /// Operand 2 is the length of this domain, or of this table's column. For kNumbers, this is an input, and
  /// operand 2 is its first element: 0 is the events, otherwise 1 + the index.
  std::int32_t length_of = -1;
};

/// A domain whose elements are input: the blocks of a column over it are known before a block is run.
struct InputDomain {
  std::int32_t domain = 0;
  std::int32_t parent = -1;  ///< the index in Compiled::inputs; -1: the events
  std::int32_t column = -1;  ///< of the offsets; -1: regular
  ElementType offsets{};
  std::int64_t size = 0;  ///< of regular lists
};

struct BoundColumn {
  std::int32_t slot;
  std::int32_t column;
  std::int32_t input;  ///< index in Compiled::inputs; -1: the events
  ElementType type;
  bool is_table;
};

struct ScalarSlot {
  std::int32_t slot = 0;
  std::int32_t parameter = -1;  ///< -1: a constant
  Scalar number;                ///< of a parameter: its type
};

struct OutputInfo {
  ElementType type{};
  bool is_offsets = false;
  /// The domain of the values or lists is the events (0) or an input (1 + its index); -1: the size is not known before
  /// a run.
  std::int32_t input = -1;
};

/// A histogram, with the parameters of its kernels. Kernels count in *cells*: each axis has all the flow bins that its
/// kind may have, so that every element has a cell. The bins of the result are some of the cells.
struct HistogramCode {
  struct AxisCode {
    Binning binning;
    std::int64_t cells = 0;
    std::int64_t first = 0;  ///< the cell of the first bin of the result
    std::vector<double> edges;
    std::vector<std::int64_t> values;  ///< ascending
    std::vector<std::int32_t> places;  ///< the bins of `values`
  };
  std::vector<AxisCode> axes;
  std::vector<std::int64_t> shape;  ///< of the result
  std::int64_t cells = 0;
  int copies = 1;  ///< of the cells, which are added up at the end
  bool has_weights = false;
  std::int64_t offset = 0;  ///< in bytes, of the cells in those of a work unit
};

class Run;
class DevicePlans;
class Compiled;

/// Computes n elements of a step by the caller's loop.
void call_loop(const Compiled& code, const Step& step, void* out, const void* const* in, std::int64_t n);

/// A compiled program, and the memory of earlier runs.
class Compiled {
 public:
  Compiled();
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  std::vector<Instruction> instructions;
  std::vector<Step> steps;
  std::vector<Loop> loops;  ///< of the caller
  std::vector<std::int32_t> operands;
  std::vector<Step> prologue;  ///< of scalars: once per worker and run
  std::vector<Slot> slots;
  int buffers = 0;
  int registers = 0;
  int domains = 1;           ///< domain 0 is the events
  int names_of_columns = 0;  ///< 1 + the largest number of a column
  std::vector<InputDomain> inputs;
  std::vector<BoundColumn> columns;
  std::vector<ScalarSlot> scalars;
  std::vector<int> used_columns;
  std::vector<OutputInfo> outputs;
  std::vector<HistogramCode> histograms;
  std::int64_t unit_bytes = 0;  ///< of the cells of all histograms
  std::vector<int> messages;    ///< of the checks
  int node_instructions = 0;

  [[nodiscard]] std::string to_text() const;

  /// Returns the memory of a run that is over, or of none. Thread-safe.
  [[nodiscard]] std::unique_ptr<Run> take_run() const;
  void keep_run(std::unique_ptr<Run> run) const;
  /// Returns what runs on GPUs keep. Thread-safe.
  [[nodiscard]] DevicePlans& device_plans() const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Run>> idle_;
  mutable std::unique_ptr<DevicePlans> device_plans_;
};

/// Calls f(slot) for each operand of an instruction; -1 stands for none.
template <class F>
void for_each_read(const Compiled& code, const Instruction& in, F f) {
  for (const std::int32_t s : in.in) f(s);
  const bool has_slots = in.action == Action::concatenation_offsets || in.action == Action::concatenation_source ||
                         in.action == Action::histogram;
  for (std::int32_t i = in.first; i < in.last; ++i) {
    if (in.action == Action::group) {
      for (const std::int32_t s : code.steps[static_cast<std::size_t>(i)].in) f(s);
    } else if (has_slots || (in.action == Action::beside && (i - in.first) % 2 == 0)) {
      f(code.operands[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace upsweep::plan::detail
