// SPDX-License-Identifier: Apache-2.0
// problems/lists/pack/conversions.cpp: offsets from lengths, parents and other offsets, and positions by offsets, with
// the kernels of pack.
#include "problems/lists/pack/conversions.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>
#include <string>

#include "core/adjacent_lists.hpp"
#include "core/apart.hpp"
#include "core/ladder.hpp"
#include "core/lists.hpp"
#include "core/no_ladder.hpp"
#include "cpu/list_runs.hpp"
#include "problems/lists/pack/layout.hpp"
#include "upsweep/detail/pack_call.hpp"
#include "upsweep/detail/scan_call.hpp"

namespace upsweep {
namespace impl::pack {

void throw_bad_length(std::int64_t list, std::int64_t length) {
  if (length >= 0) throw_offset_overflow(list);
  throw Error(Code::stop_before_start, detail::invalid_list(list, "length (" + std::to_string(length) + ") < 0"), list);
}

void throw_bad_parent(std::int64_t element, std::int64_t parent, std::int64_t before, std::int64_t lists) {
  const std::string what = "parent " + std::to_string(element) + " is " + std::to_string(parent);
  if (parent < 0 || parent >= lists) {
    throw Error(Code::index_out_of_range, what + ": there are " + std::to_string(lists) + " lists", element);
  }
  throw Error(Code::stop_before_start,
              what + ", less than the one before it, " + std::to_string(before) + ": parents must be sorted", element);
}

void throw_bad_level(std::int64_t list, std::int64_t start, std::int64_t stop, std::int64_t inner) {
  const auto refuse = [&](Code code, const std::string& reason) {
    throw Error(code, "outer " + detail::invalid_list(list, reason), list);
  };
  const std::string bounds = "[" + std::to_string(start) + ", " + std::to_string(stop) + ")";
  if (start < 0 || start > inner || (stop >= start && stop > inner)) {
    refuse(Code::index_out_of_range, bounds + " is not within the " + std::to_string(inner) + " inner lists");
  }
  if (stop < start)
    throw Error(Code::stop_before_start,
                "outer " + detail::invalid_list(Code::stop_before_start, list, start, stop, inner), list);
  refuse(Code::stop_before_start, "the offsets of the inner lists " + bounds + " decrease");
  detail::no_such_value();
}

namespace {

constexpr std::int64_t kPositionBytes = sizeof(std::int64_t);

/// Throws if the output positions overlap an input. read(arrays) adds the inputs.
template <class Read>
void require_apart(const std::int64_t* out, std::int64_t count, Read read) {
  CallArrays arrays;
  read(arrays);
  arrays.write(out, count, kPositionBytes);
  arrays.require_apart();
}

void require(const Policy& policy) {
  require_policy(policy);
  require_no_rung(policy.rung);
}

/// Runs call() and turns its std::bad_alloc into an Error.
template <class Call>
decltype(auto) with_memory(Call call) try {
  return call();
} catch (const std::bad_alloc&) {
  throw Error(Code::out_of_memory, "no memory left for the shares of threads");
}

// ------------------------------------------------------------------------------------------------------------- parents

/// Number of parents that fit in L1: they are all checked, then written one by one.
constexpr std::int64_t kParentsAtATime = 1024;

/// Returns whether the parents in [first, last) are sorted and refer to existing lists.
template <class T>
bool are_parents(const T* parents, std::int64_t first, std::int64_t last, std::int64_t n) {
  bool good = first == 0 || parents[first - 1] <= parents[first];
  for (std::int64_t k = first + 1; k < last; ++k) good &= parents[k - 1] <= parents[k];
  // If parents are sorted, it is enough to check the first and the last.
  return good && static_cast<std::int64_t>(parents[first]) >= 0 && static_cast<std::int64_t>(parents[last - 1]) < n;
}

void set(std::int64_t& offset, std::int64_t value) {
  // If parents are not sorted, two threads may write the same offset before either detects the error.
  std::atomic_ref(offset).store(value, std::memory_order_relaxed);
}

/// Writes offsets[i + 1] for each list i that ends with an element of [first, last), and for the empty lists before
/// lists that begin there. Returns whether the parents are valid.
template <class T>
bool end_lists(const T* parents, std::int64_t elements, std::int64_t first, std::int64_t last, std::int64_t n,
               std::int64_t* offsets) {
  const auto parent = [&](std::int64_t k) { return static_cast<std::int64_t>(parents[k]); };
  std::int64_t end = last;
  if (last < elements) {
    while (end > first && parents[end - 1] == parents[last]) --end;
  }
  // The last parent of the previous share, which may be bad; at least -1 (no list).
  std::int64_t before = first == 0 ? -1 : std::max<std::int64_t>(parent(first - 1), -1);
  const auto end_empty_lists = [&](std::int64_t list, std::int64_t k) {
    for (std::int64_t empty = before + 1; empty < list; ++empty) set(offsets[empty + 1], k);
  };
  for (std::int64_t at = first; at < last; at += kParentsAtATime) {
    const std::int64_t stop = std::min(at + kParentsAtATime, last);
    if (!are_parents(parents, at, stop, n)) return false;
    for (std::int64_t k = at; k < std::min(stop, end); ++k) {
      const std::int64_t list = parent(k);
      end_empty_lists(list, k);
      set(offsets[list + 1], k + 1);
      before = list;
    }
  }
  if (end < last) end_empty_lists(parent(end), end);
  return true;
}

template <class T>
[[noreturn]] void throw_first_bad_parent(const T* parents, std::int64_t elements, std::int64_t n) {
  for (std::int64_t k = 0; k < elements; ++k) {
    const auto parent = static_cast<std::int64_t>(parents[k]);
    const auto before = k == 0 ? parent : static_cast<std::int64_t>(parents[k - 1]);
    if (parent < 0 || parent >= n || parent < before) throw_bad_parent(k, parent, before, n);
  }
  detail::no_such_value();
}

}  // namespace
}  // namespace impl::pack

// ------------------------------------------------------------------------------------------------------------- lengths

std::int64_t detail::run_lengths_to_offsets(const Policy& policy, Type type, const void* lengths, std::int64_t n,
                                            const Mask& valid, std::int64_t* offsets) {
  impl::pack::require(policy);
  require_array(lengths, n, "lengths");
  require_mask(valid, n, "the validity of the lists");
  require_array(offsets, 1, "offsets");
  impl::pack::require_apart(offsets, n + 1, [&](CallArrays& arrays) {
    arrays.read(lengths, n, size_of(type));
    arrays.read(valid);
  });
  return visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
    const auto* given = static_cast<const T*>(lengths);
    const std::int64_t bad = impl::pack::with_memory([&] {
      return impl::pack::visit_validity(impl::pack::GivenLengths<T>{given}, valid, [&](const auto& each) {
        return impl::pack::lay_out(each, n, offsets, policy.threads);
      });
    });
    if (bad == kNoIndex) return offsets[n];
    impl::pack::throw_bad_length(bad, static_cast<std::int64_t>(given[bad]));
  });
}

void detail::run_flatten(const Policy& policy, const Lists& outer, const Lists& inner, std::int64_t* offsets) {
  impl::pack::require(policy);
  require_adjacent(outer, "outer lists");
  require_adjacent(inner, "inner lists");
  require_array(offsets, 1, "offsets");
  impl::pack::require_apart(offsets, outer.count + 1, [&](CallArrays& arrays) {
    arrays.read(outer);
    arrays.read(inner);
  });
  const auto bad_list = [&](const auto& of_outer, const auto& of_inner) {
    const auto is_inner = [&](std::int64_t i) { return i >= 0 && i <= inner.count; };
    constexpr std::int64_t kBlock = cpu::kBlockBytes / std::int64_t{sizeof(std::int64_t)};
    if (!is_inner(of_outer(0))) return std::int64_t{0};
    offsets[0] = of_inner(of_outer(0));
    return cpu::for_each_block(outer.count, kBlock, policy.threads, [&](cpu::Range lists) {
      std::int64_t start = of_outer(lists.first);
      if (!is_inner(start)) return kNoIndex;  // the list before reports this error
      std::int64_t offset = of_inner(start);
      for (std::int64_t i = lists.first; i < lists.first + lists.count; ++i) {
        const std::int64_t stop = of_outer(i + 1);
        if (stop < start || stop > inner.count) return i;
        const std::int64_t next = of_inner(stop);
        if (next < offset) return i;
        offsets[i + 1] = next;
        start = stop;
        offset = next;
      }
      return kNoIndex;
    });
  };
  visit_offsets(outer, [&](const auto& of_outer) {
    visit_offsets(inner, [&](const auto& of_inner) {
      const std::int64_t bad = bad_list(of_outer, of_inner);
      if (bad == kNoIndex) return;
      const std::int64_t start = of_outer(bad);
      const std::int64_t stop = outer.count == 0 ? start : of_outer(bad + 1);
      impl::pack::throw_bad_level(bad, start, stop, inner.count);
    });
  });
}

// -------------------------------------------------------------------------------------------------- elements of lists

std::int64_t detail::run_broadcast_to_offsets(const Policy& policy, const Lists& lists, const std::int64_t* offsets,
                                              std::int64_t content, std::int64_t* positions, std::int64_t capacity) {
  impl::pack::require(policy);
  if (content < 0) throw Error(Code::invalid_argument, "the length of the content must not be negative");
  require_lists(lists, content);
  require_array(offsets, 1, "offsets");
  require_array(positions, capacity, "positions");
  impl::pack::require_apart(positions, capacity, [&](CallArrays& arrays) {
    arrays.read(lists);
    arrays.read(offsets, lists.count + 1, impl::pack::kPositionBytes);
  });
  // A call of pack without columns: it has the same content and the same errors.
  PackCall call;
  call.lists = lists;
  call.content = content;
  call.capacity = capacity;
  call.offsets = const_cast<std::int64_t*>(offsets);  // given offsets are only read
  call.offsets_given = true;
  const cpu::PackKernels& kernels = cpu::pack_kernels(policy.isa);
  const auto write_all = [&]<class Bounds, class Lengths>(Bounds bounds, const Lengths& lengths) {
    const cpu::Fit<Lengths> fit{lengths, offsets};
    const cpu::PathLists<GivenOffsets<std::int64_t>, Bounds> laid{{offsets}, lists.count, bounds};
    const bool non_temporal = call.total * impl::pack::kPositionBytes >= cpu::kNonTemporalBytes;
    return cpu::for_each_path_work_unit(
        laid.offsets, laid.n, impl::pack::kPositionBytes, policy.threads, [&](const cpu::PathWorkUnit& unit) {
          return laid.write(unit, positions, impl::pack::kPositionBytes, non_temporal, kernels,
                            [&](cpu::Stage& stage, const cpu::ListRun& run, std::int64_t first) {
                              return fit(first, run.count) && kernels.count_up(stage, run);
                            });
        });
  };
  Status status = impl::pack::with_memory([&] { return impl::pack::lay_out(call, policy.threads); });
  const bool good =
      status.ok() && impl::pack::with_memory([&] {
        return visit_bounds(lists, [&](auto bounds) {
          return impl::pack::visit_lengths(call, [&](const auto& lengths) { return write_all(bounds, lengths); });
        });
      });
  if (good) return call.total;
  if (status.ok()) status = impl::pack::first_bad(call);
  if (status.code == Code::unequal_lengths && status.index == kNoIndex)
    throw_too_small("an output", capacity, call.total);
  impl::pack::throw_bad_packed(call, status);
}

void detail::run_parents_to_offsets(const Policy& policy, Type type, const void* parents, std::int64_t elements,
                                    std::int64_t n, std::int64_t* offsets) {
  impl::pack::require(policy);
  require_array(parents, elements, "parents");
  if (n < 0) throw Error(Code::invalid_argument, "the number of lists must not be negative");
  require_array(offsets, 1, "offsets");
  impl::pack::require_apart(offsets, n + 1, [&](CallArrays& arrays) { arrays.read(parents, elements, size_of(type)); });
  visit_list_bound(type, [&]<class T>(std::type_identity<T>) {
    const auto* given = static_cast<const T*>(parents);
    offsets[0] = 0;
    constexpr std::int64_t kBlock = cpu::kBlockBytes / std::int64_t{sizeof(T)};
    const std::int64_t bad = cpu::for_each_block(elements, kBlock, policy.threads, [&](cpu::Range range) {
      const std::int64_t last = range.first + range.count;
      return impl::pack::end_lists(given, elements, range.first, last, n, offsets) ? kNoIndex : range.first;
    });
    if (bad != kNoIndex) impl::pack::throw_first_bad_parent(given, elements, n);
    const std::int64_t ended = elements == 0 ? 0 : static_cast<std::int64_t>(given[elements - 1]) + 1;
    std::int64_t* const empty = offsets + ended + 1;
    cpu::for_each_block(n - ended, cpu::kBlockBytes / impl::pack::kPositionBytes, policy.threads,
                        [&](cpu::Range range) {
                          std::fill_n(empty + range.first, range.count, elements);
                          return kNoIndex;
                        });
  });
}

void detail::require_values(std::int64_t values, std::int64_t lists) {
  if (values == lists) return;
  throw Error(Code::unequal_lengths,
              "there are " + std::to_string(values) + " values for " + std::to_string(lists) + " lists");
}

}  // namespace upsweep
