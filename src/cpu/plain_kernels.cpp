// SPDX-License-Identifier: Apache-2.0
// cpu/plain_kernels.cpp: the loops of the documents as a kernel table: one element after the other.
#include <cstdint>
#include <utility>

#include "cpu/kernels.hpp"

namespace upsweep::cpu {
namespace {

template <Operator kOp>
struct OpOf;
template <>
struct OpOf<Operator::add> : Add {};
template <>
struct OpOf<Operator::mul> : Mul {};
template <>
struct OpOf<Operator::min> : Min {};
template <>
struct OpOf<Operator::max> : Max {};
template <>
struct OpOf<Operator::bit_and> : BitAnd {};
template <>
struct OpOf<Operator::bit_or> : BitOr {};
template <>
struct OpOf<Operator::bit_xor> : BitXor {};

/// Sums and products are merged as those of Add and Mul themselves are, whatever OpOf inherits.
template <class T, Operator kOp>
void merge(const void*, void* left, const void* right) {
  auto& into = *static_cast<ScanCarry<T>*>(left);
  const auto& from = *static_cast<const ScanCarry<T>*>(right);
  if constexpr (kOp == Operator::add) {
    detail::merge(Add{}, into, from);
  } else if constexpr (kOp == Operator::mul) {
    detail::merge(Mul{}, into, from);
  } else {
    detail::merge(OpOf<kOp>{}, into, from);
  }
}

template <class T, Operator kOp>
constexpr void add_operator(KernelTable& table) {
  auto& kernel = table.scan[at(type_of<T>())][at(kOp)];
  kernel = detail::PlainScan<T, T, OpOf<kOp>>::kernel();
  kernel.merge = &merge<T, kOp>;
}

template <class T, int... kOp>
constexpr void add_operators(KernelTable& table, std::integer_sequence<int, kOp...>) {
  const auto add_one = [&]<Operator kOne>() {
    if constexpr (std::is_integral_v<T> || !is_bitwise(kOne)) add_operator<T, kOne>(table);
  };
  (add_one.template operator()<static_cast<Operator>(kOp)>(), ...);
}

template <class T>
constexpr void add_type(KernelTable& table) {
  add_operators<T>(table, std::make_integer_sequence<int, kOperatorCount>{});
}

/// List i as the reference kernel sees it; the difference is taken in 64 bits, where only int64 bounds can overflow.
template <class T>
struct PlainLists {
  static bool length_of(const Lists& lists, std::int64_t i, std::int64_t& length) {
    const T start = static_cast<const T*>(lists.starts)[i];
    const T stop = static_cast<const T*>(lists.stops)[i];
    const bool overflow =
        __builtin_sub_overflow(static_cast<std::int64_t>(stop), static_cast<std::int64_t>(start), &length);
    return stop >= start && !overflow && !(lists.strict && start < T{0});
  }

  static ListTotal scan(const Lists& lists, std::int64_t n, std::int64_t* out, std::int64_t before,
                        const detail::ScanMode&) {
    ListTotal sum{before, false};
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t length = 0;
      sum.bad |= !length_of(lists, i, length);
      sum.bad |= __builtin_add_overflow(sum.total, length, &sum.total);
      out[i] = sum.total;
    }
    return sum;
  }
};

template <class T>
constexpr void add_lists(KernelTable& table) {
  table.ragged[at(type_of<T>())].scan = &PlainLists<T>::scan;
}

std::uint64_t select_sum(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                         std::int64_t n, std::uint32_t limit) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (key[i] < limit) sum += static_cast<std::uint64_t>(quantity[i]) * static_cast<std::uint64_t>(price[i]);
  }
  return sum;
}

constexpr KernelTable make_table() {
  KernelTable table{};
  add_type<std::int8_t>(table);
  add_type<std::int16_t>(table);
  add_type<std::int32_t>(table);
  add_type<std::int64_t>(table);
  add_type<std::uint8_t>(table);
  add_type<std::uint16_t>(table);
  add_type<std::uint32_t>(table);
  add_type<std::uint64_t>(table);
  add_type<float>(table);
  add_type<double>(table);
  add_lists<std::int32_t>(table);
  add_lists<std::uint32_t>(table);
  add_lists<std::int64_t>(table);
  table.select_sum = &select_sum;
  return table;
}

constexpr KernelTable kTable = make_table();

}  // namespace

const KernelTable& kernels_plain() noexcept { return kTable; }

bool shift_offsets(std::int64_t* out, std::int64_t n, std::int64_t value) noexcept {
  bool bad = false;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = add(out[i], value);
    bad |= out[i] < 0;
  }
  return bad;
}

}  // namespace upsweep::cpu
