// SPDX-License-Identifier: Apache-2.0
// cuda/nvrtc.hpp: compiles CUDA C++ when it is needed, by the NVRTC library that is found then, and keeps the results in files.
#pragma once

#include <string>

namespace upsweep::gpu {

/// Machine code for a compute capability, from the cache (see cache_folder) or from NVRTC; PTX where NVRTC is older than
/// the capability. Throws Error unsupported where no NVRTC is found, device_failed where it does not take the source.
std::string compiled(const std::string& source, int major, int minor);

/// The folder that keeps compiled code: $UPSWEEP_CACHE, or upsweep/ in $XDG_CACHE_HOME or ~/.cache. Empty where code is not
/// kept, which UPSWEEP_CACHE= asks for. A relative path counts as empty: code must not come from where the program is started.
std::string cache_folder();

}  // namespace upsweep::gpu
