// SPDX-License-Identifier: Apache-2.0
// tests/stress_test.cpp: scans, reductions, offsets, filtered and subset sums on eight threads that share one core.
//
// Every rung of these ladders; for subset sums the wavefront. Each thread is delayed from time to time, as by a host
// that takes a core away. A call must end, with the same bits as on one thread. Queries are not tested: their threads
// only wait for each other at locks.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu/parallel.hpp"
#include "disturbance.hpp"
#include "lists.hpp"
#include "patterns.hpp"
#include "rows.hpp"
#include "rungs.hpp"
#include "system/quota.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/subset_sum.hpp"
#include "workers.hpp"

// The library must see eight cores on any machine: these functions replace those of the C library and its own.
extern "C" int sched_getaffinity(pid_t, std::size_t bytes, cpu_set_t* mask) noexcept {
  CPU_ZERO_S(bytes, mask);
  for (std::size_t core = 0; core < 8; ++core) CPU_SET_S(core, bytes, mask);
  return 0;
}
int upsweep::quota_cores(const std::filesystem::path&) noexcept { return INT_MAX; }

namespace upsweep {
namespace {

/// Repeats `act` for a while.
template <class Act>
void for_a_while(Act act) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  do act();
  while (std::chrono::steady_clock::now() < until && !testing::Test::HasFailure());
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// The number of elements that eight workers share.
template <class T>
constexpr std::int64_t kElements = tests::elements_for(8, sizeof(T)) + 7;
constexpr std::int64_t kCount = kElements<std::int32_t>;

/// Checks scans of all kinds with every rung whose bits are always the same.
template <class T, class Op>
void stress_scans(const std::vector<T>& in, Op op, Overflow overflow) {
  const tests::Disturbance disturbance;
  for (const auto& rung : tests::cpu_rungs("scan")) {
    const Policy policy = par.with_rung(rung.id).with_overflow(overflow);
    if (rung.determinism != Determinism::always) continue;
    std::vector<T> expected(in.size());
    const auto scan = [&](const Policy& how, const std::vector<T>& from, std::vector<T>& to) {
      return tests::code_of([&] { inclusive_scan(how, from, to, op); });
    };
    if (scan(policy.with_threads(1), in, expected) == Code::unsupported) continue;
    for_a_while([&] {
      std::vector<T> out(in.size());
      EXPECT_EQ(scan(policy, in, out), Code::ok) << rung.id;
      EXPECT_TRUE(same_bits(out, expected)) << rung.id;
      out = in;
      const Code in_place = scan(policy, out, out);  // not every rung can check overflow in place
      EXPECT_TRUE(in_place == Code::unsupported || same_bits(out, expected)) << rung.id << " in place";
    });
  }
}

TEST(Stress, ScansOfIntegers) {
  stress_scans(tests::make<std::int32_t>(tests::Pattern::random, kCount), add, Overflow::wrap);
}

TEST(Stress, CheckedScans) {
  stress_scans(std::vector<std::int32_t>(kCount, 7), add, Overflow::checked);
  const tests::Disturbance disturbance;
  std::vector<std::int32_t> in(kCount, 1);
  in[kCount / 2] = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> out(in.size());
  for (const auto& rung : tests::cpu_rungs("scan")) {
    for_a_while([&] {
      try {
        inclusive_scan(par.with_rung(rung.id).with_overflow(Overflow::checked), in, out);
        ADD_FAILURE() << rung.id;
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == Code::unsupported || error.index() == kCount / 2) << rung.id << error.what();
      }
    });
  }
}

TEST(Stress, ScansOfFloats) { stress_scans(tests::rounded<double>(kCount, 5), add, Overflow::wrap); }

TEST(Stress, ScansByAnyOperator) {
  std::mt19937 random(3);
  std::vector<tests::AffineMap> maps(kElements<tests::AffineMap>);
  for (auto& map : maps) map = {static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())};
  stress_scans(maps, tests::kCompose, Overflow::wrap);
}

template <class T>
void stress_reductions(const std::vector<T>& in) {
  const tests::Disturbance disturbance;
  for (const auto& rung : tests::cpu_rungs("reduce")) {
    if (rung.determinism != Determinism::always) continue;
    const T expected = reduce(seq.with_rung(rung.id), in);
    for_a_while([&] { EXPECT_EQ(reduce(par.with_rung(rung.id), in).value, expected) << rung.id; });
  }
}

TEST(Stress, Reductions) {
  stress_reductions(tests::make<std::int32_t>(tests::Pattern::random, kCount));
  stress_reductions(tests::rounded<double>(kCount, 5));
}

TEST(Stress, Offsets) {
  const tests::Disturbance disturbance;
  for (const auto pattern : {tests::ListPattern::random, tests::ListPattern::packed}) {
    for (const bool bad : {false, true}) {
      auto lists = tests::make_lists<std::int64_t>(pattern, kCount);
      if (bad) lists.stops[kCount / 3] = lists.starts[kCount / 3] - 1;
      const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), kCount);
      std::vector<std::int64_t> offsets(kCount + 1);
      for (const auto& rung : tests::cpu_rungs("offsets")) {
        for_a_while([&] {
          tests::Failure found;
          try {
            upsweep::offsets(par.with_rung(rung.id), lists.starts, lists.stops, offsets);
          } catch (const Error& error) {
            if (error.code() == Code::unsupported) return;
            found = {error.code(), error.index()};
          }
          EXPECT_EQ(tests::complaint(expected, found, offsets.data()), "") << rung.id;
        });
      }
    }
  }
}

TEST(Stress, FilteredSums) {
  const tests::Disturbance disturbance;
  const tests::Rows rows = tests::make_rows(tests::RowPattern::lineitem, kElements<std::uint32_t>);
  const std::int64_t expected = rows.sum(2000);
  for (const auto& rung : tests::cpu_rungs("filtered-sum")) {
    const Policy policy = par.with_rung(rung.id);
    for_a_while(
        [&] { EXPECT_EQ(filtered_sum(policy, rows.key, rows.quantity, rows.price, 2000).sum, expected) << rung.id; });
  }
}

struct Bitmap {
  int items;
  std::int64_t largest;
  std::int64_t limit;
};

TEST(Stress, SubsetSums) {
  const tests::Disturbance disturbance;
  // Many small items fill tiles. With few large ones, three of four sums are not reached, so that no tile becomes full.
  // Then threads execute several passes in which they only wait for the adjacent threads. An item that is added twice
  // to a word is detected.
  constexpr Bitmap kFull{500, 20000, std::int64_t{1} << 23};
  constexpr Bitmap kSparse{24, std::int64_t{1} << 22, 50000000};
  const Policy policy = par.with_rung("cpu.bits_simd");
  for (const Bitmap& bitmap : {kFull, kSparse}) {
    std::mt19937 random(4);
    std::vector<std::int64_t> items(static_cast<std::size_t>(bitmap.items));
    for (auto& item : items) item = 1 + static_cast<std::int64_t>(random()) % bitmap.largest;
    const auto sums = [&](const Policy& how) {
      std::vector<std::uint64_t> bits(static_cast<std::size_t>(bitmap.limit / 64 + 1));
      reachable_sums(how, items.data(), std::ssize(items), bitmap.limit, bits.data());
      return bits;
    };
    const auto expected = sums(policy.with_threads(1));
    for_a_while([&] { EXPECT_TRUE(same_bits(sums(policy), expected)) << bitmap.items << " items"; });
  }
}

TEST(Stress, HasMoreThreadsThanCores) {
  ASSERT_EQ(cpu::hardware_threads(), 8);
  const tests::Disturbance disturbance;
  std::atomic<int> arrived{0};
  cpu::run_workers(8, [&](int) {
    ++arrived;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
    while (arrived < 8 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 8);
}

}  // namespace
}  // namespace upsweep
