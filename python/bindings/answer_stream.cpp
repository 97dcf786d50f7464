// SPDX-License-Identifier: Apache-2.0
// bindings/answer_stream.cpp: cells made into Arrow's buffers, which the stream's chunk owns.
#include "answer_stream.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpu/parallel.hpp"
#include "expression/number.hpp"
#include "upsweep/detail/unreachable.hpp"
#include "upsweep/error.hpp"

namespace upsweep::python {
namespace {

using Bytes = std::vector<std::byte>;

/// Elements of a type, to be filled.
template <class T>
T* elements(Bytes& bytes, std::int64_t count) {
  bytes.resize(static_cast<std::size_t>(count) * sizeof(T));
  return reinterpret_cast<T*>(bytes.data());
}

struct Column {
  std::string name;
  std::string format;
  std::int64_t nulls = 0;
  Bytes validity = {};
  Bytes values = {};  // of text the offsets
  Bytes letters = {};
};

void set_bit(Bytes& bits, std::int64_t i) { bits[static_cast<std::size_t>(i / 8)] |= std::byte{1} << (i % 8); }

/// The cells of a column of an answer.
class Cells {
 public:
  Cells(const Answer& answer, std::size_t column) : answer_(answer), column_(column) {}

  [[nodiscard]] std::int64_t count() const { return std::ssize(answer_.rows); }
  [[nodiscard]] const Cell& operator[](std::int64_t row) const {
    return answer_.rows[static_cast<std::size_t>(row)][column_];
  }
  [[nodiscard]] const Field& field() const { return answer_.columns[column_]; }

  template <class T>
  [[nodiscard]] bool fit() const {
    return all(
        [](Int128 value) { return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max(); });
  }
  template <class Is>
  [[nodiscard]] bool all(Is is) const {
    return std::all_of(answer_.rows.begin(), answer_.rows.end(),
                       [&](const auto& row) { return row[column_].null || is(row[column_].exact); });
  }

 private:
  const Answer& answer_;
  std::size_t column_;
};

template <class T>
void add_exact(const Cells& cells, Column& column) {
  T* const to = elements<T>(column.values, cells.count());
  for (std::int64_t i = 0; i < cells.count(); ++i) to[i] = static_cast<T>(cells[i].exact);
}

void add_wide(const Cells& cells, int scale, Column& column) {
  constexpr Int128 kBound = expression::power_of_ten(expression::kMostDigits);
  if (!cells.all([](Int128 value) { return value < kBound && value > -kBound; })) {
    throw Error(Code::overflow, "column '" + cells.field().name +
                                    "' has integers of more than 38 digits, more than a " +
                                    "column of Arrow's holds: to_dict() and rows() have them");
  }
  column.format = "d:38," + std::to_string(scale);
  add_exact<Int128>(cells, column);
}

void add_integers(const Cells& cells, Column& column) {
  if (cells.fit<std::int64_t>()) {
    column.format = "l";
    add_exact<std::int64_t>(cells, column);
  } else if (cells.fit<std::uint64_t>()) {
    column.format = "L";
    add_exact<std::uint64_t>(cells, column);
  } else {
    add_wide(cells, 0, column);
  }
}

void add_text(const Cells& cells, Column& column) {
  column.format = "u";
  auto* const ends = elements<std::int32_t>(column.values, cells.count() + 1) + 1;
  ends[-1] = 0;
  for (std::int64_t i = 0; i < cells.count(); ++i) {
    const auto letters = std::as_bytes(std::span(cells[i].word));
    column.letters.insert(column.letters.end(), letters.begin(), letters.end());
    if (!std::in_range<std::int32_t>(column.letters.size())) {
      throw Error(Code::overflow, "column '" + column.name + "' has more than 2 GiB of text: rows() have it");
    }
    ends[i] = static_cast<std::int32_t>(column.letters.size());
  }
}

void add_reals(const Cells& cells, Column& column) {
  column.format = "g";
  auto* const to = elements<double>(column.values, cells.count());
  for (std::int64_t i = 0; i < cells.count(); ++i) to[i] = cells[i].real;
}

void add_values(const Cells& cells, Column& column) {
  switch (cells.field().kind) {
    case ValueKind::integer:
      return add_integers(cells, column);
    case ValueKind::decimal:
      return add_wide(cells, cells.field().scale, column);
    case ValueKind::text:
      return add_text(cells, column);
    case ValueKind::date:
      column.format = "tdD";
      return add_exact<std::int32_t>(cells, column);
    case ValueKind::real:
      return add_reals(cells, column);
    case ValueKind::boolean:
      column.format = "b";
      column.values.resize(static_cast<std::size_t>(cells.count() + 7) / 8);
      for (std::int64_t i = 0; i < cells.count(); ++i) {
        if (cells[i].exact != 0) set_bit(column.values, i);
      }
      return;
  }
  detail::no_such_value();
}

Column column_of(const Answer& answer, std::size_t which) {
  const Cells cells(answer, which);
  Column column{.name = cells.field().name};
  add_values(cells, column);
  column.validity.resize(static_cast<std::size_t>(cells.count() + 7) / 8);
  for (std::int64_t i = 0; i < cells.count(); ++i) {
    if (cells[i].null) {
      ++column.nulls;
    } else {
      set_bit(column.validity, i);
    }
  }
  return column;
}

struct Columns {
  std::vector<Column> all;
  std::int64_t rows = 0;
};

/// Columns of many rows by a thread each: every cell is a miss of the cache.
std::vector<Column> columns_of(const Answer& answer) {
  constexpr std::int64_t kFewCells = 1 << 16;
  const std::int64_t count = std::ssize(answer.columns);
  std::vector<Column> all(answer.columns.size());
  std::mutex failing;
  std::exception_ptr error;
  std::atomic<std::int64_t> next{0};
  const bool are_few = count * std::ssize(answer.rows) < kFewCells;
  cpu::run_workers(are_few ? 1 : cpu::workers_for(count, 1, 0), [&](int) {
    try {
      for (std::int64_t i = next++; i < count; i = next++) {
        all[static_cast<std::size_t>(i)] = column_of(answer, static_cast<std::size_t>(i));
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
  return all;
}

/// An array or schema with what it points to. A child is released by its parent, or by who has taken it from there.
template <class T>
struct Made {
  std::shared_ptr<const Columns> columns;
  std::vector<T> children;
  std::vector<T*> pointers;
  std::array<const void*, 3> buffers{};

  /// Puts it after `top`, which is filled but for its children.
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
  columns->rows = std::ssize(answer.rows);
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
