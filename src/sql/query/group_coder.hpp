// SPDX-License-Identifier: Apache-2.0
// sql/query/group_coder.hpp: batches of groups as bytes, for files and other processes: column by column, with few bits a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Bytes that whoever reads encoded batches has after their end.
inline constexpr std::size_t kAfterBatches = 8;

/// Makes encoded batches of groups; keeps memory from one to the next.
class GroupEncoder {
 public:
  explicit GroupEncoder(const QueryPlan& plan) : plan_(plan) {}
  /// Appends the groups from `begin` on up to `end`. `first`: of each, ascending, the place of its first row.
  void append(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
              std::vector<std::byte>& to);

 private:
  std::int64_t end_of_batch(const Groups& groups, std::int64_t begin, std::int64_t end) const;
  void append_one(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                  std::vector<std::byte>& to);
  void put_short_strings(std::vector<std::byte>& to);
  void put_strings(const Groups& groups, std::vector<std::byte>& to);

  const QueryPlan& plan_;
  std::vector<Int128> values_;         ///< of a column
  std::vector<std::int64_t> words_;    ///< likewise, where they fit
  std::vector<std::int32_t> entries_;  ///< of a column of text; -1: none
  std::vector<std::int32_t> distinct_;
};

/// Puts the check of what an encoded batch consists of where it belongs: for who has changed some of it.
void seal_batch(std::span<std::byte> batch);

class EncodedBytes;

class GroupDecoder {
 public:
  explicit GroupDecoder(const QueryPlan& plan) : plan_(plan) {}
  /// Groups, as their headers say; none: these are no encoded batches.
  static std::optional<std::int64_t> count(std::span<const std::byte> batches);
  /// Appends the groups of the encoded batch at the front, for others to merge, and the places of their first rows. Strings stay in the
  /// encoded batch. Returns its bytes; 0 where there is none, it is not as it was written, or has values that its plan cannot have;
  /// some of it may have been appended then. After `from` there are kAfterBatches bytes.
  std::size_t read(std::span<const std::byte> from, Groups& groups, detail::Large<std::uint64_t>& first);

 private:
  void read_keys(EncodedBytes& source, std::size_t count, Groups& groups);
  void read_string_key(EncodedBytes& source, std::size_t count, Groups& groups);
  void read_states(EncodedBytes& source, const Aggregate& aggregate, Groups& groups);

  const QueryPlan& plan_;
  std::vector<Int128> values_;
  std::vector<Int128> long_strings_;
  std::vector<Int128> keys_;
  std::vector<std::uint8_t> nulls_;
  std::vector<std::int32_t> entries_;
  std::vector<State> states_;  ///< of an aggregate
};

}  // namespace upsweep::query
