// SPDX-License-Identifier: Apache-2.0
// cpu/marks.cpp: converts a mask to bits, block by block on every thread, and compacts columns by them.
#include "cpu/marks.hpp"

#include <atomic>
#include <cstddef>
#include <numeric>

#include "cpu/work_partition.hpp"

namespace upsweep::cpu {
namespace {

std::int64_t mark_block(const Mask& mask, Range range, const SelectKernels& kernels, std::uint64_t* words,
                        std::uint16_t* before) {
  if (mask.is_bitmap) return kernels.mark_bits(mask.data, mask.first_bit + range.first, range.count, words, before);
  return kernels.mark_bytes(mask.data + range.first, range.count, words, before);
}

}  // namespace

Marks::Marks(const Mask& mask, Range range, const SelectKernels& kernels, int workers)
    : range_(range), word_count_(ceil_div(range.count, kMarkWord) + 2) {
  std::uint64_t* words = few_words_;
  std::uint16_t* before = few_before_;
  std::int64_t* in_front = few_in_front_;
  if (word_count_ > kFewWords) {
    many_words_ = Pages<std::uint64_t>(word_count_);
    many_before_ = Pages<std::uint16_t>(word_count_);
    many_in_front_.resize(static_cast<std::size_t>(blocks()) + 1);
    words = many_words_.data();
    before = many_before_.data();
    in_front = many_in_front_.data();
  }
  for_each_block_on(workers, range.count, kMarkBlock, [&](Range block) {
    const std::int64_t word = block.first / kMarkWord;
    in_front[block.first / kMarkBlock] =
        mark_block(mask, {range.first + block.first, block.count}, kernels, words + word, before + word);
    return kNoIndex;
  });
  const std::int64_t last_block = range.count % kMarkBlock == 0 ? 0 : in_front[blocks() - 1];
  words[word_count_ - 2] = 0;
  words[word_count_ - 1] = 0;
  before[word_count_ - 2] = static_cast<std::uint16_t>(last_block);
  in_front[blocks()] = 0;
  std::exclusive_scan(in_front, in_front + blocks() + 1, in_front, std::int64_t{0});
  view_ = {words, before, in_front};
}

std::int64_t count_marks(const Mask& mask, Range range, const SelectKernels& kernels, int workers) {
  std::atomic<std::int64_t> total{0};
  for_each_block_on(workers, range.count, kMarkBlock, [&](Range block) {
    std::uint64_t words[kMarkBlock / kMarkWord];
    std::uint16_t before[kMarkBlock / kMarkWord];
    total += mark_block(mask, {range.first + block.first, block.count}, kernels, words, before);
    return kNoIndex;
  });
  return total;
}

namespace {

void compact_run(const ContentColumn& column, const Marks& marks, std::int64_t block, std::uint64_t flip,
                 std::int64_t to, std::int64_t kept, const SelectKernels& kernels) {
  const Range range = block_of(marks.count(), kMarkBlock, block);
  const auto* const content = static_cast<const std::byte*>(column.data);
  auto* const out = static_cast<std::byte*>(column.out);
  kernels.compact[moved_size(column.element_size)](
      {.content = content + (marks.first() + range.first) * column.element_size,
       .count = range.count,
       .words = marks.view().words + range.first / kMarkWord,
       .flip = flip,
       .out = out + to * column.element_size,
       .kept = kept});
}

}  // namespace

void compact_block(const ContentColumn& column, const Marks& marks, std::int64_t block, const SelectKernels& kernels) {
  const std::int64_t* const in_front = marks.view().in_front + block;
  compact_run(column, marks, block, 0, in_front[0], in_front[1] - in_front[0], kernels);
}

void compact_others(const ContentColumn& column, const Marks& marks, std::int64_t block, std::int64_t base,
                    const SelectKernels& kernels) {
  const std::int64_t* const in_front = marks.view().in_front + block;
  const Range range = block_of(marks.count(), kMarkBlock, block);
  compact_run(column, marks, block, ~std::uint64_t{0}, base + range.first - in_front[0],
              range.count - (in_front[1] - in_front[0]), kernels);
}

}  // namespace upsweep::cpu
