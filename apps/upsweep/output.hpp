// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/output.hpp: prints results on standard output, and progress on a terminal's standard error.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "upsweep/error.hpp"

namespace upsweep::command {

/// Throws Error invalid_argument.
template <class... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Error(Code::invalid_argument, fmt::format(text, std::forward<Arguments>(arguments)...));
}

/// Writes all of the text to standard output. Throws io::ClosedPipe, and Error disk_full or unwritable.
void print(std::string_view text);

/// Reserves standard output for print(). From now on, what a library of the user prints goes to standard error.
void keep_standard_output();

/// Opens an unusable file in the place of each closed standard stream. Otherwise the next file to be opened would get
/// its number, and messages would be written to that file.
void hold_standard_streams() noexcept;

/// From now on, Ctrl-C ends the process by end_interrupted(). SIGTERM and SIGHUP also remove temporary files before
/// they end the process. Signals that are ignored stay ignored. `json`: the error is also written to standard output,
/// as a JSON object, if nothing was printed there before.
void end_on_signals(bool json);

/// From now on, Ctrl-C removes temporary files and ends the process, but prints nothing.
void end_silently_on_interrupt() noexcept;

/// Adds this to the message of end_interrupted(): a literal without quotes.
void set_interrupt_hint(const char* hint) noexcept;

/// Ends the process with one line on standard error, and by SIGINT. Removes temporary files. Only calls functions that
/// a signal handler may call.
[[noreturn]] void end_interrupted() noexcept;

/// Ends the process by SIGINT, so that a shell sees status 130 and also ends its script.
[[noreturn]] void end_by_interrupt() noexcept;

/// Whether the file is a terminal. "-" is standard output.
[[nodiscard]] bool is_terminal(const std::string& path);

/// Writes one line to standard error, control characters escaped. If the message ends with a query and a caret under
/// it, also writes those lines. Ignores errors of the stream.
void complain(std::string_view message) noexcept;

/// Prints a line in addition to the result, if standard error is a terminal.
void remark(std::string_view message) noexcept;
/// Takes what opening a file determined, one line each. Each new line is printed on standard error, if that is a
/// terminal and `shown` is true. All lines are in the JSON of the command: see print_json().
void take_remarks(const std::vector<std::string>& lines, bool shown);
/// Returns all lines that take_remarks() has taken.
[[nodiscard]] const std::vector<std::string>& taken_remarks() noexcept;

/// Text from a file on one line. Characters that control a terminal are escaped.
std::string printable(std::string_view text);

/// Breaks a line between words where it would exceed `width` columns. The lines that follow are indented. Without a
/// `width`, lines fit a narrow terminal, and have at most 80 columns.
std::string wrapped(std::string text, std::size_t indent, std::size_t width = 0);

/// A line on standard error, rewritten as work continues. Prints nothing without a terminal, or under --quiet.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(std::string_view what);
  /// `total` is -1 if it is not known.
  void count(std::string_view what, std::int64_t done, std::int64_t total);

 private:
  [[nodiscard]] bool due();
  /// Replaces the line, by the beginning of the text that fits the terminal.
  static void show(const std::string& text);

  bool on_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

/// "6,001,215". Not for negative numbers.
std::string grouped(std::int64_t count);
/// "1 row", "6,001,215 rows".
std::string rows_text(std::int64_t count);
/// "12.3 ms", "870 ns", "1.25 s".
std::string duration(double seconds);
/// Bytes per second as "18.4 GB/s".
std::string rate(double bytes_per_second);
/// "35.8 MB".
std::string size(std::int64_t bytes);

/// Seconds since construction.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace upsweep::command
