// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_sort/long_list.cpp: a merge sort of keys that starts with sorted blocks.
//
// Each worker sorts a share of the list. The kernel writes sorted blocks of keys. The blocks are merged in pairs,
// depth first, so that most merges stay in the core's L1/L2 cache. Then the shares are merged in pairs, and each worker
// writes an equal share of the output. A binary search finds where a share of the output begins in both inputs (merge
// path). Merges have no branch that depends on the keys.
#include "problems/lists/segmented_sort/long_list.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"

namespace upsweep::impl::segmented_sort {
namespace {

using cpu::kSortBlock;

/// Keys without positions.
template <class K>
struct Keys {
  K* keys;

  Keys operator+(std::int64_t i) const { return {keys + i}; }
  void take(Keys from, std::int64_t count) const { std::copy(from.keys, from.keys + count, keys); }
  void take_one(Keys left, Keys right, bool is_right) const { *keys = is_right ? *right.keys : *left.keys; }
};

/// Keys and the positions of their elements.
struct Pairs {
  std::int64_t* keys;
  std::int64_t* positions;

  Pairs operator+(std::int64_t i) const { return {keys + i, positions + i}; }
  void take(Pairs from, std::int64_t count) const {
    std::copy(from.keys, from.keys + count, keys);
    std::copy(from.positions, from.positions + count, positions);
  }
  void take_one(Pairs left, Pairs right, bool is_right) const {
    *keys = is_right ? *right.keys : *left.keys;
    *positions = is_right ? *right.positions : *left.positions;
  }
};

/// Merges two runs. Equal keys are taken from the left run first.
template <class Run>
void merge(Run left, std::int64_t lefts, Run right, std::int64_t rights, Run out) {
  // Neither run can end within the number of steps that the shorter one has elements.
  for (std::int64_t steps = std::min(lefts, rights); steps > 0; steps = std::min(lefts, rights)) {
    std::int64_t taken = 0;  // from the right run
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool is_right = right.keys[taken] < left.keys[i - taken];
      (out + i).take_one(left + (i - taken), right + taken, is_right);
      taken += is_right ? 1 : 0;
    }
    left = left + (steps - taken);
    lefts -= steps - taken;
    right = right + taken;
    rights -= taken;
    out = out + steps;
  }
  out.take(left, lefts);
  (out + lefts).take(right, rights);
}

/// Returns how many of the first `count` keys of a merge are from the left run.
template <class Run>
std::int64_t lefts_among(std::int64_t count, Run left, std::int64_t lefts, Run right, std::int64_t rights) {
  std::int64_t least = std::max<std::int64_t>(0, count - rights);
  std::int64_t most = std::min(count, lefts);
  while (least < most) {
    const std::int64_t middle = least + (most - least) / 2;
    if (right.keys[count - 1 - middle] < left.keys[middle]) {
      most = middle;
    } else {
      least = middle + 1;
    }
  }
  return least;
}

/// Merges whole blocks, by rows if the kernel supports it. Then equal keys, which are identical, may be in any order.
template <class K>
void merge_whole_blocks(const cpu::SortKernel& kernel, Keys<K> left, std::int64_t lefts, Keys<K> right,
                        std::int64_t rights, Keys<K> out) {
  if (kernel.merge == nullptr) return merge(left, lefts, right, rights, out);
  kernel.merge(left.keys, lefts, right.keys, rights, out.keys);
}
void merge_whole_blocks(const cpu::SortKernel&, Pairs left, std::int64_t lefts, Pairs right, std::int64_t rights,
                        Pairs out) {
  merge(left, lefts, right, rights, out);
}

/// Merges the n keys of sorted blocks. The result is in `run`, or in `spare` if into_spare.
template <class Run>
void merge_blocks(const cpu::SortKernel& kernel, Run run, Run spare, std::int64_t n, bool into_spare) {
  if (n <= kSortBlock) {
    if (into_spare) spare.take(run, n);
    return;
  }
  const std::int64_t half = n / kSortBlock / 2 * kSortBlock;
  merge_blocks(kernel, run, spare, half, !into_spare);
  merge_blocks(kernel, run + half, spare + half, n - half, !into_spare);
  const Run from = into_spare ? run : spare;
  merge_whole_blocks(kernel, from, half, from + half, n - half, into_spare ? spare : run);
}

/// Splits `blocks` into shares. Every 2^k consecutive shares are merged in k rounds.
struct Shares {
  std::int64_t blocks;
  std::int64_t count;

  [[nodiscard]] std::int64_t begin(std::int64_t share) const {
    return std::min(share, count) * blocks / count * kSortBlock;
  }
};

/// Computes outputs first … last - 1 of the merges of every two runs of `width` shares.
template <class Run>
void merge_share(const Shares& shares, std::int64_t width, Run from, Run to, std::int64_t first, std::int64_t last) {
  for (std::int64_t share = 0; share < shares.count; share += 2 * width) {
    const std::int64_t begin = shares.begin(share);
    const std::int64_t middle = shares.begin(share + width);
    const std::int64_t end = shares.begin(share + 2 * width);
    const std::int64_t low = std::max(first, begin) - begin;
    const std::int64_t high = std::min(last, end) - begin;
    if (low >= high) continue;
    const Run left = from + begin;
    const Run right = from + middle;
    const std::int64_t left_low = lefts_among(low, left, middle - begin, right, end - middle);
    const std::int64_t left_high = lefts_among(high, left, middle - begin, right, end - middle);
    merge(left + left_low, left_high - left_low, right + (low - left_low), high - left_high - (low - left_low),
          to + (begin + low));
  }
}

/// Sorts keys. load(first element, count, destination) writes sorted blocks of keys and returns whether to continue.
/// Returns the sorted keys, or null keys if a load returned false.
template <class Run, class Load>
Run sort_keys(const cpu::SortKernel& kernel, std::int64_t n, int workers, Run run, Run spare, Load load) {
  const std::int64_t blocks = cpu::ceil_div(n, kSortBlock);
  Shares shares{blocks, 1};
  while (shares.count < workers) shares.count *= 2;
  std::atomic<bool> all_loaded{true};
  std::atomic<std::int64_t> ticket{0};
  cpu::run_workers(workers, [&](int) {
    for (std::int64_t share = ticket++; share < shares.count; share = ticket++) {
      const std::int64_t begin = shares.begin(share);
      const std::int64_t end = shares.begin(share + 1);
      if (!load(begin, std::min(end, n) - begin, run + begin)) all_loaded = false;
      if (all_loaded) merge_blocks(kernel, run + begin, spare + begin, end - begin, false);
    }
  });
  if (!all_loaded) return {};
  for (std::int64_t width = 1; width < shares.count; width *= 2) {
    cpu::for_each_index(4 * std::int64_t{workers}, workers, [&](std::int64_t work_unit) {
      const std::int64_t work_units = 4 * std::int64_t{workers};
      merge_share(shares, width, run, spare, work_unit * blocks / work_units * kSortBlock,
                  (work_unit + 1) * blocks / work_units * kSortBlock);
    });
    std::swap(run, spare);
  }
  return run;
}

std::int64_t padded(std::int64_t n) { return cpu::ceil_div(n, kSortBlock) * kSortBlock; }

const std::byte* element(const LongList& list, std::int64_t i) {
  return static_cast<const std::byte*>(list.from) + i * list.element_size;
}

/// Calls f(first, count) for every worker's share of the list.
template <class F>
void each_share(const LongList& list, int workers, F f) {
  cpu::for_each_work_unit(cpu::ceil_div(list.count, kSortBlock), 1, workers, [&](cpu::WorkUnit share) {
    const std::int64_t first = share.first * kSortBlock;
    f(first, std::min(share.last * kSortBlock, list.count) - first);
  });
}

/// Returns the positions that sort the elements.
std::int64_t* sorted_positions(const LongList& list, int workers, std::byte* memory) {
  const std::int64_t n = padded(list.count);
  auto* const words = reinterpret_cast<std::int64_t*>(memory);
  const auto load = [&](std::int64_t first, std::int64_t count, Pairs to) {
    list.kernel->pairs(element(list, first), count, first, list.order, to.keys, to.positions);
    return true;
  };
  return sort_keys(*list.kernel, list.count, workers, Pairs{words, words + n}, Pairs{words + 2 * n, words + 3 * n},
                   load)
      .positions;
}

std::int64_t bytes_of_positions(const LongList& list) {
  return padded(list.count) * 4 * std::int64_t{sizeof(std::int64_t)};
}

/// Sorts a list that contains elements without a key: by their positions, from a copy.
void sort_odd_list(const LongList& list, int workers, LongListScratch& scratch) {
  const std::int64_t bytes = list.count * list.element_size;
  std::byte* const memory = scratch.reserve(bytes_of_positions(list) + bytes);
  std::byte* const copy = memory + bytes_of_positions(list);
  const std::int64_t* const positions = sorted_positions(list, workers, memory);
  each_share(list, workers, [&](std::int64_t first, std::int64_t count) {
    std::memcpy(copy + first * list.element_size, element(list, first),
                static_cast<std::size_t>(count * list.element_size));
  });
  const auto gather = [&]<class T>(std::type_identity<T>) {
    each_share(list, workers, [&](std::int64_t first, std::int64_t count) {
      const T* const from = reinterpret_cast<const T*>(copy);
      T* const to = static_cast<T*>(list.out);
      for (std::int64_t i = first; i < first + count; ++i) to[i] = from[positions[i]];
    });
  };
  if (list.element_size == 4) {
    gather(std::type_identity<std::uint32_t>{});
  } else {
    gather(std::type_identity<std::uint64_t>{});
  }
}

template <class K>
void sort_elements(const LongList& list, int workers, LongListScratch& scratch) {
  const std::int64_t n = padded(list.count);
  auto* const words = reinterpret_cast<K*>(scratch.reserve(2 * n * std::int64_t{sizeof(K)}));
  const auto load = [&](std::int64_t first, std::int64_t count, Keys<K> to) {
    return list.kernel->keys(element(list, first), count, list.order, to.keys);
  };
  const K* const sorted = sort_keys(*list.kernel, list.count, workers, Keys<K>{words}, Keys<K>{words + n}, load).keys;
  if (sorted == nullptr) return sort_odd_list(list, workers, scratch);
  each_share(list, workers, [&](std::int64_t first, std::int64_t count) {
    list.kernel->elements(sorted + first, count, list.order,
                          static_cast<std::byte*>(list.out) + first * list.element_size);
  });
}

}  // namespace

void sort_long_list(const LongList& list, int workers, LongListScratch& scratch) {
  if (list.positions != nullptr) {
    const std::int64_t* const positions = sorted_positions(list, workers, scratch.reserve(bytes_of_positions(list)));
    each_share(list, workers, [&](std::int64_t first, std::int64_t count) {
      std::copy(positions + first, positions + first + count, list.positions + first);
    });
  } else if (list.kernel->key_size == 4) {
    sort_elements<std::int32_t>(list, workers, scratch);
  } else {
    sort_elements<std::int64_t>(list, workers, scratch);
  }
}

}  // namespace upsweep::impl::segmented_sort
