// SPDX-License-Identifier: Apache-2.0
// sql/query/totals.cpp: chunks wait until there are enough; then a thread merges one partition of all of them in cache.
//
// If memory does not suffice, the merged groups of the largest partition are written to a temporary file. The groups of
// later chunks in this partition are written unmerged. At the end, the partition is read from its beginning and merged
// in the same order, so its states have the same bits. A partition that is too large on its own is divided by the next
// bits of the hashes.
#include "sql/query/totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "sql/tuning.hpp"
#include "system/memory.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

// Number of groups from which they are merged in partitions.
constexpr std::int64_t kMany = tuning::kGroups.partitioned_from;
// Minimum number of chunks that a partition waits for. Its groups are then loaded into the cache only once for all of
// them.
constexpr std::size_t kMinWaiting = tuning::kGroups.least_waiting;
constexpr std::int64_t kWaiting = tuning::kGroups.waiting;
constexpr std::int64_t kMostWaiting = tuning::kGroups.most_waiting_bytes;

// The share of the allowed memory that may be used before groups are written to a file. The rest is for uncounted
// memory, such as the batches being read, and for vectors that grow.
constexpr std::int64_t at_work(std::int64_t most) { return most / 4 * 3; }
constexpr std::uint64_t place(std::size_t chunk, std::int32_t group) {
  return (std::uint64_t{chunk} << 32) | static_cast<std::uint32_t>(group);
}

}  // namespace

Totals::Totals(const QueryPlan& plan, std::int64_t most_bytes, std::optional<std::string> spill_folder)
    : plan_(plan), few_(plan), most_bytes_(most_bytes), spill_folder_(std::move(spill_folder)) {
  // A folder that the caller named is opened now, so that errors are reported before the first groups are written.
  if (spill_folder_ && !spill_folder_->empty()) begin_spilling();
}

std::unique_ptr<Totals::FoldedChunk> Totals::chunk_of(Groups& groups) {
  if (!is_divided_ && groups.ascend()) return ascending(groups);
  if (groups.count() >= kMany || groups.unaggregated().count() > 0) return divided(groups);
  return std::make_unique<FoldedChunk>(std::exchange(groups, Groups(plan_)));
}

std::unique_ptr<Totals::FoldedChunk> Totals::ascending(const Groups& groups) {
  if (groups.count() >= kMany) require_known_memory();
  auto chunk = std::make_unique<FoldedChunk>(Groups(plan_));
  chunk->groups.copy(groups);
  chunk->ascends = true;
  chunk->bytes = chunk->groups.bytes();
  chunk_bytes_ += chunk->bytes;
  return chunk;
}

/// Returns whether the keys are greater than all earlier keys. The first key may be equal to the last earlier key.
bool Totals::follows(const FoldedChunk& chunk) const {
  if (!chunk.ascends) return false;
  if (chunks_.empty()) return few_.count() == 0 && chunk.groups.count() >= kMany;
  const Groups& last = chunks_.back()->groups;
  return last.key(last.count() - 1, 0) <= chunk.groups.key(0, 0);
}

void Totals::append(std::unique_ptr<FoldedChunk> chunk) {
  if (!chunks_.empty()) {
    Groups& last = chunks_.back()->groups;
    if (last.key(last.count() - 1, 0) == chunk->groups.key(0, 0)) {
      give_last(last, chunk->groups);
      --counts_.back();
    }
  }
  counts_.push_back(chunk->groups.count());
  chunks_.push_back(std::move(chunk));
  if (bytes() > most_bytes_ / 2) begin_partitions();
}

std::unique_ptr<Totals::FoldedChunk> Totals::divided(Groups& groups) {
  require_known_memory();
  std::unique_ptr<FoldedChunk> chunk;
  {
    const std::lock_guard lock(adding_);
    if (!spare_.empty()) {
      chunk = std::make_unique<FoldedChunk>(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  if (chunk == nullptr) {
    chunk = std::make_unique<FoldedChunk>(Groups(plan_));
  } else {
    chunk_bytes_ -= chunk->groups.bytes();
  }
  const auto count = static_cast<std::int32_t>(groups.count());
  const auto partition = [&](std::int32_t group) { return static_cast<std::size_t>(partition_of(groups.hash(group))); };
  auto& begin = chunk->begin;
  for (std::int32_t g = 0; g < count; ++g) ++begin[partition(g) + 1];
  for (std::size_t p = 0; p < kPartitions; ++p) begin[p + 1] += begin[p];
  chunk->order.resize(static_cast<std::size_t>(count));
  auto next = begin;
  for (std::int32_t g = 0; g < count; ++g) chunk->order[static_cast<std::size_t>(next[partition(g)]++)] = g;
  chunk->groups.unaggregated().clear();
  std::swap(chunk->groups.unaggregated(), groups.unaggregated());
  chunk->groups.take_in_order(groups, chunk->order);
  chunk->is_divided = true;
  chunk->bytes = chunk->groups.bytes() + std::ssize(chunk->order) * std::int64_t{sizeof(std::int32_t)};
  chunk_bytes_ += chunk->bytes;
  last_bytes_ = chunk->bytes;
  return chunk;
}

void Totals::add(std::unique_ptr<FoldedChunk> chunk) {
  if (plan_.grouped && !chunk->is_divided && chunk->groups.count() == 0) return;  // a batch in which no row is kept
  if (!is_divided_ && follows(*chunk)) return append(std::move(chunk));
  if (!chunk->is_divided) chunk_bytes_ -= std::exchange(chunk->bytes, 0);
  if (!is_divided_ && !chunk->is_divided && chunks_.empty()) {
    query::merge(few_, chunk->groups);
    if (!plan_.grouped || few_.count() < kMany) return;
    chunk = nullptr;
  }
  if (!is_divided_) begin_partitions();
  if (chunk == nullptr) return;
  if (!chunk->is_divided) chunk = divided(chunk->groups);
  const std::lock_guard lock(adding_);
  chunks_.push_back(std::move(chunk));
  added_ = chunks_.size();
}

/// Converts the existing groups to the first chunks.
void Totals::begin_partitions() {
  require_known_memory();
  for (Partition& partition : partitions_) partition.groups.emplace(plan_);
  if (few_.count() > 0) chunks_.push_back(divided(few_));
  for (std::unique_ptr<FoldedChunk>& chunk : chunks_) {
    if (chunk->is_divided) continue;
    chunk_bytes_ -= chunk->bytes;
    chunk = divided(chunk->groups);
  }
  added_ = chunks_.size();
  is_divided_ = true;
}

void Totals::require_known_memory() {
  if (most_bytes_ == 0) most_bytes_ = std::max<std::int64_t>(available_memory() / 4 * 3, 1);
}

std::int64_t Totals::most_waiting() const {
  const std::int64_t most = most_bytes_;
  return most == 0 ? std::numeric_limits<std::int64_t>::max() : most / 8;
}

std::int64_t Totals::count() const {
  if (ascend()) return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  if (!is_divided_) return few_.count();
  std::int64_t all = 0;
  for (const Partition& partition : partitions_) {
    if (partition.is_spilled) return -1;
    all += std::ssize(partition.first);
  }
  return all;
}

void Totals::merge_some(const std::atomic<bool>* stop) {
  if (!is_divided_) return;
  const unsigned first = next_++;
  for (unsigned i = 0; i < kPartitions && !(stop != nullptr && *stop); ++i) {
    const auto number = static_cast<int>((first + i) % kPartitions);
    Partition& partition = partitions_[static_cast<std::size_t>(number)];
    const std::size_t waiting = added_ - partition.merged;
    if (waiting == 0 || (waiting < due() && bytes() < most_bytes_ / 2)) continue;
    {
      const std::unique_lock lock(partition.merging, std::try_to_lock);
      if (lock) merge(number);
    }
    spill_some();
  }
}

/// Returns the number of chunks that a partition waits for. If all groups use more memory, more chunks wait, up to that
/// memory. The groups are then loaded into the cache once per that number of bytes.
std::size_t Totals::due() const {
  const std::int64_t each = std::max<std::int64_t>(last_bytes_, 1);
  const std::int64_t wanted = std::max<std::int64_t>(bytes_, kWaiting * each);
  return std::max(kMinWaiting, static_cast<std::size_t>(std::min(wanted, kMostWaiting) / each));
}

/// Merges all added chunks of a partition. The calling thread must hold the partition.
void Totals::merge(int number) {
  Partition& partition = partitions_[static_cast<std::size_t>(number)];
  std::vector<FoldedChunk*> chunks;
  {
    const std::lock_guard lock(adding_);
    for (std::size_t i = partition.merged; i < chunks_.size(); ++i) chunks.push_back(chunks_[i].get());
  }
  for (FoldedChunk* const chunk : chunks) {
    const std::size_t which = partition.merged;
    merge(partition, number, which, *chunk);
    partition.merged = which + 1;
    if (--chunk->left > 0) continue;
    const std::lock_guard lock(adding_);
    chunk_bytes_ -= chunk->bytes;
    if (bytes() < most_bytes_ / 4) {
      chunk_bytes_ += chunk->groups.bytes();
      spare_.push_back(std::move(chunk->groups));
    }
    chunks_[which].reset();
  }
}

void Totals::merge(Partition& partition, int number, std::size_t which, const FoldedChunk& chunk) {
  const std::int64_t begin = chunk.begin[static_cast<std::size_t>(number)];
  const std::int64_t end = chunk.begin[static_cast<std::size_t>(number) + 1];
  const auto place_of = [&](std::int64_t group) { return place(which, chunk.order[static_cast<std::size_t>(group)]); };
  if (partition.writer != nullptr) {
    detail::Large<std::uint64_t> first;
    first.reserve(static_cast<std::size_t>(end - begin));
    for (std::int64_t group = begin; group < end; ++group) first.push_back(place_of(group));
    spilled_->write(*partition.writer, chunk.groups, begin, end, first.data(),
                    SpilledPartitions::buffer_bytes(most_bytes_));
  } else {
    std::vector<std::int64_t> fresh;
    query::merge(*partition.groups, chunk.groups, begin, end, fresh);
    for (const std::int64_t group : fresh) partition.first.push_back(place_of(group));
  }
  if (chunk.groups.unaggregated().count() > 0) merge_rows(partition, number, which, chunk);
  count_memory(partition);
}

void Totals::merge_rows(Partition& partition, int number, std::size_t which, const FoldedChunk& chunk) {
  const UnaggregatedRows& rows = chunk.groups.unaggregated();
  const auto place_of = [&](std::int64_t row) {
    return place(which, static_cast<std::int32_t>(chunk.groups.count() + row));  // after all groups
  };
  std::vector<std::int64_t> fresh;
  if (partition.writer == nullptr) {
    query::merge(*partition.groups, rows, number, fresh);
    for (const std::int64_t row : fresh) partition.first.push_back(place_of(row));
    return;
  }
  Groups apart(plan_);
  query::append(apart, rows, number);
  detail::Large<std::uint64_t> first;
  first.reserve(static_cast<std::size_t>(rows.count(number)));
  for (std::int64_t i = 0; i < rows.count(number); ++i) {
    first.push_back(place_of(static_cast<std::int64_t>(UnaggregatedRows::place(rows.row(number, i)))));
  }
  spilled_->write(*partition.writer, apart, 0, apart.count(), first.data(),
                  SpilledPartitions::buffer_bytes(most_bytes_));
}

void Totals::count_memory(Partition& partition) {
  std::int64_t now = static_cast<std::int64_t>(partition.first.capacity() * sizeof(std::uint64_t));
  if (partition.groups) now += partition.groups->bytes();
  if (partition.writer != nullptr) now += partition.writer->bytes();
  bytes_ += now - partition.bytes.exchange(now);
  if (!spill_folder_) refuse_memory();
}

/// At the end, all partitions exist twice, because they are joined.
void Totals::refuse_memory() const {
  if (bytes_ <= most_bytes_ / 2) return;
  throw Error(
      Code::out_of_memory,
      fmt::format("GROUP BY produces more groups than fit in memory: they use {} MB so far, twice that amount is "
                  "needed at the end, and {} MB are allowed: group by fewer columns, or query fewer rows at a time",
                  bytes_ >> 20, most_bytes_ >> 20));
}

// -------------------------------------------------------------------------------------------------- to and from a file

void Totals::begin_spilling() { spilled_ = std::make_unique<SpilledPartitions>(plan_, *spill_folder_, loaded_); }

/// Writes the largest partitions to the file until enough memory is free.
void Totals::spill_some() {
  if (!spill_folder_ || bytes() <= at_work(most_bytes_)) return;
  const std::unique_lock lock(spilling_, std::try_to_lock);
  if (!lock) return;  // another thread writes
  while (bytes() > at_work(most_bytes_)) {
    const auto size = [](const Partition& partition) {
      return partition.is_spilled ? std::int64_t{-1} : partition.bytes.load();
    };
    Partition& partition = *std::max_element(partitions_.begin(), partitions_.end(),
                                             [&](const Partition& a, const Partition& b) { return size(a) < size(b); });
    if (partition.is_spilled) return;  // all are in the file
    if (spilled_ == nullptr) begin_spilling();
    const std::lock_guard merging(partition.merging);
    spill(partition);
  }
}

void Totals::spill(Partition& partition) {
  partition.writer = std::make_unique<SpilledPartitions::Writer>(plan_);
  spilled_->write(*partition.writer, *partition.groups, 0, partition.groups->count(), partition.first.data(),
                  SpilledPartitions::buffer_bytes(most_bytes_));
  partition.groups.reset();
  detail::free_vector(partition.first);
  partition.is_spilled = true;
  count_memory(partition);
}

void Totals::finish_writing() {
  for (Partition& partition : partitions_) {
    if (partition.writer == nullptr) continue;
    spilled_->finish(*partition.writer);
    partition.writer.reset();
    count_memory(partition);
  }
}

void Totals::use_partitions(int workers, const UseGroups& use, const std::function<void()>& pause) {
  if (ascend()) return use_chunks(workers, use, pause);
  if (!is_divided_) {
    detail::Large<std::uint64_t> first(static_cast<std::size_t>(few_.count()));
    std::iota(first.begin(), first.end(), std::uint64_t{0});
    return use(few_, first);
  }
  free_spare(workers);
  finish_writing();
  Pause pausing(pause);
  cpu::for_each_of(kPartitions, workers, [&](std::int64_t number) {
    Partition& partition = partitions_[static_cast<std::size_t>(number)];
    if (!partition.groups) return;
    if (partition.groups->count() > 0) use(*partition.groups, partition.first);
    partition.groups.reset();
    count_memory(partition);
    pausing.now();
  });
  if (spilled_ != nullptr) spilled_->use(workers, most_bytes_, use, pausing);
}

std::vector<Totals::View> Totals::views(int workers) {
  free_spare(workers);
  std::vector<View> all;
  if (ascend()) {
    for (const auto& chunk : chunks_) all.push_back({&chunk->groups, {}});
  } else if (!is_divided_) {
    all.push_back({&few_, {}});
  } else {
    for (const Partition& partition : partitions_) all.push_back({&*partition.groups, partition.first});
  }
  return all;
}

void Totals::forget(int workers) {
  few_ = Groups(plan_);
  cpu::for_each_index(std::ssize(chunks_), workers,
                      [&](std::int64_t i) { chunks_[static_cast<std::size_t>(i)].reset(); });
  cpu::for_each_index(kPartitions, workers, [&](std::int64_t i) {
    Partition& partition = partitions_[static_cast<std::size_t>(i)];
    partition.groups.reset();
    detail::free_vector(partition.first);
  });
}

/// All threads take part, because freeing memory takes as long as filling it.
void Totals::free_spare(int workers) {
  cpu::for_each_index(std::ssize(spare_), workers,
                      [&](std::int64_t i) { const Groups gone = std::move(spare_[static_cast<std::size_t>(i)]); });
  spare_.clear();
  if (is_divided_) chunk_bytes_ = 0;
}

void Totals::merge_all(int workers) {
  if (!is_divided_) return;
  cpu::for_each_of(kPartitions, workers, [&](std::int64_t number) {
    {
      const std::lock_guard lock(partitions_[static_cast<std::size_t>(number)].merging);
      merge(static_cast<int>(number));
    }
    spill_some();
  });
}

void Totals::use_chunks(int workers, const UseGroups& use, const std::function<void()>& pause) {
  Pause pausing(pause);
  cpu::for_each_of(std::ssize(chunks_), workers, [&](std::int64_t i) {
    const auto number = static_cast<std::size_t>(i);
    const auto chunk = std::move(chunks_[number]);
    detail::Large<std::uint64_t> first(static_cast<std::size_t>(counts_[number]));
    std::iota(first.begin(), first.end(), place(number, 0));
    if (!first.empty()) use(chunk->groups, first);
    chunk_bytes_ -= chunk->bytes;
    pausing.now();
  });
}

std::int64_t Totals::count_before(std::uint64_t place, int workers) {
  if (ascend()) {
    const auto chunk = counts_.begin() + static_cast<std::ptrdiff_t>(place >> 32);
    return std::accumulate(counts_.begin(), chunk, static_cast<std::int64_t>(static_cast<std::uint32_t>(place)));
  }
  if (!is_divided_) return std::min<std::int64_t>(static_cast<std::int64_t>(place), few_.count());
  std::atomic<std::int64_t> before{0};
  const auto add = [&](std::span<const std::uint64_t> first) {
    before += std::lower_bound(first.begin(), first.end(), place) - first.begin();
  };
  for (const Partition& partition : partitions_) add(partition.first);
  if (spilled_ != nullptr) {
    const std::function<void()> none;
    Pause pausing(none);
    spilled_->use(
        workers, most_bytes_, [&](const Groups&, std::span<const std::uint64_t> first) { add(first); }, pausing);
  }
  return before;
}

// ------------------------------------------------------------------------------------------------------ all, in memory

Groups Totals::take(int workers) && {
  if (ascend()) return joined_chunks(workers);
  if (!is_divided_) return std::move(few_);
  std::vector<Groups*> partitions;
  std::vector<std::size_t> begin{0};  // for each chunk, the start of its groups among all groups
  begin.resize(chunks_.size() + 1);
  for (Partition& partition : partitions_) {
    partitions.push_back(&*partition.groups);
    for (const std::uint64_t first : partition.first) ++begin[(first >> 32) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<GroupPlace> order(begin.back());
  std::atomic<std::size_t> next{0};
  cpu::run_workers(workers, [&](int) {
    for (std::size_t chunk = next++; chunk < chunks_.size(); chunk = next++) {
      order_chunk(chunk, std::span(order).subspan(begin[chunk], begin[chunk + 1] - begin[chunk]));
    }
  });
  return joined(plan_, partitions, order, workers);
}

Groups Totals::joined_chunks(int workers) const {
  std::vector<Groups*> partitions;
  std::vector<GroupPlace> order;
  for (const auto& chunk : chunks_) {
    const auto count = static_cast<std::int32_t>(chunk->groups.count());
    for (std::int32_t g = 0; g < count; ++g) order.push_back({static_cast<std::int32_t>(partitions.size()), g});
    partitions.push_back(&chunk->groups);
  }
  return joined(plan_, partitions, order, workers);
}

/// Orders the groups whose first rows are in a chunk. Each is stored at the index of its number, because sorting takes
/// ten times as long.
void Totals::order_chunk(std::size_t chunk, std::span<GroupPlace> places) const {
  if (places.empty()) return;
  const std::uint64_t begin = place(chunk, 0);
  constexpr GroupPlace kNone{-1, -1};
  std::vector<GroupPlace> by_number;
  for (std::int32_t number = 0; number < kPartitions; ++number) {
    const detail::Large<std::uint64_t>& first = partitions_[static_cast<std::size_t>(number)].first;
    const auto own = std::lower_bound(first.begin(), first.end(), begin);
    const auto end = std::lower_bound(own, first.end(), place(chunk + 1, 0));
    if (own == end) continue;
    by_number.resize(std::max<std::size_t>(by_number.size(), *(end - 1) - begin + 1), kNone);
    for (auto at = own; at != end; ++at) {
      by_number[*at - begin] = {number, static_cast<std::int32_t>(at - first.begin())};
    }
  }
  std::copy_if(by_number.begin(), by_number.end(), places.begin(), [](const auto& at) { return at.partition >= 0; });
}

}  // namespace upsweep::query
