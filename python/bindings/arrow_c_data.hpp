// SPDX-License-Identifier: Apache-2.0
// bindings/arrow_c_data.hpp: Arrow's C data and stream interfaces, as specified, and an owner that releases them.
#pragma once

#include <cstdint>

// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html, including their guards.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

inline constexpr std::int64_t kArrowFlagDictionaryOrdered = 1;
inline constexpr std::int64_t kArrowFlagNullable = 2;

extern "C" {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

}  // extern "C"

#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

extern "C" {

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

}  // extern "C"

#endif

namespace upsweep::python {

/// Owns one of these structs and releases it in its destructor.
template <class T>
struct Held {
  T value{};

  Held() = default;
  explicit Held(T taken) : value(taken) {}
  ~Held() {
    if (value.release != nullptr) value.release(&value);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

}  // namespace upsweep::python
