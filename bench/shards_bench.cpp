// SPDX-License-Identifier: Apache-2.0
// bench/shards_bench.cpp: times arrays, lists and tables in shards on 1, 2, 4 … GPUs, and one shard on one GPU.
//
//   shards_bench [LOG2_ELEMENTS_OF_A_SHARD] [SAMPLES]
//
// Prints a line of JSON for each type and number of GPUs. Times are medians of calls that are waited for, by the host's
// clock; all variants of a line run in turn.
//
// `of_bound` is the minimum possible time as a fraction of the measured time. With several GPUs, a shard of a scan is
// reduced and scanned in that time. So are the starts and stops that offsets are made of. For lists, the minimum is the
// time of a single shard. Lists have 16 elements; their offsets are made from separate starts and stops. A table has
// four int64 columns, an eighth of the elements long.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/times.hpp"
#include "upsweep/device_table.hpp"
#include "upsweep/list_shards.hpp"
#include "upsweep/query_shards.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/shards.hpp"

namespace {

using upsweep::bench::median;
using upsweep::bench::require;
using upsweep::bench::seconds_of;
using upsweep::gpu::Group;
using upsweep::gpu::Policy;

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

/// Compares `call` on a group with `alone` on its first member. With several members, the time of `before` is added.
void compare(
    std::string_view problem, std::string_view type, int gpus, std::int64_t n, int samples,
    const std::function<void()>& call, const std::function<void()>& alone,
    const std::function<void()>& before = [] {}) {
  std::vector<double> together, one, first;
  for (int sample = -3; sample < samples; ++sample) {
    const double all = seconds_of(call);
    const double single = seconds_of(alone);
    const double twice = seconds_of(before);
    if (sample < 0) continue;
    together.push_back(all);
    one.push_back(single);
    first.push_back(twice);
  }
  const double seconds = median(together);
  const double single = median(one);
  const double least = single + (gpus > 1 ? median(first) : 0);
  fmt::print(
      R"({{"problem": "{}", "type": "{}", "gpus": {}, "elements_each": {}, "seconds": {:.7f}, "one_gpu_s": {:.7f}, )"
      R"("times_one_gpu": {:.3f}, "of_bound": {:.3f}}})"
      "\n",
      problem, type, gpus, n, seconds, single, gpus * single / seconds, least / seconds);
}

void measure_lists(int gpus, std::int64_t n, int samples) {
  constexpr std::int64_t kLength = 16;
  const std::int64_t count = n / kLength;
  std::vector<int> devices;
  std::vector<upsweep::gpu::OffsetsShard<std::int64_t>> bounds;
  std::vector<upsweep::gpu::ListsShard<std::int32_t>> lists;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count) + 1);
  for (int device = 0; device < gpus; ++device) {
    devices.push_back(device);
    std::int64_t* const starts = allocate<std::int64_t>(device, count);
    std::int64_t* const stops = allocate<std::int64_t>(device, count);
    std::int64_t* const global = allocate<std::int64_t>(device, count + 1);
    bounds.push_back({starts, stops, count, allocate<std::int64_t>(device, count + 1)});
    const auto bytes = offsets.size() * sizeof(std::int64_t);
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<std::int64_t>(i) * kLength;
    require(cudaMemcpy(starts, offsets.data(), bytes - sizeof(std::int64_t), cudaMemcpyHostToDevice));
    require(cudaMemcpy(stops, offsets.data() + 1, bytes - sizeof(std::int64_t), cudaMemcpyHostToDevice));
    for (std::int64_t& offset : offsets) offset += device * n;
    require(cudaMemcpy(global, offsets.data(), bytes, cudaMemcpyHostToDevice));
    lists.push_back({upsweep::Lists::by_offsets(global, count), allocate<std::int32_t>(device, n), n,
                     allocate<std::int32_t>(device, count)});
  }
  const Group group(devices);
  require(cudaSetDevice(0));
  const Policy alone = group.policy(0);
  std::int64_t* const sum = allocate<std::int64_t>(0, 1);
  compare(
      "offsets", "int64", gpus, count, samples, [&] { upsweep::offsets(group, bounds); },
      [&] { upsweep::offsets(alone, bounds[0].starts, bounds[0].stops, count, bounds[0].offsets); },
      [&] {
        for (const std::int64_t* each : {bounds[0].starts, bounds[0].stops}) {
          upsweep::reduce_async(alone, each, count, sum, std::int64_t{0});
        }
        require(cudaStreamSynchronize(alone.stream));
      });
  compare(
      "segmented-reduce", "int32", gpus, n, samples, [&] { upsweep::segmented_reduce(group, lists); },
      [&] { upsweep::segmented_reduce(alone, lists[0].lists, lists[0].in, n, lists[0].out); });
  require(cudaFree(sum));
  for (const auto& shard : bounds) {
    require(cudaFree(const_cast<std::int64_t*>(shard.starts)));
    require(cudaFree(const_cast<std::int64_t*>(shard.stops)));
    require(cudaFree(shard.offsets));
  }
  for (const auto& shard : lists) {
    require(cudaFree(const_cast<void*>(shard.lists.starts)));
    require(cudaFree(const_cast<std::int32_t*>(shard.in)));
    require(cudaFree(shard.out));
  }
}

/// A table's rows: the columns that a query filters by, groups by, and adds up.
struct Columns {
  std::vector<std::int64_t> date, key, amount, price;

  explicit Columns(std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::uint64_t random = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U >> 20;
      date.push_back(static_cast<std::int64_t>(random % 2556));
      key.push_back(static_cast<std::int64_t>(random % 997));
      amount.push_back(static_cast<std::int64_t>(random % 50));
      price.push_back(static_cast<std::int64_t>(random % 100'003));
    }
  }
};

void measure_queries(int gpus, const upsweep::MemoryTable& table, std::int64_t rows, int samples) {
  std::vector<int> devices(static_cast<std::size_t>(gpus));
  std::iota(devices.begin(), devices.end(), 0);
  const Group group(devices);
  std::vector<std::unique_ptr<upsweep::DeviceTable>> own;
  std::vector<const upsweep::Table*> tables;
  for (const int device : devices) {
    own.push_back(std::make_unique<upsweep::DeviceTable>(group.policy(device), table));
    tables.push_back(own.back().get());
  }
  const auto ask = [&](std::string_view problem, const char* sql) {
    const upsweep::Query query(sql, table);
    const upsweep::Answer all = upsweep::run(query, group, tables);
    const upsweep::Answer one = query.run(group.policy(0), *tables[0]);
    const std::size_t last = one.columns.size() - 1;
    bool is_right = all.rows.size() == one.rows.size();
    for (std::size_t row = 0; is_right && row < one.rows.size(); ++row) {
      is_right = all.rows[row][last].exact == gpus * one.rows[row][last].exact;
    }
    if (!is_right) throw std::runtime_error("the answers differ");
    compare(
        problem, "int64", gpus, rows, samples, [&] { (void)upsweep::run(query, group, tables); },
        [&] { (void)query.run(group.policy(0), *tables[0]); });
  };
  ask("filtered query", "SELECT SUM(amount * price) FROM t WHERE date >= 365 AND date < 730 AND amount < 24");
  ask("grouped query", "SELECT key, SUM(amount), COUNT(*) FROM t GROUP BY key");
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
    const std::int64_t rows = (std::int64_t{1} << log2) / 8;
    const Columns columns(rows);
    upsweep::MemoryTable table;
    table.add("date", columns.date).add("key", columns.key).add("amount", columns.amount).add("price", columns.price);
    for (int gpus = 1; gpus <= devices; gpus *= 2) {
      measure<std::int32_t>("int32", gpus, std::int64_t{1} << log2, samples);
      measure<double>("float64", gpus, std::int64_t{1} << (log2 - 1), samples);
      measure_lists(gpus, std::int64_t{1} << log2, samples);
      measure_queries(gpus, table, rows, samples);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "shards_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
