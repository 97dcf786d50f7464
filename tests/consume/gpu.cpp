// SPDX-License-Identifier: Apache-2.0
// tests/consume/gpu.cpp: lists the GPUs, if any.
#include "upsweep/gpu.hpp"

int main() { return upsweep::gpu::is_built() || upsweep::gpu::devices().empty() ? 0 : 1; }
