// SPDX-License-Identifier: Apache-2.0
// cpu/plain_list_kernels.cpp: the kernels on lists as plain loops: one list after the other, one element after the other.
#include <cstdint>

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

template <class T>
void add_type(ListKernels& table) {
  for_each_operator<T>(
      [&]<class Op>(Op) { table.fold[at(type_of<T>())][at(Op::kOperator)] = &detail::PlainFold<T, T, Op>::lists; });
  table.argmin[at(type_of<T>())] = &pick_lists<T, false>;
  table.argmax[at(type_of<T>())] = &pick_lists<T, true>;
}

/// Reading bounds and finding out what is not zero is what every CPU can do side by side.
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
