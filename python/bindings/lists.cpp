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

std::string_view segmented_reduce(const Place& place, std::string_view op, nb::handle lists, nb::handle lists_valid,
                                  nb::handle content, nb::handle valid, nb::handle initial, nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const Mask mask = mask_of(valid, "valid");
  // A call that has the wrong number of results is refused as a whole.
  const auto room = [&](const Lists& some) { return some.count == of.count ? to.length : some.count; };
  if (const auto reducer = parse_reducer(op)) {
    return place.run(work_of(of, from), [&](const auto& host_or_gpu) {
      return in_pieces(
          host_or_gpu, of, work_of(of, from), [&](const auto& policy, const Lists& some, std::int64_t first) {
            return dynamic::segmented_reduce(policy, *reducer, some, from, results_from(to, first, room(some)), mask);
          });
    });
  }
  const Operator named = operator_named(op);
  const void* const init = initial_of(initial, to.type);
  return place.run(work_of(of, from), [&](const auto& host_or_gpu) {
    return in_pieces(
        host_or_gpu, of, work_of(of, from), [&](const auto& policy, const Lists& some, std::int64_t first) {
          return dynamic::segmented_reduce(policy, named, some, from, results_from(to, first, room(some)), init, mask);
        });
  });
}

std::string_view segmented_scan(const Place& place, std::string_view op, Truth exclusive, nb::handle lists,
                                nb::handle lists_valid, nb::handle content, nb::handle valid, nb::handle initial,
                                nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const Mask mask = mask_of(valid, "valid");
  const dynamic::ScanOptions options{operator_named(op), exclusive};
  const void* const init = initial_of(initial, to.type);
  return place.run(work_of(of, from), [&](const auto& policy) {
    return dynamic::segmented_scan(policy, options, of, from, to, init, mask);
  });
}

/// `positions`: what is written is where the elements lie, not these themselves.
std::string_view segmented_sort(const Place& place, bool positions, nb::handle lists, nb::handle lists_valid,
                                nb::handle content, Truth descending, Truth nan_first, nb::handle out) {
  const Lists of = lists_of(lists, lists_valid);
  const dynamic::ConstArray from = input(content, "content");
  const dynamic::Array to = output(out, "out");
  const SortOptions options{.descending = descending, .nan_first = nan_first};
  return place.run(work_of(of, from), [&](const auto& host_or_gpu) {
    return in_pieces(host_or_gpu, of, work_of(of, from), [&](const auto& policy, const Lists& some, std::int64_t) {
      return positions ? dynamic::segmented_argsort(policy, some, from, to, options)
                       : dynamic::segmented_sort(policy, some, from, to, options);
    });
  });
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
      runs += dynamic::reduce_by_key(policy, named, piece_of(of, first, count), piece_of(from, first, count),
                                     results_from(to_keys, runs, to_keys.length - runs),
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
      dynamic::scan_by_key(policy, options, piece_of(of, first, count), piece_of(from, first, count),
                           results_from(to, first, count), init);
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
      return dynamic::group_by(policy, named, of, from, to_keys, to, to_counts, go_on).groups;
    } else {
      return dynamic::group_by(policy, named, of, from, to_keys, to, to_counts).groups;
    }
  });
}

}  // namespace

void define_lists(nb::module_& module) {
  module.def("group_by", &group_by, nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"),
             nb::arg("out_keys"), nb::arg("out"), nb::arg("counts").none());
  module.def("reduce_by_key", &reduce_by_key, nb::arg("place"), nb::arg("op"), nb::arg("keys"), nb::arg("values"),
             nb::arg("initial").none(), nb::arg("out_keys"), nb::arg("out"));
  module.def("scan_by_key", &scan_by_key, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("keys"),
             nb::arg("values"), nb::arg("initial").none(), nb::arg("out"));
  module.def("segmented_reduce", &segmented_reduce, nb::arg("place"), nb::arg("op"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_scan", &segmented_scan, nb::arg("place"), nb::arg("op"), nb::arg("exclusive"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("valid").none(), nb::arg("initial").none(),
             nb::arg("out"));
  module.def("segmented_sort", &segmented_sort, nb::arg("place"), nb::arg("positions"), nb::arg("lists"),
             nb::arg("lists_valid").none(), nb::arg("content"), nb::arg("descending"), nb::arg("nan_first"),
             nb::arg("out"));
}

}  // namespace upsweep::python
