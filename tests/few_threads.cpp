// SPDX-License-Identifier: Apache-2.0
// tests/few_threads.cpp: a library that is loaded before a program. The program can have at most THREADS_AT_MOST
// threads at a time. For each requested thread it writes a dot to the file THREADS_ASKED, if this variable is set.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

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

void note_asked() {
  const char* const path = std::getenv("THREADS_ASKED");
  const int file = path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (::write(file, ".", 1) != 1) std::abort();
  ::close(file);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, Function function, void* argument) {
  note_asked();
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
