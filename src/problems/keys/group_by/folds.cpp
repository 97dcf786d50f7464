// SPDX-License-Identifier: Apache-2.0
// problems/keys/group_by/folds.cpp: the loops over rows and totals, for every type and operator.
#include "problems/keys/group_by/folds.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "core/visit.hpp"
#include "cpu/overflow.hpp"
#include "upsweep/operators.hpp"

namespace upsweep::impl::group_by {
namespace {

using cpu::Int128;

/// The sum of a checked call.
struct WideAdd {
  template <class T>
  static constexpr T identity() {
    return 0;
  }
  Int128 operator()(Int128 a, Int128 b) const { return a + b; }
};

bool are_one(const std::uint32_t* numbers, std::int64_t n) {
  std::uint32_t differs = 0;
  for (std::int64_t i = 1; i < n; ++i) differs |= numbers[i] ^ numbers[0];
  return differs == 0;
}

template <class Total, class Op>
struct OfTotals {
  static void clear(void* totals, std::int64_t count) {
    std::fill_n(static_cast<Total*>(totals), count, Op::template identity<Total>());
  }
  static void merge(const void* others, const std::uint32_t* numbers, std::int64_t n, void* totals) {
    auto* const total = static_cast<Total*>(totals);
    for (std::int64_t i = 0; i < n; ++i) {
      total[numbers[i]] = Op{}(total[numbers[i]], static_cast<const Total*>(others)[i]);
    }
  }
};

template <class In, class Total, class Op>
struct OfValues {
  // [guide: fold]
  static void fold(const void* values, const std::uint32_t* numbers, std::int64_t n, void* totals) {
    const In* const x = static_cast<const In*>(values);
    Total* const total = static_cast<Total*>(totals);
    if (n > 0 && are_one(numbers, n)) {  // the total stays in a register
      Total one = total[numbers[0]];
      for (std::int64_t i = 0; i < n; ++i) one = Op{}(one, static_cast<Total>(x[i]));
      total[numbers[0]] = one;
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) total[numbers[i]] = Op{}(total[numbers[i]], static_cast<Total>(x[i]));
  }
  // [guide: end]
  static void fold_at(const void* values, const std::int64_t* at, const std::uint32_t* numbers, std::int64_t n,
                      void* totals) {
    const In* const x = static_cast<const In*>(values);
    Total* const total = static_cast<Total*>(totals);
    for (std::int64_t i = 0; i < n; ++i) total[numbers[i]] = Op{}(total[numbers[i]], static_cast<Total>(x[at[i]]));
  }
  static void lift(const void* values, const std::int64_t* at, const std::uint32_t* to, std::int64_t n, void* totals) {
    const In* const x = static_cast<const In*>(values);
    for (std::int64_t i = 0; i < n; ++i) {
      static_cast<Total*>(totals)[to[i]] = Op{}(Op::template identity<Total>(), static_cast<Total>(x[at[i]]));
    }
  }
};

template <class Total>
void move_totals(const void* totals, const std::uint32_t* places, std::int64_t n, void* to) {
  for (std::int64_t i = 0; i < n; ++i) static_cast<Total*>(to)[places[i]] = static_cast<const Total*>(totals)[i];
}

template <class Total>
std::int64_t write_totals(const void* totals, const std::int64_t* places, std::int64_t n, void* out) {
  for (std::int64_t i = 0; i < n; ++i) static_cast<Total*>(out)[places[i]] = static_cast<const Total*>(totals)[i];
  return kNoIndex;
}

template <class Out>
std::int64_t write_checked(const void* totals, const std::int64_t* places, std::int64_t n, void* out) {
  const auto* const total = static_cast<const Int128*>(totals);
  std::int64_t bad = kNoIndex;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!cpu::fits<Out>(total[i]) && (bad == kNoIndex || places[i] < places[bad])) bad = i;
    static_cast<Out*>(out)[places[i]] = static_cast<Out>(total[i]);
  }
  return bad;
}

template <class In, class Total, class Op>
Folds folds() {
  return {.size = sizeof(Total),
          .clear = &OfTotals<Total, Op>::clear,
          .fold = &OfValues<In, Total, Op>::fold,
          .fold_at = &OfValues<In, Total, Op>::fold_at,
          .lift = &OfValues<In, Total, Op>::lift,
          .merge = &OfTotals<Total, Op>::merge,
          .move = &move_totals<Total>,
          .write = &write_totals<Total>};
}

}  // namespace

Folds folds_of(const Call& call) {
  Folds found{};
  visit_type(call.in_type, [&]<class In>(std::type_identity<In>) {
    if constexpr (std::is_integral_v<In>) {
      if (call.checked) {
        found = folds<In, Int128, WideAdd>();
        visit_type(call.out_type, [&]<class Out>(std::type_identity<Out>) {
          if constexpr (std::is_integral_v<Out>) found.write = &write_checked<Out>;
        });
        return;
      }
    }
    (void)with_operator<In>(call, [&]<class Out, class Op>(std::type_identity<Out>, Op) -> Status {
      found = folds<In, Out, Op>();
      return {};
    });
  });
  return found;
}

}  // namespace upsweep::impl::group_by
