// SPDX-License-Identifier: Apache-2.0
// ragged/rungs.hpp: the rungs of the ragged ladder, each explained in the file of its name; ladder.cpp lists them.
#pragma once

#include "upsweep/detail/ragged_call.hpp"
#include "upsweep/error.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::ragged {

Status cpu_serial(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_threads(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_chained(detail::RaggedCall& call, const Policy& policy) noexcept;
Status cpu_adjacent(detail::RaggedCall& call, const Policy& policy) noexcept;

}  // namespace upsweep::ragged
