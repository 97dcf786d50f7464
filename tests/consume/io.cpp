// SPDX-License-Identifier: Apache-2.0
// tests/consume/io.cpp: a query of a file; this program writes the file as .npy, which every build can read.
#include "upsweep/io.hpp"

#include <cstdint>
#include <fstream>
#include <string>

#include "upsweep/query.hpp"

int main() {
  std::string file("\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", 67);
  file.resize(127, ' ');
  file += '\n';
  const std::int32_t values[] = {17, 36, 8};
  file.append(reinterpret_cast<const char*>(values), sizeof(values));
  std::ofstream("numbers.npy", std::ios::binary) << file;
  const auto numbers = upsweep::io::open_table("numbers.npy");
  const upsweep::Answer answer = upsweep::Query("SELECT SUM(numbers) FROM t", *numbers).run(upsweep::par, *numbers);
  return answer.rows[0][0].exact == 61 ? 0 : 1;
}
