// SPDX-License-Identifier: Apache-2.0
// segmented/key_runs.hpp: what outputs of calls by keys must have room for, on the CPU and on a GPU.
#pragma once

#include <cstdint>

namespace upsweep::segmented {

/// Throws unequal_lengths where `what` has room for fewer runs than there are.
void require_room(std::int64_t runs, std::int64_t room, const char* what);

}  // namespace upsweep::segmented
