// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/key_runs.hpp: the runs of equal keys as lists, on the CPU and on a GPU, and what outputs must
// hold.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

#include "upsweep/detail/by_key_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::by_key {

/// Floats are equal as == has it, and all NaN are one key.
template <class T>
UPSWEEP_HOST_DEVICE constexpr bool differ(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a != b && (a == a || b == b);
  return a != b;
}

/// Throws for offsets that would be written to where the keys are.
void require_apart(const detail::Keys& keys, const std::int64_t* offsets, std::int64_t capacity);

/// The runs of keys in host memory.
class KeyRuns {
 public:
  /// Throws out_of_memory.
  KeyRuns(const Policy& policy, const detail::Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const { return Lists::by_offsets(offsets_.get(), count_); }
  /// Each run's key.
  void write_keys(const Policy& policy, const detail::Keys& keys, void* out) const;

 private:
  std::unique_ptr<std::int64_t[]> offsets_;  // before count_, whose initialiser fills it
  std::int64_t count_;
};

/// The runs of keys in device memory, which have been checked to be there. The policy's memory resource must outlive it.
class DeviceKeyRuns {
 public:
  /// Waits for the stream, as nobody knows before how many runs there are.
  DeviceKeyRuns(const gpu::Policy& policy, const detail::Keys& keys);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] Lists lists() const {
    return Lists::by_offsets(static_cast<const std::int64_t*>(offsets_->scratch()), count_);
  }
  /// Each run's key. Does not wait.
  void write_keys(void* out) const;

 private:
  gpu::Policy policy_;
  detail::Keys keys_;
  std::int64_t count_ = 0;
  std::optional<gpu::Workspace> offsets_;
};

}  // namespace upsweep::impl::by_key
