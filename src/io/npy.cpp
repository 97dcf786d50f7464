// SPDX-License-Identifier: Apache-2.0
// io/npy.cpp: the headers of .npy files, versions 1.0, 2.0 and 3.0, of one dimension.
#include "io/npy.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "core/decimal.hpp"
#include "io/format.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

static_assert(std::endian::native == std::endian::little, "'<' elements are used as they are in the file");

constexpr std::int64_t kMaxHeader = 1 << 20;  // NumPy writes about 100 bytes and by default reads 10 000

// The kinds of element that are not supported: the letter in 'descr', NumPy's name for the kind, and the advice for the
// user.
struct Refused {
  char kind;
  std::string_view what;
  std::string_view advice;
};
constexpr Refused kRefused[] = {
    {'c', "complex numbers", "save a.real and a.imag separately"},
    {'O', "Python objects", "convert them to numbers with a.astype('f8')"},
    {'S', "byte strings", "convert them to numbers with a.astype('f8')"},
    {'a', "byte strings", "convert them to numbers with a.astype('f8')"},
    {'U', "strings", "convert them to numbers with a.astype('f8')"},
    {'V', "raw bytes", "save one field of numbers separately"},
    {'M', "dates", "convert them with a.astype('i8')"},
    {'m', "time spans", "convert them with a.astype('i8')"},
    {'f', "floating-point numbers of that width", "convert them with a.astype('f4') or a.astype('f8')"},
};

[[noreturn]] void throw_refused(std::string_view name, std::string_view what) {
  throw Error(Code::unsupported_type, fmt::format("{}: {}", name, what));
}

// Returns the element type that 'descr' names, such as "<f8".
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
  throw_refused(name, fmt::format("its elements have unknown type '{}'; convert them with "
                                  "a.astype('f8')",
                                  printable(descr, 40)));
}

// Reads the Python expression of a header: a dict of 'descr', 'fortran_order' and 'shape', in any order.
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
    throw_bad_npy(name_, fmt::format("its .npy header {} (at byte {} of '{}')", what, at_, printable(text_, 120)));
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
      // Fortran order makes no difference in one dimension. It does in more dimensions, which are refused here.
      const std::string_view order = *fortran_order_ && *dimensions_ > 1 ? " in Fortran order" : "";
      throw_refused(name_, fmt::format("has {} dimensions{}, but upsweep reads one; flatten it with a.reshape(-1)",
                                       *dimensions_, order));
    }
    if (count_ > std::numeric_limits<std::int64_t>::max() / size_of(type)) fail("has more elements than 64 bits allow");
    return {type, descr_->ends_with("b1") || descr_->ends_with('?'), count_, 0};
  }

  // Structured types are lists; those with a shape are tuples.
  std::string_view descr() {
    skip_spaces();
    if (peek() == '[' || peek() == '(') {
      throw_refused(name_, "its elements are structured; save one field of numbers separately");
    }
    return string();
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view literal = value ? "True" : "False";
      if (!text_.substr(at_).starts_with(literal)) continue;
      at_ += literal.size();
      return value;
    }
    fail("has neither True nor False for 'fortran_order'");
  }

  // Returns the number of dimensions; count_ becomes the first of them.
  int shape() {
    expect('(');
    int dimensions = 0;
    while (!accept(')')) {
      const std::int64_t extent = integer();
      if (dimensions++ == 0) count_ = extent;
      if (accept(',')) continue;
      if (dimensions == 1) fail("has a 'shape' that is not a tuple");
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
      if (overflows) fail("has a 'shape' that does not fit 64 bits");
    }
    if (peek() == 'L') ++at_;  // as Python 2 wrote them
    return value;
  }

  std::string_view string() {
    skip_spaces();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("has something else where a quoted string must be");
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

  // Returns the next character. A valid header contains no NUL, so NUL represents the end.
  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  std::string_view text_;
  std::string_view name_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<int> dimensions_;
  std::int64_t count_ = 0;
};

// Reads the next bytes of a file, fewer at its end.
std::string take_up_to(std::int64_t bytes, const Descriptor& file, std::string_view name) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  text.resize(static_cast<std::size_t>(read_fully(file.get(), text.data(), bytes, name)));
  return text;
}

std::string take(std::int64_t bytes, const Descriptor& file, std::string_view name) {
  std::string text = take_up_to(bytes, file, name);
  if (std::ssize(text) < bytes) throw_bad_npy(name, "ends inside its .npy header");
  return text;
}

void require_magic(std::string_view head, std::string_view name) {
  if (head.empty()) throw_bad_npy(name, "is empty");
  if (head == kNpyMagic) return;
  const Format format = sniff(head);
  if (format == Format::unknown) {
    throw_bad_npy(name, kNpyMagic.starts_with(head) ? "ends inside its .npy header" : "is not in .npy format");
  }
  throw Error(Code::malformed, fmt::format("{}: contains {}, but only .npy is read from standard input and pipes; save "
                                           "it to a file and name that file",
                                           name, describe(format)));
}

std::int64_t little_endian(std::string_view bytes) {
  std::int64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

NpyLayout read_npy_layout(const Descriptor& file, std::string_view name) {
  require_magic(take_up_to(kSniffBytes, file, name), name);
  const std::string version = take(2, file, name);
  if (version[0] < 1 || version[0] > 3 || version[1] != 0) {
    throw_bad_npy(name, fmt::format("is .npy of version {}.{}, but upsweep reads 1.0, 2.0 and 3.0",
                                    static_cast<unsigned char>(version[0]), static_cast<unsigned char>(version[1])));
  }
  const std::int64_t prefix = version[0] == 1 ? 2 : 4;
  const std::int64_t length = little_endian(take(prefix, file, name));
  if (length > kMaxHeader) throw_bad_npy(name, fmt::format("has a .npy header of {} bytes", length));
  NpyLayout layout = HeaderParser(take(length, file, name), name).parse();
  layout.data = kSniffBytes + std::ssize(version) + prefix + length;
  return layout;
}

void throw_bad_npy(std::string_view name, std::string_view what) {
  throw Error(Code::malformed, fmt::format("{}: {}; write the file again with np.save", name, what));
}

}  // namespace upsweep::io
