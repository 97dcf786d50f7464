// SPDX-License-Identifier: Apache-2.0
// tests/cuda_reduce_test.cpp: every CUDA rung of the reduce ladder is compared with a fold in order, and what calls
// refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "patterns.hpp"
#include "problems/dense/reduce/rung.hpp"
#include "rungs.hpp"
#include "upsweep/reduce.hpp"

namespace upsweep::impl::reduce {
extern const Rung cuda_shuffle;
}  // namespace upsweep::impl::reduce

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::Pattern;
using tests::require;

// Sizes around a warp, its tile (512 int32), a block's eight tiles, and the 1056 blocks of a full grid (4325376 int32).
constexpr std::int64_t kSizes[] = {0,    1,    2,    31,    33,    255,    511,     512,     513,
                                   4095, 4096, 4097, 65537, 70001, 999983, 4325376, 4325377, 9000011};

std::vector<RungInfo> rungs() { return tests::rungs_of("reduce", Backend::cuda); }

template <class T>
class CudaReduce : public GpuTest {};
TYPED_TEST_SUITE(CudaReduce, tests::ElementTypes);

/// Integers and whole floats: the result must equal the fold in order exactly. Returns false if the rung refuses.
template <class T, class In, class Op>
bool check(const gpu::Policy& policy, const std::vector<In>& in, T init, Op op, std::int64_t misaligned) {
  DeviceArray<In> from(in, misaligned);
  T expected = init;
  for (const In x : in) expected = op(expected, static_cast<T>(x));
  T found{};
  const Code code = code_of([&] {
    const auto result = reduce(policy, from.data(), std::ssize(in), init, op);
    found = result.value;
    EXPECT_TRUE(policy.rung.empty() || result.rung == policy.rung);
  });
  if (code == Code::unsupported) return false;
  EXPECT_EQ(code, Code::ok);
  EXPECT_EQ(std::memcmp(&found, &expected, sizeof(T)), 0)
      << policy.rung << " n " << in.size() << " misaligned " << misaligned << ": " << +found << ", not " << +expected;
  return true;
}

/// Sums of whole numbers, which are exact in every order.
template <class T>
std::vector<T> whole_numbers(std::int64_t n) {
  if constexpr (std::is_integral_v<T>) return tests::make<T>(Pattern::random, n, 3);
  std::mt19937_64 random(5);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (auto& value : values) value = static_cast<T>(static_cast<int>(random() % 3) - 1);
  return values;
}

TYPED_TEST(CudaReduce, SumsMatchAtEverySizeAndAlignment) {
  for (const auto& rung : rungs()) {
    bool ran = false;
    for (const std::int64_t n : kSizes) {
      const auto in = whole_numbers<TypeParam>(n);
      for (const std::int64_t misaligned : {std::int64_t{0}, 1 + n % 3}) {
        ran = check(gpu::Policy{}.with_rung(rung.id), in, TypeParam{7}, add, misaligned) || ran;
      }
    }
    const bool taught = sizeof(TypeParam) >= 4 && !std::is_unsigned_v<TypeParam>;
    EXPECT_EQ(ran, rung.id != "cuda.shuffle" || taught) << rung.id;
  }
}

TYPED_TEST(CudaReduce, EveryOperatorAndWiderSums) {
  for (const char* rung : {"cuda.one_kernel", "cuda.cub"}) {
    const auto policy = gpu::Policy{}.with_rung(rung);
    for (const std::int64_t n : {1, 700, 100003, 5000011}) {
      const auto in = tests::make<TypeParam>(Pattern::random, n, 7);
      std::vector<TypeParam> signs = in;  // their products are exact
      for (TypeParam& x : signs) x = x < TypeParam{} ? static_cast<TypeParam>(-1) : TypeParam{1};
      for_each_operator<TypeParam>([&]<class Op>(Op op) {
        EXPECT_TRUE(check(policy, tests::is_exact<TypeParam, Op> ? in : signs, in[0], op, n % 2));
      });
      if constexpr (std::is_integral_v<TypeParam>) {
        using Wide = std::conditional_t<std::is_signed_v<TypeParam>, std::int64_t, std::uint64_t>;
        EXPECT_TRUE(check(policy, in, Wide{5}, add, 1));
      }
    }
  }
}

TYPED_TEST(CudaReduce, FloatsHaveTheSameBitsOnEveryRunAndAlignment) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const std::int64_t n = 6000017;
    std::mt19937_64 random(3);
    std::vector<TypeParam> in(static_cast<std::size_t>(n));
    long double exact = 0;
    long double magnitude = 0;
    for (auto& x : in) {
      x = static_cast<TypeParam>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
      exact += static_cast<long double>(x);
      magnitude += std::abs(static_cast<long double>(x));
    }
    for (const auto& rung : rungs()) {
      TypeParam first{};
      for (int run = 0; run < 8; ++run) {
        DeviceArray<TypeParam> from(in, run % 5);
        const TypeParam sum = reduce(gpu::Policy{}.with_rung(rung.id), from.data(), n, TypeParam{});
        const auto bound = static_cast<long double>(rung.float_bound.factor(n, n)) *
                           static_cast<long double>(std::numeric_limits<TypeParam>::epsilon()) * magnitude;
        EXPECT_LE(std::abs(static_cast<long double>(sum) - exact), bound) << rung.id;
        if (rung.determinism != Determinism::always) continue;
        if (run == 0) first = sum;
        EXPECT_EQ(std::memcmp(&first, &sum, sizeof sum), 0) << rung.id << " run " << run;
      }
    }
  }
}

TYPED_TEST(CudaReduce, ExtremesOfNanAreNan) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const char* rung : {"cuda.one_kernel", "cuda.cub"}) {
      const auto policy = gpu::Policy{}.with_rung(rung);
      for (const std::int64_t n : {1, 33, 5000, 5'000'011}) {
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
          std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{2});
          in[static_cast<std::size_t>(at)] = std::numeric_limits<TypeParam>::quiet_NaN();
          DeviceArray<TypeParam> from(in, 1);
          EXPECT_TRUE(std::isnan(reduce(policy, from.data(), n, TypeParam{1}, min).value)) << rung << ' ' << at;
          EXPECT_TRUE(std::isnan(reduce(policy, from.data(), n, TypeParam{1}, max).value)) << rung << ' ' << at;
        }
      }
    }
  }
}

TEST_F(GpuTest, TheShuffleRungKeepsTheOrderOfOperatorsThatDoNotCommute) {
  using Map = Affine<std::uint32_t>;
  std::mt19937_64 random(13);
  for (const std::int64_t n : {0, 1, 31, 32, 33, 5000, 1100003}) {
    std::vector<Map> in(static_cast<std::size_t>(n));
    for (auto& x : in) x = {static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())};
    DeviceArray<Map> from(in, 0);
    DeviceArray<Map> to(1);
    auto carry = carry_of(Map{3, 5});
    detail::ReduceCall call;
    call.in = from.data();
    call.out = to.data();
    call.n = n;
    call.in_size = call.out_size = sizeof(Map);
    call.carry = &carry;
    const auto size = impl::reduce::cuda_shuffle.workspace(call);
    const gpu::Workspace workspace(size);
    const gpu::Launch launch{.kept = workspace.kept(), .scratch = workspace.scratch(), .size = size};
    call.launch = &launch;
    ASSERT_TRUE(impl::reduce::cuda_shuffle.run(call, {}).ok());
    Map total{3, 5};
    for (const Map& x : in) total = compose(total, x);
    const Map found = to.values()[0];
    EXPECT_TRUE(found.a == total.a && found.b == total.b) << n;
    EXPECT_TRUE(to.intact());
  }
}

TEST_F(GpuTest, AGraphReplaysReductionsIntoDeviceMemory) {
  const std::int64_t n = 3000017;
  const auto in = tests::make<std::int32_t>(Pattern::random, n, 1);
  std::int64_t sum = 100;
  for (const auto x : in) sum += x;
  DeviceArray<std::int32_t> from(in, 1);
  DeviceArray<std::int64_t> to(1);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::reduce_workspace<std::int32_t, std::int64_t>(policy, n), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(code_of([&] { (void)reduce(policy, from.data(), n, std::int64_t{0}); }), Code::invalid_argument);
    EXPECT_EQ(reduce_async(policy, from.data(), n, to.data(), 100), "cuda.one_kernel");
  });
  for (int run = 0; run < 1000; ++run) {
    replay.launch(to);
    require(cudaStreamSynchronize(stream));
    ASSERT_EQ(to.values()[0], sum) << run;
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheReductions) {
  for (const std::int64_t n : {0, 1000, 1100003}) {
    const auto in = whole_numbers<std::int32_t>(n);
    for (const auto& rung : rungs()) {
      tests::leave_stale_error();
      EXPECT_TRUE(check(gpu::Policy{}.with_rung(rung.id), in, 7, add, 0)) << rung.id;
      tests::expect_stale_error(rung);
    }
  }
}

TEST_F(GpuTest, ReductionsSayWhatIsWrong) {
  std::vector<float> host(1000, 1.0F);
  DeviceArray<float> from(host, 0);
  DeviceArray<float> to(1);
  EXPECT_EQ(code_of([&] { (void)reduce(gpu::Policy{}, host.data(), 1000, 0.0F); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { reduce_async(gpu::Policy{}, from.data(), 1000, host.data(), 0.0F); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(gpu::Policy{}, from.data(), -1, 0.0F); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(gpu::Policy{}.with_rung("cpu.serial"), from.data(), 1000, 0.0F); }),
            Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)reduce(gpu::Policy{}.with_rung("cuda.none"), from.data(), 1000, 0.0F); }),
            Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)reduce(gpu::Policy{}, from.data(), 1000, 0.0); }), Code::unsupported);
  EXPECT_EQ(static_cast<float>(reduce(gpu::Policy{}, from.data(), 1000, 0.5F)), 1000.5F);
}

}  // namespace
}  // namespace upsweep
