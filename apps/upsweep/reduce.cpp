// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/reduce.cpp: `upsweep reduce`: computes one value from a column of any length, in bounded memory.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "along.hpp"
#include "chunks.hpp"
#include "column_files.hpp"
#include "commands.hpp"
#include "core/visit.hpp"
#include "io/answer_writer.hpp"
#include "io/column.hpp"
#include "output.hpp"
#include "ranks.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The value as it is printed, and as a table of one row.
struct Reduced {
  Json json;
  std::string text;
  std::string_view dtype;
  Field field = {};
  AnswerRows rows = {};
};

/// Fills the table of one row.
void set_row(Reduced& reduced, Field field, const Cell& cell) {
  AnswerColumn column{.kind = field.kind};
  if (field.kind == ValueKind::real) {
    column.reals.assign(1, cell.real);
  } else if (const auto narrow = static_cast<std::int64_t>(cell.exact); narrow == cell.exact) {
    column.exact.assign(1, narrow);
  } else {
    column.wide.assign(1, cell.exact);
  }
  reduced.field = std::move(field);
  reduced.rows.columns.push_back(std::move(column));
}

Reduced value_of(const void* element, Type type, const io::ColumnInfo& info) {
  Reduced reduced{{}, {}, type_word(type, info)};
  Cell cell;
  visit_type(type, [&]<class T>(std::type_identity<T>) {
    const T value = *static_cast<const T*>(element);
    if constexpr (std::is_floating_point_v<T>) {
      cell.real = value;
    } else {
      cell.exact = value;
    }
  });
  Field field = field_of(type, info);
  // Seconds of any size are values here: the maximum of no elements is an error.
  const bool are_seconds = io::is_temporal(info.meaning);
  reduced.json = are_seconds ? Json(iso_text(field, cell)) : to_json(element, type, info);
  reduced.text = are_seconds ? text(field, cell) : to_text(element, type, info);
  field.name = info.field;
  set_row(reduced, std::move(field), cell);
  return reduced;
}

/// Sums of decimals are exact in 128 bits.
Reduced decimal_of(const dynamic::Carry& carry, Type given, const io::ColumnInfo& info) {
  const Int128 exact = exact_value(carry);
  if (given == Type::float64) {
    const double value = decimal_value(exact, info.scale);
    return value_of(&value, given, info);
  }
  const std::string text = decimal_text(exact, info.scale);
  Reduced reduced{text, text, carry.wraps() != 0 ? "int128" : name(Type::int64)};
  set_row(reduced, {.name = info.field, .kind = ValueKind::decimal, .scale = info.scale}, {.exact = exact});
  return reduced;
}

Reduced result_of(const dynamic::Carry& carry, Type given, const io::ColumnInfo& info) {
  if (info.meaning == io::Meaning::decimal) return decimal_of(carry, given, info);
  const Type type = carry.type();
  if (carry.wraps() != 0) {
    throw Error(Code::overflow,
                fmt::format("{}: the sum does not fit {}: choose a wider --dtype", info.name, name(type)));
  }
  alignas(8) std::byte value[8] = {};
  carry.value(value);
  return value_of(value, type, info);
}

/// The carry of all files. Without elements it is the operator's identity, if there is one.
dynamic::Carry carry_of_all(const Folded& folded, Operator op, const io::ColumnInfo& info, std::int64_t nulls) {
  if (folded.count > 0) return folded.carry;
  if (selects(op)) {
    throw Error(Code::empty, fmt::format("{}: no elements{}, but {} needs at least one", info.name,
                                         nulls > 0 ? " that are not NULL" : "", name(op)));
  }
  return dynamic::Carry::identity(op, folded.carry.type());
}

/// The parameters that are the same for every file.
struct ReducePlan {
  io::ColumnInfo info;
  Type type;
  Type given;
  Operator op;
  Policy policy;
  std::int64_t device_bytes;
  bool skips_nulls;
};

ReducePlan plan_of(const Common& common, const ReduceOptions& options, const io::ColumnInfo& read) {
  io::ColumnInfo info = meaning_of(read, options.dtype);
  const Type computed = parse_dtype(options.dtype, info);
  const Operator op = parse_op(options.op, info, computed);
  const Type type = type_by(op, computed, options.dtype, info);
  return {.info = info,
          .type = type,
          .given = given_type(type, options.dtype),
          .op = op,
          .policy = common.policy().with_overflow(parse_overflow("", op, type)),
          .device_bytes = parse_device_memory(options.device_memory),
          .skips_nulls = options.nulls == "skip"};
}

void print_value(const Common& common, const ReduceOptions& options, const ReducePlan& plan, const Reduced& reduced,
                 const Folded& folded, const Work& work) {
  if (common.json) {
    Json result{{"value", reduced.json}, {"dtype", reduced.dtype}, {"count", folded.count}, {"rung", work.rung}};
    work.add_times(result);
    if (plan.skips_nulls) result["nulls"] = work.nulls;
    if (is_scaled(plan.given, plan.info)) result["scale"] = plan.info.scale;
    if (options.output) result["output"] = *options.output;
    print_json(result);
  } else {
    if (!options.output || (options.output != "-" && !common.quiet)) print(reduced.text + "\n");
    if (work.nulls > 0 && !common.quiet) remark(fmt::format("{} of NULL left out", rows_text(work.nulls)));
    if (work.way && !common.quiet) remark(fmt::format("limited by {}", limit_text(*work.way)));
  }
}

void report(const Common& common, const ReduceOptions& options, io::ResultFormat format, const ReducePlan& plan,
            const Folded& folded, const Work& work) {
  const Reduced reduced = result_of(carry_of_all(folded, plan.op, plan.info, work.nulls), plan.given, plan.info);
  std::unique_ptr<io::AnswerWriter> writer;
  if (options.output) {
    writer = io::open_answer(*options.output, format, {reduced.field}, cell_text(format));
    writer->write(reduced.rows);
  }
  name_and_report(writer.get(), [&] { print_value(common, options, plan, reduced, folded, work); });
}

int reduce_on_ranks(const Common& common, const ReduceOptions& options, io::ResultFormat format) {
  Ranks ranks(common.command_line);
  std::optional<ReducePlan> plan;
  std::optional<Folded> mine;
  Work work;
  ranks.run([&] {
    const io::ColumnInfo first = open_input(common, options.files.front(), options.nulls)->info();
    plan = plan_of(common, options, first);
    mine = Folded{dynamic::Carry(plan->type)};
    for (const std::string& file : ranks.share_of(options.files)) {
      work += fold_column(common, plan->policy, plan->op, *open_file(common, file, first, options.nulls), mine->carry,
                          plan->device_bytes);
    }
    mine->count = work.count;
  });
  ranks.settle();
  work.seconds = slowest(ranks, work);
  work.nulls = total(ranks, work.nulls);
  const Folded all = fold_ranks(ranks, plan->op, {dynamic::Carry(plan->type)}, *mine, ranks.size());
  ranks.run([&] {
    if (ranks.reports()) report(common, options, format, *plan, all, work);
  });
  ranks.settle();
  return 0;
}

}  // namespace

int run_reduce(const Common& asked, const ReduceOptions& given) {
  if (given.axis) return reduce_along_axis(asked, given);
  ReduceOptions options = given;
  const io::ResultFormat format = settle_output(asked, options, !given.files.empty());
  if (!options.files.empty()) return reduce_on_ranks(asked, options, format);
  const auto reader = open_input(asked, options.input, options.nulls);
  const Common common = with_device(asked, bytes_of(reader->info()));
  const ReducePlan plan = plan_of(common, options, reader->info());
  Folded folded{dynamic::Carry(plan.type)};
  const Work work = fold_column(common, plan.policy, plan.op, *reader, folded.carry, plan.device_bytes);
  folded.count = work.count;
  report(common, options, format, plan, folded, work);
  return 0;
}

}  // namespace upsweep::command
