// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/pack.cpp: `upsweep pack`: copies lists from anywhere in their contents, one after the other.
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

namespace upsweep::command {
namespace {

using Infos = std::vector<io::ColumnInfo>;

Moved pack_columns(const Common& common, std::vector<io::ListReader*> readers, const Infos& infos, ListCalls& calls,
                   io::ResultWriter* writer) {
  ListColumns columns(std::move(readers));
  std::deque<Packed> packed;
  Progress progress(common.quiet);
  Moved moved{.count = 0, .lists = 0};
  const auto pack = [&](const std::vector<io::ListBatch>& batches) {
    pack_all(calls, batches, infos, packed);
    std::vector<io::ResultArray> results;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      results.push_back(packed[i].result());
      results.back().valid_lists = batches[i].lists.valid;
    }
    if (writer != nullptr) writer->write_lists(packed[0].offsets(), results);
    moved.count += packed[0].count();
    *moved.lists += batches[0].lists.count;
  };
  while (columns.next()) {
    pack(columns.batches());
    progress.count("lists", *moved.lists, infos[0].count);
  }
  // Columns without lists still run their rung, so that an unsuitable rung is refused.
  if (moved.lists == 0) pack(std::vector<io::ListBatch>(infos.size()));
  return moved;
}

/// Packs lists given by starts, stops and contents.
Moved pack_bounds(const std::vector<LoadedColumn>& columns, ListCalls& calls, io::ResultWriter* writer) {
  const LoadedColumn& starts = columns[0];
  const LoadedColumn& stops = columns[1];
  std::vector<Elements> contents;
  for (std::size_t i = 2; i < columns.size(); ++i) contents.push_back(columns[i].elements());
  const Lists lists = dynamic::lists_of_bounds(starts.elements().array, stops.elements().array);
  Packed packed;
  try {
    packed.pack(calls, lists, contents, fmt::format("{}, {}", starts.info().name, stops.info().name));
  } catch (const Error& error) {
    rethrow_for_lists(error, fmt::format("{}, {}", starts.info().name, stops.info().name), 0);
  }
  std::vector<io::ResultArray> results(contents.size());
  for (std::size_t i = 0; i < contents.size(); ++i) results[i] = packed.result(i);
  if (writer != nullptr) writer->write_lists(packed.offsets(), results);
  return {.count = packed.count(), .lists = lists.count};
}

/// Loads starts, stops and contents into memory.
std::vector<LoadedColumn> load(std::span<io::OpenedColumn> opened) {
  require_list_bounds(opened[0].info(), opened[1].info());
  std::vector<LoadedColumn> columns = load_all(opened, [](std::size_t i) { return i < 2; });
  const auto length = [](const LoadedColumn& column) { return column.elements().array.length; };
  if (length(columns[0]) != length(columns[1])) {
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: they must be equal", columns[0].info().name,
                            length(columns[0]), columns[1].info().name, length(columns[1])));
  }
  for (std::size_t i = 3; i < columns.size(); ++i) {
    if (length(columns[i]) == length(columns[2])) continue;
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: contents must have the same length", columns[2].info().name,
                            length(columns[2]), columns[i].info().name, length(columns[i])));
  }
  return columns;
}

}  // namespace

int run_pack(const Common& common, const PackOptions& asked) {
  PackOptions options = asked;
  const io::ResultFormat format = settle_output(common, options);
  ListCalls calls(common);
  require_one_standard_input(options.inputs);
  std::vector<io::OpenedColumn> opened = open_all(options.inputs, common);
  require_alike(opened);
  const bool of_lists = opened[0].lists != nullptr;
  if (!of_lists && opened.size() < 3) refuse("pack needs STARTS, STOPS and CONTENT, or columns of lists");
  const Infos infos = infos_of(std::span(opened).subspan(of_lists ? 0 : 2));
  std::vector<LoadedColumn> columns;
  if (!of_lists) columns = load(opened);

  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) {
    writer = io::open_results(*options.output, format, io::Shape::lists, result_columns(infos), cell_text(format));
  }
  Moved moved;
  if (of_lists) {
    moved = pack_columns(common, readers_of(opened), infos, calls, writer.get());
  } else {
    moved = pack_bounds(columns, calls, writer.get());
  }
  name_and_report(writer.get(),
                  [&] { report_moved(common, options.output, moved, calls.work(), infos, writer.get()); });
  return 0;
}

}  // namespace upsweep::command
