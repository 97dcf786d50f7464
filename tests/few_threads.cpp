// SPDX-License-Identifier: Apache-2.0
// tests/few_threads.cpp: loaded before a program, lets it have so many threads at once as THREADS_AT_MOST says.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <utility>

namespace {

using Function = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Function, void*);

std::atomic<int> alive{0};

struct Start {
  Function function;
  void* argument;
};

void* run(void* start) {
  const Start mine = *static_cast<Start*>(start);
  delete static_cast<Start*>(start);
  void* result = mine.function(mine.argument);
  --alive;
  return result;
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Function function, void* argument) {
  const char* most = std::getenv("THREADS_AT_MOST");
  auto* const start = new (std::nothrow) Start{function, argument};
  if (++alive > (most != nullptr ? std::strtol(most, nullptr, 10) : 0) || start == nullptr) {
    --alive;
    delete start;
    return EAGAIN;
  }
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  const int error = create(thread, attributes, run, start);
  if (error != 0) --alive;
  return error;
}
