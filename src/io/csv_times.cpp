// SPDX-License-Identifier: Apache-2.0
// io/csv_times.cpp: dates, times of day and timestamps as people write them.
#include "io/csv_times.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "io/source.hpp"

namespace upsweep::io {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                      "may",       "june",     "july",     "august",
                                                      "september", "october",  "november", "december"};
constexpr std::int64_t kSecond = 1'000'000'000;

bool exists(int year, unsigned month, unsigned day) {
  return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)).ok();
}

bool equals(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() && ends_in(text, lower);
}

// Reads a text front to back.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool ended() const { return text_.empty(); }
  [[nodiscard]] char next() const { return text_.empty() ? '\0' : text_.front(); }
  bool take(char c) {
    if (next() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_blanks() {
    bool any = false;
    while (take(' ')) any = true;
    return any;
  }
  // Takes `least` to `most` digits.
  bool take_number(std::size_t least, std::size_t most, unsigned& value, bool may_continue = false) {
    std::size_t digits = 0;
    value = 0;
    for (; digits < most && is_digit(next()); ++digits) {
      value = 10 * value + static_cast<unsigned>(next() - '0');
      text_.remove_prefix(1);
    }
    return digits >= least && (may_continue || !is_digit(next()));
  }
  // Takes exactly `digits` digits, which more digits may follow.
  bool take_digits(std::size_t digits, unsigned& value) {
    value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(next())) return false;
      value = 10 * value + static_cast<unsigned>(next() - '0');
      text_.remove_prefix(1);
    }
    return true;
  }
  std::string_view take_letters() {
    const auto* const end = std::find_if_not(text_.begin(), text_.end(), is_ascii_letter);
    const std::string_view letters = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(letters.size());
    return letters;
  }
  // Takes 1 to 9 digits of a fraction of a second.
  bool take_fraction(std::int64_t& nanoseconds, int& digits) {
    std::int64_t unit = kSecond / 10;
    nanoseconds = 0;
    digits = 0;
    int written = 0;
    for (; is_digit(next()) && written < 9; ++written) {
      nanoseconds += unit * (next() - '0');
      unit /= 10;
      if (next() != '0') digits = written + 1;
      text_.remove_prefix(1);
    }
    return written > 0 && !is_digit(next());
  }
  [[nodiscard]] std::size_t left() const { return text_.size(); }

 private:
  std::string_view text_;
};

bool month_of(std::string_view name, unsigned& month) {
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    const bool is_short = name.size() == 3 || (i == 8 && name.size() == 4);  // "Sept" as well
    if (!equals(name, kMonths[i]) && !(is_short && equals(name, kMonths[i].substr(0, name.size())))) continue;
    month = static_cast<unsigned>(i + 1);
    return true;
  }
  return false;
}

// Sets a date whose order is certain.
bool set_date(int year, unsigned month, unsigned day, Moment& moment) {
  moment.has_date = true;
  moment.year = year;
  moment.first = month;
  moment.second = day;
  moment.orders = year_month_day;
  return exists(year, month, day);
}

// A year in front: 2017-1-31, 2017/01/31, 2017.01.31.
bool take_year_first(Reader& text, unsigned year, Moment& moment) {
  const char mark = text.next();
  unsigned month = 0;
  unsigned day = 0;
  return (mark == '-' || mark == '/' || mark == '.') && text.take(mark) && text.take_number(1, 2, month) &&
         text.take(mark) && text.take_number(1, 2, day) && set_date(static_cast<int>(year), month, day, moment);
}

// 31 Jan 2017, 31-Jan-2017, 31. January 2017.
bool take_month_name(Reader& text, unsigned day, Moment& moment) {
  unsigned month = 0;
  unsigned year = 0;
  text.take('.');
  const char mark = text.next() == '-' ? '-' : ' ';
  if (!text.take(mark) || !month_of(text.take_letters(), month)) return false;
  if (mark == ' ') text.take('.');
  return text.take(mark) && text.take_number(4, 4, year) && set_date(static_cast<int>(year), month, day, moment);
}

// Sets a date whose year is last. Dots are never between month and day in this order.
bool set_year_last(int year, unsigned first, unsigned second, char mark, Moment& moment) {
  moment.has_date = true;
  moment.year = year;
  moment.first = first;
  moment.second = second;
  moment.orders = 0;
  if (exists(year, second, first)) moment.orders |= day_month_year;
  if (mark != '.' && exists(year, first, second)) moment.orders |= month_day_year;
  return moment.orders != 0;
}

// 31/01/2017, 1/31/2017, 31-01-2017, 31.1.2017.
bool take_year_last(Reader& text, unsigned first, Moment& moment) {
  const char mark = text.next();
  unsigned second = 0;
  unsigned year = 0;
  if ((mark != '-' && mark != '/' && mark != '.') || !text.take(mark) || !text.take_number(1, 2, second)) return false;
  return text.take(mark) && text.take_number(4, 4, year) &&
         set_year_last(static_cast<int>(year), first, second, mark, moment);
}

// January 31, 2017.
bool take_name_first(Reader& text, Moment& moment) {
  unsigned month = 0;
  unsigned day = 0;
  unsigned year = 0;
  if (!month_of(text.take_letters(), month)) return false;
  text.take('.');
  if (!text.take_blanks() || !text.take_number(1, 2, day)) return false;
  text.take(',');
  return text.take_blanks() && text.take_number(4, 4, year) && set_date(static_cast<int>(year), month, day, moment);
}

bool take_date(Reader& text, Moment& moment) {
  if (is_ascii_letter(text.next())) return take_name_first(text, moment);
  unsigned number = 0;
  const std::size_t before = text.left();
  if (!text.take_number(1, 4, number)) return false;
  const std::size_t digits = before - text.left();
  if (digits == 4) return take_year_first(text, number, moment);
  if (digits > 2) return false;
  const char next = text.next();
  Reader named = text;
  if ((next == ' ' || next == '-' || next == '.') && take_month_name(named, number, moment)) {
    text = named;
    return true;
  }
  return take_year_last(text, number, moment);
}

// Sets hours of the 12-hour clock. Returns false if there is no such hour.
bool set_half_day(unsigned& hour, bool afternoon) {
  if (hour < 1 || hour > 12) return false;
  hour = hour % 12 + (afternoon ? 12U : 0U);
  return true;
}

bool take_offset(Reader& text, Moment& moment) {
  const bool is_west = text.next() == '-';
  unsigned hours = 0;
  unsigned minutes = 0;
  if (!text.take(text.next()) || !text.take_digits(2, hours)) return false;
  const bool has_mark = text.take(':');
  if ((has_mark || is_digit(text.next())) && !text.take_digits(2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  const int offset = static_cast<int>(60 * hours + minutes);
  moment.offset = is_west ? -offset : offset;
  return true;
}

bool take_zone(Reader& text, Moment& moment) {
  if (text.next() == '+' || text.next() == '-') return take_offset(text, moment);
  const std::string_view name = text.take_letters();
  if (!equals(name, "z") && !equals(name, "utc") && !equals(name, "gmt")) return false;
  moment.offset = 0;
  return true;
}

bool take_time(Reader& text, Moment& moment) {
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  std::int64_t fraction = 0;
  if (!text.take_number(1, 2, hour) || !text.take(':') || !text.take_number(2, 2, minute)) return false;
  if (text.take(':')) {
    if (!text.take_number(2, 2, second)) return false;
    if ((text.next() == '.' || text.next() == ',') && text.take(text.next()) &&
        !text.take_fraction(fraction, moment.digits))
      return false;
  }
  Reader half = text;
  half.take_blanks();
  if (const std::string_view name = half.take_letters(); equals(name, "am") || equals(name, "pm")) {
    if (!set_half_day(hour, equals(name, "pm"))) return false;
    text = half;
  }
  if (hour > 23 || minute > 59 || second > 59) return false;
  moment.has_time = true;
  moment.nanoseconds = ((std::int64_t{hour} * 60 + minute) * 60 + second) * kSecond + fraction;
  return true;
}

// Numbers of two digits at fixed places of a text.
class Pairs {
 public:
  explicit Pairs(std::string_view text) : text_(text) {}
  unsigned at(std::size_t place) {
    const auto tens = static_cast<unsigned>(text_[place] - '0');
    const auto ones = static_cast<unsigned>(text_[place + 1] - '0');
    are_digits_ = are_digits_ && tens < 10 && ones < 10;
    return 10 * tens + ones;
  }
  [[nodiscard]] bool are_digits() const { return are_digits_; }

 private:
  std::string_view text_;
  bool are_digits_ = true;
};

// Parses 31.12.2017 and 12/31/2017, which are 10 characters. Most dates have all of their digits.
bool parse_ten(std::string_view text, Moment& moment) {
  Pairs pairs(text);
  const char mark = text[2];
  const unsigned first = pairs.at(0);
  const unsigned second = pairs.at(3);
  const unsigned year = 100 * pairs.at(6) + pairs.at(8);
  return pairs.are_digits() && text[5] == mark && (mark == '.' || mark == '/' || mark == '-') &&
         set_year_last(static_cast<int>(year), first, second, mark, moment);
}

// Parses 2017-12-31 23:59:59, which is 19 characters.
bool parse_nineteen(std::string_view text, Moment& moment) {
  Pairs pairs(text);
  const unsigned year = 100 * pairs.at(0) + pairs.at(2);
  const unsigned month = pairs.at(5);
  const unsigned day = pairs.at(8);
  const unsigned hour = pairs.at(11);
  const unsigned minute = pairs.at(14);
  const unsigned second = pairs.at(17);
  if (!pairs.are_digits() || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return false;
  if ((text[10] != ' ' && text[10] != 'T') || hour > 23 || minute > 59 || second > 59) return false;
  moment.has_time = true;
  moment.nanoseconds = ((std::int64_t{hour} * 60 + minute) * 60 + second) * kSecond;
  return set_date(static_cast<int>(year), month, day, moment);
}

// Takes the rest of a text after its date: a time, and perhaps its zone.
bool take_time_of_day(Reader& reader, Moment& moment) {
  if (!reader.take('T') && !reader.take_blanks() && !(reader.take(',') && reader.take_blanks())) return false;
  if (!take_time(reader, moment)) return false;
  if (reader.ended()) return true;
  reader.take_blanks();
  return take_zone(reader, moment) && reader.ended();
}

}  // namespace

bool parse_moment(std::string_view text, Moment& moment) {
  moment = {};
  if (text.size() < 4 || text.size() > 40) return false;
  if (text.size() == 10 && parse_ten(text, moment)) return true;
  if (text.size() == 19 && parse_nineteen(text, moment)) return true;
  moment = {};
  Reader reader(text);
  if (text[1] == ':' || text[2] == ':') {
    return take_time(reader, moment) && reader.ended();
  }
  if (!take_date(reader, moment)) return false;
  if (reader.ended()) return true;
  return take_time_of_day(reader, moment);
}

bool parse_moment(std::string_view text, std::string_view format, Moment& moment) {
  moment = {};
  Reader reader(text);
  unsigned year = 1970;
  unsigned month = 1;
  unsigned day = 1;
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
  std::int64_t fraction = 0;
  std::optional<bool> afternoon;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] == ' ') {
      if (!reader.take_blanks()) return false;
      continue;
    }
    if (format[i] != '%' || i + 1 == format.size()) {
      if (!reader.take(format[i])) return false;
      continue;
    }
    const char code = format[++i];
    moment.has_date = moment.has_date || std::string_view("YymdbBj").find(code) != std::string_view::npos;
    moment.has_time = moment.has_time || std::string_view("HIMSfp").find(code) != std::string_view::npos;
    bool taken = false;
    switch (code) {
      case 'Y':
        taken = reader.take_digits(4, year);
        break;
      case 'y':
        taken = reader.take_digits(2, year);
        year += year < 69 ? 2000 : 1900;  // as in POSIX
        break;
      case 'm':
        taken = reader.take_number(1, 2, month, true);
        break;
      case 'd':
        taken = reader.take_number(1, 2, day, true);
        break;
      case 'b':
      case 'B':
        taken = month_of(reader.take_letters(), month);
        break;
      case 'j':
        taken = reader.take_digits(3, day);
        break;
      case 'H':
      case 'I':
        taken = reader.take_number(1, 2, hour, true);
        break;
      case 'M':
        taken = reader.take_digits(2, minute);
        break;
      case 'S':
        taken = reader.take_digits(2, second);
        break;
      case 'f':
        taken = reader.take_fraction(fraction, moment.digits);
        break;
      case 'p': {
        const std::string_view name = reader.take_letters();
        afternoon = equals(name, "pm");
        taken = *afternoon || equals(name, "am");
        break;
      }
      case 'z':
        taken = take_zone(reader, moment);
        break;
      default:
        taken = reader.take(code);
    }
    if (!taken) return false;
  }
  const bool is_date_only = moment.has_date && !moment.has_time;
  if (!reader.ended()) {
    if (!is_date_only || !take_time_of_day(reader, moment)) return false;
  } else {
    if (hour > 23 || minute > 59 || second > 59) return false;
    if (afternoon && !set_half_day(hour, *afternoon)) return false;
    moment.nanoseconds = ((std::int64_t{hour} * 60 + minute) * 60 + second) * kSecond + fraction;
  }
  if (!moment.has_date) return moment.has_time;
  if (format.find("%j") == std::string_view::npos) return set_date(static_cast<int>(year), month, day, moment);
  using std::chrono::January;
  const std::chrono::year_month_day date(
      std::chrono::sys_days(std::chrono::year(static_cast<int>(year)) / January / 1) +
      std::chrono::days(static_cast<int>(day) - 1));
  return day > 0 && static_cast<int>(date.year()) == static_cast<int>(year) &&
         set_date(static_cast<int>(year), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  moment);
}

std::string_view fault_of_format(std::string_view format) {
  bool any = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (i + 1 == format.size()) return "ends with %";
    const char code = format[++i];
    if (std::string_view("YymdbBjHIMSfpz%").find(code) == std::string_view::npos) return "contains an unknown code";
    any = any || code != '%';
  }
  return any ? "" : "contains no code such as %Y";
}

std::int64_t days_of(const Moment& moment, DateOrder order) {
  const bool day_first = order == day_month_year;
  const std::chrono::year_month_day date(std::chrono::year(moment.year),
                                         std::chrono::month(day_first ? moment.second : moment.first),
                                         std::chrono::day(day_first ? moment.first : moment.second));
  return std::chrono::sys_days(date).time_since_epoch().count();
}

}  // namespace upsweep::io
