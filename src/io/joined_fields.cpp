// SPDX-License-Identifier: Apache-2.0
// io/joined_fields.cpp: matches columns by their names, and finds a type that holds the values of all.
#include "io/joined_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "core/ascii.hpp"
#include "io/file_table.hpp"
#include "io/posix.hpp"
#include "io/source.hpp"
#include "io/table.hpp"
#include "upsweep/detail/temporal.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr int kInt128Digits = 38;

bool is_unsigned(const Field& field) { return field.storage >= Storage::uint8 && field.storage <= Storage::uint64; }

// Returns the maximum number of digits before the point of the column's values.
int digits_before_point(const Field& field) {
  if (field.kind == ValueKind::decimal) {
    const int all = field.storage == Storage::int32   ? 9
                    : field.storage == Storage::int64 ? kInt64Digits
                                                      : kInt128Digits;
    return all - field.scale;
  }
  const int bits = width_of(field.storage);
  return bits == 8 ? 3 : bits == 16 ? 5 : bits == 32 ? 10 : is_unsigned(field) ? 20 : 19;
}

// Returns the integer type that holds both; nothing if a decimal is needed.
std::optional<Storage> joined_integers(const Field& a, const Field& b) {
  constexpr Storage kSigned[] = {Storage::int8, Storage::int16, Storage::int32, Storage::int64};
  const Field& wider = width_of(a.storage) >= width_of(b.storage) ? a : b;
  if (is_unsigned(a) == is_unsigned(b)) return wider.storage;
  const Field& unsigned_one = is_unsigned(a) ? a : b;
  const Field& signed_one = is_unsigned(a) ? b : a;
  const int bits = std::max(width_of(signed_one.storage), 2 * width_of(unsigned_one.storage));
  for (const Storage storage : kSigned) {
    if (width_of(storage) == bits) return storage;
  }
  return std::nullopt;
}

bool is_number(const Field& field) {
  return field.kind == ValueKind::integer || field.kind == ValueKind::decimal || field.kind == ValueKind::real;
}

Field with_name(Field field, const std::string& name) {
  field.name = name;
  return field;
}

// Returns the type that holds the values of both, under the name of the first; nothing if there is none.
std::optional<Field> joined(const Field& a, const Field& b) {
  Field all = a;
  all.has_own_order = a.has_own_order || b.has_own_order;
  if (a.element && b.element) {
    // The names and the lengths of lists may differ. NULL elements have any type.
    if (a.element->is_untyped) return with_name(b, a.name);
    const bool is_same = a.element->kind == b.element->kind && a.element->storage == b.element->storage;
    return is_same || b.element->is_untyped ? std::optional(all) : std::nullopt;
  }
  if (!a.unsupported.empty() || !b.unsupported.empty()) {
    return a.unsupported == b.unsupported ? std::optional(all) : std::nullopt;
  }
  if (a.zone.empty() != b.zone.empty()) return std::nullopt;
  if (a.kind == b.kind && a.storage == b.storage && a.scale == b.scale) return all;
  if (a.kind == b.kind && detail::is_temporal(a.kind)) {
    all.storage = Storage::int64;
    all.scale = std::max(a.scale, b.scale);
    return all;
  }
  if (!is_number(a) || !is_number(b)) return std::nullopt;
  all.scale = 0;
  if (a.kind == ValueKind::real || b.kind == ValueKind::real) {
    all.kind = ValueKind::real;
    all.storage = Storage::float64;
    return all;
  }
  if (a.kind == ValueKind::integer && b.kind == ValueKind::integer) {
    if (const auto storage = joined_integers(a, b)) {
      all.storage = *storage;
      return all;
    }
  }
  all.kind = ValueKind::decimal;
  all.scale = std::max(a.scale, b.scale);
  const int digits = std::max(digits_before_point(a), digits_before_point(b)) + all.scale;
  all.storage = digits <= kInt64Digits ? Storage::int64 : Storage::int128;
  return all;
}

// Returns the timestamps of a column that has dates in CSV files and timestamps without a zone in others; nothing for
// any other columns.
std::optional<Field> dates_as_timestamps(const Field& dates, const Field& timestamps) {
  if (dates.kind != ValueKind::date || timestamps.kind != ValueKind::timestamp || !timestamps.zone.empty() ||
      !timestamps.unsupported.empty()) {
    return std::nullopt;
  }
  Field all = timestamps;
  all.scale = std::max(all.scale, 6);
  return all;
}

// Returns the type of --types with which CSV files have columns like this one; an empty text if there is none.
std::string csv_type(const Field& field) {
  if (!field.unsupported.empty() || !field.zone.empty()) return "";
  switch (field.kind) {
    case ValueKind::integer:
      return field.storage == Storage::uint64 ? "uint64" : "int64";
    case ValueKind::decimal:
      return type_name(field).replace(type_name(field).find(' '), 1, "");
    case ValueKind::real:
      return "float64";
    case ValueKind::date:
      return "date";
    case ValueKind::boolean:
      return "bool";
    case ValueKind::text:
      return "string";
    case ValueKind::timestamp:
      return "timestamp";
    case ValueKind::time:
      return "time";
    case ValueKind::duration:
    case ValueKind::interval:
      break;
  }
  return "";
}

template <class T>
void put(const T& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(const std::string& text, std::string& to) {
  put(static_cast<std::uint64_t>(text.size()), to);
  to += text;
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  const std::string_view taken = bytes.substr(0, sizeof value);
  std::memcpy(&value, taken.data(), taken.size());
  bytes.remove_prefix(sizeof value);
  return value;
}

std::string take_text(std::string_view& bytes) {
  const auto size = take<std::uint64_t>(bytes);
  const std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

}  // namespace

std::string packed(const std::vector<Field>& fields) {
  std::string bytes;
  put(static_cast<std::uint64_t>(fields.size()), bytes);
  for (const Field& field : fields) {
    put_text(field.name, bytes);
    put_text(field.unsupported, bytes);
    put(field.kind, bytes);
    put(field.storage, bytes);
    put(field.scale, bytes);
    put_text(field.zone, bytes);
    put(field.is_untyped, bytes);
    put(field.is_all_null, bytes);
    put(field.has_own_order, bytes);
    bytes += packed(field.element ? std::vector{*field.element} : std::vector<Field>());
  }
  return bytes;
}

std::vector<Field> take_fields(std::string_view& bytes) {
  std::vector<Field> fields(take<std::uint64_t>(bytes));
  for (Field& field : fields) {
    field.name = take_text(bytes);
    field.unsupported = take_text(bytes);
    field.kind = take<ValueKind>(bytes);
    field.storage = take<Storage>(bytes);
    field.scale = take<int>(bytes);
    field.zone = take_text(bytes);
    field.is_untyped = take<bool>(bytes);
    field.is_all_null = take<bool>(bytes);
    field.has_own_order = take<bool>(bytes);
    std::vector<Field> element = take_fields(bytes);
    if (!element.empty()) field.element = std::make_shared<const Field>(std::move(element[0]));
  }
  return fields;
}

std::string packed(const std::vector<WrittenNumbers>& columns) {
  std::string bytes;
  put(static_cast<std::uint64_t>(columns.size()), bytes);
  for (const WrittenNumbers& numbers : columns) {
    put(numbers.decimal, bytes);
    put_text(numbers.currency, bytes);
    put(numbers.are_percentages, bytes);
  }
  return bytes;
}

std::vector<WrittenNumbers> take_written_numbers(std::string_view& bytes) {
  std::vector<WrittenNumbers> columns(take<std::uint64_t>(bytes));
  for (WrittenNumbers& numbers : columns) {
    numbers.decimal = take<char>(bytes);
    numbers.currency = take_text(bytes);
    numbers.are_percentages = take<bool>(bytes);
  }
  return columns;
}

const std::vector<WrittenNumbers>& written_numbers(const Table& table) {
  static const std::vector<WrittenNumbers> none;
  const auto* const file = dynamic_cast<const FileTable*>(&table);
  return file != nullptr ? file->written_numbers() : none;
}

std::string type_name(const Field& field) {
  if (!field.unsupported.empty()) return field.unsupported;
  if (field.kind == ValueKind::decimal) {
    const int digits = digits_before_point(field) + field.scale;
    return fmt::format("decimal({}, {})", digits, field.scale);
  }
  if (field.kind == ValueKind::integer || field.kind == ValueKind::real) {
    return std::string(name(element_type(field.storage)));
  }
  if (detail::is_temporal(field.kind)) {
    constexpr const char* kUnits[] = {"s", "ms", "us", "ns"};
    const std::string zone = field.zone.empty() ? "" : ", " + field.zone;
    return fmt::format("{}[{}{}]", name(field.kind), kUnits[field.scale / 3], zone);
  }
  return std::string(name(field.kind));
}

int column_like(std::string_view name, const std::vector<Field>& fields) {
  const std::string wanted = lower_case(name);
  std::vector<int> like;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return static_cast<int>(i);
    if (lower_case(fields[i].name) == wanted) like.push_back(static_cast<int>(i));
  }
  return like.size() == 1 ? like[0] : -1;
}

std::vector<int> JoinedFields::add(const std::string& path, const std::vector<Field>& fields,
                                   const std::vector<WrittenNumbers>& written) {
  const std::size_t before = fields_.size();
  // The column of a .npy file is called like its file, so it is matched without its name.
  if (before == 1 && fields.size() == 1 && ends_in(path, ".npy") && ends_in(first_path_, ".npy")) {
    join(0, fields[0], path, nullptr);
    return {0};
  }
  std::vector<int> places(fields.size(), -1);
  std::vector<bool> taken(before + fields.size(), false);
  const auto take = [&](std::size_t i, int place) {
    places[i] = place;
    if (place >= 0) taken[static_cast<std::size_t>(place)] = true;
  };
  for (std::size_t i = 0; i < fields.size(); ++i) take(i, exact_place(fields[i].name, taken));
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (places[i] < 0) take(i, place_like(path, fields[i].name, taken));
  }
  if (before > 0 && !fields.empty() && std::find(taken.begin(), taken.end(), true) == taken.end()) {
    throw Error(
        Code::invalid_argument,
        fmt::format("{}: shares no column with {}; columns here: {}; columns there: {}; query the files separately",
                    path, first_path_, names_of_columns(fields), names_of_columns(fields_)));
  }
  if (before == 0) first_path_ = path;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (places[i] < 0) {
      places[i] = static_cast<int>(fields_.size());
      by_name_[fields[i].name].push_back(places[i]);
      by_lower_name_[lower_case(fields[i].name)].push_back(places[i]);
      fields_.push_back({.name = fields[i].name, .is_untyped = true});
      origins_.emplace_back();
    }
    join(places[i], fields[i], path, written.empty() ? nullptr : &written[i]);
  }
  return places;
}

int JoinedFields::place_of(const std::string& name) const {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second[0];
  const auto found = by_lower_name_.find(lower_case(name));
  return found != by_lower_name_.end() ? found->second[0] : -1;
}

void JoinedFields::add_folder(int place, const Field& field, const std::string& path) {
  Origin& origin = origins_[static_cast<std::size_t>(place)];
  const bool had_csv = origin.has_csv;
  // Any value can be text, like the cells of CSV files.
  const WrittenNumbers plain;
  const bool is_text = fields_[static_cast<std::size_t>(place)].kind == ValueKind::text;
  join(place, is_text ? Field{.kind = ValueKind::text, .storage = Storage::int32} : field, "the folders of " + path,
       &plain);
  origin.has_csv = had_csv;  // --types does not change folders
  if (!origin.difference.empty()) settle(place);
}

std::vector<std::string> JoinedFields::remarks() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (origins_[i].difference.empty() || !fields_[i].unsupported.empty()) continue;
    lines.push_back(
        fmt::format("column '{}' is read as text: it contains {}", printable(fields_[i].name), origins_[i].difference));
    if (!origins_[i].option.empty()) lines.back() += "; " + origins_[i].option;
  }
  return lines;
}

int JoinedFields::exact_place(const std::string& name, const std::vector<bool>& taken) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return -1;
  const auto free = std::find_if(found->second.begin(), found->second.end(),
                                 [&](int place) { return !taken[static_cast<std::size_t>(place)]; });
  return free == found->second.end() ? -1 : *free;
}

int JoinedFields::place_like(const std::string& path, const std::string& name, const std::vector<bool>& taken) const {
  const auto found = by_lower_name_.find(lower_case(name));
  if (found == by_lower_name_.end()) return -1;
  std::vector<int> free;
  for (const int place : found->second) {
    if (!taken[static_cast<std::size_t>(place)]) free.push_back(place);
  }
  if (free.size() > 1) {
    const auto column = [&](std::size_t i) { return printable(fields_[static_cast<std::size_t>(free[i])].name); };
    throw Error(Code::invalid_argument,
                fmt::format("{}: column '{}' could be '{}' or '{}' of the files before it; rename one of them", path,
                            printable(name), column(0), column(1)));
  }
  return free.empty() ? -1 : free[0];
}

void JoinedFields::join(int place, const Field& field, const std::string& path, const WrittenNumbers* written) {
  Field& all = fields_[static_cast<std::size_t>(place)];
  Origin& origin = origins_[static_cast<std::size_t>(place)];
  // Columns without a value keep a type other than text: words such as NA are NULL there.
  if (field.is_all_null && !all.is_untyped && (!all.is_all_null || all.kind != ValueKind::text)) return;
  if (field.is_untyped) {
    if (all.is_untyped) all = with_name(field, all.name);
    return;
  }
  if (all.is_untyped || all.is_all_null) {
    all = with_name(field, all.name);
    origin = {path, type_name(field)};
  } else if (origin.difference.empty()) {
    auto both = joined(all, field);
    if (!both && !origin.stored) both = dates_as_timestamps(all, field);
    if (!both && written != nullptr) both = dates_as_timestamps(field, all);
    if (both) {
      all = with_name(std::move(*both), all.name);
    } else {
      origin.difference = fmt::format("{} in {} and {} in {}", origin.type, origin.path, type_name(field), path);
    }
  }
  if (written != nullptr && is_number(field) && origin.difference.empty()) add_written(*written, path, origin);
  origin.has_csv = origin.has_csv || written != nullptr;
  if (written == nullptr && !origin.stored) origin.stored = field;
  if (!origin.difference.empty()) settle(place);
}

// Compares how the numbers of a file are written with the files before it.
void JoinedFields::add_written(const WrittenNumbers& written, const std::string& path, Origin& origin) {
  WrittenNumbers& known = origin.written;
  const auto differ = [&](const std::string& before, const std::string& first_path, const std::string& now,
                          std::string_view option) {
    origin.difference = fmt::format("{} in {} and {} in {}", before, first_path, now, path);
    origin.option = option;
  };
  if (origin.numbers_path.empty()) {
    origin.numbers_path = path;
    known.are_percentages = written.are_percentages;
  }
  const auto percentages = [](bool are) { return are ? "percentages" : "other numbers"; };
  if (written.are_percentages != known.are_percentages) {
    return differ(percentages(known.are_percentages), origin.numbers_path, percentages(written.are_percentages),
                  "--types decides");
  }
  if (origin.currency_path.empty() && !written.currency.empty()) {
    origin.currency_path = path;
    known.currency = written.currency;
  }
  if (!written.currency.empty() && written.currency != known.currency) {
    return differ("amounts in " + known.currency, origin.currency_path, "amounts in " + written.currency,
                  "--types decides");
  }
  if (origin.decimal_path.empty() && written.decimal != 0) {
    origin.decimal_path = path;
    known.decimal = written.decimal;
  }
  const auto marked = [](char decimal) {
    return std::string("numbers with a decimal ") + (decimal == ',' ? "comma" : "point");
  };
  if (written.decimal != 0 && written.decimal != known.decimal) {
    differ(marked(known.decimal), origin.decimal_path, marked(written.decimal), "--decimal and --thousands decide");
  }
}

// Makes a column text whose files differ. If that is impossible, it is unsupported.
void JoinedFields::settle(int place) {
  Field& all = fields_[static_cast<std::size_t>(place)];
  const Origin& origin = origins_[static_cast<std::size_t>(place)];
  if (!numbers_ && !origin.stored) {
    all = {.name = all.name, .kind = ValueKind::text, .storage = Storage::int32};
    return;
  }
  all.element = nullptr;
  all.unsupported = origin.difference;
  if (!origin.option.empty()) {
    all.unsupported += fmt::format(" ({})", origin.option);
    return;
  }
  const std::string option = origin.has_csv && origin.stored ? csv_type(*origin.stored) : "";
  if (!option.empty()) all.unsupported += fmt::format(" (--types {}={} reads the CSV files alike)", all.name, option);
}

}  // namespace upsweep::io
