// SPDX-License-Identifier: Apache-2.0
// io/parquet_elements.cpp: copies numbers to their final place, widens decimals of bytes, and creates views of text.
#include "io/parquet_elements.hpp"

#include <arrow/array/array_dict.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type_traits.h>
#include <arrow/util/binary_view_util.h>
#include <parquet/exception.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "cpu/kernels.hpp"
#include "io/arrow_elements.hpp"
#include "io/arrow_text.hpp"
#include "io/utf8_kernels.hpp"
#include "upsweep/table.hpp"

namespace upsweep::io {
namespace {

using View = arrow::BinaryViewType::c_type;

[[noreturn]] void fail_short() { throw parquet::ParquetException("a page has fewer values than its header says"); }

bool is_bytes(const parquet::ColumnDescriptor& column) {
  return column.physical_type() == parquet::Type::FIXED_LEN_BYTE_ARRAY;
}

int stored_width(const parquet::ColumnDescriptor& column) {
  return is_bytes(column) ? column.type_length() : parquet::GetTypeByteSize(column.physical_type());
}

// ---------------------------------------------------------------------------------------------------------------
// numbers

__extension__ using Uint128 = unsigned __int128;

std::int32_t swapped(std::uint32_t bytes) { return static_cast<std::int32_t>(__builtin_bswap32(bytes)); }
std::int64_t swapped(std::uint64_t bytes) { return static_cast<std::int64_t>(__builtin_bswap64(bytes)); }
Int128 swapped(Uint128 bytes) {
  const Uint128 high = __builtin_bswap64(static_cast<std::uint64_t>(bytes));
  return static_cast<Int128>(high << 64 | __builtin_bswap64(static_cast<std::uint64_t>(bytes >> 64)));
}

// Widens numbers of `width` bytes, at most the width of an unsigned T. The first byte is the most significant (two's
// complement).
template <class T>
void widen(Bytes bytes, std::size_t width, std::uint8_t* to) {
  const std::size_t n = bytes.size() / width;
  const std::size_t unused = 8 * (sizeof(T) - width);
  const auto put = [&](std::size_t i, std::size_t loaded) {
    T first = 0;
    std::memcpy(&first, bytes.data() + i * width, loaded);
    const auto value = swapped(first) >> unused;
    std::memcpy(to + i * sizeof(T), &value, sizeof(T));
  };
  // Loads a whole T, except where the load would end past the last number.
  const std::size_t whole = bytes.size() < sizeof(T) ? 0 : (bytes.size() - sizeof(T)) / width + 1;
  for (std::size_t i = 0; i < whole; ++i) put(i, sizeof(T));
  for (std::size_t i = whole; i < n; ++i) put(i, width);
}

// Converts numbers with more bytes than 128 bits. The bytes in front must repeat the sign.
void narrow(Bytes bytes, std::size_t width, std::uint8_t* to) {
  const std::size_t excess = width - sizeof(Uint128);
  for (std::size_t i = 0; i < bytes.size() / width; ++i) {
    const Bytes number = bytes.subspan(i * width, width);
    const std::uint8_t sign = (number[excess] & 0x80) != 0 ? 0xFF : 0;
    const Bytes high = number.first(excess);
    if (std::any_of(high.begin(), high.end(), [&](std::uint8_t byte) { return byte != sign; })) {
      throw parquet::ParquetException("a decimal has more than 128 bits");
    }
    widen<Uint128>(number.subspan(excess), sizeof(Uint128), to + i * sizeof(Uint128));
  }
}

class NumberElements final : public PageElements {
 public:
  NumberElements(const parquet::ColumnDescriptor& column, const std::shared_ptr<arrow::DataType>& type)
      : PageElements(type, type->byte_width()),
        stored_(static_cast<std::size_t>(stored_width(column))),
        is_bytes_(is_bytes(column)) {}

  Entries read_dictionary(Bytes page, std::int64_t count) override {
    page = page.first(measure(page, count));  // before memory is allocated
    // The elements are copied, because Arrow's page readers reuse the memory of a page for the next one.
    dictionary_.resize(static_cast<std::size_t>(count * width()));
    read(page, count, dictionary_.data());
    return {dictionary_.data(), static_cast<std::uint32_t>(count)};
  }
  [[nodiscard]] std::size_t measure(Bytes plain, std::int64_t n) const override {
    const std::size_t bytes = static_cast<std::size_t>(n) * stored_;
    if (plain.size() < bytes) fail_short();
    return bytes;
  }
  std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) override {
    const std::size_t bytes = measure(plain, n);
    if (!is_bytes_) {
      if (bytes > 0) std::memcpy(to, plain.data(), bytes);
    } else if (stored_ > sizeof(Uint128)) {
      narrow(plain.first(bytes), stored_, to);
    } else if (width() == 4) {
      widen<std::uint32_t>(plain.first(bytes), stored_, to);
    } else if (width() == 8) {
      widen<std::uint64_t>(plain.first(bytes), stored_, to);
    } else {
      widen<Uint128>(plain.first(bytes), stored_, to);
    }
    return bytes;
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                       std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) override {
    return arrow::MakeArray(arrow::ArrayData::Make(type(), n, {std::move(validity), std::move(values)}, nulls));
  }

 private:
  std::size_t stored_;  ///< bytes of an element in a page
  bool is_bytes_;       ///< the most significant byte is first
  std::vector<std::uint8_t> dictionary_;
};

// Whether the elements can be read as a type: numbers of the same width, and decimals that are not wider, or of 128
// bits.
bool fit(const parquet::ColumnDescriptor& column, const arrow::DataType& type) {
  if (!arrow::is_primitive(type.id()) && !arrow::is_decimal(type.id())) return false;
  const int width = type.byte_width();
  const auto& logical = column.logical_type();
  if (is_bytes(column) && logical && logical->is_decimal()) {
    constexpr int kWidest = sizeof(Int128);
    return width <= kWidest && column.type_length() > 0 && (column.type_length() <= width || width == kWidest);
  }
  const parquet::Type::type stored = column.physical_type();
  const bool is_number = stored == parquet::Type::INT32 || stored == parquet::Type::INT64 ||
                         stored == parquet::Type::FLOAT || stored == parquet::Type::DOUBLE;
  return is_number && stored_width(column) == width;
}

// Returns the type to read: decimals that fit 64 bits are read as 64 bits, if possible.
std::shared_ptr<arrow::DataType> type_to_read(const parquet::ColumnDescriptor& column,
                                              const std::shared_ptr<arrow::DataType>& type) {
  const bool is_long =
      column.physical_type() == parquet::Type::INT64 || (is_bytes(column) && column.type_length() <= 8);
  if (type->id() != arrow::Type::DECIMAL128 || !is_long) return type;
  const auto& decimal = static_cast<const arrow::DecimalType&>(*type);
  const bool fits = decimal.precision() <= arrow::Decimal64Type::kMaxPrecision;
  return fits ? arrow::decimal64(decimal.precision(), decimal.scale()) : type;
}

// ------------------------------------------------------------------------------------------------------------------
// text

// Calls f with the length and the bytes of each of the first n texts.
template <class F>
std::size_t each_text(Bytes plain, std::int64_t n, const F& f) {
  std::size_t at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t length = 0;
    if (plain.size() - at < sizeof length) fail_short();
    std::memcpy(&length, plain.data() + at, sizeof length);
    at += sizeof length;
    if (length > plain.size() - at || length > std::numeric_limits<std::int32_t>::max()) fail_short();
    f(i, plain.data() + at, static_cast<std::int32_t>(length));
    at += length;
  }
  return at;
}

std::size_t measure_texts(Bytes plain, std::int64_t n) {
  return each_text(plain, n, [](std::int64_t, const std::uint8_t*, std::int32_t) {});
}

// Checks whether plain texts are UTF-8. The lengths between texts of less than 128 bytes are ASCII, so truncated
// characters are also found. Such texts are checked together, longer ones separately.
class TextCheck {
 public:
  explicit TextCheck(Bytes plain) : begin_(plain.data()) {}

  void add(const std::uint8_t* letters, std::int32_t length) {
    if (length < 0x80) return;
    finish(letters - sizeof length);
    begin_ = letters;
    finish(letters + length);
    begin_ = letters + length;
  }
  /// Checks up to `end`, where a text ends.
  bool finish(const std::uint8_t* end) {
    static const IsUtf8 is_utf8 =
        cpu::table_for(Isa::best, &utf8_kernels_baseline, &utf8_kernels_avx2, &utf8_kernels_avx512).is_utf8;
    valid_ = valid_ && is_utf8(begin_, end - begin_);
    return valid_;
  }

 private:
  const std::uint8_t* begin_;  // of the bytes that are not checked yet
  bool valid_ = true;
};

// Creates views of the texts; `buffer` is the number of the buffer that contains them. `valid` stays the same if they
// are UTF-8.
std::size_t view_texts(Bytes plain, std::int64_t n, const arrow::Buffer& page, std::int32_t buffer, std::uint8_t* to,
                       bool& valid) {
  TextCheck check(plain);
  const std::size_t bytes = each_text(plain, n, [&](std::int64_t i, const std::uint8_t* letters, std::int32_t length) {
    const View view =
        arrow::util::ToBinaryView(letters, length, buffer, static_cast<std::int32_t>(letters - page.data()));
    std::memcpy(to + i * std::int64_t{sizeof view}, &view, sizeof view);
    check.add(letters, length);
  });
  valid = check.finish(plain.data() + bytes) && valid;
  return bytes;
}

std::shared_ptr<arrow::Buffer> copy_of(const arrow::Buffer& page) {
  PARQUET_ASSIGN_OR_THROW(std::shared_ptr<arrow::Buffer> copy, page.CopySlice(0, page.size()));
  return copy;
}

/// Decimals of 128 bits that are stored as any number of bytes, the most significant first, in two's complement.
class VaryingDecimals final : public PageElements {
 public:
  explicit VaryingDecimals(const std::shared_ptr<arrow::DataType>& type) : PageElements(type, sizeof(Int128)) {}

  Entries read_dictionary(Bytes page, std::int64_t count) override {
    (void)measure(page, count);  // before memory is allocated
    dictionary_.resize(static_cast<std::size_t>(count) * sizeof(Int128));
    read(page, count, dictionary_.data());
    return {dictionary_.data(), static_cast<std::uint32_t>(count)};
  }
  [[nodiscard]] std::size_t measure(Bytes plain, std::int64_t n) const override { return measure_texts(plain, n); }
  std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) override {
    return each_text(plain, n, [&](std::int64_t i, const std::uint8_t* bytes, std::int32_t length) {
      const auto width = static_cast<std::size_t>(length);
      if (width == 0) throw parquet::ParquetException("a decimal with zero bytes");
      std::uint8_t* const place = to + i * std::int64_t{sizeof(Int128)};
      if (width > sizeof(Int128)) {
        narrow({bytes, width}, width, place);
      } else {
        widen<Uint128>({bytes, width}, width, place);
      }
    });
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                       std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) override {
    return arrow::MakeArray(arrow::ArrayData::Make(type(), n, {std::move(validity), std::move(values)}, nulls));
  }

 private:
  std::vector<std::uint8_t> dictionary_;
};

/// Timestamps of 96 bits, an old form that Spark and Impala write: nanoseconds of a day, and its Julian day number.
class Int96Elements final : public PageElements {
 public:
  explicit Int96Elements(const std::shared_ptr<arrow::DataType>& type) : PageElements(type, sizeof(std::int64_t)) {}

  Entries read_dictionary(Bytes page, std::int64_t count) override {
    (void)measure(page, count);  // before memory is allocated
    dictionary_.resize(static_cast<std::size_t>(count) * sizeof(std::int64_t));
    read(page, count, dictionary_.data());
    return {dictionary_.data(), static_cast<std::uint32_t>(count)};
  }
  [[nodiscard]] std::size_t measure(Bytes plain, std::int64_t n) const override {
    const std::size_t bytes = static_cast<std::size_t>(n) * kStored;
    if (plain.size() < bytes) fail_short();
    return bytes;
  }
  std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) override {
    constexpr std::int64_t kDay = 86'400'000'000'000;    // nanoseconds
    constexpr std::int64_t kFirstJulianDay = 2'440'588;  // 1970-01-01
    const std::size_t bytes = measure(plain, n);
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t of_day = 0;
      std::int32_t day = 0;
      const std::uint8_t* const from = plain.data() + static_cast<std::size_t>(i) * kStored;
      std::memcpy(&of_day, from, sizeof of_day);
      std::memcpy(&day, from + sizeof of_day, sizeof day);
      const Int128 since = (Int128{day} - kFirstJulianDay) * kDay + of_day;
      const auto value = static_cast<std::int64_t>(since);
      if (value != since) {
        throw parquet::ParquetException(
            "a timestamp of 96 bits is outside the years 1678 to 2262; write the file "
            "again with timestamps of microseconds");
      }
      std::memcpy(to + i * std::int64_t{sizeof value}, &value, sizeof value);
    }
    return bytes;
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                       std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) override {
    return arrow::MakeArray(arrow::ArrayData::Make(type(), n, {std::move(validity), std::move(values)}, nulls));
  }

 private:
  static constexpr std::size_t kStored = 12;  ///< bytes

  std::vector<std::uint8_t> dictionary_;
};

/// Texts as views of the pages that contain them, or of the dictionary.
class TextElements final : public PageElements {
 public:
  TextElements() : PageElements(arrow::utf8_view(), sizeof(View)), pages_(1) {}

  void start_read() override {
    pages_.resize(1);
    is_listed_ = false;
    are_valid_ = are_entries_valid_;
  }
  Bytes start_page(const std::shared_ptr<arrow::Buffer>& page, bool stays) override {
    page_ = stays ? page : copy_of(*page);
    is_listed_ = false;
    return {page_->data(), size_of(*page_)};
  }
  Entries read_dictionary(Bytes page, std::int64_t count) override {
    pages_[0] = page_;
    measure_texts(page, count);  // before memory is allocated
    dictionary_.resize(static_cast<std::size_t>(count) * sizeof(View));
    view_texts(page, count, *page_, 0, dictionary_.data(), are_entries_valid_);
    are_valid_ = are_valid_ && are_entries_valid_;
    return {dictionary_.data(), static_cast<std::uint32_t>(count)};
  }
  [[nodiscard]] std::size_t measure(Bytes plain, std::int64_t n) const override { return measure_texts(plain, n); }
  std::size_t read(Bytes plain, std::int64_t n, std::uint8_t* to) override {
    if (!is_listed_) pages_.push_back(page_);
    is_listed_ = true;
    return view_texts(plain, n, *page_, static_cast<std::int32_t>(pages_.size() - 1), to, are_valid_);
  }
  std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                       std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) override {
    // Otherwise the text that is not UTF-8, and its row, are determined later.
    if (are_valid_) values = std::make_shared<CheckedViews>(values);
    std::vector<std::shared_ptr<arrow::Buffer>> buffers{std::move(validity), std::move(values)};
    buffers.insert(buffers.end(), pages_.begin(), pages_.end());
    if (buffers[2] == nullptr) buffers[2] = std::make_shared<arrow::Buffer>(nullptr, 0);  // without a dictionary
    return arrow::MakeArray(arrow::ArrayData::Make(type(), n, std::move(buffers), nulls));
  }

 private:
  std::shared_ptr<arrow::Buffer> page_;
  std::vector<std::shared_ptr<arrow::Buffer>>
      pages_;                      ///< that views of this read point into; the first: the dictionary's
  bool is_listed_ = false;         ///< page_
  bool are_entries_valid_ = true;  ///< all texts of the dictionary are UTF-8
  bool are_valid_ = true;          ///< all texts of this read are UTF-8
  std::vector<std::uint8_t> dictionary_;
};

/// Texts as indices of a dictionary that all pages share.
class CodedTextElements final : public PageElements {
 public:
  CodedTextElements() : PageElements(arrow::dictionary(arrow::int32(), arrow::utf8_view()), sizeof(std::int32_t)) {}

  Bytes start_page(const std::shared_ptr<arrow::Buffer>& page, bool stays) override {
    page_ = page;
    stays_ = stays;
    return PageElements::start_page(page, stays);
  }
  Entries read_dictionary(Bytes /*page*/, std::int64_t count) override {
    const Bytes page = texts_.start_page(page_, stays_);  // views may point into it
    const Entries views = texts_.read_dictionary(page, count);
    const arrow::Buffer all(views.begin, count * std::int64_t{sizeof(View)});
    dictionary_ = texts_.finish(count, copy_of(all), nullptr, 0);
    codes_.resize(static_cast<std::size_t>(count));
    std::iota(codes_.begin(), codes_.end(), 0);
    return {reinterpret_cast<const std::uint8_t*>(codes_.data()), views.count};
  }
  [[nodiscard]] std::size_t measure(Bytes, std::int64_t) const override { fail_plain(); }
  std::size_t read(Bytes, std::int64_t, std::uint8_t*) override { fail_plain(); }
  std::shared_ptr<arrow::Array> finish(std::int64_t n, std::shared_ptr<arrow::Buffer> values,
                                       std::shared_ptr<arrow::Buffer> validity, std::int64_t nulls) override {
    if (dictionary_ == nullptr) dictionary_ = texts_.finish(0, std::make_shared<arrow::Buffer>(nullptr, 0), nullptr, 0);
    const auto codes =
        arrow::MakeArray(arrow::ArrayData::Make(arrow::int32(), n, {std::move(validity), std::move(values)}, nulls));
    return std::make_shared<arrow::DictionaryArray>(type(), codes, dictionary_);
  }

 private:
  [[noreturn]] static void fail_plain() {
    throw parquet::ParquetException("a page has an encoding that its column chunk does not name");
  }

  TextElements texts_;
  std::shared_ptr<arrow::Buffer> page_;
  bool stays_ = false;
  std::vector<std::int32_t> codes_;  ///< the numbers of the entries
  std::shared_ptr<arrow::Array> dictionary_;
};

bool is_text(const parquet::ColumnDescriptor& column, const std::shared_ptr<arrow::DataType>& type) {
  const arrow::Type::type id = value_type(type)->id();
  return column.physical_type() == parquet::Type::BYTE_ARRAY &&
         (id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING || id == arrow::Type::STRING_VIEW);
}

// Whether only the dictionary's page has plain elements.
bool is_all_coded(const parquet::ColumnChunkMetaData& chunk) {
  const auto& pages = chunk.encoding_stats();
  const auto& encodings = chunk.encodings();
  if (!chunk.has_dictionary_page()) return false;
  if (pages.empty()) return std::find(encodings.begin(), encodings.end(), parquet::Encoding::PLAIN) == encodings.end();
  return std::all_of(pages.begin(), pages.end(), [](const parquet::PageEncodingStats& page) {
    return page.page_type == parquet::PageType::DICTIONARY_PAGE || is_dictionary(page.encoding);
  });
}

}  // namespace

std::unique_ptr<PageElements> elements_of(const parquet::ColumnDescriptor& column,
                                          const parquet::ColumnChunkMetaData& chunk,
                                          const std::shared_ptr<arrow::DataType>& type) {
  // parquet-mr, which Spark uses, lists BIT_PACKED as the encoding of levels even if the column has no levels. A newer
  // parquet-mr also writes statistics of encodings. In older files, which have none, levels may really be BIT_PACKED:
  // Arrow then reads the column.
  const bool may_name_bits = column.max_definition_level() == 0 || !chunk.encoding_stats().empty();
  const auto& encodings = chunk.encodings();
  const bool is_known = std::all_of(encodings.begin(), encodings.end(), [&](parquet::Encoding::type encoding) {
    return encoding == parquet::Encoding::PLAIN || encoding == parquet::Encoding::RLE || is_dictionary(encoding) ||
           (encoding == parquet::Encoding::BIT_PACKED && may_name_bits);
  });
  if (!is_known || column.max_repetition_level() > 0 || column.max_definition_level() > 1) return nullptr;
  if (is_text(column, type)) {
    if (is_all_coded(chunk)) return std::make_unique<CodedTextElements>();
    return std::make_unique<TextElements>();
  }
  if (column.physical_type() == parquet::Type::BYTE_ARRAY && type->id() == arrow::Type::DECIMAL128) {
    return std::make_unique<VaryingDecimals>(type);
  }
  if (column.physical_type() == parquet::Type::INT96) {
    const bool is_read = type->id() == arrow::Type::TIMESTAMP;  // of nanoseconds, which is how Arrow declares it
    return is_read ? std::make_unique<Int96Elements>(type) : nullptr;
  }
  const auto read = type_to_read(column, type);
  return fit(column, *read) ? std::make_unique<NumberElements>(column, read) : nullptr;
}

}  // namespace upsweep::io
