// SPDX-License-Identifier: Apache-2.0
// sql/query/group_encoder.cpp: converts groups to encoded batches: each column is packed in the bits that its values
// need.
#include <algorithm>
#include <bit>
#include <cstring>

#include "sql/query/encoded_batch.hpp"
#include "sql/query/group_coder.hpp"
#include "sql/query/string_key.hpp"

namespace upsweep::query {
namespace {

template <class T>
void put(const T& value, std::vector<std::byte>& to) {
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
}

unsigned width_of(UInt128 largest) {
  const auto high = static_cast<std::uint64_t>(largest >> 64);
  const auto low = static_cast<std::uint64_t>(largest);
  if (high != 0) return kWide;
  const auto width = static_cast<unsigned>(std::bit_width(low));
  return width <= kMostPacked ? width : kWord;
}

/// Packs each `value - base` in `width` bits, up to kMostPacked. Writes up to seven bytes past the last.
template <class Integer>
void pack(std::span<const Integer> values, std::uint64_t base, unsigned width, std::byte* to) {
  constexpr unsigned kByte = 8;
  std::uint64_t word = 0;
  unsigned used = 0;
  for (const Integer value : values) {
    word |= (static_cast<std::uint64_t>(value) - base) << used;
    used += width;
    std::memcpy(to, &word, sizeof word);
    to += used / kByte;
    word >>= used / kByte * kByte;
    used %= kByte;
  }
}

template <class Integer>
void put_column(std::span<const Integer> values, std::vector<std::byte>& to) {
  Integer minimum = values[0];
  Integer maximum = values[0];
  for (const Integer value : values) {
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
  }
  const auto base = static_cast<UInt128>(minimum);
  const unsigned width = width_of(static_cast<UInt128>(maximum) - base);
  put(static_cast<std::uint8_t>(width), to);
  const bool is_short = minimum >= INT32_MIN && minimum <= INT32_MAX;
  put(static_cast<std::uint8_t>(is_short ? 1 : 0), to);
  if (is_short) {
    put(static_cast<std::int32_t>(minimum), to);
  } else {
    put(Int128{minimum}, to);
  }
  const std::size_t at = to.size();
  const std::size_t bytes = bytes_for(values.size(), width);
  to.resize(at + bytes + sizeof(std::uint64_t));
  std::byte* data = to.data() + at;
  if (width > 0 && width <= kMostPacked) {
    pack(values, static_cast<std::uint64_t>(base), width, data);
  } else if (width > 0) {
    for (const Integer value : values) {
      const UInt128 more = static_cast<UInt128>(value) - base;
      std::memcpy(data, &more, width / 8);
      data += width / 8;
    }
  }
  to.resize(at + bytes);
}

/// Returns whether a key is a string that is not stored in the key itself.
bool is_long(const QueryPlan& plan, const Groups& groups, std::int64_t group, std::size_t k) {
  return is_text(plan.keys[k]) && is_long_string(groups.key(group, k));
}

}  // namespace

void GroupEncoder::append(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                          std::vector<std::byte>& to) {
  while (begin < end) {
    const std::int64_t next = end_of_batch(groups, begin, end);
    append_one(groups, begin, next, first, to);
    first += next - begin;
    begin = next;
  }
}

std::int64_t GroupEncoder::end_of_batch(const Groups& groups, std::int64_t begin, std::int64_t end) const {
  end = std::min(end, begin + kMostGroupsOfBatch);
  std::size_t text = 0;
  for (std::int64_t g = begin; g < end; ++g) {
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      if (is_long(plan_, groups, g, k)) text += groups.key_string(g, k).size();
    }
    for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
      if (!is_text(plan_.aggregates[a])) continue;
      const State state = groups.state(g, a);
      if (state.count > 0) text += groups.text(state.exact).size();
    }
    if (text > kMostLetters) return g + 1;
  }
  return end;
}

void GroupEncoder::append_one(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                              std::vector<std::byte>& to) {
  const std::size_t at = to.size();
  put(EncodedBatchHeader{}, to);
  const auto count = static_cast<std::size_t>(end - begin);
  values_.resize(count);
  words_.resize(count);
  entries_.resize(count);
  const auto fill = [&](auto& column, const auto& value_of) {
    for (std::size_t i = 0; i < count; ++i) column[i] = value_of(begin + static_cast<std::int64_t>(i));
  };
  const auto put_values = [&](const auto& value_of) {
    fill(values_, value_of);
    put_column<Int128>(values_, to);
  };
  const auto put_words = [&](const auto& word_of) {
    fill(words_, word_of);
    put_column<std::int64_t>(words_, to);
  };
  const auto put_entries = [&](const auto& entry_of) {
    fill(entries_, entry_of);
    put_strings(groups, to);
  };
  const GroupRows& rows = groups.rows();
  put(first[0], to);
  put_words([&](std::int64_t g) {
    return g == begin ? std::int64_t{0} : static_cast<std::int64_t>(first[g - begin] - first[g - begin - 1]);
  });
  for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
    put_words([&](std::int64_t g) { return std::int64_t{rows.is_null(g, k) ? 1 : 0}; });
    if (is_text(plan_.keys[k])) {
      put_entries([&](std::int64_t g) { return is_long(plan_, groups, g, k) ? entry_of_long(rows.key(g, k)) : -1; });
      fill(values_, [&](std::int64_t g) { return is_long(plan_, groups, g, k) ? Int128{0} : rows.key(g, k); });
      put_short_strings(to);
    } else if (rows.is_word(k)) {
      put_words([&](std::int64_t g) { return rows.key_word(g, k); });
    } else {
      put_values([&](std::int64_t g) { return rows.key(g, k); });
    }
  }
  for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
    const Aggregate& aggregate = plan_.aggregates[a];
    put_words([&](std::int64_t g) { return rows.count(g, a); });
    if (!has_value(aggregate)) continue;
    if (is_text(aggregate)) {
      put_entries([&](std::int64_t g) {
        return rows.count(g, a) > 0 ? static_cast<std::int32_t>(rows.state(g, a).exact) : -1;
      });
    } else if (is_real(aggregate)) {
      put_words([&](std::int64_t g) { return rows.state_word(g, a); });
    } else {
      const bool is_narrow = rows.is_narrow(a);
      if (is_narrow) {
        put_words([&](std::int64_t g) { return rows.state_word(g, a); });
      } else {
        put_values([&](std::int64_t g) { return rows.state(g, a).exact; });
      }
      if (aggregate.fold == Fold::sum) {
        put_words([&](std::int64_t g) { return is_narrow ? 0 : rows.state(g, a).high(); });
      }
    }
  }
  const EncodedBatchHeader header{.bytes = to.size() - at, .check = 0, .count = end - begin};
  std::memcpy(to.data() + at, &header, sizeof header);
  seal_batch(std::span(to).subspan(at));
}

void seal_batch(std::span<std::byte> batch) {
  const std::uint64_t check = check_of(batch.subspan(sizeof(EncodedBatchHeader)));
  std::memcpy(batch.data() + offsetof(EncodedBatchHeader, check), &check, sizeof check);
}

/// Writes entries_: each string once, then for each group the number of its string, from 1, or 0 for none.
void GroupEncoder::put_strings(const Groups& groups, std::vector<std::byte>& to) {
  distinct_ = entries_;
  std::sort(distinct_.begin(), distinct_.end());
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  if (!distinct_.empty() && distinct_.front() < 0) distinct_.erase(distinct_.begin());
  put(static_cast<std::uint32_t>(distinct_.size()), to);
  if (!distinct_.empty()) {
    std::vector<Int128> lengths;
    lengths.reserve(distinct_.size());
    for (const std::int32_t entry : distinct_) lengths.push_back(std::ssize(groups.text(entry)));
    put_column<Int128>(lengths, to);
  }
  for (const std::int32_t entry : distinct_) {
    const auto letters = std::as_bytes(std::span(groups.text(entry)));
    to.insert(to.end(), letters.begin(), letters.end());
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto place = std::lower_bound(distinct_.begin(), distinct_.end(), entries_[i]);
    values_[i] = entries_[i] < 0 ? 0 : place - distinct_.begin() + 1;
  }
  put_column<Int128>(values_, to);
}

/// Writes values_. If few are distinct, each is written once, followed by each group's index among them. Otherwise all
/// are written unchanged.
void GroupEncoder::put_short_strings(std::vector<std::byte>& to) {
  constexpr std::size_t kFew = 4;
  std::vector<Int128> distinct = values_;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() > values_.size() / kFew) distinct.clear();
  put(static_cast<std::uint32_t>(distinct.size()), to);
  if (!distinct.empty()) {
    put_column<Int128>(distinct, to);
    for (Int128& value : values_) value = std::lower_bound(distinct.begin(), distinct.end(), value) - distinct.begin();
  }
  put_column<Int128>(values_, to);
}

}  // namespace upsweep::query
