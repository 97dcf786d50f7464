// SPDX-License-Identifier: Apache-2.0
// dynamic/calls.hpp: the calls of the compiled library, made of arrays whose types are known at run time.
#pragma once

#include "upsweep/dynamic.hpp"

namespace upsweep::dynamic {

/// Throws unequal_lengths, and invalid_argument for null pointers and types that are not those of the carry.
detail::ScanCall scan_call(const ScanOptions& options, ConstArray in, Array out, Carry& carry);
detail::ReduceCall reduce_call(Operator op, ConstArray in, Carry& carry);
detail::RaggedCall offsets_call(ConstArray starts, ConstArray stops, std::int64_t* offsets, const OffsetsCarry& carry,
                                bool strict);

}  // namespace upsweep::dynamic
