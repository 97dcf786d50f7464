// SPDX-License-Identifier: Apache-2.0
// tests/consume/policy.cpp: a rung by its name.
#include "upsweep/policy.hpp"

#include <cstdint>
#include <vector>

#include "upsweep/reduce.hpp"

int main() {
  const std::vector<std::int64_t> ones(1000, 1);
  const upsweep::Policy policy = upsweep::par.with_threads(2).with_rung("cpu.threads");
  return upsweep::reduce(policy, ones, std::int64_t{0}).rung == "cpu.threads" ? 0 : 1;
}
