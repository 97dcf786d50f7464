// SPDX-License-Identifier: Apache-2.0
// query/answer.cpp: groups as a batch of keys and aggregates, over which the outputs are expressions like any others.
#include "query/answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/segments.hpp"
#include "expression/date.hpp"
#include "expression/evaluate.hpp"
#include "expression/number.hpp"
#include "query/answer_columns.hpp"
#include "query/sql.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::query {
namespace {

/// How keys and aggregates lie in the batch that outputs are computed from.
Storage storage_for(ValueKind kind) {
  if (kind == ValueKind::real) return Storage::float64;
  if (kind == ValueKind::boolean) return Storage::bit;
  return kind == ValueKind::text ? Storage::int32 : Storage::int128;
}

/// A column of keys or aggregates in the making.
class Column {
 public:
  Column(ValueType type, std::int64_t rows, std::shared_ptr<const Dictionary> dictionary)
      : field_{.kind = type.kind, .storage = storage_for(type.kind), .scale = type.scale},
        words_(std::move(dictionary)),
        values_(static_cast<std::size_t>(rows)),
        validity_(static_cast<std::size_t>(rows + 7) / 8) {}

  void put(std::int64_t row, Int128 exact, double real) {
    validity_[static_cast<std::size_t>(row / 8)] |= static_cast<std::uint8_t>(1 << (row % 8));
    if (field_.kind == ValueKind::real) {
      at<double>(row) = real;
    } else if (field_.kind == ValueKind::boolean) {
      at<std::uint8_t>(row / 8) |= static_cast<std::uint8_t>(static_cast<int>(exact) << (row % 8));
    } else if (field_.kind == ValueKind::text) {
      at<std::int32_t>(row) = static_cast<std::int32_t>(exact);
    } else {
      at<Int128>(row) = exact;
    }
  }
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] ColumnData data() const {
    return {.values = values_.data(), .validity = validity_.data(), .dictionary = words_};
  }

 private:
  template <class T>
  T& at(std::int64_t i) {
    return reinterpret_cast<T*>(values_.data())[i];
  }

  Field field_;
  std::shared_ptr<const Dictionary> words_;
  std::vector<Int128> values_;  ///< room for any storage
  std::vector<std::uint8_t> validity_;
};

/// Groups that follow each other.
struct Range {
  std::int64_t first;
  std::int64_t end;
  [[nodiscard]] std::int64_t count() const { return end - first; }
};

/// What an aggregate has come to in each group; a sum that does not fit is none.
void put_values(const Plan& plan, std::size_t aggregate, const Groups& groups, Range range, Column& column) {
  const auto& [fold, input, type] = plan.aggregates[aggregate];
  for (std::int64_t g = range.first; g < range.end; ++g) {
    const State state = groups.state(g, aggregate);
    if (fold == Fold::count || fold == Fold::count_rows) {
      column.put(g - range.first, state.count, 0);
    } else if (state.count > 0) {
      column.put(g - range.first, state.exact, state.real());
    }
  }
}

void put_means(ValueType type, std::size_t aggregate, const Groups& groups, Range range, Column& column) {
  for (std::int64_t g = range.first; g < range.end; ++g) {
    const State sum = groups.state(g, aggregate);
    if (sum.count == 0) continue;
    column.put(g - range.first, 0,
               type.kind == ValueKind::real ? sum.real() / static_cast<double>(sum.count)
                                            : average(sum.exact, sum.high(), sum.count, scale_of(type)));
  }
}

/// Of the keys, the aggregates' values and means, those that outputs ask for.
std::set<int> wanted_columns(const Plan& plan) {
  std::vector<Node> outputs;
  outputs.reserve(plan.outputs.size());
  for (const Output& output : plan.outputs) outputs.push_back(output.value);
  return columns_of(outputs);
}

/// The number of an aggregate's value among the columns; that of its mean is the next.
int column_of(const Plan& plan, std::size_t aggregate) { return static_cast<int>(plan.keys.size() + 2 * aggregate); }

/// Texts stay where the groups have them: each is a word of its own.
Column text_keys(ValueType type, std::size_t which, const Groups& groups, Range range) {
  const auto words = std::make_shared<Dictionary>(static_cast<std::size_t>(range.count()));
  Column column(type, range.count(), words);
  for (std::int64_t g = range.first; g < range.end; ++g) {
    if (groups.key_is_null(g, which)) continue;
    (*words)[static_cast<std::size_t>(g - range.first)] = groups.key_text(g, which);
    column.put(g - range.first, g - range.first, 0);
  }
  return column;
}

Column number_keys(ValueType type, std::size_t which, const Groups& groups, Range range) {
  Column column(type, range.count(), nullptr);
  for (std::int64_t g = range.first; g < range.end; ++g) {
    if (!groups.key_is_null(g, which)) column.put(g - range.first, groups.key(g, which), 0);
  }
  return column;
}

/// `dictionary`: of texts that aggregates have come to.
std::vector<Column> columns_for(const Plan& plan, const std::set<int>& wanted, const Groups& groups, Range range,
                                const std::shared_ptr<const Dictionary>& dictionary) {
  std::vector<Column> columns;
  for (std::size_t k = 0; k < plan.keys.size(); ++k) {
    const ValueType type = plan.keys[k]->type;
    const Range rows = wanted.contains(static_cast<int>(k)) ? range : Range{0, 0};
    columns.push_back(type.kind == ValueKind::text ? text_keys(type, k, groups, rows)
                                                   : number_keys(type, k, groups, rows));
  }
  for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
    const ValueType type = plan.aggregates[a].type;
    const bool value = wanted.contains(column_of(plan, a));
    const bool mean = wanted.contains(column_of(plan, a) + 1);
    Column& values = columns.emplace_back(type, value ? range.count() : 0, dictionary);
    if (value) put_values(plan, a, groups, range, values);
    Column& means = columns.emplace_back(ValueType{ValueKind::real}, mean ? range.count() : 0, dictionary);
    if (mean) put_means(type, a, groups, range, means);
  }
  return columns;
}

/// -1, 0 or 1 as a row a comes before b, with it or after it by all that ORDER BY names. `is_null(which)` of a's value of an
/// output, `compare_to(which)` of that with b's.
template <class IsNull, class CompareTo>
int compare_by_terms(const Plan& plan, const Section& b, std::size_t row, const IsNull& is_null,
                     const CompareTo& compare_to) {
  for (const OrderTerm& term : plan.order) {
    const auto which = static_cast<std::size_t>(term.output);
    const bool a_is_null = is_null(which);
    if (a_is_null != b.columns[which].is_null(row)) return a_is_null == term.nulls_first ? -1 : 1;
    if (a_is_null) continue;
    const int order = compare_to(which);
    if (order != 0) return (order < 0) != term.descending ? -1 : 1;
  }
  return 0;
}

/// The groups that a thread makes rows of at a time.
constexpr std::int64_t kStretch = 16 * kBlock;

constexpr auto kRowNumbers = [] {
  std::array<int, kBlock> all{};
  std::iota(all.begin(), all.end(), 0);
  return all;
}();
constexpr std::span<const int> kAllRows = kRowNumbers;  ///< of a block

/// Rows of which a limit drops most may take that much memory, however little is allowed in all.
constexpr std::int64_t kLeastFew = std::int64_t{4} << 20;

/// Makes an answer of groups that come a section at a time, from several threads, in any order: it depends on no section.
///
/// Without LIMIT all rows are kept. With ORDER BY and LIMIT, the first so many, and as many again until they are sorted out;
/// with LIMIT alone, so many of the groups themselves, as no others are computed.
class Maker {
 public:
  /// `most_bytes`: of memory, for rows and what `others` says is in use; 0: any.
  Maker(const Plan& plan, const Kernels& kernels, std::int64_t most_bytes, std::function<std::int64_t()> others)
      : plan_(plan),
        kernels_(kernels),
        most_bytes_(most_bytes),
        others_(std::move(others)),
        wanted_(wanted_columns(plan)) {
    for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
      const Aggregate& aggregate = plan.aggregates[a];
      const bool is_exact_sum = aggregate.fold == Fold::sum && aggregate.type.kind != ValueKind::real;
      if (is_exact_sum && wanted_.contains(column_of(plan, a))) exact_sums_.push_back(a);
    }
  }

  /// The limit is looked at; else all rows are kept. `count`: of all groups, -1 where that is not known.
  void keep_few(std::int64_t count) {
    const bool has_limit = plan_.limit < std::numeric_limits<std::int64_t>::max();
    if (!has_limit || (count >= 0 && count <= plan_.limit)) return;
    (plan_.order.empty() ? keeps_groups_ : keeps_first_) = true;
    if (keeps_groups_) kept_.emplace(plan_, kernels_);
  }

  /// The groups of a section, all of them or some; their places ascend.
  void add(const Groups& groups, Range range, std::span<const std::uint64_t> place) {
    groups_ += range.count();
    find_sums_that_do_not_fit(groups, range);
    if (keeps_groups_) return keep_groups(groups, range, place);
    std::vector<Field> fields;
    std::optional<Evaluator> evaluator;
    // Texts stay where they are.
    const std::shared_ptr<const Dictionary> dictionary(std::shared_ptr<const void>(), &groups.texts());
    Section rows = keeps_first_ ? empty_section() : empty_section(static_cast<std::size_t>(range.count()));
    for (std::int64_t first = range.first; first < range.end; first += kStretch) {
      const Range stretch{first, std::min(first + kStretch, range.end)};
      const std::vector<Column> columns = columns_for(plan_, wanted_, groups, stretch, dictionary);
      Batch batch{.rows = stretch.count()};
      for (const Column& column : columns) batch.columns.push_back(column.data());
      if (!evaluator) {
        for (const Column& column : columns) fields.push_back(column.field());
        evaluator.emplace(fields, plan_.output_nodes, plan_.sql, kernels_, counted());
      }
      for (std::int64_t block = 0; block < batch.rows; block += kBlock) {
        const int n = static_cast<int>(std::min<std::int64_t>(kBlock, batch.rows - block));
        const auto places = place.subspan(static_cast<std::size_t>(first + block), static_cast<std::size_t>(n));
        add_block(*evaluator, batch, block, groups, first + block, places, rows);
      }
    }
    if (rows.size() == 0) return;
    const std::lock_guard lock(changing_);
    sections_.push_back(std::move(rows));
  }

  /// What all groups come to. `number_of`: of a place, how many groups have theirs before it, once no section is at work.
  Answer finish(int threads, const std::function<std::int64_t(std::uint64_t)>& number_of) {
    Answer answer{.table = plan_.table, .groups = groups_};
    for (const Output& output : plan_.outputs) {
      answer.columns.push_back(
          {.name = output.name, .kind = output.value->type.kind, .scale = output.value->type.scale});
    }
    if (sum_that_does_not_fit_ < plan_.aggregates.size()) {
      refuse(plan_.sql, plan_.aggregates[sum_that_does_not_fit_].input->location, Code::overflow,
             "this adds up to more than 38 digits");
    }
    if (keeps_groups_) compute_kept_groups();
    if (failed_) throw_failed(keeps_groups_ ? static_cast<std::int64_t>(failed_place_) : number_of(failed_place_));
    if (sections_.empty()) {
      answer.rows.columns = empty_section().columns;
    } else {
      answer.rows.columns = keeps_first_ ? first_rows(threads) : all_rows(threads);
    }
    return answer;
  }

 private:
  [[nodiscard]] const char* counted() const { return plan_.grouped ? " in group " : nullptr; }

  // ------------------------------------------------------------------------------------------------------------- errors

  /// These are errors whatever else is one; of several sums, the first in the query's order.
  void find_sums_that_do_not_fit(const Groups& groups, Range range) {
    for (const std::size_t a : exact_sums_) {
      for (std::int64_t g = range.first; g < range.end; ++g) {
        if (groups.state(g, a).high() == 0) continue;
        const std::lock_guard lock(changing_);
        sum_that_does_not_fit_ = std::min(sum_that_does_not_fit_, a);
        return;
      }
    }
  }

  /// A block that has failed: its first group that does by itself is kept, unless one before it has. False: none does.
  bool find_failed(Evaluator& evaluator, const Batch& batch, std::int64_t first, int n, const Groups& groups,
                   std::int64_t group, std::span<const std::uint64_t> places) {
    for (int i = 0; i < n; ++i) {
      try {
        evaluator.start(batch, first + i, 1);
        for (const Output& output : plan_.outputs) (void)evaluator.value(output.value);
      } catch (const Error&) {
        const std::lock_guard lock(changing_);
        const std::uint64_t place = places[static_cast<std::size_t>(i)];
        if (failed_ && failed_place_ <= place) return true;
        failed_place_ = place;
        failed_.emplace(plan_, kernels_);
        std::vector<std::int64_t> fresh;
        failed_->merge(groups, group + i, group + i + 1, fresh);
        has_failed_ = true;
        return true;
      }
    }
    return false;
  }

  /// Computed again, by itself, for a message that has its number.
  [[noreturn]] void throw_failed(std::int64_t number) {
    const std::shared_ptr<const Dictionary> dictionary(std::shared_ptr<const void>(), &failed_->texts());
    const std::vector<Column> columns = columns_for(plan_, wanted_, *failed_, {0, 1}, dictionary);
    std::vector<Field> fields;
    Batch batch{.rows = 1, .first_row = number};
    for (const Column& column : columns) {
      fields.push_back(column.field());
      batch.columns.push_back(column.data());
    }
    Evaluator evaluator(fields, plan_.output_nodes, plan_.sql, kernels_, counted());
    evaluator.start(batch, 0, 1);
    for (const Output& output : plan_.outputs) (void)evaluator.value(output.value);
    detail::no_such_value();
  }

  // --------------------------------------------------------------------------------------------------------------- rows

  /// With room for so many rows.
  [[nodiscard]] Section empty_section(std::size_t rows = 0) const {
    Section section;
    section.places.reserve(rows);
    for (const Output& output : plan_.outputs) {
      AnswerColumn& column = section.columns.emplace_back(AnswerColumn{.kind = output.value->type.kind});
      if (column.kind == ValueKind::real) {
        column.reals.reserve(rows);
      } else if (column.kind == ValueKind::text) {
        column.ends.reserve(rows);
      } else {
        column.exact.reserve(rows);
      }
    }
    return section;
  }

  void add_block(Evaluator& evaluator, const Batch& batch, std::int64_t first, const Groups& groups, std::int64_t group,
                 std::span<const std::uint64_t> places, Section& rows) {
    const int n = static_cast<int>(places.size());
    if (has_failed_ && is_past_failed(places.front())) return;
    std::vector<const Vector*> values;
    try {
      evaluator.start(batch, first, n);
      for (const Output& output : plan_.outputs) values.push_back(&evaluator.value(output.value));
    } catch (const Error&) {
      if (!find_failed(evaluator, batch, first, n, groups, group, places)) throw;
      return;
    }
    if (has_failed_) return;
    if (keeps_first_) return keep_first(values, places);
    const std::int64_t before = rows.places.empty() ? 0 : rows.bytes();
    append(values, places, kAllRows.first(places.size()), rows);
    require_memory(rows.bytes() - before);
  }

  static void append(const std::vector<const Vector*>& values, std::span<const std::uint64_t> places,
                     std::span<const int> kept, Section& rows) {
    for (std::size_t c = 0; c < values.size(); ++c) query::append(*values[c], kept, rows.columns[c]);
    for (const int i : kept) rows.places.push_back(places[static_cast<std::size_t>(i)]);
  }

  bool precedes(const std::vector<const Vector*>& values, int i, std::uint64_t place, const Section& other) const {
    const int order = compare_by_terms(
        plan_, other, 0, [&](std::size_t which) { return null_at(*values[which], i); },
        [&](std::size_t which) { return compare(*values[which], i, other.columns[which], 0); });
    return order != 0 ? order < 0 : place < other.places[0];
  }
  [[nodiscard]] int compare_rows(Source a, Source b) const {
    const Section& of_a = sections_[a.section];
    const Section& of_b = sections_[b.section];
    return compare_by_terms(
        plan_, of_b, b.row, [&](std::size_t which) { return of_a.columns[which].is_null(a.row); },
        [&](std::size_t which) { return compare(of_a.columns[which], a.row, of_b.columns[which], b.row); });
  }
  [[nodiscard]] std::uint64_t place_of(Source row) const { return sections_[row.section].places[row.row]; }
  [[nodiscard]] auto by_terms() const {
    return [this](Source a, Source b) {
      const int order = compare_rows(a, b);
      return order != 0 ? order < 0 : place_of(a) < place_of(b);
    };
  }

  bool is_past_failed(std::uint64_t place) {
    const std::lock_guard lock(changing_);
    return failed_place_ < place;
  }

  /// Beside groups that are in memory: where not all rows are kept, half of it is for those.
  void require_memory(std::int64_t more) {
    const std::int64_t rows = bytes_ += more;
    const bool has_room =
        keeps_first_ || keeps_groups_ ? rows <= std::max(most_bytes_ / 2, kLeastFew) : rows + others_() <= most_bytes_;
    if (most_bytes_ == 0 || has_room) return;
    const auto text = [](std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
    throw Error(Code::out_of_memory,
                fmt::format("the answer has more rows than memory has room for: {} of them so far, of the {} that the "
                            "query may take: ask for fewer (LIMIT), or allow it more (--memory)",
                            text(rows), text(most_bytes_)));
  }

  /// Of a block, the rows that may be among the first.
  void keep_first(const std::vector<const Vector*>& values, std::span<const std::uint64_t> places) {
    if (plan_.limit == 0) return;
    std::shared_ptr<const Section> last;
    {
      const std::lock_guard lock(changing_);
      last = last_;
    }
    std::vector<int> kept;
    for (int i = 0; i < static_cast<int>(places.size()); ++i) {
      const std::uint64_t place = places[static_cast<std::size_t>(i)];
      if (last == nullptr || precedes(values, i, place, *last)) kept.push_back(i);
    }
    if (kept.empty()) return;
    Section some = empty_section(kept.size());
    append(values, places, kept, some);
    const std::lock_guard lock(changing_);
    require_memory(some.bytes());
    rows_ += std::ssize(kept);
    sections_.push_back(std::move(some));
    if (rows_ / 2 >= plan_.limit && rows_ >= plan_.limit + kBlock) drop_past_limit();
  }
  /// When twice as many have come together, the last half is dropped.
  void drop_past_limit() {
    const std::vector<Source> order = first_sources();
    const Source greatest = *std::max_element(order.begin(), order.end(), by_terms());
    last_ = std::make_shared<const Section>(copied({&greatest, 1}));
    Section first = copied(order);
    bytes_ = first.bytes();
    rows_ = std::ssize(order);
    sections_.clear();
    sections_.push_back(std::move(first));
  }
  /// As many as the limit says, in any order.
  [[nodiscard]] std::vector<Source> first_sources() const {
    std::vector<Source> all;
    for (std::uint32_t s = 0; s < sections_.size(); ++s) {
      for (std::uint32_t row = 0; row < sections_[s].size(); ++row) all.push_back({s, row});
    }
    if (std::ssize(all) <= plan_.limit) return all;
    std::nth_element(all.begin(), all.begin() + plan_.limit, all.end(), by_terms());
    all.resize(static_cast<std::size_t>(plan_.limit));
    return all;
  }
  [[nodiscard]] Section copied(std::span<const Source> order) const {
    Section section;
    for (std::size_t c = 0; c < plan_.outputs.size(); ++c) {
      section.columns.push_back(gathered_column(sections_, c, order, 1));
    }
    for (const Source row : order) section.places.push_back(place_of(row));
    return section;
  }
  std::vector<AnswerColumn> first_rows(int threads) {
    std::vector<Source> order = first_sources();
    std::sort(order.begin(), order.end(), by_terms());
    return take_columns(order, threads);
  }

  /// By all threads, as to give memory back takes as long as to fill it.
  template <class UseSection>
  void each_section(int threads, const UseSection& use) {
    cpu::for_each_piece(std::ssize(sections_), threads,
                        [&](std::int64_t section) { use(sections_[static_cast<std::size_t>(section)]); });
  }

  /// Of those rows, in that order; nothing is left of any.
  std::vector<AnswerColumn> take_columns(std::span<const Source> order, int threads) {
    std::vector<AnswerColumn> columns;
    for (std::size_t c = 0; c < plan_.outputs.size(); ++c) {
      columns.push_back(gathered_column(sections_, c, order, threads));
      each_section(threads, [&](Section& section) { section.columns[c] = {}; });
    }
    sections_.clear();
    return columns;
  }

  /// In the order of their places.
  std::vector<AnswerColumn> all_rows(int threads) {
    if (sections_.size() == 1 && plan_.order.empty() && std::ssize(sections_[0].places) <= plan_.limit) {
      return std::move(sections_[0].columns);
    }
    detail::Unwritten<Source> order = in_order_of_places(sections_, threads);
    each_section(threads, [](Section& section) { section.places = {}; });
    // Of rows that are equal the earlier one comes first.
    if (!plan_.order.empty()) {
      std::stable_sort(order.begin(), order.end(), [&](Source a, Source b) { return compare_rows(a, b) < 0; });
    }
    if (std::ssize(order) > plan_.limit) order.resize(static_cast<std::size_t>(plan_.limit));
    return take_columns(order, threads);
  }

  // ------------------------------------------------------------------------------------------------------------- groups

  /// The first of them, as far as they may be among the first of all.
  void keep_groups(const Groups& groups, Range range, std::span<const std::uint64_t> place) {
    const std::lock_guard lock(changing_);
    const auto begin = place.begin() + range.first;
    const auto end = std::lower_bound(begin, begin + std::min(range.count(), plan_.limit), end_of_kept_);
    if (begin == end) return;
    std::vector<std::int64_t> fresh;
    kept_->merge(groups, range.first, range.first + (end - begin), fresh);
    kept_place_.insert(kept_place_.end(), begin, end);
    require_memory(kept_->bytes() - bytes_);
    const std::int64_t count = std::ssize(kept_place_);
    if (count / 2 >= plan_.limit && count >= plan_.limit + kBlock) drop_groups_past_limit();
  }

  /// Those that are left have the order of their places.
  void drop_groups_past_limit() {
    std::vector<std::int64_t> order(kept_place_.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return kept_place_[static_cast<std::size_t>(a)] < kept_place_[static_cast<std::size_t>(b)];
    });
    if (std::ssize(order) >= plan_.limit) {
      order.resize(static_cast<std::size_t>(plan_.limit));
      end_of_kept_ = order.empty() ? 0 : kept_place_[static_cast<std::size_t>(order.back())];
    }
    Groups left(plan_, kernels_);
    std::vector<std::uint64_t> left_place;
    std::vector<std::int64_t> fresh;
    for (const std::int64_t g : order) {
      left.merge(*kept_, g, g + 1, fresh);
      left_place.push_back(kept_place_[static_cast<std::size_t>(g)]);
    }
    kept_.emplace(std::move(left));
    kept_place_ = std::move(left_place);
  }

  /// As if there were no others: their number is their place.
  void compute_kept_groups() {
    drop_groups_past_limit();
    std::iota(kept_place_.begin(), kept_place_.end(), std::uint64_t{0});
    exact_sums_.clear();  // they have been looked at
    keeps_groups_ = false;
    add(*kept_, {0, std::ssize(kept_place_)}, kept_place_);  // without GROUP BY there is a group, whatever the limit
    keeps_groups_ = true;
  }

  const Plan& plan_;
  const Kernels& kernels_;
  const std::int64_t most_bytes_;
  const std::function<std::int64_t()> others_;
  const std::set<int> wanted_;
  std::vector<std::size_t> exact_sums_;  ///< aggregates that may not fit
  bool keeps_first_ = false;
  bool keeps_groups_ = false;
  std::atomic<std::int64_t> groups_{0};
  std::atomic<std::int64_t> bytes_{0};  ///< of rows
  std::atomic<bool> has_failed_{false};

  std::mutex changing_;  // what follows:
  std::size_t sum_that_does_not_fit_ = std::numeric_limits<std::size_t>::max();
  std::uint64_t failed_place_ = 0;
  std::optional<Groups> failed_;         ///< the first group that cannot be computed
  std::vector<Section> sections_;        ///< all rows, or those that may be among the first
  std::int64_t rows_ = 0;                ///< the latter
  std::shared_ptr<const Section> last_;  ///< one row: none is among the first that does not precede it
  std::optional<Groups> kept_;
  std::vector<std::uint64_t> kept_place_;
  std::uint64_t end_of_kept_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

Answer answer_of(const Plan& plan, Totals& totals, const Kernels& kernels, int threads, std::int64_t most_bytes,
                 const std::function<void()>& pause) {
  if (most_bytes == 0) most_bytes = totals.most_bytes();
  Maker maker(plan, kernels, most_bytes, [&] { return totals.bytes(); });
  const std::int64_t count = totals.count();
  maker.keep_few(count);
  const int workers =
      count >= 0 ? cpu::workers_for(cpu::parts(count, kStretch), 1, threads) : cpu::worker_count(threads);
  totals.use_sections(
      workers,
      [&](const Groups& groups, std::span<const std::uint64_t> place) {
        maker.add(groups, {0, groups.count()}, place);
      },
      pause);
  Answer answer = maker.finish(threads, [&](std::uint64_t place) { return totals.count_before(place, workers); });
  answer.bytes_spilled = totals.bytes_spilled();
  return answer;
}

Answer answer_of(const Plan& plan, const Groups& groups, const Kernels& kernels, int threads) {
  Maker maker(plan, kernels, 0, [] { return std::int64_t{0}; });
  maker.keep_few(groups.count());
  std::vector<std::uint64_t> place(static_cast<std::size_t>(groups.count()));
  std::iota(place.begin(), place.end(), std::uint64_t{0});
  const std::int64_t stretches = cpu::parts(groups.count(), kStretch);
  std::atomic<std::int64_t> next{0};
  std::mutex failing;
  std::exception_ptr error;
  cpu::run_workers(cpu::workers_for(stretches, 1, threads), [&](int) {
    try {
      for (std::int64_t stretch = next++; stretch < stretches; stretch = next++) {
        maker.add(groups, {stretch * kStretch, std::min((stretch + 1) * kStretch, groups.count())}, place);
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return maker.finish(threads, [](std::uint64_t number) { return static_cast<std::int64_t>(number); });
}

}  // namespace upsweep::query

namespace upsweep {

std::string text(const Field& column, const Cell& cell) {
  if (cell.null) return "NULL";
  switch (column.kind) {
    case ValueKind::real:
      if (std::isnan(cell.real)) return "NaN";
      if (std::isinf(cell.real)) return cell.real > 0 ? "Infinity" : "-Infinity";
      return fmt::format("{}", cell.real);
    case ValueKind::date:
      return expression::date_text(static_cast<std::int64_t>(cell.exact));
    case ValueKind::boolean:
      return cell.exact != 0 ? "true" : "false";
    case ValueKind::text:
      return std::string(cell.word);
    case ValueKind::integer:
    case ValueKind::decimal:
      return expression::to_text(cell.exact, column.kind == ValueKind::decimal ? column.scale : 0);
  }
  detail::no_such_value();
}

std::optional<std::int64_t> days_of(std::string_view date) { return expression::parse_date(date); }

double decimal_value(Int128 exact, int scale) { return expression::to_double(exact, scale); }

}  // namespace upsweep
