// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/reduce.cpp: `upsweep reduce`: one value from a column of any length, in bounded memory.
#include <fmt/format.h>

#include <string>

#include "chunks.hpp"
#include "commands.hpp"
#include "expression/number.hpp"
#include "io/column.hpp"
#include "on_device.hpp"
#include "output.hpp"
#include "upsweep/error.hpp"
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
Reduced decimal_of(const detail::CarryBytes& carry, Type given, const io::ColumnInfo& info) {
  const Int128 exact = exact_value(carry);
  if (given == Type::float64) {
    const double value = expression::to_double(exact, info.scale);
    return value_of(&value, given, info);
  }
  const std::string text = expression::to_text(exact, info.scale);
  return {text, text, has_overflowed(carry, Type::int64) ? "int128" : name(Type::int64)};
}

Reduced result_of(const detail::CarryBytes& carry, Type type, Type given, const io::ColumnInfo& info) {
  if (info.meaning == io::Meaning::decimal) return decimal_of(carry, given, info);
  if (has_overflowed(carry, type)) {
    throw Error(Code::overflow,
                fmt::format("{}: the sum does not fit {}: choose a wider --dtype", info.name, name(type)));
  }
  alignas(8) std::byte value[8] = {};
  carry_value(carry, type, value);
  return value_of(value, type, info);
}

}  // namespace

int run_reduce(const Common& common, const ReduceOptions& options) {
  const auto reader = io::open_column(options.input);
  const io::ColumnInfo info = meaning_of(reader->info(), options.dtype);
  const Type type = parse_dtype(options.dtype, info);
  detail::ReduceCall call;
  call.in_type = info.type;
  call.out_type = type;
  call.in_size = size_of(info.type);
  call.out_size = size_of(type);
  call.carry_size = carry_size(type);
  call.op = parse_op(options.op, info, type);
  detail::CarryBytes carry = empty_carry(type);
  call.carry = carry.bytes;
  const Policy policy = common.policy().with_overflow(parse_overflow("", call.op, type));

  const auto run = [&](OnDevice* device, const Policy& chosen, const io::Chunk& chunk) {
    call.in = chunk.data;
    call.n = chunk.count;
    return device != nullptr ? device->reduce(chosen, call) : detail::run_reduce(chosen, call);
  };
  const Work work = work_on_chunks(
      common, policy, "reducing", info.count, [&] { return reader->next(chunk_length(info)); }, run,
      [](const io::Chunk&) {});
  if (work.count == 0) {
    if (call.op == Operator::min || call.op == Operator::max) {
      throw Error(Code::empty, fmt::format("{}: no elements, so there is no {}", info.name, options.op));
    }
    carry = identity_carry(call.op, type);
  }
  const Type given = given_type(type, options.dtype);
  const Reduced reduced = result_of(carry, type, given, info);
  if (common.json) {
    Json result{{"value", reduced.json},
                {"dtype", reduced.dtype},
                {"count", work.count},
                {"rung", work.rung},
                {"seconds", work.seconds}};
    if (is_scaled(given, info)) result["scale"] = info.scale;
    if (work.times) add_times(result, *work.times);
    print_json(result);
  } else {
    print(reduced.text + "\n");
  }
  return 0;
}

}  // namespace upsweep::command
