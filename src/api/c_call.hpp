// SPDX-License-Identifier: Apache-2.0
// api/c_call.hpp: code that all functions of upsweep.h share: converts places to policies, C's arrays to the library's,
// and exceptions to results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "upsweep/detail/offsets_call.hpp"
#include "upsweep/detail/operator_hint.hpp"
#include "upsweep/detail/scan_call.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/policy.hpp"
#include "upsweep/types.hpp"
#include "upsweep/upsweep.h"

namespace upsweep::c {

/// Copies the text, truncated if it does not fit.
template <std::size_t kSize>
void put(char (&to)[kSize], std::string_view text) {
  to[text.copy(to, kSize - 1)] = '\0';
}

inline int report(upsweep_result* result, Code code, std::int64_t index, std::string_view rung,
                  std::string_view message) {
  if (result != nullptr) {
    put(result->code, word(code));
    result->index = index;
    put(result->rung, rung);
    put(result->message, message);
  }
  return exit_code(code);
}

/// Runs `run`, which returns the rung, or "" for a call without rungs. Catches every exception.
template <class Run>
int guarded(upsweep_result* result, const Run& run) noexcept {
  try {
    return report(result, Code::ok, kNoIndex, run(), "");
  } catch (const Error& error) {
    return report(result, error.code(), error.index(), "", error.what());
  } catch (const std::bad_alloc&) {
    return report(result, Code::out_of_memory, kNoIndex, "", "not enough memory");
  } catch (const std::exception& error) {
    return report(result, Code::device_failed, kNoIndex, "", error.what());
  }
}

/// Calls run(policy) with the place's Policy or gpu::Policy.
template <class Run>
std::string_view at(const upsweep_place* place, const Run& run) {
  constexpr upsweep_place kDefault = UPSWEEP_PLACE_DEFAULT;
  const upsweep_place& where = place != nullptr ? *place : kDefault;
  const std::string_view rung = where.rung != nullptr ? where.rung : "";
  const Overflow overflow = where.checked != 0 ? Overflow::checked : Overflow::wrap;
  if (where.device != UPSWEEP_HOST) {
    const auto stream = static_cast<gpu::Stream>(where.stream);
    return run(gpu::Policy{}.with_device(where.device).with_stream(stream).with_rung(rung).with_overflow(overflow));
  }
  return run(Policy{.threads = where.threads, .rung = rung, .overflow = overflow});
}

/// The number in an enumeration of C, which may be any number: not all are values of the enumeration in C++.
template <class Enumeration>
int number_of(const Enumeration& value) {
  static_assert(sizeof(Enumeration) == sizeof(int));
  int number = 0;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

inline Type type_of_c(const upsweep_type& type) {
  const int value = number_of(type);
  if (value >= 0 && value < kTypeCount) return static_cast<Type>(value);
  throw Error(Code::invalid_argument, "type: " + std::to_string(value) + " is not an upsweep_type");
}

inline dynamic::ConstArray input(const upsweep_array& array) {
  return {array.data, array.length, type_of_c(array.type)};
}
inline dynamic::Array output(const upsweep_array& array) { return {array.data, array.length, type_of_c(array.type)}; }

inline Operator operator_of_c(const char* op) {
  const auto found = op != nullptr ? parse_operator(op) : std::nullopt;
  if (found) return *found;
  const std::string word = op != nullptr ? op : "";
  throw Error(Code::invalid_argument, "op: unknown operator '" + word + "'" + detail::operator_hint(word));
}

/// The elements, which must have type T.
template <class T>
T* elements(const upsweep_array& array, const char* what) {
  if (type_of_c(array.type) == type_of<T>()) return static_cast<T*>(array.data);
  throw Error(Code::invalid_argument, std::string(what) + " must be " + std::string(name(type_of<T>())) + ", not " +
                                          std::string(name(type_of_c(array.type))));
}

}  // namespace upsweep::c
