// SPDX-License-Identifier: Apache-2.0
// scale/chunked/ring.hpp: a few chunks of the host's arrays on their way to a device, through kernels and back, all at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "upsweep/chunked.hpp"
#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::chunked {

/// One chunk to travel, one to be computed, one to travel back, and one that the host copies.
inline constexpr int kSlots = gpu::tuning::kChunks.slots;
inline constexpr std::int64_t kChunkBytes = gpu::tuning::kChunks.chunk_bytes;

/// Some elements of the arrays, on the device.
struct Chunk {
  std::int64_t number = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;      ///< null where the job has no outputs
  void* results = nullptr;  ///< Job::result_bytes, which done() gets
};

struct Job {
  const void* in = nullptr;
  std::int64_t in_size = 0;   ///< bytes of an element
  void* out = nullptr;        ///< may be `in`
  std::int64_t out_size = 0;  ///< 0: no outputs
  std::int64_t n = 0;
  std::int64_t length = 0;  ///< elements of a chunk
  std::int64_t result_bytes = 0;
  /// Puts a chunk's work into the policy's stream.
  std::function<void(const gpu::Policy& policy, const Chunk& chunk)> compute;
  /// Its outputs are at their place. In the order of chunks.
  std::function<void(const Chunk& chunk, const std::byte* results)> done;
};

/// Three streams, and slots that are used in turn. One thread at a time.
class Ring {
 public:
  Ring(const gpu::Policy& policy, std::int64_t device_bytes, int threads);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// With the stream that compute() puts work into.
  [[nodiscard]] const gpu::Policy& policy() const;
  /// The most elements that a chunk may have, in whole `block`s, of up to kChunkBytes where they are larger. Throws
  /// invalid_argument where one block does not fit.
  [[nodiscard]] std::int64_t length(std::int64_t in_size, std::int64_t out_size, std::int64_t block) const;
  /// Returns when all is done. Throws what compute() and done() throw, and Error device_memory, out_of_memory, device_failed.
  void run(const Job& job);
  [[nodiscard]] const gpu::ChunkedUse& use() const;
  [[nodiscard]] gpu::LinkRates measure_link();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::chunked

/// What a Chunked keeps from call to call.
struct upsweep::gpu::Chunked::State {
  chunked::Ring ring;
};
