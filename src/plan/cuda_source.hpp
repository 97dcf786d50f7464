// SPDX-License-Identifier: Apache-2.0
// plan/cuda_source.hpp: writes a plan as one CUDA kernel, and says which words and arrays that kernel needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/code.hpp"

namespace upsweep::plan::detail {

/// The order of the words that the kernel takes. The first ones are the same for all plans, and tables follow.
struct CudaWords {
  enum : std::uint8_t {
    events,
    blocks,
    events_per_block,
    tickets,      ///< address of a uint64, at first 0
    states,       ///< address of the counters of outputs: uint64 [blocks][counters], at first 0
    lengths,      ///< address of int64 [2][domains]: the largest lengths of attempts, and of single events; at first 0
    totals,       ///< address of int64 [counters]: the elements of all blocks
    trouble,      ///< address of CudaTrouble
    arena,        ///< address of memory for events whose arrays do not fit shared memory; 0: there is none
    arena_bytes,  ///< of a block of threads
    is_large,     ///< whether all events use that memory
    tables,
  };
  int columns = 0;     ///< address and length of each column
  int scalars = 0;     ///< bits, by ScalarSlot
  int capacities = 0;  ///< of each domain, in elements: in shared memory, and then in the arena
  int places = 0;      ///< of each array: its offset in shared memory, and then in the arena
  int outputs = 0;     ///< address and capacity of each
  int axes = 0;        ///< address of the CudaAxis of each axis of each histogram
  int cells = 0;       ///< of each histogram: address of its cells, at first 0
  int counted = 0;     ///< of each histogram: offset of its cells in shared memory; 2^64 - 1: they are not there
  int count = 0;
};

/// The report of a kernel: complements of numbers, at first 0.
struct CudaTrouble {
  std::uint64_t check = 0;      ///< 2^16 · the first event whose check failed + the check
  std::uint64_t too_large = 0;  ///< the first event that needs more memory
  std::uint64_t bad_lists = 0;  ///< the first event of a block whose offsets are bad
  std::uint64_t divided = 0;    ///< not a complement: the number of attempts that were divided
};

/// The parameters of an axis. The edges or values follow, as 64-bit words, and then the places of the values.
struct CudaAxis {
  std::int64_t stride = 0, count = 0, has_top = 0, start = 0, stop = 0;
  double low = 0, width = 0, bins = 0, top = 0;
};

/// A sum of float64 that does not depend on the order. Its digits of 28 bits begin with the bit of the smallest number.
/// Each digit is a sum of 64-bit integers. Counts of infinity, -infinity and NaN follow. Up to 2^35 numbers can be
/// added.
inline constexpr int kDigitBits = 28;
inline constexpr int kDigits = 75;
inline constexpr int kSumWords = kDigits + 3;

/// An array of a block.
struct CudaArray {
  std::int32_t slot = -1;
  std::int32_t domain = 0;  ///< whose length it has
  bool has_end = false;     ///< one element more
  int first = 0, last = 0;  ///< the instructions between which it is needed
};

struct CudaCode {
  std::string source;
  CudaWords words;
  std::vector<CudaArray> arrays;
  int counters = 0;                    ///< of elements of outputs in each block
  std::vector<int> counter_of_output;  ///< -1: one element for each event
};

/// Threads of a block.
inline constexpr int kCudaThreads = 128;

/// Returns the code. Throws unsupported if the plan has loops of the caller.
CudaCode cuda_code(const Compiled& code);

}  // namespace upsweep::plan::detail
