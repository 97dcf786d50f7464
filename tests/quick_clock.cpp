// SPDX-License-Identifier: Apache-2.0
// tests/quick_clock.cpp: a library that is loaded before a program. Whenever the program reads the monotonic clock, a
// second more has passed, so that what waits for time to pass happens at once.
#include <dlfcn.h>

#include <atomic>
#include <ctime>

namespace {

using Read = int (*)(clockid_t, timespec*);

std::atomic<time_t> readings{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto read = reinterpret_cast<Read>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int error = read(clock, time);
  if (error == 0 && clock == CLOCK_MONOTONIC) time->tv_sec += ++readings;
  return error;
}
