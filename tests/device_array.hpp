// SPDX-License-Identifier: Apache-2.0
// tests/device_array.hpp: guarded memory on a GPU, memory that runs out, a stale error, and tests that need a GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/ladder.hpp"

namespace upsweep::tests {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

/// Like cudaMemset() and cudaMemcpy() on the device, but complete when they return. Those functions only enqueue work
/// in the default stream, and streams such as OwnStream do not wait for it.
inline void fill(void* to, int byte, std::size_t bytes) {
  require(cudaMemset(to, byte, bytes));
  require(cudaStreamSynchronize(nullptr));
}
inline void copy_in(void* to, const void* from, std::size_t bytes) {
  require(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  require(cudaStreamSynchronize(nullptr));
}

/// Leaves an error in the runtime, like a caller that has not queried it yet.
inline void leave_stale_error() { ASSERT_EQ(cudaSetDevice(9999), cudaErrorInvalidDevice); }

/// After an upsweep rung, the error must still be there for the caller to query; libraries clear it. Afterwards it is
/// cleared.
inline void expect_stale_error(const RungInfo& rung) {
  const cudaError_t last = cudaGetLastError();
  if (rung.kind == Kind::step) {
    EXPECT_EQ(last, cudaErrorInvalidDevice) << rung.id;
  }
}

/// Prints `skipped: no device` if there is none: CTest searches for this text.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::devices().empty()) GTEST_SKIP() << "skipped: no device";
  }
};

/// Skips the test if fewer than kGigabytes GB of device memory are free.
template <std::size_t kGigabytes>
class LargeGpuTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    std::size_t free = 0;
    std::size_t total = 0;
    require(cudaMemGetInfo(&free, &total));
    if (free >= (kGigabytes << 30)) return;
    GTEST_SKIP() << "needs " << kGigabytes << " GB of device memory, " << (free >> 30) << " are free";
  }
};

/// n elements on the device at a distance from a 256-byte boundary, poisoned, with guard bytes on both sides.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t n, std::int64_t misaligned_elements = 0)
      : n_(n),
        before_(kGuard + misaligned_elements * std::int64_t{sizeof(T)}),
        bytes_(before_ + n * std::int64_t{sizeof(T)} + kGuard) {
    void* memory = nullptr;
    require(cudaMalloc(&memory, static_cast<std::size_t>(bytes_)));
    memory_ = static_cast<std::byte*>(memory);
    fill(memory_, kPoison, static_cast<std::size_t>(bytes_));
  }
  DeviceArray(const std::vector<T>& values, std::int64_t misaligned_elements)
      : DeviceArray(std::ssize(values), misaligned_elements) {
    copy_in(data(), values.data(), values.size() * sizeof(T));
  }
  ~DeviceArray() { (void)cudaFree(memory_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  /// The value of an element that has not been written.
  [[nodiscard]] static T poisoned() {
    T element;
    std::memset(&element, kPoison, sizeof element);
    return element;
  }
  /// Poisons all elements again, so that a call that does not write them is detected.
  void poison() { fill(data(), kPoison, static_cast<std::size_t>(n_) * sizeof(T)); }
  [[nodiscard]] T* data() { return reinterpret_cast<T*>(memory_ + before_); }
  [[nodiscard]] std::vector<T> values() {
    std::vector<T> values(static_cast<std::size_t>(n_));
    require(cudaMemcpy(values.data(), data(), values.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
  /// Whether nothing outside the n elements was written.
  [[nodiscard]] bool intact() const {
    const std::int64_t after = bytes_ - kGuard;
    return is_poison(0, before_) && is_poison(after, kGuard);
  }

 private:
  static constexpr std::int64_t kGuard = 256;
  static constexpr int kPoison = 0xA5;

  [[nodiscard]] bool is_poison(std::int64_t first, std::int64_t count) const {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count));
    require(cudaMemcpy(bytes.data(), memory_ + first, bytes.size(), cudaMemcpyDeviceToHost));
    return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == kPoison; });
  }

  std::int64_t n_;
  std::int64_t before_;
  std::int64_t bytes_;
  std::byte* memory_ = nullptr;
};

/// A stream that does not wait for the default one.
class OwnStream {
 public:
  OwnStream() { require(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~OwnStream() { (void)cudaStreamDestroy(stream_); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor): stands for its handle

 private:
  cudaStream_t stream_ = nullptr;
};

/// The work that `work` enqueues in a stream, captured as a CUDA graph that can be launched repeatedly.
class Replay {
 public:
  template <class Work>
  Replay(cudaStream_t stream, Work work, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) : stream_(stream) {
    cudaGraph_t graph = nullptr;
    require(cudaStreamBeginCapture(stream, mode));
    work();
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&replay_, graph, 0));
    require(cudaGraphDestroy(graph));
  }
  ~Replay() { (void)cudaGraphExecDestroy(replay_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// The graph's outputs are poisoned before it is launched, so that a replay that does not write them is detected.
  template <class... Outputs>
    requires(sizeof...(Outputs) > 0)
  void launch(Outputs&... outputs) const {
    (outputs.poison(), ...);
    require(cudaGraphLaunch(replay_, stream_));
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t replay_ = nullptr;
};

/// Counts allocations, and refuses the given one and all later ones.
class CountingMemory final : public gpu::MemoryResource {
 public:
  explicit CountingMemory(int refused_from) : refused_from_(refused_from) {}
  void* allocate(std::int64_t bytes, gpu::Stream stream) override {
    if (++allocations_ >= refused_from_) throw Error(Code::device_memory, "no more");
    ++held;
    return gpu::pool().allocate(bytes, stream);
  }
  void deallocate(void* memory, std::int64_t bytes, gpu::Stream stream) noexcept override {
    --held;
    gpu::pool().deallocate(memory, bytes, stream);
  }
  int held = 0;

 private:
  int allocations_ = 0;
  int refused_from_;
};

}  // namespace upsweep::tests
