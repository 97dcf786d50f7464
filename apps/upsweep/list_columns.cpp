// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/list_columns.cpp: reads columns of lists and elements, moves their elements, and reports their errors.
#include "list_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/lists.hpp"
#include "io/first_fault.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::command {
namespace {

Mask range_of(Mask mask, std::int64_t first, std::int64_t n) {
  if (!mask.is_given()) return mask;
  if (mask.is_bitmap) {
    mask.first_bit += first;
  } else {
    mask.data += first;
  }
  mask.length = n;
  return mask;
}

/// `n` of the lists, from `first` on. Elements have `size` bytes.
io::ListBatch lists_of(const io::ListBatch& all, std::int64_t first, std::int64_t n, std::int64_t size) {
  io::ListBatch some = all;
  some.first_list += first;
  some.lists.count = n;
  some.lists.valid = range_of(all.lists.valid, first, n);
  if (all.lists.has_size) {
    const std::int64_t elements = first * all.lists.size;
    some.content = static_cast<const std::byte*>(all.content) + elements * size;
    some.length -= elements;
    some.valid = range_of(all.valid, elements, some.length);
    return some;
  }
  const std::int64_t bytes = first * size_of(all.lists.type);
  some.lists.starts = static_cast<const std::byte*>(all.lists.starts) + bytes;
  some.lists.stops = static_cast<const std::byte*>(all.lists.stops) + bytes;
  return some;
}

void unpack_validity(Mask& valid, std::vector<std::uint8_t>& bytes) {
  if (!valid.is_given() || !valid.is_bitmap) return;
  bytes.resize(static_cast<std::size_t>(valid.length));
  io::unpack_bits(valid.data, valid.first_bit, valid.length, bytes.data());
  valid = Mask::bytes(bytes.data(), valid.length);
}

[[noreturn]] void throw_not_as_many(const io::ColumnInfo& one, const std::string& have, const io::ColumnInfo& other,
                                    const std::string& has) {
  throw Error(Code::unequal_lengths,
              fmt::format("{} has {} lists, {} has {}: the numbers must be equal", one.name, have, other.name, has));
}

}  // namespace

void require_one_standard_input(const std::vector<std::string>& sources) {
  if (std::count(sources.begin(), sources.end(), "-") > 1) refuse("only one input can be standard input");
}

void require_list_bound(const io::ColumnInfo& info) {
  if (is_list_bound(info.type) && info.meaning == io::Meaning::number) return;
  throw Error(Code::unsupported_type, fmt::format("{} is {}: bounds of lists must be int32, uint32 or int64", info.name,
                                                  type_text(info.type, info)));
}

void require_list_bounds(const io::ColumnInfo& starts, const io::ColumnInfo& stops) {
  require_list_bound(starts);
  require_list_bound(stops);
  if (starts.type == stops.type) return;
  throw Error(Code::unsupported_type, fmt::format("{} is {}, {} is {}: both must have the same type", starts.name,
                                                  name(starts.type), stops.name, name(stops.type)));
}

void rethrow_for_lists(const Error& error, const std::string& name, std::int64_t first_list) {
  if (error.index() == kNoIndex) throw error;
  if (first_list == 0) throw Error(error.code(), fmt::format("{}: {}", name, error.what()), error.index());
  const std::int64_t list = first_list + error.index();
  throw Error(
      error.code(),
      fmt::format("{}: the offsets of list {} decrease or exceed its content; the file is damaged, write it again",
                  name, list),
      list);
}

// ----------------------------------------------------------------------------------------------------------- columns

LoadedColumn::LoadedColumn(std::unique_ptr<io::ColumnReader> reader) : reader_(std::move(reader)) {
  const io::Chunk all = reader_->next(std::numeric_limits<std::int64_t>::max());
  elements_ = {{all.data, all.count, info().type}, all.valid};
}

void LoadedColumn::require_no_nulls() const {
  const Mask& valid = elements_.valid;
  for (std::int64_t row = 0; row < valid.length; ++row) {
    if (!valid[row]) reader_->throw_null(row);
  }
}

Elements elements_of(const io::ListBatch& batch, const io::ColumnInfo& info) {
  return {{batch.content, batch.length, info.type}, batch.valid};
}

ListColumns::ListColumns(std::vector<io::ListReader*> readers)
    : readers_(std::move(readers)), left_(readers_.size()), valid_(readers_.size()), batches_(readers_.size()) {
  const io::ColumnInfo& first = readers_[0]->info();
  for (const io::ListReader* reader : readers_) {
    const io::ColumnInfo& info = reader->info();
    if (first.count < 0 || info.count < 0 || info.count == first.count) continue;
    throw_not_as_many(first, std::to_string(first.count), info, std::to_string(info.count));
  }
}

bool ListColumns::next() {
  std::int64_t n = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    while (left_[i].lists.count == 0 && readers_[i]->next(left_[i])) {
      if (readers_.size() > 1) unpack_validity(left_[i].valid, valid_[i]);
    }
    n = std::min(n, left_[i].lists.count);
  }
  if (n == 0) {
    const auto has_more = [](const io::ListBatch& batch) { return batch.lists.count > 0; };
    const auto longer = std::find_if(left_.begin(), left_.end(), has_more);
    if (longer == left_.end()) return false;
    const auto shorter = std::find_if_not(left_.begin(), left_.end(), has_more);
    throw_not_as_many(readers_[static_cast<std::size_t>(shorter - left_.begin())]->info(), std::to_string(given_),
                      readers_[static_cast<std::size_t>(longer - left_.begin())]->info(), "more");
  }
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const std::int64_t size = size_of(readers_[i]->info().type);
    batches_[i] = lists_of(left_[i], 0, n, size);
    left_[i] = lists_of(left_[i], n, left_[i].lists.count - n, size);
  }
  given_ += n;
  return true;
}

bool nulls_are_empty(const Lists& lists) {
  if (!lists.valid.is_given()) return true;
  return visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (!lists.valid[i] && bounds.start(i) != bounds.stop(i)) return false;
    }
    return true;
  });
}

std::vector<io::OpenedColumn> open_all(const std::vector<std::string>& sources, const Common& common) {
  std::vector<io::OpenedColumn> columns;
  columns.reserve(sources.size());
  io::FirstFault faults;
  for (const std::string& source : sources) {
    faults.attempt(source, [&] {
      columns.push_back(io::open_elements_or_lists(source, common.threads, io::Levels::one, common.csv));
    });
  }
  faults.rethrow();
  for (const io::OpenedColumn& column : columns) {
    if (column.elements) take_remarks(column.elements->remarks(), common.shows_remarks());
  }
  return columns;
}

void require_alike(std::span<const io::OpenedColumn> columns) {
  const auto has_lists = [](const io::OpenedColumn& column) { return column.lists != nullptr; };
  const auto with = std::find_if(columns.begin(), columns.end(), has_lists);
  const auto without = std::find_if_not(columns.begin(), columns.end(), has_lists);
  if (with == columns.end() || without == columns.end()) return;
  refuse("{} is a column of lists and {} is not: all must be, or none", with->info().name, without->info().name);
}

std::vector<io::ColumnInfo> infos_of(std::span<const io::OpenedColumn> columns) {
  std::vector<io::ColumnInfo> infos;
  infos.reserve(columns.size());
  for (const io::OpenedColumn& column : columns) infos.push_back(column.info());
  return infos;
}

std::vector<io::ListReader*> readers_of(std::span<const io::OpenedColumn> columns) {
  std::vector<io::ListReader*> readers;
  readers.reserve(columns.size());
  for (const io::OpenedColumn& column : columns) readers.push_back(column.lists.get());
  return readers;
}

std::vector<LoadedColumn> load_all(std::span<io::OpenedColumn> columns,
                                   const std::function<bool(std::size_t)>& has_no_nulls) {
  std::vector<LoadedColumn> loaded;
  loaded.reserve(columns.size());
  io::FirstFault faults;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string name = columns[i].info().name;
    faults.attempt(name, [&] {
      loaded.emplace_back(std::move(columns[i].elements));
      if (has_no_nulls(i)) loaded.back().require_no_nulls();
    });
  }
  faults.rethrow();
  return loaded;
}

std::vector<io::ResultColumn> result_columns(std::span<const io::ColumnInfo> columns) {
  std::vector<io::ResultColumn> results;
  for (const io::ColumnInfo& info : columns) {
    results.push_back(
        {.name = info.field, .type = info.type, .meaning = info.meaning, .scale = info.scale, .zone = info.zone});
  }
  return results;
}

// ------------------------------------------------------------------------------------------------------------- calls

void MovedColumn::begin(const Elements& from, std::int64_t n, const std::string& name) {
  from_ = from;
  capacity_ = n;
  elements_.reserve(n, size_of(from.array.type), name);
  if (!from.valid.is_given()) return;
  valid_.reserve(n, 1, name);
  if (!from.valid.is_bitmap) return;
  const std::int64_t length = from.valid.length;
  unpacked_.reserve(length, 1, name);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(unpacked_.data());
  io::unpack_bits(from.valid.data, from.valid.first_bit, length, bytes);
  from_.valid = Mask::bytes(bytes, length);
}

void MovedColumn::add_to(std::vector<ContentColumn>& columns) const {
  columns.push_back(dynamic::content_column(from_.array, {elements_.data(), capacity_, from_.array.type}));
  if (!from_.valid.is_given()) return;
  columns.emplace_back(from_.valid.data, from_.valid.length, valid_.data(), capacity_, 1);
}

io::ResultArray MovedColumn::result() const {
  return {elements_.data(), from_.valid.is_given() ? Mask::bytes(valid_.data(), capacity_) : Mask()};
}

void Packed::pack(ListCalls& calls, const Lists& lists, std::span<const Elements> contents, const std::string& name) {
  const std::int64_t length = contents[0].array.length;
  offsets_.resize(static_cast<std::size_t>(lists.count) + 1);
  calls.run(0, [&](dynamic::Staged* device, const Policy& policy) {
    return (device != nullptr ? device->pack_offsets(lists, length, offsets_.data())
                              : pack_offsets(policy, lists, length, offsets_.data()))
        .rung;
  });
  while (moved_.size() < contents.size()) moved_.emplace_back();
  std::vector<PackColumn> columns;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    moved_[i].begin(contents[i], count(), name);
    moved_[i].add_to(columns);
  }
  calls.run(count(), [&](dynamic::Staged* device, const Policy& policy) {
    return (device != nullptr ? device->pack_content(lists, offsets_.data(), columns)
                              : pack_content(policy, lists, offsets_.data(), columns))
        .rung;
  });
}

namespace {

/// Throws unequal_lengths with the first list that differs. `first_list` is the number of the first list in `one`.
void require_same_lists(std::span<const std::int64_t> one, const std::string& name, std::span<const std::int64_t> other,
                        const std::string& other_name, std::int64_t first_list) {
  const auto [at, and_there] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
  if (at == one.end() && and_there == other.end()) return;
  const std::int64_t list = first_list + (at - one.begin()) - 1;
  throw Error(Code::unequal_lengths,
              fmt::format("list {} has different lengths in {} and {}: lists must have the same lengths in all columns",
                          list, name, other_name),
              list);
}

}  // namespace

void pack_all(ListCalls& calls, std::span<const io::ListBatch> batches, std::span<const io::ColumnInfo> columns,
              std::deque<Packed>& packed) {
  while (packed.size() < batches.size()) packed.emplace_back();
  io::FirstFault faults;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const std::string& name = columns[i].name;
    faults.attempt(name, [&] {
      const Elements elements = elements_of(batches[i], columns[i]);
      try {
        packed[i].pack(calls, batches[i].lists, {&elements, 1}, name);
      } catch (const Error& error) {
        rethrow_for_lists(error, name, batches[i].first_list);
      }
    });
  }
  faults.rethrow();
  for (std::size_t i = 1; i < batches.size(); ++i) {
    require_same_lists(packed[0].offsets(), columns[0].name, packed[i].offsets(), columns[i].name,
                       batches[0].first_list);
  }
}

// ----------------------------------------------------------------------------------------------------------- reports

Json files_json(const io::ResultWriter* writer) {
  Json files = Json::array();
  if (writer != nullptr) {
    for (const std::string& file : writer->files()) files.push_back(file);
  }
  return files;
}

std::string files_text(const io::ResultWriter& writer) {
  std::string text;
  for (const std::string& file : writer.files()) text += fmt::format("output {}\n", printable(file));
  return text;
}

void report_moved(const Common& common, const std::optional<std::string>& output, const Moved& moved, const Work& work,
                  std::span<const io::ColumnInfo> columns, const io::ResultWriter* writer) {
  Json dtypes = Json::array();
  Json scales = Json::array();
  bool any_scaled = false;
  std::string types;
  for (const io::ColumnInfo& info : columns) {
    const bool scaled = is_scaled(info.type, info);
    dtypes.push_back(type_word(info.type, info));
    scales.push_back(scaled ? Json(info.scale) : Json());
    any_scaled = any_scaled || scaled;
    types += (types.empty() ? "" : "; ") + type_text(info.type, info);
  }
  if (common.json) {
    Json result{{"count", moved.count},
                {"lists", moved.lists ? Json(*moved.lists) : Json()},
                {"dtypes", dtypes},
                {"rung", work.rung}};
    work.add_times(result);
    result["output"] = output ? Json(*output) : Json();
    result["files"] = files_json(writer);
    if (any_scaled) result["scale"] = scales;
    print_json(result);
    return;
  }
  if (output == "-" || (common.quiet && output)) return;
  std::string text = moved.lists ? fmt::format("lists  {}\n", grouped(*moved.lists)) : "";
  text += fmt::format("count  {}\ntype   {}\nrung   {}\ntime   {}\n", grouped(moved.count), types, work.rung,
                      work.time_text());
  if (writer != nullptr) text += files_text(*writer);
  print(text);
}

}  // namespace upsweep::command
