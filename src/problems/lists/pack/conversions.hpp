// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions.hpp: the Errors of the conversions of broadcast.hpp, the same on the CPU and on a
// GPU.
#pragma once

#include <cstdint>

namespace upsweep::impl::pack {

[[noreturn]] void throw_bad_length(std::int64_t list, std::int64_t length);
/// Throws the error of a parent that is not one of `lists` lists, or is less than the parent before it.
[[noreturn]] void throw_bad_parent(std::int64_t element, std::int64_t parent, std::int64_t before, std::int64_t lists);
/// Throws the error of an outer list among this number of inner lists.
[[noreturn]] void throw_bad_level(std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t inner);

}  // namespace upsweep::impl::pack
