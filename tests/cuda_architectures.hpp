// SPDX-License-Identifier: Apache-2.0
// tests/cuda_architectures.hpp: one scan in two files of a program, which are compiled for different architectures.
#pragma once

#include <string>

namespace upsweep::tests {

/// Runs a scan with an operator that both files define. Returns the error of its result, or an empty string. `rung`:
/// the rung that ran.
std::string scan_compiled_for_80(std::string& rung);
std::string scan_compiled_for_90(std::string& rung);

}  // namespace upsweep::tests
