// SPDX-License-Identifier: Apache-2.0
// cuda/not_built.hpp: the error of a build without CUDA when a GPU is requested.
#pragma once

#include "upsweep/detail/no_cuda.hpp"
#include "upsweep/error.hpp"

namespace upsweep::gpu {

[[noreturn]] inline void refuse() { throw Error(Code::not_built, detail::kNoCuda); }

}  // namespace upsweep::gpu
