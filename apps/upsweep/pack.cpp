// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/pack.cpp: `upsweep pack`: lists from anywhere in their contents, one after the other.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::command {
namespace {

using Columns = std::vector<std::unique_ptr<LoadedColumn>>;

/// Lists, and the contents that they are of.
struct Inputs {
  Columns bounds;  // starts and stops; none of columns of lists
  Columns contents;
  Lists lists;

  [[nodiscard]] std::string name() const {
    if (bounds.empty()) return contents[0]->info().name;
    return fmt::format("{}, {}", bounds[0]->info().name, bounds[1]->info().name);
  }
};

Inputs lists_of_columns(Columns columns) {
  for (const auto& column : columns) require_same_lists(*columns[0], *column);
  const Lists lists = columns[0]->lists();
  return {{}, std::move(columns), lists};
}

/// Of starts, stops and contents.
Inputs lists_of_bounds(Columns columns) {
  if (columns.size() < 3) refuse("pack takes STARTS, STOPS and CONTENT, or columns of lists");
  for (int i = 0; i < 2; ++i) require_list_bound(columns[static_cast<std::size_t>(i)]->info());
  const auto starts = columns[0]->elements();
  const auto stops = columns[1]->elements();
  if (starts.type != stops.type) {
    throw Error(Code::unsupported_type,
                fmt::format("{} is {}, {} is {}: both must have one type", columns[0]->info().name, name(starts.type),
                            columns[1]->info().name, name(stops.type)));
  }
  if (starts.length != stops.length) {
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: they must be equal", columns[0]->info().name, starts.length,
                            columns[1]->info().name, stops.length));
  }
  Inputs in;
  for (std::size_t i = 0; i < columns.size(); ++i) (i < 2 ? in.bounds : in.contents).push_back(std::move(columns[i]));
  const std::int64_t length = in.contents[0]->elements().length;
  for (const auto& content : in.contents) {
    if (content->elements().length == length) continue;
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: contents must have as many", in.contents[0]->info().name,
                            length, content->info().name, content->elements().length));
  }
  in.lists = dynamic::lists_of_bounds(starts, stops);
  return in;
}

Inputs load(const PackOptions& options, const Policy& policy) {
  Columns columns;
  for (const std::string& input : options.inputs) columns.push_back(std::make_unique<LoadedColumn>(input, policy));
  return all_have_lists(columns) ? lists_of_columns(std::move(columns)) : lists_of_bounds(std::move(columns));
}

}  // namespace

int run_pack(const Common& common, const PackOptions& asked) {
  PackOptions options = asked;
  options.output = output_of(common, asked.output);
  const Policy policy = policy_on_cpu(common, "pack");
  require_one_standard_input(options.inputs);
  const Inputs in = load(options, policy);
  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) writer = io::open_results(*options.output, io::Shape::lists, result_columns(in.contents));

  const Stopwatch watch;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(in.lists.count) + 1);
  Moved moved{.count = 0, .lists = in.lists.count, .rung = {}, .seconds = 0};
  std::vector<std::vector<std::byte>> outputs;
  std::vector<const void*> results;
  try {
    moved.count = pack_offsets(policy, in.lists, in.contents[0]->elements().length, offsets.data()).total;
    outputs = result_arrays(in.contents, moved.count);
    std::vector<PackColumn> columns;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const dynamic::ConstArray from = in.contents[i]->elements();
      columns.push_back(dynamic::pack_column(from, {outputs[i].data(), moved.count, from.type}));
      results.push_back(outputs[i].data());
    }
    moved.rung = pack_content(policy, in.lists, offsets.data(), columns).rung;
  } catch (const Error& error) {
    if (error.index() == kNoIndex) throw;
    rethrow_for_lists(error, in.name(), 0);
  }
  moved.seconds = watch.seconds();

  if (writer) {
    writer->write_lists(offsets, validities(in.contents), results);
    writer->complete();
  }
  report_moved(common, options.output, moved, in.contents, writer.get());
  if (writer) writer->close();  // last: where the summary cannot be written, there is no output file either
  return 0;
}

}  // namespace upsweep::command
