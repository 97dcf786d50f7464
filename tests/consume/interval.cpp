// SPDX-License-Identifier: Apache-2.0
// tests/consume/interval.cpp: an interval as an element and back.
#include "upsweep/interval.hpp"

int main() {
  const upsweep::Interval interval{.months = -14, .days = 3, .nanoseconds = 5};
  return upsweep::interval_of(upsweep::element_of(interval).value()) == interval ? 0 : 1;
}
