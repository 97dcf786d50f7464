// SPDX-License-Identifier: Apache-2.0
// io/schema.cpp: describes files by their metadata.
#include "io/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "io/file_table.hpp"
#include "io/format.hpp"
#include "io/joined_fields.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/table.hpp"

namespace upsweep::io {
namespace {

// The format of a file, and its compression if it is a copy of a compressed file.
std::string format_text(const FileTable& table) {
  std::string format(describe(table.format()));
  const FilePath& file = table.file();
  if (!file.file || file.name == kStandardInput) return format;
  const Format outer = open_file(file.name).format;
  return is_decompressed(outer) ? fmt::format("{}, {}", format, describe(outer)) : format;
}

// The size of the file that the user named.
std::int64_t bytes_of(const FileTable& table) {
  const FilePath& file = table.file();
  const bool is_copy_of_file = file.file && is_regular(file.name);
  return file_state(is_copy_of_file ? FilePath(file.name) : file).size;
}

void add(std::int64_t more, bool is_first, std::int64_t& sum) {
  sum = more < 0 || (!is_first && sum < 0) ? -1 : (is_first ? 0 : sum) + more;
}

}  // namespace

Schema schema_of(const std::vector<std::string>& paths, const CsvOptions& csv, int threads) {
  const JoinedFiles joined = open_files(paths, csv, {}, threads, {});
  Schema schema;
  schema.remarks = joined.remarks;
  for (const Field& field : joined.fields) schema.columns.push_back({.name = field.name, .type = type_name(field)});
  for (std::size_t i = 0; i < joined.files.size(); ++i) {
    const JoinedFile& file = joined.files[i];
    const bool is_first = i == 0;
    schema.files.push_back(file.path);
    schema.row_groups += file.table->row_groups();
    add(expected_rows(*file.table), is_first, schema.rows);
    for (std::string& remark : file.table->remarks()) schema.remarks.push_back(std::move(remark));
    const auto& table = dynamic_cast<const FileTable&>(*file.table);
    schema.bytes += bytes_of(table);
    const std::string format = format_text(table);
    if (std::ranges::find(schema.formats, format) == schema.formats.end()) schema.formats.push_back(format);
    for (std::size_t c = 0; c < schema.columns.size(); ++c) {
      const auto own = std::ranges::find(file.places, static_cast<int>(c));
      const bool has = own != file.places.end();
      const int column = has ? static_cast<int>(own - file.places.begin()) : -1;
      // A column that a file does not have is NULL there, unless its folder has the value.
      const auto is_here = [&](const PartitionValue& value) { return value.place == static_cast<int>(c); };
      const bool has_value = std::ranges::any_of(file.partitions, is_here);
      const std::int64_t nulls = has ? table.nulls(column) : has_value ? 0 : expected_rows(table);
      add(nulls, is_first, schema.columns[c].nulls);
      add(has ? table.bytes(column) : 0, is_first, schema.columns[c].bytes);
    }
  }
  return schema;
}

}  // namespace upsweep::io
