// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/examples.hpp: the examples at the end of each command's help, and on its manual page.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace upsweep::command {

struct Example {
  std::string_view what;   ///< what it does: a phrase without a period
  std::string_view lines;  ///< for a shell, in the folder where `make tour` ran; at most 78 columns
};

/// The two examples of a command. They read only files of `make tour`, and what an example before them has written.
std::span<const Example> examples_of(std::string_view command);

/// The examples as they follow the options in the help.
std::string examples_text(std::string_view command);

}  // namespace upsweep::command
