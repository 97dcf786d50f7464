// SPDX-License-Identifier: Apache-2.0
// tests/guide_arrays.hpp: the data of the guide's examples on a GPU, and the comparison of both libraries' outputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "device_array.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::tests {

/// Each test computes the same result twice: into `theirs` with another library, into `ours` with upsweep.
class GuideTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    stream = own_.emplace();
    policy = gpu::Policy{}.with_stream(stream);
    std::mt19937_64 random(7);
    const auto size = static_cast<std::size_t>(n);
    std::vector<int> numbers(size);
    for (int& each : numbers) each = static_cast<int>(random() % 200) - 100;
    std::vector<int> sorted(size);
    for (int& each : sorted) each = static_cast<int>(random() % 30'000);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::uint8_t> booleans(size);
    for (auto& each : booleans) each = static_cast<std::uint8_t>(random() % 2);
    std::vector<std::int64_t> bounds{0};  // offsets of lists with 0 to 7 elements; the last list is longer
    while (bounds.back() + 7 < n) bounds.push_back(bounds.back() + static_cast<std::int64_t>(random() % 8));
    bounds.back() = n;
    lists = std::ssize(bounds) - 1;
    std::vector<std::int64_t> each_length;
    for (std::size_t i = 1; i < bounds.size(); ++i) each_length.push_back(bounds[i] - bounds[i - 1]);
    x = array(numbers);
    keys = array(sorted);
    flags = array(booleans);
    offsets = array(bounds);
    lengths = array(each_length);
    theirs = output<int>(n, kTheirs);
    ours = output<int>(n, kOurs);
    their_keys = output<int>(n, kTheirs);
    our_keys = output<int>(n, kOurs);
    their_longs = output<std::int64_t>(n + 1, kTheirs);
    our_longs = output<std::int64_t>(n + 1, kOurs);
    count = output<int>(1, kTheirs);
    require(cudaDeviceSynchronize());  // the stream does not wait for the default one
  }

  /// Copies the values to the GPU, where they stay until the test ends.
  template <class T>
  T* array(const std::vector<T>& values) {
    const auto made = std::make_shared<DeviceArray<T>>(values, 0);
    arrays_.push_back(made);
    return made->data();
  }
  /// Buffers on the GPU. The two libraries' buffers have different bytes, so that elements that neither writes are not
  /// equal.
  template <class T>
  T* output(std::int64_t elements, int byte) {
    T* const memory = array(std::vector<T>(static_cast<std::size_t>(elements)));
    tests::fill(memory, byte, static_cast<std::size_t>(elements) * sizeof(T));
    return memory;
  }
  /// Returns the values of an array on the GPU, after all work is done.
  template <class T>
  static std::vector<T> values(const T* data, std::int64_t elements) {
    std::vector<T> host(static_cast<std::size_t>(elements));
    require(cudaDeviceSynchronize());
    require(cudaMemcpy(host.data(), data, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  template <class T>
  static void expect_same(const T* one, const T* other, std::int64_t elements) {
    ASSERT_GT(elements, 0);
    EXPECT_TRUE(values(one, elements) == values(other, elements));
  }

  /// Maps distinct keys in any order to their values.
  static std::map<int, int> values_by_key(const int* keys, const int* values_of, std::int64_t elements) {
    const std::vector<int> all = values(values_of, elements);
    std::map<int, int> by_key;
    for (std::size_t i = 0; const int key : values(keys, elements)) by_key.emplace(key, all[i++]);
    return by_key;
  }

  static constexpr int kTheirs = 1;
  static constexpr int kOurs = 2;

 public:
  // Names as in the guide's text; pointers to device memory.
  static constexpr int n = 100'003;
  std::int64_t lists = 0;
  cudaStream_t stream = nullptr;
  gpu::Policy policy;
  const int* x = nullptr;                  // n numbers
  const int* keys = nullptr;               // n sorted keys
  const std::uint8_t* flags = nullptr;     // n booleans
  const std::int64_t* offsets = nullptr;   // of `lists` lists in n elements
  const std::int64_t* lengths = nullptr;   // of these lists
  int *theirs = nullptr, *ours = nullptr;  // of n
  int *their_keys = nullptr, *our_keys = nullptr;
  std::int64_t *their_longs = nullptr, *our_longs = nullptr;  // of n + 1
  int* count = nullptr;

 private:
  std::optional<OwnStream> own_;
  std::vector<std::shared_ptr<void>> arrays_;
};

}  // namespace upsweep::tests
