// SPDX-License-Identifier: Apache-2.0
// sql/query/cuda_source.hpp: a plan as CUDA C++: what its kernels are called with, and what they leave in memory.
//
// A chunk is folded by two kernels: `fold` gives every block (or warp) its own states of all groups, `merge` puts them
// together in a fixed order. Keys of few values number the groups by themselves; others are numbered first, by
// `number_rows` of a program of its own. What a kernel cannot compute exactly (an overflow, a division by zero, more than
// 2^53 as a float64) it does not: it raises `trouble`, and the CPU computes the chunk, with the right answer or the error.
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
  direct,  ///< keys are text and booleans: a row's group follows from them
  hashed,  ///< `number_rows` has left each row's group in memory
};

/// Who has states of its own while rows are folded.
enum class Copies : std::uint8_t {
  registers,  ///< every thread, of the one group
  threads,    ///< every thread, of all groups, in shared memory
  warps,      ///< every warp, of all groups, in device memory; for Keying::hashed
};

struct SourceOptions {
  std::vector<ColumnShape> columns;  ///< of the plan
  Keying keying = Keying::none;
  Copies copies = Copies::registers;
  int threads = gpu::tuning::kQuery.threads;  ///< per block
  int copy_bits = 20;  ///< a block, or a warp that has states of its own, folds at most 2^copy_bits rows

  auto operator<=>(const SourceOptions&) const = default;
};

/// Of the words in which a row says which of its keys are NULL: key k is bit k % kNullsPerWord of word k / kNullsPerWord.
inline constexpr std::size_t kNullsPerWord = 64;
constexpr int null_words(std::size_t keys) { return static_cast<int>((keys + kNullsPerWord - 1) / kNullsPerWord); }

/// Of a multiprocessor: 64 registers each.
inline constexpr int kResidentThreads = gpu::tuning::kQuery.resident_threads;

/// Words that a kernel of any device and driver takes: 4 KB. More are read from the device's memory.
inline constexpr int kMostWords = 512;

/// The words that kernels take, from the front; addresses are the device's.
namespace argument {
enum : std::uint8_t {
  rows,
  groups,
  copies,    ///< sets of states that `merge` puts together
  partials,  ///< these: by copy, group and word
  merged,    ///< what came of them: by group and word
  trouble,   ///< two int32: 1 where the CPU must do it; 1 where there are more groups than `limit`
  ids,       ///< int32 by row: the group; -1: not kept
  tags,      ///< uint32: the hash table; 0: free
  mask,      ///< its size less one
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
  bool minimum = false;   ///< of extremes
  bool own_wide = false;  ///< two words in a copy; the low one first
  bool wide = false;      ///< two words where merged
  bool checked = false;   ///< a sum that may overflow 128 bits
  int guard = 0;          ///< of extremes: the cell that counts what went in
  int own_at = 0;
  int at = 0;
};

struct KernelSource {
  std::string text;
  std::vector<StateCell> cells;
  std::vector<int> values;  ///< by aggregate: the cell of its value; -1: it has none
  std::vector<int> counts;  ///< by aggregate: the cell that counts what went in
  int own_words = 0;        ///< of a state in a copy
  int words = 0;            ///< of a merged one
  int rows_per_thread = 0;
  std::vector<const Expression*> string_tests;  ///< argument: a byte per entry of the dictionary, 1 where it passes
  std::vector<int> ranked;                      ///< columns; argument: int32 per entry, its place in their order
  std::vector<std::uint64_t> literals;          ///< arguments
  std::vector<MemberTest> member_tests;         ///< arguments: the members, and how many there are
  std::vector<bool> wide_keys;                  ///< of number_source: whether a key takes two words
  int arguments = 0;

  /// Kernels take one word, which says where the others are.
  [[nodiscard]] bool has_words_in_memory() const { return arguments > kMostWords; }
};

/// `fold` and `merge`.
KernelSource fold_source(const QueryPlan& plan, const SourceOptions& options);
/// `number_rows`, whose `words` are a key's: the keys' one after the other, then their NULLs as bits of null_words() words.
KernelSource number_source(const QueryPlan& plan, const SourceOptions& options);

}  // namespace upsweep::query
