// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/scan.cpp: `upsweep scan`: scans a column of any length chunk by chunk in bounded memory.
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "column_files.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/npy_writer.hpp"
#include "io/result_writer.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The results of a scan that the summary needs.
struct Scanned {
  Work work;
  alignas(8) std::byte first[8] = {};
  alignas(8) std::byte last[8] = {};

  Scanned& operator+=(const Scanned& next) {
    if (work.count == 0) std::memcpy(first, next.first, sizeof first);
    if (next.work.count > 0) std::memcpy(last, next.last, sizeof last);
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

  [[nodiscard]] bool gives_floats() const { return given != type; }
};

ScanPlan plan_of(const Common& common, const ScanOptions& options, const io::ColumnInfo& read) {
  const io::ColumnInfo info = meaning_of(read, options.dtype);
  const Type type = parse_dtype(options.dtype, info);
  const dynamic::ScanOptions how{.op = parse_op(options.op, info, type), .exclusive = options.exclusive};
  const dynamic::Carry carry = options.init ? parse_carry(*options.init, type, info, "--init") : dynamic::Carry(type);
  const Policy policy = common.policy().with_overflow(parse_overflow(options.overflow, how.op, type));
  return {info, type, given_type(type, options.dtype), how, carry, policy, parse_device_memory(options.device_memory)};
}

/// Rethrows an Error about output `index` of a chunk as one about the whole column.
[[noreturn]] void rethrow_for_column(const Error& error, const io::ColumnInfo& info, Type type, std::int64_t before) {
  if (error.code() != Code::overflow) throw error;
  const std::int64_t index = before + error.index();
  throw Error(Code::overflow,
              fmt::format("{}: output {} does not fit {}: choose {} or --overflow wrap", info.name, index, name(type),
                          is_scaled(type, info) ? "--dtype float64" : "a wider --dtype"),
              index);
}

/// Writes `count` outputs.
using Write = std::function<void(const std::byte* outputs, std::int64_t count)>;

/// Scans one file's column. `before` elements of earlier files precede it. Advances the carry of those elements.
Scanned scan_chunks(const Common& common, io::ColumnReader& reader, const ScanPlan& plan, std::int64_t before,
                    dynamic::Carry& carry, const Write& write) {
  const io::ColumnInfo& info = reader.info();
  const auto size = static_cast<std::size_t>(size_of(plan.type));
  std::vector<std::byte> out(static_cast<std::size_t>(chunk_length(common, info, kDeviceLengthInChunks)) * size);
  std::optional<Unscaled> unscaled;
  if (plan.gives_floats()) unscaled.emplace(plan.how.op, plan.info.scale, carry.any() ? exact_value(carry) : 0);
  const Policy asked = unscaled ? plan.policy.with_overflow(Overflow::wrap) : plan.policy;
  Scanned scanned;
  std::int64_t count = 0;
  const auto run = [&](dynamic::Staged* device, const Policy& policy, const io::Chunk& chunk) {
    const dynamic::ConstArray from{chunk.data, chunk.count, info.type};
    const dynamic::Array to{out.data(), chunk.count, plan.type};
    try {
      return device != nullptr ? device->scan(policy.overflow, plan.how, from, to, carry)
                               : dynamic::scan(policy, plan.how, from, to, carry);
    } catch (const Error& error) {
      rethrow_for_column(error, info, plan.type, before + count);
    }
  };
  const auto done = [&](const io::Chunk& chunk) {
    if (unscaled) unscaled->convert(out.data(), chunk.count);
    write(out.data(), chunk.count);
    if (count == 0) std::memcpy(scanned.first, out.data(), size);
    std::memcpy(scanned.last, out.data() + static_cast<std::size_t>(chunk.count - 1) * size, size);
    count += chunk.count;
  };
  scanned.work = work_on_chunks(
      common, asked, "scanning", info.count,
      [&] { return reader.next(chunk_length(common, info, kDeviceLengthInChunks)); }, run, done, plan.device_bytes);
  return scanned;
}

io::ResultColumn output_column(const ScanPlan& plan) { return column_of(plan.info, plan.given, plan.how.op); }

std::unique_ptr<io::ResultWriter> open_output(const std::string& path, const ScanPlan& plan, std::int64_t count) {
  return io::open_results(path, io::Shape::values, {output_column(plan)}, count);
}

Write write_to(io::ResultWriter* writer) {
  return [writer](const std::byte* outputs, std::int64_t count) {
    const io::ResultArray columns[] = {{outputs}};
    if (writer != nullptr) writer->write(columns, count);
  };
}

void report(const Common& common, const ScanOptions& options, const Scanned& scanned, Type type,
            const io::ColumnInfo& info) {
  const Work& work = scanned.work;
  const bool any = work.count > 0;
  if (common.json) {
    Json result{{"count", work.count},
                {"dtype", name(type)},
                {"first", any ? to_json(scanned.first, type, info) : Json()},
                {"last", any ? to_json(scanned.last, type, info) : Json()},
                {"rung", work.rung}};
    work.add_times(result);
    result["output"] = options.output ? Json(*options.output) : Json();
    if (is_scaled(type, info)) result["scale"] = info.scale;
    print_json(result);
    return;
  }
  if (common.quiet && options.output) return;
  const bool stores_numbers = options.output && !io::is_arrow_name(*options.output);
  const std::string stored = any && stores_numbers ? stored_text(scanned.last, type, info) : "";
  if (options.output == "-") {
    if (!stored.empty()) remark(fmt::format("the values are {}", stored));
    return;
  }
  std::string text = fmt::format("count  {}\ntype   {}\n", grouped(work.count), type_text(type, info));
  if (any) {
    text +=
        fmt::format("first  {}\nlast   {}\n", to_text(scanned.first, type, info), to_text(scanned.last, type, info));
  }
  text += fmt::format("rung   {}\ntime   {}\n", work.rung, work.time_text());
  if (work.way) text += wrapped(fmt::format("limit  {}", limit_text(*work.way)), 7) + "\n";
  if (options.output) text += fmt::format("output {}\n", printable(*options.output));
  if (!stored.empty()) text += fmt::format("scale  the values in {} are {}\n", printable(*options.output), stored);
  print(text);
}

/// The results of all ranks.
Scanned gathered(const Ranks& ranks, const Scanned& mine) {
  std::string bytes(sizeof mine.work.count + sizeof mine.first + sizeof mine.last, '\0');
  std::memcpy(bytes.data(), &mine.work.count, sizeof mine.work.count);
  std::memcpy(bytes.data() + sizeof mine.work.count, mine.first, sizeof mine.first);
  std::memcpy(bytes.data() + sizeof mine.work.count + sizeof mine.first, mine.last, sizeof mine.last);
  Scanned all;
  for (const std::string& one : ranks.gather(bytes)) {
    Scanned next{.work = {.rung = mine.work.rung}};
    std::memcpy(&next.work.count, one.data(), sizeof next.work.count);
    std::memcpy(next.first, one.data() + sizeof next.work.count, sizeof next.first);
    std::memcpy(next.last, one.data() + sizeof next.work.count + sizeof next.first, sizeof next.last);
    all += next;
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
  OwnFile(const std::string& path, const ScanPlan& plan) : writer_(open_output(path, plan, -1)) {}
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
      writer_ = std::make_unique<io::SharedNpyWriter>(path, column.type, column.meaning == io::Meaning::boolean);
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
std::unique_ptr<RankOutput> open_rank_output(Ranks& ranks, const ScanOptions& options, const ScanPlan& plan,
                                             std::int64_t first) {
  if (!options.output) return std::make_unique<NoFile>();
  if (options.one_file) return std::make_unique<RangeOfFile>(ranks, *options.output, output_column(plan), first);
  std::unique_ptr<RankOutput> own;
  ranks.run(
      [&] { own = std::make_unique<OwnFile>(name_for_rank(*options.output, std::to_string(ranks.rank())), plan); });
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

void require_output_of_ranks(const ScanOptions& options) {
  if (options.output == "-") refuse("--mpi: the ranks write files, so -o needs the name of a file");
  if (options.one_file && io::is_arrow_name(*options.output)) {
    refuse("--one-file: {} must be written front to back; several ranks can only write .npy", *options.output);
  }
}

/// Each rank folds its files, which tells the others what precedes theirs. It then reads its files again and scans
/// them.
int scan_on_ranks(const Common& common, const ScanOptions& options) {
  Ranks ranks(common.command_line);
  const std::vector<std::string> files = ranks.share_of(options.files);
  std::optional<ScanPlan> plan;
  std::optional<Folded> mine;
  ranks.run([&] {
    require_output_of_ranks(options);
    plan = plan_of(common, options, io::open_column(options.files.front(), common.threads)->info());
    mine = Folded{dynamic::Carry(plan->type)};
    if (ranks.rank() + 1 == ranks.size()) return;
    // By the best rung of reduce: a requested rung belongs to scan's ladder.
    const Overflow overflow = parse_overflow("", plan->how.op, plan->type);
    const Policy policy = plan->policy.with_rung({}).with_overflow(overflow);
    for (const std::string& file : files) {
      const auto reader = open_file(common, file, plan->info);
      mine->count += fold_column(common, policy, plan->how.op, *reader, mine->carry, plan->device_bytes).count;
    }
  });
  ranks.settle();

  Folded before = fold_ranks(ranks, plan->how.op, {plan->carry}, *mine, ranks.rank());
  const auto output = open_rank_output(ranks, options, *plan, before.count);
  Scanned scanned;
  ranks.run([&] {
    const Write write = [&](const std::byte* outputs, std::int64_t count) { output->write(outputs, count); };
    for (const std::string& file : files) {
      const auto reader = open_file(common, file, plan->info);
      scanned += scan_chunks(common, *reader, *plan, before.count + scanned.work.count, before.carry, write);
    }
    output->complete();
  });
  ranks.settle();
  const Scanned all = gathered(ranks, scanned);
  name_output(ranks, *output, all.work.count);

  ScanOptions shown = options;
  if (options.output && !options.one_file) shown.output = name_for_rank(*options.output, "*");
  ranks.run([&] {
    if (ranks.reports()) report(common, shown, all, plan->given, plan->info);
  });
  ranks.settle();
  return 0;
}

}  // namespace

int run_scan(const Common& common, const ScanOptions& asked) {
  ScanOptions options = asked;
  options.output = output_of(common, asked.output);
  if (!options.files.empty()) return scan_on_ranks(common, options);
  const auto reader = io::open_column(options.input, common.threads);
  const ScanPlan plan = plan_of(common, options, reader->info());
  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) writer = open_output(*options.output, plan, plan.info.count);
  dynamic::Carry carry = plan.carry;
  const Scanned scanned = scan_chunks(common, *reader, plan, 0, carry, write_to(writer.get()));
  name_and_report(writer.get(), [&] { report(common, options, scanned, plan.given, plan.info); });
  return 0;
}

}  // namespace upsweep::command
