// SPDX-License-Identifier: Apache-2.0
// sql/query/group_rows.cpp: the words of a group, and the widening of rows.
#include "sql/query/group_rows.hpp"

#include <utility>

namespace upsweep::query {
namespace {

bool is_count(Fold fold) { return fold == Fold::count_rows || fold == Fold::count; }

}  // namespace

GroupRows::GroupRows(const QueryPlan& plan) {
  for (const Node& key : plan.keys) layout_.keys.push_back({0, is_text(key) ? 2U : 1U});
  for (const Aggregate& a : plan.aggregates) {
    const Form form = is_count(a.fold) ? Form::count : a.type.kind == ValueKind::real ? Form::real : Form::narrow;
    layout_.states.push_back({0, 0, form});
  }
  layout_.arrange(false);
  first_ = layout_;
}

void GroupRows::Layout::arrange(bool has_nulls) {
  width = 1;  // after the hash
  for (KeyPlace& key : keys) {
    key.at = width;
    width += key.words;
  }
  key_words = width - 1;
  nulls_at = has_nulls ? width : 0;
  if (has_nulls) width += static_cast<std::uint32_t>((keys.size() + kBits - 1) / kBits);
  for (StatePlace& state : states) {
    constexpr std::uint32_t kValueWords[] = {0, 1, 1, 2};  // by form
    state.at = width;
    state.count_at = width + kValueWords[static_cast<std::size_t>(state.form)];
    width = state.count_at + (state.form == Form::wide ? 2 : 1);  // the high part of a wide sum follows the count
  }
}

void GroupRows::clear() {
  words_.clear();
  layout_ = first_;
}

bool GroupRows::any_null(std::int64_t group) const {
  if (layout_.nulls_at == 0) return false;
  const std::uint64_t* const nulls = row(group) + layout_.nulls_at;
  return std::any_of(nulls, nulls + (layout_.keys.size() + kBits - 1) / kBits,
                     [](std::uint64_t some) { return some != 0; });
}

State GroupRows::state(std::int64_t group, std::size_t aggregate) const {
  const StatePlace& place = layout_.states[aggregate];
  const std::uint64_t* const words = row(group);
  State state;
  state.count = static_cast<std::int64_t>(words[place.count_at]);
  if (place.form == Form::real) {
    state.set_real(real_of(words[place.at]));
  } else if (place.form == Form::narrow) {
    state.exact = static_cast<std::int64_t>(words[place.at]);
  } else if (place.form == Form::wide) {
    std::memcpy(&state.exact, words + place.at, sizeof state.exact);
    state.set_high(static_cast<std::int64_t>(words[place.count_at + 1]));
  }
  return state;
}

void GroupRows::set_state(std::int64_t group, std::size_t aggregate, const State& state) {
  if (layout_.states[aggregate].form == Form::narrow && !(state.high() == 0 && fits(state.exact))) {
    widen_state(aggregate);
  }
  const StatePlace& place = layout_.states[aggregate];
  std::uint64_t* const words = row(group);
  words[place.count_at] = static_cast<std::uint64_t>(state.count);
  if (place.form == Form::real) {
    words[place.at] = word_of(state.real());
  } else if (place.form == Form::narrow) {
    words[place.at] = static_cast<std::uint64_t>(state.exact);
  } else if (place.form == Form::wide) {
    std::memcpy(words + place.at, &state.exact, sizeof state.exact);
    words[place.count_at + 1] = static_cast<std::uint64_t>(state.high());
  }
}

void GroupRows::add_wide(std::int64_t group, std::size_t aggregate, Int128 value, std::int64_t high) {
  State sum = state(group, aggregate);
  if (__builtin_add_overflow(sum.exact, value, &sum.exact)) high += value < 0 ? -1 : 1;
  sum.set_high(sum.high() + high);
  set_state(group, aggregate, sum);
}

void GroupRows::copy_row(std::int64_t group, const GroupRows& from, std::int64_t theirs) {
  if (layout_.width == from.layout_.width) {  // the rows are wide enough for all values, so the layouts are equal
    std::copy_n(from.row(theirs), layout_.width, row(group));
    return;
  }
  std::uint64_t* const words = row(group);
  std::fill_n(words, layout_.width, std::uint64_t{0});
  words[0] = from.hash(theirs);
  for (std::size_t k = 0; k < layout_.keys.size(); ++k) {
    set_key(group, k, from.key(theirs, k));
    if (from.is_null(theirs, k)) set_null(group, k);
  }
  for (std::size_t a = 0; a < layout_.states.size(); ++a) set_state(group, a, from.state(theirs, a));
}

void GroupRows::change(Layout layout) {
  if (words_.empty()) {
    layout_ = std::move(layout);
    return;
  }
  GroupRows wider(*this, std::move(layout));
  const std::int64_t groups = count();
  wider.resize(groups);
  for (std::int64_t g = 0; g < groups; ++g) wider.copy_row(g, *this, g);
  *this = std::move(wider);
}

void GroupRows::widen_as(const GroupRows& other) {
  Layout wider = layout_;
  for (std::size_t k = 0; k < wider.keys.size(); ++k) {
    wider.keys[k].words = std::max(wider.keys[k].words, other.layout_.keys[k].words);
  }
  for (std::size_t a = 0; a < wider.states.size(); ++a) {
    wider.states[a].form = std::max(wider.states[a].form, other.layout_.states[a].form);
  }
  wider.arrange(have_nulls() || other.have_nulls());
  if (wider.width > layout_.width) change(std::move(wider));
}

void GroupRows::widen_key(std::size_t which) {
  Layout wider = layout_;
  wider.keys[which].words = 2;
  wider.arrange(have_nulls());
  change(std::move(wider));
}

void GroupRows::widen_state(std::size_t aggregate) {
  Layout wider = layout_;
  wider.states[aggregate].form = Form::wide;
  wider.arrange(have_nulls());
  change(std::move(wider));
}

void GroupRows::add_null_bits() {
  Layout wider = layout_;
  wider.arrange(true);
  change(std::move(wider));
}

}  // namespace upsweep::query
