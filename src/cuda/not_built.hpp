// SPDX-License-Identifier: Apache-2.0
// cuda/not_built.hpp: what a build without CUDA says where a GPU is asked for.
#pragma once

#include "upsweep/error.hpp"

namespace upsweep::gpu {

[[noreturn]] inline void refuse() { throw Error(Code::not_built, "this build of upsweep has no CUDA"); }

}  // namespace upsweep::gpu
