// SPDX-License-Identifier: Apache-2.0
// tests/consume/machine.cpp: what the machine is.
#include "upsweep/machine.hpp"

int main() { return upsweep::machine().threads >= 1 && !upsweep::name(upsweep::machine().isa).empty() ? 0 : 1; }
