# SPDX-License-Identifier: Apache-2.0
# tests/compile_errors.py: SOURCE_DIR CXX — compiles wrong programs: the first error must say what is required. It also
# compiles correct programs that look similar: they must compile. It includes each public header before C++20.
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

# The code before all programs. Each program is the body of a function.
BEGINNING = """\
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <execution>
#include <functional>
#include <list>
#include <numeric>
#include <ranges>
#include <span>
#include <string>
#include <vector>
#include <upsweep/filtered_sum.hpp>
#include <upsweep/by_key.hpp>
#include <upsweep/chunked.hpp>
#include <upsweep/combinations.hpp>
#include <upsweep/group_by.hpp>
#include <upsweep/list_shards.hpp>
#include <upsweep/broadcast.hpp>
#include <upsweep/pack.hpp>
#include <upsweep/offsets.hpp>
#include <upsweep/reduce.hpp>
#include <upsweep/scan.hpp>
#include <upsweep/segmented_reduce.hpp>
#include <upsweep/segmented_scan.hpp>
#include <upsweep/segmented_sort.hpp>
#include <upsweep/select.hpp>
#include <upsweep/subset_sum.hpp>

using upsweep::par;
constexpr upsweep::gpu::Policy gpu;
extern const upsweep::gpu::Chunked chunked;
extern const upsweep::gpu::Group group;
extern const std::vector<upsweep::gpu::Shard<int>> shards;
extern const std::vector<upsweep::gpu::ListsShard<int>> list_shards;
struct DerivedPolicy : upsweep::Policy {};
struct DerivedGpuPolicy : upsweep::gpu::Policy {};
const DerivedPolicy const_policy{};
const DerivedGpuPolicy const_gpu_policy{};
struct MutablePolicy { operator upsweep::Policy() { return {}; } };
struct MutableGpuPolicy { upsweep::gpu::Policy policy; operator upsweep::gpu::Policy&() { return policy; } };
namespace greedy {
struct Policy : upsweep::Policy {};
template <class... T> void inclusive_scan(const Policy&, T&&...) { static_assert(sizeof...(T) > 99); }
template <class... T> void exclusive_scan(const Policy&, T&&...) { static_assert(sizeof...(T) > 99); }
template <class... T> void reduce(const Policy&, T&&...) { static_assert(sizeof...(T) > 99); }
template <class... T> void select(const Policy&, T&&...) { static_assert(sizeof...(T) > 99); }
template <class... T> void reduce_by_key(const Policy&, T&&...) { static_assert(sizeof...(T) > 99); }
}  // namespace greedy
int larger(int a, int b) { return a < b ? b : a; }
struct NoDefault { explicit NoDefault(int x) : value(x) {} int value; };
struct ConstMember { const int value = 0; };
struct Point { double x, y, z; };
enum class Color { red, green };
inline NoDefault operator+(NoDefault a, NoDefault) { return a; }
inline ConstMember operator+(ConstMember a, ConstMember) { return a; }
std::vector<int> ints(4), int_out(4);
std::vector<double> doubles(4), out(4);
std::vector<std::int64_t> offsets{0, 2, 4}, longs(4), keys(4), out_keys(4);
std::vector<std::uint8_t> mask(4);
std::vector<std::size_t> sizes{0, 2, 4};
std::vector<std::vector<std::int64_t>> pairs(2, longs);
std::vector<std::vector<int>> int_pairs(2, ints);
std::vector<std::int64_t*> pointers(2);
std::vector<upsweep::CartesianInput> inputs{{offsets, 4}, {offsets, 4}};
std::vector<bool> flags(4);
std::deque<int> queue(4);
"""

POLICY = "the first argument must be a policy: upsweep::par or upsweep::seq"
MUTABLE = "converts to a policy only where it is not const"
ARRAYS = "must be contiguous in memory"
BOUNDS = "must be of std::int32_t, std::uint32_t or std::int64_t"
ITERATORS = "takes arrays, not iterators"
DEFAULT = "must have a default constructor"
ASSIGN = "must be assignable"
CONST = "callable as const"
INIT = "needs an initial value"
ORDER = "comes before the operator"
INTEGERS = "bit operators are for integers"
BOOL = "does not add or multiply bool"
MOVED = "elements of 1, 2, 4, 8 or 16 bytes"
GROUP_KEYS = "keys must be integers"
CONDITIONAL = ("have different types", "conditional expression is ambiguous")  # GCC, Clang
ITEMS = "items must be of std::int64_t"
WHOLE = "must be integers"
MASK = "a mask must be an array of bool or std::uint8_t"
POINTER = "takes an array where a pointer is given"
ONE_TYPE = "must be of one type"
SORTED = "elements that are sorted must be of a type of"
ORDERED = "upsweep::SortOptions{.descending = true}"
COMBINATIONS = "combinations() takes (policy, lists, content, replacement, offsets, positions)"
COMBINATIONS_OFFSETS = "combinations_offsets() takes (policy, lists, content, n, replacement, offsets)"
CARTESIAN = "cartesian() takes (policy, {{lists, content}, ...}, offsets, positions)"
CARTESIAN_OFFSETS = "cartesian_offsets() takes (policy, {{lists, content}, ...}, offsets)"
POSITIONS = "take_positions() takes (policy, lists, content, index_lists, indices, out_offsets, positions, capacity)"
BROADCAST = "broadcast_to_offsets() takes (policy, lists, offsets, content, positions)"
NO_ARRAY = ("cannot convert 'std::vector", "no viable conversion", "no matching function")  # GCC, Clang: one function
HOST = "is in host memory: with a gpu::Policy, pass device memory"
VALUE_AT = "a gpu::ValueAt is an initial value of inclusive_scan"
CPP20 = "upsweep needs C++20: add -std=c++20"
SEVERAL = "pass upsweep::max or upsweep::min, or a lambda"

WRONG = [
    # A policy is missing.
    (POLICY, "upsweep::inclusive_scan(ints, int_out);"),
    (POLICY, "upsweep::exclusive_scan(ints, int_out, 0);"),
    (POLICY, "upsweep::reduce(doubles);"),
    (POLICY, "upsweep::reduce(doubles.begin(), doubles.end(), 0.0);"),
    (POLICY, "upsweep::segmented_reduce(offsets, doubles, out);"),
    (POLICY, "upsweep::select(mask, doubles, out);"),
    (POLICY, "upsweep::find_subset(longs, 7);"),
    (POLICY, "upsweep::group_by(keys, doubles, out_keys, out);"),
    (POLICY, "upsweep::reduce(std::execution::par, doubles);"),
    (POLICY, "upsweep::inclusive_scan(std::execution::par, doubles, out);"),
    (POLICY, "upsweep::select(std::execution::par, mask, doubles, out);"),
    (POLICY, "upsweep::find_subset(std::execution::par, keys, 7);"),
    (MUTABLE, "MutablePolicy own; upsweep::reduce(own, doubles);"),
    (MUTABLE, "upsweep::inclusive_scan(MutablePolicy{}, doubles, out);"),
    (MUTABLE, "MutableGpuPolicy own; upsweep::select(own, mask, std::span(doubles), std::span(out));"),
    (MUTABLE, "MutableGpuPolicy own; upsweep::find_subset(own, keys, 7);"),
    # Iterators.
    (ITERATORS, "upsweep::segmented_reduce(par, offsets.begin(), offsets.end(), doubles.begin(), out.begin());"),
    (ITERATORS, "upsweep::segmented_sort(par, offsets.begin(), offsets.end(), doubles.begin(), out.begin());"),
    (ITERATORS, "upsweep::find_subset(par, keys.begin(), keys.end(), 7);"),
    (ITERATORS, "upsweep::select(par, mask.begin(), mask.end(), doubles.begin(), out.begin());"),
    (ITERATORS, "upsweep::offsets(par, keys.begin(), keys.end(), offsets.begin());"),
    (ITERATORS, "upsweep::take(par, doubles.begin(), keys.begin(), out.begin());"),
    (ITERATORS, "upsweep::inclusive_scan(par, ints.begin(), ints.end(), int_out.begin());"),
    (ITERATORS, "upsweep::exclusive_scan(par, ints.begin(), ints.end(), int_out.begin(), 0);"),
    (ITERATORS, "upsweep::reduce(par, doubles.begin(), doubles.end());"),
    (ITERATORS, "upsweep::reduce(par, doubles.data(), doubles.data() + 4, 0.0);"),
    (ITERATORS, "int raw[3]; upsweep::inclusive_scan(par, raw, raw + 3, int_out.data());"),
    (ITERATORS, "const int raw[3] = {}; upsweep::exclusive_scan(par, raw, raw + 3, int_out.data(), 0);"),
    (ITERATORS, "double raw[3]; upsweep::reduce(par, raw, raw + 3, 0.0);"),
    # Pointers for arrays.
    (POINTER, "upsweep::inclusive_scan(par, ints, int_out.data());"),
    (POINTER, "upsweep::inclusive_scan(par, ints.data(), 4, int_out);"),
    (POINTER, "upsweep::inclusive_scan(par, ints.data(), int_out);"),
    (POINTER, "upsweep::exclusive_scan(par, ints, int_out.data(), 0);"),
    (POINTER, "upsweep::exclusive_scan(par, ints.data(), int_out, 0);"),
    (POINTER, "upsweep::reduce(par, doubles.data());"),
    (POINTER, "upsweep::segmented_reduce(par, offsets, doubles, out.data());"),
    (POINTER, "upsweep::segmented_reduce(par, offsets, doubles.data(), out);"),
    (POINTER, "upsweep::segmented_reduce(par, offsets, doubles.data(), 4, out);"),
    (POINTER, "upsweep::segmented_reduce(par, offsets.data(), doubles, out);"),
    (POINTER, "upsweep::segmented_reduce(par, offsets.data(), doubles.data(), out.data());"),
    (POINTER, "upsweep::segmented_inclusive_scan(par, offsets, doubles.data(), 4, out);"),
    (POINTER, "upsweep::segmented_exclusive_scan(par, offsets, doubles, out.data(), 0.0);"),
    (POINTER, "upsweep::segmented_sort(par, offsets, doubles, out.data());"),
    (POINTER, "upsweep::segmented_argsort(par, offsets.data(), doubles, longs);"),
    (POINTER, "upsweep::take(par, doubles, keys.data(), out);"),
    (POINTER, "upsweep::take(par, doubles.data(), keys, out);"),
    (POINTER, "upsweep::take(par, doubles, keys, out.data());"),
    (POINTER, "upsweep::take(par, doubles.data(), 4, keys, out);"),
    (POINTER, "upsweep::take(par, offsets, doubles, offsets, keys, out_keys.data(), out);"),
    (POINTER, "upsweep::take(par, keys.data(), upsweep::SelectColumn(doubles, out));"),
    (POINTER, "upsweep::select(par, mask.data(), doubles, out);"),
    (POINTER, "upsweep::select(par, mask, doubles, out.data());"),
    (POINTER, "upsweep::select(par, offsets, mask, offsets.data(), doubles, out);"),
    (POINTER, "upsweep::count_kept(par, mask.data(), 4);"),
    (POINTER, "upsweep::partition(par, mask, doubles.data(), out);"),
    (POINTER, "upsweep::offsets(par, keys.data(), keys.data(), 4, offsets);"),
    (POINTER, "upsweep::lengths_to_offsets(par, keys, offsets.data());"),
    (POINTER, "upsweep::flatten(par, offsets.data(), offsets, out_keys);"),
    (POINTER, "upsweep::offsets_to_parents(par, offsets, keys.data());"),
    (POINTER, "upsweep::parents_to_offsets(par, keys.data(), offsets);"),
    (POINTER, "upsweep::local_index(par, offsets.data(), keys);"),
    (POINTER, "upsweep::broadcast(par, offsets, doubles, out.data());"),
    (POINTER, "upsweep::group_by(par, keys, doubles.data(), out_keys, out);"),
    (POINTER, "upsweep::reduce_by_key(par, keys, doubles, out_keys, out.data());"),
    (POINTER, "upsweep::inclusive_scan_by_key(par, keys.data(), doubles, out);"),
    (POINTER, "upsweep::exclusive_scan_by_key(par, keys, doubles, out.data(), 0.0);"),
    (POINTER, "upsweep::count_key_runs(par, keys.data());"),
    (POINTER, "upsweep::key_offsets(par, keys, offsets.data());"),
    (POINTER, "upsweep::pack(par, offsets.data(), out_keys, upsweep::PackColumn(doubles, out));"),
    (POINTER, "upsweep::pack_offsets(par, offsets.data(), 4, out_keys);"),
    (POINTER, "upsweep::find_subset(par, keys.data(), 7);"),
    (POINTER, "upsweep::find_subsets(par, keys.data(), 7, 1);"),
    (POINTER, "upsweep::plan_subset(par, keys.data(), 7);"),
    (POINTER, "upsweep::filtered_sum(par, sizes.data(), longs, longs, 7);"),
    # Host memory for a GPU.
    (HOST, "upsweep::select(gpu, mask, doubles, out);"),
    (HOST, "upsweep::select(gpu, offsets, mask, longs, std::span(doubles), std::span(out));"),
    (HOST, "upsweep::partition(gpu, mask, std::span(doubles), out);"),
    (HOST, "upsweep::take(gpu, std::span(doubles), keys, std::span(out));"),
    (HOST, "upsweep::inclusive_scan(gpu, ints, std::span(int_out));"),
    (HOST, "upsweep::exclusive_scan(gpu, std::span(ints), int_out, 0);"),
    (HOST, "upsweep::reduce(gpu, ints);"),
    (HOST, "upsweep::reduce(gpu, std::array{1, 2}, 0);"),
    (HOST, "int raw[4]; upsweep::reduce(gpu, raw);"),
    (HOST, "int raw[4]; upsweep::inclusive_scan(gpu, std::span(ints), raw);"),
    (INIT, "upsweep::exclusive_scan(gpu, std::span(ints), std::span(int_out));"),
    (VALUE_AT, "upsweep::reduce(gpu, std::span(ints), upsweep::gpu::ValueAt(ints.data()));"),
    (VALUE_AT, "upsweep::reduce(gpu, ints.data(), 4, upsweep::gpu::ValueAt(ints.data()));"),
    (VALUE_AT, "const std::span<int> device(ints); upsweep::reduce(gpu, device, upsweep::gpu::ValueAt(ints.data()));"),
    (VALUE_AT, "upsweep::exclusive_scan(gpu, std::span(ints), std::span(int_out), upsweep::gpu::ValueAt(ints.data()));"),
    (VALUE_AT, "upsweep::inclusive_scan(par, ints.data(), 4, int_out.data(), upsweep::gpu::ValueAt(ints.data()), upsweep::add);"),
    ("by upsweep/reduce.cuh", "upsweep::reduce(gpu, std::span<std::chrono::nanoseconds>());"),
    ("by upsweep/scan.cuh", "upsweep::inclusive_scan(gpu, ints.data(), 4, int_out.data(), [](int a, int b) { return a - b; });"),
    ("by upsweep/reduce.cuh", "upsweep::reduce(gpu, std::span(ints), 0, [](int a, int b) { return a - b; });"),
    (ITERATORS, "upsweep::reduce(gpu, doubles.data(), doubles.data() + 4, 0.0);"),
    (HOST, "upsweep::segmented_reduce(gpu, offsets, doubles, std::span(out));"),
    (HOST, "upsweep::segmented_inclusive_scan(gpu, offsets, std::span(doubles), out, 0.0, upsweep::max);"),
    (HOST, "upsweep::segmented_exclusive_scan(gpu, offsets, std::span(doubles), out, 0.0);"),
    ("by upsweep/segmented_reduce.cuh", "upsweep::segmented_reduce(gpu, offsets, ints.data(), 4, int_out.data(), 0, [](int a, int b) { return a - b; });"),
    ("by the operators of upsweep/operators.hpp", "upsweep::segmented_inclusive_scan(gpu, offsets, ints.data(), 4, int_out.data(), 0, [](int a, int b) { return a - b; });"),
    (POINTER, "upsweep::segmented_reduce(gpu, offsets, doubles.data(), 4, std::span(out));"),
    (HOST, "upsweep::offsets(gpu, std::span(keys), std::span(keys), offsets);"),
    (HOST, "upsweep::segmented_sort(gpu, offsets, doubles, std::span(out));"),
    (HOST, "std::vector<std::uint32_t> key(4); upsweep::filtered_sum(gpu, key, std::span(longs), std::span(longs), 7);"),
    (HOST, "upsweep::count_key_runs(gpu, keys);"),
    (HOST, "upsweep::key_offsets(gpu, std::span(keys), offsets);"),
    (HOST, "upsweep::reduce_by_key(gpu, std::span(keys), std::span(doubles), std::span(out_keys), out);"),
    (HOST, "upsweep::inclusive_scan_by_key(gpu, keys, std::span(doubles), std::span(out));"),
    (HOST, "upsweep::group_by(gpu, keys, std::span(doubles), std::span(out_keys), std::span(out));"),
    (HOST, "upsweep::group_by(gpu, std::span(keys), std::span(doubles), std::span(out_keys), std::span(out), longs, upsweep::max);"),
    (POINTER, "upsweep::reduce_by_key(gpu, keys.data(), doubles.data(), 4, out_keys.data(), std::span(out), 4);"),
    (POINTER, "upsweep::group_by(gpu, keys.data(), doubles.data(), 4, out_keys.data(), std::span(out), 4);"),
    (GROUP_KEYS, "upsweep::group_by(gpu, doubles.data(), doubles.data(), 4, out.data(), out.data(), 4);"),
    (ITEMS, "upsweep::find_subset(gpu, ints, 7);"),
    (ORDERED, "upsweep::segmented_sort(gpu, offsets, std::span(doubles), std::span(out), std::greater<>{});"),
    (HOST, "upsweep::pack(gpu, offsets, out_keys, upsweep::PackColumn(doubles, out));"),
    (HOST, "upsweep::pack_offsets(gpu, offsets, 4, out_keys);"),
    (HOST, "upsweep::lengths_to_offsets(gpu, keys, std::span(offsets));"),
    (HOST, "upsweep::flatten(gpu, offsets, offsets, out_keys);"),
    (HOST, "upsweep::offsets_to_parents(gpu, offsets, keys);"),
    (HOST, "upsweep::parents_to_offsets(gpu, std::span(keys), offsets);"),
    (HOST, "upsweep::local_index(gpu, offsets, keys);"),
    (HOST, "upsweep::broadcast(gpu, offsets, std::span(doubles), out);"),
    (HOST, "upsweep::combinations_offsets(gpu, offsets, 4, 2, false, keys);"),
    (HOST, "upsweep::cartesian(gpu, {{offsets, 4}, {offsets, 4}}, std::span(keys), pairs);"),
    (HOST, "upsweep::cartesian_offsets(gpu, {{offsets, 4}}, keys);"),
    (CARTESIAN, "upsweep::cartesian(gpu, {{offsets, 4}, {offsets, 4}}, keys.data(), pairs);"),
    (CARTESIAN, "upsweep::cartesian(gpu, {{offsets.data(), 4}, {offsets.data(), 4}}, keys, pairs);"),
    (COMBINATIONS, "upsweep::combinations(gpu, offsets, 4, false, keys.data(), pairs);"),
    (MASK, "upsweep::select(gpu, ints, std::span(doubles), std::span(out));"),
    (POINTER, "upsweep::select(gpu, mask, doubles.data(), std::span(out));"),
    # Arguments that are counts.
    (WHOLE, "upsweep::find_subset(par, keys, 7.5);"),
    (WHOLE, "upsweep::find_subset(par, keys.data(), 4, 7.5);"),
    (WHOLE, "upsweep::find_subsets(par, keys, 7, 2.5);"),
    (WHOLE, "upsweep::plan_subset(par, keys, 7.5F);"),
    (WHOLE, "std::uint64_t sums[2]; upsweep::reachable_sums(par, keys.data(), 4, 7.5, sums);"),
    (WHOLE, "upsweep::reduce(par, doubles.data(), 4.5, 0.0);"),
    (WHOLE, "upsweep::inclusive_scan(par, doubles.data(), 4.5, out.data());"),
    (WHOLE, "upsweep::segmented_reduce(par, offsets, doubles.data(), 4.5, out.data());"),
    (WHOLE, "upsweep::inclusive_scan_by_key(par, keys.data(), doubles.data(), 4.5, out.data());"),
    (WHOLE, "upsweep::exclusive_scan_by_key(par, keys.data(), doubles.data(), 4.5, out.data(), 0.5);"),
    (WHOLE, "upsweep::reduce_by_key(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), 4.5);"),
    (WHOLE, "upsweep::reduce_by_key(par, keys.data(), doubles.data(), 4.5, out_keys.data(), out.data(), 4, 0.5, upsweep::max);"),
    (WHOLE, "upsweep::group_by(par, keys.data(), doubles.data(), 4.5, out_keys.data(), out.data(), 4);"),
    (WHOLE, "upsweep::group_by(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), longs.data(), 4.5);"),
    (WHOLE, "upsweep::broadcast(par, offsets, doubles.data(), 8, out.data(), 4.5);"),
    (WHOLE, "std::vector<std::uint32_t> key(4); upsweep::filtered_sum(par, key.data(), longs.data(), longs.data(), 4.5, 7);"),
    (WHOLE, "upsweep::Lists::of_size(2.5, 2);"),
    (WHOLE, "upsweep::Lists::of_size(2, 2.5F);"),
    (WHOLE, "upsweep::Lists::by_offsets(offsets.data(), 2.5);"),
    (WHOLE, "upsweep::Lists::by_bounds(offsets.data(), offsets.data(), 2.5);"),
    (WHOLE, "upsweep::ListViews::by_sizes(offsets.data(), offsets.data(), 2.5);"),
    (WHOLE, "upsweep::Mask::bytes(mask.data(), 4.5);"),
    (WHOLE, "upsweep::Mask::bits(mask.data(), 4, 0.5);"),
    (WHOLE, "upsweep::take(par, upsweep::Indices(keys.data(), 4.5), upsweep::SelectColumn(doubles, out));"),
    (WHOLE, "upsweep::SelectColumn column(doubles.data(), 4.5, out.data(), 4);"),
    (WHOLE, "upsweep::reduce(par.with_threads(2.5), doubles);"),
    # Not arrays.
    ("pass it as std::span(view)", "auto w = ints | std::views::drop_while([](int x) { return x < 0; }); upsweep::inclusive_scan(par, w, int_out);"),
    (MASK, "upsweep::select(par, ints, doubles, out);"),
    (MASK, "upsweep::select(par, doubles, doubles, out);"),
    (MASK, "upsweep::select(par, [](double x) { return x > 0; }, doubles, out);"),
    (MASK, "upsweep::select(par, offsets, ints, keys, doubles, out);"),
    (MASK, "upsweep::count_kept(par, ints);"),
    (MASK, "upsweep::partition(par, ints, doubles, out);"),
    (ARRAYS, "upsweep::inclusive_scan(par, queue, int_out);"),
    (ARRAYS, "upsweep::inclusive_scan(par, ints, queue);"),
    (ARRAYS, "upsweep::inclusive_scan(par, ints | std::views::transform([](int x) { return 2 * x; }), int_out);"),
    (ARRAYS, "upsweep::exclusive_scan(par, queue, int_out, 0);"),
    (ARRAYS, "upsweep::reduce(par, flags);"),
    (ARRAYS, "upsweep::reduce(par, queue);"),
    (ARRAYS, "upsweep::reduce(par, std::views::iota(0, 4), 0);"),
    (ARRAYS, "upsweep::segmented_reduce(par, offsets, queue, int_out);"),
    (ARRAYS, "upsweep::select(par, flags, doubles, out);"),
    # Lists.
    (BOUNDS, "upsweep::segmented_reduce(par, sizes, doubles, out);"),
    (BOUNDS, "upsweep::segmented_reduce(par, upsweep::Lists(sizes, sizes), doubles, out);"),
    (BOUNDS, "upsweep::segmented_inclusive_scan(par, sizes, doubles, out);"),
    (BOUNDS, "upsweep::segmented_sort(par, sizes, doubles, out);"),
    (BOUNDS, "upsweep::select(par, sizes, mask, offsets, doubles, out);"),
    (BOUNDS, "upsweep::offsets(par, sizes, sizes, offsets);"),
    (BOUNDS, "upsweep::take(par, doubles, sizes, out);"),
    (BOUNDS, "upsweep::lengths_to_offsets(par, sizes, offsets);"),
    (ONE_TYPE, "upsweep::offsets(par, longs, ints, offsets);"),
    (ONE_TYPE, "upsweep::segmented_reduce(par, upsweep::Lists(longs, ints), doubles, out);"),
    # Elements.
    (SORTED, "std::vector<std::string> v(4); upsweep::segmented_sort(par, offsets, v, v);"),
    (SORTED, "std::vector<Point> v(4); upsweep::segmented_sort(par, offsets, v, v);"),
    (SORTED, "std::vector<Point> v(4); upsweep::segmented_argsort(par, offsets, v, longs);"),
    (DEFAULT, "std::vector<NoDefault> v(4, NoDefault(1)); upsweep::inclusive_scan(par, v, v);"),
    (DEFAULT, "std::vector<NoDefault> v(4, NoDefault(1)); upsweep::reduce(par, v, NoDefault(0), std::plus<>());"),
    (ASSIGN, "std::vector<ConstMember> v(4); upsweep::inclusive_scan(par, v, v);"),
    (ASSIGN, "std::vector<ConstMember> v(4); upsweep::segmented_reduce(par, offsets, v, v, ConstMember{}, std::plus<>());"),
    (BOOL, "std::array<bool, 4> v{}; upsweep::reduce(par, v);"),
    (BOOL, "std::array<bool, 4> v{}; upsweep::inclusive_scan(par, v, v);"),
    (MOVED, "std::vector<Point> v(4); upsweep::select(par, mask, v, v);"),
    (MOVED, "std::vector<Point> v(4); upsweep::take(par, v, keys, v);"),
    (MOVED, "std::vector<Point> v(4); upsweep::SelectColumn column(v, v);"),
    (GROUP_KEYS, "std::vector<Color> v(4); upsweep::group_by(par, v, doubles, v, out);"),
    (ITEMS, "upsweep::find_subset(par, ints, 7);"),
    (ITEMS, "upsweep::plan_subset(par, ints, 7);"),
    (ITEMS, "upsweep::find_subsets(par, ints, 7, 1);"),
    # Operators.
    (CONST, "int n = 0; upsweep::inclusive_scan(par, ints, int_out, [n](int a, int b) mutable { return a + b + n++; });"),
    (CONST, "int n = 0; upsweep::segmented_reduce(par, offsets, ints, int_out, 0, [n](int a, int b) mutable { return a + b + n++; });"),
    (INTEGERS, "upsweep::inclusive_scan(par, doubles, out, upsweep::bit_or);"),
    (INTEGERS, "upsweep::reduce(par, doubles, 0.0, upsweep::bit_and);"),
    (INTEGERS, "upsweep::segmented_reduce(par, offsets, doubles, out, upsweep::bit_or);"),
    (SEVERAL, "upsweep::reduce(par, ints, 0, std::max<int>);"),
    (SEVERAL, "upsweep::inclusive_scan(par, ints, int_out, std::max<int>);"),
    (ORDERED, "upsweep::segmented_sort(par, offsets, doubles, out, std::greater<>{});"),
    (ORDERED, "upsweep::segmented_argsort(par, offsets, doubles, longs, std::greater<>{});"),
    # Initial values.
    (INIT, "upsweep::exclusive_scan(par, ints, int_out, std::plus<>{});"),
    (INIT, "upsweep::exclusive_scan(par, ints, int_out, upsweep::add);"),
    ("has no output", "upsweep::reduce(par, ints, int_out);"),
    (INIT, "upsweep::exclusive_scan(par, ints, int_out);"),
    (INIT, "upsweep::segmented_reduce(par, offsets, ints, int_out, [](int a, int b) { return a + b; });"),
    (INIT, "std::vector<std::chrono::nanoseconds> v(4); upsweep::segmented_reduce(par, offsets, v, v, upsweep::min);"),
    (ORDER, "upsweep::reduce(par, doubles, upsweep::add, 0.0);"),
    (ORDER, "upsweep::reduce(par, doubles, [](double a, double b) { return a + b; }, 0.0);"),
    (ORDER, "upsweep::reduce(par, doubles, upsweep::max);"),
    (ORDER, "upsweep::exclusive_scan(par, ints, int_out, upsweep::add, 0);"),
    (ORDER, "upsweep::segmented_exclusive_scan(par, offsets, doubles, out, upsweep::add, 0.0);"),
    (ORDER, "upsweep::inclusive_scan(chunked, ints, int_out, upsweep::add, 0);"),
    (ORDER, "upsweep::exclusive_scan(chunked, ints, int_out, [](int a, int b) { return a + b; }, 0);"),
    (ORDER, "upsweep::reduce(chunked, ints, upsweep::add, 0);"),
    (ORDER, "upsweep::inclusive_scan(group, shards, upsweep::add, 0);"),
    (ORDER, "upsweep::exclusive_scan(group, shards, upsweep::add, 0);"),
    (ORDER, "upsweep::segmented_reduce(group, list_shards, upsweep::add, 0);"),
    (ORDER, "upsweep::segmented_inclusive_scan(par, offsets, doubles, out, upsweep::add, 0.0);"),
    (ORDER, "upsweep::segmented_inclusive_scan(gpu, offsets, doubles.data(), 4, out.data(), upsweep::max, 0.0, mask);"),
    (ORDER, "upsweep::segmented_reduce(par, offsets, doubles, out, upsweep::max, 0.0);"),
    (ORDER, "upsweep::segmented_reduce(par, offsets, doubles.data(), 4, out.data(), [](double a, double b) { return a - b; }, 0.0, mask);"),
    (ORDER, "std::array<bool, 4> v{}; upsweep::segmented_reduce(par, offsets, ints, v, [](bool a, bool b) { return a || b; }, false);"),
    (ORDER, "upsweep::inclusive_scan_by_key(par, ints, doubles, out, upsweep::add, 0.0);"),
    (ORDER, "upsweep::reduce_by_key(par, keys, doubles, out_keys, out, upsweep::max, 0.0);"),
    (ORDER, "upsweep::reduce_by_key(gpu, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), 4, upsweep::max, 0.0);"),
    (ORDER, "upsweep::exclusive_scan_by_key(par, ints, doubles, out, upsweep::add, 0.0);"),
    (ORDER, "upsweep::inclusive_scan(par, ints, int_out, upsweep::add, 0);"),
    (ORDER, "upsweep::inclusive_scan(par, ints.data(), 4, int_out.data(), [](int a, int b) { return a < b ? b : a; }, 0);"),
    (ORDER, "upsweep::inclusive_scan(par, ints, int_out, +[](int a, int b) { return a < b ? b : a; }, 0);"),
    (ORDER, "upsweep::inclusive_scan(par, ints.data(), 4, int_out.data(), larger, 0);"),
    (ORDER, "upsweep::segmented_reduce(par, offsets, doubles, out, +[](double a, double b) { return a < b ? b : a; }, 0.5);"),
    (ORDER, "upsweep::inclusive_scan(gpu, ints.data(), 4, int_out.data(), upsweep::max, 0);"),
    (ORDER, "upsweep::exclusive_scan(par, ints.data(), 4, int_out.data(), upsweep::add, 0);"),
    (ORDER, "upsweep::reduce(par, ints.data(), 4, upsweep::add, 0);"),
    (ORDER, "upsweep::reduce(gpu, std::span(ints), upsweep::add, 0);"),
    # Tuples and positions: which arguments are arrays and which are pointers.
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, false, keys.data(), pairs);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, false, keys, longs.data());"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, false, keys, pointers);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, false, keys, int_pairs);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, doubles, false, keys, pairs);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets.data(), 4, false, keys, pairs);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, 2, false, keys, pointers.data(), 4);"),
    (COMBINATIONS, "upsweep::combinations(par, offsets, 4, 2, false, keys, pairs, 4);"),
    (HOST, "upsweep::combinations(gpu, offsets, 4, false, keys, pairs);"),
    (COMBINATIONS_OFFSETS, "upsweep::combinations_offsets(par, offsets.data(), 4, 2, false, keys);"),
    (COMBINATIONS_OFFSETS, "upsweep::combinations_offsets(par, offsets, 4, 2, false, ints);"),
    (CARTESIAN, "upsweep::cartesian(par, {{offsets, 4}, {offsets, 4}}, keys.data(), pairs);"),
    (CARTESIAN, "upsweep::cartesian(par, {{offsets, 4}, {offsets, 4}}, keys, pointers);"),
    (CARTESIAN, "upsweep::cartesian(par, {{offsets.data(), 4}, {offsets.data(), 4}}, keys, pairs);"),
    (CARTESIAN, "upsweep::cartesian(par, inputs, keys, pairs);"),
    (CARTESIAN_OFFSETS, "upsweep::cartesian_offsets(par, {{offsets, 4}, {offsets, 4}}, keys.data());"),
    (CARTESIAN_OFFSETS, "upsweep::cartesian_offsets(par, {{offsets.data(), 4}}, keys);"),
    (CARTESIAN_OFFSETS, "upsweep::cartesian_offsets(par, inputs, keys);"),
    (POSITIONS, "upsweep::take_positions(par, offsets, 4, offsets, keys, out_keys, longs, 4);"),
    (POSITIONS, "upsweep::take_positions(par, offsets, 4, offsets, keys, out_keys, longs);"),
    (POSITIONS, "upsweep::take_positions(par, offsets.data(), 4, offsets, keys, out_keys.data(), longs.data(), 4);"),
    (POSITIONS, "upsweep::take_positions(upsweep::gpu::Policy{}, offsets, 4, offsets, keys, out_keys, longs, 4);"),
    (POLICY, "upsweep::take_positions(offsets, 4, offsets, keys, out_keys.data(), longs.data(), 4);"),
    (WHOLE, "upsweep::take_positions(par, offsets, 4.5, offsets, keys, out_keys.data(), longs.data(), 4);"),
    (NO_ARRAY, "upsweep::take_positions_async(upsweep::gpu::Policy{}, offsets, 4, offsets, keys, out_keys, longs, 4, nullptr);"),
    (BROADCAST, "upsweep::broadcast_to_offsets(par, offsets, offsets.data(), 4, keys);"),
    (BROADCAST, "upsweep::broadcast_to_offsets(par, offsets, offsets, 4, keys.data());"),
    (BROADCAST, "upsweep::broadcast_to_offsets(par, offsets, offsets, doubles, keys);"),
    (BROADCAST, "upsweep::broadcast_to_offsets(par, offsets.data(), offsets, 4, keys);"),
    (HOST, "upsweep::broadcast_to_offsets(gpu, offsets, offsets, 4, keys);"),
    (POLICY, "upsweep::broadcast_to_offsets(offsets, offsets, 4, keys);"),
    (WHOLE, "upsweep::broadcast_to_offsets(par, offsets, offsets, 4.5, keys);"),
    (WHOLE, "upsweep::gpu::Length length(longs.data(), 2.5);"),
    (WHOLE, "upsweep::gpu::Length length(2.5F);"),
    (WHOLE, "upsweep::offsets_async(upsweep::gpu::Policy{}, keys.data(), keys.data(), 2.5, out_keys.data(), nullptr);"),
    (WHOLE, "upsweep::gpu::Policy{}.with_device(1.5);"),
    (WHOLE, "upsweep::gpu::Workspace workspace({}, 1.5);"),
    (WHOLE, "upsweep::gpu::Workspace workspace({}, 1.5F, nullptr);"),
    (WHOLE, "(void)upsweep::gpu::measure_link(1.5);"),
    # A result in a conditional would be converted to the other operand's type.
    (CONDITIONAL, "double sum = doubles.empty() ? 0 : upsweep::reduce(par, doubles); (void)sum;"),
    (CONDITIONAL, "std::int64_t sum = longs.empty() ? 0 : upsweep::reduce(par, longs); (void)sum;"),
    (CONDITIONAL, "std::int64_t n = mask.empty() ? 0 : upsweep::count_kept(par, mask); (void)n;"),
    (CONDITIONAL, "auto sum = true ? upsweep::filtered_sum(par, nullptr, nullptr, nullptr, 0, 1) : 0.5F; (void)sum;"),
]

RIGHT = [
    "upsweep::reduce(const_policy, ints); upsweep::inclusive_scan(const_gpu_policy, std::span(ints), std::span(int_out)); upsweep::count_kept(const_gpu_policy, mask); upsweep::find_subset(const_policy, longs, 7);",
    "upsweep::gpu::Workspace workspace({}, 1); upsweep::gpu::Workspace other({}, 0L, nullptr); (void)upsweep::gpu::measure_link(0);",
    "upsweep::exclusive_scan(chunked, ints, int_out, 0, upsweep::add);",
    "upsweep::reduce(chunked, ints, 0, upsweep::add);",
    "upsweep::inclusive_scan(group, shards, 0, upsweep::add);",
    "upsweep::segmented_reduce(group, list_shards, 0, upsweep::add);",
    # Ranges of device memory, policies in braces, and types that convert to a policy.
    "upsweep::select(gpu, mask, std::span(doubles), std::span(out)); upsweep::select(gpu, offsets, mask, std::span(longs), std::span(doubles), std::span(out));",
    "upsweep::SelectColumn column(doubles, out); upsweep::select(gpu, offsets, mask, longs.data(), column); upsweep::select(par, offsets, mask, longs.data(), column, column); upsweep::select(par, offsets, mask, longs.data());",
    "upsweep::partition(gpu, mask, std::span(doubles), std::span(out)); upsweep::take(gpu, std::span(doubles), std::span(keys), std::span(out));",
    "upsweep::count_kept({.threads = 2}, mask); upsweep::count_kept(DerivedPolicy{}, offsets, mask); upsweep::count_kept(DerivedGpuPolicy{}, mask);",
    "upsweep::inclusive_scan(gpu, std::span(ints), std::span(int_out), 0, upsweep::max); upsweep::inclusive_scan(gpu, std::span(ints), std::span(int_out));",
    "upsweep::exclusive_scan(gpu, std::span(ints), std::span(longs), 0); upsweep::exclusive_scan(gpu, ints.data(), upsweep::gpu::Length(longs.data(), 4), int_out.data(), upsweep::gpu::ValueAt(ints.data()));",
    "upsweep::reduce(gpu, std::span(ints)); upsweep::reduce(gpu, std::span(ints), std::int64_t{0}, upsweep::max); upsweep::reduce({.threads = 2}, ints); upsweep::inclusive_scan({}, ints, int_out);",
    "auto carry = upsweep::empty_carry<int>(); upsweep::inclusive_scan(par, ints.data(), 4, int_out.data(), upsweep::add, carry); upsweep::exclusive_scan(DerivedPolicy{}, ints.data(), 4, int_out.data(), upsweep::add, carry);",
    "std::vector<int*> v(4), w(4); upsweep::inclusive_scan(par, v, w, ints.data(), [](int* a, int* b) { return a < b ? b : a; });",
    "upsweep::segmented_reduce(gpu, offsets, std::span(doubles), std::span(out), 0.0, upsweep::max, mask); upsweep::segmented_reduce(gpu, offsets, std::span(doubles), std::span(longs), upsweep::count);",
    "upsweep::segmented_inclusive_scan(gpu, offsets, std::span(doubles), std::span(out)); upsweep::segmented_exclusive_scan(gpu, offsets, std::span(doubles), std::span(out), 0.0, upsweep::max, mask);",
    "upsweep::segmented_reduce(par, offsets, doubles, out, upsweep::max, mask); upsweep::segmented_inclusive_scan(par, offsets, doubles, out, 0, upsweep::add, mask); upsweep::segmented_exclusive_scan(DerivedPolicy{}, offsets, doubles, out);",
    "upsweep::offsets(gpu, std::span(keys), std::span(keys), std::span(offsets)); upsweep::segmented_sort(gpu, offsets, std::span(doubles), std::span(out), {.descending = true});",
    "std::vector<std::uint32_t> key(4); upsweep::filtered_sum(gpu, std::span(key), std::span(longs), std::span(longs), 7); upsweep::find_subset(gpu, longs, 7); upsweep::plan_subset(gpu, longs, 7);",
    "upsweep::count_key_runs(gpu, std::span(keys)); upsweep::key_offsets(gpu, std::span(keys), std::span(offsets)); upsweep::count_key_runs(par, keys.data(), 4); upsweep::key_offsets(par, keys.data(), 4, offsets.data(), 3);",
    "upsweep::reduce_by_key(gpu, std::span(keys), std::span(doubles), std::span(out_keys), std::span(out), 0.0, upsweep::max); upsweep::reduce_by_key(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), 4);",
    "upsweep::inclusive_scan_by_key(gpu, std::span(keys), std::span(doubles), std::span(out)); upsweep::inclusive_scan_by_key(par, keys.data(), doubles.data(), 4, out.data(), 0.0, upsweep::max);",
    "upsweep::exclusive_scan_by_key(gpu, std::span(keys), std::span(doubles), std::span(out), 0.0); upsweep::exclusive_scan_by_key(par, keys.data(), doubles.data(), 4, out.data(), 0.0, upsweep::max); upsweep::exclusive_scan_by_key(par, keys.data(), doubles.data(), 4, out.data());",
    "upsweep::group_by(gpu, std::span(keys), std::span(doubles), std::span(out_keys), std::span(out), std::span(longs)); upsweep::group_by(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), 4, upsweep::max); upsweep::group_by(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), longs.data(), 4);",
    "upsweep::pack(gpu, offsets, std::span(out_keys), upsweep::PackColumn(doubles, out)); upsweep::pack(par, offsets, out_keys.data(), upsweep::PackColumn(doubles, out)); upsweep::pack_offsets(gpu, offsets, 4, std::span(out_keys));",
    "upsweep::lengths_to_offsets(gpu, std::span(keys), std::span(offsets)); upsweep::flatten(gpu, offsets, offsets, std::span(out_keys)); upsweep::offsets_to_parents(gpu, offsets, std::span(keys)); upsweep::local_index(gpu, offsets, std::span(keys));",
    "upsweep::parents_to_offsets(gpu, std::span(keys), std::span(offsets)); upsweep::broadcast(gpu, offsets, std::span(doubles), std::span(out)); upsweep::broadcast_to_offsets(gpu, offsets, std::span(offsets), 4, std::span(keys));",
    "std::vector<std::span<std::int64_t>> device(2); upsweep::combinations(gpu, offsets, 4, false, std::span(keys), device); upsweep::cartesian(gpu, {{offsets, 4}, {offsets, 4}}, std::span(keys), device); upsweep::cartesian_offsets(gpu, {{offsets, 4}}, std::span(keys)); upsweep::combinations_offsets(gpu, offsets, 4, 2, false, std::span(keys));",
    "upsweep::exclusive_scan(greedy::Policy{}, ints, int_out, 0); upsweep::inclusive_scan(greedy::Policy{}, ints, int_out); upsweep::reduce(greedy::Policy{}, ints, 0); upsweep::select(greedy::Policy{}, mask, doubles, out); upsweep::reduce_by_key(greedy::Policy{}, keys, doubles, out_keys, out);",
    "const upsweep::Mask given(mask); upsweep::segmented_reduce(par, offsets, ints, int_out, 0, [](auto a, auto) { return a; }, std::cref(given)); upsweep::segmented_reduce(par, offsets, ints, int_out, 0, larger, mask);",
    "upsweep::inclusive_scan<int, int>(gpu, ints.data(), 4, int_out.data()); upsweep::count_kept(upsweep::gpu::Policy{.device = 1}, mask); upsweep::inclusive_scan(par, ints, int_out, 0, larger);",
    "upsweep::inclusive_scan(gpu, ints.data(), 4, int_out.data(), upsweep::gpu::ValueAt(ints.data()), upsweep::add); upsweep::reduce_async(gpu, ints.data(), 4, int_out.data(), upsweep::gpu::ValueAt(ints.data()));",
    "double raw[4] = {}, raw_out[4]; upsweep::exclusive_scan(par, raw, raw_out, 0.5); upsweep::reduce(par, raw, 0.5); upsweep::exclusive_scan(par, raw, 4, out.data(), 0.5); upsweep::segmented_exclusive_scan(par, offsets, doubles.data(), 4, out.data(), 0.5);",
    "upsweep::reduce_by_key(par, keys.data(), doubles.data(), 4, out_keys.data(), out.data(), 4, 0.5, upsweep::max); upsweep::exclusive_scan_by_key(par, keys.data(), doubles.data(), 4, out.data(), 0.5); upsweep::reduce(par, doubles.data(), 4, 0.5);",
    "const upsweep::Policy plain; upsweep::count_kept(std::cref(plain), mask); upsweep::count_kept(std::ref(gpu), mask);",
    "const double sum = doubles.empty() ? 0.0 : upsweep::reduce(par, doubles); (void)sum;",
    "const double sum = doubles.empty() ? 0 : upsweep::reduce(par, doubles).value; (void)sum;",
    "const auto [value, rung] = upsweep::reduce(par, doubles); const float narrow = static_cast<float>(upsweep::reduce(par, doubles)); (void)(narrow + value);",
    "const std::int64_t sum = upsweep::reduce(par, ints); longs.resize(static_cast<std::size_t>(sum));",
    "const auto result = upsweep::reduce(par, doubles); const double mean = result / 4; (void)(mean + result.value);",
    "const std::vector<std::int8_t> v(4); const int sum = upsweep::reduce(par, v) + 1; (void)sum;",
    "if (upsweep::count_kept(par, mask)) longs.resize(upsweep::count_kept(par, mask));",
    "std::vector<std::chrono::nanoseconds> v(4), sums(2); upsweep::segmented_reduce(par, offsets, v, sums);",
    "std::vector<std::chrono::nanoseconds> v(4); upsweep::inclusive_scan(par, v, v); upsweep::reduce(par, v);",
    "std::array<bool, 4> v{}; upsweep::reduce(par, v, std::int64_t{0}); upsweep::reduce(par, v, false, upsweep::bit_or);",
    "upsweep::exclusive_scan(par, ints, out, 0); upsweep::inclusive_scan(par, ints, longs, 0, upsweep::add);",
    "upsweep::inclusive_scan(par, ints.data(), 4, int_out.data()); upsweep::reduce(par, ints.data(), 4, 0);",
    "upsweep::select(par, mask, doubles, out); upsweep::select(par, offsets, mask, offsets, doubles, out);",
    "upsweep::select(par, offsets, mask, offsets); upsweep::take(par, doubles, keys, out);",
    "upsweep::segmented_reduce(par, std::span<const std::int64_t>(offsets), doubles, out, upsweep::max);",
    "auto w = ints | std::views::drop_while([](int x) { return x < 0; }); upsweep::inclusive_scan(par, ints, w);",
    "upsweep::exclusive_scan(par, doubles.data(), 4, out.data(), 0.5); upsweep::reduce(par, std::vector{1.5}, 0.5, upsweep::max);",
    "upsweep::reduce(par, ints, 0, +[](const int& a, const int& b) -> const int& { return a < b ? b : a; });",
    "std::vector<std::array<double, 2>> v(4); upsweep::reduce(par, v, std::array{0., 0.}, [](auto a, auto) { return a; });",
    "int raw[4] = {}, raw_out[4]; upsweep::inclusive_scan(par, raw, raw_out); upsweep::segmented_reduce(par, offsets, ints.data(), 4, int_out.data());",
    "upsweep::segmented_sort(par, offsets, doubles, out, {.descending = true}); upsweep::segmented_sort(par, offsets, doubles, out, upsweep::SortOptions{});",
    "upsweep::select(par, mask, mask, mask); upsweep::count_kept(par, offsets, mask); upsweep::partition(par, mask, doubles, out);",
    "upsweep::find_subset(par, longs, 7); upsweep::find_subset(par, longs.data(), 4, 7);",
    "upsweep::SelectColumn column(doubles, out); upsweep::select(par, offsets, mask, offsets.data(), std::span(&std::as_const(column), 1));",
    "upsweep::SelectColumn column(doubles, out); upsweep::take(par, offsets, 4, offsets, keys, offsets.data(), std::span(&std::as_const(column), 1));",
    "upsweep::lengths_to_offsets(par, keys.data(), 4, offsets.data(), mask); upsweep::flatten(par, offsets, offsets, out_keys.data());",
    "upsweep::offsets_to_parents(par, offsets, keys.data(), 4); upsweep::local_index(par, offsets, keys.data(), 4);",
    "upsweep::parents_to_offsets(par, keys.data(), 4, 2, offsets.data()); upsweep::broadcast(par, offsets, doubles.data(), 8, out.data(), 4);",
    "upsweep::segmented_sort(par, offsets, doubles.data(), 4, out.data(), 4); upsweep::offsets(par, keys.data(), keys.data(), 4, offsets.data());",
    "upsweep::segmented_reduce(par, upsweep::Lists::of_size(2, 2), doubles.data(), 4, out.data(), 0.0, upsweep::add, mask);",
    "upsweep::group_by(par, keys, doubles, out_keys, out, longs, upsweep::max); upsweep::pack_offsets(par, offsets, 4, out_keys.data());",
    "upsweep::group_by(par, ints, doubles, int_out, out); upsweep::offsets(par, offsets, offsets, longs);",
    "std::int64_t raw[3] = {}, raw_out[4]; upsweep::inclusive_scan(par, raw, 3, longs.data()); upsweep::inclusive_scan(par, longs.data(), 3, raw);",
    "std::int64_t raw[3] = {}; upsweep::exclusive_scan(par, raw, 3, longs.data(), 0); upsweep::offsets(par, raw, raw, 3, longs.data());",
    "double raw[4] = {}; upsweep::segmented_reduce(par, offsets, raw, 4, out.data()); upsweep::segmented_sort(par, offsets, raw, 4, out.data(), 4);",
    "upsweep::combinations(par, offsets, 4, false, keys, pairs); upsweep::combinations(par, offsets, 4, 2, false, nullptr, pointers.data(), 4);",
    "upsweep::combinations_offsets(par, offsets, 4, 2, false, keys); upsweep::combinations_offsets(par, offsets, 4, 2, false, keys.data());",
    "upsweep::cartesian(par, {{offsets, 4}, {offsets, 4}}, keys, pairs); upsweep::cartesian_offsets(par, {{offsets, 4}}, keys); upsweep::cartesian_offsets(par, {}, keys); upsweep::cartesian(par, {}, keys, pairs);",
    "upsweep::cartesian(par, inputs, keys.data(), pointers.data(), 4); upsweep::cartesian_offsets(par, inputs, keys.data());",
    "upsweep::take_positions(par, offsets, 4, offsets, keys, out_keys.data(), longs.data(), 4);",
    "upsweep::broadcast_to_offsets(par, offsets, offsets, 4, keys); upsweep::broadcast_to_offsets(par, offsets, offsets.data(), 4, keys.data(), 4);",
    "const upsweep::gpu::Length n = longs.size(), m = 4, k(longs.data(), longs.size()), l(longs.data(), 4); (void)(n.most + m.most + k.most + l.most); (void)upsweep::gpu::Policy{}.with_device(1);",
    "std::vector<int*> v(4), w(4); upsweep::exclusive_scan(par, v, w, ints.data(), [](int* a, int* b) { return a < b ? b : a; });",
]


def first_error(compiler: list[str], body: str) -> str:
    """Returns the first compiler error in this function; empty if it compiles."""
    program = f"void program() {{\n{body}\n}}\n"
    done = subprocess.run([*compiler, "-x", "c++", "-"], input=program, capture_output=True, text=True, check=False)
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    return errors[0] if errors else ("" if done.returncode == 0 else f"no error, but {done.stderr}")


def old_standards(source: pathlib.Path, cxx: str, threads: concurrent.futures.Executor) -> list[str]:
    """Includes each public header alone with standards before C++20. Returns the headers of C++ that do not ask for C++20,
    and the headers of C that do not compile."""
    headers = sorted(path.name for path in (source / "include/upsweep").iterdir() if path.is_file())
    of_c = [("c", "c99"), ("c++", "c++98"), ("c++", "c++17")]
    of_cpp = [("c++", "c++98"), ("c++", "c++17")]
    cases = [(header, *how) for header in headers for how in (of_c if header.endswith(".h") else of_cpp)]

    def failure(case: tuple[str, str, str]) -> str:
        header, language, standard = case
        flags = [f"-I{source}/include", "-fsyntax-only", f"-std={standard}", "-pedantic-errors", "-x", language, "-"]
        program = f"#include <upsweep/{header}>\n"
        done = subprocess.run([cxx, *flags], input=program, capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        if header.endswith(".h"):
            good, expected = done.returncode == 0, "no error"
        else:  # the second error ends the compilation
            good, expected = len(errors) == 2 and CPP20 in errors[0], CPP20
        return "" if good else f"{header} with -std={standard}\n  expected: {expected}\n  errors: {errors[:3] or 'none'}"

    return [text for text in threads.map(failure, cases) if text]


def main() -> int:
    source, cxx = pathlib.Path(sys.argv[1]), sys.argv[2]
    version = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=True).stdout
    clang = "clang" in version
    os.environ["LC_ALL"] = "C"
    flags = [cxx, "-std=c++20", f"-I{source}/include"]
    with tempfile.TemporaryDirectory() as folder:
        beginning = pathlib.Path(folder, "beginning.hpp")
        beginning.write_text(BEGINNING)
        compiled = f"{beginning}.pch" if clang else f"{beginning}.gch"
        subprocess.run([*flags, "-x", "c++-header", beginning, "-o", compiled], check=True)
        compiler = [*flags, "-fsyntax-only", *(["-include-pch", compiled] if clang else ["-include", str(beginning)])]
        programs = [(expected, body) for expected, body in WRONG] + [("", body) for body in RIGHT]
        if "clang version 14" in version:  # this version cannot compile the standard library's views
            programs = [(expected, body) for expected, body in programs if "std::views" not in body]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            errors = list(threads.map(lambda program: first_error(compiler, program[1]), programs))
            old = old_standards(source, cxx, threads)
    failed = len(old)
    for text in old:
        print(text)
    for (expected, body), error in zip(programs, errors):
        wanted = (expected,) if isinstance(expected, str) else expected
        if not any(text in error for text in wanted) or (expected == "" and error):
            failed += 1
            print(f"{body}\n  expected: {' or '.join(wanted) or 'no error'}\n  first error: {error or 'none'}")
    print(f"{len(programs)} programs and the public headers, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
