// SPDX-License-Identifier: Apache-2.0
// climb/not_built.cpp: replaces device_place.cpp and link.cpp in a build without CUDA: errors that say why.
#include "cuda/not_built.hpp"

#include "climb/place.hpp"
#include "upsweep/gpu.hpp"

std::unique_ptr<upsweep::ClimbPlace> upsweep::device_place(Instance&) { gpu::refuse(); }

upsweep::gpu::LinkTimes upsweep::gpu::measure_link(int) { refuse(); }
