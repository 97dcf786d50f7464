// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions.hpp: what conversions of broadcast.hpp refuse on the CPU and on a GPU alike, and how their Errors
// say it.
#pragma once

#include <cstdint>

namespace upsweep::impl::pack {

[[noreturn]] void throw_bad_length(std::int64_t list, std::int64_t length);
/// Of a parent of no list among `lists`, or less than the one before it.
[[noreturn]] void throw_bad_parent(std::int64_t element, std::int64_t parent, std::int64_t before, std::int64_t lists);
/// Of an outer list of that many inner ones.
[[noreturn]] void throw_bad_level(std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t inner);

}  // namespace upsweep::impl::pack
