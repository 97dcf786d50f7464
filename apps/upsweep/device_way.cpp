// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/device_way.cpp: compares the rates of host memory and of the link, and reports the limit of the work.
#include "device_way.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "output.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::command {
namespace {

constexpr std::int64_t kWorthAsking = std::int64_t{1} << 30;
constexpr double kStartSeconds = 0.5;  // until a GPU executes its first call

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

double per_second(std::int64_t bytes, double seconds) { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }

/// The longest step and its share of the time. `name` is "files" if reading them took longer than any transfer step.
struct Limit {
  std::string_view name;
  double share;
};
Limit limit_of(const DeviceWay& way) {
  constexpr std::string_view kNames[] = {"to_device", "to_host", "host_memory", "kernels"};
  const gpu::BoundShare bound = gpu::bound_of(way.use);
  const double calls = way.seconds > 0 ? std::min(way.use.seconds / way.seconds, 1.0) : 0;
  if (1 - calls > bound.share * calls) return {"files", 1 - calls};
  return {kNames[static_cast<std::size_t>(bound.bound)], bound.share * calls};
}

/// Measures for a few milliseconds: enough to compare two rates that differ by a large factor.
MemoryRates glance_at_memory(int threads) {
  constexpr std::int64_t kBytes = std::int64_t{128} << 20;
  constexpr int kSamples = 3;
  const std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes);
  const auto fastest = [](const std::function<void()>& run) {
    double least = 1e9;
    for (int i = 0; i < kSamples; ++i) {
      const Stopwatch watch;
      run();
      least = std::min(least, watch.seconds());
    }
    return least;
  };
  const auto bytes = static_cast<double>(kBytes);
  return {.copy = 2 * bytes / fastest([&] { copy_bytes(to.data(), from.data(), kBytes, threads); }),
          .read = bytes / fastest([&] { (void)read_bytes(from.data(), kBytes, threads); })};
}

}  // namespace

std::int64_t parse_device_memory(const std::string& text) {
  if (text.empty()) return 0;
  const auto bytes = parse_bytes(text);
  if (!bytes) refuse("--device-memory '{}' is not a size such as 4GB or 500MB", text);
  return *bytes;
}

DeviceWay& DeviceWay::operator+=(const DeviceWay& more) {
  use += more.use;
  link = more.link;
  seconds += more.seconds;
  return *this;
}

std::string limit_text(const DeviceWay& way) {
  const Limit limit = limit_of(way);
  const gpu::ChunkedUse& use = way.use;
  const std::string sent = rate(per_second(use.to_device, use.seconds));
  const std::string returned = rate(per_second(use.to_host, use.seconds));
  if (limit.name == "files")
    return fmt::format("files: reading and writing them took {} of the time", percent(limit.share));
  if (limit.name == "to_device")
    return fmt::format("the link: {} to the device, of {}", sent, rate(way.link.to_device));
  if (limit.name == "to_host")
    return fmt::format("the link: {} from the device, of {}", returned, rate(way.link.to_host));
  if (limit.name == "kernels") return fmt::format("kernels, which took {} of the time", percent(limit.share));
  return fmt::format("host memory: copies to and from pinned memory took {} of the time; {} to the device, of {}",
                     percent(limit.share), sent, rate(way.link.to_device));
}

Json limit_json(const DeviceWay& way) {
  const Limit limit = limit_of(way);
  return {{"name", limit.name},
          {"share", limit.share},
          {"to_device_gbps", per_second(way.use.to_device, way.use.seconds) / 1e9},
          {"to_host_gbps", per_second(way.use.to_host, way.use.seconds) / 1e9},
          {"link_to_device_gbps", way.link.to_device / 1e9},
          {"link_to_host_gbps", way.link.to_host / 1e9},
          {"device_bytes", way.use.device_bytes}};
}

DeviceChoice choose_by_rates(const MemoryRates& host, const gpu::LinkRates& link) {
  // Data from a file is read, written to pinned memory, and read again by the link.
  const double copied = host.copy / 3;
  const bool on_gpu = std::min(copied, link.to_device) > host.read;
  return {.on_gpu = on_gpu,
          .why = fmt::format(
              "on the {}: the CPU reads its memory at {}; the link to the GPU runs at {}, and host memory copies at {}",
              on_gpu ? "GPU" : "CPU", rate(host.read), rate(link.to_device), rate(copied))};
}

DeviceChoice choose_device(const Common& common, std::int64_t bytes) {
  const bool may_choose = common.device == "auto" && common.rung.empty();
  if (!may_choose || bytes < kWorthAsking || !gpu::is_built() || gpu::devices().empty()) return {common.on_gpu()};
  const MemoryRates host = glance_at_memory(common.threads);
  if (static_cast<double>(bytes) < kStartSeconds * host.read) {
    return {.why = fmt::format("on the CPU, which reads its memory at {}: the CPU finishes before a GPU has started",
                               rate(host.read))};
  }
  try {
    return choose_by_rates(host, gpu::Chunked().measure_link());
  } catch (const Error& error) {  // an unusable GPU is not a reason to fail
    return {.why = fmt::format("on the CPU: {}", error.what())};
  }
}

Common with_device(const Common& common, std::int64_t bytes) {
  const DeviceChoice choice = choose_device(common, bytes);
  Common chosen = common;
  if (choice.on_gpu) chosen.device = "cuda";
  if (!choice.why.empty() && !common.quiet) remark(choice.why);
  return chosen;
}

std::int64_t bytes_of(const io::ColumnInfo& info) { return std::max<std::int64_t>(info.count, 0) * size_of(info.type); }

}  // namespace upsweep::command
