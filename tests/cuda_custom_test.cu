// SPDX-License-Identifier: Apache-2.0
// tests/cuda_custom_test.cu: a user's custom operators and element types on a GPU; most of them do not commute.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/detail/shared_memory.cuh"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"
#include "upsweep/segmented_reduce.cuh"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::GpuTest;

/// A string of bytes, represented by its ends. "first ⊕ last" keeps the first byte of the left operand and the
/// remaining bytes of the right.
template <int kBytes>
struct Ends {
  unsigned char byte[kBytes];
  bool operator==(const Ends&) const = default;
};
struct KeepEnds {
  template <int kBytes>
  __host__ __device__ Ends<kBytes> operator()(const Ends<kBytes>& left, const Ends<kBytes>& right) const {
    Ends<kBytes> both = right;
    both.byte[0] = left.byte[0];
    both.byte[kBytes - 1] = static_cast<unsigned char>(left.byte[kBytes - 1] + right.byte[kBytes - 1]);
    return both;
  }
};

template <class T>
T random_value(std::mt19937_64& random) {
  unsigned char bytes[sizeof(T)];
  for (auto& byte : bytes) byte = static_cast<unsigned char>(random());
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T, class Op>
void check(Op op) {
  std::mt19937_64 random(17);
  for (const std::int64_t n : {1, 2, 33, 1000, 5000, 30011, 200003, 1500007}) {
    std::vector<T> in(static_cast<std::size_t>(n));
    for (auto& x : in) x = random_value<T>(random);
    const T init = random_value<T>(random);
    for (const std::int64_t misaligned : {0, 1, 3}) {
      DeviceArray<T> from(in, misaligned);
      DeviceArray<T> to(n, misaligned == 3 ? 2 : 0);
      for (const int how : {0, 1, 2, 3}) {
        const bool exclusive = how % 2 == 1;
        const auto policy = gpu::Policy{}.with_rung(how < 2 ? "cuda.lookahead" : "cuda.lookback");
        to.poison();
        if (exclusive) {
          exclusive_scan(policy, from.data(), n, to.data(), init, op);
        } else {
          inclusive_scan(policy, from.data(), n, to.data(), op);
        }
        tests::require(cudaDeviceSynchronize());
        const auto result = to.values();
        T total = exclusive ? init : in[0];
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (i > 0) total = op(total, in[exclusive ? i - 1 : i]);
          ASSERT_EQ(std::memcmp(&result[i], &total, sizeof(T)), 0)
              << sizeof(T) << " bytes, n " << n << " at " << i << " exclusive " << exclusive << " misaligned "
              << misaligned << " by " << policy.rung;
        }
        if (!exclusive) continue;
        total = op(total, in.back());
        const T folded = reduce(gpu::Policy{}, from.data(), n, init, op);
        EXPECT_EQ(std::memcmp(&folded, &total, sizeof(T)), 0) << sizeof(T) << " bytes, n " << n;
      }
      EXPECT_TRUE(to.intact());
    }
  }
}

TEST_F(GpuTest, CustomTypesOfEverySizeAreScannedInOrder) {
  check<Ends<2>>(KeepEnds{});
  check<Ends<3>>(KeepEnds{});
  check<Ends<4>>(KeepEnds{});
  check<Ends<7>>(KeepEnds{});
  check<Ends<12>>(KeepEnds{});
  check<Ends<15>>(KeepEnds{});
  check<Ends<16>>(KeepEnds{});
  check<Affine<std::uint32_t>>(compose);
  check<Affine<std::uint64_t>>(compose);
}

TEST_F(GpuTest, ElementsOfUpTo32BytesAreScannedInOrder) {
  check<Ends<17>>(KeepEnds{});
  check<Ends<20>>(KeepEnds{});
  check<Ends<24>>(KeepEnds{});
  check<Ends<31>>(KeepEnds{});
  check<Ends<32>>(KeepEnds{});
}

// ---- Results that are wider than the elements.

/// Ends that are converted from a narrower element.
template <int kBytes>
struct Widened : Ends<kBytes> {
  Widened() = default;
  template <int kFrom>
  __host__ __device__ explicit Widened(const Ends<kFrom>& narrow) : Ends<kBytes>{} {
    this->byte[0] = narrow.byte[0];
    this->byte[kBytes - 1] = narrow.byte[kFrom - 1];
  }
  __host__ __device__ explicit Widened(const Ends<kBytes>& same) : Ends<kBytes>(same) {}
};
struct KeepWidenedEnds {
  template <int kBytes>
  __host__ __device__ Widened<kBytes> operator()(const Widened<kBytes>& left, const Widened<kBytes>& right) const {
    return Widened<kBytes>(KeepEnds{}(static_cast<const Ends<kBytes>&>(left), static_cast<const Ends<kBytes>&>(right)));
  }
};

template <int kIn, int kOut>
void check_widening() {
  using In = Ends<kIn>;
  using T = Widened<kOut>;
  std::mt19937_64 random(23);
  for (const std::int64_t n : {3, 7001, 600011}) {
    std::vector<In> in(static_cast<std::size_t>(n));
    for (auto& x : in) x = random_value<In>(random);
    DeviceArray<In> from(in, 1);
    DeviceArray<T> to(n, 3);
    for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
      to.poison();
      inclusive_scan(gpu::Policy{}.with_rung(rung), from.data(), n, to.data(), KeepWidenedEnds{});
      tests::require(cudaDeviceSynchronize());
      const auto result = to.values();
      T total(in[0]);
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (i > 0) total = KeepWidenedEnds{}(total, T(in[i]));
        ASSERT_EQ(std::memcmp(&result[i], &total, sizeof(T)), 0) << kIn << " into " << kOut << " at " << i << rung;
      }
    }
    EXPECT_TRUE(to.intact());
  }
}

TEST_F(GpuTest, ResultsMayBeWiderThanElements) {
  check_widening<1, 13>();
  check_widening<1, 14>();
  check_widening<1, 15>();
  check_widening<1, 16>();
  check_widening<1, 32>();
  check_widening<7, 8>();
  check_widening<5, 10>();
  check_widening<15, 31>();
}

// ---- Count, mean and sum of squared deviations (B. P. Welford, 1962; merged as by Chan, Golub and LeVeque, 1979).

// [guide: moments]
struct Moments {
  double count;
  double mean;
  double squares;
};
struct Merge {
  __host__ __device__ Moments operator()(const Moments& a, const Moments& b) const {
    const double count = a.count + b.count;
    const double step = b.mean - a.mean;
    return {count, a.mean + step * (b.count / count),
            a.squares + b.squares + step * step * (a.count * b.count / count)};
  }
};
// [guide: end]

TEST_F(GpuTest, RunningMomentsAreOfEveryPrefix) {
  const std::int64_t n = 1 << 20;
  std::vector<Moments> in(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = {1, static_cast<double>(i), 0};
  DeviceArray<Moments> from(in, 0);
  DeviceArray<Moments> to(n);
  for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
    to.poison();
    // [guide: scan]
    inclusive_scan(gpu::Policy{}.with_rung(rung), from.data(), n, to.data(), Merge{});
    // [guide: end]
    tests::require(cudaDeviceSynchronize());
    const auto result = to.values();
    for (std::size_t i = 0; i < result.size(); i += 997) {
      const auto count = static_cast<double>(i + 1);  // of 0, 1, …, i: mean i / 2, variance (count² - 1) / 12
      EXPECT_EQ(result[i].count, count);
      EXPECT_NEAR(result[i].mean, static_cast<double>(i) / 2, 1e-9 * count);
      EXPECT_NEAR(result[i].squares / count, (count * count - 1) / 12, 1e-9 * count * count);
    }
  }
  // [guide: reduce]
  const Moments all = reduce(gpu::Policy{}, from.data() + 1, n - 1, in[0], Merge{});
  // [guide: end]
  EXPECT_EQ(all.count, static_cast<double>(n));
}

// ---------------------------------------------------------------------------------------------------- operators

// [guide: device alone]
/// Saturating addition; only device code can call it.
struct DeviceOnly {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a + b < a ? ~0U : a + b; }
};

/// The same operator as a lambda. It is not in a test's body, which is a private function. Returns the sum of 100
/// elements and 5.
unsigned scan_with_lambda(const unsigned* from, std::int64_t n, unsigned* to) {
  const auto saturating = [] __device__(unsigned a, unsigned b) -> unsigned { return a + b < a ? ~0U : a + b; };
  inclusive_scan(gpu::Policy{}.with_rung("cuda.lookback"), from, n, to, saturating);
  return reduce(gpu::Policy{}, from, 100, 5U, saturating).value;
}
// [guide: end]

TEST_F(GpuTest, OperatorsMayBeOfTheDeviceAlone) {
  const std::int64_t n = 700001;
  const std::vector<unsigned> in(static_cast<std::size_t>(n), 10000);
  DeviceArray<unsigned> from(in, 0);
  DeviceArray<unsigned> to(n);
  const auto is_right = [&] {
    tests::require(cudaDeviceSynchronize());
    const auto result = to.values();
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (result[i] != static_cast<unsigned>(std::min<std::uint64_t>(10000 * (i + 1), ~0U))) return false;
    }
    return true;
  };
  inclusive_scan(gpu::Policy{}, from.data(), n, to.data(), DeviceOnly{});
  EXPECT_TRUE(is_right());
  to.poison();
  EXPECT_EQ(scan_with_lambda(from.data(), n, to.data()), 1000005U);
  EXPECT_TRUE(is_right());
  EXPECT_EQ(reduce(gpu::Policy{}, from.data(), n, 5U, DeviceOnly{}).value, ~0U);
}

TEST_F(GpuTest, CudasOperatorsAreTheLibrarys) {
  static_assert(operator_of<::cuda::std::plus<>, int>() == Operator::add);
  static_assert(operator_of<::cuda::std::plus<float>, float>() == Operator::add);
  static_assert(operator_of<::cuda::std::plus<float>, int>() == Operator::custom);
  static_assert(operator_of<::cuda::std::multiplies<>, double>() == Operator::mul);
  static_assert(operator_of<::cuda::minimum<>, double>() == Operator::min);
  static_assert(operator_of<::cuda::maximum<int>, int>() == Operator::max);
  static_assert(operator_of<::cuda::std::bit_xor<>, unsigned>() == Operator::bit_xor);
  static_assert(operator_of<::cuda::std::bit_or<>, float>() == Operator::custom);
  const std::int64_t n = 300001;
  const std::vector<double> in(static_cast<std::size_t>(n), 0.5);
  DeviceArray<double> from(in, 0);
  DeviceArray<double> to(n);
  // Known operators on known types use the compiled kernels. Only these include cuda.cub.
  inclusive_scan(gpu::Policy{}.with_rung("cuda.cub"), from.data(), n, to.data(), ::cuda::std::plus<>{});
  tests::require(cudaDeviceSynchronize());
  EXPECT_EQ(to.values().back(), 0.5 * static_cast<double>(n));
  EXPECT_EQ(reduce(gpu::Policy{}, from.data(), n, 1.0, ::cuda::minimum<>{}).value, 0.5);
}

/// A pair of counters, which the host's std::plus can also add.
struct Pair {
  int a;
  int b;
  __host__ __device__ Pair operator+(const Pair& right) const { return {a + right.a, b + right.b}; }
};

TEST_F(GpuTest, StandardOperatorsRunOnTypesOfTheUsers) {
  const std::int64_t n = 300001;
  const std::vector<Pair> in(static_cast<std::size_t>(n), Pair{1, 2});
  DeviceArray<Pair> from(in, 0);
  DeviceArray<Pair> to(n);
  inclusive_scan(gpu::Policy{}, from.data(), n, to.data(), std::plus<>{});
  tests::require(cudaDeviceSynchronize());
  EXPECT_EQ(to.values().back().a, n);
  EXPECT_EQ(reduce(gpu::Policy{}, from.data(), n, Pair{}, ::cuda::std::plus<>{}).value.b, 2 * n);
}

/// Keeps the larger key; of equal keys, the larger value. It commutes, and declares that.
struct Best {
  int key;
  int value;
};
struct TakeBest {
  __host__ __device__ Best operator()(const Best& a, const Best& b) const {
    return a.key != b.key ? (a.key > b.key ? a : b) : (a.value > b.value ? a : b);
  }
};

}  // namespace

// [guide: commutative]
template <>
inline constexpr bool is_commutative<TakeBest, Best> = true;
// [guide: end]

namespace {

static_assert(is_commutative<Add, float> && is_commutative<std::plus<>, int> && !is_commutative<Compose, Affine<int>>);
static_assert(!is_commutative<Mul, Pair>);  // for example, a product of matrices

TEST_F(GpuTest, OperatorsMaySayThatTheyCommute) {
  std::mt19937_64 random(3);
  const std::int64_t n = 2000003;
  std::vector<Best> in(static_cast<std::size_t>(n));
  for (auto& x : in) x = {static_cast<int>(random() >> 33), static_cast<int>(random() >> 33)};
  DeviceArray<Best> from(in, 0);
  DeviceArray<Best> to(n);
  inclusive_scan(gpu::Policy{}, from.data(), n, to.data(), TakeBest{});
  tests::require(cudaDeviceSynchronize());
  const auto result = to.values();
  Best best = in[0];
  for (std::size_t i = 0; i < in.size(); ++i) {
    best = TakeBest{}(best, in[i]);
    ASSERT_TRUE(result[i].key == best.key && result[i].value == best.value) << i;
  }
  EXPECT_EQ(reduce(gpu::Policy{}, from.data(), n, Best{-1, -1}, TakeBest{}).value.key, best.key);
}

// -------------------------------------------------------------------------------------------------------------- lists

/// Lists of every class of lengths that kernels distinguish: one lane, eight lanes, a warp, one tile, and many tiles.
std::vector<std::int64_t> lengths_of_every_class(std::mt19937_64& random) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t border : {8, 64, 2048, 16384, 3 * 16384}) {
    for (const std::int64_t away : {-1, 0, 1}) {
      lengths.push_back(border + away);
      for (int k = 0; k < 9; ++k) lengths.push_back(static_cast<std::int64_t>(random() % 5));
    }
  }
  for (std::int64_t length = 0; length < 140; ++length) lengths.push_back(length);
  lengths.push_back(40 * 16384 + 17);
  lengths.insert(lengths.end(), 300, 0);
  std::shuffle(lengths.begin() + 10, lengths.end(), random);
  return lengths;
}

struct GivenLists {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::int64_t elements;
};
/// Lists that are adjacent, after `before` elements.
GivenLists adjacent_lists(const std::vector<std::int64_t>& lengths, std::int64_t before) {
  GivenLists lists;
  std::int64_t at = before;
  for (const std::int64_t length : lengths) {
    lists.starts.push_back(at);
    at += length;
    lists.stops.push_back(at);
  }
  lists.elements = at + 3;
  return lists;
}

/// Lists and elements may be null: by bytes, or none.
template <class T, class In, class Op>
std::vector<T> folded(const GivenLists& lists, const std::vector<In>& content, const T& init, Op op,
                      const std::vector<std::uint8_t>& list_is_valid, const std::vector<std::uint8_t>& is_valid) {
  std::vector<T> out;
  for (std::size_t i = 0; i < lists.starts.size(); ++i) {
    T total = init;
    const bool is_null = !list_is_valid.empty() && list_is_valid[i] == 0;
    for (std::int64_t j = lists.starts[i]; !is_null && j < lists.stops[i]; ++j) {
      const auto at = static_cast<std::size_t>(j);
      if (is_valid.empty() || is_valid[at] != 0) total = op(total, static_cast<T>(content[at]));
    }
    out.push_back(total);
  }
  return out;
}

template <class T>
void expect_same(const std::vector<T>& result, const std::vector<T>& expected, const char* what) {
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    ASSERT_EQ(std::memcmp(&result[i], &expected[i], sizeof(T)), 0) << what << ", list " << i << ", " << sizeof(T);
  }
}

template <class In, class T, class Op>
void check_lists(Op op) {
  std::mt19937_64 random(29);
  GivenLists lists = adjacent_lists(lengths_of_every_class(random), 5);
  std::vector<In> content(static_cast<std::size_t>(lists.elements));
  for (auto& x : content) x = random_value<In>(random);
  const T init = T(random_value<In>(random));
  std::vector<std::uint8_t> list_is_valid(lists.starts.size());
  for (auto& valid : list_is_valid) valid = random() % 4 != 0 ? 1 : 0;
  std::vector<std::uint8_t> is_valid(content.size());
  for (auto& valid : is_valid) valid = random() % 3 != 0 ? 1 : 0;
  std::fill(is_valid.begin() + 5, is_valid.begin() + 200, std::uint8_t{0});
  DeviceArray<In> from(content, 1);
  DeviceArray<T> to(std::ssize(lists.starts), 1);
  DeviceArray<std::uint8_t> valid_lists(list_is_valid, 1);
  DeviceArray<std::uint8_t> valid(is_valid, 1);
  const Mask mask = Mask::bytes(valid.data(), std::ssize(is_valid));
  const Mask list_mask = Mask::bytes(valid_lists.data(), std::ssize(list_is_valid));

  std::vector<std::int64_t> offsets = lists.starts;
  offsets.push_back(lists.stops.back());
  DeviceArray<std::int64_t> on_device(offsets, 0);
  const Lists between = Lists::by_offsets(on_device.data(), std::ssize(offsets) - 1);
  const auto result = segmented_reduce(gpu::Policy{}, between, from.data(), lists.elements, to.data(), init, op);
  EXPECT_EQ(result.rung, "cuda.lanes");
  expect_same(to.values(), folded(lists, content, init, op, {}, {}), "offsets");
  segmented_reduce(gpu::Policy{}, between.with_validity(list_mask), from.data(), lists.elements, to.data(), init, op,
                   mask);
  expect_same(to.values(), folded(lists, content, init, op, list_is_valid, is_valid), "nulls");

  // In another order. Some of them overlap, so there may be no buffer for the tiles of long lists.
  for (std::size_t i = 1; i < lists.starts.size(); i += 2) {
    const std::size_t other = random() % lists.starts.size();
    lists.starts[i] = lists.starts[other];
    lists.stops[i] = lists.stops[other];
  }
  for (std::size_t i = 0; i < 4; ++i) {
    lists.starts[i] = static_cast<std::int64_t>(i);
    lists.stops[i] = lists.elements;
  }
  DeviceArray<std::int64_t> starts(lists.starts, 0);
  DeviceArray<std::int64_t> stops(lists.stops, 0);
  const Lists apart = Lists::by_bounds(starts.data(), stops.data(), std::ssize(lists.starts));
  segmented_reduce(gpu::Policy{}, apart, from.data(), lists.elements, to.data(), init, op);
  expect_same(to.values(), folded(lists, content, init, op, {}, {}), "starts and stops");
  EXPECT_TRUE(to.intact());
}

TEST_F(GpuTest, ListsAreFoldedInOrder) {
  check_lists<Ends<2>, Ends<2>>(KeepEnds{});
  check_lists<Ends<7>, Ends<7>>(KeepEnds{});
  check_lists<Ends<16>, Ends<16>>(KeepEnds{});
  check_lists<Ends<32>, Ends<32>>(KeepEnds{});
  check_lists<Affine<std::uint32_t>, Affine<std::uint32_t>>(compose);
  check_lists<Affine<std::uint64_t>, Affine<std::uint64_t>>(compose);
  check_lists<Ends<3>, Widened<31>>(KeepWidenedEnds{});
}

/// 2×2 matrices of integers modulo 2^32.
struct Matrix {
  std::uint32_t a, b, c, d;
};
struct Multiply {
  __host__ __device__ Matrix operator()(const Matrix& x, const Matrix& y) const {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};

TEST_F(GpuTest, ListsOfMatricesAreMultiplied) { check_lists<Matrix, Matrix>(Multiply{}); }

TEST_F(GpuTest, ListsOfOneSizeAndOperatorsThatCommuteAreFolded) {
  std::mt19937_64 random(31);
  const std::int64_t count = 5003;
  const std::int64_t size = 21;
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(count), size);
  const GivenLists lists = adjacent_lists(lengths, 0);
  std::vector<Best> best(static_cast<std::size_t>(count * size));
  for (auto& x : best) x = {static_cast<int>(random() % 9), static_cast<int>(random() >> 40)};
  DeviceArray<Best> from(best, 0);
  DeviceArray<Best> to(count);
  segmented_reduce(gpu::Policy{}, Lists::of_size(count, size), from.data(), count * size, to.data(), Best{-1, 7},
                   TakeBest{});
  expect_same(to.values(), folded(lists, best, Best{-1, 7}, TakeBest{}, {}, {}), "best");
}

TEST_F(GpuTest, FoldsOfListsThatDoNotWaitSayHowTheyEnded) {
  std::mt19937_64 random(37);
  const GivenLists lists = adjacent_lists(lengths_of_every_class(random), 0);
  std::vector<Matrix> content(static_cast<std::size_t>(lists.elements));
  for (auto& x : content) x = random_value<Matrix>(random);
  std::vector<std::int64_t> offsets = lists.starts;
  offsets.push_back(lists.stops.back());
  DeviceArray<std::int64_t> on_device(offsets, 0);
  DeviceArray<Matrix> from(content, 0);
  DeviceArray<Matrix> to(std::ssize(lists.starts));
  DeviceArray<gpu::ListsStatus> status(1);
  const Lists between = Lists::by_offsets(on_device.data(), std::ssize(lists.starts));
  const Matrix one{1, 0, 0, 1};
  const tests::OwnStream stream;
  const auto policy = gpu::Policy{}.with_stream(stream);
  gpu::Workspace workspace(gpu::segmented_reduce_workspace<Matrix, Matrix>(policy, between, lists.elements, Multiply{}),
                           0, stream);
  tests::CountingMemory none(1);
  const tests::Replay replay(stream, [&] {
    segmented_reduce_async(policy.with_workspace(workspace).with_memory(none), between, from.data(), lists.elements,
                           to.data(), status.data(), one, Multiply{});
  });
  const auto expected = folded(lists, content, one, Multiply{}, {}, {});
  for (int run = 0; run < 3; ++run) {
    replay.launch(to, status);
    tests::require(cudaStreamSynchronize(stream));
    EXPECT_EQ(status.values()[0].first_bad, kNoIndex);
    expect_same(to.values(), expected, "replayed");
  }

  std::vector<std::int64_t> bad = offsets;
  bad[7] = bad[6] - 1;
  tests::copy_in(on_device.data(), bad.data(), bad.size() * sizeof bad[0]);
  replay.launch(to, status);
  tests::require(cudaStreamSynchronize(stream));
  EXPECT_EQ(status.values()[0].first_bad, 6);
  EXPECT_EQ(status.values()[0].code, Code::stop_before_start);
  try {
    segmented_reduce(gpu::Policy{}, between, from.data(), lists.elements, to.data(), one, Multiply{});
    ADD_FAILURE() << "an invalid list was not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::stop_before_start);
    EXPECT_EQ(error.index(), 6);
  }
}

TEST_F(GpuTest, RunsOfEqualKeysAreFoldedInOrder) {
  std::mt19937_64 random(41);
  std::vector<int> keys;
  std::vector<std::int64_t> lengths;
  for (int key = 0; std::ssize(keys) < 100'000; ++key) {
    lengths.push_back(1 + static_cast<std::int64_t>(random() % 300));
    keys.insert(keys.end(), static_cast<std::size_t>(lengths.back()), key);
  }
  const std::int64_t n = std::ssize(keys);
  const std::int64_t runs = std::ssize(lengths);
  std::vector<Matrix> values(keys.size());
  for (auto& x : values) x = random_value<Matrix>(random);
  DeviceArray<int> on_device(keys, 0);
  DeviceArray<Matrix> from(values, 0);
  DeviceArray<int> out_keys(runs);
  DeviceArray<Matrix> to(runs);
  const Matrix one{1, 0, 0, 1};
  EXPECT_EQ(
      reduce_by_key(gpu::Policy{}, on_device.data(), from.data(), n, out_keys.data(), to.data(), runs, one, Multiply{})
          .runs,
      runs);
  expect_same(to.values(), folded(adjacent_lists(lengths, 0), values, one, Multiply{}, {}, {}), "by key");
  EXPECT_EQ(out_keys.values().back(), keys.back());
}

/// A lambda that only device code can call; it is not in a test's body, which is a private function.
void fold_with_lambda(const Lists& lists, const unsigned* from, std::int64_t n, unsigned* to) {
  const auto saturating = [] __device__(unsigned a, unsigned b) -> unsigned { return a + b < a ? ~0U : a + b; };
  segmented_reduce(gpu::Policy{}, lists, from, n, to, 5U, saturating);
}

/// Its result is an int.
struct PromotedSum {
  __host__ __device__ auto operator()(std::int16_t a, std::int16_t b) const { return a + b; }
};

TEST_F(GpuTest, OperatorsOnListsMayPromoteTheirOperands) {
  const std::vector<std::int16_t> content{1, 2, 3, 4, 5};
  DeviceArray<std::int16_t> from(content, 0);
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, 2, 2, 5}, 0);
  DeviceArray<std::int16_t> to(3);
  segmented_reduce(gpu::Policy{}, Lists::by_offsets(offsets.data(), 3), from.data(), 5, to.data(), std::int16_t{10},
                   PromotedSum{});
  EXPECT_EQ(to.values(), (std::vector<std::int16_t>{13, 10, 22}));
}

TEST_F(GpuTest, OperatorsOnListsMayBeLambdasOfTheDevice) {
  const std::vector<unsigned> in(600'000, 10000);
  DeviceArray<unsigned> from(in, 0);
  DeviceArray<unsigned> to(3);
  fold_with_lambda(Lists::of_size(3, 200'000), from.data(), std::ssize(in), to.data());
  EXPECT_EQ(to.values(), std::vector<unsigned>(3, 2'000'000'005U));
}

// ----------------------------------------------------------------------------------------------------- workspaces

/// Sets the workspace's tag counter close to its end, so that the next launches use the last tags and then the first
/// ones again. The workspace still contains the words of launches with the first tags.
void set_epoch(gpu::Workspace& workspace, unsigned epoch) {
  auto* const control = static_cast<gpu::detail::Control*>(workspace.kept());
  tests::copy_in(&control->epoch, &epoch, sizeof epoch);
}
unsigned epoch_of(const gpu::Workspace& workspace) {
  unsigned epoch = 0;
  tests::require(cudaMemcpy(&epoch, &static_cast<const gpu::detail::Control*>(workspace.kept())->epoch, sizeof epoch,
                            cudaMemcpyDeviceToHost));
  return epoch;
}

TEST_F(GpuTest, TagsBeginAgain) {
  constexpr unsigned kLast = 0x7ffffffe;
  constexpr std::int64_t n = 700'001;
  std::mt19937_64 random(29);
  std::vector<Affine<std::uint32_t>> in(n);
  for (auto& x : in) x = {static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())};
  std::vector<Affine<std::uint32_t>> expected = in;
  for (std::size_t i = 1; i < expected.size(); ++i) expected[i] = Compose{}(expected[i - 1], in[i]);
  const std::vector<std::int64_t> starts(n, 0);
  const std::vector<std::int64_t> stops(n, 3);
  DeviceArray<Affine<std::uint32_t>> from(in, 1);
  DeviceArray<Affine<std::uint32_t>> to(n);
  DeviceArray<std::int64_t> bounds[] = {{starts, 0}, {stops, 0}};
  DeviceArray<std::int64_t> offsets(n + 1);
  for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
    auto policy = gpu::Policy{}.with_rung(rung);
    const auto of_offsets = gpu::offsets_workspace<std::int64_t>({}, n);
    gpu::Workspace workspace(
        {.kept = std::max(gpu::scan_workspace<Affine<std::uint32_t>, Affine<std::uint32_t>>(policy, n, Compose{}).kept,
                          of_offsets.kept),
         .scratch = of_offsets.scratch});
    policy = policy.with_workspace(workspace);
    const auto scan = [&](std::int64_t length) {
      to.poison();
      inclusive_scan(policy, from.data(), length, to.data(), Compose{});
      tests::require(cudaDeviceSynchronize());
      const auto result = to.values();
      return std::memcmp(result.data(), expected.data(), static_cast<std::size_t>(length) * sizeof in[0]) == 0;
    };
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(scan(n)) << rung;  // leaves words with tags 1, 2, 3
    set_epoch(workspace, kLast - 3);
    // Short scans in between do not change the other words.
    for (int run = 0; run < 8; ++run) ASSERT_TRUE(scan(run % 2 == 0 ? 100'003 : n)) << rung << " run " << run;
    EXPECT_LT(epoch_of(workspace), 8U) << rung;
    set_epoch(workspace, kLast - 2);
    for (int run = 0; run < 5; ++run) {  // another function on the same words
      offsets.poison();
      const auto result = upsweep::offsets(gpu::Policy{}.with_workspace(workspace), bounds[0].data(), bounds[1].data(),
                                           n, offsets.data());
      ASSERT_EQ(result.total, 3 * n) << run;
      ASSERT_EQ(offsets.values()[n - 1], 3 * (n - 1)) << run;
      ASSERT_TRUE(scan(n)) << rung << " run " << run;
    }
  }
}

/// One block of device memory, allocated in advance. Its bytes are arbitrary at first, and again when it is returned.
class DirtyMemory final : public gpu::MemoryResource {
 public:
  explicit DirtyMemory(std::int64_t bytes) : memory_(bytes) {}
  void* allocate(std::int64_t, gpu::Stream) override { return memory_.data(); }
  void deallocate(void* memory, std::int64_t bytes, gpu::Stream stream) noexcept override {
    (void)cudaMemsetAsync(memory, 0x5A, static_cast<std::size_t>(bytes), stream);
  }

 private:
  DeviceArray<std::byte> memory_;
};

/// Blocks a stream until it is released.
class Held {
 public:
  explicit Held(cudaStream_t stream) {
    tests::require(
        cudaLaunchHostFunc(stream, [](void* held) { static_cast<Held*>(held)->may_go_.get_future().wait(); }, this));
  }
  void let_go() { may_go_.set_value(); }

 private:
  std::promise<void> may_go_;
};

TEST_F(GpuTest, AWorkspaceIsClearedBeforeAndFreedAfterTheCallsOfAnotherStream) {
  constexpr std::int64_t n = 700'001;
  const std::vector<int> in(n, 1);
  DeviceArray<int> from(in, 0);
  DeviceArray<int> to(n);
  const tests::OwnStream calls;
  const tests::OwnStream own;
  for (const cudaStream_t clearing : {static_cast<cudaStream_t>(own), cudaStream_t{nullptr}}) {
    for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
      const auto policy = gpu::Policy{}.with_stream(calls).with_rung(rung);
      const auto size = gpu::scan_workspace<int, int>(policy, n);
      DirtyMemory memory(size.kept);
      inclusive_scan(policy, from.data(), n, to.data());  // loads the kernel: the device must not be blocked then
      tests::require(cudaDeviceSynchronize());
      to.poison();
      Held clears(clearing);
      auto workspace = std::make_unique<gpu::Workspace>(size, 0, clearing, memory);
      inclusive_scan(policy.with_workspace(*workspace), from.data(), n, to.data());
      clears.let_go();
      tests::require(cudaStreamSynchronize(calls));
      EXPECT_EQ(to.values().back(), n) << rung << ": cleared too late";

      to.poison();
      Held computes(calls);
      inclusive_scan(policy.with_workspace(*workspace), from.data(), n, to.data());
      workspace.reset();
      computes.let_go();
      tests::require(cudaDeviceSynchronize());
      EXPECT_EQ(to.values().back(), n) << rung << ": freed too early";
    }
  }
}

TEST_F(GpuTest, ACapturedCallWaitsForAWorkspaceOfTheDefaultStream) {
  constexpr std::int64_t n = 700'001;
  const std::vector<int> in(n, 1);
  DeviceArray<int> from(in, 0);
  DeviceArray<int> to(n);
  cudaStream_t blocking = nullptr;  // during its capture no work may be enqueued in the default stream
  tests::require(cudaStreamCreate(&blocking));
  const auto size = gpu::scan_workspace<int, int>({}, n);
  DirtyMemory memory(size.kept);
  gpu::Workspace workspace(size, 0, nullptr, memory);
  const tests::Replay replay(blocking, [&] {
    inclusive_scan(gpu::Policy{}.with_stream(blocking).with_workspace(workspace), from.data(), n, to.data());
  });
  for (int run = 0; run < 3; ++run) {
    replay.launch(to);
    tests::require(cudaStreamSynchronize(blocking));
    EXPECT_EQ(to.values().back(), n);
  }
  tests::require(cudaStreamDestroy(blocking));
}

TEST_F(GpuTest, AWorkspaceServesOneKindOfCall) {
  constexpr std::int64_t n = 300'000;
  const std::vector<int> in(n, 1);
  DeviceArray<int> from(in, 0);
  DeviceArray<int> to(n);
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, n / 3, n / 3 * 2, n}, 0);
  const Lists lists = Lists::by_offsets(static_cast<const std::int64_t*>(offsets.data()), 3);
  const auto scan_size = gpu::scan_workspace<int, int>({}, n);
  const auto pipeline = gpu::Policy{}.with_rung("cuda.pipeline");
  const auto list_size = gpu::segmented_reduce_workspace<int, int>(pipeline, lists, n);
  const gpu::WorkspaceSize both{.kept = std::max(scan_size.kept, list_size.kept),
                                .scratch = std::max(scan_size.scratch, list_size.scratch)};
  const auto scan = [&](gpu::Workspace& workspace) {
    to.poison();
    inclusive_scan(gpu::Policy{}.with_workspace(workspace), from.data(), n, to.data());
    EXPECT_EQ(to.values().back(), n);
  };
  const auto fold = [&](gpu::Workspace& workspace) {
    to.poison();
    segmented_reduce(pipeline.with_workspace(workspace), lists, from.data(), n, to.data());
    EXPECT_EQ(to.values()[2], n / 3);
  };
  const auto refused = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == Code::invalid_argument &&
             std::string(error.what()).find("use a separate workspace") != std::string::npos;
    }
    return false;
  };
  gpu::Workspace of_scans(both);
  scan(of_scans);
  EXPECT_TRUE(refused([&] { fold(of_scans); }));
  scan(of_scans);
  gpu::Workspace of_lists(both);
  fold(of_lists);
  EXPECT_TRUE(refused([&] { scan(of_lists); }));
  fold(of_lists);
}

__global__ void write_last_word(unsigned* out, int words) {
  extern __shared__ unsigned shared[];
  shared[words - 1] = 7;
  *out = shared[words - 1];
}
__global__ void write_first_word(unsigned* out, int words) {
  extern __shared__ unsigned shared[];
  shared[0] = 8 + words - words;
  *out = shared[0];
}

// The state after a reset of the device: attributes that were allowed are lost. The launch fails at first, and no
// caller may see that error.
TEST_F(GpuTest, AFailureThatIsHandledLeavesNoErrorBehind) {
  struct Key {};
  constexpr int kBytes = 64 << 10;
  DeviceArray<unsigned> out(1);
  const gpu::detail::Grid grid{.blocks = 1, .threads = 1, .shared_bytes = kBytes};
  tests::require(gpu::detail::launch_large<Key>(grid, 0, write_last_word, out.data(), kBytes / 4));
  tests::require(gpu::detail::launch_large<Key>(grid, 0, write_first_word, out.data(), kBytes / 4));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  tests::require(cudaDeviceSynchronize());
  EXPECT_EQ(out.values()[0], 8U);
}

// ---------------------------------------------------------------------------------------------------------- the calls

TEST_F(GpuTest, CustomOperatorsRunInAWorkspaceAndInAGraph) {
  using T = Ends<12>;
  std::mt19937_64 random(5);
  const std::int64_t n = 400003;
  std::vector<T> in(static_cast<std::size_t>(n));
  for (auto& x : in) x = random_value<T>(random);
  DeviceArray<T> from(in, 0);
  DeviceArray<T> to(n);
  DeviceArray<T> total(1);
  const tests::OwnStream stream;
  T expected = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) expected = KeepEnds{}(expected, in[i]);
  for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(rung);
    const auto reducing = gpu::Policy{}.with_stream(stream);
    gpu::Workspace workspace(gpu::scan_workspace<T, T>(policy, n, KeepEnds{}), 0, stream);
    gpu::Workspace sums(gpu::reduce_workspace<T, T>(reducing, n, KeepEnds{}), 0, stream);
    tests::CountingMemory none(1);  // nothing else is allocated
    const tests::Replay replay(stream, [&] {
      inclusive_scan(policy.with_workspace(workspace).with_memory(none), from.data(), n, to.data(), KeepEnds{});
      reduce_async(reducing.with_workspace(sums).with_memory(none), from.data() + 1, n - 1, total.data(), in[0],
                   KeepEnds{});
    });
    for (int run = 0; run < 3; ++run) {
      replay.launch(to, total);
      tests::require(cudaStreamSynchronize(stream));
      EXPECT_EQ(to.values().back(), expected) << rung;
      EXPECT_EQ(total.values()[0], expected) << rung;
    }
  }
}

TEST_F(GpuTest, TheCallersErrorStaysTheCallers) {
  using T = Ends<4>;
  const std::int64_t n = 300001;
  DeviceArray<T> from(n);
  DeviceArray<T> to(n);
  for (const std::int64_t count : {std::int64_t{100}, n}) {
    for (const char* rung : {"cuda.lookahead", "cuda.lookback"}) {
      // The first launch of a kernel requests shared memory, and this call clears the runtime's last error.
      inclusive_scan(gpu::Policy{}.with_rung(rung), from.data(), count, to.data(), KeepEnds{});
      (void)cudaSetDevice(9999);
      EXPECT_NO_THROW(inclusive_scan(gpu::Policy{}.with_rung(rung), from.data(), count, to.data(), KeepEnds{}));
      EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice) << rung << " of " << count;
      EXPECT_NO_THROW(reduce(gpu::Policy{}, from.data(), count, T{}, KeepEnds{}));
      EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice) << "reduction of " << count;
    }
  }
}

/// A program may reset its device: the next context starts without any state.
void scan_after_reset() {
  const std::int64_t n = 1 << 20;
  int right = 0;
  for (int context = 0; context < 3; ++context) {
    {
      const std::vector<std::int32_t> ones(static_cast<std::size_t>(n), 1);
      DeviceArray<std::int32_t> from(ones, 0);
      DeviceArray<std::int32_t> to(n);
      inclusive_scan(gpu::Policy{}.with_rung("cuda.lookahead"), from.data(), n, to.data());
      tests::require(cudaDeviceSynchronize());
      if (to.values().back() == n) ++right;
    }
    tests::require(cudaDeviceReset());
  }
  std::_Exit(right);
}

TEST_F(GpuTest, AScanRunsAfterTheDeviceWasReset) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(scan_after_reset(), testing::ExitedWithCode(3), "");
}

// ------------------------------------------------------------------------------------------- a device that was lost

__global__ void trap() { __trap(); }

/// After a fault in any kernel the process has lost the device: every call reports it, and none hangs or crashes.
void use_lost_device() {
  const std::int64_t n = 1000;
  DeviceArray<std::int64_t> in(n);
  DeviceArray<std::int64_t> out(n + 1);
  trap<<<1, 1>>>();
  (void)cudaDeviceSynchronize();
  int failed = 0;
  const auto fails = [&](auto call) {
    try {
      call();
    } catch (const Error& error) {
      if (error.code() == Code::device_failed && std::string(error.what()).size() > 10) ++failed;
    }
  };
  fails([&] { inclusive_scan(gpu::Policy{}, in.data(), n, out.data()); });
  fails([&] { reduce(gpu::Policy{}, in.data(), n, std::int64_t{0}); });
  fails([&] { upsweep::offsets(gpu::Policy{}, in.data(), in.data(), n, out.data()); });
  fails([&] { const gpu::Workspace workspace({.kept = 4096}); });
  std::_Exit(failed);
}

TEST_F(GpuTest, ALostDeviceIsAnErrorInEveryCall) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(use_lost_device(), testing::ExitedWithCode(4), "");
}

}  // namespace
}  // namespace upsweep
