// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/completion.cpp: scripts that complete command lines in bash, zsh and fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "description.hpp"
#include "output.hpp"

namespace upsweep::command {
namespace {

/// The text between single quotes. `quote` replaces a quote in it, and `backslash` a backslash.
std::string quoted(std::string_view text, std::string_view quote, std::string_view backslash) {
  std::string all = "'";
  for (const char c : text) all += c == '\'' ? quote : c == '\\' ? backslash : std::string_view(&c, 1);
  return all + "'";
}

std::string in_shell(std::string_view text) { return quoted(text, "'\\''", "\\"); }
std::string in_fish(std::string_view text) { return quoted(text, "\\'", "\\\\"); }

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// The words that a command takes without an option, or the names of the commands.
std::vector<std::string> words_of(const std::vector<CommandText>& all, const CommandText& command) {
  std::vector<std::string> words;
  if (&command == &all.front()) {
    for (std::size_t i = 1; i < all.size(); ++i) words.push_back(all[i].name);
  }
  for (const OptionText& argument : command.arguments) {
    words.insert(words.end(), argument.words.begin(), argument.words.end());
  }
  return words;
}

/// Whether words may be repeated: otherwise a command that already has one of them takes no more.
bool repeats(const CommandText& command) {
  return std::ranges::any_of(command.arguments, [](const OptionText& one) { return one.most > 1; });
}

bool takes_files(const CommandText& command) {
  for (const OptionText& argument : command.arguments) {
    if (argument.takes == Takes::files) return true;
  }
  return false;
}

// --------------------------------------------------------------------------------------------------------------- bash

constexpr std::string_view kBash = R"(# bash completion of upsweep, written by: upsweep completion bash
_upsweep() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command= word options words once=
  local -a after
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    [[ -n $command ]] && after+=("$word")
    [[ -n $command || $word == -* ]] || command=$word
  done
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  COMPREPLY=()
  case $command$previous in
{}  esac
  case $command in
{}  esac
  if [[ $current == -* ]]; then
    words=$options
  elif [[ -n $words ]]; then
    compopt +o bashdefault +o default
    for word in ${{once:+"${{after[@]}}"}}; do
      [[ " $words " != *" $word "* ]] || words=
    done
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _upsweep upsweep
)";

/// Commands that complete the value of an option. Without an answer, bash completes the names of files.
std::string bash_action(const OptionText& option) {
  const std::string no_files = "compopt +o bashdefault +o default; ";
  switch (option.takes) {
    case Takes::words:
      return no_files +
             fmt::format("COMPREPLY=($(compgen -W {} -- \"$current\")); return", in_shell(joined(option.words)));
    case Takes::folder:
      return no_files + "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$current\")); return";
    case Takes::text:
      return no_files + "return";
    default:
      return "return";
  }
}

std::string bash_script(const std::vector<CommandText>& all) {
  std::string values;
  std::string commands;
  for (const CommandText& command : all) {
    const std::string name = &command == &all.front() ? "" : command.name;
    std::vector<std::string> options;
    for (const OptionText& option : command.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.takes == Takes::nothing) continue;
      std::vector<std::string> patterns;
      patterns.reserve(option.names.size());
      for (const std::string& one : option.names) patterns.push_back(name + one);
      values += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), bash_action(option));
    }
    commands +=
        fmt::format("    {}) options={} words={} {};;\n", in_shell(name), in_shell(joined(options)),
                    in_shell(joined(words_of(all, command))), name.empty() || repeats(command) ? "" : "once=yes ");
  }
  return fmt::format(kBash, values, commands);
}

// ---------------------------------------------------------------------------------------------------------------- zsh

/// Text in the brackets of a specification.
std::string in_brackets(std::string_view text) {
  std::string all;
  for (const char c : text) all += (c == '[' || c == ']' || c == '\\' ? "\\" : "") + std::string(1, c);
  return all;
}

std::string zsh_action(const OptionText& option) {
  switch (option.takes) {
    case Takes::words:
      return "(" + joined(option.words) + ")";
    case Takes::files:
      return "_files";
    case Takes::folder:
      return "_files -/";
    default:
      return "";
  }
}

std::string zsh_arguments(const CommandText& command) {
  std::string text = "_arguments";
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) {
      const bool takes = option.takes != Takes::nothing;
      // An option and its short name exclude each other. A long option may also be followed by = and the value.
      std::string spec = option.names.size() > 1 ? fmt::format("({})", joined(option.names)) : "";
      spec += name + (takes && name.starts_with("--") ? "=" : "") + fmt::format("[{}]", in_brackets(option.help));
      if (takes) spec += fmt::format(": :{}", zsh_action(option));
      text += " \\\n        " + in_shell(spec);
    }
  }
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const OptionText& argument = command.arguments[i];
    const std::string place = argument.most > 1 ? "*" : std::to_string(i + 1);
    text += " \\\n        " + in_shell(fmt::format("{}:{}:{}", place, argument.names[0], zsh_action(argument)));
  }
  return text;
}

constexpr std::string_view kZsh = R"(#compdef upsweep
# zsh completion of upsweep, written by: upsweep completion zsh
_upsweep() {{
  local context state state_descr line
  typeset -A opt_args
  local -a commands
  commands=(
{}  )
  _arguments -C '(- *)-h[print the help]' '(- *)--help[print the help]' '(- *)-V[print the version]' \
    '(- *)--version[print the version]' '1: :->command' '*:: :->arguments'
  case $state in
    command) _describe -t commands command commands ;;
    arguments) case $words[1] in
{}    esac ;;
  esac
}}
if [[ $funcstack[1] == _upsweep ]]; then _upsweep "$@"; else compdef _upsweep upsweep; fi
)";

std::string zsh_script(const std::vector<CommandText>& all) {
  std::string names;
  std::string commands;
  for (std::size_t i = 1; i < all.size(); ++i) {
    names += "    " + in_shell(all[i].name + ":" + all[i].help) + "\n";
    commands += fmt::format("      {}) {} ;;\n", all[i].name, zsh_arguments(all[i]));
  }
  return fmt::format(kZsh, names, commands);
}

// --------------------------------------------------------------------------------------------------------------- fish

constexpr std::string_view kFish = R"(# fish completion of upsweep, written by: upsweep completion fish
function __upsweep_command -d 'whether the command line has this command'
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word
        or begin
            test $word = "$argv[1]"
            return
        end
    end
    test -z "$argv[1]"
end
function __upsweep_has -d 'whether one of these words follows the command'
    for word in (commandline -opc)[3..]
        if contains -- $word $argv
            return
        end
    end
    return 1
end
complete -c upsweep -f
)";

std::string fish_script(const std::vector<CommandText>& all) {
  std::string text(kFish);
  for (const CommandText& command : all) {
    const bool is_program = &command == &all.front();
    const std::string start =
        fmt::format("complete -c upsweep -n \"__upsweep_command '{}'\"", is_program ? "" : command.name);
    if (is_program) {
      for (std::size_t i = 1; i < all.size(); ++i) {
        text += fmt::format("{} -a {} -d {}\n", start, all[i].name, in_fish(all[i].help));
      }
    }
    for (const OptionText& option : command.options) {
      text += start;
      for (const std::string& name : option.names) {
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.takes == Takes::words) text += " -x -a " + in_fish(joined(option.words));
      if (option.takes == Takes::files) text += " -r -F";
      if (option.takes == Takes::folder) text += " -x -a '(__fish_complete_directories)'";
      if (option.takes == Takes::text) text += " -x";
      text += " -d " + in_fish(option.help) + "\n";
    }
    if (takes_files(command)) text += start + " -F\n";
    const std::vector<std::string> words = is_program ? std::vector<std::string>() : words_of(all, command);
    if (words.empty()) continue;
    const std::string list = joined(words);
    const std::string more = repeats(command) ? "" : fmt::format("; and not __upsweep_has {}", list);
    text +=
        fmt::format("complete -c upsweep -n \"__upsweep_command '{}'{}\" -a {}\n", command.name, more, in_fish(list));
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<CommandText> all = describe(app);
  if (shell == "bash") return bash_script(all);
  if (shell == "zsh") return zsh_script(all);
  if (shell == "fish") return fish_script(all);
  refuse("unknown shell '{}'; available: bash, zsh, fish", printable(shell));
}

}  // namespace upsweep::command
