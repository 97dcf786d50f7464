// SPDX-License-Identifier: Apache-2.0
// query/evaluate.cpp: one operator at a time over a block; in 64 bits as long as what the block holds cannot overflow.
//
// Every vector of integers or decimals knows a bound of its values. A column's is read off the block; an operator's
// follows from its operands'. Where it fits 64 bits the operator runs unchecked, as vectors; else integers are checked one
// by one and decimals go on in 128 bits, which are checked too. So nothing ever wraps around unseen.
#include "query/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "query/sql.hpp"

namespace upsweep::query {
namespace {

constexpr UInt128 kNarrow = std::numeric_limits<std::int64_t>::max();
constexpr UInt128 kBoundless = ~UInt128{0};
constexpr int kRoom = kBlock + 64;  // kernels that list rows write that far past the last

UInt128 saturated_sum(UInt128 a, UInt128 b) { return a > kBoundless - b ? kBoundless : a + b; }
UInt128 saturated_product(UInt128 a, UInt128 b) { return b != 0 && a > kBoundless / b ? kBoundless : a * b; }

Node unscaled(const Node& node) { return node->op == Op::rescale ? node->args[0] : node; }
bool is_arithmetic(Op op) { return op == Op::add || op == Op::subtract || op == Op::multiply; }

/// Bits `first` … of a bitmap as bytes, 1 where the bit is `wanted`, for the rows given or all; whether any is 1.
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

}  // namespace

namespace {

/// A comparison of a column with a number of its own scale, as bounds of the column.
std::optional<ColumnBounds> bounds_of(const Expression& condition) {
  if (condition.op != Op::equal && condition.op != Op::less && condition.op != Op::less_equal) return std::nullopt;
  const bool turned = condition.args[0]->op == Op::literal;
  const Expression& column = *condition.args[turned ? 1 : 0];
  const Expression& bound = *condition.args[turned ? 0 : 1];
  const bool is_exact_column = is_exact(column.type) || column.type.kind == ValueKind::date;
  if (column.op != Op::column || bound.op != Op::literal || !is_exact_column) return std::nullopt;
  if (scale_of(column.type) != scale_of(bound.type)) return std::nullopt;
  ColumnBounds bounds{.column = column.column};
  const bool open = condition.op == Op::less;
  if (condition.op == Op::equal || turned) {
    if (open && bound.exact == kInt128Max) return std::nullopt;
    bounds.least = bound.exact + (open ? 1 : 0);
  }
  if (condition.op == Op::equal || !turned) {
    if (open && bound.exact == kInt128Min) return std::nullopt;
    bounds.greatest = bound.exact - (open ? 1 : 0);
  }
  return bounds;
}

}  // namespace

std::optional<StoredBounds> stored_bounds(const ColumnBounds& bounds, Storage storage) {
  constexpr Int128 kLeast[] = {INT8_MIN, INT16_MIN, INT32_MIN, INT64_MIN, 0, 0, 0};
  constexpr Int128 kGreatest[] = {INT8_MAX, INT16_MAX, INT32_MAX, INT64_MAX, UINT8_MAX, UINT16_MAX, UINT32_MAX};
  const Int128 least = std::max(kLeast[at(storage)], bounds.least);
  const Int128 greatest = std::min(kGreatest[at(storage)], bounds.greatest);
  if (least > greatest) return std::nullopt;
  return StoredBounds{static_cast<std::int64_t>(least), static_cast<std::int64_t>(greatest)};
}

std::vector<Condition> conditions_of(const std::vector<Node>& filters) {
  std::vector<Condition> all;
  std::size_t run = 0;  // where the bounds begin that nothing else stands between
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
    same->bounds->least = std::max(same->bounds->least, bounds->least);
    same->bounds->greatest = std::min(same->bounds->greatest, bounds->greatest);
  }
  return all;
}

/// Where a node's values are kept.
struct Evaluator::Slot {
  Vector vector;
  std::int64_t filled = -1;
  std::vector<Int128> values;  ///< room for any form
  std::vector<std::uint8_t> nulls;
  std::shared_ptr<const Words> tested;  ///< the words that `passes` tells of
  std::vector<std::uint8_t> passes;
  std::optional<bool> can_fail;
  std::optional<bool> is_wide;

  template <class T>
  T* room() {
    static_assert(sizeof(T) <= sizeof(Int128));
    values.resize(std::max(values.size(), static_cast<std::size_t>(kBlock) * sizeof(T) / sizeof(Int128)));
    vector.data = values.data();
    vector.one = false;
    return reinterpret_cast<T*>(values.data());
  }
  std::uint8_t* null_room() {
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
      kept_(kRoom),
      places_(kRoom),
      slots_(static_cast<std::size_t>(nodes)) {}
Evaluator::~Evaluator() = default;

void Evaluator::fail(const Expression& node, Code code, const char* what, int i) const {
  refuse(sql_, node.location, code,
         fmt::format("{}{}", what, counted_ == nullptr ? "" : fmt::format("{}{}", counted_, row(i))),
         counted_ == nullptr ? kNoIndex : row(i));
}

void Evaluator::start(const Batch& batch, std::int64_t first, int count) {
  batch_ = &batch;
  first_ = first;
  count_ = count;
  rows_ = nullptr;
  ++now_;
}

void Evaluator::start(const Batch& batch, std::span<const std::int32_t> rows) {
  start(batch, 0, static_cast<int>(rows.size()));
  std::copy(rows.begin(), rows.end(), kept_.begin());
  rows_ = kept_.data();
}

void Evaluator::append_rows(std::vector<std::int32_t>& rows, std::span<const int> columns) const {
  const auto before = static_cast<std::ptrdiff_t>(rows.size());
  const auto first = static_cast<std::int32_t>(first_);
  for (int i = 0; i < count_; ++i) rows.push_back(first + (rows_ != nullptr ? rows_[i] : i));
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
  slot.vector.nulls = nullptr;
  slot.vector.one = false;
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

/// What `values`, of all rows, has for these.
void Evaluator::take_from(const Vector& values, Slot& slot) const {
  slot.vector = values;
  if (values.one) return;
  const auto take = [&]<class T>(const T* from, T* to) {
    for (int i = 0; i < count_; ++i) to[i] = from[places_in_all_[static_cast<std::size_t>(i)]];
  };
  if (values.nulls != nullptr) take(values.nulls, slot.null_room());
  switch (values.form) {
    case Vector::Form::wide:
      return take(values.as<Int128>(), slot.room<Int128>());
    case Vector::Form::real:
      return take(values.as<double>(), slot.room<double>());
    case Vector::Form::truth:
      return take(values.as<std::uint8_t>(), slot.room<std::uint8_t>());
    case Vector::Form::words:
      return take(values.as<std::int32_t>(), slot.room<std::int32_t>());
    case Vector::Form::narrow:
      return take(values.as<std::int64_t>(), slot.room<std::int64_t>());
  }
}

void Evaluator::compute(const Node& made, Slot& slot) {
  const Expression& node = *made;
  switch (node.op) {
    case Op::column:
      load(node, slot);
      break;
    case Op::literal:
    case Op::null:
      literal(node, slot);
      break;
    case Op::rescale:
      rescale(node, slot);
      break;
    case Op::to_real:
      to_real(node, slot);
      break;
    case Op::negate:
      negate(node, slot);
      break;
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      arithmetic(made, slot);
      break;
    case Op::divide:
      divide(node, slot);
      break;
    case Op::ratio:
      ratio(node, slot);
      break;
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
      compare(node, slot);
      break;
    case Op::both:
    case Op::either:
    case Op::invert:
    case Op::is_null:
      logic(node, slot);
      break;
    case Op::choose:
      choose(node, slot);
      break;
    case Op::has_word:
      has_word(node, slot);
      break;
  }
}

// ------------------------------------------------------------------------------------------------------------- selection

void Evaluator::keep_rows(std::span<const std::int32_t> places) {
  const int kept = static_cast<int>(places.size());
  if (kept == count_) return;
  for (int i = 0; i < kept; ++i) {
    const std::int32_t place = places[static_cast<std::size_t>(i)];
    kept_[static_cast<std::size_t>(i)] = rows_ != nullptr ? rows_[place] : place;
  }
  rows_ = kept_.data();
  count_ = kept;
  ++now_;
}

void Evaluator::keep(const Condition& condition) {
  if (count_ == 0 || (condition.bounds && keep_range(*condition.bounds))) return;
  for (const Node& node : condition.nodes) keep_true(node);
}

void Evaluator::keep_true(const Node& condition) {
  const Vector& truth = value(condition);
  if (truth.one) {
    if (*truth.as<std::uint8_t>() == 0 || null_at(truth, 0)) keep_rows({});
    return;
  }
  const auto* keep = truth.as<std::uint8_t>();
  if (truth.nulls != nullptr) {
    auto* certain = slots_[static_cast<std::size_t>(condition->id)].room<std::uint8_t>();  // in place
    for (int i = 0; i < count_; ++i) certain[i] = static_cast<std::uint8_t>(keep[i] & ~truth.nulls[i] & 1);
    keep = certain;
  }
  const int kept = kernels_.places(keep, count_, places_.data());
  keep_rows({places_.data(), static_cast<std::size_t>(kept)});
}

/// On the column as it lies in memory; false where NULLs or its storage forbid that.
bool Evaluator::keep_range(const ColumnBounds& bounds) {
  const ColumnData& data = batch_->columns[static_cast<std::size_t>(bounds.column)];
  const Storage storage = fields_[static_cast<std::size_t>(bounds.column)].storage;
  const auto select = kernels_.select[at(storage)];
  if (select == nullptr || data.validity != nullptr) return false;
  const auto stored = stored_bounds(bounds, storage);
  if (!stored) {
    keep_rows({});
    return true;
  }
  const auto* values = static_cast<const std::byte*>(data.values) + first_ * (std::int64_t{1} << (at(storage) % 4));
  const int kept = select(values, rows_, count_, stored->least, stored->greatest, kept_.data());
  if (kept < count_) {
    rows_ = kept_.data();
    count_ = kept;
    ++now_;
  }
  return true;
}

const Vector& Evaluator::value_for(const Node& node, std::span<const std::int32_t> places) {
  if (!for_some_) {
    for_some_ = std::make_unique<Evaluator>(fields_, static_cast<int>(slots_.size()), sql_, kernels_, counted_);
  }
  Evaluator& other = *for_some_;
  other.batch_ = batch_;
  other.first_ = first_;
  other.rows_ = other.kept_.data();
  other.count_ = static_cast<int>(places.size());
  other.all_ = this;
  other.places_in_all_.assign(places.begin(), places.end());
  for (std::size_t i = 0; i < places.size(); ++i) {
    other.kept_[i] = rows_ != nullptr ? rows_[places[i]] : places[i];
  }
  ++other.now_;
  return other.value(node);
}

bool Evaluator::can_fail(const Expression& node) {
  auto& known = slots_[static_cast<std::size_t>(node.id)].can_fail;
  if (!known) {
    const bool exact = is_exact(node.type) || node.type.kind == ValueKind::date;
    known = node.op == Op::divide || node.op == Op::ratio || node.op == Op::rescale ||
            (exact && (is_arithmetic(node.op) || node.op == Op::negate)) ||
            std::any_of(node.args.begin(), node.args.end(), [&](const Node& arg) { return can_fail(*arg); });
  }
  return *known;
}

/// Whether an integer has 128 bits: by what it is made of, so that what overflows depends on no other row.
bool Evaluator::is_wide(const Expression& node) {
  auto& known = slots_[static_cast<std::size_t>(node.id)].is_wide;
  if (!known) {
    if (node.type.kind == ValueKind::date) {
      known = false;
    } else if (node.op == Op::column) {
      const Storage storage = fields_[static_cast<std::size_t>(node.column)].storage;
      known = storage == Storage::uint64 || storage == Storage::int128;
    } else if (node.op == Op::literal) {
      known = node.exact > INT64_MAX || node.exact < INT64_MIN;
    } else if (node.op == Op::choose) {
      bool wide = is_wide(*node.args.back());
      for (std::size_t i = 1; i < node.args.size(); i += 2) wide = is_wide(*node.args[i]) || wide;
      known = wide;
    } else {
      known = std::any_of(node.args.begin(), node.args.end(), [&](const Node& arg) { return is_wide(*arg); });
    }
  }
  return *known;
}

// ----------------------------------------------------------------------------------------------------------------- atoms

void Evaluator::load(const Expression& node, Slot& slot) {
  using Form = Vector::Form;
  const Storage storage = fields_[static_cast<std::size_t>(node.column)].storage;
  const ColumnData& column = batch_->columns[static_cast<std::size_t>(node.column)];
  if (column.validity != nullptr &&
      !spread_bits(column.validity, column.offset + first_, rows_, count_, false, slot.null_room())) {
    slot.vector.nulls = nullptr;
  }
  const auto values_at = [&]<class T>(const T* values) { return values + first_; };
  if (node.type.kind == ValueKind::text) {
    slot.vector.form = Form::words;
    slot.vector.words = &column.words;
    const auto* from = values_at(static_cast<const std::int32_t*>(column.values));
    auto* to = slot.room<std::int32_t>();
    for (int i = 0; i < count_; ++i) to[i] = from[rows_ != nullptr ? rows_[i] : i];
  } else if (storage == Storage::bit) {
    slot.vector.form = Form::truth;
    spread_bits(static_cast<const std::uint8_t*>(column.values), column.offset + first_, rows_, count_, true,
                slot.room<std::uint8_t>());
  } else if (storage == Storage::int128) {
    slot.vector.form = Form::wide;
    const auto* from = values_at(static_cast<const Int128*>(column.values));
    auto* to = slot.room<Int128>();
    slot.vector.bound = 0;
    for (int i = 0; i < count_; ++i) {
      to[i] = from[rows_ != nullptr ? rows_[i] : i];
      slot.vector.bound = std::max(slot.vector.bound, magnitude(to[i]));
    }
  } else if (storage == Storage::uint64) {
    // Always, so that what overflows depends on no other row.
    slot.vector.form = Form::wide;
    slot.vector.bound = std::numeric_limits<std::uint64_t>::max();
    const auto* from = values_at(static_cast<const std::uint64_t*>(column.values));
    auto* to = slot.room<Int128>();
    for (int i = 0; i < count_; ++i) to[i] = from[rows_ != nullptr ? rows_[i] : i];
  } else if (storage == Storage::float32 || storage == Storage::float64) {
    slot.vector.form = Form::real;
    const bool wide = storage == Storage::float64;
    const auto* from = static_cast<const std::byte*>(column.values) + first_ * (wide ? 8 : 4);
    if (wide && rows_ == nullptr) {
      slot.vector.data = from;
    } else {
      kernels_.take[at(storage)](from, rows_, count_, slot.room<double>());
    }
  } else {
    slot.vector.form = Form::narrow;
    const int size = 1 << (at(storage) % 4);
    const auto* from = static_cast<const std::byte*>(column.values) + first_ * size;
    if (size == 8 && rows_ == nullptr) {
      slot.vector.data = from;
    } else {
      kernels_.take[at(storage)](from, rows_, count_, slot.room<std::int64_t>());
    }
    const auto* values = slot.vector.as<std::int64_t>();
    slot.vector.bound = size < 8 ? UInt128{1} << (8 * size) : UInt128{kernels_.magnitude(values, count_)} + 1;
  }
}

void Evaluator::literal(const Expression& node, Slot& slot) {
  using Form = Vector::Form;
  const bool wide = is_wide(node);
  switch (node.type.kind) {
    case ValueKind::real:
      *slot.room<double>() = node.real;
      slot.vector.form = Form::real;
      break;
    case ValueKind::boolean:
      *slot.room<std::uint8_t>() = static_cast<std::uint8_t>(node.exact);
      slot.vector.form = Form::truth;
      break;
    case ValueKind::text:
      *slot.room<std::int32_t>() = 0;
      slot.vector.form = Form::words;
      break;
    case ValueKind::integer:
    case ValueKind::decimal:
    case ValueKind::date:
      slot.vector.form = wide ? Form::wide : Form::narrow;
      slot.vector.bound = magnitude(node.exact);
      if (wide) {
        *slot.room<Int128>() = node.exact;
      } else {
        *slot.room<std::int64_t>() = static_cast<std::int64_t>(node.exact);
      }
  }
  slot.vector.one = true;
  if (node.op == Op::null) *slot.null_room() = 1;
}

/// NULL where either is.
void Evaluator::unite_nulls(const Vector& a, const Vector& b, Slot& slot) {
  if (a.nulls == nullptr && b.nulls == nullptr) return;
  std::uint8_t* const to = slot.null_room();
  for (int i = 0; i < count_; ++i) to[i] = static_cast<std::uint8_t>(null_at(a, i) || null_at(b, i) ? 1 : 0);
}

// ------------------------------------------------------------------------------------------------------------ arithmetic

/// Whether bringing an operand to the other's scale may overflow in a row where the other is NULL, and so the result.
bool Evaluator::may_overflow_for_nothing(const Node& scaled, const Node& other) {
  if (scaled->op != Op::rescale) return false;
  const Vector& there = value(unscaled(other));
  const auto end = there.nulls + (there.nulls == nullptr ? 0 : there.one ? 1 : count_);
  if (std::find(there.nulls, end, 1) == end) return false;
  const Int128 factor = power_of_ten(scaled->type.scale - scale_of(scaled->args[0]->type));
  return saturated_product(value(unscaled(scaled)).bound, magnitude(factor)) > static_cast<UInt128>(kInt128Max);
}

/// Only in rows where both operands are there.
void Evaluator::arithmetic_where_known(const Node& node, Slot& slot) {
  const Vector& a = value(unscaled(node->args[0]));
  const Vector& b = value(unscaled(node->args[1]));
  std::vector<std::int32_t> known;
  for (int i = 0; i < count_; ++i) {
    if (!null_at(a, i) && !null_at(b, i)) known.push_back(i);
  }
  const Vector& v = value_for(node, known);
  slot.vector.form = Vector::Form::wide;
  slot.vector.bound = v.bound;
  std::fill_n(slot.null_room(), count_, std::uint8_t{1});
  auto* const to = slot.room<Int128>();
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
  const Vector& a = value(node.args[0]);
  const Vector& b = value(node.args[1]);
  unite_nulls(a, b, slot);
  if (node.type.kind != ValueKind::real) return exact_arithmetic(node, node.op, a, b, slot);
  slot.vector.form = Vector::Form::real;
  const auto& kernels = kernels_.reals;
  const auto run = node.op == Op::add ? kernels.add : node.op == Op::subtract ? kernels.subtract : kernels.multiply;
  run(a.as<double>(), a.one, b.as<double>(), b.one, count_, slot.room<double>());
}

void Evaluator::exact_arithmetic(const Expression& node, Op op, const Vector& a, const Vector& b, Slot& slot) {
  using Form = Vector::Form;
  const bool narrow = a.form == Form::narrow && b.form == Form::narrow;
  const bool date = node.type.kind == ValueKind::date;  // has 32 bits, as columns of dates do
  const UInt128 bound = op == Op::multiply ? saturated_product(a.bound, b.bound) : saturated_sum(a.bound, b.bound);
  if (narrow && bound <= kNarrow) {
    const auto& kernels = kernels_.integers;
    const auto run = op == Op::add ? kernels.add : op == Op::subtract ? kernels.subtract : kernels.multiply;
    slot.vector.form = Form::narrow;
    slot.vector.bound = bound;
    auto* const to = slot.room<std::int64_t>();
    run(a.as<std::int64_t>(), a.one, b.as<std::int64_t>(), b.one, count_, to);
    if (!date || kernels_.magnitude(to, count_) <= INT32_MAX) return;
  }
  // Decimals, and integers that are wider than 64 bits to begin with, have 128 bits; other integers have 64.
  const bool to_narrow = date || (narrow && node.type.kind != ValueKind::decimal);
  const Int128 least = date ? INT32_MIN : INT64_MIN;
  const Int128 greatest = date ? INT32_MAX : INT64_MAX;
  auto* const wide = to_narrow ? nullptr : slot.room<Int128>();
  auto* const small = to_narrow ? slot.room<std::int64_t>() : nullptr;
  UInt128 largest = 0;
  for (int i = 0; i < count_; ++i) {
    Int128 result = 0;
    const bool null = slot.vector.nulls != nullptr && slot.vector.nulls[i] != 0;
    const bool fits = null || compute_exact(op, exact_at(a, i), exact_at(b, i), result);
    if (!fits || (to_narrow && (result > greatest || result < least))) {
      fail(node, Code::overflow,
           date        ? "the result is no date"
           : to_narrow ? "the result does not fit a 64-bit integer"
                       : "the result has more than 38 digits",
           i);
    }
    largest = std::max(largest, magnitude(result));
    if (to_narrow) {
      small[i] = static_cast<std::int64_t>(result);
    } else {
      wide[i] = result;
    }
  }
  slot.vector.form = to_narrow ? Form::narrow : Form::wide;
  slot.vector.bound = largest;
}

void Evaluator::negate(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  if (node.type.kind == ValueKind::real) {
    slot.vector.form = Vector::Form::real;
    auto* const to = slot.room<double>();
    for (int i = 0; i < count_; ++i) to[i] = -a.as<double>()[a.one ? 0 : i];
    return unite_nulls(a, a, slot);
  }
  Vector zero;
  const std::int64_t nothing = 0;
  zero.one = true;
  zero.data = &nothing;
  unite_nulls(a, a, slot);
  exact_arithmetic(node, Op::subtract, zero, a, slot);
}

void Evaluator::divide(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const Vector& b = value(node.args[1]);
  unite_nulls(a, b, slot);
  const auto is_null = [&](int i) { return slot.vector.nulls != nullptr && slot.vector.nulls[i] != 0; };
  if (node.type.kind == ValueKind::real) {
    slot.vector.form = Vector::Form::real;
    auto* const to = slot.room<double>();
    for (int i = 0; i < count_; ++i) {
      const double bottom = b.as<double>()[b.one ? 0 : i];
      if (bottom == 0 && !is_null(i)) fail(node, Code::division_by_zero, "division by zero", i);
      to[i] = a.as<double>()[a.one ? 0 : i] / bottom;
    }
    return;
  }
  const bool wide = a.form == Vector::Form::wide || b.form == Vector::Form::wide;
  slot.vector.form = wide ? Vector::Form::wide : Vector::Form::narrow;
  slot.vector.bound = a.bound;
  auto* const large = wide ? slot.room<Int128>() : nullptr;
  auto* const small = wide ? nullptr : slot.room<std::int64_t>();
  for (int i = 0; i < count_; ++i) {
    Int128 result = 0;
    if (!is_null(i)) {
      const Int128 bottom = exact_at(b, i);
      if (bottom == 0) fail(node, Code::division_by_zero, "division by zero", i);
      if (bottom == -1 && exact_at(a, i) == kInt128Min)
        fail(node, Code::overflow, "the result has more than 38 digits", i);
      result = exact_at(a, i) / bottom;
      if (!wide && result > INT64_MAX) fail(node, Code::overflow, "the result does not fit a 64-bit integer", i);
    }
    if (wide) {
      large[i] = result;
    } else {
      small[i] = static_cast<std::int64_t>(result);
    }
  }
}

void Evaluator::ratio(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const Vector& b = value(node.args[1]);
  unite_nulls(a, b, slot);
  const int tens = scale_of(node.args[1]->type) - scale_of(node.args[0]->type);
  slot.vector.form = Vector::Form::real;
  auto* const to = slot.room<double>();
  for (int i = 0; i < count_; ++i) {
    to[i] = 0;
    if (slot.vector.nulls != nullptr && slot.vector.nulls[i] != 0) continue;
    const Int128 bottom = exact_at(b, i);
    if (bottom == 0) fail(node, Code::division_by_zero, "division by zero", i);
    to[i] = quotient(exact_at(a, i), bottom, tens);
  }
}

void Evaluator::rescale(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const Int128 factor = power_of_ten(node.type.scale - scale_of(node.args[0]->type));
  unite_nulls(a, a, slot);
  Vector by;
  by.one = true;
  by.data = &factor;
  by.form = Vector::Form::wide;
  by.bound = magnitude(factor);
  const auto narrow_factor = static_cast<std::int64_t>(factor);
  if (by.bound <= kNarrow) {
    by.form = Vector::Form::narrow;
    by.data = &narrow_factor;
  }
  exact_arithmetic(node, Op::multiply, a, by, slot);
}

void Evaluator::to_real(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const int scale = scale_of(node.args[0]->type);
  unite_nulls(a, a, slot);
  slot.vector.form = Vector::Form::real;
  auto* const to = slot.room<double>();
  for (int i = 0; i < count_; ++i) to[i] = to_double(exact_at(a, i), scale);
}

// ------------------------------------------------------------------------------------------------------------ conditions

void Evaluator::compare(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const Vector& b = value(node.args[1]);
  unite_nulls(a, b, slot);
  slot.vector.form = Vector::Form::truth;
  auto* const to = slot.room<std::uint8_t>();
  const auto how = static_cast<Comparison>(static_cast<int>(node.op) - static_cast<int>(Op::equal));
  const auto one_by_one = [&](auto at) {
    for (int i = 0; i < count_; ++i) {
      const auto x = at(a, i);
      const auto y = at(b, i);
      to[i] = how == Comparison::equal     ? x == y
              : how == Comparison::unequal ? x != y
              : how == Comparison::less    ? x < y
                                           : x <= y;
    }
  };
  using Form = Vector::Form;
  if (a.form == Form::real) {
    kernels_.reals.compare[static_cast<int>(how)](a.as<double>(), a.one, b.as<double>(), b.one, count_, to);
  } else if (const int a_scale = scale_of(node.args[0]->type), b_scale = scale_of(node.args[1]->type);
             a_scale != b_scale) {
    compare_unlike(node, a_scale, b_scale, how, to);
  } else if (a.form == Form::narrow && b.form == Form::narrow) {
    kernels_.integers.compare[static_cast<int>(how)](a.as<std::int64_t>(), a.one, b.as<std::int64_t>(), b.one, count_,
                                                     to);
  } else if (a.form == Form::truth) {
    one_by_one([](const Vector& v, int i) { return v.as<std::uint8_t>()[v.one ? 0 : i]; });
  } else {
    one_by_one(exact_at);
  }
}

/// Decimals with unlike digits behind the point: in 64 bits where they fit, in 256 else.
void Evaluator::compare_unlike(const Expression& node, int a_scale, int b_scale, Comparison how, std::uint8_t* to) {
  const Vector& a = value(node.args[0]);
  const Vector& b = value(node.args[1]);
  const Vector& coarse = a_scale < b_scale ? a : b;
  const Int128 factor = power_of_ten(std::abs(a_scale - b_scale));
  const bool narrow = a.form == Vector::Form::narrow && b.form == Vector::Form::narrow;
  if (narrow && saturated_product(coarse.bound, magnitude(factor)) <= kNarrow) {
    const auto f = static_cast<std::int64_t>(factor);
    const std::int64_t up_a = a_scale < b_scale ? f : 1;
    const std::int64_t up_b = a_scale < b_scale ? 1 : f;
    for (int i = 0; i < count_; ++i) {
      const std::int64_t x = a.as<std::int64_t>()[a.one ? 0 : i] * up_a;
      const std::int64_t y = b.as<std::int64_t>()[b.one ? 0 : i] * up_b;
      to[i] = how == Comparison::equal     ? x == y
              : how == Comparison::unequal ? x != y
              : how == Comparison::less    ? x < y
                                           : x <= y;
    }
    return;
  }
  for (int i = 0; i < count_; ++i) {
    const int order = query::compare(exact_at(a, i), a_scale, exact_at(b, i), b_scale);
    to[i] = how == Comparison::equal     ? order == 0
            : how == Comparison::unequal ? order != 0
            : how == Comparison::less    ? order < 0
                                         : order <= 0;
  }
}

void Evaluator::logic(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  const auto truth_at = [](const Vector& v, int i) { return v.as<std::uint8_t>()[v.one ? 0 : i] != 0; };
  slot.vector.form = Vector::Form::truth;
  auto* const to = slot.room<std::uint8_t>();
  if (node.op == Op::is_null) {
    for (int i = 0; i < count_; ++i) to[i] = null_at(a, i) ? 1 : 0;
    return;
  }
  if (node.op == Op::invert) {
    unite_nulls(a, a, slot);
    for (int i = 0; i < count_; ++i) to[i] = truth_at(a, i) ? 0 : 1;
    return;
  }
  // Rows that the left side does not decide: not false for AND, not true for OR.
  const bool decisive = node.op == Op::either;
  const Vector* b = nullptr;
  std::vector<std::int32_t> open;
  if (can_fail(*node.args[1])) {
    for (int i = 0; i < count_; ++i) {
      if (null_at(a, i) || truth_at(a, i) != decisive) open.push_back(i);
    }
    b = &value_for(node.args[1], open);
  } else {
    b = &value(node.args[1]);
    open.resize(static_cast<std::size_t>(count_));
    for (int i = 0; i < count_; ++i) open[static_cast<std::size_t>(i)] = i;
  }
  const bool dense = !can_fail(*node.args[1]);
  std::uint8_t* const nulls = a.nulls != nullptr || b->nulls != nullptr ? slot.null_room() : nullptr;
  for (int i = 0; i < count_; ++i) {
    to[i] = decisive ? 1 : 0;
    if (nulls != nullptr) nulls[i] = 0;
  }
  for (std::size_t k = 0; k < open.size(); ++k) {
    const int i = open[k];
    const int j = dense ? i : static_cast<int>(k);
    const bool left_null = null_at(a, i);
    const bool right_null = null_at(*b, j);
    if ((!left_null && truth_at(a, i) == decisive) || (!right_null && truth_at(*b, j) == decisive)) continue;
    to[i] = decisive ? 0 : 1;
    if (nulls != nullptr) nulls[i] = left_null || right_null ? 1 : 0;
  }
}

void Evaluator::choose(const Expression& node, Slot& slot) {
  using Form = Vector::Form;
  const ValueKind kind = node.type.kind;
  slot.vector.form = kind == ValueKind::real ? Form::real : kind == ValueKind::boolean ? Form::truth : Form::wide;
  slot.vector.bound = 0;
  void* const to = kind == ValueKind::real      ? static_cast<void*>(slot.room<double>())
                   : kind == ValueKind::boolean ? static_cast<void*>(slot.room<std::uint8_t>())
                                                : static_cast<void*>(slot.room<Int128>());
  std::uint8_t* const nulls = slot.null_room();
  std::vector<std::int32_t> left(static_cast<std::size_t>(count_));
  for (int i = 0; i < count_; ++i) left[static_cast<std::size_t>(i)] = i;
  std::uint8_t any_null = 0;
  bool any_wide = false;

  const auto put = [&](const Node& from, const std::vector<std::int32_t>& places) {
    if (places.empty()) return;
    const Vector& v = value_for(from, places);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const auto i = static_cast<std::size_t>(places[k]);
      const int j = static_cast<int>(k);
      nulls[i] = null_at(v, j) ? 1 : 0;
      any_null |= nulls[i];
      if (kind == ValueKind::real) {
        static_cast<double*>(to)[i] = v.as<double>()[v.one ? 0 : j];
      } else if (kind == ValueKind::boolean) {
        static_cast<std::uint8_t*>(to)[i] = v.as<std::uint8_t>()[v.one ? 0 : j];
      } else {
        static_cast<Int128*>(to)[i] = exact_at(v, j);
      }
    }
    if (v.form == Form::narrow || v.form == Form::wide) slot.vector.bound = std::max(slot.vector.bound, v.bound);
    any_wide = any_wide || v.form == Form::wide;
  };

  std::vector<std::int32_t> taken;
  std::vector<std::int32_t> rest;
  for (std::size_t arg = 0; arg + 1 < node.args.size() && !left.empty(); arg += 2) {
    const Vector& test = value_for(node.args[arg], left);
    taken.clear();
    rest.clear();
    for (std::size_t k = 0; k < left.size(); ++k) {
      const int j = static_cast<int>(k);
      const bool is_true = !null_at(test, j) && test.as<std::uint8_t>()[test.one ? 0 : j] != 0;
      (is_true ? taken : rest).push_back(left[k]);
    }
    put(node.args[arg + 1], taken);
    std::swap(left, rest);
  }
  put(node.args.back(), left);
  if (any_null == 0) slot.vector.nulls = nullptr;
  if (slot.vector.form != Form::wide) return;
  // Decimals have 128 bits in either form.
  if (kind == ValueKind::decimal ? slot.vector.bound > kNarrow || any_wide : is_wide(node)) return;
  // Narrow, in place: value i lies no further behind than it lay.
  auto* const narrow = static_cast<std::int64_t*>(to);
  for (int i = 0; i < count_; ++i) {
    Int128 value = 0;
    std::memcpy(&value, static_cast<const Int128*>(to) + i, sizeof value);
    const auto small = static_cast<std::int64_t>(value);
    std::memcpy(narrow + i, &small, sizeof small);
  }
  slot.vector.form = Form::narrow;
}

void Evaluator::has_word(const Expression& node, Slot& slot) {
  const Vector& a = value(node.args[0]);
  unite_nulls(a, a, slot);
  const auto& words = batch_->columns[static_cast<std::size_t>(node.args[0]->column)].words;
  if (slot.tested != words) {
    slot.passes.clear();
    for (const std::string_view word : *words) slot.passes.push_back(passes(node, word) ? 1 : 0);
    slot.tested = words;
  }
  slot.vector.form = Vector::Form::truth;
  auto* const to = slot.room<std::uint8_t>();
  const auto* indices = a.as<std::int32_t>();
  for (int i = 0; i < count_; ++i) {
    to[i] = null_at(a, i) ? std::uint8_t{0} : slot.passes[static_cast<std::size_t>(indices[i])];
  }
}

}  // namespace upsweep::query
