// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/list_columns.hpp: what the commands on lists have in common: their columns, how they are moved, what they say.
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

/// Throws invalid_argument where standard input is named twice.
void require_one_standard_input(const std::vector<std::string>& sources);

/// Throws unsupported_type, naming the file.
void require_list_bound(const io::ColumnInfo& info);
/// The same of two files, whose bounds are of one type.
void require_list_bounds(const io::ColumnInfo& starts, const io::ColumnInfo& stops);

/// An Error about a list, made one that names the column (`first_list`: of the lists that the call knew of); any other as it is.
[[noreturn]] void rethrow_for_lists(const Error& error, const std::string& name, std::int64_t first_list);

// ----------------------------------------------------------------------------------------------------------- columns

/// Elements in memory, and which of them are not NULL.
struct Elements {
  dynamic::ConstArray array;
  Mask valid = {};
};

/// A column of elements, all of them in memory: where they were read to, or lie.
class LoadedColumn {
 public:
  explicit LoadedColumn(std::unique_ptr<io::ColumnReader> reader);

  [[nodiscard]] const io::ColumnInfo& info() const { return reader_->info(); }
  [[nodiscard]] const Elements& elements() const { return elements_; }
  /// Throws null_value, with the first row that is NULL.
  void require_no_nulls() const;

 private:
  std::unique_ptr<io::ColumnReader> reader_;
  Elements elements_;
};

/// The content of some lists.
[[nodiscard]] Elements elements_of(const io::ListBatch& batch, const io::ColumnInfo& info);

/// Columns of lists that are read side by side, some lists of all at a time, and not copied.
class ListColumns {
 public:
  /// Throws unequal_lengths where they are known not to have as many lists.
  explicit ListColumns(std::vector<io::ListReader*> readers);

  /// The next lists; false at the end. Throws unequal_lengths where one column ends before another.
  bool next();
  /// Of each column as many.
  [[nodiscard]] const std::vector<io::ListBatch>& batches() const { return batches_; }

 private:
  std::vector<io::ListReader*> readers_;
  std::vector<io::ListBatch> left_;  // of each column what is read and was not given out
  std::vector<std::vector<std::uint8_t>>
      valid_;  // of its elements, a byte each: once, not for every batch that is given out
  std::vector<io::ListBatch> batches_;
  std::int64_t given_ = 0;
};

/// Whether no list that is null has elements.
[[nodiscard]] bool nulls_are_empty(const Lists& lists);

/// Opens all of them. An error in a row is the one in the first row of its file, whichever column that is in.
std::vector<io::OpenedColumn> open_all(const std::vector<std::string>& sources, int threads);
/// Throws invalid_argument if some are columns of lists and some are not.
void require_alike(std::span<const io::OpenedColumn> columns);

std::vector<io::ColumnInfo> infos_of(std::span<const io::OpenedColumn> columns);
/// Of columns of lists; null of others.
std::vector<io::ListReader*> readers_of(std::span<const io::OpenedColumn> columns);
/// Of columns of elements. NULL is an error in those of which has_no_nulls(number of the column) is true: the one in the first row of
/// its file.
std::vector<LoadedColumn> load_all(std::span<io::OpenedColumn> columns,
                                   const std::function<bool(std::size_t)>& has_no_nulls);

/// Columns of the results that elements of `columns` are.
std::vector<io::ResultColumn> result_columns(std::span<const io::ColumnInfo> columns);

// ------------------------------------------------------------------------------------------------------------- calls

/// Calls on lists, on the CPU or by way of a GPU, and what they have taken.
class ListCalls {
 public:
  /// Throws not_built, no_device.
  explicit ListCalls(const Common& common, Overflow overflow = Overflow::wrap)
      : policy_(common.policy().with_overflow(overflow)) {
    if (common.on_gpu()) device_.emplace(policy_.rung);
  }
  /// On the CPU, by the top rung: what is done beside the work that is asked for.
  static ListCalls beside(const Common& common) {
    return ListCalls({.device = "cpu", .rung = {}, .threads = common.threads});
  }

  /// call(device, policy) returns the rung; `device` is null on the CPU. The summary names the rung of the most elements.
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

/// A column that a call moves elements of, and where they go; its validity, a byte for each element, is a column too.
class MovedColumn {
 public:
  /// Memory for n of these elements. `name` is for messages.
  void begin(const Elements& from, std::int64_t n, const std::string& name);

  void add_to(std::vector<ContentColumn>& columns) const;
  [[nodiscard]] io::ResultArray result() const;

 private:
  Elements from_;
  std::int64_t capacity_ = 0;
  io::AlignedBuffer unpacked_;  // of a bitmap of validity
  io::AlignedBuffer elements_;
  io::AlignedBuffer valid_;
};

/// Lists that lie one after the other, of one content or of several.
class Packed {
 public:
  /// Packs them. Throws as pack() does. `name` is for messages about memory.
  void pack(ListCalls& calls, const Lists& lists, std::span<const Elements> contents, const std::string& name);

  [[nodiscard]] std::span<const std::int64_t> offsets() const { return offsets_; }
  [[nodiscard]] std::int64_t count() const { return offsets_.back(); }
  /// Of each content.
  [[nodiscard]] io::ResultArray result(std::size_t content = 0) const { return moved_[content].result(); }

 private:
  std::vector<std::int64_t> offsets_;
  std::deque<MovedColumn> moved_;  // which cannot be moved themselves
};

/// Packs the lists of each column, which are columns read side by side. Throws the error of the first bad list in a file, whichever
/// column that is in; unequal_lengths, with the first list that differs from the first column's.
void pack_all(ListCalls& calls, std::span<const io::ListBatch> batches, std::span<const io::ColumnInfo> columns,
              std::deque<Packed>& packed);

// ----------------------------------------------------------------------------------------------------------- reports

/// What a summary says of a selection or a pack.
struct Moved {
  std::int64_t count = 0;             ///< elements
  std::optional<std::int64_t> lists;  ///< where there are such
};
void report_moved(const Common& common, const std::optional<std::string>& output, const Moved& moved, const Work& work,
                  std::span<const io::ColumnInfo> columns, const io::ResultWriter* writer);

/// "files": those that are written, for JSON.
Json files_json(const io::ResultWriter* writer);
/// "output FILE", and a line for each more.
std::string files_text(const io::ResultWriter& writer);

}  // namespace upsweep::command
