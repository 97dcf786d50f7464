// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/list_columns.cpp: columns of lists and elements in memory, and what is wrong with them.
#include "list_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/lists.hpp"
#include "output.hpp"
#include "upsweep/pack.hpp"

namespace upsweep::command {

Policy policy_on_cpu(const Common& common, std::string_view command) {
  const Policy policy = common.policy();
  if (common.device != "cuda") return policy;
  throw Error(Code::unsupported,
              fmt::format("--device cuda: upsweep {} runs on the CPU only: leave --device out", command));
}

void require_one_standard_input(const std::vector<std::string>& sources) {
  if (std::count(sources.begin(), sources.end(), "-") > 1) refuse("only one input can be standard input");
}

void require_list_bound(const io::ColumnInfo& info) {
  if (is_list_bound(info.type) && info.meaning == io::Meaning::number) return;
  throw Error(Code::unsupported_type, fmt::format("{} is {}: bounds of lists must be int32, uint32 or int64", info.name,
                                                  type_text(info.type, info)));
}

void rethrow_for_lists(const Error& error, const std::string& name, std::int64_t first_list) {
  if (error.index() == kNoIndex || first_list == 0) {
    throw Error(error.code(), fmt::format("{}: {}", name, error.what()), error.index());
  }
  const std::int64_t list = first_list + error.index();
  throw Error(error.code(),
              fmt::format("{}: list {} decreases or ends outside its content; write the file again", name, list), list);
}

void require_no_null_elements(const io::ListBatch& batch, const io::ColumnInfo& info, std::string_view why) {
  if (!batch.valid.is_given()) return;
  const Lists& lists = batch.lists;
  visit_bounds(lists, [&](auto bounds) {
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (lists.valid.is_given() && !lists.valid[i]) continue;
      if (check_list(lists, i, batch.length) != Code::ok) return;  // said when it is computed with
      for (std::int64_t j = bounds.start(i); j < bounds.stop(i); ++j) {
        if (batch.valid[j]) continue;
        const std::int64_t list = batch.first_list + i;
        throw Error(Code::null_value,
                    fmt::format("{}: list {} has an element that is NULL, {}; fill missing values in or leave them out "
                                "first",
                                info.name, list, why),
                    list);
      }
    }
  });
}

LoadedColumn::LoadedColumn(const std::string& source, const Policy& policy)
    : opened_(io::open_elements_or_lists(source, policy.threads)) {
  if (has_lists()) {
    load_lists(policy);
    return;
  }
  const io::Chunk all = opened_.elements->next(std::numeric_limits<std::int64_t>::max());
  data_ = all.data;
  length_ = all.count;
}

void LoadedColumn::load_lists(const Policy& policy) {
  offsets_.push_back(0);
  io::ListBatch batch;
  while (opened_.lists->next(batch)) {
    require_no_null_elements(batch, info(), "which has no place in the output");
    add(batch, policy);
  }
  data_ = buffer_.data();
}

void LoadedColumn::add(const io::ListBatch& batch, const Policy& policy) try {
  const Lists& lists = batch.lists;
  const Policy any_rung = policy.with_rung({});
  const std::size_t before = offsets_.size() - 1;
  offsets_.resize(offsets_.size() + static_cast<std::size_t>(lists.count));
  std::int64_t* const offsets = offsets_.data() + before;
  const std::int64_t total = pack_offsets(any_rung, lists, batch.length, offsets).total;
  const std::int64_t size = size_of(info().type);
  if (length_ + total > capacity_) capacity_ = std::max(length_ + total, 2 * capacity_);
  buffer_.reserve(capacity_ * size, info().name);
  const dynamic::Array to{buffer_.data() + length_ * size, total, info().type};
  const PackColumn column[] = {dynamic::pack_column({batch.content, batch.length, info().type}, to)};
  (void)pack_content(any_rung, lists, offsets, column);
  for (std::size_t i = before; i < offsets_.size(); ++i) offsets_[i] += length_;
  length_ += total;
  for (std::int64_t i = 0; i < lists.count; ++i) {
    const bool is_valid = !lists.valid.is_given() || lists.valid[i];
    valid_.push_back(is_valid ? 1 : 0);
    any_null_ = any_null_ || !is_valid;
  }
} catch (const Error& error) {
  rethrow_for_lists(error, info().name, batch.first_list);
}

void require_same_lists(const LoadedColumn& one, const LoadedColumn& other) {
  const auto a = one.offsets();
  const auto b = other.offsets();
  const auto [at, and_there] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() && and_there == b.end()) return;
  if (a.size() != b.size()) {
    throw Error(Code::unequal_lengths, fmt::format("{} has {} lists, {} has {}: they must be as many", one.info().name,
                                                   a.size() - 1, other.info().name, b.size() - 1));
  }
  const std::int64_t list = at - a.begin() - 1;
  throw Error(Code::unequal_lengths,
              fmt::format("list {} is not as long in {} as in {}: their lists must be of the same lengths", list,
                          one.info().name, other.info().name),
              list);
}

bool all_have_lists(std::span<const std::unique_ptr<LoadedColumn>> columns) {
  const auto has_lists = [](const auto& column) { return column->has_lists(); };
  const auto with = std::find_if(columns.begin(), columns.end(), has_lists);
  const auto without = std::find_if_not(columns.begin(), columns.end(), has_lists);
  if (without == columns.end()) return true;
  if (with == columns.end()) return false;
  refuse("{} is a column of lists and {} is not: all must be, or none", (*with)->info().name, (*without)->info().name);
}

std::vector<Mask> validities(std::span<const std::unique_ptr<LoadedColumn>> columns) {
  std::vector<Mask> masks;
  for (const auto& column : columns) masks.push_back(column->valid());
  return masks;
}

std::vector<io::ResultColumn> result_columns(std::span<const std::unique_ptr<LoadedColumn>> columns) {
  std::vector<io::ResultColumn> results;
  for (const auto& column : columns) {
    const io::ColumnInfo& info = column->info();
    results.push_back({.name = info.field, .type = info.type, .meaning = info.meaning, .scale = info.scale});
  }
  return results;
}

std::vector<std::vector<std::byte>> result_arrays(std::span<const std::unique_ptr<LoadedColumn>> columns,
                                                  std::int64_t n) {
  std::vector<std::vector<std::byte>> arrays;
  for (const auto& column : columns) arrays.emplace_back(static_cast<std::size_t>(n * size_of(column->info().type)));
  return arrays;
}

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

void report_moved(const Common& common, const std::optional<std::string>& output, const Moved& moved,
                  std::span<const std::unique_ptr<LoadedColumn>> columns, const io::ResultWriter* writer) {
  Json dtypes = Json::array();
  Json scales = Json::array();
  bool any_scaled = false;
  std::string types;
  for (const auto& column : columns) {
    const io::ColumnInfo& info = column->info();
    const bool scaled = is_scaled(info.type, info);
    dtypes.push_back(type_word(info.type, info));
    scales.push_back(scaled ? Json(info.scale) : Json());
    any_scaled = any_scaled || scaled;
    types += (types.empty() ? "" : "; ") + type_text(info.type, info);
  }
  if (common.json) {
    Json result{{"count", moved.count},       {"lists", moved.lists ? Json(*moved.lists) : Json()},
                {"dtypes", dtypes},           {"rung", moved.rung},
                {"seconds", moved.seconds},   {"output", output ? Json(*output) : Json()},
                {"files", files_json(writer)}};
    if (any_scaled) result["scales"] = scales;
    print_json(result);
    return;
  }
  if (output == "-" || (common.quiet && output)) return;
  std::string text = moved.lists ? fmt::format("lists  {}\n", grouped(*moved.lists)) : "";
  text += fmt::format("count  {}\ntype   {}\nrung   {}\ntime   {}\n", grouped(moved.count), types, moved.rung,
                      duration(moved.seconds));
  if (writer != nullptr) text += files_text(*writer);
  print(text);
}

}  // namespace upsweep::command
