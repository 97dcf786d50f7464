// SPDX-License-Identifier: Apache-2.0
// tests/dynamic_test.cpp: calls with run-time types give the results of the templates, in one call and in several.
#include "upsweep/dynamic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/visit.hpp"
#include "cpu/kernels.hpp"
#include "rungs.hpp"
#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/upsweep.h"

namespace upsweep {
namespace {

using tests::code_of;

constexpr std::int64_t kLength = 1000;

/// Sums and products of these values are exact in floats, in any order.
template <class T>
std::vector<T> elements() {
  std::vector<T> values(kLength);
  for (std::int64_t i = 0; i < kLength; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<T>(i % 7 == 3 && i < 100 ? 2 : 1);
  return values;
}

/// Calls f for every element type and each of its operators.
template <class F>
void for_each_case(const F& f) {
  for (int t = 0; t < kTypeCount; ++t) {
    visit_type(static_cast<Type>(t), [&]<class T>(std::type_identity<T>) {
      for (int o = 0; o < kOperatorCount; ++o) {
        const auto op = static_cast<Operator>(o);
        if (is_float(type_of<T>()) && is_integer_only(op)) continue;
        SCOPED_TRACE(std::string(name(type_of<T>())) + " " + std::string(name(op)));
        f(std::type_identity<T>{}, op);
      }
    });
  }
}

TEST(Dynamic, ScansAsTheTemplatesDo) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    const std::vector<T> in = elements<T>();
    std::vector<T> expected(in.size());
    visit_operator<T>(op, [&](auto function) { (void)inclusive_scan(par, in, expected, function); });
    std::vector<T> out(in.size(), T{77});
    dynamic::Carry carry(type_of<T>());
    const dynamic::ConstArray from{in.data(), kLength, type_of<T>()};
    EXPECT_NE(dynamic::scan(par, {.op = op}, from, {out.data(), kLength, type_of<T>()}, carry), "");
    EXPECT_EQ(out, expected);
    T last{};
    carry.value(&last);
    EXPECT_EQ(last, expected.back());
  });
}

TEST(Dynamic, PiecesGoOnFromTheCarry) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    const std::vector<T> in = elements<T>();
    std::vector<T> whole(in.size());
    std::vector<T> pieces(in.size());
    const dynamic::ScanOptions options{.op = op, .exclusive = true};
    for (std::vector<T>* out : {&whole, &pieces}) {
      dynamic::Carry carry = dynamic::Carry::identity(op, type_of<T>());
      const std::int64_t step = out == &whole ? kLength : 300;
      for (std::int64_t at = 0; at < kLength; at += step) {
        const std::int64_t n = std::min(step, kLength - at);
        dynamic::scan(seq, options, {in.data() + at, n, type_of<T>()}, {out->data() + at, n, type_of<T>()}, carry);
      }
    }
    EXPECT_EQ(pieces, whole);
    EXPECT_EQ(whole[1], in[0]);
  });
}

TEST(Dynamic, AScanThatFailsLeavesItsCarry) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int32_t> in{1, most, 1, 1};
  std::vector<std::int32_t> out(in.size());
  const dynamic::ConstArray from{in.data(), std::ssize(in), Type::int32};
  const dynamic::Array to{out.data(), std::ssize(out), Type::int32};
  const dynamic::ScanOptions exclusive{.exclusive = true};
  for (const char* const rung : {"cpu.serial", "cpu.simd", "cpu.threads", "cpu.lookahead"}) {
    const Policy policy = par.with_rung(rung);
    dynamic::Carry carry(Type::int32);
    EXPECT_THROW(dynamic::scan(policy.with_overflow(Overflow::checked), exclusive, from, to, carry), Error) << rung;
    EXPECT_FALSE(carry.any()) << rung;
    dynamic::scan(policy, exclusive, from, to, carry);
    EXPECT_TRUE(carry.any()) << rung;
    EXPECT_EQ(out, (std::vector<std::int32_t>{0, 1, std::numeric_limits<std::int32_t>::min(), -most})) << rung;
  }
}

TEST(Dynamic, ReducesAsTheTemplatesDo) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    const std::vector<T> in = elements<T>();
    const T expected = visit_operator<T>(
        op, [&](auto function) { return reduce(par, in, function.template identity<T>(), function).value; });
    dynamic::Carry carry(type_of<T>());
    EXPECT_FALSE(carry.any());
    dynamic::reduce(par, op, {in.data(), 400, type_of<T>()}, carry);
    dynamic::reduce(par, op, {in.data() + 400, kLength - 400, type_of<T>()}, carry);
    T value{};
    carry.value(&value);
    EXPECT_TRUE(carry.any());
    EXPECT_EQ(value, expected);
  });
}

TEST(Dynamic, TypesMayDiffer) {
  const std::vector<std::uint8_t> in(kLength, 255);
  std::vector<double> out(in.size());
  dynamic::Carry carry(Type::float64);
  dynamic::scan(par, {}, {in.data(), kLength, Type::uint8}, {out.data(), kLength, Type::float64}, carry);
  EXPECT_EQ(out.back(), 255.0 * kLength);
}

TEST(Dynamic, SumsSayThatTheyDoNotFit) {
  const std::vector<std::int8_t> in(3, 100);
  dynamic::Carry carry(Type::int8);
  dynamic::reduce(seq.with_overflow(Overflow::checked), Operator::add, {in.data(), 3, Type::int8}, carry);
  EXPECT_EQ(carry.wraps(), 1);
  const std::int8_t before = 7;
  EXPECT_EQ(dynamic::Carry::of(Type::int8, &before).wraps(), 0);
}

TEST(Dynamic, OffsetsGoOnFromTheCarry) {
  const std::vector<std::uint32_t> starts{5, 0, 7};
  const std::vector<std::uint32_t> stops{9, 0, 8};
  std::vector<std::int64_t> offsets(4, 77);
  OffsetsCarry carry;
  dynamic::offsets(seq, {starts.data(), 1, Type::uint32}, {stops.data(), 1, Type::uint32}, offsets.data(), carry);
  dynamic::offsets(seq, {starts.data() + 1, 2, Type::uint32}, {stops.data() + 1, 2, Type::uint32}, offsets.data() + 1,
                   carry);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 4, 4, 5}));
  EXPECT_EQ(carry.lists, 3);
}

// --------------------------------------------------------------------------------------------------------------- lists

constexpr std::array<std::int32_t, 6> kOffsets{0, 3, 3, 10, 500, kLength};

template <class R>
dynamic::ConstArray array(const R& values) {
  return {values.data(), std::ssize(values), type_of<typename R::value_type>()};
}
template <class T>
dynamic::Array array(std::vector<T>& values) {
  return {values.data(), std::ssize(values), type_of<T>()};
}

TEST(DynamicLists, FoldAsTheTemplatesDo) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    const std::vector<T> in = elements<T>();
    std::vector<T> expected(5);
    std::vector<T> from_init(5);
    std::vector<T> out(5, T{77});
    const T init{3};
    visit_operator<T>(op, [&](auto function) {
      (void)segmented_reduce(par, kOffsets, in, expected, function);
      (void)segmented_reduce(par, kOffsets, in, from_init, init, function);
    });
    const Lists lists = dynamic::lists_of_offsets(array(kOffsets));
    EXPECT_NE(dynamic::segmented_reduce(par, op, lists, array(in), array(out)), "");
    EXPECT_EQ(out, expected);
    dynamic::segmented_reduce(par, op, lists, array(in), array(out), &init);
    EXPECT_EQ(out, from_init);
  });
}

TEST(DynamicLists, ScanAsTheTemplatesDo) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    const std::vector<T> in = elements<T>();
    std::vector<T> inclusive(in.size());
    std::vector<T> exclusive(in.size());
    std::vector<T> out(in.size(), T{77});
    const T init{3};
    visit_operator<T>(op, [&](auto function) {
      (void)segmented_inclusive_scan(par, kOffsets, in, inclusive, function);
      (void)segmented_exclusive_scan(par, kOffsets, in, exclusive, init, function);
    });
    const Lists lists = dynamic::lists_of_offsets(array(kOffsets));
    dynamic::segmented_scan(par, {.op = op}, lists, array(in), array(out));
    EXPECT_EQ(out, inclusive);
    dynamic::segmented_scan(par, {.op = op, .exclusive = true}, lists, array(in), array(out), &init);
    EXPECT_EQ(out, exclusive);
  });
}

TEST(DynamicLists, NullElementsAreSkipped) {
  const std::vector<std::int32_t> in{5, 7, 11};
  const std::vector<std::uint8_t> valid{1, 0, 1};
  const std::vector<std::int64_t> offsets{0, 2, 3};
  std::vector<std::int64_t> out(2);
  dynamic::segmented_reduce(seq, Operator::add, dynamic::lists_of_offsets(array(offsets)), array(in), array(out),
                            nullptr, valid);
  EXPECT_EQ(out, (std::vector<std::int64_t>{5, 11}));
}

TEST(DynamicLists, CountAndLocateAsTheTemplatesDo) {
  for (int t = 0; t < kTypeCount; ++t) {
    visit_type(static_cast<Type>(t), []<class T>(std::type_identity<T>) {
      SCOPED_TRACE(name(type_of<T>()));
      const std::vector<T> in{3, 0, 2, 9, 9, 0};
      const std::vector<std::int64_t> starts{4, 0, 1};
      const std::vector<std::int64_t> stops{6, 3, 1};
      const Lists lists = dynamic::lists_of_bounds(array(starts), array(stops));
      std::vector<std::uint8_t> booleans(3);
      std::vector<std::int64_t> numbers(3);
      const auto numbers_of = [&](Reducer reducer) {
        dynamic::segmented_reduce(seq, reducer, lists, array(in), array(numbers));
        return numbers;
      };
      dynamic::segmented_reduce(seq, Reducer::any, lists, array(in), array(booleans));
      EXPECT_EQ(booleans, (std::vector<std::uint8_t>{1, 1, 0}));
      dynamic::segmented_reduce(seq, Reducer::all, lists, array(in), array(booleans));
      EXPECT_EQ(booleans, (std::vector<std::uint8_t>{0, 0, 1}));
      EXPECT_EQ(numbers_of(Reducer::count), (std::vector<std::int64_t>{2, 3, 0}));
      EXPECT_EQ(numbers_of(Reducer::count_nonzero), (std::vector<std::int64_t>{1, 2, 0}));
      EXPECT_EQ(numbers_of(Reducer::argmin), (std::vector<std::int64_t>{1, 1, -1}));
      EXPECT_EQ(numbers_of(Reducer::argmax), (std::vector<std::int64_t>{0, 0, -1}));
    });
  }
}

TEST(DynamicLists, SortSelectAndPack) {
  for (int t = 0; t < kTypeCount; ++t) {
    visit_type(static_cast<Type>(t), []<class T>(std::type_identity<T>) {
      SCOPED_TRACE(name(type_of<T>()));
      const std::vector<T> in{3, 1, 2, 9, 8};
      const std::vector<std::uint32_t> offsets{0, 3, 5};
      const Lists lists = dynamic::lists_of_offsets(array(offsets));
      std::vector<T> sorted(5);
      EXPECT_NE(dynamic::segmented_sort(seq, lists, array(in), array(sorted)), "");
      EXPECT_EQ(sorted, (std::vector<T>{1, 2, 3, 8, 9}));
      std::vector<std::int64_t> positions(5);
      dynamic::segmented_argsort(seq, lists, array(in), array(positions), {.descending = true});
      EXPECT_EQ(positions, (std::vector<std::int64_t>{0, 2, 1, 0, 1}));

      const std::vector<std::uint8_t> mask{0, 1, 1, 0, 1};
      std::vector<std::int64_t> out_offsets(3);
      std::vector<T> kept(3);
      const SelectColumn selected[] = {dynamic::content_column(array(in), array(kept))};
      EXPECT_EQ(select(seq, lists, mask, out_offsets.data(), selected).kept, 3);
      EXPECT_EQ(kept, (std::vector<T>{1, 2, 8}));
      EXPECT_EQ(out_offsets, (std::vector<std::int64_t>{0, 2, 3}));

      const std::vector<std::int64_t> starts{3, 0};
      const std::vector<std::int64_t> stops{5, 1};
      const PackColumn packed[] = {dynamic::content_column(array(in), array(kept))};
      pack(seq, dynamic::lists_of_bounds(array(starts), array(stops)), out_offsets.data(), packed);
      EXPECT_EQ(kept, (std::vector<T>{9, 8, 3}));
      EXPECT_EQ(out_offsets, (std::vector<std::int64_t>{0, 2, 3}));
    });
  }
}

TEST(DynamicLists, FoldAndScanRunsOfEqualKeysByTheirLadder) {
  const std::int16_t keys[] = {2, 2, 5, 5, 5, 2};
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
  const dynamic::ConstArray of{keys, 6, Type::int16};
  const dynamic::ConstArray from{values, 6, Type::int32};
  for (const std::string_view rung : {"cpu.serial", "cpu.runs"}) {
    const Policy policy = par.with_rung(rung);
    std::int16_t firsts[3] = {};
    std::int64_t sums[3] = {};
    const std::int64_t init = 100;
    const auto reduced = dynamic::reduce_by_key(policy, Operator::add, of, from, {firsts, 3, Type::int16},
                                                {sums, 3, Type::int64}, &init);
    EXPECT_EQ(reduced.runs, 3);
    EXPECT_EQ(reduced.rung, rung);
    EXPECT_EQ(std::vector(firsts, firsts + 3), (std::vector<std::int16_t>{2, 5, 2}));
    EXPECT_EQ(std::vector(sums, sums + 3), (std::vector<std::int64_t>{103, 112, 106}));
    std::int64_t scanned[6] = {};
    const dynamic::Array to{scanned, 6, Type::int64};
    EXPECT_EQ(dynamic::scan_by_key(policy, {Operator::max, false}, of, from, to), rung);
    EXPECT_EQ(std::vector(scanned, scanned + 6), (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(dynamic::scan_by_key(policy, {Operator::add, true}, of, from, to, &init), rung);
    EXPECT_EQ(std::vector(scanned, scanned + 6), (std::vector<std::int64_t>{100, 101, 100, 103, 107, 100}));
  }
  std::int16_t firsts[3] = {};
  std::int32_t sums[3] = {};
  const auto reduce = [&](dynamic::ConstArray some, dynamic::Array to_keys) {
    return code_of(
        [&] { (void)dynamic::reduce_by_key(par, Operator::add, of, some, to_keys, {sums, 3, Type::int32}); });
  };
  EXPECT_EQ(reduce(from, {firsts, 3, Type::int16}), Code::ok);
  EXPECT_EQ(reduce({values, 5, Type::int32}, {firsts, 3, Type::int16}), Code::unequal_lengths);
  EXPECT_EQ(reduce(from, {firsts, 3, Type::uint16}), Code::invalid_argument) << "keys of another type";
  EXPECT_EQ(reduce(from, {firsts, 2, Type::int16}), Code::unequal_lengths) << "the capacity is too small";
}

TEST(Dynamic, GroupsByTheirLadder) {
  const std::int16_t keys[] = {2, 5, 2, 5, 5, 3};
  const std::int32_t values[] = {1, 2, 3, 4, 5, 6};
  const dynamic::ConstArray of{keys, 6, Type::int16};
  const dynamic::ConstArray from{values, 6, Type::int32};
  std::int16_t firsts[3] = {};
  std::int64_t sums[3] = {};
  std::int64_t counts[3] = {};
  const dynamic::Array to_keys{firsts, 3, Type::int16};
  const dynamic::Array to{sums, 3, Type::int64};
  const auto grouped = dynamic::group_by(par, Operator::add, of, from, to_keys, to, {counts, 3, Type::int64});
  EXPECT_EQ(grouped.groups, 3);
  EXPECT_EQ(grouped.rung, "cpu.adaptive");
  EXPECT_EQ(std::vector(firsts, firsts + 3), (std::vector<std::int16_t>{2, 5, 3}));
  EXPECT_EQ(std::vector(sums, sums + 3), (std::vector<std::int64_t>{4, 11, 6}));
  EXPECT_EQ(std::vector(counts, counts + 3), (std::vector<std::int64_t>{2, 3, 1}));
  const auto group = [&](dynamic::ConstArray some_keys, dynamic::ConstArray some, dynamic::Array out) {
    return code_of([&] { (void)dynamic::group_by(par, Operator::max, some_keys, some, to_keys, out); });
  };
  std::int32_t most[3] = {};
  EXPECT_EQ(group(of, from, {most, 3, Type::int32}), Code::ok);
  EXPECT_EQ(group(of, from, to), Code::unsupported) << "only sums are widened";
  EXPECT_EQ(group(of, {values, 5, Type::int32}, {most, 3, Type::int32}), Code::unequal_lengths);
  EXPECT_EQ(group({keys, 6, Type::uint16}, from, {most, 3, Type::int32}), Code::invalid_argument);
  const float fractions[] = {1, 2, 3};
  EXPECT_EQ(code_of([&] {
              (void)dynamic::group_by(par, Operator::add, {fractions, 3, Type::float32}, {values, 3, Type::int32},
                                      {sums, 3, Type::float32}, {most, 3, Type::int32});
            }),
            Code::unsupported_type);
}

TEST(DynamicLists, RefuseWhatDoesNotFitTogether) {
  const std::vector<double> in{1, 2};
  const std::vector<std::int64_t> offsets{0, 2};
  const std::vector<std::int16_t> narrow{0, 2};
  const std::vector<std::int64_t> none;
  std::vector<std::int64_t> numbers(1);
  std::vector<double> reals(2);
  const Lists lists = dynamic::lists_of_offsets(array(offsets));
  const auto from = array(in);
  EXPECT_EQ(code_of([&] { (void)dynamic::lists_of_offsets(array(narrow)); }), Code::unsupported_type);
  EXPECT_EQ(code_of([&] { (void)dynamic::lists_of_offsets(array(none)); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)dynamic::lists_of_offsets({nullptr, 2, Type::int64}); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)dynamic::lists_of_bounds(array(offsets), array(none)); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { dynamic::segmented_reduce(seq, Operator::add, lists, from, array(numbers)); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::segmented_reduce(seq, Operator::add, lists, from, array(reals)); }),
            Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { dynamic::segmented_reduce(seq, Reducer::any, lists, from, array(numbers)); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::segmented_reduce(seq, Reducer::fold, lists, from, array(numbers)); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::segmented_sort(seq, lists, from, array(numbers)); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::segmented_argsort(seq, lists, from, array(reals)); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)dynamic::content_column(from, array(numbers)); }), Code::invalid_argument);
}

// ------------------------------------------------------------------------------------------------------- along an axis

constexpr dynamic::Axis kAxes[] = {{1, 5, 3}, {3, 7, 1}, {2, 33, 17}, {4, 3, 5000}, {1, 9000, 2}, {0, 3, 2}, {2, 0, 3}};

/// Computes out[o][i][j] by one loop, from `init`; reduced: out[o][j].
template <class In, class Out, class Function>
std::vector<Out> along_expected(const dynamic::Axis& axis, const std::vector<In>& in, Out init, Function function,
                                bool exclusive, bool reduced) {
  std::vector<Out> out;
  for (std::int64_t o = 0; o < axis.outer; ++o) {
    std::vector<Out> totals(static_cast<std::size_t>(axis.inner), init);
    for (std::int64_t i = 0; i < axis.length; ++i) {
      for (std::int64_t j = 0; j < axis.inner; ++j) {
        Out& total = totals[static_cast<std::size_t>(j)];
        if (exclusive && !reduced) out.push_back(total);
        const In element = in[static_cast<std::size_t>((o * axis.length + i) * axis.inner + j)];
        total = function(total, static_cast<Out>(element));
        if (!exclusive && !reduced) out.push_back(total);
      }
    }
    if (reduced) out.insert(out.end(), totals.begin(), totals.end());
  }
  return out;
}

/// Small numbers, which floats fold exactly, in any order; most factors of products are one.
template <class T>
std::vector<T> along_elements(const dynamic::Axis& axis, Operator op) {
  std::vector<T> in(static_cast<std::size_t>(axis.outer * axis.length * axis.inner));
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i] = static_cast<T>(op == Operator::mul ? (i % 1009 == 5 ? 2 : 1) : i * 7 % 11);
  }
  return in;
}

template <class In, class Out>
void check_along(const dynamic::Axis& axis, Operator op) {
  const std::vector<In> in = along_elements<In>(axis, op);
  const auto n = static_cast<std::int64_t>(in.size());
  const Out init{3};
  for (const int threads : {1, 3}) {
    const Policy policy{.threads = threads};
    visit_operator<Out>(op, [&](auto function) {
      for (const bool exclusive : {false, true}) {
        std::vector<Out> out(in.size(), Out{77});
        dynamic::scan_along(policy, {op, exclusive}, axis, {in.data(), n, type_of<In>()},
                            {out.data(), n, type_of<Out>()}, &init);
        EXPECT_EQ(out, along_expected(axis, in, init, function, exclusive, false)) << exclusive << threads;
      }
      std::vector<Out> reduced(static_cast<std::size_t>(axis.outer * axis.inner), Out{77});
      dynamic::reduce_along(policy, op, axis, {in.data(), n, type_of<In>()},
                            {reduced.data(), axis.outer * axis.inner, type_of<Out>()}, &init);
      EXPECT_EQ(reduced, along_expected(axis, in, init, function, false, true)) << threads;
    });
  }
}

TEST(DynamicAlong, EveryTypeOperatorAndShapeIsAsALoop) {
  for_each_case([]<class T>(std::type_identity<T>, Operator op) {
    for (const dynamic::Axis& axis : kAxes) check_along<T, T>(axis, op);
  });
}

TEST(DynamicAlong, TypesMayDiffer) {
  for (const dynamic::Axis& axis : kAxes) {
    check_along<std::int8_t, std::int64_t>(axis, Operator::add);
    check_along<std::uint8_t, std::int16_t>(axis, Operator::max);
    check_along<std::int64_t, std::int8_t>(axis, Operator::add);
    check_along<std::int32_t, float>(axis, Operator::add);
    check_along<float, double>(axis, Operator::mul);
  }
}

TEST(DynamicAlong, InPlace) {
  const dynamic::Axis axis{2, 50, 40};
  std::vector<double> x = along_elements<double>(axis, Operator::add);
  const auto expected = along_expected(axis, x, 0.0, Add{}, false, false);
  dynamic::scan_along(par, {}, axis, {x.data(), 4000, Type::float64}, {x.data(), 4000, Type::float64});
  EXPECT_EQ(x, expected);
}

TEST(DynamicAlong, SumsOfNegativeZerosAreNegativeAndOfNothingAreNot) {
  for (const std::int64_t length : {0, 1, 3, 4096, 4097, 9000}) {
    const dynamic::Axis axis{2, length, 5};
    const std::int64_t n = 2 * length * 5;
    const std::vector<double> zeros(static_cast<std::size_t>(n), -0.0);
    const auto is_negative = [](const std::vector<double>& of, std::size_t first, std::size_t last) {
      return std::all_of(of.begin() + static_cast<std::ptrdiff_t>(first),
                         of.begin() + static_cast<std::ptrdiff_t>(last),
                         [](double x) { return x == 0 && std::signbit(x); });
    };
    std::vector<double> sums(10, 9);
    dynamic::reduce_along(par, Operator::add, axis, {zeros.data(), n, Type::float64}, {sums.data(), 10, Type::float64});
    EXPECT_EQ(is_negative(sums, 0, 10), length > 0) << length;
    for (const double sum : sums) EXPECT_EQ(sum, 0);
    std::vector<double> out(zeros.size(), 9);
    dynamic::scan_along(par, {}, axis, {zeros.data(), n, Type::float64}, {out.data(), n, Type::float64});
    EXPECT_TRUE(is_negative(out, 0, out.size())) << length;
    out = zeros;
    dynamic::scan_along(par, {.exclusive = true}, axis, {out.data(), n, Type::float64}, {out.data(), n, Type::float64});
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_first = i % (out.size() / 2) < 5;
      ASSERT_TRUE(out[i] == 0 && std::signbit(out[i]) != is_first) << i << " of length " << length;
    }
  }
}

TEST(Dynamic, CallsWithoutAnInitialValueKeepNegativeZeros) {
  const std::vector<double> zeros(1000, -0.0);
  const std::vector<std::int64_t> offsets{0, 0, 1, 1000};
  const std::vector<std::int64_t> keys(1000, 7);
  const dynamic::ConstArray from{zeros.data(), 1000, Type::float64};
  const auto is_negative = [](double x) { return x == 0 && std::signbit(x); };
  std::vector<double> out(1000, 9);
  dynamic::segmented_reduce(par, Operator::add, dynamic::lists_of_offsets({offsets.data(), 4, Type::int64}), from,
                            {out.data(), 3, Type::float64});
  EXPECT_TRUE(out[0] == 0 && !std::signbit(out[0]) && is_negative(out[1]) && is_negative(out[2]));
  std::int64_t out_key = 0;
  (void)dynamic::reduce_by_key(par, Operator::add, {keys.data(), 1000, Type::int64}, from, {&out_key, 1, Type::int64},
                               {out.data(), 1, Type::float64});
  EXPECT_TRUE(is_negative(out[0]));
  double sum = 9;
  upsweep_result result;
  ASSERT_EQ(upsweep_reduce(nullptr, "add", nullptr, {const_cast<double*>(zeros.data()), 1000, UPSWEEP_FLOAT64},
                           UPSWEEP_FLOAT64, &sum, &result),
            0);
  EXPECT_TRUE(is_negative(sum));
  ASSERT_EQ(upsweep_scan(nullptr, "add", 1, nullptr, {const_cast<double*>(zeros.data()), 1000, UPSWEEP_FLOAT64},
                         {out.data(), 1000, UPSWEEP_FLOAT64}, &result),
            0);
  EXPECT_TRUE(out[0] == 0 && !std::signbit(out[0]) && is_negative(out[1]) && is_negative(out[999]));
}

TEST(DynamicAlong, SumsOfManyFloatsAreOfBlocks) {
  constexpr std::int64_t kOnes = (std::int64_t{1} << 24) + 8192;  // added one by one they would stay at 2^24
  const std::vector<float> ones(2 * kOnes, 1.0F);
  float sums[2] = {};
  dynamic::reduce_along(par, Operator::add, {1, kOnes, 2}, {ones.data(), 2 * kOnes, Type::float32},
                        {sums, 2, Type::float32});
  EXPECT_EQ(sums[0], static_cast<float>(kOnes));
  EXPECT_EQ(sums[1], static_cast<float>(kOnes));
}

TEST(DynamicAlong, TheFirstOutputThatDoesNotFitIsNamed) {
  const dynamic::Axis axis{2, 100, 600};
  const std::int64_t n = 2 * 100 * 600;
  std::vector<std::int32_t> in(static_cast<std::size_t>(n), 1);
  const auto at = [](std::int64_t o, std::int64_t i, std::int64_t j) { return (o * 100 + i) * 600 + j; };
  in[static_cast<std::size_t>(at(1, 40, 599))] = std::numeric_limits<std::int32_t>::max();
  in[static_cast<std::size_t>(at(1, 41, 3))] = std::numeric_limits<std::int32_t>::max();
  const auto overflow_of = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::overflow);
      return error.index();
    }
    return kNoIndex;
  };
  const dynamic::ConstArray from{in.data(), n, Type::int32};
  for (const int threads : {1, 4}) {
    const Policy checked{.threads = threads, .overflow = Overflow::checked};
    std::vector<std::int32_t> out(in.size());
    const dynamic::Array to{out.data(), n, Type::int32};
    EXPECT_EQ(overflow_of([&] { dynamic::scan_along(checked, {}, axis, from, to); }), at(1, 40, 599));
    EXPECT_EQ(overflow_of([&] { dynamic::scan_along(checked, {Operator::add, true}, axis, from, to); }),
              at(1, 41, 599));
    std::vector<std::int32_t> sums(1200);
    const dynamic::Array sums_to{sums.data(), 1200, Type::int32};
    EXPECT_EQ(overflow_of([&] { dynamic::reduce_along(checked, Operator::add, axis, from, sums_to); }), 603);
    EXPECT_EQ(overflow_of([&] { dynamic::scan_along({.threads = threads}, {}, axis, from, to); }), kNoIndex);
    auto in_place = in;
    const dynamic::Array same{in_place.data(), n, Type::int32};
    EXPECT_EQ(overflow_of([&] { dynamic::scan_along(checked, {}, axis, {in_place.data(), n, Type::int32}, same); }),
              at(1, 40, 599));
    std::vector<std::int64_t> wide(in.size());
    EXPECT_EQ(overflow_of([&] { dynamic::scan_along(checked, {}, axis, from, {wide.data(), n, Type::int64}); }),
              kNoIndex);
  }
}

/// Returns the first checked sum along the middle axis that does not fit, using Int128 for all of them.
template <class In, class Out>
void check_first_overflow(std::int64_t inner, std::int64_t bad_row, Out init) {
  const dynamic::Axis axis{2, 5, inner};
  const auto n = static_cast<std::size_t>(10 * inner);
  std::vector<In> in(n, In{1});
  in[static_cast<std::size_t>((5 + bad_row) * inner + inner / 2)] = std::numeric_limits<In>::min();
  for (const bool exclusive : {false, true}) {
    for (const bool reduces : {false, true}) {
      std::int64_t expected = kNoIndex;
      for (std::int64_t o = 0; o < 2; ++o) {
        for (std::int64_t j = 0; j < inner; ++j) {
          cpu::Int128 sum = init;
          const auto look = [&](std::int64_t at) {
            if (sum >= 0 && sum <= static_cast<cpu::Int128>(std::numeric_limits<Out>::max())) return;
            expected = expected == kNoIndex ? at : std::min(expected, at);
          };
          for (std::int64_t i = 0; i < 5; ++i) {
            const std::int64_t at = (o * 5 + i) * inner + j;
            if (!reduces && exclusive) look(at);
            sum += in[static_cast<std::size_t>(at)];
            if (!reduces && !exclusive) look(at);
          }
          if (reduces) look(o * inner + j);
        }
      }
      std::vector<Out> out(n);
      const dynamic::ConstArray from{in.data(), 10 * inner, type_of<In>()};
      std::int64_t found = kNoIndex;
      const Policy checked{.threads = 2, .overflow = Overflow::checked};
      try {
        if (reduces) {
          dynamic::reduce_along(checked, Operator::add, axis, from, {out.data(), 2 * inner, type_of<Out>()}, &init);
        } else {
          dynamic::scan_along(checked, {Operator::add, exclusive}, axis, from, {out.data(), 10 * inner, type_of<Out>()},
                              &init);
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::overflow);
        found = error.index();
      }
      EXPECT_EQ(found, expected) << name(type_of<In>()) << " to " << name(type_of<Out>()) << ", bad row " << bad_row
                                 << (exclusive ? ", exclusive" : "") << (reduces ? ", reduced" : "");
    }
  }
}

TEST(DynamicAlong, NegativeSumsDoNotFitUnsignedTypes) {
  const auto each = [](auto check) {
    check(std::int8_t{});
    check(std::int16_t{});
    check(std::int32_t{});
    check(std::int64_t{});
  };
  each([&](auto in) {
    each([&](auto out) {
      using In = decltype(in);
      using Out = std::make_unsigned_t<decltype(out)>;
      for (const std::int64_t inner : {1, 2, 100}) {
        for (const std::int64_t row : {0, 2, 4}) {
          check_first_overflow<In, Out>(inner, row, Out{0});
          check_first_overflow<In, Out>(inner, row, Out{130});
          check_first_overflow<In, Out>(inner, row, std::numeric_limits<Out>::max());
        }
      }
    });
  });
}

TEST(DynamicAlong, ChecksThatDoNotExistAreRefused) {
  const std::vector<std::int64_t> x(6, std::int64_t{1} << 40);
  std::vector<std::int64_t> out(6, -1);
  std::vector<double> doubles(6);
  const dynamic::Axis axis{1, 3, 2};
  const dynamic::ConstArray from{x.data(), 6, Type::int64};
  const Policy checked{.overflow = Overflow::checked};
  const auto both = [&](Operator op, dynamic::Array to) {
    const Code scanned = code_of([&] { dynamic::scan_along(checked, {op}, axis, from, to); });
    EXPECT_EQ(code_of([&] { dynamic::reduce_along(checked, op, axis, from, {to.data, 2, to.type}); }), scanned);
    return scanned;
  };
  EXPECT_EQ(both(Operator::mul, {out.data(), 6, Type::int64}), Code::unsupported);
  EXPECT_EQ(out, std::vector<std::int64_t>(6, -1)) << "nothing has run";
  EXPECT_EQ(both(Operator::mul, {doubles.data(), 6, Type::float64}), Code::ok);
  EXPECT_EQ(both(Operator::max, {out.data(), 6, Type::int64}), Code::ok);
}

TEST(DynamicAlong, RefusesArraysThatOverlap) {
  std::vector<double> x(18);
  const dynamic::Axis axis{2, 3, 2};
  const dynamic::ConstArray from{x.data(), 12, Type::float64};
  EXPECT_EQ(code_of([&] { dynamic::scan_along(par, {}, axis, from, {x.data() + 2, 12, Type::float64}); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::scan_along(par, {}, axis, from, {x.data(), 12, Type::float32}); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::reduce_along(par, Operator::add, axis, from, {x.data() + 4, 4, Type::float64}); }),
            Code::invalid_argument);
}

TEST(DynamicAlong, RefusesWhatDoesNotFitTogether) {
  std::vector<double> x(12);
  const dynamic::ConstArray from{x.data(), 12, Type::float64};
  const dynamic::Array to{x.data(), 12, Type::float64};
  EXPECT_EQ(code_of([&] { dynamic::scan_along(par, {}, {1, 5, 2}, from, to); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { dynamic::scan_along(par, {}, {-1, -6, 2}, from, to); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::reduce_along(par, Operator::add, {2, 3, 2}, from, to); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { dynamic::scan_along({.rung = "cpu.serial"}, {}, {2, 3, 2}, from, to); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { dynamic::scan_along({.rung = "cpu.none"}, {}, {2, 3, 2}, from, to); }), Code::unknown_rung);
}

TEST(Dynamic, RefusesWhatDoesNotFitTogether) {
  std::int32_t in[2] = {1, 2};
  std::int64_t out[2] = {};
  dynamic::Carry carry(Type::int64);
  const dynamic::ConstArray from{in, 2, Type::int32};
  const auto scan = [&](dynamic::ScanOptions options, dynamic::ConstArray a, dynamic::Array b) {
    return code_of([&] { dynamic::scan(seq, options, a, b, carry); });
  };
  EXPECT_EQ(scan({}, from, {out, 2, Type::int64}), Code::ok);
  EXPECT_EQ(scan({}, from, {out, 1, Type::int64}), Code::unequal_lengths);
  EXPECT_EQ(scan({}, from, {out, 2, Type::float64}), Code::invalid_argument);
  EXPECT_EQ(scan({}, {nullptr, 2, Type::int32}, {out, 2, Type::int64}), Code::invalid_argument);
  EXPECT_EQ(scan({}, {in, 2, Type::custom}, {out, 2, Type::int64}), Code::invalid_argument);
  EXPECT_EQ(scan({.op = Operator::custom}, from, {out, 2, Type::int64}), Code::invalid_argument);
  EXPECT_EQ(code_of([] { dynamic::Carry custom(Type::custom); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { (void)dynamic::Carry::identity(Operator::bit_xor, Type::float32); }), Code::invalid_argument);
  OffsetsCarry lists;
  EXPECT_EQ(code_of([&] { dynamic::offsets(seq, from, {out, 2, Type::int64}, out, lists); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::offsets(seq, from, {in, 1, Type::int32}, out, lists); }), Code::unequal_lengths);
}

/// Whether calls with this operator support elements of `in` and results of `out`. All folds must return the same code,
/// before anything is written.
Code folds(Operator op, Type in, Type out) {
  const std::int64_t zeros[2] = {};
  const std::int64_t offsets[] = {0, 2};
  std::int64_t buffer[2] = {77, 77};
  const dynamic::ConstArray from{zeros, 2, in};
  const Lists lists = dynamic::lists_of_offsets({offsets, 2, Type::int64});
  dynamic::Carry carry(out);
  const Code code = code_of([&] { dynamic::reduce(seq, op, from, carry); });
  const auto expect_same = [&](auto call) {
    EXPECT_EQ(code_of(call), code);
    EXPECT_EQ(buffer[0] == 77, code != Code::ok);
    buffer[0] = 77;
  };
  expect_same([&] { dynamic::scan(seq, {.op = op}, from, {buffer, 2, out}, carry); });
  expect_same([&] { dynamic::segmented_reduce(seq, op, lists, from, {buffer, 1, out}); });
  expect_same([&] { dynamic::segmented_scan(seq, {.op = op}, lists, from, {buffer, 2, out}); });
  return code;
}

TEST(Dynamic, MinAndMaxTakeATypeThatHoldsTheElements) {
  for (int i = 0; i < kTypeCount; ++i) {
    for (int o = 0; o < kTypeCount; ++o) {
      const auto in = static_cast<Type>(i);
      const auto out = static_cast<Type>(o);
      SCOPED_TRACE(std::string(name(in)) + " into " + std::string(name(out)));
      const bool keeps_order = visit_type(in, [&]<class In>(std::type_identity<In>) {
        return visit_type(out, []<class Out>(std::type_identity<Out>) {
          if constexpr (std::is_floating_point_v<Out>) return true;
          if constexpr (std::is_integral_v<In> && std::is_integral_v<Out>) {
            return std::in_range<Out>(std::numeric_limits<In>::min()) &&
                   std::in_range<Out>(std::numeric_limits<In>::max());
          }
          return false;
        });
      });
      EXPECT_EQ(folds(Operator::min, in, out), keeps_order ? Code::ok : Code::invalid_argument);
      EXPECT_EQ(folds(Operator::max, in, out), keeps_order ? Code::ok : Code::invalid_argument);
      EXPECT_EQ(folds(Operator::add, in, out), is_float(in) && is_integer(out) ? Code::invalid_argument : Code::ok);
    }
  }
}

TEST(Dynamic, CNamesEveryProblemAndRung) {
  int problem = 0;
  for (const ProblemInfo& info : problems()) {
    EXPECT_EQ(std::string_view(upsweep_problem(problem)), info.name);
    for (int rung = 0; rung < std::ssize(info.rungs); ++rung) {
      EXPECT_EQ(std::string_view(upsweep_rung(problem, rung)), info.rungs[static_cast<std::size_t>(rung)].id);
      EXPECT_EQ(std::string_view(upsweep_rung_idea(problem, rung)), info.rungs[static_cast<std::size_t>(rung)].idea);
    }
    EXPECT_EQ(upsweep_rung(problem, static_cast<int>(info.rungs.size())), nullptr);
    ++problem;
  }
  EXPECT_EQ(upsweep_problem(problem), nullptr);
}

TEST(Dynamic, StagedScansInPlaceAndHandsOn) {
  if (gpu::devices().empty()) GTEST_SKIP() << "no GPU";
  dynamic::Staged staged;
  std::vector<std::int64_t> values(1000);
  std::iota(values.begin(), values.end(), 1);
  dynamic::Carry carry(Type::int64);
  const dynamic::ScanOptions options{.op = Operator::add, .exclusive = true};
  (void)staged.scan(Overflow::checked, options, {values.data(), 1000, Type::int64}, {values.data(), 1000, Type::int64},
                    carry);
  EXPECT_EQ(values.back(), 999 * 500);
  std::int64_t total = 0;
  carry.value(&total);
  EXPECT_EQ(total, 1000 * 1001 / 2);
}

TEST(Dynamic, StagedScansKeepNegativeZero) {
  if (gpu::devices().empty()) GTEST_SKIP() << "no GPU";
  for (const bool exclusive : {false, true}) {
    dynamic::Staged staged;
    dynamic::Carry carry(Type::float64);
    std::vector<double> out;
    for (const std::int64_t length : {0, 1, 1, 3}) {
      const std::vector<double> zeros(static_cast<std::size_t>(length), -0.0);
      std::vector<double> part(zeros.size(), 1);
      (void)staged.scan(Overflow::checked, {.exclusive = exclusive}, {zeros.data(), length, Type::float64},
                        {part.data(), length, Type::float64}, carry);
      out.insert(out.end(), part.begin(), part.end());
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(out[i] == 0 && std::signbit(out[i]) == (i > 0 || !exclusive)) << i << " of " << exclusive;
    }
    double total = 1;
    carry.value(&total);
    EXPECT_TRUE(total == 0 && std::signbit(total)) << exclusive;
  }
}

TEST(Dynamic, StagedChecksThatDoNotExistAreRefused) {
  if (gpu::devices().empty()) GTEST_SKIP() << "no GPU";
  const std::vector<std::int64_t> x(4, std::int64_t{1} << 40);
  std::vector<std::int64_t> out(4);
  const dynamic::ConstArray from{x.data(), 4, Type::int64};
  const dynamic::Array to{out.data(), 4, Type::int64};
  const Lists lists = Lists::of_size(1, 4);
  dynamic::Staged staged;
  dynamic::Carry carry(Type::int64);
  const Overflow checked = Overflow::checked;
  EXPECT_EQ(code_of([&] { staged.scan(checked, {Operator::mul}, from, to, carry); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { staged.reduce(checked, Operator::mul, from, carry); }), Code::unsupported);
  EXPECT_EQ(
      code_of([&] { staged.segmented_reduce(checked, Operator::mul, lists, from, {out.data(), 1, Type::int64}); }),
      Code::unsupported);
  EXPECT_EQ(code_of([&] { staged.segmented_scan(checked, {Operator::mul}, lists, from, to); }), Code::unsupported);
}

TEST(Dynamic, StagedNeedsAGpu) {
  if (!gpu::devices().empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(code_of([] { dynamic::Staged staged; }), gpu::is_built() ? Code::no_device : Code::not_built);
}

TEST(Dynamic, CallsEndWhereTheyAreNotToGoOn) {
  constexpr std::int64_t kRows = 100'000;
  const std::vector<std::int64_t> x(3 * kRows, 1);
  std::vector<std::int64_t> out(3 * kRows);
  const dynamic::ConstArray from{x.data(), 3 * kRows, Type::int64};
  const dynamic::Array to{out.data(), 3 * kRows, Type::int64};
  const dynamic::Axis axis{1, kRows, 3};
  for (const int most : {0, 1, 3}) {
    std::atomic<int> asked{0};
    const detail::GoOn go_on = [&] { return asked.fetch_add(1) < most; };
    const auto code_of_call = [&](const auto& call) {
      asked = 0;
      return code_of(call);
    };
    EXPECT_EQ(code_of_call([&] { dynamic::scan_along(par, {}, axis, from, to, nullptr, go_on); }), Code::interrupted);
    EXPECT_EQ(code_of_call([&] {
                dynamic::reduce_along(par, Operator::add, axis, from, {out.data(), 3, Type::int64}, nullptr, go_on);
              }),
              Code::interrupted);
    for (const char* const rung : {"", "cpu.serial", "cpu.partitioned"}) {
      EXPECT_EQ(code_of_call([&] {
                  std::vector<std::int64_t> keys(3 * kRows);
                  (void)dynamic::group_by(par.with_rung(rung), Operator::add, from, from,
                                          {keys.data(), 3 * kRows, Type::int64}, to, {}, go_on);
                }),
                Code::interrupted)
          << rung;
    }
  }
}

}  // namespace
}  // namespace upsweep
