// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_reduce/cuda_reducers.cuh: the reducers that kernels apply to a list's elements, and the
// dispatch from a call to its reducer.
//
// Elements are stored as one of six types: unsigned types also represent signed types of their size. A sum modulo 2^64
// has the same bits. If the order matters, the sign bit is flipped first. A minimum is a maximum of flipped bits. Every
// result is independent of the order of operations, except sums and products of floats.
#pragma once

#include "problems/lists/segmented_reduce/rung.hpp"

#if UPSWEEP_HAS_CUDA
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/reducer_kind.hpp"
#include "core/visit.hpp"
#include "upsweep/detail/segmented_reduce_lists.cuh"
#include "upsweep/operators.hpp"
#include "upsweep/types.hpp"

namespace upsweep::impl::segmented_reduce {

/// Computes init ⊕ x0 ⊕ x1 …
template <class T, class Op>
struct Folded {
  using In = T;
  using Value = T;
  static constexpr T kNone = Op::template identity<T>();
  T* out;
  T init;
  bool empty_is_zero;  ///< for sums of floats: see SegmentedReduceCall

  __device__ bool reads() const { return true; }
  __device__ Value none() const { return kNone; }
  __device__ Value of(In x, std::int64_t) const { return x; }
  __device__ Value merge(Value a, Value b) const { return Op{}(a, b); }
  __device__ void write(std::int64_t list, Value value) const { out[list] = Op{}(init, value); }
  /// Writes the result of a list without elements.
  __device__ void write_empty(std::int64_t list) const
    requires(std::is_floating_point_v<T> && Op::kOperator == Operator::add)
  {
    out[list] = empty_is_zero ? T{0} : init;
  }
};

/// Computes sums of integers in 64 bits.
template <class T>
struct Widened {
  using In = T;
  using Value = std::uint64_t;
  std::uint64_t* out;
  std::uint64_t init;
  bool is_signed;

  __device__ bool reads() const { return true; }
  __device__ Value none() const { return 0; }
  __device__ Value of(In x, std::int64_t) const {
    const auto extended = static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(x));
    return is_signed ? static_cast<std::uint64_t>(extended) : x;
  }
  __device__ Value merge(Value a, Value b) const { return a + b; }
  __device__ void write(std::int64_t list, Value value) const { out[list] = init + value; }
};

/// Applies an operator to unsigned integers; some of their bits are flipped before and after.
template <class T, class Op>
struct Flipped {
  using In = T;
  using Value = T;
  static constexpr T kNone = Op::template identity<T>();
  T* out;
  T init;
  T flip;

  __device__ bool reads() const { return true; }
  __device__ Value none() const { return kNone; }
  __device__ Value of(In x, std::int64_t) const { return static_cast<T>(x ^ flip); }
  __device__ Value merge(Value a, Value b) const { return Op{}(a, b); }
  __device__ void write(std::int64_t list, Value value) const {
    out[list] = static_cast<T>(Op{}(static_cast<T>(init ^ flip), value) ^ flip);
  }
};

/// The unsigned integer with the bits of a float, or an integer type itself.
template <class T>
using BitsOf = std::conditional_t<std::is_floating_point_v<T>,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>, T>;

/// An element and its position.
template <class T>
struct Picked {
  T value;
  std::int64_t position;
};
inline constexpr std::int64_t kNowhere = std::numeric_limits<std::int64_t>::max();

/// Returns whether b is picked before a: b is greater, or the first of equal elements. A NaN is greater than all
/// numbers. Positions may have any type.
template <class T, class Position>
__device__ __forceinline__ bool is_better(T b, Position b_at, T a, Position a_at) {
  bool better = b > a || (b == a && b_at < a_at);
  if constexpr (std::is_floating_point_v<T>) {
    if (b != b) better = a == a || b_at < a_at;
  }
  return better;
}

/// Finds the first maximum after bits are flipped. The result is its position or, for floats, its value.
template <class T>
struct Pick {
  using In = T;
  using Value = Picked<T>;
  using Bits = BitsOf<T>;
  static constexpr T kLowest = Max::identity<T>();
  void* out;
  T init;
  Bits flip;
  T least;  ///< the worst element, before bits are flipped
  T sign;   ///< for floats: -1 if bits are flipped, otherwise 1
  bool writes_value;
  bool is_least;  ///< whether a minimum is written, for the initial value, if writes_value

  __host__ __device__ static T flipped(T x, Bits bits) {
    Bits word;
    memcpy(&word, &x, sizeof word);
    word = static_cast<Bits>(word ^ bits);
    memcpy(&x, &word, sizeof word);
    return x;
  }
  __device__ bool reads() const { return true; }
  __device__ Value none() const { return {kLowest, kNowhere}; }
  __device__ Value of(In x, std::int64_t position) const { return {flipped(x, flip), position}; }
  __device__ Value merge(const Value& a, const Value& b) const {
    return is_better(b.value, b.position, a.value, a.position) ? b : a;
  }
  __device__ void write(std::int64_t list, const Value& picked) const {
    if (!writes_value) {
      static_cast<std::int64_t*>(out)[list] = picked.position == kNowhere ? -1 : picked.position;
      return;
    }
    const T value = flipped(picked.value, flip);
    static_cast<T*>(out)[list] = is_least ? Min{}(init, value) : Max{}(init, value);
  }
};

/// Which elements are counted, and which result is derived from the count.
enum class Counted : std::uint8_t { all_elements, zeros, not_zeros };
enum class Says : std::uint8_t { how_many, whether_any, whether_none };

/// Computes any, all, count and count_nonzero.
template <class T>
struct Count {
  using In = T;
  using Value = std::int64_t;
  void* out;
  Counted counted;
  Says says;

  __device__ bool reads() const { return counted != Counted::all_elements; }
  __device__ Value none() const { return 0; }
  __device__ Value of(In x, std::int64_t) const {
    return counted == Counted::all_elements || (x != T{0}) == (counted == Counted::not_zeros) ? 1 : 0;
  }
  __device__ Value merge(Value a, Value b) const { return a + b; }
  __device__ void write(std::int64_t list, Value count) const {
    if (says == Says::how_many) {
      static_cast<std::int64_t*>(out)[list] = count;
    } else {
      static_cast<std::uint8_t*>(out)[list] = (count > 0) == (says == Says::whether_any) ? 1 : 0;
    }
  }
};

template <class T>
inline constexpr bool kCounts<Count<T>> = true;

// ------------------------------------------------------------------------------------------------------------ dispatch

/// The type in which elements of type T are stored.
template <class T>
struct Kept {
  using Type = std::make_unsigned_t<T>;
};
template <std::floating_point T>
struct Kept<T> {
  using Type = T;
};
template <class T>
using KeptAs = typename Kept<T>::Type;

/// Calls f(std::type_identity<T>{}) with the type T in which the call's elements are stored.
template <class F>
auto visit_kept(const detail::SegmentedReduceCall& call, F f) {
  if (kind_of(call.reducer) == ReducerKind::length) return f(std::type_identity<std::uint8_t>{});
  return visit_type(call.in_type, [&]<class T>(std::type_identity<T>) { return f(std::type_identity<KeptAs<T>>{}); });
}

template <class T>
T init_of(const detail::SegmentedReduceCall& call) {
  T init{};
  if (call.init != nullptr) std::memcpy(&init, call.init, sizeof init);
  return init;
}

/// Returns the bits to flip so that elements stored as T sort in the order of their type, or in reverse order.
template <class T>
BitsOf<T> order_flip(Type type, bool is_least) {
  using Bits = BitsOf<T>;
  constexpr auto kTop = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  if constexpr (std::is_floating_point_v<T>) {
    return is_least ? kTop : Bits{0};
  } else {
    const Bits sign = is_signed(type) ? kTop : Bits{0};
    return is_least ? static_cast<Bits>(~sign) : sign;
  }
}

template <class T>
Pick<T> pick_of(const detail::SegmentedReduceCall& call, bool is_least) {
  const bool writes_value = call.reducer == Reducer::fold;
  const BitsOf<T> flip = order_flip<T>(call.in_type, is_least);
  return {call.out,
          writes_value ? init_of<T>(call) : T{},
          flip,
          Pick<T>::flipped(Pick<T>::kLowest, flip),
          Pick<T>::flipped(T{1}, flip),
          writes_value,
          is_least};
}

template <class T>
Count<T> count_of(const detail::SegmentedReduceCall& call) {
  switch (call.reducer) {
    case Reducer::any:
      return {call.out, Counted::not_zeros, Says::whether_any};
    case Reducer::all:
      return {call.out, Counted::zeros, Says::whether_none};
    case Reducer::count:
      return {call.out, Counted::all_elements, Says::how_many};
    case Reducer::count_nonzero:
      return {call.out, Counted::not_zeros, Says::how_many};
    case Reducer::fold:
    case Reducer::argmin:
    case Reducer::argmax:
      break;  // not counted
  }
  detail::no_such_value();
}

/// Returns the reducer of a fold by this operator, same type in and out.
template <class T, class Op>
auto fold_of(const detail::SegmentedReduceCall& call) {
  T* const out = static_cast<T*>(call.out);
  const T init = init_of<T>(call);
  constexpr Operator kOp = Op::kOperator;
  if constexpr (kOp == Operator::add || kOp == Operator::mul || kOp == Operator::bit_xor) {
    return Folded<T, Op>{out, init, call.empty_is_zero};
  } else if constexpr (kOp == Operator::bit_or) {
    return Flipped<T, BitOr>{out, init, T{0}};
  } else if constexpr (kOp == Operator::bit_and) {
    return Flipped<T, BitOr>{out, init, static_cast<T>(~T{0})};
  } else {
    static_assert(kOp == Operator::min || kOp == Operator::max, "a new operator needs its reducer on GPUs here");
    if constexpr (std::is_floating_point_v<T>) {
      return pick_of<T>(call, kOp == Operator::min);
    } else {
      return Flipped<T, Max>{out, init, order_flip<T>(call.in_type, kOp == Operator::min)};
    }
  }
}

template <class T, class F>
Status with_fold(const detail::SegmentedReduceCall& call, F f) {
  if constexpr (std::is_integral_v<T> && sizeof(T) < 8) {
    if (call.out_size > call.in_size) {
      return f(
          Widened<T>{static_cast<std::uint64_t*>(call.out), init_of<std::uint64_t>(call), is_signed(call.in_type)});
    }
  }
  return visit_operator<T>(call.op, [&]<class Op>(Op) -> Status { return f(fold_of<T, Op>(call)); });
}

/// Calls f(reducer) for a call whose elements are stored as T.
template <class T, class F>
Status with_reducer(const detail::SegmentedReduceCall& call, F f) {
  switch (kind_of(call.reducer)) {
    case ReducerKind::fold:
      return with_fold<T>(call, f);
    case ReducerKind::position:
      return f(pick_of<T>(call, call.reducer == Reducer::argmin));
    case ReducerKind::boolean:
    case ReducerKind::nonzero:
    case ReducerKind::length:
      return f(count_of<T>(call));
  }
  detail::no_such_value();
}

}  // namespace upsweep::impl::segmented_reduce
#endif
