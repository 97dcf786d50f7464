// SPDX-License-Identifier: Apache-2.0
// sql/expression/evaluate.hpp: values of expressions over a block of a batch's rows, which stay in cache between
// operators.
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

/// Rows that are computed at a time. A vector of 64-bit values is 8 KB; several of them fit in L1.
inline constexpr int kBlock = 1024;
inline constexpr int kBlockMarks = kBlock / kMarksPerWord;  ///< words of marks

/// Calls f with the value type of a form, as a std::type_identity.
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
  const std::uint8_t* nulls = nullptr;  ///< 1: the row is NULL, whatever its value; null pointer: no row is NULL
  UInt128 bound = 0;                    ///< no |value| of a narrow or wide vector is larger
  const std::shared_ptr<const Dictionary>* dictionary = nullptr;  ///< of text: the batch's dictionary

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

/// Returns value i of any form except reals; for text, the index.
inline Int128 exact_at(const Vector& v, int i) {
  return with_type(v.form, [&]<class T>(std::type_identity<T>) -> Int128 {
    if constexpr (std::is_same_v<T, double>) detail::no_such_value();
    return static_cast<Int128>(v.at<T>(i));
  });
}

/// A condition that compares a column, possibly converted to another type, with a constant.
struct ColumnComparison {
  const Expression* column;
  const Expression* constant;
  bool turned;  ///< the constant is on the left
};
/// Returns the comparison if the operator is Op::equal, less or less_equal.
std::optional<ColumnComparison> column_comparison(const Expression& condition);

/// Minimum and maximum of a column's integers, decimals, dates or seconds.
struct ColumnBounds {
  int column;
  Int128 minimum = kInt128Min;
  Int128 maximum = kInt128Max;
};

/// ColumnBounds converted to the column's storage. There are no stored bounds if no value is within them.
struct StoredBounds {
  std::int64_t minimum;
  std::int64_t maximum;
};
/// Converts bounds for integers except uint64, which does not hold all bounds.
std::optional<StoredBounds> stored_bounds(const ColumnBounds& bounds, Storage storage);

/// A condition on rows: a single condition, or all bounds of one column, which are tested together.
struct Condition {
  std::vector<Node> nodes;
  std::optional<ColumnBounds> bounds = std::nullopt;
};

/// Returns the conditions in order, except that bounds move before other bounds, because they cannot fail.
std::vector<Condition> conditions_of(const std::vector<Node>& filters);

/// An error of an expression in a row. The message contains the row number; a caller that has the table's files can be
/// more specific.
class RowFailure final : public Error {
 public:
  RowFailure(const Error& error, std::string failure, int location)
      : Error(error), failure_(std::move(failure)), location_(location) {}
  /// Returns what failed, without the row.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  /// Returns the byte of the query.
  [[nodiscard]] int location() const noexcept { return location_; }

 private:
  std::string failure_;
  int location_;
};

/// Evaluates expressions over the columns of one plan, on one thread.
class Evaluator {
 public:
  /// `sql` and `counted` are used in messages. `counted` precedes the number of a row; null means that rows have no
  /// number. The arguments must outlive this object.
  Evaluator(const std::vector<Field>& fields, int nodes, const std::string& sql, const Kernels& kernels,
            const char* counted = " in row ");
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Makes rows first … first + count - 1 of the batch, at most kBlock, the current rows.
  void start(const Batch& batch, std::int64_t first, int count);
  /// Makes these rows of the batch, at most kBlock, the current rows.
  void start(const Batch& batch, std::span<const std::int32_t> rows);
  /// Keeps only the current rows where the condition is true.
  void keep(const Condition& condition);
  // Marks are bits, one per row of a block. All rows of the block are current.
  void mark_all(std::uint64_t* marks) const;
  /// Clears the marks of rows where the condition is not true. Returns the number of marked rows. All rows stay
  /// current.
  int mark(const Condition& condition, std::uint64_t* marks);
  /// Keeps only the current rows that are marked.
  void keep_marked(const std::uint64_t* marks);
  /// Appends the batch row numbers of the current rows, and prefetches the values of those columns.
  void append_rows(std::vector<std::int32_t>& rows, std::span<const int> columns) const;

  [[nodiscard]] int count() const { return count_; }
  /// Returns the value for each current row, valid until the next keep() or start(). Throws Error overflow,
  /// division_by_zero, not_positive, with the row as index.
  const Vector& value(const Node& node);
  /// Prefetches some data of the next block, from the columns that this one has read. value() also does this. This
  /// function is for callers that compute between its calls.
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

  /// Keeps the current rows at these positions.
  void keep_rows(std::span<const std::int32_t> places);
  /// Keeps the first `kept` rows that kept_ lists.
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
  void real_key(const Expression& node, Slot& slot);
  void call(const Expression& node, Slot& slot);
  void exact_call(const Expression& node, const Function& function, Slot& slot);
  /// Returns the values of `node` for some of the current rows. A separate evaluator computes them, so values that must
  /// not be computed for the other rows are not computed.
  const Vector& value_for(const Node& node, std::span<const std::int32_t> places);
  /// Returns a node's slot if its values are known: computed here, or by the evaluator of all rows that this one
  /// serves.
  const Slot* known(const Expression& node);
  void take_from(const Vector& values, Slot& slot) const;
  /// Returns the number of a current row in the block; row() returns its number in the table.
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
  const std::int32_t* rows_ = nullptr;  ///< numbers of the block's current rows; null: all
  std::vector<ColumnBlock> ahead_;      ///< columns of the next block that are not prefetched yet
  std::vector<std::int32_t> kept_;
  std::vector<std::int32_t> places_;
  std::vector<Slot> slots_;  ///< by the ids of nodes
  std::int64_t now_ = 0;     ///< slots that were filled at another time are stale
  std::unique_ptr<Evaluator> for_some_;
  Evaluator* all_ = nullptr;                 ///< set in an evaluator of some rows: the evaluator of all rows
  std::vector<std::int32_t> places_in_all_;  ///< the positions of these rows in it
};

}  // namespace upsweep::expression
