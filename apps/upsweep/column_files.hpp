// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/column_files.hpp: a column that is split into files, one after the other over the ranks of a run.
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

/// Opens a file of the column, which must be as the first one is. Throws Error unsupported_type.
std::unique_ptr<io::ColumnReader> open_file(const Common& common, const std::string& file, const io::ColumnInfo& first);

/// carry = carry ⊕ the column. `device_bytes`: as Staged has them.
Work fold_column(const Common& common, const Policy& policy, Operator op, io::ColumnReader& reader,
                 dynamic::Carry& carry, std::int64_t device_bytes);

/// What some elements come to.
struct Folded {
  dynamic::Carry carry;
  std::int64_t count = 0;
};

/// `begin`, and what the ranks 0 … end - 1 have folded after it.
Folded fold_ranks(const Ranks& ranks, Operator op, const Folded& begin, const Folded& mine, int end);

/// The seconds of the slowest rank, of those that the work of each has taken.
double slowest(const Ranks& ranks, const Work& work);

/// "out.3.npy" of "out.npy": what a rank writes.
std::string name_for_rank(const std::string& path, const std::string& rank);

}  // namespace upsweep::command
