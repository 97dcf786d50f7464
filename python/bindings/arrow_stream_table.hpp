// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_stream_table.hpp: columns in the memory of other libraries as tables: streams of Arrow's C interface, and arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrow_c_data.hpp"
#include "upsweep/table.hpp"

namespace upsweep::python {

/// Whether all of a stream's chunks are in memory already, or are made as they are asked for, and can be read but once.
enum class StreamKind : std::uint8_t { in_memory, one_pass };

/// What Arrow's schema may not tell of a column.
struct OwnType {
  std::string name;            ///< that its library has for the type; empty: Arrow's
  bool has_own_order = false;  ///< ordered categories
};

/// Takes the stream over. Nothing is copied but what batches need: what is stored in another way than it is computed with,
/// and rows of chunks that are shorter than batches. In memory, chunks are row groups; read once, the whole is one.
/// `name` is for messages; `own_types` belong to the columns in their order, or are none. Throws Error unsupported_type (no
/// table), unreadable, malformed.
std::shared_ptr<Table> table_of_stream(ArrowArrayStream& stream, StreamKind kind, std::string name,
                                       const std::vector<OwnType>& own_types);

/// An array as a column: its elements by Arrow's format, side by side.
struct ArrayColumn {
  std::string name;
  std::string format;
  std::string unsupported;  ///< where the format is empty: what its type is called
  const void* values = nullptr;
  const std::uint8_t* validity = nullptr;  ///< null: no row is NULL
};

/// Arrays that outlive the table.
std::shared_ptr<Table> table_of_arrays(const std::vector<ArrayColumn>& columns, std::int64_t rows);

}  // namespace upsweep::python
