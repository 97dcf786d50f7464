// SPDX-License-Identifier: Apache-2.0
// io/npy_table.cpp: a .npy file as a table of one part and one column, named as the file.
#include "io/npy_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "io/npy.hpp"
#include "io/posix.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

Descriptor open_again(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_read_error(path, errno);
  return file;
}

Storage storage_of(const NpyLayout& layout) {
  if (layout.truth) return Storage::bit;
  constexpr Storage kStorages[] = {Storage::int8,    Storage::int16,  Storage::int32,  Storage::int64,
                                   Storage::uint8,   Storage::uint16, Storage::uint32, Storage::uint64,
                                   Storage::float32, Storage::float64};
  return kStorages[static_cast<int>(layout.type)];
}

// NumPy has a byte for each.
void pack_bits(std::byte* bytes, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 8) {
    unsigned bits = 0;
    for (std::int64_t j = i; j < std::min(i + 8, n); ++j) bits |= unsigned{bytes[j] != std::byte{0}} << (j - i);
    bytes[i / 8] = static_cast<std::byte>(bits);
  }
}

// Reads rather than maps: a file that shrinks cannot then do harm.
class NpyBatches final : public BatchReader {
 public:
  NpyBatches(std::string path, const FileState& state, const NpyLayout& layout, std::size_t columns)
      : path_(std::move(path)), state_(state), layout_(layout), columns_(columns), file_(open_again(path_)) {}

  bool next(Batch& batch) override {
    batch = {};
    const std::int64_t n = std::min(kBatchRows, layout_.count - position_);
    require_unchanged(path_, state_);
    if (n == 0) return false;
    const auto elements = read(n);
    batch.rows = n;
    batch.first_row = position_;
    ColumnData data;
    data.values = elements->data();
    batch.columns.assign(columns_, data);
    batch.memory = elements;
    position_ += n;
    return true;
  }

 private:
  [[nodiscard]] std::shared_ptr<AlignedBuffer> read(std::int64_t n) const {
    const std::int64_t width = size_of(layout_.type);
    const auto elements = std::make_shared<AlignedBuffer>();
    elements->reserve(n * width, path_);
    const std::int64_t at = layout_.data + position_ * width;
    if (read_fully_at(file_.get(), elements->data(), n * width, at, path_) < n * width) {
      throw Error(Code::malformed, fmt::format("{}: became shorter while it was read; try again", path_));
    }
    if (layout_.truth) pack_bits(elements->data(), n);
    return elements;
  }

  std::string path_;
  FileState state_;
  NpyLayout layout_;
  std::size_t columns_;  // as often is the one asked for
  Descriptor file_;
  std::int64_t position_ = 0;  // rows given out
};

class NpyTable final : public Table {
 public:
  explicit NpyTable(std::string path)
      : path_(std::move(path)), state_(file_state(path_)), layout_(read_npy_layout(open_again(path_), path_)) {
    Field field;
    field.name = std::filesystem::path(path_).stem().string();
    field.storage = storage_of(layout_);
    field.kind = layout_.truth ? ValueKind::boolean : is_float(layout_.type) ? ValueKind::real : ValueKind::integer;
    fields_.push_back(std::move(field));
  }

  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int parts() const override { return 1; }
  [[nodiscard]] std::int64_t rows() const override { return layout_.count; }
  [[nodiscard]] std::int64_t rows(int /*part*/) const override { return layout_.count; }
  [[nodiscard]] ColumnRange range(int /*part*/, int /*column*/) const override { return {}; }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int /*part*/, const std::vector<int>& columns) const override {
    return std::make_unique<NpyBatches>(path_, state_, layout_, columns.size());
  }

 private:
  std::string path_;
  FileState state_;
  NpyLayout layout_;
  std::vector<Field> fields_;
};

}  // namespace

std::unique_ptr<Table> open_npy_table(const std::string& path) { return std::make_unique<NpyTable>(path); }

}  // namespace upsweep::io
