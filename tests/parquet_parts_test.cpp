// SPDX-License-Identifier: Apache-2.0
// tests/parquet_parts_test.cpp: the components of Parquet's pages: packed codes of every width, runs, and text that is
// UTF-8 or not. Blocks of Snappy are compared with libsnappy.
#include <gtest/gtest.h>
#include <snappy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.hpp"
#include "cpu/kernels.hpp"
#include "io/packed_kernels.hpp"
#include "io/snappy.hpp"
#include "io/utf8_kernels.hpp"
#include "system/isa.hpp"

namespace upsweep::io {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Bytes that end where an allocation ends, so that a sanitizer detects reads past the end.
std::unique_ptr<std::uint8_t[]> exactly(const Bytes& bytes) {
  auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

Bytes packed(const std::vector<std::uint32_t>& codes, int width) {
  Bytes bytes((codes.size() * static_cast<std::size_t>(width) + 7) / 8);
  std::size_t bit = 0;
  for (const std::uint32_t code : codes) {
    for (int b = 0; b < width; ++b, ++bit) {
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | ((code >> b & 1U) << (bit % 8)));
    }
  }
  return bytes;
}

std::vector<const PackedKernels*> kernels_here() {
  std::vector<const PackedKernels*> all;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (has_isa(isa)) {
      all.push_back(&cpu::table_for(isa, &packed_kernels_baseline, &packed_kernels_avx2, &packed_kernels_avx512));
    }
  }
  return all;
}

template <class T>
void check_codes(const PackedKernels& kernels, int width, std::size_t n, std::mt19937_64& random) {
  const auto look_up = sizeof(T) == 4 ? kernels.look_up_32 : kernels.look_up_64;
  const auto count =
      static_cast<std::uint32_t>(std::min<std::uint64_t>((std::uint64_t{1} << width) - 1, 3000) + (width < 12 ? 1 : 0));
  std::vector<T> entries(count);
  for (T& entry : entries) entry = static_cast<T>(random());
  std::vector<std::uint32_t> codes(n);
  for (std::uint32_t& code : codes) code = static_cast<std::uint32_t>(random() % count);
  const Entries dictionary{reinterpret_cast<const std::uint8_t*>(entries.data()), count};
  const auto run = [&](std::vector<T>& out) {
    const Bytes bytes = packed(codes, width);
    const auto exact = exactly(bytes);
    return look_up({exact.get(), exact.get() + bytes.size(), width}, static_cast<std::int64_t>(n), dictionary,
                   out.data());
  };
  std::vector<T> out(n + 1, T{7});
  ASSERT_TRUE(run(out)) << width;
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], entries[codes[i]]) << width << ", " << i << " of " << n;
  ASSERT_EQ(out[n], T{7});
  if (n == 0 || (std::uint64_t{1} << width) <= count) return;  // every code has an entry
  codes[random() % n] = count;
  EXPECT_FALSE(run(out)) << width << ", " << n;
}

TEST(PackedCodes, AreLookedUpAtEveryWidth) {
  std::mt19937_64 random(1);
  for (const PackedKernels* const kernels : kernels_here()) {
    for (int width = 1; width <= 32; ++width) {
      for (const std::size_t n : {0U, 1U, 5U, 7U, 8U, 9U, 15U, 16U, 17U, 24U, 31U, 64U, 65U, 200U, 1001U}) {
        check_codes<std::uint32_t>(*kernels, width, n, random);
        check_codes<std::uint64_t>(*kernels, width, n, random);
      }
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- UTF-8

std::vector<IsUtf8> utf8_kernels_here() {
  std::vector<IsUtf8> all;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (has_isa(isa)) {
      all.push_back(cpu::table_for(isa, &utf8_kernels_baseline, &utf8_kernels_avx2, &utf8_kernels_avx512).is_utf8);
    }
  }
  return all;
}

void check_utf8(std::string_view text) {
  const auto exact = exactly(Bytes(text.begin(), text.end()));
  for (const IsUtf8 is_valid : utf8_kernels_here()) {
    ASSERT_EQ(is_valid(exact.get(), std::ssize(text)), is_utf8(text)) << text;
  }
}

// Errors at every position of a vector, across two vectors, and at the end.
TEST(Utf8Kernels, JudgeByTheDefinitionAtEveryPlace) {
  const std::string_view cases[] = {"",
                                    "\xC3\xBC",
                                    "\xE2\x82\xAC",
                                    "\xF0\x9F\x98\x80",
                                    "\xFC",
                                    "\xE9",
                                    "\xC1\xBF",
                                    "\xE0\x9F\xBF",
                                    "\xF0\x8F\xBF\xBF",
                                    "\xED\x9F\xBF",
                                    "\xED\xA0\x80",
                                    "\xEE\x80\x80",
                                    "\xF4\x8F\xBF\xBF",
                                    "\xF4\x90\x80\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xFF",
                                    "\x80",
                                    "\xE2\x82",
                                    "\xF0\x9F\x98",
                                    "\xC3\xBC\xBC",
                                    "\xE2\x82\xAC\xAC",
                                    "\xF0\x9F\x98\x80\x80"};
  for (const std::string_view text : cases) {
    for (std::size_t before = 0; before < 70; ++before) {
      for (const std::size_t after : {0UL, 1UL, 31UL, 200UL}) {
        check_utf8(std::string(before, 'a') + std::string(text) + std::string(after, 'z'));
        check_utf8(std::string(before, 'a') + "\xC3\xA4" + std::string(text) + std::string(after, 'z') + "\xC3\xA4");
      }
    }
  }
}

TEST(Utf8Kernels, JudgeEveryPairOfBytesByTheDefinition) {
  for (unsigned bytes = 0; bytes < 0x10000; ++bytes) {
    const std::string text{static_cast<char>(bytes >> 8), static_cast<char>(bytes & 0xFF)};
    for (const std::string_view after : {"", "a", "\x80", "\x80\x80", "\xBF\xBF\xBF", "\xC0"}) {
      check_utf8(text + std::string(after));
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- Snappy

std::string compressed(const std::string& text) {
  std::string block;
  snappy::Compress(text.data(), text.size(), &block);
  return block;
}

/// Decompresses into a buffer that ends where its allocation ends; returns false if that fails.
bool decompress(const std::string& block, std::size_t size, std::string& text) {
  const auto in = exactly(Bytes(block.begin(), block.end()));
  const auto out = std::make_unique<std::uint8_t[]>(size);
  if (!decompress_numbers({in.get(), block.size()}, {out.get(), size})) return false;
  text.assign(reinterpret_cast<const char*>(out.get()), size);
  return true;
}

/// Strings that compress in different ways.
std::vector<std::string> texts() {
  std::mt19937_64 random(2);
  std::vector<std::string> all{"", "a", "ab", std::string(63, 'x'), std::string(100'000, 'y')};
  for (const std::size_t size : {1U, 50U, 79U, 80U, 81U, 143U, 144U, 145U, 300U, 4000U, 70'000U}) {
    std::string noise, numbers, words;
    while (noise.size() < size) noise += static_cast<char>(random());
    while (numbers.size() < size) {
      const std::uint64_t number = random() % 5'000'000;
      numbers.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    while (words.size() < size) words += random() % 3 == 0 ? "carefully " : random() % 2 == 0 ? "final " : "deposits. ";
    for (std::string* const text : {&noise, &numbers, &words}) {
      text->resize(size);
      all.push_back(*text);
    }
    for (std::size_t period = 1; period < 40; period += 1 + period / 8) {
      std::string repeated = noise.substr(0, std::min(period, size));
      while (repeated.size() < size) repeated += repeated[repeated.size() - std::min(period, repeated.size())];
      all.push_back(repeated + numbers);
    }
  }
  return all;
}

TEST(Snappy, BlocksComeToWhatTheyWereMadeOf) {
  for (const std::string& text : texts()) {
    std::string out;
    ASSERT_TRUE(decompress(compressed(text), text.size(), out)) << text.size();
    ASSERT_EQ(out, text);
    EXPECT_FALSE(decompress(compressed(text), text.size() + 1, out));
    EXPECT_TRUE(text.empty() || !decompress(compressed(text), text.size() - 1, out));
  }
}

TEST(Snappy, OneLiteralIsSeenAndNothingElseIsTakenForOne) {
  int literals = 0;
  for (const std::string& text : texts()) {
    const std::string block = compressed(text);
    for (const std::size_t length : {block.size(), block.size() - 1, std::size_t{1}, std::size_t{0}}) {
      const auto in = exactly(Bytes(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(length)));
      if (!is_literal({in.get(), length}, text.size())) continue;
      ++literals;
      ASSERT_EQ(length, block.size());
      ASSERT_EQ(block.substr(block.size() - text.size()), text);
    }
    EXPECT_FALSE(is_literal({reinterpret_cast<const std::uint8_t*>(block.data()), block.size()}, text.size() + 1));
  }
  EXPECT_GE(literals, 10);  // short strings of noise
}

TEST(Snappy, DamagedBlocksAreWhatLibsnappySaysOfThem) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (const std::string& text : texts()) {
    if (text.size() > 5000) continue;
    const std::string block = compressed(text);
    for (int k = 0; k < 60; ++k) {
      std::string bad = block;
      if (k % 3 == 0) {
        bad.resize(random() % (block.size() + 1));
      } else {
        char& one = bad[random() % bad.size()];
        one = static_cast<char>(one ^ (1 << random() % 8));
      }
      std::size_t size = 0;
      if (!snappy::GetUncompressedLength(bad.data(), bad.size(), &size) || size > 100'000) continue;
      std::string theirs(size, 0), ours;
      const bool is_good = snappy::RawUncompress(bad.data(), bad.size(), theirs.data());
      ASSERT_EQ(decompress(bad, size, ours), is_good) << text.size() << ", " << k;
      ASSERT_TRUE(!is_good || ours == theirs);
      refused += is_good ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 100);
}

/// Literals of a few bytes and copies in turn, like those of numbers. Some copies start before the beginning.
std::string elements(std::mt19937_64& random, std::size_t& size) {
  const std::size_t usual = 1 + random() % 3;
  std::string all;
  for (size = 0; size < 700;) {
    const std::size_t low = random() % 4 == 0 ? 1 + random() % 5 : usual;
    all += static_cast<char>((low - 1) << 2);
    for (std::size_t i = 0; i < low; ++i) all += static_cast<char>(random());
    size += low;
    const std::size_t length = std::max<std::size_t>(4, random() % 8 == 0 ? 4 + random() % 8 : 8 - low);
    const std::size_t offset = random() % 100 == 0 ? size + random() % 2
                               : random() % 3 == 0 ? 1 + random() % std::min<std::size_t>(size, 20)
                                                   : 1 + random() % size;
    if (offset < 2048 && random() % 2 == 0) {
      all += static_cast<char>(offset >> 8 << 5 | (length - 4) << 2 | 1);
      all += static_cast<char>(offset);
    } else {
      all += static_cast<char>((length - 1) << 2 | 2);
      all += static_cast<char>(offset);
      all += static_cast<char>(offset >> 8);
    }
    size += length;
  }
  return std::string{static_cast<char>(0x80 | (size & 0x7F)), static_cast<char>(size >> 7)} + all;
}

TEST(Snappy, ShortLiteralsAndCopiesFromAnyDistanceAreWhatLibsnappyMakesOfThem) {
  std::mt19937_64 random(4);
  int refused = 0;
  for (int k = 0; k < 2000; ++k) {
    std::size_t size = 0;
    const std::string block = elements(random, size);
    std::string theirs(size, 0), ours;
    const bool is_good = snappy::RawUncompress(block.data(), block.size(), theirs.data());
    ASSERT_EQ(decompress(block, size, ours), is_good) << k;
    ASSERT_TRUE(!is_good || ours == theirs) << k;
    refused += is_good ? 0 : 1;
  }
  EXPECT_GT(refused, 100);
  EXPECT_LT(refused, 1900);
}

TEST(Snappy, OffsetsOfFourBytesAndLongLiteralsAreTaken) {
  // 70 literal bytes, with one byte of length. Then a copy of 60 bytes from 70 bytes back, with an offset of four
  // bytes.
  std::string block = "\x82\x01";  // 130
  block += static_cast<char>(60 << 2);
  block += static_cast<char>(69);
  std::string text;
  for (int i = 0; i < 70; ++i) text += static_cast<char>('0' + i);
  block += text;
  block += static_cast<char>((59 << 2) | 3);
  block += std::string("\x46\0\0\0", 4);
  std::string out;
  ASSERT_TRUE(decompress(block, 130, out));
  EXPECT_EQ(out, text + text.substr(0, 60));
  block[block.size() - 4] = 0x47;  // before the beginning
  EXPECT_FALSE(decompress(block, 130, out));
}

}  // namespace
}  // namespace upsweep::io
