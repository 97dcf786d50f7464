// SPDX-License-Identifier: Apache-2.0
// tests/cuda_filtered_sum_test.cpp: every CUDA rung of the ladder is compared with the reference, and what calls
// refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/device_call.hpp"
#include "device_array.hpp"
#include "problems/dense/filtered_sum/occupancy.hpp"
#include "problems/dense/filtered_sum/rung.hpp"
#include "rows.hpp"
#include "rungs.hpp"
#include "upsweep/filtered_sum.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::DeviceArray;
using tests::GpuTest;
using tests::make_rows;
using tests::require;
using tests::RowPattern;
using tests::Rows;

// Sizes around a warp, a work unit (128 rows), a block of 256 and of 512, and a tile (512). The largest size gives
// every warp of an H200 several tiles (4224 warps: 2162688 rows).
constexpr std::int64_t kSizes[] = {0,    1,    2,    3,    4,     5,     31,     33,      127,     128,    129,
                                   131,  132,  255,  256,  257,   511,   512,    513,     515,     516,    640,
                                   1023, 1025, 4095, 4097, 65537, 70001, 262145, 2162688, 2162701, 6001215};

std::vector<RungInfo> rungs() { return tests::rungs_of("filtered-sum", Backend::cuda); }

/// The columns on the device, each at a different distance from a 256-byte boundary.
struct OnDevice {
  OnDevice(const Rows& rows, std::int64_t misaligned)
      : count(rows.count()),
        key(rows.key, misaligned),
        quantity(rows.quantity, misaligned / 2),
        price(rows.price, misaligned) {}
  [[nodiscard]] FilteredSum sum(const gpu::Policy& policy, std::uint32_t limit) {
    return filtered_sum(policy, key.data(), quantity.data(), price.data(), count, limit);
  }
  std::int64_t count;
  DeviceArray<std::uint32_t> key;
  DeviceArray<std::int64_t> quantity;
  DeviceArray<std::int64_t> price;
};

/// Host memory that kernels can read.
template <class T>
class PinnedArray {
 public:
  explicit PinnedArray(const std::vector<T>& values) : values_(values.size() + 1) {
    std::copy(values.begin(), values.end(), values_.begin());
    require(cudaHostRegister(values_.data(), values_.size() * sizeof(T), cudaHostRegisterMapped));
  }
  ~PinnedArray() { (void)cudaHostUnregister(values_.data()); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  [[nodiscard]] const T* data() const { return values_.data(); }

 private:
  std::vector<T> values_;
};

class CudaFilteredSum : public GpuTest {};

TEST_F(CudaFilteredSum, EverySizePatternLimitAndAlignmentMatchesTheReference) {
  for (const RowPattern pattern : tests::kRowPatterns) {
    for (const std::int64_t n : kSizes) {
      if (n > 300000 && pattern == RowPattern::extremes) continue;
      const Rows rows = make_rows(pattern, n, static_cast<unsigned>(n));
      for (const std::int64_t misaligned : {std::int64_t{0}, 1 + n % 3}) {
        OnDevice columns(rows, misaligned);
        for (const std::uint32_t limit : tests::kLimits) {
          const std::int64_t expected = rows.sum(limit);
          for (const auto& rung : rungs()) {
            const FilteredSum found = columns.sum(gpu::Policy{}.with_rung(rung.id), limit);
            EXPECT_EQ(found.rung, rung.id);
            EXPECT_EQ(found.sum, expected) << rung.id << " " << tests::name(pattern) << " n " << n << " misaligned "
                                           << misaligned << " limit " << limit;
          }
        }
        EXPECT_TRUE(columns.key.intact() && columns.quantity.intact() && columns.price.intact()) << "n " << n;
      }
    }
  }
}

TEST_F(CudaFilteredSum, EveryRowAloneCounts) {
  // The kept rows are in front of a 16-byte boundary, in every lane and place of a work unit, and after the last unit.
  // No row may be left out.
  const std::int64_t n = 1300;
  Rows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.key.push_back(30);
    rows.quantity.push_back(i + 3);
    rows.price.push_back(-i * i - 1);
  }
  OnDevice columns(rows, 1);
  const std::uint32_t kept = 29;
  for (std::size_t i = 0; i < rows.key.size(); ++i) {
    tests::copy_in(columns.key.data() + i, &kept, sizeof kept);
    for (const auto& rung : rungs()) {
      const auto policy = gpu::Policy{}.with_rung(rung.id);
      ASSERT_EQ(columns.sum(policy, 30), rows.quantity[i] * rows.price[i]) << rung.id << " row " << i;
    }
    tests::copy_in(columns.key.data() + i, &rows.key[i], sizeof kept);
  }
}

TEST_F(CudaFilteredSum, EveryShareOfRowsIsCounted) {
  // Work units without kept rows, with few rows, with row counts just below and above the queue's limit, and with all
  // rows.
  const Rows rows = make_rows(RowPattern::lineitem, 300007, 3);
  OnDevice columns(rows, 2);
  for (std::uint32_t limit = 1; limit <= 10001; limit += 1 + limit / 12) {
    for (const auto& rung : rungs()) {
      EXPECT_EQ(columns.sum(gpu::Policy{}.with_rung(rung.id), limit), rows.sum(limit)) << rung.id << " " << limit;
    }
  }
}

TEST_F(CudaFilteredSum, EveryVariantOfOccupancyIsRight) {
  const auto variants = impl::filtered_sum::occupancy_variants();
  ASSERT_EQ(variants.size(), 6U);
  for (const std::int64_t n : {0, 1, 127, 128, 257, 767, 769, 100003}) {
    const Rows rows = make_rows(RowPattern::lineitem, n, 5);
    OnDevice columns(rows, 1);
    for (int i = 0; i < 6; ++i) {
      const auto policy = gpu::Policy{}.with_rung("cuda.occupancy");
      const gpu::Workspace workspace(gpu::filtered_sum_workspace(policy, n));
      gpu::Launch launch = gpu::launch_on(policy);
      launch.scratch = workspace.scratch();
      launch.size = workspace.size();
      detail::FilteredSumCall call =
          detail::filtered_sum_call(columns.key.data(), columns.quantity.data(), columns.price.data(), n, 5000);
      call.launch = &launch;
      call.waits = true;
      ASSERT_TRUE(impl::filtered_sum::run_occupancy_variant(call, i).ok());
      std::vector<std::int64_t> sums(static_cast<std::size_t>(call.partial_count));
      gpu::fetch(sums.data(), call.partials, call.partial_count * 8, nullptr);
      std::uint64_t sum = 0;
      for (const std::int64_t part : sums) sum += static_cast<std::uint64_t>(part);
      EXPECT_EQ(static_cast<std::int64_t>(sum), rows.sum(5000)) << variants[static_cast<std::size_t>(i)].name;
    }
  }
}

TEST_F(CudaFilteredSum, AGraphReplaysSumsIntoDeviceMemory) {
  const Rows rows = make_rows(RowPattern::lineitem, 3000017, 1);
  OnDevice columns(rows, 1);
  DeviceArray<std::int64_t> out(1);
  const tests::OwnStream stream;
  for (const auto& rung : rungs()) {
    if (rung.host_adds) continue;
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung.id);
    gpu::Workspace workspace(gpu::filtered_sum_workspace(policy, columns.count), 0, stream);
    policy = policy.with_workspace(workspace);
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(code_of([&] { (void)columns.sum(policy, 30); }), Code::invalid_argument);
      EXPECT_EQ(filtered_sum_async(policy, columns.key.data(), columns.quantity.data(), columns.price.data(),
                                   columns.count, 30, out.data()),
                rung.id);
    });
    for (int run = 0; run < 300; ++run) {
      replay.launch(out);
      require(cudaStreamSynchronize(stream));
      ASSERT_EQ(out.values()[0], rows.sum(30)) << rung.id << " run " << run;
    }
    EXPECT_TRUE(out.intact());
  }
}

TEST_F(CudaFilteredSum, AGraphSumsAsManyRowsAsAreInDeviceMemory) {
  const Rows rows = make_rows(RowPattern::lineitem, 3000017, 2);
  OnDevice columns(rows, 1);  // the first 16-byte boundary of the keys is after the first three rows
  DeviceArray<std::int64_t> out(1);
  DeviceArray<std::int64_t> length(1);
  const tests::OwnStream stream;
  gpu::Workspace workspace(gpu::filtered_sum_workspace(gpu::Policy{}, columns.count), 0, stream);
  for (const auto& rung : {"cuda.fused", "cuda.zero_copy"}) {
    const auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung).with_workspace(workspace);
    const tests::Replay replay(stream, [&] {
      filtered_sum_async(policy, columns.key.data(), columns.quantity.data(), columns.price.data(),
                         gpu::Length(length.data(), columns.count), 5000, out.data());
    });
    for (const std::int64_t n : {std::int64_t{-7}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3},
                                 std::int64_t{131}, std::int64_t{1'000'003}, columns.count, columns.count + 5}) {
      require(cudaMemcpyAsync(length.data(), &n, sizeof n, cudaMemcpyHostToDevice, stream));
      replay.launch(out);
      require(cudaStreamSynchronize(stream));
      const std::int64_t kept = std::clamp<std::int64_t>(n, 0, columns.count);
      ASSERT_EQ(out.values()[0],
                impl::filtered_sum::expected_sum(rows.key.data(), rows.quantity.data(), rows.price.data(), kept, 5000))
          << rung << " n " << n;
    }
  }
}

TEST_F(CudaFilteredSum, LengthsThatCannotBeTakenAreRefused) {
  const Rows rows = make_rows(RowPattern::lineitem, 1000, 2);
  OnDevice columns(rows, 0);
  DeviceArray<std::int64_t> out(1);
  DeviceArray<std::int64_t> length(std::vector<std::int64_t>{10}, 0);
  const std::int64_t on_host = 10;
  const auto code = [&](const gpu::Policy& policy, const std::int64_t* at) {
    return code_of([&] {
      (void)filtered_sum_async(policy, columns.key.data(), columns.quantity.data(), columns.price.data(),
                               gpu::Length(at, columns.count), 30, out.data());
    });
  };
  EXPECT_EQ(code({}, nullptr), Code::invalid_argument);
  EXPECT_EQ(code({}, &on_host), Code::invalid_argument);
  EXPECT_EQ(code({}, out.data()), Code::invalid_argument);
  for (const auto& rung : rungs()) {
    if (rung.id == "cuda.fused" || rung.id == "cuda.zero_copy") continue;
    EXPECT_EQ(code(gpu::Policy{}.with_rung(rung.id), length.data()), Code::unsupported) << rung.id;
  }
}

TEST_F(CudaFilteredSum, OneWorkspaceServesCallsOfAnyLength) {
  const Rows rows = make_rows(RowPattern::lineitem, 700001, 4);
  OnDevice columns(rows, 0);
  for (const auto& rung : rungs()) {
    const auto policy = gpu::Policy{}.with_rung(rung.id);
    gpu::Workspace workspace(gpu::filtered_sum_workspace(policy, columns.count));
    for (const std::int64_t n : {700001, 0, 5, 700000, 3000}) {
      const std::int64_t expected =
          impl::filtered_sum::expected_sum(rows.key.data(), rows.quantity.data(), rows.price.data(), n, 5000);
      EXPECT_EQ(filtered_sum(policy.with_workspace(workspace), columns.key.data(), columns.quantity.data(),
                             columns.price.data(), n, 5000),
                expected)
          << rung.id << " n " << n;
    }
  }
}

TEST_F(CudaFilteredSum, PinnedColumnsAreReadWhereTheyAre) {
  for (const std::int64_t n : {1, 1000, 1000003}) {
    const Rows rows = make_rows(RowPattern::lineitem, n, 6);
    const PinnedArray<std::uint32_t> key(rows.key);
    const PinnedArray<std::int64_t> quantity(rows.quantity);
    const PinnedArray<std::int64_t> price(rows.price);
    const auto policy = gpu::Policy{}.with_rung("cuda.zero_copy");
    for (const std::uint32_t limit : {0U, 30U, 10001U}) {
      EXPECT_EQ(filtered_sum(policy, key.data(), quantity.data(), price.data(), n, limit), rows.sum(limit)) << n;
    }
    DeviceArray<std::int64_t> length(std::vector<std::int64_t>{n / 2}, 0);
    DeviceArray<std::int64_t> out(1);
    filtered_sum_async(policy, key.data(), quantity.data(), price.data(), gpu::Length(length.data(), n), 30,
                       out.data());
    EXPECT_EQ(out.values()[0],
              impl::filtered_sum::expected_sum(rows.key.data(), rows.quantity.data(), rows.price.data(), n / 2, 30));
    // Any other rung refuses host memory.
    EXPECT_EQ(code_of([&] { (void)filtered_sum(gpu::Policy{}, key.data(), quantity.data(), price.data(), n, 30); }),
              Code::invalid_argument);
  }
}

TEST_F(CudaFilteredSum, AnErrorThatTheCallerHasNotAskedForIsNotTheSums) {
  for (const std::int64_t n : {0, 70001}) {
    const Rows rows = make_rows(RowPattern::lineitem, n, 7);
    OnDevice columns(rows, 1);
    for (const auto& rung : rungs()) {
      std::int64_t sum = -1;
      tests::leave_stale_error();
      const Code code = code_of([&] { sum = columns.sum(gpu::Policy{}.with_rung(rung.id), 5000).sum; });
      tests::expect_stale_error(rung);
      EXPECT_EQ(code, Code::ok) << rung.id << " n " << n;
      EXPECT_EQ(sum, rows.sum(5000)) << rung.id << " n " << n;
    }
  }
}

TEST_F(CudaFilteredSum, SaysWhatIsWrong) {
  const Rows rows = make_rows(RowPattern::lineitem, 1000, 2);
  OnDevice columns(rows, 0);
  DeviceArray<std::int64_t> out(1);
  std::int64_t on_host = 0;
  const auto* key = columns.key.data();
  const auto* quantity = columns.quantity.data();
  const auto* price = columns.price.data();
  const gpu::Policy any;
  const auto zero_copy = any.with_rung("cuda.zero_copy");
  EXPECT_EQ(columns.sum(any, 30).rung, "cuda.fused");
  for (const auto& policy : {any, zero_copy, any.with_rung("cuda.select")}) {
    EXPECT_EQ(code_of([&] { (void)filtered_sum(policy, rows.key.data(), quantity, price, 1000, 30); }),
              Code::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)filtered_sum(policy, key, rows.quantity.data(), price, 1000, 30); }),
              Code::invalid_argument);
    EXPECT_EQ(code_of([&] { (void)filtered_sum(policy, key, quantity, rows.price.data(), 1000, 30); }),
              Code::invalid_argument);
  }
  EXPECT_EQ(code_of([&] { filtered_sum_async(any, key, quantity, price, 1000, 30, &on_host); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { filtered_sum_async(any, key, quantity, price, 1000, 30, nullptr); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)filtered_sum(any, key, quantity, price, -1, 30); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)columns.sum(any.with_rung("cpu.serial"), 30); }), Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)columns.sum(any.with_rung("cuda.none"), 30); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)columns.sum(any.with_overflow(Overflow::checked), 30); }), Code::unsupported);
  for (const auto& rung : rungs()) {
    const Code code =
        code_of([&] { filtered_sum_async(any.with_rung(rung.id), key, quantity, price, 1000, 30, out.data()); });
    EXPECT_EQ(code, rung.host_adds ? Code::unsupported : Code::ok) << rung.id;
  }
  require(cudaDeviceSynchronize());
  EXPECT_EQ(out.values()[0], rows.sum(30));
}

}  // namespace
}  // namespace upsweep
