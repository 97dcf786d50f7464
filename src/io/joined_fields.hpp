// SPDX-License-Identifier: Apache-2.0
// io/joined_fields.hpp: the columns of several files as those of one table.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/table.hpp"

namespace upsweep::io {

/// The columns that files have together. Names are matched as they are written, otherwise without regard to the case of ASCII
/// letters. The columns of .npy files, which have no names, match each other. A column takes the narrowest type that holds what all files have there: wider integers, decimals with the digits of all,
/// float64. Types that have none such make a column unsupported, which names both files.
class JoinedFields {
 public:
  /// Adds the columns of the next file. Returns the joined column that each of them is. Throws invalid_argument where a column could be
  /// two of the others by its name, or where no column is one of theirs.
  std::vector<int> add(const std::string& path, const std::vector<Field>& fields);
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }

 private:
  using Places = std::map<std::string, std::vector<int>, std::less<>>;

  /// The first file that has a type for a column, and which.
  struct Origin {
    std::string path;
    std::string type;
    bool is_apart = false;  ///< another file has a type that does not go with it
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

/// The column that a name stands for among those of a file, as JoinedFields matches them; -1: none, or several.
int column_like(std::string_view name, const std::vector<Field>& fields);

/// The columns of a file as bytes, for another process.
std::string packed(const std::vector<Field>& fields);
/// Takes what packed() has made off the front.
std::vector<Field> take_fields(std::string_view& bytes);

/// A file among those of one table.
struct JoinedFile {
  std::string path;
  std::shared_ptr<const Table> table;
  std::vector<int> places = {};  ///< which column of all each of its columns is, as JoinedFields::add() has it
};

/// The rows of some of the files, or of none, in the columns of all: JoinedFields::fields(). So processes that have only some of
/// the files read them as open_tables() reads all.
std::unique_ptr<Table> join(std::vector<JoinedFile> files, std::vector<Field> fields);

/// "int32", "decimal(18, 2)", "text", …: what messages call the type of a column.
std::string type_name(const Field& field);

}  // namespace upsweep::io
