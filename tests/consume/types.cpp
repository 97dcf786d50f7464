// SPDX-License-Identifier: Apache-2.0
// tests/consume/types.cpp: the name and the size of a sum's type.
#include "upsweep/types.hpp"

#include <vector>

#include "upsweep/reduce.hpp"

int main() {
  const std::vector<float> halves(1000, 0.5F);
  const upsweep::Type type = upsweep::type_of<float>();
  const auto size = upsweep::visit_type(type, []<class T>(std::type_identity<T>) { return sizeof(T); });
  return upsweep::name(type) == "float32" && size == 4 && upsweep::reduce(upsweep::par, halves, 0.0F) == 500.0F ? 0 : 1;
}
