// SPDX-License-Identifier: Apache-2.0
// tests/cuda_shards_test.cu: arrays in shards on several GPUs, or on one GPU that is several members, must give the
// results of one array on one GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "device_array.hpp"
#include "failure.hpp"
#include "shards.hpp"
#include "upsweep/list_shards.cuh"
#include "upsweep/shards.cuh"

namespace upsweep {
namespace {

using gpu::Group;
using gpu::Shard;
using tests::cuts;
using tests::DeviceArray;
using tests::expect_error;
using tests::require;

/// First f, then g, on integers: it does not commute. A separate type, because the library has a compiled operator for
/// Compose.
struct Then {
  __host__ __device__ Affine<std::uint32_t> operator()(Affine<std::uint32_t> f, Affine<std::uint32_t> g) const {
    return Compose{}(f, g);
  }
};

/// Arrays of each member, on its device.
template <class In, class Out>
class Shards {
 public:
  Shards(const Group& group, const std::vector<In>& all, const std::vector<std::int64_t>& begin, int misaligned = 0)
      : group_(group) {
    for (int m = 0; m < group.size(); ++m) {
      require(cudaSetDevice(group.policy(m).device));
      const std::int64_t first = begin[static_cast<std::size_t>(m)];
      const std::int64_t n = begin[static_cast<std::size_t>(m) + 1] - first;
      const std::vector<In> own(all.begin() + first, all.begin() + first + n);
      in_.push_back(std::make_unique<DeviceArray<In>>(own, misaligned));
      out_.push_back(std::make_unique<DeviceArray<Out>>(n, 2 * misaligned));
      shards_.push_back({in_.back()->data(), n, out_.back()->data()});
    }
    require(cudaSetDevice(0));
  }

  [[nodiscard]] const std::vector<Shard<In, Out>>& all() const { return shards_; }
  void poison() {
    group_.wait();
    for (int m = 0; m < group_.size(); ++m) {
      require(cudaSetDevice(group_.policy(m).device));
      out_[static_cast<std::size_t>(m)]->poison();
    }
    require(cudaSetDevice(0));
  }
  [[nodiscard]] std::vector<Out> results() {
    group_.wait();
    std::vector<Out> all;
    for (auto& out : out_) {
      EXPECT_TRUE(out->intact());
      const std::vector<Out> own = out->values();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

 private:
  const Group& group_;
  std::vector<std::unique_ptr<DeviceArray<In>>> in_;
  std::vector<std::unique_ptr<DeviceArray<Out>>> out_;
  std::vector<Shard<In, Out>> shards_;
};

template <class T>
T random_value(std::mt19937_64& random) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<double>(random() % 2'000'003) / 1009.0 - 900);
  } else if constexpr (std::is_same_v<T, Affine<std::uint32_t>>) {
    return {static_cast<std::uint32_t>(random()) | 1U, static_cast<std::uint32_t>(random())};
  } else {
    return static_cast<T>(random());
  }
}

template <class T>
std::vector<T> random_values(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> all(static_cast<std::size_t>(n));
  for (T& x : all) x = random_value<T>(random);
  return all;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class In, class Out, class Op>
void check(Op op, Out init) {
  const auto folded = [&](Out left, In right) { return static_cast<Out>(op(left, static_cast<Out>(right))); };
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{100'003}, std::int64_t{1'500'007}}) {
      const std::vector<In> x = random_values<In>(n, 5);
      std::vector<Out> inclusive(x.size());
      std::vector<Out> exclusive(x.size());
      Out total = init;
      for (std::size_t i = 0; i < x.size(); ++i) {
        exclusive[i] = total;
        total = folded(total, x[i]);
        inclusive[i] = i == 0 ? static_cast<Out>(x[0]) : folded(inclusive[i - 1], x[i]);
      }
      int misaligned = 0;
      for (const auto& begin : cuts(n, group.size())) {
        SCOPED_TRACE(members.text() + ", n = " + std::to_string(n));
        Shards<In, Out> shards(group, x, begin, misaligned++);
        ASSERT_EQ(inclusive_scan(group, shards.all(), op).count, n);
        ASSERT_TRUE(same_bits(shards.results(), inclusive));
        shards.poison();
        exclusive_scan(group, shards.all(), init, op);
        ASSERT_TRUE(same_bits(shards.results(), exclusive));
        shards.poison();
        // The value is computed in the first member's stream, and overwritten there after the call was enqueued.
        const cudaStream_t first = group.policy(0).stream;
        void* memory = nullptr;  // from a pool that other devices cannot access
        require(cudaMallocAsync(&memory, sizeof init, first));
        auto* const start = static_cast<Out*>(memory);
        require(cudaMemcpyAsync(start, &init, sizeof init, cudaMemcpyHostToDevice, first));
        exclusive_scan(group, shards.all(), gpu::ValueAt<Out>(start), op);
        require(cudaMemsetAsync(start, 0x5A, sizeof init, first));
        require(cudaFreeAsync(start, first));
        ASSERT_TRUE(same_bits(shards.results(), exclusive));
      }
    }
  }
}

using CudaShards = tests::GpuTest;

TEST_F(CudaShards, ScanAsOneArrayDoes) {
  check<std::int32_t, std::int32_t>(add, 7);
  check<std::int64_t, std::int64_t>(min, std::int64_t{1} << 60);
  check<double, double>(max, -2000.0);
}

TEST_F(CudaShards, ScansOfSmallTypes) {
  check<std::uint8_t, std::uint64_t>(add, std::uint64_t{1} << 40);
  check<std::int16_t, std::int16_t>(mul, std::int16_t{3});
}

TEST_F(CudaShards, ScanByOperatorsThatDoNotCommute) {
  check<Affine<std::uint32_t>, Affine<std::uint32_t>>(Then{}, {3, 4});
}

template <class In, class T, class Op>
void check_reduction(Op op, T init) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    DeviceArray<T> out(1);
    for (const std::int64_t n : {0, 1, 1000, 1'500'007}) {
      const std::vector<In> x = random_values<In>(n, 8);
      T wanted = init;
      for (const In& each : x) wanted = static_cast<T>(op(wanted, static_cast<T>(each)));
      for (const auto& begin : cuts(n, group.size())) {
        Shards<In, In> shards(group, x, begin, 1);
        out.poison();
        reduce_async(group, shards.all(), out.data(), init, op);
        group.wait();
        ASSERT_TRUE(same_bits(out.values(), {wanted})) << n << " elements, " << members.text();
        tests::copy_in(out.data(), &init, sizeof init);
        reduce_async(group, shards.all(), out.data(), gpu::ValueAt(out.data()), op);
        group.wait();
        ASSERT_TRUE(same_bits(out.values(), {wanted})) << n << " elements, " << members.text();
      }
    }
  }
}

TEST_F(CudaShards, ReduceAsOneArrayDoes) {
  check_reduction<std::int32_t>(add, 3);
  check_reduction<double>(min, 12.0);
  check_reduction<Affine<std::uint32_t>>(Then{}, Affine<std::uint32_t>{3, 4});
}

TEST_F(CudaShards, ReduceIntoAWiderType) { check_reduction<std::int16_t>(add, std::int64_t{-5}); }

/// Lists that cross shards, some of them empty or longer than a shard, with an operator that has no identity and does
/// not commute.
TEST_F(CudaShards, ListsByOperatorsThatDoNotCommute) {
  using F = Affine<std::uint32_t>;
  constexpr std::int64_t kLength = 200'003;
  const std::vector<F> x = random_values<F>(kLength, 13);
  std::mt19937_64 random(2);
  for (const std::int64_t longest : {5, 2000, 150'000}) {
    std::vector<std::int64_t> offsets{0};
    while (offsets.back() < kLength) {
      const std::int64_t length = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1));
      offsets.push_back(std::min(kLength, offsets.back() + (random() % 4 == 0 ? 0 : length)));
    }
    const F init{3, 4};
    std::vector<F> wanted;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      F total = init;
      for (std::int64_t j = offsets[i]; j < offsets[i + 1]; ++j) total = Then{}(total, x[static_cast<std::size_t>(j)]);
      wanted.push_back(total);
    }
    for (const tests::Members& members : tests::all_members()) {
      const tests::OwnGroup own(members);
      const Group& group = own;
      for (const auto& begin : cuts(kLength, group.size())) {
        Shards<F, F> content(group, x, begin, 1);
        std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> bounds;
        std::vector<std::unique_ptr<DeviceArray<F>>> results;
        std::vector<gpu::ListsShard<F>> shards;
        std::size_t first = 0;
        for (int m = 0; m < group.size(); ++m) {
          require(cudaSetDevice(group.policy(m).device));
          const auto k = static_cast<std::size_t>(m);
          std::size_t last = first;
          while (last < wanted.size() && (offsets[last] < begin[k + 1] || m + 1 == group.size())) ++last;
          const std::vector<std::int64_t> here(offsets.begin() + static_cast<std::ptrdiff_t>(first),
                                               offsets.begin() + static_cast<std::ptrdiff_t>(last) + 1);
          bounds.push_back(std::make_unique<DeviceArray<std::int64_t>>(here, 0));
          results.push_back(std::make_unique<DeviceArray<F>>(static_cast<std::int64_t>(last - first)));
          shards.push_back({Lists::by_offsets(bounds.back()->data(), static_cast<std::int64_t>(last - first)),
                            content.all()[k].in, content.all()[k].n, results.back()->data()});
          first = last;
        }
        require(cudaSetDevice(0));
        EXPECT_EQ(segmented_reduce(group, shards, init, Then{}).rung, "cuda.lanes");
        group.wait();
        std::vector<F> found;
        for (const auto& each : results) {
          const std::vector<F> own_results = each->values();
          found.insert(found.end(), own_results.begin(), own_results.end());
        }
        ASSERT_TRUE(same_bits(found, wanted)) << members.text() << ", lists up to " << longest;
      }
    }
  }
}

TEST_F(CudaShards, FilteredSumsAreThoseOfOneTable) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    DeviceArray<std::int64_t> out(1);
    constexpr std::int64_t kRows = 300'007;
    std::vector<gpu::FilteredSumShard> shards;
    std::vector<std::unique_ptr<DeviceArray<std::uint32_t>>> keys;
    std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> numbers;
    std::int64_t wanted = 0;
    for (int m = 0; m < group.size(); ++m) {
      require(cudaSetDevice(group.policy(m).device));
      const std::int64_t n = m == 1 ? 0 : kRows;  // a shard without rows
      std::vector<std::uint32_t> key(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint32_t>(i % 100);
      const auto quantity = random_values<std::int64_t>(n, 4);
      const auto price = random_values<std::int64_t>(n, 6);
      for (std::size_t i = 0; i < key.size(); ++i) {
        if (key[i] < 30) wanted = Add{}(wanted, Mul{}(quantity[i], price[i]));
      }
      keys.push_back(std::make_unique<DeviceArray<std::uint32_t>>(key, 1));
      numbers.push_back(std::make_unique<DeviceArray<std::int64_t>>(quantity, 0));
      numbers.push_back(std::make_unique<DeviceArray<std::int64_t>>(price, 1));
      shards.push_back({keys.back()->data(), numbers[numbers.size() - 2]->data(), numbers.back()->data(), n});
    }
    require(cudaSetDevice(0));
    filtered_sum_async(group, shards, 30, out.data());
    group.wait();
    EXPECT_EQ(out.values()[0], wanted);
    // The first shard has the number of rows that is in device memory: none.
    const std::int64_t price_sum = wanted;
    DeviceArray<std::int64_t> count(std::vector<std::int64_t>{0}, 0);
    shards[0].n_at = count.data();
    filtered_sum_async(group, shards, 30, out.data());
    group.wait();
    const std::int64_t without = out.values()[0];
    shards[0].n = 0;
    shards[0].n_at = nullptr;
    filtered_sum_async(group, shards, 30, out.data());
    group.wait();
    EXPECT_EQ(out.values()[0], without);
    EXPECT_NE(without, price_sum);
  }
}

/// Floats that are rounded at every step, split as by split().
template <class T>
void check_bits(std::int64_t n) {
  const std::vector<T> x = random_values<T>(n, 11);
  DeviceArray<T> in(x, 0);
  DeviceArray<T> out(n);
  exclusive_scan(gpu::Policy{}, in.data(), n, out.data(), T{1} / T{3});
  require(cudaDeviceSynchronize());
  const std::vector<T> wanted = out.values();
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    const std::vector<std::int64_t> begin = gpu::split<T, T>(group, n);
    ASSERT_EQ(begin.front(), 0);
    ASSERT_EQ(begin.back(), n);
    Shards<T, T> shards(group, x, begin);
    exclusive_scan(group, shards.all(), T{1} / T{3});
    ASSERT_TRUE(same_bits(shards.results(), wanted)) << n << " elements, " << members.text();
  }
}

TEST_F(CudaShards, FloatsHaveTheBitsOfOneDevice) { check_bits<double>(9'000'001); }

TEST_F(CudaShards, FloatsOfFourBytesToo) { check_bits<float>(20'000'003); }

/// More shards than one launch folds.
TEST_F(CudaShards, ManyMembersOfOneDevice) {
  const Group group(std::vector<int>(37, 0));
  const std::vector<double> whole(700'000, 1.0);
  const std::vector<Affine<std::uint32_t>> maps = random_values<Affine<std::uint32_t>>(300'000, 3);
  for (const auto& begin : cuts(std::ssize(whole), 37)) {
    Shards<double, double> shards(group, whole, begin);
    inclusive_scan(group, shards.all());
    const std::vector<double> sums = shards.results();
    for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], static_cast<double>(i + 1));
  }
  std::vector<Affine<std::uint32_t>> wanted = maps;
  for (std::size_t i = 1; i < wanted.size(); ++i) wanted[i] = Then{}(wanted[i - 1], wanted[i]);
  for (const auto& begin : cuts(std::ssize(maps), 37)) {
    Shards<Affine<std::uint32_t>, Affine<std::uint32_t>> shards(group, maps, begin);
    inclusive_scan(group, shards.all(), Then{});
    ASSERT_TRUE(same_bits(shards.results(), wanted));
  }
}

/// A graph continues to use the memory that it was captured with, even if a larger call has grown the group's memory.
TEST_F(CudaShards, AGraphKeepsTheMemoryOfItsScan) {
  const std::vector<double> x(9'000'000, 1.0);
  const std::vector<double> few(x.begin(), x.begin() + 900'000);
  const auto is_count = [](const std::vector<double>& sums) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] != static_cast<double>(i + 1)) return false;
    }
    return true;
  };
  for (const tests::Members& members : tests::all_members()) {
    for (const bool is_warm : {true, false}) {
      const tests::OwnGroup own(members);
      const Group& group = own;
      Shards<double, double> large(group, x, cuts(std::ssize(x), group.size())[0]);
      Shards<double, double> small(group, few, cuts(std::ssize(few), group.size())[0]);
      require(cudaSetDevice(group.policy(0).device));
      if (is_warm) inclusive_scan(group, small.all());
      group.wait();
      const tests::Replay replay(group.policy(0).stream, [&] { inclusive_scan(group, small.all()); });
      for (int run = 0; run < 3; ++run) {
        inclusive_scan(group, large.all());
        ASSERT_TRUE(is_count(large.results())) << members.text();
        replay.launch(small);
        require(cudaStreamSynchronize(group.policy(0).stream));
        ASSERT_TRUE(is_count(small.results())) << members.text() << " run " << run;
      }
    }
  }
}

/// More groups of tiles before the last shard than its fold loads at a time.
TEST_F(CudaShards, FloatsOfManyGroups) { check_bits<double>(200'000'003); }

TEST_F(CudaShards, AsManyElementsAsDeviceMemorySays) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLength = 2'000'000;
    const std::vector<std::int64_t> x = random_values<std::int64_t>(kLength, 4);
    const std::vector<std::int64_t> begin = cuts(kLength, group.size())[0];
    Shards<std::int64_t, std::int64_t> shards(group, x, begin);
    auto counted = shards.all();
    std::vector<std::unique_ptr<DeviceArray<std::int64_t>>> lengths;
    for (std::size_t m = 0; m < counted.size(); ++m) {
      require(cudaSetDevice(group.policy(static_cast<int>(m)).device));
      lengths.push_back(std::make_unique<DeviceArray<std::int64_t>>(1));
      counted[m].n_at = lengths.back()->data();
    }
    require(cudaSetDevice(group.policy(0).device));
    DeviceArray<std::int64_t> total(1);
    inclusive_scan(group, counted);  // allocates all memory that it needs
    group.wait();
    const tests::Replay replay(group.policy(0).stream, [&] {
      inclusive_scan(group, counted);
      reduce_async(group, counted, total.data(), std::int64_t{5});
    });
    for (int run = 0; run < 4; ++run) {
      std::vector<std::int64_t> there;
      for (std::size_t m = 0; m < counted.size(); ++m) {
        const std::int64_t most = counted[m].n;
        const std::int64_t some[] = {most, most - 1, 0, most / 2, most + 9, 17};
        const std::int64_t n = some[(static_cast<std::size_t>(run) + m) % 6];
        there.push_back(std::min(n, most));
        require(cudaSetDevice(group.policy(static_cast<int>(m)).device));
        tests::copy_in(lengths[m]->data(), &n, sizeof n);
        tests::fill(counted[m].out, 0, static_cast<std::size_t>(most) * sizeof(std::int64_t));
      }
      require(cudaSetDevice(group.policy(0).device));
      replay.launch(total);
      std::vector<std::int64_t> wanted(kLength);
      std::int64_t sum = 0;
      for (std::size_t m = 0; m < counted.size(); ++m) {
        for (std::int64_t i = begin[m]; i < begin[m] + there[m]; ++i) {
          sum = Add{}(sum, x[static_cast<std::size_t>(i)]);
          wanted[static_cast<std::size_t>(i)] = sum;
        }
      }
      ASSERT_TRUE(same_bits(shards.results(), wanted)) << members.text() << " run " << run;
      ASSERT_EQ(total.values()[0], Add{}(std::int64_t{5}, sum)) << members.text() << " run " << run;
    }
  }
}

TEST_F(CudaShards, AGraphReplaysTheCall) {
  const std::vector<std::int32_t> x = random_values<std::int32_t>(3'000'000, 3);
  std::vector<std::int32_t> wanted(x.size());
  std::inclusive_scan(x.begin(), x.end(), wanted.begin(), [](std::int32_t a, std::int32_t b) { return Add{}(a, b); });
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    Shards<std::int32_t, std::int32_t> shards(group, x, gpu::split<std::int32_t, std::int32_t>(group, std::ssize(x)));
    require(cudaSetDevice(group.policy(0).device));
    DeviceArray<std::int32_t> total(1);
    const tests::Replay replay(group.policy(0).stream, [&] {
      inclusive_scan(group, shards.all());
      reduce_async(group, shards.all(), total.data(), 1);
    });
    for (int run = 0; run < 3; ++run) {
      replay.launch(shards, total);
      ASSERT_TRUE(same_bits(shards.results(), wanted)) << "run " << run;
      ASSERT_EQ(total.values()[0], Add{}(1, wanted.back())) << "run " << run;
    }
  }
}

TEST_F(CudaShards, AGraphKeepsTheMemoryOfItsReduction) {
  const std::vector<std::int64_t> x = random_values<std::int64_t>(3'000'000, 3);
  const std::vector<std::int64_t> few(x.begin(), x.begin() + 300'000);
  const auto sum_of = [](const std::vector<std::int64_t>& all) {
    return std::accumulate(all.begin(), all.end(), std::int64_t{0}, [](auto a, auto b) { return Add{}(a, b); });
  };
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    Shards<std::int64_t, std::int64_t> large(group, x, cuts(std::ssize(x), group.size())[0]);
    Shards<std::int64_t, std::int64_t> small(group, few, cuts(std::ssize(few), group.size())[0]);
    require(cudaSetDevice(group.policy(0).device));
    DeviceArray<std::int64_t> total(1);
    reduce_async(group, small.all(), total.data(), std::int64_t{0});
    group.wait();
    const tests::Replay replay(group.policy(0).stream,
                               [&] { reduce_async(group, small.all(), total.data(), std::int64_t{0}); });
    reduce_async(group, large.all(), total.data(),
                 std::int64_t{0});  // needs more memory than the graph was captured with
    group.wait();
    EXPECT_EQ(total.values()[0], sum_of(x));
    for (int run = 0; run < 3; ++run) {
      replay.launch(total);
      require(cudaStreamSynchronize(group.policy(0).stream));
      ASSERT_EQ(total.values()[0], sum_of(few)) << members.text() << " run " << run;
    }
    reduce_async(group, large.all(), total.data(), std::int64_t{0});
    group.wait();
    EXPECT_EQ(total.values()[0], sum_of(x));
  }
}

TEST_F(CudaShards, AReductionThatFailsLeavesTheNextOneAlone) {
  const std::vector<std::int64_t> x = random_values<std::int64_t>(3'000'000, 3);
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    if (group.size() < 2) continue;
    Shards<std::int64_t, std::int64_t> shards(group, x, cuts(std::ssize(x), group.size())[0]);
    require(cudaSetDevice(group.policy(0).device));
    DeviceArray<std::int64_t> total(1);
    std::vector<std::int64_t> host(10);
    auto bad = shards.all();
    bad.back().in = host.data();
    auto rest = shards.all();
    rest.front().n = 0;
    const auto begin = static_cast<std::size_t>(shards.all().front().n);
    for (int run = 0; run < 20; ++run) {
      expect_error(Code::invalid_argument, "host memory",
                   [&] { reduce_async(group, bad, total.data(), std::int64_t{0}); });
      reduce_async(group, rest, total.data(), std::int64_t{0});
      group.wait();
      ASSERT_EQ(total.values()[0], std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(begin), x.end(),
                                                   std::int64_t{0}, [](auto a, auto b) { return Add{}(a, b); }))
          << members.text();
    }
  }
}

TEST_F(CudaShards, CallsFollowEachOther) {
  const Group group({0, 0, 0});
  const std::vector<std::int64_t> x = random_values<std::int64_t>(500'000, 9);
  std::vector<std::int64_t> wanted = x;
  for (int run = 0; run < 20; ++run) std::inclusive_scan(wanted.begin(), wanted.end(), wanted.begin(), add);
  Shards<std::int64_t, std::int64_t> shards(group, x, cuts(std::ssize(x), 3)[0]);
  inclusive_scan(group, shards.all());
  std::vector<Shard<std::int64_t, std::int64_t>> again = shards.all();
  for (auto& shard : again) shard.in = shard.out;
  for (int run = 1; run < 20; ++run) inclusive_scan(group, again);
  ASSERT_TRUE(same_bits(shards.results(), wanted));
}

/// No call waits longer than necessary, and all calls share the group's memory.
TEST_F(CudaShards, CallsOfDifferentKindsFollowEachOther) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLength = 600'000;
    const std::vector<std::int32_t> integers = random_values<std::int32_t>(kLength, 2);
    const std::vector<double> floats(kLength, 1.0);
    std::vector<std::int32_t> sums(kLength);
    std::inclusive_scan(integers.begin(), integers.end(), sums.begin(), [](int a, int b) { return Add{}(a, b); });
    std::vector<double> float_sums(kLength);
    std::inclusive_scan(floats.begin(), floats.end(), float_sums.begin());
    Shards<std::int32_t, std::int32_t> one(group, integers, cuts(kLength, group.size())[0]);
    Shards<double, double> other(group, floats, cuts(kLength, group.size())[3]);
    DeviceArray<std::int32_t> total(1);
    DeviceArray<double> float_total(1);
    for (int run = 0; run < 20; ++run) {
      inclusive_scan(group, one.all());
      inclusive_scan(group, other.all());
      reduce_async(group, one.all(), total.data(), 0);
      inclusive_scan(group, one.all());
      reduce_async(group, other.all(), float_total.data(), 0.0);
      inclusive_scan(group, other.all());
    }
    ASSERT_TRUE(same_bits(one.results(), sums)) << members.text();
    ASSERT_TRUE(same_bits(other.results(), float_sums)) << members.text();
    EXPECT_EQ(total.values()[0], sums.back());
    EXPECT_EQ(float_total.values()[0], float_sums.back());
  }
}

TEST_F(CudaShards, ThreadsMayCallAtATime) {
  const Group group({0, 0});
  const std::vector<std::int32_t> x = random_values<std::int32_t>(400'000, 1);
  std::vector<std::int32_t> wanted(x.size());
  std::inclusive_scan(x.begin(), x.end(), wanted.begin(), [](std::int32_t a, std::int32_t b) { return Add{}(a, b); });
  std::vector<std::unique_ptr<Shards<std::int32_t, std::int32_t>>> arrays;
  for (int t = 0; t < 4; ++t) {
    arrays.push_back(std::make_unique<Shards<std::int32_t, std::int32_t>>(group, x, cuts(std::ssize(x), 2)[0]));
  }
  std::vector<std::thread> threads;
  for (auto& own : arrays) {
    threads.emplace_back([&] {
      for (int run = 0; run < 10; ++run) inclusive_scan(group, own->all());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& own : arrays) ASSERT_TRUE(same_bits(own->results(), wanted));
}

TEST_F(CudaShards, MembersHaveTheStreamsThatTheyAreGiven) {
  const tests::OwnStream one;
  const tests::OwnStream other;
  const Group group = Group::of_policies({gpu::Policy{}.with_stream(one), gpu::Policy{}.with_stream(other)});
  EXPECT_EQ(group.policy(1).stream, static_cast<cudaStream_t>(other));
  const std::vector<std::int32_t> x(100'000, 1);
  Shards<std::int32_t, std::int32_t> shards(group, x, cuts(std::ssize(x), 2)[0]);
  inclusive_scan(group, shards.all());
  require(cudaStreamSynchronize(other));
  require(cudaStreamSynchronize(one));
  EXPECT_EQ(shards.results().back(), 100'000);
}

TEST_F(CudaShards, ErrorsSayWhichShard) {
  expect_error(Code::invalid_argument, "a group needs a device", [] { const Group group(std::vector<int>{}); });
  expect_error(Code::no_device, "device 99", [] { const Group group({0, 99}); });
  const Group group({0, 0});
  DeviceArray<float> x(100);
  std::vector<float> host(100);
  using Floats = std::vector<Shard<float, float>>;
  expect_error(Code::invalid_argument, "1 shards for a group of 2",
               [&] { inclusive_scan(group, Floats{{x.data(), 100, x.data()}}); });
  expect_error(Code::invalid_argument, "input of shard 1 is host memory",
               [&] { inclusive_scan(group, Floats{{x.data(), 100, x.data()}, {host.data(), 100, x.data()}}); });
  expect_error(Code::invalid_argument, "shard 1 overlap",
               [&] { inclusive_scan(group, Floats{{x.data(), 50, x.data()}, {x.data() + 50, 50, x.data() + 49}}); });
  expect_error(Code::invalid_argument, "", [&] { inclusive_scan(group, Floats{{x.data(), -1, x.data()}, {}}); });
  DeviceArray<std::int32_t> whole(100);
  using Integers = std::vector<Shard<std::int32_t>>;
  const Group checked = Group::of_policies(std::vector(2, gpu::Policy{}.with_overflow(Overflow::checked)));
  expect_error(Code::unsupported, "cannot check", [&] {
    inclusive_scan(checked, Integers{{whole.data(), 50, whole.data()}, {whole.data() + 50, 50, whole.data() + 50}});
  });
  expect_error(Code::unsupported, "mul of integers is not checked", [&] {
    inclusive_scan(checked, Integers{{whole.data(), 50, whole.data()}, {whole.data() + 50, 50, whole.data() + 50}},
                   upsweep::mul);
  });
  DeviceArray<std::int32_t> product(1);
  expect_error(Code::unsupported, "mul of integers is not checked", [&] {
    reduce_async(checked, Integers{{whole.data(), 50}, {whole.data() + 50, 50}}, product.data(), 1, upsweep::mul);
  });
  const Group by_cub = Group::of_policies(std::vector(2, gpu::Policy{}.with_rung("cuda.cub")));
  expect_error(Code::unsupported, "cuda.lookahead",
               [&] { inclusive_scan(by_cub, Floats{{x.data(), 50, x.data()}, {x.data() + 50, 50, x.data() + 50}}); });
  DeviceArray<float> sum(1);
  const std::int64_t ten = 10;
  expect_error(Code::invalid_argument, "the length of shard 1 is host memory", [&] {
    inclusive_scan(group, Floats{{x.data(), 50, x.data()}, {x.data() + 50, 50, x.data() + 50, &ten}});
  });
  expect_error(Code::invalid_argument, "shard 1: length is host memory", [&] {
    reduce_async(group, Floats{{x.data(), 50, nullptr}, {x.data() + 50, 50, nullptr, &ten}}, sum.data(), 0.0F);
  });
  const Floats halves{{x.data(), 50, x.data()}, {x.data() + 50, 50, x.data() + 50}};
  expect_error(Code::invalid_argument, "initial value is host memory",
               [&] { exclusive_scan(group, halves, gpu::ValueAt<float>(host.data())); });
  for (const int at : {0, 49, 50, 99}) {
    expect_error(Code::invalid_argument, "initial value overlaps the output",
                 [&] { exclusive_scan(group, halves, gpu::ValueAt<float>(x.data() + at)); });
  }
  expect_error(Code::invalid_argument, "initial value is host memory",
               [&] { reduce_async(group, halves, sum.data(), gpu::ValueAt<float>(host.data())); });
  expect_error(Code::invalid_argument, "shard 1: input is host memory", [&] {
    reduce_async(group, Floats{{x.data(), 100, nullptr}, {host.data(), 100, nullptr}}, sum.data(), 0.0F);
  });
  if (gpu::devices().size() < 2) return;
  const Group two({0, 1});
  expect_error(Code::invalid_argument, "input of shard 1 is on device 0",
               [&] { inclusive_scan(two, Floats{{x.data(), 50, x.data()}, {x.data(), 50, x.data()}}); });
}

}  // namespace
}  // namespace upsweep
