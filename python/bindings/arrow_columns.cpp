// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_columns.cpp: converts Arrow formats to column types, and elements that cannot be used in place.
#include "arrow_columns.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "core/visit.hpp"
#include "upsweep/error.hpp"

namespace upsweep::python {
namespace {

using io::kInt64Digits;
using io::kMostDigits;

constexpr std::int32_t kNull = -1;

// Arrow's names of unsupported types, by the start of their formats. The letter that follows is the unit.
constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
    {"+s", "struct"},
    {"+l", "list"},
    {"+L", "large_list"},
    {"+w", "fixed_size_list"},
    {"+m", "map"},
    {"+ud", "dense_union"},
    {"+us", "sparse_union"},
    {"+r", "run_end_encoded"},
    {"+vl", "list_view"},
    {"+vL", "large_list_view"},
    {"tiM", "month_interval"},
    {"tiD", "day_time_interval"},
    {"tin", "month_day_nano_interval"},
    {"z", "binary"},
    {"Z", "large_binary"},
    {"vz", "binary_view"},
    {"w", "fixed_size_binary"},
};

std::string name_of(std::string_view format) {
  if (format.starts_with("d:")) {  // "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS"
    const std::size_t digits_end = std::min(format.find(',', format.find(',') + 1), format.size());
    const std::string_view bits = digits_end < format.size() ? format.substr(digits_end + 1) : "128";
    return "decimal" + std::string(bits) + "(" + std::string(format.substr(2, digits_end - 2)) + ")";
  }
  const auto* const other = std::find_if(std::begin(kOthers), std::end(kOthers),
                                         [&](const auto& row) { return format.starts_with(row.first); });
  return std::string(other == std::end(kOthers) ? format : other->second);
}

// Returns the name of the extension type in a field's metadata, or an empty string if there is none. The metadata are
// in Arrow's binary format: a number of pairs of a key and a value, each a length and bytes.
std::string extension_of(const char* metadata) {
  if (metadata == nullptr) return {};
  const auto number = [&] {
    std::int32_t read = 0;
    std::memcpy(&read, metadata, sizeof read);
    metadata += sizeof read;
    return read;
  };
  const auto text = [&] {
    const auto length = static_cast<std::size_t>(std::max(number(), 0));
    const std::string_view read(metadata, length);
    metadata += length;
    return read;
  };
  for (std::int32_t left = number(); left > 0; --left) {
    const std::string_view key = text();
    const std::string_view value = text();
    if (key == "ARROW:extension:name") return std::string(value);
  }
  return {};
}

// "d:PRECISION,SCALE" or "d:PRECISION,SCALE,BITS".
bool set_decimal(ColumnType& type, std::string_view format) {
  int numbers[] = {0, 0, 128};
  const char* at = format.data() + 2;
  const char* const end = format.data() + format.size();
  for (int& number : numbers) {
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    at = stop;
    if (at == end) break;
    ++at;
  }
  const auto& [precision, scale, bits] = numbers;
  if (precision > kMostDigits || scale < 0 || scale > kMostDigits) return false;
  type.field.kind = ValueKind::decimal;
  type.field.scale = scale;
  // 128-bit decimals are used in place: queries convert the values that fit to 64 bits, for the rows that they read.
  const bool in_64 = bits == 64 || (bits == 256 && precision <= kInt64Digits);
  type.field.storage = bits == 32 ? Storage::int32 : in_64 ? Storage::int64 : Storage::int128;
  type.width = bits / 8;
  if (bits == 256) type.stored = io::Stored::decimal256;
  return bits == 32 || bits == 64 || bits == 128 || bits == 256;
}

// Returns false for an unsupported type.
bool set_type(ColumnType& type, std::string_view format) {
  if (format.starts_with("d:")) return set_decimal(type, format);
  const io::ArrowType* const known = io::arrow_type_of(format);
  if (known == nullptr) return false;
  type.field.kind = known->kind;
  type.field.storage = known->storage;
  type.field.scale = known->scale;
  type.field.zone = io::zone_in(format);
  type.stored = known->stored;
  type.width = known->width;
  type.text = known->text;
  type.all_null = format == "n";
  type.field.is_untyped = type.all_null;
  return true;
}

// ------------------------------------------------------------------------------------------------------------ bits

bool is_set(const std::uint8_t* bits, std::int64_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

std::uint8_t* allocate(std::int64_t bytes, io::Memory& memory) {
  const std::shared_ptr<std::uint8_t[]> made = std::make_shared<std::uint8_t[]>(static_cast<std::size_t>(bytes));
  memory.push_back(made);
  return made.get();
}

std::uint8_t* allocate_bits(std::int64_t rows, io::Memory& memory) { return allocate((rows + 7) / 8, memory); }

// Returns a bitmap of the rows of all ranges for which of(range, i) is true.
template <class Of>
const std::uint8_t* bits_of(const std::vector<ChunkRange>& ranges, std::int64_t rows, io::Memory& memory, Of of) {
  std::uint8_t* const bits = allocate_bits(rows, memory);
  std::int64_t row = 0;
  for (const ChunkRange& range : ranges) {
    for (std::int64_t i = 0; i < range.rows; ++i, ++row) {
      bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | (of(range, i) ? 1 : 0) << (row % 8));
    }
  }
  return bits;
}

// Passes the validity bitmap, in place if there is one range.
void pass_validity(const std::vector<ChunkRange>& ranges, std::int64_t rows, io::Memory& memory, ColumnData& data) {
  const auto has_validity = [](const ChunkRange& range) { return range.validity() != nullptr; };
  if (std::none_of(ranges.begin(), ranges.end(), has_validity)) return;
  if (ranges.size() == 1) {
    data.validity = ranges[0].validity();
    data.offset = ranges[0].first;
  } else {
    data.validity =
        bits_of(ranges, rows, memory, [](const ChunkRange& range, std::int64_t i) { return !range.is_null(i); });
  }
}

// --------------------------------------------------------------------------------------------------------- numbers

const std::uint8_t* at(const ArrowArray& array, std::int64_t element, std::int64_t width) {
  return static_cast<const std::uint8_t*>(array.buffers[1]) + element * width;
}

// Converts the rows of a range. Rows that are NULL may contain values that do not fit.
void convert(const ColumnType& type, const ChunkRange& range, std::int64_t first_row, std::uint8_t* to) {
  const std::int64_t width = width_of(type.field.storage) / 8;
  const std::uint8_t* const from = at(*range.array, range.first, type.width);
  std::int64_t i = io::convert_elements(type.stored, width, from, range.rows, to);
  for (; i < range.rows; ++i) {
    const bool fits = io::convert_elements(type.stored, width, from + i * type.width, 1, to + i * width) == 1;
    if (!fits && !range.is_null(i)) io::throw_misfit(type.stored, type.place, first_row + i);
  }
}

const void* numbers_of(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                       std::int64_t first_row, io::Memory& memory) {
  const std::int64_t width = width_of(type.field.storage) / 8;
  if (ranges.size() == 1 && type.stored == io::Stored::as_computed) {
    const std::uint8_t* const first = at(*ranges[0].array, ranges[0].first, width);
    if (reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(width) == 0) return first;
  }
  std::uint8_t* const values = allocate(rows * width, memory);
  std::int64_t done = 0;
  for (const ChunkRange& range : ranges) {
    convert(type, range, first_row + done, values + done * width);
    done += range.rows;
  }
  return values;
}

ColumnData bits_column(const std::vector<ChunkRange>& ranges, std::int64_t rows, io::Memory& memory) {
  ColumnData data;
  pass_validity(ranges, rows, memory, data);
  const auto bits = [](const ChunkRange& range) { return static_cast<const std::uint8_t*>(range.array->buffers[1]); };
  if (ranges.size() == 1) {
    data.values = bits(ranges[0]);
    data.offset = ranges[0].first;
  } else {
    data.values = bits_of(ranges, rows, memory, [&](const ChunkRange& range, std::int64_t i) {
      return is_set(bits(range), range.first + i);
    });
  }
  return data;
}

ColumnData nulls_column(std::int64_t rows, io::Memory& memory) {
  return {.values = allocate(rows * std::int64_t{sizeof(std::int64_t)}, memory),
          .validity = allocate_bits(rows, memory)};
}

// ---------------------------------------------------------------------------------------------------- dictionaries

// Returns all entries of a range's dictionary.
ChunkRange entries_of(const ChunkRange& range) {
  const ArrowArray* const dictionary = range.array->dictionary;
  return {range.chunk, dictionary, dictionary->offset, dictionary->length};
}

// Calls each(row, entry) for the rows of all ranges; entry is -1 for NULL. Throws malformed for an index that is past
// the end.
template <class Each>
void visit_entries(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t first_row, Each each) {
  std::int64_t row = 0;
  for (const ChunkRange& range : ranges) {
    const auto entries = static_cast<std::uint64_t>(range.array->dictionary->length);
    visit_type(*type.indices, [&]<class T>(std::type_identity<T>) {
      const T* const indices = static_cast<const T*>(range.array->buffers[1]) + range.first;
      for (std::int64_t i = 0; i < range.rows; ++i, ++row) {
        if (range.is_null(i)) {
          each(range, row, kNull);
          continue;
        }
        const auto index = static_cast<std::uint64_t>(indices[i]);
        if (index >= entries) {
          throw Error(Code::malformed,
                      type.place + ": row " + std::to_string(first_row + row) + " points past its dictionary",
                      first_row + row);
        }
        each(range, row, static_cast<std::int64_t>(index));
      }
    });
  }
}

// Decodes dictionary entries to their computed form, for each array that the ranges point to.
ColumnData decoded_numbers(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                           std::int64_t first_row, io::Memory& memory) {
  const std::int64_t width = width_of(type.field.storage) / 8;
  std::uint8_t* const values = allocate(rows * width, memory);
  std::uint8_t* const validity = allocate_bits(rows, memory);
  const ArrowArray* dictionary = nullptr;
  std::vector<std::uint8_t> elements;
  visit_entries(type, ranges, first_row, [&](const ChunkRange& range, std::int64_t row, std::int64_t entry) {
    const ChunkRange entries = entries_of(range);
    if (entries.array != std::exchange(dictionary, entries.array)) {
      elements.resize(static_cast<std::size_t>(entries.rows * width));
      convert(type, entries, first_row + row, elements.data());
    }
    if (entry < 0 || entries.is_null(entry)) return;
    std::memcpy(values + row * width, elements.data() + entry * width, static_cast<std::size_t>(width));
    validity[row / 8] = static_cast<std::uint8_t>(validity[row / 8] | 1 << (row % 8));
  });
  return {.values = values, .validity = validity};
}

// ------------------------------------------------------------------------------------------------------------ text

[[noreturn]] void throw_damaged(const std::string& name) {
  throw Error(Code::malformed, name + ": its texts are not within the buffers of its array");
}

template <class Offset>
std::string_view text_between(const ArrowArray& array, std::int64_t element, const std::string& name) {
  const Offset* const offsets = static_cast<const Offset*>(array.buffers[1]) + element;
  const Offset end = static_cast<const Offset*>(array.buffers[1])[array.offset + array.length];
  if (offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > end) throw_damaged(name);
  return {static_cast<const char*>(array.buffers[2]) + offsets[0], static_cast<std::size_t>(offsets[1] - offsets[0])};
}

std::string_view viewed_text(const ArrowArray& array, std::int64_t element, const std::string& name) {
  constexpr std::int32_t kInline = 12;
  constexpr int kFixedBuffers = 3;  // validity and views, and the last one: the lengths of the other buffers
  struct View {
    std::int32_t length;
    std::int32_t prefix;
    std::int32_t buffer;
    std::int32_t offset;
  };
  const auto* const views = static_cast<const View*>(array.buffers[1]);
  const View& view = views[element];
  if (view.length < 0) throw_damaged(name);
  const auto length = static_cast<std::size_t>(view.length);
  if (view.length <= kInline) return {reinterpret_cast<const char*>(&view.prefix), length};
  if (view.buffer < 0 || view.buffer >= array.n_buffers - kFixedBuffers || view.offset < 0) throw_damaged(name);
  const auto* const lengths = static_cast<const std::int64_t*>(array.buffers[array.n_buffers - 1]);
  if (view.offset + std::int64_t{view.length} > lengths[view.buffer]) throw_damaged(name);
  return {static_cast<const char*>(array.buffers[2 + view.buffer]) + view.offset, length};
}

std::string_view text_at(TextLayout layout, const ArrowArray& array, std::int64_t element, const std::string& name) {
  if (layout == TextLayout::offsets32) return text_between<std::int32_t>(array, element, name);
  if (layout == TextLayout::offsets64) return text_between<std::int64_t>(array, element, name);
  return viewed_text(array, element, name);
}

// Adds the texts of a range to the vocabulary and writes their indices; `row` is the table's row. The index of NULL is
// 0.
void add_texts(const ChunkRange& range, TextLayout layout, const std::string& name, std::int64_t row,
               io::Vocabulary& vocabulary, std::int32_t* to) {
  vocabulary.memory.push_back(range.chunk);
  for (std::int64_t i = 0; i < range.rows; ++i) {
    to[i] = range.is_null(i)
                ? 0
                : vocabulary.find_or_add(text_at(layout, *range.array, range.first + i, name), name, row + i);
  }
}

// Maximum number of texts, and of their bytes: what a group's table of entries holds. NULLs have the first entry.
constexpr std::size_t kMostKept = 1 << 14;
constexpr std::size_t kMostKeptBytes = 1 << 20;

std::vector<std::int32_t> translated(const ChunkRange& entries, TextLayout layout, const std::string& name,
                                     io::Vocabulary& vocabulary) {
  vocabulary.memory.push_back(entries.chunk);
  std::vector<std::int32_t> indices;
  indices.reserve(static_cast<std::size_t>(entries.rows));
  for (std::int64_t i = 0; i < entries.rows; ++i) {
    const auto text = [&] { return text_at(layout, *entries.array, entries.first + i, name); };
    indices.push_back(entries.is_null(i) ? kNull : vocabulary.find_or_add_entry(text(), name));
  }
  return indices;
}

// Returns the vocabulary as a dictionary that contains every index, also those of NULL rows.
std::shared_ptr<const Dictionary> dictionary_of(const std::shared_ptr<io::Vocabulary>& vocabulary) {
  if (vocabulary->words.empty()) vocabulary->words.emplace_back();
  return {vocabulary, &vocabulary->words};
}

ColumnData plain_text(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                      std::int64_t first_row, bool may_repeat, KeptTexts& kept, io::Memory& memory) {
  ColumnData data;
  pass_validity(ranges, rows, memory, data);
  auto* const indices = reinterpret_cast<std::int32_t*>(allocate(rows * std::int64_t{sizeof(std::int32_t)}, memory));
  data.dictionary = kept.add(ranges, type.text, type.place, first_row, indices);
  data.values = indices;
  if (data.dictionary != nullptr) return data;
  const auto vocabulary = std::make_shared<io::Vocabulary>(may_repeat);
  std::int64_t row = 0;
  for (const ChunkRange& range : ranges) {
    add_texts(range, type.text, type.place, first_row + row, *vocabulary, indices + row);
    row += range.rows;
  }
  data.dictionary = dictionary_of(vocabulary);
  return data;
}

// Whether the arrays are the same memory, as when chunks of a table share a dictionary.
bool is_same(const ArrowArray& a, const ArrowArray& b) {
  return a.length == b.length && a.offset == b.offset && a.n_buffers == b.n_buffers &&
         std::equal(a.buffers, a.buffers + a.n_buffers, b.buffers);
}

// Returns the indices in place if they can be used: none is past the dictionary, also not in rows that are NULL.
const std::int32_t* in_place(const ColumnType& type, const ChunkRange& range, const Translation& translation) {
  if (!translation.same || *type.indices != Type::int32) return nullptr;
  const std::int32_t* const indices = static_cast<const std::int32_t*>(range.array->buffers[1]) + range.first;
  std::uint32_t greatest = 0;
  for (std::int64_t i = 0; i < range.rows; ++i) greatest = std::max(greatest, static_cast<std::uint32_t>(indices[i]));
  return greatest < translation.vocabulary->words.size() ? indices : nullptr;
}

ColumnData encoded_text(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                        std::int64_t first_row, LastDictionary& last, io::Memory& memory) {
  ColumnData data;
  const ArrowArray& first = *ranges[0].array->dictionary;
  const bool common = std::all_of(ranges.begin(), ranges.end(),
                                  [&](const ChunkRange& range) { return is_same(*range.array->dictionary, first); });
  const std::shared_ptr<const Translation> shared =
      common ? last.translation(ranges[0], type.text, type.place) : nullptr;
  if (common && ranges.size() == 1) {
    if (const std::int32_t* const indices = in_place(type, ranges[0], *shared)) {
      pass_validity(ranges, rows, memory, data);
      data.values = indices;
      data.dictionary = {shared, &shared->vocabulary->words};
      return data;
    }
  }
  const auto vocabulary = common ? shared->vocabulary : std::make_shared<io::Vocabulary>();
  auto* const indices = reinterpret_cast<std::int32_t*>(allocate(rows * std::int64_t{sizeof(std::int32_t)}, memory));
  std::uint8_t* const validity = allocate_bits(rows, memory);
  const ArrowArray* dictionary = nullptr;
  std::vector<std::int32_t> own;
  visit_entries(type, ranges, first_row, [&](const ChunkRange& range, std::int64_t row, std::int64_t entry) {
    const ArrowArray* const at_hand = range.array->dictionary;
    if (!common && at_hand != std::exchange(dictionary, at_hand)) {
      own = translated(entries_of(range), type.text, type.place, *vocabulary);
    }
    const std::int32_t index = entry < 0 ? kNull : (common ? shared->indices : own)[static_cast<std::size_t>(entry)];
    if (index == kNull) return;
    if (index == io::Vocabulary::kNotUtf8) io::throw_not_utf8(type.place, first_row + row);
    indices[row] = index;
    validity[row / 8] = static_cast<std::uint8_t>(validity[row / 8] | 1 << (row % 8));
  });
  data.values = indices;
  data.validity = validity;
  data.dictionary = common ? std::shared_ptr<const Dictionary>(shared, &vocabulary->words) : dictionary_of(vocabulary);
  return data;
}

}  // namespace

ColumnType column_type(std::string name, const char* format) {
  ColumnType type;
  type.place = name;
  type.field.name = std::move(name);
  if (!set_type(type, format)) type.field.unsupported = name_of(format);
  return type;
}

namespace {

// Sets the type of a column of lists of numbers, booleans or nothing but NULL.
void set_lists(ColumnType& type, const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  const bool is_sized = format.starts_with("+w:");
  if ((!is_sized && format != "+l" && format != "+L") || schema.n_children != 1) return;
  ColumnType element = column_type(*schema.children[0]);
  const ValueKind kind = element.field.kind;
  const bool is_read = kind == ValueKind::integer || kind == ValueKind::real || kind == ValueKind::boolean;
  if (!element.field.unsupported.empty() || !is_read || element.indices) return;
  if (is_sized) {
    const auto [end, error] = std::from_chars(format.data() + 3, format.data() + format.size(), type.list_size);
    if (error != std::errc() || type.list_size < 0) return;
  } else {
    type.offset_bytes = format == "+l" ? 4 : 8;
  }
  element.place = type.place;
  type.field.element = std::make_shared<const Field>(element.field);
  type.element = std::make_shared<const ColumnType>(std::move(element));
}

}  // namespace

ColumnType column_type(const ArrowSchema& schema) {
  std::string name = schema.name == nullptr ? "" : schema.name;
  const bool is_encoded = schema.dictionary != nullptr;
  ColumnType type = column_type(std::move(name), is_encoded ? schema.dictionary->format : schema.format);
  if (is_encoded) {
    const ColumnType indices = column_type("", schema.format);
    type.indices = element_type(indices.field.storage);
    // Only dictionaries of text and of numbers are supported.
    const bool decodable =
        type.field.storage != Storage::bit && !type.all_null && schema.dictionary->dictionary == nullptr;
    if (type.field.unsupported.empty() && !decodable) {
      type.field.unsupported = "dictionary of " + std::string(schema.dictionary->format);
    }
    type.field.has_own_order = (schema.flags & kArrowFlagDictionaryOrdered) != 0;
  } else {
    set_lists(type, schema);
  }
  // Extension types, whose elements have another meaning than their storage type. JSON is text.
  const std::string extension = extension_of(schema.metadata);
  if (!extension.empty() && extension != "arrow.json") {
    type.field.unsupported = "extension<" + extension + ">";
    type.field.element = nullptr;
    type.element = nullptr;
  }
  return type;
}

namespace {

// As misfit_of, for an array that is not a dictionary's index.
std::string misfit_of_values(const ColumnType& type, const ArrowArray& array) {
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  const std::int64_t fewest = type.all_null ? 0 : type.text == TextLayout::none ? 2 : 3;
  const std::int64_t most = type.all_null ? 1 : type.text == TextLayout::views ? kMany : fewest;
  if (array.length < 0 || array.offset < 0 || array.length > kMany - array.offset) return "has an impossible length";
  if (array.n_buffers < fewest || array.n_buffers > most) {
    return "has " + std::to_string(array.n_buffers) + " buffers, and its type has " + std::to_string(fewest);
  }
  if (array.n_children != 0) return "has children, and its type has none";
  if (type.all_null) return {};
  if (array.buffers == nullptr) return "has no buffers";
  if (array.null_count > array.length) return "has more NULLs than elements";
  if (array.null_count > 0 && array.buffers[0] == nullptr) return "has NULLs and does not say where";
  const std::int64_t end = array.offset + array.length;
  if (end == 0 || array.length == 0) return {};
  if (array.buffers[1] == nullptr) return "has elements and no buffer of them";
  const auto last = [&]<class Offset>(Offset) {
    return std::int64_t{static_cast<const Offset*>(array.buffers[1])[end]};
  };
  const std::int64_t letters = type.text == TextLayout::offsets32   ? last(std::int32_t{})
                               : type.text == TextLayout::offsets64 ? last(std::int64_t{})
                                                                    : 0;
  if (letters < 0 || (letters > 0 && array.buffers[2] == nullptr)) return "has texts and no buffer of them";
  if (type.text == TextLayout::views && array.n_buffers > fewest) {
    const auto* const lengths = static_cast<const std::int64_t*>(array.buffers[array.n_buffers - 1]);
    for (std::int64_t i = fewest - 1; i < array.n_buffers - 1; ++i) {
      if (lengths == nullptr || lengths[i - 2] < 0 || (lengths[i - 2] > 0 && array.buffers[i] == nullptr)) {
        return "has views and no buffers of their texts";
      }
    }
  }
  return {};
}

// As misfit_of, for lists. Offsets are checked when they are read.
std::string misfit_of_lists(const ColumnType& type, const ArrowArray& array) {
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  const std::int64_t buffers = type.offset_bytes > 0 ? 2 : 1;
  if (array.length < 0 || array.offset < 0 || array.length > kMany - array.offset) return "has an impossible length";
  if (array.n_buffers != buffers || array.buffers == nullptr) {
    return "has " + std::to_string(array.n_buffers) + " buffers, and its type has " + std::to_string(buffers);
  }
  if (array.n_children != 1 || array.children == nullptr) return "has lists without elements";
  if (array.null_count > 0 && array.buffers[0] == nullptr) return "has NULLs and does not say where";
  if (type.offset_bytes > 0 && array.length > 0 && array.buffers[1] == nullptr) return "has lists and no offsets";
  const std::int64_t end = array.offset + array.length;
  if (type.list_size > 0 && array.children[0]->length / type.list_size < end) return "has too few elements";
  const std::string of_elements = misfit_of(*type.element, *array.children[0]);
  return of_elements.empty() ? "" : "has lists whose content " + of_elements;
}

}  // namespace

std::string misfit_of(const ColumnType& type, const ArrowArray& array) {
  if (type.element) return misfit_of_lists(type, array);
  if (!type.indices) {
    return array.dictionary != nullptr ? "has a dictionary, and its type has none" : misfit_of_values(type, array);
  }
  if (array.dictionary == nullptr) return "has no dictionary, and its type has one";
  std::string misfit = misfit_of_values({}, array);
  if (!misfit.empty()) return misfit;
  if (array.dictionary->dictionary != nullptr) return "has a dictionary of dictionaries";
  const std::string of_entries = misfit_of_values(type, *array.dictionary);
  return of_entries.empty() ? "" : "has a dictionary that " + of_entries;
}

std::shared_ptr<const Translation> LastDictionary::translation(const ChunkRange& range, TextLayout layout,
                                                               const std::string& name) {
  const std::lock_guard lock(mutex_);
  const ArrowArray* const array = range.array->dictionary;
  if (last_ && is_same(*last_->array, *array)) return last_;
  const auto made = std::make_shared<Translation>();
  made->array = array;
  made->vocabulary = std::make_shared<io::Vocabulary>();
  made->vocabulary->memory.push_back(range.chunk);  // also if it has no entries
  made->indices = translated(entries_of(range), layout, name, *made->vocabulary);
  made->same = true;
  for (std::size_t i = 0; i < made->indices.size(); ++i) {
    made->same = made->same && made->indices[i] == static_cast<std::int32_t>(i);
  }
  (void)dictionary_of(made->vocabulary);
  last_ = made;
  return last_;
}

std::int32_t KeptTexts::entry(std::string_view text, const std::string& name, std::int64_t row) {
  const std::int32_t entry = vocabulary_.find_or_add(text, name, row);
  if (static_cast<std::size_t>(entry) == letters_->size()) {
    are_many_ = true;  // until it is copied: if that fails, all are discarded
    if (letters_->size() == kMostKept || bytes_ + text.size() > kMostKeptBytes) return entry;
    vocabulary_.words.back() = letters_->emplace_back(text);
    bytes_ += text.size();
    are_many_ = false;
  }
  return entry;
}

std::shared_ptr<const Dictionary> KeptTexts::add(const std::vector<ChunkRange>& ranges, TextLayout layout,
                                                 const std::string& name, std::int64_t first_row, std::int32_t* to) {
  std::int64_t row = first_row;
  for (const ChunkRange& range : ranges) {
    for (std::int64_t i = 0; i < range.rows && !are_many_; ++i, ++row) {
      *to++ = range.is_null(i) ? 0 : entry(text_at(layout, *range.array, range.first + i, name), name, row);
    }
  }
  if (are_many_) {
    vocabulary_ = io::Vocabulary();
    letters_.reset();
    last_.reset();
    return nullptr;
  }
  if (vocabulary_.words.empty()) (void)entry({}, name, first_row);
  if (last_ == nullptr || last_->size() != vocabulary_.words.size()) {
    struct Kept {
      Dictionary words;
      std::shared_ptr<const std::deque<std::string>> letters;
    };
    const auto kept = std::make_shared<const Kept>(Kept{vocabulary_.words, letters_});
    last_ = {kept, &kept->words};
  }
  return last_;
}

std::unique_ptr<KeptTexts> KeptTextsPool::take() {
  const std::lock_guard lock(mutex_);
  free_.reserve(free_.size() + static_cast<std::size_t>(++taken_));  // so that returning them needs no memory
  if (free_.empty()) return std::make_unique<KeptTexts>();
  std::unique_ptr<KeptTexts> texts = std::move(free_.back());
  free_.pop_back();
  return texts;
}

void KeptTextsPool::give(std::unique_ptr<KeptTexts> texts) noexcept {
  if (texts == nullptr) return;
  const std::lock_guard lock(mutex_);
  --taken_;
  free_.push_back(std::move(texts));
}

namespace {

// Returns numbers, booleans or nothing but NULL.
ColumnData plain_elements(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                          std::int64_t first_row, io::Memory& memory) {
  if (type.all_null) return nulls_column(rows, memory);
  if (type.field.storage == Storage::bit) return bits_column(ranges, rows, memory);
  ColumnData data;
  pass_validity(ranges, rows, memory, data);
  data.values = numbers_of(type, ranges, rows, first_row, memory);
  return data;
}

// Writes the ends of a range's lists, which begin at element `begin` of the batch. Returns the range of their elements.
// `end_of` returns the end of list i in the content, and the beginning of list 0 for i = -1.
template <class EndOf>
ChunkRange elements_in(const ColumnType& type, const ChunkRange& range, std::int64_t first_row, std::int64_t begin,
                       std::int64_t* ends, EndOf end_of) {
  const ArrowArray* const content = range.array->children[0];
  const std::int64_t first = range.rows > 0 ? end_of(-1) : 0;
  std::int64_t last = first;
  for (std::int64_t i = 0; i < range.rows; ++i) {
    const std::int64_t end = end_of(i);
    if (first < 0 || end < last || end > content->length) {
      throw Error(Code::malformed,
                  type.place + ": the list in row " + std::to_string(first_row + i) + " is outside its content",
                  first_row + i);
    }
    last = end;
    ends[i] = begin + end - first;
  }
  return {range.chunk, content, content->offset + first, last - first};
}

ColumnData lists_column(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                        std::int64_t first_row, io::Memory& memory) {
  ColumnData data;
  pass_validity(ranges, rows, memory, data);
  const auto lists = std::make_shared<ColumnLists>();
  auto* const offsets =
      reinterpret_cast<std::int64_t*>(allocate((rows + 1) * std::int64_t{sizeof(std::int64_t)}, memory));
  std::vector<ChunkRange> contents;
  std::int64_t row = 0;
  for (const ChunkRange& range : ranges) {
    const auto add = [&](auto end_of) {
      contents.push_back(elements_in(type, range, first_row + row, offsets[row], offsets + row + 1, end_of));
    };
    const void* const raw = range.array->n_buffers > 1 ? range.array->buffers[1] : nullptr;
    if (type.offset_bytes == 0) {
      add([&](std::int64_t i) { return (range.first + i + 1) * type.list_size; });
    } else if (type.offset_bytes == 4) {
      add([&](std::int64_t i) { return std::int64_t{static_cast<const std::int32_t*>(raw)[range.first + i + 1]}; });
    } else {
      add([&](std::int64_t i) { return static_cast<const std::int64_t*>(raw)[range.first + i + 1]; });
    }
    row += range.rows;
  }
  lists->offsets = offsets;
  if (offsets[rows] > 0) {
    lists->elements = plain_elements(*type.element, contents, offsets[rows], first_row, memory);
  }
  data.lists = lists;
  return data;
}

}  // namespace

ColumnData elements_of(const ColumnType& type, const std::vector<ChunkRange>& ranges, std::int64_t rows,
                       std::int64_t first_row, bool may_repeat_texts, LastDictionary& dictionary, KeptTexts& kept,
                       io::Memory& memory) {
  const bool is_text = type.field.kind == ValueKind::text;
  if (type.indices && is_text) return encoded_text(type, ranges, rows, first_row, dictionary, memory);
  if (type.indices) return decoded_numbers(type, ranges, rows, first_row, memory);
  if (is_text) return plain_text(type, ranges, rows, first_row, may_repeat_texts, kept, memory);
  if (type.element) return lists_column(type, ranges, rows, first_row, memory);
  return plain_elements(type, ranges, rows, first_row, memory);
}

}  // namespace upsweep::python
