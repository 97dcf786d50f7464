// SPDX-License-Identifier: Apache-2.0
// tests/cuda_chunked_test.cpp: scans and reductions of arrays in host memory, chunk by chunk, within a limit of device
// memory.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "metered_memory.hpp"
#include "rungs.hpp"
#include "upsweep/chunked.hpp"
#include "upsweep/dynamic.hpp"

namespace upsweep {
namespace {

using gpu::Chunked;
using tests::code_of;
using tests::DeviceArray;
using tests::MeteredMemory;
using tests::require;

class CudaChunked : public tests::GpuTest {};

/// The smallest limit: chunks of one or two rows of tiles.
constexpr std::int64_t kTight = std::int64_t{32} << 20;

class Pinned {
 public:
  template <class T>
  explicit Pinned(std::vector<T>& array) : memory_(array.data()) {
    require(cudaHostRegister(memory_, array.size() * sizeof(T), cudaHostRegisterDefault));
  }
  ~Pinned() { (void)cudaHostUnregister(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  void* memory_;
};

template <class T>
std::vector<T> random_values(std::int64_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n) + 5);
  std::vector<T> all(static_cast<std::size_t>(n));
  for (T& x : all) {
    if constexpr (std::is_floating_point_v<T>) {
      x = static_cast<T>(static_cast<double>(random() % 2'000'003) / 1009.0 - 900);
    } else {
      x = static_cast<T>(random());
    }
  }
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Lengths around a chunk of 16 MB, a chunk of a tight limit, several chunks, and the elements of a block's launch.
std::vector<std::int64_t> lengths(std::int64_t element) {
  const std::int64_t chunk = (std::int64_t{16} << 20) / element;
  return {0, 1, 1000, chunk / 4 + 1, chunk - 1, chunk + 1, 3 * chunk, 5 * chunk + 12345};
}

/// Returns the result of one GPU that processes the whole array at once.
template <class In, class Out, class Op>
std::vector<Out> at_once(const std::vector<In>& in, Op op, const Out* init, bool exclusive) {
  DeviceArray<In> from(in, 0);
  DeviceArray<Out> to(std::ssize(in));
  const gpu::Policy policy{};
  if (exclusive) {
    exclusive_scan(policy, from.data(), std::ssize(in), to.data(), *init, op);
  } else if (init != nullptr) {
    inclusive_scan(policy, from.data(), std::ssize(in), to.data(), *init, op);
  } else {
    inclusive_scan(policy, from.data(), std::ssize(in), to.data(), op);
  }
  require(cudaDeviceSynchronize());
  return to.values();
}

template <class In, class Out, class Op>
void check_scans(Op op) {
  const Out init{3};
  for (const std::int64_t device_bytes : {std::int64_t{0}, std::int64_t{1} << 30, kTight}) {
    MeteredMemory memory(&gpu::pool());
    {
      const Chunked chunked(gpu::Policy{}.with_memory(memory), device_bytes);
      for (const std::int64_t n : lengths(sizeof(In))) {
        const auto in = random_values<In>(n);
        std::vector<Out> out(in.size(), Out{77});
        ScanResult result = inclusive_scan(chunked, in, out, op);
        EXPECT_EQ(result.count, n);
        EXPECT_EQ(result.rung, "cuda.lookahead");
        EXPECT_TRUE(same_bits(out, at_once<In, Out>(in, op, nullptr, false))) << n << " " << device_bytes;
        inclusive_scan(chunked, in, out, init, op);
        EXPECT_TRUE(same_bits(out, at_once<In, Out>(in, op, &init, false))) << n << " " << device_bytes;
        exclusive_scan(chunked, in, out, init, op);
        EXPECT_TRUE(same_bits(out, at_once<In, Out>(in, op, &init, true))) << n << " " << device_bytes;
      }
      if (device_bytes > 0) {
        EXPECT_LE(memory.most(), device_bytes);
      }
      EXPECT_GT(memory.most(), std::int64_t{8} << 20);
    }
    EXPECT_EQ(memory.used(), 0);
  }
}

TEST_F(CudaChunked, ScansHaveTheBitsOfOneCall) {
  check_scans<double, double>(add);
  check_scans<float, float>(add);
  check_scans<std::int32_t, std::int64_t>(add);
  check_scans<std::int64_t, std::int64_t>(max);
}

TEST_F(CudaChunked, ScansOfBytes) { check_scans<std::uint8_t, std::uint8_t>(add); }

TEST_F(CudaChunked, InPlaceAndPinned) {
  const std::int64_t n = lengths(sizeof(double)).back();
  const auto in = random_values<double>(n);
  const auto expected = at_once<double, double>(in, add, nullptr, false);
  for (const std::int64_t device_bytes : {std::int64_t{0}, kTight}) {
    const Chunked chunked({}, device_bytes);
    auto x = in;
    inclusive_scan(chunked, x, x);
    EXPECT_TRUE(same_bits(x, expected));
    EXPECT_GT(chunked.use().host_copies, 0);

    x = in;
    const Pinned is_pinned(x);
    const Chunked without_copies({}, device_bytes);
    inclusive_scan(without_copies, x, x);
    EXPECT_TRUE(same_bits(x, expected));
    EXPECT_EQ(without_copies.use().host_copies, 0);
    EXPECT_EQ(without_copies.use().to_device, n * 8);

    std::vector<double> out(in.size());
    const Pinned out_is_pinned(out);
    const double init = 2.5;
    exclusive_scan(without_copies, in, out, init);  // one of the two is
    EXPECT_TRUE(same_bits(out, at_once<double, double>(in, add, &init, true)));
  }
}

TEST_F(CudaChunked, OtherRungsGoOnFromTotals) {
  const std::int64_t n = lengths(sizeof(std::int64_t)).back();
  const auto in = random_values<std::int64_t>(n);
  std::vector<std::int64_t> expected(in.size());
  exclusive_scan(par, in, expected, std::int64_t{-9});
  for (const char* const rung : {"cuda.lookback", "cuda.cub", "cuda.shuffle", "cuda.lookahead"}) {
    const Chunked chunked(gpu::Policy{}.with_rung(rung), std::int64_t{64} << 20);
    std::vector<std::int64_t> out(in.size());
    EXPECT_EQ(exclusive_scan(chunked, in, out, std::int64_t{-9}).rung, rung);
    EXPECT_EQ(out, expected) << rung;
  }
  const Chunked chunked(gpu::Policy{}.with_rung("cuda.nothing"));
  std::vector<std::int64_t> out(in.size());
  EXPECT_EQ(code_of([&] { inclusive_scan(chunked, in, out); }), Code::unknown_rung);
}

template <class In, class T, class Op>
void check_reductions(Op op, T init) {
  for (const std::int64_t n : lengths(sizeof(In))) {
    const auto in = random_values<In>(n);
    const T expected = reduce(par, in, init, op).value;
    T first{};
    for (const std::int64_t device_bytes : {std::int64_t{0}, std::int64_t{48} << 20}) {
      MeteredMemory memory(&gpu::pool());
      const Chunked chunked(gpu::Policy{}.with_memory(memory), device_bytes);
      const Reduction<T> found = reduce(chunked, in, init, op);
      EXPECT_EQ(found.rung, "cuda.one_kernel");
      if (device_bytes == 0) first = found.value;
      EXPECT_EQ(std::memcmp(&found.value, &first, sizeof(T)), 0) << n;  // whatever the limit
      if (device_bytes > 0) {
        EXPECT_LE(memory.most(), device_bytes);
      }
      if constexpr (std::is_floating_point_v<T>) {
        EXPECT_NEAR(found.value, expected, 1e-6 * static_cast<double>(n + 1)) << n;
      } else {
        EXPECT_EQ(found.value, expected) << n;
      }
    }
  }
}

TEST_F(CudaChunked, Reductions) {
  check_reductions<std::int32_t>(add, std::int64_t{5});
  check_reductions<std::int64_t>(min, std::int64_t{5});
  check_reductions<double>(add, 0.5);
  check_reductions<std::uint8_t>(bit_xor, std::uint8_t{9});
}

TEST_F(CudaChunked, ChecksSums) {
  const std::int64_t n = lengths(sizeof(std::int64_t)).back();
  std::vector<std::int64_t> x(static_cast<std::size_t>(n), 1);
  std::vector<std::int64_t> out(x.size());
  const auto code_of_both = [&](std::int64_t init) {
    const Chunked chunked({.overflow = Overflow::checked}, kTight * 2);
    const Code scan = code_of([&] { exclusive_scan(chunked, x, out, init); });
    EXPECT_EQ(code_of([&] { (void)reduce(chunked, x, init); }), scan);
    return scan;
  };
  EXPECT_EQ(code_of_both(0), Code::ok);
  EXPECT_EQ(out.back(), n - 1);
  EXPECT_EQ(code_of_both(std::numeric_limits<std::int64_t>::max() - n), Code::ok);
  EXPECT_EQ(code_of_both(std::numeric_limits<std::int64_t>::max() - n + 1), Code::unsupported);
  x.back() = std::int64_t{1} << 60;  // in the last chunk; each of its elements counts
  EXPECT_EQ(code_of_both(0), Code::unsupported);
  const Chunked chunked;
  EXPECT_EQ(reduce(chunked, x, std::int64_t{0}).value, n - 1 + (std::int64_t{1} << 60));
}

TEST_F(CudaChunked, RefusesLimitsThatHoldNoChunk) {
  const std::vector<double> x(std::size_t{1} << 22, 1.0);
  std::vector<double> out(x.size());
  const Chunked chunked({}, 1000);
  EXPECT_EQ(code_of([&] { inclusive_scan(chunked, x, out); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)reduce(chunked, x, 0.0); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { const Chunked one({}, -1); }), Code::invalid_argument);
  EXPECT_EQ(code_of([] { const Chunked one({.device = 999}); }), Code::no_device);
  out.resize(5);
  EXPECT_EQ(code_of([&] { inclusive_scan(Chunked(), x, out); }), Code::unequal_lengths);
}

TEST_F(CudaChunked, SaysWhatItTook) {
  const std::vector<float> x(std::size_t{1} << 25, 1.0F);
  const Chunked chunked;
  EXPECT_EQ(reduce(chunked, x, 0.0F).value, 0x1p25F);
  const gpu::ChunkedUse& use = chunked.use();
  EXPECT_EQ(use.to_device, std::int64_t{4} << 25);
  EXPECT_GT(use.times.to_device, 0);
  EXPECT_GT(use.times.kernel, 0);
  EXPECT_LE(use.times.to_device, use.seconds);
  EXPECT_GT(gpu::bound_of(use).share, 0);
  const gpu::LinkRates link = chunked.measure_link();
  EXPECT_GT(std::min({link.to_device, link.to_host, link.both}), 1e9);
}

/// A call of the run-time API in several chunks: the carry continues, and so does the use of the device.
TEST_F(CudaChunked, StagedPieces) {
  const std::int64_t n = lengths(sizeof(std::int64_t)).back();
  auto x = random_values<std::int64_t>(n);
  std::vector<std::int64_t> expected(x.size());
  exclusive_scan(par, x, expected, std::int64_t{7});
  dynamic::Staged staged({}, 0, std::int64_t{64} << 20);
  dynamic::Staged folding;  // one for each problem, because it stores its rung
  const std::int64_t init = 7;
  dynamic::Carry carry = dynamic::Carry::of(Type::int64, &init);
  dynamic::Carry folded = carry;
  for (std::int64_t first = 0; first < n; first += n / 3) {
    const std::int64_t count = std::min(n / 3, n - first);
    const dynamic::ConstArray in{x.data() + first, count, Type::int64};
    (void)folding.reduce(Overflow::wrap, Operator::add, in, folded);
    (void)staged.scan(Overflow::wrap, {.exclusive = true}, in, {x.data() + first, count, Type::int64}, carry);
  }
  EXPECT_EQ(x, expected);
  std::int64_t totals[2] = {};
  carry.value(&totals[0]);
  folded.value(&totals[1]);
  EXPECT_EQ(totals[0], totals[1]);
  EXPECT_EQ(staged.use().to_device, 8 * n);
}

}  // namespace
}  // namespace upsweep
