// SPDX-License-Identifier: Apache-2.0
// bindings/lists.cpp: calls that compute a result for each list: reductions, scans, sorts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace nb = nanobind;

namespace upsweep::python {
namespace {

std::optional<Reducer> parse_reducer(std::string_view text) {
  for (const Reducer reducer :
       {Reducer::any, Reducer::all, Reducer::count, Reducer::count_nonzero, Reducer::argmin, Reducer::argmax}) {
    if (name(reducer) == text) return reducer;
  }
  return std::nullopt;
}

/// The amount of work of a call, as a number of lists and elements.
std::int64_t work_of(const Lists& lists, const dynamic::ConstArray& content) { return lists.count + content.length; }

// A work unit takes a tenth of a second or less if lists are short; signals are checked between work units.
constexpr std::int64_t kWorkUnit = std::int64_t{1} << 25;

/// Returns a range of lists that have bounds.
Lists lists_from(const Lists& all, std::int64_t first, std::int64_t count) {
  Lists some = all;
  some.count = count;
  some.starts = detail::bounds_after(all.starts, first * size_of(all.type));
  some.stops = detail::bounds_after(all.stops, first * size_of(all.type));
  if (!all.valid.is_given()) return some;
  some.valid.length = count;
  if (all.valid.is_bitmap) {
    some.valid.first_bit += first;
  } else {
    some.valid.data += first;
  }
  return some;
}

/// Calls run(lists, first) on consecutive work units of lists on the CPU, and checks for signals between them. On a GPU
/// it calls run once, for all lists. An error in a work unit is reported by a run of all lists, which has the list
/// number.
template <class Policy, class Run>
std::string_view in_work_units(const Policy& policy, const Lists& all, std::int64_t work, const Run& run) {
  const std::int64_t work_units = std::min(work / kWorkUnit, all.count);
  if (!std::is_same_v<Policy, upsweep::Policy> || all.has_size || work_units < 2) return run(policy, all, 0);
  std::string_view rung;
  for (std::int64_t work_unit = 0; work_unit < work_units; ++work_unit) {
    const std::int64_t first = all.count * work_unit / work_units;
    const std::int64_t end = all.count * (work_unit + 1) / work_units;
    if (work_unit > 0) look_at_signals();
    try {
      rung = run(policy, lists_from(all, first, end - first), first);
    } catch (const Error& error) {
      if (error.index() == kNoIndex || first == 0) throw;
      return run(policy, all, 0);
    }
  }
  return rung;
}

dynamic::Array results_from(const dynamic::Array& out, std::int64_t first, std::int64_t count) {
  return {static_cast<std::byte*>(out.data) + first * size_of(out.type), count, out.type};
}

/// The inputs and the output of a call on lists.
struct ListCall {
  Lists lists;
  dynamic::ConstArray content;
  dynamic::Array out;
  const void* initial = nullptr;
  Mask valid = {};

  [[nodiscard]] std::int64_t work() const { return work_of(lists, content); }
  /// A call with the wrong number of results is refused as a whole.
  [[nodiscard]] dynamic::Array results(const Lists& some, std::int64_t first) const {
    return results_from(out, first, some.count == lists.count ? out.length : some.count);
  }
};

std::string_view segmented_reduce(const CallPlace& place, Reducer reducer, const ListCall& call) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_work_units(
        host_or_gpu, call.lists, call.work(), [&](const auto& policy, const Lists& some, std::int64_t first) {
          return dynamic::segmented_reduce(policy, reducer, some, call.content, call.results(some, first), call.valid);
        });
  });
}

std::string_view segmented_reduce(const CallPlace& place, Operator op, const ListCall& call) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_work_units(host_or_gpu, call.lists, call.work(),
                         [&](const auto& policy, const Lists& some, std::int64_t first) {
                           return dynamic::segmented_reduce(policy_for(policy, op), op, some, call.content,
                                                            call.results(some, first), call.initial, call.valid);
                         });
  });
}

std::string_view segmented_scan(const CallPlace& place, const dynamic::ScanOptions& options, const ListCall& call) {
  return place.run(call.work(), [&](const auto& policy) {
    return dynamic::segmented_scan(policy_for(policy, options.op), options, call.lists, call.content, call.out,
                                   call.initial, call.valid);
  });
}

/// `positions`: writes the positions of the elements, not the elements themselves. `offsets`: the output positions of
/// lists by starts and stops; null for other lists, which keep their positions.
std::string_view segmented_sort(const CallPlace& place, bool positions, const SortOptions& options,
                                const ListCall& call, const std::int64_t* offsets = nullptr) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_work_units(host_or_gpu, call.lists, call.work(),
                         [&](const auto& policy, const Lists& some, std::int64_t first) {
                           const std::int64_t begin = offsets == nullptr ? 0 : offsets[first];
                           const dynamic::Array out = results_from(call.out, begin, call.out.length - begin);
                           return positions ? dynamic::segmented_argsort(policy, some, call.content, out, options)
                                            : dynamic::segmented_sort(policy, some, call.content, out, options);
                         });
  });
}

/// Whether each element is certainly in a list. No list may be null, and the lists must have one size, or offsets from
/// the content's first element to its last.
bool covers(const Lists& lists, const dynamic::ConstArray& content) {
  if (lists.valid.is_given()) return false;
  if (lists.has_size || lists.count == 0) return lists.has_size;
  return visit_bounds({lists.starts, lists.count + 1, lists.type}, [&](const auto* offsets) {
    return offsets[0] == 0 && static_cast<std::int64_t>(offsets[lists.count]) == content.length;
  });
}

/// Writes the results of a sort for elements that are in no list.
void fill_outside(bool positions, const ListCall& call) {
  const auto bytes = static_cast<std::size_t>(call.out.length * size_of(call.out.type));
  if (positions) {
    std::memset(call.out.data, 0, bytes);
  } else if (bytes > 0) {
    std::memcpy(call.out.data, call.content.data, bytes);
  }
}

/// Calls f(list, start, stop) for each list by starts and stops that is not null.
template <class F>
void each_list(const Lists& lists, F f) {
  visit_bounds({lists.starts, lists.count, lists.type}, [&](const auto* starts) {
    const auto* const stops = static_cast<decltype(starts)>(lists.stops);
    for (std::int64_t list = 0; list < lists.count; ++list) {
      if (lists.valid.is_given() && !lists.valid[list]) continue;
      f(list, static_cast<std::int64_t>(starts[list]), static_cast<std::int64_t>(stops[list]));
    }
  });
}

/// Throws invalid_argument with the first list that overlaps an earlier list. `length`: of the content, which contains
/// all lists.
void require_apart(const Lists& lists, std::int64_t length) {
  constexpr std::int64_t kBits = 64;
  std::vector<std::uint64_t> taken(static_cast<std::size_t>((length + kBits - 1) / kBits));  // a bit for each element
  each_list(lists, [&](std::int64_t list, std::int64_t start, std::int64_t stop) {
    for (std::int64_t at = start; at < stop;) {
      const std::int64_t end = std::min(stop, (at / kBits + 1) * kBits);
      const std::uint64_t bits = (~std::uint64_t{0} >> (kBits - (end - at))) << (at % kBits);
      std::uint64_t& word = taken[static_cast<std::size_t>(at / kBits)];
      if ((word & bits) != 0) {
        throw Error(Code::invalid_argument,
                    "list " + std::to_string(list) + " overlaps a list before it: sorted lists must not overlap", list);
      }
      word |= bits;
      at = end;
    }
  });
}

/// Sorts lists by starts and stops in host memory: packs and sorts them, then copies each to its place. Returns the
/// rung.
std::string_view sort_apart(const CallPlace& place, bool positions, const SortOptions& options, const ListCall& call) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(call.lists.count) + 1);
  place.run(call.work(), [&](const auto& /*policy*/) {
    (void)pack_offsets(par.with_threads(place.threads), call.lists, call.content.length, offsets.data());
    require_apart(call.lists, call.content.length);
  });
  const std::int64_t total = offsets.back();
  const int size = size_of(call.out.type);
  const auto sorted = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(total * size));
  const ListCall packed{.lists = call.lists, .content = call.content, .out = {sorted.get(), total, call.out.type}};
  const std::string_view rung = segmented_sort(place, positions, options, packed, offsets.data());
  place.run(call.work(), [&](const auto& /*policy*/) {
    auto* const to = static_cast<std::byte*>(call.out.data);
    fill_outside(positions, call);
    each_list(call.lists, [&](std::int64_t list, std::int64_t start, std::int64_t stop) {
      const std::byte* const from = sorted.get() + offsets[static_cast<std::size_t>(list)] * size;
      std::copy_n(from, (stop - start) * size, to + start * size);
    });
  });
  return rung;
}

/// Sorts lists in host memory to the same positions. Elements in no list are unchanged; their positions are 0. Returns
/// the rung.
std::string_view sort_parallel(const CallPlace& place, bool positions, const SortOptions& options,
                               const ListCall& call) {
  if (!call.lists.are_adjacent()) return sort_apart(place, positions, options, call);
  if (!covers(call.lists, call.content)) fill_outside(positions, call);
  return segmented_sort(place, positions, options, call);
}

std::string_view segmented_reduce_array(const CallPlace& place, std::string_view op, nb::handle lists,
                                        nb::handle lists_valid, nb::handle content, nb::handle valid,
                                        nb::handle initial, nb::handle out) {
  ListCall call{.lists = lists_of(lists, lists_valid),
                .content = input(content, "content"),
                .out = output(out, "out"),
                .valid = mask_of(valid, "valid")};
  if (const auto reducer = parse_reducer(op)) return segmented_reduce(place, *reducer, call);
  call.initial = initial_of(initial, call.out.type);
  return segmented_reduce(place, operator_named(op), call);
}

std::string_view segmented_scan_array(const CallPlace& place, std::string_view op, Truth exclusive, nb::handle lists,
                                      nb::handle lists_valid, nb::handle content, nb::handle valid, nb::handle initial,
                                      nb::handle out) {
  ListCall call{.lists = lists_of(lists, lists_valid),
                .content = input(content, "content"),
                .out = output(out, "out"),
                .valid = mask_of(valid, "valid")};
  call.initial = initial_of(initial, call.out.type);
  return segmented_scan(place, {operator_named(op), exclusive}, call);
}

std::string_view segmented_sort_array(const CallPlace& place, bool positions, nb::handle lists, nb::handle lists_valid,
                                      nb::handle content, Truth descending, Truth nan_first, nb::handle out) {
  const SortOptions options{.descending = descending, .nan_first = nan_first};
  const ListCall call{
      .lists = lists_of(lists, lists_valid), .content = input(content, "content"), .out = output(out, "out")};
  return place.is_gpu() ? segmented_sort(place, positions, options, call)
                        : sort_parallel(place, positions, options, call);
}

// -------------------------------------------------------------------------------------------------- runs of equal keys

/// Keys between two checks for signals: a tenth of a second or less if runs are short.
constexpr std::int64_t kKeysOfWorkUnit = std::int64_t{1} << 22;
/// Number of keys among which a work unit may end. If no run begins among them, runs are long and take little time.
constexpr std::int64_t kEndsAmong = std::int64_t{1} << 16;

/// Returns the first key, starting at `first`, that begins a run, or `end` if there is none.
std::int64_t run_from(const dynamic::ConstArray& keys, std::int64_t first, std::int64_t end) {
  return visit_type(keys.type, [&]<class T>(std::type_identity<T>) {
    const T* const each = static_cast<const T*>(keys.data);
    const auto is_same = [](T a, T b) { return a == b || (a != a && b != b); };  // all NaN are the same
    while (first < end && is_same(each[first - 1], each[first])) ++first;
    return first;
  });
}

/// Returns the end of a work unit that begins at that key: the end of a run, so that work units consist of whole runs.
std::int64_t end_of_work_unit(const dynamic::ConstArray& keys, std::int64_t begin) {
  for (std::int64_t at = begin + kKeysOfWorkUnit; at < keys.length; at += kKeysOfWorkUnit) {
    const std::int64_t last = std::min(at + kEndsAmong, keys.length);
    const std::int64_t end = run_from(keys, at, last);
    if (end < last) return end;
  }
  return keys.length;
}

/// Calls run(policy, first, count) on consecutive work units of keys on the CPU, and checks for signals between them.
/// On a GPU it calls run once, for all keys. An error in a work unit is reported by a run of all keys, which has the
/// run's number.
template <class Policy, class Run>
void in_work_units(const Policy& policy, const dynamic::ConstArray& keys, const Run& run) {
  if (!std::is_same_v<Policy, upsweep::Policy>) return run(policy, 0, keys.length);
  std::int64_t first = 0;
  do {
    const std::int64_t end = end_of_work_unit(keys, first);
    if (first > 0) look_at_signals();
    try {
      run(policy, first, end - first);
    } catch (const Error& error) {
      if (error.index() == kNoIndex || first == 0) throw;
      return run(policy, 0, keys.length);
    }
    first = end;
  } while (first < keys.length);
}

dynamic::ConstArray range_of(const dynamic::ConstArray& array, std::int64_t first, std::int64_t count) {
  return {static_cast<const std::byte*>(array.data) + first * size_of(array.type), count, array.type};
}

/// Returns the number of runs.
std::int64_t reduce_by_key(const CallPlace& place, Operator op, const dynamic::ConstArray& keys,
                           const dynamic::ConstArray& values, const void* init, const dynamic::Array& to_keys,
                           const dynamic::Array& to) {
  detail::require_equal_lengths(keys.length, values.length);
  return place.run(keys.length, [&](const auto& host_or_gpu) {
    std::int64_t runs = 0;
    in_work_units(host_or_gpu, keys, [&](const auto& policy, std::int64_t first, std::int64_t count) {
      if (first == 0) runs = 0;
      runs += dynamic::reduce_by_key(policy_for(policy, op), op, range_of(keys, first, count),
                                     range_of(values, first, count), results_from(to_keys, runs, to_keys.length - runs),
                                     results_from(to, runs, to.length - runs), init)
                  .runs;
    });
    return runs;
  });
}

void scan_by_key(const CallPlace& place, const dynamic::ScanOptions& options, const dynamic::ConstArray& keys,
                 const dynamic::ConstArray& values, const void* init, const dynamic::Array& to) {
  detail::require_equal_lengths(keys.length, values.length);
  detail::require_equal_lengths(keys.length, to.length);
  place.run(keys.length, [&](const auto& host_or_gpu) {
    in_work_units(host_or_gpu, keys, [&](const auto& policy, std::int64_t first, std::int64_t count) {
      dynamic::scan_by_key(policy_for(policy, options.op), options, range_of(keys, first, count),
                           range_of(values, first, count), results_from(to, first, count), init);
    });
  });
}

// -------------------------------------------------------------------------------------------------------------- groups

/// Returns the number of groups.
std::int64_t group_by(const CallPlace& place, Operator op, const dynamic::ConstArray& keys,
                      const dynamic::ConstArray& values, const dynamic::Array& to_keys, const dynamic::Array& to,
                      const dynamic::Array& to_counts) {
  SignalWatch watch;
  const detail::GoOn go_on = [&] { return watch.goes_on(); };
  return place.run(keys.length, [&](const auto& policy) {
    if constexpr (std::is_same_v<decltype(policy), const Policy&>) {
      return dynamic::group_by(policy_for(policy, op), op, keys, values, to_keys, to, to_counts, go_on).groups;
    } else {
      return dynamic::group_by(policy_for(policy, op), op, keys, values, to_keys, to, to_counts).groups;
    }
  });
}

// --------------------------------------------------------------------------------------------------------- plain cases

/// Reads the content and the lists, which are positional arguments; returns false if one of them is not plain.
bool plain_content(PlainCall& call, Elements& content, ListCall& made) {
  if (call.given().size() != 2 || !call.counts(call.given()[0], content)) return false;
  const auto lists = call.lists(call.given()[1], content.length);
  if (!lists || !call.valid(made.valid)) return false;
  made.lists = *lists;
  made.content = as_input(content);
  return true;
}

ElementKind kind_of(const Elements& elements) { return {elements.type, elements.is_boolean}; }
ElementKind kind_of(Reducer reducer) {
  const bool is_boolean = reducer == Reducer::any || reducer == Reducer::all;
  return {is_boolean ? Type::uint8 : Type::int64, is_boolean};
}

nb::object plain_segmented_reduce(PlainCall& call) {
  ListCall made;
  Elements content;
  Elements to;
  if (!plain_content(call, content, made)) return {};
  if (const auto op = call.op()) {
    const auto kind = call.result_kind(*op, content);
    if (!kind || !call.initial(*op, *kind, made.initial)) return {};
    made.content = as_input(content);
    nb::object out = call.result(*kind, made.lists.count, to);
    if (!out.is_valid()) return {};
    made.out = as_output(to);
    segmented_reduce(call.place(), *op, made);
    return out;
  }
  const auto reducer = parse_reducer(call.op_name());
  if (!reducer || call.has(Keyword::dtype) || call.has(Keyword::initial)) return {};
  nb::object out = call.result(kind_of(*reducer), made.lists.count, to);
  if (!out.is_valid()) return {};
  made.out = as_output(to);
  segmented_reduce(call.place(), *reducer, made);
  return out;
}

nb::object plain_segmented_scan(PlainCall& call) {
  ListCall made;
  Elements content;
  Elements to;
  const auto op = call.op();
  const auto exclusive = call.flag(Keyword::exclusive);
  if (!op || !exclusive || !plain_content(call, content, made) || !made.lists.are_adjacent()) return {};
  const auto kind = call.result_kind(*op, content);
  if (!kind || !call.initial(*op, *kind, made.initial)) return {};
  made.content = as_input(content);
  nb::object out = call.result(*kind, made.content.length, to);
  if (!out.is_valid()) return {};
  made.out = as_output(to);
  if (!covers(made.lists, made.content)) std::memset(to.data, 0, static_cast<std::size_t>(to.bytes()));
  segmented_scan(call.place(), {*op, *exclusive}, made);
  return out;
}

template <bool kPositions>
nb::object plain_sort(PlainCall& call) {
  ListCall made;
  Elements content;
  Elements to;
  const auto descending = call.flag(Keyword::descending);
  const auto nan_first = call.flag(Keyword::nan_first);
  if (!descending || !nan_first || !plain_content(call, content, made)) return {};
  const ElementKind kind = kPositions ? ElementKind{Type::int64} : ElementKind{content.type, content.is_boolean};
  nb::object out = call.result(kind, made.content.length, to);
  if (!out.is_valid()) return {};
  made.out = as_output(to);
  sort_parallel(call.place(), kPositions, {.descending = *descending, .nan_first = *nan_first}, made);
  return out;
}

/// Reads keys and the same number of values, which are positional arguments.
bool plain_pairs(PlainCall& call, Elements& keys, Elements& values) {
  return call.given().size() == 2 && call.counts(call.given()[0], keys) && call.counts(call.given()[1], values) &&
         keys.length == values.length;
}

/// Runs a reducer of lists on runs of keys, as lists.
nb::object plain_reducer_by_key(PlainCall& call, Reducer reducer, const Elements& keys, const Elements& values,
                                const std::vector<nb::handle>& outputs) {
  if (call.has(Keyword::dtype) || call.has(Keyword::initial)) return {};
  Elements to_keys;
  Elements to;
  const std::int64_t runs = count_key_runs(call.place(), as_input(keys));
  const nb::object firsts = call.first_of(outputs[0], kind_of(keys), runs, to_keys);
  const nb::object folds = call.first_of(outputs[1], kind_of(reducer), runs, to);
  if (!firsts.is_valid() || !folds.is_valid()) return {};
  const nb::object offsets = new_array(runs + 1, Type::int64);
  const dynamic::Array at = as_output(elements_of_new(offsets));
  write_key_offsets(call.place(), as_input(keys), at);
  Indices begins;
  begins.data = at.data;
  begins.length = runs;
  begins.type = Type::int64;
  take(call.place(), begins, {{keys.data, keys.length, to_keys.data, runs, keys.size}});
  segmented_reduce(call.place(), reducer,
                   {.lists = dynamic::lists_of_offsets(as_input(elements_of_new(offsets))),
                    .content = as_input(values),
                    .out = as_output(to)});
  return nb::make_tuple(firsts, folds);
}

nb::object plain_reduce_by_key(PlainCall& call) {
  Elements keys;
  Elements values;
  Elements to_keys;
  Elements to;
  const void* first = nullptr;
  std::vector<nb::handle> outputs;
  if (!plain_pairs(call, keys, values) || !call.outputs(2, outputs)) return {};
  if (const auto reducer = parse_reducer(call.op_name())) {
    return plain_reducer_by_key(call, *reducer, keys, values, outputs);
  }
  const auto op = call.op();
  if (!op) return {};
  const auto kind = call.result_kind(*op, values, false);
  if (!kind || !call.initial(*op, *kind, first)) return {};
  const std::int64_t runs = count_key_runs(call.place(), as_input(keys));
  const nb::object firsts = call.first_of(outputs[0], kind_of(keys), runs, to_keys);
  const nb::object folds = call.first_of(outputs[1], *kind, runs, to);
  if (!firsts.is_valid() || !folds.is_valid()) return {};
  reduce_by_key(call.place(), *op, as_input(keys), as_input(values), first, as_output(to_keys), as_output(to));
  return nb::make_tuple(firsts, folds);
}

nb::object plain_scan_by_key(PlainCall& call) {
  Elements keys;
  Elements values;
  Elements to;
  const void* first = nullptr;
  const auto op = call.op();
  const auto exclusive = call.flag(Keyword::exclusive);
  if (!op || !exclusive || !plain_pairs(call, keys, values)) return {};
  const auto kind = call.result_kind(*op, values);
  if (!kind || !call.initial(*op, *kind, first)) return {};
  nb::object out = call.result(*kind, values.length, to);
  if (!out.is_valid()) return {};
  scan_by_key(call.place(), {*op, *exclusive}, as_input(keys), as_input(values), first, as_output(to));
  return out;
}

nb::object plain_group_by(PlainCall& call) {
  Elements keys;
  Elements values;
  std::array<Elements, 3> to;
  std::vector<nb::handle> outputs;
  const auto op = call.op();
  const auto counts = call.flag(Keyword::counts);
  if (!op || !counts || !plain_pairs(call, keys, values) || is_float(keys.type)) return {};
  const std::size_t results = *counts ? 3 : 2;
  const auto kind = call.result_kind(*op, values, false);
  if (!kind || !call.outputs(results, outputs)) return {};
  const bool is_sum = *op == Operator::add && !values.is_boolean && kind->type == default_accumulator(values.type);
  if (kind_of(values) != *kind && !is_sum && !call.cast_last(call.given()[1], values, kind->type)) return {};
  const std::array<ElementKind, 3> kinds{kind_of(keys), *kind, ElementKind{Type::int64}};
  std::array<nb::object, 3> arrays;
  for (std::size_t i = 0; i < results; ++i) {
    arrays[i] = call.output_of(outputs[i], kinds[i], keys.length, to[i]);
    if (!arrays[i].is_valid()) return {};
  }
  const std::int64_t groups = group_by(call.place(), *op, as_input(keys), as_input(values), as_output(to[0]),
                                       as_output(to[1]), *counts ? as_output(to[2]) : dynamic::Array{});
  for (std::size_t i = 0; i < results; ++i) {
    if (to[i].length != groups) arrays[i] = arrays[i][nb::slice(groups)];
  }
  return *counts ? nb::make_tuple(arrays[0], arrays[1], arrays[2]) : nb::make_tuple(arrays[0], arrays[1]);
}

}  // namespace

void define_lists(nb::module_& module) {
  constexpr unsigned kFold =
      named(Keyword::op, Keyword::initial, Keyword::dtype, Keyword::valid, Keyword::overflow, Keyword::out);
  constexpr unsigned kSort = named(Keyword::descending, Keyword::nan_first, Keyword::out);
  constexpr unsigned kRuns = named(Keyword::op, Keyword::initial, Keyword::dtype, Keyword::overflow, Keyword::out);
  constexpr unsigned kGroups = named(Keyword::op, Keyword::dtype, Keyword::overflow, Keyword::counts, Keyword::out);
  add_plain_cases({{"segmented_reduce", kFold, &plain_segmented_reduce},
                   {"segmented_scan", kFold | named(Keyword::exclusive), &plain_segmented_scan},
                   {"segmented_sort", kSort, &plain_sort<false>},
                   {"segmented_argsort", kSort, &plain_sort<true>},
                   {"reduce_by_key", kRuns, &plain_reduce_by_key},
                   {"scan_by_key", kRuns | named(Keyword::exclusive), &plain_scan_by_key},
                   {"group_by", kGroups, &plain_group_by}});
  module.def(
      "group_by",
      [](const CallPlace& place, std::string_view op, nb::handle keys, nb::handle values, nb::handle out_keys,
         nb::handle out, nb::handle counts) {
        return group_by(place, operator_named(op), input(keys, "keys"), input(values, "values"),
                        output(out_keys, "out_keys"), output(out, "out"),
                        counts.is_none() ? dynamic::Array{} : output(counts, "counts"));
      },
      nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"), nb::arg("out_keys"), nb::arg("out"),
      nb::arg("counts").none());
  module.def(
      "reduce_by_key",
      [](const CallPlace& place, std::string_view op, nb::handle keys, nb::handle values, nb::handle initial,
         nb::handle out_keys, nb::handle out) {
        const dynamic::Array to = output(out, "out");
        return reduce_by_key(place, operator_named(op), input(keys, "keys"), input(values, "values"),
                             initial_of(initial, to.type), output(out_keys, "out_keys"), to);
      },
      nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"), nb::arg("initial").none(),
      nb::arg("out_keys"), nb::arg("out"));
  module.def(
      "scan_by_key",
      [](const CallPlace& place, std::string_view op, Truth exclusive, nb::handle keys, nb::handle values,
         nb::handle initial, nb::handle out) {
        const dynamic::Array to = output(out, "out");
        scan_by_key(place, {operator_named(op), exclusive}, input(keys, "keys"), input(values, "values"),
                    initial_of(initial, to.type), to);
      },
      nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("keys"), nb::arg("values"),
      nb::arg("initial").none(), nb::arg("out"));
  module.def("segmented_reduce", &segmented_reduce_array, nb::arg("place"), nb::arg("op"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_scan", &segmented_scan_array, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"),
             nb::arg("lists"), nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(),
             nb::arg("initial").none(), nb::arg("out"));
  module.def(
      "require_apart",
      [](nb::handle lists, std::int64_t length) { require_apart(lists_of(lists, nb::none()), length); },
      nb::arg("lists"), nb::arg("length"));
  module.def("segmented_sort", &segmented_sort_array, nb::arg("place"), nb::arg("positions"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("descending"), nb::arg("nan_first"),
             nb::arg("out"));
}

}  // namespace upsweep::python
