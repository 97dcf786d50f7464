// SPDX-License-Identifier: Apache-2.0
// tests/cuda_architectures_test.cpp: two files of a program are compiled for different architectures; each uses its own
// kernels.
#include <gtest/gtest.h>

#include <string>

#include "cuda_architectures.hpp"
#include "device_array.hpp"

namespace upsweep {
namespace {

using tests::GpuTest;

TEST_F(GpuTest, EachFileRunsTheKernelsThatItWasCompiledFor) {
  const auto& device = gpu::devices()[0];
  std::string rung;
  EXPECT_EQ(tests::scan_compiled_for_80(rung), "");
  EXPECT_EQ(rung, "cuda.lookback");
  if (device.major < 9) GTEST_SKIP() << "needs compute capability 9.0";
  EXPECT_EQ(tests::scan_compiled_for_90(rung), "");
  EXPECT_EQ(rung, "cuda.lookahead");
  EXPECT_EQ(tests::scan_compiled_for_80(rung), "");
}

}  // namespace
}  // namespace upsweep
