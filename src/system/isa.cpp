// SPDX-License-Identifier: Apache-2.0
// system/isa.cpp: asks the CPU once which instruction sets it supports.
#include "system/isa.hpp"

namespace upsweep {
namespace {

Isa probe() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
    return Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return Isa::avx2;
  return Isa::baseline;
}

}  // namespace

Isa best_isa() noexcept {
  static const Isa best = probe();
  return best;
}

bool has_isa(Isa isa) noexcept { return isa <= best_isa(); }

}  // namespace upsweep
