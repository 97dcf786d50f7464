// SPDX-License-Identifier: Apache-2.0
// cpu/plain_list_kernels.cpp: the kernels on lists as plain loops: lists and elements one after the other.
#include <cstdint>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/list_kernels.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::cpu {
namespace {

template <class T, bool kGreatest>
void pick_lists(const void* content, std::int64_t /*end*/, const std::int64_t* starts, const std::int64_t* stops,
                std::int64_t lists, std::int64_t* out) {
  const T* const x = static_cast<const T*>(content);
  for (std::int64_t i = 0; i < lists; ++i) {
    std::int64_t best = starts[i];
    for (std::int64_t j = best + 1; j < stops[i]; ++j) {
      const bool is_before = kGreatest ? x[j] > x[best] : x[j] < x[best];
      const bool is_first_nan = x[j] != x[j] && x[best] == x[best];
      if (is_before || is_first_nan) best = j;
    }
    out[i] = starts[i] < stops[i] ? best - starts[i] : -1;
  }
}

/// The sums of PlainFold, but 0.0 for lists without elements.
template <class T>
void sum_lists(const void* op, const void* content, std::int64_t end, const std::int64_t* starts,
               const std::int64_t* stops, std::int64_t lists, const void* init, void* out) {
  detail::PlainFold<T, T, Add>::lists(op, content, end, starts, stops, lists, init, out);
  for (std::int64_t i = 0; i < lists; ++i) {
    if (starts[i] >= stops[i]) static_cast<T*>(out)[i] = T{0};
  }
}

template <class T>
void add_type(ListKernels& table) {
  for_each_operator<T>(
      [&]<class Op>(Op) { table.fold[at(type_of<T>())][at(Op::kOperator)] = &detail::PlainFold<T, T, Op>::lists; });
  if constexpr (std::is_floating_point_v<T>) table.sum[at(type_of<T>())] = &sum_lists<T>;
  table.argmin[at(type_of<T>())] = &pick_lists<T, false>;
  table.argmax[at(type_of<T>())] = &pick_lists<T, true>;
}

/// Every CPU can use SIMD to read bounds and to find nonzero elements.
ListKernels make_table() {
  ListKernels table = list_kernels_baseline();
  for_each_type([&]<class T>(std::type_identity<T>) { add_type<T>(table); });
  table.is_wide = false;
  return table;
}

}  // namespace

const ListKernels& list_kernels_plain() noexcept {
  static const ListKernels table = make_table();
  return table;
}

}  // namespace upsweep::cpu
