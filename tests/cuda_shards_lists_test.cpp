// SPDX-License-Identifier: Apache-2.0
// tests/cuda_shards_lists_test.cpp: offsets and reductions of lists in shards on several GPUs must equal those of one
// array on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "device_array.hpp"
#include "failure.hpp"
#include "shards.hpp"
#include "upsweep/list_shards.hpp"

namespace upsweep {
namespace {

using gpu::Group;
using tests::cuts;
using tests::DeviceArray;
using tests::expect_error;
using tests::require;

using CudaShardsLists = tests::GpuTest;

template <class T>
std::vector<T> part(const std::vector<T>& all, std::int64_t begin, std::int64_t end) {
  return {all.begin() + begin, all.begin() + end};
}

/// Arrays of the members, each on its device.
template <class T>
class Parts {
 public:
  void add(const std::vector<T>& values, int misaligned) {
    all_.push_back(std::make_unique<DeviceArray<T>>(values, misaligned));
  }
  void add(std::int64_t n, int misaligned) { all_.push_back(std::make_unique<DeviceArray<T>>(n, misaligned)); }
  [[nodiscard]] T* data(std::size_t i) const { return all_[i]->data(); }
  [[nodiscard]] T* last() const { return all_.back()->data(); }
  [[nodiscard]] std::vector<T> values(std::size_t i) const {
    EXPECT_TRUE(all_[i]->intact());
    return all_[i]->values();
  }

 private:
  std::vector<std::unique_ptr<DeviceArray<T>>> all_;
};

// ---- Offsets.

/// Bounds of all lists, split into shards, and buffers for their offsets.
template <class T>
class BoundsInShards {
 public:
  BoundsInShards(const Group& group, const std::vector<T>& starts, const std::vector<T>& stops,
                 const std::vector<std::int64_t>& begin, int misaligned = 0)
      : group_(group) {
    for (int m = 0; m < group.size(); ++m) {
      require(cudaSetDevice(group.policy(m).device));
      const std::int64_t first = begin[static_cast<std::size_t>(m)];
      const std::int64_t last = begin[static_cast<std::size_t>(m) + 1];
      starts_.add(part(starts, first, last), misaligned);
      stops_.add(part(stops, first, last), 2 * misaligned);
      add(starts_.last(), stops_.last(), last - first, misaligned);
    }
    require(cudaSetDevice(0));
  }
  /// For lists by offsets: n + 1 bounds.
  BoundsInShards(const Group& group, const std::vector<T>& bounds, const std::vector<std::int64_t>& begin)
      : group_(group) {
    for (int m = 0; m < group.size(); ++m) {
      require(cudaSetDevice(group.policy(m).device));
      const std::int64_t first = begin[static_cast<std::size_t>(m)];
      const std::int64_t last = begin[static_cast<std::size_t>(m) + 1];
      starts_.add(part(bounds, first, last + 1), 0);
      add(starts_.last(), starts_.last() + 1, last - first, 0);
    }
    require(cudaSetDevice(0));
  }

  [[nodiscard]] const std::vector<gpu::OffsetsShard<T>>& all() const { return shards_; }
  /// The offsets of all shards, without the first offset of each shard, which the shard before also has.
  [[nodiscard]] std::vector<std::int64_t> offsets() const {
    group_.wait();
    std::vector<std::int64_t> all{0};
    for (std::size_t m = 0; m < shards_.size(); ++m) {
      const std::vector<std::int64_t> own = offsets_.values(m);
      EXPECT_EQ(own[0], all.back()) << "shard " << m;
      all.insert(all.end(), own.begin() + 1, own.end());
    }
    return all;
  }

 private:
  void add(const T* starts, const T* stops, std::int64_t n, int misaligned) {
    offsets_.add(n + 1, misaligned);
    shards_.push_back({starts, stops, n, offsets_.last()});
  }

  const Group& group_;
  Parts<T> starts_;
  Parts<T> stops_;
  Parts<std::int64_t> offsets_;
  std::vector<gpu::OffsetsShard<T>> shards_;
};

template <class T>
struct Bounds {
  std::vector<T> starts;
  std::vector<T> stops;
};

template <class T>
Bounds<T> random_bounds(std::int64_t n) {
  std::mt19937_64 random(3);
  Bounds<T> bounds;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto start = static_cast<T>(random() % 1'000'000);
    bounds.starts.push_back(start);
    bounds.stops.push_back(static_cast<T>(start + static_cast<T>(random() % 10)));
  }
  return bounds;
}

template <class T>
void check_offsets() {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    for (const std::int64_t n : {0, 1, 1000, 700'001}) {
      const auto [starts, stops] = random_bounds<T>(n);
      std::vector<std::int64_t> wanted(static_cast<std::size_t>(n) + 1);
      upsweep::offsets(par, starts.data(), stops.data(), n, wanted.data());
      int misaligned = 0;
      for (const auto& begin : cuts(n, group.size())) {
        SCOPED_TRACE(members.text() + ", n = " + std::to_string(n));
        const BoundsInShards<T> shards(group, starts, stops, begin, misaligned++);
        const OffsetsResult result = upsweep::offsets(group, shards.all());
        ASSERT_EQ(result.lists, n);
        ASSERT_EQ(result.total, wanted.back());
        ASSERT_EQ(shards.offsets(), wanted);
      }
    }
  }
}

TEST_F(CudaShardsLists, OffsetsAreThoseOfOneArray) {
  check_offsets<std::int32_t>();
  check_offsets<std::uint32_t>();
  check_offsets<std::int64_t>();
}

TEST_F(CudaShardsLists, OffsetsOfListsThatFollowOneAnother) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLists = 300'001;
    const auto [starts, stops] = random_bounds<std::int32_t>(kLists);
    std::vector<std::int32_t> bounds{77};
    for (std::size_t i = 0; i < starts.size(); ++i) bounds.push_back(bounds[i] + stops[i] - starts[i]);
    for (const auto& begin : cuts(kLists, group.size())) {
      const BoundsInShards<std::int32_t> shards(group, bounds, begin);
      const OffsetsResult result = upsweep::offsets(group, shards.all());
      EXPECT_EQ(result.rung, "cuda.adjacent");
      EXPECT_EQ(result.total, bounds.back() - 77);
      const std::vector<std::int64_t> offsets = shards.offsets();
      ASSERT_EQ(std::ssize(offsets), kLists + 1);
      for (std::size_t i = 0; i < offsets.size(); ++i) ASSERT_EQ(offsets[i], bounds[i] - 77) << members.text();
    }
  }
}

TEST_F(CudaShardsLists, TheFirstBadListOfAllShardsIsReported) {
  const Group group({0, 0, 0});
  constexpr std::int64_t kLists = 90'000;
  const std::vector<std::int64_t> begin = cuts(kLists, 3)[0];
  for (const std::size_t bad : {0U, 29'999U, 30'000U, 50'000U, 89'999U}) {
    auto [starts, stops] = random_bounds<std::int32_t>(kLists);
    for (const std::size_t each : {bad, std::size_t{89'999}}) stops[each] = starts[each] - 1;
    const BoundsInShards<std::int32_t> shards(group, starts, stops, begin);
    const auto list = static_cast<std::int64_t>(bad);
    expect_error(Code::stop_before_start, list,
                 "shard " + std::to_string(bad / 30'000) + ": list " + std::to_string(bad) + " is invalid: stop (" +
                     std::to_string(starts[bad] - 1),
                 [&] { upsweep::offsets(group, shards.all()); });
    DeviceArray<gpu::OffsetsStatus> status(1);
    offsets_async(group, shards.all(), status.data());
    group.wait();
    EXPECT_EQ(status.values()[0].first_bad, list);
    EXPECT_EQ(status.values()[0].code, Code::stop_before_start);
  }
  auto [starts, stops] = random_bounds<std::int32_t>(kLists);
  starts[40'000] = -1;
  const BoundsInShards<std::int32_t> shards(group, starts, stops, begin);
  upsweep::offsets(group, shards.all());
  expect_error(Code::negative_start, 40'000, "list 40000", [&] { upsweep::offsets(group, shards.all(), true); });
}

TEST_F(CudaShardsLists, OffsetsThatLeaveInt64InALaterShard) {
  const Group group({0, 0, 0});
  // Six lists: the second one leaves int64, and four add up to 2^64, which looks like 0.
  const std::vector<std::int64_t> starts(6, 0);
  for (const std::int64_t length : {std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max() / 4}) {
    const std::vector<std::int64_t> stops(6, length);
    const std::int64_t bad = length == std::int64_t{1} << 62 ? 1 : 4;
    for (const auto& begin : {std::vector<std::int64_t>{0, 1, 4, 6}, {0, 4, 4, 6}, {0, 0, 6, 6}, {0, 2, 4, 6}}) {
      const BoundsInShards<std::int64_t> shards(group, starts, stops, begin);
      expect_error(Code::overflow, bad, "the offset after it exceeds int64",
                   [&] { upsweep::offsets(group, shards.all()); });
    }
  }
}

TEST_F(CudaShardsLists, AGraphReplaysOffsets) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLists = 200'003;
    const auto [starts, stops] = random_bounds<std::int64_t>(kLists);
    std::vector<std::int64_t> wanted(kLists + 1);
    upsweep::offsets(par, starts.data(), stops.data(), kLists, wanted.data());
    const BoundsInShards<std::int64_t> shards(group, starts, stops, cuts(kLists, group.size())[3]);
    DeviceArray<gpu::OffsetsStatus> status(1);
    const tests::Replay replay(group.policy(0).stream, [&] { offsets_async(group, shards.all(), status.data()); });
    for (int run = 0; run < 3; ++run) {
      for (int m = 0; m < group.size(); ++m) {
        const auto& shard = shards.all()[static_cast<std::size_t>(m)];
        require(cudaSetDevice(group.policy(m).device));
        tests::fill(shard.offsets, 0, static_cast<std::size_t>(shard.n + 1) * sizeof(std::int64_t));
      }
      require(cudaSetDevice(0));
      replay.launch(status);
      ASSERT_EQ(shards.offsets(), wanted) << members.text();
      ASSERT_EQ(status.values()[0].total, wanted.back());
      ASSERT_EQ(status.values()[0].first_bad, kNoIndex);
    }
  }
}

TEST_F(CudaShardsLists, OffsetsOfAsManyListsAsDeviceMemorySays) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLists = 90'001;
    const auto [starts, stops] = random_bounds<std::int64_t>(kLists);
    const std::vector<std::int64_t> begin = cuts(kLists, group.size())[0];
    const BoundsInShards<std::int64_t> shards(group, starts, stops, begin);
    Parts<std::int64_t> counts;
    auto counted = shards.all();
    std::vector<std::int64_t> wanted{0};
    for (std::size_t m = 0; m < counted.size(); ++m) {
      const std::int64_t there = m % 3 == 1 ? 0 : counted[m].n - 7;
      require(cudaSetDevice(group.policy(static_cast<int>(m)).device));
      counts.add(std::vector<std::int64_t>{there}, 0);
      counted[m].n_at = counts.last();
      for (std::int64_t i = begin[m]; i < begin[m] + there; ++i) {
        const auto k = static_cast<std::size_t>(i);
        wanted.push_back(wanted.back() + stops[k] - starts[k]);
      }
    }
    require(cudaSetDevice(0));
    DeviceArray<gpu::OffsetsStatus> status(1);
    offsets_async(group, counted, status.data());
    group.wait();
    EXPECT_EQ(status.values()[0].first_bad, kNoIndex);
    EXPECT_EQ(status.values()[0].total, wanted.back()) << members.text();
    std::size_t at = 0;
    for (std::size_t m = 0; m < counted.size(); ++m) {
      const std::int64_t there = m % 3 == 1 ? 0 : counted[m].n - 7;
      std::vector<std::int64_t> own_offsets(static_cast<std::size_t>(there) + 1);
      require(cudaMemcpy(own_offsets.data(), counted[m].offsets, own_offsets.size() * 8, cudaMemcpyDeviceToHost));
      ASSERT_TRUE(std::equal(own_offsets.begin(), own_offsets.end(), wanted.begin() + static_cast<std::ptrdiff_t>(at)))
          << members.text() << " shard " << m;
      at += static_cast<std::size_t>(there);
    }
  }
}

// ---- Reductions.

/// Content split into shards, the lists that begin in each shard, and buffers for their results.
template <class In, class Out, class Bound>
class ListsInShards {
 public:
  ListsInShards(const Group& group, const std::vector<Bound>& offsets, const std::vector<In>& content,
                const std::vector<std::int64_t>& begin, int misaligned = 0)
      : group_(group) {
    const auto position = [&](std::int64_t list) { return std::int64_t{offsets[static_cast<std::size_t>(list)]}; };
    const std::int64_t all = std::ssize(offsets) - 1;
    std::int64_t first = 0;
    for (int m = 0; m < group.size(); ++m) {
      require(cudaSetDevice(group.policy(m).device));
      const std::int64_t from = begin[static_cast<std::size_t>(m)];
      const std::int64_t to = begin[static_cast<std::size_t>(m) + 1];
      std::int64_t last = first;
      while (last < all && (position(last) < to || m + 1 == group.size())) ++last;
      content_.add(part(content, from, to), misaligned);
      offsets_.add(part(offsets, first, last + 1), misaligned);
      out_.add(last - first, misaligned);
      shards_.push_back({Lists::by_offsets(offsets_.last(), last - first), content_.last(), to - from, out_.last()});
      first = last;
    }
    require(cudaSetDevice(0));
  }

  [[nodiscard]] const std::vector<gpu::ListsShard<In, Out>>& all() const { return shards_; }
  [[nodiscard]] Bound* offsets(std::size_t m) const { return offsets_.data(m); }
  [[nodiscard]] std::vector<Out> results() const {
    group_.wait();
    std::vector<Out> all;
    for (std::size_t m = 0; m < shards_.size(); ++m) {
      const std::vector<Out> own = out_.values(m);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

 private:
  const Group& group_;
  Parts<In> content_;
  Parts<Bound> offsets_;
  Parts<Out> out_;
  std::vector<gpu::ListsShard<In, Out>> shards_;
};

/// Offsets into n elements: lists of up to `longest` elements, many of them empty. The first list does not begin at the
/// first element.
template <class Bound>
std::vector<Bound> random_offsets(std::int64_t n, std::int64_t longest) {
  std::mt19937_64 random(5);
  std::vector<Bound> offsets{static_cast<Bound>(std::min<std::int64_t>(n, 3))};
  while (offsets.back() < static_cast<Bound>(n)) {
    const auto length = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1));
    const std::int64_t next = std::int64_t{offsets.back()} + (random() % 4 == 0 ? 0 : length);
    offsets.push_back(static_cast<Bound>(std::min(n, next)));
  }
  return offsets;
}

template <class T>
std::vector<T> random_content(std::int64_t n) {
  std::mt19937_64 random(6);
  std::vector<T> all(static_cast<std::size_t>(n));
  // Floats are integers whose sums are exact, so that the order of a fold makes no difference.
  for (T& x : all) x = std::is_floating_point_v<T> ? static_cast<T>(random() % 1000) : static_cast<T>(random());
  return all;
}

template <class In, class Out, class Bound, class Op>
void check_reductions(Op op, Out init) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    for (const std::int64_t n : {0, 1, 1000, 400'003}) {
      const std::vector<In> content = random_content<In>(n);
      for (const std::int64_t longest : {5, 3000, 300'000}) {
        const std::vector<Bound> offsets = random_offsets<Bound>(n, longest);
        std::vector<Out> wanted(offsets.size() - 1);
        segmented_reduce(par, Lists(offsets), content.data(), n, wanted.data(), init, op);
        int misaligned = 0;
        for (const auto& begin : cuts(n, group.size())) {
          SCOPED_TRACE(members.text() + ", n = " + std::to_string(n) + ", lists up to " + std::to_string(longest));
          const ListsInShards<In, Out, Bound> shards(group, offsets, content, begin, misaligned++);
          ASSERT_EQ(segmented_reduce(group, shards.all(), init, op).lists, std::ssize(wanted));
          ASSERT_EQ(shards.results(), wanted);
        }
      }
    }
  }
}

TEST_F(CudaShardsLists, ListsThatCrossShardsAreReduced) {
  check_reductions<std::int32_t, std::int32_t, std::int64_t>(add, 3);
  check_reductions<std::int16_t, std::int64_t, std::int32_t>(add, std::int64_t{-5});
  check_reductions<std::int64_t, std::int64_t, std::uint32_t>(min, std::int64_t{1} << 60);
  check_reductions<std::uint8_t, std::uint8_t, std::int64_t>(bit_xor, std::uint8_t{7});
}

TEST_F(CudaShardsLists, ListsOfFloatsThatCrossShards) { check_reductions<double, double, std::int64_t>(add, 0.5); }

/// Also for a list that ends where its shard ends: later shards must not add anything to it.
TEST_F(CudaShardsLists, SumsOfNegativeZeroKeepItsSign) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLength = 1000;
    const std::vector<double> zeros(kLength, -0.0);
    for (const std::int64_t each : {1, 7, 100, 250, 500, 1000}) {
      std::vector<std::int64_t> offsets{0};
      while (offsets.back() < kLength) offsets.push_back(std::min(kLength, offsets.back() + each));
      for (const auto& begin : cuts(kLength, group.size())) {
        SCOPED_TRACE(members.text() + ", lists of " + std::to_string(each));
        const ListsInShards<double, double, std::int64_t> shards(group, offsets, zeros, begin);
        segmented_reduce(group, shards.all());
        for (const double sum : shards.results()) ASSERT_TRUE(sum == 0 && std::signbit(sum));
      }
    }
  }
}

/// Returns the sum of a list over all shards: the last `tail` elements of the first shard and all elements of the
/// others. The elements of the first shard are null or valid, and so are those of the others.
float sum_over_shards(const tests::Members& members, std::int64_t tail, bool first_is_valid, bool others_are_valid,
                      bool has_masks, float last) {
  constexpr std::int64_t kLength = 300;  // more than a row of the block that searches for elements
  const tests::OwnGroup own(members);
  const Group& group = own;
  const std::int64_t end = kLength * group.size();
  Parts<float> content;
  Parts<std::int64_t> offsets;
  Parts<std::uint8_t> masks;
  DeviceArray<float> out(std::vector<float>(2, 7), 0);
  std::vector<gpu::ListsShard<float>> shards;
  for (int m = 0; m < group.size(); ++m) {
    require(cudaSetDevice(group.policy(m).device));
    std::vector<float> elements(kLength, -0.0F);
    if (m + 1 == group.size()) elements.back() = last;
    content.add(elements, 0);
    offsets.add(m == 0 ? std::vector{std::int64_t{0}, kLength - tail, end} : std::vector{end}, 0);
    std::vector<std::uint8_t> valid(kLength, m == 0 ? first_is_valid : others_are_valid);
    if (m > 0 && others_are_valid) std::fill(valid.begin(), valid.end() - 1, std::uint8_t{0});  // the last is valid
    masks.add(valid, 0);
    const std::int64_t lists = m == 0 ? 2 : 0;
    shards.push_back({Lists::by_offsets(offsets.last(), lists), content.last(), kLength, m == 0 ? out.data() : nullptr,
                      has_masks ? Mask::bytes(masks.last(), kLength) : Mask{}});
  }
  require(cudaSetDevice(0));
  segmented_reduce(group, shards);
  group.wait();
  return out.values()[1];
}

TEST_F(CudaShardsLists, PartsWithoutElementsTakeNoPartInSums) {
  for (const tests::Members& members : tests::all_members()) {
    const bool has_others = members.devices.size() > 1;
    for (const std::int64_t tail : {0, 1, 299}) {
      SCOPED_TRACE(members.text() + ", " + std::to_string(tail) + " elements in the first shard");
      const bool has_tail = tail > 0;
      const auto is_negative = [&](bool first, bool others, bool has_masks, float last) {
        const float sum = sum_over_shards(members, tail, first, others, has_masks, last);
        EXPECT_EQ(sum, 0.0F);
        return std::signbit(sum);
      };
      EXPECT_EQ(is_negative(true, true, false, -0.0F), has_tail || has_others);
      EXPECT_EQ(is_negative(true, true, true, -0.0F), has_tail || has_others);
      EXPECT_EQ(is_negative(true, false, true, -0.0F), has_tail);
      EXPECT_EQ(is_negative(false, true, true, -0.0F), has_others);
      EXPECT_FALSE(is_negative(false, false, true, -0.0F));
      if (!has_others) continue;
      EXPECT_FALSE(is_negative(true, true, true, 0.0F));
      EXPECT_FALSE(is_negative(false, true, true, 0.0F));
      EXPECT_EQ(sum_over_shards(members, tail, false, true, true, -2.5F), -2.5F);
    }
  }
}

/// With null elements, by bits and by bytes.
template <class In, class Out, class Op>
void check_nulls(Op op) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    constexpr std::int64_t kLength = 100'003;
    std::vector<In> content = random_content<In>(kLength);
    for (std::size_t i = 0; i < content.size(); i += 3) content[i] = 0;
    std::vector<std::uint8_t> valid(kLength);
    for (std::size_t i = 0; i < valid.size(); ++i) valid[i] = i % 5 == 2 ? 0 : 1;
    for (const std::int64_t longest : {7, 3000, 80'000}) {
      const auto offsets = random_offsets<std::int64_t>(kLength, longest);
      std::vector<Out> wanted(offsets.size() - 1);
      std::vector<Out> wanted_of_valid(offsets.size() - 1);
      segmented_reduce(par, Lists(offsets), content, wanted, op);
      segmented_reduce(par, Lists(offsets), content, wanted_of_valid, op, Mask(valid));
      for (const auto& begin : cuts(kLength, group.size())) {
        SCOPED_TRACE(members.text() + ", lists up to " + std::to_string(longest));
        const ListsInShards<In, Out, std::int64_t> shards(group, offsets, content, begin);
        segmented_reduce(group, shards.all(), op);
        ASSERT_EQ(shards.results(), wanted);
        Parts<std::uint8_t> masks;
        auto masked = shards.all();
        for (std::size_t m = 0; m < masked.size(); ++m) {
          require(cudaSetDevice(group.policy(static_cast<int>(m)).device));
          std::vector<std::uint8_t> mask = part(valid, begin[m], begin[m + 1]);
          if (m % 2 == 1) {
            std::vector<std::uint8_t> bits(mask.size() / 8 + 2);
            for (std::size_t i = 0; i < mask.size(); ++i) {
              bits[(i + 3) / 8] = static_cast<std::uint8_t>(bits[(i + 3) / 8] | mask[i] << ((i + 3) % 8));
            }
            mask = bits;
          }
          masks.add(mask, 0);
          masked[m].valid =
              m % 2 == 1 ? Mask::bits(masks.last(), masked[m].n, 3) : Mask::bytes(masks.last(), masked[m].n);
        }
        require(cudaSetDevice(0));
        segmented_reduce(group, masked, op);
        ASSERT_EQ(shards.results(), wanted_of_valid);
      }
    }
  }
}

TEST_F(CudaShardsLists, NullElementsAreSkipped) {
  check_nulls<std::int32_t, std::int32_t>(add);
  check_nulls<std::int64_t, std::int64_t>(max);
}

TEST_F(CudaShardsLists, NamedReducersOfListsThatCrossShards) {
  check_nulls<std::int32_t, std::uint8_t>(any);
  check_nulls<std::int32_t, std::uint8_t>(all);
  check_nulls<std::int16_t, std::int64_t>(count);
  check_nulls<std::uint8_t, std::int64_t>(count_nonzero);
}

TEST_F(CudaShardsLists, OneListOverAllShards) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    const std::vector<std::int32_t> content = random_content<std::int32_t>(300'000);
    std::int32_t wanted = 0;
    for (const std::int32_t x : content) wanted = Add{}(wanted, x);
    const std::vector<std::int64_t> offsets{0, 300'000};
    for (const auto& begin : cuts(std::ssize(content), group.size())) {
      const ListsInShards<std::int32_t, std::int32_t, std::int64_t> shards(group, offsets, content, begin);
      segmented_reduce(group, shards.all());
      ASSERT_EQ(shards.results(), std::vector{wanted}) << members.text();
    }
  }
}

TEST_F(CudaShardsLists, AGraphReplaysReductions) {
  for (const tests::Members& members : tests::all_members()) {
    const tests::OwnGroup own(members);
    const Group& group = own;
    const std::vector<std::int32_t> content = random_content<std::int32_t>(200'000);
    const std::vector<std::int64_t> offsets = random_offsets<std::int64_t>(200'000, 5000);
    std::vector<std::int32_t> wanted(offsets.size() - 1);
    segmented_reduce(par, Lists(offsets), content, wanted);
    const ListsInShards<std::int32_t, std::int32_t, std::int64_t> shards(group, offsets, content,
                                                                         cuts(200'000, group.size())[3]);
    DeviceArray<gpu::ListsStatus> status(1);
    const tests::Replay replay(group.policy(0).stream,
                               [&] { segmented_reduce_async(group, shards.all(), status.data()); });
    for (int run = 0; run < 3; ++run) {
      for (int m = 0; m < group.size(); ++m) {
        const auto& shard = shards.all()[static_cast<std::size_t>(m)];
        require(cudaSetDevice(group.policy(m).device));
        tests::fill(shard.out, 0, static_cast<std::size_t>(shard.lists.count) * sizeof(std::int32_t));
      }
      require(cudaSetDevice(0));
      replay.launch(status);
      ASSERT_EQ(shards.results(), wanted) << members.text();
      ASSERT_EQ(status.values()[0].first_bad, kNoIndex);
    }
  }
}

TEST_F(CudaShardsLists, WhatIsWrongWithListsInShards) {
  const Group group({0, 0, 0});
  const std::vector<std::int32_t> content(90'000, 1);
  std::vector<std::int64_t> offsets;
  for (std::int64_t i = 0; i <= 9000; ++i) offsets.push_back(10 * i);  // 3,000 lists in each shard
  const std::vector<std::int64_t> begin{0, 30'000, 60'000, 90'000};
  struct Wrong {
    std::size_t shard;
    std::int64_t offset;  // index into the shard's offsets
    std::int64_t value;
    Code code;
    std::int64_t list;  // index among all lists
  };
  const Wrong all[] = {{0, 5, 20, Code::stop_before_start, 4},          {1, 5, 20, Code::stop_before_start, 3004},
                       {2, 2999, 5, Code::stop_before_start, 8998},     {1, 0, 29'990, Code::invalid_argument, 2999},
                       {1, 3000, 60'001, Code::invalid_argument, 5999}, {1, 7, 60'001, Code::stop_past_end, 3006},
                       {2, 3000, 90'001, Code::stop_past_end, 8999},    {0, 0, -1, Code::index_out_of_range, 0}};
  // With 32-bit bounds, and with a mask, so that cuda.lanes runs, which supports nulls.
  const std::vector<std::uint32_t> narrow(offsets.begin(), offsets.end());
  DeviceArray<std::uint8_t> mask(std::vector<std::uint8_t>(30'000, 1), 0);
  for (const Wrong& wrong : all) {
    if (wrong.value < 0) continue;
    ListsInShards<std::int32_t, std::int32_t, std::uint32_t> shards(group, narrow, content, begin);
    const auto value = static_cast<std::uint32_t>(wrong.value);
    tests::copy_in(shards.offsets(wrong.shard) + wrong.offset, &value, sizeof value);
    const std::string text = "list " + std::to_string(wrong.list) + " is invalid: ";
    expect_error(wrong.code, wrong.list, text, [&] { segmented_reduce(group, shards.all()); });
    auto masked = shards.all();
    for (auto& shard : masked) shard.valid = Mask::bytes(mask.data(), shard.n);
    expect_error(wrong.code, wrong.list, text, [&] { segmented_reduce(group, masked); });
  }
  for (const Wrong& wrong : all) {
    const ListsInShards<std::int32_t, std::int32_t, std::int64_t> shards(group, offsets, content, begin);
    tests::copy_in(shards.offsets(wrong.shard) + wrong.offset, &wrong.value, sizeof wrong.value);
    expect_error(wrong.code, wrong.list, "list " + std::to_string(wrong.list) + " is invalid: ", [&] {
      segmented_reduce(group, shards.all());
    });
    DeviceArray<gpu::ListsStatus> status(1);
    segmented_reduce_async(group, shards.all(), status.data());
    group.wait();
    EXPECT_EQ(status.values()[0].first_bad, wrong.list);
    EXPECT_EQ(status.values()[0].code, wrong.code);
  }
  // The lists of the second and third shard begin before their shard, where the previous shard ends.
  std::vector<std::int64_t> early = offsets;
  const ListsInShards<std::int32_t, std::int32_t, std::int64_t> shards(group, early, content,
                                                                       {0, 45'000, 60'000, 90'000});
  auto moved = shards.all();
  const std::int64_t first = moved[0].lists.count - 10;
  moved[0].lists.count = first;
  const std::vector<std::int64_t> longer(offsets.begin() + first, offsets.begin() + 6001);
  DeviceArray<std::int64_t> second(longer, 0);
  DeviceArray<std::int32_t> out(std::ssize(longer));
  moved[1].lists = Lists::by_offsets(second.data(), std::ssize(longer) - 1);
  moved[1].out = out.data();
  expect_error(Code::index_out_of_range, first, "does not begin in the shard", [&] { segmented_reduce(group, moved); });
  // An empty list that begins where the next shard's content begins.
  const std::vector<std::vector<std::int64_t>> past{{0, 12}, {12, 12}, {12, 15}};
  Parts<std::int64_t> bounds;
  std::vector<gpu::ListsShard<std::int32_t>> fives;
  for (const auto& each : past) {
    bounds.add(each, 0);
    fives.push_back({Lists::by_offsets(bounds.last(), 1), shards.all()[0].in, 5, out.data() + fives.size()});
  }
  expect_error(Code::index_out_of_range, 1, "list 1 is invalid: [12, 12) does not begin in the shard",
               [&] { segmented_reduce(group, fives); });
}

TEST_F(CudaShardsLists, RefusesWhatItCannotDo) {
  const Group group({0, 0});
  DeviceArray<std::int32_t> x(100);
  DeviceArray<std::int32_t> out(10);
  std::vector<std::int32_t> host(100);
  using Shards = std::vector<gpu::ListsShard<std::int32_t>>;
  expect_error(Code::unsupported, kNoIndex, "given by offsets",
               [&] { segmented_reduce(group, Shards{{Lists::of_size(10, 10), x.data(), 100, out.data()}, {}}); });
  DeviceArray<std::int64_t> offsets(std::vector<std::int64_t>{0, 50, 100}, 0);
  const auto lists = Lists::by_offsets(offsets.data(), 2);
  expect_error(Code::invalid_argument, kNoIndex, "shard 0: content is host memory",
               [&] { segmented_reduce(group, Shards{{lists, host.data(), 100, out.data()}, {}}); });
  expect_error(Code::invalid_argument, kNoIndex, "1 shards for a group of 2",
               [&] { segmented_reduce(group, Shards{{lists, x.data(), 100, out.data()}}); });
  expect_error(Code::invalid_argument, kNoIndex, "offsets", [&] {
    segmented_reduce(group, Shards{{lists, x.data(), 100, out.data()}, {{}, x.data(), 5, nullptr}});
  });
  const Group checked = Group::of_policies(std::vector(2, gpu::Policy{}.with_overflow(Overflow::checked)));
  expect_error(Code::unsupported, kNoIndex, "cannot be checked",
               [&] { segmented_reduce(checked, Shards{{lists, x.data(), 100, out.data()}, {}}); });
  expect_error(Code::unsupported, kNoIndex, "mul of integers is not checked",
               [&] { segmented_reduce(checked, Shards{{lists, x.data(), 100, out.data()}, {}}, mul); });
  DeviceArray<std::int64_t> buffer(11);
  expect_error(Code::invalid_argument, kNoIndex, "shard 1: starts is host memory", [&] {
    upsweep::offsets(group, std::vector<gpu::OffsetsShard<std::int32_t>>{{x.data(), x.data(), 10, buffer.data()},
                                                                         {host.data(), x.data(), 10, buffer.data()}});
  });
  expect_error(Code::invalid_argument, kNoIndex, "offsets: a null pointer", [&] {
    upsweep::offsets(group, std::vector<gpu::OffsetsShard<std::int32_t>>{{x.data(), x.data(), 10, nullptr}, {}});
  });
}

}  // namespace
}  // namespace upsweep
