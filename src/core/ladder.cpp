// SPDX-License-Identifier: Apache-2.0
// core/ladder.cpp: the reasons why a rung is refused, and the error bound that its float results are verified against.
#include "core/ladder.hpp"

#include <bit>
#include <cstdint>

#include "system/isa.hpp"
#include "upsweep/detail/no_cuda.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
double FloatBound::factor(std::int64_t i, std::int64_t n) const noexcept {
  if (serial) return static_cast<double>(i);
  const int log2n = n > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))) : 0;
  return 2.0 * (log2n + constant);
}

void require_policy(const Policy& policy) {
  if (policy.threads < 0) {
    throw Error(Code::invalid_argument,
                "threads must be 0 (every core) or more, not " + std::to_string(policy.threads));
  }
  detail::require_isa(policy.isa);
}

void detail::require_isa(Isa isa) {
  if (const char* reason = isa_refusal(isa)) throw Error(Code::unsupported, reason);
}

void throw_status(const Status& status, std::string_view rung) {
  const char* reason = status.reason != nullptr             ? status.reason
                       : status.code == Code::out_of_memory ? "not enough memory for its carries"
                                                            : "failed";
  throw Error(status.code, std::string(rung) + ": " + reason, status.index);
}

void detail::require_built(std::string_view rung) {
  if (!rung.starts_with("cuda.") || gpu::is_built()) return;
  throw Error(Code::not_built, "rung '" + std::string(rung) + "': " + detail::kNoCuda);
}

const char* backend_refusal(Backend backend, bool on_device) noexcept {
  if (backend == Backend::cpu) return on_device ? "runs on host memory: omit the gpu::Policy" : nullptr;
  if (gpu::devices().empty()) return "no device";
  return on_device ? nullptr : "runs on device memory: call it with a gpu::Policy";
}

const char* isa_refusal(Isa isa) noexcept {
  if (has_isa(isa)) return nullptr;
  return isa == Isa::avx512 ? "this CPU has no AVX-512 (F, BW, DQ, VL)" : "this CPU has no AVX2";
}

}  // namespace upsweep
