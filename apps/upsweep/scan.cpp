// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/scan.cpp: `upsweep scan`: a column of any length, scanned chunk by chunk in bounded memory.
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "io/result_writer.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// What the summary needs to know of a finished scan.
struct Scanned {
  Work work;
  alignas(8) std::byte first[8] = {};
  alignas(8) std::byte last[8] = {};
};

/// Scaled integers made into the float64 nearest to what each stands for. Sums are followed in 128 bits, where they cannot
/// overflow: from one to the next they differ by an element, also where they have wrapped around.
class Unscaled {
 public:
  /// `before`: the value before the first element, or 0.
  Unscaled(Operator op, int scale, std::int64_t before) : op_(op), scale_(scale), exact_(before), last_(before) {}

  /// In place.
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
    // The identity, which is no decimal of 18 digits.
    if (element == identity<std::int64_t>(op_)) return identity<double>(op_);
    return decimal_value(element, scale_);
  }

  Operator op_;
  int scale_;
  Int128 exact_;
  std::int64_t last_;
};

/// An Error about output `index` of a chunk, made one about the whole column.
[[noreturn]] void rethrow_for_column(const Error& error, const io::ColumnInfo& info, Type type, std::int64_t before) {
  if (error.code() != Code::overflow) throw error;
  const std::int64_t index = before + error.index();
  throw Error(Code::overflow,
              fmt::format("{}: output {} does not fit {}: choose {} or --overflow wrap", info.name, index, name(type),
                          is_scaled(type, info) ? "--dtype float64" : "a wider --dtype"),
              index);
}

/// `unscaled`: null gives out what was computed.
Scanned scan_chunks(const Common& common, io::ColumnReader& reader, const Policy& asked,
                    const dynamic::ScanOptions& options, dynamic::Carry carry, Unscaled* unscaled,
                    io::ResultWriter* writer) {
  const io::ColumnInfo& info = reader.info();
  const Type type = carry.type();
  const auto size = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> out(static_cast<std::size_t>(chunk_length(common, info)) * size);
  Scanned scanned;
  std::int64_t count = 0;
  const auto run = [&](dynamic::Staged* device, const Policy& policy, const io::Chunk& chunk) {
    const dynamic::ConstArray from{chunk.data, chunk.count, info.type};
    const dynamic::Array to{out.data(), chunk.count, type};
    try {
      return device != nullptr ? device->scan(policy.overflow, options, from, to, carry)
                               : dynamic::scan(policy, options, from, to, carry);
    } catch (const Error& error) {
      rethrow_for_column(error, info, type, count);
    }
  };
  const auto done = [&](const io::Chunk& chunk) {
    if (unscaled != nullptr) unscaled->convert(out.data(), chunk.count);
    const io::ResultArray columns[] = {{out.data()}};
    if (writer != nullptr) writer->write(columns, chunk.count);
    if (count == 0) std::memcpy(scanned.first, out.data(), size);
    std::memcpy(scanned.last, out.data() + static_cast<std::size_t>(chunk.count - 1) * size, size);
    count += chunk.count;
  };
  scanned.work = work_on_chunks(
      common, asked, "scanning", info.count, [&] { return reader.next(chunk_length(common, info)); }, run, done);
  return scanned;
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
  if (options.output) text += fmt::format("output {}\n", printable(*options.output));
  if (!stored.empty()) text += fmt::format("scale  the values in {} are {}\n", printable(*options.output), stored);
  print(text);
}

}  // namespace

int run_scan(const Common& common, const ScanOptions& asked) {
  ScanOptions options = asked;
  options.output = output_of(common, asked.output);
  const auto reader = io::open_column(options.input, common.threads);
  const io::ColumnInfo info = meaning_of(reader->info(), options.dtype);
  const Type type = parse_dtype(options.dtype, info);
  const Type given = given_type(type, options.dtype);
  const dynamic::ScanOptions how{.op = parse_op(options.op, info, type), .exclusive = options.exclusive};
  const dynamic::Carry carry = options.init        ? parse_carry(*options.init, type, info, "--init")
                               : options.exclusive ? dynamic::Carry::identity(how.op, type)
                                                   : dynamic::Carry(type);
  Policy policy = common.policy().with_overflow(parse_overflow(options.overflow, how.op, type));
  std::optional<Unscaled> unscaled;
  if (given != type) {
    std::int64_t before = 0;
    if (options.init) carry.value(&before);
    unscaled.emplace(how.op, info.scale, before);
    policy = policy.with_overflow(Overflow::wrap);
  }

  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) {
    writer = io::open_results(*options.output, io::Shape::values, {column_of(info, given, how.op)}, info.count);
  }
  const Scanned scanned =
      scan_chunks(common, *reader, policy, how, carry, unscaled ? &*unscaled : nullptr, writer.get());
  name_and_report(writer.get(), [&] { report(common, options, scanned, given, info); });
  return 0;
}

}  // namespace upsweep::command
