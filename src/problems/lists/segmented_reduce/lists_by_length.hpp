// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/lists_by_length.hpp: puts lists of similar lengths into one vector, one list per SIMD
// lane.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "cpu/list_kernels.hpp"
#include "problems/lists/segmented_reduce/results.hpp"
#include "problems/lists/segmented_reduce/staged_content.hpp"

namespace upsweep::impl::segmented_reduce {

/// Runs a kernel on the lists of a worker. Lists longer than kShort wait for others of similar length.
/// - kernel.run(content, from, to, lists, out): computes the results of lists, result_size() bytes each
/// - kernel.type(): the type of the computation
template <class Kernel>
class ListsByLength {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): lists are noted before they are read
  ListsByLength(const Job& job, const Kernel& kernel, const Results& results)
      : kernel_(kernel),
        results_(results),
        is_wide_(job.kernels.is_wide && kernel.type() != Type::custom),
        lists_per_vector_(kernel.type() == Type::custom ? 1 : cpu::lists_per_vector(kernel.type())) {}
  ListsByLength(const ListsByLength&) = delete;  // its owner contains the kernel
  ListsByLength& operator=(const ListsByLength&) = delete;

  /// Computes the results of the lists. `stays`: whether the content still exists when finish() is called.
  void reduce(const SomeLists& lists, const Content& content, bool stays) {
    const std::int64_t put_aside = is_wide_ && lists.batch.longest > kShort ? take_longer(lists) : 0;
    results_.put_each(lists.count, lists.first,
                      [&](void* out) { kernel_.run(content, lists.from(), lists.to(), lists.count, out); });
    // This must come last: results of the other lists would overwrite those of the longer lists.
    for (std::int64_t k = 0; k < put_aside; ++k) {
      const Longer& one = longer_[static_cast<std::size_t>(k)];
      enqueue(lists.first + one.at, one.from, one.to, content);
    }
    if (put_aside > 0 && !stays) finish(content);
  }

  /// Computes the results of the lists that still wait.
  void finish(const Content& content) {
    if (!std::exchange(are_waiting_, false)) return;
    for (Queue& queue : queues_) flush(queue, content);
  }

 private:
  static constexpr std::int64_t kShort = cpu::tuning::kListFolds.short_list;

  /// A list that is not processed together with the other lists of its batch.
  struct Longer {
    std::int64_t from;
    std::int64_t to;
    std::int64_t at;
  };
  /// Lists that wait for others of similar length.
  struct Queue {  // NOLINT(cppcoreguidelines-pro-type-member-init): only the first `count` are used
    std::array<std::int64_t, 16> from;
    std::array<std::int64_t, 16> to;
    std::array<std::int64_t, 16> list;
    int count = 0;
  };

  /// Makes lists longer than kShort empty. Returns their number. If all lists have similar lengths, those that fill
  /// whole kernel groups stay.
  std::int64_t take_longer(const SomeLists& lists) {
    const cpu::ListBatch& batch = lists.batch;
    const bool are_alike = batch.longest - batch.shortest <= batch.longest / 8;
    std::size_t taken = 0;
    for (std::int64_t i = are_alike ? lists.count - lists.count % lists_per_vector_ : 0; i < lists.count; ++i) {
      auto& from = lists.from()[i];
      auto& to = lists.to()[i];
      if (to - from <= kShort) continue;
      longer_[taken++] = {from, to, i};
      from = to = 0;
    }
    return static_cast<std::int64_t>(taken);
  }

  void enqueue(std::int64_t list, std::int64_t from, std::int64_t to, const Content& content) {
    Queue& queue = queues_[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(to - from)))];
    const auto place = static_cast<std::size_t>(queue.count++);
    queue.from[place] = from;
    queue.to[place] = to;
    queue.list[place] = list;
    are_waiting_ = true;
    if (queue.count == lists_per_vector_) flush(queue, content);
  }

  void flush(Queue& queue, const Content& content) const {
    if (queue.count == 0) return;
    for (auto k = static_cast<std::size_t>(queue.count); k < static_cast<std::size_t>(lists_per_vector_); ++k) {
      queue.from[k] = queue.to[k] = 0;
    }
    alignas(64) std::array<std::byte, 128> results;
    kernel_.run(content, queue.from.data(), queue.to.data(), lists_per_vector_, results.data());
    for (int k = 0; k < queue.count; ++k) {
      results_.put(results.data() + k * kernel_.result_size(), 1, queue.list[static_cast<std::size_t>(k)]);
    }
    queue.count = 0;
  }

  const Kernel& kernel_;
  const Results& results_;
  bool is_wide_;
  int lists_per_vector_;
  std::array<Longer, cpu::ListBatch::kLists> longer_;
  std::array<Queue, 16> queues_;  // by the number of bits of the length
  bool are_waiting_ = false;      // whether some lists may wait
};

}  // namespace upsweep::impl::segmented_reduce
