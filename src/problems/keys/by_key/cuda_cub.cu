// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/cuda_cub.cu: CUB's ReduceByKey and scans by key, a CUDA programmer's first choice.
//
// Idea   One pass. Tiles load keys and values, and scan pairs of a value and a flag for the beginning of a run. Tiles
//        find the fold of the preceding tiles by look-back.
// Cost   Keys and values read once, results written.
// Needs  Any GPU. Integer keys of 4 and 8 bytes; outputs with a capacity of n runs, because CUB takes no capacity.
// Limit  Sums begin with a run's first value: no init is possible, and exclusive scans of floats need one. A scan does
//        not count its runs.
// From   CUB 3 of the CUDA toolkit.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/visit.hpp"
#include "problems/keys/by_key/rung.hpp"
#include "upsweep/operators.hpp"

#if UPSWEEP_HAS_CUDA
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "cuda/cub.cuh"
#include "upsweep/detail/cuda_status.cuh"
#endif

namespace upsweep::impl::by_key {

namespace {

#if UPSWEEP_HAS_CUDA
/// Bytes for the number of runs; CUB's temporary memory follows.
constexpr std::int64_t kCountBytes = 256;

template <class Key, class T>
cudaError_t reduce_or_scan(const Call& call, std::int64_t* runs, void* temporary, std::size_t& bytes) {
  gpu::forget_last_error();
  const std::int64_t n = call.keys.length;
  const auto* const keys = static_cast<const Key*>(call.keys.data);
  const detail::ElementsCall& elements = elements_of(call);
  const auto* const in = static_cast<const T*>(elements.in);
  auto* const out = static_cast<T*>(elements.out);
  const auto sum = gpu::tuned(Add{});
  const gpu::Stream stream = call.launch->stream;
  if (call.reduction != nullptr) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, static_cast<Key*>(call.out_keys), in, out, runs, sum,
                                          n, stream);
  }
  if (call.scan->exclusive) {
    return cub::DeviceScan::ExclusiveScanByKey(temporary, bytes, keys, in, out, sum,
                                               *static_cast<const T*>(call.scan->init), n, ::cuda::std::equal_to<>{},
                                               stream);
  }
  return cub::DeviceScan::InclusiveSumByKey(temporary, bytes, keys, in, out, n, ::cuda::std::equal_to<>{}, stream);
}

/// Calls CUB with the types of the call.
cudaError_t reduce_or_scan(const Call& call, std::int64_t* runs, void* temporary, std::size_t& bytes) {
  cudaError_t error = cudaErrorNotSupported;
  (void)with_few_types(elements_of(call).out_type, [&]<class T, class Any>(std::type_identity<T>, Any) -> Status {
    if constexpr (std::is_arithmetic_v<T>) {
      error = size_of(call.keys.type) == 8 ? reduce_or_scan<std::uint64_t, T>(call, runs, temporary, bytes)
                                           : reduce_or_scan<std::uint32_t, T>(call, runs, temporary, bytes);
    }
    return {};
  });
  return error;
}

Status launch(Call& call, const Policy&) noexcept {
  const gpu::Launch& at = *call.launch;
  auto* const runs = static_cast<std::int64_t*>(at.scratch);
  auto bytes = static_cast<std::size_t>(at.size.scratch - kCountBytes);
  cudaError_t error = reduce_or_scan(call, runs, static_cast<std::byte*>(at.scratch) + kCountBytes, bytes);
  call.runs = kNoIndex;
  if (error == cudaSuccess && call.reduction != nullptr) {
    error = cudaMemcpyAsync(&call.runs, runs, sizeof call.runs, cudaMemcpyDeviceToHost, at.stream);
  }
  if (error == cudaSuccess) error = cudaStreamSynchronize(at.stream);
  return gpu::status_of(error);
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  std::size_t bytes = 0;
  (void)reduce_or_scan(call, nullptr, nullptr, bytes);
  return {.scratch = kCountBytes + static_cast<std::int64_t>(bytes)};
}
#endif

/// Returns whether a sum that begins with `value` is the sum of only the values, bit for bit.
bool is_neutral(const void* value, Type type) {
  return visit_type(type, [&]<class T>(std::type_identity<T>) {
    const T neutral = Add::identity<T>();
    return std::memcmp(value, &neutral, sizeof neutral) == 0;
  });
}

const char* cub_refusal(const Call& call, const Policy&) noexcept {
  const detail::ElementsCall& elements = elements_of(call);
  if (call.checked) return "cannot check sums for overflow: use cuda.runs";
  if (is_float(call.keys.type) || size_of(call.keys.type) < 4) return "is compiled for integer keys of 4 and 8 bytes";
  const char* const reason = teaching_refusal(elements.op, elements.in_type, elements.out_type);
  if (reason != nullptr) return reason;
  const bool exclusive = call.scan != nullptr && call.scan->exclusive;
  const void* const init = call.scan != nullptr ? call.scan->init : call.reduction->init;
  if (elements.out_type != Type::custom) {
    if (!exclusive && !is_neutral(init, elements.out_type))
      return "begins with a run's first value: init must be omitted";
    if (exclusive && call.scan->empty_is_zero)
      return "begins each run of an exclusive scan with init, also if it is -0.0";
  }
  if (call.reduction != nullptr && capacity_of(call) < call.keys.length) {
    return "does not check the capacity: outputs must have capacity for one run per key";
  }
  return nullptr;
}

}  // namespace

extern const Rung cuda_cub{.info = {.id = "cuda.cub",
                                    .idea = "cub::DeviceReduce::ReduceByKey, scans by key",
                                    .needs = "any GPU",
                                    .traffic = kOnePass,
                                    .cost = "n, log n",
                                    .limit = "the look-back of pairs; it begins with a run's first value",
                                    .kind = Kind::library,
                                    .determinism = Determinism::no,
                                    .host_adds = true},
                           .refusal = cub_refusal,
                           .run = launch,
                           .workspace = workspace};

}  // namespace upsweep::impl::by_key
