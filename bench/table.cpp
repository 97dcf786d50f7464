// SPDX-License-Identifier: Apache-2.0
// bench/table.cpp: columns on huge pages: made, or as they came.
#include "table.hpp"

#include "buffer.hpp"
#include "made.hpp"
#include "upsweep/aggregate.hpp"

namespace upsweep::bench {
namespace {

template <class T>
T* make_column(std::shared_ptr<const void>& column, std::int64_t rows) {
  auto buffer = std::make_shared<Buffer<T>>(rows);
  T* const data = buffer->data();
  column = std::shared_ptr<const void>(std::move(buffer), data);
  return data;
}

}  // namespace

Table::Table(std::int64_t rows) : rows_(rows) {
  auto* const key = make_column<std::uint32_t>(columns_[0], rows);
  auto* const quantity = make_column<std::int64_t>(columns_[1], rows);
  auto* const price = make_column<std::int64_t>(columns_[2], rows);
  fill_lineitem(key, quantity, price, rows);
}

Table::Table(const std::vector<Column>& columns) : rows_(columns[0].count) {
  detail::require_columns(columns[0].count, columns[1].count, columns[2].count);
  for (std::size_t i = 0; i < 3; ++i) {
    columns_[i] = columns[i].data;
    name_.append(name_.empty() ? "" : " ").append(columns[i].name);
  }
}

}  // namespace upsweep::bench
