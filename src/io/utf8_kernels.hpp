// SPDX-License-Identifier: Apache-2.0
// io/utf8_kernels.hpp: checks whether long text is UTF-8, with a loop for each instruction set.
#pragma once

#include <cstdint>

namespace upsweep::io {

/// Whether n bytes are valid UTF-8, by the rule of core/utf8.hpp.
using IsUtf8 = bool (*)(const std::uint8_t* text, std::int64_t n);

struct Utf8Kernels {
  IsUtf8 is_utf8;
};

const Utf8Kernels& utf8_kernels_baseline() noexcept;
const Utf8Kernels& utf8_kernels_avx2() noexcept;
const Utf8Kernels& utf8_kernels_avx512() noexcept;

}  // namespace upsweep::io
