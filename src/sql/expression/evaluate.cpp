// SPDX-License-Identifier: Apache-2.0
// sql/expression/evaluate.cpp: evaluates one operator at a time over a block, in 64 bits unless its values may
// overflow.
//
// Every vector of integers or decimals stores a bound of its values. A column's bound is computed from the block; an
// operator's bound follows from its operands. If it fits 64 bits, the operator runs unchecked, as vectors. Otherwise
// integers are checked one by one, and decimals continue in 128 bits, also checked. No overflow is therefore missed.
#include "sql/expression/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/kernels.hpp"
#include "sql/expression/caret.hpp"
#include "sql/expression/members.hpp"
#include "sql/tuning.hpp"

namespace upsweep::expression {
namespace {

// Cache lines of the next block that each operator prefetches into L2: hardware prefetching stops at page boundaries.
constexpr int kLinesAhead = query::tuning::kPrefetch.lines;
constexpr int kLine = 64;                 // bytes
constexpr int kBufferRows = kBlock + 64;  // kernels that list rows write up to 64 entries past the last

Node unscaled(const Node& node) { return node->op == Op::rescale ? node->args[0] : node; }

template <class T>
void run(const TypedKernels<T>& kernels, Op op, const Vector& a, const Vector& b, int n, T* to) {
  const auto kernel = op == Op::add ? kernels.add : op == Op::subtract ? kernels.subtract : kernels.multiply;
  kernel(a.as<T>(), a.one, b.as<T>(), b.one, n, to);
}

/// Expands bits `first` … of a bitmap to bytes, 1 where the bit is `wanted`, for the given rows or all rows. Returns
/// whether any byte is 1.
bool spread_bits(const std::uint8_t* bits, std::int64_t first, const std::int32_t* rows, int n, bool wanted,
                 std::uint8_t* out) {
  std::uint8_t any = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t bit = first + (rows != nullptr ? rows[i] : i);
    out[i] = static_cast<std::uint8_t>(((bits[bit >> 3] >> (bit & 7)) & 1) ^ (wanted ? 0 : 1));
    any |= out[i];
  }
  return any != 0;
}

/// Returns a comparison of a column with a number of the same scale, as bounds of the column.
std::optional<ColumnBounds> bounds_of(const Expression& condition) {
  const auto comparison = column_comparison(condition);
  if (!comparison) return std::nullopt;
  const auto& [found, constant, turned] = *comparison;
  const Expression& column = *condition.args[turned ? 1 : 0];
  const bool is_exact_column = is_exact(column.type) || column.type.kind == ValueKind::date || is_temporal(column.type);
  if (&column != found || !is_exact_column || scale_of(column.type) != scale_of(constant->type)) return std::nullopt;
  ColumnBounds bounds{.column = column.column};
  const bool open = condition.op == Op::less;
  if (condition.op == Op::equal || turned) {
    if (open && constant->exact == kInt128Max) return std::nullopt;
    bounds.minimum = constant->exact + (open ? 1 : 0);
  }
  if (condition.op == Op::equal || !turned) {
    if (open && constant->exact == kInt128Min) return std::nullopt;
    bounds.maximum = constant->exact - (open ? 1 : 0);
  }
  return bounds;
}

}  // namespace

std::optional<ColumnComparison> column_comparison(const Expression& condition) {
  if (condition.op != Op::equal && condition.op != Op::less && condition.op != Op::less_equal) return std::nullopt;
  const bool turned = condition.args[0]->op == Op::literal;
  const Expression* column = condition.args[turned ? 1 : 0].get();
  const Expression* constant = condition.args[turned ? 0 : 1].get();
  // A date that is compared with a timestamp is another number than the days of its column.
  const auto is_same_value = [](const Expression& node) {
    const bool is_of_date = node.op == Op::rescale && node.args[0]->type.kind == ValueKind::date;
    return (node.op == Op::rescale && !is_of_date) || node.op == Op::to_real;
  };
  while (is_same_value(*column)) column = column->args[0].get();
  if (column->op != Op::column || constant->op != Op::literal) return std::nullopt;
  return ColumnComparison{column, constant, turned};
}

std::optional<StoredBounds> stored_bounds(const ColumnBounds& bounds, Storage storage) {
  const Limits limits = limits_of(storage);
  const Int128 minimum = std::max(limits.minimum, bounds.minimum);
  const Int128 maximum = std::min(limits.maximum, bounds.maximum);
  if (minimum > maximum) return std::nullopt;
  return StoredBounds{static_cast<std::int64_t>(minimum), static_cast<std::int64_t>(maximum)};
}

std::vector<Condition> conditions_of(const std::vector<Node>& filters) {
  std::vector<Condition> all;
  std::size_t run = 0;  // start of the current run of adjacent bounds
  for (const Node& filter : filters) {
    const auto bounds = bounds_of(*filter);
    if (!bounds) {
      all.push_back({.nodes = {filter}});
      run = all.size();
      continue;
    }
    const auto same = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(run), all.end(),
                                   [&](const Condition& other) { return other.bounds->column == bounds->column; });
    if (same == all.end()) {
      all.push_back({.nodes = {filter}, .bounds = bounds});
      continue;
    }
    same->nodes.push_back(filter);
    same->bounds->minimum = std::max(same->bounds->minimum, bounds->minimum);
    same->bounds->maximum = std::min(same->bounds->maximum, bounds->maximum);
  }
  return all;
}

/// Storage of a node's values.
struct Evaluator::Slot {
  Vector vector;
  std::int64_t filled = -1;
  std::vector<Int128> values;  ///< large enough for any form
  std::vector<std::uint8_t> nulls;
  std::shared_ptr<const Dictionary> tested;  ///< the dictionary that `passes` was computed for
  std::vector<std::uint8_t> passes;          ///< by the dictionary's entries

  template <class T>
  T* buffer() {
    static_assert(sizeof(T) <= sizeof(Int128));
    values.resize(std::max(values.size(), static_cast<std::size_t>(kBlock) * sizeof(T) / sizeof(Int128)));
    vector.data = values.data();
    vector.one = false;
    return reinterpret_cast<T*>(values.data());
  }
  std::uint8_t* null_buffer() {
    nulls.resize(kBlock);
    vector.nulls = nulls.data();
    return nulls.data();
  }
};

Evaluator::Evaluator(const std::vector<Field>& fields, int nodes, const std::string& sql, const Kernels& kernels,
                     const char* counted)
    : fields_(fields),
      sql_(sql),
      kernels_(kernels),
      counted_(counted),
      kept_(kBufferRows),
      places_(kBufferRows),
      slots_(static_cast<std::size_t>(nodes)) {}
Evaluator::~Evaluator() = default;

void Evaluator::fail(const Expression& node, Code code, const char* what, int i) const {
  if (counted_ == nullptr) refuse(sql_, node.location, code, what);
  const std::string message = with_caret(sql_, node.location, fmt::format("{}{}{}", what, counted_, row(i)));
  throw RowFailure(Error(code, message, row(i)), what, node.location);
}

void Evaluator::start(const Batch& batch, std::int64_t first, int count) {
  batch_ = &batch;
  first_ = first;
  count_ = count;
  rows_ = nullptr;
  ahead_.clear();
  ++now_;
}

void Evaluator::read_ahead() {
  for (int line = 0; line < kLinesAhead && !ahead_.empty(); ++line) {
    ColumnBlock& next = ahead_.back();
    __builtin_prefetch(next.at, 0, 2);
    next.at += kLine;
    if (next.at >= next.end) ahead_.pop_back();
  }
}

void Evaluator::start(const Batch& batch, std::span<const std::int32_t> rows) {
  start(batch, 0, static_cast<int>(rows.size()));
  std::copy(rows.begin(), rows.end(), kept_.begin());
  rows_ = kept_.data();
}

void Evaluator::append_rows(std::vector<std::int32_t>& rows, std::span<const int> columns) const {
  const auto before = static_cast<std::ptrdiff_t>(rows.size());
  const auto first = static_cast<std::int32_t>(first_);
  for (int i = 0; i < count_; ++i) rows.push_back(first + in_block(i));
  for (const int column : columns) {
    const auto* values = static_cast<const std::byte*>(batch_->columns[static_cast<std::size_t>(column)].values);
    const int bits = width_of(fields_[static_cast<std::size_t>(column)].storage);
    for (auto row = rows.begin() + before; row != rows.end(); ++row) {
      __builtin_prefetch(values + std::int64_t{*row} * bits / 8);
    }
  }
}

const Vector& Evaluator::value(const Node& node) {
  Slot& slot = slots_[static_cast<std::size_t>(node->id)];
  if (known(*node) != nullptr) return slot.vector;
  slot.vector = {.form = form_of(*node)};
  read_ahead();
  compute(node, slot);
  slot.filled = now_;
  return slot.vector;
}

const Evaluator::Slot* Evaluator::known(const Expression& node) {
  Slot& slot = slots_[static_cast<std::size_t>(node.id)];
  if (slot.filled == now_) return &slot;
  const Slot* const of_all = all_ != nullptr ? all_->known(node) : nullptr;
  if (of_all == nullptr) return nullptr;
  take_from(of_all->vector, slot);
  slot.filled = now_;
  return &slot;
}

/// Copies the values of these rows from `values`, which has those of all rows.
void Evaluator::take_from(const Vector& values, Slot& slot) const {
  slot.vector = values;
  if (values.one) return;
  const auto take = [&]<class T>(const T* from, T* to) {
    for (int i = 0; i < count_; ++i) to[i] = from[places_in_all_[static_cast<std::size_t>(i)]];
  };
  if (values.nulls != nullptr) take(values.nulls, slot.null_buffer());
  with_type(values.form, [&]<class T>(std::type_identity<T>) { take(values.as<T>(), slot.buffer<T>()); });
}

void Evaluator::compute(const Node& made, Slot& slot) {
  const Expression& node = *made;
  switch (node.op) {
    case Op::column:
      return load(node, slot);
    case Op::literal:
    case Op::null:
      return literal(node, slot);
    case Op::rescale:
      return exact_arithmetic(node, Op::multiply, slot);
    case Op::to_real:
      return to_real(node, slot);
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return arithmetic(made, slot);
    case Op::divide:
      return divide(node, slot);
    case Op::ratio:
      return ratio(node, slot);
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
      return compare(node, slot);
    case Op::both:
    case Op::either:
      return both_or_either(node, slot);
    case Op::invert:
      return invert(node, slot);
    case Op::is_null:
      return is_null(node, slot);
    case Op::choose:
      return choose(node, slot);
    case Op::string_test:
      return string_test(node, slot);
    case Op::is_member:
      return is_member(node, slot);
    case Op::real_key:
      return real_key(node, slot);
    case Op::call:
      return call(node, slot);
  }
  detail::no_such_value();
}

// ----------------------------------------------------------------------------------------------------------- selection

void Evaluator::keep_rows(std::span<const std::int32_t> places) {
  if (std::ssize(places) == count_) return;
  for (std::size_t i = 0; i < places.size(); ++i) kept_[i] = in_block(places[i]);
  keep_first(static_cast<int>(places.size()));
}

void Evaluator::keep_first(int kept) {
  rows_ = kept_.data();
  count_ = kept;
  ++now_;
}

void Evaluator::keep(const Condition& condition) {
  if (count_ == 0 || (condition.bounds && keep_range(*condition.bounds))) return;
  for (const Node& node : condition.nodes) keep_true(node);
}

/// Returns the values of a condition that is not constant, as bytes that are 1 where it is true. NULL is not true.
const std::uint8_t* Evaluator::certainly_true(const Node& condition) {
  const Vector& holding = value(condition);
  const auto* keep = holding.as<std::uint8_t>();
  if (holding.nulls == nullptr) return keep;
  auto* certain = slots_[static_cast<std::size_t>(condition->id)].buffer<std::uint8_t>();  // in place
  for (int i = 0; i < count_; ++i) certain[i] = static_cast<std::uint8_t>(keep[i] & ~holding.nulls[i] & 1);
  return certain;
}

void Evaluator::keep_true(const Node& condition) {
  const Vector& holding = value(condition);
  if (holding.one) {
    if (holding.at<std::uint8_t>(0) == 0 || null_at(holding, 0)) keep_rows({});
    return;
  }
  const int kept = kernels_.places(certainly_true(condition), count_, places_.data());
  keep_rows({places_.data(), static_cast<std::size_t>(kept)});
}

/// Clears the marks of rows where the condition is not true. Returns the number of marked rows.
int Evaluator::mark_true(const Node& condition, std::uint64_t* marks) {
  const Vector& holding = value(condition);
  if (!holding.one) return kernels_.mark_true(certainly_true(condition), count_, marks);
  std::array<std::uint8_t, kBlock> all;
  all.fill(holding.at<std::uint8_t>(0) != 0 && !null_at(holding, 0) ? 1 : 0);
  return kernels_.mark_true(all.data(), count_, marks);
}

/// Returns whether bounds can be tested on the column as stored in memory: neither NULLs nor its storage type prevent
/// it.
bool Evaluator::is_plain(const ColumnBounds& bounds) const {
  const auto column = static_cast<std::size_t>(bounds.column);
  return kernels_.select[at(fields_[column].storage)] != nullptr && batch_->columns[column].validity == nullptr;
}

/// Returns the stored values of the block, starting at its first row.
const void* Evaluator::stored_values(int column) const {
  const auto which = static_cast<std::size_t>(column);
  const auto* values = static_cast<const std::byte*>(batch_->columns[which].values);
  return values + first_ * (width_of(fields_[which].storage) / 8);
}

/// Returns false if the bounds must be tested like any other condition.
bool Evaluator::keep_range(const ColumnBounds& bounds) {
  if (!is_plain(bounds)) return false;
  const Storage storage = fields_[static_cast<std::size_t>(bounds.column)].storage;
  const auto stored = stored_bounds(bounds, storage);
  if (!stored) {
    keep_rows({});
    return true;
  }
  const int kept = kernels_.select[at(storage)](stored_values(bounds.column), rows_, count_, stored->minimum,
                                                stored->maximum, kept_.data());
  if (kept < count_) keep_first(kept);
  return true;
}

int Evaluator::mark_range(const ColumnBounds& bounds, std::uint64_t* marks) {
  const Storage storage = fields_[static_cast<std::size_t>(bounds.column)].storage;
  if (const auto stored = stored_bounds(bounds, storage)) {
    return kernels_.mark[at(storage)](stored_values(bounds.column), count_, stored->minimum, stored->maximum, marks);
  }
  std::fill_n(marks, kBlockMarks, 0);
  return 0;
}

void Evaluator::mark_all(std::uint64_t* marks) const {
  for (int word = 0; word < kBlockMarks; ++word) {
    const int rows = std::clamp(count_ - word * kMarksPerWord, 0, kMarksPerWord);
    marks[word] = rows == 0 ? 0 : ~std::uint64_t{0} >> (kMarksPerWord - rows);
  }
}

int Evaluator::mark(const Condition& condition, std::uint64_t* marks) {
  if (condition.bounds && is_plain(*condition.bounds)) return mark_range(*condition.bounds, marks);
  int left = count_;
  for (const Node& node : condition.nodes) left = mark_true(node, marks);
  return left;
}

void Evaluator::keep_marked(const std::uint64_t* marks) {
  const int kept = kernels_.marked(marks, count_, kept_.data());
  if (kept < count_) keep_first(kept);
}

const Vector& Evaluator::value_for(const Node& node, std::span<const std::int32_t> places) {
  if (!for_some_) {
    for_some_ = std::make_unique<Evaluator>(fields_, static_cast<int>(slots_.size()), sql_, kernels_, counted_);
  }
  Evaluator& other = *for_some_;
  other.start(*batch_, first_, static_cast<int>(places.size()));
  other.rows_ = other.kept_.data();
  for (std::size_t i = 0; i < places.size(); ++i) other.kept_[i] = in_block(places[i]);
  other.all_ = this;
  other.places_in_all_.assign(places.begin(), places.end());
  return other.value(node);
}

// --------------------------------------------------------------------------------------------------------------- atoms

/// Loads 128-bit decimals as 64-bit values if all current rows fit. Rows that are NULL are included in the test.
bool Evaluator::load_narrow(const Int128* from, Slot& slot) {
  auto* const to = slot.buffer<std::int64_t>();
  std::int64_t differs = 0;
  const auto narrow = [&](Int128 value, int i) {
    to[i] = static_cast<std::int64_t>(value);
    differs |= static_cast<std::int64_t>(value >> 64) ^ (to[i] >> 63);
  };
  if (rows_ == nullptr) {
    for (int i = 0; i < count_; ++i) narrow(from[first_ + i], i);
  } else {
    for (int i = 0; i < count_; ++i) narrow(from[first_ + in_block(i)], i);
  }
  return differs == 0;
}

void Evaluator::load(const Expression& node, Slot& slot) {
  const Field& field = fields_[static_cast<std::size_t>(node.column)];
  const ColumnData& column = batch_->columns[static_cast<std::size_t>(node.column)];
  Vector& vector = slot.vector;
  const int width = width_of(field.storage);
  if (column.validity != nullptr &&
      !spread_bits(column.validity, column.offset + first_, rows_, count_, false, slot.null_buffer())) {
    vector.nulls = nullptr;
  }
  const auto gather = [&]<class From, class To>(const From* from, To* to) {
    for (int i = 0; i < count_; ++i) to[i] = from[first_ + in_block(i)];
  };
  vector.form = form_of(field);
  vector.bound = vector.form == Form::real || vector.form == Form::boolean ? 0 : bound_of(field.storage);
  if (vector.form == Form::text) {
    vector.dictionary = &column.dictionary;
    if (rows_ == nullptr) {
      vector.data = stored_values(node.column);
    } else {
      gather(static_cast<const std::int32_t*>(column.values), slot.buffer<std::int32_t>());
    }
  } else if (vector.form == Form::boolean) {
    spread_bits(static_cast<const std::uint8_t*>(column.values), column.offset + first_, rows_, count_, true,
                slot.buffer<std::uint8_t>());
  } else if (field.storage == Storage::int128) {
    const auto* const from = static_cast<const Int128*>(column.values);
    vector.bound = 0;
    if (field.kind == ValueKind::decimal && load_narrow(from, slot)) {
      vector.form = Form::narrow;
      vector.bound = UInt128{kernels_.magnitude(vector.as<std::int64_t>(), count_)} + 1;
    } else {
      auto* const to = slot.buffer<Int128>();
      gather(from, to);
      for (int i = 0; i < count_; ++i) vector.bound = std::max(vector.bound, magnitude(to[i]));
    }
  } else if (field.storage == Storage::uint64) {
    gather(static_cast<const std::uint64_t*>(column.values), slot.buffer<Int128>());
  } else {
    const void* const from = stored_values(node.column);
    if (width == 64 && rows_ == nullptr) {
      vector.data = from;
    } else {
      void* const to =
          vector.form == Form::real ? static_cast<void*>(slot.buffer<double>()) : slot.buffer<std::int64_t>();
      kernels_.take[at(field.storage)](from, rows_, count_, to);
    }
    if (field.storage == Storage::int64) {
      vector.bound = UInt128{kernels_.magnitude(vector.as<std::int64_t>(), count_)} + 1;
    }
  }
  if (rows_ == nullptr && width >= 8) {
    const auto* next = static_cast<const std::byte*>(stored_values(node.column)) + kBlock * width / 8;
    ahead_.push_back({next, next + kBlock * width / 8});
  }
}

void Evaluator::literal(const Expression& node, Slot& slot) {
  slot.vector.bound = magnitude(node.exact);
  with_type(slot.vector.form, [&]<class T>(std::type_identity<T>) {
    *slot.buffer<T>() = std::is_same_v<T, double> ? static_cast<T>(node.real) : static_cast<T>(node.exact);
  });
  slot.vector.one = true;
  if (node.op == Op::null) *slot.null_buffer() = 1;
}

/// Returns the operands of an operator that is NULL if either operand is NULL, and records these rows. A single operand
/// is returned as both.
Evaluator::Operands Evaluator::operands(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args.front());
  const Vector& b = value(node.args.back());
  if (a.nulls == nullptr && b.nulls == nullptr) return {a, b};
  std::uint8_t* const to = slot.null_buffer();
  for (int i = 0; i < count_; ++i) to[i] = static_cast<std::uint8_t>(null_at(a, i) || null_at(b, i) ? 1 : 0);
  return {a, b};
}

// ---------------------------------------------------------------------------------------------------------- arithmetic

/// Returns whether rescaling an operand may overflow in a row where the other operand, and so the result, is NULL.
bool Evaluator::may_overflow_for_nothing(const Node& scaled, const Node& other) {
  if (scaled->op != Op::rescale) return false;
  const Vector& there = value(unscaled(other));
  const auto end = there.nulls + (there.nulls == nullptr ? 0 : there.one ? 1 : count_);
  if (std::find(there.nulls, end, 1) == end) return false;
  return saturated_product(value(unscaled(scaled)).bound, magnitude(scaled->args[1]->exact)) > kWideBound;
}

/// Computes only rows in which both operands are not NULL.
void Evaluator::arithmetic_where_known(const Node& node, Slot& slot) {
  const Vector& a = value(unscaled(node->args[0]));
  const Vector& b = value(unscaled(node->args[1]));
  std::vector<std::int32_t> known;
  for (int i = 0; i < count_; ++i) {
    if (!null_at(a, i) && !null_at(b, i)) known.push_back(i);
  }
  const Vector& v = value_for(node, known);
  slot.vector.form = Form::wide;
  slot.vector.bound = v.bound;
  std::fill_n(slot.null_buffer(), count_, std::uint8_t{1});
  auto* const to = slot.buffer<Int128>();
  std::fill_n(to, count_, Int128{0});
  for (std::size_t k = 0; k < known.size(); ++k) {
    const auto i = static_cast<std::size_t>(known[k]);
    slot.nulls[i] = 0;
    to[i] = exact_at(v, static_cast<int>(k));
  }
}

void Evaluator::arithmetic(const Node& sum, Slot& slot) {
  const Expression& node = *sum;
  if (may_overflow_for_nothing(node.args[0], node.args[1]) || may_overflow_for_nothing(node.args[1], node.args[0])) {
    return arithmetic_where_known(sum, slot);
  }
  if (node.type.kind != ValueKind::real) return exact_arithmetic(node, node.op, slot);
  const Operands on = operands(node, slot);
  run(kernels_.reals, node.op, on.a, on.b, count_, slot.buffer<double>());
}

void Evaluator::exact_arithmetic(const Expression& node, Op op, Slot& slot) {
  const Operands on = operands(node, slot);
  const ExactRule rule = rule_of(op, limits_of(node.type, node.wide), on.a.operand(), on.b.operand());
  exact(
      node, rule, slot,
      [&](std::int64_t* to) {
        if (rule.wraps) return false;
        run(kernels_.integers, op, on.a, on.b, count_, to);
        return true;
      },
      [&](int i, Int128& result) { return compute_exact(op, exact_at(on.a, i), exact_at(on.b, i), result); });
}

/// Computes results by a rule. `all` computes them in 64 bits, or returns false if one may not fit. `one` computes row
/// i in 128 bits and returns whether it fits.
template <class All, class One>
void Evaluator::exact(const Expression& node, const ExactRule& rule, Slot& slot, All all, One one) {
  const Limits limits = limits_of(node.type, node.wide);
  slot.vector.form = rule.form;
  slot.vector.bound = rule.bound;
  if (rule.computed == Form::narrow) {
    auto* const to = slot.buffer<std::int64_t>();
    if (all(to) && (!rule.leaves || kernels_.magnitude(to, count_) <= magnitude(limits.maximum))) return;
  }
  UInt128 largest = 0;
  each_exact_known(slot, [&](int i) {
    Int128 result = 0;
    const bool fits = one(i, result);
    if (!fits || result > limits.maximum || result < limits.minimum) fail(node, Code::overflow, limits.failure, i);
    largest = std::max(largest, magnitude(result));
    return result;
  });
  slot.vector.bound = largest;
}

/// Sets the result's values: f(i) for each row that is not NULL.
template <class T, class F>
void Evaluator::each_known(Slot& slot, F f) const {
  auto* const to = slot.buffer<T>();
  for (int i = 0; i < count_; ++i) to[i] = null_at(slot.vector, i) ? T{} : static_cast<T>(f(i));
}

/// Like each_known(), for a narrow or wide result whose f returns Int128.
template <class F>
void Evaluator::each_exact_known(Slot& slot, F f) const {
  return slot.vector.form == Form::wide ? each_known<Int128>(slot, f) : each_known<std::int64_t>(slot, f);
}

void Evaluator::divide(const Expression& node, Slot& slot) {
  const Operands on = operands(node, slot);
  if (node.type.kind == ValueKind::real) {
    return each_known<double>(slot, [&](int i) {
      if (on.b.at<double>(i) == 0) fail_to_divide(node, i);
      return on.a.at<double>(i) / on.b.at<double>(i);
    });
  }
  slot.vector.form = form_of_quotient(on.a.form, on.b.form);
  slot.vector.bound = on.a.bound;
  const Int128 minimum = minimum_of(slot.vector.form);
  each_exact_known(slot, [&](int i) {
    const Int128 top = exact_at(on.a, i);
    const Int128 bottom = exact_at(on.b, i);
    if (bottom == 0) fail_to_divide(node, i);
    if (bottom == -1 && top == minimum) fail(node, Code::overflow, limits_of(node.type, node.wide).failure, i);
    return top / bottom;
  });
}

void Evaluator::ratio(const Expression& node, Slot& slot) {
  const Operands on = operands(node, slot);
  const int tens = scale_of(node.args[1]->type) - scale_of(node.args[0]->type);
  each_known<double>(slot, [&](int i) {
    if (exact_at(on.b, i) == 0) fail_to_divide(node, i);
    return quotient(exact_at(on.a, i), exact_at(on.b, i), tens);
  });
}

void Evaluator::to_real(const Expression& node, Slot& slot) {
  const Vector& a = operands(node, slot).a;
  const int scale = scale_of(node.args[0]->type);
  each_known<double>(slot, [&](int i) { return to_double(exact_at(a, i), scale); });
}

// ----------------------------------------------------------------------------------------------------------- functions

void Evaluator::call(const Expression& node, Slot& slot) {
  const Function& function = kernels_.functions->first[node.function];
  const Vector& a = operands(node, slot).a;
  std::array<const void*, kMostOperands> from = {a.data};
  for (std::size_t i = 1; i < node.args.size(); ++i) from[i] = value(node.args[i]).data;
  if (node.type.kind != ValueKind::real) return exact_call(node, function, slot);
  const FunctionLoop loop = function.real.real;
  if (!a.one && !loop(from.data(), count_, slot.buffer<double>())) return;
  each_known<double>(slot, [&](int i) {
    double result = 0;
    from[0] = &a.at<double>(i);
    if (loop(from.data(), 1, &result)) fail(node, Code::not_positive, function.failure, i);
    return result;
  });
}

void Evaluator::exact_call(const Expression& node, const Function& function, Slot& slot) {
  std::array<const void*, kMostOperands> from = {};
  std::array<Int128, kMostOperands> wide = {};
  std::array<UInt128, kMostOperands> bounds = {};
  bool narrow = true;
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    const Vector& operand = value(node.args[i]);
    from[i] = operand.data;
    bounds[i] = operand.bound;
    narrow = narrow && operand.form == Form::narrow;
    if (i > 0) wide[i] = exact_at(operand, 0);
  }
  const Vector& a = value(node.args[0]);
  const ExactRule rule = rule_of(function.bound(bounds.data()), limits_of(node.type, node.wide), narrow);
  exact(
      node, rule, slot, [&](std::int64_t* to) { return !a.one && !function.exact.narrow(from.data(), count_, to); },
      [&](int i, Int128& result) {
        wide[0] = exact_at(a, i);
        const std::array<const void*, kMostOperands> one = {&wide[0], &wide[1], &wide[2]};
        return !function.exact.wide(one.data(), 1, &result);
      });
}

// ---------------------------------------------------------------------------------------------------------- conditions

void Evaluator::compare(const Expression& node, Slot& slot) {
  const Operands on = operands(node, slot);
  const int a_scale = scale_of(node.args[0]->type);
  const int b_scale = scale_of(node.args[1]->type);
  auto* const to = slot.buffer<std::uint8_t>();
  const auto by_kernel = [&]<class T>(const TypedKernels<T>& kernels) {
    const auto which = static_cast<int>(node.op) - static_cast<int>(Op::equal);
    kernels.compare[which](on.a.as<T>(), on.a.one, on.b.as<T>(), on.b.one, count_, to);
  };
  const auto one_by_one = [&](auto order) {
    for (int i = 0; i < count_; ++i) to[i] = holds(node.op, order(i)) ? 1 : 0;
  };
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  const bool narrow = on.a.form == Form::narrow && on.b.form == Form::narrow;
  if (on.a.form == Form::real) return by_kernel(kernels_.reals);
  if (a_scale == b_scale && narrow) return by_kernel(kernels_.integers);
  if (a_scale == b_scale) return one_by_one([&](int i) { return order(exact_at(on.a, i), exact_at(on.b, i)); });
  // Decimals of different scales are compared in 64 bits if they fit, otherwise in 256 bits.
  const Int128 up_a = power_of_ten(std::max(b_scale - a_scale, 0));
  const Int128 up_b = power_of_ten(std::max(a_scale - b_scale, 0));
  if (narrow && saturated_product(on.a.bound, magnitude(up_a)) <= kNarrowBound &&
      saturated_product(on.b.bound, magnitude(up_b)) <= kNarrowBound) {
    const auto by_a = static_cast<std::int64_t>(up_a);
    const auto by_b = static_cast<std::int64_t>(up_b);
    return one_by_one([&](int i) { return order(on.a.at<std::int64_t>(i) * by_a, on.b.at<std::int64_t>(i) * by_b); });
  }
  one_by_one([&](int i) { return expression::compare(exact_at(on.a, i), a_scale, exact_at(on.b, i), b_scale); });
}

void Evaluator::is_null(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  each_known<std::uint8_t>(slot, [&](int i) { return null_at(a, i) ? 1 : 0; });
}

void Evaluator::invert(const Expression& node, Slot& slot) {
  const Vector& a = operands(node, slot).a;
  each_known<std::uint8_t>(slot, [&](int i) { return a.at<std::uint8_t>(i) ^ 1; });
}

void Evaluator::both_or_either(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  auto* const to = slot.buffer<std::uint8_t>();
  // Rows that the left side does not decide: those not false for AND, not true for OR.
  const bool decisive = node.op == Op::either;
  const auto decides = [&](const Vector& v, int i) {
    return !null_at(v, i) && (v.at<std::uint8_t>(i) != 0) == decisive;
  };
  const bool dense = !node.args[1]->can_fail;
  std::vector<std::int32_t> open;
  for (int i = 0; i < count_; ++i) {
    if (dense || !decides(a, i)) open.push_back(i);
  }
  const Vector& b = dense ? value(node.args[1]) : value_for(node.args[1], open);
  std::fill_n(to, count_, static_cast<std::uint8_t>(decisive ? 1 : 0));
  std::uint8_t* const nulls = a.nulls != nullptr || b.nulls != nullptr ? slot.null_buffer() : nullptr;
  if (nulls != nullptr) std::fill_n(nulls, count_, std::uint8_t{0});
  for (std::size_t k = 0; k < open.size(); ++k) {
    const int i = open[k];
    const int j = dense ? i : static_cast<int>(k);
    if (decides(a, i) || decides(b, j)) continue;
    to[i] = decisive ? 0 : 1;
    if (nulls != nullptr) nulls[i] = null_at(a, i) || null_at(b, j) ? 1 : 0;
  }
}

void Evaluator::choose(const Expression& node, Slot& slot) {
  const ValueKind kind = node.type.kind;
  const bool exact = kind != ValueKind::real && kind != ValueKind::boolean;
  if (exact) slot.vector.form = Form::wide;
  std::uint8_t* const nulls = slot.null_buffer();
  std::fill_n(nulls, count_, std::uint8_t{0});
  bool any_wide = false;
  with_type(slot.vector.form, [&]<class T>(std::type_identity<T>) {
    T* const to = slot.buffer<T>();
    const auto put = [&](const Node& from, const std::vector<std::int32_t>& places) {
      if (places.empty()) return;
      const Vector& v = value_for(from, places);
      for (std::size_t k = 0; k < places.size(); ++k) {
        const int i = places[k];
        const int j = static_cast<int>(k);
        nulls[i] = null_at(v, j) ? 1 : 0;
        if constexpr (std::is_same_v<T, Int128>) {
          to[i] = exact_at(v, j);
        } else {
          to[i] = v.at<T>(j);
        }
      }
      slot.vector.bound = std::max(slot.vector.bound, v.bound);
      any_wide = any_wide || v.form == Form::wide;
    };
    std::vector<std::int32_t> left(static_cast<std::size_t>(count_));
    std::iota(left.begin(), left.end(), 0);
    for (std::size_t arg = 0; arg + 1 < node.args.size() && !left.empty(); arg += 2) {
      const Vector& test = value_for(node.args[arg], left);
      std::vector<std::int32_t> taken;
      std::vector<std::int32_t> rest;
      for (std::size_t k = 0; k < left.size(); ++k) {
        const int j = static_cast<int>(k);
        (!null_at(test, j) && test.at<std::uint8_t>(j) != 0 ? taken : rest).push_back(left[k]);
      }
      put(node.args[arg + 1], taken);
      left = std::move(rest);
    }
    put(node.args.back(), left);
  });
  if (std::find(nulls, nulls + count_, 1) == nulls + count_) slot.vector.nulls = nullptr;
  // Decimals have 128 bits in both forms.
  const bool stays = kind == ValueKind::decimal ? slot.vector.bound > kNarrowBound || any_wide : node.wide;
  if (!exact || stays) return;
  // Narrows in place: no value is moved to a later position.
  const auto* const wide = slot.vector.as<Int128>();
  auto* const narrow = slot.buffer<std::int64_t>();
  for (int i = 0; i < count_; ++i) {
    const auto small = static_cast<std::int64_t>(wide[i]);
    std::memcpy(narrow + i, &small, sizeof small);
  }
  slot.vector.form = Form::narrow;
}

void Evaluator::string_test(const Expression& node, Slot& slot) {
  const Vector& a = operands(node, slot).a;
  const auto& dictionary = batch_->columns[static_cast<std::size_t>(node.args[0]->column)].dictionary;
  if (slot.tested != dictionary) {
    slot.passes.clear();
    for (const std::string_view string : *dictionary) slot.passes.push_back(passes(node, string) ? 1 : 0);
    slot.tested = dictionary;
  }
  const auto* indices = a.as<std::int32_t>();
  each_known<std::uint8_t>(slot, [&](int i) { return slot.passes[static_cast<std::size_t>(indices[i])]; });
}

void Evaluator::is_member(const Expression& node, Slot& slot) {
  const Vector& a = operands(node, slot).a;
  const Members& members = *node.members;
  if (a.form == Form::real) {
    each_known<std::uint8_t>(slot, [&](int i) { return members.has(a.at<double>(i)) ? 1 : 0; });
  } else if (a.form == Form::wide) {
    each_known<std::uint8_t>(slot, [&](int i) { return members.has(a.at<Int128>(i)) ? 1 : 0; });
  } else {
    each_known<std::uint8_t>(slot, [&](int i) { return members.has(a.at<std::int64_t>(i)) ? 1 : 0; });
  }
}

void Evaluator::real_key(const Expression& node, Slot& slot) {
  const Vector& a = operands(node, slot).a;
  slot.vector.bound = bound_of(Storage::int64);
  each_known<std::int64_t>(slot, [&](int i) {
    const double value = a.at<double>(i);
    const double key = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value + 0.0;
    return std::bit_cast<std::int64_t>(key);
  });
}

const Kernels& kernels(Isa isa) noexcept {
  return cpu::table_for(isa, &kernels_baseline, &kernels_avx2, &kernels_avx512);
}

}  // namespace upsweep::expression
