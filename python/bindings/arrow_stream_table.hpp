// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_stream_table.hpp: tables of columns in other libraries' memory: Arrow streams, and arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "arrow_c_data.hpp"
#include "upsweep/table.hpp"

namespace upsweep::python {

/// Whether a stream's chunks are all in memory, or are created on request and can be read only once.
enum class StreamKind : std::uint8_t { in_memory, one_pass };

/// Properties of a column that Arrow's schema may not contain.
struct OwnType {
  std::string name;            ///< the type's name in its library; empty: Arrow's name
  bool has_own_order = false;  ///< ordered categories
};

/// Takes ownership of the stream and returns it as a table. Rows are copied for batches in two cases: their values are
/// not stored in the computed form, or their chunks are shorter than batches. Chunks in memory are row groups; a stream
/// that can be read only once is one row group. `name` is for messages. `own_types` are in the order of the columns, or
/// empty. Throws Error unsupported_type (not a table), unreadable, malformed.
std::shared_ptr<Table> table_of_stream(ArrowArrayStream& stream, StreamKind kind, std::string name,
                                       const std::vector<OwnType>& own_types);

/// An array as a column: contiguous elements in an Arrow format.
struct ArrayColumn {
  std::string name;
  std::string format;
  std::string unsupported;  ///< the type's name, if the format is empty
  const void* values = nullptr;
  const std::uint8_t* validity = nullptr;  ///< null: no row is NULL
};

/// Returns arrays as a table. The arrays must outlive the table.
std::shared_ptr<Table> table_of_arrays(const std::vector<ArrayColumn>& columns, std::int64_t rows);

}  // namespace upsweep::python
