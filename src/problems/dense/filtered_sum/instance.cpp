// SPDX-License-Identifier: Apache-2.0
// problems/dense/filtered_sum/instance.cpp: declares the problem to the climber: lineitem rows, calls, verification.
#include "problems/dense/filtered_sum/instance.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "climb/guest.hpp"
#include "problems/dense/filtered_sum/reference.hpp"
#include "problems/dense/filtered_sum/rung.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::impl::filtered_sum {
namespace {

// The granularity of memory reads: a cache line on the CPU, a sector on a GPU.
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kSector = 32;

}  // namespace

Table::Table(std::int64_t n) : rows(n), key(n), quantity(n), price(n) {
  std::mt19937_64 random(45);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = random();
    const auto part = static_cast<std::int64_t>((bits >> 32) % 200000) + 1;
    key.data()[i] = static_cast<std::uint32_t>(bits % 10000) + 1;
    quantity.data()[i] = static_cast<std::int64_t>((bits >> 16) % 50) + 1;
    price.data()[i] = quantity.data()[i] * (90000 + part / 10 % 20001 + 100 * (part % 1000));
  }
}

Table::Table(const std::vector<Column>& columns)
    : rows(columns[0].count),
      name(columns[0].name + " " + columns[1].name + " " + columns[2].name),
      key(columns[0]),
      quantity(columns[1]),
      price(columns[2]) {
  detail::require_columns(columns[0].count, columns[1].count, columns[2].count);
  if (rows == 0) throw Error(Code::empty, name + ": has no rows to climb on");
}

FilteredSumInstance::FilteredSumInstance(Table& table, std::uint32_t limit, Backend backend, Memory memory)
    : table_(table), limit_(limit) {
  const std::int64_t n = table.rows;
  const std::uint32_t* const key = table.key.data();
  const std::int64_t* const quantity = table.quantity.data();
  const std::int64_t* const price = table.price.data();
  expected_ = expected_sum(key, quantity, price, n, limit);
  const std::int64_t kept = expected_rows(key, n, limit);
  group.title =
      "filtered-sum of " + grouped(n) + " rows, key < " + std::to_string(limit) + ": " + grouped(kept) + " kept";
  group.lines = {"the sum: " + grouped(expected_)};
  group.input = table.name;
  group.n = n;
  group.bytes =
      static_cast<double>(expected_bytes(key, quantity, price, n, limit, backend == Backend::cpu ? kLine : kSector));
  group.reads_only = true;
  group.is_pinned = memory == Memory::pinned;
  if (group.is_pinned) group.lines.emplace_back("columns stay in pinned host memory");
  group.facts = {{"limit", std::int64_t{limit}}, {"kept", kept}, {"sum", expected_}};
}

std::vector<HostArray> FilteredSumInstance::arrays() {
  const std::int64_t n = table_.rows;
  return {{table_.key.data(), n * 4, false},
          {table_.quantity.data(), n * 8, false},
          {table_.price.data(), n * 8, false},
          {&sum_, sizeof sum_, true}};
}

namespace {

/// Calls `call` with the typed pointers of the three columns.
template <class Call>
auto with_columns(Arrays at, const Call& call) {
  return call(static_cast<const std::uint32_t*>(at[0]), static_cast<const std::int64_t*>(at[1]),
              static_cast<const std::int64_t*>(at[2]));
}

}  // namespace

std::string_view FilteredSumInstance::run(const Policy& policy, Arrays at, std::int64_t n) {
  return with_columns(at, [&](const auto*... columns) {
    const FilteredSum result = upsweep::filtered_sum(policy, columns..., n, limit_);
    sum_ = result.sum;
    return result.rung;
  });
}

std::string_view FilteredSumInstance::run(const gpu::Policy& policy, Arrays at, std::int64_t n) {
  return with_columns(at, [&](const auto*... columns) {
    if (policy.rung != asked_) {
      asked_ = policy.rung;
      host_adds_ = std::ranges::any_of(ladder("filtered-sum"),
                                       [&](const RungInfo& rung) { return rung.id == policy.rung && rung.host_adds; });
    }
    if (!host_adds_) return filtered_sum_async(policy, columns..., n, limit_, static_cast<std::int64_t*>(at[3]));
    const FilteredSum result = upsweep::filtered_sum(policy, columns..., n, limit_);
    sum_ = result.sum;
    return result.rung;
  });
}

void FilteredSumInstance::run_guest(const GuestPlace& place, Arrays at, std::int64_t n) {
  with_columns(at, [&](const auto*... columns) {
    guest->call<decltype(upsweep_rung_filtered_sum)>(columns..., n, limit_, static_cast<std::int64_t*>(at[3]),
                                                     std::get<int>(place));
  });
}

gpu::WorkspaceSize FilteredSumInstance::workspace(const gpu::Policy& policy) const {
  return gpu::filtered_sum_workspace(policy, table_.rows);
}

bool FilteredSumInstance::takes(const RungInfo& rung) const { return rung.host_memory == group.is_pinned; }

std::string FilteredSumInstance::wrong(const RungInfo&) {
  return sum_ == expected_ ? "" : "wrong value: " + unlike(expected_, sum_);
}

bool FilteredSumInstance::run_inlined() {
  std::uint64_t total = 0;
  const std::uint32_t* const key = table_.key.data();
  for (std::int64_t i = 0; i < table_.rows; ++i) {
    if (key[i] >= limit_) continue;
    total += static_cast<std::uint64_t>(table_.quantity.data()[i]) * static_cast<std::uint64_t>(table_.price.data()[i]);
  }
  sum_ = static_cast<std::int64_t>(total);
  return true;
}

void FilteredSumInstance::add_details(Row& row, const gpu::Policy& policy, Arrays at) {
  if (!row.rung.host_adds) return;
  const auto call = with_columns(
      at, [&](const auto*... columns) { return detail::filtered_sum_call(columns..., table_.rows, limit_); });
  note_kernels(row, policy, call);
  if (row.rung.id == "cuda.occupancy") time_occupancy(row, policy, call, expected_);
}

namespace {

constexpr InputInfo kInputs[] = {{.name = "KEY", .type = Type::uint32, .whole = true},
                                 {.name = "QUANTITY", .type = Type::int64, .whole = true},
                                 {.name = "PRICE", .type = Type::int64}};
constexpr std::int64_t kLineitemRows[] = {6'001'215};  // of TPC-H at scale factor 1
constexpr SettingInfo kSettings[] = {
    {.name = "z",
     .help = "sum the rows whose key is less than Z (default: 30)",
     .most = std::numeric_limits<std::uint32_t>::max()},
    {.name = "transfer",
     .help = "on a GPU: also send the columns, from pageable memory, from pinned memory, or in streams",
     .choices = kTransfers,
     .backend = Backend::cuda}};

void visit_instances(const ClimbRequest& request, Backend backend, const Problem::Visit& visit) {
  const auto limit = static_cast<std::uint32_t>(setting(request, "z").value_or(Setting{30}).value);
  const auto transfer = setting(request, "transfer");
  const auto visit_table = [&](Table table) {
    if (transfer) {
      visit(*sent_instance(table, limit, static_cast<Transfer>(transfer->value)));
      return;
    }
    FilteredSumInstance resident(table, limit, backend, Memory::resident);
    visit(resident);
    if (backend == Backend::cpu) return;
    if (table.rows * 20 > machine().memory_bytes / 4) return;  // too large to pin
    FilteredSumInstance pinned(table, limit, backend, Memory::pinned);
    visit(pinned);
  };
  if (!request.input.empty()) return visit_table(Table(request.input));
  for (const std::int64_t n : sizes_of(request, problem(request.problem))) visit_table(Table(n));
}

}  // namespace

constexpr Study::Value kPageable[] = {{"transfer", "pageable"}};
constexpr Study::Value kPinned[] = {{"transfer", "pinned"}};
constexpr Study::Value kStreams[] = {{"transfer", "streams"}};
constexpr Study kStudies[] = {{.name = "balkesen2012"},
                              {.name = "balkesen2012-pageable", .settings = kPageable},
                              {.name = "balkesen2012-pinned", .settings = kPinned},
                              {.name = "balkesen2012-streams", .settings = kStreams},
                              {.name = "sizes", .sizes = kSweep},
                              {.name = "threads", .sizes = kLarge, .scales = true}};

extern constexpr Problem kProblem{.info = []() -> ProblemInfo {
                                    return {.name = "filtered-sum",
                                            .rungs = rungs(),
                                            .inputs = kInputs,
                                            .usual_sizes = kLineitemRows,
                                            .settings = kSettings};
                                  },
                                  .visit_instances = visit_instances,
                                  .studies = kStudies};

}  // namespace upsweep::impl::filtered_sum
