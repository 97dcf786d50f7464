// SPDX-License-Identifier: Apache-2.0
// tests/cuda_guide_cub_test.cu: the examples of docs/guide/for_cub.md: CUB and upsweep must produce the same results.
//
// The guide shows the code between `// [name]` and `// [end]`.
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cub/cub.cuh>
#include <cuda/functional>
#include <vector>

#include "guide_arrays.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/group_by.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/reduce.cuh"
#include "upsweep/scan.cuh"
#include "upsweep/segmented_reduce.cuh"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/select.hpp"

namespace {

using upsweep::tests::require;

// [twice]
/// Calls CUB to get the number of bytes that it needs, and again with memory of this size.
template <class Call>
void twice(Call call) {
  void* temporary = nullptr;
  std::size_t bytes = 0;
  require(call(temporary, bytes));
  require(cudaMalloc(&temporary, bytes));
  require(call(temporary, bytes));
  require(cudaFree(temporary));
}
// [end]

class GuideCub : public upsweep::tests::GuideTest {};

TEST_F(GuideCub, InclusiveSum) {
  // [inclusive sum]
  // CUB
  void* temporary = nullptr;
  std::size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream);
  cudaMallocAsync(&temporary, bytes, stream);
  cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream);
  cudaFreeAsync(temporary, stream);
  // upsweep
  upsweep::inclusive_scan(policy, x, n, ours);
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideCub, MemoryIsReused) {
  // [workspace]
  // CUB
  void* temporary = nullptr;
  std::size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream);
  cudaMalloc(&temporary, bytes);
  for (int step = 0; step < 3; ++step) cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream);
  // upsweep
  upsweep::gpu::Workspace workspace(upsweep::gpu::scan_workspace<int, int>(policy, n), 0, stream);
  const auto reusing = policy.with_workspace(workspace);
  for (int step = 0; step < 3; ++step) upsweep::inclusive_scan(reusing, x, n, ours);
  // [end]
  expect_same(theirs, ours, n);
  require(cudaFree(temporary));
}

TEST_F(GuideCub, Graphs) {
  upsweep::gpu::Workspace workspace(upsweep::gpu::scan_workspace<int, int>(policy, n), 0, stream);
  const auto reusing = policy.with_workspace(workspace);
  void* temporary = nullptr;
  std::size_t bytes = 0;
  require(cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream));
  require(cudaMalloc(&temporary, bytes));
  cudaGraph_t graph = nullptr;
  require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  // [graph]
  // CUB, between cudaStreamBeginCapture and cudaStreamEndCapture
  cub::DeviceScan::InclusiveSum(temporary, bytes, x, theirs, n, stream);
  // upsweep
  upsweep::inclusive_scan(reusing, x, n, ours);
  // [end]
  require(cudaStreamEndCapture(stream, &graph));
  cudaGraphExec_t replay = nullptr;
  require(cudaGraphInstantiate(&replay, graph, 0));
  require(cudaGraphLaunch(replay, stream));
  expect_same(theirs, ours, n);
  require(cudaGraphExecDestroy(replay));
  require(cudaGraphDestroy(graph));
  require(cudaFree(temporary));
}

TEST_F(GuideCub, ExclusiveMaximum) {
  // [exclusive maximum]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(temporary, bytes, x, theirs, cuda::maximum<>{}, INT_MIN, n, stream);
  });
  // upsweep
  upsweep::exclusive_scan(policy, x, n, ours, INT_MIN, upsweep::max);  // or cuda::maximum<>{}, with scan.cuh
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideCub, WiderSums) {
  // [wider sums]
  // CUB: the type of the initial value
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScanInit(temporary, bytes, x, their_longs, cuda::std::plus<>{}, std::int64_t{0}, n,
                                              stream);
  });
  // upsweep: the type of the output
  upsweep::inclusive_scan(policy, x, n, our_longs);
  // [end]
  expect_same(their_longs, our_longs, n);
}

// [own operator]
struct Range {
  int least, most;
};
struct Widen {
  __host__ __device__ Range operator()(Range a, Range b) const {
    return {a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most};
  }
};
// [end]
bool operator==(const Range& a, const Range& b) { return a.least == b.least && a.most == b.most; }

TEST_F(GuideCub, OperatorsOfOnesOwn) {
  std::vector<Range> in;
  for (const int each : values(x, n)) in.push_back({each, each});
  const Range* const ranges = array(in);
  Range* const their_ranges = output<Range>(n, kTheirs);
  Range* const our_ranges = output<Range>(n, kOurs);
  require(cudaDeviceSynchronize());
  // [own operator's scan]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(temporary, bytes, ranges, their_ranges, Widen{}, n, stream);
  });
  // upsweep, with upsweep/scan.cuh
  upsweep::inclusive_scan(policy, ranges, n, our_ranges, Widen{});
  // [end]
  expect_same(their_ranges, our_ranges, n);
  // [own operator's reduction]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(temporary, bytes, ranges, their_ranges, n, Widen{}, Range{0, 0}, stream);
  });
  // upsweep, with upsweep/reduce.cuh
  upsweep::reduce_async(policy, ranges, n, our_ranges, Range{0, 0}, Widen{});
  // [end]
  expect_same(their_ranges, our_ranges, 1);
}

TEST_F(GuideCub, SumInDeviceMemory) {
  // [sum]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(temporary, bytes, x, theirs, n, stream);
  });
  // upsweep
  upsweep::reduce_async(policy, x, n, ours, 0);
  // [end]
  expect_same(theirs, ours, 1);
}

TEST_F(GuideCub, MaximumOnTheHost) {
  // [maximum]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceReduce::Max(temporary, bytes, x, theirs, n, stream);
  });
  int most = 0;
  cudaMemcpyAsync(&most, theirs, sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  // upsweep
  const int same = upsweep::reduce(policy, x, n, INT_MIN, upsweep::max);
  // [end]
  EXPECT_EQ(most, same);
}

TEST_F(GuideCub, SegmentedSum) {
  // [segmented sum]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(temporary, bytes, x, theirs, lists, offsets, offsets + 1, stream);
  });
  // upsweep
  upsweep::segmented_reduce(policy, upsweep::Lists::by_offsets(offsets, lists), x, n, ours);
  // [end]
  expect_same(theirs, ours, lists);
}

TEST_F(GuideCub, SegmentedArgMax) {
  using Pair = cub::KeyValuePair<int, int>;
  Pair* const pairs = output<Pair>(lists, kTheirs);
  require(cudaDeviceSynchronize());
  // [segmented argmax]
  // CUB: KeyValuePair<int, int>, of an empty list {1, INT_MIN}
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::ArgMax(temporary, bytes, x, pairs, lists, offsets, offsets + 1, stream);
  });
  // upsweep: int64, of an empty list -1
  upsweep::segmented_reduce(policy, upsweep::Lists::by_offsets(offsets, lists), x, n, our_longs, upsweep::argmax);
  // [end]
  const auto found = values(pairs, lists);
  const auto same = values(our_longs, lists);
  const auto sizes = values(lengths, lists);
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(same[i], sizes[i] == 0 ? -1 : found[i].key) << i;
    ASSERT_TRUE(sizes[i] > 0 || (found[i].key == 1 && found[i].value == INT_MIN)) << i;
  }
}

TEST_F(GuideCub, SegmentedReductionByAnOperatorOfOnesOwn) {
  std::vector<Range> in;
  for (const int each : values(x, n)) in.push_back({each, each});
  const Range* const ranges = array(in);
  Range* const their_ranges = output<Range>(lists, kTheirs);
  Range* const our_ranges = output<Range>(lists, kOurs);
  require(cudaDeviceSynchronize());
  // [own operator's segmented reduction]
  // CUB
  const Range none{INT_MAX, INT_MIN};
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Reduce(temporary, bytes, ranges, their_ranges, lists, offsets, offsets + 1,
                                              Widen{}, none, stream);
  });
  // upsweep, with upsweep/segmented_reduce.cuh
  upsweep::segmented_reduce(policy, upsweep::Lists::by_offsets(offsets, lists), ranges, n, our_ranges, none, Widen{});
  // [end]
  expect_same(their_ranges, our_ranges, lists);
}

TEST_F(GuideCub, SegmentedSort) {
  // [segmented sort]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSegmentedSort::StableSortKeysDescending(temporary, bytes, x, theirs, n, lists, offsets,
                                                              offsets + 1, stream);
  });
  // upsweep
  upsweep::segmented_sort(policy, upsweep::Lists::by_offsets(offsets, lists), x, n, ours, n, {.descending = true});
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideCub, ReduceByKey) {
  // [reduce by key]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, keys, their_keys, x, theirs, count, cuda::std::plus<>{}, n,
                                          stream);
  });
  // upsweep
  const auto reduced = upsweep::reduce_by_key(policy, keys, x, n, our_keys, ours, n);
  // [end]
  ASSERT_EQ(values(count, 1)[0], reduced.runs);
  expect_same(their_keys, our_keys, reduced.runs);
  expect_same(theirs, ours, reduced.runs);
}

TEST_F(GuideCub, Groups) {
  int* const sorted_keys = output<int>(n, kTheirs);
  int* const sorted = output<int>(n, kTheirs);
  require(cudaDeviceSynchronize());
  // [groups]
  // CUB: x has the keys, in no order
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, x, sorted_keys, keys, sorted, n, 0, 32, stream);
  });
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(temporary, bytes, sorted_keys, their_keys, sorted, theirs, count,
                                          cuda::std::plus<>{}, n, stream);
  });
  // upsweep: groups in the order of their first key
  const auto grouped = upsweep::group_by(policy, x, keys, n, our_keys, ours, n);
  // [end]
  ASSERT_EQ(values(count, 1)[0], grouped.groups);
  const auto by_key = values_by_key(our_keys, ours, grouped.groups);
  ASSERT_EQ(std::ssize(by_key), grouped.groups);
  EXPECT_EQ(values_by_key(their_keys, theirs, grouped.groups), by_key);
}

TEST_F(GuideCub, InclusiveSumByKey) {
  // [inclusive sum by key]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSumByKey(temporary, bytes, keys, x, theirs, n, cuda::std::equal_to<>{}, stream);
  });
  // upsweep
  upsweep::inclusive_scan_by_key(policy, keys, x, n, ours);
  // [end]
  expect_same(theirs, ours, n);
}

TEST_F(GuideCub, RunLengthEncoding) {
  // [run lengths]
  // CUB: keys and lengths of runs
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(temporary, bytes, keys, their_keys, theirs, count, n, stream);
  });
  // upsweep: where runs begin, and n at the end
  const std::int64_t runs = upsweep::key_offsets(policy, keys, n, our_longs, n + 1);
  // [end]
  ASSERT_EQ(values(count, 1)[0], runs);
  const auto begins = values(our_longs, runs + 1);
  const auto sizes = values(theirs, runs);
  for (std::size_t i = 0; i < sizes.size(); ++i) ASSERT_EQ(begins[i + 1] - begins[i], sizes[i]) << i;
}

TEST_F(GuideCub, SelectFlagged) {
  // [select]
  // CUB
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(temporary, bytes, x, flags, theirs, count, n, stream);
  });
  // upsweep
  const upsweep::SelectColumn column(x, n, ours, n);
  const std::int64_t kept = upsweep::select(policy, upsweep::Mask::bytes(flags, n), column);
  // [end]
  ASSERT_EQ(values(count, 1)[0], kept);
  expect_same(theirs, ours, kept);
}

TEST_F(GuideCub, PartitionFlagged) {
  // [partition]
  // CUB: the other elements are in reverse order
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DevicePartition::Flagged(temporary, bytes, x, flags, theirs, count, n, stream);
  });
  // upsweep: the other elements keep their order
  const upsweep::SelectColumn column(x, n, ours, n);
  const std::int64_t kept = upsweep::partition(policy, upsweep::Mask::bytes(flags, n), column);
  // [end]
  ASSERT_EQ(values(count, 1)[0], kept);
  auto reversed = values(theirs, n);
  std::reverse(reversed.begin() + kept, reversed.end());
  EXPECT_TRUE(reversed == values(ours, n));
}

TEST_F(GuideCub, ListsAreCopiedInAnotherOrder) {
  // The position of each list in x, the last list first; also as pointers, which CUB requires.
  const auto bounds = values(offsets, lists + 1);
  const std::vector<std::int64_t> first(bounds.rbegin() + 1, bounds.rend());
  const std::vector<std::int64_t> last(bounds.rbegin(), bounds.rend() - 1);
  std::vector<const int*> from;
  std::vector<int*> to;
  std::vector<std::int64_t> size;
  int* next = theirs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    from.push_back(x + first[i]);
    to.push_back(next);
    size.push_back(last[i] - first[i]);
    next += size.back();
  }
  const int** const sources = array(from);
  int** const targets = array(to);
  const std::int64_t* const sizes = array(size);
  const std::int64_t* const starts = array(first);
  const std::int64_t* const stops = array(last);
  require(cudaDeviceSynchronize());
  // [pack]
  // CUB: a source pointer, a target pointer and a length for each list; the caller must compute them
  twice([&](void* temporary, std::size_t& bytes) {
    return cub::DeviceCopy::Batched(temporary, bytes, sources, targets, sizes, lists, stream);
  });
  // upsweep: the start and stop of each list in x; it also writes the new offsets
  const auto permuted = upsweep::Lists::by_bounds(starts, stops, lists);
  upsweep::pack(policy, permuted, our_longs, upsweep::PackColumn(x, n, ours, n));
  // [end]
  expect_same(theirs, ours, n);
}

}  // namespace
