// SPDX-License-Identifier: Apache-2.0
// tests/dynamic_test.cpp: calls by run-time types give what the templates give, in one piece and in several.
#include "upsweep/dynamic.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "core/visit.hpp"
#include "rungs.hpp"
#include "upsweep/error.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/ragged.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/upsweep.h"

namespace upsweep {
namespace {

using tests::code_of;

constexpr std::int64_t kLength = 1000;

/// Sums and products of these are exact in floats, in any order.
template <class T>
std::vector<T> elements() {
  std::vector<T> values(kLength);
  for (std::int64_t i = 0; i < kLength; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<T>(i % 7 == 3 && i < 100 ? 2 : 1);
  return values;
}

/// For every element type and operator that it has.
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
  dynamic::compact_offsets(seq, {starts.data(), 1, Type::uint32}, {stops.data(), 1, Type::uint32}, offsets.data(),
                           carry);
  dynamic::compact_offsets(seq, {starts.data() + 1, 2, Type::uint32}, {stops.data() + 1, 2, Type::uint32},
                           offsets.data() + 1, carry);
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 4, 4, 5}));
  EXPECT_EQ(carry.lists, 3);
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
  EXPECT_EQ(code_of([&] { dynamic::compact_offsets(seq, from, {out, 2, Type::int64}, out, lists); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { dynamic::compact_offsets(seq, from, {in, 1, Type::int32}, out, lists); }),
            Code::unequal_lengths);
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

TEST(Dynamic, StagedNeedsAGpu) {
  if (!gpu::devices().empty()) GTEST_SKIP() << "there is one";
  EXPECT_EQ(code_of([] { dynamic::Staged staged; }), gpu::is_built() ? Code::no_device : Code::not_built);
}

}  // namespace
}  // namespace upsweep
