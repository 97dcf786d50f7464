// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/select.cpp: `upsweep select`: the elements of columns, or of their lists, that a mask keeps.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
#include "upsweep/select.hpp"

namespace upsweep::command {
namespace {

/// What is selected from: columns of contents, the mask and, where there are such, lists.
struct Inputs {
  std::vector<std::unique_ptr<LoadedColumn>> contents;
  std::unique_ptr<LoadedColumn> mask;
  std::unique_ptr<LoadedColumn> offsets;  // where --offsets names them
  std::optional<Lists> lists;

  [[nodiscard]] Mask kept() const { return Mask::bytes(mask->elements().data, mask->elements().length); }
};

void require_mask(const io::ColumnInfo& info) {
  if (info.type == Type::uint8) return;
  throw Error(Code::unsupported_type,
              fmt::format("{} is {}: a mask must be of booleans, or of uint8", info.name, type_text(info.type, info)));
}

/// Throws unequal_lengths where a flat column is not as long as the mask.
void require_lengths(const Inputs& in) {
  for (const auto& column : in.contents) {
    if (column->elements().length == in.mask->elements().length) continue;
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: the mask must have one for each", column->info().name,
                            column->elements().length, in.mask->info().name, in.mask->elements().length));
  }
}

void find_lists(const SelectOptions& options, Inputs& in, const Policy& policy) {
  const bool have_lists = all_have_lists(in.contents);
  if (have_lists && options.offsets) {
    refuse("--offsets is for columns without lists: {} has its own", in.contents[0]->info().name);
  }
  if (have_lists != in.mask->has_lists()) {
    refuse("{} is {}column of lists and {} is {}: both must be, or none", in.contents[0]->info().name,
           have_lists ? "a " : "no ", in.mask->info().name, have_lists ? "not" : "one");
  }
  if (have_lists) {
    for (const auto& column : in.contents) require_same_lists(*in.mask, *column);
    in.lists = in.contents[0]->lists();
    return;
  }
  require_lengths(in);
  if (!options.offsets) return;
  in.offsets = std::make_unique<LoadedColumn>(*options.offsets, policy);
  if (in.offsets->has_lists())
    refuse("--offsets {} is a column of lists: offsets are numbers", in.offsets->info().name);
  require_list_bound(in.offsets->info());
  if (in.offsets->elements().length == 0) {
    throw Error(Code::unequal_lengths,
                fmt::format("{}: has no elements; offsets of n lists are n + 1", in.offsets->info().name));
  }
  in.lists = dynamic::lists_of_offsets(in.offsets->elements());
}

Selected select_from(const Policy& policy, const Inputs& in, std::int64_t* offsets,
                     std::span<const SelectColumn> columns) try {
  return in.lists ? select(policy, *in.lists, in.kept(), offsets, columns) : select(policy, in.kept(), columns);
} catch (const Error& error) {
  if (in.offsets && error.index() != kNoIndex) rethrow_for_lists(error, in.offsets->info().name, 0);
  throw;
}

}  // namespace

int run_select(const Common& common, const SelectOptions& asked) {
  SelectOptions options = asked;
  options.output = output_of(common, asked.output);
  const Policy policy = policy_on_cpu(common, "select");
  std::vector<std::string> sources = options.contents;
  sources.push_back(options.mask);
  if (options.offsets) sources.push_back(*options.offsets);
  require_one_standard_input(sources);

  Inputs in;
  for (const std::string& content : options.contents) {
    in.contents.push_back(std::make_unique<LoadedColumn>(content, policy));
  }
  in.mask = std::make_unique<LoadedColumn>(options.mask, policy);
  require_mask(in.mask->info());
  find_lists(options, in, policy);

  std::unique_ptr<io::ResultWriter> writer;
  const io::Shape shape = in.lists ? io::Shape::lists : io::Shape::values;
  if (options.output) writer = io::open_results(*options.output, shape, result_columns(in.contents));

  const Stopwatch watch;
  std::vector<std::int64_t> offsets(in.lists ? static_cast<std::size_t>(in.lists->count) + 1 : 0);
  const std::int64_t kept = select_from(policy, in, offsets.data(), {});  // how much memory there must be
  auto outputs = result_arrays(in.contents, kept);
  std::vector<SelectColumn> columns;
  std::vector<const void*> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const dynamic::ConstArray from = in.contents[i]->elements();
    columns.push_back(dynamic::select_column(from, {outputs[i].data(), kept, from.type}));
    results.push_back(outputs[i].data());
  }
  const Selected selected = select_from(policy, in, offsets.data(), columns);
  Moved moved{.count = kept, .lists = {}, .rung = selected.rung, .seconds = watch.seconds()};
  if (in.lists) moved.lists = in.lists->count;

  if (writer) {
    if (in.lists) {
      writer->write_lists(offsets, validities(in.contents), results);
    } else {
      writer->write(results, kept);
    }
    writer->complete();
  }
  report_moved(common, options.output, moved, in.contents, writer.get());
  if (writer) writer->close();  // last: where the summary cannot be written, there is no output file either
  return 0;
}

}  // namespace upsweep::command
