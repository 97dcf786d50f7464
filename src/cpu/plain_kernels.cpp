// SPDX-License-Identifier: Apache-2.0
// cpu/plain_kernels.cpp: the plain loops as a kernel table: one element after the other.
#include <cstdint>

#include "core/visit.hpp"
#include "cpu/kernels.hpp"

namespace upsweep::cpu {
namespace {

/// A type of this file. The loops over it are compiled with the library's options, regardless of the options of a
/// program that instantiates the same loops over Op.
template <class Op>
struct Local : Op {};

template <class T, class Op>
void merge(const void*, void* left, const void* right) {
  detail::merge(Op{}, *static_cast<ScanCarry<T>*>(left), *static_cast<const ScanCarry<T>*>(right));
}

/// List i for the reference kernel. The difference is computed in 64 bits, where only int64 bounds can overflow.
template <class T>
struct PlainLists {
  static bool length_of(const ListBounds& lists, std::int64_t i, std::int64_t& length) {
    const T start = static_cast<const T*>(lists.starts)[i];
    const T stop = static_cast<const T*>(lists.stops)[i];
    const bool overflow =
        __builtin_sub_overflow(static_cast<std::int64_t>(stop), static_cast<std::int64_t>(start), &length);
    return stop >= start && !overflow && !(lists.strict && start < T{0});
  }

  static ListTotal scan(const ListBounds& lists, std::int64_t n, std::int64_t* out, std::int64_t before,
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
constexpr void add_type(KernelTable& table) {
  for_each_operator<T>([&]<class Op>(Op) {
    auto& kernel = table.scan[at(type_of<T>())][at(Op::kOperator)];
    kernel = detail::PlainScan<T, T, Local<Op>>::kernel();
    kernel.merge = &merge<T, Op>;
  });
  if constexpr (is_list_bound(type_of<T>())) table.offsets[at(type_of<T>())].scan = &PlainLists<T>::scan;
}

std::uint64_t filtered_sum(const std::uint32_t* key, const std::int64_t* quantity, const std::int64_t* price,
                           std::int64_t n, std::uint32_t limit) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (key[i] < limit) sum += static_cast<std::uint64_t>(quantity[i]) * static_cast<std::uint64_t>(price[i]);
  }
  return sum;
}

constexpr KernelTable make_table() {
  KernelTable table{};
  for_each_type([&]<class T>(std::type_identity<T>) { add_type<T>(table); });
  table.filtered_sum = &filtered_sum;
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
