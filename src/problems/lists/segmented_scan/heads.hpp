// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/heads.hpp: sets a bit per element of the content: whether a list begins there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/list_facts.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::impl::segmented_scan {

/// Checks adjacent lists and sets the bit of each list's first element. Null lists are not checked and set no bit;
/// empty lists set none. *facts and the gpu::head_words(content) words of `heads` must be zero before.
cudaError_t launch_heads(const Lists& lists, std::int64_t content, gpu::ListFacts* facts, unsigned* heads,
                         const gpu::Launch& at);

}  // namespace upsweep::impl::segmented_scan
