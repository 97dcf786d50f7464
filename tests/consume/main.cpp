// SPDX-License-Identifier: Apache-2.0
// tests/consume/main.cpp: a program of somebody else's that uses an installed upsweep.
#include <cstdio>

#include "upsweep/error.hpp"
#include "upsweep/types.hpp"

int main() {
  const bool works =
      upsweep::word(upsweep::Code::overflow) == "overflow" && upsweep::type_of<double>() == upsweep::Type::float64;
  std::puts(works ? "upsweep works" : "upsweep does not work");
  return works ? 0 : 1;
}
