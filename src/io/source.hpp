// SPDX-License-Identifier: Apache-2.0
// io/source.hpp: which file and column a source such as "FILE:COLUMN" means, and which format the file has.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/format.hpp"
#include "io/posix.hpp"

namespace upsweep::io {

struct Source {
  std::string path;
  std::optional<std::string> column;
};

/// A file whose own name holds ':' wins over FILE:COLUMN; else the column begins after the first ':' that has a file before
/// it. Throws upsweep::Error not_found and unreadable where there is none.
Source split_source(const std::string& source);

/// The path in a source; all of it where there is no such file.
std::string file_of(std::string_view source);

/// Whether a path ends in such a suffix, of small letters, in letters of any case.
[[nodiscard]] bool ends_in(std::string_view path, std::string_view suffix);

/// A file that is there. Pipes and devices are of unknown format: nothing is read from them to find out.
struct Opened {
  Descriptor file;
  bool regular = false;
  Format format = Format::unknown;
};

/// Throws upsweep::Error: not_found, unreadable, is_directory.
Opened open_file(const std::string& path);

/// Whether it is there, and neither a folder nor a pipe nor a device.
[[nodiscard]] bool is_regular(const std::string& path);

/// Standard input, as what is read front to back.
Opened open_standard_input();

inline constexpr std::string_view kStandardInput = "standard input";  ///< what messages call it

}  // namespace upsweep::io
