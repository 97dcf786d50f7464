// SPDX-License-Identifier: Apache-2.0
// sql/query/totals.hpp: what a table's pieces come to, merged in the table's order: few groups by one thread at a time, many in
// parts by their hash, which threads merge side by side, and which go to a temporary file where memory does not suffice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sql/query/group_merge.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/spilled_partitions.hpp"

namespace upsweep::query {

/// Each group's states are merged in the order of the pieces, whoever merges them: the answer depends on no thread, and on no
/// amount of memory.
class Totals {
 public:
  /// The plan outlives this. `most_bytes`: of memory, for all groups; 0: three quarters of what is free once there are many.
  /// `spill_folder`: where groups go past that, as SpillFile has it; none: more are an error.
  explicit Totals(const Plan& plan, std::int64_t most_bytes = 0,
                  std::optional<std::string> spill_folder = std::nullopt);

  /// A piece, its groups part after part.
  struct Piece {
    explicit Piece(Groups from) : groups(std::move(from)) {}

    Groups groups;
    std::vector<std::int32_t> order;                  ///< of each group its place in the order of first rows
    std::array<std::int32_t, kParts + 1> begin = {};  ///< where each part begins
    std::atomic<int> left{kParts};                    ///< parts that have not merged it
    bool is_divided = false;                          ///< else its groups have the order of their first rows
    bool ascends = false;                             ///< likewise, and of their only key
    std::int64_t bytes = 0;                           ///< of memory, where it is divided or ascends
  };
  /// Of what a thread has folded; where these are many groups their memory is left to it, and nothing of worth in it.
  [[nodiscard]] std::unique_ptr<Piece> piece_of(Groups& groups);
  /// Of memory, for pieces whose turn has not come: with more it is better to help with those before them.
  [[nodiscard]] std::int64_t most_waiting() const;

  /// The next piece, in the table's order: by one thread at a time.
  void add(std::unique_ptr<Piece> piece);
  /// Merges what has been added, as far as no other thread is at it; a little at a time costs more, so it may leave some.
  /// `stop`: true once merge_all() is near, by which other threads are not idle meanwhile.
  /// Throws as merge() of groups does, as SpillFile does, and out_of_memory for more groups than memory has room for.
  void merge_some(const std::atomic<bool>* stop = nullptr);
  /// Merges all that has been added, when no more will be.
  void merge_all(int workers = 1);

  // Once all is merged:
  /// What all pieces come to; groups have the order of their first rows. Not where some have gone to a file.
  [[nodiscard]] Groups take(int workers) &&;

  /// Groups, and of each the place of its first row, ascending; none: they have their order, and follow those of the views before.
  struct View {
    const Groups* groups;
    std::span<const std::uint64_t> first;
  };
  /// All groups, until forget(), where none are in a file. Frees what else there is.
  [[nodiscard]] std::vector<View> views(int workers);
  /// The memory of all groups is free.
  void forget(int workers);

  /// Calls `use` with all groups, a section at a time, by several threads; afterwards their memory is free. `pause` is called
  /// now and then, by one thread at a time; throwing, it ends this. Throws what these throw, and what SpillFile does.
  void use_sections(int workers, const UseGroups& use, const std::function<void()>& pause);
  /// How many groups have their first row before that place; after use_sections(), too.
  [[nodiscard]] std::int64_t count_before(std::uint64_t place, int workers);

  /// Groups; -1 where some are in a file.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] bool has_spilled() const { return bytes_spilled() > 0; }
  [[nodiscard]] std::int64_t bytes_spilled() const { return spilled_ == nullptr ? 0 : spilled_->bytes(); }
  /// Of memory, at this time.
  [[nodiscard]] std::int64_t bytes() const { return bytes_ + piece_bytes_ + loaded_; }
  /// That it may take; 0: not known yet, as there are few groups.
  [[nodiscard]] std::int64_t most_bytes() const { return most_bytes_; }

 private:
  /// Groups whose hashes begin alike.
  struct Part {
    std::mutex merging;
    std::optional<Groups> groups;
    detail::Large<std::uint64_t> first;  ///< of each group: its piece and its number there, ascending
    std::atomic<std::size_t> merged{0};  ///< pieces
    std::atomic<std::int64_t> bytes{0};  ///< of memory
    std::unique_ptr<SpilledPartitions::Writer>
        writer;  ///< where its groups are in the file: there they are merged in the end
    std::atomic<bool> is_spilled{false};
  };
  std::unique_ptr<Piece> ascending(const Groups& groups);
  [[nodiscard]] bool follows(const Piece& piece) const;
  void append(std::unique_ptr<Piece> piece);
  std::unique_ptr<Piece> divided(Groups& groups);
  void begin_parts();
  [[nodiscard]] bool ascend() const { return !is_divided_ && !pieces_.empty(); }
  void require_known_memory();
  [[nodiscard]] std::size_t due() const;
  void merge(int number);
  void merge(Part& part, int number, std::size_t which, const Piece& piece);
  void merge_rows(Part& part, int number, std::size_t which, const Piece& piece);
  void count_memory(Part& part);
  void refuse_memory() const;
  [[nodiscard]] Groups joined_pieces(int workers) const;
  void order_piece(std::size_t piece, std::span<GroupPlace> places) const;

  void begin_spilling();
  void spill_some();
  void spill(Part& part);
  void finish_writing();
  void free_spare(int workers);
  void use_pieces(int workers, const UseGroups& use, const std::function<void()>& pause);

  const Plan& plan_;
  Groups few_;  ///< until there are many
  std::atomic<bool> is_divided_{false};
  std::mutex adding_;
  /// Grows under adding_. Until there are parts: pieces whose keys ascend from one to the next, so that no two of them have a
  /// group in common, and none is looked for.
  std::vector<std::unique_ptr<Piece>> pieces_;
  std::vector<std::int64_t> counts_;  ///< of groups in each of these
  std::vector<Groups> spare_;         ///< of pieces that are merged: memory for others; under adding_
  std::atomic<std::size_t> added_{0};
  std::array<Part, kParts> parts_;
  std::atomic<unsigned> next_{0};  ///< the part that the next thread begins with
  std::atomic<std::int64_t> most_bytes_;
  std::atomic<std::int64_t> bytes_{0};        ///< of all parts
  std::atomic<std::int64_t> piece_bytes_{0};  ///< of all pieces that are divided or ascend
  std::atomic<std::int64_t> last_bytes_{0};   ///< of the last piece that was divided
  std::atomic<std::int64_t> loaded_{0};       ///< of sections
  std::optional<std::string> spill_folder_;
  std::mutex spilling_;
  std::unique_ptr<SpilledPartitions> spilled_;
};

}  // namespace upsweep::query
