// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/scan.cpp: `upsweep scan`: scans a column of any length chunk by chunk in bounded memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "along.hpp"
#include "chunks.hpp"
#include "column_files.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/npy_writer.hpp"
#include "io/posix.hpp"
#include "io/result_writer.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "text_table.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "upsweep/types.hpp"
#include "valid_elements.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// An element of any type.
struct Element {
  alignas(8) std::byte bytes[8] = {};
};

/// The first and the last outputs.
class Ends {
 public:
  static constexpr int kEach = 4;

  void add(const std::byte* outputs, std::int64_t count, std::int64_t size) {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(count, kEach); ++i) add_first(outputs + i * size, size);
    for (std::int64_t i = std::max<std::int64_t>(count - kEach, 0); i < count; ++i) add_last(outputs + i * size, size);
    count_ += count;
  }
  void add(const Ends& next) {
    for (std::int64_t i = 0; i < next.shown(); ++i) add_first(next.first(i), sizeof(Element));
    for (std::int64_t i = next.shown(); i > 0; --i) add_last(next.last(i), sizeof(Element));
    count_ += next.count_;
  }
  /// The number of all outputs.
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The number of outputs at each end.
  [[nodiscard]] std::int64_t shown() const { return std::min<std::int64_t>(count_, kEach); }
  [[nodiscard]] const std::byte* first(std::int64_t i) const { return first_[i].bytes; }
  /// The output that is `i` from the end: 1 is the last one.
  [[nodiscard]] const std::byte* last(std::int64_t i) const { return last_[kEach - i].bytes; }

 private:
  void add_first(const std::byte* output, std::int64_t size) {
    if (firsts_ < kEach) std::memcpy(first_[firsts_++].bytes, output, static_cast<std::size_t>(size));
  }
  void add_last(const std::byte* output, std::int64_t size) {
    std::copy(last_ + 1, last_ + kEach, last_);
    std::memcpy(last_[kEach - 1].bytes, output, static_cast<std::size_t>(size));
  }

  std::int64_t count_ = 0;
  std::int64_t firsts_ = 0;
  Element first_[kEach];
  Element last_[kEach];
};

/// The results of a scan that the summary needs.
struct Scanned {
  Work work;
  Ends ends;

  [[nodiscard]] std::int64_t count() const { return ends.count(); }
  Scanned& operator+=(const Scanned& next) {
    ends.add(next.ends);
    work += next.work;
    return *this;
  }
};

/// Converts scaled integers to the float64 nearest to the decimal. Sums are tracked in 128 bits, where they cannot
/// overflow: consecutive sums differ by an element. This also holds after the 64-bit sums have wrapped (modulo 2^64).
class Unscaled {
 public:
  /// `before`: the value before the first element, or 0.
  Unscaled(Operator op, int scale, Int128 before)
      : op_(op), scale_(scale), exact_(before), last_(static_cast<std::int64_t>(before)) {}

  /// Converts in place.
  void convert(std::byte* elements, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i, elements += sizeof(double)) {
      std::int64_t element = 0;
      std::memcpy(&element, elements, sizeof element);
      const double value = next(element);
      std::memcpy(elements, &value, sizeof value);
    }
  }

 private:
  double next(std::int64_t element) {
    if (op_ == Operator::add) {
      exact_ += static_cast<std::int64_t>(static_cast<std::uint64_t>(element) - static_cast<std::uint64_t>(last_));
      last_ = element;
      return decimal_value(exact_, scale_);
    }
    // The identity is not a decimal of 18 digits.
    if (element == identity<std::int64_t>(op_)) return identity<double>(op_);
    return decimal_value(element, scale_);
  }

  Operator op_;
  int scale_;
  Int128 exact_;
  std::int64_t last_;
};

/// The parameters that are the same for every file.
struct ScanPlan {
  io::ColumnInfo info;
  Type type;
  Type given;
  dynamic::ScanOptions how;
  dynamic::Carry carry;  ///< before the first file
  Policy policy;
  std::int64_t device_bytes;
  bool skips_nulls;

  /// Whether an output may precede all elements.
  [[nodiscard]] bool may_lack_values() const { return !carry.any() && (how.exclusive || skips_nulls); }
  [[nodiscard]] bool gives_floats() const { return given != type; }
};

ScanPlan plan_of(const Common& common, const ScanOptions& options, const io::ColumnInfo& read) {
  io::ColumnInfo info = meaning_of(read, options.dtype);
  const Type computed = parse_dtype(options.dtype, info);
  const dynamic::ScanOptions how{.op = parse_op(options.op, info, computed), .exclusive = options.exclusive};
  const Type type = type_by(how.op, computed, options.dtype, info);
  const dynamic::Carry carry = options.init ? parse_carry(*options.init, type, info, "--init") : dynamic::Carry(type);
  const Policy policy = common.policy().with_overflow(parse_overflow(options.overflow, how.op, type));
  return {.info = info,
          .type = type,
          .given = given_type(type, options.dtype),
          .how = how,
          .carry = carry,
          .policy = policy,
          .device_bytes = parse_device_memory(options.device_memory),
          .skips_nulls = options.nulls == "skip"};
}

/// Throws overflow about the output of a row of the whole column.
[[noreturn]] void throw_overflow(const io::ColumnInfo& info, Type type, std::int64_t row) {
  throw Error(Code::overflow,
              fmt::format("{}: output {} does not fit {}: choose {} or --overflow wrap", info.name, row, name(type),
                          is_scaled(type, info) ? "--dtype float64" : "a wider --dtype"),
              row);
}

/// The first row of a chunk that has the output of element `index`. In an exclusive scan, the NULL rows before an
/// element also have its output.
std::int64_t first_row(const ValidChunk& chunk, std::int64_t index, const dynamic::ScanOptions& how) {
  if (!how.exclusive) return chunk.row(index);
  return index == 0 ? 0 : chunk.row(index - 1) + 1;
}

/// Writes `count` outputs.
using Write = std::function<void(const std::byte* outputs, std::int64_t count)>;

/// The value of a carry as an output.
Element output_of(const dynamic::Carry& carry, const ScanPlan& plan) {
  Element output;
  if (plan.gives_floats()) {
    const double value =
        carry.any() ? decimal_value(exact_value(carry), plan.info.scale) : identity<double>(plan.how.op);
    std::memcpy(output.bytes, &value, sizeof value);
  } else {
    (carry.any() ? carry : dynamic::Carry::identity(plan.how.op, plan.type)).value(output.bytes);
  }
  return output;
}

/// Writes one output for each row. A row that is NULL has the running value: the value that precedes it.
class RowOutputs {
 public:
  /// `running`: the value before the first row.
  RowOutputs(const Write& write, const ScanPlan& plan, const Element& running)
      : write_(write),
        type_(plan.given),
        size_(size_of(plan.given)),
        exclusive_(plan.how.exclusive),
        running_(running) {}

  /// The outputs of a chunk's elements, and those of the NULL rows that precede them.
  void add(const std::byte* outputs, const ValidChunk& chunk) {
    if (chunk.rows.empty()) {
      put(outputs, chunk.count);
    } else {
      const Stopwatch watch;
      const double before = written_;
      visit_type(type_, [&]<class T>(std::type_identity<T>) { spread(reinterpret_cast<const T*>(outputs), chunk); });
      seconds_ += watch.seconds() - (written_ - before);
    }
    std::memcpy(running_.bytes, outputs + (chunk.count - 1) * size_, static_cast<std::size_t>(size_));
  }
  /// The rows that are NULL after the last element. `total`: the value of all elements.
  void add_nulls_at_end(std::int64_t count, const Element& total) {
    const Element& value = exclusive_ ? total : running_;
    const std::int64_t most = kMost / size_;
    rows_.reserve(std::min(count, most), size_, kWhat);
    for (std::int64_t i = 0; i < std::min(count, most); ++i) {
      std::memcpy(rows_.data() + i * size_, value.bytes, static_cast<std::size_t>(size_));
    }
    for (; count > 0; count -= std::min(count, most)) put(rows_.data(), std::min(count, most));
  }
  [[nodiscard]] const Ends& ends() const { return ends_; }
  /// The time that the copies took, without that of the writes.
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 20;  // bytes that are kept before they are written
  static constexpr const char* kWhat = "the outputs of rows";

  template <class T>
  void spread(const T* outputs, const ValidChunk& chunk) {
    constexpr std::int64_t kRows = kMost / sizeof(T);
    rows_.reserve(kRows, sizeof(T), kWhat);
    T* const to = reinterpret_cast<T*>(rows_.data());
    T running;
    std::memcpy(&running, running_.bytes, sizeof running);
    std::int64_t first = 0;  // the row of to[0]
    std::int64_t at = 0;     // outputs in `to`
    for (std::int64_t i = 0; i < chunk.count; ++i) {
      // In an exclusive scan, the output of an element is the value before it.
      const T value = exclusive_ ? outputs[i] : running;
      std::int64_t end = chunk.row(i) - first;
      for (; end >= kRows; end -= kRows, first += kRows, at = 0) {
        std::fill(to + at, to + kRows, value);
        put(rows_.data(), kRows);
      }
      for (; at < end; ++at) to[at] = value;
      to[at++] = running = outputs[i];
    }
    put(rows_.data(), at);
  }
  void put(const std::byte* outputs, std::int64_t count) {
    if (count == 0) return;
    const Stopwatch watch;
    write_(outputs, count);
    ends_.add(outputs, count, size_);
    written_ += watch.seconds();
  }

  const Write& write_;
  Type type_;
  std::int64_t size_;
  bool exclusive_;
  Element running_;
  Ends ends_;
  io::AlignedBuffer rows_;
  double seconds_ = 0;
  double written_ = 0;  // seconds
};

/// Scans one file's column. `before` rows of earlier files precede it. Advances the carry of their elements.
Scanned scan_chunks(const Common& common, io::ColumnReader& reader, const ScanPlan& plan, std::int64_t before,
                    dynamic::Carry& carry, const Write& write) {
  const io::ColumnInfo& info = reader.info();
  const auto size = static_cast<std::size_t>(size_of(plan.type));
  std::vector<std::byte> out(static_cast<std::size_t>(chunk_length(common, info, kDeviceLengthInChunks)) * size);
  std::optional<Unscaled> unscaled;
  ValidElements elements(reader);
  RowOutputs rows(write, plan, output_of(carry, plan));
  if (plan.gives_floats()) unscaled.emplace(plan.how.op, plan.info.scale, carry.any() ? exact_value(carry) : 0);
  const Policy asked = unscaled ? plan.policy.with_overflow(Overflow::wrap) : plan.policy;
  const auto run = [&](dynamic::Staged* device, const Policy& policy, const ValidChunk& chunk) {
    const dynamic::ConstArray from{chunk.data, chunk.count, info.type};
    const dynamic::Array to{out.data(), chunk.count, plan.type};
    try {
      return device != nullptr ? device->scan(policy.overflow, plan.how, from, to, carry)
                               : dynamic::scan(policy, plan.how, from, to, carry);
    } catch (const Error& error) {
      if (error.code() != Code::overflow) throw;
      throw_overflow(info, plan.type, before + rows.ends().count() + first_row(chunk, error.index(), plan.how));
    }
  };
  const auto done = [&](const ValidChunk& chunk) {
    if (unscaled) unscaled->convert(out.data(), chunk.count);
    rows.add(out.data(), chunk);
  };
  Work work = work_on_chunks(
      common, asked, "scanning", reader.expected_count(),
      [&] { return elements.next(chunk_length(common, info, kDeviceLengthInChunks)); }, run, done, plan.device_bytes);
  const bool shows_total = elements.nulls_at_end() > 0 && plan.how.exclusive;
  if (shows_total && !unscaled && carry.wraps() != 0) {
    throw_overflow(info, plan.type, before + rows.ends().count());
  }
  rows.add_nulls_at_end(elements.nulls_at_end(), output_of(carry, plan));
  work.seconds += elements.seconds() + rows.seconds();
  return {work, rows.ends()};
}

io::ResultColumn output_column(const ScanPlan& plan) {
  io::ResultColumn column = column_of(plan.info, plan.given, plan.how.op);
  if (!plan.may_lack_values()) column.no_value.reset();
  return column;
}

std::unique_ptr<io::ResultWriter> open_output(const std::string& path, io::ResultFormat format, const ScanPlan& plan,
                                              std::int64_t count) {
  return io::open_results(path, format, io::Shape::values, {output_column(plan)}, cell_text(format), count);
}

Write write_to(io::ResultWriter* writer) {
  return [writer](const std::byte* outputs, std::int64_t count) {
    const io::ResultArray columns[] = {{outputs}};
    if (writer != nullptr) writer->write(columns, count);
  };
}

/// The first and the last outputs, with the numbers of their rows.
std::string table_of(const Ends& ends, const std::string& op, Type type, const io::ColumnInfo& info) {
  const std::int64_t count = ends.count();
  TextTable table({{"row"}, {"running " + (op == "add" ? "sum" : op)}});
  for (std::int64_t i = 0; i < ends.shown(); ++i) table.add({grouped(i), to_text(ends.first(i), type, info)});
  const std::int64_t last = std::max(count - ends.shown(), ends.shown());  // the first row of the last ones
  if (last > ends.shown()) table.add({"...", "..."});
  for (std::int64_t i = last; i < count; ++i) table.add({grouped(i), to_text(ends.last(count - i), type, info)});
  return table.text();
}

void report(const Common& common, const ScanOptions& options, io::ResultFormat format, const Scanned& scanned,
            Type type, const io::ColumnInfo& info) {
  const Work& work = scanned.work;
  const bool any = scanned.count() > 0;
  const std::byte* const last = scanned.ends.last(1);
  if (common.json) {
    Json result{{"count", scanned.count()},
                {"dtype", type_word(type, info)},
                {"first", any ? to_json(scanned.ends.first(0), type, info) : Json()},
                {"last", any ? to_json(last, type, info) : Json()},
                {"rung", work.rung}};
    work.add_times(result);
    if (options.nulls == "skip") result["nulls"] = work.nulls;
    result["output"] = options.output ? Json(*options.output) : Json();
    if (is_scaled(type, info)) result["scale"] = info.scale;
    print_json(result);
    return;
  }
  if (common.quiet && options.output) return;
  const bool stores_numbers = options.output && !io::is_table(format);
  const std::string stored = any && stores_numbers ? stored_text(last, type, info) : "";
  if (options.output == "-") {
    if (!stored.empty()) remark(fmt::format("the values are {}", stored));
    return;
  }
  const bool shows_table = any && !options.output && options.files.empty() && is_terminal("-");
  std::string text = fmt::format("count  {}\ntype   {}\n", grouped(scanned.count()), type_text(type, info));
  if (options.nulls == "skip") text += fmt::format("nulls  {}\n", grouped(work.nulls));
  if (any && !shows_table) {
    text +=
        fmt::format("first  {}\nlast   {}\n", to_text(scanned.ends.first(0), type, info), to_text(last, type, info));
  }
  text += fmt::format("rung   {}\ntime   {}\n", work.rung, work.time_text());
  if (work.way) text += wrapped(fmt::format("limit  {}", limit_text(*work.way)), 7) + "\n";
  if (options.output) text += fmt::format("output {}\n", printable(*options.output));
  if (!stored.empty()) text += fmt::format("scale  the values in {} are {}\n", printable(*options.output), stored);
  if (shows_table) text += "\n" + table_of(scanned.ends, options.op, type, info);
  print(text);
}

/// The results of all ranks.
Scanned gathered(const Ranks& ranks, const Scanned& mine) {
  static_assert(std::is_trivially_copyable_v<Ends>);
  std::string bytes(sizeof mine.ends, '\0');
  std::memcpy(bytes.data(), &mine.ends, sizeof mine.ends);
  Scanned all{.work = {.nulls = total(ranks, mine.work.nulls), .rung = mine.work.rung}, .ends = {}};
  for (const std::string& one : ranks.gather(bytes)) {
    Ends next;
    std::memcpy(&next, one.data(), sizeof next);
    all.ends.add(next);
  }
  all.work.seconds = slowest(ranks, mine.work);
  all.work.times = mine.work.times;
  all.work.way = mine.work.way;
  return all;
}

/// The output of one rank. All ranks of the run have the same kind.
class RankOutput {
 public:
  virtual ~RankOutput() = default;
  virtual void write(const std::byte* outputs, std::int64_t count) = 0;
  /// Writes all that remains, except the name.
  virtual void complete() = 0;
  /// Names the output. `count` is the number of outputs of all ranks.
  virtual void name(std::int64_t count) = 0;
  /// Only after name().
  virtual void take_back() noexcept = 0;
};

class NoFile final : public RankOutput {
 public:
  void write(const std::byte* /*outputs*/, std::int64_t /*count*/) override {}
  void complete() override {}
  void name(std::int64_t /*count*/) override {}
  void take_back() noexcept override {}
};

class OwnFile final : public RankOutput {
 public:
  OwnFile(const std::string& path, io::ResultFormat format, const ScanPlan& plan)
      : writer_(open_output(path, format, plan, -1)) {}
  void write(const std::byte* outputs, std::int64_t count) override { write_to(writer_.get())(outputs, count); }
  void complete() override { writer_->complete(); }
  void name(std::int64_t /*count*/) override { writer_->close(); }
  void take_back() noexcept override { writer_->take_back(); }

 private:
  std::unique_ptr<io::ResultWriter> writer_;
};

/// Rank 0 creates the file, into which the others write at their offsets, and names it.
class RangeOfFile final : public RankOutput {
 public:
  RangeOfFile(Ranks& ranks, const std::string& path, const io::ResultColumn& column, std::int64_t first)
      : is_first_(ranks.rank() == 0) {
    ranks.run([&] {
      if (!is_first_) return;
      writer_ = std::make_unique<io::SharedNpyWriter>(path, column.type, io::npy_descr(column));
    });
    ranks.settle();
    const std::string temporary = ranks.from_first(is_first_ ? writer_->temporary_path() : "");
    ranks.run([&] {
      if (!is_first_) writer_ = std::make_unique<io::SharedNpyWriter>(path, column.type, temporary, first);
    });
    ranks.settle();
  }
  void write(const std::byte* outputs, std::int64_t count) override { writer_->write(outputs, count); }
  void complete() override { writer_->complete(); }
  void name(std::int64_t count) override {
    if (is_first_) writer_->close(count);
  }
  void take_back() noexcept override {
    if (is_first_) writer_->take_back();
  }

 private:
  bool is_first_;
  std::unique_ptr<io::SharedNpyWriter> writer_;
};

/// `first` is the index of this rank's first output among all outputs.
std::unique_ptr<RankOutput> open_rank_output(Ranks& ranks, const ScanOptions& options, io::ResultFormat format,
                                             const ScanPlan& plan, std::int64_t first) {
  if (!options.output) return std::make_unique<NoFile>();
  if (options.one_file) return std::make_unique<RangeOfFile>(ranks, *options.output, output_column(plan), first);
  std::unique_ptr<RankOutput> own;
  ranks.run([&] {
    own = std::make_unique<OwnFile>(name_for_rank(*options.output, std::to_string(ranks.rank())), format, plan);
  });
  return own;
}

/// Gives all output files their names, or none if one name cannot be used.
void name_output(Ranks& ranks, RankOutput& output, std::int64_t count) {
  bool has_name = false;
  ranks.run([&] {
    output.name(count);
    has_name = true;
  });
  try {
    ranks.settle();
  } catch (...) {
    if (has_name) output.take_back();
    throw;
  }
}

void require_output_of_ranks(const ScanOptions& options, io::ResultFormat format) {
  if (options.output == "-") refuse("--mpi: the ranks write files, so -o needs the name of a file");
  if (options.one_file && io::is_table(format)) {
    refuse("--one-file: {} must be written front to back; several ranks can only write .npy", *options.output);
  }
}

/// Each rank folds its files, which tells the others what precedes theirs. It then reads its files again and scans
/// them.
int scan_on_ranks(const Common& common, const ScanOptions& options, io::ResultFormat format) {
  Ranks ranks(common.command_line);
  const std::vector<std::string> files = ranks.share_of(options.files);
  std::optional<ScanPlan> plan;
  std::optional<Folded> mine;
  ranks.run([&] {
    require_output_of_ranks(options, format);
    plan = plan_of(common, options, open_input(common, options.files.front(), options.nulls)->info());
    mine = Folded{dynamic::Carry(plan->type)};
    if (ranks.rank() + 1 == ranks.size()) return;
    // By the best rung of reduce: a requested rung belongs to scan's ladder.
    const Overflow overflow = parse_overflow("", plan->how.op, plan->type);
    const Policy policy = plan->policy.with_rung({}).with_overflow(overflow);
    for (const std::string& file : files) {
      const auto reader = open_file(common, file, plan->info, options.nulls);
      const Work work = fold_column(common, policy, plan->how.op, *reader, mine->carry, plan->device_bytes);
      mine->count += work.count + work.nulls;
    }
  });
  ranks.settle();

  Folded before = fold_ranks(ranks, plan->how.op, {plan->carry}, *mine, ranks.rank());
  const auto output = open_rank_output(ranks, options, format, *plan, before.count);
  Scanned scanned;
  ranks.run([&] {
    const Write write = [&](const std::byte* outputs, std::int64_t count) { output->write(outputs, count); };
    for (const std::string& file : files) {
      const auto reader = open_file(common, file, plan->info, options.nulls);
      scanned += scan_chunks(common, *reader, *plan, before.count + scanned.count(), before.carry, write);
    }
    output->complete();
  });
  ranks.settle();
  const Scanned all = gathered(ranks, scanned);
  name_output(ranks, *output, all.count());

  ScanOptions shown = options;
  if (options.output && !options.one_file) shown.output = name_for_rank(*options.output, "*");
  ranks.run([&] {
    if (ranks.reports()) report(common, shown, format, all, plan->given, plan->info);
  });
  ranks.settle();
  return 0;
}

}  // namespace

int run_scan(const Common& common, const ScanOptions& asked) {
  if (asked.axis) return scan_along_axis(common, asked);
  ScanOptions options = asked;
  const io::ResultFormat format = settle_output(common, options, !asked.files.empty());
  if (!options.files.empty()) return scan_on_ranks(common, options, format);
  const auto reader = open_input(common, options.input, options.nulls);
  const ScanPlan plan = plan_of(common, options, reader->info());
  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) writer = open_output(*options.output, format, plan, plan.info.count);
  dynamic::Carry carry = plan.carry;
  const Write write = write_to(writer.get());
  const Scanned scanned = scan_chunks(common, *reader, plan, 0, carry, write);
  name_and_report(writer.get(), [&] { report(common, options, format, scanned, plan.given, plan.info); });
  return 0;
}

}  // namespace upsweep::command
