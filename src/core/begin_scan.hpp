// SPDX-License-Identifier: Apache-2.0
// core/begin_scan.hpp: the first value of an exclusive scan without an initial value.
#pragma once

#include <type_traits>

#include "core/visit.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/operators.hpp"

namespace upsweep {

/// Sets the carry of an exclusive scan without preceding elements to the operator's identity, so that every rung has a
/// first output. Scans by custom operators have an initial value.
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
  /// Clears the carry again unless advance() was called, so that a call that fails may be repeated.
  ~BegunScan() {
    if (!is_begun_) return;
    visit_type(call_.out_type,
               [&]<class T>(std::type_identity<T>) { *static_cast<ScanCarry<T>*>(call_.carry) = empty_carry<T>(); });
  }
  BegunScan(const BegunScan&) = delete;
  BegunScan& operator=(const BegunScan&) = delete;

  /// Whether the first output must be set to 0 after the scan. Sums of floats begin with -0.0, which changes no bit,
  /// but the sum of no elements is 0.0.
  [[nodiscard]] bool zero_is_first() const { return zero_is_first_; }
  /// Keeps the carry: the scan has written the carry for the next scan.
  void advance() { is_begun_ = false; }

 private:
  const detail::ScanCall& call_;
  bool is_begun_ = false;
  bool zero_is_first_ = false;
};

}  // namespace upsweep
