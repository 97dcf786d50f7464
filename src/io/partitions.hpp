// SPDX-License-Identifier: Apache-2.0
// io/partitions.hpp: folders such as year=2024/month=1, whose names are columns of the files in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// The value of a column in all rows of a file, by the name of a folder.
struct PartitionValue {
  std::int64_t number = 0;  ///< of a column of integers
  std::string text;         ///< as it is written
  int place = -1;           ///< the column in the table of the files
};

/// A column by folders: its type, and its value in each file.
struct Partition {
  Field field;
  std::vector<std::optional<PartitionValue>> values;  ///< nothing: NULL
};

/// Returns the names and values in the folders of a path, in order: {"year", "2024"} for "data/year=2024/a.parquet".
/// %20 is decoded. The value of __HIVE_DEFAULT_PARTITION__ is nullopt, which is NULL.
std::vector<std::pair<std::string, std::optional<std::string>>> folders_with_values(const std::string& path);

/// Returns the columns by folders of files. A column is int64 if all of its values are integers without leading zeros,
/// otherwise text. It is NULL in a file without such a folder.
std::vector<Partition> partitions_of(const std::vector<std::string>& files);

}  // namespace upsweep::io
