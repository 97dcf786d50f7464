// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/reduce.cpp: `upsweep reduce`: one value from a column of any length, in bounded memory.
#include <fmt/format.h>

#include <string>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/query.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// The value as it is printed.
struct Reduced {
  Json json;
  std::string text;
  std::string_view dtype;
};

Reduced value_of(const void* element, Type type, const io::ColumnInfo& info) {
  return {to_json(element, type, info), to_text(element, type, info), name(type)};
}

/// Sums of decimals are exact in 128 bits.
Reduced decimal_of(const dynamic::Carry& carry, Type given, const io::ColumnInfo& info) {
  const Int128 exact = exact_value(carry);
  if (given == Type::float64) {
    const double value = decimal_value(exact, info.scale);
    return value_of(&value, given, info);
  }
  const std::string text = decimal_text(exact, info.scale);
  return {text, text, carry.wraps() != 0 ? "int128" : name(Type::int64)};
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

}  // namespace

int run_reduce(const Common& common, const ReduceOptions& options) {
  const auto reader = io::open_column(options.input, common.threads);
  const io::ColumnInfo info = meaning_of(reader->info(), options.dtype);
  const Type type = parse_dtype(options.dtype, info);
  const Operator op = parse_op(options.op, info, type);
  dynamic::Carry carry(type);
  const Policy policy = common.policy().with_overflow(parse_overflow("", op, type));

  const auto run = [&](dynamic::Staged* device, const Policy& chosen, const io::Chunk& chunk) {
    const dynamic::ConstArray from{chunk.data, chunk.count, info.type};
    return device != nullptr ? device->reduce(chosen.overflow, op, from, carry)
                             : dynamic::reduce(chosen, op, from, carry);
  };
  const Work work = work_on_chunks(
      common, policy, "reducing", info.count, [&] { return reader->next(chunk_length(common, info)); }, run,
      [](const io::Chunk&) {});
  if (work.count == 0) {
    if (selects(op)) {
      throw Error(Code::empty, fmt::format("{}: no elements, so there is no {}", info.name, options.op));
    }
    carry = dynamic::Carry::identity(op, type);
  }
  const Type given = given_type(type, options.dtype);
  const Reduced reduced = result_of(carry, given, info);
  if (common.json) {
    Json result{{"value", reduced.json}, {"dtype", reduced.dtype}, {"count", work.count}, {"rung", work.rung}};
    work.add_times(result);
    if (is_scaled(given, info)) result["scale"] = info.scale;
    print_json(result);
  } else {
    print(reduced.text + "\n");
  }
  return 0;
}

}  // namespace upsweep::command
