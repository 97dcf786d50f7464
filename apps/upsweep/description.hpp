// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/description.hpp: the commands and their options as data, for completion and the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace upsweep::command {

/// The kind of value of an option, or of an argument without an option.
enum class Takes : std::uint8_t { nothing, words, files, folder, text };

struct OptionText {
  std::vector<std::string> names;  ///< "-o", "--output"; for an argument only its name
  std::string help;                ///< on one line
  Takes takes = Takes::nothing;
  std::vector<std::string> words;  ///< if it takes one of these
  bool required = false;           ///< of an argument
  int fewest = 1;                  ///< values that it takes at once, if it takes any
  int most = 1;
};

struct CommandText {
  std::string name;
  std::string help;
  std::vector<OptionText> options;
  std::vector<OptionText> arguments;
};

/// The program itself, with its own options, and then its commands.
std::vector<CommandText> describe(const CLI::App& app);

/// A script that completes command lines. Throws Error invalid_argument for a shell other than bash, zsh and fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

/// The manual page, in the man macros of roff.
std::string manual_page(const CLI::App& app);

}  // namespace upsweep::command
