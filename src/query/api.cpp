// SPDX-License-Identifier: Apache-2.0
// query/api.cpp: the public face: statements, queries and their answers.
#include <utility>

#include "cpu/kernels.hpp"
#include "query/answer.hpp"
#include "query/bind.hpp"
#include "query/device_execute.hpp"
#include "query/execute.hpp"
#include "query/sql.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep {

namespace query {
namespace {
constexpr std::string_view kCpuRung = "cpu.predicate_first";
constexpr std::string_view kDeviceRung = "cuda.fused";
}  // namespace

const Kernels& kernels(Isa isa) noexcept {
#if defined(__x86_64__)
  return cpu::table_for(isa, &kernels_baseline, &kernels_avx2, &kernels_avx512);
#else
  return cpu::table_for(isa, &kernels_baseline, &kernels_baseline, &kernels_baseline);
#endif
}

}  // namespace query

Statement::Statement(std::string sql)
    : sql_(std::move(sql)), syntax_(std::make_unique<query::Syntax>(query::parse(sql_))) {}
Statement::~Statement() = default;

const std::string& Statement::path() const { return syntax_->path; }
std::string Statement::table() const { return path().empty() ? query::table_name(sql_, *syntax_) : std::string(); }

void Statement::refuse_table(const std::string& why) const {
  query::refuse(sql_, query::table_location(sql_, *syntax_), Code::unknown_table, why);
}

Query::Query(const Statement& statement, const Table& table) : fields_(table.fields()) {
  const std::string& path = statement.path();
  const std::string name = path.empty() ? statement.table() : path;
  plan_ = std::make_unique<const query::Plan>(query::bind(statement.sql_, *statement.syntax_, name, fields_));
}
Query::Query(std::string sql, const Table& table) : Query(Statement(std::move(sql)), table) {}
Query::~Query() = default;
Query::Query(Query&&) noexcept = default;
Query& Query::operator=(Query&&) noexcept = default;

/// Throws where the table is another than the query was made for, or the rung asked for is not the one that runs there.
void Query::check(std::string_view asked_rung, std::string_view rung, const Table& table) const {
  const auto same = [](const Field& a, const Field& b) {
    return a.name == b.name && a.kind == b.kind && a.storage == b.storage && a.scale == b.scale;
  };
  const std::vector<Field>& fields = table.fields();
  if (!std::equal(fields.begin(), fields.end(), fields_.begin(), fields_.end(), same)) {
    throw Error(Code::invalid_argument, "the query was made for a table with other columns");
  }
  if (asked_rung.empty() || asked_rung == rung) return;
  throw Error(Code::unknown_rung,
              "no rung is called '" + std::string(asked_rung) + "'; queries have here: " + std::string(rung));
}

Answer Query::run(const Policy& policy, const Table& table, const QueryProgress& progress) const {
  check(policy.rung, query::kCpuRung, table);
  const query::Groups groups = query::execute(*plan_, table, policy, progress);
  Answer answer = query::answer_of(*plan_, groups, query::kernels(policy.isa));
  answer.rung = query::kCpuRung;
  return answer;
}

Answer Query::run(const gpu::Policy& policy, const Table& table, const QueryProgress& progress) const {
  check(policy.rung, query::kDeviceRung, table);
  Answer told;
  const query::Groups groups = query::execute(*plan_, table, policy, progress, told);
  Answer answer = query::answer_of(*plan_, groups, query::kernels(Isa::best));
  answer.rung = query::kDeviceRung;
  answer.times = told.times;
  answer.rows_by_cpu = told.rows_by_cpu;
  return answer;
}

}  // namespace upsweep
