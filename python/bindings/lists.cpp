// SPDX-License-Identifier: Apache-2.0
// bindings/lists.cpp: what is computed of each list: reductions, scans, sorts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <nanobind/stl/string_view.h>

#include "arrays.hpp"
#include "bindings.hpp"
#include "place.hpp"
#include "plain.hpp"
#include "upsweep/dynamic.hpp"
#include "upsweep/error.hpp"
#include "upsweep/operators.hpp"
#include "upsweep/segmented.hpp"

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

/// What a call is about: the more, the longer it takes.
std::int64_t work_of(const Lists& lists, const dynamic::ConstArray& content) { return lists.count + content.length; }

// A tenth of a second or less where lists are short; then signals are looked at.
constexpr std::int64_t kPieceOfWork = std::int64_t{1} << 25;

/// Some of lists that have bounds.
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

/// run(lists, first) of consecutive pieces of lists on the host, with a look at signals between them; else of all at once. What
/// is wrong in a piece is reported by a run of all, which knows its number.
template <class Policy, class Run>
std::string_view in_pieces(const Policy& policy, const Lists& all, std::int64_t work, const Run& run) {
  const std::int64_t pieces = std::min(work / kPieceOfWork, all.count);
  if (!std::is_same_v<Policy, upsweep::Policy> || all.has_size || pieces < 2) return run(policy, all, 0);
  std::string_view rung;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t first = all.count * piece / pieces;
    const std::int64_t end = all.count * (piece + 1) / pieces;
    if (piece > 0) look_at_signals();
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

/// What is computed of lists, and from what.
struct ListCall {
  Lists lists;
  dynamic::ConstArray content;
  dynamic::Array out;
  const void* initial = nullptr;
  Mask valid = {};

  [[nodiscard]] std::int64_t work() const { return work_of(lists, content); }
  /// A call that has the wrong number of results is refused as a whole.
  [[nodiscard]] dynamic::Array results(const Lists& some, std::int64_t first) const {
    return results_from(out, first, some.count == lists.count ? out.length : some.count);
  }
};

std::string_view segmented_reduce(const Place& place, Reducer reducer, const ListCall& call) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_pieces(
        host_or_gpu, call.lists, call.work(), [&](const auto& policy, const Lists& some, std::int64_t first) {
          return dynamic::segmented_reduce(policy, reducer, some, call.content, call.results(some, first), call.valid);
        });
  });
}

std::string_view segmented_reduce(const Place& place, Operator op, const ListCall& call) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_pieces(host_or_gpu, call.lists, call.work(),
                     [&](const auto& policy, const Lists& some, std::int64_t first) {
                       return dynamic::segmented_reduce(policy_for(policy, op), op, some, call.content,
                                                        call.results(some, first), call.initial, call.valid);
                     });
  });
}

std::string_view segmented_scan(const Place& place, const dynamic::ScanOptions& options, const ListCall& call) {
  return place.run(call.work(), [&](const auto& policy) {
    return dynamic::segmented_scan(policy_for(policy, options.op), options, call.lists, call.content, call.out,
                                   call.initial, call.valid);
  });
}

/// `positions`: what is written is where the elements lie, not these themselves.
std::string_view segmented_sort(const Place& place, bool positions, const SortOptions& options, const ListCall& call) {
  return place.run(call.work(), [&](const auto& host_or_gpu) {
    return in_pieces(host_or_gpu, call.lists, call.work(), [&](const auto& policy, const Lists& some, std::int64_t) {
      return positions ? dynamic::segmented_argsort(policy, some, call.content, call.out, options)
                       : dynamic::segmented_sort(policy, some, call.content, call.out, options);
    });
  });
}

std::string_view segmented_reduce_array(const Place& place, std::string_view op, nb::handle lists,
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

std::string_view segmented_scan_array(const Place& place, std::string_view op, Truth exclusive, nb::handle lists,
                                      nb::handle lists_valid, nb::handle content, nb::handle valid, nb::handle initial,
                                      nb::handle out) {
  ListCall call{.lists = lists_of(lists, lists_valid),
                .content = input(content, "content"),
                .out = output(out, "out"),
                .valid = mask_of(valid, "valid")};
  call.initial = initial_of(initial, call.out.type);
  return segmented_scan(place, {operator_named(op), exclusive}, call);
}

std::string_view segmented_sort_array(const Place& place, bool positions, nb::handle lists, nb::handle lists_valid,
                                      nb::handle content, Truth descending, Truth nan_first, nb::handle out) {
  return segmented_sort(
      place, positions, {.descending = descending, .nan_first = nan_first},
      {.lists = lists_of(lists, lists_valid), .content = input(content, "content"), .out = output(out, "out")});
}

// -------------------------------------------------------------------------------------------------------- runs of equal keys

/// Keys between two looks at signals: a tenth of a second or less where runs are short.
constexpr std::int64_t kPieceOfKeys = std::int64_t{1} << 22;
/// Keys among which a piece may end. Where none of them begins a run, runs are long, and soon done.
constexpr std::int64_t kEndsAmong = std::int64_t{1} << 16;

/// The first key from `first` on at which one of some keys begins a run, or the end of those.
std::int64_t run_from(const dynamic::ConstArray& keys, std::int64_t first, std::int64_t end) {
  return visit_type(keys.type, [&]<class T>(std::type_identity<T>) {
    const T* const each = static_cast<const T*>(keys.data);
    const auto is_same = [](T a, T b) { return a == b || (a != a && b != b); };  // NaN too
    while (first < end && is_same(each[first - 1], each[first])) ++first;
    return first;
  });
}

/// Where a piece that begins at that key ends: where a run does, so that pieces have whole runs.
std::int64_t end_of_piece(const dynamic::ConstArray& keys, std::int64_t begin) {
  for (std::int64_t at = begin + kPieceOfKeys; at < keys.length; at += kPieceOfKeys) {
    const std::int64_t last = std::min(at + kEndsAmong, keys.length);
    const std::int64_t end = run_from(keys, at, last);
    if (end < last) return end;
  }
  return keys.length;
}

/// run(policy, first, count) of consecutive pieces of keys on the host, with a look at signals between them; else of all at once.
/// What is wrong in a piece is reported by a run of all, which knows its number.
template <class Policy, class Run>
void in_pieces(const Policy& policy, const dynamic::ConstArray& keys, const Run& run) {
  if (!std::is_same_v<Policy, upsweep::Policy>) return run(policy, 0, keys.length);
  std::int64_t first = 0;
  do {
    const std::int64_t end = end_of_piece(keys, first);
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

dynamic::ConstArray piece_of(const dynamic::ConstArray& array, std::int64_t first, std::int64_t count) {
  return {static_cast<const std::byte*>(array.data) + first * size_of(array.type), count, array.type};
}

/// Returns how many runs there are.
std::int64_t reduce_by_key(const Place& place, std::string_view op, nb::handle keys, nb::handle values,
                           nb::handle initial, nb::handle out_keys, nb::handle out) {
  const dynamic::ConstArray of = input(keys, "keys");
  const dynamic::ConstArray from = input(values, "values");
  const dynamic::Array to_keys = output(out_keys, "out_keys");
  const dynamic::Array to = output(out, "out");
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  detail::require_equal_lengths(of.length, from.length);
  return place.run(of.length, [&](const auto& host_or_gpu) {
    std::int64_t runs = 0;
    in_pieces(host_or_gpu, of, [&](const auto& policy, std::int64_t first, std::int64_t count) {
      if (first == 0) runs = 0;
      runs += dynamic::reduce_by_key(policy_for(policy, named), named, piece_of(of, first, count),
                                     piece_of(from, first, count), results_from(to_keys, runs, to_keys.length - runs),
                                     results_from(to, runs, to.length - runs), init)
                  .runs;
    });
    return runs;
  });
}

void scan_by_key(const Place& place, std::string_view op, Truth exclusive, nb::handle keys, nb::handle values,
                 nb::handle initial, nb::handle out) {
  const dynamic::ConstArray of = input(keys, "keys");
  const dynamic::ConstArray from = input(values, "values");
  const dynamic::Array to = output(out, "out");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  detail::require_equal_lengths(of.length, from.length);
  detail::require_equal_lengths(of.length, to.length);
  place.run(of.length, [&](const auto& host_or_gpu) {
    in_pieces(host_or_gpu, of, [&](const auto& policy, std::int64_t first, std::int64_t count) {
      dynamic::scan_by_key(policy_for(policy, options.op), options, piece_of(of, first, count),
                           piece_of(from, first, count), results_from(to, first, count), init);
    });
  });
}

// ----------------------------------------------------------------------------------------------------------------- groups

/// Returns how many groups there are.
std::int64_t group_by(const Place& place, std::string_view op, nb::handle keys, nb::handle values, nb::handle out_keys,
                      nb::handle out, nb::handle counts) {
  const dynamic::ConstArray of = input(keys, "keys");
  const dynamic::ConstArray from = input(values, "values");
  const dynamic::Array to_keys = output(out_keys, "out_keys");
  const dynamic::Array to = output(out, "out");
  const dynamic::Array to_counts = counts.is_none() ? dynamic::Array{} : output(counts, "counts");
  const Operator named = operator_named(op);
  SignalWatch watch;
  const detail::GoOn go_on = [&] { return watch.goes_on(); };
  return place.run(of.length, [&](const auto& policy) {
    if constexpr (std::is_same_v<decltype(policy), const Policy&>) {
      return dynamic::group_by(policy_for(policy, named), named, of, from, to_keys, to, to_counts, go_on).groups;
    } else {
      return dynamic::group_by(policy_for(policy, named), named, of, from, to_keys, to, to_counts).groups;
    }
  });
}

// ------------------------------------------------------------------------------------------------------------ plain cases

/// The content and the lists, which are given by position; false where one of them is not plain.
bool plain_content(const PlainCall& call, Elements& content, ListCall& made) {
  if (call.given().size() != 2 || !plain_counts(call.given()[0], content)) return false;
  const auto lists = plain_lists(call.given()[1], content.length);
  if (!lists) return false;
  made.lists = *lists;
  made.content = as_input(content);
  return true;
}

dynamic::Array as_output(nb::handle array, Type type) {
  const Elements elements = elements_of_new(array);
  return {elements.data, elements.length, type};
}

/// Offsets from the content's first element to its last, or lists of one size: each of its elements is in a list.
bool covers(const Lists& lists, const dynamic::ConstArray& content) {
  if (lists.has_size) return true;
  if (!lists.are_adjacent() || lists.count == 0) return false;
  return visit_bounds({lists.starts, lists.count + 1, lists.type}, [&](const auto* offsets) {
    return offsets[0] == 0 && static_cast<std::int64_t>(offsets[lists.count]) == content.length;
  });
}

nb::object plain_segmented_reduce(const PlainCall& call) {
  ListCall made;
  Elements content;
  if (!plain_content(call, content, made)) return {};
  const Place place = Place::plain();
  if (const auto op = call.op()) {
    if (content.is_boolean && *op != Operator::add) return {};
    const Type type = result_type(*op, content);
    nb::object out = new_array(made.lists.count, type);
    made.out = as_output(out, type);
    segmented_reduce(place, *op, made);
    return out;
  }
  const auto reducer = parse_reducer(call.op_name());
  if (!reducer) return {};
  const bool is_boolean = *reducer == Reducer::any || *reducer == Reducer::all;
  nb::object out = is_boolean ? new_booleans(made.lists.count) : new_array(made.lists.count, Type::int64);
  made.out = as_output(out, is_boolean ? Type::uint8 : Type::int64);
  segmented_reduce(place, *reducer, made);
  return out;
}

nb::object plain_segmented_scan(const PlainCall& call) {
  ListCall made;
  Elements content;
  const auto op = call.op();
  const auto exclusive = call.is_exclusive();
  if (!op || !exclusive || !plain_content(call, content, made) || !covers(made.lists, made.content)) return {};
  if (content.is_boolean && *op != Operator::add) return {};
  const Type type = result_type(*op, content);
  nb::object out = new_array(made.content.length, type);
  made.out = as_output(out, type);
  segmented_scan(Place::plain(), {*op, *exclusive}, made);
  return out;
}

template <bool kPositions>
nb::object plain_sort(const PlainCall& call) {
  ListCall made;
  Elements content;
  if (!plain_content(call, content, made) || !covers(made.lists, made.content) || content.is_boolean) return {};
  const Type type = kPositions ? Type::int64 : made.content.type;
  nb::object out = new_array(made.content.length, type);
  made.out = as_output(out, type);
  segmented_sort(Place::plain(), kPositions, {}, made);
  return out;
}

/// Keys and as many values, which are given by position.
bool plain_pairs(const PlainCall& call, Elements& keys, Elements& values) {
  return call.given().size() == 2 && plain_numbers(call.given()[0], keys) && plain_numbers(call.given()[1], values) &&
         keys.length == values.length;
}

nb::object plain_reduce_by_key(const PlainCall& call) {
  Elements keys;
  Elements values;
  const auto op = call.op();
  if (!op || !plain_pairs(call, keys, values)) return {};
  const Place place = Place::plain();
  const std::int64_t runs = count_key_runs(place, as_input(keys));
  const nb::object firsts = new_array(runs, keys.type);
  const nb::object folds = new_array(runs, result_type(*op, values));
  reduce_by_key(place, name(*op), call.given()[0], call.given()[1], nb::none(), firsts, folds);
  return nb::make_tuple(firsts, folds);
}

nb::object plain_scan_by_key(const PlainCall& call) {
  Elements keys;
  Elements values;
  const auto op = call.op();
  const auto exclusive = call.is_exclusive();
  if (!op || !exclusive || !plain_pairs(call, keys, values)) return {};
  nb::object out = new_array(values.length, result_type(*op, values));
  scan_by_key(Place::plain(), name(*op), Truth{*exclusive}, call.given()[0], call.given()[1], nb::none(), out);
  return out;
}

nb::object plain_group_by(const PlainCall& call) {
  Elements keys;
  Elements values;
  const auto op = call.op();
  if (!op || !plain_pairs(call, keys, values) || is_float(keys.type)) return {};
  const Type type = result_type(*op, values);
  if (type != values.type && *op != Operator::add) return {};  // Python converts the values
  const nb::object firsts = new_array(keys.length, keys.type);
  const nb::object folds = new_array(keys.length, type);
  const std::int64_t groups =
      group_by(Place::plain(), name(*op), call.given()[0], call.given()[1], firsts, folds, nb::none());
  const nb::slice filled(groups);
  return nb::make_tuple(firsts[filled], folds[filled]);
}

}  // namespace

void define_lists(nb::module_& module) {
  add_plain_cases({{"segmented_reduce", named(Keyword::op), &plain_segmented_reduce},
                   {"segmented_scan", named(Keyword::op, Keyword::exclusive), &plain_segmented_scan},
                   {"segmented_sort", 0, &plain_sort<false>},
                   {"segmented_argsort", 0, &plain_sort<true>},
                   {"reduce_by_key", named(Keyword::op), &plain_reduce_by_key},
                   {"scan_by_key", named(Keyword::op, Keyword::exclusive), &plain_scan_by_key},
                   {"group_by", named(Keyword::op), &plain_group_by}});
  module.def("group_by", &group_by, nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"),
             nb::arg("out_keys"), nb::arg("out"), nb::arg("counts").none());
  module.def("reduce_by_key", &reduce_by_key, nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"),
             nb::arg("initial").none(), nb::arg("out_keys"), nb::arg("out"));
  module.def("scan_by_key", &scan_by_key, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("keys"),
             nb::arg("values"), nb::arg("initial").none(), nb::arg("out"));
  module.def("segmented_reduce", &segmented_reduce_array, nb::arg("place"), nb::arg("op"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_scan", &segmented_scan_array, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"),
             nb::arg("lists"), nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(),
             nb::arg("initial").none(), nb::arg("out"));
  module.def("segmented_sort", &segmented_sort_array, nb::arg("place"), nb::arg("positions"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("descending"), nb::arg("nan_first"),
             nb::arg("out"));
}

}  // namespace upsweep::python
