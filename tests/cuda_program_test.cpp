// SPDX-License-Identifier: Apache-2.0
// tests/cuda_program_test.cpp: programs compiled at run time, whose kernels several threads launch at the same time.
#include "cuda/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "device_array.hpp"
#include "scale/staging.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::GpuTest;

// Writes the last word of shared memory, to verify that it exists.
constexpr const char* kSource = R"(
struct Words { unsigned long long word[2]; };
extern "C" __global__ void touch(Words words) {
  extern __shared__ unsigned shared[];
  const unsigned last = static_cast<unsigned>(words.word[1] / 4 - 1);
  shared[last] = last;
  *reinterpret_cast<unsigned*>(words.word[0]) = shared[last];
})";

TEST_F(GpuTest, ThreadsShareAKernelWithDifferentSharedMemory) {
  double seconds = 0;
  std::shared_ptr<const gpu::Program> program;
  try {
    program = gpu::program_of(kSource, 0, seconds);
  } catch (const Error& error) {
    if (error.code() == Code::unsupported) GTEST_SKIP() << error.what();
    throw;
  }
  const auto most = gpu::launch_limits(0).shared_per_block;
  std::atomic<int> failed{0};
  const auto launch_often = [&](std::int64_t shared_bytes) {
    DeviceArray<unsigned> out(1);
    for (int i = 0; i < 3000; ++i) {
      const std::array<std::uint64_t, 2> words = {reinterpret_cast<std::uintptr_t>(out.data()),
                                                  static_cast<std::uint64_t>(shared_bytes)};
      try {
        program->launch("touch", 1, 32, shared_bytes, nullptr, words);
      } catch (const Error&) {
        ++failed;
      }
    }
    tests::require(cudaDeviceSynchronize());
    if (out.values()[0] != shared_bytes / 4 - 1) ++failed;
  };
  std::vector<std::thread> threads;
  for (const std::int64_t shared_bytes : {std::int64_t{4}, std::int64_t{60} << 10, most / 2 / 4 * 4, most / 4 * 4}) {
    threads.emplace_back(launch_often, shared_bytes);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

TEST_F(GpuTest, AProgramIsForItsDeviceWhicheverOneIsCurrent) {
  if (gpu::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  tests::require(cudaSetDevice(0));
  double seconds = 0;
  const auto program = gpu::program_of(kSource, 1, seconds);
  int current = -1;
  tests::require(cudaGetDevice(&current));
  EXPECT_EQ(current, 0);
  tests::require(cudaSetDevice(1));
  DeviceArray<unsigned> out(1);
  const std::int64_t most = gpu::launch_limits(1).shared_per_block / 4 * 4;
  const std::array<std::uint64_t, 2> words = {reinterpret_cast<std::uintptr_t>(out.data()),
                                              static_cast<std::uint64_t>(most)};
  program->launch("touch", 1, 32, most, nullptr, words);
  tests::require(cudaDeviceSynchronize());
  EXPECT_EQ(out.values()[0], most / 4 - 1);
  tests::require(cudaSetDevice(0));
}

// Other threads capture graphs in the mode that forbids unsafe calls in all threads, unless a thread permits them for
// itself.
TEST_F(GpuTest, IsMadeWhileAnotherThreadCapturesAGraph) {
  cudaStream_t stream = nullptr;
  tests::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  tests::require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  std::string failed;
  std::thread([&] {
    try {
      double seconds = 0;
      std::string source(kSource);
      source += "// not made before";
      (void)gpu::program_of(source, 0, seconds);
      gpu::Staging staging;
      (void)staging.host_array(0, std::int64_t{5} << 20);
    } catch (const Error& error) {
      if (error.code() != Code::unsupported) failed = error.what();
    }
  }).join();
  cudaGraph_t graph = nullptr;
  tests::require(cudaStreamEndCapture(stream, &graph));
  tests::require(cudaGraphDestroy(graph));
  tests::require(cudaStreamDestroy(stream));
  EXPECT_EQ(failed, "");
}

}  // namespace
}  // namespace upsweep
