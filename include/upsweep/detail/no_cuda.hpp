// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/no_cuda.hpp: the error of a build without CUDA when a GPU, or a rung on a GPU, is requested.
#pragma once

#include <string_view>

namespace upsweep::detail {

/// The message. It says how to make a build with CUDA.
inline constexpr const char* kNoCuda =
    "this build of upsweep has no CUDA; build it with nvcc: make cuda, or CMake with -DUPSWEEP_CUDA=ON";

/// Throws Error not_built if the name begins like those of rungs on a GPU, and this build has no CUDA.
void require_built(std::string_view rung);

}  // namespace upsweep::detail
