// SPDX-License-Identifier: Apache-2.0
// cuda/nvrtc.hpp: compiles CUDA C++ when it is needed, with the NVRTC that is found then; stores results in files.
#pragma once

#include <string>

namespace upsweep::gpu {

/// Returns machine code for a compute capability, from the cache (see cache_folder) or from NVRTC; PTX if NVRTC is
/// older than the capability. Throws Error unsupported if no NVRTC is found, device_failed if it does not compile the
/// source.
std::string compiled(const std::string& source, int major, int minor);

/// Returns the folder of compiled code: $UPSWEEP_CACHE, or upsweep/ in $XDG_CACHE_HOME or ~/.cache. Returns "" if code
/// is not stored, which UPSWEEP_CACHE= requests. A relative path counts as empty: code must not come from where the
/// program is started.
std::string cache_folder();

}  // namespace upsweep::gpu
