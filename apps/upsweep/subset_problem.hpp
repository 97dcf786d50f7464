// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/subset_problem.hpp: reads the numbers of a subset sum from the arguments of a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "io/column.hpp"
#include "io/number_lines.hpp"
#include "values.hpp"

namespace upsweep::command {

/// The items, the target and the tolerance, all of one scale.
struct SubsetProblem {
  io::Numbers items;
  std::int64_t target = 0;
  std::int64_t tolerance = 0;

  [[nodiscard]] std::string text(std::int64_t value) const { return io::format_decimal(value, items.scale); }
  [[nodiscard]] Json json(std::int64_t value) const { return items.scale == 0 ? Json(value) : Json(text(value)); }
};

/// Reads the input, --target and --tolerance. Throws invalid_argument, and as io::read_numbers() does.
SubsetProblem read_problem(const std::string& input, const std::string& target,
                           const std::optional<std::string>& tolerance, const io::CsvOptions& csv);

}  // namespace upsweep::command
