// SPDX-License-Identifier: Apache-2.0
// climb/machine.cpp: asks the operating system about the processor, and moves memory at its full rate.
#include "upsweep/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "climb/clock.hpp"
#include "cpu/kernels.hpp"
#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "system/isa.hpp"
#include "system/pages.hpp"
#include "system/system_text.hpp"

namespace upsweep {
namespace {

std::string cpu_model() {
  const std::string text = system_text("/proc/cpuinfo");
  for (std::string_view lines = text; !lines.empty();) {
    const std::string_view line = next_line(lines);
    const auto colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string_view::npos) return std::string(line.substr(colon + 2));
  }
  return "";
}

std::int64_t system_value(int name) {
  const long value = sysconf(name);
  return value > 0 ? value : 0;
}

}  // namespace

const Machine& machine() {
  static const Machine here{
      .cpu = cpu_model(),
      .threads = cpu::hardware_threads(),
      .isa = best_isa(),
      .l1d_bytes = system_value(_SC_LEVEL1_DCACHE_SIZE),
      .l2_bytes = system_value(_SC_LEVEL2_CACHE_SIZE),
      .l3_bytes = system_value(_SC_LEVEL3_CACHE_SIZE),
      .memory_bytes = system_value(_SC_PHYS_PAGES) * system_value(_SC_PAGESIZE),
  };
  return here;
}

std::string_view name(Isa isa) noexcept {
  switch (isa) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::baseline:
      return "baseline";
    case Isa::best:
      break;
  }
  return name(best_isa());
}

void copy_bytes(void* to, const void* from, std::int64_t bytes, int threads) {
  const auto copy = cpu::kernels(Isa::best).copy;
  cpu::for_each_block(bytes, cpu::kBlockBytes, threads, [&](cpu::Range range) {
    copy(static_cast<std::byte*>(to) + range.first, static_cast<const std::byte*>(from) + range.first, range.count);
    return kNoIndex;
  });
}

std::uint64_t read_bytes(const void* from, std::int64_t bytes, int threads) {
  const auto read = cpu::kernels(Isa::best).read;
  std::atomic<std::uint64_t> sum{0};
  cpu::for_each_block(bytes, cpu::kBlockBytes, threads, [&](cpu::Range range) {
    sum.fetch_xor(read(static_cast<const std::byte*>(from) + range.first, range.count), std::memory_order_relaxed);
    return kNoIndex;
  });
  return sum.load(std::memory_order_relaxed);
}

MemoryRates measure_memory(int threads) {
  // Four times the last-level cache, and at least 256 MB, so that memory is measured.
  const std::int64_t beyond = std::max<std::int64_t>(std::int64_t{256} << 20, 4 * machine().l3_bytes);
  const std::int64_t bytes = std::min(beyond, machine().memory_bytes / 8);
  cpu::Pages<std::byte> from(bytes);
  cpu::Pages<std::byte> to(bytes);
  std::memset(from.data(), 1, static_cast<std::size_t>(bytes));
  std::memset(to.data(), 1, static_cast<std::size_t>(bytes));
  std::vector<Contender> contenders{
      {.name = "copy", .run = [&] { copy_bytes(to.data(), from.data(), bytes, threads); }},
      {.name = "read", .run = [&] { (void)read_bytes(from.data(), bytes, threads); }}};
  HostClock clock;
  time_in_turn(contenders, clock, 0.25);
  return {.copy = 2.0 * static_cast<double>(bytes) / contenders[0].median(),
          .read = static_cast<double>(bytes) / contenders[1].median()};
}

}  // namespace upsweep
