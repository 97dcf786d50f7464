// SPDX-License-Identifier: Apache-2.0
// climb/device_trials.hpp: the calls of a guest on a GPU that must succeed before it is timed there.
#pragma once

#include <memory>
#include <string>

#include "climb/guest_trials.hpp"

namespace upsweep::gpu {

/// Returns the text of an error code of the CUDA runtime; "" for another number.
[[nodiscard]] std::string runtime_error_text(int code);

/// Throws Error not_built in a build without CUDA. Throws no_device, also if this process was copied from one that has
/// used CUDA.
[[nodiscard]] std::unique_ptr<TrialPlace> device_trials(const Guest& guest, const ClimbRequest& request);

}  // namespace upsweep::gpu
