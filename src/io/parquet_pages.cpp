// SPDX-License-Identifier: Apache-2.0
// io/parquet_pages.cpp: pages of Parquet column chunks that are compressed with Snappy; numbers use snappy.hpp.
#include "io/parquet_pages.hpp"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/column_page.h>
#include <parquet/exception.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "io/snappy.hpp"
#include "io/tuning.hpp"

namespace upsweep::io {
namespace {

// A Snappy element of three bytes copies at most 64.
constexpr std::size_t kMostExpansion = 22;

/// Takes pages from a reader that does not decompress.
class SnappyPages final : public parquet::PageReader {
 public:
  SnappyPages(std::unique_ptr<parquet::PageReader> compressed, bool of_numbers)
      : compressed_(std::move(compressed)), of_numbers_(of_numbers) {
    compressed_->set_data_page_filter(
        [this](const parquet::DataPageStats& page) { return data_page_filter_ && data_page_filter_(page); });
  }

  std::shared_ptr<parquet::Page> NextPage() override {
    std::shared_ptr<parquet::Page> page = compressed_->NextPage();
    if (page == nullptr) return nullptr;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE:
        return dictionary(static_cast<const parquet::DictionaryPage&>(*page));
      case parquet::PageType::DATA_PAGE:
        return data(static_cast<const parquet::DataPageV1&>(*page));
      case parquet::PageType::DATA_PAGE_V2:
        return data(static_cast<const parquet::DataPageV2&>(*page));
      default:
        return page;
    }
  }
  void set_max_page_header_size(std::uint32_t size) override { compressed_->set_max_page_header_size(size); }

 private:
  std::shared_ptr<parquet::Page> dictionary(const parquet::DictionaryPage& page) {
    return std::make_shared<parquet::DictionaryPage>(decompressed(page, 0, -1), page.num_values(), page.encoding(),
                                                     page.is_sorted());
  }
  std::shared_ptr<parquet::Page> data(const parquet::DataPageV1& page) {
    return std::make_shared<parquet::DataPageV1>(decompressed(page, 0, page.uncompressed_size()), page.num_values(),
                                                 page.encoding(), page.definition_level_encoding(),
                                                 page.repetition_level_encoding(), page.uncompressed_size());
  }
  std::shared_ptr<parquet::Page> data(const parquet::DataPageV2& page) {
    const std::int64_t levels =
        std::int64_t{page.definition_levels_byte_length()} + page.repetition_levels_byte_length();
    return std::make_shared<parquet::DataPageV2>(
        page.is_compressed() ? decompressed(page, levels, page.uncompressed_size()) : page.buffer(), page.num_values(),
        page.num_nulls(), page.num_rows(), page.encoding(), page.definition_levels_byte_length(),
        page.repetition_levels_byte_length(), page.uncompressed_size());
  }

  /// Decompresses a page, of which the first `plain` bytes are not compressed. `size`: the required size; -1: any.
  std::shared_ptr<arrow::Buffer> decompressed(const parquet::Page& page, std::int64_t plain, std::int64_t size) {
    const auto* const from = reinterpret_cast<const char*>(page.data());
    if (plain < 0 || plain > page.size()) throw parquet::ParquetException("a page's levels are longer than the page");
    const auto length = static_cast<std::size_t>(page.size() - plain);
    std::size_t rest = 0;
    if (length > 0 && !snappy::GetUncompressedLength(from + plain, length, &rest)) fail();
    if (size >= 0 && plain + static_cast<std::int64_t>(rest) != size) fail();
    if (rest > kMostExpansion * length || rest > INT32_MAX) fail();  // before memory is allocated
    if (plain == 0 && is_literal({page.data(), length}, rest)) {
      return arrow::SliceBuffer(page.buffer(), page.size() - static_cast<std::int64_t>(rest));
    }
    PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> all,
                            arrow::AllocateBuffer(plain + static_cast<std::int64_t>(rest)));
    auto* const to = reinterpret_cast<char*>(all->mutable_data());
    std::memcpy(to, from, static_cast<std::size_t>(plain));
    if (length > 0 && !uncompress({page.data() + plain, length}, {all->mutable_data() + plain, rest})) fail();
    return all;
  }
  [[nodiscard]] bool uncompress(std::span<const std::uint8_t> block, std::span<std::uint8_t> to) const {
    if (of_numbers_) return decompress_numbers(block, to);
    return snappy::RawUncompress(reinterpret_cast<const char*>(block.data()), block.size(),
                                 reinterpret_cast<char*>(to.data()));
  }
  [[noreturn]] static void fail() { throw parquet::ParquetException("a page compressed with Snappy is damaged"); }

  std::unique_ptr<parquet::PageReader> compressed_;
  bool of_numbers_;
};

std::shared_ptr<arrow::io::InputStream> stream_of(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                  std::int64_t start, std::int64_t length,
                                                  parquet::ReaderProperties& properties) {
  if (length > tuning::kBinary.column_chunk) return properties.GetStream(file, start, length);
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> all, file->ReadAt(start, length));
  if (all->size() != length) throw parquet::ParquetException("a column chunk ends too early");
  return std::make_shared<arrow::io::BufferReader>(std::move(all));
}

}  // namespace

arrow::io::ReadRange range_in_file(const parquet::ColumnChunkMetaData& chunk) {
  std::int64_t start = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0) {
    start = std::min(start, chunk.dictionary_page_offset());
  }
  return {start, chunk.total_compressed_size()};
}

std::unique_ptr<parquet::PageReader> open_snappy_pages(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
                                                       const parquet::FileMetaData& metadata,
                                                       const parquet::ColumnChunkMetaData& chunk,
                                                       parquet::ReaderProperties properties) {
  const parquet::ApplicationVersion& writer = metadata.writer_version();
  const bool sizes_are_right = !writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION());
  // These writers mark compressed pages of version 2 as not compressed.
  const bool always_compressed = writer.VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
  if (chunk.compression() != parquet::Compression::SNAPPY || chunk.crypto_metadata() != nullptr || !sizes_are_right) {
    return nullptr;
  }
  const auto [start, length] = range_in_file(chunk);
  PARQUET_ASSIGN_OR_THROW(const std::int64_t size, file->GetSize());
  if (start < 0 || length < 0 || start > size || length > size - start) {
    throw parquet::ParquetException("a column chunk is outside the file");
  }
  const bool of_numbers = chunk.type() != parquet::Type::BYTE_ARRAY;
  return std::make_unique<SnappyPages>(
      parquet::PageReader::Open(stream_of(file, start, length, properties), chunk.num_values(),
                                parquet::Compression::UNCOMPRESSED, properties, always_compressed),
      of_numbers);
}

}  // namespace upsweep::io
