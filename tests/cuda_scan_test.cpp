// SPDX-License-Identifier: Apache-2.0
// tests/cuda_scan_test.cpp: every CUDA rung of the scan ladder is compared with the reference, and what the GPU calls
// refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "climb/reference.hpp"
#include "cuda/memory_pool.hpp"
#include "device_array.hpp"
#include "patterns.hpp"
#include "problems/dense/scan/rung.hpp"
#include "rungs.hpp"
#include "upsweep/scan.hpp"

namespace upsweep::impl::scan {
extern const Rung cuda_one_thread, cuda_turn_taking, cuda_hillis_steele, cuda_hillis_steele_global,
    cuda_hillis_steele_blocks, cuda_blelloch, cuda_shuffle, cuda_thrust;
}  // namespace upsweep::impl::scan

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::Pattern;
using tests::require;

// Sizes around a warp, a block (1024), a cluster (65536 int32), and whole numbers of tiles of 25 KB. 153,600 elements
// are 24 tiles of int32, 12 of int16, 48 of eight bytes. The largest sizes need several waves of tiles.
constexpr std::int64_t kSizes[] = {0,     1,     2,     31,    33,    255,    1023,   1024,   1025,   2049,
                                   16385, 65535, 65536, 65537, 65601, 153599, 153600, 153601, 300001, 2000003};

std::vector<RungInfo> rungs() { return tests::rungs_of("scan", Backend::cuda); }

template <class T>
class CudaScan : public GpuTest {};
TYPED_TEST_SUITE(CudaScan, tests::ElementTypes);

struct Case {
  bool exclusive = false;
  bool in_place = false;
  std::int64_t in_misaligned = 0;
  std::int64_t out_misaligned = 0;
};

/// Scans on the device and compares with the reference; returns false if the rung refuses.
template <class Out, class In, class Op>
bool check(const gpu::Policy& policy, const std::vector<In>& in, Op op, const Case& how) {
  const auto n = std::ssize(in);
  const Out init{5};
  DeviceArray<In> from(in, how.in_misaligned);
  DeviceArray<Out> to(how.in_place ? 0 : n, how.out_misaligned);
  Out* out = how.in_place ? reinterpret_cast<Out*>(from.data()) : to.data();
  const Code code = code_of([&] {
    const ScanResult result = how.exclusive ? exclusive_scan(policy, from.data(), n, out, init, op)
                                            : inclusive_scan(policy, from.data(), n, out, op);
    EXPECT_TRUE(policy.rung.empty() || result.rung == policy.rung);
    EXPECT_EQ(result.count, n);
  });
  if (code == Code::unsupported) return false;
  EXPECT_EQ(code, Code::ok);
  require(cudaDeviceSynchronize());
  std::vector<Out> result(in.size());
  if (n > 0) require(cudaMemcpy(result.data(), out, result.size() * sizeof(Out), cudaMemcpyDeviceToHost));
  const auto reference =
      how.exclusive ? reference::ExactReference<Out, Op>(op, init) : reference::ExactReference<Out, Op>(op);
  EXPECT_EQ(reference::first_wrong(reference, in.data(), result.data(), n, how.exclusive), kNoIndex)
      << policy.rung << " n " << n << " exclusive " << how.exclusive << " in place " << how.in_place << " misaligned "
      << how.in_misaligned << ", " << how.out_misaligned;
  EXPECT_TRUE(from.intact() && to.intact()) << policy.rung << " n " << n;
  return true;
}

TYPED_TEST(CudaScan, SumsMatchTheReferenceAtEverySizeAndPattern) {
  for (const auto& rung : rungs()) {
    bool ran = false;
    for (const Pattern pattern : tests::kPatterns) {
      for (const std::int64_t n : kSizes) {
        if (n > 300001 && (rung.id == "cuda.one_thread" || rung.id == "cuda.turn_taking")) continue;
        const auto in = tests::make<TypeParam>(pattern, n);
        for (const bool exclusive : {false, true}) {
          const Case how{exclusive, (n % 3) == 2, n % 4, n % 3 == 2 ? n % 4 : n % 5};
          ran = check<TypeParam>(gpu::Policy{}.with_rung(rung.id), in, add, how) || ran;
        }
      }
    }
    const bool compiled_for_all = rung.id == "cuda.lookahead" || rung.id == "cuda.lookback" || rung.id == "cuda.cub";
    const bool taught = sizeof(TypeParam) >= 4 && (!std::is_unsigned_v<TypeParam>);
    const bool may_be_missing = rung.id == "cuda.cub_newer";  // built only if PyPI's CUB is installed
    EXPECT_TRUE(ran == (compiled_for_all || taught) || (may_be_missing && !ran)) << rung.id;
  }
}

TYPED_TEST(CudaScan, SinglePassesRunEveryOperator) {
  for (const char* rung : {"cuda.lookahead", "cuda.lookback", "cuda.cub"}) {
    const auto policy = gpu::Policy{}.with_rung(rung);
    for (const std::int64_t n : {100, 9000, 200003, 900001}) {
      const auto any = tests::make<TypeParam>(Pattern::random, n, 7);
      std::vector<TypeParam> signs = any;  // their products are exact
      for (TypeParam& x : signs) x = x < TypeParam{} ? static_cast<TypeParam>(-1) : TypeParam{1};
      for (const bool exclusive : {false, true}) {
        const Case how{.exclusive = exclusive, .in_misaligned = 1};
        for_each_operator<TypeParam>([&]<class Op>(Op op) {
          EXPECT_TRUE(check<TypeParam>(policy, tests::is_exact<TypeParam, Op> ? any : signs, op, how));
        });
      }
    }
  }
}

TYPED_TEST(CudaScan, LookaheadTakesEveryAlignmentAndWorksInPlace) {
  for (const std::int64_t n : {5000, 70001, 500009}) {
    const auto in = tests::make<TypeParam>(Pattern::random, n, 9);
    for (const bool exclusive : {false, true}) {
      for (std::int64_t from = 0; from * std::int64_t{sizeof(TypeParam)} < 16; ++from) {
        for (const std::int64_t to : {std::int64_t{0}, std::int64_t{1}, from}) {
          check<TypeParam>({}, in, add, {.exclusive = exclusive, .in_misaligned = from, .out_misaligned = to});
        }
        check<TypeParam>({}, in, add, {.exclusive = exclusive, .in_place = true, .in_misaligned = from});
      }
    }
  }
}

TYPED_TEST(CudaScan, SumsOfNarrowIntegersAreKeptIn64Bits) {
  if constexpr (std::is_integral_v<TypeParam>) {
    using Wide = std::conditional_t<std::is_signed_v<TypeParam>, std::int64_t, std::uint64_t>;
    for (const std::int64_t n : {1, 1000, 33333, 70001, 1000003}) {
      const auto in = tests::make<TypeParam>(Pattern::extremes, n, 11);
      for (const bool exclusive : {false, true}) {
        EXPECT_TRUE(check<Wide>({}, in, add, {exclusive, false, n % 3, n % 2}));
        EXPECT_TRUE(check<Wide>(gpu::Policy{}.with_rung("cuda.lookback"), in, add, {exclusive, false, n % 3, n % 2}));
      }
    }
  }
}

TYPED_TEST(CudaScan, ExtremesAfterNanAreNan) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const char* rung : {"cuda.lookahead", "cuda.lookback", "cuda.cub"}) {
      for (const std::int64_t n : {1, 33, 9000, 900'001}) {
        for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
          std::vector<TypeParam> in(static_cast<std::size_t>(n), TypeParam{2});
          in[static_cast<std::size_t>(at)] = std::numeric_limits<TypeParam>::quiet_NaN();
          DeviceArray<TypeParam> from(in, 1);
          DeviceArray<TypeParam> to(n);
          const auto expect_nans = [&](auto op) {
            to.poison();
            inclusive_scan(gpu::Policy{}.with_rung(rung), from.data(), n, to.data(), op);
            const auto result = to.values();
            for (std::int64_t i = 0; i < n; ++i) {
              const TypeParam x = result[static_cast<std::size_t>(i)];
              ASSERT_TRUE(i < at ? x == TypeParam{2} : std::isnan(x)) << rung << " n " << n << " at " << i;
            }
          };
          expect_nans(min);
          expect_nans(max);
        }
      }
    }
  }
}

TYPED_TEST(CudaScan, FloatsHaveTheSameBitsOnEveryRunAndAlignment) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    const std::int64_t n = 3000017;
    std::mt19937_64 random(3);
    std::vector<TypeParam> in(static_cast<std::size_t>(n));
    for (auto& x : in) x = static_cast<TypeParam>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
    for (const auto& rung : rungs()) {
      if (rung.determinism != Determinism::always || rung.id == "cuda.turn_taking" || rung.id == "cuda.one_thread")
        continue;
      std::vector<TypeParam> first;
      for (int run = 0; run < 8; ++run) {
        DeviceArray<TypeParam> from(in, run % 4);
        DeviceArray<TypeParam> to(n, run % 3);
        const Code code = code_of([&] { inclusive_scan(gpu::Policy{}.with_rung(rung.id), from.data(), n, to.data()); });
        if (code != Code::ok) {
          EXPECT_EQ(code, Code::unsupported) << rung.id;
          EXPECT_NE(rung.id, "cuda.lookahead");
          break;
        }
        const auto result = to.values();
        if (first.empty()) first = result;
        EXPECT_EQ(std::memcmp(first.data(), result.data(), result.size() * sizeof(TypeParam)), 0) << rung.id;
        EXPECT_EQ(
            reference::first_beyond(reference::SumReference(), in.data(), result.data(), n, false, rung.float_bound),
            kNoIndex)
            << rung.id;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------ every rung's order

using Map = Affine<std::uint32_t>;

TEST_F(GpuTest, TeachingRungsKeepTheOrderOfOperatorsThatDoNotCommute) {
  const impl::scan::Rung* const rungs[] = {
      &impl::scan::cuda_one_thread,
      &impl::scan::cuda_turn_taking,
      &impl::scan::cuda_hillis_steele,
      &impl::scan::cuda_hillis_steele_global,
      &impl::scan::cuda_hillis_steele_blocks,
      &impl::scan::cuda_blelloch,
      &impl::scan::cuda_shuffle,
      &impl::scan::cuda_thrust,
  };
  std::mt19937_64 random(13);
  for (const impl::scan::Rung* rung : rungs) {
    for (const std::int64_t n : {1, 2, 700, 1024, 5000, 1100000}) {
      const std::string_view id = rung->info.id;
      if (n > 1024 && id == "cuda.hillis_steele") continue;
      if (n > 5000 && (id == "cuda.turn_taking" || id == "cuda.one_thread")) continue;
      std::vector<Map> in(static_cast<std::size_t>(n));
      for (auto& x : in) x = {static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())};
      DeviceArray<Map> from(in, 0);
      DeviceArray<Map> to(n);
      auto carry = empty_carry<Map>();
      detail::ScanCall call;
      call.in = from.data();
      call.out = to.data();
      call.n = n;
      call.in_size = call.out_size = sizeof(Map);
      call.carry = &carry;
      const auto size = rung->workspace != nullptr ? rung->workspace(call) : gpu::WorkspaceSize{};
      const gpu::Workspace workspace(size);
      const gpu::Launch launch{.multiprocessors = gpu::devices()[0].multiprocessors,
                               .kept = workspace.kept(),
                               .scratch = workspace.scratch(),
                               .size = size};
      call.launch = &launch;
      const Status status = rung->run(call, {});
      ASSERT_TRUE(status.ok()) << id << ": " << status.reason;
      require(cudaDeviceSynchronize());
      const auto result = to.values();
      Map total = in[0];
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (i > 0) total = compose(total, in[i]);
        ASSERT_TRUE(result[i].a == total.a && result[i].b == total.b) << id << " n " << n << " at " << i;
      }
      EXPECT_TRUE(to.intact());
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- the calls

TEST_F(GpuTest, AWorkspaceServesCallsOfEveryTypeAndAGraphReplaysThem) {
  const std::int64_t n = 400003;
  const auto ints = tests::make<std::int32_t>(Pattern::random, n, 1);
  const auto longs = tests::make<std::int64_t>(Pattern::random, n, 2);
  DeviceArray<std::int32_t> from(ints, 1);
  DeviceArray<std::int32_t> to(n, 3);
  DeviceArray<std::int64_t> from_long(longs, 0);
  DeviceArray<std::int64_t> to_long(n, 1);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::scan_workspace<std::int64_t, std::int64_t>(policy, n), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    inclusive_scan(policy, from.data(), n, to.data());
    exclusive_scan(policy, from_long.data(), n, to_long.data(), 7);
  });
  for (int run = 0; run < 50; ++run) {
    replay.launch(to, to_long);
    inclusive_scan(policy, from_long.data(), n / 2, to_long.data());  // must not affect the graph's work
    require(cudaStreamSynchronize(stream));
    replay.launch(to, to_long);
    if (run % 10 != 0) continue;
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(reference::first_wrong(reference::ExactReference<std::int32_t, Add>(add), ints.data(), to.values().data(),
                                     n, false),
              kNoIndex);
    EXPECT_EQ(reference::first_wrong(reference::ExactReference<std::int64_t, Add>(add, 7), longs.data(),
                                     to_long.values().data(), n, true),
              kNoIndex);
  }
  require(cudaStreamSynchronize(stream));
}

/// Both single-pass rungs, on one workspace that is never cleared.
TEST_F(GpuTest, SinglePassesAreRightAThousandTimesBesideOtherWork) {
  const std::int64_t n = 1500007;
  const auto in = tests::make<std::int32_t>(Pattern::random, n, 4);
  DeviceArray<std::int32_t> from(in, 0);
  DeviceArray<std::int32_t> to(n);
  DeviceArray<std::int32_t> reference(n);
  constexpr std::int64_t kMostOthers = 70001 + 997 * 500;
  DeviceArray<std::int64_t> others(kMostOthers);
  DeviceArray<std::byte> elsewhere(64 << 20);
  const tests::OwnStream stream;
  const tests::OwnStream other;
  const auto lookahead = gpu::Policy{}.with_rung("cuda.lookahead").with_stream(stream);
  const auto lookback = lookahead.with_rung("cuda.lookback");
  const auto size = [&](const gpu::Policy& policy) {
    return std::max(gpu::scan_workspace<std::int32_t, std::int32_t>(policy, n).kept,
                    gpu::scan_workspace<std::int64_t, std::int64_t>(policy, kMostOthers).kept);
  };
  gpu::Workspace workspace({.kept = std::max(size(lookahead), size(lookback))}, 0, stream);
  std::vector<std::int32_t> expected;
  for (int run = 0; run < 2000; ++run) {
    const auto policy = (run % 2 == 0 ? lookahead : lookback).with_workspace(workspace);
    require(cudaMemsetAsync(elsewhere.data(), run, 64 << 20, other));
    // A scan of another type and length leaves words in the workspace. They must not be mistaken for this scan's.
    inclusive_scan(policy, others.data(), 70001 + 997 * (run % 500), others.data(), max);
    require(cudaMemsetAsync(to.data(), 0x5A, static_cast<std::size_t>(n) * 4, stream));
    inclusive_scan(policy, from.data(), n, to.data());
    require(cudaStreamSynchronize(stream));
    if (run == 0) {
      expected = to.values();
      EXPECT_EQ(reference::first_wrong(reference::ExactReference<std::int32_t, Add>(add), in.data(), expected.data(), n,
                                       false),
                kNoIndex);
    } else if (run % 37 < 2) {
      ASSERT_EQ(to.values(), expected) << "run " << run;
    }
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAScanThatGotNone) {
  const std::int64_t n = 300001;
  DeviceArray<std::int32_t> from(n);
  DeviceArray<std::int32_t> to(n);
  for (const auto& rung : rungs()) {
    tests::CountingMemory none(1);
    const auto policy = gpu::Policy{}.with_rung(rung.id).with_memory(none);
    const Code code = code_of([&] { inclusive_scan(policy, from.data(), n, to.data()); });
    const bool needs_none =
        rung.id == "cuda.one_thread" || rung.id == "cuda.turn_taking" || rung.id == "cuda.hillis_steele";
    EXPECT_TRUE(code == Code::unsupported || code == (needs_none ? Code::ok : Code::device_memory)) << rung.id;
    EXPECT_EQ(none.held, 0) << rung.id;
  }
}

TEST_F(GpuTest, WhatACallHasFreedIsKeptForTheNextAndTheApplicationsPoolIsAsItWas) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 22;
  const auto reserved = [](cudaMemPool_t pool) {
    std::uint64_t bytes = 0;
    require(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes));
    return bytes;
  };
  cudaMemPool_t applications = nullptr;
  require(cudaDeviceGetDefaultMemPool(&applications, 0));
  const std::uint64_t before = reserved(applications);
  void* const first = gpu::pool().allocate(kBytes, nullptr);
  gpu::pool().deallocate(first, kBytes, nullptr);
  require(cudaDeviceSynchronize());
  EXPECT_GE(reserved(gpu::pool_of(0)), static_cast<std::uint64_t>(kBytes));
  EXPECT_EQ(reserved(applications), before);
  void* const second = gpu::pool().allocate(kBytes, nullptr);
  EXPECT_EQ(second, first);
  gpu::pool().deallocate(second, kBytes, nullptr);
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheScans) {
  for (const std::int64_t n : {1000, 70001}) {
    const auto in = tests::make<std::int32_t>(Pattern::random, n, 8);
    for (const auto& rung : rungs()) {
      for (const bool exclusive : {false, true}) {
        tests::leave_stale_error();
        const bool ran = check<std::int32_t>(gpu::Policy{}.with_rung(rung.id), in, add, {.exclusive = exclusive});
        tests::expect_stale_error(rung);
        EXPECT_TRUE(ran || (rung.id == "cuda.hillis_steele" && n > 1024) || rung.id == "cuda.cub_newer") << rung.id;
      }
    }
  }
}

TEST_F(GpuTest, EachOfTwoDevicesHasItsOwnMemoryAndStreams) {
  if (gpu::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  const std::int64_t n = 300001;
  const auto in = tests::make<std::int32_t>(Pattern::random, n, 6);
  DeviceArray<std::int32_t> from(in, 0);
  DeviceArray<std::int32_t> to(n);
  require(cudaSetDevice(1));
  const tests::OwnStream stream;
  DeviceArray<std::int32_t> from_second(in, 0);
  DeviceArray<std::int32_t> to_second(n);
  require(cudaSetDevice(0));
  const auto second = gpu::Policy{}.with_device(1).with_stream(stream);
  for (const std::int64_t count : {std::int64_t{1000}, n}) {
    inclusive_scan(second, from_second.data(), count, to_second.data());
    require(cudaStreamSynchronize(stream));
    int current = -1;
    require(cudaGetDevice(&current));
    EXPECT_EQ(current, 0);
    EXPECT_EQ(reference::first_wrong(reference::ExactReference<std::int32_t, Add>(add), in.data(),
                                     to_second.values().data(), count, false),
              kNoIndex);
    const auto code = [&](const gpu::Policy& policy, const std::int32_t* source) {
      return code_of([&] { inclusive_scan(policy, source, count, to.data()); });
    };
    EXPECT_EQ(code(second, from.data()), Code::invalid_argument);
    EXPECT_EQ(code({}, from_second.data()), Code::invalid_argument);
    EXPECT_EQ(code(gpu::Policy{}.with_stream(stream), from.data()), Code::invalid_argument);  // from the other device
    EXPECT_EQ(code_of([&] { const gpu::Workspace workspace({.kept = 64}, 0, stream); }), Code::invalid_argument);
    EXPECT_EQ(code({}, from.data()), Code::ok);
  }
}

TEST_F(GpuTest, AStreamOfEitherDeviceIsCapturedAndOnlyByItsOwn) {
  if (gpu::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  const std::int64_t n = 300001;
  const auto in = tests::make<std::int32_t>(Pattern::random, n, 6);
  for (const int device : {0, 1}) {
    require(cudaSetDevice(device));
    const tests::OwnStream stream;
    DeviceArray<std::int32_t> from(in, 0);
    DeviceArray<std::int32_t> to(n);
    const auto policy = gpu::Policy{}.with_device(device).with_stream(stream);
    require(cudaSetDevice(0));
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(code_of([&] { inclusive_scan(policy.with_device(1 - device), from.data(), n, to.data()); }),
                Code::invalid_argument);
      EXPECT_EQ(code_of([&] { inclusive_scan(policy, from.data(), n, to.data()); }), Code::ok);
    });
    require(cudaSetDevice(device));
    replay.launch(to);
    require(cudaSetDevice(0));
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(reference::first_wrong(reference::ExactReference<std::int32_t, Add>(add), in.data(), to.values().data(),
                                     n, false),
              kNoIndex);
  }
}

TEST_F(GpuTest, SpansOfDeviceMemoryAreScanned) {
  DeviceArray<int> from(std::vector<int>{3, 1, 2}, 0);
  DeviceArray<int> to(3);
  const std::span<int> in(from.data(), 3);
  const std::span<int> out(to.data(), 3);
  inclusive_scan(gpu::Policy{}, in, out);
  EXPECT_EQ(to.values(), (std::vector<int>{3, 4, 6}));
  inclusive_scan(gpu::Policy{}, in, out, 5, add);
  EXPECT_EQ(to.values(), (std::vector<int>{8, 9, 11}));
  exclusive_scan(gpu::Policy{}, in, out, 5);
  EXPECT_EQ(to.values(), (std::vector<int>{5, 8, 9}));
  std::vector<int> host(3);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, std::span(host), out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, in.first(2), out); }), Code::unequal_lengths);
}

TEST_F(GpuTest, SaysWhatIsWrong) {
  std::vector<float> host(1000, 1.0F);
  DeviceArray<float> from(host, 0);
  DeviceArray<float> to(1000);
  const auto scan_with = [&](const gpu::Policy& policy) { inclusive_scan(policy, from.data(), 1000, to.data()); };
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, host.data(), 1000, to.data()); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, from.data(), 1000, host.data()); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, from.data(), -1, to.data()); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}, from.data(), 900, from.data() + 1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { scan_with(gpu::Policy{}.with_device(99)); }), Code::no_device);
  EXPECT_EQ(code_of([&] { scan_with(gpu::Policy{}.with_rung("cuda.nothing")); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { scan_with(gpu::Policy{}.with_rung("cpu.serial")); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { inclusive_scan(par.with_rung("cuda.lookahead"), host, host); }), Code::unsupported);
  gpu::Workspace small({.kept = 512});
  const std::int64_t many = 1 << 20;
  DeviceArray<float> large(many);
  EXPECT_EQ(code_of([&] { inclusive_scan(gpu::Policy{}.with_workspace(small), large.data(), many, large.data()); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { const gpu::Workspace huge({.kept = std::int64_t{1} << 50}); }), Code::device_memory);
  scan_with({});  // none of the errors has a lasting effect
  require(cudaDeviceSynchronize());
  EXPECT_EQ(to.values().back(), 1000.0F);
}

}  // namespace
}  // namespace upsweep
