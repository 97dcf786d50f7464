// SPDX-License-Identifier: Apache-2.0
// bench/chunked_bench.cpp: times scans, reductions and queries of host arrays on a GPU, chunk by chunk.
//
//   chunked_bench [GB] [SAMPLES]
//
// Prints a line of JSON for each call, kind of memory and limit of device memory. Times are medians by the host's
// clock; all variants of a line run in turn.
//
// - `gbps`: bytes of the input per second.
// - `link_gbps`: copies of pinned memory, in one direction for reduce, in both directions at once for scan.
// - `host_gbps`: the limit of host memory, from the measured copy rate. Memory that is not pinned is read, written and
//   read again, and nothing stays in its caches.
// - `of_limit`: gbps as a fraction of the smaller of these limits.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench/times.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/query.hpp"

namespace {

using upsweep::gpu::Chunked;
using Array = std::span<double>;
using upsweep::bench::median;
using upsweep::bench::require;
using upsweep::bench::seconds_of;

std::string_view word(upsweep::gpu::Bound bound) {
  constexpr std::string_view kWords[] = {"to_device", "to_host", "host_memory", "kernels"};
  return kWords[static_cast<int>(bound)];
}

struct Machine {
  upsweep::gpu::LinkRates link;
  double copy;  // bytes of input per second
};

void measure(bool pinned, std::int64_t device_bytes, Array in, Array out, const Machine& machine, int samples) {
  const double bytes = static_cast<double>(in.size_bytes());
  const Chunked scans({}, device_bytes);
  const Chunked reductions({}, device_bytes);
  std::vector<double> scan, reduce, cpu_scan, cpu_reduce;
  double sum = 0;
  for (int sample = -1; sample < samples; ++sample) {
    const double scanned = seconds_of([&] { upsweep::inclusive_scan(scans, in, out); });
    const double reduced = seconds_of([&] { sum = upsweep::reduce(reductions, in, 0.0); });
    const double by_cpu = seconds_of([&] { upsweep::inclusive_scan(upsweep::par, in, out); });
    const double reduced_by_cpu = seconds_of([&] {
      if (upsweep::reduce(upsweep::par, in, 0.0) != sum) throw std::runtime_error("the sums differ");
    });
    if (sample < 0) continue;
    scan.push_back(scanned);
    reduce.push_back(reduced);
    cpu_scan.push_back(by_cpu);
    cpu_reduce.push_back(reduced_by_cpu);
  }
  const auto print = [&](std::string_view problem, const Chunked& chunked, double seconds, double cpu, double link,
                         double host) {
    const double rate = bytes / seconds;
    const auto bound = upsweep::gpu::bound_of(chunked.use());
    fmt::print(
        R"({{"problem": "{}", "memory": "{}", "bytes": {:.0f}, "device_bytes": {}, "used": {}, "seconds": {:.5f}, )"
        R"("gbps": {:.2f}, "link_gbps": {:.2f}, "host_gbps": {}, "of_limit": {:.3f}, "bound": "{}", "share": {:.3f}, )"
        R"("to_device_gbps": {:.2f}, "cpu_s": {:.5f}, "cpu_gbps": {:.2f}}})"
        "\n",
        problem, pinned ? "pinned" : "pageable", bytes, device_bytes, chunked.use().device_bytes, seconds, rate / 1e9,
        link / 1e9, pinned ? "null" : fmt::format("{:.2f}", host / 1e9), rate / std::min(link, host), word(bound.bound),
        bound.share, static_cast<double>(chunked.use().to_device) / chunked.use().times.to_device / 1e9, cpu,
        bytes / cpu / 1e9);
  };
  // Memory that is not pinned is read, written and read again on its way to the GPU, and again on its way back.
  constexpr double kNoLimit = 1e18;
  print("reduce", reductions, median(reduce), median(cpu_reduce), machine.link.to_device,
        pinned ? kNoLimit : machine.copy / 3);
  print("scan", scans, median(scan), median(cpu_scan), machine.link.both, pinned ? kNoLimit : machine.copy / 6);
}

/// Like TPC-H's Q6: four columns of 8 bytes.
void measure_query(std::int64_t device_bytes, const upsweep::MemoryTable& table, const Machine& machine, int samples) {
  const upsweep::Query query(
      "SELECT SUM(price * discount), COUNT(*) FROM t WHERE day < 40 AND discount > 3 AND quantity < 24", table);
  std::vector<double> there, cpu;
  std::int64_t bytes = 0;
  for (int sample = -1; sample < samples; ++sample) {
    upsweep::Answer found;
    const double seconds =
        seconds_of([&] { found = query.run(upsweep::gpu::Policy{}, table, {}, {.device_bytes = device_bytes}); });
    upsweep::Answer expected;
    const double by_cpu = seconds_of([&] { expected = query.run(upsweep::par, table); });
    if (found.rows[0][0].exact != expected.rows[0][0].exact || found.rows_by_cpu > 0)
      throw std::runtime_error("the answers differ");
    bytes = found.bytes_to_device;
    if (sample < 0) continue;
    there.push_back(seconds);
    cpu.push_back(by_cpu);
  }
  const double rate = static_cast<double>(bytes) / median(there);
  fmt::print(
      R"({{"problem": "query", "memory": "pageable", "bytes": {}, "device_bytes": {}, "seconds": {:.5f}, "gbps": {:.2f}, )"
      R"("link_gbps": {:.2f}, "host_gbps": {:.2f}, "of_limit": {:.3f}, "cpu_s": {:.5f}, "cpu_gbps": {:.2f}}})"
      "\n",
      bytes, device_bytes, median(there), rate / 1e9, machine.link.to_device / 1e9, machine.copy / 3e9,
      rate / std::min(machine.link.to_device, machine.copy / 3), median(cpu),
      static_cast<double>(bytes) / median(cpu) / 1e9);
}

void measure_queries(double gigabytes, const Machine& machine, int samples) {
  std::vector<std::vector<std::int64_t>> columns(4);
  upsweep::MemoryTable table;
  constexpr const char* kNames[] = {"day", "discount", "quantity", "price"};
  for (std::size_t c = 0; c < columns.size(); ++c) {
    columns[c].resize(static_cast<std::size_t>(gigabytes * (1 << 28)) / sizeof(std::int64_t));
    const auto modulus = static_cast<std::int64_t>(50 + 7 * c);
    for (std::size_t i = 0; i < columns[c].size(); ++i) columns[c][i] = static_cast<std::int64_t>(i) % modulus;
    table.add(kNames[c], columns[c]);
  }
  for (const std::int64_t device_bytes : {std::int64_t{0}, std::int64_t{1} << 30, std::int64_t{256} << 20}) {
    measure_query(device_bytes, table, machine, samples);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const double gigabytes = count > 1 ? std::atof(arguments[1]) : 8;
  const int samples = count > 2 ? std::atoi(arguments[2]) : 5;
  if (upsweep::gpu::devices().empty()) {
    fmt::print(stderr, "chunked_bench: no CUDA device on this machine\n");
    return 1;
  }
  try {
    const Machine machine{Chunked().measure_link(), upsweep::measure_memory().copy};
    fmt::print(R"({{"to_device_gbps": {:.2f}, "to_host_gbps": {:.2f}, "both_gbps": {:.2f}, "copy_gbps": {:.2f}}})"
               "\n",
               machine.link.to_device / 1e9, machine.link.to_host / 1e9, machine.link.both / 1e9, machine.copy / 1e9);
    measure_queries(gigabytes, machine, samples);
    std::vector<double> in(static_cast<std::size_t>(gigabytes * (1 << 30)) / sizeof(double), 1.0);
    std::vector<double> out(in.size());
    for (const bool pinned : {false, true}) {
      if (pinned) {
        for (std::vector<double>* array : {&in, &out}) {
          require(cudaHostRegister(array->data(), array->size() * sizeof(double), cudaHostRegisterDefault));
        }
      }
      for (const std::int64_t device_bytes : {std::int64_t{0}, std::int64_t{64} << 20}) {
        measure(pinned, device_bytes, in, out, machine, samples);
      }
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "chunked_bench: {}\n", error.what());
    return 1;
  }
  return 0;
}
