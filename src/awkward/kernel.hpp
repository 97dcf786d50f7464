// SPDX-License-Identifier: Apache-2.0
// awkward/kernel.hpp: what every kernel for Awkward Array does: it runs a call, and failures become Awkward's struct.
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

/// What `identity` and `attempt` are where they mean nothing.
inline constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

constexpr KernelError success() { return {nullptr, nullptr, kNothing, kNothing}; }

/// `file` ends the bracket that Awkward opens before it.
constexpr KernelError failure(const char* text, std::int64_t identity = kNothing, std::int64_t attempt = kNothing) {
  return {text, "upsweep src/awkward)", identity, attempt};
}

/// For what Awkward's kernels have no text for, as they do not look.
const char* text_of(Code code);

/// Awkward's lengths may be negative where there is nothing.
constexpr std::int64_t count_of(std::int64_t length) { return std::max<std::int64_t>(length, 0); }

/// Elements that lie before the end of the last of n lists: as long as their content is, for all that these kernels are given.
template <class T>
std::int64_t end_of(const T* offsets, std::int64_t n) {
  return n > 0 && offsets != nullptr ? static_cast<std::int64_t>(offsets[n]) : 0;
}

/// The elements of n adjacent lists; of decreasing offsets anything that is not negative.
template <class T>
std::int64_t elements_of(const T* offsets, std::int64_t n) {
  return n > 0 && offsets != nullptr
             ? std::max<std::int64_t>(0, static_cast<std::int64_t>(offsets[n]) - static_cast<std::int64_t>(offsets[0]))
             : 0;
}

/// What a refused call is to return; without a value, what the Error says.
using Answer = std::optional<KernelError>;

inline Answer as_refused(const Error& /*error*/) { return {}; }

/// The first of n lists whose offsets are bad.
template <class T>
Answer first_bad_offsets(const T* offsets, std::int64_t n) {
  if (offsets == nullptr) return {};
  for (std::int64_t i = 0; i < n; ++i) {
    if (offsets[i + 1] < offsets[i]) return failure("offsets must be monotonically increasing", i);
  }
  return {};
}

/// call(), and where that is refused answer(error): it looks for the first error in Awkward's order and with Awkward's text, as
/// only failures need it, or does what Awkward's kernel does with what we refuse.
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
