// SPDX-License-Identifier: Apache-2.0
// system/large_memory.cpp: memory of large vectors, of which what one has given back is the next one's: in a virtual machine, to
// touch a page for the first time takes as long as to write it ten times.
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
constexpr bool kIsWatched = true;  // sanitizers watch malloc()'s memory alone
#else
constexpr bool kIsWatched = false;
#endif

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::size_t kChunk = std::size_t{2} << 20;  // a huge page, where the system makes them
constexpr std::size_t kBlocks = kChunk / kBlock;      // of a chunk
static_assert(kBlocks == 32);                         // a bit each
constexpr std::uint32_t kFull = ~std::uint32_t{0};
// What stays when nobody is about to use it: of the memory that is available such a share, and no more than these
// chunks. To let a gigabyte go takes 20 to 40 ms.
constexpr std::int64_t kSpareShare = 32;
constexpr std::size_t kMostSpare = 256;
// Blocks of vectors of about one size that are kept for the next one: 8 MB.
constexpr std::size_t kMostRecent = 128;

constexpr std::size_t ceil_div(std::size_t bytes, std::size_t each) { return (bytes + each - 1) / each; }

constexpr std::uint32_t mask_of(std::size_t blocks) {
  return static_cast<std::uint32_t>((std::uint64_t{1} << blocks) - 1);
}

/// The first of so many blocks that are free and follow each other; kBlocks: there are none.
std::size_t first_free(std::uint32_t used, std::size_t blocks) {
  std::uint32_t begins = ~used;  // where so many free ones begin
  for (std::size_t has = 1; has < blocks;) {
    const std::size_t more = std::min(has, blocks - has);
    begins &= begins >> more;
    has += more;
  }
  return begins == 0 ? kBlocks : static_cast<std::size_t>(std::countr_zero(begins));
}

/// Addresses for twice the machine's memory, in chunks. Who takes some gets what was given back last, or else the first that are free, as
/// these have been written to.
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

  /// Null: there is none.
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

  /// Whether there are so many chunks that can be written to.
  bool has_chunks(std::size_t count) {
    const std::size_t before = used_.size();
    if (count <= before) return true;
    if (count > chunks_) return false;
    if (mprotect(memory_ + before * kChunk, (count - before) * kChunk, PROT_READ | PROT_WRITE) != 0) return false;
    is_written_.resize(count, 0);
    used_.resize(count, 0);
    return true;
  }

  /// Of a chunk that nothing is in: something will be.
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

  /// The last chunks, until no more than some are spare.
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
  std::vector<std::uint32_t> used_;       ///< of each chunk up to the last that has been used, its blocks that are
  std::vector<std::uint8_t> is_written_;  ///< likewise, whether it takes memory
  std::size_t spare_ = 0;                 ///< chunks that nothing is in and that take memory
  /// By their number, blocks that were given back last: the next one takes them, while they are in the cache.
  std::array<std::vector<std::byte*>, kBlocks / 2 + 1> recent_;
  /// By a number of blocks: chunks before it have not so many that follow each other.
  std::array<std::size_t, kBlocks + 1> first_with_ = {};
};

/// Null where there is none, and before the library is initialised. Never destroyed: vectors of static objects may be later.
constinit Arena* arena = nullptr;

/// A child of fork() goes on with what its parent had, so nothing of it may be half done: it is locked around fork().
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
