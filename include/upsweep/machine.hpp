// SPDX-License-Identifier: Apache-2.0
// upsweep/machine.hpp: the properties of this machine and its memory rates, which limit every rung.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "upsweep/policy.hpp"

namespace upsweep {

/// The processor as the operating system describes it; 0 and "" for what is unknown.
struct Machine {
  std::string cpu;
  int threads;             ///< cores that this process may use
  Isa isa;                 ///< the widest instruction set with kernels
  std::int64_t l1d_bytes;  ///< per core
  std::int64_t l2_bytes;   ///< per core, on most CPUs
  std::int64_t l3_bytes;   ///< shared
  std::int64_t memory_bytes;
};

[[nodiscard]] const Machine& machine();

/// Returns the name of an instruction set: "baseline", "avx2", "avx512".
[[nodiscard]] std::string_view name(Isa isa) noexcept;

/// Copies bytes with `threads` threads (0: every core) and stores that bypass the caches. No scan is faster than this
/// copy. `to` and `from` must not overlap.
void copy_bytes(void* to, const void* from, std::int64_t bytes, int threads = 0);

/// Reads every byte with `threads` threads. Returns a checksum, so that the compiler cannot remove the reads.
[[nodiscard]] std::uint64_t read_bytes(const void* from, std::int64_t bytes, int threads = 0);

/// Bytes per second.
struct MemoryRates {
  double copy = 0;  ///< bytes read plus bytes written
  double read = 0;
};

/// Measures medians on memory larger than the caches, with `threads` threads (0: every core). Takes about a second.
[[nodiscard]] MemoryRates measure_memory(int threads = 0);

/// Returns a size as text: "35.8 MB", of 2^20 bytes each.
[[nodiscard]] std::string bytes_text(double bytes);
/// Parses a size: "4GB", "1.5 GB", "500mb", "65536"; a KB has 1024 bytes. Returns nullopt if the text is not a size.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);

}  // namespace upsweep
