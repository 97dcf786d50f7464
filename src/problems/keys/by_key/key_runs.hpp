// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/key_runs.hpp: the runs of equal keys as lists, on the CPU and on a GPU, and checks of outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::by_key {

/// Returns whether two keys differ. Floats are compared by ==, and all NaN are one key.
template <class T>
UPSWEEP_HOST_DEVICE constexpr bool differ(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != b && (a == a || b == b);
  return a != b;
}

/// Throws if the offsets would overwrite the keys.
void require_apart(const detail::Keys& keys, const std::int64_t* offsets, std::int64_t capacity);

/// The runs of keys in host memory.
class KeyRuns {
 public:
  /// Throws out_of_memory.
  KeyRuns(const Policy& policy, const detail::Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const { return Lists::by_offsets(offsets_.get(), count_); }
  /// Writes each run's key.
  void write_keys(const Policy& policy, const detail::Keys& keys, void* out) const;

 private:
  std::unique_ptr<std::int64_t[]> offsets_;  // before count_, whose initializer fills it
  std::int64_t count_;
};

/// The runs of keys that are known to be in device memory. The policy's memory resource must outlive it.
class DeviceKeyRuns {
 public:
  /// Waits for the stream, because the number of runs is not known before.
  DeviceKeyRuns(const gpu::Policy& policy, const detail::Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const {
    return Lists::by_offsets(static_cast<const std::int64_t*>(offsets_->scratch()), count_);
  }
  /// Writes each run's key. Does not wait.
  void write_keys(void* out) const;

 private:
  gpu::Policy policy_;
  detail::Keys keys_;
  std::int64_t count_ = 0;
  std::optional<gpu::Workspace> offsets_;
};

}  // namespace upsweep::impl::by_key
