// SPDX-License-Identifier: Apache-2.0
// sql/query/carry.cpp: converts groups to bytes and back. The bytes are checked like the contents of any file.
#include "sql/query/carry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "sql/query/group_coder.hpp"
#include "sql/query/group_merge.hpp"
#include "upsweep/error.hpp"

namespace upsweep::query {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "upsweep query carry 4\n";
constexpr char kNothing[kAfterBatches] = {};

template <class T>
void put(const T& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Reads the parts of a carry in order.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {
    require(bytes.starts_with(kMagic), "they do not begin with its header");
    place_ = kMagic.size();
  }

  template <class T>
  T get() {
    T value;
    const std::string_view taken = take(sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::string_view take(std::uint64_t size) {
    require(size <= bytes_.size() - place_, "they end too early");
    const std::string_view taken = bytes_.substr(place_, size);
    place_ += size;
    return taken;
  }
  /// Returns the remaining bytes, except the bytes after the encoded batches.
  [[nodiscard]] std::span<const std::byte> batches() const {
    require(bytes_.size() - place_ >= kAfterBatches, "they end too early");
    return std::as_bytes(std::span(bytes_)).subspan(place_, bytes_.size() - place_ - kAfterBatches);
  }
  void require(bool holds, const char* why) const {
    if (holds) return;
    throw Error(Code::malformed, fmt::format("these bytes are not a carry of a query: {} (byte {})", why, place_));
  }

 private:
  std::string_view bytes_;
  std::size_t place_ = 0;
};

[[noreturn]] void refuse_other_query() {
  throw Error(Code::invalid_argument, "the carry belongs to another query, or to a query for other columns");
}

/// Returns the properties that two plans must share so that states of one are valid states of the other.
std::string signature_of(const QueryPlan& plan) {
  std::string all = plan.sql;
  for (const Node& key : plan.keys) all += "\n" + name(key->type);
  for (const Aggregate& aggregate : plan.aggregates) {
    all += fmt::format("\n{} {}", static_cast<int>(aggregate.fold), name(aggregate.type));
  }
  return all;
}

}  // namespace

void require_same_query(const QueryPlan& a, const QueryPlan& b) {
  if (&a == &b || signature_of(a) == signature_of(b)) return;
  refuse_other_query();
}

std::string to_bytes(const QueryPlan& plan, const Groups& groups) {
  std::string bytes(kMagic);
  const std::string signature = signature_of(plan);
  put(static_cast<std::uint64_t>(signature.size()), bytes);
  bytes += signature;
  put(groups.count(), bytes);
  std::vector<std::uint64_t> places(static_cast<std::size_t>(groups.count()));
  std::iota(places.begin(), places.end(), std::uint64_t{0});
  std::vector<std::byte> batches;
  GroupEncoder(plan).append(groups, 0, groups.count(), places.data(), batches);
  bytes.append(reinterpret_cast<const char*>(batches.data()), batches.size());
  return bytes.append(kNothing, kAfterBatches);
}

void merge_bytes(const QueryPlan& plan, std::string_view bytes, Groups& into) {
  Reader from(bytes);
  if (from.take(from.get<std::uint64_t>()) != signature_of(plan)) refuse_other_query();
  const auto count = from.get<std::int64_t>();
  from.require(count >= 0 && count <= kMostGroups, "the number of groups is out of range");
  from.require(plan.grouped || count == 1, "without GROUP BY there must be one group");
  from.require(GroupDecoder::count(from.batches()) == count, "groups are damaged, missing, or too many");
  Groups batch(plan);
  const std::int64_t none = batch.count();  // one without GROUP BY
  const bool are_all = into.count() == none;
  into.reserve(std::max(into.count(), std::min(count, std::ssize(bytes))));
  detail::Large<std::uint64_t> places;
  GroupDecoder reader(plan);
  while (!from.batches().empty()) {
    batch.clear();
    places.clear();
    const std::size_t read = reader.read(from.batches(), batch, places);
    from.require(read > 0, "groups are damaged");
    (void)from.take(read);
    merge(into, batch);
  }
  from.require(!are_all || into.count() == count, "a group occurs twice");
  from.require(from.take(kAfterBatches) == std::string_view(kNothing, kAfterBatches), "more bytes follow its end");
}

}  // namespace upsweep::query
