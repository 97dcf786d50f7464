// SPDX-License-Identifier: Apache-2.0
// bench/gpu_link.cpp: 48 MB allocated, sent and fetched, by the host's clock for the one and events for the other.
#include "gpu_link.hpp"

#include <cstring>

#include "buffer.hpp"
#include "cuda/device_call.hpp"
#include "gpu_clock.hpp"
#include "made.hpp"

namespace upsweep::bench {

LinkTimes measure_link(int device) {
  constexpr int kSamples = 11;
  const gpu::CurrentDevice current(device);
  LinkTimes times;
  times.bytes = kLineitemRows * std::int64_t{sizeof(std::int64_t)};
  const auto bytes = static_cast<std::size_t>(times.bytes);

  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    std::unique_ptr<DeviceBytes> memory;
    const double seconds = seconds_of([&] { memory = std::make_unique<DeviceBytes>(times.bytes); });
    if (i > 0) samples.push_back(seconds);  // the first one starts the device
  }
  times.allocation_s = median(samples);

  const DeviceBytes there(times.bytes);
  Buffer<std::byte> here(times.bytes);
  std::memset(here.data(), 1, bytes);
  const Stream stream;
  EventClock clock(stream.get());
  const auto copy = [&](void* to, const void* from, cudaMemcpyKind kind) {
    std::vector<double> copies;
    for (int i = 0; i <= kSamples; ++i) {
      const double seconds = clock.seconds_of(
          [&] { gpu::require(cudaMemcpyAsync(to, from, bytes, kind, stream.get()), "copying over the link"); });
      if (i > 0) copies.push_back(seconds);
    }
    return median(copies);
  };
  times.to_device_pageable_s = copy(there.data(), here.data(), cudaMemcpyHostToDevice);
  times.to_host_pageable_s = copy(here.data(), there.data(), cudaMemcpyDeviceToHost);
  const Pinned pinned(here.data(), times.bytes);
  times.to_device_pinned_s = copy(there.data(), here.data(), cudaMemcpyHostToDevice);
  times.to_host_pinned_s = copy(here.data(), there.data(), cudaMemcpyDeviceToHost);
  return times;
}

}  // namespace upsweep::bench
