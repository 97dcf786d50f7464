// SPDX-License-Identifier: Apache-2.0
// bindings/files.cpp: the module upsweep._files: files as tables, for upsweep._queries, which has defined what a table is.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "io/joined_fields.hpp"
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

/// The columns of several files, without rows, and which of these each column of each file is. `tables` have the files' columns.
std::pair<std::shared_ptr<Table>, std::vector<std::vector<int>>> join(
    const std::vector<nb::bytes>& paths, const std::vector<std::shared_ptr<Table>>& tables) {
  io::JoinedFields joined;
  std::vector<std::vector<int>> places;
  places.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    places.push_back(joined.add(path_of(paths[i]), tables[i]->fields()));
  }
  return {io::join({}, joined.fields()), places};
}

/// The rows of one of these files in the columns of all.
std::shared_ptr<Table> open_joined(const nb::bytes& given, const std::shared_ptr<Table>& table,
                                   const std::shared_ptr<Table>& all, const std::vector<int>& places) {
  return io::join({{path_of(given), table, places}}, all->fields());
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_files, module) {
  using namespace upsweep::python;
  module.doc() = "What upsweep.query reads files with. Private: its names may change with any version.";
  define_errors(module);
  module.def("open", &open, nb::arg("paths"), nb::arg("threads"));
  module.def("join", &join, nb::arg("paths"), nb::arg("tables"));
  module.def("open_joined", &open_joined, nb::arg("path"), nb::arg("table"), nb::arg("all"), nb::arg("places"));
  module.def("matching", &matching, nb::arg("path"));
}
