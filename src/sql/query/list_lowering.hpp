// SPDX-License-Identifier: Apache-2.0
// sql/query/list_lowering.hpp: the list functions of a query as a plan of upsweep/plan.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "sql/expression/number.hpp"
#include "sql/query/list_program.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::query {

/// Why a value cannot be computed.
enum class ListFault : std::uint8_t { overflow, zero_division, negative_root };
inline constexpr int kListFaults = 3;

/// A value as nodes of a plan: int64 of integers and decimals, float64, or boolean; over elements, over rows, or a
/// scalar.
struct LoweredValue {
  plan::Value value = {};
  std::optional<plan::Value> valid = {};  ///< false: NULL; without it no value is
  ValueType type = {};
  expression::UInt128 bound = 0;  ///< of integers and decimals: no |value| is larger
  /// Booleans: the value cannot be computed, and is not NULL.
  std::array<std::optional<plan::Value>, kListFaults> faults = {};
  /// The parts of a sum that may not fit: it is high * 2^32 + low.
  std::optional<std::pair<plan::Value, plan::Value>> wide = {};
};

/// The meaning of the numbers by which a plan reads the columns of its table: input i has these four.
struct ListColumns {
  static constexpr int kEach = 4;
  static constexpr int values(int input) { return kEach * input; }  ///< of lists: their offsets
  static constexpr int elements(int input) { return kEach * input + 1; }
  static constexpr int valid(int input) { return kEach * input + 2; }
  static constexpr int valid_elements(int input) { return kEach * input + 3; }
};

/// A column that a plan computes: a number, or the codes of the faults of a number.
struct ListOutput {
  int number;
  bool is_fault;
  auto operator<=>(const ListOutput&) const = default;
};

/// The codes in a column of faults.
inline constexpr std::int64_t kNoFault = 0;
inline constexpr std::int64_t kZeroDivision = 1;
inline constexpr std::int64_t kNegativeRoot = 2;
inline constexpr std::int64_t kOverflow = INT64_MIN;  ///< no int64 is its opposite

/// A compiled plan, and which of its outputs are a column.
struct LoweredPlan {
  struct Column {
    int value = -1;  ///< of a wide sum its high part
    int low = -1;    ///< of a wide sum
    int valid = -1;  ///< -1: no row is NULL
  };
  plan::Plan plan;
  std::vector<Column> columns;  ///< one per output
};

/// Converts a program to a plan. The program may grow between calls.
class ListLowering {
 public:
  /// `has_nulls`: columns may contain NULL. Otherwise none does, which is faster. `inputs`: the first inputs.
  ListLowering(const ListProgram& program, bool has_nulls, std::vector<int> inputs = {});

  const LoweredValue& number(int index);
  /// Returns the columns of the table that the plan reads, by input.
  [[nodiscard]] const std::vector<int>& inputs() const { return inputs_; }
  LoweredPlan compile(const std::vector<ListOutput>& outputs);

 private:
  using Op = plan::Op;
  using Faults = std::array<std::optional<plan::Value>, kListFaults>;
  using Maybe = std::optional<plan::Value>;

  struct List {
    plan::Domain domain = {};
    Maybe valid;           ///< over rows: the list is not NULL
    LoweredValue element;  ///< over `domain`
    Faults faults;         ///< over rows: of conditions
  };

  const List& list(int index);
  List lower_list(const ListExpression& list);
  LoweredValue lower_number(const ListNumber& number);
  LoweredValue extreme(const List& list, bool is_minimum);
  LoweredValue element_at(const List& list, const LoweredValue& number);
  int input(int column);

  const LoweredValue& lower(const Node& node, plan::Domain domain);
  LoweredValue lower_new(const Node& node, plan::Domain domain);
  LoweredValue slot(const ListSlot& slot, plan::Domain domain);
  LoweredValue stored(const Field& field, int values, int valid, plan::Domain domain);
  LoweredValue literal(const expression::Expression& node);
  LoweredValue arithmetic(expression::Op op, const LoweredValue& a, const LoweredValue& b, ValueType type);
  LoweredValue divide(const LoweredValue& a, const LoweredValue& b, const Node& divisor, ValueType type);
  LoweredValue compare(const Node& node, plan::Domain domain);
  LoweredValue logic(bool is_and, const LoweredValue& a, const LoweredValue& b);
  LoweredValue choose(const Node& node, plan::Domain domain);
  LoweredValue call(const Node& node, const LoweredValue& a);
  Maybe compared_with_literal(expression::Op op, const LoweredValue& a, const expression::Expression& literal,
                              bool is_right);

  // Values of the plan.
  template <class T>
  plan::Value constant(T value) {
    return make_.constant(plan::Scalar(value));
  }
  plan::Value map(Op op, std::initializer_list<plan::Value> args) { return make_.map(op, args); }
  plan::Value over(plan::Value value, plan::Domain domain);
  plan::Value where_valid(const LoweredValue& x, plan::Value otherwise);
  plan::Value real_of(const LoweredValue& x);
  plan::Value unscaled(plan::Value real, ValueType type);
  Maybe both(const Maybe& a, const Maybe& b);
  Maybe either(const Maybe& a, const Maybe& b);
  Faults either(const Faults& a, const Faults& b);
  Faults masked(const Faults& faults, const Maybe& mask);
  Faults any_of(const Faults& faults, plan::Domain lists);
  plan::Value number_of_values(const List& list);
  void add_fault(LoweredValue& to, ListFault fault, plan::Value is);
  LoweredValue result_of(const LoweredValue& a, const LoweredValue& b, ValueType type);
  LoweredValue taken(const LoweredValue& x, plan::Value index);

  const ListProgram& program_;
  bool has_nulls_;
  plan::Builder make_;
  plan::Domain rows_;
  std::vector<int> inputs_;
  std::map<int, List> lists_;
  std::map<int, LoweredValue> numbers_;
  std::map<std::pair<int, plan::Domain>, LoweredValue> lowered_;
};

}  // namespace upsweep::query
