// SPDX-License-Identifier: Apache-2.0
// io/csv_numbers.cpp: numbers as people write them: decimal comma, groups of thousands, currencies, percent, (50.25).
#include "io/csv_numbers.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/decimal.hpp"

namespace upsweep::io {
namespace {

// Symbols first, then codes. Two spellings of one currency have equal numbers.
struct Currency {
  std::string_view text;
  std::uint8_t number;
};
constexpr Currency kCurrencies[] = {
    {"US$", 1},    {"$", 1},      {"\u20AC", 2}, {"\u00A3", 3},  {"\u00A5", 4}, {"\u20B9", 5}, {"\u20A9", 6},
    {"\u20BD", 7}, {"\u20BA", 8}, {"USD", 1},    {"EUR", 2},     {"GBP", 3},    {"JPY", 4},    {"INR", 5},
    {"KRW", 6},    {"RUB", 7},    {"TRY", 8},    {"CHF", 9},     {"CAD", 10},   {"AUD", 11},   {"NZD", 12},
    {"CNY", 13},   {"SEK", 14},   {"NOK", 15},   {"DKK", 16},    {"PLN", 17},   {"CZK", 18},   {"HUF", 19},
    {"BRL", 20},   {"MXN", 21},   {"ZAR", 22},   {"SGD", 23},    {"HKD", 24},   {"ILS", 25},   {"THB", 26},
    {"kr", 27},    {"R$", 20},    {"Fr.", 9},    {"z\u0142", 17}};

// A thin or narrow blank that does not break the line, as French and Swiss texts write them, and other group marks.
constexpr std::array<std::string_view, 6> kGroupMarks = {",", ".", "'", " ", "\u00A0", "\u202F"};

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kBlanks[] = {" ", "\t", "\u00A0", "\u202F"};
  for (bool more = true; more;) {
    more = false;
    for (const std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) text.remove_prefix(blank.size()), more = true;
      if (text.ends_with(blank)) text.remove_suffix(blank.size()), more = true;
    }
  }
  return text;
}

// Returns which bytes are at the front or at the back of a currency.
constexpr std::array<bool, 256> bytes_of_currencies(bool in_front) {
  std::array<bool, 256> bytes{};
  for (const Currency& currency : kCurrencies) {
    bytes[static_cast<unsigned char>(in_front ? currency.text.front() : currency.text.back())] = true;
  }
  return bytes;
}

std::uint8_t take_currency(std::string_view& text, bool in_front) {
  constexpr std::array<bool, 256> kFronts = bytes_of_currencies(true);
  constexpr std::array<bool, 256> kBacks = bytes_of_currencies(false);
  if (!(in_front ? kFronts[static_cast<unsigned char>(text.front())] : kBacks[static_cast<unsigned char>(text.back())]))
    return 0;
  for (const Currency& currency : kCurrencies) {
    if (in_front ? !text.starts_with(currency.text) : !text.ends_with(currency.text)) continue;
    in_front ? text.remove_prefix(currency.text.size()) : text.remove_suffix(currency.text.size());
    return currency.number;
  }
  return 0;
}

// The runs of digits of a number, and the marks between them, which are indices of kGroupMarks.
struct Runs {
  static constexpr std::size_t kMost = 16;
  std::array<std::string_view, kMost> digits = {};
  std::array<std::size_t, kMost> marks = {};
  std::size_t count = 0;  // of digits; there is one mark less
};

bool split_runs(std::string_view text, Runs& runs) {
  for (;;) {
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
    runs.digits[runs.count] = text.substr(0, static_cast<std::size_t>(end - text.begin()));
    text.remove_prefix(runs.digits[runs.count].size());
    ++runs.count;
    if (text.empty()) return !runs.digits[runs.count - 1].empty();
    const auto* const mark = std::find_if(kGroupMarks.begin(), kGroupMarks.end(),
                                          [&](std::string_view each) { return text.starts_with(each); });
    if (mark == kGroupMarks.end() || runs.count == Runs::kMost) return false;
    runs.marks[runs.count - 1] = static_cast<std::size_t>(mark - kGroupMarks.begin());
    text.remove_prefix(mark->size());
  }
}

// Whether the first `count` runs are 1 to 3 digits and groups of 3.
bool are_groups(const Runs& runs, std::size_t count) {
  if (runs.digits[0].empty() || runs.digits[0].size() > 3 || runs.digits[0][0] == '0') return false;
  return std::all_of(runs.digits.begin() + 1, runs.digits.begin() + static_cast<std::ptrdiff_t>(count),
                     [](std::string_view run) { return run.size() == 3; });
}

// Whether four numbers up to 255 are between points, as in 192.168.100.101.
bool are_address(const Runs& runs) {
  constexpr std::size_t kPoint = 1;
  if (runs.count != 4) return false;
  const auto marks = std::span(runs.marks).first(3);
  if (!std::ranges::all_of(marks, [](std::size_t mark) { return mark == kPoint; })) return false;
  return std::ranges::all_of(std::span(runs.digits).first(4),
                             [](std::string_view run) { return run.size() < 3 || run <= "255"; });
}

// Whether a plus sign is before digits that blanks separate, as in a telephone number.
bool is_telephone(std::string_view cell) {
  const std::size_t blank = cell.find(' ');
  return cell.starts_with('+') && blank != std::string_view::npos && is_digit(cell[blank - 1]) &&
         blank + 1 < cell.size() && is_digit(cell[blank + 1]);
}

}  // namespace

std::string_view currency_name(std::uint8_t number) {
  std::string_view name;
  for (const Currency& currency : kCurrencies) {
    if (currency.number == number && (name.empty() || currency.text.size() < name.size())) name = currency.text;
  }
  return name;
}

std::string_view without_exponent(std::string_view text) {
  const std::size_t mark = text.find_first_of("eE");
  if (mark == std::string_view::npos) return text;
  std::string_view exponent = text.substr(mark + 1);
  if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
  const bool are_digits = !exponent.empty() && std::all_of(exponent.begin(), exponent.end(), is_digit);
  return are_digits ? text.substr(0, mark) : text;
}

bool PlainNumber::take_affixes(std::string_view& cell) {
  if (cell.size() > 2 && cell.front() == '(' && cell.back() == ')') {
    negative_ = true;
    cell = stripped(cell.substr(1, cell.size() - 2));
  }
  bool has_sign = negative_;
  const auto take_sign = [&](bool in_front) {
    const char c = in_front ? cell.front() : cell.back();
    if (has_sign || (c != '-' && (c != '+' || !in_front))) return false;
    has_sign = true;
    negative_ = c == '-';
    in_front ? cell.remove_prefix(1) : cell.remove_suffix(1);
    return true;
  };
  for (const bool in_front : {true, false}) {
    for (bool more = true; more && !cell.empty();) {
      more = take_sign(in_front);
      if (!cell.empty() && marks_.currency == 0) {
        marks_.currency = take_currency(cell, in_front);
        more = more || marks_.currency != 0;
      }
      if (!in_front && !cell.empty() && !marks_.percent && cell.back() == '%') {
        marks_.percent = more = true;
        cell.remove_suffix(1);
      }
      cell = stripped(cell);
    }
  }
  return !cell.empty();
}

bool PlainNumber::take_digits(std::string_view digits, const CsvValues& values) {
  Runs runs;
  if (!split_runs(digits, runs) || are_address(runs)) return false;
  const std::size_t marks = runs.count - 1;
  const auto is = [&](std::size_t mark, std::string_view text) { return kGroupMarks[runs.marks[mark]] == text; };
  const bool has_decimals = marks > 0 && is(marks - 1, {&values.decimal, 1});
  const std::size_t groups = has_decimals ? marks : marks + 1;  // runs before the decimals
  for (std::size_t i = 0; i + 1 < groups; ++i) {
    // The only mark of the file's numbers may be either, if three digits follow it.
    const bool is_single = marks == 1 && values.thousands.empty() && (is(0, ",") || is(0, "."));
    if (!is(i, values.thousands) && !is_single) return false;
    marks_.doubtful = marks_.doubtful || is_single;
  }
  if (groups > 1 && !are_groups(runs, groups)) return false;
  marks_.grouped = groups > 1;
  marks_.pointed = has_decimals;
  if (!has_decimals && runs.digits[0].size() > 1 && runs.digits[0][0] == '0') return false;  // a code
  if (negative_) put('-');
  for (std::size_t i = 0; i < runs.count; ++i) {
    if (has_decimals && i == groups) put('.');
    for (const char c : runs.digits[i]) put(c);
  }
  return true;
}

// Moves the point by two places.
void PlainNumber::shift_percent() {
  const std::string_view all = text();
  const std::size_t sign = negative_ ? 1 : 0;
  const std::size_t point = std::min(all.find('.'), all.size());
  std::string digits = "00";
  digits.append(all, sign, point - sign);
  const std::string whole = digits.substr(0, digits.size() - 2);
  std::string shifted = whole.substr(std::min(whole.find_first_not_of('0'), whole.size() - (whole.empty() ? 0 : 1)));
  if (shifted.empty()) shifted = "0";
  shifted += '.' + digits.substr(digits.size() - 2);
  if (point < all.size()) shifted.append(all, point + 1, std::string_view::npos);
  size_ = sign;
  for (const char c : shifted) put(c);
}

bool PlainNumber::read(std::string_view cell, const CsvValues& values) {
  size_ = 0;
  negative_ = false;
  marks_ = {};
  cell = stripped(cell);
  if (cell.empty() || cell.size() > kLongest - 4) return false;
  if (std::none_of(cell.begin(), cell.end(), is_digit) || is_telephone(cell)) return false;
  if (!take_affixes(cell) || !take_digits(cell, values)) return false;
  if (marks_.percent) shift_percent();
  return true;
}

bool NumberEvidence::add(std::string_view cell) {
  cell = stripped(cell);
  if (cell.empty()) return true;
  if (is_telephone(cell)) return false;
  const auto take_affix = [&](bool in_front) {
    const std::size_t before = cell.size();
    const std::string_view marks = in_front ? "-+(" : "-)%";
    if (marks.find(in_front ? cell.front() : cell.back()) != std::string_view::npos) {
      in_front ? cell.remove_prefix(1) : cell.remove_suffix(1);
    } else {
      take_currency(cell, in_front);
    }
    cell = stripped(cell);
    return cell.size() < before;
  };
  while (!cell.empty() && !is_digit(cell.front()) && cell.front() != '.' && cell.front() != ',') {
    if (!take_affix(true)) return false;
  }
  while (!cell.empty() && !is_digit(cell.back())) {
    if (!take_affix(false)) return false;
  }
  cell = without_exponent(cell);
  bool is_number = !cell.empty();
  if (is_number) add_digits(cell, is_number);
  return is_number;
}

void NumberEvidence::add_digits(std::string_view digits, bool& is_number) {
  Runs runs;
  is_number = split_runs(digits, runs) && !are_address(runs);
  if (!is_number || runs.count < 2) return;
  const std::size_t marks = runs.count - 1;
  const std::size_t last = runs.marks[marks - 1];
  const auto first_marks = [&](std::size_t count) { return std::span(runs.marks).first(count); };
  const bool alike = std::ranges::all_of(first_marks(marks), [&](std::size_t mark) { return mark == last; });
  const bool earlier_alike =
      std::ranges::all_of(first_marks(marks - 1), [&](std::size_t mark) { return mark == runs.marks[0]; });
  const auto group = [&](std::size_t mark) { groups_ = static_cast<std::uint8_t>(groups_ | 1U << mark); };
  const auto decimal = [&](std::size_t mark) { (mark == 0 ? comma_ : point_) = true; };
  if (marks == 1) {
    const bool may_be_group = are_groups(runs, 2);
    if (last > 1) {
      is_number = may_be_group;
      if (may_be_group && last != 3) group(last);  // a blank alone may also separate two numbers
    } else if (!may_be_group) {
      decimal(last);
    }
  } else if (alike) {
    is_number = are_groups(runs, runs.count);
    if (is_number) group(last);
  } else {
    is_number = earlier_alike && last < 2 && are_groups(runs, runs.count - 1);
    if (!is_number) return;
    decimal(last);
    group(runs.marks[0]);
  }
}

void NumberEvidence::add(const NumberEvidence& other) {
  comma_ = comma_ || other.comma_;
  point_ = point_ || other.point_;
  groups_ = static_cast<std::uint8_t>(groups_ | other.groups_);
}

void NumberEvidence::decide(CsvValues& values) const {
  const bool comma_groups = (groups_ & 1U) != 0;
  const bool point_groups = (groups_ & 2U) != 0;
  const bool is_comma = comma_ || point_groups;
  const bool is_point = point_ || comma_groups;
  if (is_comma && is_point) return;  // cells contradict each other: columns with the other form remain text
  if (is_comma) values.decimal = ',';
  for (std::size_t i = 0; i < kGroupMarks.size(); ++i) {
    if ((groups_ >> i & 1U) == 0) continue;
    if (!values.thousands.empty()) {
      values.thousands.clear();
      return;
    }
    values.thousands = kGroupMarks[i];
  }
}

}  // namespace upsweep::io
