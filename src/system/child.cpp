// SPDX-License-Identifier: Apache-2.0
// system/child.cpp: forks, reads the child's output from a pipe, and reports how the child ended.
#include "system/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "upsweep/error.hpp"

namespace upsweep {
namespace {

[[noreturn]] void be_child(const std::function<void(int out)>& work, int out) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // no process reads the pipe once the command was stopped
  const rlimit none = {};
  (void)setrlimit(RLIMIT_CORE, &none);  // a crash is reported, and leaves no file
  (void)signal(SIGBUS, SIG_DFL);        // the command's own handler reports file errors
  work(out);
  _exit(0);
}

/// Reads until the end. Returns false if nothing arrives for most_seconds. The parent measures the time, as a child may
/// block its signals.
bool listen(int from, int most_seconds, std::string& all) {
  std::array<char, 4096> buffer{};
  for (;;) {
    pollfd one = {.fd = from, .events = POLLIN, .revents = 0};
    const int ready = poll(&one, 1, most_seconds * 1000);
    if (ready == 0) return false;
    const ssize_t got = ready < 0 ? ready : read(from, buffer.data(), buffer.size());
    if (got > 0) all.append(buffer.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
  }
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "crashes (" + std::string(strsignal(WTERMSIG(status))) + ")";
  return "ends the process with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

ChildEnd run_in_child(const std::function<void(int out)>& work, int most_seconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(Code::out_of_memory, "cannot create a pipe to a child process");
  const pid_t child = fork();
  if (child == 0) be_child(work, ends[1]);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw Error(Code::out_of_memory, "cannot create a process to try the custom rung");
  }
  ChildEnd end;
  const bool has_ended = listen(ends[0], most_seconds, end.said);
  close(ends[0]);
  (void)kill(child, SIGKILL);  // an ending child keeps its status; another may have closed its pipe and still run
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  end.how = has_ended ? how_it_ended(status) : "takes more than " + std::to_string(most_seconds) + " s";
  return end;
}

}  // namespace upsweep
