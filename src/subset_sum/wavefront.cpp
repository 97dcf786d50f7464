// SPDX-License-Identifier: Apache-2.0
// subset_sum/wavefront.cpp: slices, their halos, and the order in which items follow each other through a slice.
#include "subset_sum/wavefront.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/parallel.hpp"

namespace upsweep::subset_sum {
namespace {

// Words of a block, which an item goes through before the next one does: 64 KB, of which target and source fit the
// second cache several times over.
constexpr std::int64_t kBlock = 8192;
// A slice that is worth a thread: 32 KB take 1 us, waking a thread for them as long.
constexpr std::int64_t kLeastSlice = 4096;
// Items of a pass: by then a word's way to memory and back is a small part of the work on it.
constexpr std::int64_t kMostItems = 16;
// A slice's halo is done twice: further items join a pass as long as that is an eighth of what each of two threads does. For
// any number of them: where a search ends, and so which items it finds, depends on it.
constexpr std::int64_t kPassShare = 16;
// Of one item, which is in any case a pass, the halo may be half of a slice: fetching it from the core that wrote it
// takes longer than the work on it, and by then one thread is as fast as two.
constexpr std::int64_t kLeastHalves = 2;
// Words that the items of a pass may lie apart before what one leaves has left the cache of the next.
constexpr std::int64_t kReach = 128 * 1024;
// Words of a tile, which is skipped once all of its sums are reached: 8 KB, so that there are few to check and few words
// are moved in vain around a border.
constexpr std::int64_t kTile = 1024;
// Words of a cache line: no two threads write to one, and no vector reaches over two where it is written.
constexpr std::int64_t kLine = 8;

/// Words from a sum's own down to the last that it is made from.
std::int64_t reach(std::int64_t item) { return item / 64 + 1; }

}  // namespace

/// Words first … last - 1, after `halo`: copies of the words first - halo … first - 1.
struct Wavefront::Slice {
  std::int64_t low;  // of the pass
  std::int64_t first;
  std::int64_t last;
  std::int64_t halo;
  Word* copies;  // copies[w] is word w, for w in first - halo … first - 1

  [[nodiscard]] bool is_lowest() const { return first == low; }
};

Wavefront::Wavefront(Word* sums, std::int64_t words, std::int64_t largest, Isa isa, int threads)
    : sums_(sums), kernels_(cpu::bit_kernels(isa)), threads_(cpu::worker_count(threads)) {
  const int workers = workers_of(words, 0);
  const std::int64_t longest = std::min(words / kLeastHalves, std::max(reach(largest), words / kPassShare));
  // Reserved once and written as far as is needed: memory that comes and goes costs more than the passes themselves.
  for (int w = 1; w < workers; ++w) halos_.emplace_back(longest);
  is_full_.resize(static_cast<std::size_t>(words / kTile));
}

int Wavefront::workers_of(std::int64_t words, std::int64_t halo) const {
  const std::int64_t worth = std::max(kLeastSlice, halo * kLeastHalves);
  return static_cast<int>(std::clamp<std::int64_t>(words / worth, 1, threads_));
}

std::int64_t Wavefront::items_of_pass(const std::int64_t* items, std::int64_t n, std::int64_t words) const {
  const std::int64_t most = std::min(kReach, words / kPassShare);
  std::int64_t total = reach(items[0]);
  std::int64_t count = 1;
  for (; count < std::min(n, kMostItems) && total + reach(items[count]) <= most; ++count) total += reach(items[count]);
  return count;
}

void Wavefront::pass(const std::int64_t* items, std::int64_t count, std::int64_t low, std::int64_t top) {
  low = std::max(low, *std::min_element(items, items + count) / 64);  // nothing below the smallest item changes
  if (top <= low) return;
  low = low / kLine * kLine;
  const std::int64_t lines = (top - low + kLine - 1) / kLine;
  std::int64_t halo = 0;
  for (std::int64_t j = 0; j < count; ++j) halo += reach(items[j]);
  const int workers = halos_.empty() || halo > halos_[0].size() ? 1 : workers_of(top - low, halo);

  std::vector<Slice> slices(static_cast<std::size_t>(workers));
  for (int w = 0; w < workers; ++w) {
    const cpu::Share share = cpu::share_of(lines, w, workers);
    Slice& slice = slices[static_cast<std::size_t>(w)];
    slice = {low, low + share.first * kLine, std::min(low + share.last * kLine, top), 0, nullptr};
    if (slice.is_lowest()) continue;  // no thread changes what lies below it
    slice.halo = std::min(halo, slice.first);
    slice.copies = halos_[static_cast<std::size_t>(w - 1)].data() - (slice.first - slice.halo);
  }
  // All copies are taken before the first word changes.
  if (workers > 1) cpu::run_workers(workers, [&](int w) { copy_halo(slices[static_cast<std::size_t>(w)]); });
  cpu::run_workers(workers, [&](int w) { advance(slices[static_cast<std::size_t>(w)], items, count); });
}

void Wavefront::copy_halo(const Slice& slice) const {
  if (slice.halo == 0) return;
  const std::int64_t from = slice.first - slice.halo;
  std::memcpy(slice.copies + from, sums_ + from, static_cast<std::size_t>(slice.halo) * sizeof(Word));
}

void Wavefront::advance(const Slice& slice, const std::int64_t* items, std::int64_t count) {
  std::int64_t lags[kMostItems] = {};   // how far item j stays above the first one
  std::int64_t needs[kMostItems] = {};  // how far below the slice the items after j read
  for (std::int64_t j = 1; j < count; ++j) lags[j] = lags[j - 1] + (reach(items[j]) + kLine - 1) / kLine * kLine;
  for (std::int64_t j = count - 2; j >= 0; --j) needs[j] = needs[j + 1] + reach(items[j + 1]);
  const std::int64_t bottom = slice.is_lowest() ? slice.low : slice.first;
  const std::int64_t top = (slice.last + kLine - 1) / kLine * kLine;
  for (std::int64_t front = top; front + lags[count - 1] > bottom - needs[0]; front -= kBlock) {
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t least = slice.is_lowest() ? slice.low : std::max(slice.low, slice.first - needs[j]);
      const std::int64_t first = std::max({front - kBlock + lags[j], least, items[j] / 64});
      const std::int64_t last = std::min(front + lags[j], slice.last);
      if (first < last) shift_or(slice, items[j], first, last);
      if (j == count - 1) look_for_full(slice, first, last);
    }
  }
}

/// Of the tiles that begin in first … last - 1 and to which nothing is added any more in this pass.
void Wavefront::look_for_full(const Slice& slice, std::int64_t first, std::int64_t last) {
  first = std::max(first, slice.first);
  const auto is_full = [](Word word) { return word == ~Word{0}; };
  for (std::int64_t tile = (first + kTile - 1) / kTile; tile * kTile < last && (tile + 1) * kTile <= slice.last;
       ++tile) {
    std::uint8_t& known = is_full_[static_cast<std::size_t>(tile)];
    if (known == 0) known = std::all_of(sums_ + tile * kTile, sums_ + (tile + 1) * kTile, is_full) ? 1 : 0;
  }
}

/// Words of the bitmap itself, but for those in full tiles. source[i] moves to sums_[first + i].
void Wavefront::shift_or_open(const Word* source, std::int64_t first, std::int64_t last, int shift) {
  const auto tiles = std::ssize(is_full_);
  const auto is_open = [&](std::int64_t tile) {
    return tile >= tiles || is_full_[static_cast<std::size_t>(tile)] == 0;
  };
  while (first < last) {
    std::int64_t tile = (last - 1) / kTile;
    while (tile * kTile > first && is_open(tile) && is_open(tile - 1)) --tile;
    const std::int64_t begin = std::max(first, tile * kTile);
    if (is_open(tile)) kernels_.shift_or(sums_ + begin, source + (begin - first), last - begin, shift);
    last = begin;
  }
}

/// Words first … last - 1 from those `item` below. A range begins and ends anywhere, in the halo or in the slice.
void Wavefront::shift_or(const Slice& slice, std::int64_t item, std::int64_t first, std::int64_t last) {
  const std::int64_t whole = item / 64;
  const auto shift = static_cast<int>(item % 64);
  const auto word = [&](std::int64_t i) -> Word& {
    return slice.is_lowest() || i >= slice.first ? sums_[i] : slice.copies[i];
  };
  // Words for which both target and source lie in one piece of memory, from the top down.
  while (first < last) {
    Word* const target = slice.is_lowest() || last > slice.first ? sums_ : slice.copies;
    const bool own = slice.is_lowest() || last - whole - 1 > slice.first;  // word and the one below it
    const Word* const source = own ? sums_ : slice.copies;
    std::int64_t begin = first;
    if (target == sums_ && !slice.is_lowest()) begin = std::max(begin, slice.first);
    if (own && !slice.is_lowest()) begin = std::max(begin, slice.first + whole + 1);
    if (begin == whole) ++begin;                                                   // its source has nothing below it
    const bool straddles = !slice.is_lowest() && last - 1 - whole == slice.first;  // source here, the one below there
    if (begin >= last || straddles) {
      const std::int64_t i = last - 1;
      Word moved = word(i - whole) << shift;
      if (shift != 0 && i > whole) moved |= word(i - whole - 1) >> (64 - shift);
      word(i) |= moved;
      --last;
      continue;
    }
    if (target == sums_) {
      shift_or_open(source + begin - whole, begin, last, shift);
    } else {
      kernels_.shift_or(target + begin, source + begin - whole, last - begin, shift);
    }
    last = begin;
  }
}

}  // namespace upsweep::subset_sum
