// SPDX-License-Identifier: Apache-2.0
// sql/query/answer_columns.cpp: writes and sorts columns of an answer. If the order of rows is known, they are written
// to their final positions. Otherwise columns grow by blocks. They are then sorted by a pass over places and one pass
// over each column, so that only one column at a time exists twice.
#include "sql/query/answer_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <ranges>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "sql/expression/number.hpp"
#include "sql/tuning.hpp"
#include "system/hash.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::query {

using namespace expression;

namespace {

// Rows that a thread moves to their final positions at a time.
constexpr std::size_t kWorkUnit = tuning::kAnswer.rows;
// Places of a work unit are sorted with a table of all places if the number of places per row is less than this.
// Otherwise they are sorted by comparison.
constexpr std::size_t kSparse = tuning::kAnswer.sparse;
constexpr int kPlaceShift = 32;

bool is_exact(ValueKind kind) { return kind != ValueKind::real && kind != ValueKind::text; }

template <class T>
int order_of(const T& a, const T& b) {
  return is_less(a, b) ? -1 : is_less(b, a) ? 1 : 0;
}

std::int64_t bytes_of(const AnswerColumn& column) {
  return static_cast<std::int64_t>(column.exact.capacity() * sizeof(std::int64_t) +
                                   column.wide.capacity() * sizeof(Int128) + column.reals.capacity() * sizeof(double) +
                                   column.ends.capacity() * sizeof(std::int64_t) + column.letters.capacity() +
                                   column.nulls.capacity() + sizeof column);
}

// ----------------------------------------------------------------------------------------------------------- appending

void widen(AnswerColumn& column) {
  column.wide.reserve(column.exact.capacity());
  column.wide.assign(column.exact.begin(), column.exact.end());
  detail::free_vector(column.exact);
}

/// Appends values of any form except real and text. The value of a NULL row is 0.
void append_exact(const Vector& values, std::span<const int> rows, AnswerColumn& to) {
  with_type(values.form, [&]<class T>(std::type_identity<T>) {
    const auto at = [&](int row) { return null_at(values, row) ? T{} : values.at<T>(row); };
    bool is_wide = !to.wide.empty();
    if constexpr (std::is_same_v<T, Int128>) {
      const auto fits = [&](int row) { return at(row) == static_cast<std::int64_t>(at(row)); };
      is_wide = is_wide || !std::all_of(rows.begin(), rows.end(), fits);
    }
    const auto put_all = [&]<class To>(detail::Unwritten<To>& all) {
      const std::size_t before = all.size();
      all.resize(before + rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) all[before + i] = static_cast<To>(at(rows[i]));
    };
    if (!is_wide) return put_all(to.exact);
    if (to.wide.empty()) widen(to);
    put_all(to.wide);
  });
}

void append_strings(const Vector& values, std::span<const int> rows, AnswerColumn& to) {
  const Dictionary& entries = **values.dictionary;
  const auto string_at = [&](int row) {
    return null_at(values, row) ? std::string_view() : entries[static_cast<std::size_t>(values.at<std::int32_t>(row))];
  };
  std::size_t end = to.letters.size();
  for (const int row : rows) to.ends.push_back(static_cast<std::int64_t>(end += string_at(row).size()));
  const std::size_t before = to.letters.size();
  to.letters.resize(end);
  char* at = to.letters.data() + before;
  for (const int row : rows) {
    const std::string_view string = string_at(row);
    copy_text(at, string);
    at += string.size();
  }
}

void append_nulls(const Vector& values, std::span<const int> rows, AnswerColumn& to) {
  const bool has_any = std::any_of(rows.begin(), rows.end(), [&](int row) { return null_at(values, row); });
  if (to.nulls.empty() && !has_any) return;
  to.nulls.resize(to.size(), 0);
  for (const int row : rows) to.nulls.push_back(null_at(values, row) ? 1 : 0);
}

// ------------------------------------------------------------------------------------------------------------ in order

/// Calls `use_unit(first, end, unit)` for all work units of kWorkUnit rows.
template <class UseWorkUnit>
void for_work_units(std::size_t rows, int threads, const UseWorkUnit& use_work_unit) {
  const auto work_units = static_cast<std::int64_t>((rows + kWorkUnit - 1) / kWorkUnit);
  cpu::for_each_of(work_units, cpu::workers_for(work_units, 1, threads), [&](std::int64_t number) {
    const auto work_unit = static_cast<std::size_t>(number);
    use_work_unit(work_unit * kWorkUnit, std::min(rows, (work_unit + 1) * kWorkUnit), work_unit);
  });
}

/// Gathers one array of a column from the chunks; `array_of(column)` returns the array.
template <class T, class ArrayOf>
detail::Unwritten<T> gathered_array(std::span<const AnswerChunk> chunks, std::size_t which,
                                    std::span<const Source> order, int threads, const ArrayOf& array_of) {
  std::vector<const T*> from;
  from.reserve(chunks.size());
  for (const AnswerChunk& chunk : chunks) from.push_back(array_of(chunk.columns[which]));
  detail::Unwritten<T> to(order.size());
  for_work_units(order.size(), threads, [&](std::size_t first, std::size_t end, std::size_t) {
    for (std::size_t i = first; i < end; ++i) {
      const T* const values = from[order[i].chunk];
      to[i] = values == nullptr ? T{} : values[order[i].row];
    }
  });
  return to;
}

void gather_strings(std::span<const AnswerChunk> chunks, std::size_t which, std::span<const Source> order, int threads,
                    AnswerColumn& to) {
  const auto string_at = [&](Source source) { return chunks[source.chunk].columns[which].word_at(source.row); };
  std::vector<std::int64_t> begin((order.size() + kWorkUnit - 1) / kWorkUnit + 1);  // start of each unit's string bytes
  for_work_units(order.size(), threads, [&](std::size_t first, std::size_t end, std::size_t work_unit) {
    std::int64_t letters = 0;
    for (std::size_t i = first; i < end; ++i) letters += std::ssize(string_at(order[i]));
    begin[work_unit + 1] = letters;
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  to.ends.resize(order.size());
  to.letters.resize(static_cast<std::size_t>(begin.back()));
  for_work_units(order.size(), threads, [&](std::size_t first, std::size_t end, std::size_t work_unit) {
    char* at = to.letters.data() + begin[work_unit];
    for (std::size_t i = first; i < end; ++i) {
      const std::string_view string = string_at(order[i]);
      copy_text(at, string);
      at += string.size();
      to.ends[i] = at - to.letters.data();
    }
  });
}

/// Stores 64 bits after all, if the widest values of the chunks are not among these rows.
void gather_wide(std::span<const AnswerChunk> chunks, std::size_t which, std::span<const Source> order, int threads,
                 AnswerColumn& to) {
  to.wide.resize(order.size());
  std::atomic<bool> all_fit{true};
  for_work_units(order.size(), threads, [&](std::size_t first, std::size_t end, std::size_t) {
    bool fit = true;
    for (std::size_t i = first; i < end; ++i) {
      to.wide[i] = chunks[order[i].chunk].columns[which].exact_at(order[i].row);
      fit = fit && to.wide[i] == static_cast<std::int64_t>(to.wide[i]);
    }
    if (!fit) all_fit = false;
  });
  if (!all_fit) return;
  to.exact.assign(to.wide.begin(), to.wide.end());
  detail::free_vector(to.wide);
}

/// A row, and the lower half of its place.
struct Placed {
  std::uint32_t place;
  Source source;
};

/// Returns the start of the rows of each upper half of a place among all rows. The last element is their number.
std::vector<std::size_t> begin_of_chunks(std::span<const std::span<const std::uint64_t>> places, std::size_t work_units,
                                         int threads) {
  std::vector<std::size_t> begin(work_units + 1);
  std::mutex adding;
  std::atomic<std::size_t> next{0};
  cpu::run_allocating_workers(cpu::workers_for(std::ssize(places), 1, threads), [&](int) {
    std::vector<std::size_t> own(work_units + 1);
    for (std::size_t chunk = next++; chunk < places.size(); chunk = next++) {
      for (const std::uint64_t place : places[chunk]) ++own[(place >> kPlaceShift) + 1];
    }
    const std::lock_guard lock(adding);
    for (std::size_t i = 0; i < begin.size(); ++i) begin[i] += own[i];
  });
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  return begin;
}

/// Sorts rows by their places, with `table` if the places are close together.
void put_in_order(std::vector<Placed>& rows, std::vector<Source>& table, Source* to) {
  constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  const auto precedes = [](const Placed& a, const Placed& b) { return a.place < b.place; };
  if (std::is_sorted(rows.begin(), rows.end(), precedes)) {
    for (const Placed& row : rows) *to++ = row.source;
    return;
  }
  const std::size_t most = std::max_element(rows.begin(), rows.end(), precedes)->place;
  if (most / kSparse >= rows.size()) {
    std::sort(rows.begin(), rows.end(), precedes);
    for (const Placed& row : rows) *to++ = row.source;
    return;
  }
  table.assign(most + 1, {kNone, 0});
  for (const Placed& row : rows) table[row.place] = row.source;
  for (const Source source : table) {
    if (source.chunk != kNone) *to++ = source;
  }
}

}  // namespace

std::int64_t AnswerChunk::bytes() const {
  auto all = static_cast<std::int64_t>(places.capacity() * (sizeof(std::uint64_t) + sizeof(Source)));
  std::int64_t largest = 0;  // this column exists twice during the sort
  for (const AnswerColumn& column : columns) {
    all += bytes_of(column);
    largest = std::max(largest, bytes_of(column));
  }
  return all + largest;
}

void append(const Vector& values, std::span<const int> rows, AnswerColumn& to) {
  append_nulls(values, rows, to);
  if (to.kind == ValueKind::text) return append_strings(values, rows, to);
  if (is_exact(to.kind)) return append_exact(values, rows, to);
  const std::size_t before = to.reals.size();
  to.reals.resize(before + rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    to.reals[before + i] = null_at(values, rows[i]) ? 0 : values.at<double>(rows[i]);
  }
}

int compare(const AnswerColumn& a, std::size_t row, const AnswerColumn& b, std::size_t other) {
  if (a.kind == ValueKind::text) return order_of(a.word_at(row), b.word_at(other));
  if (a.kind == ValueKind::real) return order_of(a.reals[row], b.reals[other]);
  return order_of(a.exact_at(row), b.exact_at(other));
}

int compare(const Vector& a, int row, const AnswerColumn& b, std::size_t other) {
  if (a.form == Form::text) {
    return order_of((**a.dictionary)[static_cast<std::size_t>(exact_at(a, row))], b.word_at(other));
  }
  return a.form == Form::real ? order_of(a.at<double>(row), b.reals[other])
                              : order_of(exact_at(a, row), b.exact_at(other));
}

detail::Unwritten<Source> in_order_of_places(std::span<const std::span<const std::uint64_t>> places, int threads) {
  std::vector<std::uint32_t> by_first;  // chunks, in the order of their first places
  for (std::uint32_t s = 0; s < places.size(); ++s) {
    if (!places[s].empty()) by_first.push_back(s);
  }
  std::sort(by_first.begin(), by_first.end(),
            [&](std::uint32_t a, std::uint32_t b) { return places[a].front() < places[b].front(); });
  if (by_first.empty()) return {};
  std::vector<std::uint64_t>
      reach;  // maximum upper half of places up to each of these chunks; each may have a work unit
  reach.reserve(by_first.size());
  for (const std::uint32_t s : by_first) {
    reach.push_back(std::max(places[s].back() >> kPlaceShift, reach.empty() ? 0 : reach.back()));
  }
  const std::vector<std::size_t> begin = begin_of_chunks(places, reach.back() + 1, threads);
  detail::Unwritten<Source> order(begin.back());
  std::atomic<std::uint64_t> next{0};
  cpu::run_allocating_workers(cpu::workers_for(std::ssize(begin) - 1, 1, threads), [&](int) {
    std::vector<Placed> own;
    std::vector<Source> table;
    for (std::uint64_t upper = next++; upper + 1 < begin.size(); upper = next++) {
      own.clear();
      auto from = std::lower_bound(reach.begin(), reach.end(), upper) - reach.begin();
      for (; from < std::ssize(by_first); ++from) {
        const std::uint32_t number = by_first[static_cast<std::size_t>(from)];
        const std::span<const std::uint64_t> all = places[number];
        if (all.front() >> kPlaceShift > upper) break;  // the chunks after it also have none
        auto at = std::lower_bound(all.begin(), all.end(), upper << kPlaceShift);
        for (; at != all.end() && *at >> kPlaceShift == upper; ++at) {
          own.push_back({static_cast<std::uint32_t>(*at), {number, static_cast<std::uint32_t>(at - all.begin())}});
        }
      }
      put_in_order(own, table, order.data() + begin[upper]);
    }
  });
  return order;
}

detail::Unwritten<Source> one_after_the_other(std::span<const std::int64_t> counts, int threads) {
  std::vector<std::int64_t> begin(counts.size() + 1);
  std::partial_sum(counts.begin(), counts.end(), begin.begin() + 1);
  detail::Unwritten<Source> order(static_cast<std::size_t>(begin.back()));
  cpu::for_each_index(std::ssize(counts), threads, [&](std::int64_t chunk) {
    const auto which = static_cast<std::size_t>(chunk);
    for (std::int64_t row = 0; row < counts[which]; ++row) {
      order[static_cast<std::size_t>(begin[which] + row)] = {static_cast<std::uint32_t>(which),
                                                             static_cast<std::uint32_t>(row)};
    }
  });
  return order;
}

AnswerColumn gathered_column(std::span<const AnswerChunk> chunks, std::size_t which, std::span<const Source> order,
                             int threads) {
  AnswerColumn to{.kind = chunks[0].columns[which].kind};
  const auto any = [&](const auto& is) {
    return std::any_of(chunks.begin(), chunks.end(),
                       [&](const AnswerChunk& chunk) { return is(chunk.columns[which]); });
  };
  const auto gather = [&]<class T>(detail::Unwritten<T>& all, const auto& array_of) {
    all = gathered_array<T>(chunks, which, order, threads, array_of);
  };
  if (to.kind == ValueKind::text) {
    gather_strings(chunks, which, order, threads, to);
  } else if (to.kind == ValueKind::real) {
    gather(to.reals, [](const AnswerColumn& column) { return column.reals.data(); });
  } else if (any([](const AnswerColumn& column) { return !column.wide.empty(); })) {
    gather_wide(chunks, which, order, threads, to);
  } else {
    gather(to.exact, [](const AnswerColumn& column) { return column.exact.data(); });
  }
  if (any([](const AnswerColumn& column) { return !column.nulls.empty(); })) {
    gather(to.nulls, [](const AnswerColumn& column) { return column.nulls.empty() ? nullptr : column.nulls.data(); });
  }
  return to;
}

AnswerChunk chunk_of(std::span<const AnswerChunk> chunks, std::span<const Source> rows) {
  AnswerChunk chunk;
  for (std::size_t c = 0; c < chunks[0].columns.size(); ++c) {
    chunk.columns.push_back(gathered_column(chunks, c, rows, 1));
  }
  return chunk;
}

std::vector<AnswerColumn> taken_columns(std::vector<AnswerChunk>& chunks, std::span<const Source> order,
                                        std::size_t columns, int threads) {
  std::vector<AnswerColumn> taken;
  for (std::size_t c = 0; c < columns; ++c) {
    taken.push_back(gathered_column(chunks, c, order, threads));
    // All threads take part, because freeing memory takes as long as filling it.
    cpu::for_each_index(std::ssize(chunks), threads,
                        [&](std::int64_t chunk) { chunks[static_cast<std::size_t>(chunk)].columns[c] = {}; });
  }
  chunks.clear();
  return taken;
}

std::span<const Source> past_offset(const QueryPlan& plan, std::span<const Source> rows) {
  return rows.subspan(static_cast<std::size_t>(std::min(plan.offset, std::ssize(rows))));
}

namespace {

/// Returns a storage that holds all values of an output. Decimals are computed in 128 bits if they need them.
Storage storage_for(const Expression& value) {
  if (value.type.kind == ValueKind::date) return Storage::int32;
  if (value.type.kind == ValueKind::decimal) return Storage::int128;
  switch (form_of(value)) {
    case Form::narrow:
      return Storage::int64;
    case Form::wide:
      return Storage::int128;
    case Form::real:
      return Storage::float64;
    case Form::boolean:
      return Storage::bit;
    case Form::text:
      return Storage::int32;
  }
  detail::no_such_value();
}

/// Returns the columns of the plan that an output depends on.
std::set<int> columns_of_output(const QueryPlan& plan, const Node& output) {
  std::set<int> used = columns_of({output});
  if (plan.rows) return used;
  std::vector<Node> over_rows;
  for (const int of_groups : used) {
    const auto column = static_cast<std::size_t>(of_groups);
    const std::size_t keys = plan.keys.size();
    const Node& node = column < keys ? plan.keys[column] : plan.aggregates[(column - keys) / 2].input;
    if (node) over_rows.push_back(node);
  }
  return columns_of(over_rows);
}

/// Returns the zone in which the timestamps of an output are displayed: that of the first column with one.
std::string zone_of(const QueryPlan& plan, const Node& output) {
  for (const int column : columns_of_output(plan, output)) {
    const std::string& zone = plan.fields[static_cast<std::size_t>(column)].zone;
    if (!zone.empty()) return zone;
  }
  return "UTC";
}

}  // namespace

std::vector<Field> fields_of_answer(const QueryPlan& plan) {
  std::vector<Field> fields;
  for (std::size_t c = 0; c < plan.selected; ++c) {
    const Expression& value = *plan.outputs[c].value;
    Field& field = fields.emplace_back(Field{.name = plan.outputs[c].name,
                                             .kind = value.type.kind,
                                             .storage = storage_for(value),
                                             .scale = scale_of(value.type),
                                             .zone = value.type.in_utc ? zone_of(plan, plan.outputs[c].value) : ""});
    if (plan.rows && value.op == Op::column) {
      field.storage = plan.fields[static_cast<std::size_t>(value.column)].storage;
    }
  }
  return fields;
}

void refuse_rows(std::int64_t bytes, std::int64_t most_bytes) {
  throw Error(Code::out_of_memory,
              fmt::format("the answer does not fit in memory: its rows use {} so far, and the query may use {}; "
                          "request fewer rows (LIMIT) or allow more memory (QueryMemory::bytes)",
                          bytes_text(static_cast<double>(bytes)), bytes_text(static_cast<double>(most_bytes))));
}

// ---------------------------------------------------------------------------------------------------- written in order

ColumnWriter::ColumnWriter(ValueKind kind, std::size_t rows) : column_{.kind = kind}, rows_(rows) {
  if (kind == ValueKind::real) {
    column_.reals.resize(rows);
  } else if (kind == ValueKind::text) {
    column_.ends.resize(rows);
  } else {
    column_.exact.resize(rows);
  }
}

std::int64_t ColumnWriter::write(const Vector& values, int count, std::size_t first) {
  const std::int64_t of_nulls = write_nulls(values, count, first);
  if (column_.kind == ValueKind::text) return of_nulls + write_strings(values, count, first);
  if (column_.kind != ValueKind::real) return of_nulls + write_exact(values, count, first);
  for (int i = 0; i < count; ++i) {
    column_.reals[first + static_cast<std::size_t>(i)] = null_at(values, i) ? 0 : values.at<double>(i);
  }
  return of_nulls;
}

std::int64_t ColumnWriter::write_nulls(const Vector& values, int count, std::size_t first) {
  const auto is_null = [&](int i) { return null_at(values, i); };
  if (values.nulls == nullptr) return 0;
  int first_null = 0;
  while (first_null < count && !is_null(first_null)) ++first_null;
  if (first_null == count) return 0;
  std::int64_t bytes = 0;
  {
    const std::lock_guard lock(changing_);
    if (column_.nulls.empty()) {
      column_.nulls.resize(rows_, 0);
      bytes = std::ssize(column_.nulls);
    }
  }
  for (int i = 0; i < count; ++i) column_.nulls[first + static_cast<std::size_t>(i)] = is_null(i) ? 1 : 0;
  return bytes;
}

std::int64_t ColumnWriter::write_exact(const Vector& values, int count, std::size_t first) {
  std::int64_t* const to = column_.exact.data() + first;
  if (values.form == Form::narrow && !values.one && values.nulls == nullptr) {
    std::copy_n(values.as<std::int64_t>(), count, to);
    return 0;
  }
  std::vector<Wide> wide;
  with_type(values.form, [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < count; ++i) {
      const T value = null_at(values, i) ? T{} : values.at<T>(i);
      to[i] = static_cast<std::int64_t>(value);
      if constexpr (std::is_same_v<T, Int128>) {
        if (value != to[i]) wide.push_back({first + static_cast<std::size_t>(i), value});
      }
    }
  });
  if (wide.empty()) return 0;
  const std::lock_guard lock(changing_);
  // All rows of the column are then stored in 128 bits.
  const std::int64_t bytes = wide_.empty() ? static_cast<std::int64_t>(rows_ * sizeof(Int128)) : 0;
  wide_.insert(wide_.end(), wide.begin(), wide.end());
  return bytes + static_cast<std::int64_t>(wide.size() * sizeof(Wide));
}

/// Ends are relative to the block's string bytes until all blocks are joined.
std::int64_t ColumnWriter::write_strings(const Vector& values, int count, std::size_t first) {
  AnswerColumn block{.kind = ValueKind::text};
  block.ends.reserve(static_cast<std::size_t>(count));
  append_strings(values, kAllRows.first(static_cast<std::size_t>(count)), block);
  std::copy(block.ends.begin(), block.ends.end(), column_.ends.begin() + static_cast<std::ptrdiff_t>(first));
  const std::int64_t bytes = std::ssize(block.letters);
  const std::lock_guard lock(changing_);
  letters_.push_back({first, static_cast<std::size_t>(count), std::move(block.letters)});
  return bytes;
}

void ColumnWriter::join_letters(int threads) {
  std::ranges::sort(letters_, {}, &Letters::first);
  std::vector<std::int64_t> begin(letters_.size() + 1);
  for (std::size_t i = 0; i < letters_.size(); ++i) begin[i + 1] = begin[i] + std::ssize(letters_[i].letters);
  column_.letters.resize(static_cast<std::size_t>(begin.back()));
  cpu::for_each_index(std::ssize(letters_), threads, [&](std::int64_t i) {
    auto& [first, rows, letters] = letters_[static_cast<std::size_t>(i)];
    const std::int64_t before = begin[static_cast<std::size_t>(i)];
    std::copy(letters.begin(), letters.end(), column_.letters.begin() + before);
    for (std::size_t row = first; row < first + rows; ++row) column_.ends[row] += before;
    detail::free_vector(letters);
  });
}

AnswerColumn ColumnWriter::finish(int threads) {
  join_letters(threads);
  if (!wide_.empty()) {
    widen(column_);
    for (const Wide& wide : wide_) column_.wide[wide.row] = wide.value;
  }
  return std::move(column_);
}

}  // namespace upsweep::query
