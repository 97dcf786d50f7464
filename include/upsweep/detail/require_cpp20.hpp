// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/require_cpp20.hpp: one clear error from a compiler that does not compile C++20.
#pragma once

// Every public C++ header includes this file first, because an older compiler may not have the standard headers that
// follow. The include of a missing file ends the compilation. After only an #error, GCC prints 1,000 lines more.
#if __cplusplus < 202002L
#error upsweep needs C++20: add -std=c++20, or in CMake target_compile_features(TARGET PRIVATE cxx_std_20)
#include "upsweep needs C++20: see the error above"
#endif
