// SPDX-License-Identifier: Apache-2.0
// io/no_arrow.cpp: what stands in for arrow_column.cpp in a build without Arrow C++.
#include <fmt/format.h>

#include "io/arrow_column.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {

bool arrow_built() noexcept { return false; }

std::unique_ptr<ColumnReader> open_arrow_column(Format format, const std::string& path,
                                                const std::optional<std::string>& /*column*/) {
  throw Error(
      Code::not_built,
      fmt::format("{}: {} is read through Arrow C++, which this build leaves out; build with UPSWEEP_ARROW=ON, or "
                  "save the column as .npy",
                  path, describe(format)));
}

}  // namespace upsweep::io
