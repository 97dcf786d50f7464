// SPDX-License-Identifier: Apache-2.0
// io/parquet_values.cpp: decodes pages: definition levels, plain elements, and codes of a dictionary's entries.
//
// Arrow's reader unpacks codes into an array and looks them up one by one. That takes 1.2 to 1.6 ns an element; this
// code takes 0.35 to 0.6 (docs/tuning.md).
#include "io/parquet_values.hpp"

#include <arrow/util/bit_util.h>
#include <parquet/exception.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/kernels.hpp"

namespace upsweep::io {
namespace {

[[noreturn]] void fail(const char* why) { throw parquet::ParquetException(why); }

Bytes from(Bytes bytes, std::int64_t first) {
  if (first < 0 || first > std::ssize(bytes)) fail("a page ends within its levels");
  return bytes.subspan(static_cast<std::size_t>(first));
}

__extension__ using Word128 = unsigned __int128;

LookUp look_up_of(int width) {
  const PackedKernels& best =
      cpu::table_for(Isa::best, &packed_kernels_baseline, &packed_kernels_avx2, &packed_kernels_avx512);
  if (width == 4) return best.look_up_32;
  return width == 8 ? best.look_up_64 : best.look_up_128;
}

template <class T>
void repeat(const std::uint8_t* element, std::int64_t n, std::uint8_t* to) {
  T value = 0;
  std::memcpy(&value, element, sizeof value);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * std::int64_t{sizeof value}, &value, sizeof value);
}

bool is_marked(const HybridRuns::Run& marks, std::int64_t i) {
  return arrow::bit_util::GetBit(marks.codes.begin, static_cast<std::uint64_t>(marks.first + i));
}

std::int64_t count_marks(const HybridRuns::Run& marks) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < marks.count; ++i) count += is_marked(marks, i) ? 1 : 0;
  return count;
}

std::shared_ptr<arrow::Buffer> allocate(std::int64_t bytes) {
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> buffer, arrow::AllocateBuffer(bytes));
  return buffer;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------------
// runs

HybridRuns::HybridRuns(Bytes bytes, int width) : at_(bytes.data()), end_(bytes.data() + bytes.size()), width_(width) {
  if (width < 0 || width > 32) fail("a page has codes of more than 32 bits");
}

HybridRuns::Run HybridRuns::take(std::int64_t most) {
  if (run_.count == 0) begin_run();
  Run taken = run_;
  taken.count = std::min(most, run_.count);
  run_.count -= taken.count;
  run_.first += taken.count;
  return taken;
}

void HybridRuns::begin_run() {
  std::uint64_t header = 0;
  for (int shift = 0;; shift += 7) {
    if (at_ == end_ || shift > 28) fail("a page has fewer values than its header says");
    header |= std::uint64_t{*at_ & 0x7FU} << shift;
    if ((*at_++ & 0x80) == 0) break;
  }
  const auto many = static_cast<std::int64_t>(header >> 1);
  run_ = {};
  if ((header & 1) == 0) {
    const std::ptrdiff_t bytes = (width_ + 7) / 8;
    if (end_ - at_ < bytes) fail("a page ends within a run");
    std::memcpy(&run_.value, at_, static_cast<std::size_t>(bytes));
    at_ += bytes;
    run_.count = many;
  } else {
    // Numbers are packed in groups of eight; the last group of a page may have fewer.
    const std::int64_t bytes = std::min<std::int64_t>(many * width_, end_ - at_);
    run_.is_packed = width_ > 0;
    run_.count = width_ > 0 ? std::min(8 * many, bytes * 8 / width_) : 8 * many;
    run_.codes = {at_, at_ + bytes, width_};
    at_ += bytes;
  }
  if (run_.count == 0) fail("a page has an empty run");
}

// ----------------------------------------------------------------------------------------------------------------
// reader

ValueReader::ValueReader(const parquet::ColumnDescriptor& column, std::unique_ptr<PageElements> elements,
                         std::unique_ptr<parquet::PageReader> pages, bool pages_stay)
    : elements_(std::move(elements)),
      width_(elements_->width()),
      look_up_(look_up_of(width_)),
      may_be_null_(column.max_definition_level() > 0),
      pages_(std::move(pages)),
      pages_stay_(pages_stay) {
  pages_->set_data_page_filter([this](const parquet::DataPageStats& page) {
    const bool is_skipped = page.num_values >= 0 && page.num_values <= skipped_;
    if (is_skipped) skipped_ -= page.num_values;
    return is_skipped;
  });
}

std::shared_ptr<arrow::Array> ValueReader::read(std::int64_t n) {
  pass_over();
  elements_->start_read();
  Values all{.rows = n, .values = allocate(n * width_)};
  for (std::int64_t done = 0; done < n;) {
    while (left_ == 0) next_page();
    const std::int64_t some = std::min(left_, n - done);
    read_from_page(some, done, all);
    done += some;
  }
  return elements_->finish(n, std::move(all.values), std::move(all.validity), all.nulls);
}

void ValueReader::pass_over() {
  while (skipped_ > 0) {
    if (left_ == 0) {
      next_page();
      continue;
    }
    const std::int64_t some = std::min(left_, skipped_);
    pass_over_in_page(some);
    left_ -= some;
    skipped_ -= some;
  }
}

void ValueReader::pass_over_in_page(std::int64_t n) {
  if (!has_levels_) return pass_over_defined(n);
  while (n > 0) {
    const HybridRuns::Run run = levels_.take(n);
    n -= run.count;
    if (run.is_packed) {
      pass_over_defined(count_marks(run));
    } else if (run.value != 0) {
      pass_over_defined(run.count);
    }
  }
}

/// Skips the next n values that are not NULL.
void ValueReader::pass_over_defined(std::int64_t n) {
  if (!is_coded_) {
    plain_ = plain_.subspan(elements_->measure(plain_, n));
    return;
  }
  while (n > 0) n -= codes_.take(n).count;
}

void ValueReader::read_from_page(std::int64_t n, std::int64_t first, Values& all) {
  left_ -= n;
  if (has_levels_) return read_defined(n, first, all);
  decode(n, all.values->mutable_data() + first * width_);
  if (all.validity) arrow::bit_util::SetBitsTo(all.validity->mutable_data(), first, n, true);
}

void ValueReader::next_page() {
  page_ = pages_->NextPage();
  if (page_ == nullptr) fail("a column has fewer rows than its row group");
  const Bytes bytes = elements_->start_page(page_->buffer(), pages_stay_);
  switch (page_->type()) {
    case parquet::PageType::DICTIONARY_PAGE:
      return begin(static_cast<const parquet::DictionaryPage&>(*page_), bytes);
    case parquet::PageType::DATA_PAGE:
      return begin(static_cast<const parquet::DataPageV1&>(*page_), bytes);
    case parquet::PageType::DATA_PAGE_V2:
      return begin(static_cast<const parquet::DataPageV2&>(*page_), bytes);
    default:
      return;
  }
}

void ValueReader::begin(const parquet::DictionaryPage& page, Bytes bytes) {
  const bool is_plain =
      page.encoding() == parquet::Encoding::PLAIN || page.encoding() == parquet::Encoding::PLAIN_DICTIONARY;
  if (!is_plain) fail("a dictionary is not plain");
  if (has_begun_) fail("a column chunk has a dictionary that is not its first page");
  has_begun_ = true;
  if (page.num_values() < 0) fail("a dictionary has a negative number of entries");
  entries_ = elements_->read_dictionary(bytes, page.num_values());
}

void ValueReader::begin(const parquet::DataPageV1& page, Bytes bytes) {
  has_levels_ = may_be_null_;
  left_ = page.num_values();
  if (has_levels_) {
    if (page.definition_level_encoding() != parquet::Encoding::RLE) fail("a page has levels in another encoding");
    std::uint32_t length = 0;
    if (bytes.size() < sizeof length) fail("a page ends within its levels");
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes = from(bytes, sizeof length);
    const auto values = from(bytes, length);
    levels_ = HybridRuns(bytes.first(length), 1);
    bytes = values;
  }
  begin_values(bytes, page.encoding());
}

void ValueReader::begin(const parquet::DataPageV2& page, Bytes bytes) {
  const std::int64_t length = page.definition_levels_byte_length();
  bytes = from(bytes, page.repetition_levels_byte_length());
  const auto values = from(bytes, length);
  has_levels_ = may_be_null_ && length > 0;  // regardless of the page's number of NULLs
  left_ = page.num_values();
  if (has_levels_) levels_ = HybridRuns(bytes.first(static_cast<std::size_t>(length)), 1);
  begin_values(values, page.encoding());
}

void ValueReader::begin_values(Bytes bytes, parquet::Encoding::type encoding) {
  if (left_ < 0) fail("a page has a negative number of values");
  has_begun_ = true;
  is_coded_ = is_dictionary(encoding);
  if (!is_coded_) {
    if (encoding != parquet::Encoding::PLAIN) fail("a page has an encoding that its column chunk does not name");
    plain_ = bytes;
    return;
  }
  // If all values are NULL, there may be no bytes.
  codes_ = bytes.empty() ? HybridRuns() : HybridRuns(bytes.subspan(1), bytes[0]);
}

/// Decodes the next n values that are not NULL.
void ValueReader::decode(std::int64_t n, std::uint8_t* to) {
  if (is_coded_) return look_up(n, to);
  plain_ = plain_.subspan(elements_->read(plain_, n, to));
}

void ValueReader::look_up(std::int64_t n, std::uint8_t* to) {
  while (n > 0) {
    if (entries_.count == 0) fail("a page of codes has no dictionary");
    HybridRuns::Run run = codes_.take(n);
    n -= run.count;
    if (!run.is_packed) {
      if (run.value >= entries_.count) fail("a code is outside its dictionary");
      const std::uint8_t* const entry = entries_.begin + std::int64_t{width_} * run.value;
      if (width_ == 4) {
        repeat<std::uint32_t>(entry, run.count, to);
      } else if (width_ == 8) {
        repeat<std::uint64_t>(entry, run.count, to);
      } else {
        repeat<Word128>(entry, run.count, to);
      }
      to += run.count * width_;
      continue;
    }
    // Kernels begin at a byte. Codes before the first whole byte of a partly used run are unpacked with those that
    // precede them.
    const std::int64_t before = run.first % 8;
    run.codes.begin += (run.first - before) * run.codes.width / 8;
    alignas(16) std::uint64_t head[16];
    if (before > 0) {
      const std::int64_t some = std::min<std::int64_t>(8 - before, run.count);
      if (!look_up_(run.codes, before + some, entries_, head)) fail("a code is outside its dictionary");
      std::memcpy(to, reinterpret_cast<const std::uint8_t*>(head) + before * width_,
                  static_cast<std::size_t>(some * width_));
      run.codes.begin += run.codes.width;
      run.count -= some;
      to += some * width_;
    }
    if (run.count > 0 && !look_up_(run.codes, run.count, entries_, to)) fail("a code is outside its dictionary");
    to += run.count * width_;
  }
}

/// Reads n rows of a page, some of which may be NULL, to row `first` on.
void ValueReader::read_defined(std::int64_t n, std::int64_t first, Values& all) {
  while (n > 0) {
    const HybridRuns::Run run = levels_.take(n);
    if (run.is_packed) {
      add_marked(run, first, all);
    } else if (run.value != 0) {
      decode(run.count, all.values->mutable_data() + first * width_);
      if (all.validity) arrow::bit_util::SetBitsTo(all.validity->mutable_data(), first, run.count, true);
    } else {
      add_nulls(run.count, first, all);
    }
    first += run.count;
    n -= run.count;
  }
}

void ValueReader::add_nulls(std::int64_t n, std::int64_t first, Values& all) const {
  if (!all.validity) {
    all.validity = allocate(arrow::bit_util::BytesForBits(all.rows));
    std::memset(all.validity->mutable_data(), 0, static_cast<std::size_t>(all.validity->size()));
    arrow::bit_util::SetBitsTo(all.validity->mutable_data(), 0, first, true);
  }
  std::memset(all.values->mutable_data() + first * width_, 0, static_cast<std::size_t>(n * width_));
  all.nulls += n;
}

/// Reads rows that have a bit each. The bit is 1 if the row is not NULL.
void ValueReader::add_marked(const HybridRuns::Run& marks, std::int64_t first, Values& all) {
  const std::int64_t there = count_marks(marks);
  if (there == marks.count) {
    decode(there, all.values->mutable_data() + first * width_);
    if (all.validity) arrow::bit_util::SetBitsTo(all.validity->mutable_data(), first, there, true);
    return;
  }
  add_nulls(marks.count, first, all);
  all.nulls -= there;
  spaced_.resize(static_cast<std::size_t>((there * width_ + 7) / 8));
  const auto* next = reinterpret_cast<const std::uint8_t*>(spaced_.data());
  decode(there, reinterpret_cast<std::uint8_t*>(spaced_.data()));
  std::uint8_t* to = all.values->mutable_data() + first * width_;
  for (std::int64_t i = 0; i < marks.count; ++i, to += width_) {
    if (!is_marked(marks, i)) continue;
    std::memcpy(to, next, static_cast<std::size_t>(width_));
    next += width_;
    arrow::bit_util::SetBit(all.validity->mutable_data(), first + i);
  }
}

}  // namespace upsweep::io
