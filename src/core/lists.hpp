// SPDX-License-Identifier: Apache-2.0
// core/lists.hpp: bounds of lists by their type, the errors of one list's bounds, and their messages.
#pragma once

#include <cstdint>
#include <string>

#include "core/visit.hpp"
#include "upsweep/detail/list_error.hpp"
#include "upsweep/error.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

/// Returns `count` lists between starts and stops of that type.
[[nodiscard]] Lists lists_between(Type type, const void* starts, const void* stops, std::int64_t count);

/// Bounds in memory.
template <class T>
struct GivenBounds {
  const T* starts;
  const T* stops;

  [[nodiscard]] std::int64_t start(std::int64_t i) const { return static_cast<std::int64_t>(starts[i]); }
  [[nodiscard]] std::int64_t stop(std::int64_t i) const { return static_cast<std::int64_t>(stops[i]); }
};

/// Bounds of lists that are all of one size.
struct SizedBounds {
  std::int64_t size;

  [[nodiscard]] std::int64_t start(std::int64_t i) const { return i * size; }
  [[nodiscard]] std::int64_t stop(std::int64_t i) const { return (i + 1) * size; }
};

/// Calls f(bounds) with a GivenBounds or SizedBounds. Does not read the validity.
template <class F>
decltype(auto) visit_bounds(const Lists& lists, F&& f) {
  if (lists.has_size) return f(SizedBounds{lists.size});
  return visit_list_bound(lists.type, [&]<class T>(std::type_identity<T>) {
    return f(GivenBounds<T>{static_cast<const T*>(lists.starts), static_cast<const T*>(lists.stops)});
  });
}

/// Returns the error of a list's bounds in `content` elements. Equal bounds are always ok.
constexpr Code check_list(std::int64_t start, std::int64_t stop, std::int64_t content) {
  if (start == stop) return Code::ok;
  if (stop < start) return Code::stop_before_start;
  if (start < 0) return Code::negative_start;
  return stop > content ? Code::stop_past_end : Code::ok;
}

/// Returns the error of list i, which may be null.
Code check_list(const Lists& lists, std::int64_t i, std::int64_t content);

/// Throws the Error of a bad list, whose bounds are in host memory. `code` is the result of check_list().
[[noreturn]] void throw_bad_list(Code code, std::int64_t list, std::int64_t start, std::int64_t stop,
                                 std::int64_t content);
/// Throws the Error of a bad list, and reads its bounds from host memory.
[[noreturn]] void throw_bad_list(const Lists& lists, std::int64_t list, std::int64_t content);

/// Throws overflow: the offset after the list exceeds int64.
[[noreturn]] void throw_offset_overflow(std::int64_t list);

/// Throws invalid_argument: a failed call reads `what` again to report the reason, but finds no error in it.
[[noreturn]] void throw_changed(const std::string& what);

/// Throws unequal_lengths: `output` holds `capacity` elements and needs more.
[[noreturn]] void throw_too_small(const std::string& output, std::int64_t capacity, std::int64_t needed);
/// Throws as throw_too_small() does if `needed` elements do not fit.
void require_capacity(const std::string& output, std::int64_t capacity, std::int64_t needed);

}  // namespace upsweep
