// SPDX-License-Identifier: Apache-2.0
// system/large_memory.cpp: memory of large vectors, reused by later vectors. In a virtual machine, the first write to a
// page takes as long as ten later writes to it.
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "system/memory.hpp"
#include "system/threads.hpp"
#include "upsweep/detail/unwritten_memory.hpp"

namespace upsweep::detail {
namespace {

#ifdef UPSWEEP_SANITIZED
constexpr bool kIsWatched = true;  // sanitizers watch only malloc()'s memory
#else
constexpr bool kIsWatched = false;
#endif

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::size_t kChunk = std::size_t{2} << 20;  // a huge page, if the system creates them
constexpr std::size_t kBlocks = kChunk / kBlock;      // per chunk
static_assert(kBlocks == 32);                         // one bit each
constexpr std::uint32_t kFull = ~std::uint32_t{0};
// The memory that is kept while no call uses it: 1/kSpareShare of the available memory, at most kMostSpare chunks. The
// release of a gigabyte takes 20 to 40 ms.
constexpr std::int64_t kSpareShare = 32;
constexpr std::size_t kMostSpare = 256;
// Blocks of vectors of about one size that are kept for the next vector: 8 MB.
constexpr std::size_t kMostRecent = 128;

constexpr std::size_t ceil_div(std::size_t bytes, std::size_t each) { return (bytes + each - 1) / each; }

constexpr std::uint32_t mask_of(std::size_t blocks) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << blocks) - 1);
}

/// Returns the first of `blocks` consecutive free blocks, or kBlocks if there are none.
std::size_t first_free(std::uint32_t used, std::size_t blocks) {
  std::uint32_t begins = ~used;  // where `has` consecutive free blocks begin
  for (std::size_t has = 1; has < blocks;) {
    const std::size_t more = std::min(has, blocks - has);
    begins &= begins >> more;
    has += more;
  }
  return begins == 0 ? kBlocks : static_cast<std::size_t>(std::countr_zero(begins));
}

/// Addresses for twice the machine's memory, in chunks. An allocation gets the memory that was returned last, otherwise
/// the first free memory, as that has been written to.
class Arena {
 public:
  Arena() noexcept {
    const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
    const std::size_t chunks = ceil_div(2 * pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), kChunk);
    void* const all =
        mmap(nullptr, (chunks + 1) * kChunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return;
    const auto first = std::bit_cast<std::uintptr_t>(all);
    memory_ = static_cast<std::byte*>(all) + (ceil_div(first, kChunk) * kChunk - first);
    chunks_ = chunks;
  }

  /// Returns null if there is no memory.
  void* take(std::size_t bytes) {
    const std::lock_guard lock(changing_);
    if (bytes > kChunk / 2) return take_chunks(ceil_div(bytes, kChunk));
    const std::size_t blocks = ceil_div(bytes, kBlock);
    std::vector<std::byte*>& recent = recent_[blocks];
    if (recent.empty()) return take_blocks(blocks);
    std::byte* const last = recent.back();
    recent.pop_back();
    return last;
  }

  [[nodiscard]] bool has(const void* memory) const {
    const auto* const at = static_cast<const std::byte*>(memory);
    return !std::less<>()(at, memory_) && std::less<>()(at, memory_ + chunks_ * kChunk);
  }

  void give(void* memory, std::size_t bytes) noexcept {
    auto* const begin = static_cast<std::byte*>(memory);
    const std::lock_guard lock(changing_);
    if (bytes > kChunk / 2) {
      give_chunks(static_cast<std::size_t>(begin - memory_) / kChunk, ceil_div(bytes, kChunk));
    } else {
      const std::size_t blocks = ceil_div(bytes, kBlock);
      std::vector<std::byte*>& recent = recent_[blocks];
      if (uses_ > 0 && recent.size() < recent.capacity()) return recent.push_back(begin);
      give_blocks(begin, blocks);
    }
    if (uses_ == 0) let_spare_go();
  }

  void begin_use() {
    const std::lock_guard lock(changing_);
    if (++uses_ > 1 || most_spare_ > 0) return;
    for (std::size_t blocks = 1; blocks < recent_.size(); ++blocks) recent_[blocks].reserve(kMostRecent / blocks);
    most_spare_ = std::min(static_cast<std::size_t>(available_memory() / kSpareShare) / kChunk, kMostSpare);
  }
  void end_use() noexcept {
    const std::lock_guard lock(changing_);
    if (--uses_ > 0) return;
    for (std::size_t blocks = 1; blocks < recent_.size(); ++blocks) {
      for (const std::byte* begin : recent_[blocks]) give_blocks(begin, blocks);
      recent_[blocks].clear();
    }
    let_spare_go();
  }

  std::mutex& mutex() { return changing_; }

 private:
  void* take_blocks(std::size_t blocks) {
    std::size_t& chunk = first_with_[blocks];
    for (; chunk < used_.size(); ++chunk) {
      const std::size_t block = first_free(used_[chunk], blocks);
      if (block == kBlocks) continue;
      if (used_[chunk] == 0) write(chunk);
      used_[chunk] |= mask_of(blocks) << block;
      return memory_ + chunk * kChunk + block * kBlock;
    }
    if (!has_chunks(chunk + 1)) return nullptr;
    write(chunk);
    used_[chunk] = mask_of(blocks);
    return memory_ + chunk * kChunk;
  }

  void* take_chunks(std::size_t count) {
    std::size_t first = first_with_[kBlocks];
    bool is_first = true;
    for (std::size_t chunk = first; chunk < used_.size() && chunk - first < count; ++chunk) {
      if (used_[chunk] == 0) {
        if (std::exchange(is_first, false)) first_with_[kBlocks] = chunk;
        continue;
      }
      first = chunk + 1;
    }
    if (is_first) first_with_[kBlocks] = used_.size();
    if (!has_chunks(first + count)) return nullptr;
    for (std::size_t chunk = first; chunk < first + count; ++chunk) {
      write(chunk);
      used_[chunk] = kFull;
    }
    return memory_ + first * kChunk;
  }

  /// Returns whether the first `count` chunks can be written to.
  bool has_chunks(std::size_t count) {
    const std::size_t before = used_.size();
    if (count <= before) return true;
    if (count > chunks_) return false;
    if (mprotect(memory_ + before * kChunk, (count - before) * kChunk, PROT_READ | PROT_WRITE) != 0) return false;
    is_written_.resize(count, 0);
    used_.resize(count, 0);
    return true;
  }

  /// Marks an empty chunk that will be written to.
  void write(std::size_t chunk) {
    if (is_written_[chunk] != 0) --spare_;
    is_written_[chunk] = 1;
  }

  void give_blocks(const std::byte* begin, std::size_t blocks) noexcept {
    const auto at = static_cast<std::size_t>(begin - memory_);
    const std::size_t chunk = at / kChunk;
    used_[chunk] &= ~(mask_of(blocks) << (at % kChunk / kBlock));
    for (std::size_t& from : first_with_) from = std::min(from, chunk);
    if (used_[chunk] == 0) give_chunks(chunk, 1);
  }

  void give_chunks(std::size_t first, std::size_t count) noexcept {
    std::fill_n(used_.begin() + static_cast<std::ptrdiff_t>(first), count, 0);
    for (std::size_t& from : first_with_) from = std::min(from, first);
    spare_ += count;
  }

  /// Releases the last chunks, until at most most_spare_ chunks are spare.
  void let_spare_go() noexcept {
    for (std::size_t end = used_.size(); end > 0 && spare_ > most_spare_; --end) {
      std::size_t first = end;
      for (; first > 0 && spare_ > most_spare_ && used_[first - 1] == 0 && is_written_[first - 1] != 0; --first) {
        is_written_[first - 1] = 0;
        --spare_;
      }
      if (first < end) (void)madvise(memory_ + first * kChunk, (end - first) * kChunk, MADV_FREE);
      end = std::max<std::size_t>(first, 1);
    }
  }

  std::byte* memory_ = nullptr;
  std::size_t chunks_ = 0;
  std::mutex changing_;
  int uses_ = 0;
  std::size_t most_spare_ = 0;            ///< chunks
  std::vector<std::uint32_t> used_;       ///< the used blocks of each chunk, up to the last chunk that has been used
  std::vector<std::uint8_t> is_written_;  ///< for each of these chunks, whether it occupies memory
  std::size_t spare_ = 0;                 ///< empty chunks that occupy memory
  /// By number of blocks, the blocks that were returned last. The next allocation gets them, while they are in the
  /// cache.
  std::array<std::vector<std::byte*>, kBlocks / 2 + 1> recent_;
  /// By number of blocks: chunks before this one do not have that number of consecutive free blocks.
  std::array<std::size_t, kBlocks + 1> first_with_ = {};
};

/// Null if there is none, and before the library is initialized. Never destroyed: vectors of static objects may be
/// later.
constinit Arena* arena = nullptr;

/// A child of fork() continues with the arena of its parent. It is locked around fork(), so that it is in a consistent
/// state.
struct Made {
  Made() noexcept {
    if (kIsWatched || address_space_is_limited()) return;
    arena = new (std::nothrow) Arena;
    if (arena == nullptr) return;
    pthread_atfork([] { arena->mutex().lock(); }, [] { arena->mutex().unlock(); }, [] { arena->mutex().unlock(); });
  }
};
const Made made;

}  // namespace

void* take_memory(std::size_t bytes) {
  void* const memory = bytes < kBlock || arena == nullptr ? nullptr : arena->take(bytes);
  return memory != nullptr ? memory : ::operator new(bytes);
}

void give_memory(void* memory, std::size_t bytes) noexcept {
  if (bytes < kBlock || arena == nullptr || !arena->has(memory)) return ::operator delete(memory);
  arena->give(memory, bytes);
}

LargeMemoryUse::LargeMemoryUse() {
  if (arena != nullptr) arena->begin_use();
}
LargeMemoryUse::~LargeMemoryUse() {
  if (arena != nullptr) arena->end_use();
}

}  // namespace upsweep::detail
