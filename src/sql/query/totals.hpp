// SPDX-License-Identifier: Apache-2.0
// sql/query/totals.hpp: merges the groups of a table's chunks in the table's order.
//
// Few groups are merged by one thread at a time. Many groups are divided into partitions by their hashes, which threads merge side by
// side. Where memory does not suffice, partitions go to a temporary file.
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

/// Each group's states are merged in the order of the chunks, by whichever thread: the answer does not depend on threads, nor on
/// the amount of memory.
class Totals {
 public:
  /// The plan outlives this. `most_bytes`: of memory, for all groups; 0: three quarters of what is free once there are many.
  /// `spill_folder`: where groups go past that, as SpillFile has it; none: more are an error.
  explicit Totals(const QueryPlan& plan, std::int64_t most_bytes = 0,
                  std::optional<std::string> spill_folder = std::nullopt);

  /// The groups of batches that follow each other. Where it is divided they are ordered by partition.
  struct FoldedChunk {
    explicit FoldedChunk(Groups from) : groups(std::move(from)) {}

    Groups groups;
    std::vector<std::int32_t> order;                       ///< of each group its place in the order of first rows
    std::array<std::int32_t, kPartitions + 1> begin = {};  ///< where each partition begins
    std::atomic<int> left{kPartitions};                    ///< partitions that have not merged it
    bool is_divided = false;                               ///< otherwise its groups have the order of their first rows
    bool ascends = false;                                  ///< likewise, and of their only key
    std::int64_t bytes = 0;                                ///< of memory, where it is divided or ascends
  };
  /// Makes a chunk of what a thread has folded. Where these are many groups, the thread keeps their memory, whose contents mean nothing.
  [[nodiscard]] std::unique_ptr<FoldedChunk> chunk_of(Groups& groups);
  /// Bytes that chunks may take whose turn has not come. With more, threads should read the chunks before them.
  [[nodiscard]] std::int64_t most_waiting() const;

  /// Adds the next chunk in the table's order. One thread at a time.
  void add(std::unique_ptr<FoldedChunk> chunk);
  /// Merges what has been added, except partitions that other threads merge. It may leave some, as merging a little at a time costs more.
  /// `stop`: true once merge_all() is near, by which other threads are not idle meanwhile.
  /// Throws as merge() of groups does, as SpillFile does, and out_of_memory for more groups than memory holds.
  void merge_some(const std::atomic<bool>* stop = nullptr);
  /// Merges all that has been added, when no more will be.
  void merge_all(int workers = 1);

  // Once all is merged:
  /// Returns the groups of all chunks, in the order of their first rows. Not where some have gone to a file.
  [[nodiscard]] Groups take(int workers) &&;

  /// Groups, and of each the place of its first row, ascending. Without places they have their order, and follow those of the views before.
  struct View {
    const Groups* groups;
    std::span<const std::uint64_t> first;
  };
  /// All groups, until forget(), where none are in a file. Frees what else there is.
  [[nodiscard]] std::vector<View> views(int workers);
  /// Frees the memory of all groups.
  void forget(int workers);

  /// Calls `use` with all groups, a partition at a time, by several threads; afterwards their memory is free. `pause` is called
  /// now and then, by one thread at a time; throwing, it ends this. Throws what these throw, and what SpillFile does.
  void use_partitions(int workers, const UseGroups& use, const std::function<void()>& pause);
  /// How many groups have their first row before that place; after use_partitions(), too.
  [[nodiscard]] std::int64_t count_before(std::uint64_t place, int workers);

  /// Groups; -1 where some are in a file.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] bool has_spilled() const { return bytes_spilled() > 0; }
  [[nodiscard]] std::int64_t bytes_spilled() const { return spilled_ == nullptr ? 0 : spilled_->bytes(); }
  /// Of memory, at this time.
  [[nodiscard]] std::int64_t bytes() const { return bytes_ + chunk_bytes_ + loaded_; }
  /// That it may take; 0: not known yet, as there are few groups.
  [[nodiscard]] std::int64_t most_bytes() const { return most_bytes_; }

 private:
  /// Groups whose hashes begin alike.
  struct Partition {
    std::mutex merging;
    std::optional<Groups> groups;
    detail::Large<std::uint64_t> first;  ///< of each group: its chunk and its number there, ascending
    std::atomic<std::size_t> merged{0};  ///< chunks
    std::atomic<std::int64_t> bytes{0};  ///< of memory
    std::unique_ptr<SpilledPartitions::Writer>
        writer;  ///< where its groups are in the file: there they are merged in the end
    std::atomic<bool> is_spilled{false};
  };
  std::unique_ptr<FoldedChunk> ascending(const Groups& groups);
  [[nodiscard]] bool follows(const FoldedChunk& chunk) const;
  void append(std::unique_ptr<FoldedChunk> chunk);
  std::unique_ptr<FoldedChunk> divided(Groups& groups);
  void begin_partitions();
  [[nodiscard]] bool ascend() const { return !is_divided_ && !chunks_.empty(); }
  void require_known_memory();
  [[nodiscard]] std::size_t due() const;
  void merge(int number);
  void merge(Partition& partition, int number, std::size_t which, const FoldedChunk& chunk);
  void merge_rows(Partition& partition, int number, std::size_t which, const FoldedChunk& chunk);
  void count_memory(Partition& partition);
  void refuse_memory() const;
  [[nodiscard]] Groups joined_chunks(int workers) const;
  void order_chunk(std::size_t chunk, std::span<GroupPlace> places) const;

  void begin_spilling();
  void spill_some();
  void spill(Partition& partition);
  void finish_writing();
  void free_spare(int workers);
  void use_chunks(int workers, const UseGroups& use, const std::function<void()>& pause);

  const QueryPlan& plan_;
  Groups few_;  ///< until there are many
  std::atomic<bool> is_divided_{false};
  std::mutex adding_;
  /// Grows under adding_. Until there are partitions: chunks whose keys ascend from one to the next, so that no two of them have a
  /// group in common, and none is looked for.
  std::vector<std::unique_ptr<FoldedChunk>> chunks_;
  std::vector<std::int64_t> counts_;  ///< of groups in each of these
  std::vector<Groups> spare_;         ///< of chunks that are merged: memory for others; under adding_
  std::atomic<std::size_t> added_{0};
  std::array<Partition, kPartitions> partitions_;
  std::atomic<unsigned> next_{0};  ///< the partition that the next thread begins with
  std::atomic<std::int64_t> most_bytes_;
  std::atomic<std::int64_t> bytes_{0};        ///< of all partitions
  std::atomic<std::int64_t> chunk_bytes_{0};  ///< of all chunks that are divided or ascend
  std::atomic<std::int64_t> last_bytes_{0};   ///< of the last chunk that was divided
  std::atomic<std::int64_t> loaded_{0};       ///< of partitions
  std::optional<std::string> spill_folder_;
  std::mutex spilling_;
  std::unique_ptr<SpilledPartitions> spilled_;
};

}  // namespace upsweep::query
