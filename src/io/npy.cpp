// SPDX-License-Identifier: Apache-2.0
// io/npy.cpp: reads .npy files, versions 1.0, 2.0 and 3.0: files through memory-mapped windows, pipes through a buffer.
#include "io/npy.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "io/format.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

static_assert(std::endian::native == std::endian::little, "'<' elements are used as they stand in the file");

constexpr std::int64_t kMaxHeader = 1 << 20;  // NumPy writes about 100 bytes and by default reads 10 000
constexpr std::int64_t kMinWindow = 1 << 20;  // makes mmap() a small part of the cost of tiny chunks
constexpr std::int64_t kDiscard = 1 << 16;    // what skip() reads from a pipe at once, a pipe's usual capacity

// What np.dtype calls the kinds of element that are not read, by the letter in 'descr', and what to do about each.
struct Refused {
  char kind;
  std::string_view what;
  std::string_view advice;
};
constexpr Refused kRefused[] = {
    {'c', "complex numbers", "save a.real and a.imag by themselves"},
    {'O', "Python objects", "convert them to numbers with a.astype('f8')"},
    {'S', "byte strings", "convert them to numbers with a.astype('f8')"},
    {'a', "byte strings", "convert them to numbers with a.astype('f8')"},
    {'U', "strings", "convert them to numbers with a.astype('f8')"},
    {'V', "raw bytes", "save one field of numbers by itself"},
    {'M', "dates", "convert them with a.astype('i8')"},
    {'m', "time spans", "convert them with a.astype('i8')"},
    {'f', "floating-point numbers of that width", "convert them with a.astype('f4') or a.astype('f8')"},
};

[[noreturn]] void throw_malformed(std::string_view name, std::string_view what) {
  throw Error(Code::malformed, fmt::format("{}: {}; write the file again with np.save", name, what));
}

[[noreturn]] void throw_refused(std::string_view name, std::string_view what) {
  throw Error(Code::unsupported_type, fmt::format("{}: {}", name, what));
}

// The element type that 'descr' names, such as "<f8".
Type parse_descr(std::string_view descr, std::string_view name) {
  const bool ordered = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view code = descr.substr(ordered ? 1 : 0);
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"i1", Type::int8},    {"i2", Type::int16},   {"i4", Type::int32},  {"i8", Type::int64},
      {"u1", Type::uint8},   {"u2", Type::uint16},  {"u4", Type::uint32}, {"u8", Type::uint64},
      {"f4", Type::float32}, {"f8", Type::float64}, {"b1", Type::uint8},  {"?", Type::uint8},
  };
  for (const auto& [spelling, type] : kTypes) {
    if (code != spelling) continue;
    if (descr[0] == '>' && size_of(type) > 1) {
      throw_refused(name,
                    fmt::format("its elements ('{}') are big-endian; convert them with a.astype('<{}')", descr, code));
    }
    return type;
  }
  for (const Refused& refused : kRefused) {
    if (code.empty() || code[0] != refused.kind) continue;
    throw_refused(name,
                  fmt::format("its elements ('{}') are {}; {}", printable(descr, 40), refused.what, refused.advice));
  }
  throw_refused(name, fmt::format("its elements are of a type '{}' that upsweep does not know; convert them with "
                                  "a.astype('f8')",
                                  printable(descr, 40)));
}

// Reads the one Python expression that a header is: a dict of 'descr', 'fortran_order' and 'shape', in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  NpyLayout parse() {
    expect('{');
    while (!accept('}')) {
      entry();
      if (accept(',')) continue;
      expect('}');
      break;
    }
    skip_spaces();
    if (at_ != text_.size()) fail("has something after the closing '}'");
    return check();
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw_malformed(name_, fmt::format("its .npy header {} (at byte {} of '{}')", what, at_, printable(text_, 120)));
  }

  void entry() {
    const std::string_view key = string();
    expect(':');
    if (key == "descr") {
      set_once(descr_, key, descr());
    } else if (key == "fortran_order") {
      set_once(fortran_order_, key, boolean());
    } else if (key == "shape") {
      set_once(dimensions_, key, shape());
    } else {
      fail("has an unknown key");
    }
  }

  template <class T>
  void set_once(std::optional<T>& member, std::string_view key, T value) const {
    if (member) fail(fmt::format("names '{}' twice", key));
    member = value;
  }

  [[nodiscard]] NpyLayout check() const {
    if (!descr_) fail("lacks 'descr'");
    if (!fortran_order_) fail("lacks 'fortran_order'");
    if (!dimensions_) fail("lacks 'shape'");
    const Type type = parse_descr(*descr_, name_);
    if (*dimensions_ != 1) {
      // Fortran order makes no difference in one dimension, and does in those that are refused here.
      const std::string_view order = *fortran_order_ && *dimensions_ > 1 ? " in Fortran order" : "";
      throw_refused(name_, fmt::format("has {} dimensions{}, and upsweep takes one; flatten it with a.reshape(-1)",
                                       *dimensions_, order));
    }
    if (count_ > std::numeric_limits<std::int64_t>::max() / size_of(type)) fail("tells of more elements than can be");
    return {type, descr_->ends_with("b1") || descr_->ends_with('?'), count_, 0};
  }

  // Structured types are lists, those with a shape of their own are tuples.
  std::string_view descr() {
    skip_spaces();
    if (peek() == '[' || peek() == '(') {
      throw_refused(name_, "its elements are structured; save one field of numbers by itself");
    }
    return string();
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    fail("has neither True nor False for 'fortran_order'");
  }

  // The number of dimensions; count_ becomes the first of them.
  int shape() {
    expect('(');
    int dimensions = 0;
    while (!accept(')')) {
      const std::int64_t extent = integer();
      if (dimensions++ == 0) count_ = extent;
      if (accept(',')) continue;
      if (dimensions == 1) fail("has a 'shape' that is no tuple");
      expect(')');
      break;
    }
    return dimensions;
  }

  std::int64_t integer() {
    skip_spaces();
    if (peek() == '-') fail("has a negative 'shape'");
    if (!is_digit(peek())) fail("has a 'shape' that is not made of integers");
    std::int64_t value = 0;
    for (; is_digit(peek()); ++at_) {
      const bool overflows =
          __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, peek() - '0', &value);
      if (overflows) fail("has a 'shape' past 64 bits");
    }
    if (peek() == 'L') ++at_;  // as Python 2 wrote them
    return value;
  }

  std::string_view string() {
    skip_spaces();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("has something else where a quoted word must be");
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) fail("has a quote that never ends");
    const std::string_view value = text_.substr(at_, end - at_);
    if (value.find('\\') != std::string_view::npos) fail("has a backslash");
    at_ = end + 1;
    return value;
  }

  void expect(char c) {
    if (!accept(c)) fail(fmt::format("lacks a '{}'", c));
  }

  bool accept(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void skip_spaces() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }

  // No character of a valid header is NUL, so NUL may stand for the end.
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<int> dimensions_;
  std::int64_t count_ = 0;
};

// Reads magic word, version and header from the file's position, which then stands at the data.
class HeaderReader {
 public:
  HeaderReader(int fd, std::string_view name) : fd_(fd), name_(name) {}

  NpyLayout read() {
    read_magic();
    const std::string version = take(2);
    if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
      throw_malformed(name_,
                      fmt::format("is .npy of version {}.{}, and upsweep reads 1.0, 2.0 and 3.0",
                                  static_cast<unsigned char>(version[0]), static_cast<unsigned char>(version[1])));
    }
    const std::int64_t length = little_endian(take(version[0] == 1 ? 2 : 4));
    if (length > kMaxHeader) throw_malformed(name_, fmt::format("tells of a .npy header of {} bytes", length));
    NpyLayout layout = HeaderParser(take(length), name_).parse();
    layout.data = bytes_;
    return layout;
  }

 private:
  void read_magic() {
    const std::string head = take_up_to(kSniffBytes);
    if (head.empty()) throw_malformed(name_, "is empty");
    if (head == kNpyMagic) return;
    const Format format = sniff(head);
    if (format == Format::unknown) {
      throw_malformed(name_, kNpyMagic.starts_with(head) ? "ends inside its .npy header" : "is not in .npy format");
    }
    throw Error(Code::malformed,
                fmt::format("{}: holds {}, and only .npy is read from standard input and pipes; save it "
                            "to a file and name that",
                            name_, describe(format)));
  }

  std::string take_up_to(std::int64_t bytes) {
    std::string text(static_cast<std::size_t>(bytes), '\0');
    const std::int64_t got = read_fully(fd_, text.data(), bytes, name_);
    text.resize(static_cast<std::size_t>(got));
    bytes_ += got;
    return text;
  }

  const std::string& take(std::int64_t bytes) {
    taken_ = take_up_to(bytes);
    if (std::ssize(taken_) < bytes) throw_malformed(name_, "ends inside its .npy header");
    return taken_;
  }

  static std::int64_t little_endian(const std::string& bytes) {
    std::int64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  }

  int fd_;
  std::string_view name_;
  std::int64_t bytes_ = 0;  // read so far
  std::string taken_;
};

std::int64_t file_size(const Descriptor& file, const std::string& name) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw_read_error(name, errno);
  return status.st_size;
}

// By division: the product of a hostile count and the width may only just not overflow.
void check_size(const Descriptor& file, const NpyLayout& layout, const std::string& name) {
  const std::int64_t width = size_of(layout.type);
  const std::int64_t bytes = file_size(file, name) - layout.data;
  const std::int64_t whole = std::max<std::int64_t>(bytes, 0) / width;
  if (whole < layout.count) {
    throw_malformed(name,
                    fmt::format("is cut short: {} of {} elements are missing", layout.count - whole, layout.count));
  }
  if (bytes > layout.count * width) {
    throw_malformed(name,
                    fmt::format("has {} bytes after its {} elements", bytes - layout.count * width, layout.count));
  }
}

// The rungs compute with numbers.
void set_info(ColumnInfo& info, const NpyLayout& layout) {
  if (layout.truth) {
    throw_refused(info.name, "its elements ('|b1') are truth values; convert them with a.astype('u1')");
  }
  info.type = layout.type;
  info.count = layout.count;
}

// Part of a file in memory.
class Window {
 public:
  Window() = default;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { unmap(); }

  void unmap() {
    if (base_ != nullptr) ::munmap(base_, static_cast<std::size_t>(length_));
    base_ = nullptr;
    length_ = 0;
  }

  /// The bytes from `offset` on, or null where the window does not hold `bytes` of them.
  [[nodiscard]] const void* find(std::int64_t offset, std::int64_t bytes) const {
    if (base_ == nullptr || offset < offset_ || offset + bytes > offset_ + length_) return nullptr;
    return static_cast<const char*>(base_) + (offset - offset_);
  }

  /// Replaces the window by one that holds at least `bytes` from `offset` on, of a file of `size`. False where the file
  /// cannot be mapped, as on some network file systems.
  bool map(int fd, std::int64_t offset, std::int64_t bytes, std::int64_t size) {
    unmap();
    static const std::int64_t kPage = ::sysconf(_SC_PAGESIZE);
    offset_ = offset / kPage * kPage;
    const std::int64_t length = std::min(std::max(offset + bytes - offset_, kMinWindow), size - offset_);
    void* const base = ::mmap(nullptr, static_cast<std::size_t>(length), PROT_READ, MAP_PRIVATE, fd, offset_);
    if (base == MAP_FAILED) return false;
    base_ = base;
    length_ = length;
    // Pages are read ahead eagerly and may be dropped behind; only advice, so it may fail.
    ::madvise(base_, static_cast<std::size_t>(length_), MADV_SEQUENTIAL);
    return true;
  }

 private:
  void* base_ = nullptr;
  std::int64_t offset_ = 0;
  std::int64_t length_ = 0;
};

class NpyFile final : public ColumnReader {
 public:
  NpyFile(Descriptor file, std::string name) : file_(std::move(file)) {
    info_.name = std::move(name);
    const NpyLayout layout = HeaderReader(file_.get(), info_.name).read();
    set_info(info_, layout);
    check_size(file_, layout, info_.name);
    width_ = size_of(layout.type);
    data_ = layout.data;
  }

  Chunk next(std::int64_t count) override {
    const std::int64_t n = std::clamp<std::int64_t>(count, 0, info_.count - position_);
    if (n == 0) {
      window_.unmap();
      return {};
    }
    shrank();
    const void* const elements = fetch(data_ + position_ * width_, n * width_);
    position_ += n;
    return {elements, n};
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t n = std::clamp<std::int64_t>(count, 0, info_.count - position_);
    position_ += n;
    return n;
  }

 private:
  // Touching a mapped page past the end of a file kills the process, so a file that shrank is told before it is
  // touched. One that shrinks while a chunk is in use is beyond help.
  void shrank() const {
    if (file_size(file_, info_.name) >= data_ + info_.count * width_) return;
    throw_malformed(info_.name, "became shorter while it was read");
  }

  const void* fetch(std::int64_t offset, std::int64_t bytes) {
    if (data_ % width_ == 0) {
      const void* found = window_.find(offset, bytes);
      if (found == nullptr && window_.map(file_.get(), offset, bytes, data_ + info_.count * width_)) {
        found = window_.find(offset, bytes);
      }
      if (found != nullptr) return found;
    }
    buffer_.reserve(bytes, info_.name);
    if (read_fully_at(file_.get(), buffer_.data(), bytes, offset, info_.name) < bytes) {
      throw_malformed(info_.name, "became shorter while it was read");
    }
    return buffer_.data();
  }

  Descriptor file_;
  std::int64_t width_ = 0;
  std::int64_t data_ = 0;      // where in the file the elements start
  std::int64_t position_ = 0;  // elements given out
  Window window_;
  AlignedBuffer buffer_;  // for elements that do not lie aligned in the file
};

class NpyStream final : public ColumnReader {
 public:
  NpyStream(Descriptor file, std::string name) : file_(std::move(file)) {
    info_.name = std::move(name);
    const NpyLayout layout = HeaderReader(file_.get(), info_.name).read();
    set_info(info_, layout);
    width_ = size_of(layout.type);
    if (info_.count == 0) expect_end();
  }

  Chunk next(std::int64_t count) override {
    const std::int64_t n = std::clamp<std::int64_t>(count, 0, info_.count - position_);
    if (n == 0) return {};
    std::int64_t got = 0;
    // The count stands in a header that may lie, so memory grows with what really comes.
    for (std::int64_t step = kMinWindow; got < n * width_; step = got) {
      const std::int64_t wanted = std::min(step, n * width_ - got);
      buffer_.reserve(got + wanted, info_.name);
      read_elements(buffer_.data() + got, wanted);
      got += wanted;
    }
    if (position_ == info_.count) expect_end();
    return {buffer_.data(), n};
  }

  std::int64_t skip(std::int64_t count) override {
    const std::int64_t n = std::clamp<std::int64_t>(count, 0, info_.count - position_);
    buffer_.reserve(kDiscard, info_.name);
    for (std::int64_t left = n * width_; left > 0;) {
      const std::int64_t bytes = std::min(left, kDiscard);
      read_elements(buffer_.data(), bytes);
      left -= bytes;
    }
    if (n > 0 && position_ == info_.count) expect_end();
    return n;
  }

 private:
  void read_elements(void* to, std::int64_t bytes) {
    const std::int64_t got = read_fully(file_.get(), to, bytes, info_.name);
    position_ += got / width_;
    if (got == bytes) return;
    throw_malformed(info_.name,
                    fmt::format("is cut short: {} of {} elements are missing", info_.count - position_, info_.count));
  }

  void expect_end() {
    char more = 0;
    if (read_fully(file_.get(), &more, 1, info_.name) == 0) return;
    throw_malformed(info_.name, fmt::format("has more bytes after its {} elements", info_.count));
  }

  Descriptor file_;
  std::int64_t width_ = 0;
  std::int64_t position_ = 0;  // elements read
  AlignedBuffer buffer_;
};

}  // namespace

NpyLayout read_npy_layout(const Descriptor& file, const std::string& name) {
  const NpyLayout layout = HeaderReader(file.get(), name).read();
  check_size(file, layout, name);
  return layout;
}

std::unique_ptr<ColumnReader> open_npy_file(Descriptor file, std::string name) {
  return std::make_unique<NpyFile>(std::move(file), std::move(name));
}

std::unique_ptr<ColumnReader> open_npy_stream(Descriptor file, std::string name) {
  return std::make_unique<NpyStream>(std::move(file), std::move(name));
}

}  // namespace upsweep::io
