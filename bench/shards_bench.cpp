// SPDX-License-Identifier: Apache-2.0
// bench/shards_bench.cpp: arrays in shards on 1, 2, 4 … GPUs, scanned and reduced, beside what a shard takes on one.
//
//   shards_bench [LOG2_ELEMENTS_OF_A_SHARD] [SAMPLES]
//
// Prints a line of JSON for each type and number of GPUs: medians of calls that are waited for, by the host's clock, all of a line
// taken in turn. `of_bound`: the least time that it could take, of its own. A shard of a scan is reduced and scanned where there are
// several GPUs.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "upsweep/reduce.hpp"
#include "upsweep/shards.hpp"

namespace {

using upsweep::gpu::Group;
using upsweep::gpu::Policy;
using Clock = std::chrono::steady_clock;

void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double seconds_of(const std::function<void()>& call) {
  const auto begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Memory of a device.
template <class T>
T* allocate(int device, std::int64_t n) {
  require(cudaSetDevice(device));
  void* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<std::size_t>(n) * sizeof(T)));
  require(cudaMemset(memory, 1, static_cast<std::size_t>(n) * sizeof(T)));
  require(cudaDeviceSynchronize());
  return static_cast<T*>(memory);
}

template <class T>
void measure(std::string_view type, int gpus, std::int64_t n, int samples) {
  std::vector<int> devices;
  std::vector<upsweep::gpu::Shard<T, T>> shards;
  for (int device = 0; device < gpus; ++device) {
    devices.push_back(device);
    shards.push_back({allocate<T>(device, n), n, allocate<T>(device, n)});
  }
  const Group group(devices);
  require(cudaSetDevice(0));
  const Policy alone = group.policy(0);
  T* const total = allocate<T>(0, 1);
  std::vector<double> together, reduced_together, scan, read, copy;
  const auto wait = [&] { require(cudaStreamSynchronize(alone.stream)); };
  for (int sample = -3; sample < samples; ++sample) {
    const double all = seconds_of([&] {
      upsweep::inclusive_scan(group, shards);
      group.wait();
    });
    const double all_reduced = seconds_of([&] {
      upsweep::reduce_async(group, shards, total, T{0});
      group.wait();
    });
    const double scanned = seconds_of([&] {
      upsweep::inclusive_scan(alone, shards[0].in, n, shards[0].out);
      wait();
    });
    const double reduced = seconds_of([&] {
      upsweep::reduce_async(alone, shards[0].in, n, total, T{0});
      wait();
    });
    const double copied = seconds_of([&] {
      require(cudaMemcpyAsync(shards[0].out, shards[0].in, static_cast<std::size_t>(n) * sizeof(T),
                              cudaMemcpyDeviceToDevice, alone.stream));
      wait();
    });
    if (sample < 0) continue;
    together.push_back(all);
    reduced_together.push_back(all_reduced);
    scan.push_back(scanned);
    read.push_back(reduced);
    copy.push_back(copied);
  }
  const double bound = gpus == 1 ? median(scan) : median(scan) + median(read);
  const auto print = [&](std::string_view problem, double seconds, double one, double least) {
    fmt::print(
        R"({{"problem": "{}", "type": "{}", "gpus": {}, "elements_each": {}, "seconds": {:.7f}, "one_gpu_s": {:.7f}, )"
        R"("copy_s": {:.7f}, "times_one_gpu": {:.3f}, "of_bound": {:.3f}}})"
        "\n",
        problem, type, gpus, n, seconds, one, median(copy), gpus * one / seconds, least / seconds);
  };
  print("scan", median(together), median(scan), bound);
  print("reduce", median(reduced_together), median(read), median(read));
  for (const auto& shard : shards) {
    require(cudaFree(const_cast<T*>(shard.in)));
    require(cudaFree(shard.out));
  }
  require(cudaFree(total));
}

}  // namespace

int main(int count, char** arguments) {
  const int log2 = count > 1 ? std::atoi(arguments[1]) : 28;
  const int samples = count > 2 ? std::atoi(arguments[2]) : 21;
  const int devices = static_cast<int>(upsweep::gpu::devices().size());
  if (devices == 0) {
    fmt::print(stderr, "shards_bench: no CUDA device on this machine\n");
    return 1;
  }
  try {
    for (int gpus = 1; gpus <= devices; gpus *= 2) {
      measure<std::int32_t>("int32", gpus, std::int64_t{1} << log2, samples);
      measure<double>("float64", gpus, std::int64_t{1} << (log2 - 1), samples);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "shards_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
