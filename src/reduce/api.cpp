// SPDX-License-Identifier: Apache-2.0
// reduce/api.cpp: validates a reduction, runs its rung and turns a failure into an Error.
#include <string>

#include "reduce/ladder.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

std::string_view run_reduce(const Policy& policy, const ReduceCall& call) {
  require_policy(policy);
  const auto& rung = reduce_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  throw_status(status, rung.info.id);
}

void throw_sum_overflow(Type type) {
  throw Error(Code::overflow,
              "the sum does not fit " + std::string(name(type)) + ": reduce into a wider type, or let it wrap around");
}

}  // namespace upsweep::detail
