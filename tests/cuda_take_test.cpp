// SPDX-License-Identifier: Apache-2.0
// tests/cuda_take_test.cpp: partitions and takes on a GPU: masks, indices, lists, columns, errors, and what calls
// refuse.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "device_booleans.hpp"
#include "device_selections.hpp"
#include "problems/dense/partition/reference.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::DeviceArray;
using tests::DeviceBooleans;
using tests::DeviceColumn;
using tests::DeviceLists;
using tests::Failure;
using tests::failure_of;
using tests::GpuTest;
using tests::JaggedTake;
using tests::kSelectionPatterns;
using tests::kSelectionShares;
using tests::kSelectionSizes;
using tests::make_jagged_take;
using tests::make_mask;
using tests::require;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// The rungs of a ladder, and "" for the API's choice.
std::vector<std::string_view> ids_of(std::string_view problem) {
  std::vector<std::string_view> ids{""};
  for (const RungInfo& rung : tests::rungs_of(problem, Backend::cuda)) ids.push_back(rung.id);
  return ids;
}

/// Libraries refuse elements that are not aligned to their size.
bool refuses(std::string_view id, const SelectColumn& column) {
  if (id != "cuda.cub" && id != "cuda.thrust") return false;
  const auto addresses = reinterpret_cast<std::uintptr_t>(column.data) | reinterpret_cast<std::uintptr_t>(column.out);
  return addresses % static_cast<unsigned>(std::min(column.element_size, 8)) != 0;
}

// ----------------------------------------------------------------------------------------------------------- partition

void check_partition(const std::vector<bool>& booleans, std::int64_t first_bit, std::int64_t misaligned, int size,
                     std::int64_t misaligned_bytes) {
  const auto n = std::ssize(booleans);
  const std::vector<std::int64_t> order = impl::partition::expected_partition(booleans);
  SCOPED_TRACE(testing::Message() << n << " elements of " << size << " bytes, first bit " << first_bit
                                  << ", misaligned " << misaligned << ", " << misaligned_bytes << " bytes");
  DeviceBooleans mask(booleans, first_bit, misaligned);
  DeviceColumn column(n, size, misaligned_bytes);
  DeviceColumn other(n, 4, 4);
  for (const std::string_view id : ids_of("partition")) {
    column.clear(n);
    other.clear(n + 3);
    const SelectColumn columns[] = {column.view(), other.view()};
    const auto policy = gpu::Policy{}.with_rung(id);
    const auto run = [&] {
      detail::PartitionCall call{.mask = mask.view(), .columns = columns};
      const std::string_view ran = detail::run_partition(policy, call);
      EXPECT_EQ(call.kept, std::count(booleans.begin(), booleans.end(), true)) << id;
      EXPECT_EQ(ran, id.empty() ? "cuda.ranks" : id);
    };
    if (refuses(id, columns[0]) || refuses(id, columns[1])) {
      EXPECT_EQ(failure_of(run).code, Code::unsupported) << id;
      continue;
    }
    EXPECT_EQ(failure_of(run), Failure{}) << id;
    EXPECT_EQ(column.complaint(order), "") << id;
    EXPECT_EQ(other.complaint(order), "") << id;
    EXPECT_TRUE(mask.intact()) << id;
    EXPECT_EQ(partition(policy, mask.view()), std::count(booleans.begin(), booleans.end(), true)) << id;
  }
}

TEST_F(GpuTest, PartitionsOfEverySizeAndShareMatchTheReference) {
  std::int64_t turn = 0;
  for (const std::int64_t n : kSelectionSizes) {
    for (const unsigned share : kSelectionShares) {
      ++turn;
      check_partition(make_mask(n, share, 3), turn % 3 == 0 ? turn % 67 : -1, turn % 17, 1 << (turn % 5), 0);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(GpuTest, EveryElementSizeAtEveryAddressIsPartitioned) {
  const std::vector<bool> booleans = make_mask(5003, 40);
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t misaligned : {0, 1, 2, 4, 6, 8, 16}) check_partition(booleans, -1, 5, size, misaligned);
  }
  for (std::int64_t first_bit = -1; first_bit < 68; ++first_bit) {
    check_partition(booleans, first_bit, (first_bit + 5) % 19, 2, 0);
  }
}

TEST_F(GpuTest, AGraphReplaysPartitions) {
  constexpr std::int64_t n = 100'003;
  const std::vector<bool> booleans = make_mask(n, 30);
  for (const std::string_view id : ids_of("partition")) {
    SCOPED_TRACE(id);
    DeviceBooleans mask(booleans);
    DeviceColumn column(n, 8, 0);
    DeviceColumn narrow(n, 1, 0);
    column.clear(n);
    narrow.clear(n);
    DeviceArray<gpu::SelectStatus> status(1);
    const tests::OwnStream stream;
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(id);
    const auto size = gpu::partition_workspace(policy, n);
    gpu::Workspace workspace(size, 0, stream);
    policy = policy.with_workspace(workspace);
    const SelectColumn columns[] = {column.view(), narrow.view()};
    const tests::Replay replay(stream, [&] {
      EXPECT_EQ(failure_of([&] { partition(policy, mask.view(), columns); }).code, Code::invalid_argument);
      partition_async(policy, mask.view(), columns, status.data());
    });
    for (int run = 0; run < 3; ++run) {
      const bool none = run == 1;  // the mask may change between replays
      DeviceBooleans now(none ? std::vector<bool>(n) : booleans);
      tests::copy_in(mask.data(), now.data(), n);
      require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
      replay.launch(column, narrow, status);
      require(cudaStreamSynchronize(stream));
      const gpu::SelectStatus reported = status.values()[0];
      EXPECT_EQ(reported.code, Code::ok);
      EXPECT_EQ(reported.first_bad, kNoIndex);
      EXPECT_EQ(reported.kept, none ? 0 : std::count(booleans.begin(), booleans.end(), true));
      const auto order = impl::partition::expected_partition(none ? std::vector<bool>(n) : booleans);
      EXPECT_EQ(column.complaint(order), "");
      EXPECT_EQ(narrow.complaint(order), "");
    }
  }
}

TEST_F(GpuTest, PartitionsSayWhatIsWrong) {
  DeviceBooleans mask(make_mask(100, 50));
  std::vector<std::uint8_t> host(100);
  DeviceColumn column(100, 8, 0);
  column.clear(100);
  const auto code = [&](const gpu::Policy& policy, const Mask& by, const SelectColumn& view) {
    return failure_of([&] { partition(policy, by, view); }).code;
  };
  SelectColumn narrow = column.view();
  narrow.capacity = 99;
  SelectColumn over_itself = column.view();
  over_itself.out = const_cast<void*>(over_itself.data);
  SelectColumn elsewhere = column.view();
  std::vector<double> host_out(100);
  elsewhere.out = host_out.data();
  EXPECT_EQ(code({}, mask.view(), column.view()), Code::ok);
  EXPECT_EQ(code({}, mask.view(), narrow), Code::unequal_lengths);
  EXPECT_EQ(code({}, mask.view(), over_itself), Code::invalid_argument);
  EXPECT_EQ(code({}, mask.view(), elsewhere), Code::invalid_argument);
  EXPECT_EQ(code({}, Mask::bytes(host.data(), 100), column.view()), Code::invalid_argument);
  EXPECT_EQ(code({}, Mask::bytes(mask.data(), 99), column.view()), Code::unequal_lengths);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.tiles"), mask.view(), column.view()), Code::unsupported);
  EXPECT_EQ(partition(gpu::Policy{}, mask.view()), count_kept(gpu::Policy{}, mask.view()).kept) << "without columns";
}

// ----------------------------------------------------------------------------------------------------- takes of arrays

template <class T>
class CudaTake : public GpuTest {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(CudaTake, BoundTypes);

TYPED_TEST(CudaTake, GathersByPositionsFromBothEnds) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  std::int64_t turn = 0;
  for (const std::int64_t content : {1, 5, 1000, 100'003}) {
    for (const std::int64_t n : kSelectionSizes) {
      ++turn;
      std::vector<T> host(static_cast<std::size_t>(n));
      std::vector<std::int64_t> positions(host.size());
      for (std::size_t k = 0; k < host.size(); ++k) {
        positions[k] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(content));
        const bool from_end = std::is_signed_v<T> && random() % 2 == 0;
        host[k] = static_cast<T>(from_end ? positions[k] - content : positions[k]);
      }
      DeviceArray<T> indices(host, turn % 4);
      DeviceColumn column(content, 1 << (turn % 5), 0);
      DeviceColumn other(content, 8, turn % 9);
      for (const std::string_view id : ids_of("take")) {
        SCOPED_TRACE(testing::Message() << id << ' ' << n << " of " << content);
        column.clear(n);
        other.clear(n + 7);
        const auto run = [&] {
          const SelectColumn columns[] = {column.view(), other.view()};
          detail::TakeCall call{.indices = Indices(indices.data(), n), .columns = columns};
          EXPECT_EQ(detail::run_take(gpu::Policy{}.with_rung(id), call), id.empty() ? "cuda.tiles" : id);
          EXPECT_EQ(call.taken, n);
        };
        if (refuses(id, column.view()) || refuses(id, other.view())) {
          EXPECT_EQ(failure_of(run).code, Code::unsupported);
          continue;
        }
        EXPECT_EQ(failure_of(run), Failure{});
        EXPECT_EQ(column.complaint(positions), "");
        EXPECT_EQ(other.complaint(positions), "");
        EXPECT_TRUE(indices.intact());
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(CudaTake, NamesTheFirstBadIndex) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 9, 5000, 100'003}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      for (const std::int64_t bad :
           {std::int64_t{7}, std::int64_t{std::numeric_limits<T>::max()}, std::int64_t{std::is_signed_v<T> ? -8 : 8},
            std::int64_t{std::is_signed_v<T> ? std::numeric_limits<T>::min() : 9}}) {
        std::vector<T> host(static_cast<std::size_t>(n), T{6});
        for (std::size_t k = static_cast<std::size_t>(at); k < host.size(); k += 7) host[k] = static_cast<T>(bad);
        DeviceArray<T> indices(host, 0);
        DeviceColumn column(7, 8, 0);
        DeviceColumn other(7, 2, 0);
        for (const std::string_view id : ids_of("take")) {
          const auto policy = gpu::Policy{}.with_rung(id);
          column.clear(n);
          other.clear(n);
          EXPECT_EQ(failure_of([&] { take(policy, Indices(indices.data(), n), column.view(), other.view()); }),
                    (Failure{Code::index_out_of_range, at}))
              << bad << ' ' << id;
          EXPECT_TRUE(column.intact() && other.intact()) << id;
        }
      }
    }
  }
}

TEST_F(GpuTest, EveryElementSizeAtEveryAddressIsTaken) {
  std::vector<std::int64_t> host(3001);
  for (std::size_t k = 0; k < host.size(); ++k) host[k] = static_cast<std::int64_t>(k * 7 % 1009) - 1009;
  std::vector<std::int64_t> positions = host;
  for (std::int64_t& position : positions) position += 1009;
  DeviceArray<std::int64_t> indices(host, 1);
  for (const int size : {1, 2, 4, 8, 16}) {
    for (const std::int64_t misaligned : {0, 1, 2, 4, 6, 8, 16}) {
      DeviceColumn column(1009, size, misaligned);
      for (const std::string_view id : ids_of("take")) {
        column.clear(3001);
        if (refuses(id, column.view())) continue;
        take(gpu::Policy{}.with_rung(id), Indices(indices.data(), 3001), column.view());
        EXPECT_EQ(column.complaint(positions), "") << id << ' ' << size << ' ' << misaligned;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------ takes of lists

/// A take from lists with its arrays on the device, with bounds of one type and indices of another.
template <class T, class I>
struct DeviceTake {
  DeviceTake(const JaggedTake& made, bool by_offsets, std::int64_t misaligned)
      : lists(made.lists, by_offsets, misaligned),
        index_lists(made.index_lists, by_offsets, misaligned / 2),
        indices(std::vector<I>(made.indices.begin(), made.indices.end()), misaligned),
        offsets(made.index_lists.lists() + 1),
        content(made.lists.content()),
        count(std::ssize(made.indices)) {}

  std::int64_t into(const gpu::Policy& policy, std::span<const SelectColumn> columns) {
    return take(policy, lists.view(), content, index_lists.view(), Indices(indices.data(), count), offsets.data(),
                columns);
  }

  DeviceLists<T> lists;
  DeviceLists<T> index_lists;
  DeviceArray<I> indices;
  DeviceArray<std::int64_t> offsets;
  std::int64_t content;
  std::int64_t count;
};

template <class T, class I>
void check_take(const JaggedTake& made, bool by_offsets, std::int64_t misaligned, int size,
                std::int64_t misaligned_bytes) {
  const auto taken = std::ssize(made.positions);
  DeviceTake<T, I> given(made, by_offsets, misaligned);
  DeviceColumn column(given.content, size, misaligned_bytes);
  DeviceColumn other(given.content, 2, 0);
  column.clear(taken);
  other.clear(taken + 2000);
  const SelectColumn columns[] = {column.view(), other.view()};
  EXPECT_EQ(given.into({}, columns), taken);
  EXPECT_EQ(given.offsets.values(), made.offsets);
  EXPECT_EQ(column.complaint(made.positions), "");
  EXPECT_EQ(other.complaint(made.positions), "");
  DeviceArray<std::int64_t> offsets(std::ssize(made.offsets), 1);
  EXPECT_EQ(take(gpu::Policy{}, given.lists.view(), given.content, given.index_lists.view(),
                 Indices(given.indices.data(), given.count), offsets.data(), {}),
            taken);
  EXPECT_EQ(offsets.values(), made.offsets);
  DeviceArray<std::int64_t> positions(taken);
  EXPECT_EQ(take_positions(gpu::Policy{}, given.lists.view(), given.content, given.index_lists.view(),
                           Indices(given.indices.data(), given.count), given.offsets.data(), positions.data(), taken),
            taken);
  EXPECT_EQ(positions.values(), made.positions);
  EXPECT_TRUE(given.offsets.intact() && given.indices.intact() && offsets.intact() && positions.intact());
}

TYPED_TEST(CudaTake, OfListsMatchesThePlainLoop) {
  std::int64_t turn = 0;
  for (const ListPattern pattern : kSelectionPatterns) {
    for (const std::int64_t n : kSelectionSizes) {
      for (const bool in_order : {true, false}) {
        ++turn;
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " in order " << in_order);
        const JaggedTake made = make_jagged_take(pattern, n, in_order);
        const int size = 1 << (turn % 5);
        if (turn % 2 == 0) check_take<TypeParam, std::int64_t>(made, in_order, turn % 5, size, turn % 11);
        if (turn % 2 == 1) check_take<TypeParam, std::int32_t>(made, in_order, turn % 3, size, 0);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

/// Index lists of these lengths, into lists with 10 elements each; the indices count up to 9 and begin again.
JaggedTake counted(const std::vector<std::int64_t>& lengths) {
  JaggedTake made;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto list = static_cast<std::int64_t>(i) * 10;
    made.lists.starts.push_back(list);
    made.lists.stops.push_back(list + 10);
    made.index_lists.starts.push_back(at);
    made.index_lists.stops.push_back(at += lengths[i]);
    for (std::int64_t j = 0; j < lengths[i]; ++j) {
      made.indices.push_back(j % 10);
      made.positions.push_back(list + j % 10);
    }
    made.offsets.push_back(at);
  }
  made.lists.mask.resize(lengths.size() * 10);
  made.index_lists.mask.resize(made.indices.size());
  return made;
}

TEST_F(GpuTest, ManyEmptyIndexListsInATileAreNoMatter) {
  for (const std::int64_t empty : {3, 4095, 4096, 10'000}) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(empty));
    lengths.push_back(5);
    lengths.insert(lengths.end(), static_cast<std::size_t>(empty), 0);
    lengths.insert(lengths.end(), 3000, 1);
    lengths.insert(lengths.end(), static_cast<std::size_t>(empty), 0);
    check_take<std::int64_t, std::int64_t>(counted(lengths), true, 0, 8, 0);
  }
}

TEST_F(GpuTest, NullListsTakeNothing) {
  JaggedTake made = counted(std::vector<std::int64_t>(2000, 3));
  made.positions.clear();
  made.offsets = {0};
  for (std::size_t i = 0; i < 2000; ++i) {
    const bool is_there = i % 3 != 1;
    made.index_lists.valid.push_back(is_there);
    if (!is_there) made.index_lists.starts[i] = -70 - static_cast<std::int64_t>(i % 2);  // is not checked
    for (std::int64_t j = 0; is_there && j < 3; ++j) made.positions.push_back(made.lists.starts[i] + j);
    made.offsets.push_back(std::ssize(made.positions));
  }
  for (const std::int64_t first_bit : {0, 5}) check_take<std::int64_t, std::int64_t>(made, false, first_bit, 8, 0);
  // No index selects an element of a null list.
  made.lists.valid.assign(2000, true);
  made.lists.valid[0] = false;
  made.lists.valid[1200] = false;
  made.index_lists.stops[0] = made.index_lists.starts[0];
  DeviceTake<std::int64_t, std::int64_t> given(made, false, 0);
  EXPECT_EQ(failure_of([&] { given.into({}, {}); }), (Failure{Code::index_out_of_range, 3600}));
}

TEST_F(GpuTest, ListsOfOneSizeAreTakenFrom) {
  const JaggedTake made = counted(std::vector<std::int64_t>(700, 3));
  DeviceArray<std::int64_t> indices(made.indices, 0);
  DeviceArray<std::int64_t> offsets(701);
  DeviceColumn column(7000, 4, 0);
  column.clear(2100);
  const SelectColumn view = column.view();
  EXPECT_EQ(take(gpu::Policy{}, Lists::of_size(700, 10), 7000, Lists::of_size(700, 3), Indices(indices.data(), 2100),
                 offsets.data(), std::span(&view, 1)),
            2100);
  EXPECT_EQ(column.complaint(made.positions), "");
  EXPECT_EQ(offsets.values(), made.offsets);
}

// -------------------------------------------------------------------------------------------------------------- errors

/// The result of the same call on the host.
Failure expected_failure(const JaggedTake& made, std::int64_t capacity) {
  std::vector<std::int64_t> offsets(made.offsets.size());
  std::vector<std::int64_t> positions(static_cast<std::size_t>(capacity) + 1);  // not a null pointer
  return failure_of([&] {
    take_positions(par, Lists(made.lists.starts, made.lists.stops), made.lists.content(),
                   Lists(made.index_lists.starts, made.index_lists.stops), Indices(made.indices), offsets.data(),
                   positions.data(), capacity);
  });
}

void expect_same_failure(const JaggedTake& made, const std::string& what) {
  const auto capacity = std::ssize(made.positions);
  for (const std::int64_t less : {std::int64_t{0}, capacity}) {
    const Failure expected = expected_failure(made, capacity - less);
    DeviceTake<std::int64_t, std::int64_t> given(made, false, 0);
    DeviceColumn column(given.content, 8, 0);
    column.clear(capacity - less);
    const SelectColumn view = column.view();
    EXPECT_EQ(failure_of([&] { given.into({}, std::span(&view, 1)); }), expected) << what;
    EXPECT_TRUE(column.intact() && given.offsets.intact()) << what;
    DeviceArray<gpu::TakeStatus> status(1);
    take_async({}, given.lists.view(), given.content, given.index_lists.view(),
               Indices(given.indices.data(), given.count), given.offsets.data(), std::span(&view, 1), status.data());
    const gpu::TakeStatus reported = status.values()[0];
    EXPECT_EQ((Failure{reported.code, reported.first_bad}), expected) << what;
    DeviceArray<std::int64_t> positions(capacity - less);
    EXPECT_EQ(failure_of([&] {
                take_positions(gpu::Policy{}, given.lists.view(), given.content, given.index_lists.view(),
                               Indices(given.indices.data(), given.count), given.offsets.data(), positions.data(),
                               capacity - less);
              }),
              expected)
        << what;
    EXPECT_TRUE(positions.intact()) << what;
    if (less > 0) continue;
    EXPECT_EQ(failure_of([&] { given.into({}, {}); }), expected) << what << ", without columns";
  }
}

TEST_F(GpuTest, ErrorsOfTakesComeListByListAsOnTheHost) {
  for (const std::int64_t n : {1, 3, 40, 3000}) {
    const JaggedTake good = counted(std::vector<std::int64_t>(static_cast<std::size_t>(n), 3));
    expect_same_failure(good, "good");
    std::mt19937_64 random(static_cast<unsigned>(n));
    for (int round = 0; round < 60; ++round) {
      JaggedTake made = good;
      std::string what = std::to_string(n) + " lists:";
      for (int defects = 0; defects <= round % 4; ++defects) {
        const std::size_t i = random() % made.lists.starts.size();
        const auto kind = random() % 9;
        what += " " + std::to_string(kind) + " of " + std::to_string(i);
        if (kind == 0) made.indices[3 * i + random() % 3] = 10;
        if (kind == 1) made.indices[3 * i + random() % 3] = -11;
        if (kind == 2) made.indices[3 * i + random() % 3] = std::numeric_limits<std::int64_t>::min();
        if (kind == 3) made.lists.stops[i] = kMost;
        if (kind == 4) made.lists.starts[i] = -1;
        if (kind == 5) made.lists.stops[i] = made.lists.starts[i] - 1;
        if (kind == 6) made.index_lists.stops[i] = made.index_lists.starts[i] - 1;
        if (kind == 7) made.index_lists.stops[i] = std::ssize(made.indices) + 1;
        if (kind == 8) made.index_lists.stops[i] = made.index_lists.starts[i];  // empty: its indices are not checked
      }
      expect_same_failure(made, what);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_F(GpuTest, TheFirstBadIndexIsTheFirstInTheOrderOfLists) {
  JaggedTake made = counted(std::vector<std::int64_t>(3000, 3));
  for (std::size_t i = 0; i < 1500; ++i) {
    std::swap(made.index_lists.starts[i], made.index_lists.starts[2999 - i]);
    std::swap(made.index_lists.stops[i], made.index_lists.stops[2999 - i]);
  }
  for (const std::size_t bad : {8999U, 5000U, 4999U, 17U}) made.indices[bad] = 99;
  expect_same_failure(made, "backwards");
  EXPECT_EQ(expected_failure(made, 9000), (Failure{Code::index_out_of_range, 8999}));
}

// ----------------------------------------------------------------------------------------------------- streams, memory

TEST_F(GpuTest, AGraphReplaysTakesWhoseStatusStaysOnTheDevice) {
  const JaggedTake made = make_jagged_take(ListPattern::poisson, 100'003, true);
  const auto taken = std::ssize(made.positions);
  DeviceTake<std::int64_t, std::int64_t> given(made, true, 0);
  DeviceColumn column(given.content, 8, 0);
  column.clear(taken);
  DeviceArray<std::int64_t> positions(taken);
  DeviceColumn again(given.content, 4, 0);
  again.clear(taken);
  DeviceArray<gpu::TakeStatus> status(3);
  const tests::OwnStream stream;
  auto policy = gpu::Policy{}.with_stream(stream);
  const auto size = gpu::take_workspace(policy, given.index_lists.view().count, taken);
  EXPECT_LE(gpu::take_workspace(policy).scratch, size.scratch);
  gpu::Workspace workspace(size, 0, stream);
  policy = policy.with_workspace(workspace);
  const SelectColumn view = column.view();
  const SelectColumn later = again.view();
  const Indices indices(given.indices.data(), given.count);
  const tests::Replay replay(stream, [&] {
    EXPECT_EQ(failure_of([&] { given.into(policy, std::span(&view, 1)); }).code, Code::invalid_argument);
    take_async(policy, given.lists.view(), given.content, given.index_lists.view(), indices, given.offsets.data(),
               std::span(&view, 1), status.data());
    take_positions_async(policy, given.lists.view(), given.content, given.index_lists.view(), indices,
                         given.offsets.data(), positions.data(), taken, status.data() + 1);
    take_async(policy, Indices(positions.data(), taken), std::span(&later, 1), status.data() + 2);
  });
  const std::size_t at = made.indices.size() / 2;
  for (int run = 0; run < 4; ++run) {
    const bool fails = run == 2;
    const std::int64_t index = fails ? 1000 : made.indices[at];
    tests::copy_in(given.indices.data() + at, &index, sizeof index);
    require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
    tests::fill(positions.data(), 0,
                static_cast<std::size_t>(taken) * 8);  // the last take needs indices, even if a run fails
    replay.launch(given.offsets, column, again, status);
    require(cudaStreamSynchronize(stream));
    const auto reported = status.values();
    for (const std::size_t k : {0U, 1U}) {
      EXPECT_EQ(reported[k].code, fails ? Code::index_out_of_range : Code::ok);
      EXPECT_EQ(reported[k].first_bad, fails ? static_cast<std::int64_t>(at) : kNoIndex);
    }
    EXPECT_EQ(reported[2].code, Code::ok);
    EXPECT_EQ(reported[2].taken, taken);
    if (fails) continue;
    EXPECT_EQ(reported[0].taken, taken);
    EXPECT_EQ(given.offsets.values(), made.offsets);
    EXPECT_EQ(positions.values(), made.positions);
    EXPECT_EQ(column.complaint(made.positions), "");
    EXPECT_EQ(again.complaint(made.positions), "");
  }
}

TEST_F(GpuTest, AGraphReplaysTakesOfAnArrayByEveryRung) {
  constexpr std::int64_t n = 100'003;
  std::vector<std::int64_t> positions(n);
  for (std::size_t k = 0; k < positions.size(); ++k) positions[k] = static_cast<std::int64_t>(k * 7919 % 5000);
  for (const std::string_view id : ids_of("take")) {
    SCOPED_TRACE(id);
    DeviceArray<std::int64_t> indices(positions, 0);
    DeviceColumn column(5000, 8, 0);
    column.clear(n);
    DeviceArray<gpu::TakeStatus> status(1);
    const tests::OwnStream stream;
    auto policy = gpu::Policy{}.with_stream(stream).with_rung(id);
    const auto size = gpu::take_workspace(policy);
    gpu::Workspace workspace(size, 0, stream);
    policy = policy.with_workspace(workspace);
    const SelectColumn view = column.view();
    const tests::Replay replay(
        stream, [&] { take_async(policy, Indices(indices.data(), n), std::span(&view, 1), status.data()); });
    for (int run = 0; run < 3; ++run) {
      const std::int64_t index = run == 1 ? 5000 : positions[777];
      tests::copy_in(indices.data() + 777, &index, sizeof index);
      require(cudaMemsetAsync(workspace.scratch(), 0xB0 + run, static_cast<std::size_t>(size.scratch), stream));
      replay.launch(column, status);
      require(cudaStreamSynchronize(stream));
      const gpu::TakeStatus reported = status.values()[0];
      EXPECT_EQ(reported.code, run == 1 ? Code::index_out_of_range : Code::ok);
      EXPECT_EQ(reported.first_bad, run == 1 ? 777 : kNoIndex);
      if (run == 1) continue;
      EXPECT_EQ(reported.taken, n);
      EXPECT_EQ(column.complaint(positions), "");
    }
  }
}

TEST_F(GpuTest, NoMemoryIsHeldAfterAnErrorOfATake) {
  std::vector<std::int64_t> host(100, 3);
  host[50] = 7;
  DeviceArray<std::int64_t> indices(host, 0);
  DeviceColumn column(5, 8, 0);
  column.clear(100);
  for (const int refused_from : {1, 2, 100}) {
    tests::CountingMemory memory(refused_from);
    const auto policy = gpu::Policy{}.with_memory(memory);
    const Failure failure = failure_of([&] { take(policy, Indices(indices.data(), 100), column.view()); });
    EXPECT_EQ(failure,
              refused_from == 1 ? (Failure{Code::device_memory, kNoIndex}) : (Failure{Code::index_out_of_range, 50}));
    EXPECT_EQ(memory.held, 0);
  }
}

TEST_F(GpuTest, AnErrorThatTheCallerHasNotAskedForIsNotTheTakes) {
  DeviceBooleans mask(make_mask(5000, 50));
  DeviceArray<std::int64_t> indices(std::vector<std::int64_t>(100, -1), 0);
  DeviceColumn column(5000, 8, 0);
  column.clear(5000);
  tests::leave_stale_error();
  EXPECT_EQ(failure_of([&] { partition(gpu::Policy{}, mask.view(), column.view()); }), Failure{});
  EXPECT_EQ(failure_of([&] { take(gpu::Policy{}, Indices(indices.data(), 100), column.view()); }), Failure{});
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(GpuTest, TakesSayWhatIsWrong) {
  std::vector<std::int64_t> host{0, -1, 2};
  DeviceArray<std::int64_t> indices(host, 0);
  DeviceColumn column(3, 8, 0);
  column.clear(3);
  const auto code = [&](const gpu::Policy& policy, const Indices& by, const SelectColumn& view) {
    return failure_of([&] { take(policy, by, view); }).code;
  };
  const Indices good(indices.data(), 3);
  Indices of_another_type = good;
  of_another_type.type = Type::int16;
  SelectColumn narrow = column.view();
  narrow.capacity = 2;
  std::vector<double> host_out(3);
  SelectColumn elsewhere = column.view();
  elsewhere.out = host_out.data();
  SelectColumn over_indices = column.view();
  over_indices.out = indices.data();
  EXPECT_EQ(code({}, good, column.view()), Code::ok);
  EXPECT_EQ(code({}, Indices(host.data(), 3), column.view()), Code::invalid_argument);
  EXPECT_EQ(code({}, of_another_type, column.view()), Code::unsupported_type);
  EXPECT_EQ(code({}, good, narrow), Code::unequal_lengths);
  EXPECT_EQ(code({}, good, elsewhere), Code::invalid_argument);
  EXPECT_EQ(code({}, good, over_indices), Code::invalid_argument);
  EXPECT_EQ(code(gpu::Policy{}.with_rung("cuda.ranks"), good, column.view()), Code::unsupported);
  DeviceArray<std::int64_t> offsets(3);
  EXPECT_EQ(failure_of([&] {
              take(gpu::Policy{}, Lists::of_size(1, 3), 3, Lists::of_size(2, 1), good, offsets.data(), {});
            }).code,
            Code::unequal_lengths);
  EXPECT_EQ(failure_of([&] {
              take(gpu::Policy{}, Lists::of_size(2, 1), 3, Lists::of_size(2, 1), good, host.data(), {});
            }).code,
            Code::invalid_argument);
  EXPECT_EQ(failure_of([&] {
              take(gpu::Policy{}.with_rung("cuda.thrust"), Lists::of_size(1, 3), 3, Lists::of_size(1, 3), good,
                   offsets.data(), {});
            }).code,
            Code::unsupported);
  EXPECT_EQ(failure_of([] { (void)gpu::take_workspace({}, -1, 5); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([] { (void)gpu::take_workspace({}, 5, -1); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([] { (void)gpu::partition_workspace({}, -1); }).code, Code::invalid_argument);
}

}  // namespace
}  // namespace upsweep
