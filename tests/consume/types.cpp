// SPDX-License-Identifier: Apache-2.0
// tests/consume/types.cpp: the name of what is summed.
#include "upsweep/types.hpp"

#include <vector>

#include "upsweep/reduce.hpp"

int main() {
  const std::vector<float> halves(1000, 0.5F);
  return upsweep::name(upsweep::type_of<float>()) == "float32" && upsweep::reduce(upsweep::par, halves, 0.0F) == 500.0F
             ? 0
             : 1;
}
