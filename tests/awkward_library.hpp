// SPDX-License-Identifier: Apache-2.0
// tests/awkward_library.hpp: the functions of libupsweep-awkward as a program that loads it sees them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "upsweep/awkward.h"

namespace upsweep::tests {

/// What `identity` and `attempt` are where they mean nothing: Awkward's kSliceNone.
inline constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::max();

inline void* awkward_symbol(const char* name) {
  static void* const library = dlopen(UPSWEEP_AWKWARD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    ADD_FAILURE() << dlerror();
    return nullptr;
  }
  void* const found = dlsym(library, name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

}  // namespace upsweep::tests

/// A kernel of that name, of the type that the header gives it.
#define UPSWEEP_KERNEL(NAME) reinterpret_cast<decltype(&(NAME))>(upsweep::tests::awkward_symbol(#NAME))
