// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/along.cpp: an array is read as a whole, folded along one axis, and written in the order of its file.
#include "along.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "io/npy_array.hpp"
#include "io/result_writer.hpp"
#include "io/source.hpp"
#include "output.hpp"
#include "upsweep/dynamic.hpp"
#include "values.hpp"

namespace upsweep::command {
namespace {

/// How an array is folded.
struct Fold {
  io::ColumnInfo info;  ///< of the output
  Operator op = Operator::add;
  Type type = Type::int64;
  Policy policy = {};
};

Fold fold_of(const Common& common, const io::ColumnInfo& read, const std::string& op_name, const std::string& dtype,
             const std::string& overflow, const std::string& nulls) {
  if (nulls != "refuse") refuse("--nulls {} is not offered with --axis: fill the elements first", printable(nulls));
  if (common.on_gpu()) refuse("--axis is not offered with --device cuda: leave out --device");
  if (!common.rung.empty()) refuse("--axis is not offered with --rung: folds along an axis have no ladder");
  io::ColumnInfo info = meaning_of(read, dtype);
  const Type computed = parse_dtype(dtype, info);
  const Operator op = parse_op(op_name, info, computed);
  const Type type = type_by(op, computed, dtype, info);
  Common on_cpu = common;
  on_cpu.device = "cpu";
  return {info, op, type, on_cpu.policy().with_overflow(parse_overflow(overflow, op, type))};
}

/// The axis, counted from the front of the shape.
std::size_t axis_of(int axis, const io::NpyArray& array) {
  const auto dimensions = static_cast<int>(array.shape.size());
  if (axis < -dimensions || axis >= dimensions) {
    refuse("--axis {}: {} has {} dimensions: choose {} to {}", axis, array.info.name, dimensions, -dimensions,
           dimensions - 1);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + dimensions : axis);
}

/// The axis in memory: the elements before it and after it are contiguous.
dynamic::Axis axis_in_memory(const io::NpyArray& array, std::size_t axis) {
  const auto product = [&](std::size_t first, std::size_t end) {
    return std::accumulate(array.shape.begin() + static_cast<std::ptrdiff_t>(first),
                           array.shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                           std::multiplies<>());
  };
  const std::int64_t before = product(0, axis);
  const std::int64_t after = product(axis + 1, array.shape.size());
  return {.outer = array.is_fortran ? after : before,
          .length = array.shape[axis],
          .inner = array.is_fortran ? before : after};
}

/// The result, in the order of the array.
struct Result {
  std::vector<std::int64_t> shape;
  bool is_fortran;
  std::vector<std::byte> elements;

  [[nodiscard]] std::int64_t count(const Fold& fold) const { return std::ssize(elements) / size_of(fold.type); }

  /// Element i in the order in which the last index changes fastest.
  [[nodiscard]] const void* at(std::int64_t i, const Fold& fold) const {
    std::int64_t place = i;
    if (is_fortran) {
      place = 0;
      std::int64_t step = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
      for (std::size_t k = shape.size(); k-- > 0;) {
        step /= shape[k];
        place += i % shape[k] * step;
        i /= shape[k];
      }
    }
    return elements.data() + place * size_of(fold.type);
  }
};

/// One line for each row: the elements along the last axis.
void print_rows(const Result& result, const Fold& fold) {
  const std::int64_t width = result.shape.size() < 2 ? 1 : result.shape.back();
  std::string text;
  for (std::int64_t i = 0; i < result.count(fold); ++i) {
    text += to_text(result.at(i, fold), fold.type, fold.info);
    text += (i + 1) % width == 0 ? '\n' : ' ';
  }
  print(text);
}

void report(const Common& common, const Fold& fold, const Result& result, const std::optional<std::string>& output) {
  if (output) {
    const io::ResultColumn column = column_of(fold.info, fold.type, fold.op);
    io::write_npy_array(*output, io::npy_descr(column), result.shape, result.is_fortran, result.elements.data(),
                        std::ssize(result.elements));
  }
  if (output == "-" || (output && common.quiet && !common.json)) return;
  if (common.json) {
    Json values = Json::array();
    for (std::int64_t i = 0; i < result.count(fold) && !output; ++i) {
      values.push_back(to_json(result.at(i, fold), fold.type, fold.info));
    }
    Json json{{"shape", result.shape}, {"dtype", type_word(fold.type, fold.info)}};
    json["output"] = output ? Json(*output) : Json();
    if (!output) json["values"] = values;  // in the order in which the last index changes fastest
    print_json(json);
  } else if (output) {
    print(fmt::format("shape  {}\ntype   {}\noutput {}\n", fmt::join(result.shape, " x "),
                      type_text(fold.type, fold.info), printable(*output)));
  } else {
    print_rows(result, fold);
  }
}

/// Refuses formats of tables. Text to standard output is the same as no output.
template <class Options>
Options with_output(const Common& common, Options options) {
  const io::ResultFormat format = settle_output(common, options);
  if (options.output && format == io::ResultFormat::text) {
    options.output.reset();
  } else if (options.output && format != io::ResultFormat::npy) {
    refuse("-o {}: with --axis only .npy and text are written", printable(*options.output));
  }
  return options;
}

}  // namespace

int reduce_along_axis(const Common& common, const ReduceOptions& asked) {
  const ReduceOptions options = with_output(common, asked);
  const io::NpyArray array = io::read_npy_array(options.input);
  const Fold fold = fold_of(common, array.info, options.op, options.dtype, "", options.nulls);
  const std::size_t at = axis_of(*options.axis, array);
  const dynamic::Axis axis = axis_in_memory(array, at);
  if (axis.length == 0 && selects(fold.op)) {
    throw Error(Code::empty, fmt::format("{}: axis {} has no elements, but {} needs at least one", array.info.name, at,
                                         name(fold.op)));
  }
  Result result{array.shape, array.is_fortran, {}};
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(at));
  const std::int64_t count = axis.outer * axis.inner;
  result.elements.resize(static_cast<std::size_t>(count * size_of(fold.type)));
  dynamic::reduce_along(fold.policy, fold.op, axis, {array.elements->data(), array.info.count, array.info.type},
                        {result.elements.data(), count, fold.type});
  report(common, fold, result, options.output);
  return 0;
}

int scan_along_axis(const Common& common, const ScanOptions& asked) {
  const ScanOptions options = with_output(common, asked);
  const io::NpyArray array = io::read_npy_array(options.input);
  const Fold fold = fold_of(common, array.info, options.op, options.dtype, options.overflow, options.nulls);
  const dynamic::Axis axis = axis_in_memory(array, axis_of(*options.axis, array));
  Result result{array.shape, array.is_fortran, {}};
  const std::int64_t count = array.info.count;
  result.elements.resize(static_cast<std::size_t>(count * size_of(fold.type)));
  alignas(8) std::byte init[8] = {};
  if (options.init) parse_carry(*options.init, fold.type, fold.info, "--init").value(init);
  dynamic::scan_along(fold.policy, {.op = fold.op, .exclusive = options.exclusive}, axis,
                      {array.elements->data(), count, array.info.type}, {result.elements.data(), count, fold.type},
                      options.init ? init : nullptr);
  report(common, fold, result, options.output);
  return 0;
}

}  // namespace upsweep::command
