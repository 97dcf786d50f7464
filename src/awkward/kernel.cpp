// SPDX-License-Identifier: Apache-2.0
// awkward/kernel.cpp: the messages of errors that Awkward Array's kernels do not check.
#include "awkward/kernel.hpp"

namespace upsweep::awkward {

const char* text_of(Code code) {
  switch (code) {
    case Code::stop_before_start:
      return "stops[i] < starts[i]";
    case Code::negative_start:
      return "starts[i] < 0";
    case Code::stop_past_end:
      return "stops[i] > len(content)";
    case Code::index_out_of_range:
      return "index out of range";
    case Code::overflow:
      return "offsets overflow int64";
    case Code::invalid_argument:
      return "a null pointer, a bad number, or an output that overlaps an input";
    default:
      return "out of memory";
  }
}

}  // namespace upsweep::awkward
