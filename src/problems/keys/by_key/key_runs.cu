// SPDX-License-Identifier: Apache-2.0
// problems/keys/by_key/key_runs.cu: finds runs of equal keys on a GPU: one pass over the keys writes a bit per key, and
// these bits give the offsets.
//
// A block writes a bit for each of 32768 keys and counts the set bits. One block scans the counts. The last result of
// the scan is the number of runs, for which memory is allocated. Then each block writes the positions of its set bits.
// Its first position is written to the place that the scan computed.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "cuda/check.hpp"
#include "cuda/device_call.hpp"
#include "cuda/moved_lists.cuh"
#include "problems/keys/by_key/key_runs.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/detail/tuning/keys.hpp"

namespace upsweep {
namespace impl::by_key {
namespace {

using gpu::detail::kAllLanes;

constexpr int kThreads = gpu::tuning::kRuns.threads;
constexpr int kRows = gpu::tuning::kRuns.rows;  // of 32 words each, for a warp
constexpr int kAtOnce = gpu::tuning::kRuns.loads;
constexpr std::int64_t kWarpWords = 32 * kRows;
constexpr std::int64_t kBlockWords = kThreads / 32 * kWarpWords;
constexpr std::int64_t kBlockKeys = 32 * kBlockWords;

/// A bit for each key: set if the key begins a run.
struct RunBits {
  std::uint32_t* words;
  std::int64_t* before;  ///< number of bits before each block, and in all blocks
  std::int64_t blocks;   ///< at least one
};

/// Returns this lane's first word. All lanes call.
__device__ __forceinline__ std::int64_t first_word() {
  return std::int64_t{blockIdx.x} * kBlockWords + threadIdx.x / 32 * kWarpWords + threadIdx.x % 32;
}

/// Writes words of 32 keys, whose bits are the lanes' votes; runs.before ← the number of bits of each block.
template <class T>
__global__ void __launch_bounds__(kThreads) mark_runs(const T* keys, std::int64_t n, RunBits runs) {
  __shared__ int warps[kThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t word = first_word();
  const std::int64_t first = (word - lane) * 32;
  T left{};  // the key before the next 32
  if (first > 0 && first < n) left = keys[first - 1];
  int count = 0;
#pragma unroll 1
  for (int row = 0; row < kRows; ++row) {
    std::uint32_t mine = 0;
#pragma unroll 1
    for (int step = 0; step < 32; step += kAtOnce) {
      const std::int64_t at = first + (row * 32 + step) * 32 + lane;
      T x[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) x[k] = at + k * 32 < n ? keys[at + k * 32] : T{};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t i = at + k * 32;
        const T neighbour = gpu::detail::shuffle_up(x[k], 1);
        const T before = lane == 0 ? left : neighbour;
        left = gpu::detail::shuffle(x[k], 31);
        const bool begins = i < n && (i == 0 || differ(before, x[k]));
        const std::uint32_t bits = __ballot_sync(kAllLanes, begins);
        if (lane == step + k) mine = bits;
      }
    }
    runs.words[word + row * 32] = mine;
    count += __popc(mine);
  }
  count = gpu::detail::fold_lanes(Add{}, count, lane);
  if (lane == 0) warps[threadIdx.x / 32] = count;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kThreads / 32; ++warp) count += warps[warp];
  runs.before[blockIdx.x] = count;
}

/// offsets ← the positions of the set bits, and n.
__global__ void __launch_bounds__(kThreads) write_runs(RunBits runs, std::int64_t n, std::int64_t* offsets) {
  __shared__ int warps[kThreads / 32];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t word = first_word();
  std::uint32_t words[kRows];
  int before[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) words[row] = runs.words[word + row * 32];
  int count = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int own = __popc(words[row]);
    const int inclusive = gpu::detail::scan_lanes(Add{}, own, lane);
    before[row] = count + inclusive - own;
    count += __shfl_sync(kAllLanes, inclusive, 31);
  }
  if (lane == 0) warps[warp] = count;
  __syncthreads();
  std::int64_t place = runs.before[blockIdx.x];
  for (int w = 0; w < warp; ++w) place += warps[w];
  const std::uint32_t lower = (1U << lane) - 1;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    for (unsigned left = __ballot_sync(kAllLanes, words[row] != 0); left != 0; left &= left - 1) {
      const int source = __ffs(static_cast<int>(left)) - 1;
      const std::uint32_t bits = __shfl_sync(kAllLanes, words[row], source);
      const int to = __shfl_sync(kAllLanes, before[row], source);
      const std::int64_t key = (word - lane + row * 32 + source) * 32 + lane;
      if ((bits >> lane & 1) != 0) offsets[place + to + __popc(bits & lower)] = key;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) offsets[runs.before[runs.blocks]] = n;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    take_keys(const T* keys, const std::int64_t* offsets, std::int64_t runs, T* out) {
  const std::int64_t r = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (r < runs) out[r] = keys[offsets[r]];
}

/// Calls f(std::type_identity<T>{}) with an unsigned type of that size.
template <class F>
auto visit_size(int size, F f) {
  if (size == 1) return f(std::type_identity<std::uint8_t>{});
  if (size == 2) return f(std::type_identity<std::uint16_t>{});
  if (size == 4) return f(std::type_identity<std::uint32_t>{});
  return f(std::type_identity<std::uint64_t>{});
}
/// Calls f(std::type_identity<T>{}) with a type that compares keys as equal or not.
template <class F>
auto visit_compared(Type type, F f) {
  if (type == Type::float32) return f(std::type_identity<float>{});
  if (type == Type::float64) return f(std::type_identity<double>{});
  return visit_size(size_of(type), f);
}

/// Memory for the runs comes from the policy's resource. The policy's workspace is reserved for the work on the runs.
gpu::Policy without_workspace(gpu::Policy policy) {
  policy.workspace = nullptr;
  return policy;
}

/// Checks what is known of keys before they are read. Throws Error.
void require_keys(const gpu::Policy& policy, const detail::Keys& keys) {
  require_no_rung(policy.rung);
  detail::require_array(keys.data, keys.length, "keys");
  const gpu::CurrentDevice current(policy.device);
  gpu::require_no_capture(policy.stream, "the calls of segmented_reduce.hpp in ..._async, with existing offsets");
  if (keys.length > 0) gpu::require_device_memory(keys.data, policy.device, "keys");
}

/// The bits of a call, and the number of set bits. Waits for the stream.
class MarkedRuns {
 public:
  MarkedRuns(const gpu::Policy& policy, const detail::Keys& keys)
      : current_(policy.device), memory_(without_workspace(policy), {.scratch = bytes(keys.length)}), n_(keys.length) {
    gpu::ScratchParts parts(memory_.launch().scratch);
    runs_ = parts_of(parts, n_);
    const gpu::Stream stream = policy.stream;
    const cudaError_t error = visit_compared(keys.type, [&]<class T>(std::type_identity<T>) {
      return gpu::detail::launch(grid(), mark_runs<T>, static_cast<const T*>(keys.data), n_, runs_);
    });
    gpu::require(error, kFinding);
    gpu::require(gpu::launch_scan_totals(runs_.before, runs_.blocks, stream), kFinding);
    gpu::fetch(&count_, runs_.before + runs_.blocks, sizeof count_, stream);
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Writes count() + 1 offsets.
  void write(std::int64_t* offsets) const {
    gpu::require(gpu::detail::launch(grid(), write_runs, runs_, n_, offsets), kFinding);
  }

 private:
  static constexpr const char* kFinding = "finding the runs of equal keys";

  static RunBits parts_of(gpu::ScratchParts& parts, std::int64_t n) {
    const std::int64_t blocks = n == 0 ? 1 : gpu::divided_up(n, kBlockKeys);
    auto* const words = parts.take<std::uint32_t>(blocks * kBlockWords);
    return {words, parts.take<std::int64_t>(blocks + 1), blocks};
  }
  static std::int64_t bytes(std::int64_t n) {
    gpu::ScratchParts parts(nullptr);
    (void)parts_of(parts, n);
    return parts.bytes();
  }
  [[nodiscard]] gpu::detail::Grid grid() const {
    return {.blocks = static_cast<unsigned>(runs_.blocks), .threads = kThreads, .stream = memory_.launch().stream};
  }

  gpu::CurrentDevice current_;
  gpu::DeviceCall memory_;
  std::int64_t n_;
  RunBits runs_{};
  std::int64_t count_ = 0;
};

}  // namespace

DeviceKeyRuns::DeviceKeyRuns(const gpu::Policy& policy, const detail::Keys& keys) : policy_(policy), keys_(keys) {
  const MarkedRuns runs(policy, keys);
  count_ = runs.count();
  const std::int64_t bytes = (count_ + 1) * std::int64_t{sizeof(std::int64_t)};
  gpu::MemoryResource& memory = policy.memory != nullptr ? *policy.memory : gpu::pool();
  offsets_.emplace(gpu::WorkspaceSize{.scratch = bytes}, policy.device, policy.stream, memory);
  runs.write(static_cast<std::int64_t*>(offsets_->scratch()));
}

void DeviceKeyRuns::write_keys(void* out) const {
  if (count_ == 0) return;
  const gpu::CurrentDevice current(policy_.device);
  const auto blocks = static_cast<unsigned>(gpu::divided_up(count_, kThreads));
  const gpu::detail::Grid grid{.blocks = blocks, .threads = kThreads, .stream = policy_.stream};
  const cudaError_t error = visit_size(size_of(keys_.type), [&]<class T>(std::type_identity<T>) {
    return gpu::detail::launch(grid, take_keys<T>, static_cast<const T*>(keys_.data),
                               static_cast<const std::int64_t*>(offsets_->scratch()), count_, static_cast<T*>(out));
  });
  gpu::require(error, "writing the keys of the runs");
}

}  // namespace impl::by_key

std::int64_t detail::count_key_runs(const gpu::Policy& policy, const Keys& keys) {
  impl::by_key::require_keys(policy, keys);
  return impl::by_key::MarkedRuns(policy, keys).count();
}

std::int64_t detail::write_key_offsets(const gpu::Policy& policy, const Keys& keys, std::int64_t* offsets,
                                       std::int64_t capacity) {
  impl::by_key::require_keys(policy, keys);
  require_array(offsets, capacity, "offsets");
  impl::by_key::require_apart(keys, offsets, capacity);
  const impl::by_key::MarkedRuns runs(policy, keys);
  require_capacity("the output of offsets", capacity - 1, runs.count());
  gpu::require_device_memory(offsets, policy.device, "offsets");
  runs.write(offsets);
  gpu::require(cudaStreamSynchronize(policy.stream), "writing where runs of keys begin");
  return runs.count();
}

}  // namespace upsweep
