// SPDX-License-Identifier: Apache-2.0
// tests/in_child.hpp: runs a part of a test in a child of fork().
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

namespace upsweep::tests {

/// Executes `act` in a child, which may run for half a minute. Returns its exit status (0 if `act` returns true), or
/// 128 plus the signal that ended it; -1: there is no child.
inline int in_child(const std::function<bool()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::exit(act() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace upsweep::tests
