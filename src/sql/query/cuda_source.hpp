// SPDX-License-Identifier: Apache-2.0
// sql/query/cuda_source.hpp: a plan as CUDA C++: the arguments of its kernels, and their results in memory.
//
// Two kernels fold a chunk. `fold` gives every block (or warp) separate states of all groups, and `merge` merges them
// in a fixed order. Keys with few values number the groups themselves. Other keys are numbered first, by `number_rows`
// of a separate program. A kernel does not compute a value that it cannot compute exactly: an overflow, a division by
// zero, more than 2^53 as a float64. It sets `trouble` instead, and the CPU computes the chunk, with the right answer
// or the error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sql/expression/cuda_values.hpp"
#include "sql/query/plan.hpp"
#include "upsweep/detail/tuning/query.hpp"

namespace upsweep::query {

enum class Keying : std::uint8_t {
  none,    ///< one group
  direct,  ///< keys are text and booleans, and determine a row's group
  hashed,  ///< `number_rows` has stored each row's group in memory
};

/// Which threads have separate states while rows are folded.
enum class Copies : std::uint8_t {
  registers,  ///< every thread, for a single group
  threads,    ///< every thread, for all groups, in shared memory
  warps,      ///< every warp, for all groups, in device memory; for Keying::hashed
};

struct SourceOptions {
  std::vector<ColumnShape> columns;  ///< columns of the plan
  Keying keying = Keying::none;
  Copies copies = Copies::registers;
  int threads = gpu::tuning::kQuery.threads;  ///< per block
  int copy_bits = 20;  ///< a block, or a warp that has separate states, folds at most 2^copy_bits rows

  auto operator<=>(const SourceOptions&) const = default;
};

/// Bits per word in which a row stores which of its keys are NULL: key k is bit k % kNullsPerWord of word k /
/// kNullsPerWord.
inline constexpr std::size_t kNullsPerWord = 64;
constexpr int null_words(std::size_t keys) { return static_cast<int>((keys + kNullsPerWord - 1) / kNullsPerWord); }

/// Resident threads of a multiprocessor, with 64 registers each.
inline constexpr int kResidentThreads = gpu::tuning::kQuery.resident_threads;

/// Words that a kernel can take on any device and driver: 4 KB. More words are read from device memory.
inline constexpr int kMostWords = 512;

/// The words that kernels take, in order. Addresses are device addresses.
namespace argument {
enum : std::uint8_t {
  rows,
  groups,
  copies,    ///< number of sets of states that `merge` merges
  partials,  ///< these sets: by copy, group and word
  merged,    ///< the merged states: by group and word
  trouble,   ///< two int32: 1 if the CPU must compute the chunk; 1 if there are more groups than `limit`
  ids,       ///< int32 by row: the group; -1: not kept
  tags,      ///< uint32: the hash table; 0: free
  mask,      ///< size of the hash table minus one
  keys,      ///< by group and word
  found,     ///< uint32: the number of groups
  limit,
  first_column  ///< values and validity of each column; then passes, ranks, literals, slots: see KernelSource
};
}  // namespace argument

/// One value of a group's state.
struct StateCell {
  enum class Kind : std::uint8_t { rows, first_row, count, sum, extreme };
  Kind kind = Kind::rows;
  bool real = false;      ///< a float64, in one word
  bool minimum = false;   ///< for extremes
  bool own_wide = false;  ///< two words in a copy, the low word first
  bool wide = false;      ///< two words in the merged state
  bool checked = false;   ///< a sum that may overflow 128 bits
  int guard = 0;          ///< for extremes: the cell that counts the values
  int own_at = 0;
  int at = 0;
};

struct KernelSource {
  std::string text;
  std::vector<StateCell> cells;
  std::vector<int> values;  ///< by aggregate: the cell of its value; -1: it has none
  std::vector<int> counts;  ///< by aggregate: the cell that counts its values
  int own_words = 0;        ///< words of a copy's state
  int words = 0;            ///< words of a merged state
  int rows_per_thread = 0;
  std::vector<const Expression*> string_tests;  ///< argument: a byte per entry of the dictionary, 1 if it passes
  std::vector<int> ranked;                      ///< columns; argument: int32 per entry, its rank
  std::vector<std::uint64_t> literals;          ///< arguments
  std::vector<MemberTest> member_tests;         ///< arguments: the members, and their number
  std::vector<bool> wide_keys;                  ///< for number_source: whether a key has two words
  int arguments = 0;

  /// Kernels take one word, the address of the others.
  [[nodiscard]] bool has_words_in_memory() const { return arguments > kMostWords; }
};

/// Returns the source of `fold` and `merge`.
KernelSource fold_source(const QueryPlan& plan, const SourceOptions& options);
/// Returns the source of `number_rows`. Its `words` are those of a key: the words of all keys, then their NULLs as bits
/// of null_words() words.
KernelSource number_source(const QueryPlan& plan, const SourceOptions& options);

}  // namespace upsweep::query
