// SPDX-License-Identifier: Apache-2.0
// query/carry.cpp: groups to bytes and back; what comes back is checked as any file's content is.
#include "query/carry.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "upsweep query carry 3\n";

class Writer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_{kMagic};
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
    require(bytes.starts_with(kMagic), "they do not begin as one");
    place_ = kMagic.size();
  }

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value;
    const std::string_view taken = take(sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::string_view get_text() { return take(get<std::uint64_t>()); }
  /// A number of things to come, each of which has at least one byte.
  std::int64_t get_count() {
    const auto count = get<std::int64_t>();
    require(count >= 0 && static_cast<std::uint64_t>(count) <= bytes_.size(), "a count is out of range");
    return count;
  }
  void require(bool holds, const char* why) const {
    if (holds) return;
    throw Error(Code::malformed, fmt::format("these bytes are no carry of a query: {} (byte {})", why, place_));
  }
  void require_end() const { require(place_ == bytes_.size(), "more follows its end"); }

 private:
  std::string_view take(std::uint64_t size) {
    require(size <= bytes_.size() - place_, "they end too early");
    const std::string_view taken = bytes_.substr(place_, size);
    place_ += size;
    return taken;
  }

  std::string_view bytes_;
  std::size_t place_ = 0;
};

[[noreturn]] void refuse_other_query() {
  throw Error(Code::invalid_argument, "the carry is of another query, or of one for other columns");
}

/// What two plans must have in common for the states of one to be states of the other.
std::string signature_of(const Plan& plan) {
  std::string all = plan.sql;
  for (const Node& key : plan.keys) all += "\n" + name(key->type);
  for (const Aggregate& aggregate : plan.aggregates) {
    all += fmt::format("\n{} {}", static_cast<int>(aggregate.fold), name(aggregate.type));
  }
  return all;
}

/// Whether a key or aggregate can have that value.
bool is_value(ValueKind kind, Int128 value, std::int64_t entries) {
  switch (kind) {
    case ValueKind::text:
      return value >= 0 && value < entries;
    case ValueKind::date:
      return value >= INT32_MIN && value <= INT32_MAX;
    case ValueKind::boolean:
      return value == 0 || value == 1;
    case ValueKind::integer:
    case ValueKind::decimal:
    case ValueKind::real:
      return true;
  }
  detail::no_such_value();
}

}  // namespace

void require_same_query(const Plan& a, const Plan& b) {
  if (&a == &b || signature_of(a) == signature_of(b)) return;
  refuse_other_query();
}

std::string to_bytes(const Plan& plan, const Groups& groups) {
  Writer to;
  to.put_text(signature_of(plan));
  TextTable texts;
  for (const std::string_view text : groups.texts()) (void)texts.entry(text);  // states have their entries
  std::vector<Int128> keys;
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    for (std::size_t k = 0; k < plan.keys.size(); ++k) {
      const bool is_there = is_text(plan.keys[k]) && !groups.key_is_null(g, k);
      keys.push_back(is_there ? Int128{texts.entry(groups.key_text(g, k))} : groups.key(g, k));
    }
  }
  to.put(static_cast<std::int64_t>(texts.all().size()));
  for (const std::string_view text : texts.all()) to.put_text(text);
  to.put(groups.count());
  auto key = keys.begin();
  for (std::int64_t g = 0; g < groups.count(); ++g) {
    for (std::size_t k = 0; k < plan.keys.size(); ++k) {
      to.put(static_cast<std::uint8_t>(groups.key_is_null(g, k) ? 1 : 0));
      to.put(*key++);
    }
    for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
      const State state = groups.state(g, a);
      const bool is_real = plan.aggregates[a].type.kind == ValueKind::real;
      to.put(state.exact);
      to.put(is_real ? std::int64_t{0} : state.high());
      to.put(is_real ? state.real() : 0.0);
      to.put(state.count);
    }
  }
  return to.take();
}

Groups from_bytes(const Plan& plan, const Kernels& kernels, std::string_view bytes) {
  Reader from(bytes);
  if (from.get_text() != signature_of(plan)) refuse_other_query();
  Groups groups(plan, kernels);
  TextTable texts;
  const std::int64_t entries = from.get_count();
  for (std::int64_t w = 0; w < entries; ++w) {
    from.require(texts.entry(from.get_text()) == w, "a text comes twice");
  }
  const std::int64_t count = from.get_count();
  from.require(count <= kMostGroups, "there are too many groups");
  from.require(plan.grouped || count == 1, "there must be one group, without GROUP BY");
  std::vector<Int128> key(plan.keys.size());
  std::vector<std::uint8_t> nulls(plan.keys.size());
  for (std::int64_t g = 0; g < count; ++g) {
    for (std::size_t k = 0; k < key.size(); ++k) {
      nulls[k] = from.get<std::uint8_t>();
      key[k] = from.get<Int128>();
      from.require(nulls[k] <= 1 && (nulls[k] == 0 || key[k] == 0), "a key is neither there nor NULL");
      from.require(nulls[k] == 1 || is_value(plan.keys[k]->type.kind, key[k], entries), "a key is out of range");
      if (is_text(plan.keys[k]) && nulls[k] == 0) key[k] = groups.text_key(texts[static_cast<std::int32_t>(key[k])]);
    }
    from.require(groups.find(key.data(), nulls.data()) == g, "a group comes twice");
    for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
      State state;
      state.exact = from.get<Int128>();
      const auto high = from.get<std::int64_t>();
      const auto real = from.get<double>();
      state.count = from.get<std::int64_t>();
      from.require(state.count >= 0, "a count is negative");
      from.require(high >= -state.count && high <= state.count, "a sum is out of range");
      if (plan.aggregates[a].type.kind == ValueKind::real) {
        state.set_real(real);
      } else {
        state.set_high(high);
      }
      from.require(state.count == 0 || is_value(plan.aggregates[a].type.kind, state.exact, entries),
                   "a value is out of range");
      if (is_text(plan.aggregates[a]) && state.count > 0) {
        state.exact = groups.entry(texts[static_cast<std::int32_t>(state.exact)]);
      }
      groups.set_state(g, a, state);
    }
  }
  from.require_end();
  return groups;
}

}  // namespace upsweep::query
