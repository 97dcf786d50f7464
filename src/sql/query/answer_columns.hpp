// SPDX-License-Identifier: Apache-2.0
// sql/query/answer_columns.hpp: the rows of an answer under construction, as columns: appended by blocks and sorted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include "sql/expression/evaluate.hpp"
#include "sql/query/plan.hpp"
#include "sql/tuning.hpp"
#include "upsweep/query.hpp"

namespace upsweep::query {

/// Rows that one thread has computed.
struct AnswerChunk {
  std::vector<AnswerColumn> columns = {};
  detail::Large<std::uint64_t> places = {};  ///< for each row the place of its group's first row; all places differ

  [[nodiscard]] std::size_t size() const { return places.size(); }
  /// Returns the bytes of memory, including the memory needed to sort the rows.
  [[nodiscard]] std::int64_t bytes() const;
};

/// Returns the number of rows of a chunk that has columns, also if it has no places.
inline std::size_t count_of(const AnswerChunk& chunk) { return chunk.columns[0].size(); }

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
inline constexpr std::span<const int> kAllRows = kRowNumbers;  ///< numbers of the rows of a block

/// Appends the values of those rows of a block.
void append(const expression::Vector& values, std::span<const int> rows, AnswerColumn& to);

/// Returns -1, 0 or 1 if a value is less than, equal to or greater than that of another row. Neither is NULL.
int compare(const AnswerColumn& a, std::size_t row, const AnswerColumn& b, std::size_t other);
int compare(const expression::Vector& a, int row, const AnswerColumn& b, std::size_t other);

/// Returns all rows in the order of their places. `places` has the places of each chunk, which ascend. One thread sorts
/// all places with the same upper half.
detail::Unwritten<Source> in_order_of_places(std::span<const std::span<const std::uint64_t>> places, int threads);
/// Returns the rows of chunks with these numbers of rows, one chunk after the other.
detail::Unwritten<Source> one_after_the_other(std::span<const std::int64_t> counts, int threads);

/// Returns a column of those rows, in that order.
AnswerColumn gathered_column(std::span<const AnswerChunk> chunks, std::size_t which, std::span<const Source> order,
                             int threads);

/// Returns these rows as one chunk without places.
AnswerChunk chunk_of(std::span<const AnswerChunk> chunks, std::span<const Source> rows);
/// Returns the first `columns` columns of those rows, in that order. The chunks are empty afterwards.
std::vector<AnswerColumn> taken_columns(std::vector<AnswerChunk>& chunks, std::span<const Source> order,
                                        std::size_t columns, int threads);

/// Returns the columns of the answer, as Query::columns() does.
std::vector<Field> fields_of_answer(const QueryPlan& plan);

/// Returns the rows that OFFSET does not drop. `rows` are in the order of the answer.
std::span<const Source> past_offset(const QueryPlan& plan, std::span<const Source> rows);

/// Minimum memory for rows if a limit drops most of them, however small the memory limit is.
inline constexpr std::int64_t kMinFewBytes = tuning::kAnswer.least_few;

/// Throws the error for an answer that does not fit in memory. `bytes`: bytes of its rows so far.
[[noreturn]] void refuse_rows(std::int64_t bytes, std::int64_t most_bytes);

/// A column with a fixed number of rows, which several threads write block by block.
class ColumnWriter {
 public:
  ColumnWriter(ValueKind kind, std::size_t rows);

  /// Writes rows from `first` on; each row is written once. Returns the memory that this needs in addition to 64 bits
  /// per row.
  std::int64_t write(const expression::Vector& values, int count, std::size_t first);
  /// Returns the column, once all rows are written.
  AnswerColumn finish(int threads);

 private:
  /// The string bytes of the rows from `first` up to the next block.
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
  std::mutex changing_;  // guards the following members, and column_.nulls until it exists:
  std::vector<Letters> letters_;
  std::vector<Wide> wide_;
};

}  // namespace upsweep::query
