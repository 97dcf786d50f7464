// SPDX-License-Identifier: Apache-2.0
// tests/mpi_test.cpp: the calls of mpi.hpp on shards of arrays that every rank makes completely, compared with the
// calls of one process.
#include "upsweep/mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "world.hpp"

namespace {

bool all_gather_fails = false;  // on this rank

}  // namespace

/// MPI lets programs define functions that replace MPI's own: so one of them can be made to fail.
extern "C" int MPI_Allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                             MPI_Datatype to_type, MPI_Comm comm) {
  if (all_gather_fails) return MPI_ERR_OTHER;
  return PMPI_Allgather(from, from_count, from_type, to, to_count, to_type, comm);
}

namespace upsweep {
namespace {

using Index = std::int64_t;

constexpr Index kLengths[] = {0, 1, 7, 1000, 300'000};
constexpr int kSplits = 4;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Returns where the ranks' shards of n elements begin, and where the last one ends. The splits are random, so that
/// some shards are empty. Split 0 gives all elements to the last rank, split 1 to the first.
std::vector<Index> borders(Index n, int split) {
  std::vector<Index> cuts(at(World().size + 1), split == 1 ? n : 0);
  cuts.front() = 0;
  cuts.back() = n;
  std::mt19937_64 random(static_cast<std::uint64_t>(n * 100 + split));
  for (std::size_t i = 1; split >= 2 && i + 1 < cuts.size(); ++i) cuts[i] = static_cast<Index>(random() % at(n + 1));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

/// Returns this rank's shard of an array that all ranks have.
template <class T>
std::vector<T> mine(const std::vector<T>& all, const std::vector<Index>& cuts) {
  const int rank = World().rank;
  return {all.begin() + cuts[at(rank)], all.begin() + cuts[at(rank + 1)]};
}

template <class T>
std::vector<T> numbers(Index n, std::int64_t least, std::int64_t most, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed + static_cast<std::uint64_t>(n));
  std::uniform_int_distribution<std::int64_t> any(least, most);
  std::vector<T> all(at(n));
  std::generate(all.begin(), all.end(), [&] { return static_cast<T>(any(random)); });
  return all;
}

struct Matrix {
  std::uint32_t a, b, c, d;
  bool operator==(const Matrix&) const = default;
};
constexpr Matrix kUnit{1, 0, 0, 1};
struct Product {
  Matrix operator()(const Matrix& x, const Matrix& y) const {
    return {x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c, x.c * y.b + x.d * y.d};
  }
};
std::vector<Matrix> matrices(Index n) {
  const auto entries = numbers<std::uint32_t>(4 * n, 0, 1'000'000);
  std::vector<Matrix> all(at(n));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = {entries[4 * i], entries[4 * i + 1], entries[4 * i + 2], entries[4 * i + 3]};
  }
  return all;
}

/// Calls f(n, begins) for every length and split.
template <class F>
void for_each_split(F f) {
  for (const Index n : kLengths) {
    for (int split = 0; split < kSplits; ++split) {
      SCOPED_TRACE("n " + std::to_string(n) + ", split " + std::to_string(split));
      f(n, borders(n, split));
    }
  }
}

// ---- How a call ends, on all ranks.

struct Outcome {
  Code code = Code::ok;
  Index index = kNoIndex;
  std::string text;
};
std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << word(outcome.code) << " at " << outcome.index << ": " << outcome.text;
}
template <class F>
Outcome outcome_here(F call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.index(), error.what()};
  }
}

/// The outcome of a call, which must be the same on all ranks.
template <class F>
Outcome outcome_of(F call) {
  Outcome outcome = outcome_here(call);
  std::array<char, 600> text{};
  std::memcpy(text.data(), &outcome.code, sizeof outcome.code);
  std::memcpy(text.data() + 8, &outcome.index, sizeof outcome.index);
  outcome.text.copy(text.data() + 16, text.size() - 17);
  std::array<char, 600> first = text;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT_EQ(first, text) << outcome << "; on rank 0: " << &first[16];
  return outcome;
}

// ---- Scans.

template <class T, class Out, class Op>
void expect_scans(const std::vector<T>& all, const std::vector<Index>& cuts, Op op, Out init, const Policy& policy) {
  const auto share = mine(all, cuts);
  const Index n = std::ssize(share);
  std::vector<Out> whole(all.size());
  std::vector<Out> out(share.size());
  const auto matches = [&](const char* what) { EXPECT_EQ(out, mine(whole, cuts)) << what; };

  inclusive_scan(policy, all.data(), std::ssize(all), whole.data(), op);
  EXPECT_EQ(mpi::inclusive_scan(MPI_COMM_WORLD, policy, share.data(), n, out.data(), op).count, n);
  matches("inclusive");

  auto carry = carry_of(init);
  inclusive_scan(policy, all.data(), std::ssize(all), whole.data(), op, carry);
  mpi::inclusive_scan(MPI_COMM_WORLD, policy, share.data(), n, out.data(), init, op);
  matches("inclusive with init");

  exclusive_scan(policy, all.data(), std::ssize(all), whole.data(), init, op);
  mpi::exclusive_scan(MPI_COMM_WORLD, policy, share.data(), n, out.data(), init, op);
  matches("exclusive");
  if constexpr (std::is_same_v<T, Out>) {
    out = share;
    mpi::exclusive_scan(MPI_COMM_WORLD, policy, out.data(), n, out.data(), init, op);
    matches("exclusive, in place");
  }
}

TEST(Scan, OfIntegers) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    const auto all = numbers<std::int32_t>(n, -2'000'000'000, 2'000'000'000);
    expect_scans<std::int32_t, std::int64_t>(all, cuts, add, 5, par.with_overflow(Overflow::checked));
    expect_scans<std::int32_t, std::int32_t>(all, cuts, add, 5, par);
    expect_scans<std::int32_t, std::int32_t>(all, cuts, max, -7, seq);
    expect_scans<std::int32_t, std::uint64_t>(all, cuts, bit_xor, 9, par.with_threads(2));
  });
}

TEST(Scan, ByAnOperatorThatDoesNotCommute) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    expect_scans<Matrix, Matrix>(matrices(n), cuts, Product{}, {2, 3, 5, 7}, par);
  });
}

TEST(Scan, OfFloats) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    // Sums of whole numbers are exact.
    const auto whole = numbers<double>(n, -1000, 1000);
    expect_scans<double, double>(whole, cuts, add, 0.5, par);
    expect_scans<double, double>(whole, cuts, min, 1e9, par);
    auto real = mine(whole, cuts);
    for (double& x : real) x = x / 7 + 1e-3;
    std::vector<double> one(real.size());
    std::vector<double> two(real.size());
    mpi::inclusive_scan(MPI_COMM_WORLD, seq, real.data(), std::ssize(real), one.data());
    mpi::inclusive_scan(MPI_COMM_WORLD, par.with_threads(3), real.data(), std::ssize(real), two.data());
    EXPECT_EQ(std::memcmp(one.data(), two.data(), one.size() * sizeof(double)), 0);
  });
}

TEST(Scan, NamesTheFirstOutputOfAllThatDoesNotFit) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    if (n < 7) return;
    auto all = std::vector<std::int8_t>(at(n), 0);
    for (const bool exclusive : {false, true}) {
      for (const Index bad : {Index{1}, n / 2, n - 2}) {
        std::fill(all.begin(), all.end(), std::int8_t{0});
        all[0] = 100;
        all[at(bad)] = 100;
        all[at(n - 1)] = -100;
        const auto share = mine(all, cuts);
        std::vector<std::int8_t> out(share.size());
        const Policy checked = par.with_overflow(Overflow::checked);
        const Outcome outcome = outcome_of([&] {
          if (exclusive) {
            mpi::exclusive_scan(MPI_COMM_WORLD, checked, share.data(), std::ssize(share), out.data(), 0);
          } else {
            mpi::inclusive_scan(MPI_COMM_WORLD, checked, share.data(), std::ssize(share), out.data());
          }
        });
        EXPECT_EQ(outcome.code, Code::overflow) << outcome;
        EXPECT_EQ(outcome.index, bad + (exclusive ? 1 : 0)) << outcome;
        EXPECT_TRUE(outcome.text.starts_with("rank ")) << outcome;
      }
    }
  });
}

// ---- Reductions.

TEST(Reduce, OfAllRanks) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    const auto all = numbers<std::int32_t>(n, -2'000'000'000, 2'000'000'000);
    const auto share = mine(all, cuts);
    const auto both = [&](auto init, auto op) {
      const auto found = mpi::reduce(MPI_COMM_WORLD, par, share.data(), std::ssize(share), init, op);
      EXPECT_EQ(found.value, reduce(par, all, init, op).value);
    };
    both(std::int64_t{3}, add);
    both(std::int32_t{3}, mul);
    both(std::int32_t{3}, min);
    both(std::int64_t{-1}, [](std::int64_t a, std::int64_t b) { return a > b ? a : b; });

    const auto some = matrices(n);
    const auto some_mine = mine(some, cuts);
    const Matrix init{2, 3, 5, 7};
    EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, par, some_mine.data(), std::ssize(some_mine), init, Product{}).value,
              reduce(par, some, init, Product{}).value);
  });
}

TEST(Reduce, OfFloatsHasTheSameBitsWhateverRunsIt) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    auto all = numbers<double>(n, -1000, 1000);
    for (double& x : all) x = x / 7 + 1e-3;
    const auto share = mine(all, cuts);
    const double one = mpi::reduce(MPI_COMM_WORLD, seq, share.data(), std::ssize(share), 0.0).value;
    const double two = mpi::reduce(MPI_COMM_WORLD, par.with_threads(3), share.data(), std::ssize(share), 0.0).value;
    EXPECT_EQ(std::bit_cast<Index>(one), std::bit_cast<Index>(two));
    EXPECT_NEAR(one, reduce(par, all, 0.0).value, 1e-9 * static_cast<double>(n));
    double first = one;
    MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    EXPECT_EQ(std::bit_cast<Index>(one), std::bit_cast<Index>(first));
  });
}

TEST(Reduce, OnlyTheSumOfAllMustFit) {
  const World world;
  const Policy checked = par.with_overflow(Overflow::checked);
  const std::vector<std::int8_t> high(3, 100);
  std::vector<std::int8_t> share = high;
  if (world.rank % 2 == 1) std::fill(share.begin(), share.end(), std::int8_t{-100});
  const auto sum = [&] { return mpi::reduce(MPI_COMM_WORLD, checked, share.data(), 3, std::int8_t{0}, add).value; };
  if (world.size % 2 == 0) {
    EXPECT_EQ(sum(), 0);
  } else {
    EXPECT_EQ(outcome_of(sum).code, Code::overflow);
  }
}

// ---- Offsets of lists.

struct Bounds {
  std::vector<Index> starts;
  std::vector<Index> stops;
};
Bounds bounds(Index n) {
  Bounds all{numbers<Index>(n, 0, 1000), numbers<Index>(n, 0, 20, 2)};
  for (std::size_t i = 0; i < all.stops.size(); ++i) all.stops[i] += all.starts[i];
  return all;
}

/// Returns the expected offsets of this rank, from those of all ranks.
std::vector<Index> my_offsets(const std::vector<Index>& all, const std::vector<Index>& cuts) {
  const int rank = World().rank;
  return {all.begin() + cuts[at(rank)], all.begin() + cuts[at(rank + 1)] + 1};
}

OffsetsResult compact_mine(const Bounds& all, const std::vector<Index>& cuts, std::vector<Index>& offsets,
                           bool strict) {
  const auto starts = mine(all.starts, cuts);
  const auto stops = mine(all.stops, cuts);
  offsets.assign(starts.size() + 1, -1);
  return mpi::offsets(MPI_COMM_WORLD, par, starts.data(), stops.data(), std::ssize(starts), offsets.data(), strict);
}

TEST(Offsets, GoOnFromRankToRank) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    const Bounds all = bounds(n);
    std::vector<Index> whole(at(n + 1));
    const Index total = upsweep::offsets(par, all.starts, all.stops, whole).total;
    std::vector<Index> offsets;
    EXPECT_EQ(compact_mine(all, cuts, offsets, false).total, total);
    EXPECT_EQ(offsets, my_offsets(whole, cuts));
  });
}

TEST(Offsets, NameTheFirstBadListOfAll) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    if (n < 7) return;
    std::vector<Index> whole(at(n + 1));
    std::vector<Index> offsets;
    // With two invalid lists of different kinds, the error names the first one, whatever its rank.
    for (const Index bad : {Index{0}, n / 2, n - 2}) {
      for (int kind = 0; kind < 3; ++kind) {
        Bounds all = bounds(n);
        const auto spoil = [&](Index list, int how) {
          if (how == 0) all.stops[at(list)] = all.starts[at(list)] - 1;
          if (how == 1) all.starts[at(list)] = -5;
          if (how == 2) all.stops[at(list)] = std::numeric_limits<Index>::max();
        };
        all.stops[0] = std::max(all.stops[0], all.starts[0] + 1);
        all.starts[at(bad)] = 0;  // so that kind 2 overflows int64 if any element precedes
        spoil(bad, kind);
        spoil(n - 1, 2 - kind);
        const Outcome expected =
            outcome_here([&] { upsweep::offsets(par, all.starts, all.stops, whole, {.strict = true}); });
        const Outcome outcome = outcome_of([&] { compact_mine(all, cuts, offsets, true); });
        EXPECT_EQ(outcome.code, expected.code) << outcome << "; alone: " << expected;
        EXPECT_EQ(outcome.index, expected.index) << outcome << "; alone: " << expected;
        EXPECT_TRUE(outcome.text.ends_with(": " + expected.text)) << outcome << "; alone: " << expected;
      }
    }
  });
}

// ---- Lists that cross borders.

/// Offsets of lists in n elements: few or many lists, some empty, some long. With margins, some elements are before and
/// after the lists.
std::vector<Index> list_offsets(Index n, Index lists, bool has_margins) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n * 31 + lists));
  std::vector<Index> offsets(at(lists + 1));
  for (Index& offset : offsets) offset = static_cast<Index>(random() % at(n + 1));
  std::sort(offsets.begin(), offsets.end());
  if (!has_margins) {
    offsets.front() = 0;
    offsets.back() = n;
  }
  return offsets;
}

/// Returns the first list between these offsets that begins on this rank or a later one. A list that begins where two
/// shards meet may belong to either. Here it belongs to the later one, except lists at the end of all elements.
Index first_list_of(int rank, const std::vector<Index>& offsets, const std::vector<Index>& cuts) {
  const Index lists = std::ssize(offsets) - 1;
  if (rank == 0) return 0;
  if (rank == World().size) return lists;
  return std::lower_bound(offsets.begin(), offsets.end() - 1, cuts[at(rank)]) - offsets.begin();
}

/// Booleans of which about a quarter are false.
std::vector<std::uint8_t> booleans(Index n, std::uint64_t seed) {
  auto all = numbers<std::uint8_t>(n, 0, 3, seed);
  for (auto& one : all) one = one != 0 ? 1 : 0;
  return all;
}

/// The lists of all ranks, and which of them belong to this rank.
struct ListsOfAll {
  Lists all;
  Lists mine;
  Index first;
};
ListsOfAll lists_of_all(const std::vector<Index>& offsets, const std::vector<Index>& cuts,
                        const std::vector<std::uint8_t>& valid = {}) {
  const int rank = World().rank;
  const Index first = first_list_of(rank, offsets, cuts);
  const Index lists = first_list_of(rank + 1, offsets, cuts) - first;
  ListsOfAll found{offsets, Lists::by_offsets(offsets.data() + first, lists), first};
  if (!valid.empty()) {
    found.all.valid = valid;
    found.mine.valid = Mask::bytes(valid.data() + first, lists);
  }
  return found;
}

/// `how`: the initial value of lists and an operator, or a named reducer.
template <class Out, class T, class... How>
void expect_reduced(const ListsOfAll& lists, const std::vector<T>& all, const std::vector<Index>& cuts,
                    const std::vector<std::uint8_t>& valid, const Policy& policy, How... how) {
  std::vector<Out> whole(at(lists.all.count));
  std::vector<Out> out(at(lists.mine.count));
  const auto share = mine(all, cuts);
  const auto my_valid = valid.empty() ? valid : mine(valid, cuts);
  const auto mask = [&](const std::vector<std::uint8_t>& bytes) { return valid.empty() ? Mask{} : Mask(bytes); };
  segmented_reduce(policy, lists.all, all.data(), std::ssize(all), whole.data(), how..., mask(valid));
  mpi::segmented_reduce(MPI_COMM_WORLD, policy, lists.mine, share.data(), std::ssize(share), out.data(), how...,
                        mask(my_valid));
  EXPECT_EQ(out, std::vector<Out>(whole.begin() + lists.first, whole.begin() + lists.first + lists.mine.count));
}

/// Checks operators, and all named reducers.
void expect_all_reduced(const ListsOfAll& lists, Index n, const std::vector<Index>& cuts,
                        const std::vector<std::uint8_t>& valid) {
  const auto large = numbers<std::int32_t>(n, -1'000'000, 1'000'000);
  expect_reduced<std::int64_t>(lists, large, cuts, valid, par.with_overflow(Overflow::checked), std::int64_t{5}, add);
  expect_reduced<std::int32_t>(lists, large, cuts, valid, par, -7, max);
  expect_reduced<Matrix>(lists, matrices(n), cuts, valid, par, Matrix{2, 3, 5, 7}, Product{});
  // Many equal elements, some of them zero.
  const auto few = numbers<std::int32_t>(n, -2, 2);
  auto reals = numbers<double>(n, 0, 9, 5);
  for (double& x : reals) x = x == 9 ? std::numeric_limits<double>::quiet_NaN() : x;
  expect_reduced<std::uint8_t>(lists, few, cuts, valid, par, any);
  expect_reduced<std::uint8_t>(lists, few, cuts, valid, par, all);
  expect_reduced<Index>(lists, few, cuts, valid, par, count);
  expect_reduced<Index>(lists, few, cuts, valid, par, count_nonzero);
  expect_reduced<Index>(lists, few, cuts, valid, par, argmin);
  expect_reduced<Index>(lists, few, cuts, valid, par, argmax);
  expect_reduced<Index>(lists, numbers<std::int32_t>(n, 0, 1'000'000'000), cuts, valid, par, argmax);
  expect_reduced<Index>(lists, reals, cuts, valid, par, argmin);
  expect_reduced<Index>(lists, reals, cuts, valid, par, argmax);
}

TEST(SegmentedReduce, ListsCrossRanks) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    for (const Index lists : {Index{1}, Index{3}, Index{20}, n / 3}) {
      for (const bool has_margins : {false, true}) {
        if (lists == 0) continue;
        SCOPED_TRACE(std::to_string(lists) + " lists" + (has_margins ? ", with margins" : ""));
        const auto offsets = list_offsets(n, lists, has_margins);
        // With margins, some elements and some lists are also null.
        const auto valid_lists = has_margins ? booleans(lists, 3) : std::vector<std::uint8_t>{};
        const auto valid = has_margins ? booleans(n, 4) : std::vector<std::uint8_t>{};
        expect_all_reduced(lists_of_all(offsets, cuts, valid_lists), n, cuts, valid);
      }
    }
  });
}

/// Lists of a rank by starts and stops.
struct ListsByBounds {
  std::vector<Index> starts;
  std::vector<Index> stops;
  std::vector<std::uint8_t> valid;

  void put(Index start, Index stop, bool is_valid = true) {
    starts.push_back(start);
    stops.push_back(stop);
    valid.push_back(is_valid ? 1 : 0);
  }
};

/// Lists with gaps; one list of a rank may continue on later ranks. Before them: a list that is the whole shard. After
/// them: an empty list and a null list, both with invalid positions.
void put_lists_of(int rank, const std::vector<Index>& offsets, const std::vector<Index>& cuts, ListsByBounds& lists) {
  lists.put(cuts[at(rank)], cuts[at(rank + 1)]);
  const Index first = first_list_of(rank, offsets, cuts);
  for (Index i = first_list_of(rank + 1, offsets, cuts); i-- > first;) {
    const Index length = offsets[at(i + 1)] - offsets[at(i)];
    lists.put(offsets[at(i)], offsets[at(i)] + length - length / 3);
  }
  lists.put(Index{1} << 50, Index{1} << 50);
  lists.put(-5, -9, false);
}

TEST(SegmentedReduce, ListsByStartsAndStopsCrossRanks) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    for (const Index lists : {Index{1}, Index{20}, n / 3}) {
      if (lists == 0) continue;
      SCOPED_TRACE(std::to_string(lists) + " lists");
      const auto offsets = list_offsets(n, lists, true);
      ListsByBounds every;
      Index first = 0;
      Index count = 0;
      for (int rank = 0; rank < World().size; ++rank) {
        const Index before = std::ssize(every.starts);
        put_lists_of(rank, offsets, cuts, every);
        if (rank != World().rank) continue;
        first = before;
        count = std::ssize(every.starts) - before;
      }
      ListsOfAll found{Lists(every.starts, every.stops).with_validity(every.valid),
                       Lists::by_bounds(every.starts.data() + first, every.stops.data() + first, count), first};
      found.mine.valid = Mask::bytes(every.valid.data() + first, count);
      expect_all_reduced(found, n, cuts, {});
      expect_all_reduced(found, n, cuts, booleans(n, 4));
    }
  });
}

TEST(SegmentedReduce, OneListOfARankGoesOnAndNoneOverAnother) {
  const World world;
  // Ten elements on each rank.
  const std::vector<std::int32_t> content(10, 1);
  const Index first = Index{10} * world.rank;
  const auto sums = [&](const std::vector<Index>& starts, const std::vector<Index>& stops) {
    return outcome_of([&] {
      std::vector<Index> out(starts.size());
      mpi::segmented_reduce(MPI_COMM_WORLD, par, Lists(starts, stops), content.data(), 10, out.data());
      for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], stops[i] - starts[i]);
    });
  };
  const bool is_first = world.rank == 0;
  const bool is_last = world.rank == world.size - 1;
  const Index past = Index{10} * world.size + 1;
  const Outcome beyond = sums({first + 3, first}, {is_last ? past : first + 5, first + 2});
  EXPECT_EQ(beyond.code, Code::stop_past_end) << beyond;
  EXPECT_EQ(beyond.index, 2 * (world.size - 1)) << beyond;
  // The error names the first of two invalid lists.
  const Outcome two_bad = sums({first + 3, first + 5}, {is_last ? past : first + 5, is_last ? first + 4 : first + 6});
  EXPECT_EQ(two_bad.code, Code::stop_past_end) << two_bad;
  EXPECT_EQ(two_bad.index, 2 * (world.size - 1)) << two_bad;
  if (world.size < 3) return;
  EXPECT_EQ(sums({first, first + 3}, {first + 2, is_last ? first + 10 : first + 13}).code, Code::ok);
  const Outcome two =
      sums({first, first + 3, first + 4}, {first + 2, is_first ? 11 : first + 4, is_first ? 12 : first + 5});
  EXPECT_EQ(two.code, Code::unsupported) << two;
  EXPECT_EQ(two.text, "rank 0: list 1 continues on later ranks, as list 2 does: only one list of a rank may");
  const Outcome over = sums({first + 8, first}, {is_first ? 19 : is_last ? first + 10 : first + 12, first + 1});
  EXPECT_EQ(over.code, Code::unsupported) << over;
  EXPECT_EQ(over.text,
            "rank 0: list 0 ends at 19, past 18, where a list of rank 1 begins that also continues on later ranks");
}

// Lists of earlier ranks that end on this rank are not the cause.
TEST(SegmentedReduce, SaysWhichRanksMaskIsTooShort) {
  const World world;
  const std::vector<std::int32_t> content(10, 1);
  const bool is_last = world.rank == world.size - 1;
  const std::vector<std::uint8_t> valid(is_last ? 9 : 10, 1);
  const Index first = Index{10} * world.rank;
  const std::vector<Index> offsets{world.rank == 0 ? 0 : first + 5, is_last ? first + 10 : first + 15};
  const Outcome outcome = outcome_of([&] {
    Index out = 0;
    mpi::segmented_reduce(MPI_COMM_WORLD, par, offsets, content.data(), 10, &out, Index{0}, add, Mask(valid));
  });
  EXPECT_EQ(outcome.code, Code::unequal_lengths) << outcome;
  EXPECT_TRUE(outcome.text.starts_with("rank " + std::to_string(world.size - 1) + ": mask")) << outcome;
}

TEST(SegmentedReduce, NoLists) {
  const std::vector<std::int32_t> content(10, 1);
  std::int32_t out = 0;
  EXPECT_EQ(
      mpi::segmented_reduce(MPI_COMM_WORLD, par, Lists::by_offsets<Index>(nullptr, 0), content.data(), 10, &out).lists,
      0);
}

TEST(SegmentedReduce, NamesTheFirstBadListOfAll) {
  const World world;
  // Ten elements of value 11 on each rank, and two lists that begin there. The second list ends in the middle of the
  // next rank's elements.
  const std::vector<std::int8_t> content(10, 11);
  const auto fold = [&](std::vector<Index> offsets) {
    return outcome_of([&] {
      std::vector<std::int8_t> out(offsets.size() - 1);
      mpi::segmented_reduce(MPI_COMM_WORLD, par.with_overflow(Overflow::checked), offsets, content.data(), 10,
                            out.data());
    });
  };
  const Index first = Index{10} * world.rank;
  const bool is_last = world.rank == world.size - 1;
  const Index end = is_last ? first + 10 : first + 15;
  const std::string last = "rank " + std::to_string(world.size - 1) + ": list " + std::to_string(2 * world.size - 1);
  const Index last_list = 2 * world.size - 1;
  const auto expect = [&](const Outcome& outcome, Code code, Index index, const std::string& text) {
    EXPECT_EQ(outcome.code, code) << outcome;
    EXPECT_EQ(outcome.index, index) << outcome;
    EXPECT_TRUE(outcome.text.starts_with(text)) << outcome;
  };
  const Index begin = world.rank == 0 ? 0 : first + 5;
  EXPECT_EQ(fold({begin, first + 8, end}).code, Code::ok);
  expect(fold({begin, first + 8, is_last ? end + 1 : end}), Code::stop_past_end, last_list, last);
  expect(fold({begin, is_last ? first + 30 : first + 8, is_last ? first + 30 : end}), Code::index_out_of_range,
         last_list, last);
  expect(fold({begin, first + 8, is_last ? first : end}), Code::stop_before_start, last_list, last);
  if (world.size == 1) return;
  expect(fold({begin, first + 8, world.rank == 0 ? end - 1 : end}), Code::invalid_argument, 1,
         "rank 0: list 1 ends at 14, ");
  // One list of all elements except the first eight: the sum of 12 elements of value 11 does not fit int8.
  const Index all = Index{10} * world.size;
  std::vector<Index> offsets{0, 8, all};
  if (world.rank > 0) offsets = {all};
  expect(fold(offsets), Code::overflow, 1, "rank 0: the sum of list 1 does not fit int8");
}

TEST(SegmentedReduce, TakesNoListsOfOneSize) {
  const std::vector<std::int32_t> content(10, 1);
  std::vector<std::int32_t> out(5);
  EXPECT_EQ(outcome_of([&] {
              mpi::segmented_reduce(MPI_COMM_WORLD, par, Lists::of_size(5, 2), content.data(), 10, out.data());
            }).code,
            Code::unsupported);
}

// ---- Sums of products.

TEST(FilteredSum, OfAllRows) {
  for_each_split([](Index n, const std::vector<Index>& cuts) {
    const auto key = numbers<std::uint32_t>(n, 0, 100);
    const auto quantity = numbers<Index>(n, -1'000'000'000'000, 1'000'000'000'000, 2);
    const auto price = numbers<Index>(n, -1'000'000'000'000, 1'000'000'000'000, 3);
    const auto my_key = mine(key, cuts);
    const auto found = mpi::filtered_sum(MPI_COMM_WORLD, par, my_key.data(), mine(quantity, cuts).data(),
                                         mine(price, cuts).data(), std::ssize(my_key), 30);
    EXPECT_EQ(found.sum, filtered_sum(par, key, quantity, price, 30).sum);
  });
  if (World().size == 1) return;
  const std::uint32_t limit = World().rank == 0 ? 1 : 2;
  EXPECT_EQ(outcome_of([&] { mpi::filtered_sum(MPI_COMM_WORLD, par, nullptr, nullptr, nullptr, 0, limit); }).code,
            Code::invalid_argument);
}

// ---- Subset sums.

SubsetSum find_mine(const std::vector<Index>& items, int split, Index target, const SubsetSumOptions& options = {}) {
  const auto share = mine(items, borders(std::ssize(items), split));
  return mpi::find_subset(MPI_COMM_WORLD, par, share.data(), std::ssize(share), target, options);
}

Index sum_of(const std::vector<Index>& items, const std::vector<Index>& indices) {
  return std::accumulate(indices.begin(), indices.end(), Index{0},
                         [&](Index sum, Index i) { return sum + items[at(i)]; });
}

TEST(SubsetSum, ASearchThatRanksShare) {
  // Items are so large that two subsets almost never have the same sum: the search must find the chosen items.
  for (const Index n : {20, 31, 36}) {
    const auto items = numbers<Index>(n, Index{1} << 50, Index{1} << 51);
    std::vector<Index> chosen;
    for (Index i = 0; i < n; i += 1 + i % 3) chosen.push_back(i);
    const Index target = sum_of(items, chosen);
    for (int split = 0; split < kSplits; ++split) {
      const SubsetSum found = find_mine(items, split, target);
      EXPECT_TRUE(found.reachable);
      EXPECT_EQ(found.sum, target);
      EXPECT_EQ(found.indices, chosen);
    }
    EXPECT_FALSE(find_mine(items, 2, target + 1).reachable);
    EXPECT_FALSE(find_mine(items, 2, target + 1, {.early_stop = false}).reachable);
    const SubsetSum decided = find_mine(items, 2, target, {.witness = false});
    EXPECT_TRUE(decided.reachable && decided.indices.empty());
  }
  EXPECT_EQ(find_mine(numbers<Index>(36, Index{1} << 50, Index{1} << 51), 2, (Index{1} << 55) + 1).rung,
            "cpu.schroeppel_shamir");
}

TEST(SubsetSum, TheAnswerDoesNotDependOnTheRanks) {
  // Several subsets have each of these sums.
  for (const Index n : {40, 44}) {
    const auto items = numbers<Index>(n, 1, Index{1} << 34);
    const Index target = std::accumulate(items.begin(), items.end(), Index{0}) / 2;
    const SubsetSumOptions whole{.reduce = false};  // likely solutions are not tried first
    const SubsetSum alone = find_subset(par.with_rung("cpu.schroeppel_shamir"), items, target, whole);
    const auto share = mine(items, borders(n, 2));
    const SubsetSum found = mpi::find_subset(MPI_COMM_WORLD, par.with_rung("cpu.schroeppel_shamir"), share.data(),
                                             std::ssize(share), target, whole);
    EXPECT_EQ(found.reachable, alone.reachable);
    EXPECT_EQ(found.indices, alone.indices);
  }
}

TEST(SubsetSum, WhatRankZeroDoesAlone) {
  const auto items = numbers<Index>(300, 1, 10'000);
  const SubsetSum alone = find_subset(par, items, 700'001);
  const SubsetSum found = find_mine(items, 3, 700'001);
  EXPECT_EQ(found.indices, alone.indices);
  EXPECT_EQ(found.rung, alone.rung);
  const SubsetSum near = find_mine({10, 20, 40}, 2, 33, {.below = 5, .above = 5});
  EXPECT_EQ(near.sum, 30);
  EXPECT_EQ(find_mine({}, 0, 1).rung, "none");
}

TEST(SubsetSum, ErrorsOfOneRank) {
  const World world;
  auto items = numbers<Index>(40, Index{1} << 50, Index{1} << 51);
  items[33] = 0;
  const Outcome outcome = outcome_of([&] { find_mine(items, 2, Index{1} << 55); });
  EXPECT_EQ(outcome.code, Code::not_positive);
  EXPECT_EQ(outcome.index, 33);
  // The callback of one rank ends the search, or throws, in the middle of it.
  items[33] = Index{1} << 50;
  for (const bool throws : {false, true}) {
    SubsetSumOptions options;
    if (world.rank == world.size - 1) {
      options.progress = [&](double done) -> bool {
        if (done < 0.2) return true;
        if (throws) throw std::runtime_error("enough");
        return false;
      };
    }
    const Outcome ended = outcome_of([&] { find_mine(items, 2, (Index{1} << 55) + 1, options); });
    EXPECT_EQ(ended.code, Code::interrupted);
    EXPECT_TRUE(ended.text.starts_with("rank " + std::to_string(world.size - 1) + ": ")) << ended;
  }
}

// ---- Errors.

TEST(Errors, AnArgumentThatIsBadOnOneRank) {
  const World world;
  const std::vector<std::int32_t> in(10, 1);
  std::vector<std::int32_t> out(10);
  const bool is_last = world.rank == world.size - 1;
  const Outcome outcome =
      outcome_of([&] { mpi::inclusive_scan(MPI_COMM_WORLD, par, is_last ? nullptr : in.data(), 10, out.data()); });
  EXPECT_EQ(outcome.code, Code::invalid_argument);
  EXPECT_TRUE(outcome.text.starts_with("rank " + std::to_string(world.size - 1) + ": ")) << outcome;
  EXPECT_EQ(outcome_of([&] {
              const Policy policy = world.rank == 0 ? par.with_rung("cpu.none") : par;
              mpi::reduce(MPI_COMM_WORLD, policy, in.data(), 10, 0);
            }).code,
            Code::unknown_rung);
}

TEST(Errors, ARankOnAGpuThatIsNotThere) {
  if (gpu::is_built()) GTEST_SKIP() << "this build has CUDA";
  const World world;
  const std::vector<std::int32_t> in(10, 1);
  std::vector<std::int32_t> out(10);
  const auto scan_on = [&](const auto& policy) {
    mpi::inclusive_scan(MPI_COMM_WORLD, policy, in.data(), 10, out.data());
  };
  const Outcome outcome = outcome_of([&] { world.rank == 0 ? scan_on(gpu::Policy{}) : scan_on(par); });
  EXPECT_EQ(outcome.code, Code::not_built) << outcome;
  const auto is_not_built = [](auto call) { EXPECT_EQ(outcome_of(call).code, Code::not_built); };
  const gpu::Policy gpu;
  std::vector<Index> offsets(11);
  const std::vector<std::uint32_t> key(10, 1);
  const std::vector<Index> value(10, 1);
  is_not_built([&] { mpi::exclusive_scan(MPI_COMM_WORLD, gpu, in.data(), 10, out.data(), 3, max); });
  is_not_built([&] { mpi::reduce(MPI_COMM_WORLD, gpu, in.data(), 10, 0); });
  is_not_built([&] { mpi::offsets(MPI_COMM_WORLD, gpu, in.data(), in.data(), 10, offsets.data()); });
  is_not_built([&] { mpi::filtered_sum(MPI_COMM_WORLD, gpu, key.data(), value.data(), value.data(), 10, 30); });
}

TEST(Errors, OtherCallsOnOtherRanks) {
  const World world;
  if (world.size == 1) GTEST_SKIP() << "needs more than one rank";
  const bool is_last = world.rank == world.size - 1;
  const std::vector<std::int32_t> in(10, 1);
  std::vector<std::int32_t> out(10);
  std::vector<std::int64_t> wide(10);
  const auto refused = [&](auto usual, auto last) {
    const Outcome outcome = outcome_of([&] { is_last ? last() : usual(); });
    EXPECT_EQ(outcome.code, Code::invalid_argument) << outcome;
    return outcome.text;
  };
  const auto usual = [&] { mpi::inclusive_scan(MPI_COMM_WORLD, par, in.data(), 10, out.data()); };
  const std::string last = ", rank " + std::to_string(world.size - 1) + " ";
  const std::string begin =
      "the ranks do not make the same call: rank 0 inclusive_scan of int32 into int32 by add operator";
  EXPECT_EQ(refused(usual, [&] { mpi::reduce(MPI_COMM_WORLD, par, in.data(), 10, 0); }),
            begin + last + "reduce of int32 into int32 by add operator");
  EXPECT_EQ(refused(usual, [&] { mpi::inclusive_scan(MPI_COMM_WORLD, par, in.data(), 10, wide.data()); }),
            begin + last + "inclusive_scan of int32 into int64 by add operator");
  EXPECT_EQ(refused(usual, [&] { mpi::inclusive_scan(MPI_COMM_WORLD, par, in.data(), 10, out.data(), max); }),
            begin + last + "inclusive_scan of int32 into int32 by max operator");
  const auto counts = [&](auto by) {
    return [&, by] { mpi::segmented_reduce(MPI_COMM_WORLD, par, Lists{}, in.data(), 10, wide.data(), by); };
  };
  EXPECT_EQ(refused(counts(argmin), counts(count)),
            "the ranks do not make the same call: rank 0 segmented_reduce of int32 into int64 by argmin" + last +
                "segmented_reduce of int32 into int64 by count");
  const Policy checked = par.with_overflow(Overflow::checked);
  EXPECT_EQ(refused(usual, [&] { mpi::inclusive_scan(MPI_COMM_WORLD, checked, in.data(), 10, out.data()); }),
            begin + last + "inclusive_scan of int32 into int32 by add operator, checked");
  EXPECT_EQ(refused(usual, [&] { mpi::inclusive_scan(MPI_COMM_WORLD, par, in.data(), 10, out.data(), 3, add); }),
            "the ranks do not make the same call: rank 0 and rank " + std::to_string(world.size - 1) +
                " inclusive_scan of int32 into int32 by add operator with different init");
}

TEST(Errors, ABuildOfAnotherUpsweep) {
  const World world;
  if (world.size == 1) GTEST_SKIP() << "needs more than one rank";
  const Outcome outcome = outcome_of([&] {
    auto signature = mpi::detail::signature<int, int, Add>(mpi::detail::Function::reduce, Overflow::wrap, 0);
    if (world.rank == 1) ++signature.protocol;
    const mpi::detail::Call call(MPI_COMM_WORLD, signature);
  });
  EXPECT_EQ(outcome.code, Code::invalid_argument);
  EXPECT_EQ(outcome.text,
            "the ranks do not make the same call: rank 0 reduce of int32 into int32 by add operator, rank 1 a build of "
            "another upsweep (protocol 3)");
}

TEST(Errors, WhatMpiReports) {
  const std::vector<std::int32_t> in(10, 1);
  all_gather_fails = true;
  const Outcome outcome = outcome_of([&] { mpi::reduce(MPI_COMM_WORLD, par, in.data(), 10, 0); });
  all_gather_fails = false;
  EXPECT_EQ(outcome.code, Code::communication);
  EXPECT_TRUE(outcome.text.starts_with("MPI_Allgather: ")) << outcome;
  EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, par, in.data(), 10, 0).value, 10 * World().size);
}

// ---- Communicators.

TEST(Communicators, ThoseOfSomeRanks) {
  const World world;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, -world.rank, &half);  // in the opposite order
  const std::vector<Matrix> in{{static_cast<std::uint32_t>(world.rank), 1, 2, 3}};
  std::vector<Matrix> out(1);
  mpi::inclusive_scan(half, par, in.data(), 1, out.data(), Product{});
  Matrix expected = kUnit;
  for (int r = world.size - 1; r >= world.rank; --r) {
    if (r % 2 == world.rank % 2) expected = Product{}(expected, {static_cast<std::uint32_t>(r), 1, 2, 3});
  }
  EXPECT_EQ(out[0], expected);
  MPI_Comm_free(&half);
  EXPECT_EQ(mpi::reduce(MPI_COMM_SELF, par, in.data(), 1, kUnit, Product{}).value, in[0]);
}

TEST(Communicators, ThatHaveNoOrderOfRanks) {
  const World world;
  const std::int32_t one = 1;
  EXPECT_EQ(outcome_of([&] { mpi::reduce(MPI_COMM_NULL, par, &one, 1, 0); }).code, Code::invalid_argument);
  if (world.size == 1) return;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.rank % 2, world.rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - world.rank % 2, 1, &both);
  EXPECT_EQ(outcome_of([&] { mpi::reduce(both, par, &one, 1, 0); }).code, Code::invalid_argument);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

TEST(Communicators, MessagesOfTheCallersAreNotMet) {
  const World world;
  int sent = world.rank;
  int received = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  const std::int32_t one = 1;
  EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, par, &one, 1, 0).value, world.size);
  MPI_Send(&sent, 1, MPI_INT, (world.rank + 1) % world.size, 5, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(received, (world.rank + world.size - 1) % world.size);
}

}  // namespace
}  // namespace upsweep
