// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/cuda_cub.cu: CUB's radix sort and ReduceByKey, a CUDA programmer's first choice.
//
// Idea   Rows are sorted by their keys, values are gathered in that order, and runs of equal keys are reduced. The row
//        numbers are reduced in the same way: the minimum in each run is its first row. Groups are ordered by these.
// Cost   The sort's passes, and two or three passes over the sorted keys.
// Needs  Any GPU. Outputs of all runs have n elements, because CUB does not determine their number first.
// Limit  The passes, as for cuda.sort.
// From   CUB 3 of the CUDA toolkit.
#include "problems/keys/group_by/device_rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>

#include "cuda/cub.cuh"
#include "problems/keys/group_by/device_sort.cuh"
#endif

namespace upsweep::impl::group_by {

#if UPSWEEP_HAS_CUDA
namespace {

template <class Row>
__global__ void note_first_rows(const Row* firsts, std::int64_t groups, RowBits bits) {
  const std::int64_t r = own_index();
  if (r < groups) bits.set(static_cast<std::int64_t>(firsts[r]));
}

template <class Key, class T, class Row>
struct Reduced {
  Key* keys;
  T* sums;
  Row* firsts;
  std::int64_t* counts;  ///< null if not requested
  std::int64_t* runs;
};
template <class Key, class T, class Row>
__global__ void place_reduced(Reduced<Key, T, Row> from, std::int64_t groups, RowBits bits, Key* out_keys, T* out,
                              std::int64_t* out_counts) {
  const std::int64_t r = own_index();
  if (r >= groups) return;
  const std::int64_t at = bits.place_of(static_cast<std::int64_t>(from.firsts[r]));
  out_keys[at] = from.keys[r];
  out[at] = from.sums[r];
  if (out_counts != nullptr) out_counts[at] = from.counts[r];
}

constexpr const char* kWhat = "cub::DeviceReduce::ReduceByKey";

template <class Key, class T, class Row>
Status reduce(Call& call) {
  const gpu::Policy& policy = *call.device_policy;
  const gpu::Stream stream = policy.stream;
  const std::int64_t n = call.n;
  if (n == 0) return {};
  const SortedRows<Key, Row> sorted(policy, call);
  Reduced<Key, T, Row> to{};
  T* values = nullptr;
  const DeviceParts memory(policy, [&](gpu::ScratchParts& parts) {
    values = parts.take<T>(n);
    to = {parts.take<Key>(n), parts.take<T>(n), parts.take<Row>(n),
          call.out_counts != nullptr ? parts.take<std::int64_t>(n) : nullptr, parts.take<std::int64_t>(1)};
  });
  sorted.take(call.in, sizeof(T), values);
  const auto reduce_by_key = [&](auto keys, auto in, auto out, auto op) {
    run_cub(
        policy,
        [&](void* scratch, std::size_t& bytes) {
          return cub::DeviceReduce::ReduceByKey(scratch, bytes, sorted.keys(), keys, in, out, to.runs, op, n, stream);
        },
        kWhat);
  };
  reduce_by_key(to.keys, values, to.sums, gpu::tuned(Add{}));
  reduce_by_key(thrust::make_discard_iterator(), sorted.rows(), to.firsts, ::cuda::minimum<>{});
  if (call.out_counts != nullptr) {
    reduce_by_key(thrust::make_discard_iterator(), thrust::make_constant_iterator(std::int64_t{1}), to.counts,
                  ::cuda::std::plus<>{});
  }
  gpu::fetch(&call.groups, to.runs, sizeof call.groups, stream);
  if (call.groups > capacity_of(call)) return {Code::unequal_lengths};
  DeviceOrder order(policy, n);
  const auto grid = grid_of(call.groups, stream);
  gpu::require(gpu::detail::launch(grid, note_first_rows<Row>, to.firsts, call.groups, order.bits()), kWhat);
  (void)order.count();
  gpu::require(gpu::detail::launch(grid, place_reduced<Key, T, Row>, to, call.groups, order.bits(),
                                   static_cast<Key*>(call.out_keys), static_cast<T*>(call.out), call.out_counts),
               kWhat);
  gpu::require(cudaStreamSynchronize(stream), kWhat);
  return {};
}

Status launch(Call& call, const Policy&) noexcept {
  return guarded(call, [&] {
    return visit_device_key(call.key_type, [&]<class Key>(std::type_identity<Key>) {
      return visit_row(call, [&]<class Row>(std::type_identity<Row>) {
        return with_few_types(call.out_type, [&]<class T, class Any>(std::type_identity<T>, Any) -> Status {
          if constexpr (std::is_arithmetic_v<T>) {
            return reduce<Key, T, Row>(call);
          } else {
            return {Code::unsupported};
          }
        });
      });
    });
  });
}

}  // namespace
#endif

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceRadixSort, cub::DeviceReduce::ReduceByKey",
                                    .needs = "any GPU",
                                    .traffic = "keys and rows read and written per pass; sorted keys twice",
                                    .cost = "n, log n",
                                    .limit = "the passes of the sort",
                                    .kind = Kind::library,
                                    .determinism = Determinism::no,
                                    .host_adds = true},
                           .refusal = few_types_refusal,
                           .run = launch};

}  // namespace upsweep::impl::group_by
