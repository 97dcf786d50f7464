// SPDX-License-Identifier: Apache-2.0
// sql/query/binder.hpp: binds the clauses and expressions of a parse tree: names become columns, expressions get types.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sql/expression/builder.hpp"
#include "sql/query/column_names.hpp"
#include "sql/query/list_lowering.hpp"
#include "sql/query/list_program.hpp"
#include "sql/query/names.hpp"
#include "sql/query/plan.hpp"
#include "sql/query/sql.hpp"
#include "sql/query/tree.hpp"

namespace upsweep::query {

inline constexpr int kDeepest = 500;  ///< nesting depth of operators

/// Returns whether a call is one of an aggregate function.
bool is_aggregate(const Json& call);

/// Returns whether a function is IFNULL or IF, which are bound like CASE.
bool is_choice(std::string_view name);

/// Returns true where the condition is true, otherwise NULL.
Node true_or_null(Builder& make, const Node& condition, int location);

/// The contents of subtrees. Each subtree is searched only once.
class Contents {
 public:
  /// `meant` returns the selected expression whose name a node is, or null.
  explicit Contents(std::function<const Json*(const Json&)> meant = {}) : meant_(std::move(meant)) {}

  bool has_aggregate(const Json& node) { return of(node).aggregate; }
  bool has_column(const Json& node) { return of(node).column; }

 private:
  struct Content {
    bool aggregate = false;
    bool column = false;
  };

  Content of(const Json& node) {
    if (!node.is_structured()) return {};
    if (const auto known = known_.find(&node); known != known_.end()) return known->second;
    Content content;
    if (node.is_object()) {
      content.aggregate = node.contains("FuncCall") && is_aggregate(node.at("FuncCall"));
      content.column = node.contains("ColumnRef");
    }
    known_.emplace(&node, content);  // the final content, unless the names of selected columns are circular
    if (content.column && meant_) {
      if (const Json* const meant = meant_(node); meant != nullptr) content = of(*meant);
    }
    for (const Json& child : node) {
      const Content below = of(child);
      content = {content.aggregate || below.aggregate, content.column || below.column};
    }
    known_[&node] = content;
    return content;
  }

  std::function<const Json*(const Json&)> meant_;
  std::unordered_map<const Json*, Content> known_;
};

class Binder {
 public:
  Binder(const std::string& sql, const Syntax& syntax, const std::string& table, const std::vector<Field>& fields)
      : sql_(sql),
        syntax_(syntax),
        fields_(fields),
        names_(sql, syntax, table, fields),
        rows_(sql),
        outputs_(sql),
        contents_([this](const Json& node) { return meant_by(node); }),
        elements_(sql) {
    plan_.sql = sql;
    plan_.table = table;
    program_.fields = fields;
    program_.sql = sql;
  }

  QueryPlan run();

 private:
  /// The level of an expression: over the table's rows, over keys and aggregates, or inside a list function: over the
  /// elements of lists, or rows.
  enum class Level : std::uint8_t { rows, outputs, elements };

  /// Names of selected columns that a clause has looked up: the first column with the name, and the number of such
  /// columns.
  using SeenNames = std::set<std::pair<std::size_t, std::size_t>>;

  [[noreturn]] void refuse(int location, const std::string& what, Code code = Code::unsupported_sql) const {
    expression::refuse(sql_, location, code, what);
  }
  Builder& builder(Level level) {
    return level == Level::rows ? rows_ : level == Level::outputs ? outputs_ : elements_;
  }

  void bind_filters(const Node& condition);
  void bind_keys(const Json& select);
  void bind_distinct(const Json& select);
  Node add_key(const Node& key, int location);
  void bind_having(const Json& select);
  void bind_outputs(const Json& select);
  void refuse_stars(const Json& select) const;
  void bind_all_columns(const Json& star, int location);
  void bind_order(const Json& select);
  void bind_limit(const Json& select);
  std::optional<Int128> row_count(const Json& select, const char* member, const char* clause) const;
  void require_few(const Json& list, const char* clause) const;
  void require_few_nodes(int location) const;

  /// The node must be part of the query's tree, because results are kept by its address.
  Node bind(const Json& node, Level level, int depth);
  std::vector<Node> bind_all(const Json& nodes, Level level, int depth);
  Node bind_new(const Json& node, Level level, int depth);
  Node bind_column(const Json& body, Level level, int location);
  [[nodiscard]] const Json* meant_by(const Json& node) const;
  Node column_at(std::size_t place, int location);
  const Field& column_of_rows(const Json& body, int location, std::size_t& place) const;
  Node bind_in(const Json& body, Level level, int location, int depth);
  Node bind_operator(const Json& body, Level level, int location, int depth);
  Node bind_between(const Json& body, const std::string& kind, Level level, int location, int depth);
  Node bind_logic(const Json& body, Level level, int location, int depth);
  Node bind_case(const Json& body, Level level, int location, int depth);
  Node bind_truth(const Json& body, Level level, int location, int depth);
  Node choice(const std::string& name, std::vector<Node> values, Level level, int location);
  Node bind_distinct_from(const Json& body, Level level, int location, int depth);
  Node bind_function(const Json& body, Level level, int location, int depth);
  Node bind_aggregate(const Json& body, int location, int depth);
  std::optional<Node> bind_parameter(const Json& node, int location);
  Node bind_column_in_list_function(const Json& body, int location);
  Node bind_list_function(const ListFunctionNames& function, const Json& body, Level level, int location, int depth);
  Node bind_element(const Json& body, Level level, int location, int depth);
  Node bind_number(ListFunction function, const Json& list, const Json* argument, const std::string& caller,
                   Level level, int location, int depth);
  Node value_of(int number, Level level, int location);
  Node column_of_list(ListOutput output, bool is_wide, int location);
  int bind_list(const Json& node, const std::string& caller, int depth);
  int bind_lambda(const ListFunctionNames& function, const Json& body, int location, int depth);
  std::optional<Node> bind_date_arithmetic(const Json& body, const std::string& symbol, Level level, int location,
                                           int depth);
  void require_order_of_letters(const Node& node, Level level, int location) const;
  int aggregate(Fold fold, const Node& input, ValueType type);
  std::optional<Node> key_for(const Json& node, int location, int depth);
  std::optional<std::size_t> selected_by_number(const Json& node, std::ptrdiff_t count, int location) const;
  template <class ValueOf>
  std::optional<std::size_t> selected_by_name(const Name& name, int location, const ValueOf& value_of,
                                              SeenNames& one_value) const;
  std::size_t output_of(const Json& node, int location);
  /// Returns whether a node is the ALL of GROUP BY ALL or ORDER BY ALL.
  [[nodiscard]] bool is_all(const Json& node) const {
    return node.contains("ParamRef") && syntax_.alls.contains(location_of(node.at("ParamRef"), -1));
  }
  /// Returns a selected expression.
  [[nodiscard]] const Json& selected(std::size_t target) const {
    return syntax_.select.at("targetList").at(target).at("ResTarget").at("val");
  }
  /// Returns the level of the expressions that the answer consists of.
  [[nodiscard]] Level level_of_outputs() const { return plan_.rows ? Level::rows : Level::outputs; }
  /// Returns a key or aggregate as answer.cpp passes it to the outputs: integers have 128 bits.
  Node output(int index, ValueType type, int location) {
    return outputs_.column(index, type, type.kind == ValueKind::integer, location);
  }

  const std::string& sql_;
  const Syntax& syntax_;
  const std::vector<Field>& fields_;
  ColumnNames names_;
  Builder rows_;
  Builder outputs_;
  QueryPlan plan_;
  std::map<int, int> used_;  // table column -> the plan's column
  // Expressions of the tree that are bound over rows, and those that are keys. Each expression of the answer and its
  // subexpressions are looked up among the keys. Without these maps, subexpressions would be bound again at each level.
  std::unordered_map<const Json*, Node> bound_;
  std::unordered_map<const Expression*, int> keys_;
  bool has_aggregates_ = false;
  bool is_distinct_ = false;        ///< SELECT DISTINCT: the keys are the selected columns
  std::set<const Json*> expanded_;  ///< selected expressions that replace their names at the moment
  Contents contents_;

  /// The parameters of a lambda: an element of a list, and its position.
  struct Scope {
    int list;
    const std::vector<Name>* names;

    /// Returns which parameter a name means, or their number.
    [[nodiscard]] std::size_t place_of(const Name& name) const {
      const auto found = std::find_if(names->begin(), names->end(),
                                      [&](const Name& parameter) { return may_mean(name, parameter.text); });
      return static_cast<std::size_t>(found - names->begin());
    }
  };
  [[nodiscard]] bool is_hidden_parameter(const Name& name) const {
    return std::any_of(hidden_scopes_.begin(), hidden_scopes_.end(),
                       [&](const Scope& scope) { return scope.place_of(name) < scope.names->size(); });
  }

  Builder elements_;  ///< its columns are slots of program_
  ListProgram program_;
  ListLowering lowering_{program_, true};
  std::vector<ListOutput> computed_;  ///< columns that follow those of the table
  std::vector<Field> computed_fields_;
  std::vector<Scope> scopes_;         ///< of the lambdas around an expression, inside its innermost list function
  std::vector<Scope> hidden_scopes_;  ///< of the other lambdas around it
};

}  // namespace upsweep::query
