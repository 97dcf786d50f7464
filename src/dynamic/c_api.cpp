// SPDX-License-Identifier: Apache-2.0
// dynamic/c_api.cpp: upsweep.h: places made into policies, exceptions into results.
#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "upsweep/aggregate.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/subset_sum.hpp"
#include "upsweep/upsweep.h"

namespace upsweep {
namespace {

static_assert(UPSWEEP_FLOAT64 == static_cast<int>(Type::float64) && UPSWEEP_UINT8 == static_cast<int>(Type::uint8),
              "upsweep.h lists the types in the order of types.hpp");

template <std::size_t kSize>
void put(char (&to)[kSize], std::string_view text) {
  to[text.copy(to, kSize - 1)] = '\0';
}

int report(upsweep_result* result, Code code, std::int64_t index, std::string_view rung, std::string_view message) {
  if (result != nullptr) {
    put(result->code, word(code));
    result->index = index;
    put(result->rung, rung);
    put(result->message, message);
  }
  return exit_code(code);
}

/// `run` returns the rung; whatever it throws ends here.
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

/// run(policy) with the place's Policy or gpu::Policy.
template <class Run>
std::string_view at(const upsweep_place* place, const Run& run) {
  constexpr upsweep_place kDefault = UPSWEEP_PLACE_DEFAULT;
  const upsweep_place& where = place != nullptr ? *place : kDefault;
  const std::string_view rung = where.rung != nullptr ? where.rung : "";
  if (where.device != UPSWEEP_HOST) {
    return run(
        gpu::Policy{}.with_device(where.device).with_stream(static_cast<gpu::Stream>(where.stream)).with_rung(rung));
  }
  return run(Policy{
      .threads = where.threads, .rung = rung, .overflow = where.checked != 0 ? Overflow::checked : Overflow::wrap});
}

Type type_of_c(upsweep_type type) {
  const int value = static_cast<int>(type);
  if (value >= 0 && value < kTypeCount) return static_cast<Type>(value);
  throw Error(Code::invalid_argument, "type: " + std::to_string(value) + " is no upsweep_type");
}

dynamic::ConstArray input(const upsweep_array& array) { return {array.data, array.length, type_of_c(array.type)}; }

Operator operator_of_c(const char* op) {
  const auto found = op != nullptr ? parse_operator(op) : std::nullopt;
  if (found) return *found;
  throw Error(Code::invalid_argument, "op: there is no operator '" + std::string(op != nullptr ? op : "") + "'");
}

/// The elements, which must be of that type.
template <class T>
const T* elements(const upsweep_array& array, const char* what) {
  if (type_of_c(array.type) == type_of<T>()) return static_cast<const T*>(array.data);
  throw Error(Code::invalid_argument, std::string(what) + " must be " + std::string(name(type_of<T>())) + ", not " +
                                          std::string(name(type_of_c(array.type))));
}

/// Null: there is no such rung. Descriptions are string literals: a null ends them.
const RungInfo* rung_at(int problem, int rung) {
  if (problem < 0 || problem >= std::ssize(problems())) return nullptr;
  const std::vector<RungInfo>& rungs = problems()[static_cast<std::size_t>(problem)].rungs;
  return rung >= 0 && rung < std::ssize(rungs) ? &rungs[static_cast<std::size_t>(rung)] : nullptr;
}

}  // namespace
}  // namespace upsweep

using namespace upsweep;  // NOLINT(google-build-using-namespace): the functions of this file are C's

int upsweep_scan(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_array in,
                 upsweep_array out, upsweep_result* result) {
  return guarded(result, [&] {
    const dynamic::Array to{out.data, out.length, type_of_c(out.type)};
    const dynamic::ScanOptions options{.op = operator_of_c(op), .exclusive = exclusive != 0};
    dynamic::Carry carry = init != nullptr     ? dynamic::Carry::of(to.type, init)
                           : options.exclusive ? dynamic::Carry::identity(options.op, to.type)
                                               : dynamic::Carry(to.type);
    return at(place, [&](const auto& policy) { return dynamic::scan(policy, options, input(in), to, carry); });
  });
}

int upsweep_reduce(const upsweep_place* place, const char* op, const void* init, upsweep_array in, upsweep_type type,
                   void* value, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(value, 1, "value");
    const Operator with = operator_of_c(op);
    const Type out = type_of_c(type);
    dynamic::Carry carry = init != nullptr ? dynamic::Carry::of(out, init) : dynamic::Carry(out);
    const std::string_view rung =
        at(place, [&](const auto& policy) { return dynamic::reduce(policy, with, input(in), carry); });
    if (place != nullptr && place->checked != 0 && carry.wraps() != 0) detail::throw_sum_overflow(out);
    (carry.any() ? carry : dynamic::Carry::identity(with, out)).value(value);
    return rung;
  });
}

int upsweep_compact_offsets(const upsweep_place* place, upsweep_array starts, upsweep_array stops,
                            upsweep_array offsets, upsweep_result* result) {
  return guarded(result, [&] {
    (void)elements<std::int64_t>(offsets, "offsets");
    detail::require_offsets(offsets.length, starts.length);
    OffsetsCarry carry;
    return at(place, [&](const auto& policy) {
      return dynamic::compact_offsets(policy, input(starts), input(stops), static_cast<std::int64_t*>(offsets.data),
                                      carry);
    });
  });
}

int upsweep_select_sum(const upsweep_place* place, upsweep_array key, upsweep_array quantity, upsweep_array price,
                       uint32_t limit, int64_t* sum, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(sum, 1, "sum");
    detail::require_columns(key.length, quantity.length, price.length);
    return at(place, [&](const auto& policy) {
      const SelectSum selected =
          select_sum(policy, elements<std::uint32_t>(key, "key"), elements<std::int64_t>(quantity, "quantity"),
                     elements<std::int64_t>(price, "price"), key.length, limit);
      *sum = selected.sum;
      return selected.rung;
    });
  });
}

int upsweep_find_subset(const upsweep_place* place, const int64_t* items, int64_t n, int64_t target, int64_t* chosen,
                        int64_t* count, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(items, n, "items");
    detail::require_array(count, 1, "count");
    return at(place, [&](const auto& policy) {
      const SubsetSum found = detail::solve_subset_sum(policy, items, n, target, {});
      *count = found.reachable ? std::ssize(found.indices) : -1;
      if (chosen != nullptr) std::copy(found.indices.begin(), found.indices.end(), chosen);
      return found.rung;
    });
  });
}

const char* upsweep_problem(int problem) {
  if (problem < 0 || problem >= std::ssize(problems())) return nullptr;
  return problems()[static_cast<std::size_t>(problem)].name.data();
}

const char* upsweep_rung(int problem, int rung) {
  const RungInfo* const info = rung_at(problem, rung);
  return info != nullptr ? info->id.data() : nullptr;
}

const char* upsweep_rung_idea(int problem, int rung) {
  const RungInfo* const info = rung_at(problem, rung);
  return info != nullptr ? info->idea.data() : nullptr;
}

int upsweep_device_count(void) { return static_cast<int>(gpu::devices().size()); }
