// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/column_files.hpp: a column that is split into files, which the ranks of a run share in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "io/column.hpp"
#include "ranks.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep::command {

/// Opens a column. `nulls` is the value of --nulls. Throws Error invalid_argument if it is neither skip nor refuse.
std::unique_ptr<io::ColumnReader> open_input(const Common& common, const std::string& input, const std::string& nulls);

/// Opens a file of the column, which must have the type of the first file. Throws Error unsupported_type.
std::unique_ptr<io::ColumnReader> open_file(const Common& common, const std::string& file, const io::ColumnInfo& first,
                                            const std::string& nulls);

/// Computes carry = carry ⊕ the column, without NULL elements. `device_bytes` is passed to Staged.
Work fold_column(const Common& common, const Policy& policy, Operator op, io::ColumnReader& reader,
                 dynamic::Carry& carry, std::int64_t device_bytes);

/// The fold of some elements, and their number.
struct Folded {
  dynamic::Carry carry;
  std::int64_t count = 0;
};

/// Returns `begin` combined with the folds of the ranks 0 … end - 1, in their order.
Folded fold_ranks(const Ranks& ranks, Operator op, const Folded& begin, const Folded& mine, int end);

/// The sum of a number over the ranks.
std::int64_t total(const Ranks& ranks, std::int64_t mine);

/// The seconds that the work of the slowest rank took.
double slowest(const Ranks& ranks, const Work& work);

/// The file that a rank writes: "out.3.npy" for "out.npy".
std::string name_for_rank(const std::string& path, const std::string& rank);

}  // namespace upsweep::command
