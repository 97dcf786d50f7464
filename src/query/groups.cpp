// SPDX-License-Identifier: Apache-2.0
// query/groups.cpp: finds each row's group, and folds a block's values into the groups' states.
#include "query/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "query/sql.hpp"

namespace upsweep::query {
namespace {

// Combinations of entries up to which groups are looked up in a table.
constexpr std::size_t kMostByEntries = 1 << 14;
constexpr std::int32_t kUnmet = -2;  // combinations that no row has had

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93U;
  return x ^ (x >> 32);
}

template <class T>
bool is_better(Fold fold, const T& a, const T& b) {
  return fold == Fold::least ? is_less(a, b) : is_less(b, a);
}

bool is_marked(const std::uint64_t* marks, int i) {
  return ((marks[i / kMarksPerWord] >> (i % kMarksPerWord)) & 1) != 0;
}

/// Whether a sum fits is asked when it is given out: what comes later may bring it back, and an average always fits.
void add_up(State& sum, Int128 value) {
  if (__builtin_add_overflow(sum.exact, value, &sum.exact)) sum.high += value < 0 ? -1 : 1;
}

}  // namespace

Groups::Groups(const Plan& plan, const Kernels& kernels)
    : plan_(&plan),
      kernels_(&kernels),
      table_(64, -1),
      group_(kBlock, 0),
      number_(kBlock),
      translations_(plan.keys.size()) {
  if (!plan.grouped) (void)find(nullptr, nullptr);
}

// ----------------------------------------------------------------------------------------------------------- which group

std::size_t Groups::hash(const Int128* key, const std::uint8_t* nulls) const {
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < plan_->keys.size(); ++k) {
    all = mixed(all * 31 + static_cast<std::uint64_t>(key[k]) + (static_cast<std::uint64_t>(key[k] >> 64) << 7) +
                nulls[k]);
  }
  return static_cast<std::size_t>(all);
}

std::int64_t Groups::find(const Int128* key, const std::uint8_t* nulls) {
  const std::size_t width = plan_->keys.size();
  const std::size_t mask = table_.size() - 1;
  std::size_t place = hash(key, nulls) & mask;
  for (; table_[place] >= 0; place = (place + 1) & mask) {
    const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(table_[place]) * width);
    if (std::equal(key, key + width, keys_.begin() + first) &&
        std::equal(nulls, nulls + width, key_nulls_.begin() + first)) {
      return table_[place];
    }
  }
  if (count_ == kMostGroups) {
    throw Error(Code::unsupported_sql, fmt::format("GROUP BY comes to more than {} groups", kMostGroups));
  }
  table_[place] = static_cast<std::int32_t>(count_);
  keys_.insert(keys_.end(), key, key + width);
  key_nulls_.insert(key_nulls_.end(), nulls, nulls + width);
  states_.resize(states_.size() + plan_->aggregates.size());
  if (2 * static_cast<std::size_t>(++count_) > table_.size()) grow();
  return count_ - 1;
}

void Groups::grow() {
  table_.assign(2 * table_.size(), -1);
  const std::size_t mask = table_.size() - 1;
  for (std::int64_t g = 0; g < count_; ++g) {
    const std::size_t first = static_cast<std::size_t>(g) * plan_->keys.size();
    std::size_t place = hash(keys_.data() + first, key_nulls_.data() + first) & mask;
    while (table_[place] >= 0) place = (place + 1) & mask;
    table_[place] = static_cast<std::int32_t>(g);
  }
}

/// What is known of entries is of those of the last dictionary.
void Groups::translate(std::size_t which, const std::shared_ptr<const Dictionary>& dictionary) {
  Translation& translation = translations_[which];
  if (translation.from == dictionary) return;
  translation.from = dictionary;
  translation.to.assign(dictionary->size(), -1);
  by_entries_.clear();
}

/// The value of a key as it is kept.
Int128 Groups::key_at(std::size_t which, const Vector& v, int i) {
  const Int128 value = exact_at(v, i);
  if (v.form != Form::text) return value;
  std::int32_t& to = translations_[which].to[static_cast<std::size_t>(value)];
  if (to < 0) to = entry((**v.dictionary)[static_cast<std::size_t>(value)]);
  return to;
}

void Groups::assign(Evaluator& evaluator, int n, const std::uint64_t* marks) {
  are_all_ = marks == nullptr;
  if (plan_->keys.empty()) {
    std::fill_n(group_.begin(), n, 0);
    if (!are_all_) kernels_->drop(marks, n, group_.data());
    return;
  }
  const std::size_t width = plan_->keys.size();
  std::vector<const Vector*> keys;
  keys.reserve(width);
  for (std::size_t k = 0; k < width; ++k) {
    const Vector& v = *keys.emplace_back(&evaluator.value(plan_->keys[k]));
    if (v.form == Form::text) translate(k, *v.dictionary);
  }
  if (assign_by_entries(keys, n, marks)) return;
  std::vector<Int128> key(width);
  std::vector<std::uint8_t> nulls(width);
  std::vector<Int128> last_key(width);
  std::vector<std::uint8_t> last_nulls(width);
  std::int64_t last = -1;
  for (int i = 0; i < n; ++i) {
    if (!are_all_ && !is_marked(marks, i)) {
      group_[static_cast<std::size_t>(i)] = kNoGroup;
      continue;
    }
    for (std::size_t k = 0; k < width; ++k) {
      nulls[k] = null_at(*keys[k], i) ? 1 : 0;
      key[k] = nulls[k] != 0 ? 0 : key_at(k, *keys[k], i);
    }
    if (last < 0 || key != last_key || nulls != last_nulls) {
      last = find(key.data(), nulls.data());
      last_key = key;
      last_nulls = nulls;
    }
    group_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(last);
  }
}

/// Where all keys are text of small dictionaries, without NULLs: by a table over all their combinations.
bool Groups::assign_by_entries(const std::vector<const Vector*>& keys, int n, const std::uint64_t* marks) {
  std::size_t combinations = 1;
  for (const Vector* key : keys) {
    if (key->form != Form::text || key->nulls != nullptr || key->one) return false;
    combinations *= std::max<std::size_t>((*key->dictionary)->size(), 1);
    if (combinations > kMostByEntries) return false;
  }
  if (by_entries_.empty()) by_entries_.assign(combinations, kUnmet);
  const std::int32_t* number = keys[0]->as<std::int32_t>();
  for (std::size_t k = 1; k < keys.size(); ++k) {
    const auto size = static_cast<std::int32_t>((*keys[k]->dictionary)->size());
    kernels_->append_digit(number, keys[k]->as<std::int32_t>(), size, n, number_.data());
    number = number_.data();
  }
  std::int32_t* const group = group_.data();
  const bool any_unmet =
      kernels_->look_up(by_entries_.data(), static_cast<int>(combinations), number, n, kUnmet, group);
  if (marks != nullptr) kernels_->drop(marks, n, group);
  if (!any_unmet) return true;
  std::vector<Int128> key(keys.size());
  const std::vector<std::uint8_t> nulls(keys.size(), 0);
  for (int i = 0; i < n; ++i) {
    if (group[i] != kUnmet) continue;
    std::int32_t& known = by_entries_[static_cast<std::size_t>(number[i])];
    if (known == kUnmet) {
      for (std::size_t k = 0; k < keys.size(); ++k) key[k] = key_at(k, *keys[k], i);
      known = static_cast<std::int32_t>(find(key.data(), nulls.data()));
    }
    group[i] = known;
  }
  return true;
}

// ----------------------------------------------------------------------------------------------------------- what it adds

void Groups::add(Evaluator& evaluator, const std::uint64_t* marks) {
  const int n = evaluator.count();
  if (n == 0) return;
  const auto& aggregates = plan_->aggregates;
  if (marks != nullptr) {
    for (const Aggregate& aggregate : aggregates) {
      if (aggregate.input) (void)evaluator.value(aggregate.input);
    }
  }
  assign(evaluator, n, marks);
  few_are_counted_ = false;
  const Vector never_null;  // what COUNT(*) counts
  for (std::size_t a = 0; a < aggregates.size(); ++a) {
    const auto& [fold, input, type] = aggregates[a];
    const Vector& v = input ? evaluator.value(input) : never_null;
    evaluator.read_ahead();
    if (fold == Fold::least || fold == Fold::greatest) {
      include_extremes(a, v, n);
      continue;
    }
    if (fold == Fold::sum) include_sums(a, v, n);
    count_rows(a, v, n);
  }
}

/// The block's rows in each group, counted once for all aggregates.
const std::int64_t* Groups::rows_of_few(int n) {
  if (!few_are_counted_) kernels_->count_few(group_.data(), n, static_cast<int>(count_), rows_of_few_);
  few_are_counted_ = true;
  return rows_of_few_;
}

void Groups::count_rows(std::size_t aggregate, const Vector& v, int n) {
  if (v.one && null_at(v, 0)) return;
  const bool no_nulls = v.one || v.nulls == nullptr;
  if (count_ == 1 && no_nulls && are_all_) {
    state(0, aggregate).count += n;
    return;
  }
  const auto* const group = group_.data();
  if (count_ <= kFewGroups && no_nulls) {
    for (std::int64_t g = 0; g < count_; ++g) state(g, aggregate).count += rows_of_few(n)[g];
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (group[i] != kNoGroup && (no_nulls || v.nulls[i] == 0)) ++state(group[i], aggregate).count;
  }
}

void Groups::add(std::size_t aggregate, std::int64_t sum, int rows) {
  add_up(state(0, aggregate), sum);
  state(0, aggregate).count += rows;
}

void Groups::include_sums(std::size_t aggregate, const Vector& v, int n) {
  if (v.form == Form::real) return include_reals(aggregate, v, n);
  const auto* const group = group_.data();
  const bool fits = v.form == Form::narrow && sum_fits(v.operand(), kBlock);
  if (fits && v.nulls == nullptr && !v.one && count_ <= n) {
    sums_.assign(static_cast<std::size_t>(count_) + 1, 0);
    std::int64_t* const sums = sums_.data() + 1;  // after that of rows without group
    if (count_ == 1 && are_all_) {
      sums[0] = kernels_->integers.sum(v.as<std::int64_t>(), n);
    } else {
      kernels_->sum_groups(v.as<std::int64_t>(), group, n, static_cast<int>(count_), sums);
    }
    for (std::int64_t g = 0; g < count_; ++g) add_up(state(g, aggregate), sums[g]);
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (group[i] != kNoGroup && !null_at(v, i)) add_up(state(group[i], aggregate), exact_at(v, i));
  }
}

/// Rows without group do not change the order, where no value is NULL.
void Groups::include_reals(std::size_t aggregate, const Vector& v, int n) {
  const auto* const group = group_.data();
  if (count_ > 1 || v.nulls != nullptr || v.one) {
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup && !null_at(v, i)) state(group[i], aggregate).real += v.at<double>(i);
    }
    return;
  }
  const auto* values = v.as<double>();
  if (!are_all_) {
    reals_.clear();
    for (int i = 0; i < n; ++i) {
      if (group[i] != kNoGroup) reals_.push_back(values[i]);
    }
    values = reals_.data();
    n = static_cast<int>(reals_.size());
  }
  state(0, aggregate).real += kernels_->reals.sum(values, n);
}

void Groups::improve(State& best, const State& other, Fold fold, ValueKind kind) const {
  if (other.count == 0) return;
  const auto word_of = [&](const State& state) -> const std::string& {
    return texts_.all()[static_cast<std::size_t>(state.exact)];
  };
  const bool better = best.count == 0 || (kind == ValueKind::real   ? is_better(fold, other.real, best.real)
                                          : kind == ValueKind::text ? is_better(fold, word_of(other), word_of(best))
                                                                    : is_better(fold, other.exact, best.exact));
  if (!better) return;
  best.exact = other.exact;
  best.real = other.real;
}

void Groups::include_extremes(std::size_t aggregate, const Vector& v, int n) {
  const Fold fold = plan_->aggregates[aggregate].fold;
  const ValueKind kind = plan_->aggregates[aggregate].type.kind;
  const bool whole = count_ == 1 && are_all_ && v.nulls == nullptr && !v.one;
  const auto best_of = [&]<class T>(const TypedKernels<T>& kernels) {
    return (fold == Fold::least ? kernels.least : kernels.greatest)(v.as<T>(), n);
  };
  if (whole && (v.form == Form::narrow || v.form == Form::real)) {
    State best{.count = 1};
    if (v.form == Form::real) {
      best.real = best_of(kernels_->reals);
    } else {
      best.exact = best_of(kernels_->integers);
    }
    improve(state(0, aggregate), best, fold, kind);
    state(0, aggregate).count += n;
    return;
  }
  for (int i = 0; i < n; ++i) {
    const std::int32_t group = group_[static_cast<std::size_t>(i)];
    if (group == kNoGroup || null_at(v, i)) continue;
    State& best = state(group, aggregate);
    State other{.count = 1};
    if (kind == ValueKind::real) {
      other.real = v.at<double>(i);
    } else if (kind == ValueKind::text) {
      // Only text that is better than all before it is kept: there may be as many entries as rows.
      const std::string_view mine = (**v.dictionary)[static_cast<std::size_t>(v.at<std::int32_t>(i))];
      const bool is_kept = best.count > 0 &&
                           !is_better(fold, mine, std::string_view(texts_.all()[static_cast<std::size_t>(best.exact)]));
      other.exact = is_kept ? static_cast<std::int32_t>(best.exact) : entry(mine);
    } else {
      other.exact = exact_at(v, i);
    }
    improve(best, other, fold, kind);
    ++best.count;
  }
}

void Groups::merge(const Groups& later) {
  const std::size_t width = plan_->keys.size();
  std::vector<std::int32_t> to;
  for (const std::string& text : later.texts_.all()) to.push_back(entry(text));
  std::vector<Int128> key(width);
  for (std::int64_t g = 0; g < later.count_; ++g) {
    const std::size_t first = static_cast<std::size_t>(g) * width;
    for (std::size_t k = 0; k < width; ++k) {
      key[k] = later.keys_[first + k];
      const bool is_word = plan_->keys[k]->type.kind == ValueKind::text && later.key_nulls_[first + k] == 0;
      if (is_word) key[k] = to[static_cast<std::size_t>(key[k])];
    }
    const std::int64_t mine = find(key.data(), later.key_nulls_.data() + first);
    for (std::size_t a = 0; a < plan_->aggregates.size(); ++a) {
      const Aggregate& aggregate = plan_->aggregates[a];
      const ValueKind kind = aggregate.type.kind;
      State other = later.state(g, a);
      State& all = state(mine, a);
      if (aggregate.fold == Fold::least || aggregate.fold == Fold::greatest) {
        if (kind == ValueKind::text && other.count > 0) other.exact = to[static_cast<std::size_t>(other.exact)];
        improve(all, other, aggregate.fold, kind);
      }
      // First, as `high` has the room that a count has.
      if (__builtin_add_overflow(all.count, other.count, &all.count)) {
        throw Error(Code::overflow, "a group comes to more than 2^63 - 1 rows");
      }
      if (aggregate.fold == Fold::sum) {
        add_up(all, other.exact);
        all.high += other.high;
        all.real += other.real;
      }
    }
  }
}

}  // namespace upsweep::query
