// SPDX-License-Identifier: Apache-2.0
// sql/query/groups.cpp: the hash table of groups: open addressing over tags of hashes.
#include "sql/query/groups.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

constexpr std::size_t kFirstSlots = 64;

/// By key: whether it is text.
std::vector<std::uint8_t> texts_among(const std::vector<Node>& keys) {
  std::vector<std::uint8_t> are_texts;
  are_texts.reserve(keys.size());
  for (const Node& key : keys) are_texts.push_back(is_text(key) ? 1 : 0);
  return are_texts;
}

std::vector<std::size_t> sums_of(const Plan& plan) {
  std::vector<std::size_t> sums;
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    if (plan.aggregates[a].fold == Fold::sum) sums.push_back(a);
  }
  return sums;
}

/// Whether all strings are those of the only key.
bool are_texts_groups(const Plan& plan) {
  return plan.keys.size() == 1 && is_text(plan.keys[0]) &&
         std::none_of(plan.aggregates.begin(), plan.aggregates.end(), [](const Aggregate& a) { return is_text(a); });
}

}  // namespace

Groups::Groups(const Plan& plan)
    : plan_(&plan),
      are_texts_(texts_among(plan.keys)),
      any_text_(std::find(are_texts_.begin(), are_texts_.end(), 1) != are_texts_.end()),
      texts_are_groups_(are_texts_groups(plan)),
      sums_(sums_of(plan)),
      rows_(plan),
      loose_(are_texts_, sums_.size()) {
  if (!plan_->grouped) (void)find(nullptr, nullptr);
}

void Groups::clear() {
  count_ = 0;
  rows_.clear();
  texts_.clear();
  if (in_slots_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{0, -1});
  in_slots_ = 0;
  loose_.clear();
  if (!plan_->grouped) (void)find(nullptr, nullptr);
}

std::int64_t Groups::bytes() const {
  return static_cast<std::int64_t>(slots_.capacity() * sizeof(Slot)) + rows_.bytes() + texts_.bytes() + loose_.bytes();
}

/// Puts the groups that are not in slots yet into theirs.
void Groups::complete() {
  if (are_slots_full()) make_slots(2 * static_cast<std::size_t>(count_));
  for (; in_slots_ < count_; ++in_slots_) take_slot({tag_of(hash(in_slots_)), static_cast<std::int32_t>(in_slots_)});
}

void Groups::make_slots(std::size_t least) {
  detail::Large<Slot> wider(std::bit_ceil(std::max(kFirstSlots, least)), {0, -1});
  std::swap(slots_, wider);
  for (const Slot& slot : wider) {
    if (slot.group >= 0) take_slot(slot);
  }
}

void Groups::take_slot(Slot slot) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t place = slot.tag & mask;
  while (slots_[place].group >= 0) place = (place + 1) & mask;
  slots_[place] = slot;
}

void Groups::reserve(std::int64_t groups) {
  rows_.reserve(groups);
  const std::size_t slots = 3 * static_cast<std::size_t>(groups) / 2;  // of which a quarter is free
  if (slots > slots_.size()) make_slots(slots);
}

std::uint64_t Groups::hash_of_key(const Int128* key, const std::uint8_t* nulls) const {
  const Secret& by = secret();
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < are_texts_.size(); ++k) {
    const bool is_long = are_texts_[k] != 0 && is_long_text(key[k]);
    const Int128 value = is_long ? Int128{texts_.hash(entry_of_long(key[k]))} : key[k];
    all = hash_more(by, all, static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(value >> 64) + nulls[k]);
  }
  return all;
}

std::int32_t Groups::find(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls) {
  return find_or_add(
      hash, [&](std::int32_t group) { return has_key(group, key, nulls); }, [&] { return add(hash, key, nulls); });
}

std::int32_t Groups::add(std::uint64_t hash, const Int128* key, const std::uint8_t* nulls) {
  const std::int32_t group = add(hash);
  for (std::size_t k = 0; k < are_texts_.size(); ++k) {
    rows_.set_key(group, k, key[k]);
    if (nulls[k] != 0) rows_.set_null(group, k);
  }
  return group;
}

void Groups::refuse_more() { throw Error(Code::out_of_memory, "GROUP BY produces more than 2^31 groups"); }

void Groups::take_in_order(Groups& from, std::span<const std::int32_t> order) {
  rows_.clear();
  Groups* const parts[] = {&from};
  resize_for(std::ssize(order), parts);
  std::int64_t to = 0;
  for (const std::int32_t group : order) rows_.copy_row(to++, from.rows_, group);
  std::swap(texts_, from.texts_);
}

void Groups::copy(const Groups& from) {
  rows_ = from.rows_;
  count_ = from.count_;
}

void Groups::resize_for(std::int64_t count, std::span<Groups* const> parts) {
  for (const Groups* const part : parts) rows_.widen_as(part->rows_);
  rows_.resize(count);
  count_ = count;
}

void Groups::remove_last() {
  rows_.pop_back();
  --count_;
}

bool Groups::ascend() const {
  if (are_texts_.size() != 1 || any_text_ || rows_.have_nulls() || !texts_.all().empty() || count_ == 0 ||
      loose_.count() > 0)
    return false;
  for (std::int64_t g = 1; g < count_; ++g) {
    if (key(g - 1, 0) >= key(g, 0)) return false;
  }
  return true;
}

}  // namespace upsweep::query
