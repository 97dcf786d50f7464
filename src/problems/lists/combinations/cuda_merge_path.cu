// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/cuda_merge_path.cu: counts the tuples, then computes each from its number in its list.
//
// Idea   A scan turns counts of tuples into offsets. Then blocks process equal work units of lists and tuples: neither
//        a long list nor many empty lists unbalance them. A tuple's number, counted from the list's last tuple, is
//        C(b1, n) + C(b2, n - 1) + … + C(bn, 1) for exactly one b1 > b2 > … > bn. These b are the distances of the
//        tuple's elements from the list's end. Each step finds the largest b that fits. For the last three positions, b
//        is computed as a root. For earlier positions, a binary search in a table finds b. In a cartesian product, the
//        positions of the elements are the digits of the number.
// Cost   Per list 40 bytes for counts and offsets, and 8 for the path. Tuples are written once. Work 1 per tuple of up
//        to 3 positions, n log(length) per longer tuple.
// Needs  Any GPU.
// Limit  Memory bandwidth for pairs and triples (2 and 3 positions); the binary search for larger tuples.
// From   Combinatorial number system (Knuth, "The Art of Computer Programming", 7.2.1.3); path: cuda/list_path.cuh.
#include "problems/lists/combinations/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <algorithm>
#include <cstring>

#include "cuda/list_path.cuh"
#include "cuda/work_path.cuh"
#include "upsweep/detail/tuning/lists.hpp"
#endif

namespace upsweep::impl::combinations {

#if UPSWEEP_HAS_CUDA
namespace {

using gpu::MovedLists;
using Number = unsigned long long;
__extension__ using Wide = unsigned __int128;

// ----------------------------------------------------------------------------------------------------------- binomials

/// Represents every count that does not fit int64.
constexpr Number kTooMany = Number{1} << 63;

/// Returns the number of ways to choose k of `size` elements, at most kTooMany.
__device__ Number choose_of(Number size, Number k) {
  if (k > size) return 0;
  if (k > size - k) k = size - k;
  Number ways = 1;
  for (Number j = 1; j <= k; ++j) {
    const Wide product = Wide{ways} * (size - j + 1);  // = j * C(size, j), which grows with j
    if (static_cast<Number>(product >> 64) >= j) return kTooMany;
    const bool is_short = product >> 64 == 0;
    ways = is_short ? static_cast<Number>(product) / j : static_cast<Number>(product / j);
    if (ways >= kTooMany) return kTooMany;
  }
  return ways;
}

/// Return b choose 2, and b choose 3 if it is less than 2^64.
__device__ __forceinline__ Number two_of(Number b) { return b % 2 == 0 ? b / 2 * (b - 1) : (b - 1) / 2 * b; }
__device__ __forceinline__ Number three_of(Number b) {
  const Number pairs = two_of(b);
  return pairs % 3 == 0 ? pairs / 3 * (b - 2) : (b - 2) / 3 * pairs;
}

/// Below this limit, a float is exact enough for a number and for 8 times the number.
constexpr Number kFloats = Number{1} << 20;

// [guide: root]
/// Returns the largest b with b choose 2 (or 3) <= `number`: a floating-point root, corrected by its rounding error.
__device__ __forceinline__ Number greatest_two(Number number) {
  Number b = number < kFloats ? static_cast<Number>((sqrtf(static_cast<float>(8 * number + 1)) + 1) / 2)
                              : static_cast<Number>((sqrt(8 * static_cast<double>(number) + 1) + 1) / 2);
  while (two_of(b) > number) --b;
  while (two_of(b + 1) <= number) ++b;
  return b;
}
// [guide: end]
__device__ __forceinline__ Number greatest_three(Number number) {
  // The cube of b - 1, minus b - 1, is 6 times b choose 3.
  Number b = 1 + (number < kFloats ? static_cast<Number>(cbrtf(static_cast<float>(6 * number)))
                                   : static_cast<Number>(cbrt(6 * static_cast<double>(number))));
  if (b < 2) b = 2;
  while (three_of(b) > number) --b;
  while (three_of(b + 1) <= number) ++b;
  return b;
}

/// Size of the table of binomials for tuples of more than three positions: list sizes and counts up to these.
constexpr std::int64_t kTableSizes = 1024;
constexpr std::int64_t kTableCounts = 32;

struct Binomials {
  const Number* table;
  std::int64_t counts;

  __device__ __forceinline__ Number operator()(std::int64_t size, std::int64_t k) const {
    if (size < kTableSizes && k < counts) return table[k * kTableSizes + size];
    return choose_of(static_cast<Number>(size), static_cast<Number>(k));
  }
};

constexpr int kSmallThreads = gpu::tuning::kPath.binomial_threads;

__global__ void __launch_bounds__(kSmallThreads) fill_binomials(Number* table, std::int64_t counts) {
  const std::int64_t at = std::int64_t{blockIdx.x} * kSmallThreads + threadIdx.x;
  if (at >= counts * kTableSizes) return;
  table[at] = choose_of(static_cast<Number>(at % kTableSizes), static_cast<Number>(at / kTableSizes));
}

// -------------------------------------------------------------------------------------------------------------- counts
// Count of list i as launch_offsets() expects it: below 0 if the list is bad or its tuples exceed int64.

struct CombinationCounts {
  MovedLists lists;
  std::int64_t n;
  bool replacement;

  __device__ std::int64_t operator()(std::int64_t i) const {
    const std::int64_t length = lists.at(i).length;
    if (length <= 0) return length;
    const Number size = static_cast<Number>(length) + (replacement ? static_cast<Number>(n) - 1 : 0);
    constexpr Number kSquareFits = Number{1} << 32;
    const Number ways = n == 2 && size < kSquareFits ? two_of(size) : choose_of(size, static_cast<Number>(n));
    return ways >= kTooMany ? -1 : static_cast<std::int64_t>(ways);
  }
  [[nodiscard]] __device__ Code wrong(std::int64_t i) const { return lists.check(i); }
};

struct ProductCounts {
  const MovedLists* inputs;
  std::int64_t n;

  __device__ std::int64_t operator()(std::int64_t i) const {
    Number product = 1;  // kTooMany times 0 is 0
    for (std::int64_t d = 0; d < n; ++d) {
      const std::int64_t length = inputs[d].at(i).length;
      if (length < 0) return -1;
      const Wide wide = Wide{product} * static_cast<Number>(length);
      product = wide >= kTooMany ? kTooMany : static_cast<Number>(wide);
    }
    return product == kTooMany ? -1 : static_cast<std::int64_t>(product);
  }
  [[nodiscard]] __device__ Code wrong(std::int64_t i) const {
    for (std::int64_t d = 0; d < n; ++d) {
      if (const Code code = inputs[d].check(i); code != Code::ok) return code;
    }
    return Code::ok;
  }
};

template <class Counts>
__global__ void conclude_counts(const __grid_constant__ Counts counts, std::int64_t lists, const std::int64_t* offsets,
                                bool has_out, std::int64_t capacity, gpu::CombinationsStatus* status) {
  const std::int64_t total = offsets[lists];
  if (total >= 0) {
    *status = {kNoIndex, total, has_out && total > capacity ? Code::unequal_lengths : Code::ok};
    return;
  }
  const std::int64_t bad = gpu::first_negative(offsets, lists);
  const Code code = counts.wrong(bad);
  *status = {bad, 0, code == Code::ok ? Code::overflow : code};
}

// -------------------------------------------------------------------------------------------------------------- tuples

/// Offsets that this call has made from valid lists.
struct TupleOffsets {
  static constexpr Code kTooFar = Code::overflow;
  const std::int64_t* data;
  std::int64_t count;

  __device__ __forceinline__ std::int64_t operator()(std::int64_t i) const { return data[i]; }
  __device__ static bool is_bad(std::int64_t, std::int64_t, std::int64_t) { return false; }
};

struct TupleSink {
  static constexpr int kWidth = 1;
  static constexpr int kUnit = gpu::tuning::kPath.tuples;
  __device__ static int skew(std::int64_t) { return 0; }
};

/// A tuple as seen from its list's end: the end's position, and the tuple's number, counted from the list's last tuple.
struct FromEnd {
  std::int64_t end;
  Number number;

  __device__ FromEnd(const MovedLists& lists, const std::int64_t* offsets, std::int64_t list, std::int64_t element)
      : number(static_cast<Number>(offsets[list + 1] - 1 - element)) {
    const gpu::Extent extent = lists.at(list);
    end = extent.start + extent.length;
  }
  /// Returns the element that b selects when k elements are left to choose.
  [[nodiscard]] __device__ __forceinline__ std::int64_t element(Number b, std::int64_t k, bool replacement) const {
    return end - 1 - static_cast<std::int64_t>(b) + (replacement ? k - 1 : 0);
  }
};

template <int kCount>
struct Tuple {
  std::int64_t at[kCount];
};

/// Writes tuples of two or three positions.
template <int kCount>
struct ShortTuples : TupleSink {
  static_assert(kCount == 2 || kCount == 3);
  using Item = Tuple<kCount>;

  MovedLists lists;
  const std::int64_t* offsets;
  std::int64_t* out[kCount];
  bool replacement;

  [[nodiscard]] __device__ __forceinline__ Item value(std::int64_t list, std::int64_t element, std::int64_t) const {
    FromEnd from(lists, offsets, list, element);
    Item item;
    if constexpr (kCount == 3) {
      const Number first = greatest_three(from.number);
      item.at[0] = from.element(first, 3, replacement);
      from.number -= three_of(first);
    }
    const Number b = greatest_two(from.number);
    item.at[kCount - 2] = from.element(b, 2, replacement);
    item.at[kCount - 1] = from.element(from.number - two_of(b), 1, replacement);
    return item;
  }
  __device__ __forceinline__ void store(std::int64_t element, const Item (&items)[1], int, int) const {
#pragma unroll
    for (int d = 0; d < kCount; ++d) out[d][element] = items[0].at[d];
  }
};

/// A tuple that is computed while it is written.
struct TupleNumber {
  std::int64_t list;
  std::int64_t rank;
};

/// Writes tuples of any number of positions.
struct LongTuples : TupleSink {
  using Item = TupleNumber;

  MovedLists lists;
  const std::int64_t* offsets;
  std::int64_t* const* out;
  std::int64_t n;
  bool replacement;
  Binomials binomials;

  __device__ static Item value(std::int64_t list, std::int64_t element, std::int64_t begin) {
    return {list, element - begin};
  }
  __device__ void store(std::int64_t element, const Item (&items)[1], int, int) const {
    FromEnd from(lists, offsets, items[0].list, element);
    std::int64_t past = lists.at(items[0].list).length + (replacement ? n - 1 : 0);
    for (std::int64_t k = n; k > 0; --k) {
      // It is impossible to choose k of k - 1 elements.
      const std::int64_t low =
          gpu::last_where(k - 1, past - 1, [&](std::int64_t m) { return binomials(m, k) <= from.number; });
      out[n - k][element] = from.element(static_cast<Number>(low), k, replacement);
      from.number -= binomials(low, k);
      past = low;
    }
  }
};

/// Writes cartesian products.
struct Products : TupleSink {
  using Item = TupleNumber;

  const MovedLists* inputs;
  std::int64_t* const* out;
  std::int64_t n;

  __device__ static Item value(std::int64_t list, std::int64_t element, std::int64_t begin) {
    return {list, element - begin};
  }
  __device__ void store(std::int64_t element, const Item (&items)[1], int, int) const {
    auto rank = static_cast<Number>(items[0].rank);
    for (std::int64_t d = n - 1; d >= 0; --d) {
      const gpu::Extent extent = inputs[d].at(items[0].list);
      const auto length = static_cast<Number>(extent.length);
      Number next = 0;
      if (rank >= length) {
        const bool is_short = rank <= ~0U;
        next = is_short ? static_cast<unsigned>(rank) / static_cast<unsigned>(length) : rank / length;
      }
      out[d][element] = extent.start + static_cast<std::int64_t>(rank - next * length);
      rank = next;
    }
  }
};

// -------------------------------------------------------------------------------------------------------------- memory

/// Bytes that a launch passes to device memory as a kernel argument. A graph stores them; it would not store a host
/// array.
struct Carried {
  static constexpr std::int64_t kBytes = 2048;
  alignas(8) std::byte bytes[kBytes];
};

__global__ void __launch_bounds__(kSmallThreads)
    put_down(const __grid_constant__ Carried carried, int count, std::byte* to) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kSmallThreads) to[i] = carried.bytes[i];
}

/// to[i] ← item(i) for i < count.
template <class T, class Item>
cudaError_t launch_put(std::int64_t count, T* to, gpu::Stream stream, Item item) {
  constexpr std::int64_t kAtOnce = Carried::kBytes / std::int64_t{sizeof(T)};
  for (std::int64_t first = 0; first < count; first += kAtOnce) {
    const std::int64_t some = std::min(kAtOnce, count - first);
    Carried carried;
    for (std::int64_t i = 0; i < some; ++i) {
      const T one = item(first + i);
      std::memcpy(carried.bytes + i * std::int64_t{sizeof(T)}, &one, sizeof(T));
    }
    const cudaError_t error =
        gpu::detail::launch({.blocks = 1, .threads = kSmallThreads, .stream = stream}, put_down, carried,
                            static_cast<int>(some * std::int64_t{sizeof(T)}), reinterpret_cast<std::byte*>(to + first));
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

bool is_long(const Call& call) { return !call.is_cartesian && call.n != 2 && call.n != 3; }

struct TuplesScratch {
  TuplesScratch(const Call& call, void* memory)
      : parts(memory), path(gpu::units_of(list_count(call), call.capacity, TupleSink::kUnit), parts) {
    totals = parts.take<std::int64_t>(gpu::chunk_totals(list_count(call)));
    offsets = call.offsets != nullptr ? call.offsets : parts.take<std::int64_t>(list_count(call) + 1);
    if (call.is_cartesian) inputs = parts.take<MovedLists>(call.n);
    if (call.is_cartesian || is_long(call)) out = parts.take<std::int64_t*>(call.n);
    if (!is_long(call)) return;
    table_counts = std::min(call.n + 1, kTableCounts);
    table = parts.take<Number>(table_counts * kTableSizes);
  }

  gpu::ScratchParts parts;
  gpu::PathScratch path;
  std::int64_t* totals;
  std::int64_t* offsets;
  MovedLists* inputs = nullptr;
  std::int64_t** out = nullptr;
  Number* table = nullptr;
  std::int64_t table_counts = 0;
};

// --------------------------------------------------------------------------------------------------------------- calls

MovedLists lists_of(const detail::ListsOf& input) { return {input.lists, input.content}; }

template <class Counts>
cudaError_t launch_counts(const Call& call, const TuplesScratch& scratch, const Counts& counts) {
  const gpu::Stream stream = call.launch->stream;
  const std::int64_t lists = list_count(call);
  const cudaError_t error = gpu::launch_offsets(counts, lists, scratch.offsets, scratch.totals, stream);
  if (error != cudaSuccess) return error;
  return gpu::detail::launch({.blocks = 1, .threads = 1, .stream = stream}, conclude_counts<Counts>, counts, lists,
                             static_cast<const std::int64_t*>(scratch.offsets), call.out != nullptr, call.capacity,
                             call.status);
}

template <class Sink>
cudaError_t launch_tuples(const Call& call, const TuplesScratch& scratch, const Sink& sink) {
  return gpu::launch_path(TupleOffsets{scratch.offsets, list_count(call)}, sink, call.capacity, scratch.path,
                          call.launch->stream);
}

cudaError_t launch_out(const Call& call, const TuplesScratch& scratch) {
  return launch_put(call.n, scratch.out, call.launch->stream, [&](std::int64_t d) { return call.out[d]; });
}

cudaError_t launch_product(const Call& call, const TuplesScratch& scratch) {
  cudaError_t error = launch_put(call.n, scratch.inputs, call.launch->stream,
                                 [&](std::int64_t d) { return lists_of(call.inputs[static_cast<std::size_t>(d)]); });
  if (error == cudaSuccess) error = launch_counts(call, scratch, ProductCounts{scratch.inputs, call.n});
  if (error != cudaSuccess || call.out == nullptr) return error;
  error = launch_out(call, scratch);
  if (error != cudaSuccess) return error;
  return launch_tuples(call, scratch, Products{{}, scratch.inputs, scratch.out, call.n});
}

cudaError_t launch_long(const Call& call, const TuplesScratch& scratch, const MovedLists& lists) {
  cudaError_t error = launch_out(call, scratch);
  if (error != cudaSuccess) return error;
  const auto blocks = static_cast<unsigned>(gpu::divided_up(scratch.table_counts * kTableSizes, kSmallThreads));
  error = gpu::detail::launch({.blocks = blocks, .threads = kSmallThreads, .stream = call.launch->stream},
                              fill_binomials, scratch.table, scratch.table_counts);
  if (error != cudaSuccess) return error;
  const Binomials binomials{scratch.table, scratch.table_counts};
  return launch_tuples(call, scratch,
                       LongTuples{{}, lists, scratch.offsets, scratch.out, call.n, call.replacement, binomials});
}

cudaError_t launch_combinations(const Call& call, const TuplesScratch& scratch) {
  const MovedLists lists = lists_of(call.inputs.front());
  const cudaError_t error = launch_counts(call, scratch, CombinationCounts{lists, call.n, call.replacement});
  if (error != cudaSuccess || call.out == nullptr) return error;
  std::int64_t* const* const out = call.out;
  if (call.n == 2) {
    return launch_tuples(call, scratch, ShortTuples<2>{{}, lists, scratch.offsets, {out[0], out[1]}, call.replacement});
  }
  if (call.n == 3) {
    return launch_tuples(call, scratch,
                         ShortTuples<3>{{}, lists, scratch.offsets, {out[0], out[1], out[2]}, call.replacement});
  }
  return launch_long(call, scratch, lists);
}

Status launch(Call& call, const Policy&) noexcept {
  const TuplesScratch scratch(call, call.launch->scratch);
  return gpu::status_of(call.is_cartesian ? launch_product(call, scratch) : launch_combinations(call, scratch));
}

gpu::WorkspaceSize workspace(const Call& call) noexcept {
  return {.scratch = TuplesScratch(call, nullptr).parts.bytes()};
}

}  // namespace
#endif

extern const Rung cuda_merge_path{.info = {.id = "cuda.merge_path",
                                           .idea = "equal work units of lists and tuples; roots",
                                           .needs = "any GPU",
                                           .traffic = "lists read, tuples written",
                                           .cost = "t·n for n up to 3, otherwise t·n·log(length); a constant each",
                                           .limit = "memory bandwidth; past 3 positions the binary search"},
                                  .run = launch,
                                  .workspace = workspace};

}  // namespace upsweep::impl::combinations
