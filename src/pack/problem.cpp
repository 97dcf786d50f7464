// SPDX-License-Identifier: Apache-2.0
// pack/problem.cpp: the pack ladder in order, which rung runs a call, and the calls: validated, run, failures as Errors.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "core/ladder.hpp"
#include "pack/rung.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace packing {

// The ladder, from the naive loop up: every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_tbb, cpu_shares, cpu_staged;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_threads, &cpu_tbb, &cpu_shares, &cpu_staged};
constexpr Ladder<detail::PackCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// The rung that the policy names, or the top one. Throws unknown_rung, unsupported.
const Rung& choose(const detail::PackCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return usable(&cpu_staged, call, policy);
}

void require_column(const PackColumn& column, std::int64_t content) {
  const std::int64_t size = column.element_size;
  if (size != 1 && size != 2 && size != 4 && size != 8 && size != 16) {
    throw Error(Code::invalid_argument,
                "elements of " + std::to_string(size) + " bytes: columns are of 1, 2, 4, 8 or 16 bytes");
  }
  detail::require_array(column.data, column.length, "content");
  detail::require_array(column.out, column.capacity, "output");
  if (column.length == content) return;
  throw Error(Code::unequal_lengths, "columns of " + std::to_string(content) + " and " + std::to_string(column.length) +
                                         " elements: they must have as many");
}

/// Throws what is wrong with a call before a list is looked at; fills in what follows from the columns.
void require_call(detail::PackCall& call) {
  call.capacity = std::numeric_limits<std::int64_t>::max();
  if (!call.columns.empty()) call.content = call.columns.front().length;
  for (const PackColumn& column : call.columns) {
    require_column(column, call.content);
    call.capacity = std::min(call.capacity, column.capacity);
  }
  if (call.content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
  if (call.columns.empty() && call.offsets_given) call.content = std::numeric_limits<std::int64_t>::max();
  detail::require_lists(call.lists, call.content);
  if (call.offsets == nullptr) throw Error(Code::invalid_argument, "offsets: a null pointer");
}

}  // namespace
}  // namespace packing

std::string_view detail::run_pack(const Policy& policy, PackCall& call) {
  packing::require_call(call);
  require_policy(policy);
  const auto& rung = packing::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (status.code == Code::out_of_memory) throw_status(status, rung.info.id);
  if (!status.ok()) packing::throw_bad_packed(call, status);
  return rung.info.id;
}

}  // namespace upsweep
