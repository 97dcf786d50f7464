// SPDX-License-Identifier: Apache-2.0
// io/npy_array.cpp: reads all elements at once, and converts them if they are not stored as they are computed with.
#include "io/npy_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "io/npy.hpp"
#include "io/npy_writer.hpp"
#include "io/output_file.hpp"
#include "io/source.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

Opened open_npy_file(const std::string& path) {
  if (path == "-") return open_standard_input();
  Opened opened = open_file(path);
  if (opened.regular && opened.format != Format::npy) {
    throw Error(Code::unsupported_type, fmt::format("{}: is not a .npy file; only .npy files have axes", path));
  }
  return opened;
}

void read_elements(const Opened& opened, const NpyLayout& layout, const std::string& name, std::byte* to) {
  const std::int64_t bytes = layout.count * layout.elements.width;
  const std::int64_t missing = bytes - read_fully(opened.file.get(), to, bytes, name);
  if (missing > 0) {
    throw_bad_npy(name, fmt::format("is truncated: {} of {} elements are missing",
                                    (missing + layout.elements.width - 1) / layout.elements.width, layout.count));
  }
  char more = 0;
  if (read_fully(opened.file.get(), &more, 1, name) > 0) {
    throw_bad_npy(name, fmt::format("has more bytes after its {} elements", layout.count));
  }
}

// The size of a regular file is checked before memory is allocated, because its header may claim any number.
void check_size(const Opened& opened, const NpyLayout& layout, const std::string& name) {
  if (!opened.regular) return;
  const std::int64_t bytes = file_state(opened.file, name).size - layout.data;
  if (bytes / layout.elements.width < layout.count) {
    throw_bad_npy(name, fmt::format("is truncated: {} of {} elements are missing",
                                    layout.count - bytes / layout.elements.width, layout.count));
  }
}

}  // namespace

NpyArray read_npy_array(const std::string& path) {
  const std::string name = path == "-" ? std::string(kStandardInput) : path;
  const Opened opened = open_npy_file(path);
  const NpyLayout layout = read_npy_layout(opened.file, name);
  check_size(opened, layout, name);
  NpyArray array{.info = {.count = layout.count, .name = name}, .shape = layout.shape, .is_fortran = layout.is_fortran};
  const NpyElements& elements = layout.elements;
  const Field field{.name = "array", .kind = elements.kind, .storage = elements.storage, .scale = elements.scale};
  set_elements(array.info, field, Booleans::bytes);
  AlignedBuffer stored;
  stored.reserve(std::max<std::int64_t>(layout.count, 1), elements.width, name);
  read_elements(opened, layout, name, stored.data());
  array.elements->reserve(std::max<std::int64_t>(layout.count, 1), size_of(array.info.type), name);
  if (elements.kind == ValueKind::boolean) {
    std::transform(stored.data(), stored.data() + layout.count, array.elements->data(),
                   [](std::byte value) { return value == std::byte{0} ? value : std::byte{1}; });
    return array;
  }
  const auto validity = convert_npy(elements, stored.data(), layout.count, array.elements->data(), 0, name);
  for (std::int64_t i = 0; i < layout.count && !validity.empty(); ++i) {
    if ((validity[static_cast<std::size_t>(i / 8)] >> (i % 8) & 1) != 0) continue;
    throw Error(Code::null_value,
                fmt::format("{}: element {} is NaT, which is not left out along an axis; fill it first", name, i), i);
  }
  return array;
}

void write_npy_array(const std::string& path, const std::string& descr, const std::vector<std::int64_t>& shape,
                     bool is_fortran, const void* elements, std::int64_t bytes) {
  OutputFile file(path, Writing::in_order);
  const std::string header = npy_header(descr, shape, is_fortran);
  file.write(header.data(), std::ssize(header));
  file.write(elements, bytes);
  file.complete();
  file.close();
}

}  // namespace upsweep::io
