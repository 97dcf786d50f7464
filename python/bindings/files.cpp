// SPDX-License-Identifier: Apache-2.0
// bindings/files.cpp: the module upsweep._files: files as tables for upsweep._queries, which defines the table class.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arrow_c_data.hpp"
#include "bindings.hpp"
#include "io/joined_fields.hpp"
#include "io/schema.hpp"
#include "io/table.hpp"
#include "io/whole_table.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

constexpr const char* kStreamCapsule = "arrow_array_stream";  // the name in Arrow's PyCapsule interface

/// Converts a path, given as the bytes of the file system: these need not be UTF-8.
std::string path_of(const nb::bytes& given) { return {given.c_str(), given.size()}; }

std::vector<std::string> paths_of(const std::vector<nb::bytes>& given) {
  std::vector<std::string> paths;
  paths.reserve(given.size());
  for (const nb::bytes& path : given) paths.push_back(path_of(path));
  return paths;
}

using Words = std::vector<std::pair<std::string, std::string>>;

/// Sets options from their names and values.
io::CsvOptions options_of(const Words& words) {
  io::CsvOptions options;
  for (const auto& [name, value] : words) options.set(name, value);
  return options;
}

/// Opens the table of all files that match the paths. `first_bytes` is as in CsvOptions.
std::shared_ptr<Table> open(const std::vector<nb::bytes>& given, int threads, const Words& csv,
                            std::int64_t first_bytes = 0) {
  io::CsvOptions options = options_of(csv);
  options.first_bytes = first_bytes;
  const std::vector<std::string> paths = paths_of(given);
  const nb::gil_scoped_release released;
  return io::open_tables(paths, options, threads);
}

/// Reads the rows of all files that match the paths, as a capsule of an Arrow stream.
nb::capsule read_files(const std::vector<nb::bytes>& given, int threads, const Words& csv) {
  SignalWatch watch;
  const std::shared_ptr<Table> table = open(given, threads, csv);
  auto stream = std::make_unique<ArrowArrayStream>();
  {
    const nb::gil_scoped_release released;
    io::read_whole(
        *table, threads,
        [&] {
          if (!watch.goes_on()) throw Error(Code::interrupted, "interrupted");
        },
        stream.get());
  }
  return nb::capsule(stream.release(), kStreamCapsule, [](void* pointer) noexcept {
    const Held<ArrowArrayStream> given_back(*static_cast<ArrowArrayStream*>(pointer));
    delete static_cast<ArrowArrayStream*>(pointer);
  });
}

/// Returns the first bytes that a query with LIMIT reads of files.
std::int64_t first_bytes(const std::vector<nb::bytes>& paths, std::optional<std::int64_t> row_limit) {
  return io::first_bytes(paths_of(paths), row_limit);
}

/// Returns a number, or None for one that is not known.
nb::object known(std::int64_t number) {
  if (number < 0) return nb::none();
  return nb::int_(number);
}

/// Describes the table of all files that match the paths.
nb::dict describe_files(const std::vector<nb::bytes>& given, int threads, const Words& csv) {
  const std::vector<std::string> paths = paths_of(given);
  const io::CsvOptions options = options_of(csv);
  io::Schema found;
  {
    const nb::gil_scoped_release released;
    found = io::schema_of(paths, options, threads);
  }
  nb::list columns;
  for (const io::ColumnSchema& column : found.columns) {
    nb::dict one;
    one["name"] = column.name;
    one["type"] = column.type;
    one["nulls"] = known(column.nulls);
    one["bytes"] = known(column.bytes);
    columns.append(one);
  }
  nb::list files;
  for (const std::string& file : found.files) files.append(nb::bytes(file.data(), file.size()));
  nb::dict all;
  all["files"] = files;
  all["formats"] = found.formats;
  all["bytes"] = found.bytes;
  all["rows"] = known(found.rows);
  all["row_groups"] = found.row_groups;
  all["columns"] = columns;
  all["remarks"] = found.remarks;
  return all;
}

/// Returns the files that match a path.
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

/// Returns how the numbers of a file's columns are written, as bytes for another process.
nb::bytes written_numbers(const Table& table) {
  const std::string packed = io::packed(io::written_numbers(table));
  return nb::bytes(packed.data(), packed.size());
}

/// Joins the columns of several files, without rows. Also returns, for each file, the joined column of each of its
/// columns. `tables` are the files' columns, and `written` is written_numbers() of each file.
std::pair<std::shared_ptr<Table>, std::vector<std::vector<int>>> join(const std::vector<nb::bytes>& paths,
                                                                      const std::vector<std::shared_ptr<Table>>& tables,
                                                                      const std::vector<nb::bytes>& written) {
  io::JoinedFields joined;
  std::vector<std::vector<int>> places;
  places.reserve(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::string_view packed(written[i].c_str(), written[i].size());
    places.push_back(joined.add(path_of(paths[i]), tables[i]->fields(), io::take_written_numbers(packed)));
  }
  return {io::join({}, joined.fields()), places};
}

/// Opens the rows of one of these files, in the joined columns `all`.
std::shared_ptr<Table> open_joined(const nb::bytes& given, const std::shared_ptr<Table>& table,
                                   const std::shared_ptr<Table>& all, const std::vector<int>& places) {
  return io::join({{path_of(given), table, places}}, all->fields());
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_files, module) {
  using namespace upsweep::python;
  module.doc() = "Functions with which upsweep.query reads files. Private: its names may change with any version.";
  define_errors(module);
  module.def("open", &open, nb::arg("paths"), nb::arg("threads"), nb::arg("csv"), nb::arg("first_bytes") = 0);
  module.def("is_partial", &upsweep::io::is_partial, nb::arg("table"));
  module.def("first_bytes", &first_bytes, nb::arg("paths"), nb::arg("row_limit"));
  module.def("more_bytes", &upsweep::io::more_bytes, nb::arg("first_bytes"));
  module.def("written_numbers", &written_numbers, nb::arg("table"));
  module.def("join", &join, nb::arg("paths"), nb::arg("tables"), nb::arg("written"));
  module.def("open_joined", &open_joined, nb::arg("path"), nb::arg("table"), nb::arg("all"), nb::arg("places"));
  module.def("read", &read_files, nb::arg("paths"), nb::arg("threads"), nb::arg("csv"));
  module.def("schema", &describe_files, nb::arg("paths"), nb::arg("threads"), nb::arg("csv"));
  module.def("matching", &matching, nb::arg("path"));
  module.def("option_names", &upsweep::io::CsvOptions::names);
}
