// SPDX-License-Identifier: Apache-2.0
// tests/cuda_segmented_scan_test.cpp: every CUDA rung of scans per list is compared with the reference. Cases: types,
// operators, patterns, bounds, nulls, in-place calls, the bits of floats, invalid lists, graphs, and what calls refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "climb/generated_lists.hpp"
#include "device_array.hpp"
#include "list_lengths.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/segmented_scan.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::LengthPattern;
using tests::require;

using Offsets = std::vector<std::int64_t>;

std::vector<RungInfo> rungs() { return tests::rungs_of("segmented-scan", Backend::cuda); }

Offsets offsets_of(const std::vector<std::int64_t>& lengths, std::int64_t first) {
  Offsets offsets{first};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  return offsets;
}

/// Elements whose sums are exact in every order: floats are small whole numbers.
template <class T>
std::vector<T> content_of(std::int64_t n) {
  return tests::make<T>(tests::Pattern::random, n, 3);
}

/// The scans of lists; elements in no list are those of `before`.
template <class Out, class In, class Op>
std::vector<Out> expected_of(const Offsets& offsets, const std::vector<In>& content, std::vector<Out> before, Op op,
                             Out init, bool exclusive, const std::vector<std::uint8_t>& is_list = {},
                             const std::vector<std::uint8_t>& is_valid = {}) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (!is_list.empty() && is_list[i] == 0) continue;
    Out total = init;
    for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
      const Out preceding = total;
      if (is_valid.empty() || is_valid[j] != 0) total = op(total, static_cast<Out>(content[j]));
      before[j] = exclusive ? preceding : total;
    }
  }
  return before;
}

template <class Out, class In, class Op>
ListsResult scan_by(const gpu::Policy& policy, const Lists& lists, const In* content, std::int64_t n, Out* out, Op op,
                    Out init, bool exclusive, const Mask& valid = {}) {
  if (exclusive) return segmented_exclusive_scan(policy, lists, content, n, out, init, op, valid);
  return segmented_inclusive_scan(policy, lists, content, n, out, init, op, valid);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

/// Compares a rung with the reference, out of place and in place. Elements in no list must not change.
template <class Out, class In, class Op>
void check(const gpu::Policy& policy, const Lists& lists, const Offsets& offsets, const std::vector<In>& content, Op op,
           Out init, std::int64_t misaligned = 0) {
  const std::int64_t n = std::ssize(content);
  for (const bool exclusive : {false, true}) {
    SCOPED_TRACE(testing::Message() << policy.rung << ' ' << Op::kName << (exclusive ? " exclusive" : ""));
    DeviceArray<In> in(content, misaligned);
    DeviceArray<Out> out(n, misaligned / 2);
    const auto expected = expected_of(offsets, content, out.values(), op, init, exclusive);
    EXPECT_EQ(scan_by(policy, lists, in.data(), n, out.data(), op, init, exclusive).rung, policy.rung);
    EXPECT_TRUE(same_bits(out.values(), expected));
    EXPECT_TRUE(out.intact());
    if constexpr (std::is_same_v<In, Out>) {
      const auto in_place = expected_of(offsets, content, content, op, init, exclusive);
      scan_by(policy, lists, in.data(), n, in.data(), op, init, exclusive);
      EXPECT_TRUE(same_bits(in.values(), in_place)) << "in place";
      EXPECT_TRUE(in.intact());
    }
  }
}

template <class T>
class CudaListScan : public GpuTest {};
TYPED_TEST_SUITE(CudaListScan, tests::ElementTypes);

TYPED_TEST(CudaListScan, SumsOfEveryPattern) {
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    SCOPED_TRACE(name(pattern));
    // In the second case, lists begin in the second tile of the content.
    for (const std::int64_t first : {0, 5001}) {
      const auto offsets = offsets_of(tests::make_lengths(pattern, 70001), first);
      DeviceArray<std::int64_t> bounds(offsets, 0);
      const auto content = content_of<TypeParam>(offsets.back() + first);
      for (const auto& rung : rungs()) {
        check(gpu::Policy{}.with_rung(rung.id), Lists::by_offsets(bounds.data(), std::ssize(offsets) - 1), offsets,
              content, add, TypeParam{3}, first % 4);
      }
    }
  }
}

TYPED_TEST(CudaListScan, EveryLengthAroundTiles) {
  for (const std::int64_t end : {0, 1, 31, 32, 33, 255, 257, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193}) {
    const Offsets offsets{0, 0, end / 3, end / 3, end};
    DeviceArray<std::int64_t> bounds(offsets, 0);
    const auto content = content_of<TypeParam>(end);
    for (const auto& rung : rungs()) {
      check(gpu::Policy{}.with_rung(rung.id), Lists::by_offsets(bounds.data(), 4), offsets, content, add, TypeParam{1});
    }
  }
}

TYPED_TEST(CudaListScan, EveryOperatorAndWiderSums) {
  using T = TypeParam;
  const auto offsets = offsets_of(tests::make_lengths(LengthPattern::giants, 30000), 3);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  const auto lists = Lists::by_offsets(bounds.data(), std::ssize(offsets) - 1);
  const auto content = content_of<T>(offsets.back());
  for (const auto& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    for_each_operator<T>([&]<class Op>(Op op) {
      if constexpr (tests::is_exact<T, Op>) check(policy, lists, offsets, content, op, content[0]);
    });
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      check(policy, lists, offsets, content, add, Wide{5});
    }
  }
}

TYPED_TEST(CudaListScan, NullListsAndNullElements) {
  using T = TypeParam;
  std::mt19937 random(23);
  auto offsets = offsets_of(tests::make_lengths(LengthPattern::around, 20000), 0);
  const std::int64_t n = offsets.back();
  std::vector<std::uint8_t> is_list(offsets.size() - 1);
  for (auto& one : is_list) one = random() % 4 != 0 ? 1 : 0;
  std::vector<std::uint8_t> is_valid(static_cast<std::size_t>(n));
  std::vector<std::uint8_t> bits(static_cast<std::size_t>(n / 8 + 2));
  for (std::size_t j = 0; j < is_valid.size(); ++j) {
    is_valid[j] = random() % 3 != 0 ? 1 : 0;
    bits[(j + 3) / 8] |= static_cast<std::uint8_t>(static_cast<unsigned>(is_valid[j]) << ((j + 3) % 8));
  }
  const auto content = content_of<T>(n);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<std::uint8_t> lists_valid(is_list, 1);
  DeviceArray<std::uint8_t> as_bits(bits, 1);
  DeviceArray<T> in(content, 0);
  const auto lists = Lists::by_offsets(bounds.data(), std::ssize(is_list))
                         .with_validity(Mask::bytes(lists_valid.data(), std::ssize(is_list)));
  const Mask valid = Mask::bits(as_bits.data(), n, 3);
  for (const bool has_null_elements : {false, true}) {
    for (const auto& rung : rungs()) {
      if (has_null_elements && rung.id == "cuda.lookahead") continue;
      for (const bool exclusive : {false, true}) {
        DeviceArray<T> out(n);
        const auto expected = expected_of(offsets, content, content, add, T{2}, exclusive, is_list,
                                          has_null_elements ? is_valid : std::vector<std::uint8_t>());
        scan_by(gpu::Policy{}.with_rung(rung.id), lists, in.data(), n, out.data(), add, T{2}, exclusive,
                has_null_elements ? valid : Mask());
        auto scans = out.values();
        for (std::size_t i = 0; i < is_list.size(); ++i) {  // bounds of null lists may have any value
          if (is_list[i] == 0)
            std::copy(content.begin() + offsets[i], content.begin() + offsets[i + 1], scans.begin() + offsets[i]);
        }
        EXPECT_TRUE(same_bits(scans, expected)) << rung.id;
        EXPECT_TRUE(out.intact());
      }
    }
  }
  EXPECT_EQ(scan_by(gpu::Policy{}, lists, in.data(), n, in.data(), add, T{2}, false, valid).rung, "cuda.tiles");
  EXPECT_EQ(code_of([&] {
              scan_by(gpu::Policy{}.with_rung("cuda.lookahead"), lists, in.data(), n, in.data(), add, T{2}, false,
                      valid);
            }),
            Code::unsupported);
}

TYPED_TEST(CudaListScan, FloatsAreCloseAndHaveTheSameBitsOnEveryRun) {
  using T = TypeParam;
  if constexpr (std::is_floating_point_v<T>) {
    const auto offsets = generated_offsets(ListPattern::giants, 3'000'017);
    const std::int64_t n = offsets.back();
    const auto content = tests::rounded<T>(n, 4);
    DeviceArray<std::int64_t> bounds(offsets, 0);
    for (const auto& rung : rungs()) {
      std::vector<T> first;
      for (int run = 0; run < 6; ++run) {
        DeviceArray<T> in(content, run % 4);
        DeviceArray<T> out(n, run % 3);
        segmented_inclusive_scan(gpu::Policy{}.with_rung(rung.id),
                                 Lists::by_offsets(bounds.data(), std::ssize(offsets) - 1), in.data(), n, out.data());
        auto sums = out.values();
        if (run > 0) {
          EXPECT_TRUE(same_bits(sums, first)) << rung.id << " run " << run;
          continue;
        }
        first = sums;
        for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
          long double sum = 0;
          long double magnitude = 0;
          for (auto j = static_cast<std::size_t>(offsets[i]); j < static_cast<std::size_t>(offsets[i + 1]); ++j) {
            sum += static_cast<long double>(content[j]);
            magnitude += std::abs(static_cast<long double>(content[j]));
            const auto additions = static_cast<long double>(j - static_cast<std::size_t>(offsets[i]) + 1);
            const auto bound = additions * static_cast<long double>(std::numeric_limits<T>::epsilon()) * magnitude;
            ASSERT_LE(std::abs(static_cast<long double>(sums[j]) - sum), bound) << rung.id << " element " << j;
          }
        }
      }
    }
  }
}

// ----------------------------------------------------------------------------------------------- lists, and calls

template <class T>
class CudaListScanBounds : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaListScanBounds, BoundTypes);

TYPED_TEST(CudaListScanBounds, OfEveryTypeAreReadAndTheFirstBadListIsNamed) {
  const auto offsets = offsets_of(tests::make_lengths(LengthPattern::zero_to_4, 50'000), 1);
  const std::int64_t n = offsets.back() + 2;
  const auto lists = std::ssize(offsets) - 1;
  const auto content = content_of<float>(n);
  const std::vector<TypeParam> good(offsets.begin(), offsets.end());
  DeviceArray<TypeParam> bounds(good, 1);
  for (const auto& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    check(policy, Lists::by_offsets(bounds.data(), lists), offsets, content, add, 2.0F);
    for (const std::size_t at : {std::size_t{1}, std::size_t{300}, good.size() - 1}) {
      for (const std::int64_t value : {std::int64_t{0}, std::int64_t{60'000}}) {
        auto flawed = good;
        flawed[at - 1] = 7;
        flawed[at] = static_cast<TypeParam>(value);
        const std::int64_t first =
            at == 1 || good[at - 2] <= 7 ? static_cast<std::int64_t>(at) - 1 : static_cast<std::int64_t>(at) - 2;
        DeviceArray<TypeParam> flawed_bounds(flawed, 0);
        DeviceArray<float> in(content, 0);
        DeviceArray<float> out(n);
        try {
          segmented_inclusive_scan(policy, Lists::by_offsets(flawed_bounds.data(), lists), in.data(), n, out.data());
          ADD_FAILURE() << rung.id << ": offset " << at << " was taken";
        } catch (const Error& error) {
          EXPECT_EQ(error.index(), first) << error.what();
          const bool goes_back = first == static_cast<std::int64_t>(at) - 2 || value == 0;
          EXPECT_EQ(error.code(), goes_back ? Code::stop_before_start : Code::stop_past_end) << error.what();
        }
        EXPECT_TRUE(out.intact());
      }
    }
  }
}

/// Each thread processes eight lists. Errors are at the border between two threads, and within one.
TYPED_TEST(CudaListScanBounds, TheFirstBadListIsNamedWhereverThreadsMeet) {
  struct Flaw {
    std::size_t at;
    std::int64_t value;
    std::int64_t after;  ///< value of the bounds after it
    std::int64_t list;
    Code code;
  };
  constexpr Flaw kFlaws[] = {{8, 40, 50, 7, Code::stop_before_start},  // up to the word before the first one
                             {8, 110, 95, 7, Code::stop_past_end},
                             {7, 110, 95, 6, Code::stop_past_end},
                             {9, 110, 95, 8, Code::stop_past_end},
                             {16, 3, 95, 15, Code::stop_before_start}};
  const auto content = content_of<float>(100);
  DeviceArray<float> in(content, 0);
  DeviceArray<float> out(100);
  for (const Flaw& flaw : kFlaws) {
    std::vector<TypeParam> offsets(41, 90);
    std::fill_n(offsets.begin(), flaw.at, static_cast<TypeParam>(64));
    std::fill(offsets.begin() + static_cast<std::ptrdiff_t>(flaw.at), offsets.begin() + 25,
              static_cast<TypeParam>(flaw.after));
    std::fill(offsets.begin() + 25, offsets.end(), static_cast<TypeParam>(96));
    offsets[flaw.at] = static_cast<TypeParam>(flaw.value);
    DeviceArray<TypeParam> bounds(offsets, 0);
    for (const auto& rung : rungs()) {
      try {
        segmented_inclusive_scan(gpu::Policy{}.with_rung(rung.id), Lists::by_offsets(bounds.data(), 40), in.data(), 100,
                                 out.data());
        ADD_FAILURE() << rung.id << ": offset " << flaw.at << " was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.index(), flaw.list) << rung.id << ": " << error.what();
        EXPECT_EQ(error.code(), flaw.code) << rung.id << ": " << error.what();
      }
    }
  }
}

TEST_F(GpuTest, ListsOfOneSize) {
  const auto content = content_of<double>(30'007);
  for (const std::int64_t size : {0, 1, 3, 40, 5000}) {
    const std::int64_t count = size == 0 ? 100 : 30'000 / size;
    const auto offsets = offsets_of(Offsets(static_cast<std::size_t>(count), size), 0);
    for (const auto& rung : rungs()) {
      check(gpu::Policy{}.with_rung(rung.id), Lists::of_size(count, size), offsets, content, add, 1.0);
    }
  }
}

TEST_F(GpuTest, AGraphReplaysScansWhoseStatusStaysOnTheDevice) {
  const auto offsets = generated_offsets(ListPattern::pareto, 5'000'011);
  const std::int64_t n = offsets.back();
  const auto content = content_of<std::int64_t>(n);
  DeviceArray<std::int64_t> bounds(offsets, 0);
  DeviceArray<std::int64_t> in(content, 0);
  DeviceArray<std::int64_t> out(n);
  DeviceArray<gpu::ListsStatus> status(1);
  const auto expected = expected_of(offsets, content, content, add, std::int64_t{4}, false);
  const auto lists = Lists::by_offsets(bounds.data(), std::ssize(offsets) - 1);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::segmented_scan_workspace<std::int64_t, std::int64_t>(policy, n), 0, stream);
  policy = policy.with_workspace(workspace);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(code_of([&] { segmented_inclusive_scan(policy, lists, in.data(), n, out.data()); }),
              Code::invalid_argument);  // it would have to wait
    EXPECT_EQ(segmented_inclusive_scan_async(policy, lists, in.data(), n, out.data(), status.data(), 4, add),
              "cuda.lookahead");
  });
  for (int run = 0; run < 20; ++run) {
    const bool bad = run % 3 == 1;
    const std::int64_t stop = bad ? -1 : offsets[778];
    require(cudaMemcpyAsync(bounds.data() + 778, &stop, sizeof stop, cudaMemcpyHostToDevice, stream));
    require(cudaMemsetAsync(workspace.scratch(), run, static_cast<std::size_t>(workspace.size().scratch), stream));
    replay.launch(out, status);
    require(cudaStreamSynchronize(stream));
    EXPECT_EQ(status.values()[0].code, bad ? Code::stop_before_start : Code::ok) << run;
    EXPECT_EQ(status.values()[0].first_bad, bad ? 777 : kNoIndex) << run;
    if (bad) continue;
    EXPECT_TRUE(same_bits(out.values(), expected)) << run;
  }
}

TEST_F(GpuTest, ScansSayWhatIsWrong) {
  const Offsets host{0, 3, 9};
  DeviceArray<std::int64_t> bounds(host, 0);
  DeviceArray<std::int64_t> in(Offsets(9, 1), 0);
  DeviceArray<std::int64_t> out(9);
  const auto lists = Lists::by_offsets(bounds.data(), 2);
  const auto code = [&](const gpu::Policy& policy, const Lists& given, const std::int64_t* from, std::int64_t* to) {
    return code_of([&] { segmented_inclusive_scan(policy, given, from, 9, to); });
  };
  EXPECT_EQ(code({}, lists, in.data(), out.data()), Code::ok);
  EXPECT_EQ(code({}, Lists(host), in.data(), out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, host.data(), out.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), nullptr), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), in.data() + 1), Code::invalid_argument);
  EXPECT_EQ(code({}, lists, in.data(), bounds.data()), Code::invalid_argument);
  EXPECT_EQ(code({}, Lists::by_bounds(bounds.data() + 1, bounds.data(), 2), in.data(), out.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cpu.columns"), lists, in.data(), out.data()), Code::unsupported);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.none"), lists, in.data(), out.data()), Code::unknown_rung);
  for (const auto& rung : rungs()) {
    tests::leave_stale_error();
    EXPECT_EQ(code(gpu::Policy{}.with_rung(rung.id), lists, in.data(), out.data()), Code::ok) << rung.id;
    tests::expect_stale_error(rung);
  }
  EXPECT_TRUE(out.intact());
}

}  // namespace
}  // namespace upsweep
