// SPDX-License-Identifier: Apache-2.0
// tests/io_test.cpp: reading columns from valid, invalid and hostile files, and writing .npy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/utf8.hpp"
#include "io/column.hpp"
#include "io/csv_quotes.hpp"
#include "io/npy_writer.hpp"
#include "io/number_lines.hpp"
#include "io/regular_rows.hpp"
#include "io/result_writer.hpp"
#include "io/source.hpp"
#include "tests/files.hpp"
#include "tests/in_child.hpp"
#include "upsweep/detail/row_place.hpp"
#include "upsweep/error.hpp"

namespace {

/// Whether files can have a second name here; FAT, for example, does not support that.
bool has_links = true;

/// The number of name changes until a signal ends the process, counted before and after each change; negative: no
/// signal.
int changes_left = -1;
int ending_signal = SIGTERM;

int changing_names(const std::function<int()>& change) {
  const auto count = [] {
    if (changes_left < 0) return;
    if (changes_left == 0) std::raise(ending_signal);
    --changes_left;
  };
  count();
  const int result = change();
  const int error = errno;
  count();
  errno = error;
  return result;
}

int link_at(const char* from, const char* to, int flags) {
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, flags));
}

}  // namespace

// Replace the functions of the C library.
extern "C" {
int link(const char* from, const char* to) noexcept {
  return changing_names([&] {
    if (has_links) return link_at(from, to, 0);
    errno = EPERM;
    return -1;
  });
}
int linkat(int /*folder*/, const char* from, int /*folder_to*/, const char* to, int flags) noexcept {
  return changing_names([&] { return link_at(from, to, flags); });
}
int rename(const char* from, const char* to) noexcept {
  return changing_names([&] { return static_cast<int>(::syscall(SYS_rename, from, to)); });
}
int unlink(const char* path) noexcept {
  return changing_names([&] { return static_cast<int>(::syscall(SYS_unlink, path)); });
}
}

namespace upsweep::io {
namespace {

// Reads in chunks, and checks what the interface specifies about them.
template <class T>
std::vector<T> drain(ColumnReader& reader, std::int64_t chunk) {
  EXPECT_EQ(name(reader.info().type), name(type_of<T>()));
  std::vector<T> values;
  while (true) {
    const Chunk piece = reader.next(chunk);
    if (piece.count > 0) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece.data) % sizeof(T), 0U);
      const auto* const data = static_cast<const T*>(piece.data);
      values.insert(values.end(), data, data + piece.count);
    }
    if (piece.count < chunk) break;
  }
  EXPECT_EQ(reader.next(chunk).count, 0);
  return values;
}

template <class T>
std::vector<T> read_all(const std::string& source, std::int64_t chunk = 1 << 20) {
  return drain<T>(*open_column(source), chunk);
}

// Reads everything, whatever its type: for hostile files. Touches every byte, so that sanitizers see it.
std::int64_t touch_all(const std::string& source) {
  const auto reader = open_column(source);
  std::int64_t sum = 0;
  for (Chunk piece = reader->next(7); piece.count > 0; piece = reader->next(7)) {
    const auto* const bytes = static_cast<const unsigned char*>(piece.data);
    sum = std::accumulate(bytes, bytes + piece.count * size_of(reader->info().type), sum);
  }
  return sum;
}

// Returns the first byte that is not UTF-8, by the definition: one code point after the other.
std::size_t first_invalid(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = code_point(text, at).bytes;
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

TEST(Utf8, TheFirstInvalidByteIsFound) {
  constexpr std::size_t kNone = std::string_view::npos;
  const std::pair<std::string_view, std::size_t> cases[] = {
      {"", kNone},
      {"plain", kNone},
      {"\xC3\xBC \xE2\x82\xAC \xF0\x9F\x98\x80", kNone},
      {"M\xFCnchen", 1},            // Latin-1
      {"caf\xE9", 3},               // the same at the end
      {"\xC1\xBF", 0},              // overlong
      {"\xE0\x9F\xBF", 0},          // overlong
      {"\xF0\x8F\xBF\xBF", 0},      // overlong
      {"\xED\x9F\xBF", kNone},      // U+D7FF, before the surrogates
      {"\xED\xA0\x80", 0},          // U+D800, a surrogate
      {"\xEE\x80\x80", kNone},      // U+E000, after them
      {"\xF4\x8F\xBF\xBF", kNone},  // U+10FFFF
      {"\xF4\x90\x80\x80", 0},      // past it
      {"\xF5\x80\x80\x80", 0},
      {"\x80", 0},
      {"a\xE2\x82", 1},            // truncated
      {"a\xE2\x82 b\xC3\xBC", 1},  // the same before other text
  };
  for (const auto& [text, expected] : cases) {
    for (std::size_t before = 0; before < 40; ++before) {
      for (const std::size_t after : {0UL, 1UL, 40UL}) {
        const std::string padded = std::string(before, 'a') + std::string(text) + std::string(after, 'z');
        EXPECT_EQ(first_invalid_utf8(padded), expected == kNone ? kNone : before + expected) << padded;
        EXPECT_EQ(is_utf8(padded), expected == kNone);
      }
    }
  }
}

TEST(Utf8, EveryPairOfBytesIsJudgedByTheDefinition) {
  constexpr std::array<unsigned char, 6> kThird{'a', 0x7F, 0x80, 0xBF, 0xC0, 0xFF};
  for (unsigned bytes = 0; bytes < 0x10000; ++bytes) {
    for (const unsigned char third : kThird) {
      std::string text{static_cast<char>(bytes >> 8), static_cast<char>(bytes & 0xFF), static_cast<char>(third)};
      ASSERT_EQ(first_invalid_utf8(text), first_invalid(text)) << bytes << " " << int{third};
      text += "\x80\x80";
      ASSERT_EQ(first_invalid_utf8(text), first_invalid(text)) << bytes << " " << int{third};
    }
  }
}

TEST_F(IoTest, OpenReportsWhatIsNoReadableFile) {
  expect_error(Code::not_found, path("none.npy"), [&] { open_column(path("none.npy")); });
  expect_error(Code::not_found, "no such file", [&] { open_column(path("none.parquet:x")); });
  expect_error(Code::not_found, "the name of a file is empty", [&] { open_column(""); });
  expect_error(Code::not_found, "no such file", [&] { open_column(":x"); });
  expect_error(Code::is_directory, "is a directory", [&] { open_column(folder_.string()); });
  expect_error(Code::is_directory, "is a directory", [&] { open_column(folder_.string() + ":x"); });
  expect_error(Code::unreadable, "name too long", [&] { open_column(std::string(5000, 'x')); });
  const std::string file = put("a.npy", npy_of<double>({1, 2}, "<f8"));
  expect_error(Code::not_found, "no such file", [&] { open_column(file + "/x.npy"); });
  expect_error(Code::malformed, "is empty", [&] { open_column(put("empty.npy", "")); });
  expect_error(Code::malformed, "is empty", [&] { open_column(put("empty.csv", "")); });
  expect_error(Code::malformed, ".npz", [&] { open_column(put("a.npz", "PK\x03\x04 and more")); });
  expect_error(Code::malformed, "not in .npy format", [&] { open_column(put("text.npy", "1\n2\n3\n4\n")); });
}

TEST_F(IoTest, OpenReportsWhatMayNotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string file = put("secret.npy", npy_of<double>({1, 2}, "<f8"));
  fs::permissions(file, fs::perms::none);
  expect_error(Code::unreadable, "ermission", [&] { open_column(file); });
}

TEST_F(IoTest, AWholeNameWithAColonWinsOverAColumn) {
  put("a", npy_of<double>({1}, "<f8"));
  EXPECT_EQ(read_all<float>(put("a:b", npy_of<float>({2}, "<f4"))), std::vector<float>{2});
  expect_error(Code::unknown_column, "has no columns", [&] { open_column(path("a:c")); });
  expect_error(Code::unknown_column, "leave out ':'", [&] { open_column(path("a:")); });
}

#if !UPSWEEP_HAVE_ARROW
TEST_F(IoTest, WithoutArrowTablesAreNotBuilt) {
  EXPECT_FALSE(arrow_built());
  expect_error(Code::not_built, "UPSWEEP_ARROW", [&] { open_column(put("a.csv", "x\n1\n")); });
  expect_error(Code::not_built, "Parquet", [&] { open_column(put("a.parquet", "PAR1....") + ":x"); });
}
#endif

template <class T>
void expect_npy_round_trip(const std::string& file, const std::string& descr) {
  std::vector<T> values = counting<T>(100);
  values.front() = std::numeric_limits<T>::lowest();
  values.back() = std::numeric_limits<T>::max();
  std::ofstream(file, std::ios::binary) << npy_of(values, descr);
  EXPECT_EQ(read_all<T>(file), values) << descr;
  EXPECT_EQ(open_column(file)->info().count, 100);
}

TEST_F(IoTest, NpyOfEveryTypeIsRead) {
  const std::string file = path("a.npy");
  for (const std::string order : {"<", "=", "|", ""}) {
    expect_npy_round_trip<std::int8_t>(file, order + "i1");
    expect_npy_round_trip<std::int16_t>(file, order + "i2");
    expect_npy_round_trip<std::int32_t>(file, order + "i4");
    expect_npy_round_trip<std::int64_t>(file, order + "i8");
    expect_npy_round_trip<std::uint8_t>(file, order + "u1");
    expect_npy_round_trip<std::uint16_t>(file, order + "u2");
    expect_npy_round_trip<std::uint32_t>(file, order + "u4");
    expect_npy_round_trip<std::uint64_t>(file, order + "u8");
    expect_npy_round_trip<float>(file, order + "f4");
    expect_npy_round_trip<double>(file, order + "f8");
  }
  expect_npy_round_trip<std::int8_t>(file, ">i1");
}

TEST_F(IoTest, NpyChunksHaveTheSizeAskedFor) {
  const auto values = counting<std::int32_t>(1000);
  const std::string file = put("a.npy", npy_of(values, "<i4"));
  for (const std::int64_t chunk : {1, 2, 7, 250, 999, 1000, 1001, 1 << 30})
    EXPECT_EQ(read_all<std::int32_t>(file, chunk), values);
  EXPECT_EQ(read_all<std::int32_t>(file, std::numeric_limits<std::int64_t>::max()), values);
  const auto reader = open_column(file);
  EXPECT_EQ(reader->next(0).count, 0);
  EXPECT_EQ(reader->next(-5).count, 0);
  EXPECT_EQ(reader->next(600).count, 600);
  EXPECT_EQ(reader->next(600).count, 400);
  EXPECT_EQ(reader->next(600).count, 0);
}

TEST_F(IoTest, NpySkipMovesForward) {
  const std::string file = put("a.npy", npy_of(counting<std::int64_t>(100), "<i8"));
  const auto reader = open_column(file);
  reader->skip(10);
  EXPECT_EQ(*static_cast<const std::int64_t*>(reader->next(5).data), 10);
  reader->skip(84);
  EXPECT_EQ(*static_cast<const std::int64_t*>(reader->next(5).data), 99);
  reader->skip(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(reader->next(5).count, 0);
}

// More than one window, chunks that cross windows, and windows that do not start at a page.
TEST_F(IoTest, NpyLargerThanAWindowIsRead) {
  const auto values = counting<std::int64_t>(1 << 19);
  const std::string file = put("a.npy", npy_of(values, "<i8"));
  for (const std::int64_t chunk : {1000, 100'003, 1 << 19}) EXPECT_EQ(read_all<std::int64_t>(file, chunk), values);
}

TEST_F(IoTest, NpyWithMisalignedDataIsRead) {
  const auto values = counting<std::int64_t>(1000);
  for (std::size_t padding = 0; padding < 9; ++padding) {
    const std::string file = put("a.npy", npy_around("{'descr': '<i8', 'fortran_order': False, 'shape': (1000,)}",
                                                     bytes_of(values), 1, padding));
    EXPECT_EQ(read_all<std::int64_t>(file, 300), values) << padding;
  }
}

TEST_F(IoTest, NpyHeadersMayBeWrittenInManyWays) {
  const std::string data = bytes_of<float>({1, 2, 3});
  const std::vector<float> values = {1, 2, 3};
  for (const std::string dict : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
           "{'descr':'<f4','fortran_order':False,'shape':(3,)}",
           "{'shape': (3,), 'fortran_order': True, 'descr': '<f4'}",
           "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": ( 3 , ) }   \n",
           " {'descr': '<f4', 'fortran_order': False, 'shape': (3L,), }",
       }) {
    for (const char major : {'\1', '\2', '\3'})
      EXPECT_EQ(read_all<float>(put("a.npy", npy_around(dict, data, major))), values) << dict;
  }
}

TEST_F(IoTest, EmptyNpyHasNoChunks) {
  const std::string file = put("a.npy", npy("<f8", "(0,)", ""));
  EXPECT_EQ(open_column(file)->info().count, 0);
  EXPECT_TRUE(read_all<double>(file).empty());
}

TEST_F(IoTest, NpyOfOtherTypesAndShapesIsRefused) {
  const std::string data(64, 'x');
  const std::pair<const char*, const char*> kinds[] = {
      {"|O", "Python objects"}, {"<f16", "a.astype"}, {"<c8", "complex"},         {"<c16", "complex"},
      {"|S5", "strings"},       {"<U5", "strings"},   {"|V8", "raw bytes"},       {"<M8[Y]", "dates"},
      {"<m8[ps]", "spans"},     {"", "unknown type"}, {"<", "unknown type"},      {"<i3", "unknown type"},
      {"<i88", "unknown type"}, {"<M8[us", "dates"},  {"garbage", "unknown type"}};
  for (const auto& [descr, part] : kinds) {
    expect_error(Code::unsupported_type, part,
                 [&, kind = descr] { open_column(put("a.npy", npy(kind, "(1,)", data))); });
  }
  for (const std::string descr : {"[('x', '<f8'), ('y', '<i4')]", "('<f8', (2,))"}) {
    expect_error(Code::unsupported_type, "structured", [&] {
      open_column(put("a.npy", npy_around("{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}", data)));
    });
  }
  expect_error(Code::unsupported_type, "0 dimensions", [&] { open_column(put("a.npy", npy("<f8", "()", data))); });
  expect_error(Code::unsupported_type, "reshape(-1)", [&] { open_column(put("a.npy", npy("<f8", "(4, 2)", data))); });
  expect_error(Code::unsupported_type, "3 dimensions in Fortran order", [&] {
    open_column(put("a.npy", npy_around("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2, 2)}", data)));
  });
}

TEST_F(IoTest, NpyOfOtherWidthsAndOrdersIsConverted) {
  const auto bytes = [](std::initializer_list<int> all) { return std::string(all.begin(), all.end()); };
  EXPECT_EQ(
      read_all<double>(
          put("a.npy", npy(">f8", "(2,)", bytes({0x3F, 0xF8, 0, 0, 0, 0, 0, 0}) + bytes({0xC0, 0, 0, 0, 0, 0, 0, 0})))),
      (std::vector<double>{1.5, -2}));
  EXPECT_EQ(read_all<std::int16_t>(put("a.npy", npy(">i2", "(2,)", bytes({1, 2, 0xFF, 0xFE})))),
            (std::vector<std::int16_t>{0x102, -2}));
  EXPECT_EQ(read_all<float>(put("a.npy", npy("<f2", "(3,)", bytes({0, 0x3C, 1, 0, 0, 0x7C})))),
            (std::vector<float>{1, 0x1p-24F, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(read_all<std::uint8_t>(put("a.npy", npy("|b1", "(3,)", bytes({1, 0, 7})))),
            (std::vector<std::uint8_t>{1, 0, 1}));
  const std::string times =
      put("a.npy", npy("<M8[h]", "(2,)", bytes({2, 0, 0, 0, 0, 0, 0, 0}) + bytes({-1, -1, -1, -1, -1, -1, -1, -1})));
  EXPECT_EQ(read_all<std::int64_t>(times), (std::vector<std::int64_t>{7200, -3600}));
  EXPECT_EQ(open_column(times)->info().meaning, Meaning::timestamp);
  const std::string none = put("a.npy", npy("<m8[ms]", "(1,)", bytes({0, 0, 0, 0, 0, 0, 0, -128})));
  expect_error(Code::null_value, "NULL", [&] { read_all<std::int64_t>(none); });
}

TEST_F(IoTest, HostileNpyHeadersAreMalformed) {
  const auto refuse = [&](const std::string& dict, const std::string& part) {
    expect_error(Code::malformed, part, [&] { open_column(put("a.npy", npy_around(dict, std::string(24, 'x')))); });
  };
  const std::string rest = "'descr': '<f8', 'fortran_order': False";
  refuse("", "lacks a '{'");
  refuse("{}", "lacks 'descr'");
  refuse("{" + rest + "}", "lacks 'shape'");
  refuse("{'descr': '<f8', 'shape': (3,)}", "lacks 'fortran_order'");
  refuse("{'fortran_order': False, 'shape': (3,)}", "lacks 'descr'");
  refuse("{" + rest + ", 'shape': (3,), 'shape': (3,)}", "twice");
  refuse("{" + rest + ", 'shape': (3,), 'more': 1}", "unknown key");
  refuse("{" + rest + ", 'shape': (3,)} garbage", "after the closing");
  refuse("{" + rest + ", 'shape': (3,)}}", "after the closing");
  refuse("{" + rest + ", 'shape': (3,)"s + '\0', "lacks a '}'");
  refuse("{" + rest + ", 'shape': (3,)}"s + '\0', "after the closing");
  refuse("{" + rest + ", 'shape': (3)}", "not a tuple");
  refuse("{" + rest + ", 'shape': 3}", "lacks a '('");
  refuse("{" + rest + ", 'shape': (-3,)}", "negative");
  refuse("{" + rest + ", 'shape': (3.0,)}", "not a tuple");
  refuse("{" + rest + ", 'shape': (x,)}", "not made of integers");
  refuse("{" + rest + ", 'shape': (,)}", "not made of integers");
  refuse("{" + rest + ", 'shape': (3,", "not made of integers");
  refuse("{" + rest + ", 'shape': (99999999999999999999,)}", "does not fit 64 bits");
  refuse("{" + rest + ", 'shape': (9223372036854775807,)}", "more elements than 64 bits allow");
  refuse("{" + rest + ", 'shape': (1152921504606846975,)}",
         "1152921504606846972 of 1152921504606846975 elements are missing");
  refuse("{" + rest + ", 'shape': (4,)}", "1 of 4 elements are missing");
  refuse("{" + rest + ", 'shape': (2,)}", "8 bytes after its 2 elements");
  refuse("{'descr': '<f8', 'fortran_order': 0, 'shape': (3,)}", "True nor False");
  refuse("{'descr': <f8, 'fortran_order': False, 'shape': (3,)}", "quoted string");
  refuse("{'descr': '<f8, }", "never ends");
  refuse("{'descr': '<f\\x38', 'fortran_order': False, 'shape': (3,)}", "backslash");
  refuse("{descr: '<f8', 'fortran_order': False, 'shape': (3,)}", "quoted string");
}

TEST_F(IoTest, NpyOfOtherVersionsAndLyingLengthsAreMalformed) {
  std::string good = npy_of<double>({1, 2}, "<f8");
  for (const auto& [at, byte, part] : {std::tuple<std::size_t, char, const char*>{6, '\0', "version 0.0"},
                                       {6, '\4', "version 4.0"},
                                       {6, '\xff', "version 255.0"},
                                       {7, '\1', "version 1.1"},
                                       {9, '\xff', "ends inside"},
                                       {0, 'x', "not in .npy format"}}) {
    std::string bad = good;
    bad[at] = byte;
    expect_error(Code::malformed, part, [&] { open_column(put("a.npy", bad)); });
  }
  expect_error(Code::malformed, "header of 4294967295 bytes",
               [&] { open_column(put("a.npy", "\x93NUMPY\2\0\xff\xff\xff\xff{}"s)); });
}

TEST_F(IoTest, NpyCutAnywhereIsMalformed) {
  const std::string good = npy_of<std::int16_t>({1, 2, 3}, "<i2");
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_error(Code::malformed, path("a.npy"), [&] { open_column(put("a.npy", good.substr(0, size))); });
  }
}

TEST_F(IoTest, NpyWithFlippedHeaderBitsIsReadOrRefused) {
  const std::string good = npy_of<std::int16_t>({1, 2, 3}, "<i2");
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    const std::string file = put("a.npy", flipped(good, good.size() - 6, random));
    try {
      touch_all(file);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find(file), 0U) << error.what();
    }
  }
}

TEST_F(IoTest, NpyThatShrinksWhileItIsReadIsMalformed) {
  const std::string file = put("a.npy", npy_of(counting<std::int64_t>(2 * kBatchRows), "<i8"));
  const auto reader = open_column(file);
  EXPECT_EQ(reader->next(kBatchRows).count, kBatchRows);
  fs::resize_file(file, 500);
  expect_error(Code::malformed, "while it was read", [&] { reader->next(10); });
}

// Touching a page after the end of a mapped file would kill the process.
TEST_F(IoTest, NpyThatShrinksBetweenChunksIsMalformed) {
  const std::string file = put("a.npy", npy_of(counting<std::int64_t>(2 * kBatchRows), "<i8"));
  const auto reader = open_column(file);
  EXPECT_EQ(reader->next(kBatchRows).count, kBatchRows);
  fs::resize_file(file, 500);
  expect_error(Code::malformed, "while it was read", [&] { reader->next(kBatchRows); });
}

// Writes a FIFO from another thread, in chunks that split headers and elements.
class Feeder {
 public:
  Feeder(const std::string& path, std::string bytes, std::size_t step)
      : thread_([path, bytes = std::move(bytes), step] {
          std::signal(SIGPIPE, SIG_IGN);
          const int fd = ::open(path.c_str(), O_WRONLY);
          for (std::size_t at = 0; at < bytes.size(); at += step) {
            if (::write(fd, bytes.data() + at, std::min(step, bytes.size() - at)) < 0) break;
          }
          ::close(fd);
        }) {}
  ~Feeder() { thread_.join(); }
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

 private:
  std::thread thread_;
};

class StreamTest : public IoTest {
 protected:
  StreamTest() : fifo_(path("fifo")) {
    if (::mkfifo(fifo_.c_str(), 0600) != 0) throw std::runtime_error("no FIFO");
  }
  std::string fifo_;
};

TEST_F(StreamTest, NpyIsReadFromAPipe) {
  const auto values = counting<std::int32_t>(1000);
  for (const std::size_t step : {1UL, 3UL, 777UL, 100'000UL}) {
    for (const std::int64_t chunk : {1, 7, 1000, 5000}) {
      const Feeder feeder(fifo_, npy_of(values, "<i4"), step);
      EXPECT_EQ(read_all<std::int32_t>(fifo_, chunk), values);
    }
  }
}

TEST_F(StreamTest, LargeNpyIsReadFromAPipe) {
  const auto values = counting<std::int64_t>(500'000);
  const Feeder feeder(fifo_, npy_of(values, "<i8"), 1 << 20);
  EXPECT_EQ(read_all<std::int64_t>(fifo_), values);
}

TEST_F(StreamTest, SkipDiscards) {
  const Feeder feeder(fifo_, npy_of(counting<std::int32_t>(100'000), "<i4"), 1 << 16);
  const auto reader = open_column(fifo_);
  reader->skip(99'990);
  EXPECT_EQ(*static_cast<const std::int32_t*>(reader->next(1).data), 99'990);
  reader->skip(1000);
  EXPECT_EQ(reader->next(1).count, 0);
}

TEST_F(StreamTest, BadStreamsAreReported) {
  const std::string good = npy_of(counting<std::int32_t>(10), "<i4");
  const auto expect_malformed = [&](const std::string& bytes, const std::string& part) {
    const Feeder feeder(fifo_, bytes, 1 << 16);
    expect_error(Code::malformed, part, [&] { read_all<std::int32_t>(fifo_, 3); });
  };
  expect_malformed("", "is empty");
  expect_malformed("\x93N", "ends inside");
  expect_malformed(good.substr(0, good.size() - 5), "2 of 10 elements are missing");
  expect_malformed(good + "x", "more bytes after its 10 elements");
  expect_malformed(npy("<i4", "(0,)", "x"), "more bytes after its 0 elements");
  expect_malformed("PAR1PAR1", "damaged or truncated");
  expect_malformed("ARROW1\0\0"s, "damaged or truncated");
  expect_malformed("x\n1\nword\n", "line 3");
  expect_malformed(npy("<i4", "(2305843009213693951,)", "1234"),
                   "2305843009213693950 of 2305843009213693951 elements are missing");
}

TEST_F(StreamTest, StandardInputIsRead) {
  const int kept = ::dup(STDIN_FILENO);
  {
    const auto values = counting<std::int32_t>(10);
    const Feeder feeder(fifo_, npy_of(values, "<i4"), 1 << 16);
    const int input = ::open(fifo_.c_str(), O_RDONLY);
    ::dup2(input, STDIN_FILENO);
    ::close(input);
    const auto reader = open_column("-");
    EXPECT_EQ(reader->info().name, "standard input");
    EXPECT_EQ(drain<std::int32_t>(*reader, 4), values);
  }
  ::dup2(kept, STDIN_FILENO);
  ::close(kept);
}

TEST_F(IoTest, WrittenNpyIsReadBack) {
  const std::string file = path("out.npy");
  const auto values = counting<float>(1000);
  for (const std::int64_t announced : {-1, 1000}) {
    NpyWriter writer(file, Type::float32, announced);
    writer.write(values.data(), 600);
    writer.write(values.data() + 600, 400);
    writer.write(nullptr, 0);
    writer.close();
    EXPECT_EQ(read_all<float>(file), values);
    EXPECT_EQ(fs::file_size(file), 128 + 4000U);
    EXPECT_EQ(slurp(file).substr(0, 128),
              "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }"s +
                  std::string(57, ' ') + "\n");
  }
  EXPECT_EQ(entries(), std::vector<std::string>{"out.npy"});
}

TEST_F(IoTest, EveryTypeIsWritten) {
  const std::string zeros(80, '\0');
  for (int i = 0; i < kTypeCount; ++i) {
    const auto type = static_cast<Type>(i);
    NpyWriter writer(path("out.npy"), type);
    writer.write(zeros.data(), 10);
    writer.close();
    const auto reader = open_column(path("out.npy"));
    EXPECT_EQ(reader->info().type, type);
    EXPECT_EQ(reader->info().count, 10);
  }
}

TEST_F(IoTest, AnUnfinishedNpyLeavesNothing) {
  const std::string file = put("out.npy", "before");
  {
    NpyWriter writer(file, Type::int64);
    writer.write("12345678", 1);
  }
  EXPECT_EQ(slurp(file), "before");
  EXPECT_EQ(entries(), std::vector<std::string>{"out.npy"});
}

TEST_F(IoTest, SeveralFilesAppearTogetherOrNotAtAll) {
  const std::int64_t offsets[] = {0, 2, 3};
  const double values[] = {1, 2, 3};
  const ResultArray columns[] = {{values}, {values}};
  const std::vector<std::string> names{"out.0.npy", "out.1.npy", "out.offsets.npy"};
  const auto sorted_entries = [&] {
    auto found = entries();
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto open = [&] {
    auto writer = open_results(path("out.npy"), ResultFormat::npy, Shape::lists,
                               {{.type = Type::float64}, {.type = Type::float64}}, nullptr);
    writer->write_lists(offsets, columns);
    return writer;
  };
  const auto fail_at_the_last = [&] {
    const auto writer = open();
    fs::create_directory(path("out.1.npy"));  // an obstacle that existed before would have been found earlier
    expect_error(Code::is_directory, "out.1.npy", [&] { writer->close(); });
  };
  fail_at_the_last();
  EXPECT_EQ(entries(), std::vector<std::string>{"out.1.npy"});
  fs::remove(path("out.1.npy"));
  put("out.offsets.npy", "before");
  for (const bool links : {true, false}) {
    has_links = links;
    fail_at_the_last();
    EXPECT_EQ(sorted_entries(), (std::vector<std::string>{"out.1.npy", "out.offsets.npy"}));
    EXPECT_EQ(slurp(path("out.offsets.npy")), "before");
    if (links) fs::remove(path("out.1.npy"));
  }
  has_links = true;
  fs::remove(path("out.1.npy"));
  open()->close();
  EXPECT_EQ(sorted_entries(), names);
  EXPECT_EQ(read_all<std::int64_t>(path("out.offsets.npy")), (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(read_all<double>(path("out.1.npy")), (std::vector<double>{1, 2, 3}));
}

TEST_F(IoTest, WhatIsReplacedCanBeHadBack) {
  for (const bool links : {true, false}) {
    SCOPED_TRACE(links);
    has_links = links;
    put("out.npy", "before");
    const auto inode = [&] {
      struct stat status{};
      EXPECT_EQ(::stat(path("out.npy").c_str(), &status), 0);
      return status.st_ino;
    };
    const auto before = inode();
    const auto open = [&](const std::string& name) {
      return open_results(path(name), ResultFormat::npy, Shape::values, {{.type = Type::float64}}, nullptr);
    };
    {
      const auto writer = open("out.npy");
      writer->close();
      EXPECT_NE(inode(), before);
      writer->take_back();
      EXPECT_EQ(slurp(path("out.npy")), "before");
      EXPECT_EQ(inode(), before) << "the same file, not a copy";
    }
    {
      const auto writer = open("new.npy");
      writer->close();
      EXPECT_TRUE(fs::exists(path("new.npy")));
      writer->take_back();
    }
    EXPECT_EQ(entries(), std::vector<std::string>{"out.npy"});
    open("out.npy")->close();
    EXPECT_NE(slurp(path("out.npy")), "before");
    EXPECT_EQ(entries(), std::vector<std::string>{"out.npy"});
  }
  has_links = true;
}

// A process that a signal ends at any change of a name leaves the old files or the new ones.
TEST_F(IoTest, ASignalLeavesTheOldFilesOrTheNewOnes) {
  constexpr int kNeverEnded = 0;
  const auto sorted_entries = [&] {
    auto found = entries();
    std::sort(found.begin(), found.end());
    return found;
  };
  const auto write = [&](Shape shape) {
    const auto writer = open_results(path("out.npy"), ResultFormat::npy, shape, {{.type = Type::float64}}, nullptr);
    writer->close();
  };
  const auto expect_all = [&](Shape shape, const std::vector<std::string>& names) {
    int status = -1;
    for (int changes = 0; status != kNeverEnded; ++changes) {
      SCOPED_TRACE(testing::Message() << changes << " changes of names, links " << has_links);
      ASSERT_LT(changes, 100);
      for (const std::string& name : names) put(name, "before");
      status = tests::in_child([&] {
        changes_left = changes;
        write(shape);
        return true;
      });
      ASSERT_TRUE(status == kNeverEnded || status == 128 + SIGTERM) << status;
      EXPECT_EQ(sorted_entries(), names);
      const auto is_old = [&](const std::string& name) { return slurp(path(name)) == "before"; };
      const bool are_old = is_old(names[0]);
      for (const std::string& name : names) EXPECT_EQ(is_old(name), are_old) << name;
      EXPECT_TRUE(status != kNeverEnded || !are_old);
    }
    for (const std::string& name : names) fs::remove(path(name));
  };
  for (const bool links : {true, false}) {
    has_links = links;
    expect_all(Shape::values, {"out.npy"});
    expect_all(Shape::lists, {"out.0.npy", "out.offsets.npy"});
  }
  has_links = true;
}

// SIGKILL, which cannot be delayed, may also leave a hidden name; of several files, some may be old and some new.
TEST_F(IoTest, SigkillLeavesTheOldFileOrTheNewOne) {
  ending_signal = SIGKILL;
  for (const bool links : {true, false}) {
    has_links = links;
    int status = -1;
    for (int changes = 0; status != 0; ++changes) {
      SCOPED_TRACE(testing::Message() << changes << " changes of names, links " << links);
      ASSERT_LT(changes, 100);
      put("out.npy", "before");
      status = tests::in_child([&] {
        changes_left = changes;
        const auto writer =
            open_results(path("out.npy"), ResultFormat::npy, Shape::values, {{.type = Type::float64}}, nullptr);
        const double value[] = {7};
        const ResultArray column{value};
        writer->write({&column, 1}, 1);
        writer->close();
        return true;
      });
      ASSERT_TRUE(status == 0 || status == 128 + SIGKILL) << status;
      const bool is_old = fs::exists(path("out.npy")) && slurp(path("out.npy")) == "before";
      bool has_old = is_old;
      for (const std::string& name : entries()) {
        if (name == "out.npy") continue;
        EXPECT_TRUE(name.starts_with(".out.npy.upsweep-")) << name;
        has_old = has_old || slurp(path(name)) == "before";
      }
      if (!fs::exists(path("out.npy"))) {
        EXPECT_TRUE(!links && has_old) << "without second names the old file may only have a hidden name";
      } else if (!is_old) {
        EXPECT_EQ(read_all<double>(path("out.npy")), std::vector<double>{7});
      }
      EXPECT_TRUE(status != 0 || (!is_old && entries().size() == 1));
      for (const std::string& name : entries()) fs::remove(path(name));
    }
  }
  has_links = true;
  ending_signal = SIGTERM;
}

TEST_F(IoTest, SuffixesMayBeInCapitalLetters) {
  const std::int64_t offsets[] = {0, 2, 3};
  const double values[] = {1, 2, 3};
  const ResultArray column{values};
  const auto write = [&](const std::string& name) {
    const auto writer = open_results(path(name), format_of_results(name, ResultFormat::npy), Shape::lists,
                                     {{.name = "x", .type = Type::float64}}, nullptr);
    writer->write_lists(offsets, {&column, 1});
    writer->close();
  };
  write("OUT.NPY");
  EXPECT_EQ(read_all<double>(path("OUT.0.npy")), (std::vector<double>{1, 2, 3}));
#if UPSWEEP_HAVE_ARROW
  write("out.Parquet");
  write("out.ARROW");
  EXPECT_EQ(slurp(path("out.Parquet")).substr(0, 4), "PAR1");
  EXPECT_EQ(slurp(path("out.ARROW")).substr(0, 6), "ARROW1");
#else
  expect_error(Code::not_built, "UPSWEEP_ARROW", [&] { write("out.Parquet"); });
#endif
}

TEST_F(IoTest, WrongCountsAreTheCallersFault) {
  const std::int64_t values[] = {1, 2, 3};
  expect_error(Code::malformed, "3 elements were announced, but 2 written", [&] {
    NpyWriter fewer(path("fewer.npy"), Type::int64, 3);
    fewer.write(values, 2);
    fewer.close();
  });
  expect_error(Code::malformed, "2 elements were announced", [&] {
    NpyWriter more(path("more.npy"), Type::int64, 2);
    more.write(values, 3);
  });
  EXPECT_TRUE(entries().empty());
}

TEST_F(IoTest, WrittenFilesHaveTheModeOfAnyNewFile) {
  const auto mode = [](const std::string& file) { return fs::status(file).permissions(); };
  const mode_t before = ::umask(027);
  NpyWriter(path("new.npy"), Type::int8, 0).close();
  EXPECT_EQ(mode(path("new.npy")), fs::perms(0640));
  ::umask(before);
  fs::permissions(put("private.npy", "x"), fs::perms(0600));
  NpyWriter(path("private.npy"), Type::int8, 0).close();
  EXPECT_EQ(mode(path("private.npy")), fs::perms(0600));
}

TEST_F(IoTest, ALinkIsWrittenThrough) {
  put("real.npy", "before");
  fs::create_symlink("real.npy", path("link.npy"));
  NpyWriter(path("link.npy"), Type::int8, 0).close();
  EXPECT_TRUE(fs::is_symlink(path("link.npy")));
  EXPECT_TRUE(read_all<std::int8_t>(path("real.npy")).empty());
}

TEST_F(IoTest, LongNamesAndFileNamesWithoutAFolderAreWritten) {
  const std::string longest = std::string(251, 'x') + ".npy";
  NpyWriter(path(longest), Type::int8, 0).close();
  EXPECT_TRUE(fs::exists(path(longest)));
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  NpyWriter("here.npy", Type::int8, 0).close();
  fs::current_path(before);
  EXPECT_TRUE(fs::exists(path("here.npy")));
  EXPECT_EQ(entries().size(), 2U);
}

TEST_F(IoTest, WhatCannotBeWrittenIsReported) {
  const auto open = [](const std::string& file) { return [file] { NpyWriter(file, Type::int8, 0); }; };
  expect_error(Code::is_directory, "is a directory", open(folder_.string()));
  expect_error(Code::is_directory, "is a directory", open(folder_.string() + "/"));
  expect_error(Code::is_directory, "is a directory", open(path("none") + "/"));
  expect_error(Code::not_found, "no such folder", open(path("none/out.npy")));
  expect_error(Code::not_found, "no such folder", open(put("file", "x") + "/out.npy"));
  expect_error(Code::not_found, "no such folder", open(""));
  if (::geteuid() == 0) return;  // root may write everything
  fs::permissions(put("fixed.npy", "x"), fs::perms(0444));
  expect_error(Code::unwritable, "ermission", open(path("fixed.npy")));
  fs::permissions(folder_, fs::perms(0555));
  expect_error(Code::unwritable, "ermission", open(path("out.npy")));
}

TEST_F(IoTest, AFullDeviceIsReported) {
  expect_error(Code::disk_full, "/dev/full", [] { NpyWriter("/dev/full", Type::int8, 0); });
  NpyWriter unknown("/dev/full", Type::int8);
  unknown.write("1", 1);
  expect_error(Code::disk_full, "/dev/full", [&] { unknown.close(); });
}

TEST_F(IoTest, DevicesAreWrittenTo) {
  NpyWriter writer("/dev/null", Type::int8, 1);
  writer.write("1", 1);
  writer.close();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(StreamTest, PipesAreWrittenWithAndWithoutACount) {
  const auto values = counting<std::int64_t>(300'000);
  for (const std::int64_t announced : {-1L, 300'000L}) {
    std::thread thread([&] {
      NpyWriter writer(fifo_, Type::int64, announced);
      writer.write(values.data(), 300'000);
      writer.close();
    });
    EXPECT_EQ(read_all<std::int64_t>(fifo_), values);
    thread.join();
  }
}

TEST_F(StreamTest, AClosedPipeIsNoError) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const int reader = ::open(fifo_.c_str(), O_RDONLY | O_NONBLOCK);
  NpyWriter writer(fifo_, Type::int8, 10);
  ::close(reader);
  EXPECT_THROW(writer.write("0123456789", 10), ClosedPipe);
  std::signal(SIGPIPE, before);
}

TEST(FormatDecimal, PutsThePoint) {
  EXPECT_EQ(format_decimal(-1234, 2), "-12.34");
  EXPECT_EQ(format_decimal(1234, 0), "1234");
  EXPECT_EQ(format_decimal(0, 0), "0");
  EXPECT_EQ(format_decimal(0, 2), "0.00");
  EXPECT_EQ(format_decimal(5, 3), "0.005");
  EXPECT_EQ(format_decimal(-5, 18), "-0.000000000000000005");
  EXPECT_EQ(format_decimal(std::numeric_limits<std::int64_t>::min(), 2), "-92233720368547758.08");
  EXPECT_EQ(format_decimal(std::numeric_limits<std::int64_t>::max(), 18), "9.223372036854775807");
}

#if UPSWEEP_HAVE_ARROW

class TableTest : public IoTest {
 protected:
  std::string put_columns(Container kind, const std::vector<std::pair<std::string, ArrayPtr>>& columns,
                          std::int64_t rows = 64,
                          arrow::Compression::type compression = arrow::Compression::UNCOMPRESSED) {
    put_table(kind, path("table"), *table_of(columns), rows, compression);
    return path("table");
  }
};

template <class ArrowType>
void expect_table_round_trip(Container kind, const std::string& file) {
  using T = typename ArrowType::c_type;
  std::vector<T> values = counting<T>(100);
  values.front() = std::numeric_limits<T>::lowest();
  values.back() = std::numeric_limits<T>::max();
  const auto other = array_of<arrow::DoubleType>(counting<double>(100));
  put_table(kind, file, *table_of({{"a", other}, {"x", array_of<ArrowType>(values)}, {"z", other}}), 30);
  EXPECT_EQ(read_all<T>(file + ":x"), values);
  EXPECT_EQ(open_column(file + ":x")->info().name, file + ":x");
  EXPECT_EQ(open_column(file + ":x")->info().count, kind == Container::ipc_stream ? -1 : 100);
}

TEST_F(TableTest, ColumnsOfEveryTypeAreRead) {
  EXPECT_TRUE(arrow_built());
  for (const Container kind : kContainers) {
    expect_table_round_trip<arrow::Int8Type>(kind, path("table"));
    expect_table_round_trip<arrow::Int16Type>(kind, path("table"));
    expect_table_round_trip<arrow::Int32Type>(kind, path("table"));
    expect_table_round_trip<arrow::Int64Type>(kind, path("table"));
    expect_table_round_trip<arrow::UInt8Type>(kind, path("table"));
    expect_table_round_trip<arrow::UInt16Type>(kind, path("table"));
    expect_table_round_trip<arrow::UInt32Type>(kind, path("table"));
    expect_table_round_trip<arrow::UInt64Type>(kind, path("table"));
    expect_table_round_trip<arrow::FloatType>(kind, path("table"));
    expect_table_round_trip<arrow::DoubleType>(kind, path("table"));
  }
}

TEST_F(TableTest, ChunksHaveTheSizeAskedForWhateverTheBatches) {
  const auto values = counting<std::int64_t>(200);
  for (const Container kind : kContainers) {
    for (const std::int64_t batch : {1, 30, 64, 200}) {
      const std::string file = put_columns(kind, {{"x", array_of<arrow::Int64Type>(values)}}, batch);
      for (const std::int64_t chunk : {1L, 2L, 29L, 30L, 31L, 199L, 200L, 201L, std::numeric_limits<long>::max()}) {
        EXPECT_EQ(read_all<std::int64_t>(file, chunk), values) << batch << " " << chunk;
      }
    }
  }
}

TEST_F(TableTest, SkipCrossesBatches) {
  for (const Container kind : kContainers) {
    const auto reader =
        open_column(put_columns(kind, {{"x", array_of<arrow::Int64Type>(counting<std::int64_t>(100))}}, 7));
    reader->skip(10);
    EXPECT_EQ(*static_cast<const std::int64_t*>(reader->next(10).data), 10);
    reader->skip(79);
    EXPECT_EQ(*static_cast<const std::int64_t*>(reader->next(10).data), 99);
    reader->skip(std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(reader->next(1).count, 0);
  }
}

TEST_F(TableTest, CompressedTablesAreRead) {
  const auto values = counting<std::int64_t>(5000);
  for (const Container kind : kContainers) {
    const std::string file =
        put_columns(kind, {{"x", array_of<arrow::Int64Type>(values)}}, 1000, arrow::Compression::ZSTD);
    EXPECT_EQ(read_all<std::int64_t>(file, 999), values);
  }
}

TEST_F(TableTest, ColumnsWithoutRowsAreRead) {
  for (const Container kind : kContainers) {
    EXPECT_TRUE(read_all<std::int32_t>(put_columns(kind, {{"x", array_of<arrow::Int32Type>({})}})).empty());
    EXPECT_TRUE(
        read_all<std::int64_t>(put_columns(kind, {{"x", require(arrow::MakeArrayOfNull(arrow::null(), 0))}})).empty());
  }
  EXPECT_TRUE(read_all<std::int64_t>(put("a.csv", "x,y\n") + ":y").empty());
}

TEST_F(TableTest, ColumnsAreFoundByName) {
  const auto array = array_of<arrow::Int64Type>({1, 2});
  const auto structs = require(arrow::StructArray::Make({array}, std::vector<std::string>{"b"}));
  for (const Container kind : kContainers) {
    const std::string single = put_columns(kind, {{"x", array}});
    EXPECT_EQ(open_column(single)->info().name, single + ":x");
    expect_error(Code::unknown_column, "has no column 'y'; its columns are: 'x'", [&] { open_column(single + ":y"); });
    const std::string file =
        put_columns(kind, {{"x", array}, {"a:b", array}, {"s", structs}, {"d", array}, {"d", array}});
    EXPECT_EQ(read_all<std::int64_t>(file + ":x").size(), 2U);
    expect_error(Code::unknown_column,
                 "has 5 columns; name one as FILE:COLUMN; its columns are: 'x', 'a:b', 's', 'd', 'd'",
                 [&] { open_column(file); });
    expect_error(Code::unknown_column, "no column ''", [&] { open_column(file + ":"); });
    expect_error(Code::unknown_column, "no column 's.b'", [&] { open_column(file + ":s.b"); });
    expect_error(Code::unknown_column, "more than one column 'd'", [&] { open_column(file + ":d"); });
    expect_error(Code::unsupported_type, "has unsupported type struct<b: int64>", [&] { open_column(file + ":s"); });
  }
  std::vector<std::pair<std::string, ArrayPtr>> many;
  many.reserve(30);
  for (int i = 0; i < 30; ++i) many.emplace_back("c" + std::to_string(i), array);
  expect_error(Code::unknown_column, "'c19', … (30 in all)",
               [&] { open_column(put_columns(Container::parquet, many)); });
}

TEST_F(TableTest, DecimalsAreScaledIntegers) {
  const auto read = [&](Container kind, const std::shared_ptr<arrow::DataType>& type, auto make) {
    const auto builder = require(arrow::MakeBuilder(type));
    make(*builder);
    const std::string file = put_columns(kind, {{"x", require(builder->Finish())}});
    const auto reader = open_column(file);
    EXPECT_EQ(reader->info().meaning, Meaning::decimal);
    EXPECT_EQ(reader->info().scale, 2);
    EXPECT_EQ(drain<std::int64_t>(*reader, 2), (std::vector<std::int64_t>{-12'34, 0, 999})) << type->ToString();
  };
  const std::vector<std::int32_t> values = {-12'34, 0, 999};
  for (const Container kind : kContainers) {
    read(kind, arrow::decimal32(9, 2), [&](auto& builder) {
      for (const auto v : values) require(static_cast<arrow::Decimal32Builder&>(builder).Append(arrow::Decimal32(v)));
    });
    read(kind, arrow::decimal64(18, 2), [&](auto& builder) {
      for (const auto v : values) require(static_cast<arrow::Decimal64Builder&>(builder).Append(arrow::Decimal64(v)));
    });
    read(kind, arrow::decimal128(18, 2), [&](auto& builder) {
      for (const auto v : values) require(static_cast<arrow::Decimal128Builder&>(builder).Append(arrow::Decimal128(v)));
    });
    read(kind, arrow::decimal256(18, 2), [&](auto& builder) {
      for (const auto v : values) require(static_cast<arrow::Decimal256Builder&>(builder).Append(arrow::Decimal256(v)));
    });
  }
}

TEST_F(TableTest, DecimalsThatDoNotFitAreRefused) {
  for (const Container kind : kContainers) {
    const std::string file = put_columns(kind, {{"x", require(arrow::MakeArrayOfNull(arrow::decimal256(50, 2), 0))}});
    expect_error(Code::unsupported_type, "decimal256(50, 2)", [&] { open_column(file); });
    arrow::Decimal128Builder wide(arrow::decimal128(38, 2));
    require(wide.Append(arrow::Decimal128(-250)));
    require(wide.Append(arrow::Decimal128(INT64_MAX)));
    require(wide.Append(arrow::Decimal128(1, 0)));
    const auto column = open_column(put_columns(kind, {{"x", require(wide.Finish())}}));
    EXPECT_EQ(column->info().scale, 2);
    const Chunk chunk = column->next(2);
    EXPECT_EQ(static_cast<const std::int64_t*>(chunk.data)[0], -250);
    EXPECT_EQ(static_cast<const std::int64_t*>(chunk.data)[1], INT64_MAX);
    const Error past = error_of([&] { column->next(1); });
    EXPECT_EQ(past.code(), Code::overflow);
    EXPECT_EQ(past.index(), 2);
  }
  // A value with more digits than its type allows, as a faulty writer may store it.
  arrow::Decimal128Builder builder(arrow::decimal128(18, 0));
  require(builder.Append(arrow::Decimal128(1)));
  require(builder.Append(arrow::Decimal128(1, 0)));
  const auto reader = open_column(put_columns(Container::ipc_file, {{"x", require(builder.Finish())}}));
  const Error error = error_of([&] { reader->next(2); });
  EXPECT_EQ(error.code(), Code::malformed);
  EXPECT_EQ(error.index(), 1);
}

TEST_F(TableTest, DatesAreDays) {
  constexpr std::int64_t kDay = 86'400'000;
  for (const Container kind : kContainers) {
    const std::string days = put_columns(kind, {{"x", array_of<arrow::Date32Type>({-1, 0, 20'000})}});
    EXPECT_EQ(open_column(days)->info().meaning, Meaning::date);
    EXPECT_EQ(read_all<std::int32_t>(days), (std::vector<std::int32_t>{-1, 0, 20'000}));
    const std::string milliseconds = put_columns(kind, {{"x", array_of<arrow::Date64Type>({-kDay, 0, 20'000 * kDay})}});
    EXPECT_EQ(open_column(milliseconds)->info().meaning, Meaning::date);
    EXPECT_EQ(read_all<std::int32_t>(milliseconds), (std::vector<std::int32_t>{-1, 0, 20'000}));
  }
  const std::string odd = put_columns(Container::ipc_file, {{"x", array_of<arrow::Date64Type>({0, 1})}});
  EXPECT_EQ(error_of([&] { read_all<std::int32_t>(odd); }).index(), 1);
}

TEST_F(TableTest, DictionariesAreDecoded) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::float64());
  const auto codes = array_of<arrow::Int8Type>({2, 0, 1, 2});
  const auto numbers = array_of<arrow::DoubleType>({0.5, 1.5, 2.5});
  const auto encoded = require(arrow::DictionaryArray::FromArrays(type, codes, numbers));
  const auto holed = require(
      arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::int64()), codes, with_null(3, 1)));
  for (const Container kind : {Container::ipc_file, Container::ipc_stream}) {
    const std::string file = put_columns(kind, {{"x", encoded}}, 3);
    for (const std::int64_t chunk : {1, 3, 4}) {
      EXPECT_EQ(read_all<double>(file, chunk), (std::vector<double>{2.5, 0.5, 1.5, 2.5}));
    }
    EXPECT_EQ(error_of([&] { read_all<std::int64_t>(put_columns(kind, {{"x", holed}}, 4)); }).index(), 2);
  }
  EXPECT_EQ(read_all<double>(put_columns(Container::parquet, {{"x", encoded}}, 3), 3),
            (std::vector<double>{2.5, 0.5, 1.5, 2.5}));
}

TEST_F(TableTest, NullsNameTheirRow) {
  for (const Container kind : kContainers) {
    const std::string file = put_columns(kind, {{"x", with_null(100, 17)}}, 10);
    for (const std::int64_t chunk : {1, 4, 10, 100}) {
      const Error error = error_of([&] { read_all<std::int64_t>(file, chunk); });
      EXPECT_EQ(error.code(), Code::null_value);
      EXPECT_EQ(error.index(), 17);
      EXPECT_EQ(std::string(error.what()).find(file + ":x: row 17 is NULL; "), 0U) << error.what();
    }
    const auto reader = open_column(file);
    reader->skip(18);
    EXPECT_EQ(drain<std::int64_t>(*reader, 9).size(), 82U);
    const std::string nothing = put_columns(kind, {{"x", require(arrow::MakeArrayOfNull(arrow::null(), 3))}});
    EXPECT_EQ(error_of([&] { read_all<std::int64_t>(nothing); }).index(), 0);
  }
  EXPECT_EQ(error_of([&] { read_all<std::int64_t>(put("a.csv", "x,y\n1,1\n2,\n") + ":y"); }).index(), 1);
  EXPECT_EQ(error_of([&] { read_all<std::int64_t>(put("a.csv", "x,y\n1,NA\n2,\n") + ":y"); }).index(), 0);
}

arrow::Type::type value_id(const arrow::DataType& type) {
  if (type.id() != arrow::Type::DICTIONARY) return type.id();
  return static_cast<const arrow::DictionaryType&>(type).value_type()->id();
}

TEST_F(TableTest, OtherTypesAreRefused) {
  const std::shared_ptr<arrow::DataType> types[] = {arrow::utf8(), arrow::list(arrow::int64()), arrow::binary(),
                                                    arrow::dictionary(arrow::int8(), arrow::utf8())};
  for (const Container kind : kContainers) {
    for (const auto& type : types) {
      const auto array = type->id() == arrow::Type::DICTIONARY ? require(arrow::MakeArrayOfNull(type, 1))
                                                               : require(require(arrow::MakeBuilder(type))->Finish());
      const std::string file = put_columns(kind, {{"x", array}});
      const std::string shown = type->id() == arrow::Type::LIST          ? "list<"
                                : value_id(*type) == arrow::Type::STRING ? "text"
                                                                         : type->ToString();
      expect_error(Code::unsupported_type, shown, [&] { open_column(file); });
    }
  }
}

TEST_F(TableTest, TablesCutAnywhereAreMalformed) {
  for (const Container kind : kContainers) {
    const std::string good =
        slurp(put_columns(kind, {{"x", array_of<arrow::Int64Type>({1, 2, 3})}, {"y", with_null(3, -1)}}, 2));
    for (std::size_t size = 0; size < good.size(); ++size) {
      const std::string file = put("cut", good.substr(0, size));
      expect_error(Code::malformed, file, [&] { touch_all(file + ":x"); });
    }
    EXPECT_GT(touch_all(put("cut", good) + ":x"), 0);
  }
}

TEST_F(TableTest, TablesWithFlippedBitsAreReadOrRefused) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::float64());
  const auto encoded = require(arrow::DictionaryArray::FromArrays(type, array_of<arrow::Int8Type>({2, 0, 1, 2}),
                                                                  array_of<arrow::DoubleType>({0.5, 1.5, 2.5})));
  std::mt19937 random(2);
  for (const Container kind : kContainers) {
    for (const auto& compression : {arrow::Compression::UNCOMPRESSED, arrow::Compression::ZSTD}) {
      const std::string good = slurp(put_columns(kind, {{"x", with_null(4, 2)}, {"y", encoded}}, 3, compression));
      for (int round = 0; round < 1500; ++round) {
        const std::string file = put("flipped", flipped(good, good.size(), random)) + (round % 2 == 0 ? ":x" : ":y");
        try {
          touch_all(file);
        } catch (const Error& error) {
          EXPECT_EQ(std::string(error.what()).find(path("flipped")), 0U) << error.what();
        }
      }
    }
  }
}

TEST_F(TableTest, AStreamWithoutItsEndOrWithMoreAfterItIsMalformed) {
  const std::string good = slurp(put_columns(Container::ipc_stream, {{"x", array_of<arrow::Int64Type>({1, 2, 3})}}));
  expect_error(Code::malformed, "no end mark", [&] { touch_all(put("cut", good.substr(0, good.size() - 8))); });
  expect_error(Code::malformed, "bytes follow the end", [&] { touch_all(put("twice", good + good)); });
}

TEST_F(TableTest, AnIpcFileThatShrinksWhileItIsReadIsMalformed) {
  for (const Container kind : {Container::ipc_file, Container::ipc_stream}) {
    const std::string file =
        put_columns(kind, {{"x", array_of<arrow::Int64Type>(counting<std::int64_t>(2 * kBatchRows))}}, kBatchRows);
    const auto reader = open_column(file);
    EXPECT_EQ(reader->next(kBatchRows).count, kBatchRows);
    fs::resize_file(file, 4096);
    expect_error(Code::malformed, "while it was read", [&] { reader->next(100); });
  }
}

// One row group of 32 MiB, read without holding it in memory.
TEST_F(TableTest, ParquetIsReadInBoundedMemory) {
  constexpr std::int64_t kRows = 1 << 22;
  const std::string file =
      put_columns(Container::parquet, {{"x", array_of<arrow::Int64Type>(counting<std::int64_t>(kRows))}}, kRows);
  const std::int64_t before = arrow::default_memory_pool()->bytes_allocated();
  const auto reader = open_column(file);
  std::int64_t most = 0;
  std::int64_t rows = 0;
  for (Chunk piece = reader->next(10'000); piece.count > 0; piece = reader->next(10'000)) {
    most = std::max(most, arrow::default_memory_pool()->bytes_allocated() - before);
    rows += piece.count;
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_LT(most, 8 << 20);
}

TEST_F(TableTest, CsvColumnsAreReadAsWhatTheyAre) {
  const std::string file = put("a.csv",
                               "i,u,d,f,n,t\n"
                               "-1,18446744073709551615,2001-12-31,1,nan,\"a\nb\"\n"
                               "2,0,1970-01-01,2.5,inf,x\n");
  EXPECT_EQ(read_all<std::int64_t>(file + ":i"), (std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(read_all<std::uint64_t>(file + ":u"), (std::vector<std::uint64_t>{~0ULL, 0}));
  EXPECT_EQ(read_all<std::int32_t>(file + ":d"), (std::vector<std::int32_t>{11'687, 0}));
  EXPECT_EQ(open_column(file + ":d")->info().meaning, Meaning::date);
  EXPECT_EQ(read_all<std::int64_t>(file + ":f"), (std::vector<std::int64_t>{10, 25}));
  EXPECT_EQ(open_column(file + ":f")->info().meaning, Meaning::decimal);
  EXPECT_EQ(open_column(file + ":f")->info().scale, 1);
  EXPECT_TRUE(std::isnan(read_all<double>(file + ":n")[0]));
  EXPECT_EQ(open_column(file + ":i")->info().count, -1);
  expect_error(Code::unsupported_type, file + ":t: line 2: 'a\\nb' is text", [&] { open_column(file + ":t"); });
  expect_error(Code::unknown_column, "'i', 'u', 'd', 'f', 'n', 't'", [&] { open_column(file + ":x"); });
  expect_error(Code::unknown_column, "6 columns", [&] { open_column(file); });
  EXPECT_EQ(read_all<std::int64_t>(put("b.CSV", "x\r\n1\r\n2")), (std::vector<std::int64_t>{1, 2}));
}

TEST_F(TableTest, CsvWithoutAHeaderRowHasColumnsThatAreNumbered) {
  const std::string file = put("a.csv", "10.00\n20.00\n");
  for (const std::string& source : {file, file + ":column0"}) {
    EXPECT_EQ(read_all<std::int64_t>(source), (std::vector<std::int64_t>{1000, 2000}));
  }
  for (const std::string& source : {file + ":10.00", file + ":x"}) {
    expect_error(Code::unknown_column, "its columns are: 'column0'", [&] { open_column(source); });
  }
  EXPECT_EQ(read_all<std::int64_t>(put("b.csv", "\"10.00\"\n20.00\n")), std::vector<std::int64_t>{2000});
}

TEST_F(TableTest, CsvDecimalsHaveTheScaleOfTheWholeColumn) {
  const auto scale_of = [&](const std::string& text) { return open_column(put("s.csv", text) + ":x")->info().scale; };
  EXPECT_EQ(scale_of("x\n1.50\n2"), 2);
  EXPECT_EQ(scale_of("\xef\xbb\xbfx\r\n1.5\r\n-.25"), 2);
  EXPECT_EQ(scale_of("\n\nx,y\n1.5,a\n\n2.125,b\n"), 3);
  EXPECT_EQ(scale_of("w,x\n\"1.234,\n9.99999\",\"1.5\"\n\"a\"\"1.234\",0.25\n"), 2);
  EXPECT_EQ(scale_of("w\"1.2,x\n\"12.345\",1.5\na\"b,\n"), 1);
  // Cells and quotes cross the borders of the reader's blocks.
  for (int pad = (1 << 20) - 40; pad < (1 << 20) + 4; ++pad) {
    const std::string file =
        put("b.csv", "w,x\n" + std::string(static_cast<std::size_t>(pad / 2), 'a') + ",1.5\n\"" +
                         std::string(static_cast<std::size_t>(pad - pad / 2 - 12), ',') + "\"\"\",\"12.375\"\n,0.5\n");
    EXPECT_EQ(read_all<std::int64_t>(file + ":x"), (std::vector<std::int64_t>{1500, 12'375, 500})) << pad;
  }
}

TEST_F(TableTest, CsvDecimalsOfMoreThan18DigitsAreFloats) {
  const std::string most = put("a.csv", "x\n-999999999999999.999\n0.1\n");
  EXPECT_EQ(read_all<std::int64_t>(most), (std::vector<std::int64_t>{-999'999'999'999'999'999, 100}));
  EXPECT_EQ(read_all<double>(put("b.csv", "x\n1000000000000000.999\n0.1\n")), (std::vector<double>{1e15 + 1, 0.1}));
  EXPECT_EQ(read_all<double>(put("c.csv", "x\n" + std::string(200, '0') + "1.5\n2\n")), (std::vector<double>{1.5, 2}));
}

TEST(ParseDecimal, TakesWhatIsWritten) {
  const auto parse = [](std::string_view text) {
    Decimal number;
    return std::tuple(parse_decimal(text, number), number.digits, number.scale);
  };
  constexpr auto kNone = NumberFault::none;
  EXPECT_EQ(parse("12.50"), std::tuple(kNone, 125, 1));
  EXPECT_EQ(parse("+.5"), std::tuple(kNone, 5, 1));
  EXPECT_EQ(parse("-007.000"), std::tuple(kNone, -7, 0));
  EXPECT_EQ(parse("0." + std::string(17, '0') + "1" + std::string(40, '0')), std::tuple(kNone, 1, 18));
  EXPECT_EQ(parse("-9223372036854775808"), std::tuple(kNone, std::numeric_limits<std::int64_t>::min(), 0));
  const std::pair<const char*, NumberFault> faults[] = {{"", NumberFault::no_number},
                                                        {"-", NumberFault::no_number},
                                                        {".", NumberFault::no_number},
                                                        {"1.", NumberFault::no_number},
                                                        {"1.2.3", NumberFault::no_number},
                                                        {"--1", NumberFault::no_number},
                                                        {" 1", NumberFault::no_number},
                                                        {"1e5", NumberFault::exponent},
                                                        {"-1.5E-5", NumberFault::exponent},
                                                        {"-inf", NumberFault::not_finite},
                                                        {"1,000.5", NumberFault::separator},
                                                        {"0.1234567890123456789", NumberFault::decimals},
                                                        {"9223372036854775808", NumberFault::too_large},
                                                        {"9223372036854775.8080001", NumberFault::too_large}};
  for (const auto& [text, fault] : faults) EXPECT_EQ(std::get<0>(parse(text)), fault) << text;
}

TEST_F(TableTest, NumbersOfCsvAreExact) {
  const Numbers numbers = read_numbers(put("a.csv", "w,x\n\"a\nb\",90071992547409.93\r\n,\" 007\"\n") + ":x");
  EXPECT_EQ(numbers.values, (std::vector<std::int64_t>{9'007'199'254'740'993, 700}));
  EXPECT_EQ(numbers.scale, 2);
  EXPECT_EQ(numbers.place(1), path("a.csv") + ":x: line 4");
  EXPECT_EQ(read_numbers(put("b.csv", "x\n123456789012345678\n")).values[0], 123'456'789'012'345'678);
  std::string text = "w,x\n";
  for (int i = 0; i < 200'000; ++i) text += "word,7.5\n";
  const std::tuple<const char*, Code, const char*> ends[] = {
      {"w,", Code::null_value, "line 200002 is empty"},
      {"w,7,5", Code::malformed, "and the header row in line 1 has 2"},
      {"w,NA", Code::malformed, "line 200002: 'NA' is not a number"},
      {"w,9e9", Code::malformed, "has an exponent"},
      {"w,9223372036854775808", Code::overflow, "too large"},
      {"w,-7", Code::not_positive, "negative"}};
  for (const auto& [end, code, part] : ends) {
    const std::string file = put("c.csv", text + end);
    const Error error = error_of([&] { read_numbers(file + ":x"); });
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.index(), 200'000) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_EQ(read_numbers(put("d.csv", text) + ":x").values, std::vector<std::int64_t>(200'000, 75));
}

TEST_F(TableTest, CsvLargerThanABlockIsRead) {
  const auto values = counting<std::int64_t>(400'000);
  std::string text = "x,y\n";
  for (const auto value : values) text += std::to_string(value) + ",z\n";
  const std::string file = put("a.csv", text);
  for (const std::int64_t chunk : {1000, 150'000, 1 << 20})
    EXPECT_EQ(read_all<std::int64_t>(file + ":x", chunk), values);
}

// Text, other types and missing fields far after the first block.
TEST_F(TableTest, ACsvColumnThatIsNotOfNumbersNamesTheLine) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i) + ",\"z\n\"\n";
  const std::tuple<const char*, Code, const char*> lines[] = {
      {"abc,z\n", Code::malformed, ":x: line 800002: 'abc' is text, and the cells before it are numbers"},
      {"2001-12-31,z\n", Code::malformed,
       ":x: line 800002: '2001-12-31' is a date, and the cells before it are numbers"},
      {"true,z\n", Code::malformed, ":x: line 800002: 'true' is a boolean, and the cells before it are numbers"},
      {"007,z\n", Code::malformed, ":x: line 800002: '007' is text, as numbers do not begin with 0, and the cells"},
      {"99999999999999999999,z\n", Code::unsupported_type,
       ":x: line 800002: '99999999999999999999' is an integer that does not fit"},
      {"7\n", Code::malformed, ": line 800002 has 1 cell, and the header row in line 1 has 2"}};
  for (const auto& [line, code, message] : lines) {
    const std::string file = put("a.csv", text + line + "9,z\n");
    const Error error = error_of([&] { read_all<std::int64_t>(file + ":x"); });
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.index(), 400'000) << error.what();
    EXPECT_EQ(std::string(error.what()).find(file + message), 0U) << error.what();
  }
  EXPECT_EQ(read_all<double>(put("a.csv", text + "1e5,z\n") + ":x").back(), 1e5);
  EXPECT_EQ(read_all<std::uint8_t>(put("b.csv", "x\ntrue\nfalse\n")), (std::vector<std::uint8_t>{1, 0}));
}

// The rows of a file whose cells are in apostrophes, with backslashes, comments and rows of other lengths.
std::string irregular_text(std::mt19937& random, std::string& regular) {
  std::string text;
  for (int row = 0; row < 30'000; ++row) {
    if (random() % 50 == 0) text += "# it's a comment; with marks\r\n";
    const std::string name(random() % 20, 'x');
    const bool is_short = random() % 40 == 0;
    text += "'" + name + "\\'; y';" + std::to_string(row) + (is_short ? "\n" : ";\"z\"\n");
    regular += "\"" + name + "'; y\";" + std::to_string(row) + ";" + (is_short ? "" : "\"\"\"z\"\"\"") + "\n";
  }
  return text;
}

TEST_F(IoTest, RegularRowsAreTheSameFromAnyPlace) {
  std::mt19937 random(5);
  std::string expected;
  const std::string text = irregular_text(random, expected);
  const std::string file = put("rows.csv", text);
  const Descriptor descriptor = open_file(file).file;
  RowForm form;
  form.marks = {.delimiter = ";", .quote = '\'', .escape = '\\'};
  form.comment = "#";
  form.ragged = Ragged::fill;
  form.columns = 3;
  const RegularRows rows(descriptor, file, nullptr, form, {0, std::ssize(text)}, 1);
  ASSERT_EQ(rows.size(), std::ssize(expected));
  EXPECT_EQ(rows.delimiter(), ';');
  EXPECT_EQ(rows.columns(), 3U);
  EXPECT_GT(rows.irregular().filled, 0);
  for (int round = 0; round < 200; ++round) {
    const auto offset = static_cast<std::size_t>(random()) % expected.size();
    const std::size_t bytes = std::min(expected.size() - offset, static_cast<std::size_t>(random() % 300'000));
    std::string found(bytes, '\0');
    ASSERT_EQ(rows.read(descriptor, found.data(), std::ssize(found), static_cast<std::int64_t>(offset)),
              std::ssize(found));
    ASSERT_EQ(found, expected.substr(offset, bytes)) << offset;
    const auto line = rows.line_at(descriptor, static_cast<std::int64_t>(offset));
    std::size_t begin = 0;  // of that line in the file
    for (std::int64_t passed = 1; passed < line; ++passed) begin = text.find('\n', begin) + 1;
    const std::size_t row = offset == 0 ? 0 : expected.rfind('\n', offset - 1) + 1;
    const std::size_t name = expected.find('\'', row) - row - 1;  // its length
    EXPECT_EQ(text.compare(begin + 1, name, expected, row + 1, name), 0) << line;
  }
}

// Rows of which most need no change: some are short, and some have cells of many lines that look like rows.
std::string mostly_regular_text(std::mt19937& random, std::string& regular, std::vector<std::int64_t>& short_lines) {
  std::string text;
  std::int64_t line = 1;
  for (int row = 0; std::ssize(text) < (std::int64_t{11} << 20); ++row) {
    const auto few = static_cast<std::int64_t>(random() % 40);
    const std::int64_t lines = random() % 20'000 == 0 ? 300'000 : random() % 500 == 0 ? few : 0;
    std::string written = std::to_string(row) + ',';
    if (lines > 0) written += '"';
    for (std::int64_t i = 0; i < lines; ++i) written += "x,y\n";
    if (lines > 0) written += '"';
    const bool is_short = random() % 1000 == 0;
    if (is_short) short_lines.push_back(line);
    text += written + (is_short ? "\n" : ",z\n");
    regular += written + (is_short ? ",\n" : ",z\n");
    line += lines + 1;
  }
  return text;
}

TEST_F(IoTest, RegularRowsAreTheSameOnAnyNumberOfThreads) {
  std::mt19937 random(8);
  std::string expected;
  std::vector<std::int64_t> short_lines;
  const std::string text = mostly_regular_text(random, expected, short_lines);
  const std::string file = put("rows.csv", text);
  const Descriptor descriptor = open_file(file).file;
  RowForm form;
  form.columns = 3;
  for (const int threads : {1, 3}) {
    form.ragged = Ragged::fill;
    const RegularRows rows(descriptor, file, nullptr, form, {0, std::ssize(text)}, threads);
    ASSERT_EQ(rows.size(), std::ssize(expected));
    EXPECT_EQ(rows.irregular().filled, std::ssize(short_lines));
    EXPECT_TRUE(std::equal(rows.irregular().lines.begin(), rows.irregular().lines.end(), short_lines.begin()));
    std::string found(expected.size(), '\0');
    ASSERT_EQ(rows.read(descriptor, found.data(), std::ssize(found), 0), std::ssize(found));
    EXPECT_TRUE(found == expected);
    for (int round = 0; round < 20; ++round) {
      const auto offset = static_cast<std::size_t>(random()) % expected.size();
      const std::size_t bytes = std::min(expected.size() - offset, static_cast<std::size_t>(random() % 300'000));
      found.resize(bytes);
      ASSERT_EQ(rows.read(descriptor, found.data(), std::ssize(found), static_cast<std::int64_t>(offset)),
                std::ssize(found));
      ASSERT_TRUE(found == expected.substr(offset, bytes)) << offset;
      const std::int64_t line =
          1 + std::count(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
      ASSERT_EQ(rows.line_at(descriptor, static_cast<std::int64_t>(offset)), line) << offset;
    }
    form.ragged = Ragged::refuse;
    try {
      const RegularRows refused(descriptor, file, nullptr, form, {0, std::ssize(text)}, threads);
      FAIL();
    } catch (const RowError& error) {
      EXPECT_EQ(error.place().line, short_lines.front());
    }
  }
}

// Whether a quote is open, and where the last one opened; less than 0 if text follows the closing quote.
std::pair<bool, std::int64_t> follow_quotes(std::string_view text, std::size_t piece) {
  CsvQuotes quotes(',');
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (!quotes.accept(text.substr(0, piece))) return {false, -1 - quotes.opened()};
  }
  return {quotes.open(), quotes.opened()};
}

TEST(CsvQuotes, AreTheSameInPiecesOfAnyLength) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int field = 0; field < 40; ++field) {
      const std::string inner(random() % 12, 'a');
      constexpr std::array<std::string_view, 7> kBetween{"", "\"\"", ",", "\n", "\"\"\"\"", "b", ",\"\""};
      const bool quoted = random() % 3 != 0;
      text += quoted ? "\"" + inner + std::string(kBetween[random() % 7]) + "\"" : inner;
      if (random() % 100 == 0) text += "\"";
      text += random() % 200 == 0 ? " " : random() % 2 == 0 ? "," : "\r\n";
    }
    const auto expected = follow_quotes(text, 3);
    for (const std::size_t piece : {7UL, 63UL, 64UL, 65UL, 200UL, text.size()}) {
      ASSERT_EQ(follow_quotes(text, piece), expected) << text << " in chunks of " << piece;
    }
  }
}

// Counts rows, with and without empty lines. Each chunk is extended to whole rows.
std::pair<std::int64_t, std::int64_t> count_rows(std::string_view text, std::size_t piece) {
  std::pair<std::int64_t, std::int64_t> rows;
  for (std::int64_t at = 0; !text.empty();) {
    CsvQuotes quotes(',', at);
    const std::size_t first = std::min(piece, text.size());
    EXPECT_TRUE(quotes.accept(text.substr(0, first)));
    text.remove_prefix(first + quotes.accept_row(text.substr(first)));
    at = quotes.bytes();
    rows.first += quotes.rows(false);
    rows.second += quotes.rows(true);
  }
  return rows;
}

TEST(CsvQuotes, CountRows) {
  std::mt19937 random(8);
  for (int round = 0; round < 1000; ++round) {
    const std::string end = std::array{"\n", "\r\n", "\r"}[random() % 3];
    std::string text;
    std::pair<std::int64_t, std::int64_t> expected;
    for (int row = 0; row < 60; ++row) {
      const bool is_empty = random() % 8 == 0;
      const std::string word(random() % 40, 'a');
      const bool is_quoted = random() % 3 == 0;
      if (!is_empty) text.append(is_quoted ? "\"" : "b").append(word);
      if (!is_empty && is_quoted) text.append(end).append(end).append("\"\"\"");
      text += end;
      expected.first += is_empty ? 0 : 1;
      ++expected.second;
    }
    for (const std::size_t piece : {1UL, 7UL, 64UL, 65UL, 500UL, text.size()}) {
      ASSERT_EQ(count_rows(text, piece), expected) << text << " in chunks of " << piece;
    }
  }
}

TEST(CsvQuotes, AreDistinguished) {
  for (const std::string_view before : {"", "x,y\n", "\"a long one, with \"\"quotes\"\" and\r\nlines\","}) {
    const auto at = std::ssize(before);
    const auto expect = [&](std::string_view text, bool open, std::int64_t opened) {
      const std::string padded = std::string(before) + std::string(text) + std::string(open ? 100 : 0, 'z');
      EXPECT_EQ(follow_quotes(padded, 1000), std::pair(open, opened)) << padded;
    };
    expect("\"a", true, at);
    expect("\"a\"\"", true, at);
    expect("\"a\",\"b", true, at + 4);
    expect("b\"\",\"b\"\n", false, at + 4);
    expect("\"a\"b", false, -1 - at);
    expect("\"\"b", false, -1 - at);
    expect("\"\"\"\",b\"", false, at);
  }
}

TEST_F(TableTest, BadCsvIsMalformed) {
  expect_error(Code::malformed, "a.csv", [&] { open_column(put("a.csv", "\n")); });
  expect_error(Code::malformed, "line 3 has 3 cells, and line 1 has 2",
               [&] { open_column(put("a.csv", "x,y\n1,2\n1,2,3\n") + ":x"); });
  expect_error(Code::malformed, "a.csv", [&] { open_column(put("a.csv", "x\n" + std::string(3 << 20, '1') + "\n")); });
}

#endif

}  // namespace
}  // namespace upsweep::io
