// SPDX-License-Identifier: Apache-2.0
// ragged/awkward.cpp: Awkward Array's compact_offsets kernels on upsweep's own: errors become their struct.
#include "upsweep/awkward.h"

#include <exception>

#include "upsweep/ragged.hpp"

namespace {

using upsweep_awkward_error = struct upsweep_awkward_error;

constexpr const char* kFile = "upsweep src/ragged/awkward.cpp";

const char* text_of(upsweep::Code code) {
  switch (code) {
    case upsweep::Code::stop_before_start:
      return "stops[i] < starts[i]";
    case upsweep::Code::overflow:
      return "offsets overflow int64";
    default:
      return "out of memory or a null pointer";
  }
}

template <class T>
upsweep_awkward_error compact_offsets(std::int64_t* tooffsets, const T* starts, const T* stops, std::int64_t length) {
  try {
    upsweep::compact_offsets(upsweep::par, starts, stops, length < 0 ? 0 : length, tooffsets);
    return {nullptr, nullptr, INT64_MAX, INT64_MAX};
  } catch (const upsweep::Error& error) {
    return {text_of(error.code()), kFile, error.index() == upsweep::kNoIndex ? INT64_MAX : error.index(), INT64_MAX};
  } catch (const std::exception&) {
    return {text_of(upsweep::Code::out_of_memory), kFile, INT64_MAX, INT64_MAX};
  }
}

}  // namespace

upsweep_awkward_error awkward_ListArray32_compact_offsets_64(int64_t* tooffsets, const int32_t* fromstarts,
                                                             const int32_t* fromstops, int64_t length) {
  return compact_offsets(tooffsets, fromstarts, fromstops, length);
}

upsweep_awkward_error awkward_ListArrayU32_compact_offsets_64(int64_t* tooffsets, const uint32_t* fromstarts,
                                                              const uint32_t* fromstops, int64_t length) {
  return compact_offsets(tooffsets, fromstarts, fromstops, length);
}

upsweep_awkward_error awkward_ListArray64_compact_offsets_64(int64_t* tooffsets, const int64_t* fromstarts,
                                                             const int64_t* fromstops, int64_t length) {
  return compact_offsets(tooffsets, fromstarts, fromstops, length);
}
