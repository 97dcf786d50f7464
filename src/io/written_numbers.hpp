// SPDX-License-Identifier: Apache-2.0
// io/written_numbers.hpp: how the numbers in a column of a text file are written.
#pragma once

#include <string>

namespace upsweep::io {

/// The marks of the numbers in a column of a CSV file.
struct WrittenNumbers {
  char decimal = 0;              ///< before decimals, as some number shows: '.' or ','; 0: no number shows it
  std::string currency = {};     ///< of the numbers; empty: they have none
  bool are_percentages = false;  ///< all of them have a percent sign
};

}  // namespace upsweep::io
