// SPDX-License-Identifier: Apache-2.0
// tests/broadcast_rungs_test.cpp: every rung of the broadcast ladder is compared with its reference. Cases: patterns of
// lists, bounds, element sizes, misalignment, threads, instruction sets, and invalid lists.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "failure.hpp"
#include "list_lengths.hpp"
#include "patterns.hpp"
#include "problems/lists/broadcast/reference.hpp"
#include "rungs.hpp"
#include "sixteen.hpp"
#include "upsweep/broadcast.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::Failure;
using tests::failure_of;
using tests::Guarded;
using tests::kSanitized;
using tests::LengthPattern;
using tests::Sixteen;

using Offsets = std::vector<std::int64_t>;

Offsets offsets_of(LengthPattern pattern, std::int64_t elements) {
  Offsets offsets{0};
  for (const std::int64_t length : tests::make_lengths(pattern, elements)) offsets.push_back(offsets.back() + length);
  return offsets;
}

template <class T>
std::vector<T> shifted(const Offsets& offsets, std::int64_t first) {
  std::vector<T> all;
  for (const std::int64_t offset : offsets) all.push_back(static_cast<T>(offset + first));
  return all;
}

std::string describe(const Policy& policy, std::int64_t lists) {
  return std::string(policy.rung) + " threads " + std::to_string(policy.threads) + " isa " +
         std::string(name(policy.isa)) + " " + std::to_string(lists) + " lists";
}

template <class V, class T>
void check_broadcast(const Policy& policy, const std::vector<T>& offsets) {
  const auto n = std::ssize(offsets) - 1;
  const auto total = static_cast<std::int64_t>(offsets.back() - offsets.front());
  std::mt19937_64 random(3);
  std::vector<V> values(static_cast<std::size_t>(n));
  for (V& value : values) {
    for (std::size_t k = 0; k < sizeof(V); ++k) reinterpret_cast<unsigned char*>(&value)[k] = random() & 0xFF;
  }
  Guarded<V> out(total, 1);
  EXPECT_EQ(broadcast(policy, offsets, values, out.span()), total) << describe(policy, n);
  EXPECT_EQ(impl::broadcast::first_wrong(offsets.data(), n, out.data(), impl::broadcast::ValueOf<V>{values.data()}),
            kNoIndex)
      << sizeof(V) << " bytes, " << describe(policy, n);
  EXPECT_TRUE(out.intact()) << sizeof(V) << " bytes, " << describe(policy, n);
}

template <class T>
void check_rung(const Policy& policy, const std::vector<T>& offsets) {
  const auto n = std::ssize(offsets) - 1;
  const auto total = static_cast<std::int64_t>(offsets.back() - offsets.front());
  Guarded<std::int64_t> local(total, 1);
  EXPECT_EQ(local_index(policy, offsets, local.span()), total) << describe(policy, n);
  EXPECT_EQ(impl::broadcast::first_wrong(offsets.data(), n, local.data(), impl::broadcast::LocalIndex{}), kNoIndex)
      << describe(policy, n);
  Guarded<std::int64_t> parents(total, 3);
  EXPECT_EQ(offsets_to_parents(policy, offsets, parents.span()), total) << describe(policy, n);
  EXPECT_EQ(impl::broadcast::first_wrong(offsets.data(), n, parents.data(), impl::broadcast::Parent{}), kNoIndex)
      << describe(policy, n);
  EXPECT_TRUE(local.intact() && parents.intact()) << describe(policy, n);
  check_broadcast<std::uint8_t>(policy, offsets);
  check_broadcast<std::uint64_t>(policy, offsets);
  if (policy.threads == 1) return;
  check_broadcast<std::uint16_t>(policy, offsets);
  check_broadcast<std::uint32_t>(policy, offsets);
  check_broadcast<Sixteen>(policy, offsets);
}

std::vector<std::int64_t> sizes() {
  if (kSanitized) return {0, 1, 70, 120'000};
  return {0, 1, 3, 63, 64, 65, 129, 1000, 4097, 120'000};
}

template <class T>
class BroadcastRungs : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(BroadcastRungs, BoundTypes);

TYPED_TEST(BroadcastRungs, OfEveryPattern) {
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    for (const std::int64_t elements : sizes()) {
      SCOPED_TRACE(std::string(tests::name(pattern)) + " " + std::to_string(elements));
      const Offsets offsets = offsets_of(pattern, elements);
      check_rung(par.with_rung("cpu.serial"), shifted<TypeParam>(offsets, 7));
      for (const int threads : elements > 10'000 ? std::vector{1, 2, 3, 4} : std::vector{1, 3}) {
        for (const Isa isa : tests::isas()) {
          check_rung(par.with_rung("cpu.staged").with_threads(threads).with_isa(isa),
                     shifted<TypeParam>(offsets, threads == 1 ? 7 : 0));
        }
      }
    }
  }
}

TEST(BroadcastRungs, OfListsOfOneSize) {
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{5}, std::int64_t{kSanitized ? 20'000 : 90'000}}) {
    Offsets offsets{0};
    for (std::int64_t i = 0; i < n; ++i) offsets.push_back(offsets.back() + 3);
    for (const auto& rung : tests::cpu_rungs("broadcast")) {
      for (const int threads : {1, 3}) {
        const Policy policy = par.with_rung(rung.id).with_threads(threads);
        Offsets out(static_cast<std::size_t>(3 * n));
        EXPECT_EQ(local_index(policy, Lists::of_size(n, 3), out), 3 * n);
        EXPECT_EQ(impl::broadcast::first_wrong(offsets.data(), n, out.data(), impl::broadcast::LocalIndex{}), kNoIndex)
            << rung.id;
        EXPECT_EQ(offsets_to_parents(policy, Lists::of_size(n, 3), out), 3 * n);
        EXPECT_EQ(impl::broadcast::first_wrong(offsets.data(), n, out.data(), impl::broadcast::Parent{}), kNoIndex)
            << rung.id;
      }
    }
  }
}

TEST(BroadcastRungs, NameTheFirstBadList) {
  const Offsets offsets = offsets_of(LengthPattern::poisson, kSanitized ? 60'000 : 300'000);
  const auto n = std::ssize(offsets) - 1;
  const std::int64_t total = offsets.back();
  const std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  for (const auto& rung : tests::cpu_rungs("broadcast")) {
    for (const std::int64_t at : {std::int64_t{1}, n / 2, n - 1}) {
      for (const std::int64_t by : {total, -total - 1, kHuge, -kHuge}) {
        Offsets bad = offsets;
        bad[static_cast<std::size_t>(at)] += by;
        const Failure first{Code::stop_before_start, by > 0 ? at : at - 1};
        for (const int threads : {1, 2, 4}) {
          const Policy policy = par.with_rung(rung.id).with_threads(threads);
          Guarded<std::int64_t> out(total, 1);
          EXPECT_EQ(failure_of([&] { (void)local_index(policy, bad, out.span()); }), first) << at << ' ' << by;
          EXPECT_EQ(failure_of([&] { (void)offsets_to_parents(policy, bad, out.span()); }), first) << at << ' ' << by;
          EXPECT_EQ(failure_of([&] { (void)broadcast(policy, bad, values, out.span()); }), first) << at << ' ' << by;
          EXPECT_TRUE(out.intact()) << rung.id << ' ' << at << ' ' << by;
        }
      }
    }
  }
}

TEST(BroadcastApi, RunsTheTopRungOrTheOneThatIsNamed) {
  const Offsets offsets{0, 2, 2, 5};
  Offsets out(5);
  const auto call = detail::parents_call(offsets, out.data(), 5);
  EXPECT_EQ(detail::run_broadcast(par, call).rung, "cpu.staged");
  EXPECT_EQ(detail::run_broadcast(par.with_rung("cpu.serial"), call).rung, "cpu.serial");
  EXPECT_EQ(out, (Offsets{0, 0, 2, 2, 2}));
  EXPECT_EQ(code_of([&] { (void)local_index(par.with_rung("cpu.shares"), offsets, out); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)local_index(par.with_rung("cuda.merge_path"), offsets, out); }),
            tests::code_of_gpu_rung());
}

TEST(BroadcastApi, SaysWhatIsWrong) {
  const Offsets starts{0, 2};
  const Offsets stops{2, 3};
  const Offsets offsets{0, 2, 3};
  const std::vector<std::uint8_t> valid{1, 0};
  Offsets out(3);
  Offsets two(2);
  EXPECT_EQ(code_of([&] { (void)local_index(par, Lists(starts, stops), out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)local_index(par, Lists(offsets).with_validity(valid), out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)local_index(par, offsets, two); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)local_index(par, offsets, nullptr, 3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)local_index(par.with_threads(-1), offsets, out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)broadcast(par, offsets, out, out); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)broadcast(par, offsets, two.data(), 3, out.data(), 3); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)broadcast(par, offsets, nullptr, 8, out.data(), 3); }), Code::invalid_argument);
  EXPECT_EQ(local_index(par, Lists::by_offsets<std::int64_t>(nullptr, 0), nullptr, 0), 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(local_index(par, Lists::of_size(kMost, 0), nullptr, 0), 0) << "more lists than memory can have bounds for";
}

TEST(BroadcastApi, RefusesOutputsThatOverlapInputs) {
  Offsets offsets{0, 2, 2, 5, 0, 0, 0};
  Offsets values{7, 8, 9, 0, 0};
  Offsets out(5);
  const Lists lists = Lists::by_offsets(offsets.data(), 3);
  EXPECT_EQ(code_of([&] { (void)local_index(par, lists, offsets.data(), 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)local_index(par, lists, offsets.data() + 2, 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)offsets_to_parents(par, lists, offsets.data(), 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)broadcast(par, lists, out.data(), 8, offsets.data(), 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)broadcast(par, lists, values.data(), 8, values.data(), 5); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)broadcast(gpu::Policy{}, lists, values.data(), 8, values.data(), 5); }),
            Code::invalid_argument);
  EXPECT_EQ(broadcast(par, lists, values.data(), 8, out.data(), 5), 5);
  EXPECT_EQ(out, (Offsets{7, 7, 9, 9, 9}));
}

}  // namespace
}  // namespace upsweep
