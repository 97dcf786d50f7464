// SPDX-License-Identifier: Apache-2.0
// query/totals.hpp: what a table's pieces come to, merged in the table's order: few groups by one thread at a time, many in
// parts by their hash, which threads merge side by side.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "query/groups.hpp"
#include "query/plan.hpp"

namespace upsweep::query {

/// Each group's states are merged in the order of the pieces, whoever merges them: the answer depends on no thread.
class Totals {
  static constexpr int kParts = 64;

 public:
  /// The first two outlive this. `most_bytes`: of memory, for all groups, which are there twice in the end; 0: three quarters
  /// of what is free once there are many.
  Totals(const Plan& plan, const Kernels& kernels, std::int64_t most_bytes = 0);

  /// A piece, its groups part after part.
  struct Piece {
    explicit Piece(Groups from) : groups(std::move(from)) {}

    Groups groups;
    std::vector<std::int32_t> order;                  ///< of each group its place in the order of first rows
    std::array<std::int32_t, kParts + 1> begin = {};  ///< where each part begins
    std::atomic<int> left{kParts};                    ///< parts that have not merged it
    bool is_divided = false;                          ///< else its groups have the order of their first rows
  };
  /// Of what a thread has folded; where these are many groups their memory is left to it, and nothing of worth in it.
  [[nodiscard]] std::unique_ptr<Piece> piece_of(Groups& groups);

  /// The next piece, in the table's order: by one thread at a time.
  void add(std::unique_ptr<Piece> piece);
  /// Merges what has been added, as far as no other thread is at it; a little at a time costs more, so it may leave some.
  /// Throws as Groups::merge() does, and out_of_memory for more groups than memory has room for.
  void merge_some();
  /// Merges all that has been added.
  void merge_all();

  /// What all pieces come to, once they are merged; groups have the order of their first rows.
  [[nodiscard]] Groups take(int workers) &&;

 private:
  /// Groups whose hashes begin alike.
  struct Part {
    std::mutex merging;
    std::optional<Groups> groups;
    std::vector<std::uint64_t> first;    ///< of each group: its piece and its number there, ascending
    std::atomic<std::size_t> merged{0};  ///< pieces
    std::int64_t bytes = 0;
  };

  static int part_of(std::uint64_t hash) { return static_cast<int>(hash >> 58); }
  std::unique_ptr<Piece> divided(Groups& groups);
  void begin_parts();
  void merge(int number);
  void merge(Part& part, int number, std::size_t which, const Piece& piece);
  void require_memory(Part& part);
  void order_piece(std::size_t piece, std::span<Groups::Place> places) const;

  const Plan& plan_;
  const Kernels& kernels_;
  Groups few_;  ///< until there are many
  std::atomic<bool> is_divided_{false};
  std::mutex adding_;
  std::vector<std::unique_ptr<Piece>> pieces_;  ///< grows under adding_
  std::vector<Groups> spare_;                   ///< of pieces that are merged: memory for others; under adding_
  std::atomic<std::size_t> added_{0};
  std::array<Part, kParts> parts_;
  std::atomic<unsigned> next_{0};  ///< the part that the next thread begins with
  std::int64_t most_bytes_;
  std::atomic<std::int64_t> bytes_{0};  ///< of all parts
};

}  // namespace upsweep::query
