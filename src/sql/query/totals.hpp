// SPDX-License-Identifier: Apache-2.0
// sql/query/totals.hpp: merges the groups of a table's chunks in the table's order.
//
// One thread at a time merges a small number of groups. A large number of groups is divided into partitions by their
// hashes, which threads merge in parallel. If memory does not suffice, partitions are written to a temporary file.
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

/// The states of each group are merged in the order of the chunks. The answer therefore does not depend on the threads,
/// nor on the amount of memory.
class Totals {
 public:
  /// The plan must outlive this object. `most_bytes`: memory for all groups; 0: three quarters of the free memory once
  /// there are many groups. `spill_folder`: the folder of SpillFile for further groups; none: further groups are an
  /// error.
  explicit Totals(const QueryPlan& plan, std::int64_t most_bytes = 0,
                  std::optional<std::string> spill_folder = std::nullopt);

  /// The groups of consecutive batches. In a divided chunk they are ordered by partition.
  struct FoldedChunk {
    explicit FoldedChunk(Groups from) : groups(std::move(from)) {}

    Groups groups;
    std::vector<std::int32_t> order;                       ///< for each group its position in the order of first rows
    std::array<std::int32_t, kPartitions + 1> begin = {};  ///< start of each partition
    std::atomic<int> left{kPartitions};                    ///< number of partitions that have not merged it
    bool is_divided = false;                               ///< otherwise groups are in the order of their first rows
    bool ascends = false;                                  ///< the groups are also in the order of their only key
    std::int64_t bytes = 0;                                ///< bytes of memory, if it is divided or ascends
  };
  /// Creates a chunk from the groups that a thread has folded. If there are many groups, the thread keeps their memory,
  /// with undefined contents.
  [[nodiscard]] std::unique_ptr<FoldedChunk> chunk_of(Groups& groups);
  /// Returns the bytes that waiting chunks may use. If they use more, threads should read the chunks before them.
  [[nodiscard]] std::int64_t most_waiting() const;

  /// Adds the next chunk in the table's order. Only one thread at a time may call this.
  void add(std::unique_ptr<FoldedChunk> chunk);
  /// Merges the added chunks, except partitions that other threads merge. It may leave some, because merging small
  /// amounts costs more. `stop`: becomes true when merge_all() is near; merge_some() then returns, because merge_all()
  /// employs all threads. Throws the errors of merge() of groups and of SpillFile, and out_of_memory for more groups
  /// than fit in memory.
  void merge_some(const std::atomic<bool>* stop = nullptr);
  /// Merges all added chunks, after the last one was added.
  void merge_all(int workers = 1);

  // The following functions must be called after merge_all():
  /// Returns the groups of all chunks, in the order of their first rows. No groups may be in a file.
  [[nodiscard]] Groups take(int workers) &&;

  /// Groups, and for each the place of its first row, ascending. Without places, the groups are in order, and follow
  /// those of the previous views.
  struct View {
    const Groups* groups;
    std::span<const std::uint64_t> first;
  };
  /// Returns all groups, which are valid until forget(). No groups may be in a file. Frees all other memory.
  [[nodiscard]] std::vector<View> views(int workers);
  /// Frees the memory of all groups.
  void forget(int workers);

  /// Calls `use` with all groups, a partition at a time, from several threads, and frees their memory afterwards.
  /// `pause` is called now and then, by one thread at a time. If it throws, this function ends. Throws the errors of
  /// both and of SpillFile.
  void use_partitions(int workers, const UseGroups& use, const std::function<void()>& pause);
  /// Returns the number of groups whose first row is before that place, also after use_partitions().
  [[nodiscard]] std::int64_t count_before(std::uint64_t place, int workers);

  /// Returns the number of groups, or -1 if some are in a file.
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] bool has_spilled() const { return bytes_spilled() > 0; }
  [[nodiscard]] std::int64_t bytes_spilled() const { return spilled_ == nullptr ? 0 : spilled_->bytes(); }
  /// Returns the bytes of memory that are used now.
  [[nodiscard]] std::int64_t bytes() const { return bytes_ + chunk_bytes_ + loaded_; }
  /// Returns the allowed bytes of memory; 0: not known yet, because there are few groups.
  [[nodiscard]] std::int64_t most_bytes() const { return most_bytes_; }

 private:
  /// Groups whose hashes begin with the same bits.
  struct Partition {
    std::mutex merging;
    std::optional<Groups> groups;
    detail::Large<std::uint64_t> first;  ///< for each group: its chunk and its number in that chunk, ascending
    std::atomic<std::size_t> merged{0};  ///< number of chunks
    std::atomic<std::int64_t> bytes{0};  ///< bytes of memory
    std::unique_ptr<SpilledPartitions::Writer> writer;  ///< set if its groups are in the file and are merged at the end
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
  Groups few_;  ///< used until there are many groups
  std::atomic<bool> is_divided_{false};
  std::mutex adding_;
  /// Grows under adding_. Before there are partitions, it contains chunks whose keys ascend from chunk to chunk. No two
  /// of them have a group in common, so no search is needed.
  std::vector<std::unique_ptr<FoldedChunk>> chunks_;
  std::vector<std::int64_t> counts_;  ///< number of groups in each of these chunks
  std::vector<Groups> spare_;         ///< memory of merged chunks, for reuse; under adding_
  std::atomic<std::size_t> added_{0};
  std::array<Partition, kPartitions> partitions_;
  std::atomic<unsigned> next_{0};  ///< the partition that the next thread begins with
  std::atomic<std::int64_t> most_bytes_;
  std::atomic<std::int64_t> bytes_{0};        ///< bytes of all partitions
  std::atomic<std::int64_t> chunk_bytes_{0};  ///< bytes of all chunks that are divided or ascend
  std::atomic<std::int64_t> last_bytes_{0};   ///< bytes of the last chunk that was divided
  std::atomic<std::int64_t> loaded_{0};       ///< bytes of partitions that are read from the file
  std::optional<std::string> spill_folder_;
  std::mutex spilling_;
  std::unique_ptr<SpilledPartitions> spilled_;
};

}  // namespace upsweep::query
