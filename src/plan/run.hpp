// SPDX-License-Identifier: Apache-2.0
// plan/run.hpp: the memory of a run: what each worker computes with, and what it appended to the outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "plan/code.hpp"
#include "plan/kernels.hpp"
#include "upsweep/error.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// Events of a block. 256 to 2,048 were measured to be within 14 %.
inline constexpr std::int64_t kBlockEvents = 1024;
/// A block in which a domain has more elements is divided, unless it is a single event.
inline constexpr std::int64_t kBlockElements = std::int64_t{1} << 17;
/// The maximum number of elements of a domain in a block: positions are int32.
inline constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 4096;
/// Bytes of a tile. Not a power of two, so that tiles do not compete for the same sets of L1.
inline constexpr std::size_t kTileBytes = (kTile + kSlack) * 8;

inline std::int64_t offset_at(const Column& column, ElementType type, std::int64_t i) {
  switch (type) {
    case ElementType::int32:
      return static_cast<const std::int32_t*>(column.data)[i];
    case ElementType::uint32:
      return static_cast<const std::uint32_t*>(column.data)[i];
    default:
      return static_cast<const std::int64_t*>(column.data)[i];
  }
}

/// Thrown where a block needs more memory than is allowed.
struct TooLarge {};

/// Memory that is reused: it grows, and its contents are then lost.
class Buffer {
 public:
  ~Buffer() { ::operator delete(memory_, std::align_val_t{64}); }
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::byte* data() const noexcept { return memory_ + stagger_; }
  void free() noexcept {
    ::operator delete(memory_, std::align_val_t{64});
    memory_ = nullptr, capacity_ = 0, stagger_ = 0;
  }
  /// Makes it at least that large. `stagger` bytes at the beginning are not used, so that several buffers do not
  /// compete for the same sets of L1.
  void grow(std::size_t bytes, std::size_t stagger) {
    free();
    memory_ = static_cast<std::byte*>(::operator new(bytes + stagger, std::align_val_t{64}));
    capacity_ = bytes, stagger_ = stagger;
  }

 private:
  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0, stagger_ = 0;
};

/// Bytes that are appended, and not initialized before.
class Bytes {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] const std::byte* data() const noexcept { return memory_.get(); }
  void resize_down(std::size_t size) noexcept { size_ = size; }
  /// Says how many bytes are expected. Memory that is not written costs nothing, but moving it does.
  void expect(std::size_t bytes) noexcept { expected_ = bytes; }
  /// Returns the memory, which the caller frees by std::free(). There are then no bytes.
  void* release() noexcept;
  /// Returns the beginning of `bytes` new bytes.
  std::byte* append(std::size_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_ = 0, capacity_ = 0;
  std::size_t expected_ = 0;
};

/// The memory of one worker.
class Worker {
 public:
  explicit Worker(const Compiled& code);

  std::vector<void*> slots;           ///< where the elements of each slot are
  std::vector<std::int64_t> lengths;  ///< of domains, in the current events
  std::vector<std::int64_t> begins;   ///< of input domains: the first element of the current events, and the end
  std::vector<std::int64_t> ends;
  std::vector<Bytes> outputs;
  std::byte* cells = nullptr;             ///< of the histograms of the current work unit
  std::vector<std::int64_t> list_totals;  ///< of outputs of offsets: the last offset of the block so far
  struct Mark {
    std::size_t bytes = 0;
    std::int64_t total = 0;
  };
  std::vector<Mark> marks;             ///< of outputs: where the current attempt began
  std::int64_t events = kBlockEvents;  ///< that are tried at a time
  int successes = 0;                   ///< since that was changed

  /// Returns an array of the block. Throws TooLarge if the buffers exceed `limit` bytes.
  void* array(const Slot& slot, std::int32_t slot_id, std::int64_t elements, std::int64_t limit);
  std::int32_t* scratch(int which, std::int64_t elements, std::int64_t limit);
  /// Sets the scalars, and computes those that are made of them.
  void set_scalars(const Compiled& code, std::span<const Scalar> parameters, const ElementKernel* kernels);
  [[nodiscard]] std::int64_t bytes() const noexcept;

 private:
  std::byte* grown(Buffer& buffer, std::size_t bytes, std::size_t stagger, std::int64_t limit);

  std::vector<std::byte> tiles_;
  std::vector<Buffer> buffers_;
  Buffer scratch_[2];
  std::int64_t buffer_bytes_ = 0;
  std::vector<std::uint64_t> parameters_;  ///< bits, by ScalarSlot
  bool has_scalars_ = false;
};

/// The part of an output that one block appended.
struct Piece {
  std::int32_t worker = 0;
  std::size_t begin = 0;  ///< bytes
  std::size_t bytes = 0;
  std::int64_t total = 0;  ///< of offsets: the last one
};

/// Elements of an input domain in the columns over it.
struct Extent {
  std::int64_t first = 0, last = 0;
};
/// Returns the extent of an input, numbered as OutputInfo::input; nothing if columns are missing or too short. The
/// offsets between are not looked at.
std::optional<Extent> extent_of(const Compiled& code, std::span<const Column> columns, std::int64_t events,
                                std::int32_t input);

/// Throws the Error of columns and parameters that are missing, or of a column that is too short for the events.
void check_inputs(const Compiled& code, std::span<const Column> given, std::span<const Scalar> parameters,
                  std::int64_t events);

/// Throws the Error of an output or histogram that does not exist.
void require_output(const Compiled& code, int output);
const HistogramCode& histogram_at(const Compiled& code, int histogram);
/// Throws the Error of a histogram that has other bins, or of a run of which a check has failed.
void require_histogram(const Compiled& code, int histogram, bool has_weights, bool has_failed);

/// The caller's memory for an output.
struct Destination {
  std::byte* data = nullptr;
  Extent extent;
};

class Run {
 public:
  std::shared_ptr<const Compiled> code;  ///< null while the memory is kept
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<Piece> pieces;              ///< of output o in block b: [b · outputs + o]
  std::vector<std::int64_t> sizes;        ///< of outputs: elements
  std::vector<Column> columns;            ///< by number
  std::vector<Destination> destinations;  ///< of outputs
  Buffer cells;  ///< of the histograms: of each work unit, and afterwards in the first one of all
  int threads = 1;
  std::optional<Failure> failure;

  /// Runs all blocks. Throws Error.
  void execute(const Policy& policy, std::span<const Column> given, std::span<const Scalar> parameters,
               std::int64_t events, const Limits& limits, const upsweep::detail::GoOn& go_on,
               std::span<void* const> to);
  void copy(int output, void* to) const;
  /// As Result::release().
  void* release(int output);
  /// Copies the bins of a histogram, of 8 bytes, with weights of 16.
  void copy_bins(int histogram, void* to) const;

 private:
  void sum_sizes();
  /// Completes the offsets in the caller's memory.
  void finish_given_offsets();
};

}  // namespace upsweep::plan::detail
