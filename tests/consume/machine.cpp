// SPDX-License-Identifier: Apache-2.0
// tests/consume/machine.cpp: describes the machine.
#include "upsweep/machine.hpp"

int main() {
  const upsweep::Machine& here = upsweep::machine();
  return here.threads >= 1 && !upsweep::name(here.isa).empty() && upsweep::bytes_text(1 << 20) == "1 MB" ? 0 : 1;
}
