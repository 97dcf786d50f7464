// SPDX-License-Identifier: Apache-2.0
// tests/plan_test.cpp: list programs: each operation of each type, random programs, divided blocks, checks, errors.
#include "upsweep/plan.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <thread>

#include "patterns.hpp"
#include "plan_programs.hpp"
#include "plan_twin.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan {
namespace {

using test::any_axis;
using test::any_numbers;
using test::below;
using test::Elements;
using test::elements_of;
using test::expect_bins;
using test::expect_equal;
using test::is_elementary;
using test::lengths;
using test::Random;
using test::RandomProgram;
using test::small_numbers;
using test::Twin;

using tests::supported_isas;

/// The message of the Error that a call throws.
template <class F>
std::string refusal(F call, Code code = Code::invalid_argument) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing thrown";
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// ------------------------------------------------------------------------------------------------------- element-wise

TEST(PlanTest, EveryOperationOfEveryType) {
  Random random(1);
  constexpr std::int64_t kEvents = 1500;
  for (int t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    Twin twin(kEvents);
    const Domain events = twin.builder.events();
    const Value x = twin.column(any_numbers(type, kEvents, random), events);
    const Value y = twin.column(any_numbers(type, kEvents, random), events);
    const Value mask = twin.column(any_numbers(ElementType::boolean, kEvents, random), events);
    std::vector<std::pair<Op, Value>> made;
    for (int o = 0; o < kOps; ++o) {
      const auto op = static_cast<Op>(o);
      if (!is_defined(op, type)) {
        EXPECT_SAYS(refusal([&] {
                      (void)twin.builder.map(
                          op, std::vector<Value>(static_cast<std::size_t>(arity(op)), op == Op::where ? mask : x));
                    }),
                    "is not defined for");
        continue;
      }
      const std::vector<Value> args = op == Op::where  ? std::vector{mask, x, y}
                                      : arity(op) == 1 ? std::vector{x}
                                                       : std::vector{x, y};
      made.emplace_back(op, twin.map(op, args));
    }
    for (const auto& [op, value] : made) twin.builder.output(value);
    const Plan plan = twin.builder.compile();
    for (const Isa isa : supported_isas()) {
      const Result result = plan.run(par.with_isa(isa), twin.columns, {}, kEvents);
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (is_elementary(made[i].first) && detail::is_float(type)) continue;  // ElementaryFunctions
        expect_equal(result, static_cast<int>(i), twin.elements(made[i].second),
                     std::string(name(made[i].first)) + " of " + std::string(name(type)));
      }
    }
  }
}

/// Elementary functions are within 4 ulp of the C++ library's.
template <class T>
void test_elementary_functions() {
  Random random(2);
  constexpr std::int64_t kEvents = 1100;
  Twin twin(kEvents);
  const Domain events = twin.builder.events();
  std::vector<T> numbers, others;
  for (int i = 0; i < kEvents; ++i) {
    numbers.push_back(static_cast<T>(below(random, 4001) - 2000) / 512);
    others.push_back(static_cast<T>(below(random, 4001) - 2000) / 512);
  }
  const Value x = twin.column(elements_of(numbers), events), y = twin.column(elements_of(others), events);
  std::vector<Value> made;
  for (int o = 0; o < kOps; ++o) {
    const auto op = static_cast<Op>(o);
    if (!is_elementary(op)) continue;
    made.push_back(twin.map(op, arity(op) == 1 ? std::vector{x} : std::vector{x, y}));
    twin.builder.output(made.back());
  }
  const Plan plan = twin.builder.compile();
  for (const Isa isa : supported_isas()) {
    const Result result = plan.run(par.with_isa(isa), twin.columns, {}, kEvents);
    for (std::size_t o = 0; o < made.size(); ++o) {
      const auto values = result.template values<T>(static_cast<int>(o));
      for (std::size_t i = 0; i < values.size(); ++i) {
        const T want = twin.elements(made[o]).template at<T>(i);
        if (std::isnan(want) && std::isnan(values[i])) continue;
        if (want == values[i]) continue;
        EXPECT_NEAR(values[i] / want, 1, 4 * std::numeric_limits<T>::epsilon())
            << "output " << o << " of " << numbers[i];
      }
    }
  }
}
TEST(PlanTest, ElementaryFunctionsOfFloat32) { test_elementary_functions<float>(); }
TEST(PlanTest, ElementaryFunctionsOfFloat64) { test_elementary_functions<double>(); }

TEST(PlanTest, ConversionsBetweenAllTypes) {
  Random random(3);
  constexpr std::int64_t kEvents = 1100;
  Twin twin(kEvents);
  std::vector<Value> made;
  for (int t = 0; t < kElementTypes; ++t) {
    Elements numbers = any_numbers(static_cast<ElementType>(t), kEvents, random);
    if (detail::is_float(numbers.type)) {  // values next to the limits of integers
      std::size_t at = 0;
      for (const double limit : {128.0, 256.0, 32768.0, 65536.0, 2147483648.0, 4294967296.0, 9223372036854775808.0,
                                 18446744073709551616.0}) {
        for (const double near :
             {limit, limit - 1, limit - 0.5, -limit, -limit - 1, -limit - 0.5, -limit - 1.5, -0.5, -1.0}) {
          const Scalar scalar = Scalar::of(numbers.type, near);
          numbers.bits[at++] = scalar.bits();
        }
      }
    }
    const Value x = twin.column(numbers, twin.builder.events());
    for (int to = 0; to < kElementTypes; ++to) {
      made.push_back(twin.convert(x, static_cast<ElementType>(to)));
      twin.builder.output(made.back());
    }
  }
  const Plan plan = twin.builder.compile();
  for (const Isa isa : supported_isas()) {
    const Result result = plan.run(par.with_isa(isa), twin.columns, {}, kEvents);
    for (std::size_t i = 0; i < made.size(); ++i) {
      expect_equal(result, static_cast<int>(i), twin.elements(made[i]), "conversion " + std::to_string(i));
    }
  }
}

/// Tables of few elements are compared, others are searched.
TEST(PlanTest, SearchesOfEveryType) {
  Random random(4);
  constexpr std::int64_t kEvents = 700;
  for (int t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    if (type == ElementType::boolean) continue;
    Twin twin(kEvents);
    Elements numbers = any_numbers(type, kEvents, random);
    std::vector<Elements> tables;
    for (const std::size_t length : {0UL, 1UL, 2UL, 3UL, 7UL, 63UL, 64UL, 65UL, 66UL, 127UL, 128UL, 500UL}) {
      Elements table = any_numbers(type, length, random);
      detail::visit_element(type, [&]<class T>(std::type_identity<T>) {
        std::ranges::sort(table.bits, [](std::uint64_t a, std::uint64_t b) {
          T x, y;
          std::memcpy(&x, &a, sizeof x), std::memcpy(&y, &b, sizeof y);
          return x < y || (y != y && x == x);
        });
      });
      for (std::size_t i = 0; i < length; i += 5) numbers.bits[(i * 7) % kEvents] = table.bits[i];
      tables.push_back(table);
    }
    const Value x = twin.column(numbers, twin.builder.events());
    std::vector<Value> made;
    for (const Elements& table : tables) {
      for (const bool right : {false, true}) twin.builder.output(made.emplace_back(twin.search(table, x, right)));
    }
    const Plan plan = twin.builder.compile();
    for (const Isa isa : supported_isas()) {
      const Result result = plan.run(par.with_isa(isa), twin.columns, {}, kEvents);
      for (std::size_t i = 0; i < made.size(); ++i) {
        expect_equal(result, static_cast<int>(i), twin.elements(made[i]),
                     "search " + std::to_string(i) + " of " + std::string(name(type)));
      }
    }
  }
}

TEST(PlanTest, RemaindersOfAnglesAreExact) {
  std::vector<double> x, y;
  for (const double divisor : {6.283185307179586, 1.0, 3.0, 0x1p-1000, 1e300}) {
    for (const double factor : {0.0, 0.5, 1.0, 1.5, 1.9999999, 2.0, 7.25}) {
      for (const double side : {-1.0, 1.0}) {
        const double at = side * factor * divisor;
        for (const double number : {at, std::nextafter(at, 1e308), std::nextafter(at, -1e308)})
          x.push_back(number), y.push_back(divisor);
      }
    }
  }
  for (const double number : {0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310}) x.push_back(number), y.push_back(2.5);
  while (x.size() % 64 != 0) x.push_back(1), y.push_back(2);
  std::vector<double> apart_x, apart_y;  // each pair among 63 usual ones, so that only its own chunk is exceptional
  for (std::size_t i = 0; i < x.size(); ++i) {
    apart_x.insert(apart_x.end(), 64, 1.25), apart_y.insert(apart_y.end(), 64, 1.0);
    apart_x[64 * i + i % 64] = x[i], apart_y[64 * i + i % 64] = y[i];
  }
  const auto n = static_cast<std::int64_t>(apart_x.size());
  Twin twin(n);
  const Value a = twin.column(elements_of(apart_x), twin.builder.events()),
              b = twin.column(elements_of(apart_y), twin.builder.events());
  const Value r = twin.map(Op::remainder, {a, b});
  twin.builder.output(r);
  for (const Isa isa : supported_isas()) {
    expect_equal(twin.builder.compile().run(par.with_isa(isa), twin.columns, {}, n), 0, twin.elements(r), "remainder");
  }
}

// ---------------------------------------------------------------------------------------------------------- reductions

TEST(PlanTest, ReductionsOfEveryType) {
  Random random(4);
  for (const int most : {6, 60}) {
    for (int t = 0; t < kElementTypes; ++t) {
      const auto type = static_cast<ElementType>(t);
      Twin twin(1300);
      std::vector<std::int64_t> sizes = lengths(1300, most, random);
      sizes[700] = 3000;
      const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::int32, 5);
      const Value x = twin.column(any_numbers(type, twin.count(lists), random), lists);
      std::vector<Value> made;
      made.reserve(6);
      for (int r = 0; r < 6; ++r) made.push_back(twin.reduce(static_cast<Reduction>(r), x, lists));
      const Value is_filled = twin.map(Op::greater, {twin.counts(lists), twin.constant(Scalar(0))});
      const Value zero = twin.fill(twin.constant(Scalar::of(type, std::int64_t{0})), twin.builder.events());
      for (const Reduction r : {Reduction::argmin, Reduction::argmax}) {
        made.push_back(twin.map(Op::where, {is_filled, twin.take(x, twin.reduce(r, x, lists)), zero}));
        made.push_back(twin.map(Op::less, {twin.reduce(r, x, lists), twin.constant(Scalar(0))}));
      }
      for (const bool ascending : {true, false}) made.push_back(twin.take(x, twin.argsort(x, lists, ascending)));
      for (const Value value : made) twin.builder.output(value);
      const Plan plan = twin.builder.compile();
      for (const Isa isa : supported_isas()) {
        const Result result = plan.run(par.with_isa(isa), twin.columns, {}, 1300);
        for (std::size_t i = 0; i < made.size(); ++i) {
          expect_equal(result, static_cast<int>(i), twin.elements(made[i]), "reduction of " + std::string(name(type)));
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- histograms

TEST(PlanTest, HistogramsOfEveryType) {
  Random random(21);
  for (const std::int64_t events : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1300}, std::int64_t{20'000}}) {
    for (int t = 0; t < kElementTypes; ++t) {
      const auto type = static_cast<ElementType>(t);
      const auto n = static_cast<std::size_t>(events);
      Twin twin(events);
      const Domain all = twin.builder.events();
      const Value x = twin.column(any_numbers(type, n, random), all),
                  y = twin.column(small_numbers(type, n, random), all);
      const Value w = twin.column(small_numbers(ElementType::float32, n, random), all);
      std::vector<Twin::Histogram> expected;
      for (int i = 0; i < 12; ++i) {
        const std::optional<Value> weight = i % 3 == 0 ? std::optional(i % 2 == 0 ? w : y) : std::nullopt;
        expected.push_back(twin.histogram({i % 4 == 0 ? y : x}, {any_axis(type, random)}, weight));
        expected.push_back(twin.histogram({x, y}, {any_axis(type, random), any_axis(type, random)}, weight));
      }
      const Plan plan = twin.builder.compile();
      for (const Isa isa : supported_isas()) {
        const Result result = plan.run(par.with_isa(isa), twin.columns, {}, events);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expect_bins(plan, result, static_cast<int>(i), expected[i],
                      std::string(name(type)) + ", histogram " + std::to_string(i) + twin.builder.to_text());
        }
      }
    }
  }
}

TEST(PlanTest, ValuesAtEdgesOfBins) {
  // As boost-histogram bins them.
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x{-inf, -0.1, -0.0, 0, 0.1, 0.3, 0.5, 0.7, 0.9999999999999999, 1, 1.0000000000000002,
                              inf,  nan};
  using Counts = std::vector<std::int64_t>;
  const auto counts = [&](const Axis& axis) {
    Builder builder;
    builder.histogram(std::vector{builder.column(0, ElementType::float64, builder.events())}, std::vector{axis});
    const Plan plan = builder.compile();
    const Column column{x.data(), static_cast<std::int64_t>(x.size())};
    Counts made(static_cast<std::size_t>(plan.shape(0)[0]));
    plan.run({&column, 1}, {}, column.length).copy_counts(0, made.data());
    return made;
  };
  const Axis ten = Axis::regular(10, 0, 1), two = Axis::variable({0, 0.5, 1});
  EXPECT_EQ(counts(ten), (Counts{2, 2, 1, 0, 1, 0, 1, 0, 1, 0, 1, 4}));
  EXPECT_EQ(counts(Axis(ten).with_flow(false)), (Counts{2, 1, 0, 1, 0, 1, 0, 1, 0, 2}));
  EXPECT_EQ(counts(two), (Counts{2, 4, 3, 4}));
  EXPECT_EQ(counts(Axis(two).with_flow(false)), (Counts{4, 4}));
  EXPECT_EQ(counts(Axis::regular(2, 1, 0)), (Counts{2, 3, 3, 5}));  // downwards
  EXPECT_EQ(counts(Axis::integer(0, 1)), (Counts{2, 7, 4}));
}

TEST(PlanTest, HistogramsOfProgramsAndDividedBlocks) {
  Random random(22);
  std::vector<std::int64_t> sizes = lengths(9000, 3, random);
  for (const std::size_t long_one : {17U, 1700U, 8999U}) sizes[long_one] = 400;  // blocks of 80,000 pairs each
  for (std::size_t i = 4096; i < 4100; ++i) sizes[i] = 300;                      // a block that is divided
  Twin twin(9000);
  const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::int64, 3);
  const Value x = twin.column(small_numbers(ElementType::float64, twin.count(lists), random), lists);
  const Domain pairs = twin.combinations(lists, 2, false);
  const Value first = twin.take(x, twin.source(pairs, 0)), second = twin.take(x, twin.source(pairs, 1));
  const Value sum = twin.map(Op::add, {first, second});
  const Domain kept = twin.filter(pairs, twin.map(Op::greater, {sum, twin.constant(Scalar(3.5))}));
  const Value chosen = twin.take(sum, twin.source(kept)), other = twin.take(first, twin.source(kept));
  const std::vector<Twin::Histogram> expected{
      twin.histogram({chosen}, {Axis::regular(30, 0, 60)}, std::nullopt),
      twin.histogram({chosen, other}, {Axis::regular(30, 0, 60), Axis::variable({-20, -3, 0, 9})}, other),
      twin.histogram({sum}, {Axis::regular(5, -3, 3)}, twin.constant(Scalar(0.5))),
      twin.histogram({twin.constant(Scalar(2)), twin.counts(lists)}, {Axis::integer(0, 3), Axis::integer(0, 3)}, {})};
  twin.builder.output(chosen);
  const Plan plan = twin.builder.compile();
  EXPECT_SAYS(plan.to_text(), "histogram 1 ");
  for (const int threads : {1, 2, 3, 4}) {
    for (int again = 0; again < 2; ++again) {  // with the memory of the run before
      const Result result = plan.run(par.with_threads(threads), twin.columns, {}, 9000);
      for (int i = 0; i < 4; ++i) expect_bins(plan, result, i, expected[static_cast<std::size_t>(i)], "divided");
      expect_equal(result, 0, twin.elements(chosen), "output");
    }
  }
}

TEST(PlanTest, SumsOfWeightsDoNotDependOnThreads) {
  Random random(23);
  for (const std::int64_t events : {std::int64_t{8191}, std::int64_t{300'000}}) {
    std::vector<double> numbers, weights;
    std::uniform_real_distribution<double> any(-0.1, 1.1);
    for (std::int64_t i = 0; i < events; ++i) numbers.push_back(any(random)), weights.push_back(any(random));
    Twin twin(events);
    const Domain all = twin.builder.events();
    const Value x = twin.column(elements_of(numbers), all), w = twin.column(elements_of(weights), all);
    const auto expected = twin.histogram({x}, {Axis::regular(50, 0, 1)}, w);
    twin.histogram({x, w}, {Axis::regular(200, 0, 1), Axis::regular(100, 0, 1)}, w);
    const Plan plan = twin.builder.compile();
    std::vector<std::vector<WeightedBin>> all_sums;
    for (const int threads : {1, 2, 3, 4, 1}) {
      for (const Isa isa : supported_isas()) {
        const Result result = plan.run(par.with_threads(threads).with_isa(isa), twin.columns, {}, events);
        std::vector<WeightedBin> sums(52), more(202 * 102);
        result.copy_sums(0, sums.data()), result.copy_sums(1, more.data());
        if (events < 8192) expect_bins(plan, result, 0, expected, "one work unit");  // in the order of the elements
        sums.insert(sums.end(), more.begin(), more.end());
        all_sums.push_back(std::move(sums));
      }
    }
    for (const auto& sums : all_sums) EXPECT_TRUE(sums == all_sums[0]) << events;
    for (std::size_t i = 0; i < 52; ++i) EXPECT_NEAR(all_sums[0][i].sum, expected.sums[i].sum, 1e-8);
  }
}

TEST(PlanTest, AHistogramOfManyBins) {
  // The cells of one work unit exceed the memory for those of several.
  Twin twin(50'000);
  std::vector<std::int32_t> numbers;
  numbers.reserve(50'000);
  for (std::int32_t i = 0; i < 50'000; ++i) numbers.push_back(i * 37 % 1'500'000);
  const Value x = twin.column(elements_of(numbers), twin.builder.events());
  const auto counts = twin.histogram({x}, {Axis::integer(0, 1'000'000)}, {});
  const auto sums = twin.histogram({x}, {Axis::integer(5, 1'000'000)}, x);
  const Plan plan = twin.builder.compile();
  for (const int threads : {1, 3}) {
    const Result result = plan.run(par.with_threads(threads), twin.columns, {}, 50'000);
    expect_bins(plan, result, 0, counts, "counts"), expect_bins(plan, result, 1, sums, "sums");
  }
}

TEST(PlanTest, AFailedCheckLeavesNoBins) {
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  builder.check(builder.map(Op::less, {x, builder.constant(Scalar(70'000.0))}), 5);
  builder.histogram(std::vector{x}, std::vector{Axis::regular(2, 0, 100'000)});
  const Plan plan = builder.compile();
  std::vector<double> numbers(100'000);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const Column column{numbers.data(), 100'000};
  for (const int threads : {1, 2, 4}) {
    const Result failed = plan.run(par.with_threads(threads), {&column, 1}, {}, 100'000);
    ASSERT_TRUE(failed.failure());
    EXPECT_EQ(failed.failure()->event, 70'000);
    std::int64_t counts[4];
    EXPECT_SAYS(refusal([&] { failed.copy_counts(0, counts); }), "a check has failed");
    plan.run(par.with_threads(threads), {&column, 1}, {}, 70'000).copy_counts(0, counts);
    EXPECT_EQ(std::vector<std::int64_t>(counts, counts + 4), (std::vector<std::int64_t>{0, 50'000, 20'000, 0}));
  }
}

TEST(PlanTest, MalformedHistogramsAreRefused) {
  Builder builder;
  const Domain events = builder.events(), lists = builder.list(events, 0);
  const Value x = builder.column(1, ElementType::float64, events), y = builder.column(2, ElementType::float64, lists);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto says = [&](std::vector<Value> values, std::vector<Axis> axes, const char* part, Code code) {
    EXPECT_SAYS(refusal([&] { builder.histogram(values, axes); }, code), part);
  };
  const auto refused = [&](Axis axis, const char* part) { says({x}, {std::move(axis)}, part, Code::invalid_argument); };
  refused(Axis::regular(0, 0, 1), "axis 0: must have at least one bin, not 0");
  refused(Axis::regular(5, 1, 1), "low (1) and high (1) must be finite and different");
  refused(Axis::regular(5, nan, 1), "low (nan)");
  refused(Axis::regular(5, 0, inf), "high (inf)");
  refused(Axis::regular(5, -1.7e308, 1.7e308), "their difference finite");
  refused(Axis::variable({1}), "needs at least two edges, not 1");
  refused(Axis::variable({1, 2, 2}), "edge 2 (2) is not greater than the edge before it (2)");
  refused(Axis::variable({1, nan, 2}), "edge 1 is nan");
  refused(Axis::integer(3, 3), "stop (3) must exceed start (3)");
  refused(Axis::category({}), "needs at least one value");
  refused(Axis::category({1, 4, 1}), "the value 1 occurs twice");
  refused(Axis::category({INT64_MAX}), "2^63 - 1 is too large");
  Axis category = Axis::category({1});
  refused(category, "value 0 must be integers or booleans for a category axis");
  category.underflow = true;
  refused(category, "has no underflow");
  const Axis one = Axis::regular(1, 0, 1);
  says({x, x}, {one}, "2 values for 1 axes", Code::invalid_argument);
  says({}, {}, "0 values for 0 axes", Code::invalid_argument);
  says({x, y}, {one, one}, "value 1 must be a value over 'd0 = events'", Code::invalid_argument);
  says({builder.constant(Scalar(1.0))}, {one}, "all values are scalars", Code::invalid_argument);
  says({x}, {Axis::integer(INT64_MIN, INT64_MAX)}, "more than 2^25 bins", Code::unsupported);
  says({x, x}, {Axis::regular(5791, 0, 1), Axis::regular(5792, 0, 1)}, "more than 2^25 bins", Code::unsupported);
  EXPECT_SAYS(refusal([&] { builder.histogram(std::vector{x}, std::vector{one}, y); }),
              "the weight must be a value over");
  EXPECT_SAYS(refusal([&] { (void)builder.compile(); }), "call output() or histogram()");
  EXPECT_EQ(builder.histogram(std::vector{x}, std::vector{Axis::variable({0, 0.5})}, x), 0);
  EXPECT_SAYS(builder.to_text(), "histogram 0 %0 variable(0, 0.5) underflow overflow weight %0");
  const Plan plan = builder.compile();
  EXPECT_EQ(plan.histograms(), 1);
  const double number = 1;
  const Column columns[] = {{}, {&number, 1}, {}};
  const Result result = plan.run(columns, {}, 1);
  std::int64_t count = 0;
  EXPECT_SAYS(refusal([&] { result.copy_counts(0, &count); }), "histogram 0 has weights; use copy_sums()");
  EXPECT_SAYS(refusal([&] { result.copy_counts(1, &count); }), "histogram 1 does not exist; there are 1");
}

// ----------------------------------------------------------------------------------------------------- random programs

void test_random_program(std::uint64_t seed) {
  constexpr std::int64_t kSizes[] = {0, 1, 5, 1023, 1024, 1025, 3000};
  RandomProgram program(seed, kSizes[seed % std::size(kSizes)]);
  program.grow(12 + static_cast<int>(seed % 40));
  Twin& twin = program.finish();
  const Plan plan = twin.builder.compile();
  const std::string what = "seed " + std::to_string(seed);
  for (const int threads : {1, 2, 3, 8}) {
    const Isa isa = supported_isas()[static_cast<std::size_t>(seed + static_cast<std::uint64_t>(threads)) %
                                     supported_isas().size()];
    const Policy policy = par.with_threads(threads).with_isa(isa);
    program.expect(plan, plan.run(policy, twin.columns, twin.parameters, twin.events), what);
    // Outputs of known sizes in the caller's memory, where copy() leaves them.
    const std::vector<std::int64_t> sizes = plan.sizes(twin.columns, twin.events);
    std::vector<std::vector<std::uint64_t>> memory;
    std::vector<void*> to;
    for (const std::int64_t size : sizes) {
      memory.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(size, 1)));
      to.push_back(size < 0 ? nullptr : memory.back().data());
    }
    const Result given = plan.run(policy, twin.columns, twin.parameters, twin.events, {}, {}, to);
    program.expect(plan, given, what + ", in given memory");
    for (std::size_t o = 0; o < sizes.size(); ++o) {
      if (sizes[o] < 0) continue;
      EXPECT_EQ(given.size(static_cast<int>(o)), sizes[o]) << what;
      const std::vector<std::uint64_t> before(memory[o].begin(), memory[o].end());
      given.copy(static_cast<int>(o), to[o]);
      EXPECT_EQ(memory[o], before) << what;
    }
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << what << ", threads " << threads << "\n" << twin.builder.to_text() << "\n" << plan.to_text();
      return;
    }
  }
}

TEST(PlanTest, RandomPrograms) {
  const char* given = std::getenv("UPSWEEP_PLAN_SEEDS");  // more of them: "1000 2000"
  std::uint64_t first = 0, last = tests::kSanitized ? 70 : 280;
  if (given != nullptr) std::istringstream(given) >> first >> last;
  for (std::uint64_t seed = first; seed < last && !HasFailure(); ++seed) test_random_program(seed);
}

// tests/cuda_plan_test.cpp runs the code.
TEST(PlanTest, CudaCodeNamesNoNumbersOfTheProgram) {
  const auto code = [](double number, double edge) {
    Builder builder;
    const Value x = builder.column(0, ElementType::float64, builder.events());
    builder.output(builder.map(Op::add, {x, builder.constant(Scalar(number))}));
    builder.histogram(std::vector{x}, std::vector{Axis::variable({0, 1, edge})});
    return builder.compile().to_cuda();
  };
  EXPECT_SAYS(code(1, 2), "plan(const CONSTANT Words a)");
  EXPECT_EQ(code(1, 2), code(-7.25, 3));  // other numbers do not compile another kernel
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  const Loop loop{.run = [](char**, const std::intptr_t*, const std::intptr_t*, void*) {}, .data = nullptr};
  builder.output(builder.call(loop, {x}, ElementType::float64));
  EXPECT_SAYS(refusal([&] { (void)builder.compile().to_cuda(); }, Code::unsupported), "loops of the caller");
}

// --------------------------------------------------------------------------------------------------------- the machine

/// The pairs of each list whose sum is large, and their number by event.
struct Pairs {
  explicit Pairs(const std::vector<std::int64_t>& sizes) : twin(static_cast<std::int64_t>(sizes.size())) {
    Random random(7);
    lists = twin.list(twin.builder.events(), sizes, ElementType::int64, 3);
    const Value x = twin.column(small_numbers(ElementType::float64, twin.count(lists), random), lists);
    const Domain pairs = twin.combinations(lists, 2, false);
    sum = twin.map(Op::add, {twin.take(x, twin.source(pairs, 0)), twin.take(x, twin.source(pairs, 1))});
    total = twin.reduce(Reduction::sum, sum, pairs);
    twin.builder.output(sum), twin.builder.output(total);
    // Computed before the pairs are, so that an attempt that fails has appended it.
    event = twin.column(small_numbers(ElementType::int16, sizes.size(), random), twin.builder.events());
    twin.builder.output(event);
  }
  void expect(const Result& result, const std::string& what) const {
    expect_equal(result, 0, twin.elements(sum), what), expect_equal(result, 1, twin.elements(total), what);
    expect_equal(result, 2, twin.elements(event), what);
  }
  Twin twin;
  Domain lists;
  Value sum, total, event;
};

TEST(PlanTest, BlocksWithManyCombinationsAreDivided) {
  std::vector<std::int64_t> sizes(1030, 2);
  const std::size_t end = tests::kSanitized ? 104 : 140;
  for (std::size_t i = 100; i < end; ++i) sizes[i] = 300;  // 44,850 pairs each: a block of more than 131,072
  sizes[1029] = tests::kSanitized ? 600 : 1500;            // more than 131,072 pairs of one event
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  for (const int threads : {1, 2, 3}) {
    for (int again = 0; again < (tests::kSanitized ? 1 : 2); ++again) {
      program.expect(plan.run(par.with_threads(threads), program.twin.columns, {}, 1030), "divided");
    }
  }
}

TEST(PlanTest, AnEventThatNeedsTooMuchMemoryIsAnError) {
  std::vector<std::int64_t> sizes(10, 3);
  sizes[6] = tests::kSanitized ? 1500 : 3000;
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  const auto run = [&](std::int64_t bytes) {
    return plan.run(seq, program.twin.columns, {}, 10, {.worker_bytes = bytes});
  };
  try {
    (void)run(std::int64_t{8} << 20);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_EQ(error.index(), 6);
    EXPECT_SAYS(std::string(error.what()), "event 6");
  }
  program.expect(run(std::int64_t{1} << 28), "enough");
}

TEST(PlanTest, AListLongerThanAllBlocks) {
  std::vector<std::int64_t> sizes(1025, 0);
  sizes[1] = 100'000, sizes[1024] = 70'000;
  Random random(9);
  Twin twin(1025);
  const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::uint32, 1);
  const Value x = twin.column(small_numbers(ElementType::float32, twin.count(lists), random), lists);
  const Domain kept = twin.filter(lists, twin.map(Op::greater, {x, twin.constant(Scalar(0.0F))}));
  const Value y = twin.take(x, twin.source(kept));
  const Value sum = twin.reduce(Reduction::sum, y, kept), sorted = twin.take(y, twin.argsort(y, kept, false));
  twin.builder.output(sum), twin.builder.output(sorted);
  const Result result = twin.builder.compile().run(twin.columns, {}, 1025);
  expect_equal(result, 0, twin.elements(sum), "sum"), expect_equal(result, 1, twin.elements(sorted), "sorted");
}

TEST(PlanTest, ParametersAreNotBaked) {
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  const Value cut = builder.parameter(0, ElementType::float64);
  const Value twice = builder.map(Op::multiply, {cut, builder.constant(Scalar(2.0))});
  const Domain kept = builder.filter(builder.events(), builder.map(Op::greater, {x, twice}));
  builder.output(builder.take(x, builder.source(kept)));
  const Plan plan = builder.compile();
  const std::vector<double> numbers{1, 5, 9, 3};
  const Column column{numbers.data(), 4};
  for (const double number : {0.5, 2.0, 4.0, 100.0, 0.5}) {
    std::vector<double> expected;
    for (const double n : numbers) {
      if (n > 2 * number) expected.push_back(n);
    }
    const Scalar argument(number);
    EXPECT_EQ(plan.run({&column, 1}, {&argument, 1}, 4).values<double>(0), expected);
  }
  const Scalar wrong(1);
  EXPECT_SAYS(refusal([&] { (void)plan.run({&column, 1}, {&wrong, 1}, 4); }),
              "parameter 0 is int32, but must be float64");
  EXPECT_SAYS(refusal([&] { (void)plan.run({&column, 1}, {}, 4); }), "parameter 0 is missing");
}

TEST(PlanTest, ChecksNameTheFirstEvent) {
  std::vector<std::int64_t> sizes(5000, 2);
  Twin twin(5000);
  const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::int64, 0);
  std::vector<double> numbers(10'000, 1.0), others(5000, 1.0);
  numbers[2 * 3456 + 1] = -1, numbers[2 * 4000] = -1, others[3456] = -1, others[4999] = -1;
  const Value x = twin.column(elements_of(numbers), lists), y = twin.column(elements_of(others), twin.builder.events());
  const Value zero = twin.constant(Scalar(0.0));
  const Value good = twin.map(Op::greater, {x, zero}), fine = twin.map(Op::greater, {y, zero});
  twin.builder.output(x);
  Builder& builder = twin.builder;
  const auto failure = [&](std::int64_t events, int threads) {
    return builder.compile().run(par.with_threads(threads), twin.columns, {}, events).failure();
  };
  builder.check(fine, 40);
  ASSERT_TRUE(failure(5000, 2));
  EXPECT_EQ(failure(5000, 2)->message, 40);
  EXPECT_EQ(failure(5000, 2)->event, 3456);
  builder.check(good, 7);
  for (const int threads : {1, 2, 3}) {
    EXPECT_EQ(failure(5000, threads)->message, 40);
    EXPECT_EQ(failure(5000, threads)->event, 3456);
  }
  EXPECT_FALSE(failure(3456, 1));
  const Plan plan = builder.compile();
  const Result failed = plan.run(twin.columns, {}, 5000);
  EXPECT_EQ(failed.size(0), 0);
  EXPECT_EQ(plan.run(twin.columns, {}, 3456).size(0), 2 * 3456);
}

TEST(PlanTest, BadOffsetsAreErrors) {
  Builder builder;
  const Domain lists = builder.list(builder.events(), 0);
  const Value x = builder.column(1, ElementType::float64, lists);
  builder.output(x), builder.output_offsets(lists);
  const Plan plan = builder.compile();
  std::vector<std::int64_t> offsets(3001);
  std::iota(offsets.begin(), offsets.end(), 0);
  const std::vector<double> content(3000, 1.5);
  const auto run = [&](std::int64_t elements) {
    const Column columns[] = {{offsets.data(), 3001}, {content.data(), elements}};
    (void)plan.run(columns, {}, 3000);
  };
  const auto expect = [&](std::int64_t elements, Code code, std::int64_t list) {
    try {
      run(elements);
      FAIL() << "nothing thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_EQ(error.index(), list) << error.what();
    }
  };
  run(3000);
  expect(2500, Code::stop_past_end, 2500);
  offsets[2000] = 2002;
  expect(3000, Code::stop_before_start, 2000);
  offsets[2000] = 2000, offsets[0] = -1;
  expect(3000, Code::negative_start, 0);
  offsets[0] = 0, offsets[1024] = 900;  // at the edge of a block
  expect(3000, Code::stop_before_start, 1023);
}

TEST(PlanTest, DescendingOffsetsDoNotWritePastGivenMemory) {
  constexpr std::int64_t kEvents = 3000;
  std::vector<std::int64_t> offsets(kEvents + 1);
  for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<std::int64_t>(i);
  offsets.back() = 5;
  const std::vector<double> content(kEvents, 1.0);
  Builder builder;
  const Domain lists = builder.list(builder.events(), 0);
  const Value x = builder.column(1, ElementType::float64, lists);
  builder.output(builder.map(Op::add, {x, x}));
  builder.output(builder.convert(builder.counts(lists), ElementType::float64));
  builder.output(x);
  const Plan plan = builder.compile();
  const Column columns[] = {{offsets.data(), kEvents + 1}, {content.data(), kEvents}};
  const std::int64_t sizes[] = {5, kEvents, 5};
  ASSERT_TRUE(std::ranges::equal(plan.sizes(columns, kEvents), sizes));
  std::vector<double> memory[] = {std::vector<double>(2 * kEvents, -1.0), std::vector<double>(kEvents),
                                  std::vector<double>(2 * kEvents, -1.0)};
  void* const to[] = {memory[0].data(), memory[1].data(), memory[2].data()};
  EXPECT_EQ(refusal([&] { (void)plan.run(par, columns, {}, kEvents, {}, {}, to); }, Code::stop_before_start),
            refusal([&] { (void)plan.run(columns, {}, kEvents); }, Code::stop_before_start));
  for (const std::vector<double>& of : {memory[0], memory[2]}) {
    EXPECT_TRUE(std::ranges::all_of(std::span(of).subspan(5), [](double number) { return number == -1.0; }));
  }
}

TEST(PlanTest, ShortInputsAreErrors) {
  Builder builder;
  const Domain lists = builder.list(builder.events(), 2);
  builder.output(builder.column(0, ElementType::int8, builder.events()));
  builder.output(builder.column(3, ElementType::int8, lists));
  const Plan plan = builder.compile();
  EXPECT_EQ(std::vector<int>(plan.columns().begin(), plan.columns().end()), (std::vector{0, 2, 3}));
  const std::int8_t content[10] = {};
  const std::int64_t offsets[4] = {0, 1, 2, 3};
  std::vector<Column> columns{{content, 3}, {}, {offsets, 4}, {content, 10}};
  EXPECT_EQ(plan.run(columns, {}, 3).size(1), 3);
  EXPECT_EQ(plan.run(columns, {}, 0).size(1), 0);
  EXPECT_SAYS(refusal([&] { (void)plan.run(columns, {}, 4); }, Code::unequal_lengths), "column 0 has 3 elements");
  columns[0].length = 10;
  EXPECT_SAYS(refusal([&] { (void)plan.run(columns, {}, 4); }, Code::unequal_lengths), "column 2 has 4 elements");
  EXPECT_SAYS(refusal([&] { (void)plan.run(columns, {}, -1); }), "number of events is -1");
  columns[0].data = nullptr;
  EXPECT_SAYS(refusal([&] { (void)plan.run(columns, {}, 3); }), "column 0 is null");
  columns.resize(3);
  EXPECT_SAYS(refusal([&] { (void)plan.run(columns, {}, 3); }), "needs 4 columns, not 3");
  EXPECT_SAYS(refusal([&] { (void)plan.run(par.with_rung("x"), columns, {}, 3); }, Code::unknown_rung), "has no rungs");
}

TEST(PlanTest, RunsAtTheSameTime) {
  const Pairs program(std::vector<std::int64_t>(4000, 4));
  const Plan plan = program.twin.builder.compile();
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (int i = 0; i < 10; ++i) program.expect(plan.run(program.twin.columns, {}, 4000), "at the same time");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(PlanTest, ResultsOutliveThePlan) {
  const Pairs program(std::vector<std::int64_t>(2000, 3));
  std::optional<Result> result;
  {
    const Plan plan = program.twin.builder.compile();
    result = plan.run(program.twin.columns, {}, 2000);
    const Result other = plan.run(program.twin.columns, {}, 5);
    EXPECT_EQ(other.size(1), 5);
  }
  program.expect(*result, "kept");
}

TEST(PlanTest, ARunCanBeEnded) {
  const Pairs program(std::vector<std::int64_t>(100'000, 2));
  const Plan plan = program.twin.builder.compile();
  std::atomic<int> calls{0};
  const upsweep::detail::GoOn go_on = [&] { return ++calls < 3; };
  EXPECT_EQ(refusal([&] { (void)plan.run(par, program.twin.columns, {}, 100'000, {}, go_on); }, Code::interrupted),
            "interrupted");
  EXPECT_GE(calls, 3);
  program.expect(plan.run(program.twin.columns, {}, 100'000), "afterwards");
}

// ------------------------------------------------------------------------------------------------------------ programs

TEST(PlanTest, OutputsOfOneThreadAreReleased) {
  constexpr std::int64_t kEvents = 500'000;
  std::vector<double> numbers(kEvents), expected;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * 7919 % 1000);
  std::ranges::copy_if(numbers, std::back_inserter(expected), [](double x) { return x > 300; });
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  const Domain kept = builder.filter(builder.events(), builder.map(Op::greater, {x, builder.constant(Scalar(300.0))}));
  builder.output(builder.take(x, builder.source(kept)));
  builder.output(builder.map(Op::add, {x, x}));
  const Plan plan = builder.compile();
  const Column column{numbers.data(), kEvents};
  const std::int64_t unknown_and_known[] = {-1, kEvents};
  EXPECT_TRUE(std::ranges::equal(plan.sizes({&column, 1}, kEvents), unknown_and_known));
  for (int run = 0; run < 2; ++run) {  // the second one has the memory of the first
    Result result = plan.run(par.with_threads(1), {&column, 1}, {}, kEvents);
    EXPECT_EQ(result.values<double>(0), expected);
    const std::size_t size = static_cast<std::size_t>(result.size(0));
    const std::unique_ptr<void, decltype(&std::free)> memory(result.release(0), &std::free);
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(std::ranges::equal(std::span(static_cast<const double*>(memory.get()), size), expected));
    EXPECT_EQ(result.size(0), 0);
  }
  Result of_two = plan.run(par.with_threads(2), {&column, 1}, {}, kEvents);
  EXPECT_EQ(of_two.release(0), nullptr);
  EXPECT_EQ(of_two.values<double>(0), expected);
  Result of_few = plan.run(par.with_threads(1), {&column, 1}, {}, 1000);
  EXPECT_EQ(of_few.release(0), nullptr);
}

TEST(PlanTest, EqualNodesAreOne) {
  Builder builder;
  const Domain lists = builder.list(builder.events(), 0);
  const Value x = builder.column(1, ElementType::float64, lists);
  const Value one = builder.constant(Scalar(1.0)), same = builder.constant(Scalar(1.0));
  EXPECT_EQ(one, same);
  EXPECT_NE(one, builder.constant(Scalar(1)));
  EXPECT_NE(one, builder.constant(Scalar(true)));
  EXPECT_NE(builder.constant(Scalar(0.0)), builder.constant(Scalar(-0.0)));
  const Value mask = builder.map(Op::greater, {x, one});
  EXPECT_EQ(builder.filter(lists, mask), builder.filter(lists, builder.map(Op::greater, {x, same})));
  EXPECT_NE(builder.combinations(lists, 2), builder.combinations(lists, 2, true));
  const Value i = builder.positions(lists), j = builder.column(2, ElementType::int32, lists);
  const Value difference = builder.map(Op::subtract, {i, j});
  EXPECT_EQ(builder.map(Op::add, {difference, j}), i);
  EXPECT_NE(builder.map(Op::add, {difference, i}), i);
  // Local indices return to the positions that they are made of, also as int64 and after a mask.
  const Domain pairs = builder.combinations(lists, 2);
  const Value position = builder.source(pairs, 0), start = builder.take(builder.starts(lists), builder.parents(pairs));
  const Value local = builder.convert(builder.map(Op::subtract, {position, start}), ElementType::int64);
  const Domain kept = builder.filter(pairs, builder.map(Op::greater, {builder.take(x, position), one}));
  const Value kept_local = builder.take(local, builder.source(kept));
  const Value back = builder.map(Op::add, {builder.convert(kept_local, ElementType::int32),
                                           builder.take(builder.starts(lists), builder.parents(kept))});
  EXPECT_EQ(back, builder.take(position, builder.source(kept)));
}

TEST(PlanTest, OnlyChosenElementsAreComputed) {
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  const Value root = builder.map(Op::sqrt, {x});
  const Domain kept = builder.filter(builder.events(), builder.map(Op::greater, {x, builder.constant(Scalar(2.0))}));
  builder.output(builder.take(root, builder.source(kept)));
  const std::string text = builder.compile().to_text();
  EXPECT_LT(text.find("take 64"), text.find("sqrt")) << text;
  builder.output(root);  // now it is needed of all
  const std::string both = builder.compile().to_text();
  EXPECT_LT(both.find("sqrt"), both.find("take 64")) << both;
}

struct Scaling {
  double factor;
  bool is_of_scalar;
  std::atomic<std::int64_t> elements{0};
};

/// Computes x · factor + y, and counts the elements.
void scaled_sum(char** args, const std::intptr_t* n, const std::intptr_t* steps, void* data) {
  Scaling& scaling = *static_cast<Scaling*>(data);
  scaling.elements += *n;
  EXPECT_EQ(steps[0], 8);
  EXPECT_EQ(steps[1], scaling.is_of_scalar ? 0 : 4);
  EXPECT_EQ(steps[2], 4);
  for (std::intptr_t i = 0; i < *n; ++i) {
    double x = 0;
    std::int32_t y = 0;
    std::memcpy(&x, args[0] + i * steps[0], sizeof x);
    std::memcpy(&y, args[1] + i * steps[1], sizeof y);
    const auto made = static_cast<float>(x * scaling.factor + y);
    std::memcpy(args[2] + i * steps[2], &made, sizeof made);
  }
}

TEST(PlanTest, LoopsOfTheCaller) {
  constexpr int kN = 5000;
  std::vector<double> x(kN);
  std::vector<std::int32_t> y(kN);
  for (int i = 0; i < kN; ++i) x[static_cast<std::size_t>(i)] = i / 8.0, y[static_cast<std::size_t>(i)] = -i;
  const Column columns[] = {{x.data(), kN}, {y.data(), kN}};
  for (const bool scalars : {false, true}) {
    for (const int threads : {1, 2, 3}) {
      Scaling data{3.0, scalars}, other{0.5, scalars};
      Builder builder;
      const Value a = builder.column(0, ElementType::float64, builder.events());
      const Value b =
          scalars ? builder.parameter(0, ElementType::int32) : builder.column(1, ElementType::int32, builder.events());
      const Value made = builder.call({&scaled_sum, &data}, {a, b}, ElementType::float32);
      EXPECT_EQ(builder.call({&scaled_sum, &data}, {a, b}, ElementType::float32), made);
      const Value others = builder.call({&scaled_sum, &other}, {a, b}, ElementType::float32);
      EXPECT_NE(others, made);
      EXPECT_EQ(builder.type(made), ElementType::float32);
      builder.output(made);
      const Domain kept = builder.filter(builder.events(), builder.map(Op::less, {a, builder.constant(Scalar(100.0))}));
      builder.output(builder.take(others, builder.source(kept)));  // this computes the kept events only
      const Scalar parameter(std::int32_t{-7});
      const Result result = builder.compile().run(par.with_threads(threads), columns, {&parameter, 1}, kN);
      std::vector<float> all, some;
      for (int i = 0; i < kN; ++i) {
        const auto at = static_cast<std::size_t>(i);
        all.push_back(static_cast<float>(x[at] * 3.0 + (scalars ? -7 : y[at])));
        if (x[at] < 100) some.push_back(static_cast<float>(x[at] * 0.5 + (scalars ? -7 : y[at])));
      }
      EXPECT_EQ(result.values<float>(0), all);
      EXPECT_EQ(result.values<float>(1), some);
      EXPECT_EQ(data.elements, kN);
      EXPECT_EQ(other.elements, std::ssize(some));
    }
  }
}

/// Adds 1 to a float64.
void next(char** args, const std::intptr_t* n, const std::intptr_t* steps, void* /*data*/) {
  for (std::intptr_t i = 0; i < *n; ++i) {
    double x = 0;
    std::memcpy(&x, args[0] + i * steps[0], sizeof x);
    x += 1;
    std::memcpy(args[1] + i * steps[1], &x, sizeof x);
  }
}

TEST(PlanTest, LoopsOfScalars) {
  Builder builder;
  const Loop loop{&next, nullptr};
  const Value x = builder.column(0, ElementType::float64, builder.events());
  const Value number = builder.call(loop, {builder.parameter(0, ElementType::float64)}, ElementType::float64);
  EXPECT_FALSE(builder.domain(number));
  const Value filled = builder.fill(builder.constant(Scalar(2.0)), builder.events());
  EXPECT_EQ(builder.call(loop, {filled}, ElementType::float64),
            builder.fill(builder.call(loop, {builder.constant(Scalar(2.0))}, ElementType::float64), builder.events()));
  builder.output(builder.map(Op::multiply, {x, number}));
  const Plan plan = builder.compile();
  const std::vector<double> numbers{1, 2, 3};
  const Column column{numbers.data(), 3};
  for (const double argument : {4.0, 9.0}) {
    const Scalar parameter(argument);
    EXPECT_EQ(plan.run({&column, 1}, {&parameter, 1}, 3).values<double>(0),
              (std::vector<double>{argument + 1, 2 * (argument + 1), 3 * (argument + 1)}));
  }
}

TEST(PlanTest, MalformedProgramsAreRefused) {
  Builder builder;
  const Domain events = builder.events(), a = builder.list(events, 0), b = builder.list(events, 1);
  const Value x = builder.column(2, ElementType::float64, a), y = builder.column(3, ElementType::float64, b);
  const Value i = builder.column(4, ElementType::int32, a), e = builder.column(5, ElementType::float64, events);
  const Value one = builder.constant(Scalar(1.0));
  const auto says = [&](auto call, const char* part) { EXPECT_SAYS(refusal(call), part); };
  says([&] { (void)builder.map(Op::add, {x, y}); }, "are values over different domains; use take()");
  says([&] { (void)builder.map(Op::add, {x, i}); }, "have different types; use convert()");
  says([&] { (void)builder.map(Op::add, {x}); }, "map(add): needs 2 operands, not 1");
  const Loop loop{&next, nullptr};
  says([&] { (void)builder.call({}, {x}, ElementType::float64); }, "call: the loop is null");
  says([&] { (void)builder.call(loop, {}, ElementType::float64); }, "call: a loop has 1 to 3 operands, not 0");
  says([&] { (void)builder.call(loop, {x, x, x, x}, ElementType::float64); }, "1 to 3 operands, not 4");
  says([&] { (void)builder.call(loop, {x, y}, ElementType::float64); }, "are values over different domains");
  says([&] { (void)builder.map(Op::where, {x, x, x}); }, "the condition must be of type bool");
  says([&] { (void)builder.map(Op::add, {x, static_cast<Value>(999)}); }, "value 999 is not a value of this builder");
  says([&] { (void)builder.filter(static_cast<Domain>(-1), x); }, "domain -1 is not a domain of this builder");
  says([&] { (void)builder.filter(a, x); }, "the mask must be of type bool");
  says([&] { (void)builder.filter(a, builder.map(Op::less, {y, one})); },
       "must be a value over 'd1 = list column 0 in d0'");
  says([&] { (void)builder.take(x, x); }, "the index must be of type int32");
  says([&] { (void)builder.product(a, builder.regular(a, 2), false); }, "have different parents");
  says([&] { (void)builder.concatenation({}); }, "there are no lists");
  says([&] { (void)builder.combinations(events, 2); }, "is not a domain of lists");
  says([&] { (void)builder.combinations(a, 9); }, "k is 9, but must be 1 to 8");
  says([&] { (void)builder.flatten(a); }, "values over it are flat already");
  says([&] { (void)builder.reduce(Reduction::sum, y, a); }, "reduce(sum): x must be a value over");
  says([&] { (void)builder.source(a); }, "does not stem from another domain");
  says([&] { (void)builder.source(builder.combinations(a, 2), 2); }, "member 2 of");
  says([&] { (void)builder.column(9, ElementType::int8, builder.combinations(a, 2)); },
       "is not events, list or regular");
  says([&] { (void)builder.list(events, 7, ElementType::int8); }, "offsets must be int32, uint32 or int64, not int8");
  says([&] { (void)builder.list(events, -7); }, "column -7 is negative");
  says([&] { (void)builder.lookup(7, ElementType::int8, x); }, "the index must be an integer");
  says([&] { builder.output(one); }, "is a scalar; use fill()");
  says([&] { builder.check(x, 0); }, "the mask must be of type bool");
  says([&] { (void)builder.fill(x, a); }, "is not a scalar");
  says([&] { (void)builder.concatenate(a, std::vector{x}); }, "is not a concatenation");
  says([&] { (void)builder.concatenate(builder.concatenation(std::vector{a, b}), std::vector{x}); },
       "needs 2 values, not 1");
  says([&] { builder.verify(); }, "the program has no output");
  builder.output(e);
  builder.verify();
  (void)builder.column(5, ElementType::float32, events);
  says([&] { builder.verify(); }, "column 5 is used as float64 over d0 and as float32 over d0");
}

TEST(PlanTest, NamesAreUnique) {
  std::set<std::string_view> names;
  for (int o = 0; o < kOps; ++o) {
    const auto op = static_cast<Op>(o);
    EXPECT_TRUE(names.insert(name(op)).second);
    EXPECT_EQ(parse_op(name(op)), op);
  }
  for (int t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    EXPECT_EQ(parse_element_type(name(type)), type);
  }
  EXPECT_FALSE(parse_op("sum"));
  EXPECT_EQ(parse_reduction("argmax"), Reduction::argmax);
}

TEST(PlanTest, AChainOfManyNodes) {
  Builder builder;
  Value x = builder.column(0, ElementType::float64, builder.events());
  const Domain kept = builder.filter(builder.events(), builder.map(Op::less, {x, builder.constant(Scalar(2.0))}));
  const Value one = builder.constant(Scalar(1.0));
  for (int i = 0; i < 5000; ++i) x = builder.map(Op::add, {x, one});
  builder.output(builder.take(x, builder.source(kept)));
  const std::vector<double> numbers{1, 3, 0.5};
  const Column column{numbers.data(), 3};
  EXPECT_EQ(builder.compile().run({&column, 1}, {}, 3).values<double>(0), (std::vector<double>{5001, 5000.5}));
  EXPECT_SAYS(refusal(
                  [&] {
                    for (int i = 0; i < 30'000; ++i) x = builder.map(Op::add, {x, one});
                  },
                  Code::unsupported),
              "more than 20000 nodes");
}

}  // namespace
}  // namespace upsweep::plan
