// SPDX-License-Identifier: Apache-2.0
// segmented/problem.cpp: the segmented ladder in order, which rung runs a call, and the call: validated, run, failures as Errors.
#include <string>

#include "core/lists.hpp"
#include "segmented/rung.hpp"
#include "upsweep/detail/segmented_call.hpp"

namespace upsweep {
namespace segmented {

// The ladder, from the naive loop up: every rung is declared in the file of its name.
extern const Rung cpu_serial, cpu_threads, cpu_shares, cpu_tbb, cpu_columns;

constexpr const Rung* kRungs[] = {&cpu_serial, &cpu_threads, &cpu_shares, &cpu_tbb, &cpu_columns};
constexpr Ladder<const detail::SegmentedCall> kLadder = kRungs;

std::vector<RungInfo> rungs() { return infos(kLadder); }

namespace {

/// The rung that the policy names, or the top one that fits the call. Throws unknown_rung, unsupported.
const Rung& choose(const detail::SegmentedCall& call, const Policy& policy) {
  if (!policy.rung.empty()) return named_rung(kLadder, call, policy);
  return cpu_columns;
}

void require_arrays(const detail::SegmentedCall& call) {
  detail::require_array(call.in, call.n, "content");
  detail::require_lists(call.lists, call.n);
  detail::require_array(call.out, call.lists.count, "output");
  detail::require_mask(call.valid, call.n, "the validity of the elements");
  const std::int64_t bytes = call.lists.count * call.out_size;
  const auto require_apart = [&](const void* in, std::int64_t in_bytes, const char* what) {
    if (call.out != in && detail::same_or_apart(in, in_bytes, call.out, bytes)) return;
    if (bytes == 0 || in_bytes == 0) return;
    throw Error(Code::invalid_argument, std::string("the output overlaps ") + what + ": it needs memory of its own");
  };
  require_apart(call.in, call.n * call.in_size, "the content");
  if (call.valid.is_given()) require_apart(call.valid.data, call.valid.bytes(), "the validity of the elements");
  if (call.lists.valid.is_given()) {
    require_apart(call.lists.valid.data, call.lists.valid.bytes(), "the validity of the lists");
  }
  if (call.lists.has_size) return;
  const std::int64_t bounds = call.lists.count * size_of(call.lists.type);
  require_apart(call.lists.starts, bounds, "the starts");
  require_apart(call.lists.stops, bounds, "the stops");
}

[[noreturn]] void throw_failure(const Status& status, const detail::SegmentedCall& call, std::string_view rung) {
  if (status.index == kNoIndex) throw_status(status, rung);
  if (status.code != Code::overflow) throw_bad_list(call.lists, status.index, call.n);
  throw Error(Code::overflow,
              "the sum of list " + std::to_string(status.index) + " does not fit " + std::string(name(call.out_type)) +
                  ": reduce into a wider type, or let it wrap around",
              status.index);
}

}  // namespace
}  // namespace segmented

std::string_view detail::run_segmented(const Policy& policy, const SegmentedCall& call) {
  segmented::require_arrays(call);
  require_policy(policy);
  const auto& rung = segmented::choose(call, policy);
  const Status status = rung.run(call, policy);
  if (!status.ok()) segmented::throw_failure(status, call, rung.info.id);
  return rung.info.id;
}

}  // namespace upsweep
