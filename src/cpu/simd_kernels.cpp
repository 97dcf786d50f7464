// SPDX-License-Identifier: Apache-2.0
// cpu/simd_kernels.cpp: the SIMD kernels, compiled once per instruction set; UPSWEEP_ISA names the one of this object.
//
// Everything except the table is internal to this file (see simd.hpp): it uses no std:: templates, and no inline
// functions of other headers except for compile-time constants. tests/isa_symbols.sh checks this.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "core/visit.hpp"
#include "cpu/kernels.hpp"
#include "cpu/simd.hpp"
#include "cpu/tuning/blocks.hpp"
#include "cpu/tuning/dense.hpp"

#define UPSWEEP_TABLE_NAME_2(isa) kernels_##isa
#define UPSWEEP_TABLE_NAME(isa) UPSWEEP_TABLE_NAME_2(isa)

namespace upsweep::cpu {
namespace {

using detail::ScanMode;

void copy(void* to, const void* from, std::int64_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  const auto* in = static_cast<const unsigned char*>(from);
  std::int64_t head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(out) % kVectorBytes);
  if (head > bytes) head = bytes;
  std::memcpy(out, in, static_cast<std::size_t>(head));
  std::int64_t i = head;
  for (; i + kVectorBytes <= bytes; i += kVectorBytes) NonTemporal{}.put(out + i, load(in + i));
  std::memcpy(out + i, in + i, static_cast<std::size_t>(bytes - i));
}

std::uint64_t read(const void* from, std::int64_t bytes) {
  const auto* in = static_cast<const std::uint64_t*>(from);
  constexpr std::int64_t kStep = kLanes<std::uint64_t>;
  Vector<std::uint64_t> sum[4] = {};
  const std::int64_t n = bytes / 8;
  for (std::int64_t i = 0; i + 4 * kStep <= n; i += 4 * kStep) {
    for (int u = 0; u < 4; ++u) {
      sum[u] = combine<std::uint64_t>(VectorOp<BitXor>{}, sum[u], load(in + i + u * kStep));
    }
  }
  std::uint64_t all = 0;
  for (auto& s : sum) {
    for (auto& lanes : s.reg) {
      for (int j = 0; j < kRegisterLanes<std::uint64_t>; ++j) all ^= lanes[j];
    }
  }
  return all;
}

// ---------------------------------------------------------------------------------------------------- writing output

/// Writes n outputs with fill(first, count, sink), which computes outputs from `first` on and passes them to
/// sink.put(). `non_temporal` requests stores past the caches, which need alignment. Integers, exact in any grouping,
/// are aligned by a short first range. The vectors of floats must not be shifted, so the sink combines each store from
/// two neighbors.
template <class T, class Fill>
UPSWEEP_INLINE void write_output(T* out, std::int64_t n, bool non_temporal, Fill fill) {
  if (!non_temporal || n < 2 * kLanes<T>) {
    fill(0, n, Cached{});
    return;
  }
  constexpr bool kExact = T(0.5) == T(0);
  const auto head = static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(out) % kVectorBytes / sizeof(T));
  if (kExact || head == 0) {
    if (head > 0) fill(0, head, Cached{});
    fill(head, n - head, NonTemporal{});
  } else if constexpr (kCanRealign && !kExact) {
    fill(0, kLanes<T>, Cached{});
    fill(kLanes<T>, n - kLanes<T>, Realigned(out + kLanes<T>));
  } else {
    fill(0, n, Cached{});
  }
}

UPSWEEP_INLINE void prefetch(const void* next, std::int64_t offset) {
  if (next != nullptr) _mm_prefetch(static_cast<const char*>(next) + offset, _MM_HINT_T1);
}

/// Calls use(i, load(i)) for every whole vector of `step` elements from `first` on; returns where they end. Each is
/// loaded before the previous one is stored. Reason: a load that follows a store to the same bytes of another 4 KB page
/// waits for it, because the CPU compares 12 bits of their addresses first. Offsets are one element past the bounds
/// that they are computed from, so they would take 1.5 times as long (EPYC, Xeon).
template <class Load, class Use>
UPSWEEP_INLINE std::int64_t each_vector(std::int64_t first, std::int64_t end, std::int64_t step, Load load, Use use) {
  if (first + step > end) return first;
  auto loaded = load(first);
  for (; first + 2 * step <= end; first += step) {
    const auto next = load(first + step);
    use(first, loaded);
    loaded = next;
  }
  use(first, loaded);
  return first + step;
}

/// Loads the last elements of a range, fewer than a vector, padded with `rest`.
template <class T>
UPSWEEP_INLINE Vector<T> load_rest(const T* from, std::int64_t count, T rest) {
  alignas(kVectorBytes) T padded[kLanes<T>];
  for (int j = 0; j < kLanes<T>; ++j) padded[j] = j < count ? from[j] : rest;
  return load(padded);
}

template <class T>
UPSWEEP_INLINE void store_rest(T* to, std::int64_t count, const Vector<T>& v) {
  alignas(kVectorBytes) T padded[kLanes<T>];
  store(padded, v);
  for (int j = 0; j < count; ++j) to[j] = padded[j];
}

// ------------------------------------------------------------------------------------------------------------- scans

// The properties of elements and results that a scan notes (ScanMode::note).

/// OR of x ^ (x >> bits-1) over integers: see KernelTable::magnitude.
template <class T>
class Magnitude {
 public:
  UPSWEEP_INLINE void add(const Vector<T>& x) {
    constexpr int kSignBit = 8 * int{sizeof(T)} - 1;
    constexpr bool kSigned = T(-1) < T(0);
    for (int r = 0; r < kRegisters; ++r) all_.reg[r] |= kSigned ? x.reg[r] ^ (x.reg[r] >> kSignBit) : x.reg[r];
  }
  UPSWEEP_INLINE void see(const Vector<T>& x, const Vector<T>&) { add(x); }
  [[nodiscard]] UPSWEEP_INLINE std::uint64_t get() const {
    std::uint64_t any = 0;
    for (int r = 0; r < kRegisters; ++r) {
      for (int j = 0; j < kRegisterLanes<T>; ++j) any |= static_cast<std::uint64_t>(all_.reg[r][j]);
    }
    return any;
  }

 private:
  Vector<T> all_ = splat(T{0});
};

/// Whether a float result is infinite. A NaN that is not among the elements always follows an infinite result: it takes
/// two infinite operands, and the first of them is, or produces, an earlier result.
template <class T>
class Infinite {
 public:
  UPSWEEP_INLINE void see(const Vector<T>&, const Vector<T>& result) {
    for (int r = 0; r < kRegisters; ++r) seen_.reg[r] = see_infinity<T>(seen_.reg[r], result.reg[r]);
  }
  [[nodiscard]] UPSWEEP_INLINE std::uint64_t get() const {
    bool any = false;
    for (int r = 0; r < kRegisters; ++r) {
      const Register<T> zero = seen_.reg[r] - seen_.reg[r];  // NaN if it is not finite
      for (int j = 0; j < kRegisterLanes<T>; ++j) any |= zero[j] != T{0};
    }
    return any ? 1 : 0;
  }

 private:
  Vector<T> seen_ = splat(T{0});
};

/// For scans that do not note anything.
template <class T>
struct NoteNothing {
  UPSWEEP_INLINE void see(const Vector<T>&, const Vector<T>&) {}
};

template <class T, class Op>
struct SimdScan {
  using Carry = ScanCarry<T>;  // copied, because the caller's may be of the other signedness
  static constexpr T kIdentity = Op::template identity<T>();
  static constexpr VectorOp<Op> kCombine{};

  static void reduce(const void*, const void* in, std::int64_t n, void* carry) {
    // Only the index of an element determines its accumulator and its lane.
    constexpr int kUnroll = tuning::kBlocksOrder.accumulators;
    constexpr std::int64_t kStep = kLanes<T>;
    const T* x = static_cast<const T*>(in);
    Vector<T> sum[std::size_t{kUnroll}];
    for (auto& s : sum) s = splat(kIdentity);
    std::int64_t i = 0;
    for (; i + kUnroll * kStep <= n; i += kUnroll * kStep) {
      for (int u = 0; u < kUnroll; ++u) sum[u] = combine<T>(kCombine, sum[u], load(x + i + u * kStep));
    }
    for (int u = 0; i < n; i += kStep, ++u) {
      const Vector<T> v = i + kStep <= n ? load(x + i) : load_rest(x + i, n - i, kIdentity);
      sum[u] = combine<T>(kCombine, sum[u], v);
    }
    const Vector<T> all =
        combine<T>(kCombine, combine<T>(kCombine, sum[0], sum[1]), combine<T>(kCombine, sum[2], sum[3]));
    Carry out{};
    out.total = last_of(scan_vector<T>(kCombine, all));
    out.any = n > 0;
    std::memcpy(carry, &out, sizeof out);
  }

  /// The carry does not wait for the scan of a vector. Therefore the critical path of the loop is one addition per
  /// vector.
  template <bool kExclusive, class Note, class Sink>
  static T scan_run(const T* in, T* out, std::int64_t n, T before, const void* next, Note& note, Sink sink) {
    constexpr std::int64_t kStep = kLanes<T>;
    Vector<T> carry = splat(before);
    const auto step = [&](const Vector<T>& x) __attribute__((always_inline)) {
      const Vector<T> v = scan_vector<T>(kCombine, x);
      const Vector<T> inclusive = combine<T>(kCombine, carry, v);
      const Vector<T> result = kExclusive ? shift_in(carry, inclusive) : inclusive;
      carry = combine<T>(kCombine, carry, splat_last(v));
      note.see(x, result);
      return result;
    };
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) {
      prefetch(next, i * std::int64_t{sizeof(T)});
      sink.put(out + i, step(load(in + i)));
    }
    sink.finish(out + i);
    if (i < n) store_rest(out + i, n - i, step(load_rest(in + i, n - i, kIdentity)));
    return last_of(carry);
  }

  template <bool kExclusive, class Note>
  static T scan_all(const T* in, T* out, std::int64_t n, T before, const ScanMode& mode, Note& note) {
    write_output(out, n, mode.non_temporal,
                 [&](std::int64_t first, std::int64_t count, auto sink) __attribute__((always_inline)) {
                   const char* next = static_cast<const char*>(mode.next);
                   if (next != nullptr) next += first * std::int64_t{sizeof(T)};
                   before = scan_run<kExclusive>(in + first, out + first, count, before, next, note, sink);
                 });
    return before;
  }

  template <class Note>
  static T scan_either(const T* in, T* out, std::int64_t n, T before, const ScanMode& mode, Note& note) {
    return mode.exclusive ? scan_all<true>(in, out, n, before, mode, note)
                          : scan_all<false>(in, out, n, before, mode, note);
  }

  static T scan_noting(const T* in, T* out, std::int64_t n, T before, const ScanMode& mode) {
    if constexpr (Op::kOperator == Operator::add) {
      if (mode.note != nullptr) {
        std::conditional_t<T(0.5) == T(0), Magnitude<T>, Infinite<T>> note;
        const T total = scan_either(in, out, n, before, mode, note);
        *mode.note |= note.get();
        return total;
      }
    }
    NoteNothing<T> nothing;
    return scan_either(in, out, n, before, mode, nothing);
  }

  static void scan(const void*, const void* in, void* out, std::int64_t n, void* carry, const ScanMode& mode) {
    Carry state;
    std::memcpy(&state, carry, sizeof state);
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    T before = kIdentity;
    if (state.any) before = state.lost != T{0} ? static_cast<T>(state.total + state.lost) : state.total;
    state.total = scan_noting(x, y, n, before, mode);
    state.lost = T{0};
    state.any = state.any || n > 0;
    std::memcpy(carry, &state, sizeof state);
  }

  /// An exclusive range starts with the identity, so it needs no special case.
  static void shift(const void*, void* out, std::int64_t n, const void* carry, bool) {
    Carry state;
    std::memcpy(&state, carry, sizeof state);
    if (!state.any) return;
    constexpr std::int64_t kStep = kLanes<T>;
    T* y = static_cast<T*>(out);
    const Vector<T> left = splat(state.lost != T{0} ? static_cast<T>(state.total + state.lost) : state.total);
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) store(y + i, combine<T>(kCombine, left, load(y + i)));
    if (i < n) store_rest(y + i, n - i, combine<T>(kCombine, left, load_rest(y + i, n - i, kIdentity)));
  }
};

template <class T>
std::uint64_t magnitude(const void* in, std::int64_t n) {
  constexpr std::int64_t kStep = kLanes<T>;
  const T* x = static_cast<const T*>(in);
  Magnitude<T> all;
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) all.add(load(x + i));
  all.add(load_rest(x + i, n - i, T{0}));
  return all.get();
}

/// The unsigned type of kBytes bytes.
template <int kBytes>
using Unsigned =
    std::conditional_t<kBytes == 8, std::uint64_t, std::conditional_t<kBytes == 4, std::uint32_t, std::uint16_t>>;

/// Sums the upper and the lower halves of words lane by lane, exact for kMost vectors. The sum of the lower halves
/// costs no instruction until it is requested: it is the sum of the words minus the sum of the upper halves, modulo
/// 2^bits.
template <class Word>
class HalfSums {
 public:
  static constexpr int kHalf = 4 * int{sizeof(Word)};
  static constexpr std::int64_t kMost = std::int64_t{1} << kHalf;

  UPSWEEP_INLINE void add(const Vector<Word>& x) {
    for (int r = 0; r < kRegisters; ++r) {
      words_.reg[r] += x.reg[r];
      upper_.reg[r] += x.reg[r] >> kHalf;
    }
  }
  [[nodiscard]] UPSWEEP_INLINE const Vector<Word>& upper() const { return upper_; }
  [[nodiscard]] UPSWEEP_INLINE Vector<Word> lower() const {
    Vector<Word> sums;
    for (int r = 0; r < kRegisters; ++r) sums.reg[r] = words_.reg[r] - (upper_.reg[r] << kHalf);
    return sums;
  }

 private:
  Vector<Word> words_ = splat(Word{0});
  Vector<Word> upper_ = splat(Word{0});
};

/// Returns the sum of the lanes.
template <class Word>
UPSWEEP_INLINE Int128 total_of(const Vector<Word>& v) {
  Int128 total = 0;
  if constexpr (sizeof(Word) < 8) {
    using Wider = Unsigned<2 * sizeof(Word)>;
    constexpr int kBits = 8 * int{sizeof(Word)};
    Vector<Wider> pairs;
    for (int r = 0; r < kRegisters; ++r) {
      const auto both = (Register<Wider>)v.reg[r];
      pairs.reg[r] = (both >> kBits) + (both << kBits >> kBits);
    }
    total = total_of(pairs);
  } else {
    for (int r = 0; r < kRegisters; ++r) {
      for (int j = 0; j < kRegisterLanes<Word>; ++j) total += v.reg[r][j];
    }
  }
  return total;
}

/// Adds the differences between the elements and the minimum of their type, so that no sum needs a sign. A word
/// contains two of them, or one of eight bytes.
template <class T>
Int128 exact_sum(const void* in, std::int64_t n) {
  constexpr bool kWide = sizeof(T) == 8;
  using Word = Unsigned<kWide ? 8 : 2 * sizeof(T)>;
  constexpr std::int64_t kStep = kLanes<T>;
  constexpr T kLeast = T(-1) < T(0) ? static_cast<T>(T{1} << (8 * sizeof(T) - 1)) : T{0};
  const T* x = static_cast<const T*>(in);
  const auto words_above = [](const Vector<T>& v) __attribute__((always_inline)) {
    const Vector<T> least = splat(kLeast);
    Vector<Word> words;
    for (int r = 0; r < kRegisters; ++r) words.reg[r] = (Register<Word>)(v.reg[r] ^ least.reg[r]);
    return words;
  };
  Int128 sum = Int128{n} * kLeast;
  for (std::int64_t i = 0; i < n;) {
    constexpr std::int64_t kMost = kStep * HalfSums<Word>::kMost;
    const std::int64_t end = n - i < kMost ? n : i + kMost;
    HalfSums<Word> halves;
    for (; i + kStep <= end; i += kStep) halves.add(words_above(load(x + i)));
    if (i < end) halves.add(words_above(load_rest(x + i, end - i, kLeast)));
    i = end;
    sum += total_of(halves.lower()) + (total_of(halves.upper()) << (kWide ? HalfSums<Word>::kHalf : 0));
  }
  return sum;
}

template <class In, class Out>
void convert(const void* in, void* out, std::int64_t n) {
  const In* x = static_cast<const In*>(in);
  Out* y = static_cast<Out*>(out);
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Out>(x[i]);
}

/// Integers are written as unsigned ones. They are also read as unsigned ones unless they become wider: the bits are
/// equal.
template <class In, class Out>
constexpr Convert conversion() {
  if constexpr (!(Out(0.5) == Out(0))) {
    return &convert<In, Out>;
  } else if constexpr (sizeof(In) < sizeof(Out)) {
    return &convert<In, CombinedAs<Out, Add>>;
  } else {
    return &convert<CombinedAs<In, Add>, CombinedAs<Out, Add>>;
  }
}

// ----------------------------------------------------------------------------------------------------- offsets

UPSWEEP_INLINE bool any_negative(const Vector<std::int64_t>& v) {
  std::int64_t all = 0;
  for (int r = 0; r < kRegisters; ++r) {
    for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) all |= v.reg[r][j];
  }
  return all < 0;
}

/// Validation costs no branch: any fault of a list sets the sign bit of its lane in `bad`.
template <class T>
struct SimdLists {
  using Offsets = Vector<std::int64_t>;
  static constexpr std::int64_t kStep = kLanes<std::int64_t>;
  static constexpr VectorOp<Add> kAdd{};

  const T* starts;
  const T* stops;
  bool strict;
  Offsets bad = splat(std::int64_t{0});

  UPSWEEP_INLINE explicit SimdLists(const ListBounds& lists)
      : starts(static_cast<const T*>(lists.starts)), stops(static_cast<const T*>(lists.stops)), strict(lists.strict) {}

  /// Loads eight bounds as int64, for any input type.
  UPSWEEP_INLINE static Offsets load_wide(const T* from) {
    if constexpr (sizeof(T) == sizeof(std::int64_t)) {
      return load(from);
    } else {
      Offsets wide;
      for (int r = 0; r < kRegisters; ++r) wide.reg[r] = widen(from + r * kRegisterLanes<std::int64_t>);
      return wide;
    }
  }

  UPSWEEP_INLINE static Offsets load_wide_rest(const T* from, std::int64_t count) {
    T padded[kLanes<std::int64_t>];
    for (int j = 0; j < kLanes<std::int64_t>; ++j) padded[j] = j < count ? from[j] : T{0};
    return load_wide(padded);
  }

  struct Bounds {
    Offsets start;
    Offsets stop;
  };
  /// Loads the bounds of lists i … i + 8, or of `count` lists from i on and empty ones.
  [[nodiscard]] UPSWEEP_INLINE Bounds bounds(std::int64_t i) const {
    return {load_wide(starts + i), load_wide(stops + i)};
  }
  [[nodiscard]] UPSWEEP_INLINE Bounds bounds(std::int64_t i, std::int64_t count) const {
    return {load_wide_rest(starts + i, count), load_wide_rest(stops + i, count)};
  }

  /// Returns their lengths, and checks them.
  UPSWEEP_INLINE Offsets lengths(const Bounds& list) {
    Offsets length;
    for (int r = 0; r < kRegisters; ++r) {
      length.reg[r] = list.stop.reg[r] - list.start.reg[r];
      bad.reg[r] |= length.reg[r];
      // In 64 bits the difference itself may wrap, and then its sign is meaningless.
      if constexpr (sizeof(T) == sizeof(std::int64_t)) bad.reg[r] |= list.stop.reg[r] < list.start.reg[r];
      if (strict) bad.reg[r] |= list.start.reg[r];
    }
    return length;
  }

  UPSWEEP_INLINE void check(const Offsets& offsets) {
    for (int r = 0; r < kRegisters; ++r) bad.reg[r] |= offsets.reg[r];
  }

  /// The sum of lengths, modulo 2^64, unchecked.
  class Sum {
   public:
    UPSWEEP_INLINE explicit Sum(const ListBounds& lists) : lists_(lists) {}
    UPSWEEP_INLINE void add(std::int64_t i) { add(lists_.bounds(i)); }
    UPSWEEP_INLINE void add(std::int64_t i, std::int64_t count) { add(lists_.bounds(i, count)); }
    [[nodiscard]] UPSWEEP_INLINE std::int64_t get() const { return last_of(scan_vector<std::int64_t>(kAdd, sum_)); }

   private:
    UPSWEEP_INLINE void add(const Bounds& list) {
      for (int r = 0; r < kRegisters; ++r) sum_.reg[r] += list.stop.reg[r] - list.start.reg[r];
    }
    const SimdLists lists_;
    Offsets sum_ = splat(std::int64_t{0});
  };
  struct NoSum {
    UPSWEEP_INLINE void add(std::int64_t) {}
    UPSWEEP_INLINE void add(std::int64_t, std::int64_t) {}
  };

  static std::int64_t reduce(const ListBounds& lists, std::int64_t n) {
    Sum sum(lists);
    std::int64_t i = 0;
    for (; i + kStep <= n; i += kStep) sum.add(i);
    if (i < n) sum.add(i, n - i);
    return sum.get();
  }

  /// Returns the bounds of lists from `first` on, which belongs to the arrays of `lists`.
  static ListBounds lists_from(const ListBounds& lists, const void* first) {
    const auto distance = static_cast<const T*>(first) - static_cast<const T*>(lists.starts);
    return {first, static_cast<const T*>(lists.stops) + distance, lists.strict};
  }

  static ListTotal scan(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t before,
                        const ScanMode& mode) {
    if (mode.beside == nullptr) {
      NoSum none;
      return scan(lists, n, out, before, mode, none);
    }
    Sum beside(lists_from(lists, mode.beside));
    const ListTotal total = scan(lists, n, out, before, mode, beside);
    *static_cast<std::int64_t*>(mode.beside_total) = beside.get();
    return total;
  }

  /// Whether the scan prefetches. A thread that does not fold other lists at the same time reads two arrays in order.
  /// An EPYC's own prefetchers follow both, and prefetch instructions take the slots of loads (int64: 1.4 of the copy's
  /// time, without them 1.1). A Xeon needs them (1.0, without 1.2).
  static bool fetches(const ScanMode& mode) { return mode.beside != nullptr || !__builtin_cpu_is("amd"); }

  template <class Beside>
  UPSWEEP_INLINE static ListTotal scan(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t before,
                                       const ScanMode& mode, Beside& beside) {
    SimdLists run(lists);
    Offsets carry = splat(before);
    const void* const next = fetches(mode) ? mode.next : nullptr;
    const void* const next_stops = next != nullptr ? lists_from(lists, next).stops : nullptr;
    const auto step = [&](const Bounds& list) __attribute__((always_inline)) {
      const Offsets v = scan_vector<std::int64_t>(kAdd, run.lengths(list));
      const Offsets offsets = combine<std::int64_t>(kAdd, carry, v);
      run.check(offsets);
      carry = combine<std::int64_t>(kAdd, carry, splat_last(v));
      return offsets;
    };
    write_output(out, n, mode.non_temporal,
                 [&](std::int64_t first, std::int64_t count, auto sink) __attribute__((always_inline)) {
                   const std::int64_t end = first + count;
                   const std::int64_t i = each_vector(
                       first, end, kStep,
                       [&](std::int64_t at) __attribute__((always_inline)) {
                         beside.add(at);
                         return run.bounds(at);
                       },
                       [&](std::int64_t at, const Bounds& list) __attribute__((always_inline)) {
                         prefetch(next, at * std::int64_t{sizeof(T)});
                         prefetch(next_stops, at * std::int64_t{sizeof(T)});
                         sink.put(out + at, step(list));
                       });
                   if (i == end) return;
                   beside.add(i, end - i);
                   store_rest(out + i, end - i, step(run.bounds(i, end - i)));
                 });
    return {last_of(carry), any_negative(run.bad)};
  }

  static ListTotal difference(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t base,
                              bool non_temporal) {
    SimdLists run(lists);
    const Offsets left = splat(base);
    const auto step = [&](const Bounds& list) __attribute__((always_inline)) {
      run.lengths(list);
      Offsets offsets;
      for (int r = 0; r < kRegisters; ++r) offsets.reg[r] = list.stop.reg[r] - left.reg[r];
      return offsets;
    };
    write_output(
        out, n, non_temporal, [&](std::int64_t first, std::int64_t count, auto sink) __attribute__((always_inline)) {
          const std::int64_t end = first + count;
          std::int64_t i = each_vector(
              first, end, kStep, [&](std::int64_t at) __attribute__((always_inline)) { return run.bounds(at); },
              [&](std::int64_t at, const Bounds& list) __attribute__((always_inline)) {
                const Offsets offsets = step(list);
                run.check(offsets);
                sink.put(out + at, offsets);
              });
          if (i == end) return;
          store_rest(out + i, end - i, step(run.bounds(i, end - i)));
          // Lanes past the last list contain no offset.
          for (; i < end; ++i) run.bad.reg[0][0] |= out[i];
        });
    return {0, any_negative(run.bad)};
  }
};

// ------------------------------------------------------------------------------------------------------ filtered sums
// Processes a block of rows at a time: compares the keys, stores the numbers of the kept rows, and prefetches their
// payload. The payload of a block is added after the keys of the next block are compared, so that it is then in cache.

constexpr std::int64_t kBlockRows = tuning::kFilteredSum.keys_block_rows;
constexpr std::int64_t kManyKept = kBlockRows / tuning::kFilteredSum.many_kept;
constexpr std::int64_t kNoteRows = 64;  // rows of a word, one bit each
constexpr std::int64_t kKeysAhead = tuning::kFilteredSum.keys_ahead;

struct KeptRows {
  const std::int64_t* quantity = nullptr;
  const std::int64_t* price = nullptr;
  std::int64_t count = 0;
  std::uint16_t row[kManyKept + kNoteRows];  // within the block

  UPSWEEP_INLINE void note(std::int64_t i) {
    row[count++] = static_cast<std::uint16_t>(i);
    _mm_prefetch(reinterpret_cast<const char*>(quantity + i), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(price + i), _MM_HINT_T0);
  }
  [[nodiscard]] UPSWEEP_INLINE std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      all += static_cast<std::uint64_t>(quantity[row[k]]) * static_cast<std::uint64_t>(price[row[k]]);
    }
    return all;
  }
};

/// Bit j ← key[j] < limit, for a vector of keys.
UPSWEEP_INLINE std::uint64_t bits_below(const std::uint32_t* key, const Vector<std::uint32_t>& limit) {
  const Vector<std::uint32_t> keys = load(key);
  std::uint64_t bits = 0;
  for (int r = 0; r < kRegisters; ++r) {
#if UPSWEEP_REGISTER_BYTES == 64
    bits |= std::uint64_t{_mm512_cmplt_epu32_mask((__m512i)keys.reg[r], (__m512i)limit.reg[r])};
#elif UPSWEEP_REGISTER_BYTES == 32
    const auto kept = static_cast<unsigned>(_mm256_movemask_ps((__m256)(keys.reg[r] < limit.reg[r])));
    bits |= std::uint64_t{kept} << (r * kRegisterLanes<std::uint32_t>);
#else
    const auto kept = static_cast<unsigned>(_mm_movemask_ps((__m128)(keys.reg[r] < limit.reg[r])));
    bits |= std::uint64_t{kept} << (r * kRegisterLanes<std::uint32_t>);
#endif
  }
  return bits;
}

/// Notes the kept rows; returns false if there are too many.
UPSWEEP_INLINE bool note_kept(const std::uint32_t* key, std::int64_t n, std::uint32_t limit, KeptRows& kept) {
  const Vector<std::uint32_t> limits = splat(limit);
  constexpr std::int64_t kKeys = kLanes<std::uint32_t>;
  std::int64_t i = 0;
  for (; i + kNoteRows <= n; i += kNoteRows) {
    std::uint64_t bits = 0;
    for (std::int64_t v = 0; v < kNoteRows; v += kKeys) {
      _mm_prefetch(reinterpret_cast<const char*>(key + i + v) + kKeysAhead * sizeof(*key), _MM_HINT_T0);
      bits |= bits_below(key + i + v, limits) << v;
    }
    for (; bits != 0; bits &= bits - 1) kept.note(i + __builtin_ctzll(bits));
    if (kept.count > kManyKept) return false;
  }
  for (; i < n; ++i) {
    if (key[i] < limit) kept.note(i);
  }
  return kept.count <= kManyKept;
}

/// Reads all columns, and adds the number of kept rows to `count`.
UPSWEEP_INLINE std::uint64_t sum_in_order(const std::uint32_t* key, const std::int64_t* quantity,
                                          const std::int64_t* price, std::int64_t n, std::uint32_t limit,
                                          std::int64_t& count) {
  typedef std::uint32_t Keys
      __attribute__((vector_size(kRegisterLanes<std::int64_t> * sizeof(std::uint32_t)), aligned(1), may_alias));
  constexpr std::int64_t kStep = kLanes<std::int64_t>;
  Vector<std::int64_t> sum = splat(std::int64_t{0});
  Vector<std::int64_t> kept = splat(std::int64_t{0});
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const Vector<std::int64_t> left = load(quantity + i);
    const Vector<std::int64_t> right = load(price + i);
    for (int r = 0; r < kRegisters; ++r) {
      const auto below = reinterpret_cast<const Keys*>(key + i)[r] < limit;
      const auto mask = __builtin_convertvector(below, Register<std::int64_t>);
      sum.reg[r] += (left.reg[r] * right.reg[r]) & mask;
      kept.reg[r] -= mask;
    }
  }
  std::uint64_t all = 0;
  for (int r = 0; r < kRegisters; ++r) {
    for (int j = 0; j < kRegisterLanes<std::int64_t>; ++j) {
      all += static_cast<std::uint64_t>(sum.reg[r][j]);
      count += kept.reg[r][j];
    }
  }
  for (; i < n; ++i) {
    if (key[i] >= limit) continue;
    all += static_cast<std::uint64_t>(quantity[i]) * static_cast<std::uint64_t>(price[i]);
    ++count;
  }
  return all;
}

std::uint64_t filtered_sum(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                           std::int64_t n, std::uint32_t limit) {
  KeptRows rows[2];
  int now = 0;
  bool many = false;
  std::uint64_t sum = 0;
  for (std::int64_t first = 0; first < n; first += kBlockRows) {
    const std::int64_t count = n - first < kBlockRows ? n - first : kBlockRows;
    if (!many) {
      KeptRows& kept = rows[now];
      kept.quantity = quantity + first;
      kept.price = price + first;
      kept.count = 0;
      many = !note_kept(key + first, count, limit, kept);
      if (!many) {
        now ^= 1;
        sum += rows[now].sum();  // of the previous block
        rows[now].count = 0;
        continue;
      }
      kept.count = 0;  // read in order instead
    }
    std::int64_t kept = 0;
    sum += sum_in_order(key + first, quantity + first, price + first, count, limit, kept);
    many = kept > kManyKept;
  }
  return sum + rows[0].sum() + rows[1].sum();
}

// --------------------------------------------------------------------------------------------------------- the table

template <class T>
constexpr void add_type(KernelTable& table) {
  constexpr bool kInteger = T(0.5) == T(0);
  for_each_operator<T>([&]<class Op>(Op) {
    using Scan = SimdScan<CombinedAs<T, Op>, Op>;
    auto& kernel = table.scan[at(type_of<T>())][at(Op::kOperator)];
    kernel.reduce = &Scan::reduce;
    // The property that a sum notes depends on the signedness of T.
    kernel.scan = &SimdScan<std::conditional_t<Op::kOperator == Operator::add, T, CombinedAs<T, Op>>, Op>::scan;
    kernel.shift = &Scan::shift;
    kernel.merge = nullptr;  // taken from the plain table: merging does not use vectors
    kernel.exact = kInteger;
  });
  for_each_type([&]<class Out>(std::type_identity<Out>) {
    if constexpr (kInteger || !(Out(0.5) == Out(0)))
      table.convert[at(type_of<T>())][at(type_of<Out>())] = conversion<T, Out>();
  });
  if constexpr (kInteger) {
    table.magnitude[at(type_of<T>())] = &magnitude<T>;
    table.exact_sum[at(type_of<T>())] = &exact_sum<T>;
  }
  if constexpr (is_list_bound(type_of<T>())) {
    table.offsets[at(type_of<T>())] = {&SimdLists<T>::reduce, &SimdLists<T>::scan, &SimdLists<T>::difference};
  }
}

constexpr KernelTable make_table() {
  KernelTable table{};
  for_each_type([&]<class T>(std::type_identity<T>) { add_type<T>(table); });
  table.copy = &copy;
  table.read = &read;
  table.filtered_sum = &filtered_sum;
  return table;
}

constexpr KernelTable kTable = make_table();

}  // namespace

const KernelTable& UPSWEEP_TABLE_NAME(UPSWEEP_ISA)() noexcept { return kTable; }

}  // namespace upsweep::cpu
