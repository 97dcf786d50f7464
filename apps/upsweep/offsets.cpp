// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/offsets.cpp: `upsweep offsets`: computes the offsets of lists from their starts and stops, chunk by
// chunk.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/first_fault.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The bounds of some lists; at the end, null pointers and zero lists.
struct Bounds {
  const void* starts = nullptr;
  const void* stops = nullptr;
  std::int64_t count = 0;
};

class BoundsReader {
 public:
  virtual ~BoundsReader() = default;
  /// Returns the next `count` lists, fewer only at the end.
  virtual Bounds next(std::int64_t count) = 0;
  [[nodiscard]] virtual const io::ColumnInfo& info() const = 0;
  /// The name of the columns in messages.
  [[nodiscard]] virtual std::string name() const = 0;
  /// The number of all lists, or -1 if only the end of the input shows it.
  [[nodiscard]] virtual std::int64_t lists() const = 0;
};

/// The names of two columns of bounds for messages. The two may be one column.
std::string names_of(const io::ColumnInfo& starts, const io::ColumnInfo& stops) {
  return starts.name == stops.name ? starts.name : fmt::format("{}, {}", starts.name, stops.name);
}

/// The number of all lists, or -1 if a length is not known. Throws if types, or lengths before any work, do not match.
std::int64_t count_lists(const io::ColumnInfo& starts, const io::ColumnInfo& stops, const OffsetsOptions& options) {
  require_list_bounds(starts, stops);
  if (starts.count < 0 || stops.count < 0) return -1;
  try {
    return detail::list_count(starts.count, stops.count, options.starts_offset, options.stops_offset, options.length);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", names_of(starts, stops), error.what()));
  }
}

void skip_to(io::ColumnReader& column, std::int64_t offset) {
  const std::int64_t skipped = column.skip(offset);
  if (skipped == offset) return;
  throw Error(Code::unequal_lengths,
              fmt::format("{} has {} elements: too few for offset {}", column.info().name, skipped, offset));
}

/// Starts and stops from two columns.
class TwoColumns : public BoundsReader {
 public:
  TwoColumns(const OffsetsOptions& options, const Common& common) : options_(options) {
    io::FirstFault faults;
    faults.attempt(options.starts,
                   [&] { starts_ = io::open_column(options.starts, common.threads, io::Nulls::refused, common.csv); });
    faults.attempt(options.stops,
                   [&] { stops_ = io::open_column(options.stops, common.threads, io::Nulls::refused, common.csv); });
    faults.rethrow();
    take_remarks(starts_->remarks(), common.shows_remarks());
    take_remarks(stops_->remarks(), common.shows_remarks());
    lists_ = count_lists(starts_->info(), stops_->info(), options);
    skip_to(*starts_, options.starts_offset);
    skip_to(*stops_, options.stops_offset);
  }

  Bounds next(std::int64_t count) override {
    if (options_.length >= 0) count = std::min(count, options_.length - done_);
    if (count == 0) return {};
    io::Chunk starts;
    io::Chunk stops;
    io::FirstFault faults;
    faults.attempt(options_.starts, [&] { starts = starts_->next(count); });
    faults.attempt(options_.stops, [&] { stops = stops_->next(count); });
    faults.rethrow();
    if (starts.count != stops.count || (options_.length >= 0 && starts.count < count)) end_too_early(starts, stops);
    done_ += starts.count;
    return {starts.data, stops.data, starts.count};
  }

  [[nodiscard]] const io::ColumnInfo& info() const override { return starts_->info(); }
  [[nodiscard]] std::string name() const override { return names_of(starts_->info(), stops_->info()); }
  [[nodiscard]] std::int64_t lists() const override { return lists_; }

 private:
  [[noreturn]] void end_too_early(const io::Chunk& starts, const io::Chunk& stops) const {
    const bool starts_end = starts.count <= stops.count;
    const std::int64_t have = done_ + std::min(starts.count, stops.count);
    throw Error(Code::unequal_lengths,
                fmt::format("{} has {} elements after offset {}: {}", (starts_end ? starts_ : stops_)->info().name,
                            have, starts_end ? options_.starts_offset : options_.stops_offset,
                            options_.length >= 0 ? fmt::format("too few for length {}", options_.length)
                                                 : std::string("the other has more; use --length to read fewer")));
  }

  std::unique_ptr<io::ColumnReader> starts_;
  std::unique_ptr<io::ColumnReader> stops_;
  const OffsetsOptions& options_;
  std::int64_t lists_ = -1;
  std::int64_t done_ = 0;
};

/// Starts and stops that are one column, one element apart. It is read once, and cpu.adjacent can run.
class OneColumn : public BoundsReader {
 public:
  OneColumn(const OffsetsOptions& options, const Common& common)
      : column_(io::open_column(options.starts, common.threads, io::Nulls::refused, common.csv)),
        left_(options.length) {
    take_remarks(column_->remarks(), common.shows_remarks());
    (void)count_lists(column_->info(), column_->info(), options);
    size_ = static_cast<std::size_t>(size_of(column_->info().type));
    bounds_.resize(static_cast<std::size_t>(chunk_length(common, column_->info(), kDeviceLength) + 1) * size_);
    skip_to(*column_, options.starts_offset);
    const io::Chunk first = column_->next(1);
    if (first.count == 1) std::memcpy(bounds_.data(), first.data, size_);
  }

  Bounds next(std::int64_t count) override {
    count = std::min(count, left_);
    if (count == 0) return {};
    if (last_ > 0) std::memcpy(bounds_.data(), bounds_.data() + static_cast<std::size_t>(last_) * size_, size_);
    const io::Chunk stops = column_->next(count);
    if (stops.count < count) {
      throw Error(Code::unequal_lengths, fmt::format("{} ends {} elements too early for the requested length",
                                                     column_->info().name, left_ - stops.count));
    }
    std::memcpy(bounds_.data() + size_, stops.data, static_cast<std::size_t>(stops.count) * size_);
    last_ = stops.count;
    left_ -= stops.count;
    return {bounds_.data(), bounds_.data() + size_, stops.count};
  }

  [[nodiscard]] const io::ColumnInfo& info() const override { return column_->info(); }
  [[nodiscard]] std::string name() const override { return column_->info().name; }
  [[nodiscard]] std::int64_t lists() const override { return left_; }

 private:
  std::unique_ptr<io::ColumnReader> column_;
  std::vector<std::byte> bounds_;
  std::size_t size_ = 0;
  std::int64_t last_ = 0;  // lists in the previous chunk: its last stop is the first start of the next
  std::int64_t left_;
};

std::unique_ptr<BoundsReader> open_bounds(const OffsetsOptions& options, const Common& common) {
  // Without --length such a column never fits: it has one element more after the first offset than after the second.
  const bool adjacent = options.starts == options.stops && options.starts != "-" && options.length >= 0 &&
                        options.stops_offset - options.starts_offset == 1;
  if (adjacent) return std::make_unique<OneColumn>(options, common);
  return std::make_unique<TwoColumns>(options, common);
}

Work offsets_of_chunks(const Common& common, BoundsReader& reader, const Policy& asked, bool strict,
                       OffsetsCarry& carry, io::ResultWriter* writer) {
  const std::int64_t length = chunk_length(common, reader.info(), kDeviceLength);
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(length + 1));
  const Type type = reader.info().type;
  const auto write = [&](const std::int64_t* from, std::int64_t n) {
    const io::ResultArray columns[] = {{from}};
    if (writer != nullptr) writer->write(columns, n);
  };
  write(offsets.data(), 1);  // offsets[0] = 0
  const auto run = [&](dynamic::Staged* device, const Policy& policy, const Bounds& bounds) {
    const dynamic::ConstArray starts{bounds.starts, bounds.count, type};
    const dynamic::ConstArray stops{bounds.stops, bounds.count, type};
    try {
      return device != nullptr ? device->offsets(starts, stops, offsets.data(), carry, strict)
                               : dynamic::offsets(policy, starts, stops, offsets.data(), carry, strict);
    } catch (const Error& error) {
      rethrow_for_lists(error, reader.name(), 0);
    }
  };
  const auto done = [&](const Bounds& bounds) { write(offsets.data() + 1, bounds.count); };
  return work_on_chunks(common, asked, "compacting", reader.lists(), [&] { return reader.next(length); }, run, done);
}

void report(const Common& common, const OffsetsOptions& options, const Work& work, std::int64_t total) {
  if (common.json) {
    Json result{
        {"count", work.count + 1}, {"dtype", "int64"}, {"lists", work.count}, {"last", total}, {"rung", work.rung}};
    work.add_times(result);
    result["output"] = options.output ? Json(*options.output) : Json();
    print_json(result);
    return;
  }
  if (options.output == "-" || (common.quiet && options.output)) return;
  std::string text =
      fmt::format("lists  {}\ncount  {} offsets\ntype   int64\nfirst  0\nlast   {}\nrung   {}\ntime   {}\n",
                  grouped(work.count), grouped(work.count + 1), total, work.rung, work.time_text());
  if (options.output) text += fmt::format("output {}\n", printable(*options.output));
  print(text);
}

}  // namespace

int run_offsets(const Common& common, const OffsetsOptions& asked) {
  OffsetsOptions options = asked;
  const io::ResultFormat format = settle_output(common, options);
  if (options.starts == "-" && options.stops == "-") refuse("STARTS and STOPS cannot both be standard input");
  const Policy policy = common.policy();
  const auto reader = open_bounds(options, common);
  std::unique_ptr<io::ResultWriter> writer;
  const std::int64_t lists = reader->lists();
  if (options.output) {
    writer = io::open_results(*options.output, format, io::Shape::values, {{.name = "offsets"}}, cell_text(format),
                              lists >= 0 ? lists + 1 : -1);
  }
  OffsetsCarry carry;
  const Work work = offsets_of_chunks(common, *reader, policy, options.strict, carry, writer.get());
  name_and_report(writer.get(), [&] { report(common, options, work, carry.total); });
  return 0;
}

}  // namespace upsweep::command
