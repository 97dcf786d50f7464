// SPDX-License-Identifier: Apache-2.0
// system/threads.hpp: whether the system lets this process make the threads that libraries under it will need.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <initializer_list>

namespace upsweep {

/// Puts off pthread_cancel() of the calling thread: it acts at the next cancellation point after the block. Within, waiting
/// and reading files are such points, and being unwound there would end the program: most of the library is noexcept.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Threads made meanwhile take no signals: handlers of the program run on its own threads. Left are those that a thread's own
/// instructions raise, which end the program silently where they are blocked, and that of profilers, which sample every thread.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t most;
    sigfillset(&most);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) sigdelset(&most, signal);
    pthread_sigmask(SIG_SETMASK, &most, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

struct SpareThreads {
  int count;    ///< that could be made at once, where not enough
  bool enough;  ///< as many as are wanted: a thread for each core, and some for libraries that read files
};

/// Tried out at the first call, by making them: oneTBB and Arrow end the program, or wait forever, where a thread they
/// start cannot be made (limits on processes, on memory, or of a container), and have no way to be asked.
SpareThreads spare_threads() noexcept;

/// Threads that a call may run on, its caller's among them: hardware_threads(). Where threads are short, half of the spare
/// ones are left to whatever else makes some.
[[nodiscard]] int thread_limit() noexcept;

/// The stack of a thread, of oneTBB's as of our own.
inline constexpr std::size_t kThreadStack = std::size_t{4} << 20;

/// Whether the address space is limited, so that what is allocated may take the memory that a thread's stack needs.
[[nodiscard]] bool address_space_is_limited() noexcept;

}  // namespace upsweep
