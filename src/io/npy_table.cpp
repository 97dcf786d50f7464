// SPDX-License-Identifier: Apache-2.0
// io/npy_table.cpp: a .npy file as a table of one column, named as the file.
#include "io/npy_table.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "io/file_table.hpp"
#include "io/npy.hpp"
#include "io/posix.hpp"
#include "io/table.hpp"
#include "io/tuning.hpp"
#include "upsweep/detail/temporal.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kBlockRows = tuning::kBinary.npy_batches * kBatchRows;  // of the memory that rows are read into
constexpr std::int64_t kRowGroupRows = kBlockRows;  // of a regular file: threads read row groups at the same time
constexpr std::int64_t kMostRowGroups = 1 << 20;    // a sparse file can have a header of any count

// The state that all readers of a table share. A regular file is open only while it is read, because a table may
// consist of more files than a process may have open. A file that can be read only once stays open.
struct NpyFile {
  // Takes the descriptor if the file can be read only once.
  explicit NpyFile(Opened& opened)
      : path(opened.path), name(path.name), regular(opened.regular), layout(read_npy_layout(opened.file, name)) {
    require_one_dimension(layout, name);
    if (!regular) {
      stream = std::move(opened.file);
      return;
    }
    state = file_state(opened.file, name);
    check_size();
  }

  // The check divides, because the product of a hostile count and the width might not overflow.
  void check_size() const {
    const std::int64_t width = layout.elements.width;
    const std::int64_t bytes = state.size - layout.data;
    const std::int64_t whole = std::max<std::int64_t>(bytes, 0) / width;
    if (whole < layout.count) {
      throw_bad_npy(name,
                    fmt::format("is truncated: {} of {} elements are missing", layout.count - whole, layout.count));
    }
    if (bytes > layout.count * width) {
      throw_bad_npy(name,
                    fmt::format("has {} bytes after its {} elements", bytes - layout.count * width, layout.count));
    }
  }

  FilePath path;
  std::string name;  // in messages
  bool regular;
  NpyLayout layout;
  FileState state;    // of a regular file
  Descriptor stream;  // of any other file
};

// The elements of a regular file in place.
class MappedNpy {
 public:
  MappedNpy(std::shared_ptr<const NpyFile> file, Descriptor descriptor)
      : file_(std::move(file)), descriptor_(std::move(descriptor)), width_(file_->layout.elements.width) {
    const bool aligned = file_->layout.data % width_ == 0;
    if (!file_->regular || !file_->layout.elements.are_in_place() || !aligned) return;
    base_ = ::mmap(nullptr, size(), PROT_READ, MAP_PRIVATE, descriptor_.get(), 0);
    // This is only advice, so it may fail.
    if (is_there()) ::madvise(base_, size(), MADV_SEQUENTIAL);
  }
  ~MappedNpy() {
    if (is_there()) ::munmap(base_, size());
  }
  MappedNpy(const MappedNpy&) = delete;
  MappedNpy& operator=(const MappedNpy&) = delete;

  // Some network file systems do not support mapping. A limit on the address space can also prevent it.
  [[nodiscard]] bool is_there() const { return base_ != MAP_FAILED; }

  // Earlier pages are dropped from time to time, so that the memory of the process does not grow with the file.
  const void* from(std::int64_t first) {
    // This check also protects the process: touching a page past the end of a file that shrank kills it.
    require_unchanged(file_->state, file_state(descriptor_, file_->name), file_->name);
    const std::int64_t at = file_->layout.data + first * width_;
    auto* const bytes = static_cast<std::byte*>(base_);
    if (at - dropped_ >= tuning::kBinary.npy_dropped) {
      static const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
      const std::int64_t page = at / kPage * kPage;
      ::madvise(bytes + dropped_, static_cast<std::size_t>(page - dropped_), MADV_DONTNEED);
      dropped_ = page;
    }
    return bytes + at;
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(file_->state.size); }

  std::shared_ptr<const NpyFile> file_;
  Descriptor descriptor_;
  std::int64_t width_;
  void* base_ = MAP_FAILED;
  std::int64_t dropped_ = 0;  // bytes from the front
};

// Memory for consecutive batches.
struct Block {
  AlignedBuffer bytes;
  std::atomic<int> in_use = 0;  // batches

  // Acquire order: the end of the last batch, in any thread, is visible before the memory is written again.
  [[nodiscard]] bool is_free() const { return in_use.load(std::memory_order_acquire) == 0; }
};

// The batches of some of the elements.
class NpyBatches final : public BatchReader {
 public:
  NpyBatches(std::shared_ptr<const NpyFile> file, std::size_t columns, std::int64_t first, std::int64_t end)
      : file_(std::move(file)),
        columns_(columns),
        width_(file_->layout.elements.width),
        wide_(std::max<std::int64_t>(width_, width_of(file_->layout.elements.storage) / 8)),
        position_(first),
        end_(end) {
    if (file_->regular) descriptor_ = open_again(file_->path, file_->state);
  }

  bool next(Batch& batch) override {
    batch = {};
    const std::int64_t n = std::min(kBatchRows, end_ - position_);
    ColumnData data;
    if (n > 0) read(n, batch, data);
    batch.rows = n;
    batch.first_row = position_;
    batch.columns.assign(columns_, data);
    position_ += n;
    if (!file_->regular && position_ == end_ && !std::exchange(ended_, true)) expect_end();
    return n > 0;
  }

 private:
  void read(std::int64_t n, Batch& batch, ColumnData& data) {
    const bool are_in_place = file_->layout.elements.are_in_place();
    std::byte* const to = buffer_for(n);
    block_->in_use.fetch_add(1, std::memory_order_relaxed);
    const auto validity = std::make_shared<std::vector<std::uint8_t>>();
    batch.memory = {to,
                    [block = block_, validity](const void*) { block->in_use.fetch_sub(1, std::memory_order_release); }};
    if (!are_in_place) stored_.reserve(kBatchRows * width_, file_->name);
    std::byte* const stored = are_in_place ? to : stored_.data();
    if (file_->regular) {
      read_regular(n, stored);
    } else {
      read_stream(n, stored);
    }
    if (!are_in_place) *validity = convert_npy(file_->layout.elements, stored, n, to, position_, file_->name);
    if (!validity->empty()) data.validity = validity->data();
    data.values = to;
  }

  // Restarts at the front of the block as soon as no batch uses it, so that the memory is in a cache. It allocates at
  // most one block, because the header may claim a wrong number of elements.
  std::byte* buffer_for(std::int64_t n) {
    if (block_ && block_->is_free()) filled_ = 0;
    if (!block_ || filled_ + n > kBlockRows) {
      block_ = std::make_shared<Block>();
      block_->bytes.reserve(std::min(kBlockRows, end_ - position_) * wide_, file_->name);
      filled_ = 0;
    }
    return block_->bytes.data() + std::exchange(filled_, filled_ + n) * wide_;
  }

  void read_regular(std::int64_t n, std::byte* to) const {
    const std::string& name = file_->name;
    const std::int64_t at = file_->layout.data + position_ * width_;
    const std::int64_t row = position_ + read_fully_at(descriptor_.get(), to, n * width_, at, name) / width_;
    if (row < position_ + n) {
      throw Error(Code::malformed,
                  fmt::format("{}: changed while it was read: it ends before element {}; try again", name, row), row);
    }
    require_unchanged(file_->state, file_state(descriptor_, name), name);
  }

  void read_stream(std::int64_t n, std::byte* to) const {
    const std::int64_t got = read_fully(file_->stream.get(), to, n * width_, file_->name) / width_;
    if (got == n) return;
    throw_bad_npy(file_->name,
                  fmt::format("is truncated: {} of {} elements are missing", end_ - position_ - got, end_));
  }

  void expect_end() const {
    char more = 0;
    if (read_fully(file_->stream.get(), &more, 1, file_->name) == 0) return;
    throw_bad_npy(file_->name, fmt::format("has more bytes after its {} elements", end_));
  }

  std::shared_ptr<const NpyFile> file_;
  Descriptor descriptor_;  // of a regular file
  std::size_t columns_;    // how many times the column is requested
  std::int64_t width_;     // of a stored element, in bytes
  std::int64_t wide_;      // of the wider one of a stored and a converted element
  std::int64_t position_;  // of the next row
  std::int64_t end_;
  bool ended_ = false;
  AlignedBuffer stored_;  // elements before they are converted
  std::shared_ptr<Block> block_;
  std::int64_t filled_ = 0;  // rows of the block
};

class NpyTable final : public FileTable {
 public:
  explicit NpyTable(std::shared_ptr<const NpyFile> file) : FileTable(file->path, file->state), npy_(std::move(file)) {
    const NpyLayout& layout = npy_->layout;
    Field field;
    field.name = path_ == kStandardInput ? "value" : std::filesystem::path(without_compression(path_)).stem().string();
    field.storage = layout.elements.storage;
    field.kind = layout.elements.kind;
    field.scale = layout.elements.scale;
    fields_.push_back(std::move(field));
    // A file that is not regular is read front to back.
    const std::int64_t step = npy_->regular ? std::max(kRowGroupRows, layout.count / kMostRowGroups) : layout.count;
    starts_ = {0};
    do starts_.push_back(std::min(starts_.back() + step, layout.count));
    while (starts_.back() < layout.count);
  }

  [[nodiscard]] Format format() const override { return Format::npy; }
  // NaT is NULL.
  [[nodiscard]] std::int64_t nulls(int column) const override {
    const ValueKind kind = fields_[static_cast<std::size_t>(column)].kind;
    return kind == ValueKind::date || detail::is_temporal(kind) ? -1 : 0;
  }
  [[nodiscard]] std::int64_t bytes(int /*column*/) const override {
    return npy_->layout.count * npy_->layout.elements.width;
  }
  [[nodiscard]] std::unique_ptr<BatchReader> open(int row_group, const std::vector<int>& columns) const override {
    return std::make_unique<NpyBatches>(npy_, columns.size(), start(row_group), start(row_group + 1));
  }

 private:
  std::shared_ptr<const NpyFile> npy_;
};

}  // namespace

TableColumn open_npy(Opened opened) {
  const auto file = std::make_shared<const NpyFile>(opened);
  TableColumn column{std::make_unique<NpyTable>(file), 0, file->name};
  const auto mapped = std::make_shared<MappedNpy>(file, std::move(opened.file));
  if (mapped->is_there()) column.elements = [mapped](std::int64_t first) { return mapped->from(first); };
  return column;
}

}  // namespace upsweep::io
