// SPDX-License-Identifier: Apache-2.0
// select/arrays.hpp: what selections, partitions and takes ask of their arrays before they begin, and what is said of bad ones.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/apart.hpp"
#include "upsweep/detail/select_call.hpp"
#include "upsweep/error.hpp"

namespace upsweep::selection {

void add_columns(std::span<const SelectColumn> columns, CallArrays& arrays);

using detail::ArraysAre;

/// What the smallest output has room for. Throws invalid_argument, unsupported_type, and unequal_lengths where a column is
/// of another length than `as` has.
std::int64_t require_columns(std::span<const SelectColumn> columns, std::int64_t length, const char* as,
                             ArraysAre arrays = ArraysAre::there);

/// All that a selection and a partition ask. Throws Error.
void require_call(const Policy& policy, detail::SelectCall& call);
/// The same without a look at the policy.
void require_views(detail::SelectCall& call, ArraysAre arrays = ArraysAre::there);
/// What a partition asks, but of the policy.
void require_partition(detail::SelectCall& call);
/// All that a take asks, but of the policy.
void require_take(detail::TakeCall& call);

/// Throws for an array of the call that is not in memory of the device.
void require_columns_on_device(std::span<const SelectColumn> columns, int device);
void require_on_device(const detail::SelectCall& call, int device);

/// Throws the Error of an index, at a position, that names no element of `where`, "the content, which has 3 elements".
[[noreturn]] void throw_bad_index(std::int64_t index, std::int64_t position, const std::string& where);
/// That of a list of indices whose bounds are bad.
[[noreturn]] void throw_bad_index_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop,
                                       std::int64_t indices);
/// That of outputs which are too small.
[[noreturn]] void throw_no_room_to_take(std::int64_t room, std::int64_t taken);

}  // namespace upsweep::selection
