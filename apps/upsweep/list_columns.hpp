// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/list_columns.hpp: code that the commands on lists share: columns, moving elements, reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/posix.hpp"
#include "io/result_writer.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "values.hpp"

namespace upsweep::command {

/// Throws invalid_argument if standard input is named twice.
void require_one_standard_input(const std::vector<std::string>& sources);

/// Throws unsupported_type, which names the file, if the column cannot be bounds of lists.
void require_list_bound(const io::ColumnInfo& info);
/// Checks two files in the same way. Their bounds must have one type.
void require_list_bounds(const io::ColumnInfo& starts, const io::ColumnInfo& stops);

/// Rethrows an Error about a list as one that names the column, and any other error unchanged. `first_list` is the
/// number of the first list in the call.
[[noreturn]] void rethrow_for_lists(const Error& error, const std::string& name, std::int64_t first_list);

// ----------------------------------------------------------------------------------------------------------- columns

/// Elements in memory, and which of them are not NULL.
struct Elements {
  dynamic::ConstArray array;
  Mask valid = {};
};

/// A column of elements, all of them in memory: in the buffer that they were read into, or in place.
class LoadedColumn {
 public:
  explicit LoadedColumn(std::unique_ptr<io::ColumnReader> reader);

  [[nodiscard]] const io::ColumnInfo& info() const { return reader_->info(); }
  [[nodiscard]] const Elements& elements() const { return elements_; }
  /// Throws null_value with the first row that is NULL.
  void require_no_nulls() const;

 private:
  std::unique_ptr<io::ColumnReader> reader_;
  Elements elements_;
};

/// The content of a batch of lists.
[[nodiscard]] Elements elements_of(const io::ListBatch& batch, const io::ColumnInfo& info);

/// Columns of lists that are read side by side, without a copy: each batch has the same number of lists of every
/// column.
class ListColumns {
 public:
  /// Throws unequal_lengths if the columns are known to have different numbers of lists.
  explicit ListColumns(std::vector<io::ListReader*> readers);

  /// Reads the next lists; returns false at the end. Throws unequal_lengths if one column ends before another.
  bool next();
  /// The batches of lists, one per column. All of them have an equal number of lists.
  [[nodiscard]] const std::vector<io::ListBatch>& batches() const { return batches_; }

 private:
  std::vector<io::ListReader*> readers_;
  std::vector<io::ListBatch> left_;  // for each column, what was read and not returned yet
  std::vector<std::vector<std::uint8_t>>
      valid_;  // of its elements, a byte each: unpacked once, not for every batch that is returned
  std::vector<io::ListBatch> batches_;
  std::int64_t given_ = 0;
};

/// Whether all lists that are null are empty.
[[nodiscard]] bool nulls_are_empty(const Lists& lists);

/// Opens all sources. An error in a row is the one in the first such row of its file, in any column.
std::vector<io::OpenedColumn> open_all(const std::vector<std::string>& sources, const Common& common);
/// Throws invalid_argument if some columns are columns of lists and some are not.
void require_alike(std::span<const io::OpenedColumn> columns);

std::vector<io::ColumnInfo> infos_of(std::span<const io::OpenedColumn> columns);
/// The readers of columns of lists; null for other columns.
std::vector<io::ListReader*> readers_of(std::span<const io::OpenedColumn> columns);
/// Loads columns of elements. NULL is an error in a column if has_no_nulls(number of the column) is true. The error is
/// the one in the first such row of its file.
std::vector<LoadedColumn> load_all(std::span<io::OpenedColumn> columns,
                                   const std::function<bool(std::size_t)>& has_no_nulls);

/// The result columns that elements of `columns` are written to.
std::vector<io::ResultColumn> result_columns(std::span<const io::ColumnInfo> columns);

// ------------------------------------------------------------------------------------------------------------- calls

/// Runs calls on lists, on the CPU or by way of a GPU, and adds up their times.
class ListCalls {
 public:
  /// Throws not_built, no_device.
  explicit ListCalls(const Common& common, Overflow overflow = Overflow::wrap)
      : policy_(common.policy().with_overflow(overflow)) {
    if (common.on_gpu()) device_.emplace(policy_.rung);
  }
  /// Runs calls on the CPU by the top rung: for work in addition to the requested work.
  static ListCalls beside(const Common& common) {
    return ListCalls({.device = "cpu", .rung = {}, .threads = common.threads});
  }

  /// call(device, policy) returns the rung; `device` is null on the CPU. The summary names the rung of the largest
  /// call.
  template <class Call>
  void run(std::int64_t elements, Call call) {
    const Stopwatch watch;
    const std::string_view rung = call(device_ ? &*device_ : nullptr, policy_);
    work_.seconds += watch.seconds();
    if (elements >= most_) {
      most_ = elements;
      work_.rung = rung;
    }
    if (device_) work_.times = device_->times();
  }

  [[nodiscard]] const Work& work() const { return work_; }

 private:
  Policy policy_;
  std::optional<dynamic::Staged> device_;
  std::int64_t most_ = 0;
  Work work_;
};

/// A column whose elements a call moves, and their destination. Its validity, one byte per element, is a second column.
class MovedColumn {
 public:
  /// Allocates memory for n of these elements. `name` is for messages.
  void begin(const Elements& from, std::int64_t n, const std::string& name);

  void add_to(std::vector<ContentColumn>& columns) const;
  [[nodiscard]] io::ResultArray result() const;

 private:
  Elements from_;
  std::int64_t capacity_ = 0;
  io::AlignedBuffer unpacked_;  // from a bitmap of validity
  io::AlignedBuffer elements_;
  io::AlignedBuffer valid_;
};

/// Lists that are stored one after the other, with one content or several.
class Packed {
 public:
  /// Packs them. Throws as pack() does. `name` is for messages about memory.
  void pack(ListCalls& calls, const Lists& lists, std::span<const Elements> contents, const std::string& name);

  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t count() const { return offsets_.back(); }
  /// The elements of one content.
  [[nodiscard]] io::ResultArray result(std::size_t content = 0) const { return moved_[content].result(); }

 private:
  std::vector<std::int64_t> offsets_;
  std::deque<MovedColumn> moved_;  // a deque: its elements cannot be moved themselves
};

/// Packs the lists of columns that are read side by side. Throws the error of the first bad list in a file, in any
/// column. Throws unequal_lengths with the first list that differs from the first column's.
void pack_all(ListCalls& calls, std::span<const io::ListBatch> batches, std::span<const io::ColumnInfo> columns,
              std::deque<Packed>& packed);

// ----------------------------------------------------------------------------------------------------------- reports

/// The data of a summary about a selection or a pack.
struct Moved {
  std::int64_t count = 0;             ///< elements
  std::optional<std::int64_t> lists;  ///< if there are lists
};
void report_moved(const Common& common, const std::optional<std::string>& output, const Moved& moved, const Work& work,
                  std::span<const io::ColumnInfo> columns, const io::ResultWriter* writer);

/// The value of "files" in JSON: the files that were written.
Json files_json(const io::ResultWriter* writer);
/// One line "output FILE" for each file.
std::string files_text(const io::ResultWriter& writer);

}  // namespace upsweep::command
