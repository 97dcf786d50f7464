// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/tuning/capability.hpp: how a compute capability chooses the tuning of an algorithm.
#pragma once

#include <cstddef>

namespace upsweep::gpu::tuning {

/// The values of an algorithm for a compute capability and higher ones. 90 is capability 9.0.
template <class Values>
struct From {
  static_assert(
      !requires { Values::kDeterminesFloatBits; },
      "values that determine the bits of float results are the same on every GPU");
  int capability;
  Values values;
};

/// Returns the entry with the highest capability that is not above the given one, or the first entry.
template <class Values, std::size_t kCount>
constexpr Values tuning_for(int capability, const From<Values> (&table)[kCount]) {
  std::size_t chosen = 0;
  for (std::size_t i = 1; i < kCount; ++i) {
    if (table[i].capability <= capability) chosen = i;
  }
  return table[chosen].values;
}

template <class Values, std::size_t kCount>
constexpr bool ascends(const From<Values> (&table)[kCount]) {
  for (std::size_t i = 1; i < kCount; ++i) {
    if (table[i].capability <= table[i - 1].capability) return false;
  }
  return true;
}

/// The newest compute capability in the list that this file is compiled for. nvcc defines the list, in ascending order,
/// for the host code and for the device code of every architecture. So a kernel and its launch use the same values.
#ifdef __CUDA_ARCH_LIST__
constexpr int kCapability = [] {
  constexpr int kList[] = {__CUDA_ARCH_LIST__};
  return kList[sizeof kList / sizeof kList[0] - 1] / 10;
}();
#else
constexpr int kCapability = 80;  // there are no kernels here: host code asks the device for its capability
#endif

/// The values of a table for the GPUs that this file is compiled for.
template <const auto& kTable>
consteval auto chosen() {
  static_assert(ascends(kTable), "entries of a table are in the order of their capabilities");
  return tuning_for(kCapability, kTable);
}

}  // namespace upsweep::gpu::tuning
