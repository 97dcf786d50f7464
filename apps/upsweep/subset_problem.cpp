// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/subset_problem.cpp: scales items, target and tolerance to the largest number of decimals that occurs.
#include "subset_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "output.hpp"
#include "upsweep/error.hpp"

namespace upsweep::command {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

io::Decimal parse_amount(std::string_view option, const std::string& text) {
  io::Decimal amount;
  const io::NumberFault fault = io::parse_decimal(text, amount);
  if (fault != io::NumberFault::none) refuse("{} '{}' {}", option, printable(text), io::describe(fault));
  if (amount.digits < 0) refuse("{} {} is negative", option, text);
  return amount;
}

std::int64_t scaled(std::string_view option, const io::Decimal& amount, int scale) {
  std::int64_t value = amount.digits;
  if (io::scale_up(value, scale - amount.scale)) return value;
  refuse("{} {} is too large: with {}, the most that occur, the maximum is {}", option,
         io::format_decimal(amount.digits, amount.scale), io::decimals_text(scale), io::format_decimal(kMost, scale));
}

}  // namespace

SubsetProblem read_problem(const std::string& input, const std::string& target,
                           const std::optional<std::string>& tolerance, const io::CsvOptions& csv) {
  const io::Decimal sum = parse_amount("--target", target);
  const io::Decimal around = tolerance ? parse_amount("--tolerance", *tolerance) : io::Decimal();
  SubsetProblem problem;
  problem.items = io::read_numbers(input, csv);
  const int scale = std::max({problem.items.scale, sum.scale, around.scale});
  io::raise_scale(problem.items, scale);
  problem.target = scaled("--target", sum, scale);
  problem.tolerance = scaled("--tolerance", around, scale);
  return problem;
}

}  // namespace upsweep::command
