// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/expression_fuzz.cpp: bytes as rows and a query over them: every way to run it gives the same, correct
// answer.
#include "tests/fuzz/expression.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/input.hpp"
#include "tests/fuzz/rows.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep::fuzz {
namespace {

struct Aggregate {
  std::string function;
  NodePtr input;  ///< null: COUNT(*)
};

struct Shown {
  NodePtr where;  ///< null: every row is kept
  std::vector<NodePtr> keys;
  std::vector<Aggregate> aggregates;
  bool ordered = false;  ///< by the first key
  bool descending = false;
  int limit = -1;

  [[nodiscard]] std::string sql() const {
    std::string listed;
    std::string grouped;
    const auto append = [](std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; };
    for (const NodePtr& key : keys) {
      append(listed, key->sql);
      append(grouped, key->sql);
    }
    for (const Aggregate& a : aggregates) append(listed, a.function + "(" + (a.input ? a.input->sql : "*") + ")");
    return "SELECT " + listed + " FROM t" + (where ? " WHERE " + where->sql : "") +
           (keys.empty() ? "" : " GROUP BY " + grouped) + (ordered ? " ORDER BY 1" : "") + (descending ? " DESC" : "") +
           (limit >= 0 ? " LIMIT " + std::to_string(limit) : "");
  }
  [[nodiscard]] std::vector<NodePtr> expressions() const {
    std::vector<NodePtr> all = keys;
    for (const Aggregate& a : aggregates) all.push_back(a.input);
    all.push_back(where);
    all.erase(std::remove(all.begin(), all.end(), nullptr), all.end());
    return all;
  }
  [[nodiscard]] bool is_known() const {
    const auto all = expressions();
    return std::all_of(all.begin(), all.end(), [](const NodePtr& node) { return node->known; });
  }
  /// Constants that do not fit: then the whole query is refused.
  [[nodiscard]] bool overflows() const {
    const auto all = expressions();
    return std::any_of(all.begin(), all.end(), [](const NodePtr& node) { return node->overflows; });
  }
  /// Float sums are folded batch by batch, so their rounding depends on how the table is split.
  [[nodiscard]] bool sums_floats() const {
    return std::any_of(aggregates.begin(), aggregates.end(), [](const Aggregate& a) {
      return a.input && a.input->kind == ValueKind::real && (a.function == "SUM" || a.function == "AVG");
    });
  }
};

Aggregate aggregate(Bytes& bytes, Generator& generator, int depth) {
  static const std::string kFunctions[] = {"SUM", "COUNT", "MIN", "MAX", "AVG"};
  constexpr ValueKind kKinds[] = {ValueKind::integer, ValueKind::integer, ValueKind::integer, ValueKind::decimal,
                                  ValueKind::real,    ValueKind::date,    ValueKind::boolean, ValueKind::text};
  const int which = bytes.below(6);
  if (which == 5) return {"COUNT", nullptr};
  const bool adds = which == 0 || which == 4;
  const ValueKind kind = kKinds[bytes.below(adds ? 5 : kFunctions[which] == "COUNT" ? 8 : 6)];
  return {kFunctions[which], generator.any(kind, depth)};
}

Shown query_of(Bytes& bytes) {
  constexpr int kDepth = 4;
  Generator generator(bytes);
  Shown query;
  const int how = bytes.byte();
  if ((how & 1) != 0) query.where = generator.any(ValueKind::boolean, kDepth);
  constexpr ValueKind kKeys[] = {ValueKind::integer, ValueKind::boolean, ValueKind::date, ValueKind::text};
  for (int keys = (how >> 1) & 3; keys > 1; --keys) {
    const NodePtr key = generator.any(kKeys[bytes.below(4)], 2);
    if (key->has_column) query.keys.push_back(key);  // a constant would be a column number of the answer
  }
  for (int aggregates = 1 + ((how >> 3) & 3); aggregates > 0; --aggregates) {
    query.aggregates.push_back(aggregate(bytes, generator, kDepth));
  }
  query.ordered = !query.keys.empty() && (how & 32) != 0;
  query.descending = query.ordered && (how & 64) != 0;
  if ((how & 128) != 0) query.limit = bytes.below(5);
  return query;
}

// ---------------------------------------------------------------------------------------------------------- the result

struct Outcome {
  Code code = Code::ok;
  std::int64_t index = kNoIndex;
  std::string text;  ///< of the answer or the error

  bool operator==(const Outcome&) const = default;
  /// Whether sums exceed 128 bits on the way depends on how the table is split.
  [[nodiscard]] bool is_too_large_a_sum() const {
    return text.find("sum has more than 38 digits") != std::string::npos;
  }
};

std::string text_of(const Answer& answer) {
  std::string all;
  for (const auto& row : answer.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) all += text(answer.columns[c], row[c]) + "|";
    all += "\n";
  }
  return all;
}

Outcome run(const Query& query, const Policy& policy, const Table& table) {
  try {
    return {.text = text_of(query.run(policy, table))};
  } catch (const Error& error) {
    return {error.code(), error.index(), error.what()};
  }
}

// ------------------------------------------------------------------------------------------------- the expected result

std::string shown(ValueKind kind, const Value& value) {
  Cell cell{.exact = value.exact, .null = value.null};
  if (kind == ValueKind::text && !value.null) cell.word = words()[static_cast<std::size_t>(value.exact)];
  return text(Field{.kind = kind}, cell);
}

struct Folded {
  std::int64_t count = 0;
  Int128 sum = 0;
  Int128 least = 0;
  Int128 greatest = 0;

  void add(Int128 value) {
    least = count == 0 ? value : std::min(least, value);
    greatest = count == 0 ? value : std::max(greatest, value);
    sum += value;
    ++count;
  }
};

/// The quotient, rounded once. A long double has 64 bits, and operands of 63 bits are never that close to a tie.
std::string average(const Folded& folded) {
  const long double quotient = static_cast<long double>(folded.sum) / static_cast<long double>(folded.count);
  return text(Field{.kind = ValueKind::real}, Cell{.real = static_cast<double>(quotient)});
}

class Expectation {
 public:
  Expectation(const Shown& query, const Rows& rows) : query_(query) {
    if (query.keys.empty()) group_at({});
    for (std::int64_t row = 0; row < rows.count(); ++row) include(rows, row);
  }

  /// Sums for which 128 bits may not be enough, or averages that long doubles cannot check.
  [[nodiscard]] bool is_beyond() const { return beyond_; }

  [[nodiscard]] std::string answer() const {
    std::vector<std::size_t> order(groups_.size());
    for (std::size_t g = 0; g < order.size(); ++g) order[g] = g;
    if (query_.ordered) std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return precedes(a, b); });
    if (query_.limit >= 0 && std::ssize(order) > query_.limit) order.resize(static_cast<std::size_t>(query_.limit));
    std::string all;
    for (const std::size_t g : order) all += line(groups_[g]) + "\n";
    return all;
  }
  [[nodiscard]] const Failures& failures() const { return failures_; }

 private:
  struct Group {
    std::vector<Value> key;
    std::vector<Folded> folded;
  };

  void include(const Rows& rows, std::int64_t row) {
    Interpreter interpreter(rows, row, failures_);
    if (query_.where && !interpreter.keeps(*query_.where)) return;
    std::vector<Value> key;
    key.reserve(query_.keys.size());
    for (const NodePtr& node : query_.keys) key.push_back(interpreter.value(*node));
    Group& group = group_at(key);
    for (std::size_t a = 0; a < query_.aggregates.size(); ++a) {
      const NodePtr& input = query_.aggregates[a].input;
      const Value value = input ? interpreter.value(*input) : Value{};
      if (value.failed || value.null) continue;
      constexpr Int128 kLarge = Int128{1} << 110;
      beyond_ = beyond_ || value.exact > kLarge || value.exact < -kLarge;
      group.folded[a].add(beyond_ ? 0 : value.exact);
    }
  }
  Group& group_at(const std::vector<Value>& key) {
    std::vector<std::pair<bool, Int128>> name;
    name.reserve(key.size());
    for (const Value& value : key) name.emplace_back(value.null, value.null ? 0 : value.exact);
    const auto [found, is_new] = places_.emplace(name, groups_.size());
    if (is_new) groups_.push_back({key, std::vector<Folded>(query_.aggregates.size())});
    return groups_[found->second];
  }
  [[nodiscard]] bool precedes(std::size_t a_group, std::size_t b_group) const {
    const Value& a = groups_[a_group].key[0];
    const Value& b = groups_[b_group].key[0];
    if (a.null != b.null) return a.null == query_.descending;
    if (a.null) return false;
    return query_.descending ? b.exact < a.exact : a.exact < b.exact;
  }
  [[nodiscard]] std::string line(const Group& group) const {
    std::string all;
    for (std::size_t k = 0; k < query_.keys.size(); ++k) all += shown(query_.keys[k]->kind, group.key[k]) + "|";
    for (std::size_t a = 0; a < query_.aggregates.size(); ++a) all += cell(query_.aggregates[a], group.folded[a]) + "|";
    return all;
  }
  [[nodiscard]] std::string cell(const Aggregate& aggregate, const Folded& folded) const {
    if (aggregate.function == "COUNT") return std::to_string(folded.count);
    if (folded.count == 0) return "NULL";
    if (aggregate.function == "SUM") return shown(ValueKind::integer, {.exact = folded.sum});
    if (aggregate.function == "AVG") return average(folded);
    return shown(aggregate.input->kind, {.exact = aggregate.function == "MIN" ? folded.least : folded.greatest});
  }

 public:
  /// Whether every average is of a sum that long doubles can represent.
  [[nodiscard]] bool averages_are_exact() const {
    constexpr Int128 kHeld = Int128{1} << 63;
    return std::all_of(groups_.begin(), groups_.end(), [&](const Group& group) {
      return std::all_of(group.folded.begin(), group.folded.end(),
                         [&](const Folded& f) { return f.sum < kHeld && f.sum > -kHeld; });
    });
  }

 private:
  const Shown& query_;
  Failures failures_;
  std::map<std::vector<std::pair<bool, Int128>>, std::size_t> places_;
  std::vector<Group> groups_;
  bool beyond_ = false;
};

// ---------------------------------------------------------------------------------------------------------- the checks

struct Case {
  std::string sql;
  std::vector<std::int64_t> ends;  ///< of the parts of the table that is split

  [[noreturn]] void fail(const std::string& what, const std::string& a, const std::string& b) const {
    std::string cuts;
    for (const std::int64_t end : ends) cuts += " " + std::to_string(end);
    fuzz::fail(what + "\n" + sql + "\ncut at" + cuts + "\n--- one\n" + a + "\n--- other\n" + b);
  }
  void require_same(const std::string& what, const Outcome& a, const Outcome& b) const {
    if (!(a == b)) fail(what, a.text + " " + std::to_string(a.index), b.text + " " + std::to_string(b.index));
  }
  /// The error must be an error of a row in the first part that has one.
  void require_expected(const Outcome& got, const Failures& failures, const std::vector<std::int64_t>& parts) const {
    std::int64_t first = parts.back();
    for (const auto& [code, row] : failures) first = std::min(first, row);
    const std::int64_t end = *std::upper_bound(parts.begin(), parts.end(), first);
    if (failures.count({got.code, got.index}) > 0 && got.index < end) return;
    std::string all;
    for (const auto& [code, row] : failures) all += std::string(word(code)) + " " + std::to_string(row) + "; ";
    fail("another error", all, got.text + " " + std::to_string(got.index));
  }
  void require_right(const Outcome& got, const Expectation& expected, const std::vector<std::int64_t>& parts) const {
    if (!expected.failures().empty()) {
      if (!got.is_too_large_a_sum()) require_expected(got, expected.failures(), parts);
    } else if (!expected.is_beyond() && expected.averages_are_exact()) {
      if (got.text != expected.answer()) fail("the answer is wrong", expected.answer(), got.text);
    }
  }
};

std::vector<std::int64_t> cuts(Bytes& bytes, std::int64_t count) {
  std::vector<std::int64_t> ends;
  for (int cut = bytes.below(5); cut > 0; --cut) ends.push_back(bytes.byte() * count / 255);
  ends.push_back(count);
  std::sort(ends.begin(), ends.end());
  return ends;
}

void check(const Shown& query, const Rows& rows, const Case& one) {
  const CutTable whole(rows, {rows.count()});
  const CutTable cut(rows, one.ends);
  std::optional<Query> bound;
  try {
    bound.emplace(one.sql, whole);
  } catch (const Error& error) {
    // A CASE of only NULLs is an integer, wherever it is; and decimal literals may become too long.
    const bool has_null = one.sql.find("NULL") != std::string::npos;
    const bool has_point = one.sql.find('.') != std::string::npos;
    const bool may_be = (error.code() == Code::overflow && (query.overflows() || has_point)) ||
                        (error.code() == Code::unsupported_sql && (has_null || has_point));
    if (!may_be) one.fail("refused", error.what(), "");
    return;
  }
  if (query.overflows()) one.fail("literals that do not fit are accepted", "", "");
  const Outcome best = run(*bound, seq, whole);
  one.require_same("instruction sets differ", best, run(*bound, seq.with_isa(Isa::baseline), whole));
  const Outcome parts = run(*bound, seq, cut);
  one.require_same("threads differ", parts, run(*bound, par.with_threads(2), cut));
  one.require_same("threads and instruction sets differ", parts,
                   run(*bound, par.with_threads(2).with_isa(Isa::baseline), cut));
  const bool may_differ = best.is_too_large_a_sum() || parts.is_too_large_a_sum();
  if (!may_differ && (best.code == Code::ok) != (parts.code == Code::ok))
    one.fail("parts differ", best.text, parts.text);
  if (best.code == Code::ok && parts.code == Code::ok && !query.sums_floats())
    one.require_same("parts differ", best, parts);
  // Parts that statistics exclude are not read, so their errors are not found.
  if (parts.code == Code::ok)
    one.require_same("ranges matter", parts, run(*bound, seq, CutTable(rows, one.ends, true)));
  if (!query.is_known()) return;
  const Expectation expected(query, rows);
  one.require_right(best, expected, {rows.count()});
  one.require_right(parts, expected, one.ends);
}

}  // namespace
}  // namespace upsweep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace upsweep::fuzz;
  Bytes bytes(data, size);
  const int few = bytes.byte();
  const std::int64_t count = few % 16 == 15 ? few * 10 : few / 4;  // up to three blocks; usually one with few rows
  const Rows rows(bytes, count);
  const std::vector<std::int64_t> ends = cuts(bytes, count);
  const Shown query = query_of(bytes);
  const Case one{query.sql(), ends};
  if (std::getenv("UPSWEEP_FUZZ_SHOW") != nullptr) std::fprintf(stderr, "%s\n", one.sql.c_str());
  check(query, rows, one);
  return 0;
}
