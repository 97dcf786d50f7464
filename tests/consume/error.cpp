// SPDX-License-Identifier: Apache-2.0
// tests/consume/error.cpp: an error thrown by the library, caught by the program.
#include "upsweep/error.hpp"

#include <cstdint>
#include <vector>

#include "upsweep/reduce.hpp"

int main() {
  const std::vector<std::int64_t> ones(1000, 1);
  try {
    (void)upsweep::reduce(upsweep::par.with_rung("cpu.nothing"), ones, std::int64_t{0});
  } catch (const upsweep::Error& error) {
    return upsweep::word(error.code()) == "unknown_rung" ? 0 : 1;
  }
  return 1;
}
