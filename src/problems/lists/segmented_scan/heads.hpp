// SPDX-License-Identifier: Apache-2.0
// problems/lists/segmented_scan/heads.hpp: a bit per element of the content: whether a list begins there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/list_facts.hpp"
#include "upsweep/detail/gpu_launch.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::impl::segmented_scan {

/// Checks adjacent lists and sets the bit of the element that each begins with. Null lists are not checked, and set none; nor
/// do empty ones. *facts and gpu::head_words(content) words of heads are zero before.
cudaError_t launch_heads(const Lists& lists, std::int64_t content, gpu::ListFacts* facts, unsigned* heads,
                         const gpu::Launch& at);

}  // namespace upsweep::impl::segmented_scan
