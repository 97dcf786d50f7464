// SPDX-License-Identifier: Apache-2.0
// io/npy.cpp: reads the header of a .npy file, and converts elements that a table stores in another way.
#include "io/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/decimal.hpp"
#include "io/format.hpp"
#include "io/stored_elements.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

static_assert(std::endian::native == std::endian::little, "'<' elements are used as they are in the file");

constexpr std::size_t kMostDimensions = 64;
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
    {'M', "dates or times of that unit", "convert them with a.astype('M8[us]')"},
    {'m', "time spans of that unit", "convert them with a.astype('m8[us]')"},
    {'f', "floating-point numbers of that width", "convert them with a.astype('f4') or a.astype('f8')"},
};

[[noreturn]] void throw_refused(std::string_view name, std::string_view what) {
  throw Error(Code::unsupported_type, fmt::format("{}: {}", name, what));
}

// The units of datetime64 and timedelta64: digits after the second, and the number of these that a unit is.
struct NpyUnit {
  std::string_view name;
  int scale;
  std::int64_t factor;
};
constexpr NpyUnit kUnits[] = {{"W", 0, 604800}, {"D", 0, 86400}, {"h", 0, 3600}, {"m", 0, 60},
                              {"s", 0, 1},      {"ms", 3, 1},    {"us", 6, 1},   {"ns", 9, 1}};

// Returns the elements of "M8[us]" and "m8[us]"; nothing for other types and other units.
std::optional<NpyElements> parse_times(std::string_view code) {
  const bool is_timestamp = code.starts_with("M8[");
  if ((!is_timestamp && !code.starts_with("m8[")) || !code.ends_with(']')) return std::nullopt;
  const std::string_view name = code.substr(3, code.size() - 4);
  const auto* const unit =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const NpyUnit& known) { return known.name == name; });
  if (unit == std::end(kUnits)) return std::nullopt;
  NpyElements elements{
      .kind = is_timestamp ? ValueKind::timestamp : ValueKind::duration, .scale = unit->scale, .factor = unit->factor};
  const bool is_date = is_timestamp && (name == "D" || name == "W");
  if (is_date) {
    elements.kind = ValueKind::date;
    elements.storage = Storage::int32;
    elements.factor = name == "W" ? 7 : 1;  // days
  }
  return elements;
}

// Returns how the elements that 'descr' names, such as "<f8", are stored.
NpyElements parse_descr(std::string_view descr, std::string_view name) {
  const bool ordered = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
  const std::string_view code = descr.substr(ordered ? 1 : 0);
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"i1", Type::int8},   {"i2", Type::int16},  {"i4", Type::int32},  {"i8", Type::int64},   {"u1", Type::uint8},
      {"u2", Type::uint16}, {"u4", Type::uint32}, {"u8", Type::uint64}, {"f4", Type::float32}, {"f8", Type::float64},
  };
  std::optional<NpyElements> elements = parse_times(code);
  for (const auto& [spelling, type] : kTypes) {
    if (code != spelling) continue;
    elements = NpyElements{.kind = is_float(type) ? ValueKind::real : ValueKind::integer,
                           .storage = storage_of(type),
                           .width = size_of(type)};
  }
  if (code == "f2") elements = NpyElements{.kind = ValueKind::real, .storage = Storage::float32, .width = 2};
  if (code == "b1" || code == "?") {
    elements = NpyElements{.kind = ValueKind::boolean, .storage = Storage::bit, .width = 1};
  }
  if (elements) {
    elements->is_swapped = descr[0] == '>' && elements->width > 1;
    return *elements;
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
      set_once(shape_, key, shape());
    } else {
      fail("has an unknown key");
    }
  }

  template <class T>
  void set_once(std::optional<T>& member, std::string_view key, T value) const {
    if (member) fail(fmt::format("names '{}' twice", key));
    member = std::move(value);
  }

  [[nodiscard]] NpyLayout check() const {
    if (!descr_) fail("lacks 'descr'");
    if (!fortran_order_) fail("lacks 'fortran_order'");
    if (!shape_) fail("lacks 'shape'");
    const NpyElements elements = parse_descr(*descr_, name_);
    std::int64_t count = 1;
    std::int64_t bytes = 0;
    for (const std::int64_t extent : *shape_) {
      if (__builtin_mul_overflow(count, extent, &count)) fail("has more elements than 64 bits allow");
    }
    if (__builtin_mul_overflow(count, elements.width, &bytes)) fail("has more elements than 64 bits allow");
    return {elements, *shape_, *fortran_order_, count, 0};
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

  std::vector<std::int64_t> shape() {
    expect('(');
    std::vector<std::int64_t> extents;
    while (!accept(')')) {
      if (extents.size() == kMostDimensions) fail("has more dimensions than NumPy supports");
      extents.push_back(integer());
      if (accept(',')) continue;
      if (extents.size() == 1) fail("has a 'shape' that is not a tuple");
      expect(')');
      break;
    }
    return extents;
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
  std::optional<std::vector<std::int64_t>> shape_;
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

template <class T>
T swapped(T value) {
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  std::reverse(bytes, bytes + sizeof value);
  return value;
}

// Calls f with each stored element, as a T in the machine's order of bytes.
template <class T, class F>
void each_stored(const NpyElements& elements, const std::byte* stored, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, stored + i * std::int64_t{sizeof value}, sizeof value);
    f(i, elements.is_swapped ? swapped(value) : value);
  }
}

// Converts NumPy's booleans, which are bytes, to bits.
void pack_booleans(const std::byte* bytes, std::int64_t n, std::uint8_t* to) {
  for (std::int64_t i = 0; i < n; i += 8) {
    unsigned bits = 0;
    for (std::int64_t j = i; j < std::min(i + 8, n); ++j) bits |= unsigned{bytes[j] != std::byte{0}} << (j - i);
    to[i / 8] = static_cast<std::uint8_t>(bits);
  }
}

// Converts dates and times, of which the smallest integer is NaT, "not a time".
std::vector<std::uint8_t> convert_times(const NpyElements& elements, const std::byte* stored, std::int64_t n, void* to,
                                        std::int64_t first, std::string_view name) {
  std::vector<std::uint8_t> validity;
  const bool is_date = elements.kind == ValueKind::date;
  each_stored<std::int64_t>(elements, stored, n, [&](std::int64_t i, std::int64_t value) {
    const bool is_null = value == std::numeric_limits<std::int64_t>::min();
    std::int64_t element = 0;
    const bool fits = is_null || (!__builtin_mul_overflow(value, elements.factor, &element) &&
                                  (!is_date || element == static_cast<std::int32_t>(element)));
    if (!fits) {
      throw Error(Code::overflow,
                  fmt::format("{}: element {} does not fit {}", name, first + i,
                              is_date ? "a date, which has 32 bits" : "a time of 64 bits in seconds"),
                  first + i);
    }
    if (is_null) {
      if (validity.empty()) validity.assign(static_cast<std::size_t>((n + 7) / 8), 0xFF);
      validity[static_cast<std::size_t>(i / 8)] &= static_cast<std::uint8_t>(~(1U << i % 8));
      element = 0;
    }
    if (is_date) {
      static_cast<std::int32_t*>(to)[i] = static_cast<std::int32_t>(element);
    } else {
      static_cast<std::int64_t*>(to)[i] = element;
    }
  });
  return validity;
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

std::vector<std::uint8_t> convert_npy(const NpyElements& elements, const std::byte* stored, std::int64_t n, void* to,
                                      std::int64_t first, std::string_view name) {
  if (elements.kind == ValueKind::boolean) {
    pack_booleans(stored, n, static_cast<std::uint8_t*>(to));
    return {};
  }
  if (elements.kind != ValueKind::integer && elements.kind != ValueKind::real) {
    return convert_times(elements, stored, n, to, first, name);
  }
  if (elements.kind == ValueKind::real && elements.width == 2) {
    each_stored<std::uint16_t>(elements, stored, n, [&](std::int64_t i, std::uint16_t half) {
      (void)convert_elements(Stored::half_float, sizeof(float), reinterpret_cast<const std::uint8_t*>(&half), 1,
                             static_cast<float*>(to) + i);
    });
    return {};
  }
  visit_type(element_type(elements.storage), [&]<class T>(std::type_identity<T>) {
    each_stored<T>(elements, stored, n, [&](std::int64_t i, T value) { static_cast<T*>(to)[i] = value; });
  });
  return {};
}

void require_one_dimension(const NpyLayout& layout, std::string_view name) {
  if (layout.shape.size() == 1) return;
  // Fortran order makes no difference in one dimension.
  const std::string_view order = layout.is_fortran && layout.shape.size() > 1 ? " in Fortran order" : "";
  throw_refused(
      name,
      fmt::format("has {} dimensions{}, but upsweep reads one here; flatten it with a.reshape(-1), or pass --axis to "
                  "reduce and scan",
                  layout.shape.size(), order));
}

}  // namespace upsweep::io
