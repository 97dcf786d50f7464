// SPDX-License-Identifier: Apache-2.0
// tests/cuda_architectures.cuh: the templates that both files of the test instantiate for the same types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_architectures.hpp"
#include "device_array.hpp"
#include "upsweep/scan.cuh"

namespace upsweep::tests {

/// Composes two maps x → a·x + b, applied one after the other: equal to Compose, but not the library's operator.
struct Map {
  std::uint32_t a;
  std::uint32_t b;
};
struct Then {
  __host__ __device__ Map operator()(const Map& f, const Map& g) const { return {f.a * g.a, f.b * g.a + g.b}; }
};

static std::string scan_here(std::string& rung) {
  const std::int64_t n = 1000003;
  std::vector<Map> in(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = {static_cast<std::uint32_t>(2 * i + 1), 7};
  DeviceArray<Map> from(in, 0);
  DeviceArray<Map> to(n);
  rung = inclusive_scan(gpu::Policy{}, from.data(), n, to.data(), Then{}).rung;
  require(cudaDeviceSynchronize());
  const auto result = to.values();
  Map total = in[0];
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (i > 0) total = Then{}(total, in[i]);
    if (result[i].a != total.a || result[i].b != total.b) return "wrong at " + std::to_string(i);
  }
  return {};
}

}  // namespace upsweep::tests
