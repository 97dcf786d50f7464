// SPDX-License-Identifier: Apache-2.0
// io/joined_fields.hpp: the columns of several files as the columns of one table.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/partitions.hpp"
#include "io/written_numbers.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {

/// The joined columns of files. Names are matched as they are written, otherwise without regard to the case of ASCII
/// letters. The columns of .npy files, which have no names, match each other. A column takes the narrowest type that
/// holds the values of all files: wider integers, decimals with the digits of all, float64. If there is no such type,
/// and all of the files are CSV, the column is text. Otherwise the column becomes unsupported, and its message names
/// both files. The same applies to numbers that CSV files write with another decimal mark, in another currency, or as
/// percentages.
class JoinedFields {
 public:
  /// `numbers`: numbers are requested from each column, so no column becomes text.
  explicit JoinedFields(bool numbers = false) : numbers_(numbers) {}

  /// Adds the columns of the next file. Returns the joined column of each. `written` is written_numbers() of its table.
  /// Throws invalid_argument if the name of a column matches two of the others, or if no column matches.
  std::vector<int> add(const std::string& path, const std::vector<Field>& fields,
                       const std::vector<WrittenNumbers>& written = {});
  [[nodiscard]] const std::vector<Field>& fields() const { return fields_; }
  /// Returns the first joined column that is called like this, or -1.
  [[nodiscard]] int place_of(const std::string& name) const;
  /// Adds the value in the name of a folder, of type int64 or text, as the value of a file that does not have the
  /// column.
  void add_folder(int place, const Field& field, const std::string& path);
  /// Returns a line for each column that is text because the files differ.
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  using Places = std::map<std::string, std::vector<int>, std::less<>>;

  /// The files of a column that have a type for it.
  struct Origin {
    std::string path;                  ///< of the first
    std::string type;                  ///< in this file
    bool has_csv = false;              ///< one of the files is CSV
    std::optional<Field> stored = {};  ///< in the first of the files that are not CSV
    std::string difference = {};       ///< two files that do not go together; empty: all do
    std::string option = {};           ///< the option that decides it, if there is one
    WrittenNumbers written = {};       ///< in CSV files, each of its members from the first file that has it:
    std::string decimal_path = {};
    std::string currency_path = {};
    std::string numbers_path = {};
  };

  int exact_place(const std::string& name, const std::vector<bool>& taken) const;
  int place_like(const std::string& path, const std::string& name, const std::vector<bool>& taken) const;
  void join(int place, const Field& field, const std::string& path, const WrittenNumbers* written);
  static void add_written(const WrittenNumbers& written, const std::string& path, Origin& origin);
  void settle(int place);

  bool numbers_;

  std::vector<Field> fields_;
  std::vector<Origin> origins_;
  Places by_name_;
  Places by_lower_name_;
  std::string first_path_;
};

/// Returns the column of a file that matches a name, as JoinedFields matches names; -1: none, or several.
int column_like(std::string_view name, const std::vector<Field>& fields);

/// Returns FileTable::written_numbers() of a table; empty for any other table.
const std::vector<WrittenNumbers>& written_numbers(const Table& table);

/// Serializes the columns of a file to bytes, for another process.
std::string packed(const std::vector<Field>& fields);
/// Removes the result of packed() from the front of `bytes` and returns its columns.
std::vector<Field> take_fields(std::string_view& bytes);
/// As packed() and take_fields(), for how the numbers of the columns are written.
std::string packed(const std::vector<WrittenNumbers>& columns);
std::vector<WrittenNumbers> take_written_numbers(std::string_view& bytes);

/// A file of a joined table.
struct JoinedFile {
  std::string path;
  std::shared_ptr<const Table> table;
  std::vector<int> places = {};                 ///< the joined column of each of its columns, from JoinedFields::add()
  std::vector<PartitionValue> partitions = {};  ///< of columns by folders that it does not have itself
};

/// Files, and their joined columns.
struct JoinedFiles {
  std::vector<JoinedFile> files;
  std::vector<Field> fields;
  std::vector<std::string> remarks = {};  ///< about the joined columns
};

/// Returns the rows of some of the files, or of none, in the columns of all: JoinedFields::fields(). Processes that
/// have only some of the files then read them as open_tables() reads all. `remarks` are those about the columns.
std::unique_ptr<Table> join(std::vector<JoinedFile> files, std::vector<Field> fields,
                            std::vector<std::string> remarks = {});

/// Returns the type of a column for messages: "int32", "decimal(18, 2)", "text", ….
std::string type_name(const Field& field);

}  // namespace upsweep::io
