// SPDX-License-Identifier: Apache-2.0
// cpu/pack_kernels.cpp: copies short lists as vectors into a stage, which is written by cache lines; per ISA.
#include "cpu/pack_kernels.hpp"

#include <cstring>

#include "cpu/simd.hpp"

#define UPSWEEP_PACK_TABLE(isa) UPSWEEP_PACK_TABLE_OF(isa)
#define UPSWEEP_PACK_TABLE_OF(isa) pack_kernels_##isa

namespace upsweep::cpu {
namespace {

using Byte = std::uint8_t;

/// Fills all lanes by one instruction. GCC 12 compiles simd.hpp's splat() lane by lane if the value changes in a loop.
template <class T>
UPSWEEP_INLINE void put_filled(std::byte* to, T value) {
  const Register<T> lanes = Register<T>{} + value;
  for (int r = 0; r < kRegisters; ++r) reinterpret_cast<typename RegisterOf<T>::Unaligned*>(to)[r] = lanes;
}

UPSWEEP_INLINE void copy_vector(std::byte* to, const std::byte* from) {
  store(reinterpret_cast<Byte*>(to), load(reinterpret_cast<const Byte*>(from)));
}

// --------------------------------------------------------------------------------------------------------------- stage

/// Writes the whole cache lines of the stage, up to `at`. Returns where the next element goes, or null if the output is
/// full.
[[gnu::noinline]] std::byte* flush(Stage& stage, std::byte* at) {
  if (at - stage.bytes > stage.capacity) return nullptr;
  const std::int64_t whole = (at - stage.bytes) / kVectorBytes * kVectorBytes;
  if (whole == 0) return at;
  std::int64_t i = 0;
  if (stage.own > 0) {  // this line contains another work unit's bytes
    i = kVectorBytes;
    std::memcpy(stage.out + stage.own, stage.bytes + stage.own, static_cast<std::size_t>(i - stage.own));
    stage.own = 0;
  }
  if (stage.non_temporal) {
    for (; i < whole; i += kVectorBytes) {
      NonTemporal{}.put(reinterpret_cast<Byte*>(stage.out + i), load(reinterpret_cast<const Byte*>(stage.bytes + i)));
    }
  } else {
    for (; i < whole; i += kVectorBytes) copy_vector(stage.out + i, stage.bytes + i);
  }
  copy_vector(stage.bytes, stage.bytes + whole);
  stage.out += whole;
  stage.capacity -= whole;
  return at - whole;
}

bool finish(Stage& stage) {
  const std::byte* const end = flush(stage, stage.at);
  if (end == nullptr) return false;
  const std::int64_t left = end - (stage.bytes + stage.own);
  if (left > 0) std::memcpy(stage.out + stage.own, stage.bytes + stage.own, static_cast<std::size_t>(left));
  return true;
}

// ------------------------------------------------------------------------------------- where a list's elements are
// from A source has elements of kSize bytes. is_near(i): whole vectors may be read from short list i. has(i, length):
// the list is within its content. put(to, i, j): writes a vector of elements from j of list i on. ahead(run, i): list i
// will follow.

template <int kBytes>
struct Content {
  static constexpr std::int64_t kSize = kBytes;

  const std::byte* content;
  const std::int64_t* starts;
  std::int64_t length;
  std::uint64_t near;  // a short list's vectors can be read from all smaller starts

  [[nodiscard]] UPSWEEP_INLINE bool is_near(std::int64_t i) const {
    return static_cast<std::uint64_t>(starts[i]) < near;
  }
  [[nodiscard]] UPSWEEP_INLINE bool has(std::int64_t i, std::int64_t count) const {
    return count == 0 || (starts[i] >= 0 && count <= length && starts[i] <= length - count);
  }
  UPSWEEP_INLINE void put(std::byte* to, std::int64_t i, std::int64_t j) const {
    copy_vector(to, content + (starts[i] + j) * kSize);
  }
  UPSWEEP_INLINE void put_exactly(std::byte* to, std::int64_t i, std::int64_t j, std::int64_t count) const {
    std::memcpy(to, content + (starts[i] + j) * kSize, static_cast<std::size_t>(count * kSize));
  }
  UPSWEEP_INLINE void ahead(const ListRun& run, std::int64_t i) const {
    // These starts are not checked yet. A prefetch may use any address.
    const auto from = reinterpret_cast<std::uintptr_t>(content) + static_cast<std::uint64_t>(starts[i]) * kSize;
    const auto length_of = static_cast<std::uint64_t>(run.offsets[i + 1] - run.offsets[i]);
    __builtin_prefetch(reinterpret_cast<const void*>(from));  // NOLINT(performance-no-int-to-ptr)
    __builtin_prefetch(
        reinterpret_cast<const void*>(from + length_of * kSize - 1));  // NOLINT(performance-no-int-to-ptr)
  }
};

/// A source whose elements are computed when they are written: any number of them may be written.
struct Made {
  [[nodiscard]] UPSWEEP_INLINE bool is_near(std::int64_t) const { return true; }
  [[nodiscard]] UPSWEEP_INLINE bool has(std::int64_t, std::int64_t) const { return true; }
  UPSWEEP_INLINE void ahead(const ListRun&, std::int64_t) const {}
};

UPSWEEP_INLINE void put_from(std::byte* to, std::int64_t first) {
  constexpr int kEach = kRegisterLanes<std::int64_t>;
  Register<std::int64_t> lanes;
  for (int j = 0; j < kEach; ++j) lanes[j] = j;
  for (int r = 0; r < kRegisters; ++r) {
    reinterpret_cast<RegisterOf<std::int64_t>::Unaligned*>(to)[r] = lanes + (first + std::int64_t{r} * kEach);
  }
}

struct CountUp : Made {
  static constexpr std::int64_t kSize = 8;
  const std::int64_t* starts;

  explicit CountUp(const std::int64_t* first) : starts(first) {}
  UPSWEEP_INLINE void put(std::byte* to, std::int64_t i, std::int64_t j) const { put_from(to, starts[i] + j); }
};

struct LocalIndex : Made {
  static constexpr std::int64_t kSize = 8;

  UPSWEEP_INLINE void put(std::byte* to, std::int64_t, std::int64_t j) const { put_from(to, j); }
};

struct Number : Made {
  static constexpr std::int64_t kSize = 8;
  std::int64_t first;

  explicit Number(std::int64_t number) : first(number) {}
  UPSWEEP_INLINE void put(std::byte* to, std::int64_t i, std::int64_t) const { put_filled(to, first + i); }
};

template <int kBytes>
struct Element {
  using Type = std::conditional_t<
      kBytes == 1, std::uint8_t,
      std::conditional_t<kBytes == 2, std::uint16_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;
};

template <int kBytes>
struct Values : Made {
  static constexpr std::int64_t kSize = kBytes;
  const std::byte* values;

  explicit Values(const void* first) : values(static_cast<const std::byte*>(first)) {}
  UPSWEEP_INLINE void put(std::byte* to, std::int64_t i, std::int64_t) const {
    const std::byte* const from = values + i * kSize;
    if constexpr (kBytes == 16) {
      for (int b = 0; b < kVectorBytes; b += kBytes) std::memcpy(to + b, from, kBytes);
    } else {
      using T = typename Element<kBytes>::Type;
      T value;
      std::memcpy(&value, from, sizeof value);  // it may be unaligned
      put_filled(to, value);
    }
  }
};

// ---------------------------------------------------------------------------------------------------------------
// kernel

/// Appends a long list, or a list at the end of its content. Returns where the next element goes, or null.
template <class Source>
std::byte* append_exactly(Stage& stage, std::byte* at, const Source& source, std::int64_t i, std::int64_t length) {
  constexpr std::int64_t kSize = Source::kSize;
  for (std::int64_t j = 0; j < length && at != nullptr;) {
    const std::int64_t left = (stage.bytes + Stage::kFull - at + kSize - 1) / kSize;
    const std::int64_t count = left < length - j ? left : length - j;
    if constexpr (requires { source.put_exactly(at, i, j, count); }) {
      source.put_exactly(at, i, j, count);
    } else {
      constexpr std::int64_t kEach = kVectorBytes / kSize;
      for (std::int64_t k = 0; k < count; k += kEach) source.put(at + k * kSize, i, j + k);
    }
    at += count * kSize;
    j += count;
    if (at >= stage.bytes + Stage::kFull) at = flush(stage, at);
  }
  return at;
}

/// `run` and `source` are copies, so that the compiler sees that stores to the stage do not change their fields.
template <class Source>
UPSWEEP_INLINE bool append(Stage& stage, const ListRun run, const Source source) {
  constexpr std::int64_t kEach = kVectorBytes / Source::kSize;
  constexpr std::uint64_t kShort = kShortListBytes / Source::kSize;
  const std::byte* const full = stage.bytes + Stage::kFull;
  std::byte* at = stage.at;
  for (std::int64_t i = 0; i < run.count; ++i) {
    if (i + kListsAhead < run.known) source.ahead(run, i + kListsAhead);
    const std::int64_t length = run.offsets[i + 1] - run.offsets[i];
    if (static_cast<std::uint64_t>(length) <= kShort && source.is_near(i)) [[likely]] {
      source.put(at, i, 0);
      for (std::int64_t j = kEach; j < length; j += kEach) source.put(at + j * Source::kSize, i, j);
      at += length * Source::kSize;
      if (at >= full) at = flush(stage, at);
    } else {
      if (length < 0 || !source.has(i, length)) return false;
      at = append_exactly(stage, at, source, i, length);
    }
    if (at == nullptr) return false;
  }
  stage.at = at;
  return true;
}

template <int kBytes>
bool copy(Stage& stage, const ListRun& run, const void* content, std::int64_t length) {
  const std::int64_t near = length - kShortListBytes / kBytes + 1;
  return append(stage, run,
                Content<kBytes>{static_cast<const std::byte*>(content), run.starts, length,
                                near < 0 ? 0 : static_cast<std::uint64_t>(near)});
}
template <int kBytes>
bool repeat(Stage& stage, const ListRun& run, const void* values) {
  return append(stage, run, Values<kBytes>(values));
}
bool number(Stage& stage, const ListRun& run, std::int64_t first) { return append(stage, run, Number(first)); }
bool count_up(Stage& stage, const ListRun& run) { return append(stage, run, CountUp(run.starts)); }
bool local_index(Stage& stage, const ListRun& run) { return append(stage, run, LocalIndex{}); }

constexpr PackKernels kTable{.copy = {&copy<1>, &copy<2>, &copy<4>, &copy<8>, &copy<16>},
                             .repeat = {&repeat<1>, &repeat<2>, &repeat<4>, &repeat<8>, &repeat<16>},
                             .number = &number,
                             .count_up = &count_up,
                             .local_index = &local_index,
                             .finish = &finish};

}  // namespace

const PackKernels& UPSWEEP_PACK_TABLE(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
