// SPDX-License-Identifier: Apache-2.0
// sql/query/spilled_partitions.hpp: partitions of groups in a temporary file: written as they come, merged when all have come.
//
// A partition is read from its front and merged in the order in which it was written, so its states have the bits that they would
// have in memory. One that does not fit the memory even alone is divided by the next bits of the hashes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "sql/query/group_coder.hpp"
#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/spill_file.hpp"

namespace upsweep::query {

/// Gets some groups, with all of their rows, and of each the place of its first row, ascending: these order the groups of different
/// calls, too.
using UseGroups = std::function<void(const Groups&, std::span<const std::uint64_t> first)>;

/// Lets one thread at a time call a function now and then.
class Pause {
 public:
  explicit Pause(const std::function<void()>& pause) : pause_(pause) {}
  void now() {
    const std::unique_lock lock(pausing_, std::try_to_lock);
    if (lock && pause_) pause_();
  }

 private:
  const std::function<void()>& pause_;
  std::mutex pausing_;
};

class SpilledPartitions {
 private:
  /// A partition in the file, as encoded batches in the order in which they are merged.
  struct Partition {
    std::vector<SpillFile::Extent> extents;
    std::int64_t groups = 0;  ///< of all encoded batches
    int depth = 0;            ///< how often it was divided
  };

 public:
  /// Encoded batches of a partition on their way into the file.
  class Writer {
   public:
    explicit Writer(const QueryPlan& plan) : batches_(plan) {}
    /// Bytes of memory.
    [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(buffer_.capacity()); }

   private:
    friend class SpilledPartitions;
    GroupEncoder batches_;
    std::vector<std::byte> buffer_;
    Partition partition_;
  };

  /// `folder`: as SpillFile has it. `loaded` counts the memory of partitions that are being merged. The arguments outlive this.
  SpilledPartitions(const QueryPlan& plan, const std::string& folder, std::atomic<std::int64_t>& loaded)
      : plan_(plan), file_(folder), loaded_(loaded) {}

  /// Bytes of encoded batches that are collected before they are written, where all groups may take that much memory.
  static std::size_t buffer_bytes(std::int64_t most_bytes);
  /// Appends the groups from `begin` up to `end`, with the places of their first rows. `buffer`: as buffer_bytes() returns it.
  void write(Writer& writer, const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
             std::size_t buffer);
  /// After the last groups of a partition.
  void finish(Writer& writer);

  /// Calls `use` with all groups, a partition at a time, by several threads, within about `most_bytes` of memory; they stay in the file.
  void use(int workers, std::int64_t most_bytes, const UseGroups& use, Pause& pause);

  [[nodiscard]] std::int64_t bytes() const { return file_.bytes(); }

 private:
  /// The partitions that are left while threads use them.
  struct Round;

  void flush(Writer& writer);
  template <class ReadBatch>
  void read(SpillFile::Extent extent, std::vector<std::byte>& buffer, const ReadBatch& read_batch);
  bool use_one(Round& round, Partition& partition, const UseGroups& use);
  void divide(Round& round, const Partition& partition);

  const QueryPlan& plan_;
  SpillFile file_;
  std::atomic<std::int64_t>& loaded_;
  std::vector<Partition> partitions_;
};

}  // namespace upsweep::query
