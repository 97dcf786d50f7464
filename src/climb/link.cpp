// SPDX-License-Identifier: Apache-2.0
// climb/link.cpp: times the allocation of 48 MB by the host's clock, and sending and fetching them by events.
#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "climb/device_clock.hpp"
#include "cuda/device_call.hpp"
#include "system/pages.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::gpu {

LinkTimes measure_link(int device) {
  constexpr int kSamples = 11;
  constexpr std::int64_t kLineitemRows = 6'001'215;  // of TPC-H at scale factor 1
  const CurrentDevice current(device);
  LinkTimes times;
  times.bytes = kLineitemRows * std::int64_t{sizeof(std::int64_t)};
  const auto bytes = static_cast<std::size_t>(times.bytes);
  const auto median_of = [](Clock& clock, const std::function<void()>& run) {
    std::vector<double> samples;
    for (int i = 0; i <= kSamples; ++i) {
      const double seconds = clock.seconds_of(run);
      if (i > 0) samples.push_back(seconds);  // the first one starts the device
    }
    return median(samples);
  };

  HostClock host;
  std::vector<std::unique_ptr<DeviceBytes>> all;
  times.allocation_s = median_of(host, [&] { all.push_back(std::make_unique<DeviceBytes>(times.bytes)); });
  all.resize(1);
  void* const there = all[0]->get();

  cpu::Pages<std::byte> here(times.bytes);
  std::memset(here.data(), 1, bytes);
  const OwnStream stream;
  EventClock events(stream.get());
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    return median_of(events,
                     [&] { require(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), "copying over the link"); });
  };
  times.to_device_pageable_s = copy(there, here.data(), cudaMemcpyHostToDevice);
  times.to_host_pageable_s = copy(here.data(), there, cudaMemcpyDeviceToHost);
  const Pinned pinned(here.data(), times.bytes);
  times.to_device_pinned_s = copy(there, here.data(), cudaMemcpyHostToDevice);
  times.to_host_pinned_s = copy(here.data(), there, cudaMemcpyDeviceToHost);
  return times;
}

}  // namespace upsweep::gpu
