// SPDX-License-Identifier: Apache-2.0
// plan/histogram.cpp: checks the axes of histograms, lays out their cells, and adds up the cells of all work units.
#include "plan/histogram.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>

#include "cpu/parallel.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan::detail {
namespace {

using Kind = Axis::Kind;

/// Edges that are compared with each element, instead of being searched. On one core with AVX-512, comparing with 64
/// edges took 4.6 ns for an element, and searching in 128 took 6.5 ns.
constexpr std::int64_t kFewEdges = 64;
/// Cells of a histogram that has several copies of them. All copies fit L2.
constexpr std::int64_t kCopiedCells = 4096;
/// Work units: enough to balance 64 workers. A unit has at least four blocks. It has 4 events for each cell, since its
/// cells are set to 0 before and added up afterwards.
constexpr std::int64_t kMostUnits = 256;
constexpr std::int64_t kBlocksPerUnit = 4;
constexpr std::int64_t kEventsPerCell = 4;
/// Bytes of the cells of all units.
constexpr std::int64_t kUnitBytes = std::int64_t{1} << 25;
/// Bytes of cells that a thread adds up at least.
constexpr std::int64_t kAddedPerWorker = std::int64_t{1} << 18;
/// The cells of a unit begin in another line of the cache than those of its neighbors end.
constexpr std::int64_t kAlignment = 64;

std::string number_text(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

/// Returns the bins without flow bins; -1: more than int64.
std::int64_t bins_of(const Axis& axis) {
  switch (axis.kind) {
    case Kind::regular:
      return axis.bins;
    case Kind::variable:
      return static_cast<std::int64_t>(axis.edges.size()) - 1;
    case Kind::integer: {
      std::int64_t bins = 0;
      return __builtin_sub_overflow(axis.stop, axis.start, &bins) ? -1 : bins;
    }
    case Kind::category:
      return static_cast<std::int64_t>(axis.values.size());
  }
  upsweep::detail::no_such_value();
}

std::int64_t cells_of(const Axis& axis) { return bins_of(axis) + (axis.kind == Kind::category ? 1 : 2); }

[[noreturn]] void refuse(std::size_t number, const std::string& why) {
  throw Error(Code::invalid_argument, "plan::Builder::histogram: axis " + std::to_string(number) + ": " + why);
}

void require_edges(std::size_t number, const std::vector<double>& edges) {
  if (edges.size() < 2) refuse(number, "needs at least two edges, not " + std::to_string(edges.size()));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (!std::isfinite(edges[i])) refuse(number, "edge " + std::to_string(i) + " is " + number_text(edges[i]));
    if (i > 0 && !(edges[i - 1] < edges[i])) {
      refuse(number, "edge " + std::to_string(i) + " (" + number_text(edges[i]) +
                         ") is not greater than the edge before it (" + number_text(edges[i - 1]) + ")");
    }
  }
}

void require_values(std::size_t number, const std::vector<std::int64_t>& values) {
  if (values.empty()) refuse(number, "a category axis needs at least one value");
  std::vector<std::int64_t> sorted = values;
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) refuse(number, "the value " + std::to_string(*twice) + " occurs twice");
  if (sorted.back() == INT64_MAX) refuse(number, "the value 2^63 - 1 is too large");
}

void require_axis(std::size_t number, const Axis& axis) {
  switch (axis.kind) {
    case Kind::regular:
      if (axis.bins < 1) refuse(number, "must have at least one bin, not " + std::to_string(axis.bins));
      if (!std::isfinite(axis.low) || !std::isfinite(axis.high - axis.low) || axis.low == axis.high) {
        refuse(number, "low (" + number_text(axis.low) + ") and high (" + number_text(axis.high) +
                           ") must be finite and different, and their difference finite");
      }
      break;
    case Kind::variable:
      require_edges(number, axis.edges);
      break;
    case Kind::integer:
      if (axis.start >= axis.stop) {
        refuse(number,
               "stop (" + std::to_string(axis.stop) + ") must exceed start (" + std::to_string(axis.start) + ")");
      }
      break;
    case Kind::category:
      if (axis.underflow) refuse(number, "a category axis has no underflow");
      require_values(number, axis.values);
      break;
  }
}

std::string axis_list(const auto& numbers, auto text) {
  std::string all;
  for (const auto& number : numbers) all += (all.empty() ? "" : ", ") + text(number);
  return all;
}

/// Calls f(from, to, bytes) for each range of cells that is adjacent in the result.
template <class F>
void for_each_row(const HistogramCode& histogram, std::int64_t size, F f) {
  const std::size_t last = histogram.axes.size() - 1;
  std::vector<std::int64_t> at(last, 0);
  const std::int64_t row = histogram.shape[last] * size;
  for (std::int64_t to = 0;; to += row) {
    std::int64_t cell = histogram.axes[last].first;
    for (std::size_t i = 0; i < last; ++i) {
      cell += (histogram.axes[i].first + at[i]) * histogram.axes[i].binning.stride;
    }
    f(cell * size, to, row);
    std::size_t i = last;
    while (i > 0 && ++at[i - 1] == histogram.shape[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

template <class T>
void add(const T* from, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace

void require_axes(std::span<const Axis> axes) {
  std::int64_t cells = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require_axis(i, axes[i]);
    const std::int64_t bins = bins_of(axes[i]);
    const bool is_possible = bins >= 0 && bins <= kMostCells;
    if (is_possible) cells *= cells_of(axes[i]);
    if (!is_possible || cells > kMostCells) {
      throw Error(Code::unsupported,
                  "plan::Builder::histogram: the axes have more than 2^25 bins with all underflows and overflows; use "
                  "fewer bins");
    }
  }
}

std::string axis_text(const Axis& axis) {
  const auto integer = [](std::int64_t number) { return std::to_string(number); };
  std::string text;
  switch (axis.kind) {
    case Kind::regular:
      text = "regular(" + integer(axis.bins) + ", " + number_text(axis.low) + ", " + number_text(axis.high);
      break;
    case Kind::variable:
      text = "variable(" + axis_list(axis.edges, number_text);
      break;
    case Kind::integer:
      text = "integer(" + integer(axis.start) + ", " + integer(axis.stop);
      break;
    case Kind::category:
      text = "category(" + axis_list(axis.values, integer);
      break;
  }
  return text + ")" + (axis.underflow ? " underflow" : "") + (axis.overflow ? " overflow" : "");
}

HistogramCode histogram_code(std::span<const Axis> axes, const std::vector<bool>& are_floats, bool has_weights) {
  HistogramCode made;
  made.has_weights = has_weights;
  made.axes.resize(axes.size());
  made.shape.resize(axes.size());
  made.cells = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const Axis& axis = axes[i];
    HistogramCode::AxisCode& code = made.axes[i];
    Binning& binning = code.binning;
    const std::int64_t bins = bins_of(axis);
    binning.stride = made.cells;
    binning.bins = static_cast<double>(bins);
    code.cells = cells_of(axis);
    code.first = axis.kind == Kind::category || axis.underflow ? 0 : 1;
    made.shape[i] = bins + (axis.underflow ? 1 : 0) + (axis.overflow ? 1 : 0);
    made.cells *= code.cells;
    switch (axis.kind) {
      case Kind::regular:
        binning.rule = BinRule::regular;
        binning.low = axis.low, binning.width = axis.high - axis.low;
        binning.top = static_cast<double>(axis.overflow ? bins : bins - 1);
        break;
      case Kind::variable:
        code.edges = axis.edges;
        binning.count = static_cast<std::int64_t>(code.edges.size());
        binning.rule = binning.count <= kFewEdges ? BinRule::few_edges : BinRule::edges;
        binning.edges = code.edges.data(), binning.has_top = !axis.overflow;
        break;
      case Kind::integer:
        binning.rule = are_floats[i] ? BinRule::integer_of_floats : BinRule::integer;
        binning.low = static_cast<double>(axis.start), binning.start = axis.start, binning.stop = axis.stop;
        break;
      case Kind::category: {
        binning.rule = BinRule::category;
        code.places.resize(axis.values.size());
        std::iota(code.places.begin(), code.places.end(), 0);
        std::ranges::sort(code.places, {},
                          [&](std::int32_t place) { return axis.values[static_cast<std::size_t>(place)]; });
        for (const std::int32_t place : code.places)
          code.values.push_back(axis.values[static_cast<std::size_t>(place)]);
        binning.count = bins, binning.values = code.values.data(), binning.places = code.places.data();
        break;
      }
    }
  }
  made.copies = !has_weights && made.cells <= kCopiedCells ? kCellCopies : 1;
  return made;
}

std::int64_t cell_bytes(const HistogramCode& histogram) {
  const std::int64_t size = histogram.has_weights ? sizeof(WeightedBin) : sizeof(std::int64_t);
  const std::int64_t bytes = histogram.cells * histogram.copies * size;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t histogram_units(const Compiled& code, std::int64_t events, std::int64_t blocks) {
  if (blocks == 0) return 0;
  std::int64_t cells = 0;
  for (const HistogramCode& histogram : code.histograms) cells += histogram.cells;
  return std::clamp<std::int64_t>(
      std::min({blocks / kBlocksPerUnit, events / (kEventsPerCell * cells), kUnitBytes / code.unit_bytes}), 1,
      kMostUnits);
}

void add_up(const Compiled& code, std::byte* cells, std::int64_t units, int threads) {
  const int workers = cpu::workers_for(code.unit_bytes * units, kAddedPerWorker, threads);
  for (const HistogramCode& histogram : code.histograms) {
    cpu::run_workers(workers, [&](int id) {
      const std::int64_t begin = histogram.cells * id / workers, count = histogram.cells * (id + 1) / workers - begin;
      std::byte* sum = cells + histogram.offset;
      for (std::int64_t unit = 0; unit < units; ++unit) {
        const std::byte* from = cells + histogram.offset + unit * code.unit_bytes;
        for (int copy = 0; copy < histogram.copies; ++copy) {
          if (unit == 0 && copy == 0) continue;
          if (histogram.has_weights) {
            add(reinterpret_cast<const double*>(from) + 2 * begin, 2 * count,
                reinterpret_cast<double*>(sum) + 2 * begin);
          } else {
            add(reinterpret_cast<const std::int64_t*>(from) + copy * histogram.cells + begin, count,
                reinterpret_cast<std::int64_t*>(sum) + begin);
          }
        }
      }
    });
  }
}

void copy_cells(const HistogramCode& histogram, const std::byte* cells, std::byte* to) {
  const std::int64_t size = histogram.has_weights ? sizeof(WeightedBin) : sizeof(std::int64_t);
  for_each_row(histogram, size, [&](std::int64_t from, std::int64_t place, std::int64_t bytes) {
    std::memcpy(to + place, cells + from, static_cast<std::size_t>(bytes));
  });
}

}  // namespace upsweep::plan::detail
