// SPDX-License-Identifier: Apache-2.0
// bindings/files.cpp: the module upsweep._files: files as tables, for upsweep._queries, which has defined what a table is.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

/// Paths are bytes, as the file system has them: they need not be UTF-8.
std::string path_of(const nb::bytes& given) { return {given.c_str(), given.size()}; }

/// The table of all files that the paths stand for.
std::shared_ptr<Table> open(const std::vector<nb::bytes>& given, int threads) {
  std::vector<std::string> paths;
  paths.reserve(given.size());
  for (const nb::bytes& path : given) paths.push_back(path_of(path));
  const nb::gil_scoped_release released;
  return io::open_tables(paths, io::CsvCells::typed, threads);
}

/// The files that a path stands for.
std::vector<nb::bytes> matching(const nb::bytes& given) {
  const std::string path = path_of(given);
  std::vector<std::string> found;
  {
    const nb::gil_scoped_release released;
    found = io::matching_files(path);
  }
  std::vector<nb::bytes> files;
  files.reserve(found.size());
  for (const std::string& file : found) files.emplace_back(file.data(), file.size());
  return files;
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_files, module) {
  using namespace upsweep::python;
  module.doc() = "What upsweep.query reads files with. Private: its names may change with any version.";
  define_errors(module);
  module.def("open", &open, nb::arg("paths"), nb::arg("threads"));
  module.def("matching", &matching, nb::arg("path"));
}
