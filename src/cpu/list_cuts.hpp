// SPDX-License-Identifier: Apache-2.0
// cpu/list_cuts.hpp: equal shares of the elements of lists and of the lists themselves, found by search: cuts of a merge path.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/blocks.hpp"
#include "cpu/parallel.hpp"
#include "cpu/tuning/lists.hpp"
#include "upsweep/error.hpp"

namespace upsweep::cpu {

/// Where shares begin and end: before an element of a list. All earlier lists are before it.
struct Cut {
  std::int64_t list;
  std::int64_t element;  ///< counted from the first element of the first list
};

struct ListShare {
  Cut begin;
  Cut end;
};

/// What a list costs beside its elements, in bytes.
inline constexpr std::int64_t kListBytes = tuning::kLists.list_bytes;
/// Shares of a worker: whoever is done takes the next.
inline constexpr std::int64_t kSharesOfWorker = tuning::kLists.shares_of_worker;
inline constexpr std::int64_t kLeastShareBytes = 2 * kBlockBytes;

/// `Offsets`: offsets(i), for i in 0 … n, which need not be valid.
template <class Offsets>
class Cuts {
 public:
  Cuts(const Offsets& offsets, std::int64_t n, std::int64_t element_bytes)
      : offsets_(offsets), n_(n), element_bytes_(element_bytes), first_(offsets(0)) {}

  [[nodiscard]] std::int64_t total() const { return offsets_(n_) - first_; }
  /// Of all lists and elements, in bytes.
  [[nodiscard]] std::int64_t work() const { return before(n_); }
  [[nodiscard]] Cut end() const { return {n_, total()}; }

  /// The cut with `work` bytes before it: the list is the last one before which there are no more. Of offsets that are not
  /// sorted it is some cut.
  [[nodiscard]] Cut at(std::int64_t work) const {
    std::int64_t low = 0;  // before(low) <= work
    std::int64_t high = n_ + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (before(middle) <= work ? low : high) = middle;
    }
    if (low == n_) return end();
    const std::int64_t into = std::max<std::int64_t>(work - before(low) - kListBytes, 0) / element_bytes_;
    const std::int64_t length = std::max<std::int64_t>(offsets_(low + 1) - offsets_(low), 0);
    return {low, offsets_(low) - first_ + std::min(into, length)};
  }

 private:
  /// The work on all lists before list i.
  [[nodiscard]] std::int64_t before(std::int64_t i) const {
    return i * kListBytes + (offsets_(i) - first_) * element_bytes_;
  }

  const Offsets& offsets_;
  std::int64_t n_;
  std::int64_t element_bytes_;
  std::int64_t first_;
};

/// share(ListShare) on each of the shares that the lists are worth, in any order on any worker; they cover all elements and
/// all lists, and their ranges of elements do not overlap, even where offsets are bad. Returns whether all calls did; false
/// too where the cuts show that offsets decrease. Throws std::bad_alloc.
template <class Offsets, class Work>
bool for_each_list_share(const Offsets& offsets, std::int64_t n, std::int64_t element_bytes, int threads, Work share) {
  const Cuts<Offsets> cuts(offsets, n, element_bytes);
  const std::int64_t work = cuts.work();
  const int workers = block_workers(parts(work, kBlockBytes), threads);
  if (workers == 1) return share(ListShare{{0, 0}, cuts.end()});

  const std::int64_t count = std::clamp<std::int64_t>(work / kLeastShareBytes, 1, workers * kSharesOfWorker);
  const std::int64_t each = parts(work, count);
  std::vector<Cut> at(static_cast<std::size_t>(count) + 1);
  run_workers(workers, [&](int worker) {
    const Share mine = share_of(count, worker, workers);
    for (std::int64_t i = mine.first; i < mine.last; ++i) at[static_cast<std::size_t>(i)] = cuts.at(i * each);
  });
  at[0] = {0, 0};
  at.back() = cuts.end();
  const auto goes_back = [](const Cut& a, const Cut& b) { return b.list < a.list || b.element < a.element; };
  if (std::ranges::adjacent_find(at, goes_back) != at.end()) return false;

  const std::int64_t bad = for_each_block_on(workers, count, 1, [&](Range one) {
    const auto i = static_cast<std::size_t>(one.first);
    return share(ListShare{at[i], at[i + 1]}) ? kNoIndex : one.first;
  });
  return bad == kNoIndex;
}

/// The elements [begin, end) of a share that are list i's; `begins` and `ends` are where the list does.
struct ElementRange {
  std::int64_t begin;
  std::int64_t end;
};
constexpr ElementRange within(const ListShare& share, std::int64_t i, std::int64_t begins, std::int64_t ends) {
  return {i == share.begin.list ? share.begin.element : begins, i == share.end.list ? share.end.element : ends};
}

}  // namespace upsweep::cpu
