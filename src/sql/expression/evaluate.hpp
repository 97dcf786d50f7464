// SPDX-License-Identifier: Apache-2.0
// sql/expression/evaluate.hpp: values of expressions over a block of a batch's rows, which stay in the cache from one operator to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sql/expression/expression.hpp"
#include "sql/expression/kernels.hpp"
#include "sql/expression/rules.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"
#include "upsweep/table.hpp"

namespace upsweep::expression {

/// Rows that are computed at a time: a vector of 64-bit values is 8 KB, a handful of them fits the L1 cache.
inline constexpr int kBlock = 1024;
inline constexpr int kBlockMarks = kBlock / kMarksPerWord;  ///< words of marks

/// Calls f with the type that values of a form have, as a std::type_identity.
template <class F>
decltype(auto) with_type(Form form, const F& f) {
  switch (form) {
    case Form::narrow:
      return f(std::type_identity<std::int64_t>());
    case Form::wide:
      return f(std::type_identity<Int128>());
    case Form::real:
      return f(std::type_identity<double>());
    case Form::boolean:
      return f(std::type_identity<std::uint8_t>());
    case Form::text:
      return f(std::type_identity<std::int32_t>());
  }
  detail::no_such_value();
}

/// The values of an expression for the current rows.
struct Vector {
  Form form = Form::narrow;
  bool one = false;  ///< one value for all rows
  const void* data = nullptr;
  const std::uint8_t* nulls = nullptr;  ///< 1: the row is NULL, whatever its value; null: none is
  UInt128 bound = 0;                    ///< no |value| of narrow and wide ones is larger
  const std::shared_ptr<const Dictionary>* dictionary = nullptr;  ///< of text: the batch's

  template <class T>
  [[nodiscard]] const T* as() const {
    return static_cast<const T*>(data);
  }
  template <class T>
  [[nodiscard]] const T& at(int i) const {
    return as<T>()[one ? 0 : i];
  }
  [[nodiscard]] Operand operand() const { return {form, bound}; }
};

inline bool null_at(const Vector& v, int i) { return v.nulls != nullptr && v.nulls[v.one ? 0 : i] != 0; }

/// Value i of anything but reals; of text, the index.
inline Int128 exact_at(const Vector& v, int i) {
  return with_type(v.form, [&]<class T>(std::type_identity<T>) -> Int128 {
    if constexpr (std::is_same_v<T, double>) detail::no_such_value();
    return static_cast<Int128>(v.at<T>(i));
  });
}

/// A condition that compares a column, perhaps brought to another type, with a constant.
struct ColumnComparison {
  const Expression* column;
  const Expression* constant;
  bool turned;  ///< the constant is on the left
};
/// By Op::equal, less or less_equal.
std::optional<ColumnComparison> column_comparison(const Expression& condition);

/// From where to where a column's integers, decimals or dates may go.
struct ColumnBounds {
  int column;
  Int128 minimum = kInt128Min;
  Int128 maximum = kInt128Max;
};

/// The same as bounds of what a column's storage holds; none where no value is within them.
struct StoredBounds {
  std::int64_t minimum;
  std::int64_t maximum;
};
/// Of integers but uint64, which not all bounds fit.
std::optional<StoredBounds> stored_bounds(const ColumnBounds& bounds, Storage storage);

/// What rows have to fulfil: one condition, or all that bound one column, which are tried as one.
struct Condition {
  std::vector<Node> nodes;
  std::optional<ColumnBounds> bounds = std::nullopt;
};

/// In their order, but for bounds that move before others: these cannot fail.
std::vector<Condition> conditions_of(const std::vector<Node>& filters);

/// An expression that fails in a row. The message names the row by its number; who knows the table's files says it better.
class RowFailure final : public Error {
 public:
  RowFailure(const Error& error, std::string failure, int location)
      : Error(error), failure_(std::move(failure)), location_(location) {}
  /// What has failed, without the row.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// The byte of the query.
  [[nodiscard]] int location() const noexcept { return location_; }

 private:
  std::string failure_;
  int location_;
};

/// Computes with the columns of one plan, on one thread.
class Evaluator {
 public:
  /// `sql` and `counted` are for messages: the latter goes before the number of a row; null: rows have no number. The arguments outlive this.
  Evaluator(const std::vector<Field>& fields, int nodes, const std::string& sql, const Kernels& kernels,
            const char* counted = " in row ");
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Rows first … first + count - 1 of the batch, at most kBlock, become the current rows.
  void start(const Batch& batch, std::int64_t first, int count);
  /// These rows of the batch, at most kBlock, become the current rows.
  void start(const Batch& batch, std::span<const std::int32_t> rows);
  /// Keeps only those of the current rows where the condition is true.
  void keep(const Condition& condition);
  // Marks are bits, one for each row of a block, all of whose rows are current.
  void mark_all(std::uint64_t* marks) const;
  /// Clears those of rows where the condition is not true; returns how many are left. All rows stay current.
  int mark(const Condition& condition, std::uint64_t* marks);
  /// Keeps only those of the current rows that are marked.
  void keep_marked(const std::uint64_t* marks);
  /// Appends the numbers in the batch of the current rows, and prefetches what those columns have there.
  void append_rows(std::vector<std::int32_t>& rows, std::span<const int> columns) const;

  [[nodiscard]] int count() const { return count_; }
  /// The value for each current row; valid until the next keep() or start(). Throws Error overflow, division_by_zero, not_positive; index:
  /// the row.
  const Vector& value(const Node& node);
  /// Asks for some of what the next block reads of the columns that this one has read. value() does too: for callers that
  /// compute between its calls.
  void read_ahead();

 private:
  struct Slot;
  struct ColumnBlock {
    const std::byte* at;
    const std::byte* end;
  };
  struct Operands {
    const Vector& a;
    const Vector& b;
  };

  /// Keeps the current rows at these places.
  void keep_rows(std::span<const std::int32_t> places);
  /// So many that kept_ lists.
  void keep_first(int kept);
  void keep_true(const Node& condition);
  bool keep_range(const ColumnBounds& bounds);
  int mark_range(const ColumnBounds& bounds, std::uint64_t* marks);
  int mark_true(const Node& condition, std::uint64_t* marks);
  [[nodiscard]] bool is_plain(const ColumnBounds& bounds) const;
  [[nodiscard]] const void* stored_values(int column) const;
  const std::uint8_t* certainly_true(const Node& condition);
  void compute(const Node& made, Slot& slot);
  bool load_narrow(const Int128* from, Slot& slot);
  void load(const Expression& node, Slot& slot);
  void literal(const Expression& node, Slot& slot);
  Operands operands(const Expression& node, Slot& slot);
  void arithmetic(const Node& sum, Slot& slot);
  bool may_overflow_for_nothing(const Node& scaled, const Node& other);
  void arithmetic_where_known(const Node& node, Slot& slot);
  void exact_arithmetic(const Expression& node, Op op, Slot& slot);
  template <class All, class One>
  void exact(const Expression& node, const ExactRule& rule, Slot& slot, All all, One one);
  template <class T, class F>
  void each_known(Slot& slot, F f) const;
  template <class F>
  void each_exact_known(Slot& slot, F f) const;
  void divide(const Expression& node, Slot& slot);
  void ratio(const Expression& node, Slot& slot);
  void to_real(const Expression& node, Slot& slot);
  void compare(const Expression& node, Slot& slot);
  void is_null(const Expression& node, Slot& slot);
  void invert(const Expression& node, Slot& slot);
  void both_or_either(const Expression& node, Slot& slot);
  void choose(const Expression& node, Slot& slot);
  void string_test(const Expression& node, Slot& slot);
  void is_member(const Expression& node, Slot& slot);
  void call(const Expression& node, Slot& slot);
  void exact_call(const Expression& node, const Function& function, Slot& slot);
  /// The values of `node` for some of the current rows, by an evaluator of its own: what must not be computed for the
  /// others is not.
  const Vector& value_for(const Node& node, std::span<const std::int32_t> places);
  /// A node's slot, where its values are known: computed here, or for more rows by the evaluator that this one serves.
  const Slot* known(const Expression& node);
  void take_from(const Vector& values, Slot& slot) const;
  /// Number in the block of a current row, and in the table.
  [[nodiscard]] std::int32_t in_block(int i) const { return rows_ != nullptr ? rows_[i] : i; }
  [[nodiscard]] std::int64_t row(int i) const { return batch_->first_row + first_ + in_block(i); }
  [[noreturn]] void fail(const Expression& node, Code code, const char* what, int i) const;
  [[noreturn]] void fail_to_divide(const Expression& node, int i) const {
    fail(node, Code::division_by_zero, "division by zero", i);
  }

  const std::vector<Field>& fields_;
  const std::string& sql_;
  const Kernels& kernels_;
  const char* const counted_;
  const Batch* batch_ = nullptr;
  std::int64_t first_ = 0;
  int count_ = 0;
  const std::int32_t* rows_ = nullptr;  ///< which of the block's; null: all
  std::vector<ColumnBlock> ahead_;      ///< of columns, in the next block: not asked for yet
  std::vector<std::int32_t> kept_;
  std::vector<std::int32_t> places_;
  std::vector<Slot> slots_;  ///< by the ids of nodes
  std::int64_t now_ = 0;     ///< slots that were filled at another time are stale
  std::unique_ptr<Evaluator> for_some_;
  Evaluator* all_ = nullptr;                 ///< of an evaluator for some: whose rows these are
  std::vector<std::int32_t> places_in_all_;  ///< and which of them
};

}  // namespace upsweep::expression
