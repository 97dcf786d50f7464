// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/devices.cpp: `upsweep devices`: shows the CPU and the GPUs, and their memory rates.
#include <fmt/format.h>

#include <vector>

#include "commands.hpp"
#include "ladder_report.hpp"
#include "output.hpp"
#include "upsweep/machine.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

constexpr std::size_t kIndent = 9;  // of what follows the word in front

/// The text after `cuda`: whether CUDA can run.
std::string_view cuda_word() {
  if (!gpu::is_built()) return "not built";
  return gpu::devices().empty() ? "built, no device" : "built";
}

/// A word and what it says. On a narrow terminal the line is continued below the text.
std::string line(std::string_view word, std::string_view text) {
  return wrapped(fmt::format("{:<{}}{}", word, kIndent, text), kIndent) + "\n";
}

std::string link_text(const gpu::LinkTimes& link) {
  const auto copy = [&](double seconds) {
    return fmt::format("{} ({})", duration(seconds), rate(static_cast<double>(link.bytes) / seconds));
  };
  return line("", "48 MB allocated in " + duration(link.allocation_s)) +
         line("", fmt::format("to the GPU from pageable memory: {}", copy(link.to_device_pageable_s))) +
         line("", fmt::format("to the GPU from pinned memory: {}", copy(link.to_device_pinned_s))) +
         line("", fmt::format("from the GPU into pageable memory: {}", copy(link.to_host_pageable_s))) +
         line("", fmt::format("from the GPU into pinned memory: {}", copy(link.to_host_pinned_s)));
}

Json gpus_json(const std::vector<gpu::LinkTimes>& links) {
  Json all = Json::array();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& device = gpu::devices()[i];
    if (!device.error.empty()) {
      all.push_back({{"error", device.error}});
      continue;
    }
    all.push_back(gpu_json(device));
    all.back()["link"] = link_json(links[i]);
  }
  return all;
}

std::string gpus_text(const std::vector<gpu::LinkTimes>& links) {
  std::string text;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& device = gpu::devices()[i];
    if (!device.error.empty()) {
      text += line("gpu", fmt::format("device {} cannot be used: {}", i, device.error));
      continue;
    }
    text += line("gpu", fmt::format("{}, compute capability {}.{}, {} multiprocessors", device.name, device.major,
                                    device.minor, device.multiprocessors));
    text += line("", fmt::format("L2 {}, memory {}", size(device.l2_bytes), size(device.memory_bytes)));
    text += link_text(links[i]);
  }
  return text;
}

}  // namespace

int run_devices(const Common& common) {
  if (!common.rung.empty()) refuse("--rung: devices have no rungs");
  const Machine& here = machine();
  (void)common.policy();  // refuses a device that is not there
  const int threads = common.threads > 0 ? common.threads : here.threads;
  MemoryRates one;
  MemoryRates all;
  std::vector<gpu::LinkTimes> links;
  {
    Progress progress(common.quiet);
    progress.say("1 of 3: measuring memory with one thread");
    one = measure_memory(1);
    progress.say("2 of 3: measuring memory with every thread");
    all = threads > 1 ? measure_memory(threads) : one;
    progress.say("3 of 3: measuring the links of GPUs");
    if (common.device != "cpu") links = measure_links();
  }
  if (common.json) {
    const Json result{{"cpu",
                       {{"model", here.cpu},
                        {"threads", here.threads},
                        {"simd", name(here.isa)},
                        {"l1d_bytes", here.l1d_bytes},
                        {"l2_bytes", here.l2_bytes},
                        {"l3_bytes", here.l3_bytes},
                        {"memory_bytes", here.memory_bytes},
                        {"measured_threads", threads},
                        {"copy_gbps", all.copy / 1e9},
                        {"read_gbps", all.read / 1e9},
                        {"copy_gbps_one_thread", one.copy / 1e9},
                        {"read_gbps_one_thread", one.read / 1e9}}},
                      {"gpus", gpus_json(links)},
                      {"cuda", cuda_word()}};
    print_json(result);
    return 0;
  }
  print(line("cpu", here.cpu) + line("threads", fmt::format("{}", here.threads)) + line("simd", name(here.isa)) +
        line("caches",
             fmt::format("L1d {}, L2 {}, L3 {}", size(here.l1d_bytes), size(here.l2_bytes), size(here.l3_bytes))) +
        line("memory", size(here.memory_bytes)) +
        line("copy",
             fmt::format("{} on {} threads, {} on one (read + written)", rate(all.copy), threads, rate(one.copy))) +
        line("read", fmt::format("{} on {} threads, {} on one", rate(all.read), threads, rate(one.read))) +
        line("cuda", cuda_word()) + gpus_text(links));
  return 0;
}

}  // namespace upsweep::command
