// SPDX-License-Identifier: Apache-2.0
// tests/cuda_plan_test.cpp: list programs on a GPU: random programs, divided blocks, histograms, checks, errors.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "plan_programs.hpp"
#include "plan_twin.hpp"
#include "upsweep/error.hpp"
#include "upsweep/plan.hpp"

namespace upsweep::plan {
namespace {

using test::any_axis;
using test::any_numbers;
using test::elements_of;
using test::expect_bins;
using test::expect_equal;
using test::is_elementary;
using test::lengths;
using test::Random;
using test::RandomProgram;
using test::small_numbers;
using test::Twin;
using tests::DeviceArray;
using tests::OwnStream;

class CudaPlanTest : public tests::GpuTest {};

/// Columns in device memory, between guards.
class DeviceColumns {
 public:
  explicit DeviceColumns(const Twin& twin) {
    for (std::size_t i = 0; i < twin.columns.size(); ++i) {
      const auto bytes = twin.column_bytes(i);
      memory_.push_back(std::make_unique<DeviceArray<std::byte>>(std::vector(bytes.begin(), bytes.end()), 0));
      columns.push_back({memory_.back()->data(), twin.columns[i].length});
    }
  }
  std::vector<Column> columns;

 private:
  std::vector<std::unique_ptr<DeviceArray<std::byte>>> memory_;
};

/// The Error that a call throws, with this code.
template <class F>
std::pair<std::string, std::int64_t> error_of(F call, Code code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return {error.what(), error.index()};
  }
  ADD_FAILURE() << "nothing thrown";
  return {};
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

void test_random_program(std::uint64_t seed, const gpu::Policy& policy) {
  constexpr std::int64_t kSizes[] = {0, 1, 5, 127, 128, 129, 3000, 9000};
  RandomProgram program(seed, kSizes[seed % std::size(kSizes)]);
  program.grow(12 + static_cast<int>(seed % 40));
  Twin& twin = program.finish();
  const Plan plan = twin.builder.compile();
  const DeviceColumns input(twin);
  const std::string what = "seed " + std::to_string(seed);
  for (int again = 0; again < 3; ++again) {  // with what the run before found out
    program.expect(plan, plan.run(policy, input.columns, twin.parameters, twin.events), what);
    if (!testing::Test::HasFailure()) continue;
    ADD_FAILURE() << what << ", run " << again << "\n" << twin.builder.to_text() << "\n" << plan.to_text();
    return;
  }
}

TEST_F(CudaPlanTest, RandomPrograms) {
  const OwnStream stream;
  for (std::uint64_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    test_random_program(seed, gpu::Policy{.stream = seed % 2 == 0 ? nullptr : static_cast<cudaStream_t>(stream)});
  }
}

TEST_F(CudaPlanTest, EveryOperationOfEveryType) {
  Random random(1);
  constexpr std::int64_t kEvents = 1500;
  for (int t = 0; t < kElementTypes; ++t) {
    const auto type = static_cast<ElementType>(t);
    Twin twin(kEvents);
    const Domain events = twin.builder.events();
    const Value x = twin.column(any_numbers(type, kEvents, random), events);
    const Value y = twin.column(any_numbers(type, kEvents, random), events);
    const Value mask = twin.column(any_numbers(ElementType::boolean, kEvents, random), events);
    std::vector<std::pair<std::string, Value>> made;
    for (int o = 0; o < kOps; ++o) {
      const auto op = static_cast<Op>(o);
      if (!is_defined(op, type) || (is_elementary(op) && detail::is_float(type))) continue;
      const std::vector<Value> args = op == Op::where  ? std::vector{mask, x, y}
                                      : arity(op) == 1 ? std::vector{x}
                                                       : std::vector{x, y};
      made.emplace_back(name(op), twin.map(op, args));
    }
    for (int to = 0; to < kElementTypes; ++to) {
      const auto other = static_cast<ElementType>(to);
      made.emplace_back("conversion to " + std::string(name(other)), twin.convert(x, other));
    }
    for (const auto& [what, value] : made) twin.builder.output(value);
    const Plan plan = twin.builder.compile();
    const DeviceColumns input(twin);
    const DeviceResult result = plan.run(gpu::Policy{}, input.columns, {}, kEvents);
    for (std::size_t i = 0; i < made.size(); ++i) {
      expect_equal(result, static_cast<int>(i), twin.elements(made[i].second),
                   made[i].first + " of " + std::string(name(type)));
    }
  }
}

template <class T>
void test_elementary_functions(double tolerance) {
  constexpr std::int64_t kEvents = 1100;
  Random random(2);
  Twin twin(kEvents);
  const Domain events = twin.builder.events();
  std::vector<T> numbers, others;
  for (int i = 0; i < kEvents; ++i) {
    numbers.push_back(static_cast<T>(test::below(random, 4001) - 2000) / 512);
    others.push_back(static_cast<T>(test::below(random, 4001) - 2000) / 512);
  }
  const Value x = twin.column(elements_of(numbers), events), y = twin.column(elements_of(others), events);
  std::vector<std::pair<Op, Value>> made;
  for (int o = 0; o < kOps; ++o) {
    const auto op = static_cast<Op>(o);
    if (!is_elementary(op)) continue;
    made.emplace_back(op, twin.map(op, arity(op) == 1 ? std::vector{x} : std::vector{x, y}));
    twin.builder.output(made.back().second);
  }
  const Plan plan = twin.builder.compile();
  const DeviceColumns input(twin);
  const DeviceResult result = plan.run(gpu::Policy{}, input.columns, {}, kEvents);
  for (std::size_t o = 0; o < made.size(); ++o) {
    std::vector<T> values(kEvents);
    result.copy(static_cast<int>(o), values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T want = twin.elements(made[o].second).template at<T>(i);
      if (std::isnan(want) && std::isnan(values[i])) continue;
      if (want == values[i]) continue;
      ASSERT_NEAR(values[i], want, std::abs(want) * tolerance)
          << name(made[o].first) << " of " << numbers[i] << " and " << others[i];
    }
  }
}

TEST_F(CudaPlanTest, ElementaryFunctionsOfFloat32) { test_elementary_functions<float>(1e-6); }
TEST_F(CudaPlanTest, ElementaryFunctionsOfFloat64) { test_elementary_functions<double>(2e-15); }

TEST_F(CudaPlanTest, HistogramsOfEveryType) {
  Random random(21);
  for (const std::int64_t events : {std::int64_t{0}, std::int64_t{1}, std::int64_t{20'000}}) {
    for (int t = 0; t < kElementTypes; t += events > 1 ? 1 : 5) {
      const auto type = static_cast<ElementType>(t);
      const auto n = static_cast<std::size_t>(events);
      Twin twin(events);
      const Domain all = twin.builder.events();
      const Value x = twin.column(any_numbers(type, n, random), all),
                  y = twin.column(small_numbers(type, n, random), all);
      const Value w = twin.column(small_numbers(ElementType::float32, n, random), all);
      std::vector<Twin::Histogram> expected;
      for (int i = 0; i < 12; ++i) {  // the sums of these weights are exact
        const std::optional<Value> weight = i % 3 == 0 ? std::optional(i % 2 == 0 ? w : y) : std::nullopt;
        expected.push_back(twin.histogram({i % 4 == 0 ? y : x}, {any_axis(type, random)}, weight));
        expected.push_back(twin.histogram({x, y}, {any_axis(type, random), any_axis(type, random)}, weight));
      }
      const Plan plan = twin.builder.compile();
      const DeviceColumns input(twin);
      const DeviceResult result = plan.run(gpu::Policy{}, input.columns, {}, events);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expect_bins(plan, result, static_cast<int>(i), expected[i],
                    std::string(name(type)) + ", histogram " + std::to_string(i) + twin.builder.to_text());
      }
    }
  }
}

TEST_F(CudaPlanTest, MoreCountsThanFitSharedMemory) {
  constexpr std::int64_t kEvents = 300;
  DeviceArray<double> numbers(std::vector<double>(kEvents, 0.5), 0);
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  for (int i = 0; i < 80; ++i) {
    builder.histogram(std::vector{x}, std::vector{Axis::regular(1000, 0, 1.0 + i).with_flow(false)});
  }
  const Plan plan = builder.compile();
  const Column column{numbers.data(), kEvents};
  const DeviceResult result = plan.run(gpu::Policy{}, {&column, 1}, {}, kEvents);
  for (int i = 0; i < 80; ++i) {
    std::vector<std::int64_t> counts(1000);
    result.copy_counts(i, counts.data());
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), kEvents) << i;
  }
}

TEST_F(CudaPlanTest, SumsOfWeightsAreExactAndThenRounded) {
  using Limits = std::numeric_limits<double>;
  Builder builder;
  const Domain events = builder.events();
  builder.histogram(std::vector{builder.fill(builder.constant(Scalar(0.5)), events)},
                    std::vector{Axis::regular(1, 0, 1).with_flow(false)},
                    builder.column(0, ElementType::float64, events));
  const Plan plan = builder.compile();
  const auto sum = [&](const std::vector<double>& weights) {
    DeviceArray<double> memory(weights, 0);
    const Column column{memory.data(), std::ssize(weights)};
    WeightedBin bin;
    plan.run(gpu::Policy{}, {&column, 1}, {}, column.length).copy_sums(0, &bin);
    return bin.sum;
  };
  EXPECT_EQ(sum({}), 0.0);
  EXPECT_EQ(sum({1e308, 0x1p-60, 1.0}), 1e308);
  EXPECT_EQ(sum({1.0, 0x1p-53}), 1.0);  // a half: to the even neighbor
  EXPECT_EQ(sum({1.0 + Limits::epsilon(), 0x1p-53}), 1.0 + 2 * Limits::epsilon());
  EXPECT_EQ(sum({1.0, 0x1p-53, 0x1p-1074}), 1.0 + Limits::epsilon());
  EXPECT_EQ(sum({-1.0, -0x1p-53, -0x1p-1074}), -1.0 - Limits::epsilon());
  EXPECT_EQ(sum({Limits::denorm_min(), Limits::denorm_min()}), 2 * Limits::denorm_min());
  EXPECT_EQ(sum({Limits::max(), Limits::max()}), Limits::infinity());
  EXPECT_EQ(sum({Limits::infinity(), 1.0}), Limits::infinity());
  EXPECT_EQ(sum({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(sum({1e300, -1.0, -1e300}), -1.0);
  EXPECT_EQ(sum({-1e-300, 3.0, -3.0}), -1e-300);
  EXPECT_EQ(sum(std::vector<double>(100'000, 0.1)), 10'000.0);  // the sum in order is 10000.000000018848
  EXPECT_TRUE(std::isnan(sum({Limits::infinity(), -Limits::infinity()})));
  EXPECT_TRUE(std::isnan(sum({1.0, Limits::quiet_NaN()})));
}

/// Pairs of the elements of lists.
struct Pairs {
  explicit Pairs(const std::vector<std::int64_t>& sizes) : twin(std::ssize(sizes)) {
    Random random(7);
    const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::int64, 3);
    const Value x = twin.column(small_numbers(ElementType::float64, twin.count(lists), random), lists);
    const Domain pairs = twin.combinations(lists, 2, false);
    sum = twin.map(Op::add, {twin.take(x, twin.source(pairs, 0)), twin.take(x, twin.source(pairs, 1))});
    total = twin.reduce(Reduction::sum, sum, pairs);
    twin.builder.output(sum), twin.builder.output(total), twin.builder.output_offsets(pairs);
    bins = twin.histogram({sum}, {Axis::regular(20, -50, 50)}, std::nullopt);
  }
  void expect(const Plan& plan, const DeviceResult& result, const std::string& what) const {
    expect_equal(result, 0, twin.elements(sum), what), expect_equal(result, 1, twin.elements(total), what);
    expect_bins(plan, result, 0, bins, what);
  }
  Twin twin;
  Value sum, total;
  Twin::Histogram bins;
};

/// Runs the program three times: the later runs know the lengths that the earlier ones found out.
void expect_pairs(const std::vector<std::int64_t>& sizes, const std::string& what) {
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  const DeviceColumns input(program.twin);
  for (int again = 0; again < 3; ++again) {
    program.expect(plan, plan.run(gpu::Policy{}, input.columns, {}, std::ssize(sizes)), what);
  }
}

TEST_F(CudaPlanTest, EventsWithManyCombinations) {
  std::vector<std::int64_t> sizes(10'000, 2);
  for (std::size_t i = 7000; i < 7020; ++i) sizes[i] = 30;  // blocks that are divided
  sizes[100] = 150, sizes[9000] = 1500;                     // events that do not fit shared memory
  expect_pairs(sizes, "large events");
}

TEST_F(CudaPlanTest, LongerListsThanBefore) {
  std::vector<std::int64_t> sizes(20'000, 1);
  for (std::size_t i = 6000; i < sizes.size(); ++i) sizes[i] = 12;
  expect_pairs(sizes, "longer lists");
}

TEST_F(CudaPlanTest, AnEventThatNeedsTooMuchMemoryIsAnError) {
  std::vector<std::int64_t> sizes(10, 3);
  sizes[6] = 3000;
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  const DeviceColumns input(program.twin);
  const auto run = [&](std::int64_t bytes) {
    return plan.run(gpu::Policy{}, input.columns, {}, 10, {.worker_bytes = bytes});
  };
  const auto [text, event] = error_of([&] { (void)run(std::int64_t{8} << 20); }, Code::out_of_memory);
  EXPECT_EQ(event, 6);
  EXPECT_SAYS(text, "event 6");
  program.expect(plan, run(std::int64_t{1} << 28), "enough");
}

TEST_F(CudaPlanTest, TheLimitDoesNotDependOnEarlierRuns) {
  std::vector<std::int64_t> sizes(5000, 3);
  sizes[4600] = 3000;
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  const DeviceColumns input(program.twin);
  const auto run = [&](std::int64_t bytes) {
    return plan.run(gpu::Policy{}, input.columns, {}, std::ssize(sizes), {.worker_bytes = bytes});
  };
  for (int again = 0; again < 2; ++again) {
    const auto [text, event] = error_of([&] { (void)run(std::int64_t{8} << 20); }, Code::out_of_memory);
    EXPECT_EQ(event, 4600);
    program.expect(plan, run(std::int64_t{1} << 28), "enough");
  }
}

TEST_F(CudaPlanTest, ChecksNameTheFirstEvent) {
  std::vector<std::int64_t> sizes(5000, 2);
  Twin twin(5000);
  const Domain lists = twin.list(twin.builder.events(), sizes, ElementType::int64, 0);
  std::vector<double> numbers(10'000, 1.0), others(5000, 1.0);
  numbers[2 * 3456 + 1] = -1, numbers[2 * 4000] = -1, others[3456] = -1, others[4999] = -1;
  const Value x = twin.column(elements_of(numbers), lists), y = twin.column(elements_of(others), twin.builder.events());
  const Value zero = twin.constant(Scalar(0.0));
  twin.builder.output(x);
  twin.builder.check(twin.map(Op::greater, {y, zero}), 40);
  twin.builder.check(twin.map(Op::greater, {x, zero}), 7);
  const Plan plan = twin.builder.compile();
  const DeviceColumns input(twin);
  const DeviceResult failed = plan.run(gpu::Policy{}, input.columns, {}, 5000);
  ASSERT_TRUE(failed.failure());
  EXPECT_EQ(failed.failure()->message, 40);
  EXPECT_EQ(failed.failure()->event, 3456);
  EXPECT_EQ(failed.size(0), 0);
  EXPECT_EQ(failed.data(0), nullptr);
  EXPECT_EQ(plan.run(gpu::Policy{}, input.columns, {}, 3456).size(0), 2 * 3456);
}

TEST_F(CudaPlanTest, TheFirstErrorDecides) {
  constexpr std::int64_t kEvents = 20'000;
  Builder builder;
  const Domain lists = builder.list(builder.events(), 0);
  builder.output(builder.reduce(Reduction::sum, builder.column(1, ElementType::float64, lists), lists));
  builder.check(builder.map(Op::greater,
                            {builder.column(2, ElementType::float64, builder.events()), builder.constant(Scalar(0.0))}),
                3);
  const Plan plan = builder.compile();
  std::vector<std::int64_t> offsets(kEvents + 1);
  std::iota(offsets.begin(), offsets.end(), 0);
  offsets[8001] = 3;
  DeviceArray<std::int64_t> lists_of(offsets, 0);
  DeviceArray<double> content(std::vector<double>(kEvents, 1.5), 0);
  for (const std::size_t event : {std::size_t{5}, std::size_t{5000}, std::size_t{19'000}}) {
    std::vector<double> numbers(kEvents, 1.0);
    numbers[event] = -1;
    DeviceArray<double> checked(numbers, 0);
    const Column columns[] = {{lists_of.data(), kEvents + 1}, {content.data(), kEvents}, {checked.data(), kEvents}};
    const auto run = [&] { return plan.run(gpu::Policy{}, columns, {}, kEvents); };
    if (event > 8000) {
      EXPECT_EQ(error_of([&] { (void)run(); }, Code::stop_before_start).second, 8000);
      continue;
    }
    const DeviceResult failed = run();
    ASSERT_TRUE(failed.failure());
    EXPECT_EQ(failed.failure()->event, static_cast<std::int64_t>(event));
  }
}

TEST_F(CudaPlanTest, ErrorsOfOffsetsAreThoseOfTheCpu) {
  constexpr std::int64_t kEvents = 2000;
  Builder builder;
  const Domain outer = builder.list(builder.events(), 0), inner = builder.list(outer, 1, ElementType::int32);
  builder.output(builder.reduce(Reduction::sum, builder.column(2, ElementType::float64, inner), inner));
  const Plan plan = builder.compile();
  std::vector<std::int64_t> outer_offsets(kEvents + 1);
  std::iota(outer_offsets.begin(), outer_offsets.end(), 0);
  std::vector<std::int32_t> inner_offsets(kEvents + 1);
  std::iota(inner_offsets.begin(), inner_offsets.end(), 0);
  const auto expect_same = [&](std::int64_t inner_length, std::int64_t elements) {
    const std::vector<double> numbers(kEvents, 1.5);
    const Column here[] = {
        {outer_offsets.data(), kEvents + 1}, {inner_offsets.data(), inner_length}, {numbers.data(), elements}};
    DeviceArray<std::int64_t> a(outer_offsets, 0);
    DeviceArray<std::int32_t> b(inner_offsets, 0);
    DeviceArray<double> c(numbers, 0);
    const Column there[] = {{a.data(), kEvents + 1}, {b.data(), inner_length}, {c.data(), elements}};
    const auto text_of = [](auto run) -> std::string {
      try {
        (void)run();
      } catch (const Error& error) {
        return error.what();
      }
      return "nothing thrown";
    };
    const std::string expected = text_of([&] { return plan.run(seq, here, {}, kEvents); });
    EXPECT_NE(expected, "nothing thrown");
    EXPECT_EQ(text_of([&] { return plan.run(gpu::Policy{}, there, {}, kEvents); }), expected);
  };
  expect_same(500, kEvents);
  expect_same(kEvents + 1, 700);
  inner_offsets[300] = INT32_MIN;
  expect_same(kEvents + 1, kEvents);
  inner_offsets[300] = 300, outer_offsets[1000] = INT64_MAX - 3;
  expect_same(kEvents + 1, kEvents);
}

TEST_F(CudaPlanTest, BadOffsetsAreErrors) {
  Builder builder;
  const Domain lists = builder.list(builder.events(), 0);
  builder.output(builder.column(1, ElementType::float64, lists)), builder.output_offsets(lists);
  const Plan plan = builder.compile();
  std::vector<std::int64_t> offsets(3001);
  std::iota(offsets.begin(), offsets.end(), 0);
  DeviceArray<double> content(std::vector<double>(3000, 1.5), 0);
  const auto run = [&](std::int64_t elements) {
    DeviceArray<std::int64_t> memory(offsets, 0);
    const Column columns[] = {{memory.data(), 3001}, {content.data(), elements}};
    (void)plan.run(gpu::Policy{}, columns, {}, 3000);
  };
  const auto expect = [&](std::int64_t elements, Code code, std::int64_t list) {
    EXPECT_EQ(error_of([&] { run(elements); }, code).second, list);
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

TEST_F(CudaPlanTest, OtherMemoryAndCallsAreRefused) {
  Builder builder;
  const Value x = builder.column(0, ElementType::float64, builder.events());
  builder.output(x);
  const Plan plan = builder.compile();
  const double number = 1;
  DeviceArray<double> numbers(std::vector<double>{1}, 0);
  Column column{&number, 1};
  const auto says = [&](const Plan& of, const gpu::Policy& policy, Code code, const char* part) {
    EXPECT_SAYS(error_of([&] { (void)of.run(policy, {&column, 1}, {}, 1); }, code).first, part);
  };
  says(plan, gpu::Policy{}, Code::invalid_argument, "column 0 is host memory");
  column.data = numbers.data();
  says(plan, gpu::Policy{.device = 99}, Code::no_device, "no device 99");
  says(plan, gpu::Policy{.rung = "x"}, Code::unknown_rung, "has no rungs");
  says(plan, gpu::Policy{.overflow = Overflow::checked}, Code::unsupported, "integers wrap");
  const Loop loop{.run = [](char**, const std::intptr_t*, const std::intptr_t*, void*) {}, .data = nullptr};
  builder.output(builder.call(loop, {x}, ElementType::float64));
  says(builder.compile(), gpu::Policy{}, Code::unsupported, "loops of the caller");
}

TEST_F(CudaPlanTest, RunsAtTheSameTime) {
  const std::vector<std::int64_t> sizes(9000, 4);
  const Pairs program(sizes);
  const Plan plan = program.twin.builder.compile();
  const DeviceColumns input(program.twin);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const OwnStream stream;
      for (int again = 0; again < 5; ++again) {
        program.expect(plan, plan.run(gpu::Policy{}.with_stream(stream), input.columns, {}, 9000), "at the same time");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaPlanTest, ResultsOutliveThePlanAndOtherDevicesWork) {
  Builder builder;
  builder.output(builder.map(
      Op::add, {builder.column(0, ElementType::int64, builder.events()), builder.constant(Scalar(std::int64_t{1}))}));
  for (int device = 0; device < static_cast<int>(gpu::devices().size()); ++device) {
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    DeviceArray<std::int64_t> numbers(std::vector<std::int64_t>{4, 5}, 0);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    const Column column{numbers.data(), 2};
    std::int64_t values[2] = {};
    DeviceResult result = builder.compile().run(gpu::Policy{.device = device}, {&column, 1}, {}, 2);
    result.copy(0, values);
    EXPECT_EQ(values[0], 5);
    EXPECT_EQ(values[1], 6);
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 0);
  }
}

}  // namespace
}  // namespace upsweep::plan
