// SPDX-License-Identifier: Apache-2.0
// core/arguments.cpp: what every call checks about its arrays before a rung sees them.
#include <cstdint>
#include <string>

#include "upsweep/detail/scan_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::detail {

bool same_or_apart(const void* in, std::int64_t in_bytes, const void* out, std::int64_t out_bytes) noexcept {
  if (in == out) return in_bytes == out_bytes;
  const auto a = reinterpret_cast<std::uintptr_t>(in);
  const auto b = reinterpret_cast<std::uintptr_t>(out);
  return a + static_cast<std::uintptr_t>(in_bytes) <= b || b + static_cast<std::uintptr_t>(out_bytes) <= a;
}

void require_array(const void* data, std::int64_t n, const char* what) {
  if (n < 0)
    throw Error(Code::invalid_argument, std::string(what) + ": the length " + std::to_string(n) + " is negative");
  if (data == nullptr && n > 0) {
    throw Error(Code::invalid_argument, std::string(what) + ": a null pointer with length " + std::to_string(n));
  }
}

void require_equal_lengths(std::int64_t in, std::int64_t out) {
  if (in == out) return;
  throw Error(Code::unequal_lengths, "the input has " + std::to_string(in) + " elements, the output " +
                                         std::to_string(out) + ": they must be equal");
}

}  // namespace upsweep::detail
