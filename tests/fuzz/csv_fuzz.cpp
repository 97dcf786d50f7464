// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/csv_fuzz.cpp: bytes as a CSV file, with options that other bytes choose: all cells are read, or the file
// is refused with a message.
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "io/arrow_table.hpp"
#include "tests/fuzz/file_tables.hpp"
#include "tests/fuzz/input.hpp"
#include "upsweep/error.hpp"

namespace upsweep::fuzz {
namespace {

constexpr std::size_t kChoices = 6;  // bytes of an input that are not part of the file

/// Sets options by bytes; a zero sets none.
io::CsvOptions options_of(Bytes& bytes) {
  io::CsvOptions options;
  const auto choose = [&](std::string_view name, std::initializer_list<std::string_view> values) {
    const int chosen = bytes.below(static_cast<int>(values.size()) + 1);
    if (chosen > 0) options.set(name, *(values.begin() + chosen - 1));
  };
  choose("delimiter", {",", ";", "tab", "blank", ", ", "||"});
  choose("quote", {"\"", "'", "none"});
  choose("escape", {"\\", "\""});
  choose("ragged", {"refuse", "fill", "skip"});
  choose("header", {"yes", "no", "1,2", "2"});
  switch (bytes.below(6)) {
    case 1:
      options.set("types", "string");
      break;
    case 2:
      options.set("date-format", "%d/%m/%Y %H:%M");
      break;
    case 3:
      options.set("decimal", ",");
      break;
    case 4:
      options.set("skip-end", "1");
      break;
    default:
      break;
  }
  return options;
}

void read_all(const std::string& path, const io::CsvOptions& options) {
  const auto table = io::open_csv_table(path, options, {}, 1);
  std::vector<int> columns(table->fields().size());
  std::iota(columns.begin(), columns.end(), 0);
  std::erase_if(columns,
                [&](int column) { return !table->fields()[static_cast<std::size_t>(column)].unsupported.empty(); });
  for (int row_group = 0; row_group < table->row_groups(); ++row_group) {
    const auto reader = table->open(row_group, columns);
    Batch batch;
    while (reader->next(batch)) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        touch(table->fields()[static_cast<std::size_t>(columns[c])], batch.columns[c], batch.rows);
      }
    }
  }
  for (const std::string& remark : table->remarks()) require(is_utf8(remark), "a remark that is not UTF-8");
}

}  // namespace
}  // namespace upsweep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace upsweep;
  if (size <= fuzz::kChoices) return 0;
  fuzz::Bytes bytes(data, fuzz::kChoices);
  const io::CsvOptions options = fuzz::options_of(bytes);
  const io::Descriptor file = fuzz::memory_file(data + fuzz::kChoices, size - fuzz::kChoices);
  try {
    fuzz::read_all("/proc/self/fd/" + std::to_string(file.get()), options);
  } catch (const Error& error) {
    const std::string message = error.what();
    fuzz::require(!message.empty() && error.code() != Code::ok, "an error that says nothing");
  }
  return 0;
}
