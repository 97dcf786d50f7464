// SPDX-License-Identifier: Apache-2.0
// api/c_lists.cpp: implements the functions of upsweep.h on lists, masks, columns and keys.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/c_call.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/combinations.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/select.hpp"

namespace upsweep::c {
namespace {

// -------------------------------------------------------------------------------------------------- arguments of calls

/// An argument that must not be null.
template <class T>
const T& given(const T* pointer, const char* what) {
  detail::require_array(pointer, 1, what);
  return *pointer;
}

/// Null means no mask.
Mask mask_of_c(const upsweep_mask* mask, const char* what) {
  if (mask == nullptr) return {};
  detail::require_array(mask->data, mask->length, what);
  return mask->is_bitmap != 0 ? Mask::bits(mask->data, mask->length, mask->first_bit)
                              : Mask::bytes(mask->data, mask->length);
}

Lists bounds_of_c(const upsweep_lists& lists) {
  const int form = number_of(lists.form);
  switch (form) {
    case UPSWEEP_BY_OFFSETS:
      return dynamic::lists_of_offsets(input(lists.starts));
    case UPSWEEP_BY_BOUNDS:
      return dynamic::lists_of_bounds(input(lists.starts), input(lists.stops));
    case UPSWEEP_OF_SIZE:
      return Lists::of_size(lists.count, lists.size);
    default:
      throw Error(Code::invalid_argument, "form: " + std::to_string(form) + " is not an upsweep_lists_form");
  }
}
Lists lists_of_c(const upsweep_lists* lists, const char* what) {
  const upsweep_lists& all = given(lists, what);
  return bounds_of_c(all).with_validity(mask_of_c(all.valid, "valid"));
}

std::vector<ContentColumn> columns_of_c(const upsweep_column* columns, std::int64_t count) {
  detail::require_array(columns, count, "columns");
  std::vector<ContentColumn> all;
  for (std::int64_t i = 0; i < count; ++i) {
    const upsweep_column& column = columns[i];
    all.emplace_back(column.data, column.length, column.out, column.capacity, column.element_size);
  }
  return all;
}

Indices indices_of_c(const upsweep_array& array) {
  const dynamic::ConstArray from = input(array);
  Indices indices;
  indices.data = from.data;
  indices.length = from.length;
  indices.type = from.type;
  return indices;
}

/// An array of int64 that must not be null.
std::int64_t* positions_in(const upsweep_array& array, const char* what) {
  auto* const positions = elements<std::int64_t>(array, what);
  detail::require_array(positions, array.length, what);
  return positions;
}
/// The offsets of `lists` lists.
std::int64_t* offsets_in(const upsweep_array& array, std::int64_t lists) {
  auto* const offsets = positions_in(array, "offsets");
  detail::require_offsets(array.length, lists);
  return offsets;
}
/// Null if they are not requested.
std::int64_t* offsets_in(const upsweep_array* array, std::int64_t lists) {
  return array != nullptr ? offsets_in(*array, lists) : nullptr;
}

/// Calls f(pointer) with integers of a type that bounds of lists can have.
template <class F>
auto visit_bounds(const upsweep_array& array, const char* what, F&& f) {
  const dynamic::ConstArray from = input(array);
  detail::require_array(from.data, from.length, what);
  if (from.type == Type::int32) return f(static_cast<const std::int32_t*>(from.data));
  if (from.type == Type::uint32) return f(static_cast<const std::uint32_t*>(from.data));
  if (from.type == Type::int64) return f(static_cast<const std::int64_t*>(from.data));
  throw Error(Code::unsupported_type,
              std::string(what) + ": int32, uint32 or int64 are needed, not " + std::string(name(from.type)));
}

void give(std::int64_t* to, std::int64_t count) {
  if (to != nullptr) *to = count;
}

std::optional<Reducer> parse_reducer(const char* op) {
  for (const Reducer reducer :
       {Reducer::any, Reducer::all, Reducer::count, Reducer::count_nonzero, Reducer::argmin, Reducer::argmax}) {
    if (op != nullptr && name(reducer) == op) return reducer;
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------------------- code that several calls share

int sort_lists(const upsweep_place* place, const upsweep_lists* lists, const upsweep_array& content, bool positions,
               const SortOptions& options, const upsweep_array& out, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    const dynamic::ConstArray from = input(content);
    const dynamic::Array to = output(out);
    return at(place, [&](const auto& policy) {
      return positions ? dynamic::segmented_argsort(policy, of, from, to, options)
                       : dynamic::segmented_sort(policy, of, from, to, options);
    });
  });
}

/// call(lists) describes what is written for each element of the lists.
template <class Call>
int write_positions(const upsweep_place* place, const upsweep_lists* lists, std::int64_t* total, const Call& call,
                    upsweep_result* result) {
  return guarded(result, [&] {
    const detail::BroadcastCall described = call(lists_of_c(lists, "lists"));
    return at(place, [&](const auto& policy) {
      const detail::BroadcastResult done = detail::run_broadcast(policy, described);
      give(total, done.total);
      return done.rung;
    });
  });
}

/// The arrays of positions of tuples of n, and their minimum length. Without arrays, they are not requested.
struct Tuples {
  std::vector<std::int64_t*> positions = {};
  std::int64_t capacity = 0;

  Tuples(const upsweep_array* out, std::int64_t n) {
    for (std::int64_t d = 0; out != nullptr && d < n; ++d) {
      positions.push_back(positions_in(out[d], "out"));
      capacity = d == 0 ? out[d].length : std::min(capacity, out[d].length);
    }
  }
};

}  // namespace
}  // namespace upsweep::c

using namespace upsweep;     // NOLINT(google-build-using-namespace): the functions of this file are C's
using namespace upsweep::c;  // NOLINT(google-build-using-namespace)

// ------------------------------------------------------------------------------------------ reductions, scans, sorts

int upsweep_segmented_reduce(const upsweep_place* place, const char* op, const void* init, const upsweep_lists* lists,
                             upsweep_array content, const upsweep_mask* valid, upsweep_array out,
                             upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    const dynamic::ConstArray from = input(content);
    const dynamic::Array to = output(out);
    const Mask mask = mask_of_c(valid, "valid");
    if (const auto reducer = parse_reducer(op)) {
      if (init != nullptr)
        throw Error(Code::invalid_argument, "init: '" + std::string(op) + "' takes no initial value");
      return at(place,
                [&](const auto& policy) { return dynamic::segmented_reduce(policy, *reducer, of, from, to, mask); });
    }
    const Operator with = operator_of_c(op);
    return at(place,
              [&](const auto& policy) { return dynamic::segmented_reduce(policy, with, of, from, to, init, mask); });
  });
}

int upsweep_segmented_scan(const upsweep_place* place, const char* op, int exclusive, const void* init,
                           const upsweep_lists* lists, upsweep_array content, const upsweep_mask* valid,
                           upsweep_array out, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    const dynamic::ConstArray from = input(content);
    const dynamic::Array to = output(out);
    const Mask mask = mask_of_c(valid, "valid");
    const dynamic::ScanOptions options{.op = operator_of_c(op), .exclusive = exclusive != 0};
    return at(place,
              [&](const auto& policy) { return dynamic::segmented_scan(policy, options, of, from, to, init, mask); });
  });
}

int upsweep_segmented_sort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                           int descending, int nan_first, upsweep_array out, upsweep_result* result) {
  return sort_lists(place, lists, content, false, {.descending = descending != 0, .nan_first = nan_first != 0}, out,
                    result);
}

int upsweep_segmented_argsort(const upsweep_place* place, const upsweep_lists* lists, upsweep_array content,
                              int descending, int nan_first, upsweep_array out, upsweep_result* result) {
  return sort_lists(place, lists, content, true, {.descending = descending != 0, .nan_first = nan_first != 0}, out,
                    result);
}

// --------------------------------------------------------------------------------------------------- moving elements

int upsweep_select(const upsweep_place* place, const upsweep_lists* lists, const upsweep_mask* mask,
                   const upsweep_array* offsets, const upsweep_column* columns, int64_t column_count, int64_t* kept,
                   upsweep_result* result) {
  return guarded(result, [&] {
    const Mask of = mask_of_c(&given(mask, "mask"), "mask");
    const auto moved = columns_of_c(columns, column_count);
    detail::SelectCall call{.mask = of, .columns = moved};
    if (lists != nullptr) {
      call.has_lists = true;
      call.lists = lists_of_c(lists, "lists");
      call.out_offsets = offsets_in(offsets, call.lists.count);
    } else if (offsets != nullptr) {
      throw Error(Code::invalid_argument, "offsets: an array without lists has no offsets");
    }
    return at(place, [&](const auto& policy) {
      const std::string_view rung = detail::run_select(policy, call);
      give(kept, call.kept);
      return rung;
    });
  });
}

int upsweep_partition(const upsweep_place* place, const upsweep_mask* mask, const upsweep_column* columns,
                      int64_t column_count, int64_t* kept, upsweep_result* result) {
  return guarded(result, [&] {
    const Mask of = mask_of_c(&given(mask, "mask"), "mask");
    const auto moved = columns_of_c(columns, column_count);
    detail::PartitionCall call{.mask = of, .columns = moved};
    return at(place, [&](const auto& policy) {
      const std::string_view rung = detail::run_partition(policy, call);
      give(kept, call.kept);
      return rung;
    });
  });
}

int upsweep_take(const upsweep_place* place, upsweep_array indices, const upsweep_column* columns, int64_t column_count,
                 upsweep_result* result) {
  return guarded(result, [&] {
    const Indices which = indices_of_c(indices);
    const auto moved = columns_of_c(columns, column_count);
    detail::TakeCall call{.indices = which, .columns = moved};
    return at(place, [&](const auto& policy) { return detail::run_take(policy, call); });
  });
}

int upsweep_take_lists(const upsweep_place* place, const upsweep_lists* lists, int64_t content,
                       const upsweep_lists* index_lists, upsweep_array indices, upsweep_array offsets,
                       const upsweep_column* columns, int64_t column_count, int64_t* taken, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    const Lists of_indices = lists_of_c(index_lists, "index_lists");
    const Indices which = indices_of_c(indices);
    auto* const to = offsets_in(offsets, of_indices.count);
    const auto moved = columns_of_c(columns, column_count);
    detail::TakeCall call = detail::take_call(of, content, of_indices, which, to);
    call.columns = moved;
    return at(place, [&](const auto& policy) {
      const std::string_view rung = detail::run_take(policy, call);
      give(taken, call.taken);
      return rung;
    });
  });
}

int upsweep_pack_offsets(const upsweep_place* place, const upsweep_lists* lists, int64_t content, upsweep_array offsets,
                         int64_t* total, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    auto* const to = offsets_in(offsets, of.count);
    return at(place, [&](const auto& policy) {
      const PackResult packed = pack_offsets(policy, of, content, to);
      give(total, packed.total);
      return packed.rung;
    });
  });
}

int upsweep_pack_content(const upsweep_place* place, const upsweep_lists* lists, upsweep_array offsets,
                         const upsweep_column* columns, int64_t column_count, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    const auto* const where = offsets_in(offsets, of.count);
    const auto moved = columns_of_c(columns, column_count);
    return at(place, [&](const auto& policy) {
      return pack_content(policy, of, where, std::span<const PackColumn>(moved)).rung;
    });
  });
}

// --------------------------------------------------------------------------------------------------------- positions

int upsweep_lengths_to_offsets(const upsweep_place* place, upsweep_array lengths, const upsweep_mask* valid,
                               upsweep_array offsets, int64_t* total, upsweep_result* result) {
  return guarded(result, [&] {
    const Mask mask = mask_of_c(valid, "valid");
    return visit_bounds(lengths, "lengths", [&](const auto* each) {
      auto* const to = offsets_in(offsets, lengths.length);
      return at(place, [&](const auto& policy) {
        give(total, lengths_to_offsets(policy, each, lengths.length, to, mask));
        return "";
      });
    });
  });
}

int upsweep_parents_to_offsets(const upsweep_place* place, upsweep_array parents, upsweep_array offsets,
                               upsweep_result* result) {
  return guarded(result, [&] {
    auto* const to = positions_in(offsets, "offsets");
    const std::int64_t lists = detail::lists_of_offsets(offsets.length);
    return visit_bounds(parents, "parents", [&](const auto* each) {
      return at(place, [&](const auto& policy) {
        parents_to_offsets(policy, each, parents.length, lists, to);
        return "";
      });
    });
  });
}

int upsweep_offsets_to_parents(const upsweep_place* place, const upsweep_lists* lists, upsweep_array parents,
                               int64_t* total, upsweep_result* result) {
  const auto call = [&](const Lists& of) {
    return detail::parents_call(of, positions_in(parents, "parents"), parents.length);
  };
  return write_positions(place, lists, total, call, result);
}

int upsweep_local_index(const upsweep_place* place, const upsweep_lists* lists, upsweep_array index, int64_t* total,
                        upsweep_result* result) {
  const auto call = [&](const Lists& of) {
    return detail::local_index_call(of, positions_in(index, "index"), index.length);
  };
  return write_positions(place, lists, total, call, result);
}

int upsweep_broadcast(const upsweep_place* place, const upsweep_lists* lists, upsweep_column values, int64_t* total,
                      upsweep_result* result) {
  const auto call = [&](const Lists& of) {
    detail::require_array(values.data, values.length, "values");
    detail::require_values(values.length, of.count);
    return detail::broadcast_call(of, values.data, values.element_size, values.out, values.capacity);
  };
  return write_positions(place, lists, total, call, result);
}

int upsweep_flatten(const upsweep_place* place, const upsweep_lists* outer, const upsweep_lists* inner,
                    upsweep_array offsets, upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(outer, "outer");
    const Lists lists = lists_of_c(inner, "inner");
    auto* const to = offsets_in(offsets, of.count);
    return at(place, [&](const auto& policy) {
      flatten(policy, of, lists, to);
      return "";
    });
  });
}

// ------------------------------------------------------------------------------------------------------ combinations

int upsweep_combinations(const upsweep_place* place, const upsweep_lists* lists, int64_t content, int64_t n,
                         int replacement, const upsweep_array* offsets, const upsweep_array* out, int64_t* total,
                         upsweep_result* result) {
  return guarded(result, [&] {
    const Lists of = lists_of_c(lists, "lists");
    auto* const numbers = offsets_in(offsets, of.count);
    const Tuples tuples(out, n);
    return at(place, [&](const auto& policy) {
      const Combinations made = tuples.positions.empty()
                                    ? combinations_offsets(policy, of, content, n, replacement != 0, numbers)
                                    : combinations(policy, of, content, n, replacement != 0, numbers,
                                                   tuples.positions.data(), tuples.capacity);
      give(total, made.total);
      return made.rung;
    });
  });
}

int upsweep_cartesian(const upsweep_place* place, const upsweep_lists* inputs, const int64_t* contents, int64_t n,
                      const upsweep_array* offsets, const upsweep_array* out, int64_t* total, upsweep_result* result) {
  return guarded(result, [&] {
    detail::require_array(inputs, n, "inputs");
    detail::require_array(contents, n, "contents");
    std::vector<CartesianInput> of;
    of.reserve(static_cast<std::size_t>(n));
    for (std::int64_t d = 0; d < n; ++d) of.push_back({lists_of_c(inputs + d, "inputs"), contents[d]});
    auto* const numbers = offsets_in(offsets, of.empty() ? 0 : of.front().lists.count);
    const Tuples tuples(out, n);
    return at(place, [&](const auto& policy) {
      const Combinations made = tuples.positions.empty()
                                    ? cartesian_offsets(policy, of, numbers)
                                    : cartesian(policy, of, numbers, tuples.positions.data(), tuples.capacity);
      give(total, made.total);
      return made.rung;
    });
  });
}

// -------------------------------------------------------------------------------------------------------------- keys

int upsweep_key_offsets(const upsweep_place* place, upsweep_array keys, const upsweep_array* offsets, int64_t* runs,
                        upsweep_result* result) {
  return guarded(result, [&] {
    const dynamic::ConstArray array = input(keys);
    const detail::Keys of{array.data, array.length, array.type};
    auto* const to = offsets != nullptr ? positions_in(*offsets, "offsets") : nullptr;
    return at(place, [&](const auto& policy) {
      give(runs, offsets != nullptr ? detail::write_key_offsets(policy, of, to, offsets->length)
                                    : detail::count_key_runs(policy, of));
      return "";
    });
  });
}

int upsweep_group_by(const upsweep_place* place, const char* op, upsweep_array keys, upsweep_array values,
                     upsweep_array out_keys, upsweep_array out, const upsweep_array* counts, int64_t* groups,
                     upsweep_result* result) {
  return guarded(result, [&] {
    const Operator with = operator_of_c(op);
    dynamic::Array counted;
    if (counts != nullptr) counted = {positions_in(*counts, "counts"), counts->length, Type::int64};
    return at(place, [&](const auto& policy) {
      const Grouped made =
          dynamic::group_by(policy, with, input(keys), input(values), output(out_keys), output(out), counted);
      give(groups, made.groups);
      return made.rung;
    });
  });
}
