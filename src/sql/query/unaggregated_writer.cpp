// SPDX-License-Identifier: Apache-2.0
// sql/query/unaggregated_writer.cpp: decides from the first rows of a batch; then writes hashes, keys and summed
// values.
#include "sql/query/unaggregated_writer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "sql/tuning.hpp"
#include "system/hash.hpp"

namespace upsweep::query {
namespace {

// The first rows of a batch, from which its number of groups is estimated. Among n rows of G groups, about n * n / 2G
// are in groups that were seen before. With more groups than kApart, the groups of the batch's other rows are found
// when partitions are merged. The decision whether groups may stay cached needs more rows, because it concerns many
// more groups.
constexpr std::int64_t kTried = tuning::kGroups.tried;
constexpr std::int64_t kTriedCached = tuning::kGroups.tried_cached;
constexpr std::int64_t kApart = tuning::kGroups.apart;

}  // namespace

WriteRows decide(const BatchSample& sample) {
  if (sample.rows < (sample.are_cached ? kTriedCached : kTried)) return WriteRows::undecided;
  const std::int64_t seen_before = sample.rows - sample.new_groups;
  const std::int64_t expected = sample.rows * sample.rows / (2 * std::max<std::int64_t>(seen_before, 1));
  const bool stay_cached = sample.are_cached && (!sample.by_words || expected <= sample.most_cached);
  return !stay_cached && expected >= kApart ? WriteRows::yes : WriteRows::no;
}

UnaggregatedWriter::UnaggregatedWriter(const QueryPlan& plan)
    : plan_(plan),
      may_write_(!plan.keys.empty() && std::none_of(plan.aggregates.begin(), plan.aggregates.end(),
                                                    [](const Aggregate& aggregate) { return is_extreme(aggregate); })) {
}

void UnaggregatedWriter::start_batch(std::int64_t rows, std::int64_t groups) {
  writes_ = may_write_ ? WriteRows::undecided : WriteRows::no;
  batch_rows_ = rows;
  rows_seen_ = 0;
  groups_before_ = groups;
}

void UnaggregatedWriter::note(Groups& groups, const std::uint64_t* marks, int rows, const GroupFinder& finder,
                              std::int64_t most_cached) {
  if (writes_ != WriteRows::undecided) return;
  for (int i = 0; i < rows; ++i) rows_seen_ += is_marked(marks, i) ? 1 : 0;
  writes_ = decide({.rows = rows_seen_,
                    .new_groups = groups.count() - groups_before_,
                    .are_cached = finder.are_cached(groups, most_cached),
                    .by_words = finder.was_by_words(),
                    .most_cached = most_cached});
  if (writes() && plan_.filters.empty()) groups.unaggregated().reserve_for(batch_rows_ - rows_seen_);
}

bool UnaggregatedWriter::can_write(Evaluator& evaluator) const {
  const auto is_of_each = [](const Vector& v) { return v.nulls == nullptr && !v.one; };
  for (const Node& key : plan_.keys) {
    const Vector& v = evaluator.value(key);
    if (!is_of_each(v) || (v.form != Form::text && v.form != Form::narrow)) return false;
  }
  for (const auto& [fold, input, type] : plan_.aggregates) {
    if (!input) continue;
    const Vector& v = evaluator.value(input);
    const bool is_word = v.form == Form::narrow || v.form == Form::real;
    if (!is_of_each(v) || (!is_word && fold != Fold::count)) return false;
  }
  return true;
}

bool UnaggregatedWriter::write(Groups& groups, Evaluator& evaluator, const std::uint64_t* marks) {
  const int n = evaluator.count();
  std::size_t kept = 0;
  rows_.resize(kBlock);
  std::int32_t* const rows = rows_.data();
  for (int i = 0; i < n; ++i) {
    if (is_marked(marks, i)) rows[kept++] = i;
  }
  UnaggregatedRows& unaggregated = groups.unaggregated();
  if (!can_write(evaluator) || !unaggregated.has_capacity_for(kept, load_keys(evaluator, kept))) {
    writes_ = WriteRows::no;
    return false;
  }
  written_.resize(kBlock);
  std::uint64_t** const at = written_.data();
  unaggregated.add({hashes_.data(), kept}, at);
  write_keys(unaggregated, evaluator, kept);
  for (std::size_t s = 0; s < groups.sums().size(); ++s) {
    const Vector& v = evaluator.value(plan_.aggregates[groups.sums()[s]].input);
    const auto* const from = static_cast<const std::byte*>(v.data);
    for (std::size_t i = 0; i < kept; ++i) {
      std::uint64_t& to = unaggregated.values(at[i])[s];
      std::memcpy(&to, from + static_cast<std::size_t>(rows[i]) * sizeof to, sizeof to);
    }
  }
  return true;
}

/// Computes the hashes of keys, like Groups::hash_of_key(), and the keys of strings. For a long string, only its kind
/// is stored. Returns the bytes of long strings.
std::size_t UnaggregatedWriter::load_keys(Evaluator& evaluator, std::size_t rows) {
  const Secret by = secret();
  hashes_.assign(kBlock, 0);
  std::uint64_t* const hashes = hashes_.data();
  strings_.resize(plan_.keys.size() * kBlock);
  Int128* keys = strings_.data();
  std::size_t letters = 0;
  for (const Node& key : plan_.keys) {
    const Vector& v = evaluator.value(key);
    if (v.form == Form::text) {
      const Dictionary& entries = **v.dictionary;
      const auto* const from = v.as<std::int32_t>();
      for (std::size_t i = 0; i < rows; ++i) {
        const std::string_view string = entries[static_cast<std::size_t>(from[rows_[i]])];
        const bool is_short = string.size() <= kMostInKey;
        keys[i] = is_short ? short_string_key(string) : long_string_key(0);
        if (!is_short) letters += string.size();
        const Int128 hashed = is_short ? keys[i] : Int128{hash_of(by, string)};
        hashes[i] =
            hash_more(by, hashes[i], static_cast<std::uint64_t>(hashed), static_cast<std::uint64_t>(hashed >> 64));
      }
      keys += kBlock;
    } else {
      const auto* const from = v.as<std::int64_t>();
      for (std::size_t i = 0; i < rows; ++i) {
        const std::int64_t word = from[rows_[i]];
        hashes[i] = hash_more(by, hashes[i], static_cast<std::uint64_t>(word), static_cast<std::uint64_t>(word >> 63));
      }
    }
  }
  return letters;
}

/// Writes the keys to the rows in written_.
void UnaggregatedWriter::write_keys(UnaggregatedRows& unaggregated, Evaluator& evaluator, std::size_t rows) {
  std::uint64_t* const* const at = written_.data();
  const Int128* keys = strings_.data();
  for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
    const Vector& v = evaluator.value(plan_.keys[k]);
    if (v.form == Form::text) {
      for (std::size_t i = 0; i < rows; ++i) {
        if (is_long_string(keys[i])) {
          unaggregated.set_long_string(at[i], k, string_at(v, rows_[i]));
        } else {
          unaggregated.set_short_string(at[i], k, keys[i]);
        }
      }
      keys += kBlock;
    } else {
      const auto* const from = v.as<std::int64_t>();
      for (std::size_t i = 0; i < rows; ++i) *unaggregated.key(at[i], k) = static_cast<std::uint64_t>(from[rows_[i]]);
    }
  }
}

}  // namespace upsweep::query
