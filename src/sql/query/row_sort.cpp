// SPDX-License-Identifier: Apache-2.0
// sql/query/row_sort.cpp: sorts rows by a number for the first term of ORDER BY. Values are only compared where these
// numbers are equal.
#include "sql/query/row_sort.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "sql/query/row_order.hpp"

namespace upsweep::query {
namespace {

constexpr std::int64_t kLeastSorted = 1 << 14;  // rows that are worth a thread
constexpr std::uint64_t kMostKey = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

/// A row, and a number that does not descend in the order of the first term.
struct KeyedRow {
  std::uint64_t key;
  Source row;
};

std::uint64_t key_of_integer(Int128 value) {
  constexpr Int128 kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr Int128 kMost = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::uint64_t>(std::clamp(value, kLeast, kMost)) ^ kSignBit;
}

std::uint64_t key_of_real(double value) {
  if (std::isnan(value)) return kMostKey;
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);  // -0.0 is 0.0
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

std::uint64_t key_of_text(std::string_view text) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    key = key << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return key;
}

std::uint64_t key_of(const AnswerColumn& column, std::size_t row, const OrderTerm& term) {
  if (column.is_null(row)) return term.nulls_first ? 0 : kMostKey;
  const std::uint64_t key = column.kind == ValueKind::real   ? key_of_real(column.reals[row])
                            : column.kind == ValueKind::text ? key_of_text(column.word_at(row))
                                                             : key_of_integer(column.exact_at(row));
  return term.descending ? ~key : key;
}

bool is_earlier(Source a, Source b) { return a.chunk != b.chunk ? a.chunk < b.chunk : a.row < b.row; }

/// Returns whether row a precedes row b; no two rows are equal.
bool precedes(const RowOrder& order, std::span<const AnswerChunk> chunks, Source a, Source b) {
  const int compared = order.compare(chunks[a.chunk], a.row, chunks[b.chunk], b.row);
  return compared != 0 ? compared < 0 : is_earlier(a, b);
}

detail::Unwritten<KeyedRow> keyed_rows(const OrderTerm& term, std::span<const AnswerChunk> chunks, int threads) {
  std::vector<std::size_t> begin(1);
  for (const AnswerChunk& chunk : chunks) begin.push_back(begin.back() + count_of(chunk));
  detail::Unwritten<KeyedRow> rows(begin.back());
  cpu::for_each_index(std::ssize(chunks), threads, [&](std::int64_t number) {
    const auto which = static_cast<std::size_t>(number);
    const AnswerColumn& column = chunks[which].columns[static_cast<std::size_t>(term.output)];
    for (std::size_t row = 0; row < column.size(); ++row) {
      const Source source{static_cast<std::uint32_t>(which), static_cast<std::uint32_t>(row)};
      rows[begin[which] + row] = {key_of(column, row, term), source};
    }
  });
  return rows;
}

}  // namespace

detail::Unwritten<Source> sorted_rows(const QueryPlan& plan, std::span<const AnswerChunk> chunks, int threads) {
  detail::Unwritten<KeyedRow> rows = keyed_rows(plan.order[0], chunks, threads);
  const RowOrder order(plan);
  const auto is_before = [&](const KeyedRow& a, const KeyedRow& b) {
    return a.key != b.key ? a.key < b.key : precedes(order, chunks, a.row, b.row);
  };
  // Each thread sorts a run of rows. Neighboring runs are then merged, in pairs.
  const std::int64_t runs = cpu::workers_for(std::ssize(rows), kLeastSorted, threads);
  const auto at = [&](std::int64_t run) { return rows.begin() + std::ssize(rows) * std::min(run, runs) / runs; };
  cpu::for_each_of(runs, static_cast<int>(runs), [&](std::int64_t run) { std::sort(at(run), at(run + 1), is_before); });
  for (std::int64_t width = 1; width < runs; width *= 2) {
    const std::int64_t pairs = (runs + 2 * width - 1) / (2 * width);
    cpu::for_each_of(pairs, static_cast<int>(pairs), [&](std::int64_t pair) {
      const std::int64_t first = pair * 2 * width;
      std::inplace_merge(at(first), at(first + width), at(first + 2 * width), is_before);
    });
  }
  detail::Unwritten<Source> sorted(rows.size());
  std::transform(rows.begin(), rows.end(), sorted.begin(), [](const KeyedRow& row) { return row.row; });
  return sorted;
}

std::vector<Source> first_rows(const QueryPlan& plan, std::span<const AnswerChunk> chunks) {
  std::vector<Source> rows;
  for (std::uint32_t chunk = 0; chunk < chunks.size(); ++chunk) {
    for (std::uint32_t row = 0; row < count_of(chunks[chunk]); ++row) rows.push_back({chunk, row});
  }
  if (std::cmp_less_equal(rows.size(), plan.limit)) return rows;
  const RowOrder order(plan);
  std::nth_element(rows.begin(), rows.begin() + plan.limit, rows.end(),
                   [&](Source a, Source b) { return precedes(order, chunks, a, b); });
  rows.resize(static_cast<std::size_t>(plan.limit));
  std::sort(rows.begin(), rows.end(), is_earlier);
  return rows;
}

}  // namespace upsweep::query
