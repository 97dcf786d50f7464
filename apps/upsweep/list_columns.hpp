// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/list_columns.hpp: what the commands on lists have in common: their columns in memory, and what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "io/column.hpp"
#include "io/result_writer.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "values.hpp"

namespace upsweep::command {

/// What --device, --rung and --threads say. Throws unsupported for a GPU.
Policy policy_on_cpu(const Common& common, std::string_view command);

/// Throws invalid_argument where standard input is named twice.
void require_one_standard_input(const std::vector<std::string>& sources);

/// Throws unsupported_type, naming the file.
void require_list_bound(const io::ColumnInfo& info);

/// An Error about a list, made one that names the column (`first_list`: of the lists that the call knew of).
[[noreturn]] void rethrow_for_lists(const Error& error, const std::string& name, std::int64_t first_list);

/// Throws null_value, with the first list that has such an element.
void require_no_null_elements(const io::ListBatch& batch, const io::ColumnInfo& info, std::string_view why);

/// A column in memory: elements where they were read to or lie, or lists, packed.
class LoadedColumn {
 public:
  LoadedColumn(const std::string& source, const Policy& policy);

  [[nodiscard]] const io::ColumnInfo& info() const { return opened_.info(); }
  [[nodiscard]] bool has_lists() const { return opened_.lists != nullptr; }
  [[nodiscard]] dynamic::ConstArray elements() const { return {data_, length_, info().type}; }
  /// One after the other, null ones without elements.
  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  [[nodiscard]] Lists lists() const { return Lists(offsets_).with_validity(valid()); }
  /// False where a list is null; not given: none is.
  [[nodiscard]] Mask valid() const { return any_null_ ? Mask(valid_) : Mask(); }

 private:
  void load_lists(const Policy& policy);
  void add(const io::ListBatch& batch, const Policy& policy);

  io::OpenedColumn opened_;
  const void* data_ = nullptr;
  std::int64_t length_ = 0;
  io::AlignedBuffer buffer_;   // of lists
  std::int64_t capacity_ = 0;  // its elements
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint8_t> valid_;
  bool any_null_ = false;
};

/// Throws unequal_lengths, with the first list that differs, where two list columns have others.
void require_same_lists(const LoadedColumn& one, const LoadedColumn& other);

/// Whether all of them are list columns. Throws invalid_argument where some are, and some are not.
bool all_have_lists(std::span<const std::unique_ptr<LoadedColumn>> columns);

/// Which lists of each column are null.
std::vector<Mask> validities(std::span<const std::unique_ptr<LoadedColumn>> columns);

/// Columns of the results that elements of `columns` are.
std::vector<io::ResultColumn> result_columns(std::span<const std::unique_ptr<LoadedColumn>> columns);

/// Memory for results of the same types, `n` elements each.
std::vector<std::vector<std::byte>> result_arrays(std::span<const std::unique_ptr<LoadedColumn>> columns,
                                                  std::int64_t n);

/// What a summary says of a selection or a pack.
struct Moved {
  std::int64_t count = 0;             ///< elements
  std::optional<std::int64_t> lists;  ///< where there are such
  std::string_view rung;
  double seconds = 0;
};
void report_moved(const Common& common, const std::optional<std::string>& output, const Moved& moved,
                  std::span<const std::unique_ptr<LoadedColumn>> columns, const io::ResultWriter* writer);

/// "files": those that are written, for JSON.
Json files_json(const io::ResultWriter* writer);
/// "output FILE", and a line for each more.
std::string files_text(const io::ResultWriter& writer);

}  // namespace upsweep::command
