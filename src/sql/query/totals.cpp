// SPDX-License-Identifier: Apache-2.0
// sql/query/totals.cpp: pieces wait until enough have come; then a thread merges a part of them all, while that part is in cache.
//
// Where memory does not suffice, the largest part is written to a temporary file, as far as it is merged, and what later pieces
// have of it goes there unmerged. In the end such a part is read from its front and merged in the same order, so its states have
// the same bits. One that is too large even alone is divided by the next bits of the hashes, into a section each.
#include "sql/query/totals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/parallel.hpp"
#include "system/memory.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

// Groups from which on they are merged in parts: before, a piece takes one thread some ten microseconds.
constexpr std::int64_t kMany = 1 << 11;
// Pieces that a part waits for: its groups then come into the cache once for all of them. 10^5 groups of 10^7 rows take a tenth less
// time with as many as memory is meant for than with a third of these, and a fifth more with a tenth.
constexpr std::size_t kLeastWaiting = 12;
constexpr std::int64_t kWaiting = 32;
// Of memory, at most, for pieces that wait because there are many groups: 10^6 of them in 10^7 rows take 10 to 15 % less time with
// 80 MB than with 25, and 10^7 groups no less with 300 MB than with these.
constexpr std::int64_t kMostWaiting = std::int64_t{1} << 27;

// What of the memory allowed may be in use before groups go to a file: the rest is for what is not counted, the batches that
// are read, say, and for vectors that grow.
constexpr std::int64_t at_work(std::int64_t most) { return most / 4 * 3; }
constexpr std::uint64_t place(std::size_t piece, std::int32_t group) {
  return (std::uint64_t{piece} << 32) | static_cast<std::uint32_t>(group);
}

}  // namespace

Totals::Totals(const Plan& plan, std::int64_t most_bytes, std::optional<std::string> spill_folder)
    : plan_(plan), few_(plan), most_bytes_(most_bytes), spill_folder_(std::move(spill_folder)) {
  // One that somebody has named: better now than when the first groups are to go there, or never.
  if (spill_folder_ && !spill_folder_->empty()) begin_spilling();
}

std::unique_ptr<Totals::Piece> Totals::piece_of(Groups& groups) {
  if (!is_divided_ && groups.ascend()) return ascending(groups);
  if (groups.count() >= kMany || groups.loose().count() > 0) return divided(groups);
  return std::make_unique<Piece>(std::exchange(groups, Groups(plan_)));
}

std::unique_ptr<Totals::Piece> Totals::ascending(const Groups& groups) {
  if (groups.count() >= kMany) require_known_memory();
  auto piece = std::make_unique<Piece>(Groups(plan_));
  piece->groups.copy(groups);
  piece->ascends = true;
  piece->bytes = piece->groups.bytes();
  piece_bytes_ += piece->bytes;
  return piece;
}

/// Whether its keys are greater than all before, of which the last may be the same.
bool Totals::follows(const Piece& piece) const {
  if (!piece.ascends) return false;
  if (pieces_.empty()) return few_.count() == 0 && piece.groups.count() >= kMany;
  const Groups& last = pieces_.back()->groups;
  return last.key(last.count() - 1, 0) <= piece.groups.key(0, 0);
}

void Totals::append(std::unique_ptr<Piece> piece) {
  if (!pieces_.empty()) {
    Groups& last = pieces_.back()->groups;
    if (last.key(last.count() - 1, 0) == piece->groups.key(0, 0)) {
      give_last(last, piece->groups);
      --counts_.back();
    }
  }
  counts_.push_back(piece->groups.count());
  pieces_.push_back(std::move(piece));
  if (bytes() > most_bytes_ / 2) begin_parts();
}

std::unique_ptr<Totals::Piece> Totals::divided(Groups& groups) {
  require_known_memory();
  std::unique_ptr<Piece> piece;
  {
    const std::lock_guard lock(adding_);
    if (!spare_.empty()) {
      piece = std::make_unique<Piece>(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  if (piece == nullptr) {
    piece = std::make_unique<Piece>(Groups(plan_));
  } else {
    piece_bytes_ -= piece->groups.bytes();
  }
  const auto count = static_cast<std::int32_t>(groups.count());
  const auto part = [&](std::int32_t group) { return static_cast<std::size_t>(part_of(groups.hash(group))); };
  auto& begin = piece->begin;
  for (std::int32_t g = 0; g < count; ++g) ++begin[part(g) + 1];
  for (std::size_t p = 0; p < kParts; ++p) begin[p + 1] += begin[p];
  piece->order.resize(static_cast<std::size_t>(count));
  auto next = begin;
  for (std::int32_t g = 0; g < count; ++g) piece->order[static_cast<std::size_t>(next[part(g)]++)] = g;
  piece->groups.loose().clear();
  std::swap(piece->groups.loose(), groups.loose());
  piece->groups.take_in_order(groups, piece->order);
  piece->is_divided = true;
  piece->bytes = piece->groups.bytes() + std::ssize(piece->order) * std::int64_t{sizeof(std::int32_t)};
  piece_bytes_ += piece->bytes;
  last_bytes_ = piece->bytes;
  return piece;
}

void Totals::add(std::unique_ptr<Piece> piece) {
  if (plan_.grouped && !piece->is_divided && piece->groups.count() == 0) return;  // a batch of which no row is kept
  if (!is_divided_ && follows(*piece)) return append(std::move(piece));
  if (!piece->is_divided) piece_bytes_ -= std::exchange(piece->bytes, 0);
  if (!is_divided_ && !piece->is_divided && pieces_.empty()) {
    query::merge(few_, piece->groups);
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
  require_known_memory();
  for (Part& part : parts_) part.groups.emplace(plan_);
  if (few_.count() > 0) pieces_.push_back(divided(few_));
  for (std::unique_ptr<Piece>& piece : pieces_) {
    if (piece->is_divided) continue;
    piece_bytes_ -= piece->bytes;
    piece = divided(piece->groups);
  }
  added_ = pieces_.size();
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
  for (const Part& part : parts_) {
    if (part.is_spilled) return -1;
    all += std::ssize(part.first);
  }
  return all;
}

void Totals::merge_some(const std::atomic<bool>* stop) {
  if (!is_divided_) return;
  const unsigned first = next_++;
  for (unsigned i = 0; i < kParts && !(stop != nullptr && *stop); ++i) {
    const auto number = static_cast<int>((first + i) % kParts);
    Part& part = parts_[static_cast<std::size_t>(number)];
    const std::size_t waiting = added_ - part.merged;
    if (waiting == 0 || (waiting < due() && bytes() < most_bytes_ / 2)) continue;
    {
      const std::unique_lock lock(part.merging, std::try_to_lock);
      if (lock) merge(number);
    }
    spill_some();
  }
}

/// Pieces that a part waits for: where that is more, as many as take the memory of all groups, which then come into the cache once
/// for as many bytes.
std::size_t Totals::due() const {
  const std::int64_t each = std::max<std::int64_t>(last_bytes_, 1);
  const std::int64_t wanted = std::max<std::int64_t>(bytes_, kWaiting * each);
  return std::max(kLeastWaiting, static_cast<std::size_t>(std::min(wanted, kMostWaiting) / each));
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
    piece_bytes_ -= piece->bytes;
    if (bytes() < most_bytes_ / 4) {
      piece_bytes_ += piece->groups.bytes();
      spare_.push_back(std::move(piece->groups));
    }
    pieces_[which].reset();
  }
}

void Totals::merge(Part& part, int number, std::size_t which, const Piece& piece) {
  const std::int64_t begin = piece.begin[static_cast<std::size_t>(number)];
  const std::int64_t end = piece.begin[static_cast<std::size_t>(number) + 1];
  const auto place_of = [&](std::int64_t group) { return place(which, piece.order[static_cast<std::size_t>(group)]); };
  if (part.writer != nullptr) {
    detail::Large<std::uint64_t> first;
    first.reserve(static_cast<std::size_t>(end - begin));
    for (std::int64_t group = begin; group < end; ++group) first.push_back(place_of(group));
    spilled_->write(*part.writer, piece.groups, begin, end, first.data(), SpilledPartitions::buffer_bytes(most_bytes_));
  } else {
    std::vector<std::int64_t> fresh;
    query::merge(*part.groups, piece.groups, begin, end, fresh);
    for (const std::int64_t group : fresh) part.first.push_back(place_of(group));
  }
  if (piece.groups.loose().count() > 0) merge_rows(part, number, which, piece);
  count_memory(part);
}

void Totals::merge_rows(Part& part, int number, std::size_t which, const Piece& piece) {
  const LooseRows& rows = piece.groups.loose();
  const auto place_of = [&](std::int64_t row) {
    return place(which, static_cast<std::int32_t>(piece.groups.count() + row));  // after all groups
  };
  std::vector<std::int64_t> fresh;
  if (part.writer == nullptr) {
    query::merge(*part.groups, rows, number, fresh);
    for (const std::int64_t row : fresh) part.first.push_back(place_of(row));
    return;
  }
  Groups apart(plan_);
  query::append(apart, rows, number);
  detail::Large<std::uint64_t> first;
  first.reserve(static_cast<std::size_t>(rows.count(number)));
  for (std::int64_t i = 0; i < rows.count(number); ++i) {
    first.push_back(place_of(static_cast<std::int64_t>(LooseRows::place(rows.row(number, i)))));
  }
  spilled_->write(*part.writer, apart, 0, apart.count(), first.data(), SpilledPartitions::buffer_bytes(most_bytes_));
}

void Totals::count_memory(Part& part) {
  std::int64_t now = static_cast<std::int64_t>(part.first.capacity() * sizeof(std::uint64_t));
  if (part.groups) now += part.groups->bytes();
  if (part.writer != nullptr) now += part.writer->bytes();
  bytes_ += now - part.bytes.exchange(now);
  if (!spill_folder_) refuse_memory();
}

/// In the end all parts are there twice, as they are put together.
void Totals::refuse_memory() const {
  if (bytes_ <= most_bytes_ / 2) return;
  throw Error(
      Code::out_of_memory,
      fmt::format("GROUP BY comes to more groups than memory has room for: they take {} MB so far, twice as many are "
                  "needed in the end, and there are {} MB: group by less, or a part of the table at a time",
                  bytes_ >> 20, most_bytes_ >> 20));
}

// ------------------------------------------------------------------------------------------------------- to and from a file

void Totals::begin_spilling() { spilled_ = std::make_unique<SpilledPartitions>(plan_, *spill_folder_, loaded_); }

/// The largest parts, until enough is free.
void Totals::spill_some() {
  if (!spill_folder_ || bytes() <= at_work(most_bytes_)) return;
  const std::unique_lock lock(spilling_, std::try_to_lock);
  if (!lock) return;  // another thread does
  while (bytes() > at_work(most_bytes_)) {
    const auto size = [](const Part& part) { return part.is_spilled ? std::int64_t{-1} : part.bytes.load(); };
    Part& part = *std::max_element(parts_.begin(), parts_.end(),
                                   [&](const Part& a, const Part& b) { return size(a) < size(b); });
    if (part.is_spilled) return;  // all are
    if (spilled_ == nullptr) begin_spilling();
    const std::lock_guard merging(part.merging);
    spill(part);
  }
}

void Totals::spill(Part& part) {
  part.writer = std::make_unique<SpilledPartitions::Writer>(plan_);
  spilled_->write(*part.writer, *part.groups, 0, part.groups->count(), part.first.data(),
                  SpilledPartitions::buffer_bytes(most_bytes_));
  part.groups.reset();
  detail::free_vector(part.first);
  part.is_spilled = true;
  count_memory(part);
}

void Totals::finish_writing() {
  for (Part& part : parts_) {
    if (part.writer == nullptr) continue;
    spilled_->finish(*part.writer);
    part.writer.reset();
    count_memory(part);
  }
}

void Totals::use_sections(int workers, const UseGroups& use, const std::function<void()>& pause) {
  if (ascend()) return use_pieces(workers, use, pause);
  if (!is_divided_) {
    detail::Large<std::uint64_t> first(static_cast<std::size_t>(few_.count()));
    std::iota(first.begin(), first.end(), std::uint64_t{0});
    return use(few_, first);
  }
  free_spare(workers);
  finish_writing();
  Pause pausing(pause);
  cpu::for_each_of(kParts, workers, [&](std::int64_t number) {
    Part& part = parts_[static_cast<std::size_t>(number)];
    if (!part.groups) return;
    if (part.groups->count() > 0) use(*part.groups, part.first);
    part.groups.reset();
    count_memory(part);
    pausing.now();
  });
  if (spilled_ != nullptr) spilled_->use(workers, most_bytes_, use, pausing);
}

std::vector<Totals::View> Totals::views(int workers) {
  free_spare(workers);
  std::vector<View> all;
  if (ascend()) {
    for (const auto& piece : pieces_) all.push_back({&piece->groups, {}});
  } else if (!is_divided_) {
    all.push_back({&few_, {}});
  } else {
    for (const Part& part : parts_) all.push_back({&*part.groups, part.first});
  }
  return all;
}

void Totals::forget(int workers) {
  few_ = Groups(plan_);
  cpu::for_each_piece(std::ssize(pieces_), workers,
                      [&](std::int64_t i) { pieces_[static_cast<std::size_t>(i)].reset(); });
  cpu::for_each_piece(kParts, workers, [&](std::int64_t i) {
    Part& part = parts_[static_cast<std::size_t>(i)];
    part.groups.reset();
    detail::free_vector(part.first);
  });
}

/// By all threads: to give memory back takes as long as to fill it.
void Totals::free_spare(int workers) {
  cpu::for_each_piece(std::ssize(spare_), workers,
                      [&](std::int64_t i) { const Groups gone = std::move(spare_[static_cast<std::size_t>(i)]); });
  spare_.clear();
  if (is_divided_) piece_bytes_ = 0;
}

void Totals::merge_all(int workers) {
  if (!is_divided_) return;
  cpu::for_each_of(kParts, workers, [&](std::int64_t number) {
    {
      const std::lock_guard lock(parts_[static_cast<std::size_t>(number)].merging);
      merge(static_cast<int>(number));
    }
    spill_some();
  });
}

void Totals::use_pieces(int workers, const UseGroups& use, const std::function<void()>& pause) {
  Pause pausing(pause);
  cpu::for_each_of(std::ssize(pieces_), workers, [&](std::int64_t i) {
    const auto number = static_cast<std::size_t>(i);
    const auto piece = std::move(pieces_[number]);
    detail::Large<std::uint64_t> first(static_cast<std::size_t>(counts_[number]));
    std::iota(first.begin(), first.end(), place(number, 0));
    if (!first.empty()) use(piece->groups, first);
    piece_bytes_ -= piece->bytes;
    pausing.now();
  });
}

std::int64_t Totals::count_before(std::uint64_t place, int workers) {
  if (ascend()) {
    const auto piece = counts_.begin() + static_cast<std::ptrdiff_t>(place >> 32);
    return std::accumulate(counts_.begin(), piece, static_cast<std::int64_t>(static_cast<std::uint32_t>(place)));
  }
  if (!is_divided_) return std::min<std::int64_t>(static_cast<std::int64_t>(place), few_.count());
  std::atomic<std::int64_t> before{0};
  const auto add = [&](std::span<const std::uint64_t> first) {
    before += std::lower_bound(first.begin(), first.end(), place) - first.begin();
  };
  for (const Part& part : parts_) add(part.first);
  if (spilled_ != nullptr) {
    const std::function<void()> none;
    Pause pausing(none);
    spilled_->use(
        workers, most_bytes_, [&](const Groups&, std::span<const std::uint64_t> first) { add(first); }, pausing);
  }
  return before;
}

// ---------------------------------------------------------------------------------------------------------- all, in memory

Groups Totals::take(int workers) && {
  if (ascend()) return joined_pieces(workers);
  if (!is_divided_) return std::move(few_);
  std::vector<Groups*> parts;
  std::vector<std::size_t> begin{0};  // of each piece: where its groups are in all
  begin.resize(pieces_.size() + 1);
  for (Part& part : parts_) {
    parts.push_back(&*part.groups);
    for (const std::uint64_t first : part.first) ++begin[(first >> 32) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<GroupPlace> order(begin.back());
  std::atomic<std::size_t> next{0};
  cpu::run_workers(workers, [&](int) {
    for (std::size_t piece = next++; piece < pieces_.size(); piece = next++) {
      order_piece(piece, std::span(order).subspan(begin[piece], begin[piece + 1] - begin[piece]));
    }
  });
  return joined(plan_, parts, order, workers);
}

Groups Totals::joined_pieces(int workers) const {
  std::vector<Groups*> parts;
  std::vector<GroupPlace> order;
  for (const auto& piece : pieces_) {
    const auto count = static_cast<std::int32_t>(piece->groups.count());
    for (std::int32_t g = 0; g < count; ++g) order.push_back({static_cast<std::int32_t>(parts.size()), g});
    parts.push_back(&piece->groups);
  }
  return joined(plan_, parts, order, workers);
}

/// The groups whose first rows are in a piece, in their order: each is put where its number says, as sorting takes ten times as long.
void Totals::order_piece(std::size_t piece, std::span<GroupPlace> places) const {
  if (places.empty()) return;
  const std::uint64_t begin = place(piece, 0);
  constexpr GroupPlace kNone{-1, -1};
  std::vector<GroupPlace> by_number;
  for (std::int32_t number = 0; number < kParts; ++number) {
    const detail::Large<std::uint64_t>& first = parts_[static_cast<std::size_t>(number)].first;
    const auto own = std::lower_bound(first.begin(), first.end(), begin);
    const auto end = std::lower_bound(own, first.end(), place(piece + 1, 0));
    if (own == end) continue;
    by_number.resize(std::max<std::size_t>(by_number.size(), *(end - 1) - begin + 1), kNone);
    for (auto at = own; at != end; ++at) {
      by_number[*at - begin] = {number, static_cast<std::int32_t>(at - first.begin())};
    }
  }
  std::copy_if(by_number.begin(), by_number.end(), places.begin(), [](const auto& at) { return at.part >= 0; });
}

}  // namespace upsweep::query
