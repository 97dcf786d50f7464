// SPDX-License-Identifier: Apache-2.0
// bench/held_up_bench.cpp: times the scan that the API runs on threads that are held up or share a core, and on one
// thread.
//
//   held_up_bench [ELEMENTS]
//
// As in tests/stress_test.cpp, one of the process's threads is held up every 1.5 ms on average, for 1 to 5 ms. On fewer
// than eight cores, the library is told that there are eight. Prints medians in milliseconds.
#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "climb/clock.hpp"
#include "system/cores.hpp"
#include "tests/disturbance.hpp"
#include "upsweep/scan.hpp"

/// Replaces the C library's function.
extern "C" int sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* mask) noexcept {
  CPU_ZERO_S(bytes, mask);
  if (syscall(SYS_sched_getaffinity, thread, bytes, mask) < 0) return -1;
  for (std::size_t core = 0; CPU_COUNT_S(bytes, mask) < 8; ++core) CPU_SET_S(core, bytes, mask);
  return 0;
}

namespace upsweep::bench {
namespace {

/// How threads are disturbed.
struct Way {
  const char* name;
  bool on_one_core;
  bool held_up;
};
constexpr Way kWays[] = {  // ways with one core come last: threads stay there
    {"as they are", false, false},
    {"held up", false, true},
    {"one core", true, false},
    {"one core, held up", true, true}};

double median_ms(const std::vector<std::int32_t>& in, std::vector<std::int32_t>& out, int threads) {
  constexpr int kRounds = 15;
  HostClock clock;
  std::vector<double> seconds(kRounds);
  for (double& one : seconds) one = clock.seconds_of([&] { inclusive_scan(par.with_threads(threads), in, out); });
  return median(seconds) * 1e3;
}

void compare(std::int64_t n) {
  const std::vector<std::int32_t> in(static_cast<std::size_t>(n), 1);
  std::vector<std::int32_t> out(in.size());
  std::vector<int> counts;
  for (int threads = 1; threads <= hardware_threads(); threads *= 2) counts.push_back(threads);
  std::vector<std::string> rows(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) rows[i] = fmt::format("{:>7}", counts[i]);
  std::string header = "threads";
  for (const Way& way : kWays) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // the threads of the previous way end
    std::optional<tests::Disturbance> disturbance;
    if (way.on_one_core || way.held_up) disturbance.emplace(way.on_one_core, way.held_up);
    header += fmt::format("{:>19}", way.name);
    for (std::size_t i = 0; i < counts.size(); ++i) rows[i] += fmt::format("{:>19.2f}", median_ms(in, out, counts[i]));
  }
  fmt::print("inclusive_scan of {} int32, ms\n{}\n", n, header);
  for (const std::string& row : rows) fmt::print("{}\n", row);
}

}  // namespace
}  // namespace upsweep::bench

int main(int count, char** arguments) try {
  upsweep::bench::compare(count > 1 ? std::stoll(arguments[1]) : 1 << 24);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "held_up_bench: {}\n", error.what());
  return 1;
}
