// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/staged_content.cpp: copies elements of lists into a buffer that stays in L2, and
// converts them.
#include "problems/lists/segmented_reduce/staged_content.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/kernels.hpp"
#include "cpu/list_values.hpp"

namespace upsweep::impl::segmented_reduce {
namespace {

/// Number of elements that are converted or gathered at a time: they stay in L2.
constexpr std::int64_t kStaged = kBlocksAtOnce * cpu::kListBlock;

}  // namespace

StagedContent::StagedContent(const Job& job, Type type, Layout layout)
    : call_(job.call),
      kernels_(job.kernels),
      type_(type),
      layout_(layout),
      converts_(type != call_.in_type && type != Type::custom) {
  const bool is_contiguous = call_.lists.are_adjacent() && !call_.lists.valid.is_given();
  gathers_ = call_.valid.is_given() || (!is_contiguous && (converts_ || layout != Layout::anywhere));
  stages_ = converts_ || gathers_ || layout == Layout::packed;
  if (gathers_) gathered_ = buffer(call_.in_size);
  if (converts_) converted_ = buffer(size_of(type));
}

std::int64_t StagedContent::capacity() const {
  const std::int64_t times = gathers_ ? std::min(call_.lists.count, kStaged) : 1;
  return std::min(std::min(call_.n, kStaged) * times, kStaged);
}

std::unique_ptr<std::byte[]> StagedContent::buffer(std::int64_t element_size) const {
  return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(capacity() * element_size));
}

/// Returns the number of lists that are staged together: those that fit into the buffer. Unless lists are gathered,
/// they end before the next long list, which has become empty.
std::int64_t StagedContent::lists_that_fit(const SomeLists& lists) const {
  if (!stages_) return lists.count;
  // There is no long list between short ones, and all of them fit.
  const std::int64_t longest = lists.batch.longest;
  if (longest * lists.count < kStaged && longest < cpu::kListBlock) return lists.count;
  std::int64_t elements = 0;
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    const std::int64_t from = lists.from()[i];
    const std::int64_t to = lists.to()[i];
    if (from == to) continue;
    const bool is_apart = elements > 0 && !gathers_ && from != end;
    elements += to - from;
    if (is_apart || elements > kStaged) return i;
    end = to;
  }
  return lists.count;
}

/// Copies the elements that are not null, one after the other. Bounds become those of the copies.
Content StagedContent::gather(const SomeLists& lists) {
  const auto size = static_cast<std::size_t>(call_.in_size);
  const auto* const in = static_cast<const std::byte*>(call_.in);
  std::byte* to = gathered_.get();
  const auto place = [&] { return (to - gathered_.get()) / call_.in_size; };
  for (std::int64_t i = 0; i < lists.count; ++i) {
    auto& first = lists.from()[i];
    auto& last = lists.to()[i];
    const std::int64_t begin = place();
    if (call_.valid.is_given()) {
      for (std::int64_t j = first; j < last; ++j) {
        if (!call_.valid[j]) continue;
        std::memcpy(to, in + j * call_.in_size, size);
        to += size;
      }
    } else if (first < last) {
      const auto bytes = static_cast<std::size_t>(last - first) * size;
      std::memcpy(to, in + first * call_.in_size, bytes);
      to += bytes;
    }
    first = begin;
    last = place();
  }
  return {gathered_.get(), place()};
}

/// Finds the elements of adjacent lists in the call's content. Bounds become relative to the first of these elements.
Content StagedContent::find(const SomeLists& lists) const {
  std::int64_t* const from = lists.from();
  std::int64_t* const to = lists.to();
  std::int64_t given = 0;  // the first list that is not empty, and the last one
  while (given < lists.count - 1 && from[given] == to[given]) ++given;
  std::int64_t last = lists.count - 1;
  while (last > given && from[last] == to[last]) --last;
  const std::int64_t first = from[given];
  const std::int64_t elements = to[last] - first;
  if (layout_ != Layout::packed) kernels_.shift_bounds(from, to, lists.count, first);
  return {static_cast<const std::byte*>(call_.in) + first * call_.in_size, elements};
}

Content StagedContent::stage(const SomeLists& lists) {
  if (!stages_) return {static_cast<const std::byte*>(call_.in), call_.n};
  given_ = gathers_ ? gather(lists) : find(lists);
  if (!converts_) return given_;
  cpu::kernels(Isa::best).convert[cpu::at(call_.in_type)][cpu::at(type_)](given_.data, converted_.get(), given_.end);
  return {converted_.get(), given_.end};
}

}  // namespace upsweep::impl::segmented_reduce
