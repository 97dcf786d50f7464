// SPDX-License-Identifier: Apache-2.0
// query/answer_columns.hpp: the rows of an answer in the making, column by column: of blocks, and put in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "expression/evaluate.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Rows that one thread has made.
struct Section {
  std::vector<AnswerColumn> columns = {};
  detail::Large<std::uint64_t> places = {};  ///< of each row the place of its group's first row; no two have the same

  [[nodiscard]] std::size_t size() const { return places.size(); }
  /// Of memory, and of what it takes besides to put the rows in order.
  [[nodiscard]] std::int64_t bytes() const;
};

/// A row of one of several sections.
struct Source {
  std::uint32_t section;
  std::uint32_t row;
};

/// Appends those rows' values of a block.
void append(const expression::Vector& values, std::span<const int> rows, AnswerColumn& to);

/// -1, 0 or 1 as a value comes before that of another row, with it or after it. Neither is NULL.
int compare(const AnswerColumn& a, std::size_t row, const AnswerColumn& b, std::size_t other);
int compare(const expression::Vector& a, int row, const AnswerColumn& b, std::size_t other);

/// All rows in the order of their places, which ascend in each section. Places that have their upper halves in common are put
/// in order by one thread.
detail::Unwritten<Source> in_order_of_places(std::span<const Section> sections, int threads);

/// A column of those rows, in that order.
AnswerColumn gathered_column(std::span<const Section> sections, std::size_t which, std::span<const Source> order,
                             int threads);

}  // namespace upsweep::query
