// SPDX-License-Identifier: Apache-2.0
// io/joined_fields.hpp: the columns of several files as the columns of one table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/partitions.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// The joined columns of files. Names are matched as they are written, otherwise without regard to the case of ASCII
/// letters. The columns of .npy files, which have no names, match each other. A column takes the narrowest type that
/// holds the values of all files: wider integers, decimals with the digits of all, float64. If there is no such type,
/// the column becomes unsupported, and its message names both files.
class JoinedFields {
 public:
  /// Adds the columns of the next file. Returns the joined column of each. Throws invalid_argument if the name of a
  /// column matches two of the others, or if no column matches.
  std::vector<int> add(const std::string& path, const std::vector<Field>& fields);
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

 private:
  using Places = std::map<std::string, std::vector<int>, std::less<>>;

  /// The first file that has a type for a column, and that type.
  struct Origin {
    std::string path;
    std::string type;
    bool is_apart = false;  ///< another file has an incompatible type
  };

  int exact_place(const std::string& name, const std::vector<bool>& taken) const;
  int place_like(const std::string& path, const std::string& name, const std::vector<bool>& taken) const;
  void join(int place, const Field& field, const std::string& path);

  std::vector<Field> fields_;
  std::vector<Origin> origins_;
  Places by_name_;
  Places by_lower_name_;
  std::string first_path_;
};

/// Returns the column of a file that matches a name, as JoinedFields matches names; -1: none, or several.
int column_like(std::string_view name, const std::vector<Field>& fields);

/// Serializes the columns of a file to bytes, for another process.
std::string packed(const std::vector<Field>& fields);
/// Removes the result of packed() from the front of `bytes` and returns its columns.
std::vector<Field> take_fields(std::string_view& bytes);

/// A file of a joined table.
struct JoinedFile {
  std::string path;
  std::shared_ptr<const Table> table;
  std::vector<int> places = {};                 ///< the joined column of each of its columns, from JoinedFields::add()
  std::vector<PartitionValue> partitions = {};  ///< of the last joined columns, which are columns by folders
};

/// Files, and their joined columns.
struct JoinedFiles {
  std::vector<JoinedFile> files;
  std::vector<Field> fields;
};

/// Returns the rows of some of the files, or of none, in the columns of all: JoinedFields::fields(). Processes that
/// have only some of the files then read them as open_tables() reads all.
std::unique_ptr<Table> join(std::vector<JoinedFile> files, std::vector<Field> fields);

/// Returns the type of a column for messages: "int32", "decimal(18, 2)", "text", ….
std::string type_name(const Field& field);

}  // namespace upsweep::io
