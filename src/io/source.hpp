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

/// Splits "FILE:COLUMN". FILE "-" or "/dev/stdin" is standard input, and "-" in the result. A file whose name contains
/// ':' takes precedence. Otherwise the column begins after the first ':' that follows the name of a file. Throws
/// upsweep::Error not_found and unreadable if there is none.
Source split_source(const std::string& source);

/// Returns the path in a source; the whole source if there is no such file.
std::string file_of(std::string_view source);

/// Whether a path ends in a lower-case suffix, without regard to the case of its letters.
[[nodiscard]] bool ends_in(std::string_view path, std::string_view suffix);

/// Returns a path without an ending of compressed files: .gz, .zst or .bz2.
[[nodiscard]] std::string_view without_compression(std::string_view path);

/// An open file. Pipes and devices have unknown format: nothing is read from them to determine it.
struct Opened {
  Descriptor file;
  bool regular = false;
  Format format = Format::unknown;
  FilePath path;
};

/// Throws upsweep::Error: not_found, unreadable, is_directory.
Opened open_file(FilePath path);

/// Whether a file that can be read only once begins as .npy does. Returns false for a file whose next byte cannot be
/// read without consuming it, such as a terminal.
[[nodiscard]] bool begins_as_npy(const Descriptor& file);

/// Whether the path is an existing file that is not a folder, a pipe or a device.
[[nodiscard]] bool is_regular(const std::string& path);

/// Opens standard input, which is read front to back.
Opened open_standard_input();

inline constexpr std::string_view kStandardInput = "standard input";  ///< in messages
inline constexpr std::string_view kStandardInputPath = "/dev/stdin";  ///< the same as "-"

}  // namespace upsweep::io
