// SPDX-License-Identifier: Apache-2.0
// tests/precompiled.hpp: GoogleTest and the standard library, precompiled for all tests.
#include <gtest/gtest.h>

#include "../cmake/standard_library.hpp"
