// SPDX-License-Identifier: Apache-2.0
// sql/query/answer.cpp: computes the outputs of groups, block by block; keeps all or the first rows, and sorts them.
#include "sql/query/answer.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
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
#include "cpu/work_partition.hpp"
#include "sql/expression/evaluate.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/first_groups.hpp"
#include "sql/query/group_columns.hpp"
#include "sql/query/group_merge.hpp"
#include "sql/query/row_order.hpp"
#include "sql/query/sql.hpp"
#include "sql/tuning.hpp"
#include "upsweep/detail/unreachable.hpp"

namespace upsweep::query {
namespace {

/// The number of groups that a thread takes at a time. It computes the rows of one block of groups at a time.
constexpr std::int64_t kAnswerUnit = std::int64_t{tuning::kAnswer.blocks} * kBlock;

/// Creates an answer from all groups at once, in order, or from chunks of groups that several threads add in any order.
/// The answer does not depend on the chunks.
///
/// Without LIMIT, all rows are kept. With ORDER BY and LIMIT, at most twice the limit is kept at a time; then the last
/// half is dropped. With LIMIT only, the groups are kept instead, so that no other groups are computed. HAVING is
/// computed for all groups, and then the outputs are computed for the groups that it keeps.
class AnswerMaker {
 public:
  /// `most_bytes`: the memory for rows and for the bytes in use that `others` returns; 0: no limit.
  AnswerMaker(const QueryPlan& plan, const Kernels& kernels, std::int64_t most_bytes,
              std::function<std::int64_t()> others)
      : plan_(plan),
        kernels_(kernels),
        most_bytes_(most_bytes),
        others_(std::move(others)),
        wanted_(wanted_columns(plan)),
        of_having_(plan.having ? columns_of({plan.having}) : std::set<int>()),
        row_order_(plan) {
    for (const Output& output : plan.outputs) outputs_.push_back(output.value);
    for (std::size_t a = 0; a < plan.aggregates.size(); ++a) {
      const Aggregate& aggregate = plan.aggregates[a];
      const bool is_exact_sum = aggregate.fold == Fold::sum && aggregate.type.kind != ValueKind::real;
      if (is_exact_sum && wanted_.contains(column_of(plan, a))) exact_sums_.push_back(a);
    }
  }

  /// From now on, keeps only rows within the limit. `count`: number of all groups, -1 if it is not known.
  void keep_few(std::int64_t count) {
    const bool has_limit = plan_.limit < std::numeric_limits<std::int64_t>::max();
    if (!has_limit || (count >= 0 && count <= plan_.limit)) return;
    (plan_.order.empty() && !plan_.having ? keeps_groups_ : keeps_first_) = true;
    if (keeps_groups_) kept_.emplace(plan_);
  }

  /// Returns whether every group becomes a row of the answer.
  [[nodiscard]] bool keeps_all_groups() const { return keeps_all() && !plan_.having; }

  /// Adds all or some groups of a chunk. Their places must ascend.
  void add(const Groups& groups, GroupRange range, std::span<const std::uint64_t> place) {
    groups_ += range.count();
    find_sums_that_do_not_fit(groups, range);
    if (keeps_groups_) return keep_groups(groups, range, place);
    const Totals::View view{&groups, {}};
    const std::vector<Field> fields = fields_of(plan_, {&view, 1});
    Evaluator evaluator(fields, plan_.output_nodes, plan_.sql, kernels_, counted());
    AnswerChunk rows = keeps_all_groups() ? empty_chunk(static_cast<std::size_t>(range.count())) : empty_chunk();
    std::vector<GroupAt> block;
    std::vector<std::uint64_t> places;
    for (std::int64_t first = range.first; first < range.end; first += kBlock) {
      block.clear();
      for (std::int64_t g = first; g < std::min(first + kBlock, range.end); ++g) block.push_back({&groups, g});
      const auto all = place.subspan(static_cast<std::size_t>(first), block.size());
      places.assign(all.begin(), all.end());
      keep_by_having(evaluator, fields, block, places);
      if (!block.empty()) add_block(evaluator, fields, block, places, rows);
    }
    if (rows.size() == 0) return;
    const std::lock_guard lock(changing_);
    chunks_.push_back(std::move(rows));
  }

  /// Adds all groups of these views, in the order of their first rows. This becomes the order of the answer's rows.
  /// There must be no HAVING. Returns false if memory cannot hold all rows in addition to the groups. `pause` is that
  /// of answer_of().
  bool add_in_order(std::span<const Totals::View> views, int threads, const std::function<void()>& pause) {
    std::vector<std::int64_t> counts;
    for (const Totals::View& view : views) counts.push_back(view.groups->count());
    const std::int64_t count = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    constexpr std::int64_t kEach = sizeof(std::int64_t);
    const std::int64_t needed = count * kEach * (1 + std::ssize(plan_.outputs));
    if (most_bytes_ > 0 && others_() + needed > most_bytes_) return false;
    const detail::Unwritten<Source> order = order_of(views, counts, threads);
    std::deque<ColumnWriter> writers;
    for (const Output& output : plan_.outputs) writers.emplace_back(output.value->type.kind, order.size());
    bytes_ += needed;
    const std::vector<Field> fields = fields_of(plan_, views);
    std::mutex pausing;
    std::atomic<bool> is_enough{true};
    const std::int64_t work_units = cpu::ceil_div(count, kAnswerUnit);
    cpu::for_each_of(work_units, cpu::workers_for(work_units, 1, threads), [&](std::int64_t work_unit) {
      Evaluator evaluator(fields, plan_.output_nodes, plan_.sql, kernels_, counted());
      const std::int64_t end = std::min(count, (work_unit + 1) * kAnswerUnit);
      for (std::int64_t first = work_unit * kAnswerUnit; first < end && is_enough; first += kBlock) {
        const auto n = static_cast<std::size_t>(std::min(std::int64_t{kBlock}, end - first));
        const std::int64_t more =
            write_block(evaluator, fields, views, {order.data() + first, n}, static_cast<std::size_t>(first), writers);
        if (more > 0 && !reserve(more)) is_enough = false;
      }
      const std::unique_lock lock(pausing, std::try_to_lock);
      if (lock && pause) pause();
    });
    if (!is_enough) {
      bytes_ = 0;
      has_failed_ = false;
      failed_.reset();
      return false;
    }
    groups_ += count;
    cpu::for_each_of(std::ssize(views), cpu::workers_for(count, kAnswerUnit, threads), [&](std::int64_t i) {
      const Groups& groups = *views[static_cast<std::size_t>(i)].groups;
      find_sums_that_do_not_fit(groups, {0, groups.count()});
    });
    for (ColumnWriter& writer : writers) in_order_.push_back(writer.finish(threads));
    return true;
  }

  /// Returns the answer for all groups. `number_of` returns the number of groups before a place. It is called when no
  /// chunk is being processed.
  Answer finish(int threads, const std::function<std::int64_t(std::uint64_t)>& number_of) {
    Answer answer{.columns = fields_of_answer(plan_), .table = plan_.table, .groups = groups_};
    if (sum_that_does_not_fit_ < plan_.aggregates.size()) {
      const Aggregate& sum = plan_.aggregates[sum_that_does_not_fit_];
      refuse(plan_.sql, sum.input->location, Code::overflow,
             sum.type.kind == ValueKind::duration ? "this sum of durations does not fit 64 bits"
                                                  : "this sum has more than 38 digits");
    }
    if (keeps_groups_) compute_kept_groups();
    if (failed_) throw_failed(keeps_groups_ ? static_cast<std::int64_t>(failed_place_) : number_of(failed_place_));
    if (!in_order_.empty()) {
      const bool is_whole = plan_.order.empty() && plan_.offset == 0;
      answer.rows.columns = is_whole ? std::move(in_order_) : ordered_rows(threads);
    } else if (chunks_.empty()) {
      answer.rows.columns = empty_chunk().columns;
      answer.rows.columns.resize(plan_.selected);
    } else {
      answer.rows.columns = keeps_first_ ? first_rows(threads) : all_rows(threads);
    }
    return answer;
  }

 private:
  /// Returns whether no row is dropped because of LIMIT.
  [[nodiscard]] bool keeps_all() const { return !keeps_groups_ && !keeps_first_; }
  [[nodiscard]] const char* counted() const { return plan_.grouped ? " in group " : nullptr; }

  // ------------------------------------------------------------------------------------------------------------ errors

  /// These errors take precedence over all others. If several sums fail, the first in the query's order is reported.
  void find_sums_that_do_not_fit(const Groups& groups, GroupRange range) {
    for (const std::size_t a : exact_sums_) {
      if (groups.rows().is_narrow(a)) continue;
      for (std::int64_t g = range.first; g < range.end; ++g) {
        const State sum = groups.state(g, a);
        const bool is_duration = plan_.aggregates[a].type.kind == ValueKind::duration;
        const bool fits = !is_duration || sum.exact == static_cast<std::int64_t>(sum.exact);
        if (sum.high() == 0 && fits) continue;
        const std::lock_guard lock(changing_);
        sum_that_does_not_fit_ = std::min(sum_that_does_not_fit_, a);
        return;
      }
    }
  }

  /// Searches a block that failed for the first group that fails on its own. Keeps it unless an earlier group has
  /// failed. Returns false if no group fails. `place_of(i)` is the place of group i.
  template <class PlaceOf>
  bool find_failed(Evaluator& evaluator, const Batch& batch, std::span<const Node> nodes,
                   std::span<const GroupAt> groups, const PlaceOf& place_of) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      try {
        evaluator.start(batch, static_cast<std::int64_t>(i), 1);
        for (const Node& node : nodes) (void)evaluator.value(node);
      } catch (const Error&) {
        const std::lock_guard lock(changing_);
        const std::uint64_t place = place_of(i);
        if (failed_ && failed_place_ <= place) return true;
        failed_place_ = place;
        failed_.emplace(plan_);
        std::vector<std::int64_t> fresh;
        merge(*failed_, *groups[i].groups, groups[i].group, groups[i].group + 1, fresh);
        has_failed_ = true;
        return true;
      }
    }
    return false;
  }

  /// Computes the group again, on its own, for a message that contains its number.
  [[noreturn]] void throw_failed(std::int64_t number) {
    const Totals::View view{&*failed_, {}};
    const GroupAt only{&*failed_, 0};
    const std::vector<Field> fields = fields_of(plan_, {&view, 1});
    const std::vector<GroupColumn> columns = columns_for(plan_, wanted_, fields, {&only, 1});
    Batch batch = batch_of(columns, 1);
    batch.first_row = number;
    Evaluator evaluator(fields, plan_.output_nodes, plan_.sql, kernels_, counted());
    evaluator.start(batch, 0, 1);
    for (const std::span<const Node> nodes : {having(), std::span<const Node>(outputs_)}) {
      for (const Node& node : nodes) (void)evaluator.value(node);
    }
    detail::no_such_value();
  }

  // -------------------------------------------------------------------------------------------------------------- rows

  /// Returns a chunk with memory for this number of rows.
  [[nodiscard]] AnswerChunk empty_chunk(std::size_t rows = 0) const {
    AnswerChunk chunk;
    chunk.places.reserve(rows);
    for (const Output& output : plan_.outputs) {
      AnswerColumn& column = chunk.columns.emplace_back(AnswerColumn{.kind = output.value->type.kind});
      if (column.kind == ValueKind::real) {
        column.reals.reserve(rows);
      } else if (column.kind == ValueKind::text) {
        column.ends.reserve(rows);
      } else {
        column.exact.reserve(rows);
      }
    }
    return chunk;
  }

  /// The condition of HAVING, if there is one.
  [[nodiscard]] std::span<const Node> having() const { return {&plan_.having, plan_.having ? 1U : 0U}; }

  /// Returns the values of expressions for these groups, or nothing if one of them cannot be computed. `place_of(i)` is
  /// the place of group i.
  template <class PlaceOf>
  std::vector<const Vector*> values_of(std::span<const Node> nodes, Evaluator& evaluator, const Batch& batch,
                                       std::span<const GroupAt> groups, const PlaceOf& place_of) {
    std::vector<const Vector*> values;
    try {
      evaluator.start(batch, 0, static_cast<int>(groups.size()));
      for (const Node& node : nodes) values.push_back(&evaluator.value(node));
    } catch (const Error&) {
      if (!find_failed(evaluator, batch, nodes, groups, place_of)) throw;
      values.clear();
    }
    return values;
  }

  /// Keeps those groups of a block, and their places, for which HAVING is true. Keeps none if one of them fails.
  void keep_by_having(Evaluator& evaluator, const std::vector<Field>& fields, std::vector<GroupAt>& groups,
                      std::vector<std::uint64_t>& places) {
    if (!plan_.having) return;
    const std::vector<GroupColumn> columns = columns_for(plan_, of_having_, fields, groups);
    const Batch batch = batch_of(columns, groups.size());
    const std::vector<const Vector*> values =
        values_of(having(), evaluator, batch, groups, [&](std::size_t i) { return places[i]; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < groups.size() && !values.empty(); ++i) {
      const auto row = static_cast<int>(i);
      if (null_at(*values[0], row) || values[0]->at<std::uint8_t>(row) == 0) continue;
      groups[kept] = groups[i];
      places[kept++] = places[i];
    }
    groups.resize(kept);
    places.resize(kept);
  }

  void add_block(Evaluator& evaluator, const std::vector<Field>& fields, std::span<const GroupAt> groups,
                 std::span<const std::uint64_t> places, AnswerChunk& rows) {
    if (has_failed_ && is_past_failed(places.front())) return;
    const std::vector<GroupColumn> columns = columns_for(plan_, wanted_, fields, groups);
    const Batch batch = batch_of(columns, groups.size());
    const std::vector<const Vector*> values =
        values_of(outputs_, evaluator, batch, groups, [&](std::size_t i) { return places[i]; });
    if (has_failed_) return;
    if (keeps_first_) return keep_first(values, places);
    const std::int64_t before = rows.places.empty() ? 0 : rows.bytes();
    append(values, places, kAllRows.first(places.size()), rows);
    require_memory(rows.bytes() - before);
  }

  /// Writes rows from `first` on: their place is their number. Returns the memory that this needs, like
  /// ColumnWriter::write().
  std::int64_t write_block(Evaluator& evaluator, const std::vector<Field>& fields, std::span<const Totals::View> views,
                           std::span<const Source> order, std::size_t first, std::deque<ColumnWriter>& writers) {
    if (has_failed_ && is_past_failed(first)) return 0;
    std::array<GroupAt, kBlock> groups;
    for (std::size_t i = 0; i < order.size(); ++i) {
      groups[i] = {views[order[i].chunk].groups, order[i].row};
      groups[i].groups->rows().ask_for(groups[i].group);
    }
    const std::span<const GroupAt> all(groups.data(), order.size());
    const std::vector<GroupColumn> columns = columns_for(plan_, wanted_, fields, all);
    const Batch batch = batch_of(columns, all.size());
    const std::vector<const Vector*> values =
        values_of(outputs_, evaluator, batch, all, [&](std::size_t i) { return first + i; });
    std::int64_t more = 0;
    for (std::size_t c = 0; c < values.size(); ++c) {
      more += writers[c].write(*values[c], static_cast<int>(all.size()), first);
    }
    return more;
  }

  /// Returns all groups in the order of their first rows.
  static detail::Unwritten<Source> order_of(std::span<const Totals::View> views, std::span<const std::int64_t> counts,
                                            int threads) {
    std::vector<std::span<const std::uint64_t>> places;
    for (const Totals::View& view : views) places.push_back(view.first);
    const bool have_places =
        std::any_of(places.begin(), places.end(), [](std::span<const std::uint64_t> some) { return !some.empty(); });
    return have_places ? in_order_of_places(places, threads) : one_after_the_other(counts, threads);
  }

  static void append(const std::vector<const Vector*>& values, std::span<const std::uint64_t> places,
                     std::span<const int> kept, AnswerChunk& rows) {
    for (std::size_t c = 0; c < values.size(); ++c) query::append(*values[c], kept, rows.columns[c]);
    for (const int i : kept) rows.places.push_back(places[static_cast<std::size_t>(i)]);
  }

  bool precedes(const std::vector<const Vector*>& values, int i, std::uint64_t place, const AnswerChunk& other) const {
    const int order = row_order_.compare(values, i, other, 0);
    return order != 0 ? order < 0 : place < other.places[0];
  }
  [[nodiscard]] int compare_rows(Source a, Source b) const {
    return row_order_.compare(chunks_[a.chunk], a.row, chunks_[b.chunk], b.row);
  }
  [[nodiscard]] std::uint64_t place_of(Source row) const { return chunks_[row.chunk].places[row.row]; }
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

  /// Reserves memory in addition to groups in memory. If not all rows are kept, half of the memory is for rows. Returns
  /// false if there is not enough.
  bool reserve(std::int64_t more) {
    const std::int64_t rows = bytes_ += more;
    if (most_bytes_ == 0) return true;
    return keeps_all() ? rows + others_() <= most_bytes_ : rows <= std::max(most_bytes_ / 2, kMinFewBytes);
  }
  void require_memory(std::int64_t more) {
    if (!reserve(more)) refuse_rows(bytes_, most_bytes_);
  }

  /// Keeps those rows of a block that may be among the first.
  void keep_first(const std::vector<const Vector*>& values, std::span<const std::uint64_t> places) {
    if (plan_.limit == 0) return;
    std::shared_ptr<const AnswerChunk> last;
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
    AnswerChunk some = empty_chunk(kept.size());
    append(values, places, kept, some);
    const std::lock_guard lock(changing_);
    require_memory(some.bytes());
    rows_ += std::ssize(kept);
    chunks_.push_back(std::move(some));
    if (rows_ / 2 >= plan_.limit && rows_ >= plan_.limit + kBlock) drop_past_limit();
  }
  /// Drops the last half once there are twice the limit.
  void drop_past_limit() {
    const std::vector<Source> order = first_sources();
    const Source maximum = *std::max_element(order.begin(), order.end(), by_terms());
    last_ = std::make_shared<const AnswerChunk>(copied({&maximum, 1}));
    AnswerChunk first = copied(order);
    bytes_ = first.bytes();
    rows_ = std::ssize(order);
    chunks_.clear();
    chunks_.push_back(std::move(first));
  }
  /// Returns the first rows within the limit, in any order.
  [[nodiscard]] std::vector<Source> first_sources() const {
    std::vector<Source> all;
    for (std::uint32_t s = 0; s < chunks_.size(); ++s) {
      for (std::uint32_t row = 0; row < chunks_[s].size(); ++row) all.push_back({s, row});
    }
    if (std::ssize(all) <= plan_.limit) return all;
    std::nth_element(all.begin(), all.begin() + plan_.limit, all.end(), by_terms());
    all.resize(static_cast<std::size_t>(plan_.limit));
    return all;
  }
  [[nodiscard]] AnswerChunk copied(std::span<const Source> order) const {
    AnswerChunk chunk;
    for (std::size_t c = 0; c < plan_.outputs.size(); ++c) {
      chunk.columns.push_back(gathered_column(chunks_, c, order, 1));
    }
    for (const Source row : order) chunk.places.push_back(place_of(row));
    return chunk;
  }
  std::vector<AnswerColumn> first_rows(int threads) {
    std::vector<Source> order = first_sources();
    std::sort(order.begin(), order.end(), by_terms());
    return take_columns(order, threads);
  }

  /// Returns the selected columns of those rows, in that order, without the rows that OFFSET drops. The chunks are
  /// empty afterwards.
  std::vector<AnswerColumn> take_columns(std::span<const Source> order, int threads) {
    return taken_columns(chunks_, past_offset(plan_, order), plan_.selected, threads);
  }

  /// Returns all rows in the order of their places.
  std::vector<AnswerColumn> all_rows(int threads) {
    std::vector<std::span<const std::uint64_t>> places;
    places.reserve(chunks_.size());
    for (const AnswerChunk& chunk : chunks_) places.emplace_back(chunk.places);
    detail::Unwritten<Source> order = in_order_of_places(places, threads);
    // All threads take part, because freeing memory takes as long as filling it.
    cpu::for_each_index(std::ssize(chunks_), threads, [&](std::int64_t chunk) {
      detail::free_vector(chunks_[static_cast<std::size_t>(chunk)].places);
    });
    return rows_by_terms(order, threads);
  }

  /// Sorts rows that are in the order of their places by the ORDER BY terms.
  std::vector<AnswerColumn> ordered_rows(int threads) {
    const auto count = static_cast<std::int64_t>(in_order_[0].size());
    chunks_.push_back({.columns = std::move(in_order_)});
    detail::Unwritten<Source> order = one_after_the_other({&count, 1}, threads);
    return rows_by_terms(order, threads);
  }

  std::vector<AnswerColumn> rows_by_terms(detail::Unwritten<Source>& order, int threads) {
    // The earlier one of equal rows is first.
    if (!plan_.order.empty()) {
      std::stable_sort(order.begin(), order.end(), [&](Source a, Source b) { return compare_rows(a, b) < 0; });
    }
    if (std::ssize(order) > plan_.limit) order.resize(static_cast<std::size_t>(plan_.limit));
    return take_columns(order, threads);
  }

  // ------------------------------------------------------------------------------------------------------------ groups

  /// Keeps the first groups of the range that may be among the first of all.
  void keep_groups(const Groups& groups, GroupRange range, std::span<const std::uint64_t> place) {
    const std::lock_guard lock(changing_);
    kept_->add(groups, range, place);
    require_memory(kept_->groups().bytes() - bytes_);
    kept_->drop_some();
  }

  /// Computes the kept groups as if there were no others: their number is their place.
  void compute_kept_groups() {
    kept_->drop_past_limit();
    std::vector<std::uint64_t> place(static_cast<std::size_t>(kept_->count()));
    std::iota(place.begin(), place.end(), std::uint64_t{0});
    exact_sums_.clear();  // they have been checked already
    keeps_groups_ = false;
    add(kept_->groups(), {0, std::ssize(place)}, place);  // without GROUP BY there is one group, whatever the limit
    keeps_groups_ = true;
  }

  const QueryPlan& plan_;
  const Kernels& kernels_;
  const std::int64_t most_bytes_;
  const std::function<std::int64_t()> others_;
  const std::set<int> wanted_;
  const std::set<int> of_having_;  ///< those of the wanted columns that HAVING uses
  std::vector<Node> outputs_;
  const RowOrder row_order_;
  std::vector<std::size_t> exact_sums_;  ///< aggregates that may not fit
  bool keeps_first_ = false;
  bool keeps_groups_ = false;
  std::atomic<std::int64_t> groups_{0};
  std::atomic<std::int64_t> bytes_{0};  ///< bytes of rows
  std::atomic<bool> has_failed_{false};

  std::mutex changing_;  // guards the following members:
  std::size_t sum_that_does_not_fit_ = std::numeric_limits<std::size_t>::max();
  std::uint64_t failed_place_ = 0;
  std::optional<Groups> failed_;             ///< the first group that cannot be computed
  std::vector<AnswerChunk> chunks_;          ///< all rows, or the rows that may be among the first
  std::vector<AnswerColumn> in_order_;       ///< instead of chunks: all rows in the order of their groups' first rows
  std::int64_t rows_ = 0;                    ///< number of rows in chunks, if these may be among the first
  std::shared_ptr<const AnswerChunk> last_;  ///< one row: only rows that precede it may be among the first
  std::optional<FirstGroups> kept_;
};

/// Used if places are the numbers of rows.
std::int64_t number_of_row(std::uint64_t place) { return static_cast<std::int64_t>(place); }

}  // namespace

Answer answer_of(const QueryPlan& plan, Totals& totals, const Kernels& kernels, int threads, std::int64_t most_bytes,
                 const std::function<void()>& pause) {
  if (most_bytes == 0) most_bytes = totals.most_bytes();
  AnswerMaker maker(plan, kernels, most_bytes, [&] { return totals.bytes(); });
  const std::int64_t count = totals.count();
  maker.keep_few(count);
  const int workers =
      count >= 0 ? cpu::workers_for(cpu::ceil_div(count, kAnswerUnit), 1, threads) : cpu::worker_count(threads);
  if (count >= 0 && maker.keeps_all_groups() && maker.add_in_order(totals.views(workers), threads, pause)) {
    totals.forget(workers);
    return maker.finish(threads, number_of_row);
  }
  totals.use_partitions(
      workers,
      [&](const Groups& groups, std::span<const std::uint64_t> place) {
        maker.add(groups, {0, groups.count()}, place);
      },
      pause);
  Answer answer = maker.finish(threads, [&](std::uint64_t place) { return totals.count_before(place, workers); });
  answer.bytes_spilled = totals.bytes_spilled();
  return answer;
}

Answer answer_of(const QueryPlan& plan, const Groups& groups, const Kernels& kernels, int threads) {
  AnswerMaker maker(plan, kernels, 0, [] { return std::int64_t{0}; });
  maker.keep_few(groups.count());
  if (maker.keeps_all_groups()) {
    const Totals::View view{&groups, {}};
    (void)maker.add_in_order({&view, 1}, threads, {});
    return maker.finish(threads, number_of_row);
  }
  std::vector<std::uint64_t> place(static_cast<std::size_t>(groups.count()));
  std::iota(place.begin(), place.end(), std::uint64_t{0});
  const std::int64_t work_units = cpu::ceil_div(groups.count(), kAnswerUnit);
  cpu::for_each_of(work_units, cpu::workers_for(work_units, 1, threads), [&](std::int64_t work_unit) {
    const std::int64_t first = work_unit * kAnswerUnit;
    maker.add(groups, {first, std::min(first + kAnswerUnit, groups.count())}, place);
  });
  return maker.finish(threads, number_of_row);
}

}  // namespace upsweep::query
