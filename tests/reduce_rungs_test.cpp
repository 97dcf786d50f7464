// SPDX-License-Identifier: Apache-2.0
// tests/reduce_rungs_test.cpp: every rung of the reduce ladder is compared with the reference. Cases: types, operators,
// sizes, patterns, conversions, exact checked sums, threads, instruction sets, and carries of parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "climb/reference.hpp"
#include "core/visit.hpp"
#include "cpu/kernels.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "system/cores.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/machine.hpp"
#include "upsweep/reduce.hpp"
#include "workers.hpp"

namespace upsweep {
namespace {

__extension__ using Int128 = __int128;

using tests::AffineMap;
using tests::Guarded;
using tests::isas;
using tests::kCompose;
using tests::Pattern;

// Sizes around a vector (16 int32), four vectors, a conversion's block (1024), a block (65536), and several blocks on
// three threads.
template <class T>
constexpr std::int64_t kSizes[] = {
    0, 1, 2, 15, 16, 17, 63, 64, 65, 66, 1023, 1024, 1025, 65535, 65536, 65537, tests::elements_for(3, sizeof(T)) + 1};

/// Whether the rung's description says that it refuses such calls.
bool compiled_only(const RungInfo& rung) { return rung.needs.starts_with("compiled operator"); }
bool checks_overflow(const RungInfo& rung) { return rung.kind == Kind::step; }

/// The library that a user would choose instead supports any call with the same type of 4 or 8 bytes in and out.
template <class In, class T>
inline constexpr bool kForLibrary = std::is_same_v<In, T> && sizeof(T) >= 4;

/// Returns the error of a call, or ok.
template <class Call>
Code code_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    EXPECT_EQ(error.index(), kNoIndex) << "the overflow of a sum must not name an element: " << error.what();
    return error.code();
  }
  return Code::ok;
}

/// The result of a call that named a rung.
struct Answer {
  std::string_view rung;
  bool right;
};

/// Checks every rung: the answers of those that support the call are right, and the others refuse it.
void expect_right(const Policy& policy, std::int64_t n, bool for_library, bool compiled,
                  const std::function<Answer(const Policy&)>& ask) {
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    Answer answer{"", false};
    const Code code = code_of([&] { answer = ask(policy.with_rung(rung.id)); });
    if (rung.kind == Kind::library && !for_library && code == Code::unsupported) continue;
    const bool refuses = compiled_only(rung) && !compiled;
    ASSERT_EQ(word(code), word(refuses ? Code::unsupported : Code::ok)) << rung.id;
    if (refuses) continue;
    EXPECT_EQ(answer.rung, rung.id);
    EXPECT_TRUE(answer.right) << rung.id << " n " << n << " threads " << policy.threads << " isa " << name(policy.isa);
  }
}

template <class In, class T, class Op>
void check_rungs(const Policy& policy, const In* in, std::int64_t n, T init, Op op, T expected) {
  expect_right(policy, n, kForLibrary<In, T>, operator_of<Op, T>() != Operator::custom, [&](const Policy& named) {
    const auto result = reduce(named, in, n, init, op);
    return Answer{result.rung, reference::same_value(result.value, expected)};
  });
}

template <class Out, class In, class Op>
Out reference(const In* in, std::int64_t n, Out init, Op op) {
  reference::ExactReference<Out, Op> all(op, init);
  for (std::int64_t i = 0; i < n; ++i) all.next(in[i]);
  return all.total();
}

// Also on a GPU: the operator's namespaces provide no function other than the public one.
template <class Op>
concept ReducesOnGpus =
    requires(const gpu::Policy& policy, const int* in, Op op) { reduce(policy, in, std::int64_t{1}, 1, op); };

template <class T, class Op>
void check(const Policy& policy, const T* in, std::int64_t n, Op op) {
  static_assert(ReducesOnGpus<Op>);
  const T init{5};
  check_rungs(policy, in, n, init, op, reference(in, n, init, op));
}

template <class T>
void check_operators(const Policy& policy, const T* in, std::int64_t n) {
  for_each_operator<T>([&]<class Op>(Op op) {
    if constexpr (tests::is_exact<T, Op>) check(policy, in, n, op);
  });
}

template <class T>
class ReduceRungs : public testing::Test {};
TYPED_TEST_SUITE(ReduceRungs, tests::ElementTypes);

TYPED_TEST(ReduceRungs, EveryOperatorMatchesTheReferenceAtEverySizeAndPattern) {
  for (const Pattern pattern : tests::kPatterns) {
    for (const std::int64_t n : kSizes<TypeParam>) {
      const auto values = tests::make<TypeParam>(pattern, n, static_cast<unsigned>(n));
      // Poison around the elements: a rung that reads it gets another value.
      Guarded<TypeParam> in(n, n % 7);
      std::copy(values.begin(), values.end(), in.data());
      check_operators(par.with_threads(3), in.data(), n);
      EXPECT_TRUE(in.intact() && std::equal(values.begin(), values.end(), in.data())) << "the input was written to";
    }
  }
}

TYPED_TEST(ReduceRungs, EveryInstructionSetAndThreadCountMatchesTheReference) {
  constexpr std::int64_t kMost = tests::elements_for(7, sizeof(TypeParam)) + 1;
  const auto values = tests::make<TypeParam>(Pattern::random, kMost, 7);
  for (const Isa isa : isas()) {
    for (const int threads : {1, 2, 3, 7}) {
      for (const std::int64_t n : std::initializer_list<std::int64_t>{0, 1, 100, 70001, kMost}) {
        check_operators(par.with_isa(isa).with_threads(threads), values.data() + (kMost - n), n);
      }
    }
  }
}

TYPED_TEST(ReduceRungs, OneElementAnywhereCounts) {
  // The minimum is at every position once: no lane, accumulator or block border is left out.
  for (const std::int64_t n : {260, 1025}) {
    std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{100});
    for (auto& x : in) {
      x = TypeParam{1};
      check_rungs(par, in.data(), n, TypeParam{100}, min, TypeParam{1});
      x = TypeParam{100};
    }
  }
  const std::int64_t shared = std::max<std::int64_t>(200000, tests::elements_for(2, sizeof(TypeParam)));
  std::vector<TypeParam> in(static_cast<std::size_t>(shared), TypeParam{100});
  for (const std::int64_t at : {0, 65535, 65536, 131071, 131072, 196607, 196608, 199999}) {
    in[static_cast<std::size_t>(at)] = TypeParam{1};
    check_rungs(par.with_threads(2), in.data(), std::ssize(in), TypeParam{100}, min, TypeParam{1});
    in[static_cast<std::size_t>(at)] = TypeParam{100};
  }
}

TYPED_TEST(ReduceRungs, WithoutAnOperatorSumsInTheElementType) {
  for (const std::int64_t n : kSizes<TypeParam>) {
    const auto in = tests::make<TypeParam>(Pattern::random, n, 8);
    EXPECT_EQ(reduce(par, in).value, reference(in.data(), n, TypeParam{}, add));
    const TypeParam value = reduce(par, in, TypeParam{3}, max);  // a Reduction converts to its value
    EXPECT_EQ(value, reference(in.data(), n, TypeParam{3}, max));
  }
}

TYPED_TEST(ReduceRungs, StandardFunctionObjectsAreTheCompiledOperators) {
  // Narrower types promote to int, and the type of their sum differs from the type of the operands.
  if constexpr (std::is_integral_v<TypeParam> && sizeof(TypeParam) >= sizeof(int)) {
    for (const std::int64_t n : {0, 2, 40, 1000, 100003}) {
      const auto in = tests::make<TypeParam>(Pattern::random, n, 16);
      const TypeParam init{5};
      check_rungs(par, in.data(), n, init, std::plus<>{}, reference(in.data(), n, init, add));
      check_rungs(par, in.data(), n, init, std::multiplies<TypeParam>{}, reference(in.data(), n, init, mul));
      check_rungs(par, in.data(), n, init, std::bit_xor<>{}, reference(in.data(), n, init, bit_xor));
      // Without a named rung, few elements are folded inline in the caller: there, integers also wrap modulo 2^bits.
      EXPECT_EQ(reduce(par, in, init, std::plus<>{}).value, reference(in.data(), n, init, add)) << "n " << n;
      EXPECT_EQ(reduce(par, in, init, std::multiplies<>{}).value, reference(in.data(), n, init, mul)) << "n " << n;
    }
  }
}

TYPED_TEST(ReduceRungs, ProductsOfSignsAreExactInFloats) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const std::int64_t n : {1, 100, 70001}) {
      auto in = tests::make<TypeParam>(Pattern::extremes, n, 9);
      for (auto& x : in) x = x < 0 ? TypeParam{-1} : TypeParam{1};
      for (const Isa isa : isas()) check(par.with_isa(isa), in.data(), n, mul);
    }
  }
}

// ------------------------------------------------------------------------------------------------------- conversions

/// Elements of a type known at run time, and the results of a cast.
template <class Out>
struct Converted {
  Type in_type = Type::custom;
  std::vector<std::byte> in;
  std::vector<Out> cast;
};

/// `small`: at most one digit, so that float sums are exact. Floats cannot be converted to integers: the result is
/// empty.
template <class Out>
Converted<Out> converted(Type in_type, std::int64_t n, bool small) {
  Converted<Out> all{in_type, std::vector<std::byte>(static_cast<std::size_t>(n * size_of(in_type))), {}};
  visit_type(in_type, [&]<class In>(std::type_identity<In>) {
    if constexpr (std::is_integral_v<In> || std::is_floating_point_v<Out>) {
      auto values = tests::make<In>(Pattern::random, n, 10);
      if (!small && n > 3) {  // values that are hard to round
        values[0] = std::numeric_limits<In>::max();
        values[1] = std::numeric_limits<In>::lowest();
        values[2] = static_cast<In>((std::uint64_t{1} << 53) + 1);
        values[3] = static_cast<In>((1U << 24) + 3);
      }
      for (auto& x : values) {
        if (small) x = static_cast<In>(std::fmod(static_cast<double>(x), 10.0));
        all.cast.push_back(static_cast<Out>(x));
      }
      if (n > 0) std::memcpy(all.in.data(), values.data(), all.in.size());
    }
  });
  return all;
}

/// Makes the same call as reduce(), with types known at run time: all pairs of types would take minutes to compile.
template <class Out>
Reduction<Out> reduce_converted(const Policy& policy, const Converted<Out>& elements, Out init, Operator op) {
  auto carry = carry_of(init);
  detail::ReduceCall call;
  call.in = elements.in.data();
  call.n = std::ssize(elements.cast);
  call.in_type = elements.in_type;
  call.out_type = type_of<Out>();
  call.in_size = size_of(elements.in_type);
  call.out_size = sizeof(Out);
  call.carry_size = sizeof carry;
  call.op = op;
  call.carry = &carry;
  const auto rung = detail::run_reduce(policy, call);
  return {detail::value_of(carry), rung};
}

TYPED_TEST(ReduceRungs, ConvertsEveryTypeToEveryOther) {
  using Out = TypeParam;
  for (int t = 0; t < kTypeCount; ++t) {
    const Type in_type = static_cast<Type>(t);
    if (in_type == type_of<Out>() || (is_float(in_type) && is_integer(type_of<Out>()))) continue;
    for (const std::int64_t n : {1, 17, 1025, 8193, 140001}) {
      const auto elements = converted<Out>(in_type, n, is_float(type_of<Out>()));
      const auto expect = [&](Operator op, Out expected) {
        SCOPED_TRACE(std::string(name(in_type)) + " to " + std::string(name(type_of<Out>())));
        expect_right(par.with_threads(2), n, false, true, [&](const Policy& policy) {
          const auto result = reduce_converted(policy, elements, Out{1}, op);
          return Answer{result.rung, reference::same_value(result.value, expected)};
        });
      };
      expect(Operator::add, reference(elements.cast.data(), n, Out{1}, add));
      expect(Operator::max, reference(elements.cast.data(), n, Out{1}, max));
    }
  }
}

/// Conversions use kernels that a policy cannot select: here each one is called directly.
TYPED_TEST(ReduceRungs, ConvertKernelsDoWhatACastDoesWithEveryInstructionSet) {
  using Out = TypeParam;
  for (int t = 0; t < kTypeCount; ++t) {
    const Type in_type = static_cast<Type>(t);
    for (const Isa isa : isas()) {
      const auto convert = cpu::kernels(isa).convert[cpu::at(in_type)][cpu::at(type_of<Out>())];
      const bool refused = is_float(in_type) && is_integer(type_of<Out>());
      ASSERT_EQ(convert == nullptr, refused);
      if (refused) continue;
      for (const std::int64_t n : {0, 1, 31, 1000}) {
        const auto elements = converted<Out>(in_type, n, false);
        Guarded<Out> out(n, 1);
        convert(elements.in.data(), out.data(), n);
        EXPECT_TRUE(std::equal(elements.cast.begin(), elements.cast.end(), out.data(), reference::same_value<Out>))
            << name(in_type) << " to " << name(type_of<Out>()) << " with " << name(isa);
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

TYPED_TEST(ReduceRungs, SumsOfNarrowElementsDoNotWrapInAWiderType) {
  using Wide = std::conditional_t<std::is_floating_point_v<TypeParam>, double,
                                  std::conditional_t<std::is_signed_v<TypeParam>, std::int64_t, std::uint64_t>>;
  for (const std::int64_t n : {1, 40, 1000, 300001}) {
    const auto in = tests::make<TypeParam>(Pattern::extremes, n, 17);
    if constexpr (!std::is_same_v<Wide, TypeParam>) {
      check_rungs(par, in.data(), n, Wide{0}, add, reference(in.data(), n, Wide{0}, add));
      EXPECT_EQ(reduce(par, in, Wide{1}).value, reference(in.data(), n, Wide{1}, add)) << "n " << n;
    }
  }
}

// --------------------------------------------------------------------------------------------------- custom operators

std::vector<AffineMap> affine_maps(std::int64_t n) {
  std::mt19937 random(12);
  std::vector<AffineMap> maps(static_cast<std::size_t>(n));
  for (auto& f : maps) f = {static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())};
  return maps;
}

TEST(ReduceRungs, CustomOperatorsNeedNotCommute) {
  for (const std::int64_t n : kSizes<AffineMap>) {
    const auto in = affine_maps(n);
    AffineMap expected{3, 1};
    for (const AffineMap& f : in) expected = kCompose(expected, f);
    int ran = 0;
    for (const auto& rung : tests::cpu_rungs("reduce")) {
      for (const int threads : {1, 2, 3, 4}) {
        Reduction<AffineMap> result{};
        const Code code = code_of(
            [&] { result = reduce(par.with_rung(rung.id).with_threads(threads), in, AffineMap{3, 1}, kCompose); });
        ASSERT_EQ(code, compiled_only(rung) ? Code::unsupported : Code::ok) << rung.id;
        if (code != Code::ok) continue;
        ++ran;
        EXPECT_EQ(result.value, expected) << rung.id << " n " << n << " threads " << threads;
      }
    }
    EXPECT_GE(ran, 8) << "at least two rungs support custom operators";
    EXPECT_EQ(reduce(par, in, AffineMap{3, 1}, kCompose).value, expected) << "n " << n;
  }
}

TEST(ReduceRungs, CustomOperatorsSeeTheirCapturesAndConvert) {
  const std::int64_t modulus = 1000003;
  const auto sum = [&](std::int64_t a, std::int64_t b) { return (a + b) % modulus; };
  const auto in = tests::make<std::uint32_t>(Pattern::random, 200001, 13);
  std::int64_t expected = 1;
  for (const std::uint32_t x : in) expected = sum(expected, x);
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    if (compiled_only(rung)) continue;
    EXPECT_EQ(reduce(par.with_rung(rung.id).with_threads(3), in, std::int64_t{1}, sum).value, expected) << rung.id;
  }
}

/// A worker whose core is taken away for as long as the others need for the rest.
TEST(ReduceRungs, AWorkerThatIsHeldUpKeepsNobodyElse) {
  if (hardware_threads() < 2) GTEST_SKIP() << "needs more than one core";
  constexpr std::int64_t kElements = 1 << 20;
  std::vector<std::int64_t> in(kElements, 1);
  in[1] = 2;
  std::atomic<std::int64_t> folded{0};
  bool others_went_on = false;
  const auto sum = [&](std::int64_t a, std::int64_t b) {
    if (b == 2) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
      const auto rest = [&] { return folded.load(std::memory_order_relaxed) > kElements * 7 / 8; };
      while (!rest() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      others_went_on = rest();
    }
    folded.fetch_add(1, std::memory_order_relaxed);
    return a + b;
  };
  EXPECT_EQ(reduce(par.with_rung("cpu.threads").with_threads(2), in, std::int64_t{0}, sum).value, kElements + 1);
  EXPECT_TRUE(others_went_on) << "blocks wait for a worker that is processing another block";
}

TEST(ReduceRungs, ElementsMayHave112Bytes) {
  struct Wide {
    std::int64_t parts[14];
  };
  static_assert(sizeof(Wide) == 112);
  const auto sum = [](Wide a, const Wide& b) {
    for (int i = 0; i < 14; ++i) a.parts[i] += b.parts[i] * (i + 1);
    return a;
  };
  const auto first = [](const Wide& a, const Wide&) { return a; };  // not commutative: the leftmost element
  std::vector<Wide> in(70001);
  for (std::size_t i = 0; i < in.size(); ++i) std::fill_n(in[i].parts, 14, static_cast<std::int64_t>(i) + 5);
  Wide init{};
  init.parts[13] = 42;
  (void)sum;
  EXPECT_EQ(reduce(par, in, init, first).value.parts[13], 42);
  const auto carry = [&] {
    auto of = empty_carry<Wide>();
    reduce_into(par, in.data(), std::ssize(in), first, of);
    return of;
  }();
  EXPECT_EQ(carry.total.parts[0], 5);
  EXPECT_EQ(carry.total.parts[13], 5);
}

// ----------------------------------------------------------------------------------------------------------- overflow

/// Returns the exact sum as a T, or nothing if it does not fit.
template <class T, class In>
std::optional<T> exact_sum(const std::vector<In>& in, T init) {
  Int128 sum = init;
  for (const In x : in) sum += x;
  if (sum > Int128{std::numeric_limits<T>::max()} || sum < Int128{std::numeric_limits<T>::min()}) return std::nullopt;
  return static_cast<T>(sum);
}

/// Checks every rung's checked sum: it is right, or an overflow if the sum does not fit.
void expect_checked(const Policy& policy, bool fits, const std::function<bool(const Policy&)>& is_right) {
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    bool right = false;
    const Policy checked = policy.with_rung(rung.id).with_overflow(Overflow::checked);
    const Code code = code_of([&] { right = is_right(checked); });
    const Code expected = !checks_overflow(rung) ? Code::unsupported : fits ? Code::ok : Code::overflow;
    EXPECT_EQ(word(code), word(expected)) << rung.id;
    EXPECT_EQ(right, expected == Code::ok) << rung.id;
  }
}

/// A checked sum is exact or an error, whatever the order of its elements.
template <class T, class In>
void check_sum(const std::vector<In>& in, T init, const Policy& policy = par.with_threads(2)) {
  SCOPED_TRACE(std::to_string(in.size()) + " elements after " + std::to_string(init));
  const std::optional<T> sum = exact_sum(in, init);
  expect_checked(policy, sum.has_value(),
                 [&](const Policy& checked) { return reduce(checked, in, init).value == sum; });
}

TYPED_TEST(ReduceRungs, CheckedSumsFitOrAreErrors) {
  if constexpr (std::is_integral_v<TypeParam>) {
    using Limits = std::numeric_limits<TypeParam>;
    using Values = std::vector<TypeParam>;
    const TypeParam one{1};
    check_sum(Values{}, Limits::max());
    check_sum(Values{Limits::max()}, TypeParam{0});
    check_sum(Values{Limits::max()}, one);
    check_sum(Values{one}, Limits::max());
    check_sum(Values{Limits::max(), one}, TypeParam{0});
    check_sum(Values{Limits::max(), Limits::max()}, TypeParam{0});
    check_sum(Values{Limits::min()}, Limits::max());
    if constexpr (std::is_signed_v<TypeParam>) {
      const TypeParam less{-1};
      check_sum(Values{Limits::max(), one, less}, TypeParam{0});  // fits, although its partial sums do not
      check_sum(Values{one, less}, Limits::max());
      check_sum(Values{less, one}, Limits::min());
      check_sum(Values{Limits::min(), less}, TypeParam{0});
      check_sum(Values{Limits::min(), Limits::min(), Limits::max(), Limits::max(), one, one}, TypeParam{0});
    }
  }
}

TYPED_TEST(ReduceRungs, CheckedSumsAreExactAcrossBlocks) {
  if constexpr (std::is_integral_v<TypeParam>) {
    using Limits = std::numeric_limits<TypeParam>;
    // Far outside the type in the first blocks, back in the last ones.
    std::vector<TypeParam> in(300000, Limits::max());
    check_sum(in, TypeParam{0});
    for (std::size_t i = in.size() / 2; i < in.size(); ++i) in[i] = Limits::min();
    for (const Isa isa : isas()) check_sum(in, TypeParam{0}, par.with_isa(isa).with_threads(3));
    if constexpr (std::is_signed_v<TypeParam>) {
      for (std::size_t i = in.size() / 2; i < in.size(); ++i) in[i] = -Limits::max();
      for (const TypeParam last : {Limits::max(), Limits::min(), TypeParam{1}, TypeParam{-1}}) {
        for (const TypeParam init : {Limits::max(), Limits::min(), TypeParam{0}}) {
          in.back() = last;
          check_sum(in, init);
          in.back() = TypeParam{0};
          in.front() = last;
          check_sum(in, init);
          in.front() = Limits::max();
        }
      }
    }
    std::vector<TypeParam> brim(200001, TypeParam{0});
    for (const std::int64_t at : {0, 65535, 65536, 131072, 200000}) {
      brim[static_cast<std::size_t>(at)] = TypeParam{1};
      check_sum(brim, Limits::max());
      check_sum(brim, static_cast<TypeParam>(Limits::max() - 1));
      brim[static_cast<std::size_t>(at)] = TypeParam{0};
    }
  }
}

TYPED_TEST(ReduceRungs, CheckedSumsOfRandomWalksAgreeWithExactOnes) {
  if constexpr (std::is_integral_v<TypeParam>) {
    int fit = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
      // Steps of about a tenth of the range: some walks end within it, some do not.
      auto in = tests::make<TypeParam>(Pattern::random, seed < 55 ? 40 + 20 * (seed % 4) : 70000, seed);
      for (auto& x : in) x = static_cast<TypeParam>(x / (std::is_signed_v<TypeParam> ? 11 : 101));
      check_sum(in, TypeParam{0});
      fit += exact_sum(in, TypeParam{0}).has_value() ? 1 : 0;
    }
    EXPECT_GT(fit, 0);
    EXPECT_LT(fit, 60);
  }
}

TEST(ReduceRungs, CheckedSumsConvertWithoutLosingAnything) {
  // The elements do not fit the output type, but their sum does.
  check_sum(std::vector<std::int64_t>{300, -200}, std::int8_t{0});
  check_sum(std::vector<std::int64_t>{300, -100}, std::int8_t{0});
  check_sum(std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()}, std::int64_t{-1});
  check_sum(std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()},
            std::numeric_limits<std::int64_t>::min());
  check_sum(std::vector<std::uint64_t>{std::uint64_t{1} << 63}, std::int64_t{-1});
  check_sum(std::vector<std::int8_t>{-1}, std::uint64_t{0});
  check_sum(std::vector<std::int8_t>{-1}, std::uint64_t{1});
  check_sum(std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()}, std::uint64_t{0});
  check_sum(std::vector<std::uint8_t>(70000, 255), std::int16_t{0});
  check_sum(std::vector<std::uint8_t>(128, 255), std::int16_t{0});
  check_sum(std::vector<std::int32_t>(70000, std::numeric_limits<std::int32_t>::min()), std::int64_t{0});
  check_sum(std::vector<std::uint32_t>(70000, 0xFFFFFFFFU), std::int64_t{0});
}

/// Calls pass at most a block to a kernel: here it gets enough elements to fill its accumulators several times.
TYPED_TEST(ReduceRungs, ExactSumKernelsLoseNothingWithEveryInstructionSet) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const Isa isa : isas()) {
    const auto exact_sum = cpu::kernels(isa).exact_sum[cpu::at(type_of<TypeParam>())];
    ASSERT_EQ(exact_sum == nullptr, std::is_floating_point_v<TypeParam>);
    if constexpr (std::is_integral_v<TypeParam>) {
      const auto check = [&](const std::vector<TypeParam>& values) {
        const auto n = std::ssize(values);
        Guarded<TypeParam> in(n, n % 5);
        std::copy(values.begin(), values.end(), in.data());
        Int128 expected = 0;
        for (const TypeParam x : values) expected += x;
        EXPECT_TRUE(exact_sum(in.data(), n) == expected) << name(isa) << " n " << n;
      };
      for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 31, 64, 65, 127, 16383, 16384, 16385, 16449, 32832}) {
        for (const Pattern pattern : tests::kPatterns) check(tests::make<TypeParam>(pattern, n, 18));
      }
      const std::size_t many = std::size_t{5} << 20;
      for (const TypeParam x : {Limits::max(), Limits::min(), static_cast<TypeParam>(-1)}) {
        check(std::vector<TypeParam>(many + 3, x));
      }
      check(tests::make<TypeParam>(Pattern::random, many, 19));
    }
  }
}

TEST(ReduceRungs, CheckedConcernsIntegerAdditionOnly) {
  const Policy checked = par.with_overflow(Overflow::checked);
  const std::vector<std::int8_t> in(100, 127);
  EXPECT_EQ(reduce(checked, in, std::int8_t{1}, max).value, 127);
  EXPECT_EQ(reduce(checked, in, std::int8_t{1}, bit_xor).value, 1);
  const std::vector<double> large(100, std::numeric_limits<double>::max());
  EXPECT_EQ(reduce(checked, large).value, std::numeric_limits<double>::infinity());
  const std::vector<std::int64_t> longs(100, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(reduce(checked, longs, 0.0).value, 100 * 9223372036854775808.0);
}

// ------------------------------------------------------------------------------------------------------------- floats

template <class T>
bool same_bits(T a, T b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

TYPED_TEST(ReduceRungs, SameBitsForAnyThreadsAlignmentAndInstructionSet) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const std::int64_t n :
         std::initializer_list<std::int64_t>{1000, 65537, tests::elements_for(7, sizeof(TypeParam)) + 1}) {
      const auto in = tests::rounded<TypeParam>(n, 14);
      const auto all_same = [&](const RungInfo& rung, auto op, TypeParam init) {
        const TypeParam first = reduce(seq.with_rung(rung.id), in, init, op);
        for (const Isa isa : isas()) {
          for (const int threads : {1, 2, 3, 7}) {
            Guarded<TypeParam> moved(n, threads);
            std::copy(in.begin(), in.end(), moved.data());
            const Policy policy = par.with_rung(rung.id).with_threads(threads).with_isa(isa);
            const TypeParam value = reduce(policy, moved.data(), n, init, op);
            EXPECT_TRUE(same_bits(value, first)) << rung.id << " threads " << threads << " isa " << name(isa);
          }
        }
      };
      for (const auto& rung : tests::cpu_rungs("reduce")) {
        if (rung.determinism != Determinism::always) continue;
        all_same(rung, add, TypeParam{0.1F});
        all_same(rung, min, TypeParam{100});
        all_same(rung, max, TypeParam{-100});
      }
    }
  }
}

TYPED_TEST(ReduceRungs, FloatsStayWithinTheStatedBound) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    constexpr auto kEpsilon = static_cast<long double>(std::numeric_limits<TypeParam>::epsilon());
    const auto check_bound = [&](const std::vector<TypeParam>& in, const char* what) {
      const auto n = std::ssize(in);
      reference::SumReference sum(1);
      for (const TypeParam x : in) sum.next(x);
      for (const auto& rung : tests::cpu_rungs("reduce")) {
        const TypeParam value = reduce(par.with_rung(rung.id).with_threads(2), in, TypeParam{1});
        const long double error = std::abs(static_cast<long double>(value) - sum.value());
        const auto factor = static_cast<long double>(std::max(1.0, rung.float_bound.factor(n, n)));
        EXPECT_LE(error, factor * kEpsilon * sum.magnitude()) << rung.id << " n " << n << " " << what;
      }
    };
    for (const std::int64_t n : {0, 1, 2, 3, 100, 1000, 65537, 600000, 3000000}) {
      check_bound(tests::rounded<TypeParam>(n, 14), "of mixed magnitude");
      check_bound(std::vector<TypeParam>(static_cast<std::size_t>(n), TypeParam{0.1F}), "that all round one way");
      auto cancelling = tests::rounded<TypeParam>(n, 14);
      for (std::int64_t i = 0; i + 1 < n; i += 2) {
        cancelling[static_cast<std::size_t>(i + 1)] = -cancelling[static_cast<std::size_t>(i)];
      }
      check_bound(cancelling, "that cancel");
    }
  }
}

TYPED_TEST(ReduceRungs, MinAndMaxPropagateNaN) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
    std::vector<TypeParam> in(200001, TypeParam{1});
    for (const std::int64_t at : {0, 1, 15, 16, 63, 64, 65535, 65536, 131071, 199999, 200000}) {
      in[static_cast<std::size_t>(at)] = nan;
      for (const Isa isa : isas()) {
        const Policy policy = par.with_isa(isa).with_threads(2);
        check_rungs(policy, in.data(), std::ssize(in), TypeParam{5}, min, nan);
        check_rungs(policy, in.data(), std::ssize(in), TypeParam{-5}, max, nan);
        check_rungs(policy, in.data(), std::ssize(in), TypeParam{0}, add, nan);
      }
      in[static_cast<std::size_t>(at)] = TypeParam{1};
    }
    check_rungs(par, in.data(), std::ssize(in), nan, min, nan);
    check_rungs(par, in.data(), std::ssize(in), nan, max, nan);
    check_rungs(par, in.data(), std::int64_t{0}, nan, max, nan);
  }
}

TYPED_TEST(ReduceRungs, InfinitiesAndSignedZerosComeThrough) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
    const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
    std::vector<TypeParam> in(200001, TypeParam{1});
    const auto n = std::ssize(in);
    in[100000] = infinity;
    check_rungs(par, in.data(), n, TypeParam{0}, add, infinity);
    check_rungs(par, in.data(), n, -infinity, add, nan);
    check_rungs(par, in.data(), n, TypeParam{0}, max, infinity);
    check_rungs(par, in.data(), n, TypeParam{0}, min, TypeParam{0});
    in[199999] = -infinity;
    check_rungs(par, in.data(), n, TypeParam{0}, add, nan);
    check_rungs(par, in.data(), n, TypeParam{0}, min, -infinity);
    // The maximum of minus infinities, and a sum that exceeds the largest float.
    std::fill(in.begin(), in.end(), -infinity);
    check_rungs(par, in.data(), n, -infinity, max, -infinity);
    std::fill(in.begin(), in.end(), std::numeric_limits<TypeParam>::max());
    check_rungs(par, in.data(), n, TypeParam{0}, add, infinity);
    const std::vector<TypeParam> zeros(70000, TypeParam{-0.0F});
    for (const auto& rung : tests::cpu_rungs("reduce")) {
      for (const std::int64_t count : {0, 1, 100, 70000}) {
        const TypeParam sum = reduce(par.with_rung(rung.id), zeros.data(), count, TypeParam{-0.0F}, add);
        EXPECT_TRUE(sum == 0 && std::signbit(sum)) << rung.id << " n " << count;
        // Without an initial value the sum of no elements is 0.0; an initial value takes part like an element.
        const std::vector<TypeParam> some(zeros.begin(), zeros.begin() + count);
        const TypeParam alone = reduce(par.with_rung(rung.id), some);
        EXPECT_TRUE(alone == 0 && std::signbit(alone) == (count > 0)) << rung.id << " n " << count;
        const TypeParam with_zero = reduce(par.with_rung(rung.id), zeros.data(), count, TypeParam{0}, add);
        EXPECT_TRUE(with_zero == 0 && !std::signbit(with_zero)) << rung.id << " n " << count;
      }
    }
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{100}}) {
      const TypeParam alone = reduce(par, std::vector<TypeParam>(count, TypeParam{-0.0}));
      EXPECT_TRUE(alone == 0 && std::signbit(alone) == (count > 0)) << count;
    }
  }
}

/// The product, computed with an exponent that is wide enough.
template <class T>
T true_product(const std::vector<T>& in, T init) {
  long double mantissa = init;
  std::int64_t exponent = 0;
  for (const T x : in) {
    int moved = 0;
    mantissa = std::frexp(mantissa * static_cast<long double>(x), &moved);
    exponent += moved;
  }
  return static_cast<T>(std::scalbln(mantissa, static_cast<long>(exponent)));
}

/// Elements around 2^±width whose product is not of this size: small ones first, alternating, and in runs as long as a
/// block.
template <class T>
std::vector<std::vector<T>> products_that_leave_and_come_back(std::int64_t n) {
  std::mt19937_64 random(21);
  constexpr int kWidth = std::numeric_limits<T>::max_exponent * 2 / 5;
  const auto made = [&](auto exponent_at) {
    std::vector<T> values(static_cast<std::size_t>(n), T{1});
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const bool last = i >= n - n / 3;  // these bring the product back into range
      const auto exponent = last ? static_cast<int>(std::clamp<std::int64_t>(-sum, -kWidth, kWidth)) : exponent_at(i);
      sum += exponent;
      const T mantissa = 1 + (static_cast<T>(random() % 1000) - 500) / T{1000000};
      values[static_cast<std::size_t>(i)] = std::ldexp(random() % 2 == 0 ? mantissa : -mantissa, exponent);
    }
    return values;
  };
  return {made([&](auto i) { return i < n / 3 ? -kWidth / 2 : kWidth / 3; }),
          made([&](auto i) { return i % 3 == 0 ? -kWidth : kWidth / 2; }),
          made([&](auto i) { return (i >> 16) % 2 == 0 ? kWidth / 64 : -kWidth / 32; }),
          made([&](auto) { return static_cast<int>(random() % (std::uint64_t{2} * kWidth)) - kWidth; })};
}

TYPED_TEST(ReduceRungs, ProductsMayLeaveTheRangeOfFloatsAndComeBack) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const std::int64_t n : {3, 60, 256, 257, 1000, 70001, 400001}) {
      for (const auto& in : products_that_leave_and_come_back<TypeParam>(n)) {
        const TypeParam init = std::ldexp(TypeParam{1.5}, -std::numeric_limits<TypeParam>::max_exponent * 2 / 3);
        const TypeParam expected = true_product(in, init);
        ASSERT_TRUE(std::isfinite(expected) && expected != 0) << n;
        const TypeParam slack =
            std::abs(expected) * std::numeric_limits<TypeParam>::epsilon() * static_cast<TypeParam>(n);
        EXPECT_NEAR(reduce(par, in, init, mul), expected, slack) << "the API, n " << n;
        for (const auto& rung : tests::cpu_rungs("reduce")) {
          if (rung.kind == Kind::library) continue;
          const TypeParam first = reduce(seq.with_rung(rung.id), in, init, mul);
          EXPECT_NEAR(first, expected, slack) << rung.id << " n " << n;
          auto carry = carry_of(init);  // in two parts
          for (const auto& [from, to] : {std::pair{std::int64_t{0}, n / 3}, std::pair{n / 3, n}}) {
            reduce_into(par.with_rung(rung.id), in.data() + from, to - from, mul, carry);
          }
          EXPECT_NEAR(detail::value_of(carry), expected, slack) << rung.id << " in parts, n " << n;
          for (const Isa isa : isas()) {
            for (const int threads : {1, 2, 5}) {
              const Policy policy = par.with_rung(rung.id).with_threads(threads).with_isa(isa);
              EXPECT_TRUE(same_bits<TypeParam>(reduce(policy, in, init, mul), first)) << rung.id << " " << name(isa);
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(ReduceRungs, ProductsAreNaNOnlyWhereAnElementIsOrZeroMeetsInfinity) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
    const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
    for (const std::int64_t n : {100, 5001, 200001}) {
      std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{1 << 20});
      const auto expect = [&](TypeParam product) {
        for (const auto& rung : tests::cpu_rungs("reduce")) {
          if (rung.kind == Kind::library) continue;
          const TypeParam value = reduce(par.with_rung(rung.id), in, TypeParam{1}, mul);
          EXPECT_TRUE(reference::same_value(value, product)) << rung.id << " n " << n << ": " << value;
        }
        EXPECT_TRUE(reference::same_value(reduce(par, in, TypeParam{1}, mul).value, product)) << n;
      };
      expect(infinity);
      in[0] = 0;
      expect(0);
      in[1] = -infinity;
      expect(nan);
      in[0] = -8;
      expect(infinity);
      in[static_cast<std::size_t>(n - 1)] = nan;
      expect(nan);
      std::fill(in.begin(), in.end(), TypeParam{-1} / (1 << 20));
      expect(n % 2 == 0 ? TypeParam{0} : TypeParam{-0.0});
    }
    const std::vector<TypeParam> smallest(300, TypeParam{1});
    const TypeParam least = std::numeric_limits<TypeParam>::denorm_min();
    EXPECT_EQ(reduce(par, smallest, least, mul).value, least);
    // Checked sums of integers would report this; for floats it is not an overflow.
    const std::vector<TypeParam> large(5000, TypeParam{8});
    EXPECT_EQ(reduce(par.with_overflow(Overflow::checked), large, TypeParam{1}, mul).value, infinity);
  }
}

TEST(ReduceRungs, ProductsOfLongDoublesStayInRange) {
  // Partial products of every block, and of few elements, are too large or too small.
  for (const std::size_t half : {std::size_t{20}, std::size_t{129}, std::size_t{200'000}}) {
    for (const long double large : {1e4000L, 1e-4000L}) {
      std::vector<long double> in(2 * half, large);
      std::fill(in.begin() + static_cast<std::ptrdiff_t>(half), in.end(), 1 / large);
      EXPECT_NEAR(static_cast<double>(reduce(par, in, 1.0L, mul).value), 1, 1e-9) << half;
      for (const char* const rung : {"cpu.serial", "cpu.threads"}) {
        EXPECT_NEAR(static_cast<double>(reduce(par.with_rung(rung).with_threads(3), in, 1.0L, mul).value), 1, 1e-9)
            << rung << ' ' << half;
      }
    }
  }
  // Digits that would be lost if a product became nearly too small.
  const std::vector<long double> in{std::ldexp(1.0L, -16440), 1.0L / 3, std::ldexp(1.0L, 100)};
  EXPECT_EQ(reduce(par, in, 1.0L, mul).value, std::ldexp(1.0L / 3, -16340));
}

/// The product begins with the smallest number and stays there, because each factor rounds to that number again. A
/// product that begins with 2^53 times this number returns to its first value. So it proves nothing that the two agree.
TEST(ReduceRungs, ProductsThatStayAtTheLeastNumberHaveLostTheirBits) {
  const double begin = std::ldexp(1.0, -1074 + 53);
  std::vector<double> in{std::ldexp(1.0, -1074)};
  double larger = begin;
  const auto append = [&](double factor) {
    in.push_back(factor);
    larger *= factor;
  };
  for (int i = 0; i < 50; ++i) append(0.51);
  for (int i = 0; i < 70; ++i) append(0.76);
  while (larger * 1.49 < begin) append(1.49);
  append(begin / larger);
  ASSERT_EQ(larger, begin);
  append(std::ldexp(1.0, 100));
  ASSERT_LT(in.size(), 256U);
  long double expected = 1;
  for (const double x : in) expected *= x;
  const double product = reduce(par, in, 1.0, mul);
  EXPECT_NEAR(product / static_cast<double>(expected), 1, 1e-12);
  EXPECT_EQ(product, reduce(par.with_rung("cpu.serial"), in, 1.0, mul).value);
}

TEST(ReduceRungs, ChecksAreRefusedWhereThereAreNone) {
  const std::vector<int> in(1000, 1);
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(tests::code_of([&] { (void)reduce(checked, in, 1, mul); }), Code::unsupported);
  EXPECT_EQ(tests::code_of([&] { (void)reduce(checked, in, 0, [](int a, int b) { return a + b; }); }),
            Code::unsupported);
  EXPECT_EQ(reduce(checked, in, 0, upsweep::max).value, 1);
  EXPECT_EQ(reduce(checked, std::vector<double>(3, 2), 1.0, mul).value, 8);
}

// ------------------------------------------------------------------------------------------------------------ carries

/// Where an array is split: unevenly, with an empty part.
std::vector<std::int64_t> cuts(std::int64_t n) { return {0, 1, 1, n / 7, n / 3 + 1, n / 2, n - 1, n}; }

template <class In, class T, class Op>
void check_parts(const std::vector<In>& in, Op op) {
  const auto ends = cuts(std::ssize(in));
  const T init{3};
  const T whole = reference(in.data(), std::ssize(in), init, op);
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    if (rung.kind == Kind::library && !kForLibrary<In, T>) continue;
    const Policy policy = par.with_rung(rung.id).with_threads(2);
    auto handed_on = carry_of(init);
    auto merged = carry_of(init);
    for (std::size_t p = 1; p < ends.size(); ++p) {
      const In* first = in.data() + ends[p - 1];
      const std::int64_t count = ends[p] - ends[p - 1];
      auto part = empty_carry<T>();
      EXPECT_EQ(reduce_into(policy, first, count, op, handed_on), rung.id);
      EXPECT_EQ(reduce_into(policy, first, count, op, part), rung.id);
      EXPECT_EQ(part.any, count > 0) << rung.id;
      auto sent = empty_carry<T>();  // a carry is plain bytes
      std::memcpy(&sent, &part, sizeof sent);
      merged = merge_carries(op, merged, sent);
    }
    EXPECT_TRUE(reference::same_value(detail::value_of(handed_on), whole)) << rung.id;
    EXPECT_TRUE(reference::same_value(detail::value_of(merged), whole)) << rung.id;
  }
}

TYPED_TEST(ReduceRungs, CarriesOfPartsMergeToTheWhole) {
  const auto in = tests::make<TypeParam>(Pattern::random, 200003, 15);
  check_parts<TypeParam, TypeParam>(in, add);
  check_parts<TypeParam, TypeParam>(in, min);
  if constexpr (std::is_integral_v<TypeParam>) check_parts<TypeParam, TypeParam>(in, mul);
}

TEST(ReduceRungs, CarriesOfCustomOperatorsMergeInOrder) {
  const auto in = affine_maps(150001);
  const auto ends = cuts(std::ssize(in));
  AffineMap whole = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) whole = kCompose(whole, in[i]);
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    if (compiled_only(rung)) continue;
    auto merged = empty_carry<AffineMap>();
    for (std::size_t p = 1; p < ends.size(); ++p) {
      auto part = empty_carry<AffineMap>();
      reduce_into(par.with_rung(rung.id), in.data() + ends[p - 1], ends[p] - ends[p - 1], kCompose, part);
      merged = merge_carries(kCompose, merged, part);
    }
    EXPECT_EQ(merged.total, whole) << rung.id;
  }
}

TYPED_TEST(ReduceRungs, CheckedPartsMayLeaveTheTypeAndComeBack) {
  if constexpr (std::is_integral_v<TypeParam>) {
    using Limits = std::numeric_limits<TypeParam>;
    constexpr Int128 kRange = Int128{1} << (8 * sizeof(TypeParam));
    std::vector<TypeParam> in(200000, Limits::max());
    if constexpr (std::is_signed_v<TypeParam>) std::fill(in.begin() + 100000, in.end(), TypeParam{-Limits::max()});
    in.back() = 1;
    for (const auto& rung : tests::cpu_rungs("reduce")) {
      if (!checks_overflow(rung)) continue;
      const Policy policy = par.with_rung(rung.id).with_overflow(Overflow::checked).with_threads(2);
      auto handed_on = empty_carry<TypeParam>();
      auto merged = empty_carry<TypeParam>();
      Int128 sum = 0;
      for (std::int64_t first = 0; first < std::ssize(in); first += 27777) {
        const std::int64_t count = std::min<std::int64_t>(27777, std::ssize(in) - first);
        for (std::int64_t i = first; i < first + count; ++i) sum += in[static_cast<std::size_t>(i)];
        auto part = empty_carry<TypeParam>();
        reduce_into(policy, in.data() + first, count, add, part);
        reduce_into(policy, in.data() + first, count, add, handed_on);
        merged = merge_carries(add, merged, part);
        for (const auto& carry : {handed_on, merged}) {
          EXPECT_TRUE(Int128{carry.total} + carry.wraps * kRange == sum) << rung.id << " from " << first;
        }
      }
      if (std::is_signed_v<TypeParam>) {
        EXPECT_TRUE(sum == Int128{1} + Limits::max());
        EXPECT_EQ(merged.wraps, 1);
        EXPECT_EQ(merge_carries(add, merged, carry_of(static_cast<TypeParam>(-1))).wraps, 0) << "one less fits";
      }
    }
  }
}

TYPED_TEST(ReduceRungs, FloatPartsThatEndWithBlocksHaveTheBitsOfTheWhole) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const std::int64_t block = 65536;
    const auto in = tests::rounded<TypeParam>(5 * block + 77, 14);
    const auto n = std::ssize(in);
    for (const auto& rung : tests::cpu_rungs("reduce")) {
      if (rung.determinism != Determinism::always) continue;
      const Policy policy = par.with_rung(rung.id).with_threads(3);
      auto whole = empty_carry<TypeParam>();
      reduce_into(policy, in.data(), n, add, whole);
      auto parts = empty_carry<TypeParam>();
      for (const auto& [first, last] :
           {std::pair{std::int64_t{0}, block}, std::pair{block, 3 * block}, std::pair{3 * block, n}}) {
        reduce_into(policy, in.data() + first, last - first, add, parts);
      }
      EXPECT_TRUE(same_bits(whole.total, parts.total) && same_bits(whole.lost, parts.lost)) << rung.id;
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------- API

TYPED_TEST(ReduceRungs, TheApiPicksByLengthAndTypeOnly) {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{10}, detail::kInlineLength, detail::kInlineLength + 1,
                               std::int64_t{100000}, std::int64_t{2000000}}) {
    const std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{0});
    const auto one = reduce(seq, in);
    for (const int threads : {0, 2, 8, 100}) {
      for (const Isa isa : isas()) EXPECT_EQ(reduce(par.with_threads(threads).with_isa(isa), in).rung, one.rung);
    }
    const auto all = tests::cpu_rungs("reduce");
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const RungInfo& rung) { return rung.id == one.rung; }));
    if (n <= detail::kInlineLength) {
      EXPECT_EQ(one.rung, "cpu.serial");
    }
    if (n >= 2000000) {
      EXPECT_EQ(one.rung, "cpu.simd_threads");
    }
  }
}

TEST(ReduceApi, CustomOperatorsGetThreadsWhereTheyPay) {
  const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
  const std::vector<std::int64_t> in(1000000, 1);
  EXPECT_EQ(reduce(par, in, std::int64_t{0}, plus).rung, "cpu.threads");
  EXPECT_EQ(reduce(seq, in, std::int64_t{0}, plus).rung, "cpu.threads");
  EXPECT_EQ(reduce(par, in.data(), 1000, std::int64_t{0}, plus).rung, "cpu.serial");
  EXPECT_EQ(reduce(par, in, std::int64_t{0}, plus).value, 1000000);
}

TEST(ReduceApi, SaysWhatIsWrong) {
  const std::vector<int> in(100, 1);
  const int* nothing = nullptr;
  EXPECT_EQ(code_of([&] { (void)reduce(par, in.data(), -1, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(par, nothing, 5, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(par, nothing, 100, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_threads(-2), in, 0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_rung("cpu.quick"), in, 0); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_rung("cpu.chained"), in, 0); }), Code::unsupported)
      << "a rung of another ladder";
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_rung("cpu.quick"), in.data(), 3, 0); }), Code::unknown_rung)
      << "also with few elements";
  const auto plus = [](int a, int b) { return a + b; };
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_rung("cpu.simd"), in, 0, plus); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)reduce(par.with_rung("cpu.simd_threads"), in.data(), 3, 0, plus); }),
            Code::unsupported);
  EXPECT_EQ(reduce(par, nothing, 0, 7).value, 7);
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    EXPECT_EQ(reduce(par.with_rung(rung.id), nothing, 0, 7).value, 7) << rung.id;
  }
}

}  // namespace
}  // namespace upsweep
