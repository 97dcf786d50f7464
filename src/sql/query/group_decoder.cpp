// SPDX-License-Identifier: Apache-2.0
// sql/query/group_decoder.cpp: converts encoded batches to groups.
//
// All bytes are checked like those of any file. The check of a batch detects damage; it does not protect against
// attacks.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "sql/query/encoded_batch.hpp"
#include "sql/query/group_coder.hpp"
#include "sql/query/string_key.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::query {

/// Reads the parts of an encoded batch in order. After the first part that is missing, all parts are empty.
class EncodedBytes {
 public:
  explicit EncodedBytes(std::span<const std::byte> from) : from_(from) {}

  template <class T>
  T get() {
    T value{};
    const std::span<const std::byte> bytes = take(sizeof value);
    if (is_sound_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::size_t bytes) {
    if (!is_sound_ || bytes > from_.size()) {
      is_sound_ = false;
      return {};
    }
    const auto taken = from_.first(bytes);
    from_ = from_.subspan(bytes);
    return taken;
  }
  void take_column(std::span<Int128> values) {
    const unsigned width = get<std::uint8_t>();
    const bool is_short = get<std::uint8_t>() != 0;
    const Int128 minimum = is_short ? Int128{get<std::int32_t>()} : get<Int128>();
    if (width > kMostPacked && width != kWord && width != kWide) is_sound_ = false;
    const std::byte* const data = take(bytes_for(values.size(), width)).data();
    if (!is_sound_) return std::fill(values.begin(), values.end(), 0);
    const auto base = static_cast<UInt128>(minimum);
    if (width == kWide) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        UInt128 more = 0;
        std::memcpy(&more, data + i * sizeof more, sizeof more);
        values[i] = static_cast<Int128>(base + more);
      }
      return;
    }
    const std::uint64_t mask = width == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    std::size_t bit = 0;
    for (Int128& value : values) {
      std::uint64_t word = 0;
      std::memcpy(&word, data + bit / 8, sizeof word);
      value = static_cast<Int128>(base + ((word >> (bit % 8)) & mask));
      bit += width;
    }
  }
  void require(bool condition) { is_sound_ = is_sound_ && condition; }
  /// Counts the strings of a group that is not the last. A batch with more text is written as several encoded batches.
  void add_string(Int128 bytes) {
    text_ += bytes;
    require(text_ <= Int128{kMostLetters});
  }
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  [[nodiscard]] bool is_at_end() const { return is_sound_ && from_.empty(); }

 private:
  std::span<const std::byte> from_;
  Int128 text_ = 0;
  bool is_sound_ = true;
};

namespace {

/// Appends the strings of a dictionary, of at least `minimum` bytes, to the groups' strings. entries[i] becomes the
/// entry of string i of the dictionary. `values` become the strings' numbers, from 1; 0: none.
void take_strings(EncodedBytes& source, Groups& groups, std::span<Int128> values, std::vector<std::int32_t>& entries,
                  std::size_t minimum) {
  const auto distinct = source.get<std::uint32_t>();
  source.require(distinct <= values.size());
  entries.clear();
  std::vector<Int128> lengths(source.is_sound() ? distinct : 0);
  if (!lengths.empty()) {
    source.take_column(lengths);
    for (const Int128 length : lengths) {
      source.require(length >= Int128{minimum} && length <= INT32_MAX);
      const auto bytes = source.take(source.is_sound() ? static_cast<std::size_t>(length) : 0);
      entries.push_back(groups.append_string({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  }
  source.take_column(values);
  for (const Int128 value : values) source.require(value >= 0 && value <= std::ssize(entries));
  for (const Int128 value : values.first(values.size() - 1)) {
    if (value != 0 && source.is_sound()) source.add_string(lengths[static_cast<std::size_t>(value - 1)]);
  }
}

bool is_word(Int128 value) { return value == static_cast<std::int64_t>(value); }

/// Returns whether a key or an aggregate that is not text can have that value.
bool is_value(ValueKind kind, Int128 value) {
  switch (kind) {
    case ValueKind::date:
      return value >= INT32_MIN && value <= INT32_MAX;
    case ValueKind::boolean:
      return value == 0 || value == 1;
    case ValueKind::timestamp:
    case ValueKind::time:
      return is_word(value);
    case ValueKind::duration:  // a sum of durations may have more bits until the last row
    case ValueKind::integer:
    case ValueKind::decimal:
    case ValueKind::interval:
    case ValueKind::real:
      return true;
    case ValueKind::text:
      return false;
  }
  detail::no_such_value();
}

/// Reads strings that GroupEncoder::put_short_strings() has written.
void take_short_strings(EncodedBytes& source, std::span<Int128> values) {
  const auto distinct = source.get<std::uint32_t>();
  source.require(distinct <= values.size());
  std::vector<Int128> strings(source.is_sound() ? distinct : 0);
  if (!strings.empty()) source.take_column(strings);
  source.take_column(values);
  for (Int128& value : values) {
    source.require(strings.empty() || (value >= 0 && value < std::ssize(strings)));
    if (!strings.empty() && source.is_sound()) value = strings[static_cast<std::size_t>(value)];
    source.require(is_short_string(value) && short_string_key(short_string(value)) == value);
  }
}

}  // namespace

std::optional<std::int64_t> GroupDecoder::count(std::span<const std::byte> batches) {
  std::int64_t all = 0;
  while (!batches.empty()) {
    const auto header = EncodedBytes(batches).get<EncodedBatchHeader>();  // all 0 if it is missing
    if (header.bytes < sizeof header || header.bytes > batches.size()) return std::nullopt;
    if (header.count <= 0 || header.count > kMostGroupsOfBatch) return std::nullopt;
    all += header.count;
    batches = batches.subspan(header.bytes);
  }
  return all;
}

std::size_t GroupDecoder::read(std::span<const std::byte> from, Groups& groups, detail::Large<std::uint64_t>& first) {
  EncodedBytes source(from);
  const auto header = source.get<EncodedBatchHeader>();
  if (!source.is_sound() || header.bytes > from.size() || header.bytes <= sizeof header) return 0;
  const auto body = from.subspan(sizeof header, header.bytes - sizeof header);
  if (check_of(body) != header.check) return 0;
  if (header.count <= 0 || header.count > kMostGroupsOfBatch) return 0;
  source = EncodedBytes(body);
  const auto count = static_cast<std::size_t>(header.count);
  values_.resize(count);
  auto place = source.get<std::uint64_t>();
  source.take_column(values_);
  for (const Int128 more : values_) first.push_back(place += static_cast<std::uint64_t>(more));
  read_keys(source, count, groups);
  if (!source.is_sound()) return 0;
  const std::int64_t begin = groups.count();
  const std::size_t width = plan_.keys.size();
  for (std::size_t i = 0; i < count; ++i) groups.append(keys_.data() + i * width, nulls_.data() + i * width);
  for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
    states_.assign(count, {});
    read_states(source, plan_.aggregates[a], groups);
    if (!source.is_sound()) return 0;
    for (std::size_t i = 0; i < count; ++i) groups.set_state(begin + static_cast<std::int64_t>(i), a, states_[i]);
  }
  return source.is_at_end() ? header.bytes : 0;
}

void GroupDecoder::read_keys(EncodedBytes& source, std::size_t count, Groups& groups) {
  const std::size_t width = plan_.keys.size();
  keys_.resize(count * width);
  nulls_.resize(count * width);
  for (std::size_t k = 0; k < width; ++k) {
    source.take_column(values_);
    for (std::size_t i = 0; i < count; ++i) {
      source.require(values_[i] == 0 || values_[i] == 1);
      nulls_[i * width + k] = static_cast<std::uint8_t>(values_[i]);
    }
    if (is_text(plan_.keys[k])) {
      read_string_key(source, count, groups);
    } else {
      source.take_column(values_);
      for (const Int128 value : values_) source.require(is_value(plan_.keys[k]->type.kind, value));
    }
    for (std::size_t i = 0; i < count; ++i) {
      source.require(nulls_[i * width + k] == 0 || values_[i] == 0);
      keys_[i * width + k] = values_[i];
    }
    if (!source.is_sound()) return;
  }
}

void GroupDecoder::read_string_key(EncodedBytes& source, std::size_t count, Groups& groups) {
  long_strings_.resize(count);
  take_strings(source, groups, long_strings_, entries_, kMostInKey + 1);
  take_short_strings(source, values_);
  for (std::size_t i = 0; source.is_sound() && i < count; ++i) {
    const Int128 number = long_strings_[i];
    source.require(number == 0 || values_[i] == 0);
    if (number != 0) values_[i] = long_string_key(entries_[static_cast<std::size_t>(number - 1)]);
  }
}

/// States without rows keep their initial value, whatever is stored there.
void GroupDecoder::read_states(EncodedBytes& source, const Aggregate& aggregate, Groups& groups) {
  const auto each = [&](const auto& take) {
    for (std::size_t i = 0; i < states_.size(); ++i) take(states_[i], values_[i]);
  };
  source.take_column(values_);
  each([&](State& state, Int128 value) {
    source.require(value >= 0 && is_word(value));
    state.count = static_cast<std::int64_t>(value);
  });
  if (!has_value(aggregate)) return;
  if (is_text(aggregate)) {
    take_strings(source, groups, values_, entries_, 0);
    if (!source.is_sound()) return;
    each([&](State& state, Int128 value) {
      source.require((value != 0) == (state.count > 0));
      if (value != 0) state.exact = entries_[static_cast<std::size_t>(value - 1)];
    });
    return;
  }
  if (!is_real(aggregate)) {
    source.take_column(values_);
    each([&](State& state, Int128 value) {
      source.require(state.count == 0 || is_value(aggregate.type.kind, value));
      if (state.count > 0) state.exact = value;
    });
  }
  if (is_real(aggregate) || aggregate.fold == Fold::sum) {
    source.take_column(values_);
    each([&](State& state, Int128 value) {
      const Int128 most = state.count / 2 + 1;  // maximum of sums of this number of rows
      source.require(is_word(value) && (is_real(aggregate) || (value >= -most && value <= most)));
      if (state.count > 0) state.set_high(static_cast<std::int64_t>(value));
    });
  }
}

}  // namespace upsweep::query
