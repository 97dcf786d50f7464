// SPDX-License-Identifier: Apache-2.0
// plan/kernels.hpp: the loops over tiles and over lists of a block, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "cpu/kernels.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// Elements of a tile: element-wise instructions of a group process a domain tile by tile, so that their results
/// stay in L1. 256 to 2,048 were measured to be within 6 %.
inline constexpr int kTile = 512;
/// Elements that may be written past the end of an array of a block.
inline constexpr int kSlack = 64;

/// Computes n elements. `in` are up to four operands. `first` is the position of the first element.
using ElementKernel = void (*)(void* out, const void* const* in, std::int64_t n, std::int64_t first);

/// Folds each list of x: list i is offsets[i] … offsets[i + 1] - 1. `scratch` holds one int32 per element, and one
/// more, with slack.
using ReduceKernel = void (*)(const void* x, const std::int32_t* offsets, std::int64_t lists, void* out,
                              std::int32_t* scratch);

// The numbers of element kernels. The kernels of map() have the numbers op · kElementTypes + type. The others follow.
inline constexpr int kConvert = kOps * kElementTypes;                   ///< + from · kElementTypes + to
inline constexpr int kTake = kConvert + kElementTypes * kElementTypes;  ///< x, index; + log2 of the size
inline constexpr int kTakeClamped = kTake + 4;                          ///< x, index, length of x
inline constexpr int kLookup = kTakeClamped + 4;                        ///< x, index of int64, length of x
inline constexpr int kCopy = kLookup + 4;                               ///< + log2 of the size
inline constexpr int kTakeAdd = kCopy + 4;     ///< x, i, y, j: x[i] + y[j]; + 0: float32, 1: float64
inline constexpr int kAddTake = kTakeAdd + 2;  ///< x, y, j: x + y[j]
inline constexpr int kCounts = kAddTake + 2;   ///< offsets
inline constexpr int kPositions = kCounts + 1;
inline constexpr int kNumbers = kPositions + 1;   ///< positions; operand 2: the number of the first element
inline constexpr int kSearchLeft = kNumbers + 1;  ///< x, table, length of the table; + type
inline constexpr int kSearchRight = kSearchLeft + kElementTypes;
inline constexpr int kElementKernels = kSearchRight + kElementTypes;
inline constexpr int kCalls = kElementKernels;  ///< + the number of the caller's loop: not in the table

/// Tables of the combinations of short lists: the place of member m of tuple j of k from n elements.
inline constexpr int kTableLength = 8;   ///< elements of a list
inline constexpr int kTableTuples = 64;  ///< of one length, a multiple of 8

/// How elements become cells of an axis.
enum class BinRule : std::uint8_t { regular, few_edges, edges, integer, integer_of_floats, category };
inline constexpr int kBinRules = 6;

/// The parameters of a rule. Cell 0 is the underflow, except of a category.
struct Binning {
  BinRule rule{};
  std::int64_t stride = 1;               ///< the distance of adjacent cells of this axis
  double low = 0;                        ///< regular, integer_of_floats
  double width = 0;                      ///< regular: high - low
  double bins = 0;                       ///< regular, integer_of_floats
  double top = 0;                        ///< regular: the bin of the upper edge
  std::int64_t start = 0, stop = 0;      ///< integer
  std::int64_t count = 0;                ///< of edges or values
  const double* edges = nullptr;         ///< ascending
  bool has_top = false;                  ///< edges: the last bin contains the last edge
  const std::int64_t* values = nullptr;  ///< category: ascending
  const std::int32_t* places = nullptr;  ///< category: the cells of `values`
};
/// cells[i] ← cells[i] + stride · the cell of x[i] on this axis. x has float64, for integer and category int64.
using BinKernel = void (*)(const Binning& binning, const void* x, std::int64_t n, std::int32_t* cells);
/// Copies of the cells of a small histogram. Adjacent elements are counted in different copies: an addition to a cell
/// waits for the one before it.
inline constexpr int kCellCopies = 4;

struct Kernels {
  ElementKernel element[kElementKernels];  ///< empty where an operation is not defined
  ReduceKernel reduce[8][kElementTypes];
  /// places ← the positions with keep; before[i] ← their number before i, and before[n]. Each may be null. Returns the
  /// number.
  std::int64_t (*filter)(const std::uint8_t* keep, std::int64_t n, std::int32_t* places, std::int32_t* before);
  /// out[k] ← the list of element k.
  void (*parents)(const std::int32_t* offsets, std::int64_t lists, std::int32_t* out);
  /// out[i] ← from[i] - from[0], for lists + 1 offsets of int32, uint32, int64. Returns whether they ascend and fit.
  bool (*input_offsets[3])(const void* from, std::int64_t lists, std::int32_t* out);
  /// out[i] ← x[index[i]]
  void (*at)(const std::int32_t* x, const std::int32_t* index, std::int64_t n, std::int32_t* out);
  /// out[i] ← out[i] + x[i]
  void (*add)(const std::int32_t* x, std::int64_t n, std::int32_t* out);
  /// Writes runs of consecutive positions: list i of `to` ← from[i], from[i] + 1, …
  void (*runs)(const std::int32_t* from, const std::int32_t* to, std::int64_t lists, std::int32_t* out);
  /// Writes the positions of each list of `from`, followed by -1 up to the length of that list of `to`.
  void (*pad)(const std::int32_t* from, const std::int32_t* to, std::int64_t lists, std::int32_t* out);
  /// Writes the positions that lay lists x and y one after the other. The positions of y follow those of x.
  void (*interleave)(const std::int32_t* x, const std::int32_t* y, std::int64_t lists, std::int32_t* out);
  /// Writes members of the tuples of each list of `offsets`, from list `first` on. Tuples of a list with at most
  /// kTableLength elements are copied from tables[m][length · kTableTuples] to out[m]. Stops at a longer list; returns
  /// the number of lists before it.
  std::int64_t (*tuples)(const std::int32_t* const* tables, int members, const std::int32_t* offsets,
                         const std::int32_t* to, std::int64_t first, std::int64_t lists, std::int32_t* const* out);
  /// By whether it ascends, and the type: out[k] ← the position of the element of place k, from list `first` on.
  /// Stable; NaN first. Stops at a list of more than 8 elements, and where x has fewer than 8 more elements. Returns
  /// the number of lists before it.
  std::int64_t (*sort_short[2][kElementTypes])(const void* x, const std::int32_t* offsets, std::int64_t first,
                                               std::int64_t lists, std::int32_t* out);
  BinKernel bin[kBinRules];
  /// Adds 1 to each of the cells: of element i in copy i % kCellCopies, which begins at (i % kCellCopies) · distance.
  void (*count)(const std::int32_t* cells, std::int64_t n, std::int64_t* counts, std::int64_t distance);
  /// Adds weights and their squares, in order.
  void (*add_weights)(const std::int32_t* cells, const double* weights, std::int64_t n, WeightedBin* sums);
};

const Kernels& kernels_baseline() noexcept;
const Kernels& kernels_avx2() noexcept;
const Kernels& kernels_avx512() noexcept;

/// Returns the kernels of an instruction set that the CPU supports.
inline const Kernels& kernels(Isa isa) noexcept {
  return cpu::table_for(isa, &kernels_baseline, &kernels_avx2, &kernels_avx512);
}

}  // namespace upsweep::plan::detail
