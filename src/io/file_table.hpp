// SPDX-License-Identifier: Apache-2.0
// io/file_table.hpp: what the tables of files have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/posix.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// One part whose rows only reading counts, unless `starts_` says otherwise; nothing is known of its values.
class FileTable : public Table {
 public:
  [[nodiscard]] const std::vector<Field>& fields() const final { return fields_; }
  [[nodiscard]] int parts() const final { return starts_.empty() ? 1 : static_cast<int>(starts_.size()) - 1; }
  [[nodiscard]] std::int64_t rows() const final { return knows_rows() ? starts_.back() : -1; }
  [[nodiscard]] std::int64_t rows(int part) const final { return knows_rows() ? start(part + 1) - start(part) : -1; }
  [[nodiscard]] ColumnRange range(int /*part*/, int /*column*/) const override { return {}; }

 protected:
  FileTable(std::string path, const FileState& state) : path_(std::move(path)), state_(state) {}
  explicit FileTable(const std::string& path) : FileTable(path, file_state(path)) {}

  [[nodiscard]] std::int64_t start(int part) const {
    return starts_.empty() ? 0 : starts_[static_cast<std::size_t>(part)];
  }

  [[nodiscard]] bool knows_rows() const { return !starts_.empty() && !read_to_count_; }

  std::string path_;
  FileState state_;  // of the file when the table was opened
  std::vector<Field> fields_;
  std::vector<std::int64_t> starts_;  // the first row of each part, and the end
  bool read_to_count_ = false;        // what starts_ says shows to be so, or what is wrong with a row, only in reading
};

}  // namespace upsweep::io
