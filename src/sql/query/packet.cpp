// SPDX-License-Identifier: Apache-2.0
// sql/query/packet.cpp: a column is its least value, a width, and by how much each value exceeds the least; texts are a dictionary.
// What is read is checked as any file's content is: the check of a packet finds damage, it is no secret.
#include "sql/query/packet.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "sql/query/text_key.hpp"
#include "system/hash.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::query {
namespace {

// Groups of a packet: enough that what stands before each column is no matter, and few enough to be in cache with what they
// become.
constexpr std::int64_t kMostGroupsOfPacket = 4096;
constexpr std::size_t kMostText = 1 << 20;  // bytes of a packet, unless one group has more

// Up to that many bits lie at any bit; a load of eight bytes has them all. Wider ones are whole words.
constexpr unsigned kMostPacked = 56;
constexpr unsigned kWord = 64;
constexpr unsigned kWide = 128;

struct Header {
  std::uint64_t bytes;  ///< of the packet, this one included
  std::uint64_t check;  ///< the hash of those after it
  std::int64_t count;
};

std::uint64_t check_of(std::span<const std::byte> body) {
  constexpr Secret kOfAllProcesses{.a = 0x9e3779b97f4a7c15, .b = 0xc2b2ae3d27d4eb4f};
  return hash_of(kOfAllProcesses, {reinterpret_cast<const char*>(body.data()), body.size()});
}

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

std::size_t bytes_for(std::size_t count, unsigned width) { return (count * width + 7) / 8; }

/// `value - base` of each in `width` bits, up to kMostPacked; writes up to seven bytes past the last.
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
  Integer least = values[0];
  Integer greatest = values[0];
  for (const Integer value : values) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  const auto base = static_cast<UInt128>(least);
  const unsigned width = width_of(static_cast<UInt128>(greatest) - base);
  put(static_cast<std::uint8_t>(width), to);
  const bool is_short = least >= INT32_MIN && least <= INT32_MAX;
  put(static_cast<std::uint8_t>(is_short ? 1 : 0), to);
  if (is_short) {
    put(static_cast<std::int32_t>(least), to);
  } else {
    put(Int128{least}, to);
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

bool has_value(const Aggregate& aggregate) { return is_extreme(aggregate) || aggregate.fold == Fold::sum; }
bool is_real(const Aggregate& aggregate) { return aggregate.type.kind == ValueKind::real; }

/// Whether a key is a text that does not lie in it.
bool is_long(const Plan& plan, const Groups& groups, std::int64_t group, std::size_t k) {
  return is_text(plan.keys[k]) && is_long_text(groups.key(group, k));
}

}  // namespace

/// What a packet consists of, front to back. After the first that is not there, all are none.
class PacketSource {
 public:
  explicit PacketSource(std::span<const std::byte> from) : from_(from) {}

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
    const Int128 least = is_short ? Int128{get<std::int32_t>()} : get<Int128>();
    if (width > kMostPacked && width != kWord && width != kWide) is_sound_ = false;
    const std::byte* const data = take(bytes_for(values.size(), width)).data();
    if (!is_sound_) return std::fill(values.begin(), values.end(), 0);
    const auto base = static_cast<UInt128>(least);
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
  /// Of a group that is not the last: what has more text is several packets.
  void add_text(Int128 bytes) {
    text_ += bytes;
    require(text_ <= Int128{kMostText});
  }
  [[nodiscard]] bool is_sound() const { return is_sound_; }
  [[nodiscard]] bool is_at_end() const { return is_sound_ && from_.empty(); }

 private:
  std::span<const std::byte> from_;
  Int128 text_ = 0;
  bool is_sound_ = true;
};

namespace {

/// Appends the texts of a dictionary, which have `least` letters or more, to the groups'; entries[i] becomes that of text
/// `values[i]` of the dictionary.
void take_texts(PacketSource& source, Groups& groups, std::span<Int128> values, std::vector<std::int32_t>& entries,
                std::size_t least) {
  const auto distinct = source.get<std::uint32_t>();
  source.require(distinct <= values.size());
  entries.clear();
  std::vector<Int128> lengths(source.is_sound() ? distinct : 0);
  if (!lengths.empty()) {
    source.take_column(lengths);
    for (const Int128 length : lengths) {
      source.require(length >= Int128{least} && length <= INT32_MAX);
      const auto bytes = source.take(source.is_sound() ? static_cast<std::size_t>(length) : 0);
      entries.push_back(groups.append_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
  }
  source.take_column(values);
  for (const Int128 value : values) source.require(value >= 0 && value <= std::ssize(entries));
  for (const Int128 value : values.first(values.size() - 1)) {
    if (value != 0 && source.is_sound()) source.add_text(lengths[static_cast<std::size_t>(value - 1)]);
  }
}

/// Whether a key or an aggregate, which is no text, can have that value.
bool is_value(ValueKind kind, Int128 value) {
  switch (kind) {
    case ValueKind::date:
      return value >= INT32_MIN && value <= INT32_MAX;
    case ValueKind::boolean:
      return value == 0 || value == 1;
    case ValueKind::integer:
    case ValueKind::decimal:
    case ValueKind::real:
      return true;
    case ValueKind::text:
      return false;
  }
  detail::no_such_value();
}

bool is_word(Int128 value) { return value == static_cast<std::int64_t>(value); }

/// As PacketWriter::put_short_texts() has put them.
void take_short_texts(PacketSource& source, std::span<Int128> values) {
  const auto distinct = source.get<std::uint32_t>();
  source.require(distinct <= values.size());
  std::vector<Int128> texts(source.is_sound() ? distinct : 0);
  if (!texts.empty()) source.take_column(texts);
  source.take_column(values);
  for (Int128& value : values) {
    source.require(texts.empty() || (value >= 0 && value < std::ssize(texts)));
    if (!texts.empty() && source.is_sound()) value = texts[static_cast<std::size_t>(value)];
    source.require(is_short_text(value) && short_text_key(short_text(value)) == value);
  }
}

}  // namespace

void PacketWriter::append(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                          std::vector<std::byte>& to) {
  while (begin < end) {
    const std::int64_t next = end_of_packet(groups, begin, end);
    append_one(groups, begin, next, first, to);
    first += next - begin;
    begin = next;
  }
}

std::int64_t PacketWriter::end_of_packet(const Groups& groups, std::int64_t begin, std::int64_t end) const {
  end = std::min(end, begin + kMostGroupsOfPacket);
  std::size_t text = 0;
  for (std::int64_t g = begin; g < end; ++g) {
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      if (is_long(plan_, groups, g, k)) text += groups.key_text(g, k).size();
    }
    for (std::size_t a = 0; a < plan_.aggregates.size(); ++a) {
      if (!is_text(plan_.aggregates[a])) continue;
      const State state = groups.state(g, a);
      if (state.count > 0) text += groups.text(state.exact).size();
    }
    if (text > kMostText) return g + 1;
  }
  return end;
}

void PacketWriter::append_one(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                              std::vector<std::byte>& to) {
  const std::size_t at = to.size();
  put(Header{}, to);
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
    put_texts(groups, to);
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
      put_short_texts(to);
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
  const Header header{.bytes = to.size() - at, .check = 0, .count = end - begin};
  std::memcpy(to.data() + at, &header, sizeof header);
  seal_packet(std::span(to).subspan(at));
}

void seal_packet(std::span<std::byte> packet) {
  const std::uint64_t check = check_of(packet.subspan(sizeof(Header)));
  std::memcpy(packet.data() + offsetof(Header, check), &check, sizeof check);
}

/// Of entries_: each text once, then of each group the number of its text, or 0; those count from 1.
void PacketWriter::put_texts(const Groups& groups, std::vector<std::byte>& to) {
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

/// Of values_: where they are few each once, and then of each group its number among these; else as they are.
void PacketWriter::put_short_texts(std::vector<std::byte>& to) {
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

std::optional<std::int64_t> PacketReader::count(std::span<const std::byte> packets) {
  std::int64_t all = 0;
  while (!packets.empty()) {
    const auto header = PacketSource(packets).get<Header>();  // none: all 0
    if (header.bytes < sizeof header || header.bytes > packets.size()) return std::nullopt;
    if (header.count <= 0 || header.count > kMostGroupsOfPacket) return std::nullopt;
    all += header.count;
    packets = packets.subspan(header.bytes);
  }
  return all;
}

std::size_t PacketReader::read(std::span<const std::byte> from, Groups& groups, detail::Large<std::uint64_t>& first) {
  PacketSource source(from);
  const auto header = source.get<Header>();
  if (!source.is_sound() || header.bytes > from.size() || header.bytes <= sizeof header) return 0;
  const auto body = from.subspan(sizeof header, header.bytes - sizeof header);
  if (check_of(body) != header.check) return 0;
  if (header.count <= 0 || header.count > kMostGroupsOfPacket) return 0;
  source = PacketSource(body);
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

void PacketReader::read_keys(PacketSource& source, std::size_t count, Groups& groups) {
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
      read_text_key(source, count, groups);
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

void PacketReader::read_text_key(PacketSource& source, std::size_t count, Groups& groups) {
  long_texts_.resize(count);
  take_texts(source, groups, long_texts_, entries_, kMostInKey + 1);
  take_short_texts(source, values_);
  for (std::size_t i = 0; source.is_sound() && i < count; ++i) {
    const Int128 number = long_texts_[i];
    source.require(number == 0 || values_[i] == 0);
    if (number != 0) values_[i] = long_text_key(entries_[static_cast<std::size_t>(number - 1)]);
  }
}

/// States of no rows are as they are at first, whatever lies there.
void PacketReader::read_states(PacketSource& source, const Aggregate& aggregate, Groups& groups) {
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
    take_texts(source, groups, values_, entries_, 0);
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
      const Int128 most = state.count / 2 + 1;  // of sums of so many
      source.require(is_word(value) && (is_real(aggregate) || (value >= -most && value <= most)));
      if (state.count > 0) state.set_high(static_cast<std::int64_t>(value));
    });
  }
}

}  // namespace upsweep::query
