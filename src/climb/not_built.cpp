// SPDX-License-Identifier: Apache-2.0
// climb/not_built.cpp: replaces device_place.cpp, device_trials.cpp and link.cpp in a build without CUDA: errors that
// say why.
#include "cuda/not_built.hpp"

#include "climb/device_trials.hpp"
#include "climb/place.hpp"
#include "upsweep/gpu.hpp"

std::unique_ptr<upsweep::ClimbPlace> upsweep::device_place(Instance&) { gpu::refuse(); }

std::unique_ptr<upsweep::TrialPlace> upsweep::gpu::device_trials(const Guest&, const ClimbRequest&) { refuse(); }

std::string upsweep::gpu::runtime_error_text(int) { refuse(); }

upsweep::gpu::LinkTimes upsweep::gpu::measure_link(int) { refuse(); }
