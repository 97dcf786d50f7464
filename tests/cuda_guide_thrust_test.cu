// SPDX-License-Identifier: Apache-2.0
// tests/cuda_guide_thrust_test.cu: the examples of docs/guide/for_thrust.md: Thrust and upsweep must produce the same
// results.
//
// The guide shows the code between `// [name]` and `// [end]`.
#include <gtest/gtest.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include <climits>
#include <cstdint>
#include <cuda/functional>
#include <cuda/std/functional>
#include <vector>

#include "guide_arrays.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/group_by.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/select.hpp"

namespace {

using upsweep::tests::require;

class GuideThrust : public upsweep::tests::GuideTest {
 protected:
  void SetUp() override {
    GuideTest::SetUp();
    if (IsSkipped()) return;
    on = thrust::cuda::par_nosync.on(stream);
    parents = output<std::int64_t>(n, kTheirs);
    // [parents with Thrust]
    // Thrust: the list of each element
    const thrust::counting_iterator<std::int64_t> first(0);
    thrust::upper_bound(on, offsets + 1, offsets + lists + 1, first, first + n, parents);
    // [end]
    require(cudaDeviceSynchronize());
  }

 public:
  decltype(thrust::cuda::par_nosync.on(nullptr)) on = thrust::cuda::par_nosync.on(nullptr);
  std::int64_t* parents = nullptr;
};

TEST_F(GuideThrust, Policies) {
  // [policies]
  // Thrust: par waits after every algorithm, par_nosync only where the host needs a result
  const auto on = thrust::cuda::par_nosync.on(stream);
  // upsweep
  const auto policy = upsweep::gpu::Policy{}.with_stream(stream);
  // [end]
  // [inclusive scan]
  // Thrust
  thrust::inclusive_scan(on, x, x + n, theirs);
  // upsweep
  upsweep::inclusive_scan(policy, x, n, ours);
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, DeviceVectors) {
  const thrust::device_vector<int> in = values(x, n);
  thrust::device_vector<int> sums(n);
  thrust::device_vector<int> same(n);
  // [device vector]
  // Thrust
  thrust::inclusive_scan(in.begin(), in.end(), sums.begin());
  // upsweep
  upsweep::inclusive_scan(policy, in.data().get(), n, same.data().get());
  // [end]
  expect_same<int>(sums.data().get(), same.data().get(), n);
}

TEST_F(GuideThrust, ExclusiveScan) {
  // [exclusive scan]
  // Thrust
  thrust::exclusive_scan(on, x, x + n, theirs, INT_MAX, cuda::minimum<>{});
  // upsweep
  upsweep::exclusive_scan(policy, x, n, ours, INT_MAX, upsweep::min);  // or cuda::minimum<>{}, with scan.cuh
  // [end]
  expect_same(theirs, ours, n);
}

// [own operator]
/// The last number that is not 0: fills gaps. It is associative, but does not commute.
struct FillForward {
  __host__ __device__ int operator()(int before, int after) const { return after != 0 ? after : before; }
};
// [end]

TEST_F(GuideThrust, OperatorsOfOnesOwn) {
  // [own operator's scan]
  // Thrust
  thrust::inclusive_scan(on, x, x + n, theirs, FillForward{});
  // upsweep, with upsweep/scan.cuh
  upsweep::inclusive_scan(policy, x, n, ours, FillForward{});
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, Reduce) {
  // [reduce]
  // Thrust: in the type of the initial value
  const std::int64_t sum = thrust::reduce(on, x, x + n, std::int64_t{0});
  // upsweep: also in the type of the initial value
  const std::int64_t same = upsweep::reduce(policy, x, n, std::int64_t{0});
  // [end]
  EXPECT_EQ(sum, same);
}

TEST_F(GuideThrust, Count) {
  // [count]
  // Thrust
  const auto kept = thrust::count(on, flags, flags + n, 1);
  // upsweep
  const std::int64_t same = upsweep::count_kept(policy, upsweep::Mask::bytes(flags, n));
  // [end]
  EXPECT_EQ(kept, same);
}

TEST_F(GuideThrust, CopyIf) {
  // [copy if]
  // Thrust
  int* const end = thrust::copy_if(on, x, x + n, flags, theirs, cuda::std::identity{});
  // upsweep
  const upsweep::SelectColumn column(x, n, ours, n);
  const std::int64_t kept = upsweep::select(policy, upsweep::Mask::bytes(flags, n), column);
  // [end]
  ASSERT_EQ(end - theirs, kept);
  expect_same(theirs, ours, kept);
}

TEST_F(GuideThrust, StablePartition) {
  const std::int64_t kept = upsweep::count_kept(policy, upsweep::Mask::bytes(flags, n));
  // [stable partition]
  // Thrust
  thrust::stable_partition_copy(on, x, x + n, flags, theirs, theirs + kept, cuda::std::identity{});
  // upsweep: returns the number of kept elements
  const upsweep::SelectColumn column(x, n, ours, n);
  const std::int64_t same = upsweep::partition(policy, upsweep::Mask::bytes(flags, n), column);
  // [end]
  EXPECT_EQ(kept, same);
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, Gather) {
  const std::int64_t* const at = parents;  // any indices: numbers from 0 to n - 1
  // [gather]
  // Thrust: an invalid index reads other memory
  thrust::gather(on, at, at + n, x, theirs);
  // upsweep: an invalid index is an error; -1 is the last element
  upsweep::take(policy, upsweep::Indices(at, n), upsweep::SelectColumn(x, n, ours, n));
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, InclusiveScanByKey) {
  // [inclusive scan by key]
  // Thrust
  thrust::inclusive_scan_by_key(on, keys, keys + n, x, theirs);
  // upsweep
  upsweep::inclusive_scan_by_key(policy, keys, x, n, ours);
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, ReduceByKey) {
  // [reduce by key]
  // Thrust
  const auto ends = thrust::reduce_by_key(on, keys, keys + n, x, their_keys, theirs);
  // upsweep
  const auto reduced = upsweep::reduce_by_key(policy, keys, x, n, our_keys, ours, n);
  // [end]
  ASSERT_EQ(ends.first - their_keys, reduced.runs);
  expect_same(their_keys, our_keys, reduced.runs);
  expect_same(theirs, ours, reduced.runs);
}

TEST_F(GuideThrust, Groups) {
  int* const sorted_keys = output<int>(n, kTheirs);
  int* const sorted = output<int>(n, kTheirs);
  require(cudaDeviceSynchronize());
  // [groups]
  // Thrust: x has the keys, in no order
  thrust::copy_n(on, x, n, sorted_keys);
  thrust::copy_n(on, keys, n, sorted);
  thrust::sort_by_key(on, sorted_keys, sorted_keys + n, sorted);
  const auto ends = thrust::reduce_by_key(on, sorted_keys, sorted_keys + n, sorted, their_keys, theirs);
  // upsweep: groups in the order of their first key
  const auto grouped = upsweep::group_by(policy, x, keys, n, our_keys, ours, n);
  // [end]
  ASSERT_EQ(ends.first - their_keys, grouped.groups);
  const auto by_key = values_by_key(our_keys, ours, grouped.groups);
  ASSERT_EQ(std::ssize(by_key), grouped.groups);
  EXPECT_EQ(values_by_key(their_keys, theirs, grouped.groups), by_key);
}

TEST_F(GuideThrust, UniqueCount) {
  // [unique count]
  // Thrust
  const auto runs = thrust::unique_count(on, keys, keys + n);
  // upsweep
  const std::int64_t same = upsweep::count_key_runs(policy, keys, n);
  // [end]
  EXPECT_EQ(runs, same);
}

// [filtered sum's functor]
struct AmountIfKept {
  std::uint32_t limit;
  __host__ __device__ std::int64_t operator()(
      const thrust::tuple<std::uint32_t, std::int64_t, std::int64_t>& row) const {
    return thrust::get<0>(row) < limit ? thrust::get<1>(row) * thrust::get<2>(row) : 0;
  }
};
// [end]

TEST_F(GuideThrust, FilteredSum) {
  std::vector<std::uint32_t> given;
  for (const int each : values(keys, n)) given.push_back(static_cast<std::uint32_t>(each));
  const std::uint32_t* const key = array(given);
  const std::int64_t* const quantity = parents;
  const std::int64_t* const price = parents;
  require(cudaDeviceSynchronize());
  // [filtered sum]
  // Thrust: SELECT SUM(quantity * price) WHERE key < 3000
  const auto rows = thrust::make_zip_iterator(key, quantity, price);
  const std::int64_t sum =
      thrust::transform_reduce(on, rows, rows + n, AmountIfKept{3000}, std::int64_t{0}, cuda::std::plus<>{});
  // upsweep
  const std::int64_t same = upsweep::filtered_sum(policy, key, quantity, price, n, 3000);
  // [end]
  EXPECT_EQ(sum, same);
  EXPECT_GT(sum, 0);
}

TEST_F(GuideThrust, OffsetsFromLengths) {
  // [lengths to offsets]
  // Thrust
  cudaMemsetAsync(their_longs, 0, sizeof(std::int64_t), stream);
  thrust::inclusive_scan(on, lengths, lengths + lists, their_longs + 1);
  // upsweep: a negative length is an error
  upsweep::lengths_to_offsets(policy, lengths, lists, our_longs);
  // [end]
  expect_same(their_longs, our_longs, lists + 1);
}

TEST_F(GuideThrust, Parents) {
  // [parents]
  // upsweep
  upsweep::offsets_to_parents(policy, upsweep::Lists::by_offsets(offsets, lists), our_longs, n);
  // [end]
  expect_same<std::int64_t>(parents, our_longs, n);
}

TEST_F(GuideThrust, ValuesOfListsToTheirElements) {
  const int* const weight = keys;  // one weight per list, and some more
  // [broadcast]
  // Thrust
  thrust::gather(on, parents, parents + n, weight, theirs);
  // upsweep
  upsweep::broadcast(policy, upsweep::Lists::by_offsets(offsets, lists), weight, sizeof(int), ours, n);
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideThrust, SumsOfLists) {
  // [segmented reduce]
  // Thrust: lists without elements are left out
  const auto ends = thrust::reduce_by_key(on, parents, parents + n, x, their_longs, theirs);
  // upsweep
  upsweep::segmented_reduce(policy, upsweep::Lists::by_offsets(offsets, lists), x, n, ours);
  // [end]
  const auto list = values(their_longs, ends.first - their_longs);
  const auto sums = values(theirs, ends.second - theirs);
  const auto same = values(ours, lists);
  const auto sizes = values(lengths, lists);
  std::vector<int> expected(same.size());
  for (std::size_t i = 0; i < list.size(); ++i) expected[static_cast<std::size_t>(list[i])] = sums[i];
  EXPECT_TRUE(same == expected);
  EXPECT_LT(list.size(), same.size());
}

TEST_F(GuideThrust, ListsSorted) {
  std::int64_t* const of_list = their_longs;
  upsweep::tests::copy_in(theirs, x, n * sizeof(int));
  upsweep::tests::copy_in(of_list, parents, n * sizeof(std::int64_t));
  require(cudaDeviceSynchronize());
  // [segmented sort]
  // Thrust: by value, then by list; `theirs` and `of_list` are copies of x and parents
  thrust::stable_sort_by_key(on, theirs, theirs + n, of_list);
  thrust::stable_sort_by_key(on, of_list, of_list + n, theirs);
  // upsweep
  upsweep::segmented_sort(policy, upsweep::Lists::by_offsets(offsets, lists), x, n, ours, n);
  // [end]
  expect_same(theirs, ours, n);
}

}  // namespace
