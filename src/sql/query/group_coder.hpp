// SPDX-License-Identifier: Apache-2.0
// sql/query/group_coder.hpp: batches of groups as bytes, for files and other processes: columns of few bits per value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"

namespace upsweep::query {

/// Bytes that readers of encoded batches need after the end of the batches.
inline constexpr std::size_t kAfterBatches = 8;

/// Creates encoded batches of groups. It keeps its memory from batch to batch.
class GroupEncoder {
 public:
  explicit GroupEncoder(const QueryPlan& plan) : plan_(plan) {}
  /// Appends the groups in [begin, end). `first`: the place of each group's first row, ascending.
  void append(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
              std::vector<std::byte>& to);

 private:
  std::int64_t end_of_batch(const Groups& groups, std::int64_t begin, std::int64_t end) const;
  void append_one(const Groups& groups, std::int64_t begin, std::int64_t end, const std::uint64_t* first,
                  std::vector<std::byte>& to);
  void put_short_strings(std::vector<std::byte>& to);
  void put_strings(const Groups& groups, std::vector<std::byte>& to);

  const QueryPlan& plan_;
  std::vector<Int128> values_;         ///< values of a column
  std::vector<std::int64_t> words_;    ///< the same values, if they fit
  std::vector<std::int32_t> entries_;  ///< entries of a column of text; -1: none
  std::vector<std::int32_t> distinct_;
};

/// Writes the check of an encoded batch into its header, after a caller has changed its contents.
void seal_batch(std::span<std::byte> batch);

class EncodedBytes;

class GroupDecoder {
 public:
  explicit GroupDecoder(const QueryPlan& plan) : plan_(plan) {}
  /// Returns the number of groups according to their headers, or nothing if these are not encoded batches.
  static std::optional<std::int64_t> count(std::span<const std::byte> batches);
  /// Appends the groups of the first encoded batch, for other groups to merge, and the places of their first rows.
  /// Strings stay in the encoded batch. Returns the bytes of the encoded batch. Returns 0 if there is no batch, if it
  /// has changed since it was written, or if it has values that its plan cannot have. Some groups may have been
  /// appended in that case. `from` must be followed by kAfterBatches bytes.
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
  std::vector<State> states_;  ///< states of an aggregate
};

}  // namespace upsweep::query
