// SPDX-License-Identifier: Apache-2.0
// sql/query/answer_columns.hpp: the rows of an answer in the making, column by column: of blocks, and put in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Rows that one thread has made.
struct AnswerChunk {
  std::vector<AnswerColumn> columns = {};
  detail::Large<std::uint64_t> places = {};  ///< of each row the place of its group's first row; no two have the same

  [[nodiscard]] std::size_t size() const { return places.size(); }
  /// Of memory, and of what it takes besides to put the rows in order.
  [[nodiscard]] std::int64_t bytes() const;
};

/// A row of one of several chunks.
struct Source {
  std::uint32_t chunk;
  std::uint32_t row;
};

inline constexpr auto kRowNumbers = [] {
  std::array<int, expression::kBlock> all{};
  std::iota(all.begin(), all.end(), 0);
  return all;
}();
inline constexpr std::span<const int> kAllRows = kRowNumbers;  ///< of a block

/// Appends those rows' values of a block.
void append(const expression::Vector& values, std::span<const int> rows, AnswerColumn& to);

/// -1, 0 or 1 as a value comes before that of another row, with it or after it. Neither is NULL.
int compare(const AnswerColumn& a, std::size_t row, const AnswerColumn& b, std::size_t other);
int compare(const expression::Vector& a, int row, const AnswerColumn& b, std::size_t other);

/// All rows in the order of their places, which ascend in each chunk: `places` has those of each. Places that have their upper
/// halves in common are put in order by one thread.
detail::Unwritten<Source> in_order_of_places(std::span<const std::span<const std::uint64_t>> places, int threads);
/// Of chunks that have so many rows each, one after the other.
detail::Unwritten<Source> one_after_the_other(std::span<const std::int64_t> counts, int threads);

/// A column of those rows, in that order.
AnswerColumn gathered_column(std::span<const AnswerChunk> chunks, std::size_t which, std::span<const Source> order,
                             int threads);

/// A column of so many rows, which are written block by block, by several threads.
class ColumnWriter {
 public:
  ColumnWriter(ValueKind kind, std::size_t rows);

  /// Rows from `first` on, each once. Returns what that takes of memory besides 64 bits for each row.
  std::int64_t write(const expression::Vector& values, int count, std::size_t first);
  /// Once all are written.
  AnswerColumn finish(int threads);

 private:
  /// Of rows from `first` on, up to the next block.
  struct Letters {
    std::size_t first;
    std::size_t rows;
    detail::Unwritten<char> letters;
  };
  /// A value of more than 64 bits.
  struct Wide {
    std::size_t row;
    Int128 value;
  };

  std::int64_t write_exact(const expression::Vector& values, int count, std::size_t first);
  std::int64_t write_strings(const expression::Vector& values, int count, std::size_t first);
  std::int64_t write_nulls(const expression::Vector& values, int count, std::size_t first);
  void join_letters(int threads);

  AnswerColumn column_;
  std::size_t rows_;
  std::mutex changing_;  // what follows, and column_.nulls until it is there:
  std::vector<Letters> letters_;
  std::vector<Wide> wide_;
};

}  // namespace upsweep::query
