// SPDX-License-Identifier: Apache-2.0
// system/threads.hpp: whether the system lets this process create the threads that the libraries below it need.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <initializer_list>

namespace upsweep {

/// Defers pthread_cancel() of the calling thread to the next cancellation point after the block. In the block, waits
/// and reads of files would be such points. Unwinding there would end the program, because most of the library is
/// noexcept.
class NotCancelled {
 public:
  NotCancelled() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

/// Threads that are created in the block receive no signals, so that handlers of the program run on its own threads.
/// Signals that a thread's own instructions raise are not blocked, because then they would end the program silently.
/// The signal of profilers is not blocked either, because they sample every thread.
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
  int count;    ///< that can be created at once, if they are not enough
  bool enough;  ///< a thread for each core, and some for libraries that read files
};

/// The result is determined at the first call, by creating threads. If oneTBB or Arrow cannot create a thread (limits
/// on processes, on memory, or of a container), they end the program or wait forever. They offer no way to ask before.
SpareThreads spare_threads() noexcept;

/// Returns the number of threads that a call may run on, including its caller's: hardware_threads(). If threads are
/// short, half of the spare threads are left for other libraries.
[[nodiscard]] int thread_limit() noexcept;

/// The stack size of a thread, both oneTBB's and ours.
inline constexpr std::size_t kThreadStack = std::size_t{4} << 20;

/// Returns whether the address space is limited, so that allocations may take the memory that a thread's stack needs.
[[nodiscard]] bool address_space_is_limited() noexcept;

}  // namespace upsweep
