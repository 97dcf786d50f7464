// SPDX-License-Identifier: Apache-2.0
// problems/subset_sum/wavefront.cpp: work units, their halos, and the order in which items follow each other through a
// work unit.
#include "problems/subset_sum/wavefront.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpu/parallel.hpp"
#include "cpu/tuning/subset_sum.hpp"
#include "problems/subset_sum/worker_group.hpp"

namespace upsweep::impl::subset_sum {
namespace {

// Number of words of a block: an item passes through a block before the next item does.
constexpr std::int64_t kBlock = cpu::tuning::kWavefront.block_words;
// Minimum number of open words of a work unit.
constexpr std::int64_t kLeastWorkUnit = cpu::tuning::kWavefront.work_unit_tiles * kTile;
// Minimum number of words times items per thread.
constexpr std::int64_t kLeastWork = cpu::tuning::kWavefront.least_work;
// Maximum number of items of a pass.
constexpr std::int64_t kMostItems = cpu::tuning::kWavefront.most_items;
// A work unit's halo is computed twice. Further items join a pass as long as the halo is at most an eighth of the work
// of each of two threads. The rule does not depend on the number of threads, because it determines where a search ends,
// and therefore which items it finds.
constexpr std::int64_t kPassShare = cpu::tuning::kWavefront.pass_share;
// A single item is always a pass. The halo of the item may be half of a work unit's open words.
constexpr std::int64_t kLeastHalves = cpu::tuning::kWavefront.least_halves;
// Maximum distance in words between the items of a pass: beyond it, data of one item has left the cache before the next
// item.
constexpr std::int64_t kReach = cpu::tuning::kWavefront.reach_words;
// Maximum number of passes of a region.
constexpr std::size_t kMostPasses = cpu::tuning::kWavefront.most_passes;
// Maximum number of words times items of a region with several passes.
constexpr std::int64_t kMostWork = cpu::tuning::kWavefront.most_work;
// Number of words of a cache line. No two threads write to the same line, and no written vector crosses lines.
constexpr std::int64_t kLine = 8;

constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::min() / 2;

/// Returns the number of words from a sum's word down to the last word that it depends on.
std::int64_t reach(std::int64_t item) { return item / 64 + 1; }

/// Returns the number of words from a work unit's first word down to the last word that a pass reads.
std::int64_t reach(const Wavefront::Pass& pass) {
  std::int64_t words = 0;
  for (std::int64_t j = 0; j < pass.count; ++j) words += reach(pass.items[j]);
  return words;
}

std::int64_t work_of(const Wavefront::Pass& pass) { return (pass.top - pass.low) * pass.count; }

constexpr std::int64_t round_up(std::int64_t words, std::int64_t multiple) {
  return (words + multiple - 1) / multiple * multiple;
}

/// An item that moves down through a work unit.
struct Follower {
  std::int64_t item;
  std::int64_t lag;    // distance in words that it stays above the first item
  std::int64_t least;  // lowest word to which it is added: in the halo, as far as later items read
};

}  // namespace

Wavefront::Wavefront(Word* sums, std::int64_t words, std::int64_t largest, Isa isa, int threads)
    : sums_(sums),
      kernels_(cpu::bit_kernels(isa)),
      longest_halo_(std::min(words / kLeastHalves, std::max(reach(largest), words / kPassShare))),
      open_(words),
      is_full_(static_cast<std::size_t>(words / kTile)),
      work_units_(static_cast<std::size_t>(threads)) {}

std::int64_t Wavefront::items_of_pass(const std::int64_t* items, std::int64_t n, std::int64_t words) const {
  const std::int64_t most = std::min(kReach, words / kPassShare);
  std::int64_t total = reach(items[0]);
  std::int64_t count = 1;
  for (; count < std::min(n, kMostItems) && total + reach(items[count]) <= most; ++count) total += reach(items[count]);
  return count;
}

/// Returns false if tiles fill up, because borders do not move within a region. Also returns false if the sums reach
/// much higher than before: the topmost work units would have to wait for them.
bool Wavefront::goes_with(const std::vector<Pass>& passes, const Pass& next) const {
  if (work_units_.size() == 1 || fills_ || passes.size() >= kMostPasses) return false;
  std::int64_t work = work_of(next);
  for (const Pass& pass : passes) work += work_of(pass);
  return work <= kMostWork && next.top <= passes.front().top + passes.front().top / 4;
}

void Wavefront::run(const std::vector<Pass>& passes) {
  std::int64_t items = 0;
  for (const Pass& pass : passes) items += pass.count;
  int workers = begin(passes, static_cast<int>(work_units_.size()));
  workers = static_cast<int>(std::clamp<std::int64_t>(open_words_ * items / kLeastWork, 1, workers));
  reserve(workers);
  if (workers == 1) {
    share(1);
    work(0);
  } else {
    WorkerGroup group(workers);
    cpu::run_workers(workers, [&](int) {
      const int id = group.join([&](int count) { share(count); });
      if (id != WorkerGroup::kLate) work(id);
    });
  }
  end();
}

int Wavefront::begin(const std::vector<Pass>& passes, int most) {
  passes_ = passes;
  low_ = std::numeric_limits<std::int64_t>::max();
  top_ = 0;
  halo_ = 0;
  for (Pass& pass : passes_) {
    // No word below the smallest item changes.
    pass.low = std::max(pass.low, *std::min_element(pass.items, pass.items + pass.count) / 64) / kLine * kLine;
    low_ = std::min(low_, pass.low);
    top_ = std::max(top_, pass.top);
    halo_ = std::max(halo_, reach(pass));
  }
  open_words_ = open_.count(low_, top_);
  const std::int64_t worth = std::max(kLeastWorkUnit, halo_ * kLeastHalves);
  return static_cast<int>(std::clamp<std::int64_t>(open_words_ / worth, 1, most));
}

void Wavefront::reserve(int work_units) {
  // Memory is written as far as needed, and kept: repeated allocation costs more than the passes themselves.
  for (std::size_t s = 1; s < static_cast<std::size_t>(work_units); ++s) {
    if (work_units_[s].halo.size() == 0) work_units_[s].halo = cpu::Pages<Word>(longest_halo_);
  }
}

/// Divides the open words from the top down. Work units get equal shares of them, and end at borders of tiles. So each
/// has at least three quarters of kLeastWorkUnit of them, and at least halo_.
void Wavefront::share(int work_units) noexcept {
  workers_ = work_units;
  std::int64_t s = work_units - 1;  // the work unit whose end is known
  work_units_[static_cast<std::size_t>(s)].last = top_;
  std::int64_t above = 0;  // open words above the run
  open_.for_each_down(low_, top_, [&](std::int64_t first, std::int64_t last) {
    for (; s > 0; --s) {
      const std::int64_t words = open_words_ * (work_units - s) / work_units;  // share of the work units from s on
      if (words > above + last - first) break;
      const std::int64_t border = std::max(first, (last - (words - above)) / kTile * kTile);
      work_units_[static_cast<std::size_t>(s)].first = border;
      work_units_[static_cast<std::size_t>(s - 1)].last = border;
    }
    above += last - first;
  });
  work_units_[0].first = low_;
  for (s = 0; s < work_units; ++s) {
    WorkUnit& work_unit = work_units_[static_cast<std::size_t>(s)];
    work_unit.copies = s == 0 ? nullptr : work_unit.halo.data() - (work_unit.first - halo_);
    work_unit.copied.store(0, std::memory_order_relaxed);
    work_unit.advanced.store(0, std::memory_order_relaxed);
  }
}

void Wavefront::work(int id) noexcept {
  WorkUnit& work_unit = work_units_[static_cast<std::size_t>(id)];
  WorkUnit* const below = id == 0 ? nullptr : &work_unit - 1;
  WorkUnit* const above = id == workers_ - 1 ? nullptr : &work_unit + 1;
  std::int64_t done = 0;
  for (const Pass& pass : passes_) {
    // The work unit below must have done all passes before this one, and begins this pass only after its words are
    // copied.
    if (below != nullptr) {
      wait_until([&] { return below->advanced.load(std::memory_order_acquire) >= done; });
      copy_halo(work_unit, pass);
    }
    work_unit.copied.store(done + 1, std::memory_order_release);
    if (above != nullptr) wait_until([&] { return above->copied.load(std::memory_order_acquire) > done; });
    advance(work_unit, pass);
    work_unit.advanced.store(++done, std::memory_order_release);
  }
}

void Wavefront::end() {
  fills_ = false;
  for (WorkUnit& work_unit : work_units_) {
    fills_ = fills_ || work_unit.fills;
    work_unit.fills = false;
  }
  const auto is_full = [&](std::int64_t tile) {
    return tile < std::ssize(is_full_) && is_full_[static_cast<std::size_t>(tile)] != 0;
  };
  if (fills_) open_.remove(is_full);
}

void Wavefront::copy_halo(const WorkUnit& work_unit, const Pass& pass) const {
  if (pass.top <= work_unit.first || work_unit.last <= pass.low) return;  // the work unit adds nothing in this pass
  const std::int64_t halo = reach(pass);
  const std::int64_t from = work_unit.first - halo;
  std::memcpy(work_unit.copies + from, sums_ + from, static_cast<std::size_t>(halo) * sizeof(Word));
}

void Wavefront::advance(WorkUnit& work_unit, const Pass& pass) {
  Follower followers[kMostItems];
  Follower* const end = followers + pass.count;
  std::int64_t lag = 0;
  std::int64_t halo = reach(pass);
  for (std::int64_t j = 0; j < pass.count; ++j) {
    const std::int64_t item = pass.items[j];
    if (j > 0) lag += round_up(reach(item), kLine);
    halo -= reach(item);
    const std::int64_t first = work_unit.copies == nullptr ? work_unit.first : work_unit.first - halo;
    followers[j] = {item, lag, std::max({first, pass.low, item / 64})};
  }
  const std::int64_t top = std::min(work_unit.last, pass.top);

  // Returns the end of the first item's next block: the highest place, from `front` down, at which any item has an open
  // word.
  const auto next_front = [&](std::int64_t front) {
    std::int64_t next = kNowhere;
    for (const Follower* follower = followers; follower != end; ++follower) {
      const std::int64_t last = open_.end_below(std::min(front + follower->lag, top));
      if (last > follower->least) next = std::max(next, round_up(last, kLine) - follower->lag);
    }
    return next;
  };
  // [guide: wavefront]
  for (std::int64_t front = next_front(top); front != kNowhere; front = next_front(front - kBlock)) {
    for (const Follower* follower = followers; follower != end; ++follower) {
      const std::int64_t last = std::min(front + follower->lag, top);
      const std::int64_t first = std::max(front + follower->lag - kBlock, follower->least);
      open_.for_each_down(first, last, [&](std::int64_t run_first, std::int64_t run_last) {
        shift_or(work_unit, follower->item, run_first, run_last);
        if (follower == end - 1) look_for_full(work_unit, run_first, run_last);
      });
    }
  }
  // [guide: end]
}

/// Finds the full tiles among those that begin in first … last - 1; no item is added to them any more in this pass.
void Wavefront::look_for_full(WorkUnit& work_unit, std::int64_t first, std::int64_t last) {
  const auto is_full = [](Word word) { return word == ~Word{0}; };
  for (std::int64_t tile = round_up(first, kTile) / kTile; tile * kTile < last && (tile + 1) * kTile <= work_unit.last;
       ++tile) {
    std::uint8_t& known = is_full_[static_cast<std::size_t>(tile)];
    if (known != 0 || !std::all_of(sums_ + tile * kTile, sums_ + (tile + 1) * kTile, is_full)) continue;
    known = 1;
    work_unit.fills = true;
  }
}

/// ORs words first … last - 1 with those `item` below. A range begins and ends anywhere, in the halo or in the work
/// unit.
void Wavefront::shift_or(const WorkUnit& work_unit, std::int64_t item, std::int64_t first, std::int64_t last) const {
  const std::int64_t whole = item / 64;
  const auto shift = static_cast<int>(item % 64);
  const bool is_lowest = work_unit.copies == nullptr;
  const auto word = [&](std::int64_t i) -> Word& {
    return is_lowest || i >= work_unit.first ? sums_[i] : work_unit.copies[i];
  };
  // Each step processes words whose targets are in one array and whose sources are in one array, from the top down.
  while (first < last) {
    Word* const target = is_lowest || last > work_unit.first ? sums_ : work_unit.copies;
    const bool own = is_lowest || last - whole - 1 > work_unit.first;  // the source word and the one below it
    const Word* const source = own ? sums_ : work_unit.copies;
    std::int64_t begin = first;
    if (target == sums_ && !is_lowest) begin = std::max(begin, work_unit.first);
    if (own && !is_lowest) begin = std::max(begin, work_unit.first + whole + 1);
    if (begin == whole) ++begin;                                               // there is no word below its source
    const bool straddles = !is_lowest && last - 1 - whole == work_unit.first;  // source here, the word below there
    if (begin >= last || straddles) {
      const std::int64_t i = last - 1;
      Word moved = word(i - whole) << shift;
      if (shift != 0 && i > whole) moved |= word(i - whole - 1) >> (64 - shift);
      word(i) |= moved;
      --last;
      continue;
    }
    kernels_.shift_or(target + begin, source + begin - whole, last - begin, shift);
    last = begin;
  }
}

}  // namespace upsweep::impl::subset_sum
