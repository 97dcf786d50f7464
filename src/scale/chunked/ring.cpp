// SPDX-License-Identifier: Apache-2.0
// scale/chunked/ring.cpp: the ring on the CUDA runtime: one stream per direction of the link, one for kernels, and
// events.
#include "scale/chunked/ring.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>

#include "cpu/work_partition.hpp"
#include "cuda/device_call.hpp"
#include "cuda/events.hpp"
#include "system/memory.hpp"
#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::chunked {
namespace {

using gpu::Event;
using gpu::require;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Memory that grows. Growing discards its contents.
struct Buffer {
  void* memory = nullptr;
  std::int64_t bytes = 0;
};

/// Returns whether the copy engine can copy the entire array directly, because all of it is pinned.
bool is_pinned(const void* data, std::int64_t bytes) {
  const auto known = [](const void* at) {
    cudaPointerAttributes attributes = {};
    require(cudaPointerGetAttributes(&attributes, at), "asking what kind of memory an array is");
    return attributes.type != cudaMemoryTypeUnregistered;
  };
  return known(data) && known(static_cast<const std::byte*>(data) + bytes - 1);
}

/// Chunks from this size on are copied through the caches, if the caches hold a ring of such chunks. The device then
/// reads the chunk from the cache, without a write and a read of host memory.
constexpr std::int64_t kCachedBytes = gpu::tuning::kChunks.cached_bytes;

/// Copies into pinned memory that the device reads next.
void copy_to_pinned(void* to, const void* from, std::int64_t bytes, int threads) {
  if (bytes < kCachedBytes || kSlots * bytes > machine().l3_bytes) return copy_bytes(to, from, bytes, threads);
  cpu::for_each_block(bytes, cpu::kBlockBytes, threads, [&](cpu::Range range) {
    std::memcpy(static_cast<std::byte*>(to) + range.first, static_cast<const std::byte*>(from) + range.first,
                static_cast<std::size_t>(range.count));
    return kNoIndex;
  });
}

struct Slot {
  Buffer in, out, results;                 // on the device
  Buffer pinned_in, pinned_out, returned;  // on the host
  // Events around the copy to the device, the kernels and the copy back. The slot's next chunk waits for the last
  // event.
  Event sends, sent, computes, computed, returns, is_back;
  Chunk chunk;
};

}  // namespace

struct Ring::State {
  gpu::Policy policy;
  gpu::MemoryResource& memory;
  std::int64_t device_bytes;
  int threads;
  gpu::OwnStream to_device, compute, to_host;
  std::array<Slot, kSlots> slots;
  bool in_is_pinned = false;
  bool out_is_pinned = false;
  gpu::ChunkedUse use;

  State(const gpu::Policy& asked, std::int64_t bytes, int copying)
      : policy(asked),
        memory(asked.memory != nullptr ? *asked.memory : gpu::pool()),
        device_bytes(bytes),
        threads(copying) {
    policy.memory = &memory;
    policy.workspace = nullptr;
    policy.stream = compute.get();
  }

  // ---- memory

  void grow(Buffer& buffer, std::int64_t bytes) {
    if (bytes <= buffer.bytes) return;
    give_back(buffer);
    buffer.memory = memory.allocate(bytes, compute.get());
    buffer.bytes = bytes;
  }
  void give_back(Buffer& buffer) {
    if (buffer.memory != nullptr) memory.deallocate(buffer.memory, buffer.bytes, compute.get());
    buffer = {};
  }
  static void grow_pinned(Buffer& buffer, std::int64_t bytes) {
    if (bytes <= buffer.bytes) return;
    (void)cudaFreeHost(buffer.memory);
    buffer = {};
    if (cudaMallocHost(&buffer.memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
      gpu::forget_last_error();
      buffer = {};
      throw Error(Code::out_of_memory, "allocating " + std::to_string(bytes) + " pinned bytes");
    }
    buffer.bytes = bytes;
  }
  void prepare(const Job& job) {
    const std::int64_t length = std::min(job.length, job.n);
    std::int64_t bytes = 0;
    for (Slot& slot : slots) {  // earlier calls may have left buffers that this call does not use
      if (slot.in.bytes > length * job.in_size) give_back(slot.in);
      if (slot.out.bytes > length * job.out_size) give_back(slot.out);
    }
    for (Slot& slot : slots) {
      grow(slot.in, length * job.in_size);
      grow(slot.out, length * job.out_size);
      grow(slot.results, job.result_bytes);
      if (!in_is_pinned) grow_pinned(slot.pinned_in, length * job.in_size);
      if (!out_is_pinned) grow_pinned(slot.pinned_out, length * job.out_size);
      grow_pinned(slot.returned, job.result_bytes);
      bytes += slot.in.bytes + slot.out.bytes + slot.results.bytes;
    }
    use.device_bytes = std::max(use.device_bytes, bytes);
    wait_for_all();  // the other streams use the memory only after the stream that allocated it has reached this point
  }

  // ---- a chunk

  void copy_here(decltype(copy_bytes)* copy, void* to, const void* from, std::int64_t bytes) {
    const Stopwatch watch;
    copy(to, from, bytes, threads);
    use.host_copies += watch.seconds();
  }

  void start(const Job& job, std::int64_t number) {
    Slot& slot = slots[static_cast<std::size_t>(number % kSlots)];
    const std::int64_t first = number * job.length;
    const std::int64_t count = std::min(job.length, job.n - first);
    // Buffers remain from earlier calls. Pointers that this job does not use are null.
    slot.chunk = {number,
                  first,
                  count,
                  slot.in.memory,
                  job.out_size > 0 ? slot.out.memory : nullptr,
                  job.result_bytes > 0 ? slot.results.memory : nullptr};
    const auto bytes = static_cast<std::size_t>(count * job.in_size);
    const void* from = static_cast<const std::byte*>(job.in) + first * job.in_size;
    if (!in_is_pinned) {
      copy_here(copy_to_pinned, slot.pinned_in.memory, from, count * job.in_size);
      from = slot.pinned_in.memory;
    }
    slot.sends.record(to_device.get());
    require(cudaMemcpyAsync(slot.in.memory, from, bytes, cudaMemcpyDefault, to_device.get()), "copying to the device");
    slot.sent.record(to_device.get());

    require(cudaStreamWaitEvent(compute.get(), slot.sent.get()), "waiting for a copy");
    slot.computes.record(compute.get());
    job.compute(policy, slot.chunk);
    slot.computed.record(compute.get());

    require(cudaStreamWaitEvent(to_host.get(), slot.computed.get()), "waiting for kernels");
    slot.returns.record(to_host.get());
    const auto fetch = [&](void* to, const void* there, std::int64_t size) {
      if (size == 0) return;
      require(cudaMemcpyAsync(to, there, static_cast<std::size_t>(size), cudaMemcpyDefault, to_host.get()),
              "copying from the device");
    };
    fetch(slot.returned.memory, slot.results.memory, job.result_bytes);
    std::byte* const out = static_cast<std::byte*>(job.out) + first * job.out_size;
    fetch(out_is_pinned ? out : slot.pinned_out.memory, slot.out.memory, count * job.out_size);
    slot.is_back.record(to_host.get());
  }

  void finish(const Job& job, std::int64_t number) {
    Slot& slot = slots[static_cast<std::size_t>(number % kSlots)];
    slot.is_back.wait();
    const Chunk& chunk = slot.chunk;
    use.times.to_device += slot.sent.seconds_since(slot.sends);
    use.times.kernel += slot.computed.seconds_since(slot.computes);
    use.times.to_host += slot.is_back.seconds_since(slot.returns);
    use.to_device += chunk.count * job.in_size;
    use.to_host += chunk.count * job.out_size + job.result_bytes;
    if (job.out_size > 0 && !out_is_pinned) {
      copy_here(copy_bytes, static_cast<std::byte*>(job.out) + chunk.first * job.out_size, slot.pinned_out.memory,
                chunk.count * job.out_size);
    }
    if (job.done) job.done(chunk, static_cast<const std::byte*>(slot.returned.memory));
  }

  void wait_for_all() const {
    for (const auto* stream : {&to_device, &compute, &to_host}) {
      require(cudaStreamSynchronize(stream->get()), "waiting for the device");
    }
  }
};

Ring::Ring(const gpu::Policy& policy, std::int64_t device_bytes, int threads) {
  if (device_bytes < 0) {
    throw Error(Code::invalid_argument, "device_bytes: " + std::to_string(device_bytes) + " is not a valid size");
  }
  if (threads < 0) throw Error(Code::invalid_argument, "threads: " + std::to_string(threads) + " is negative");
  const gpu::CurrentDevice current(policy.device);
  state_ = std::make_unique<State>(policy, device_bytes, threads);
}

Ring::~Ring() {
  int before = 0;
  (void)cudaGetDevice(&before);
  gpu::restore_current(state_->policy.device);
  for (Slot& slot : state_->slots) {
    for (Buffer* buffer : {&slot.in, &slot.out, &slot.results}) state_->give_back(*buffer);
    for (const Buffer* buffer : {&slot.pinned_in, &slot.pinned_out, &slot.returned}) (void)cudaFreeHost(buffer->memory);
  }
  state_.reset();  // streams and events also belong to the device
  gpu::restore_current(before);
}

const gpu::Policy& Ring::policy() const { return state_->policy; }

std::int64_t Ring::length(std::int64_t in_size, std::int64_t out_size, std::int64_t block) const {
  const std::int64_t wide = std::max(in_size, out_size);
  const std::int64_t most = std::max<std::int64_t>(kChunkBytes / (block * wide), 1);
  if (state_->device_bytes == 0) return most * block;
  // One eighth is reserved for the kernels' other memory.
  const std::int64_t each = kSlots * block * (in_size + out_size);
  const std::int64_t fit = state_->device_bytes / 8 * 7 / each;
  if (fit >= 1) return std::min(fit, most) * block;
  throw Error(Code::invalid_argument,
              bytes_text(static_cast<double>(state_->device_bytes)) + " of device memory cannot hold " +
                  std::to_string(kSlots) +
                  " chunks; required: " + bytes_text(static_cast<double>(whole_megabytes(each / 7 * 8 + 4))));
}

void Ring::run(const Job& job) {
  if (job.n == 0) return;
  const gpu::CurrentDevice current(state_->policy.device);
  const Stopwatch watch;
  state_->in_is_pinned = is_pinned(job.in, job.n * job.in_size);
  state_->out_is_pinned = job.out_size == 0 || is_pinned(job.out, job.n * job.out_size);
  state_->prepare(job);
  const std::int64_t chunks = (job.n + job.length - 1) / job.length;
  try {
    for (std::int64_t i = 0; i < chunks + kSlots; ++i) {
      if (i >= kSlots && i - kSlots < chunks) state_->finish(job, i - kSlots);
      if (i < chunks) state_->start(job, i);
    }
  } catch (...) {
    for (const auto* stream : {&state_->to_device, &state_->compute, &state_->to_host}) {
      (void)cudaStreamSynchronize(stream->get());  // the streams use the caller's arrays
    }
    throw;
  }
  state_->use.seconds += watch.seconds();
}

const gpu::ChunkedUse& Ring::use() const { return state_->use; }

gpu::LinkRates Ring::measure_link() {
  constexpr int kCopies = gpu::tuning::kChunks.link_copies;
  const gpu::CurrentDevice current(state_->policy.device);
  State& state = *state_;
  for (Slot& slot : state.slots) {  // stays within the limit: the next call allocates what it needs
    for (Buffer* buffer : {&slot.in, &slot.out, &slot.results}) state.give_back(*buffer);
  }
  Slot& there = state.slots[0];
  Slot& back = state.slots[1];
  const std::int64_t bytes = state.device_bytes > 0 ? std::min(kChunkBytes, state.device_bytes / kSlots) : kChunkBytes;
  for (Slot* slot : {&there, &back}) {
    state.grow(slot->in, bytes);
    State::grow_pinned(slot->pinned_in, bytes);
  }
  const auto send = [&] {
    require(cudaMemcpyAsync(there.in.memory, there.pinned_in.memory, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                            state.to_device.get()),
            "copying over the link");
  };
  const auto fetch = [&] {
    require(cudaMemcpyAsync(back.pinned_in.memory, back.in.memory, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                            state.to_host.get()),
            "copying over the link");
  };
  const auto rate = [&](bool sends, bool fetches) {
    state.wait_for_all();
    const Stopwatch watch;
    for (int i = 0; i < kCopies; ++i) {
      if (sends) send();
      if (fetches) fetch();
    }
    state.wait_for_all();
    return static_cast<double>(kCopies * bytes) / watch.seconds();
  };
  (void)rate(true, true);  // the first copies start the engines
  return {.to_device = rate(true, false), .to_host = rate(false, true), .both = rate(true, true)};
}

}  // namespace upsweep::chunked

namespace upsweep::gpu {

Chunked::Chunked(const Policy& policy, std::int64_t device_bytes, int threads)
    : state_(new State{chunked::Ring(policy, device_bytes, threads)}) {}
Chunked::~Chunked() = default;
Chunked::Chunked(Chunked&&) noexcept = default;
Chunked& Chunked::operator=(Chunked&&) noexcept = default;
const Policy& Chunked::policy() const { return state_->ring.policy(); }
const ChunkedUse& Chunked::use() const { return state_->ring.use(); }
LinkRates Chunked::measure_link() const { return state_->ring.measure_link(); }

}  // namespace upsweep::gpu
