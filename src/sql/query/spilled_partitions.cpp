// SPDX-License-Identifier: Apache-2.0
// sql/query/spilled_partitions.cpp: threads take partitions in turn. A partition that needs too much memory is divided
// for the next round.
#include "sql/query/spilled_partitions.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "cpu/parallel.hpp"
#include "sql/query/group_merge.hpp"
#include "sql/query/unaggregated_rows.hpp"
#include "sql/tuning.hpp"

namespace upsweep::query {
namespace {

constexpr int kMostDepth = 9;  // a hash has bits for ten; hashes of encoded batches are recomputed with all bits
constexpr std::int64_t kMinBuffer = tuning::kSpill.least_buffer;
constexpr std::int64_t kMostBuffer = tuning::kSpill.most_buffer;
constexpr std::int64_t kWrittenAtOnce = tuning::kSpill.groups_at_once;
constexpr std::int64_t kMinPartition = tuning::kSpill.least_partition;

}  // namespace

std::size_t SpilledPartitions::buffer_bytes(std::int64_t most_bytes) {
  constexpr std::int64_t kShare = 8 * kPartitions;  // an eighth of the memory for all partitions
  return static_cast<std::size_t>(std::clamp(most_bytes / kShare, kMinBuffer, kMostBuffer));
}

void SpilledPartitions::write(Writer& writer, const Groups& groups, std::int64_t begin, std::int64_t end,
                              const std::uint64_t* first, std::size_t buffer) {
  writer.partition_.groups += end - begin;
  while (begin < end) {
    const std::int64_t next = std::min(end, begin + kWrittenAtOnce);
    writer.batches_.append(groups, begin, next, first, writer.buffer_);
    if (writer.buffer_.size() >= buffer) flush(writer);
    first += next - begin;
    begin = next;
  }
}

void SpilledPartitions::flush(Writer& writer) {
  if (writer.buffer_.empty()) return;
  writer.partition_.extents.push_back(file_.append(writer.buffer_));
  writer.buffer_.clear();
}

void SpilledPartitions::finish(Writer& writer) {
  flush(writer);
  partitions_.push_back(std::move(writer.partition_));
}

struct SpilledPartitions::Round {
  std::mutex changing;
  std::vector<Partition> todo;
  std::vector<Partition> divided;  ///< for the next round
  std::vector<Partition> done;
  int active = 0;         ///< number of threads
  std::int64_t most = 0;  ///< bytes that partitions may use while they are merged
  /// Groups of the smallest partition that did not fit: larger partitions are divided immediately. A group may be
  /// counted several times.
  std::int64_t smallest_divided = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error;
  std::int64_t most_bytes = 0;
  Pause* pause = nullptr;

  void join() {
    const std::lock_guard lock(changing);
    ++active;
  }
  bool take(Partition& next) {
    const std::lock_guard lock(changing);
    if (todo.empty() || error) {
      --active;
      return false;
    }
    next = std::move(todo.back());
    todo.pop_back();
    return true;
  }
  void fail() {
    const std::lock_guard lock(changing);
    if (!error) error = std::current_exception();
  }
};

void SpilledPartitions::use(int workers, std::int64_t most_bytes, const UseGroups& use, Pause& pause) {
  Round round;
  round.todo = std::exchange(partitions_, {});
  round.most = std::max(most_bytes / 2, kMinPartition);
  round.most_bytes = most_bytes;
  round.pause = &pause;
  while (!round.todo.empty()) {
    cpu::run_workers(workers, [&](int) {
      round.join();
      try {
        for (Partition partition; round.take(partition);) {
          if (!use_one(round, partition, use)) return;
        }
      } catch (...) {
        round.fail();
      }
    });
    if (round.error) std::rethrow_exception(round.error);
    round.active = 0;
    round.todo = std::exchange(round.divided, {});
  }
  partitions_ = std::move(round.done);
}

/// Reads an extent. `read_batch` receives the remaining bytes, and returns the bytes of the first batch, or 0 if there
/// is none.
template <class ReadBatch>
void SpilledPartitions::read(SpillFile::Extent extent, std::vector<std::byte>& buffer, const ReadBatch& read_batch) {
  const auto bytes = static_cast<std::size_t>(extent.bytes);
  buffer.resize(bytes + kAfterBatches);
  file_.read(extent, buffer.data());
  for (std::size_t at = 0; at < bytes;) {
    const std::size_t batch = read_batch(std::span<const std::byte>(buffer).subspan(at, bytes - at));
    if (batch == 0) file_.refuse_bytes();
    at += batch;
  }
}

/// Returns false if memory is insufficient because other threads merge partitions. The partition is left to them, and
/// this thread ends.
bool SpilledPartitions::use_one(Round& round, Partition& partition, const UseGroups& use) {
  std::unique_lock lock(round.changing);
  const bool is_too_large = partition.depth < kMostDepth && partition.groups >= round.smallest_divided;
  lock.unlock();
  if (is_too_large) {
    divide(round, partition);
    return true;
  }
  std::optional<Groups> groups(std::in_place, plan_);
  Groups batch(plan_);
  detail::Large<std::uint64_t> first;
  detail::Large<std::uint64_t> batch_first;
  std::vector<std::int64_t> fresh;
  std::vector<std::byte> buffer;
  GroupDecoder batches(plan_);
  // Counts memory until it is freed.
  struct Counted {
    std::atomic<std::int64_t>& all;
    std::int64_t bytes = 0;
    void set(std::int64_t now) { all += now - std::exchange(bytes, now); }
    ~Counted() { all -= bytes; }
  } counted{loaded_};
  std::int64_t seen = 0;
  for (const SpillFile::Extent extent : partition.extents) {
    read(extent, buffer, [&](std::span<const std::byte> from) {
      batch.clear();
      batch_first.clear();
      const std::size_t bytes = batches.read(from, batch, batch_first);
      if (bytes == 0) return bytes;
      seen += batch.count();
      fresh.clear();
      merge(*groups, batch, 0, batch.count(), fresh);
      for (const std::int64_t group : fresh) first.push_back(batch_first[static_cast<std::size_t>(group)]);
      return bytes;
    });
    counted.set(groups->bytes() +
                static_cast<std::int64_t>(first.capacity() * sizeof(std::uint64_t) + buffer.capacity()));
    round.pause->now();
    if (loaded_ <= round.most) continue;
    lock.lock();
    if (round.active > 1) {
      --round.active;
      round.todo.push_back(std::move(partition));
      return false;
    }
    if (partition.depth < kMostDepth && groups->count() > kPartitions) {
      round.smallest_divided = std::min(round.smallest_divided, partition.groups);
      lock.unlock();
      groups.reset();
      detail::free_vector(first);
      counted.set(0);
      divide(round, partition);
      return true;
    }
    lock.unlock();
  }
  if (seen != partition.groups) file_.refuse_bytes();
  use(*groups, first);
  lock.lock();
  round.done.push_back(std::move(partition));
  return true;
}

/// Divides a partition by the next bits of the hashes. The next round processes the results.
void SpilledPartitions::divide(Round& round, const Partition& partition) {
  std::vector<Writer> writers(kPartitions, Writer(plan_));
  const std::size_t most_buffer = buffer_bytes(round.most_bytes) / 4;
  Groups groups(plan_);
  Groups ordered(plan_);
  detail::Large<std::uint64_t> first;
  detail::Large<std::uint64_t> ordered_first;
  std::vector<std::int32_t> order;
  std::vector<std::byte> buffer;
  GroupDecoder batches(plan_);
  std::int64_t seen = 0;
  for (const SpillFile::Extent extent : partition.extents) {
    groups.clear();
    first.clear();
    read(extent, buffer, [&](std::span<const std::byte> from) { return batches.read(from, groups, first); });
    seen += groups.count();
    const auto number_of = [&](std::int32_t g) {
      return static_cast<std::size_t>(partition_of(groups.hash(g), partition.depth + 1));
    };
    std::array<std::int32_t, kPartitions + 1> begin = {};
    const auto count = static_cast<std::int32_t>(groups.count());
    for (std::int32_t g = 0; g < count; ++g) ++begin[number_of(g) + 1];
    for (std::size_t p = 0; p < kPartitions; ++p) begin[p + 1] += begin[p];
    order.resize(static_cast<std::size_t>(count));
    ordered_first.resize(static_cast<std::size_t>(count));
    auto next = begin;
    for (std::int32_t g = 0; g < count; ++g) {
      const auto to = static_cast<std::size_t>(next[number_of(g)]++);
      order[to] = g;
      ordered_first[to] = first[static_cast<std::size_t>(g)];
    }
    ordered.take_in_order(groups, order);
    for (std::size_t p = 0; p < kPartitions; ++p) {
      write(writers[p], ordered, begin[p], begin[p + 1], ordered_first.data() + begin[p], most_buffer);
    }
    round.pause->now();
  }
  if (seen != partition.groups) file_.refuse_bytes();
  for (Writer& writer : writers) flush(writer);
  for (const SpillFile::Extent extent : partition.extents) file_.forget(extent);
  const std::lock_guard lock(round.changing);
  for (Writer& writer : writers) {
    writer.partition_.depth = partition.depth + 1;
    if (writer.partition_.groups > 0) round.divided.push_back(std::move(writer.partition_));
  }
}

}  // namespace upsweep::query
