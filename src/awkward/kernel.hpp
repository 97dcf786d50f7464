// SPDX-License-Identifier: Apache-2.0
// awkward/kernel.hpp: the common part of kernels for Awkward Array: runs a call, and converts errors to Awkward's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>

#include "upsweep/awkward.h"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep::awkward {

using KernelError = ::upsweep_awkward_error;

/// The value of `identity` and `attempt` if they have no meaning.
inline constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

constexpr KernelError success() { return {nullptr, nullptr, kNothing, kNothing}; }

/// `file` ends the bracket that Awkward opens before it.
constexpr KernelError failure(const char* text, std::int64_t identity = kNothing, std::int64_t attempt = kNothing) {
  return {text, "upsweep src/awkward)", identity, attempt};
}

/// Returns the message of an error that Awkward's kernels do not check.
const char* text_of(Code code);

/// Awkward's lengths may be negative for empty arrays.
constexpr std::int64_t count_of(std::int64_t length) { return std::max<std::int64_t>(length, 0); }

/// Returns the end of the last of n lists, which is the only known length of their content.
template <class T>
std::int64_t end_of(const T* offsets, std::int64_t n) {
  return n > 0 && offsets != nullptr ? static_cast<std::int64_t>(offsets[n]) : 0;
}

/// Returns the number of elements of n adjacent lists. With decreasing offsets it is any number that is not negative.
template <class T>
std::int64_t elements_of(const T* offsets, std::int64_t n) {
  return n > 0 && offsets != nullptr
             ? std::max<std::int64_t>(0, static_cast<std::int64_t>(offsets[n]) - static_cast<std::int64_t>(offsets[0]))
             : 0;
}

/// The result of a refused call. Without a value, it is made from the Error.
using Answer = std::optional<KernelError>;

inline Answer as_refused(const Error& /*error*/) { return {}; }

/// Returns the error of the first of n lists whose offsets are bad.
template <class T>
Answer first_bad_offsets(const T* offsets, std::int64_t n) {
  if (offsets == nullptr) return {};
  for (std::int64_t i = 0; i < n; ++i) {
    if (offsets[i + 1] < offsets[i]) return failure("offsets must be monotonically increasing", i);
  }
  return {};
}

/// Calls call(). If the call is refused, calls answer(error). answer() looks for the first error in Awkward's order and
/// with Awkward's text, because only failures need it. Or it does what Awkward's kernel does with an input that we
/// refuse.
template <class Call, class GetAnswer>
KernelError run(Call call, GetAnswer answer) noexcept {
  try {
    call();
    return success();
  } catch (const Error& error) {
    if (const Answer found = answer(error)) return *found;
    return failure(text_of(error.code()), error.index() == kNoIndex ? kNothing : error.index());
  } catch (const std::exception&) {
    return failure(text_of(Code::out_of_memory));
  }
}

}  // namespace upsweep::awkward
