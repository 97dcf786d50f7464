// SPDX-License-Identifier: Apache-2.0
// scale/chunked/ring.hpp: a ring of chunks of host arrays that overlaps copies to a device, kernels and copies back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "upsweep/chunked.hpp"
#include "upsweep/detail/tuning/transfers.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::chunked {

/// One chunk is copied to the device, one is computed, one is copied back, and the host copies one.
inline constexpr int kSlots = gpu::tuning::kChunks.slots;
inline constexpr std::int64_t kChunkBytes = gpu::tuning::kChunks.chunk_bytes;

/// A chunk of the arrays on the device.
struct Chunk {
  std::int64_t number = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;      ///< null if the job has no outputs
  void* results = nullptr;  ///< Job::result_bytes that are passed to done()
};

struct Job {
  const void* in = nullptr;
  std::int64_t in_size = 0;   ///< bytes of an element
  void* out = nullptr;        ///< may be `in`
  std::int64_t out_size = 0;  ///< 0: the job has no outputs
  std::int64_t n = 0;
  std::int64_t length = 0;  ///< elements per chunk
  std::int64_t result_bytes = 0;
  /// Enqueues a chunk's work into the policy's stream.
  std::function<void(const gpu::Policy& policy, const Chunk& chunk)> compute;
  /// Runs in the order of chunks, once the outputs of a chunk are in host memory.
  std::function<void(const Chunk& chunk, const std::byte* results)> done;
};

/// Three streams, and slots that are used in turn. Only one thread may use a ring at a time.
class Ring {
 public:
  Ring(const gpu::Policy& policy, std::int64_t device_bytes, int threads);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Returns the policy with the stream that compute() puts work into.
  [[nodiscard]] const gpu::Policy& policy() const;
  /// Returns the maximum number of elements of a chunk: a multiple of `block`, of up to kChunkBytes unless one block is
  /// larger. Throws invalid_argument if one block does not fit.
  [[nodiscard]] std::int64_t length(std::int64_t in_size, std::int64_t out_size, std::int64_t block) const;
  /// Returns when all chunks are done. Throws what compute() and done() throw, and Error device_memory, out_of_memory,
  /// device_failed.
  void run(const Job& job);
  [[nodiscard]] const gpu::ChunkedUse& use() const;
  [[nodiscard]] gpu::LinkRates measure_link();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace upsweep::chunked

/// The state that a Chunked keeps from call to call.
struct upsweep::gpu::Chunked::State {
  chunked::Ring ring;
};
