// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/device_sort.cuh: sorts rows by their keys on a GPU, for cuda.sort and cuda.cub.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include "problems/keys/group_by/device_groups.cuh"

namespace upsweep::impl::group_by {

template <class Row>
__global__ void write_rows(Row* rows, std::int64_t n) {
  const std::int64_t i = own_index();
  if (i < n) rows[i] = static_cast<Row>(i);
}

template <class Word, class Row>
__global__ void take_values(const Word* values, const Row* rows, std::int64_t n, Word* out) {
  const std::int64_t i = own_index();
  if (i < n) out[i] = values[rows[i]];
}

/// Sorted keys and their row numbers. Rows of equal keys are in ascending order.
template <class Key, class Row>
class SortedRows {
 public:
  SortedRows(const gpu::Policy& policy, const Call& call)
      : policy_(policy), n_(call.n), memory_(policy, [&](gpu::ScratchParts& parts) {
          keys_ = parts.take<Key>(n_);
          rows_ = parts.take<Row>(n_);
        }) {
    if (n_ == 0) return;
    Row* unsorted = nullptr;
    const DeviceParts memory(policy, [&](gpu::ScratchParts& parts) { unsorted = parts.take<Row>(n_); });
    gpu::require(gpu::detail::launch(grid_of(n_, policy.stream), write_rows<Row>, unsorted, n_), kWhat);
    run_cub(
        policy,
        [&](void* scratch, std::size_t& bytes) {
          return cub::DeviceRadixSort::SortPairs(scratch, bytes, static_cast<const Key*>(call.keys), keys_, unsorted,
                                                 rows_, n_, 0, 8 * static_cast<int>(sizeof(Key)), policy.stream);
        },
        kWhat);
  }

  [[nodiscard]] const Key* keys() const { return keys_; }
  [[nodiscard]] const Row* rows() const { return rows_; }
  /// Gathers elements of `size` bytes in the same order.
  void take(const void* values, int size, void* out) const {
    if (size == 1) take_as<std::uint8_t>(values, out);
    if (size == 2) take_as<std::uint16_t>(values, out);
    if (size == 4) take_as<std::uint32_t>(values, out);
    if (size == 8) take_as<std::uint64_t>(values, out);
  }

 private:
  static constexpr const char* kWhat = "sorting rows by their keys";

  template <class Word>
  void take_as(const void* values, void* out) const {
    if (n_ == 0) return;
    gpu::require(gpu::detail::launch(grid_of(n_, policy_.stream), take_values<Word, Row>,
                                     static_cast<const Word*>(values), rows_, n_, static_cast<Word*>(out)),
                 "taking values in the order of the keys");
  }

  gpu::Policy policy_;
  std::int64_t n_;
  Key* keys_ = nullptr;  // before memory_, whose initializer fills them
  Row* rows_ = nullptr;
  DeviceParts memory_;
};

/// Calls f(std::type_identity<Row>{}) with the type that counts the call's rows.
template <class F>
Status visit_row(const Call& call, F f) {
  if (call.n <= std::numeric_limits<std::uint32_t>::max()) return f(std::type_identity<std::uint32_t>{});
  return f(std::type_identity<std::int64_t>{});
}

}  // namespace upsweep::impl::group_by
