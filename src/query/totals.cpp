// SPDX-License-Identifier: Apache-2.0
// query/totals.cpp: pieces wait until enough have come; then a thread merges a part of them all, while that part is in cache.
#include "query/totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/memory.hpp"
#include "cpu/parallel.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

// Groups from which on they are merged in parts: before, a piece takes one thread some ten microseconds.
constexpr std::int64_t kMany = 1 << 11;
// Pieces that a part waits for: its groups then come into the cache once for all of them.
constexpr std::size_t kWaiting = 8;

constexpr std::uint64_t place(std::size_t piece, std::int32_t group) {
  return (std::uint64_t{piece} << 32) | static_cast<std::uint32_t>(group);
}

}  // namespace

Totals::Totals(const Plan& plan, const Kernels& kernels, std::int64_t most_bytes)
    : plan_(plan), kernels_(kernels), few_(plan, kernels), most_bytes_(most_bytes) {}

std::unique_ptr<Totals::Piece> Totals::piece_of(Groups& groups) {
  if (groups.count() >= kMany) return divided(groups);
  return std::make_unique<Piece>(std::exchange(groups, Groups(plan_, kernels_)));
}

std::unique_ptr<Totals::Piece> Totals::divided(Groups& groups) {
  std::unique_ptr<Piece> piece;
  {
    const std::lock_guard lock(adding_);
    if (!spare_.empty()) {
      piece = std::make_unique<Piece>(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  if (piece == nullptr) piece = std::make_unique<Piece>(Groups(plan_, kernels_));
  const auto count = static_cast<std::int32_t>(groups.count());
  const auto part = [&](std::int32_t group) { return static_cast<std::size_t>(part_of(groups.hash(group))); };
  auto& begin = piece->begin;
  for (std::int32_t g = 0; g < count; ++g) ++begin[part(g) + 1];
  for (std::size_t p = 0; p < kParts; ++p) begin[p + 1] += begin[p];
  piece->order.resize(static_cast<std::size_t>(count));
  auto next = begin;
  for (std::int32_t g = 0; g < count; ++g) piece->order[static_cast<std::size_t>(next[part(g)]++)] = g;
  piece->groups.take_in_order(groups, piece->order);
  piece->is_divided = true;
  return piece;
}

void Totals::add(std::unique_ptr<Piece> piece) {
  if (!is_divided_ && !piece->is_divided) {
    few_.merge(piece->groups);
    if (!plan_.grouped || few_.count() < kMany) return;
    piece = nullptr;
  }
  if (!is_divided_) begin_parts();
  if (piece == nullptr) return;
  if (!piece->is_divided) piece = divided(piece->groups);
  const std::lock_guard lock(adding_);
  pieces_.push_back(std::move(piece));
  added_ = pieces_.size();
}

/// What there is becomes the first piece.
void Totals::begin_parts() {
  if (most_bytes_ == 0) most_bytes_ = available_memory() / 4 * 3;
  for (Part& part : parts_) part.groups.emplace(plan_, kernels_);
  if (few_.count() > 0) {
    pieces_.push_back(divided(few_));
    added_ = 1;
  }
  is_divided_ = true;
}

void Totals::merge_some() {
  if (!is_divided_) return;
  const unsigned first = next_++;
  for (unsigned i = 0; i < kParts; ++i) {
    const auto number = static_cast<int>((first + i) % kParts);
    Part& part = parts_[static_cast<std::size_t>(number)];
    if (added_ - part.merged < kWaiting) continue;
    const std::unique_lock lock(part.merging, std::try_to_lock);
    if (lock) merge(number);
  }
}

void Totals::merge_all() {
  if (!is_divided_) return;
  const unsigned first = next_++;
  for (unsigned i = 0; i < kParts; ++i) {
    const auto number = static_cast<int>((first + i) % kParts);
    const std::lock_guard lock(parts_[static_cast<std::size_t>(number)].merging);
    merge(number);
  }
}

/// All that has been added, by the thread that has the part.
void Totals::merge(int number) {
  Part& part = parts_[static_cast<std::size_t>(number)];
  std::vector<Piece*> pieces;
  {
    const std::lock_guard lock(adding_);
    for (std::size_t i = part.merged; i < pieces_.size(); ++i) pieces.push_back(pieces_[i].get());
  }
  for (Piece* const piece : pieces) {
    const std::size_t which = part.merged;
    merge(part, number, which, *piece);
    part.merged = which + 1;
    if (--piece->left > 0) continue;
    const std::lock_guard lock(adding_);
    spare_.push_back(std::move(piece->groups));
    pieces_[which].reset();
  }
}

void Totals::merge(Part& part, int number, std::size_t which, const Piece& piece) {
  const std::int64_t begin = piece.begin[static_cast<std::size_t>(number)];
  const std::int64_t end = piece.begin[static_cast<std::size_t>(number) + 1];
  std::vector<std::int64_t> fresh;
  part.groups->merge(piece.groups, begin, end, fresh);
  for (const std::int64_t group : fresh)
    part.first.push_back(place(which, piece.order[static_cast<std::size_t>(group)]));
  require_memory(part);
}

/// In the end all parts are there twice, as they are put together.
void Totals::require_memory(Part& part) {
  const std::int64_t now = part.groups->bytes() + std::ssize(part.first) * std::int64_t{sizeof(std::uint64_t)};
  const std::int64_t all = bytes_ += now - std::exchange(part.bytes, now);
  if (all <= most_bytes_ / 2) return;
  throw Error(
      Code::out_of_memory,
      fmt::format("GROUP BY comes to more groups than memory has room for: they take {} MB so far, twice as many are "
                  "needed in the end, and there are {} MB: group by less, or a part of the table at a time",
                  all >> 20, most_bytes_ >> 20));
}

Groups Totals::take(int workers) && {
  if (!is_divided_) return std::move(few_);
  std::vector<Groups*> parts;
  std::vector<std::size_t> begin{0};  // of each piece: where its groups are in all
  begin.resize(pieces_.size() + 1);
  for (Part& part : parts_) {
    parts.push_back(&*part.groups);
    for (const std::uint64_t first : part.first) ++begin[(first >> 32) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Groups::Place> order(begin.back());
  std::atomic<std::size_t> next{0};
  cpu::run_workers(workers, [&](int) {
    for (std::size_t piece = next++; piece < pieces_.size(); piece = next++) {
      order_piece(piece, std::span(order).subspan(begin[piece], begin[piece + 1] - begin[piece]));
    }
  });
  return Groups::joined(plan_, kernels_, parts, order, workers);
}

/// The groups whose first rows are in a piece, in their order.
void Totals::order_piece(std::size_t piece, std::span<Groups::Place> places) const {
  auto next = places.begin();
  const auto first_of = [&](const Groups::Place& at) {
    return parts_[static_cast<std::size_t>(at.part)].first[static_cast<std::size_t>(at.group)];
  };
  for (std::int32_t number = 0; number < kParts; ++number) {
    const std::vector<std::uint64_t>& first = parts_[static_cast<std::size_t>(number)].first;
    auto own = std::lower_bound(first.begin(), first.end(), place(piece, 0));
    for (; own != first.end() && *own < place(piece + 1, 0); ++own) {
      *next++ = {number, static_cast<std::int32_t>(own - first.begin())};
    }
  }
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) { return first_of(a) < first_of(b); });
}

}  // namespace upsweep::query
