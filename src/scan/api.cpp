// SPDX-License-Identifier: Apache-2.0
// scan/api.cpp: validates a scan, runs its rung and turns a failure into an Error.
#include <string>

#include "scan/ladder.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

std::string_view run_scan(const Policy& policy, const ScanCall& call) {
  if (!same_or_apart(call.in, call.n * call.in_size, call.out, call.n * call.out_size)) {
    throw Error(Code::invalid_argument, "input and output overlap: they must be the same array or lie apart");
  }
  require_policy(policy);
  const auto& rung = scan_rung(call, policy);
  const Status status = rung.run(call, policy);
  if (status.ok()) return rung.info.id;
  if (status.code == Code::overflow) {
    throw Error(Code::overflow,
                "output " + std::to_string(status.index) + " does not fit " + std::string(name(call.out_type)) +
                    ": scan into a wider type, or let it wrap around",
                status.index);
  }
  throw_status(status, rung.info.id);
}

}  // namespace upsweep::detail
