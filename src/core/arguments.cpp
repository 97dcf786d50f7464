// SPDX-License-Identifier: Apache-2.0
// core/arguments.cpp: the checks of a call's arrays before a rung runs.
#include <cstdint>
#include <string>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

void refuse_array(std::int64_t n, const char* what) {
  throw Error(Code::invalid_argument, n < 0 ? std::string(what) + ": the length " + std::to_string(n) + " is negative"
                                            : std::string(what) + ": a null pointer with length " + std::to_string(n));
}

void require_equal_lengths(std::int64_t in, std::int64_t out) {
  if (in == out) return;
  throw Error(Code::unequal_lengths, "the input has " + std::to_string(in) + " elements, the output " +
                                         std::to_string(out) + ": they must be equal");
}

}  // namespace upsweep::detail
