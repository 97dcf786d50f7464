// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/manual.cpp: the manual page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "description.hpp"
#include "examples.hpp"

namespace upsweep::command {
namespace {

constexpr int kCommon = 5;  // an option of this number of commands is described once

/// Text of UTF-8 for roff. A line may begin with a period.
std::string roff(std::string_view text) {
  std::string all = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    if (length == 1) {
      all += text[i] == '\\' ? "\\e" : text[i] == '-' ? "\\-" : std::string(1, text[i]);
    } else {
      unsigned code = byte & (0x7FU >> length);
      for (const char c : text.substr(i + 1, length - 1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
      all += fmt::format("\\[u{:04X}]", code);
    }
    i += length;
  }
  return all;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

/// The placeholders of the values, with "..." if there may be more of them.
std::string values_of(const OptionText& option, std::string_view placeholder) {
  std::string text = italic(placeholder);
  for (int i = 1; i < option.fewest; ++i) text += " " + italic(placeholder);
  return option.most > option.fewest ? text + " ..." : text;
}

std::string values_of(const OptionText& option) {
  switch (option.takes) {
    case Takes::nothing:
      return "";
    case Takes::files:
      return values_of(option, "FILE");
    case Takes::folder:
      return values_of(option, "FOLDER");
    default:
      return values_of(option, "VALUE");
  }
}

bool contains(const std::vector<OptionText>& options, const OptionText& option) {
  return std::ranges::any_of(
      options, [&](const OptionText& one) { return one.names == option.names && one.help == option.help; });
}

/// The options that many commands have, and those of the program.
std::vector<OptionText> common_options(const std::vector<CommandText>& all) {
  std::vector<OptionText> common;
  for (const CommandText& command : all) {
    for (const OptionText& option : command.options) {
      const auto has = [&](const CommandText& other) { return contains(other.options, option); };
      if (!contains(common, option) && std::ranges::count_if(all, has) >= kCommon) common.push_back(option);
    }
  }
  for (const OptionText& option : all.front().options) {
    if (!contains(common, option)) common.push_back(option);
  }
  return common;
}

std::string options_text(const std::vector<OptionText>& options) {
  std::string text;
  for (const OptionText& option : options) {
    std::vector<std::string> names;
    names.reserve(option.names.size());
    for (const std::string& name : option.names) names.push_back(bold(name));
    const std::string value = values_of(option);
    text +=
        fmt::format(".TP\n{}{}{}\n{}\n", fmt::join(names, ", "), value.empty() ? "" : " ", value, roff(option.help));
  }
  return text;
}

std::string arguments_text(const std::vector<OptionText>& arguments) {
  std::string text;
  for (const OptionText& argument : arguments) {
    text += fmt::format(".TP\n{}\n{}\n", values_of(argument, argument.names[0]), roff(argument.help));
  }
  return text;
}

std::string command_text(const CommandText& command, const std::vector<OptionText>& common) {
  std::string text = fmt::format(".SS {}", bold("upsweep " + command.name));
  for (const OptionText& argument : command.arguments) {
    text += fmt::format("{}{}{}", argument.required ? " " : " [", values_of(argument, argument.names[0]),
                        argument.required ? "" : "]");
  }
  text += fmt::format("\n{}.\n{}", roff(command.help), arguments_text(command.arguments));
  std::vector<OptionText> own;
  for (const OptionText& option : command.options) {
    if (!contains(common, option)) own.push_back(option);
  }
  text += options_text(own) + ".PP\nExamples:\n";
  for (const Example& example : examples_of(command.name)) {
    text += fmt::format(".PP\n.RS 4\n.nf\n# {}\n", roff(example.what));
    for (std::size_t begin = 0; begin < example.lines.size();) {
      const std::size_t end = std::min(example.lines.find('\n', begin), example.lines.size());
      text += roff(example.lines.substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
    text += ".fi\n.RE\n";
  }
  return text;
}

constexpr std::string_view kStatuses = R"(.SH EXIT STATUS
.TP
.B 0
The command succeeded.
.TP
.B 1
The content is invalid, such as a malformed file or an overflow. ladder and bench also return it if a rung is wrong.
.TP
.B 2
The request is invalid, such as an unknown option or column. It is also returned if this build does not have the
requested feature, such as CUDA.
.TP
.B 3
The system refused an operation, such as a missing file or a full disk.
.TP
.B 4
The GPU that \-\-device cuda, or a rung on a GPU, needs is absent, has too little memory, or failed.
.TP
.B 129\fR, \fB130\fR, \fB143
SIGHUP, Ctrl\-C (SIGINT) or SIGTERM ended the command.
.TP
.B 141
The reader of standard output has ended. Nothing is reported.
)";

}  // namespace

std::string manual_page(const CLI::App& app) {
  const std::vector<CommandText> all = describe(app);
  const std::vector<OptionText> common = common_options(all);
  std::string text = fmt::format(
      ".\\\" written by: upsweep man\n"
      ".TH UPSWEEP 1 \"\" \"upsweep {}\" \"User Commands\"\n"
      ".SH NAME\nupsweep \\- scans, reductions, ragged arrays, SQL and subset sums\n"
      ".SH SYNOPSIS\n{} {} [{}]\n"
      ".SH DESCRIPTION\n{}\n.PP\nThe examples read files that {} leaves in build/tour.\n",
      UPSWEEP_VERSION, bold("upsweep"), italic("COMMAND"), italic("OPTIONS"), roff(all.front().help),
      bold("make tour"));
  text += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < all.size(); ++i) text += command_text(all[i], common);
  return text + ".SH COMMON OPTIONS\n" + options_text(common) + std::string(kStatuses);
}

}  // namespace upsweep::command
