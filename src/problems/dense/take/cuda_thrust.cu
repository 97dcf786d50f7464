// SPDX-License-Identifier: Apache-2.0
// problems/dense/take/cuda_thrust.cu: thrust::gather_if, a C++ programmer's first choice.
//
// Idea   The library's gather. An iterator converts indices to positions, and a predicate checks them.
// Cost   Indices twice for each column, once of these from a cache; an element read and written for each.
// Needs  Any GPU; takes from arrays, not from lists; elements aligned to their size (16-byte elements: to 8).
// Limit  The loads of a thread wait for each other. In cuda.tiles a thread has eight loads in flight.
// From   Thrust 3 of the CUDA toolkit.
#include "problems/dense/take/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include "cuda/moved_lists.cuh"
#include "cuda/thrust.cuh"
#endif

namespace upsweep::impl::take {

namespace {

const char* thrust_refusal(const Call& call, const Policy&) noexcept {
  if (call.has_lists) return "takes from arrays, not from lists";
  for (const SelectColumn& column : call.columns) {
    const auto addresses = reinterpret_cast<std::uintptr_t>(column.data) | reinterpret_cast<std::uintptr_t>(column.out);
    const auto alignment = static_cast<std::uintptr_t>(column.element_size < 8 ? column.element_size : 8);
    if (addresses % alignment != 0) return "elements are not aligned to their size";
  }
  return nullptr;
}

#if UPSWEEP_HAS_CUDA
/// Converts index k to a position in the content. It may be outside if the index is bad.
template <class At>
struct PositionOf {
  const At* indices;
  std::int64_t elements;

  __device__ std::int64_t operator()(std::int64_t k) const {
    const auto index = static_cast<std::int64_t>(indices[k]);
    return index < 0 ? index + elements : index;
  }
};
/// Returns whether the position is in the content. The first bad index is recorded, as its complement.
template <class At>
struct IsGood {
  PositionOf<At> position;
  unsigned long long* not_bad;

  __device__ bool operator()(std::int64_t k) const {
    const std::int64_t at = position(k);
    if (at >= 0 && at < position.elements) return true;
    atomicMax(not_bad, ~static_cast<unsigned long long>(k));
    return false;
  }
};

template <class At, class E>
Status gather(const Call& call, const E* content, E* out, unsigned long long* not_bad) {
  const PositionOf<At> position{static_cast<const At*>(call.indices.data), call.content};
  const thrust::counting_iterator<std::int64_t> first(0);
  const auto positions = thrust::make_transform_iterator(first, position);
  return gpu::run_thrust(*call.launch, [&](const auto& policy) {
    thrust::gather_if(policy, positions, positions + call.indices.length, first, content, out,
                      IsGood<At>{position, not_bad});
  });
}

template <class At>
Status gather_column(const Call& call, const SelectColumn& column, unsigned long long* not_bad) {
  const auto by = [&]<class E>(std::type_identity<E>) {
    return gather<At>(call, static_cast<const E*>(column.data), static_cast<E*>(column.out), not_bad);
  };
  if (column.element_size == 1) return by(std::type_identity<std::uint8_t>{});
  if (column.element_size == 2) return by(std::type_identity<std::uint16_t>{});
  if (column.element_size == 4) return by(std::type_identity<std::uint32_t>{});
  if (column.element_size == 8) return by(std::type_identity<std::uint64_t>{});
  return by(std::type_identity<gpu::Moved<16, std::uint64_t>>{});
}

__global__ void conclude(std::int64_t taken, const unsigned long long* not_bad, gpu::TakeStatus* status) {
  if (*not_bad == 0) {
    *status = {kNoIndex, taken, Code::ok};
  } else {
    *status = {static_cast<std::int64_t>(~*not_bad), 0, Code::index_out_of_range};
  }
}

Status launch(Call& call, const Policy&) noexcept {
  const gpu::Stream stream = call.launch->stream;
  auto* const not_bad = static_cast<unsigned long long*>(call.launch->scratch);
  Status status = gpu::status_of(cudaMemsetAsync(not_bad, 0, sizeof *not_bad, stream));
  for (const SelectColumn& column : call.columns) {
    if (!status.ok()) return status;
    if (call.indices.length == 0) break;
    status = visit_list_bound(
        call.indices.type, [&]<class At>(std::type_identity<At>) { return gather_column<At>(call, column, not_bad); });
  }
  if (!status.ok()) return status;
  return gpu::status_of(gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude,
                                            call.indices.length, not_bad, call.status));
}

/// Thrust needs no workspace for a gather; the first bad index does.
gpu::WorkspaceSize workspace(const Call&) noexcept { return {.scratch = sizeof(unsigned long long)}; }
#endif

}  // namespace

extern const Rung cuda_thrust{.info = {.id = "cuda.thrust",
                                       .idea = "thrust::gather_if of checked indices",
                                       .needs = "any GPU; arrays, aligned elements",
                                       .traffic = "indices per column; elements read and written",
                                       .cost = "n",
                                       .limit = "a thread's loads wait for each other",
                                       .kind = Kind::library},
                              .refusal = thrust_refusal,
                              .run = launch,
                              .workspace = workspace};

}  // namespace upsweep::impl::take
