// SPDX-License-Identifier: Apache-2.0
// climb/not_built.cpp: a build without CUDA has this in place of device_place.cpp and link.cpp: errors that say why.
#include "cuda/not_built.hpp"

#include "climb/place.hpp"
#include "upsweep/gpu.hpp"

std::unique_ptr<upsweep::ClimbPlace> upsweep::device_place(Instance&) { gpu::refuse(); }

upsweep::gpu::LinkTimes upsweep::gpu::measure_link(int) { refuse(); }
