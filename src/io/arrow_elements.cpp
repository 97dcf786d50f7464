// SPDX-License-Identifier: Apache-2.0
// io/arrow_elements.cpp: elements as Arrow stores them, made into those that are computed with.
#include "io/arrow_elements.hpp"

#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/float16.h>
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "io/arrow_errors.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kMilliseconds = 86400000;  // in a day

template <std::size_t kWords>
using WideInteger = std::array<std::int64_t, kWords>;  // least significant word first

// Whether all words from `first` on only repeat the sign of the word before them.
template <std::size_t kWords>
bool is_sign(const WideInteger<kWords>& value, std::size_t first) {
  const std::int64_t sign = value[first - 1] >> 63;
  std::int64_t differs = 0;
  for (std::size_t i = first; i < kWords; ++i) differs |= value[i] ^ sign;
  return differs == 0;
}

// one(from[i], to[i]) for each i; returns the first for which it is false, or n. Looked for only where there is one: a
// loop without a way out is made into SIMD code.
template <class From, class To, class One>
std::int64_t each(const std::uint8_t* from, std::int64_t n, void* to, One one) {
  const auto at = [=](std::int64_t i) {
    From value;
    std::memcpy(static_cast<void*>(&value), from + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    return value;
  };
  bool all = true;
  for (std::int64_t i = 0; i < n; ++i) {
    To result;
    all &= one(at(i), result);
    std::memcpy(static_cast<char*>(to) + i * static_cast<std::int64_t>(sizeof result), &result, sizeof result);
  }
  if (all) return n;
  std::int64_t i = 0;
  for (To ignored; one(at(i), ignored);) ++i;
  return i;
}

// To the least significant words.
template <std::size_t kFrom, std::size_t kTo>
std::int64_t narrow(const std::uint8_t* from, std::int64_t n, void* to) {
  return each<WideInteger<kFrom>, WideInteger<kTo>>(from, n, to, [](const auto& value, auto& result) {
    std::memcpy(&result, &value, sizeof result);
    return is_sign(value, kTo);
  });
}

}  // namespace

void pass_validity(const arrow::Array& array, ColumnData& data) {
  if (array.null_count() == 0) return;
  data.validity = array.null_bitmap_data();
  data.offset = array.offset();
}

std::shared_ptr<arrow::DataType> value_type(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() != arrow::Type::DICTIONARY) return type;
  return static_cast<const arrow::DictionaryType&>(*type).value_type();
}

std::shared_ptr<arrow::Array> decode_dictionary(const arrow::DictionaryArray& encoded, const std::string& name,
                                                std::int64_t first_row) {
  const arrow::Array& dictionary = *encoded.dictionary();
  const std::int64_t n = encoded.length();
  const std::int64_t width = dictionary.type()->byte_width();
  const std::shared_ptr<arrow::Buffer> values = checked(name, [&] { return arrow::AllocateBuffer(n * width); });
  const std::shared_ptr<arrow::Buffer> validity = checked(name, [&] { return arrow::AllocateEmptyBitmap(n); });
  const std::uint8_t* const entries =
      dictionary.length() == 0 ? nullptr : dictionary.data()->buffers[1]->data() + dictionary.offset() * width;
  std::int64_t nulls = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint8_t* const to = values->mutable_data() + i * width;
    const std::int64_t index = encoded.IsNull(i) ? -1 : encoded.GetValueIndex(i);
    if (encoded.IsValid(i) && (index < 0 || index >= dictionary.length())) {
      throw_status(name, arrow::Status::Invalid(fmt::format("row {} points past its dictionary", first_row + i)));
    }
    if (index < 0 || dictionary.IsNull(index)) {
      ++nulls;
      std::memset(to, 0, static_cast<std::size_t>(width));
    } else {
      arrow::bit_util::SetBit(validity->mutable_data(), i);
      std::memcpy(to, entries + index * width, static_cast<std::size_t>(width));
    }
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(dictionary.type(), n, {nulls > 0 ? validity : nullptr, values}, nulls));
}

std::int64_t convert_elements(arrow::Type::type id, std::int64_t width, const std::uint8_t* from, std::int64_t n,
                              void* to) {
  constexpr std::int64_t kWord = sizeof(std::int64_t);
  if (id == arrow::Type::DECIMAL32 && width == kWord) {
    return each<std::int32_t, std::int64_t>(from, n, to, [](std::int32_t value, std::int64_t& result) {
      result = value;
      return true;
    });
  }
  if (id == arrow::Type::DECIMAL128 && width == kWord) return narrow<2, 1>(from, n, to);
  if (id == arrow::Type::DECIMAL256 && width == kWord) return narrow<4, 1>(from, n, to);
  if (id == arrow::Type::DECIMAL256) return narrow<4, 2>(from, n, to);
  if (id == arrow::Type::DATE64) {
    return each<std::int64_t, std::int32_t>(from, n, to, [](std::int64_t value, std::int32_t& result) {
      const std::int64_t days = value / kMilliseconds;
      result = static_cast<std::int32_t>(days);
      return days * kMilliseconds == value && result == days;
    });
  }
  if (id == arrow::Type::HALF_FLOAT) {
    return each<std::uint16_t, float>(from, n, to, [](std::uint16_t value, float& result) {
      result = arrow::util::Float16::FromBits(value).ToFloat();
      return true;
    });
  }
  std::memcpy(to, from, static_cast<std::size_t>(n * width));
  return n;
}

void throw_misfit(arrow::Type::type id, const std::string& name, std::int64_t row) {
  throw Error(Code::malformed,
              id == arrow::Type::DATE64
                  ? fmt::format("{}: row {} is no whole day, or too far away; convert the column to date32", name, row)
                  : fmt::format("{}: row {} has more digits than its type allows; write it again", name, row),
              row);
}

}  // namespace upsweep::io
