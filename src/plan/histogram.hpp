// SPDX-License-Identifier: Apache-2.0
// plan/histogram.hpp: the axes of histograms, and the cells in which a run counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/code.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

/// The maximum number of cells of a histogram.
inline constexpr std::int64_t kMostCells = std::int64_t{1} << 25;

/// Throws Error if an axis is malformed, or if there are too many cells.
void require_axes(std::span<const Axis> axes);

/// Returns the text of an axis: "regular(10, 0, 1)".
std::string axis_text(const Axis& axis);

/// Returns the kernels and places of the cells. `are_floats`: whether the values of each axis are float64, not int64.
HistogramCode histogram_code(std::span<const Axis> axes, const std::vector<bool>& are_floats, bool has_weights);

/// Returns the bytes of all copies of the cells of a histogram.
std::int64_t cell_bytes(const HistogramCode& histogram);

/// Returns the number of work units. It depends on the number of events and cells only. Thus sums of weights do not
/// depend on threads.
std::int64_t histogram_units(const Compiled& code, std::int64_t events, std::int64_t blocks);

/// Adds the cells of all units in order to those of the first one.
void add_up(const Compiled& code, std::byte* cells, std::int64_t units, int threads);

/// Copies those cells that are bins of the result, in C order.
void copy_cells(const HistogramCode& histogram, const std::byte* cells, std::byte* to);

}  // namespace upsweep::plan::detail
