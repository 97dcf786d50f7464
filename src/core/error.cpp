// SPDX-License-Identifier: Apache-2.0
// core/error.cpp: the names and exit statuses of the error codes, one row each.
#include "upsweep/error.hpp"

#include <utility>

namespace upsweep {
namespace {

struct Row {
  std::string_view word;
  int exit_code;
};

// The rows are in the order of Code.
constexpr Row kRows[] = {
    {"ok", 0},
    {"overflow", 1},
    {"stop_before_start", 1},
    {"negative_start", 1},
    {"stop_past_end", 1},
    {"index_out_of_range", 1},
    {"unequal_lengths", 1},
    {"null_value", 1},
    {"empty", 1},
    {"malformed", 1},
    {"unsupported_type", 1},
    {"division_by_zero", 1},
    {"not_positive", 1},
    {"invalid_argument", 2},
    {"unknown_rung", 2},
    {"unknown_column", 2},
    {"unknown_table", 2},
    {"bad_sql", 2},
    {"unsupported_sql", 2},
    {"unsupported", 2},
    {"not_built", 2},
    {"not_found", 3},
    {"unreadable", 3},
    {"is_directory", 3},
    {"disk_full", 3},
    {"unwritable", 3},
    {"out_of_memory", 3},
    {"communication", 3},
    {"no_device", 4},
    {"device_memory", 4},
    {"device_failed", 4},
    {"interrupted", 130},
};
static_assert(std::size(kRows) == static_cast<std::size_t>(Code::interrupted) + 1);

}  // namespace

std::string_view word(Code code) noexcept { return kRows[static_cast<std::size_t>(code)].word; }

int exit_code(Code code) noexcept { return kRows[static_cast<std::size_t>(code)].exit_code; }

Error::Error(Code code, std::string message, std::int64_t index)
    : message_(std::move(message)), index_(index), code_(code) {}

}  // namespace upsweep
