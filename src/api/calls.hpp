// SPDX-License-Identifier: Apache-2.0
// api/calls.hpp: builds the calls of the compiled library from arrays whose types are known at run time.
#pragma once

#include <cstddef>

#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"

namespace upsweep::dynamic {

/// Throws invalid_argument for `custom`.
void require_element(Type type, const char* what);
/// Throws an Error with this code unless both are the same type, and bounds of lists can have it.
void require_bounds(Type starts, Type stops, Code code);
/// Sets the input and the types of a call. Throws invalid_argument.
void describe_elements(detail::ElementsCall& call, ConstArray in, Type out);
/// Sets the same for a fold by an operator, which the output's type must support. Throws invalid_argument.
void describe_fold(detail::ElementsCall& call, Operator op, ConstArray in, Type out);

/// One element of any type.
struct Element {
  alignas(8) std::byte bytes[8] = {};
};
/// The initial value of folds: the given element, otherwise the operator's identity.
struct Beginning {
  Element init;
  bool empty_is_zero = false;  ///< see detail::SegmentedReduceCall
};
Beginning beginning_of(Operator op, Type type, const void* init);

/// Throws unequal_lengths, and invalid_argument for null pointers and for types that differ from the carry's.
detail::ScanCall scan_call(const ScanOptions& options, ConstArray in, Array out, Carry& carry);
detail::ReduceCall reduce_call(Operator op, ConstArray in, Carry& carry);
detail::OffsetsCall offsets_call(ConstArray starts, ConstArray stops, std::int64_t* offsets, const OffsetsCarry& carry,
                                 bool strict);

}  // namespace upsweep::dynamic
