// SPDX-License-Identifier: Apache-2.0
// bindings/query.cpp: the module upsweep._queries: SQL over tables in the memory of other libraries, and its answers.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "answer_stream.hpp"
#include "arrays.hpp"
#include "arrow_c_data.hpp"
#include "arrow_stream_table.hpp"
#include "bindings.hpp"
#include "io/no_rows.hpp"
#include "place.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"
#include "upsweep/interval.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/query.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

constexpr const char* kStreamCapsule = "arrow_array_stream";  // the name in Arrow's PyCapsule interface

/// Converts the result of __arrow_c_stream__() to a table. `types` contains tuples (name, has_own_order), see OwnType.
std::shared_ptr<Table> table_of_capsule(nb::handle capsule, bool one_pass, std::string name, const nb::list& types) {
  if (PyCapsule_IsValid(capsule.ptr(), kStreamCapsule) == 0) {
    const std::string text = name + ": its __arrow_c_stream__() does not return an Arrow stream, but " +
                             nb::type_name(capsule.type()).c_str();
    throw nb::type_error(text.c_str());
  }
  auto& stream = *static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), kStreamCapsule));
  if (stream.release == nullptr) throw nb::value_error("the stream has been read already");
  std::vector<OwnType> own_types;
  for (const nb::handle each : types) {
    own_types.push_back({.name = nb::cast<std::string>(each[0]), .has_own_order = nb::cast<bool>(each[1])});
  }
  const nb::gil_scoped_release released;
  return table_of_stream(stream, one_pass ? StreamKind::one_pass : StreamKind::in_memory, std::move(name), own_types);
}

/// Converts tuples (name, format, unsupported, values, validity) to a table. Values and validity are arrays; validity
/// consists of bytes, or is None.
std::shared_ptr<Table> table_of_tuples(const nb::list& tuples, std::int64_t rows) {
  std::vector<ArrayColumn> columns;
  for (const nb::handle each : tuples) {
    ArrayColumn column{.name = nb::cast<std::string>(each[0]),
                       .format = nb::cast<std::string>(each[1]),
                       .unsupported = nb::cast<std::string>(each[2])};
    const auto bytes_of = [](nb::handle array) {
      return array.is_none() ? nullptr : elements_of(array, "column").data;
    };
    column.values = bytes_of(each[3]);
    column.validity = static_cast<const std::uint8_t*>(bytes_of(each[4]));
    columns.push_back(std::move(column));
  }
  return table_of_arrays(columns, rows);
}

/// Returns a table's columns as tuples (name, kind, storage, scale, unsupported, has_own_order, is_untyped,
/// is_all_null, elements, zone), which can be sent to another process. `elements`: of lists the kind and storage,
/// otherwise an empty tuple.
nb::tuple fields(const Table& table) {
  nb::list all;
  for (const Field& field : table.fields()) {
    nb::tuple elements;
    if (field.element) {
      elements = nb::make_tuple(static_cast<int>(field.element->kind), static_cast<int>(field.element->storage));
    }
    all.append(nb::make_tuple(field.name, static_cast<int>(field.kind), static_cast<int>(field.storage), field.scale,
                              field.unsupported, field.has_own_order, field.is_untyped, field.is_all_null, elements,
                              field.zone));
  }
  return nb::tuple(all);
}

std::shared_ptr<Table> table_of_fields(const nb::tuple& tuples) {
  std::vector<Field> all;
  for (const nb::handle each : tuples) {
    all.push_back({.name = nb::cast<std::string>(each[0]),
                   .kind = static_cast<ValueKind>(nb::cast<int>(each[1])),
                   .storage = static_cast<Storage>(nb::cast<int>(each[2])),
                   .scale = nb::cast<int>(each[3]),
                   .zone = nb::cast<std::string>(each[9]),
                   .unsupported = nb::cast<std::string>(each[4]),
                   .is_untyped = nb::cast<bool>(each[6]),
                   .is_all_null = nb::cast<bool>(each[7]),
                   .has_own_order = nb::cast<bool>(each[5])});
    const auto elements = nb::cast<nb::tuple>(each[8]);
    if (nb::len(elements) == 0) continue;
    all.back().element =
        std::make_shared<const Field>(Field{.name = all.back().name,
                                            .kind = static_cast<ValueKind>(nb::cast<int>(elements[0])),
                                            .storage = static_cast<Storage>(nb::cast<int>(elements[1]))});
  }
  return std::make_shared<io::NoRows>(std::move(all));
}

constexpr std::int64_t kManyElements = std::numeric_limits<std::int64_t>::max();  // the table's size is not needed

/// Ends a query once a signal handler has raised an exception. Must be created in the thread that Python has called.
QueryProgress until_signalled() {
  return [watch = SignalWatch()](std::int64_t /*rows*/) mutable {
    if (!watch.goes_on()) throw Error(Code::interrupted, "interrupted");
  };
}

std::shared_ptr<Answer> run(const Query& query, const Table& table, const CallPlace& place, std::int64_t memory_bytes,
                            const nb::bytes& spill_folder) {
  const QueryMemory memory{.bytes = memory_bytes,
                           .spill_folder = {spill_folder.c_str(), spill_folder.size()},
                           .bytes_word = "memory=",
                           .spill_folder_word = "spill_dir="};
  return place.run(kManyElements, [&](const auto& policy) {
    return std::make_shared<Answer>(query.run(policy, table, until_signalled(), memory));
  });
}

nb::bytes bytes_of(const std::string& carry) { return nb::bytes(carry.data(), carry.size()); }

/// Folds a table to the query's carry, which can be merged with other carries and converted to an answer.
nb::bytes fold(const Query& query, const Table& table, const CallPlace& place) {
  return bytes_of(place.run(kManyElements,
                            [&](const auto& policy) { return query.fold(policy, table, until_signalled()).bytes(); }));
}

/// Merges one or several carries, in the order of their rows.
QueryCarry merged(const Query& query, const std::vector<nb::bytes>& carries) {
  if (carries.empty()) throw nb::value_error("carries: at least one is needed");
  const auto view = [](const nb::bytes& carry) { return std::string_view(carry.c_str(), carry.size()); };
  std::vector<std::string_view> all;
  all.reserve(carries.size());
  for (const nb::bytes& carry : carries) all.push_back(view(carry));
  const nb::gil_scoped_release released;
  QueryCarry first = query.carry(all[0]);
  for (std::size_t i = 1; i < all.size(); ++i) first.merge(all[i]);
  return first;
}

nb::bytes merge(const Query& query, const std::vector<nb::bytes>& carries) {
  return bytes_of(merged(query, carries).bytes());
}

std::shared_ptr<Answer> answer(const Query& query, const std::vector<nb::bytes>& carries) {
  const QueryCarry all = merged(query, carries);
  const nb::gil_scoped_release released;
  return std::make_shared<Answer>(query.answer(all));
}

nb::capsule stream_capsule(const Answer& answer) {
  auto stream = std::make_unique<ArrowArrayStream>(stream_of(answer));
  return nb::capsule(stream.release(), kStreamCapsule, [](void* pointer) noexcept {
    const Held<ArrowArrayStream> given_back(*static_cast<ArrowArrayStream*>(pointer));
    delete static_cast<ArrowArrayStream*>(pointer);
  });
}

nb::object integer(const Field& column, const Cell& cell) {
  if (cell.exact >= std::numeric_limits<std::int64_t>::min() &&
      cell.exact <= std::numeric_limits<std::int64_t>::max()) {
    return nb::int_(static_cast<std::int64_t>(cell.exact));
  }
  return nb::steal(PyLong_FromString(text(column, cell).c_str(), nullptr, 10));
}

/// Returns a cell: integers, days since 1970-01-01 and seconds · 10^scale as integers, decimals as text, intervals as
/// tuples.
nb::object value(const Field& column, const Cell& cell) {
  if (cell.null) return nb::none();
  switch (column.kind) {
    case ValueKind::integer:
    case ValueKind::date:
    case ValueKind::timestamp:
    case ValueKind::time:
    case ValueKind::duration:
      return integer(column, cell);
    case ValueKind::interval: {
      const Interval interval = interval_of(cell.exact);
      return nb::make_tuple(interval.months, interval.days, interval.nanoseconds);
    }
    case ValueKind::real:
      return nb::float_(cell.real);
    case ValueKind::boolean:
      return nb::bool_(cell.exact != 0);
    case ValueKind::decimal:
    case ValueKind::text: {
      const std::string word = text(column, cell);
      return nb::str(word.data(), word.size());
    }
  }
  detail::no_such_value();
}

nb::list values(const Answer& answer, std::size_t column) {
  nb::list all;
  const Field& field = answer.columns.at(column);
  for (const auto& row : answer.rows) all.append(value(field, row[column]));
  return all;
}

/// Returns the first rows as displayed text.
std::vector<std::vector<std::string>> texts(const Answer& answer, std::size_t rows) {
  std::vector<std::vector<std::string>> all;
  for (std::size_t row = 0; row < std::min(rows, answer.rows.size()); ++row) {
    auto& line = all.emplace_back();
    for (std::size_t i = 0; i < answer.columns.size(); ++i)
      line.push_back(text(answer.columns[i], answer.rows[row][i]));
  }
  return all;
}

nb::list columns(const Answer& answer) {
  nb::list all;
  for (const Field& column : answer.columns) {
    const std::string_view kind = name(column.kind);
    all.append(nb::make_tuple(column.name, nb::str(kind.data(), kind.size()), column.scale, column.zone));
  }
  return all;
}

void define_queries(nb::module_& module) {
  module.def("parse_bytes", &parse_bytes, nb::arg("text"));
  nb::class_<Table>(module, "Table", "The input of a query.")
      .def_static("of_stream", &table_of_capsule, nb::arg("capsule").none(), nb::arg("one_pass"), nb::arg("name"),
                  nb::arg("types"))
      .def_static("of_arrays", &table_of_tuples, nb::arg("columns"), nb::arg("rows"), nb::keep_alive<0, 1>())
      .def_static("of_fields", &table_of_fields, nb::arg("fields"))
      .def_prop_ro("fields", &fields)
      .def_prop_ro("remarks", &Table::remarks)
      .def_prop_ro("rows", [](const Table& table) { return table.rows(); });
  nb::class_<Statement>(module, "Statement", "The text of a query, parsed.")
      .def(nb::init<std::string>(), nb::arg("sql"))
      .def_prop_ro("path", &Statement::path)
      .def_prop_ro("table", &Statement::table)
      .def("may_name", &Statement::may_name, nb::arg("column"))
      .def_prop_ro("selects_rows", &Statement::selects_rows)
      .def_prop_ro("row_limit", &Statement::row_limit)
      .def("table_among", &Statement::table_among, nb::arg("names"))
      .def("refuse_table", &Statement::refuse_table, nb::arg("why"));
  nb::class_<Query>(module, "Query", "A query, typed for a table.")
      .def(nb::init<const Statement&, const Table&>(), nb::arg("statement"), nb::arg("table"))
      .def("run", &run, nb::arg("table"), nb::arg("place"), nb::arg("memory"), nb::arg("spill_folder"))
      .def("fold", &fold, nb::arg("table"), nb::arg("place"))
      .def("merge", &merge, nb::arg("carries"))
      .def("answer", &answer, nb::arg("carries"));
  nb::class_<Answer>(module, "Answer", "The result of a query.")
      .def_prop_ro("columns", &columns)
      .def_prop_ro("rows", [](const Answer& answer) { return answer.rows.size(); })
      .def_prop_ro("rung", [](const Answer& answer) { return std::string(answer.rung); })
      .def_prop_ro("seconds", [](const Answer& answer) { return answer.seconds; })
      .def_prop_ro("bytes_spilled", [](const Answer& answer) { return answer.bytes_spilled; })
      .def("values", &values, nb::arg("column"))
      .def("texts", &texts, nb::arg("rows"))
      .def("stream", &stream_capsule);
}

}  // namespace
}  // namespace upsweep::python

NB_MODULE(_queries, module) {
  using namespace upsweep::python;
  module.doc() = "Functions that upsweep.query calls. Private: its names may change with any version.";
  import_numpy();
  define_errors(module);
  define_queries(module);
}
