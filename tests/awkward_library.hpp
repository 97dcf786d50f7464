// SPDX-License-Identifier: Apache-2.0
// tests/awkward_library.hpp: the functions of libupsweep-awkward, for a program that loads the library at run time.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "upsweep/awkward.h"

namespace upsweep::tests {

/// The value of `identity` and `attempt` when they have no meaning: Awkward's kSliceNone.
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

/// Returns the kernel with this name, with the type that the header declares.
#define UPSWEEP_KERNEL(NAME) reinterpret_cast<decltype(&(NAME))>(upsweep::tests::awkward_symbol(#NAME))
