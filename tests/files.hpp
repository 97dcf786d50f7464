// SPDX-License-Identifier: Apache-2.0
// tests/files.hpp: valid, invalid and hostile files for the tests that read them, and the errors that they expect.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "upsweep/error.hpp"

#if UPSWEEP_HAVE_ARROW
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#endif

namespace upsweep::io {

namespace fs = std::filesystem;
using namespace std::string_literals;

class IoTest : public testing::Test {
 public:
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string put(const std::string& name, std::string_view bytes) {
    fs::remove(path(name));  // file systems flush a file that is truncated and written again
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

  tests::TemporaryFolder temporary_;
  const fs::path& folder_ = temporary_.path();
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Makes a .npy file around any header text; `padding` is the number of spaces that shift the data.
inline std::string npy_around(const std::string& dict, const std::string& data, char major = 1,
                              std::size_t padding = 0) {
  const std::string text = dict + std::string(padding, ' ') + "\n";
  std::string length;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return "\x93NUMPY"s + major + '\0' + length + text + data;
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy_around("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

template <class T>
std::string npy_of(const std::vector<T>& values, const std::string& descr) {
  return npy(descr, "(" + std::to_string(values.size()) + ",)", bytes_of(values));
}

// Returns the Error that `act` throws. Every message must be one line.
inline Error error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {Code::ok, ""};
}

inline void expect_error(Code code, const std::string& part, const std::function<void()>& act) {
  const Error error = error_of(act);
  EXPECT_EQ(word(error.code()), word(code)) << error.what();
  EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << "'" << part << "' is not in: " << error.what();
}

// Flips one to three bits of the first `size` bytes.
inline std::string flipped(std::string bytes, std::size_t size, std::mt19937& random) {
  for (auto flips = 1 + random() % 3; flips > 0; --flips) {
    char& byte = bytes[random() % size];
    byte = static_cast<char>(byte ^ 1 << random() % 8);
  }
  return bytes;
}

template <class T>
std::vector<T> counting(std::size_t n, T first = 0) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

#if UPSWEEP_HAVE_ARROW

inline void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <class T>
T require(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

using ArrayPtr = std::shared_ptr<arrow::Array>;

template <class Builder, class T>
ArrayPtr build(Builder& builder, const std::vector<T>& values) {
  for (const T& value : values) require(builder.Append(value));
  return require(builder.Finish());
}

template <class ArrowType>
ArrayPtr array_of(const std::vector<typename ArrowType::c_type>& values) {
  typename arrow::TypeTraits<ArrowType>::BuilderType builder(arrow::TypeTraits<ArrowType>::type_singleton(),
                                                             arrow::default_memory_pool());
  return build(builder, values);
}

// 0, 1, 2, … with NULL at `null`.
inline ArrayPtr with_null(std::int64_t n, std::int64_t null) {
  arrow::Int64Builder builder;
  for (std::int64_t i = 0; i < n; ++i) require(i == null ? builder.AppendNull() : builder.Append(i));
  return require(builder.Finish());
}

inline std::shared_ptr<arrow::Table> table_of(const std::vector<std::pair<std::string, ArrayPtr>>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

enum class Container : std::uint8_t { parquet, ipc_file, ipc_stream };
inline constexpr Container kContainers[] = {Container::parquet, Container::ipc_file, Container::ipc_stream};

// Writes in row groups or batches of `rows`.
inline void put_table(Container kind, const std::string& path, const arrow::Table& table, std::int64_t rows,
                      arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED) {
  const auto file = require(arrow::io::FileOutputStream::Open(path));
  if (kind == Container::parquet) {
    const auto pages = parquet::WriterProperties::Builder().compression(compression)->build();
    const auto schema = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    require(parquet::arrow::WriteTable(table, arrow::default_memory_pool(), file, rows, pages, schema));
  } else {
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.unify_dictionaries = kind == Container::ipc_file;
    if (compression != arrow::Compression::UNCOMPRESSED)
      options.codec = require(arrow::util::Codec::Create(compression));
    const auto make = kind == Container::ipc_file
                          ? require(arrow::ipc::MakeFileWriter(file, table.schema(), options))
                          : require(arrow::ipc::MakeStreamWriter(file, table.schema(), options));
    require(make->WriteTable(table, rows));
    require(make->Close());
  }
  require(file->Close());
}

#endif

}  // namespace upsweep::io
