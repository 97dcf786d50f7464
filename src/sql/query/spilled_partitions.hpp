// SPDX-License-Identifier: Apache-2.0
// sql/query/spilled_partitions.hpp: partitions of groups in a temporary file: written in any order, merged at the end.
//
// A partition is read from its beginning and merged in the order in which it was written. Its states therefore have the
// same bits as in memory. A partition that does not fit in memory on its own is divided by the next bits of the hashes.
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

/// Receives some groups, with all of their rows, and for each the place of its first row, ascending. The places also
/// order the groups of different calls.
using UseGroups = std::function<void(const Groups&, std::span<const std::uint64_t> first)>;

/// Allows one thread at a time to call a function now and then.
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
  /// A partition in the file: encoded batches in the order in which they are merged.
  struct Partition {
    std::vector<SpillFile::Extent> extents;
    std::int64_t groups = 0;  ///< groups of all encoded batches
    int depth = 0;            ///< how often it was divided
  };

 public:
  /// Encoded batches of a partition that are not yet in the file.
  class Writer {
   public:
    explicit Writer(const QueryPlan& plan) : batches_(plan) {}
    /// Returns bytes of memory.
    [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(buffer_.capacity()); }

   private:
    friend class SpilledPartitions;
    GroupEncoder batches_;
    std::vector<std::byte> buffer_;
    Partition partition_;
  };

  /// `folder`: that of SpillFile. `loaded` counts the memory of partitions that are being merged. The arguments must
  /// outlive this object.
  SpilledPartitions(const QueryPlan& plan, const std::string& folder, std::atomic<std::int64_t>& loaded)
      : plan_(plan), file_(folder), loaded_(loaded) {}

  /// Returns the bytes of encoded batches that are collected before a write, if all groups may use `most_bytes` of
  /// memory.
  static std::size_t buffer_bytes(std::int64_t most_bytes);
  /// Appends the groups in [begin, end), with the places of their first rows. `buffer`: the result of buffer_bytes().
  void write(Writer& writer, const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
             std::size_t buffer);
  /// Must be called after the last groups of a partition.
  void finish(Writer& writer);

  /// Calls `use` with all groups, a partition at a time, from several threads, within about `most_bytes` of memory. The
  /// groups stay in the file.
  void use(int workers, std::int64_t most_bytes, const UseGroups& use, Pause& pause);

  [[nodiscard]] std::int64_t bytes() const { return file_.bytes(); }

 private:
  /// The remaining partitions while threads use them.
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
