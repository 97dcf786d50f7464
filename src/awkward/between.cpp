// SPDX-License-Identifier: Apache-2.0
// awkward/between.cpp: operations that Awkward Array does in several steps between its kernels, each in one pass.
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>

#include "awkward/ranges.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::awkward {
namespace {

/// Sixteen bytes that are moved and never interpreted.
struct Bytes16 {
  std::array<std::uint64_t, 2> words;
};

/// Calls use(T{}) with an element type T of `bytes` bytes.
template <class Use>
KernelError at_size(std::int64_t bytes, Use use) {
  switch (bytes) {
    case 1:
      return use(std::uint8_t{});
    case 2:
      return use(std::uint16_t{});
    case 4:
      return use(std::uint32_t{});
    case 8:
      return use(std::uint64_t{});
    case 16:
      return use(Bytes16{});
    default:
      return null_array();
  }
}

/// Calls work(first, last) for ranges of n. work() returns the first bad index, or kNoIndex.
template <class Work>
KernelError run_checked(std::int64_t n, const char* text, Work work) {
  std::int64_t bad = kNoIndex;
  const KernelError error = run([&] { bad = first_bad_of_ranges(n, work); }, as_refused);
  return bad == kNoIndex ? error : failure(text, bad);
}

// ----------------------------------------------------------------------------------------------------------- positions

/// Copies positions. Positions that count from the end are converted to positions from the beginning.
KernelError normalise_positions(std::int64_t* to, const std::int64_t* index, std::int64_t n, std::int64_t elements) {
  if (any_null(n, to, index)) return null_array();
  return run_checked(count_of(n), "index out of range", [=](std::int64_t first, std::int64_t last) {
    bool is_good = true;
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t at = index[i] + (elements & -static_cast<std::int64_t>(index[i] < 0));
      is_good &= at < elements;  // a position that is still negative is refused by the take, as in Awkward
      to[i] = at;
    }
    return is_good ? kNoIndex : first;
  });
}

KernelError are_equal(const void* a, const void* b, std::int64_t bytes) {
  if (any_null(bytes, a, b)) return null_array();
  constexpr std::int64_t kBytes = 64;  // of each array that count as one element of a range
  const std::int64_t n = count_of(bytes);
  return run_checked((n + kBytes - 1) / kBytes, "arrays differ", [=](std::int64_t first, std::int64_t last) {
    const std::int64_t begin = first * kBytes;
    const auto count = static_cast<std::size_t>(std::min(last * kBytes, n) - begin);
    return std::memcmp(static_cast<const char*>(a) + begin, static_cast<const char*>(b) + begin, count) == 0 ? kNoIndex
                                                                                                             : first;
  });
}

// -------------------------------------------------------------------------------------------------------- lists, moved

KernelError spread_elements(void* to, const void* from, const std::int64_t* offsets, std::int64_t length,
                            std::int64_t bytes) {
  const std::int64_t n = count_of(length);
  return run([&] { broadcast(par, Lists::by_offsets(offsets, n), from, bytes, to, elements_of(offsets, n)); },
             as_refused);
}

KernelError pack_lists(void* to, const std::int64_t* offsets, std::int64_t length, const std::int64_t* starts,
                       const std::int64_t* stops, const void* content, std::int64_t elements, std::int64_t bytes) {
  const std::int64_t n = count_of(length);
  return run(
      [&] {
        const PackColumn column(content, elements, to, elements_of(offsets, n), static_cast<int>(bytes));
        pack_content(par, Lists::by_bounds(starts, stops, n), offsets, std::span(&column, 1));
      },
      as_refused);
}

/// Lists by offsets, and their content. `content` is null if positions in it are wanted; `begin` is that of its first
/// one.
template <class T>
struct Source {
  const std::int64_t* offsets = nullptr;
  const T* content = nullptr;
  std::int64_t elements = 0;
  std::int64_t begin = 0;

  [[nodiscard]] std::int64_t count(std::int64_t i) const { return offsets[i + 1] - offsets[i]; }
  /// Returns whether each of these lists ends after its start, and within the content.
  [[nodiscard]] bool are_good(std::int64_t first, std::int64_t last) const {
    if (first == last) return true;
    bool is_good = offsets[first] >= 0 && offsets[last] <= elements;
    for (std::int64_t i = first; i < last; ++i) is_good &= offsets[i] <= offsets[i + 1];
    return is_good;
  }
};

/// Writes `count` elements, starting at `at`. If more may be written, it writes eight of them at once.
template <class T>
void write_run(T* out, Destination& place, const Source<T>& from, std::int64_t at, std::int64_t count) {
  T* const to = out + place.at;
  if (from.content == nullptr) {
    if constexpr (sizeof(T) == sizeof(std::int64_t)) {
      const auto first = static_cast<T>(from.begin + at);
      if (count <= kWhole && place.at + kWhole <= place.end) {
        for (std::int64_t lane = 0; lane < kWhole; ++lane) to[lane] = first + static_cast<T>(lane);
      } else {
        for (std::int64_t j = 0; j < count; ++j) to[j] = first + static_cast<T>(j);
      }
    }
  } else if (count <= kWhole && place.at + kWhole <= place.end && at + kWhole <= from.elements) {
    std::memcpy(to, from.content + at, kWhole * sizeof(T));
  } else {
    std::copy_n(from.content + at, count, to);
  }
  place.at += count;
}

template <class T>
KernelError concatenate(std::int64_t* tooffsets, T* to, std::span<const Source<T>> sources, std::int64_t n) {
  tooffsets[0] = 0;
  return run_checked(n, "offsets must be monotonically increasing", [=](std::int64_t first, std::int64_t last) {
    std::int64_t at = 0;
    std::int64_t end = 0;
    for (const Source<T>& source : sources) {
      if (!source.are_good(first, last)) return first;
      at += source.offsets[first] - source.offsets[0];
      end += source.offsets[last] - source.offsets[0];
    }
    Destination place{at, end};
    for (std::int64_t i = first; i < last; ++i) {
      for (const Source<T>& source : sources) write_run(to, place, source, source.offsets[i], source.count(i));
      tooffsets[i + 1] = place.at;
    }
    return kNoIndex;
  });
}

KernelError concatenate_arrays(std::int64_t* tooffsets, void* to, const std::int64_t* const* offsets,
                               const void* const* contents, const std::int64_t* lengths, std::int64_t arrays,
                               std::int64_t length, std::int64_t bytes) {
  const std::int64_t n = count_of(length);
  if (tooffsets == nullptr || offsets == nullptr || lengths == nullptr || arrays < 1) return null_array();
  return at_size(bytes == 0 ? std::int64_t{sizeof(std::int64_t)} : bytes, [&]<class T>(T) {
    std::vector<Source<T>> sources(static_cast<std::size_t>(arrays));
    std::int64_t begin = 0;
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (offsets[k] == nullptr) return null_array();
      const T* const content = bytes == 0 ? nullptr : static_cast<const T*>(contents[k]);
      sources[k] = {offsets[k], content, lengths[k], begin};
      begin += lengths[k];
    }
    return concatenate(tooffsets, static_cast<T*>(to), std::span<const Source<T>>(sources), n);
  });
}

// -------------------------------------------------------------------------------------------------- element by element

template <class T>
KernelError choose(T* to, const std::int8_t* tags, const std::int64_t* index, std::int64_t n,
                   std::span<const Source<T>> sources) {
  return run_checked(n, "index out of range", [=](std::int64_t first, std::int64_t last) {
    const auto arrays = static_cast<std::int64_t>(sources.size());
    for (std::int64_t i = first; i < last; ++i) {
      if (tags[i] < 0 || tags[i] >= arrays) return i;
      const Source<T>& source = sources[static_cast<std::size_t>(tags[i])];
      if (static_cast<std::uint64_t>(index[i]) >= static_cast<std::uint64_t>(source.elements)) return i;
      to[i] = source.content[index[i]];
    }
    return kNoIndex;
  });
}

KernelError choose_from(void* to, const std::int8_t* tags, const std::int64_t* index, std::int64_t length,
                        const void* const* contents, const std::int64_t* lengths, std::int64_t arrays,
                        std::int64_t bytes) {
  if (any_null(length, tags, index) || contents == nullptr || lengths == nullptr) return null_array();
  return at_size(bytes, [&]<class T>(T) {
    std::vector<Source<T>> sources(static_cast<std::size_t>(count_of(arrays)));
    for (std::size_t k = 0; k < sources.size(); ++k)
      sources[k] = {nullptr, static_cast<const T*>(contents[k]), lengths[k]};
    return choose(static_cast<T*>(to), tags, index, count_of(length), std::span<const Source<T>>(sources));
  });
}

KernelError mean_of_sums(double* sums, const std::int64_t* offsets, std::int64_t length) {
  return run_on(
      length,
      [&] {
        for_ranges(count_of(length), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t i = first; i < last; ++i) {
            const std::int64_t count = offsets[i + 1] - offsets[i];
            const double mean = sums[i] / static_cast<double>(count);
            sums[i] = count == 0 ? std::numeric_limits<double>::quiet_NaN() : mean;  // 0/0 has another sign
          }
        });
      },
      sums, offsets);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

KernelError awkward_upsweep_positions_64(int64_t* to, const int64_t* fromindex, int64_t lenindex, int64_t lencontent) {
  return upsweep::awkward::normalise_positions(to, fromindex, lenindex, lencontent);
}
KernelError awkward_upsweep_equal(const void* a, const void* b, int64_t bytes) {
  return upsweep::awkward::are_equal(a, b, bytes);
}
KernelError awkward_upsweep_spread_64(void* to, const void* from, const int64_t* offsets, int64_t length,
                                      int64_t bytes) {
  return upsweep::awkward::spread_elements(to, from, offsets, length, bytes);
}
KernelError awkward_upsweep_pack_64(void* to, const int64_t* offsets, int64_t length, const int64_t* starts,
                                    const int64_t* stops, const void* content, int64_t lencontent, int64_t bytes) {
  return upsweep::awkward::pack_lists(to, offsets, length, starts, stops, content, lencontent, bytes);
}
KernelError awkward_upsweep_concatenate_64(int64_t* tooffsets, void* to, const int64_t* const* offsets,
                                           const void* const* contents, const int64_t* lengths, int64_t arrays,
                                           int64_t length, int64_t bytes) {
  return upsweep::awkward::concatenate_arrays(tooffsets, to, offsets, contents, lengths, arrays, length, bytes);
}
KernelError awkward_upsweep_choose_64(void* to, const int8_t* tags, const int64_t* index, int64_t length,
                                      const void* const* contents, const int64_t* lengths, int64_t arrays,
                                      int64_t bytes) {
  return upsweep::awkward::choose_from(to, tags, index, length, contents, lengths, arrays, bytes);
}
KernelError awkward_upsweep_mean_64(double* sums, const int64_t* offsets, int64_t length) {
  return upsweep::awkward::mean_of_sums(sums, offsets, length);
}
