// SPDX-License-Identifier: Apache-2.0
// io/npy_table.cpp: a .npy file as a table of one part and one column, named as the file: mapped, or read where that cannot be.
#include "io/npy_table.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "io/file_table.hpp"
#include "io/npy.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kBlockRows = 32 * kBatchRows;  // of memory that is read into, or given back, at once

// What all readers of a table share.
struct NpyFile {
  NpyFile(Opened opened, std::string file_name) : source(std::move(opened)), name(std::move(file_name)) {
    layout = read_npy_layout(source.file, name);
    if (!source.regular) return;
    state = file_state(source.file, name);
    check_size();
    if (!layout.boolean && layout.data % size_of(layout.type) == 0) map();
  }
  NpyFile(const NpyFile&) = delete;
  NpyFile& operator=(const NpyFile&) = delete;
  ~NpyFile() {
    if (mapped != nullptr) ::munmap(mapped, static_cast<std::size_t>(state.size));
  }

  // By division: the product of a hostile count and the width may only just not overflow.
  void check_size() const {
    const std::int64_t width = size_of(layout.type);
    const std::int64_t bytes = state.size - layout.data;
    const std::int64_t whole = std::max<std::int64_t>(bytes, 0) / width;
    if (whole < layout.count) {
      throw_bad_npy(name,
                    fmt::format("is cut short: {} of {} elements are missing", layout.count - whole, layout.count));
    }
    if (bytes > layout.count * width) {
      throw_bad_npy(name,
                    fmt::format("has {} bytes after its {} elements", bytes - layout.count * width, layout.count));
    }
  }

  // Some network file systems refuse it, and so does a limit on the address space.
  void map() {
    void* const base =
        ::mmap(nullptr, static_cast<std::size_t>(state.size), PROT_READ, MAP_PRIVATE, source.file.get(), 0);
    if (base == MAP_FAILED) return;
    mapped = static_cast<std::byte*>(base);
    ::madvise(mapped, static_cast<std::size_t>(state.size), MADV_SEQUENTIAL);  // only advice, so it may fail
  }

  Opened source;
  std::string name;
  NpyLayout layout;
  FileState state;
  std::byte* mapped = nullptr;  // the file's first byte in memory
};

Storage storage_of(const NpyLayout& layout) {
  if (layout.boolean) return Storage::bit;
  return std::find_if(std::begin(kStorages), std::end(kStorages),
                      [&](const auto& known) { return known.first == layout.type; })
      ->second;
}

// NumPy has a byte for each.
void pack_bits(std::byte* bytes, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 8) {
    unsigned bits = 0;
    for (std::int64_t j = i; j < std::min(i + 8, n); ++j) bits |= unsigned{bytes[j] != std::byte{0}} << (j - i);
    bytes[i / 8] = static_cast<std::byte>(bits);
  }
}

class NpyBatches final : public BatchReader {
 public:
  NpyBatches(std::shared_ptr<const NpyFile> file, std::size_t columns)
      : file_(std::move(file)), columns_(columns), width_(size_of(file_->layout.type)) {}

  bool next(Batch& batch) override {
    batch = {};
    // Also because touching a mapped page past the end of a file that shrank kills the process. One that shrinks while a
    // batch is in use is beyond help.
    if (file_->source.regular) require_unchanged(file_->source.file, file_->name, file_->state);
    const std::int64_t n = std::min(kBatchRows, count() - position_);
    ColumnData data;
    if (n > 0) data.values = file_->mapped != nullptr ? find(batch) : read(n, batch);
    batch.rows = n;
    batch.first_row = position_;
    batch.columns.assign(columns_, data);
    position_ += n;
    if (!file_->source.regular && position_ == count() && !std::exchange(ended_, true)) expect_end();
    return n > 0;
  }

 private:
  [[nodiscard]] std::int64_t count() const { return file_->layout.count; }

  // Pages that were given out before are dropped now and then, so that the process does not grow with the file. Those that
  // are in use still are mapped again when they are touched.
  const void* find(Batch& batch) {
    batch.memory = file_;
    const std::int64_t at = file_->layout.data + position_ * width_;
    if (position_ % kBlockRows == 0) {
      static const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
      const std::int64_t page = at / kPage * kPage;
      ::madvise(file_->mapped + dropped_, static_cast<std::size_t>(page - dropped_), MADV_DONTNEED);
      dropped_ = page;
    }
    return file_->mapped + at;
  }

  // Batches of a block follow each other in memory. The count stands in a header that may lie, so a block is all that it
  // takes; and it is used again where that is safe: batches of a regular file may be in use by other threads.
  const void* read(std::int64_t n, Batch& batch) {
    const std::int64_t row = position_ % kBlockRows;
    if (row == 0) {
      if (!block_ || file_->source.regular || block_.use_count() > 1) block_ = std::make_shared<AlignedBuffer>();
      block_->reserve(std::min(kBlockRows, count() - position_) * width_, file_->name);
    }
    batch.memory = block_;
    std::byte* const to = block_->data() + row * width_;
    const int fd = file_->source.file.get();
    const std::int64_t bytes = n * width_;
    if (file_->source.regular) {
      const std::int64_t at = file_->layout.data + position_ * width_;
      if (read_fully_at(fd, to, bytes, at, file_->name) < bytes) throw_changed(file_->name);
    } else if (const std::int64_t got = read_fully(fd, to, bytes, file_->name); got < bytes) {
      throw_bad_npy(file_->name, fmt::format("is cut short: {} of {} elements are missing",
                                             count() - position_ - got / width_, count()));
    }
    if (file_->layout.boolean) pack_bits(to, n);
    return to;
  }

  void expect_end() const {
    char more = 0;
    if (read_fully(file_->source.file.get(), &more, 1, file_->name) == 0) return;
    throw_bad_npy(file_->name, fmt::format("has more bytes after its {} elements", count()));
  }

  std::shared_ptr<const NpyFile> file_;
  std::size_t columns_;  // as often is the one asked for
  std::int64_t width_;
  std::int64_t position_ = 0;  // rows given out
  std::int64_t dropped_ = 0;   // bytes of the mapped file
  bool ended_ = false;
  std::shared_ptr<AlignedBuffer> block_;
};

class NpyTable final : public FileTable {
 public:
  explicit NpyTable(std::shared_ptr<const NpyFile> file) : FileTable(file->name, file->state), file_(std::move(file)) {
    const NpyLayout& layout = file_->layout;
    Field field;
    field.name = std::filesystem::path(path_).stem().string();
    field.storage = storage_of(layout);
    field.kind = layout.boolean ? ValueKind::boolean : is_float(layout.type) ? ValueKind::real : ValueKind::integer;
    fields_.push_back(std::move(field));
    starts_ = {0, layout.count};
  }

  [[nodiscard]] std::unique_ptr<BatchReader> open(int /*part*/, const std::vector<int>& columns) const override {
    return std::make_unique<NpyBatches>(file_, columns.size());
  }

 private:
  std::shared_ptr<const NpyFile> file_;
};

}  // namespace

std::unique_ptr<Table> open_npy_table(Opened opened, const std::string& name) {
  return std::make_unique<NpyTable>(std::make_shared<const NpyFile>(std::move(opened), name));
}

}  // namespace upsweep::io
