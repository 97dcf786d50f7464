// SPDX-License-Identifier: Apache-2.0
// sql/query/groups.cpp: finds groups by the hashes of their keys.
#include "sql/query/groups.hpp"

#include <algorithm>
#include <utility>

#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

/// Returns for each key whether it is text.
std::vector<std::uint8_t> text_among(const std::vector<Node>& keys) {
  std::vector<std::uint8_t> are_text;
  are_text.reserve(keys.size());
  for (const Node& key : keys) are_text.push_back(is_text(key) ? 1 : 0);
  return are_text;
}

std::vector<std::size_t> sums_of(const QueryPlan& plan) {
  std::vector<std::size_t> sums;
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    if (plan.aggregates[a].fold == Fold::sum) sums.push_back(a);
  }
  return sums;
}

/// Returns whether all strings are those of the only key.
bool are_strings_groups(const QueryPlan& plan) {
  return plan.keys.size() == 1 && is_text(plan.keys[0]) &&
         std::none_of(plan.aggregates.begin(), plan.aggregates.end(), [](const Aggregate& a) { return is_text(a); });
}

}  // namespace

Groups::Groups(const QueryPlan& plan)
    : plan_(&plan),
      are_text_(text_among(plan.keys)),
      any_text_(std::find(are_text_.begin(), are_text_.end(), 1) != are_text_.end()),
      strings_are_groups_(are_strings_groups(plan)),
      sums_(sums_of(plan)),
      rows_(plan),
      unaggregated_(are_text_, sums_.size()) {
  if (!plan_->grouped) (void)find(nullptr, nullptr);
}

void Groups::clear() {
  count_ = 0;
  rows_.clear();
  strings_.clear();
  slots_.clear();
  unaggregated_.clear();
  if (!plan_->grouped) (void)find(nullptr, nullptr);
}

std::int64_t Groups::bytes() const { return slots_.bytes() + rows_.bytes() + strings_.bytes() + unaggregated_.bytes(); }

void Groups::reserve(std::int64_t groups) {
  rows_.reserve(groups);
  slots_.reserve(groups);
}

std::uint64_t Groups::hash_of_key(const Int128* key, const std::uint8_t* nulls) const {
  const Secret& by = secret();
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < are_text_.size(); ++k) {
    const bool is_long = are_text_[k] != 0 && is_long_string(key[k]);
    const Int128 value = is_long ? Int128{strings_.hash(entry_of_long(key[k]))} : key[k];
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
  for (std::size_t k = 0; k < are_text_.size(); ++k) {
    rows_.set_key(group, k, key[k]);
    if (nulls[k] != 0) rows_.set_null(group, k);
  }
  return group;
}

void Groups::refuse_more() { throw Error(Code::out_of_memory, "GROUP BY produces more than 2^31 groups"); }

void Groups::take_in_order(Groups& from, std::span<const std::int32_t> order) {
  rows_.clear();
  Groups* const partitions[] = {&from};
  resize_for(std::ssize(order), partitions);
  std::int64_t to = 0;
  for (const std::int32_t group : order) rows_.copy_row(to++, from.rows_, group);
  std::swap(strings_, from.strings_);
}

void Groups::copy(const Groups& from) {
  rows_ = from.rows_;
  count_ = from.count_;
}

void Groups::resize_for(std::int64_t count, std::span<Groups* const> partitions) {
  for (const Groups* const partition : partitions) rows_.widen_as(partition->rows_);
  rows_.resize(count);
  count_ = count;
}

void Groups::remove_last() {
  rows_.pop_back();
  --count_;
}

bool Groups::ascend() const {
  if (are_text_.size() != 1 || any_text_ || rows_.have_nulls() || !strings_.all().empty() || count_ == 0 ||
      unaggregated_.count() > 0)
    return false;
  for (std::int64_t g = 1; g < count_; ++g) {
    if (key(g - 1, 0) >= key(g, 0)) return false;
  }
  return true;
}

}  // namespace upsweep::query
