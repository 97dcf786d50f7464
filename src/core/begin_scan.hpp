// SPDX-License-Identifier: Apache-2.0
// core/begin_scan.hpp: what an exclusive scan begins with that has no initial value.
#pragma once

#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/operators.hpp"

namespace upsweep {

/// Gives an exclusive scan that nothing precedes the operator's identity as its carry, so that every rung has a first output. Scans by
/// custom operators have an initial value.
class BegunScan {
 public:
  explicit BegunScan(const detail::ScanCall& call) : call_(call) {
    if (!call.exclusive || call.n == 0 || call.init_at != nullptr || call.op == Operator::custom) return;
    visit_type(call.out_type, [&]<class T>(std::type_identity<T>) {
      auto& carry = *static_cast<ScanCarry<T>*>(call.carry);
      if (carry.any) return;
      carry = carry_of(identity<T>(call.op));
      is_begun_ = true;
      zero_is_first_ = std::is_floating_point_v<T> && call.op == Operator::add;
    });
  }
  /// Nothing precedes the caller's next scan either, unless advance() was called: a call that fails may be made again.
  ~BegunScan() {
    if (!is_begun_) return;
    visit_type(call_.out_type,
               [&]<class T>(std::type_identity<T>) { *static_cast<ScanCarry<T>*>(call_.carry) = empty_carry<T>(); });
  }
  BegunScan(const BegunScan&) = delete;
  BegunScan& operator=(const BegunScan&) = delete;

  /// Whether the first output is to become 0 once the scan is done: sums of floats begin with -0.0, which changes no bit, but a sum of
  /// none is 0.0.
  [[nodiscard]] bool zero_is_first() const { return zero_is_first_; }
  /// The scan has put into the carry what precedes the next one.
  void advance() { is_begun_ = false; }

 private:
  const detail::ScanCall& call_;
  bool is_begun_ = false;
  bool zero_is_first_ = false;
};

}  // namespace upsweep
