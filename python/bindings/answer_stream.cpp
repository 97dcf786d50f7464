// SPDX-License-Identifier: Apache-2.0
// bindings/answer_stream.cpp: converts columns to Arrow buffers, which the stream's chunk owns.
#include "answer_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "cpu/work_partition.hpp"
#include "sql/expression/number.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"
#include "upsweep/interval.hpp"

namespace upsweep::python {
namespace {

using Bytes = detail::Unwritten<std::byte>;

struct Column {
  std::string name;
  std::string format;
  std::int64_t nulls = 0;
  Bytes validity = {};
  Bytes values = {};  // for text the offsets
  Bytes letters = {};
};

/// Resizes `bytes` to `count` elements without initializing them.
template <class T>
T* elements(Bytes& bytes, std::size_t count) {
  bytes.resize(count * sizeof(T));
  return reinterpret_cast<T*>(bytes.data());
}

/// Minimum number of bytes for which waking a thread is worth its cost.
constexpr std::int64_t kLeastBytes = 1 << 20;

/// Returns one bit per row.
template <class IsSet>
Bytes bits_of(std::size_t rows, const IsSet& is_set) {
  Bytes bits((rows + 7) / 8, std::byte{0});
  cpu::for_each_work_unit(std::ssize(bits), kLeastBytes / 8, 0, [&](cpu::WorkUnit unit) {
    const std::size_t end = std::min(rows, 8 * static_cast<std::size_t>(unit.last));
    for (std::size_t i = 8 * static_cast<std::size_t>(unit.first); i < end; ++i) {
      if (is_set(i)) bits[i / 8] |= std::byte{1} << (i % 8);
    }
  });
  return bits;
}

constexpr int kMilliDigits = 3;  // digits after the second

/// Copies values, with all threads if there are many: this is the first write to the memory.
template <class To, class From>
void copy(const From& values, To* to) {
  cpu::for_each_work_unit(std::ssize(values), kLeastBytes / std::int64_t{sizeof(To)}, 0, [&](cpu::WorkUnit unit) {
    std::transform(values.begin() + unit.first, values.begin() + unit.last, to + unit.first,
                   [](const auto& value) { return static_cast<To>(value); });
  });
}
template <class To, class From>
void copy(const From& values, Bytes& bytes) {
  copy(values, elements<To>(bytes, values.size()));
}

template <class To>
void add_exact(const AnswerColumn& from, Column& column) {
  if (from.wide.empty()) return copy<To>(from.exact, column.values);
  copy<To>(from.wide, column.values);
}

/// Whether all values are from `least` to `greatest`. The value of a NULL is 0.
bool are_within(const AnswerColumn& from, Int128 least, Int128 greatest) {
  std::atomic<bool> are{true};
  cpu::for_each_work_unit(
      std::ssize(from.wide), kLeastBytes / std::int64_t{sizeof(Int128)}, 0, [&](cpu::WorkUnit unit) {
        const bool all = std::all_of(from.wide.begin() + unit.first, from.wide.begin() + unit.last,
                                     [&](Int128 value) { return value >= least && value <= greatest; });
        if (!all) are = false;
      });
  return are;
}

void add_wide(const AnswerColumn& from, int scale, Column& column) {
  constexpr Int128 kBound = expression::power_of_ten(expression::kMostDigits);
  if (!are_within(from, -kBound + 1, kBound - 1)) {
    throw Error(Code::overflow, "column '" + column.name + "' has integers of more than 38 digits, which do not " +
                                    "fit an Arrow column: use to_dict() or rows()");
  }
  column.format = "d:38," + std::to_string(scale);
  add_exact<Int128>(from, column);
}

void add_integers(const AnswerColumn& from, Column& column) {
  if (from.wide.empty()) {
    column.format = "l";
    add_exact<std::int64_t>(from, column);
  } else if (are_within(from, 0, std::numeric_limits<std::uint64_t>::max())) {
    column.format = "L";
    add_exact<std::uint64_t>(from, column);
  } else {
    add_wide(from, 0, column);
  }
}

void add_text(const AnswerColumn& from, Column& column) {
  column.format = "u";
  if (!std::in_range<std::int32_t>(from.letters.size())) {
    throw Error(Code::overflow, "column '" + column.name + "' has more than 2 GiB of text: use rows()");
  }
  auto* const offsets = elements<std::int32_t>(column.values, from.ends.size() + 1);
  offsets[0] = 0;
  copy(from.ends, offsets + 1);
  copy<std::byte>(from.letters, column.letters);
}

/// Arrow's letter for the unit of a timestamp, a time or a duration.
char unit_of(const Field& field) { return "smun"[field.scale / kMilliDigits]; }

void add_values(const AnswerColumn& from, const Field& field, Column& column) {
  switch (from.kind) {
    case ValueKind::integer:
      return add_integers(from, column);
    case ValueKind::decimal:
      return add_wide(from, field.scale, column);
    case ValueKind::text:
      return add_text(from, column);
    case ValueKind::date:
      column.format = "tdD";
      return add_exact<std::int32_t>(from, column);
    case ValueKind::timestamp:
      column.format = std::string("ts") + unit_of(field) + ":" + field.zone;
      return add_exact<std::int64_t>(from, column);
    case ValueKind::time:
      column.format = std::string("tt") + unit_of(field);
      if (field.scale <= kMilliDigits) return add_exact<std::int32_t>(from, column);
      return add_exact<std::int64_t>(from, column);
    case ValueKind::duration:
      column.format = std::string("tD") + unit_of(field);
      return add_exact<std::int64_t>(from, column);
    case ValueKind::interval: {
      column.format = "tin";
      auto* const to = elements<Interval>(column.values, from.size());
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = interval_of(from.exact_at(i));
      return;
    }
    case ValueKind::real:
      column.format = "g";
      return copy<double>(from.reals, column.values);
    case ValueKind::boolean:
      column.format = "b";
      column.values = bits_of(from.size(), [&](std::size_t i) { return from.exact_at(i) != 0; });
      return;
  }
  detail::no_such_value();
}

Column column_of(const Answer& answer, std::size_t which) {
  const Field& field = answer.columns[which];
  const AnswerColumn& from = answer.rows.columns[which];
  Column column{.name = field.name};
  add_values(from, field, column);
  if (from.nulls.empty()) return column;
  column.nulls = std::count(from.nulls.begin(), from.nulls.end(), 1);
  column.validity = bits_of(from.size(), [&](std::size_t i) { return from.nulls[i] == 0; });
  return column;
}

struct Columns {
  std::vector<Column> all;
  std::int64_t rows = 0;
};

std::int64_t rows_of(const Answer& answer) { return static_cast<std::int64_t>(answer.rows.size()); }

std::vector<Column> columns_of(const Answer& answer) {
  std::vector<Column> all;
  all.reserve(answer.columns.size());
  for (std::size_t i = 0; i < answer.columns.size(); ++i) all.push_back(column_of(answer, i));
  return all;
}

/// An array or schema with everything it points to. A child is released by its parent, or by whoever has moved it out.
template <class T>
struct Made {
  std::shared_ptr<const Columns> columns;
  std::vector<T> children;
  std::vector<T*> pointers;
  std::array<const void*, 3> buffers{};

  /// Attaches it to `top`, which is complete except for its children.
  static void hand_over(std::unique_ptr<Made> made, T& top) {
    for (T& child : made->children) made->pointers.push_back(&child);
    top.n_children = std::ssize(made->pointers);
    top.children = made->pointers.data();
    top.release = [](T* released) {
      for (T& child : static_cast<Made*>(released->private_data)->children) {
        if (child.release != nullptr) child.release(&child);
      }
      released->release = nullptr;
      delete static_cast<Made*>(released->private_data);
    };
    top.private_data = made.release();
  }
};

ArrowSchema schema_of(const std::shared_ptr<const Columns>& columns) {
  const auto made_of = [&](const char* format, const char* name, std::vector<ArrowSchema> children) {
    auto made = std::make_unique<Made<ArrowSchema>>();
    made->columns = columns;
    made->children = std::move(children);
    ArrowSchema schema{};
    schema.format = format;
    schema.name = name;
    schema.flags = kArrowFlagNullable;
    Made<ArrowSchema>::hand_over(std::move(made), schema);
    return schema;
  };
  std::vector<ArrowSchema> children;
  for (const Column& column : columns->all) children.push_back(made_of(column.format.c_str(), column.name.c_str(), {}));
  return made_of("+s", "", std::move(children));
}

ArrowArray array_of(const std::shared_ptr<const Columns>& columns) {
  const auto made_of = [&](const Column* column, std::vector<ArrowArray> children) {
    auto made = std::make_unique<Made<ArrowArray>>();
    made->columns = columns;
    made->children = std::move(children);
    ArrowArray array{};
    array.length = columns->rows;
    array.n_buffers = 1;
    if (column != nullptr) {
      made->buffers = {column->nulls > 0 ? column->validity.data() : nullptr, column->values.data(),
                       column->letters.data()};
      array.null_count = column->nulls;
      array.n_buffers = column->format == "u" ? 3 : 2;
    }
    array.buffers = made->buffers.data();
    Made<ArrowArray>::hand_over(std::move(made), array);
    return array;
  };
  std::vector<ArrowArray> children;
  for (const Column& column : columns->all) children.push_back(made_of(&column, {}));
  return made_of(nullptr, std::move(children));
}

struct Source {
  std::shared_ptr<const Columns> columns;
  bool given = false;
};

template <class Make>
int without_throwing(Make make) noexcept {
  try {
    make();
    return 0;
  } catch (...) {
    return ENOMEM;
  }
}

}  // namespace

ArrowArrayStream stream_of(const Answer& answer) {
  const auto columns = std::make_shared<Columns>();
  columns->rows = rows_of(answer);
  columns->all = columns_of(answer);
  ArrowArrayStream stream{};
  stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    return without_throwing([&] { *out = schema_of(static_cast<Source*>(self->private_data)->columns); });
  };
  stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    auto* const from = static_cast<Source*>(self->private_data);
    return without_throwing([&] { *out = std::exchange(from->given, true) ? ArrowArray{} : array_of(from->columns); });
  };
  stream.get_last_error = [](ArrowArrayStream* /*self*/) -> const char* { return "out of memory"; };
  stream.release = [](ArrowArrayStream* self) {
    delete static_cast<Source*>(self->private_data);
    self->release = nullptr;
  };
  stream.private_data = new Source{columns};
  return stream;
}

}  // namespace upsweep::python
