// SPDX-License-Identifier: Apache-2.0
// api/c_api.cpp: implements the functions of upsweep.h on arrays, and those that describe the library.
#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "api/c_call.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::c {
namespace {

static_assert(UPSWEEP_FLOAT64 == kTypeCount - 1 && UPSWEEP_FLOAT64 == static_cast<int>(Type::float64) &&
                  UPSWEEP_UINT8 == static_cast<int>(Type::uint8),
              "upsweep.h lists the types in the order of types.hpp");

/// Returns null if there is no such rung. Descriptions are string literals, which end with a null character.
const RungInfo* rung_at(int problem, int rung) {
  if (problem < 0 || problem >= std::ssize(problems())) return nullptr;
  const std::vector<RungInfo>& rungs = problems()[static_cast<std::size_t>(problem)].rungs;
  return rung >= 0 && rung < std::ssize(rungs) ? &rungs[static_cast<std::size_t>(rung)] : nullptr;
}

/// Runs run(policy) for a call that only the host supports and that has no ladder.
template <class Run>
std::string_view on_host(const upsweep_place* place, const Run& run) {
  return at(place, [&](const auto& policy) {
    if constexpr (std::is_same_v<decltype(policy), const Policy&>) {
      run(policy);
    } else {
      throw Error(Code::unsupported, "along an axis: only on the host; on a GPU, make it the last axis and use lists");
    }
    return "";
  });
}

dynamic::Axis axis_of_c(const upsweep_axis& axis) { return {axis.outer, axis.length, axis.inner}; }

}  // namespace
}  // namespace upsweep::c

using namespace upsweep;     // NOLINT(google-build-using-namespace): the functions of this file are C's
using namespace upsweep::c;  // NOLINT(google-build-using-namespace)

int upsweep_scan(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_array in,
                 upsweep_array out, upsweep_result* result) {
  return guarded(result, [&] {
    const dynamic::Array to = output(out);
    const dynamic::ScanOptions options{.op = operator_of_c(op), .exclusive = exclusive != 0};
    dynamic::Carry carry = init != nullptr ? dynamic::Carry::of(to.type, init) : dynamic::Carry(to.type);
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

int upsweep_scan_along(const upsweep_place* place, const char* op, int exclusive, const void* init, upsweep_axis axis,
                       upsweep_array in, upsweep_array out, upsweep_result* result) {
  return guarded(result, [&] {
    const dynamic::ScanOptions options{.op = operator_of_c(op), .exclusive = exclusive != 0};
    return on_host(place, [&](const Policy& policy) {
      dynamic::scan_along(policy, options, axis_of_c(axis), input(in), output(out), init);
    });
  });
}

int upsweep_reduce_along(const upsweep_place* place, const char* op, const void* init, upsweep_axis axis,
                         upsweep_array in, upsweep_array out, upsweep_result* result) {
  return guarded(result, [&] {
    const Operator with = operator_of_c(op);
    return on_host(place, [&](const Policy& policy) {
      dynamic::reduce_along(policy, with, axis_of_c(axis), input(in), output(out), init);
    });
  });
}

int upsweep_offsets(const upsweep_place* place, upsweep_array starts, upsweep_array stops, upsweep_array offsets,
                    upsweep_result* result) {
  return guarded(result, [&] {
    (void)elements<std::int64_t>(offsets, "offsets");
    detail::require_offsets(offsets.length, starts.length);
    OffsetsCarry carry;
    return at(place, [&](const auto& policy) {
      return dynamic::offsets(policy, input(starts), input(stops), static_cast<std::int64_t*>(offsets.data), carry);
    });
  });
}

int upsweep_filtered_sum(const upsweep_place* place, upsweep_array key, upsweep_array quantity, upsweep_array price,
                         uint32_t limit, int64_t* sum, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(sum, 1, "sum");
    detail::require_columns(key.length, quantity.length, price.length);
    return at(place, [&](const auto& policy) {
      const FilteredSum selected =
          filtered_sum(policy, elements<std::uint32_t>(key, "key"), elements<std::int64_t>(quantity, "quantity"),
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

int upsweep_has_cuda(void) { return gpu::is_built() ? 1 : 0; }

int upsweep_describe_device(int ordinal, upsweep_device* device, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(device, 1, "device");
    const std::vector<gpu::Device>& all = gpu::devices();
    if (ordinal < 0 || ordinal >= std::ssize(all)) {
      throw Error(Code::no_device,
                  "unknown GPU " + std::to_string(ordinal) + ": " + std::to_string(all.size()) + " are known");
    }
    const gpu::Device& known = all[static_cast<std::size_t>(ordinal)];
    put(device->name, known.name);
    put(device->error, known.error);
    device->major = known.major;
    device->minor = known.minor;
    device->multiprocessors = known.multiprocessors;
    device->memory_bytes = known.memory_bytes;
    device->l2_bytes = known.l2_bytes;
    return "";
  });
}
