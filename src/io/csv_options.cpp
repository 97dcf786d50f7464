// SPDX-License-Identifier: Apache-2.0
// io/csv_options.cpp: options about the form of a CSV file, from text; and a dialect as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "io/csv_dialect.hpp"
#include "io/csv_times.hpp"
#include "io/source.hpp"
#include "upsweep/error.hpp"
#include "upsweep/io.hpp"

namespace upsweep::io {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view expected) {
  throw Error(Code::invalid_argument, fmt::format("--{} '{}' is not valid; {}", name, value, expected));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (;;) {
    const std::size_t end = text.find(',');
    items.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return items;
    text.remove_prefix(end + 1);
  }
}

std::int64_t count_of(std::string_view name, std::string_view value) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc() || end != value.data() + value.size() || count < 0)
    refuse(name, value, "expected a number of lines, such as 2");
  return count;
}

std::string delimiter_of(std::string_view value) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"tab", "\t"}, {"\\t", "\t"}, {"comma", ","}, {"semicolon", ";"}, {"pipe", "|"}, {"space", " "}, {"blank", " "}};
  for (const auto& [word, text] : kWords) {
    if (value == word) return std::string(text);
  }
  if (value.empty() || value.find_first_of("\r\n\"") != std::string_view::npos) {
    refuse("delimiter", value, "expected characters other than quotes and ends of lines, such as ';', or tab");
  }
  return std::string(value);
}

// A single ASCII character, or none.
std::string character_of(std::string_view name, std::string_view value) {
  if (value == "none") return "";
  if (value.size() > 1 ||
      (!value.empty() && (static_cast<unsigned char>(value[0]) >= 0x80 || value[0] == '\n' || value[0] == '\r'))) {
    refuse(name, value, "expected one ASCII character, or none");
  }
  return std::string(value);
}

std::vector<std::int64_t> header_of(std::string_view value) {
  if (value == "no") return {};
  if (value == "yes") return {1};
  std::vector<std::int64_t> rows;
  for (const std::string& item : split_list(value)) {
    std::int64_t row = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), row);
    const bool is_number = error == std::errc() && end == item.data() + item.size();
    if (!is_number || row <= (rows.empty() ? 0 : rows.back()))
      refuse("header", value, "expected yes, no, or rows in ascending order, such as 1,2");
    rows.push_back(row);
  }
  return rows;
}

constexpr std::pair<std::string_view, Encoding> kEncodings[] = {
    {"utf-8", Encoding::utf8},           {"utf8", Encoding::utf8},
    {"ascii", Encoding::utf8},           {"utf-16le", Encoding::utf16_little},
    {"utf-16be", Encoding::utf16_big},   {"windows-1252", Encoding::windows_1252},
    {"cp1252", Encoding::windows_1252},  {"iso-8859-1", Encoding::windows_1252},
    {"latin-1", Encoding::windows_1252}, {"latin1", Encoding::windows_1252}};

using Set = void (*)(CsvOptions&, std::string_view);
constexpr std::pair<std::string_view, Set> kSetters[] = {
    {"delimiter", [](CsvOptions& o, std::string_view v) { o.delimiter = delimiter_of(v); }},
    {"quote", [](CsvOptions& o, std::string_view v) { o.quote = character_of("quote", v); }},
    {"escape", [](CsvOptions& o, std::string_view v) { o.escape = character_of("escape", v); }},
    {"decimal",
     [](CsvOptions& o, std::string_view v) {
       if (v != "." && v != ",") refuse("decimal", v, "expected . or ,");
       if (o.thousands == v) refuse("decimal", v, "it is also the character between thousands");
       o.decimal = v;
     }},
    {"thousands",
     [](CsvOptions& o, std::string_view v) {
       const bool is_letter = v.size() == 1 && (is_digit(v[0]) || is_ascii_letter(v[0]) || v[0] == '-' || v[0] == '+');
       if ((v.size() > 3 && v != "none") || is_letter) {
         refuse("thousands", v, "expected one character, such as . or ', or none");
       }
       if (!v.empty() && v == o.decimal) refuse("thousands", v, "it is also the character before decimals");
       o.thousands = v == "none" ? "" : std::string(v);
     }},
    {"null", [](CsvOptions& o, std::string_view v) { o.nulls = split_list(v); }},
    {"header", [](CsvOptions& o, std::string_view v) { o.header = header_of(v); }},
    {"skip", [](CsvOptions& o, std::string_view v) { o.skip = count_of("skip", v); }},
    {"skip-end", [](CsvOptions& o, std::string_view v) { o.skip_end = count_of("skip-end", v); }},
    {"comment", [](CsvOptions& o, std::string_view v) { o.comment = v == "none" ? "" : std::string(v); }},
    {"encoding",
     [](CsvOptions& o, std::string_view v) {
       encoding_named(v);
       o.encoding = v;
     }},
    {"date-format",
     [](CsvOptions& o, std::string_view v) {
       if (const std::string_view fault = fault_of_format(v); !fault.empty()) {
         refuse("date-format", v, fmt::format("it {}; expected a format such as %d/%m/%Y", fault));
       }
       o.date_format = v;
     }},
    {"types",
     [](CsvOptions& o, std::string_view v) {
       const std::size_t equals = v.rfind('=');
       const std::string_view type = equals == std::string_view::npos ? v : v.substr(equals + 1);
       csv_type_named(type);
       o.types.emplace_back(equals == std::string_view::npos ? "" : v.substr(0, equals), type);
     }},
    {"ragged", [](CsvOptions& o, std::string_view v) {
       constexpr std::string_view kWords[] = {"refuse", "fill", "skip"};
       const auto* const word = std::find(std::begin(kWords), std::end(kWords), v);
       if (word == std::end(kWords)) refuse("ragged", v, "expected refuse, fill or skip");
       o.ragged = static_cast<Ragged>(word - std::begin(kWords));
     }}};

std::string header_text(const CsvDialect& dialect) {
  if (dialect.header.empty()) {
    return dialect.line > 1 ? fmt::format("no header, rows from line {} on", dialect.line) : "no header";
  }
  if (dialect.header.size() > 1)
    return fmt::format("header in {} rows from line {} on", dialect.header.size(), dialect.line);
  return dialect.line > 1 ? fmt::format("header in line {}", dialect.line) : "";
}

}  // namespace

Encoding encoding_named(std::string_view name) {
  for (const auto& [word, encoding] : kEncodings) {
    if (ends_in(name, word) && name.size() == word.size()) return encoding;
  }
  refuse("encoding", name, "expected utf-8, utf-16le, utf-16be, windows-1252 or iso-8859-1");
}

CsvRequiredType csv_type_named(std::string_view name) {
  constexpr std::pair<std::string_view, CsvType> kTypes[] = {
      {"string", CsvType::text},         {"text", CsvType::text},     {"int64", CsvType::int64},
      {"integer", CsvType::int64},       {"uint64", CsvType::uint64}, {"float64", CsvType::float64},
      {"double", CsvType::float64},      {"date", CsvType::date},     {"time", CsvType::time},
      {"timestamp", CsvType::timestamp}, {"bool", CsvType::boolean},  {"boolean", CsvType::boolean}};
  for (const auto& [word, type] : kTypes) {
    if (name == word) return {type};
  }
  constexpr std::string_view kDecimal = "decimal(";
  constexpr int kMost = 38;
  if (name.starts_with(kDecimal) && name.ends_with(')')) {
    int digits = 0;
    int scale = 0;
    const char* const end = name.data() + name.size() - 1;
    const auto first = std::from_chars(name.data() + kDecimal.size(), end, digits);
    const auto second = first.ptr < end && *first.ptr == ',' ? std::from_chars(first.ptr + 1, end, scale) : first;
    if (first.ec == std::errc() && second.ec == std::errc() && second.ptr == end && digits >= 1 && digits <= kMost &&
        scale >= 0 && scale <= digits) {
      return {CsvType::decimal, scale};
    }
  }
  refuse("types", name,
         "expected string, int64, uint64, decimal(18,2), float64, date, time, timestamp or bool, for one column as "
         "NAME=TYPE");
}

const std::vector<std::string_view>& CsvOptions::names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const auto& setter : kSetters) all.push_back(setter.first);
    return all;
  }();
  return names;
}

void CsvOptions::set(std::string_view name, std::string_view value) {
  std::string dashed(name);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  for (const auto& [word, setter] : kSetters) {
    if (word == dashed) return setter(*this, value);
  }
  throw Error(Code::invalid_argument,
              fmt::format("unknown option '{}' for files; available: {}", name, fmt::join(names(), ", ")));
}

std::string delimiter_name(std::string_view delimiter) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{",", "commas"},
                                                                      {";", "semicolons"},
                                                                      {"\t", "tabs"},
                                                                      {"|", "vertical bars"},
                                                                      {"~", "tildes"},
                                                                      {":", "colons"},
                                                                      {" ", "blanks"},
                                                                      {", ", "commas with blanks"},
                                                                      {"; ", "semicolons with blanks"}};
  for (const auto& [text, name] : kNames) {
    if (delimiter == text) return std::string(name);
  }
  return fmt::format("'{}' between cells", printable(delimiter, 20));
}

std::string describe(const CsvDialect& dialect) {
  std::vector<std::string> parts;
  const CsvMarks& marks = dialect.rows.marks;
  const auto add = [&](bool is_unusual, std::string text) {
    if (is_unusual && !text.empty()) parts.push_back(std::move(text));
  };
  add(marks.delimiter != ",", delimiter_name(marks.delimiter));
  add(marks.quote != '"',
      marks.quote == 0
          ? "no quotes"
          : fmt::format("{} as quotes", marks.quote == '\'' ? "apostrophes" : std::string(1, marks.quote)));
  add(marks.escape != 0,
      marks.escape == '\\' ? "backslash before quotes" : fmt::format("'{}' before quotes", marks.escape));
  add(marks.rule == QuoteRule::bare, "quotes within cells are not doubled");
  add(dialect.values.decimal != '.', "decimal comma");
  add(!dialect.values.thousands.empty(), fmt::format("'{}' between thousands", dialect.values.thousands));
  add(true, header_text(dialect));
  add(!dialect.rows.comment.empty(), fmt::format("comments after '{}'", dialect.rows.comment));
  add(dialect.rows.has_end_marks, "a delimiter ends each row");
  add(dialect.lines_after > 0,
      fmt::format("{} line{} after the table left out", dialect.lines_after, dialect.lines_after == 1 ? "" : "s"));
  add(dialect.encoding != Encoding::utf8, std::string(name_of(dialect.encoding)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace upsweep::io
