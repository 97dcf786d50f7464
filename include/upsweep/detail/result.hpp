// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/result.hpp: prevents results from changing their type silently.
#pragma once

#include <concepts>
#include <type_traits>

namespace upsweep::detail {

/// A number of another type than the result's T. Results convert to T, and declare a private constructor from such
/// numbers. Without the constructor, the conditional `none ? 0 : result` would convert the result to the type of the 0,
/// and 2.75 to 2. With it, each operand could be converted to the other, which compilers refuse. If the constructor is
/// deleted, not all compilers refuse it.
template <class U, class T>
concept OtherNumber = std::is_arithmetic_v<U> && !std::same_as<U, T>;

}  // namespace upsweep::detail
