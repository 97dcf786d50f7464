// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/lanes_kernels.cu: cuda.lanes for one stored element type, UPSWEEP_ELEMENT; compiled
// once per type.
#include "problems/lists/segmented_reduce/cuda_lanes.cuh"

namespace upsweep::impl::segmented_reduce {
namespace {

/// Computes exact sums: no list has enough elements to overflow 128 bits. A sum that does not fit its output is
/// reported in the same way as a bad list.
template <class T>
struct Checked {
  __extension__ using Exact = __int128;
  using In = T;
  using Value = Exact;
  void* out;
  gpu::ListsStatus* status;
  Exact init;
  Exact least;
  Exact most;
  bool is_signed;
  bool is_wide;  ///< whether the output has 64 bits

  Checked(const detail::SegmentedReduceCall& call)
      : out(call.out),
        status(call.status),
        is_signed(upsweep::is_signed(call.in_type)),
        is_wide(call.out_size == sizeof(std::uint64_t)) {
    const int bits = 8 * call.out_size - (is_signed ? 1 : 0);
    most = (Exact{1} << bits) - 1;
    least = is_signed ? -most - 1 : 0;
    init = is_wide ? exact(init_of<std::uint64_t>(call)) : exact(init_of<T>(call));
  }

  template <class U>
  __host__ __device__ Exact exact(U x) const {
    return is_signed ? Exact{static_cast<std::make_signed_t<U>>(x)} : Exact{x};
  }
  __device__ bool reads() const { return true; }
  __device__ Value none() const { return 0; }
  __device__ Value of(In x, std::int64_t) const { return exact(x); }
  __device__ Value merge(Value a, Value b) const { return a + b; }
  __device__ void write(std::int64_t list, Value sum) const {
    sum += init;
    if (sum < least || sum > most) {
      atomicMin(reinterpret_cast<long long*>(&status->first_bad), static_cast<long long>(list));
    }
    if (is_wide) {
      static_cast<std::uint64_t*>(out)[list] = static_cast<std::uint64_t>(sum);
    } else {
      static_cast<T*>(out)[list] = static_cast<T>(sum);
    }
  }
};

template <class R>
cudaError_t launch_fitting(const detail::SegmentedReduceCall& call, const R& reducer) {
  static_assert(kSlotBytes<typename R::Value> <= kCompiledSlotBytes);
  return launch_lanes(call, reducer);
}

template <class T>
cudaError_t launch_for(const detail::SegmentedReduceCall& call) {
  if constexpr (std::is_integral_v<T>) {
    if (call.checked) return launch_fitting(call, Checked<T>(call));
  }
  cudaError_t error = cudaErrorNotSupported;
  (void)with_reducer<T>(call, [&](const auto& reducer) -> Status {
    error = launch_fitting(call, reducer);
    return {};
  });
  return error;
}

}  // namespace

template <>
Status lanes_on<UPSWEEP_ELEMENT>(const detail::SegmentedReduceCall& call) noexcept {
  return with_status(call, [&] { return launch_for<UPSWEEP_ELEMENT>(call); });
}

}  // namespace upsweep::impl::segmented_reduce
