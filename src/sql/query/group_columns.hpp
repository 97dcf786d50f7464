// SPDX-License-Identifier: Apache-2.0
// sql/query/group_columns.hpp: groups as a batch of keys and aggregates, over which outputs are ordinary expressions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sql/query/groups.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/totals.hpp"
#include "upsweep/detail/unwritten_memory.hpp"
#include "upsweep/table.hpp"

namespace upsweep::query {

/// A group of one of several Groups.
struct GroupAt {
  const Groups* groups;
  std::int64_t group;
};

/// A column of keys or aggregates under construction.
class GroupColumn {
 public:
  GroupColumn(Field field, std::size_t rows)
      : field_(std::move(field)),
        rows_(rows),
        values_((rows * static_cast<std::size_t>(width_of(field_.storage)) + kWordBits - 1) / kWordBits) {
    if (field_.kind == ValueKind::boolean) std::fill(values_.begin(), values_.end(), 0);
    if (field_.kind == ValueKind::text) strings_ = std::make_shared<Dictionary>(rows);
  }

  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] bool is_of_words() const { return field_.storage == Storage::int64; }
  void put_null(std::size_t row) {
    if (validity_.empty()) validity_.assign((rows_ + 7) / 8, 0xff);
    validity_[row / 8] &= static_cast<std::uint8_t>(~(1U << row % 8));
    if (field_.kind == ValueKind::real || is_of_words()) {
      values_[row] = 0;
    } else if (field_.kind == ValueKind::text) {
      at<std::int32_t>(row) = static_cast<std::int32_t>(row);  // an empty string
    } else if (field_.kind != ValueKind::boolean) {
      at<Int128>(row) = 0;
    }
  }
  /// Used if is_of_words() is false.
  void put(std::size_t row, Int128 exact) {
    if (field_.kind == ValueKind::boolean) {
      at<std::uint8_t>(row / 8) |= static_cast<std::uint8_t>(static_cast<int>(exact) << (row % 8));
    } else {
      at<Int128>(row) = exact;
    }
  }
  void put_word(std::size_t row, std::int64_t word) { at<std::int64_t>(row) = word; }
  void put_real(std::size_t row, double real) { at<double>(row) = real; }
  /// Strings stay in the groups' memory. Each is a separate entry.
  void put_string(std::size_t row, std::string_view text) {
    (*strings_)[row] = text;
    at<std::int32_t>(row) = static_cast<std::int32_t>(row);
  }
  [[nodiscard]] ColumnData data() const {
    return {
        .values = values_.data(), .validity = validity_.empty() ? nullptr : validity_.data(), .dictionary = strings_};
  }

 private:
  static constexpr std::size_t kWordBits = 64;

  template <class T>
  T& at(std::size_t i) {
    return reinterpret_cast<T*>(values_.data())[i];
  }

  Field field_;
  std::size_t rows_;
  std::shared_ptr<Dictionary> strings_;
  detail::Unwritten<std::uint64_t> values_;  ///< large enough for any storage
  std::vector<std::uint8_t> validity_;       ///< empty: none is NULL
};

/// Returns the columns of keys, aggregates' values and means that outputs use.
std::set<int> wanted_columns(const QueryPlan& plan);

/// Returns the index of an aggregate's value among the columns. The index of its mean is the next.
inline int column_of(const QueryPlan& plan, std::size_t aggregate) {
  return static_cast<int>(plan.keys.size() + 2 * aggregate);
}

/// Returns the columns that outputs are computed from, with the storage that these groups need.
std::vector<Field> fields_of(const QueryPlan& plan, std::span<const Totals::View> views);

/// Returns those columns of these groups. Columns that are not wanted have no rows.
std::vector<GroupColumn> columns_for(const QueryPlan& plan, const std::set<int>& wanted,
                                     const std::vector<Field>& fields, std::span<const GroupAt> groups);

Batch batch_of(const std::vector<GroupColumn>& columns, std::size_t rows);

}  // namespace upsweep::query
