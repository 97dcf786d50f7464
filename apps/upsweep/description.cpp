// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/description.cpp: reads the declared options, and determines what each of them takes.
#include "description.hpp"

#include <algorithm>
#include <string_view>

#include "commands.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/types.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The words of "add, mul, min".
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(", ", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return words;
}

/// The words that an option or an argument takes; empty if it takes something different.
std::vector<std::string> words_of(const CLI::App& command, std::string_view name) {
  std::vector<std::string> words;
  if (name == "--device") return {"auto", "cpu", "cuda"};
  if (name == "--overflow") return {"checked", "wrap"};
  if (name == "--nulls") return {"refuse", "skip"};
  if (name == "--format") return {command.get_name() == "query" ? "table" : "text", "csv", "json", "npy"};
  if (name == "SHELL") return {"bash", "zsh", "fish"};
  if (name == "--op") return split(command.get_name() == "segment" ? segment_names() : operator_names());
  if (name == "--by") return split(operator_names());
  if (name == "--dtype" || name == "--types") {
    for (int i = 0; i < kTypeCount; ++i) words.emplace_back(upsweep::name(static_cast<Type>(i)));
  } else if (name == "PROBLEM") {
    for (const ProblemInfo& problem : problems()) words.emplace_back(problem.name);
  } else if (name == "COMMAND") {
    const auto all = command.get_parent()->get_subcommands([](const CLI::App*) { return true; });
    for (const CLI::App* one : all) words.push_back(one->get_name());
  }
  return words;
}

bool takes_files(std::string_view name) {
  constexpr std::string_view kNames[] = {"IN",        "FILE",   "STARTS",    "STOPS",   "CONTENT", "--mpi",  "--output",
                                         "--offsets", "--mask", "--compare", "--input", "--with",  "--table"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

OptionText text_of(const CLI::App& command, const CLI::Option& option) {
  OptionText text{.help = option.get_description(), .required = option.get_required()};
  std::ranges::replace(text.help, '\n', ' ');  // it is wrapped for the help
  if (option.get_positional()) {
    text.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    if (option.get_expected_max() == 0) return text;
  }
  text.fewest = std::max(1, option.get_items_expected_min());
  text.most = std::max(1, option.get_items_expected_max());
  text.words = words_of(command, text.names.back());
  text.takes = !text.words.empty()                  ? Takes::words
               : takes_files(text.names.back())     ? Takes::files
               : text.names.back() == "--spill-dir" ? Takes::folder
                                                    : Takes::text;
  return text;
}

CommandText text_of(const CLI::App& command) {
  CommandText text{.name = command.get_name(), .help = command.get_description(), .options = {}, .arguments = {}};
  for (const CLI::Option* option : command.get_options()) {
    (option->get_positional() ? text.arguments : text.options).push_back(text_of(command, *option));
  }
  return text;
}

}  // namespace

std::vector<CommandText> describe(const CLI::App& app) {
  std::vector<CommandText> all{text_of(app)};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    all.push_back(text_of(*command));
  }
  return all;
}

}  // namespace upsweep::command
