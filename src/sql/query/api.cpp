// SPDX-License-Identifier: Apache-2.0
// sql/query/api.cpp: the public interface: statements, queries and their answers.
#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "core/ascii.hpp"
#include "core/ladder.hpp"
#include "core/no_ladder.hpp"
#include "cpu/parallel.hpp"
#include "sql/expression/caret.hpp"
#include "sql/expression/evaluate.hpp"
#include "sql/query/answer.hpp"
#include "sql/query/answer_columns.hpp"
#include "sql/query/bind.hpp"
#include "sql/query/carry.hpp"
#include "sql/query/execute.hpp"
#include "sql/query/group_merge.hpp"
#include "sql/query/list_table.hpp"
#include "sql/query/names.hpp"
#include "sql/query/row_answer.hpp"
#include "sql/query/sql.hpp"
#include "system/memory.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/detail/unwritten_memory.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep {

namespace query {
namespace {

constexpr Backend backend_of(const Policy&) { return Backend::cpu; }
constexpr Backend backend_of(const gpu::Policy&) { return Backend::cuda; }
constexpr int threads_of(const Policy& policy) { return policy.threads; }
constexpr int threads_of(const gpu::Policy&) { return 0; }
constexpr std::string_view rung_of(Backend backend) { return kQueryRungs[static_cast<int>(backend)]; }

/// A rung that was requested by name never falls back. Throws if `runs` does not run the query with that rung.
void require_rung(std::string_view asked, Backend runs) {
  if (asked.empty() || asked == rung_of(runs)) return;
  if (runs == Backend::cpu) detail::require_built(asked);
  const Backend other = runs == Backend::cpu ? Backend::cuda : Backend::cpu;
  if (asked == rung_of(other)) {
    const char* const why = backend_refusal(other, runs == Backend::cuda);
    throw Error(Code::unsupported, std::string(asked) + ": " + why);
  }
  std::string known;
  for (const std::string_view rung : kQueryRungs) known.append(known.empty() ? "" : ", ").append(rung);
  refuse_rung(asked, known);
}

/// Calls f. Its errors use the caller's words for the settings that they advise to change.
template <class F>
auto in_words_of(const QueryMemory& memory, const F& f) {
  try {
    return f();
  } catch (const RowError&) {
    throw;
  } catch (const Error& error) {
    const QueryMemory usual;
    std::string message = error.what();
    const auto replace = [&](std::string_view word, std::string_view by) {
      const std::size_t at = message.find(word);
      if (at != std::string::npos) message.replace(at, word.size(), by);
    };
    replace(usual.bytes_word, memory.bytes_word);
    replace(usual.spill_folder_word, memory.spill_folder_word);
    throw Error(error.code(), std::move(message), error.index());
  }
}

/// Calls f, which computes with the table's rows. An error names the file and the line or row.
template <class F>
auto in_rows_of(const Table& table, const std::string& sql, const F& f) {
  try {
    return f();
  } catch (const expression::RowFailure& failure) {
    const auto* const places = dynamic_cast<const RowPlaces*>(&table);
    if (places == nullptr) {
      const std::string what = fmt::format("{} in {}", failure.failure(), table.place(failure.index(), 0));
      throw Error(failure.code(), expression::with_caret(sql, failure.location(), what), failure.index());
    }
    RowPlace place = places->place_of_row(failure.index());
    const std::string what = fmt::format("{}: {}", place.text(), failure.failure());
    throw RowError(failure.code(), expression::with_caret(sql, failure.location(), what), std::move(place));
  }
}

/// Returns whether the name looks like a file name: "sales.csv", "data/sales".
bool is_like_file(std::string_view name) { return name.find_first_of("./\\") != std::string_view::npos; }

}  // namespace

}  // namespace query

Statement::Statement(std::string sql)
    : sql_(query::select_first(std::move(sql))), syntax_(std::make_unique<query::Syntax>(query::parse(sql_))) {}
Statement::~Statement() = default;

const std::string& Statement::path() const { return syntax_->path; }
std::string Statement::table() const { return path().empty() ? query::table_name(sql_, *syntax_) : std::string(); }

bool Statement::may_name(std::string_view column) const {
  const auto& names = syntax_->columns;
  return names.all || names.exact.contains(std::string(column)) || names.lower_case.contains(lower_case(column));
}

std::optional<std::size_t> Statement::table_among(const std::vector<std::string>& names) const {
  const std::vector<query::Name> wanted =
      query::names_at(sql_, query::table_location(sql_, *syntax_), path().empty() ? 1 : 0);
  if (wanted.empty()) return std::nullopt;
  query::Names tables;
  for (const std::string& name : names) tables.add(name);
  const std::vector<std::size_t> found = tables.find(wanted[0]);
  if (found.size() > 1) refuse_table(query::ambiguous(wanted[0], tables, found, "table"));
  return found.empty() ? std::nullopt : std::optional(found[0]);
}

void Statement::refuse_table(const std::string& why) const {
  const std::string name = query::full_table_name(sql_, *syntax_);
  const bool is_file = query::is_like_file(name);
  expression::refuse(
      sql_, query::table_location(sql_, *syntax_), Code::unknown_table,
      is_file ? "no table is called \"" + name + "\"; write a file name in single quotes: FROM '" + name + "'" : why);
}

bool Statement::selects_rows() const { return query::selects_rows(*syntax_); }
std::optional<std::int64_t> Statement::row_limit() const { return query::row_limit(sql_, *syntax_); }

Query::Query(const Statement& statement, const Table& table) : fields_(table.fields()) {
  const std::string& path = statement.path();
  const std::string name = path.empty() ? statement.table() : path;
  plan_ = std::make_shared<const query::QueryPlan>(query::bind(statement.sql_, *statement.syntax_, name, fields_));
}
Query::Query(std::string sql, const Table& table) : Query(Statement(std::move(sql)), table) {}
Query::~Query() = default;
Query::Query(Query&&) noexcept = default;
Query& Query::operator=(Query&&) noexcept = default;

namespace {

void require_device_bytes(std::int64_t bytes) {
  if (bytes == 0 || bytes >= QueryMemory::kLeastDeviceBytes) return;
  throw Error(Code::invalid_argument,
              fmt::format("the limit of device memory is {} bytes; it must be at least {}, or 0 "
                          "for no limit",
                          bytes, QueryMemory::kLeastDeviceBytes));
}

}  // namespace

/// Throws if the table's columns differ from those of the table that the query was made for.
void Query::require_fields(const Table& table) const {
  const auto same = [](const Field& a, const Field& b) {
    if ((a.element == nullptr) != (b.element == nullptr)) return false;
    if (a.element != nullptr && (a.element->kind != b.element->kind || a.element->storage != b.element->storage)) {
      return false;
    }
    return a.name == b.name && a.kind == b.kind && a.storage == b.storage && a.scale == b.scale &&
           (a.is_untyped || !b.is_untyped);  // a column without values is not read
  };
  const std::vector<Field>& fields = table.fields();
  if (!std::equal(fields.begin(), fields.end(), fields_.begin(), fields_.end(), same)) {
    throw Error(Code::invalid_argument, "the query was made for a table with different columns");
  }
}

/// Throws unless the query can be divided among parts of a table.
void Query::require_carry() const {
  if (!plan_->rows) return;
  throw Error(
      Code::unsupported,
      "a query of rows has no carry that could be merged: it has neither aggregates nor GROUP BY; run it on the "
      "whole table in one process, or on each part, and concatenate the rows");
}

/// Runs the rung of the policy's backend. Calls `run` with the table and the columns that list functions compute.
template <class Policy, class Run>
auto Query::run_rung(const Policy& policy, const Table& table, const Run& run) const {
  query::require_rung(policy.rung, query::backend_of(policy));
  require_fields(table);
  return query::in_rows_of(table, plan_->sql,
                           [&] { return plan_->lists ? run(query::ListTable(table, *plan_->lists)) : run(table); });
}

template <class Policy>
query::Folded Query::folded(const Policy& policy, const Table& table, const QueryProgress& progress,
                            [[maybe_unused]] std::int64_t device_bytes, std::unique_ptr<query::Totals> totals) const {
  return run_rung(policy, table, [&](const Table& source) {
    if constexpr (query::backend_of(Policy{}) == Backend::cuda) {
      return query::execute(*plan_, source, policy, device_bytes, progress, std::move(totals));
    } else {
      return query::execute(*plan_, source, policy, progress, std::move(totals));
    }
  });
}

/// Returns the answer without the members that do not depend on the query.
template <class Policy>
Answer Query::computed(const Policy& policy, const Table& table, const QueryProgress& progress,
                       const QueryMemory& memory, const AnswerSink& sink) const {
  if (plan_->rows) {
    if constexpr (query::backend_of(Policy{}) == Backend::cuda) {
      throw Error(Code::unsupported,
                  "a query without aggregates and GROUP BY runs on the CPU only: request device cpu or auto, or use a "
                  "Policy in place of a gpu::Policy");
    } else {
      return run_rung(policy, table, [&](const Table& source) {
        return query::answer_of_rows(*plan_, source, policy, progress, memory.bytes, sink);
      });
    }
  }
  const query::Folded folded =
      this->folded(policy, table, progress, memory.device_bytes,
                   std::make_unique<query::Totals>(*plan_, memory.group_bytes > 0 ? memory.group_bytes : memory.bytes,
                                                   memory.spill_folder));
  const bool is_known = memory.bytes > 0 || memory.group_bytes == 0;
  Answer answer = query::answer_of(*plan_, *folded.totals, expression::kernels(Isa::best), query::threads_of(policy),
                                   is_known ? memory.bytes : available_memory() / 4 * 3, [&] {
                                     if (progress) progress(folded.rows);
                                   });
  answer.rows_read = folded.rows;
  answer.rows_by_cpu = folded.rows_by_cpu;
  answer.bytes_to_device = folded.bytes_to_device;
  answer.times = folded.times;
  if (!sink) return answer;
  AnswerRows rows = std::exchange(answer.rows, {});
  if (!rows.empty()) sink(std::move(rows));
  return answer;
}

template <class Policy>
Answer Query::answered(const Policy& policy, const Table& table, const QueryProgress& progress,
                       const QueryMemory& memory, const AnswerSink& sink) const {
  if (memory.bytes < 0 || memory.group_bytes < 0) {
    throw Error(Code::invalid_argument,
                "the memory of a query must be a positive number of bytes, or 0 for the free memory");
  }
  require_device_bytes(memory.device_bytes);
  const auto begin = std::chrono::steady_clock::now();
  const detail::LargeMemoryUse use;
  Answer answer = computed(policy, table, progress, memory, sink);
  answer.rung = query::rung_of(query::backend_of(policy));
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return answer;
}

template <class Policy>
QueryCarry Query::carried(const Policy& policy, const Table& table, const QueryProgress& progress,
                          std::int64_t device_bytes) const {
  require_carry();
  const detail::LargeMemoryUse use;
  const query::Folded folded =
      this->folded(policy, table, progress, device_bytes, std::make_unique<query::Totals>(*plan_));
  return {plan_, std::move(*folded.totals).take(cpu::worker_count(query::threads_of(policy)))};
}

std::vector<Field> Query::columns() const { return query::fields_of_answer(*plan_); }

Answer Query::run(const Policy& policy, const Table& table, const QueryProgress& progress, const QueryMemory& memory,
                  const AnswerSink& sink) const {
  return query::in_words_of(memory, [&] { return answered(policy, table, progress, memory, sink); });
}
Answer Query::run(const gpu::Policy& policy, const Table& table, const QueryProgress& progress,
                  const QueryMemory& memory, const AnswerSink& sink) const {
  return query::in_words_of(memory, [&] { return answered(policy, table, progress, memory, sink); });
}
QueryCarry Query::fold(const Policy& policy, const Table& table, const QueryProgress& progress) const {
  return carried(policy, table, progress, 0);
}
QueryCarry Query::fold(const gpu::Policy& policy, const Table& table, const QueryProgress& progress,
                       std::int64_t device_bytes) const {
  require_device_bytes(device_bytes);
  return carried(policy, table, progress, device_bytes);
}

QueryCarry Query::carry(std::string_view bytes) const {
  require_carry();
  query::Groups groups(*plan_);
  query::merge_bytes(*plan_, bytes, groups);
  return {plan_, std::move(groups)};
}

Answer Query::answer(const QueryCarry& carry) const {
  query::require_same_query(*plan_, *carry.plan_);
  return query::answer_of(*plan_, *carry.groups_, expression::kernels(Isa::best), 0);
}

QueryCarry::QueryCarry(std::shared_ptr<const query::QueryPlan> plan, query::Groups groups)
    : plan_(std::move(plan)), groups_(std::make_unique<query::Groups>(std::move(groups))) {}
QueryCarry::~QueryCarry() = default;
QueryCarry::QueryCarry(QueryCarry&&) noexcept = default;
QueryCarry& QueryCarry::operator=(QueryCarry&&) noexcept = default;

void QueryCarry::merge(const QueryCarry& later) {
  query::require_same_query(*plan_, *later.plan_);
  query::merge(*groups_, *later.groups_);
}

void QueryCarry::merge(std::string_view bytes) { query::merge_bytes(*plan_, bytes, *groups_); }

std::string QueryCarry::bytes() const { return query::to_bytes(*plan_, *groups_); }

}  // namespace upsweep
