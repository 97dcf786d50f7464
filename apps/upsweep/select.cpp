// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/select.cpp: `upsweep select`: keeps the elements of columns, or of their lists, that a mask selects.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "core/lists.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "upsweep/select.hpp"

namespace upsweep::command {
namespace {

using Infos = std::vector<io::ColumnInfo>;

void require_mask(const io::ColumnInfo& info) {
  if (info.type == Type::uint8) return;
  throw Error(Code::unsupported_type,
              fmt::format("{} is {}: a mask must contain booleans, in CSV true and false, or uint8", info.name,
                          type_text(info.type, info)));
}

/// Throws null_value with the first list of the mask that has such an element.
void require_no_null_elements(const io::ListBatch& mask, const std::string& name) {
  if (!mask.valid.is_given()) return;
  const Lists& lists = mask.lists;
  visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (lists.valid.is_given() && !lists.valid[i]) continue;
      if (check_list(lists, i, mask.length) != Code::ok) return;  // the selection reports this error
      for (std::int64_t j = bounds.start(i); j < bounds.stop(i); ++j) {
        if (mask.valid[j]) continue;
        const std::int64_t list = mask.first_list + i;
        throw Error(
            Code::null_value,
            fmt::format(
                "{}: the mask's list {} has a NULL, so it is unknown whether its element is kept; replace missing "
                "values first",
                name, list),
            list);
      }
    }
  });
}

/// The input of one selection: contents that are parallel to the mask and, if there are lists, their bounds.
struct Selection {
  std::optional<Lists> lists = {};
  Mask mask = {};
  std::vector<Elements> contents = {};
};

/// Selects, and reuses the memory of the results for the next selection.
class Selector {
 public:
  Selector(const Common& common, const Infos& contents) : calls_(common), contents_(contents) {}

  void select(const Selection& from) {
    offsets_.resize(from.lists ? static_cast<std::size_t>(from.lists->count) + 1 : 0);
    while (moved_.size() < from.contents.size()) moved_.emplace_back();
    std::vector<SelectColumn> columns;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      // Outputs have the length of the inputs: pages that are not written take no memory.
      moved_[i].begin(from.contents[i], from.mask.length, contents_[i].name);
      moved_[i].add_to(columns);
    }
    calls_.run(from.mask.length, [&](dynamic::Staged* device, const Policy& policy) {
      const Selected selected = run(device, policy, from, columns);
      kept_ = selected.kept;
      return selected.rung;
    });
  }

  [[nodiscard]] std::int64_t kept() const { return kept_; }
  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  [[nodiscard]] std::vector<io::ResultArray> results() const {
    std::vector<io::ResultArray> results(moved_.size());
    std::transform(moved_.begin(), moved_.end(), results.begin(), [](const auto& column) { return column.result(); });
    return results;
  }
  [[nodiscard]] const Work& work() const { return calls_.work(); }

 private:
  Selected run(dynamic::Staged* device, const Policy& policy, const Selection& from,
               std::span<const SelectColumn> columns) {
    if (!from.lists) {
      return device != nullptr ? device->select(from.mask, columns) : upsweep::select(policy, from.mask, columns);
    }
    return device != nullptr ? device->select(*from.lists, from.mask, offsets_.data(), columns)
                             : upsweep::select(policy, *from.lists, from.mask, offsets_.data(), columns);
  }

  ListCalls calls_;
  const Infos& contents_;
  std::int64_t kept_ = 0;
  std::vector<std::int64_t> offsets_;
  std::deque<MovedColumn> moved_;
};

// -------------------------------------------------------------------------------------------------- columns of lists

bool have_same_bounds(const Lists& one, const Lists& other) {
  if (one.has_size || other.has_size) return one.has_size && other.has_size && one.size == other.size;
  if (one.type != other.type || !one.are_adjacent() || !other.are_adjacent()) return false;
  const auto bytes = static_cast<std::size_t>((one.count + 1) * size_of(one.type));
  return one.count == 0 || std::memcmp(one.starts, other.starts, bytes) == 0;
}

/// Makes a selection of batches; the last batch is the mask. Uses their lists and contents in place if all have the
/// same layout. Otherwise uses copies, one list after the other.
class Alignment {
 public:
  Alignment(const Common& common, const Infos& columns) : calls_(ListCalls::beside(common)), columns_(columns) {}

  /// The memory of the result is valid until the next call. Throws unequal_lengths with the first list that differs.
  Selection align(const std::vector<io::ListBatch>& batches) {
    const auto lies_alike = [&](const io::ListBatch& batch) {
      return have_same_bounds(batch.lists, batches[0].lists) && nulls_are_empty(batch.lists);
    };
    const bool alike = std::all_of(batches.begin(), batches.end(), lies_alike);
    return alike ? in_place(batches) : packed(batches);
  }

 private:
  [[nodiscard]] Selection in_place(const std::vector<io::ListBatch>& batches) const {
    std::int64_t length = batches[0].length;
    for (const io::ListBatch& batch : batches) length = std::min(length, batch.length);
    Selection selection{batches[0].lists.with_validity({})};
    for (std::size_t i = 0; i < batches.size(); ++i) {
      Elements elements = elements_of(batches[i], columns_[i]);
      elements.array.length = length;
      if (elements.valid.is_given()) elements.valid.length = length;
      selection.contents.push_back(elements);
    }
    take_mask(selection);
    return selection;
  }

  Selection packed(const std::vector<io::ListBatch>& batches) {
    pack_all(calls_, batches, columns_, packed_);
    Selection selection;
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const io::ResultArray result = packed_[i].result();
      selection.contents.push_back({{result.elements, packed_[i].count(), columns_[i].type}, result.valid});
    }
    selection.lists = Lists(packed_[0].offsets());
    take_mask(selection);
    return selection;
  }

  static void take_mask(Selection& selection) {
    const dynamic::ConstArray mask = selection.contents.back().array;
    selection.mask = Mask::bytes(mask.data, mask.length);
    selection.contents.pop_back();
  }

  ListCalls calls_;
  const Infos& columns_;
  std::deque<Packed> packed_;
};

Moved select_lists(const Common& common, std::vector<io::ListReader*> readers, const Infos& columns, Selector& selector,
                   io::ResultWriter* writer) {
  const std::string& mask = columns.back().name;
  ListColumns lists(std::move(readers));
  Alignment alignment(common, columns);
  Progress progress(common.quiet);
  Moved moved{.count = 0, .lists = 0};
  const auto select = [&](const std::vector<io::ListBatch>& batches) {
    require_no_null_elements(batches.back(), mask);
    const Selection selection = alignment.align(batches);
    try {
      selector.select(selection);
    } catch (const Error& error) {
      rethrow_for_lists(error, mask, batches[0].first_list);
    }
    moved.count += selector.kept();
    *moved.lists += selection.lists->count;
    if (writer == nullptr) return;
    std::vector<io::ResultArray> results = selector.results();
    for (std::size_t i = 0; i < results.size(); ++i) results[i].valid_lists = batches[i].lists.valid;
    writer->write_lists(selector.offsets(), results);
  };
  while (lists.next()) {
    select(lists.batches());
    progress.count("lists", *moved.lists, columns.back().count);
  }
  // Columns without lists still run their rung, so that an unsuitable rung is refused.
  if (moved.lists == 0) select(std::vector<io::ListBatch>(columns.size()));
  return moved;
}

// ----------------------------------------------------------------------------------------------- columns of elements

/// Throws unequal_lengths if a column does not have the length of the mask.
void require_lengths(std::span<const LoadedColumn> contents, const LoadedColumn& mask) {
  const std::int64_t length = mask.elements().array.length;
  for (const LoadedColumn& column : contents) {
    if (column.elements().array.length == length) continue;
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements, {} has {}: the mask must have the same length", column.info().name,
                            column.elements().array.length, mask.info().name, length));
  }
}

void require_offsets(const io::OpenedColumn& offsets) {
  if (offsets.lists) refuse("--offsets {} is a column of lists: offsets are numbers", offsets.info().name);
  require_list_bound(offsets.info());
}

void require_first_offset(const LoadedColumn& offsets) {
  if (offsets.elements().array.length > 0) return;
  throw Error(Code::unequal_lengths,
              fmt::format("{}: has no elements; n lists need n + 1 offsets", offsets.info().name));
}

Moved select_elements(std::span<const LoadedColumn> contents, const LoadedColumn& mask, const LoadedColumn* offsets,
                      Selector& selector, io::ResultWriter* writer) {
  const dynamic::ConstArray& keeps = mask.elements().array;
  Selection selection{.mask = Mask::bytes(keeps.data, keeps.length)};
  for (const LoadedColumn& column : contents) selection.contents.push_back(column.elements());
  if (offsets != nullptr) selection.lists = dynamic::lists_of_offsets(offsets->elements().array);
  try {
    selector.select(selection);
  } catch (const Error& error) {
    if (offsets != nullptr) rethrow_for_lists(error, offsets->info().name, 0);
    throw;
  }
  Moved moved{.count = selector.kept()};
  if (offsets != nullptr) moved.lists = selection.lists->count;
  if (writer == nullptr) return moved;
  if (offsets != nullptr) {
    writer->write_lists(selector.offsets(), selector.results());
  } else {
    writer->write(selector.results(), selector.kept());
  }
  return moved;
}

/// Whether the columns are columns of lists: all must be, or none.
bool have_lists(std::span<const io::OpenedColumn> contents, const io::OpenedColumn& mask,
                const SelectOptions& options) {
  const bool lists = contents[0].lists != nullptr;
  if (lists && options.offsets)
    refuse("--offsets is for columns without lists: {} has its own", contents[0].info().name);
  if (lists == (mask.lists != nullptr)) return lists;
  refuse("{} is {}column of lists and {} is {}: both must be, or neither", contents[0].info().name,
         lists ? "a " : "not a ", mask.info().name, lists ? "not" : "one");
}

}  // namespace

int run_select(const Common& common, const SelectOptions& asked) {
  SelectOptions options = asked;
  const io::ResultFormat format = settle_output(common, options);
  (void)common.policy();
  std::vector<std::string> sources = options.contents;
  sources.push_back(options.mask);
  if (options.offsets) sources.push_back(*options.offsets);
  require_one_standard_input(sources);

  const std::size_t n = options.contents.size();
  std::vector<io::OpenedColumn> opened = open_all(sources, common);
  const std::span contents = std::span(opened).first(n);
  require_alike(contents);
  require_mask(opened[n].info());
  const bool of_lists = have_lists(contents, opened[n], options);
  if (options.offsets) require_offsets(opened[n + 1]);
  const Infos infos = infos_of(contents);

  Selector selector(common, infos);
  std::vector<LoadedColumn> loaded;
  if (!of_lists) {
    loaded = load_all(opened, [n](std::size_t i) { return i >= n; });
    require_lengths(std::span(loaded).first(n), loaded[n]);
    if (options.offsets) require_first_offset(loaded[n + 1]);
  }

  std::unique_ptr<io::ResultWriter> writer;
  const io::Shape shape = of_lists || options.offsets ? io::Shape::lists : io::Shape::values;
  if (options.output) {
    writer = io::open_results(*options.output, format, shape, result_columns(infos), cell_text(format));
  }
  Moved moved;
  if (of_lists) {
    moved = select_lists(common, readers_of(opened), infos_of(opened), selector, writer.get());
  } else {
    moved = select_elements(std::span(loaded).first(n), loaded[n], options.offsets ? &loaded[n + 1] : nullptr, selector,
                            writer.get());
  }
  name_and_report(writer.get(),
                  [&] { report_moved(common, options.output, moved, selector.work(), infos, writer.get()); });
  return 0;
}

}  // namespace upsweep::command
