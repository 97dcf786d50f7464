// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/output.cpp: writes standard output without loss, shows progress, and formats numbers for people.
#include "output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "io/npy_writer.hpp"
#include "io/output_file.hpp"
#include "io/posix.hpp"
#include "text_table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/machine.hpp"

namespace upsweep::command {
namespace {

// Short work shows no progress line. Long work rewrites it no faster than an eye can follow.
constexpr auto kFirstAfter = std::chrono::milliseconds(500);
constexpr auto kEvery = std::chrono::milliseconds(100);

/// A message may end with a line of a query and a line with a caret under it. Returns where the text before these lines
/// ends, otherwise the message's length. Other line breaks belong to names, and are escaped.
std::size_t end_of_text(std::string_view message) {
  const std::size_t caret = message.rfind('\n');
  if (caret == std::string_view::npos || message.find_first_not_of(' ', caret + 1) != message.size() - 1 ||
      message.back() != '^') {
    return message.size();
  }
  const std::size_t line = message.rfind('\n', caret - 1);
  return line == std::string_view::npos ? message.size() : line;
}

int output = STDOUT_FILENO;  // what print() writes to

std::vector<std::string> remarks;  // about the files of the command

// A signal handler reads these.
std::atomic<bool> has_printed = false;  // to standard output
std::atomic<bool> asks_json = false;
std::atomic<bool> has_terminal = false;  // as standard error
std::atomic<const char*> interrupt_hint = "";
std::atomic<pid_t> own_process = 0;  // processes that a trial of a custom rung starts also get Ctrl-C
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

/// Writes without an error and without an allocation.
void write_quietly(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Ends the process by the signal's default action. Only calls functions that a signal handler may call.
[[noreturn]] void end_by(int number) noexcept {
  std::signal(number, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, number);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);  // a handler of the signal blocks it
  ::raise(number);
  ::_exit(128 + number);
}

/// Sets a handler, unless the signal is ignored: a shell does that for commands in the background, nohup for SIGHUP.
void handle(int number, void (*handler)(int)) noexcept {
  struct sigaction action{};
  ::sigaction(number, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(number, &action, nullptr);
}

void end_without_files(int number) {
  if (::getpid() == own_process) io::remove_temporary_files();
  end_by(number);
}

}  // namespace

void end_by_interrupt() noexcept { end_by(SIGINT); }

void end_interrupted() noexcept {
  if (::getpid() != own_process) ::_exit(exit_code(Code::interrupted));
  io::remove_temporary_files();
  const char* const hint = interrupt_hint;
  if (asks_json && !has_printed) {
    for (const char* part :
         {R"({"error":{"code":"interrupted","message":"interrupted)", hint, R"(","index":null}})", "\n"}) {
      write_quietly(output, part);
    }
  } else {
    // On a terminal, erases the progress line, and the ^C that the terminal shows.
    for (const char* part : {has_terminal ? "\r\x1b[K" : "", "upsweep: interrupted", hint, "\n"}) {
      write_quietly(STDERR_FILENO, part);
    }
  }
  end_by(SIGINT);
}

void end_on_signals(bool json) {
  asks_json = json;
  has_terminal = ::isatty(STDERR_FILENO) == 1;
  own_process = ::getpid();
  handle(SIGINT, [](int) { end_interrupted(); });
  handle(SIGTERM, end_without_files);
  handle(SIGHUP, end_without_files);
}

void end_silently_on_interrupt() noexcept { handle(SIGINT, end_without_files); }

void set_interrupt_hint(const char* hint) noexcept { interrupt_hint = hint; }

bool is_terminal(const std::string& path) {
  if (path == "-") return ::isatty(STDOUT_FILENO) == 1;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  const io::Descriptor device(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  return device && ::isatty(device.get()) == 1;
}

void keep_standard_output() {
  const int own = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (own < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(Code::unwritable, fmt::format("standard output: {}", std::strerror(errno)));
  }
  output = own;
}

void print(std::string_view text) {
  has_printed = true;
  while (!text.empty()) {
    const ssize_t written = ::write(output, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      throw io::ClosedPipe();
    } else if (errno != EINTR) {
      const Code code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? Code::disk_full : Code::unwritable;
      throw Error(code, fmt::format("standard output: {}", std::strerror(errno)));
    }
  }
}

void hold_standard_streams() noexcept {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) != -1) continue;
    // The lowest free number is this one. The wrong access mode keeps every use of it an error.
    (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

void complain(std::string_view message) noexcept {
  const std::size_t end = end_of_text(message);
  std::string text = "upsweep: " + printable(message.substr(0, end)) + "\n";
  if (end < message.size()) {
    const std::size_t caret = message.rfind('\n');
    text += printable(message.substr(end + 1, caret - end - 1)) + "\n" + std::string(message.substr(caret + 1)) + "\n";
  }
  write_quietly(STDERR_FILENO, text);  // if it fails, there is nothing left to report to
}

void remark(std::string_view message) noexcept {
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "{}\n", printable(message));
}

void take_remarks(const std::vector<std::string>& lines, bool shown) {
  for (const std::string& line : lines) {
    // Several columns of a file are opened one by one, with the same lines.
    if (std::find(remarks.begin(), remarks.end(), line) != remarks.end()) continue;
    remarks.push_back(line);
    if (shown) remark(line);
  }
}

const std::vector<std::string>& taken_remarks() noexcept { return remarks; }

std::string printable(std::string_view text) { return io::printable(text, text.size()); }

std::string wrapped(std::string text, std::size_t indent, std::size_t width) {
  if (width == 0) width = std::min<std::size_t>(terminal_width(), 80);
  for (std::size_t line = 0; text.size() - line > width;) {
    std::size_t space = text.rfind(' ', line + width);
    if (space == std::string::npos || space <= line + indent) space = text.find(' ', line + width);  // a longer word
    if (space == std::string::npos) break;
    text.replace(space, 1, "\n" + std::string(indent, ' '));
    line = space + 1;
  }
  return text;
}

Progress::Progress(bool quiet)
    : on_(!quiet && isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + kFirstAfter) {}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\x1b[K");
}

bool Progress::due() {
  if (!on_ || std::chrono::steady_clock::now() < next_) return false;
  next_ = std::chrono::steady_clock::now() + kEvery;
  shown_ = true;
  return true;
}

void Progress::show(const std::string& text) {
  // A line that the terminal wraps would not be erased.
  fmt::print(stderr, "\r\x1b[K{:.{}}", text, std::min<std::size_t>(terminal_width_of(STDERR_FILENO), 80) - 1);
}

void Progress::say(std::string_view what) {
  if (due()) show(printable(what));
}

void Progress::count(std::string_view what, std::int64_t done, std::int64_t total) {
  if (!due()) return;
  if (total > 0) {
    show(fmt::format("{} {:3.0f} %", what, 100.0 * static_cast<double>(done) / static_cast<double>(total)));
  } else {
    show(fmt::format("{} {}", what, grouped(done)));
  }
}

std::string grouped(std::int64_t count) { return fmt::format("{}", fmt::group_digits(count)); }

std::string rows_text(std::int64_t count) { return count == 1 ? "1 row" : grouped(count) + " rows"; }

std::string duration(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} s", seconds);
}

std::string rate(double bytes_per_second) {
  if (bytes_per_second >= 1e12) return fmt::format("{:.2f} TB/s", bytes_per_second / 1e12);
  return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9);
}

std::string size(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

}  // namespace upsweep::command
