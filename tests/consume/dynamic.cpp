// SPDX-License-Identifier: Apache-2.0
// tests/consume/dynamic.cpp: a scan whose type is only known at run time.
#include "upsweep/dynamic.hpp"

int main() {
  using namespace upsweep;
  const int in[] = {1, 2, 3};
  long long out[3] = {};
  dynamic::Carry carry(Type::int64);
  dynamic::scan(seq, {}, {in, 3, Type::int32}, {out, 3, Type::int64}, carry);
  return out[2] == 6 ? 0 : 1;
}
