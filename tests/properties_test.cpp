// SPDX-License-Identifier: Apache-2.0
// tests/properties_test.cpp: laws that hold for any input, tested with random arrays, types, rungs and thread counts.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "climb/reference.hpp"
#include "lists.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep {

/// An array under test. At most 40 elements of a counterexample are printed.
template <class T>
struct Array {
  std::vector<T> values;
};

template <class T>
std::ostream& operator<<(std::ostream& out, const Array<T>& array) {
  out << array.values.size() << " elements:";
  for (std::size_t i = 0; i < std::min<std::size_t>(array.values.size(), 40); ++i) out << ' ' << +array.values[i];
  return out << (array.values.size() > 40 ? " …" : "");
}

namespace {

using tests::Guarded;
using tests::Int128;

constexpr std::int64_t kSegment = std::int64_t{1} << 18;

/// Mostly short; sometimes longer than a block (32768 int32, 16384 lists), rarely longer than a long block or the
/// caches.
rc::Gen<std::int64_t> lengths() {
  return rc::gen::weightedOneOf<std::int64_t>({
      {30, rc::gen::inRange<std::int64_t>(0, 80)},
      {15, rc::gen::inRange<std::int64_t>(80, 5000)},
      {4, rc::gen::inRange<std::int64_t>(32700, 70000)},
      {1, rc::gen::inRange<std::int64_t>(kSegment - 3, kSegment + 40000)},
  });
}

/// Values of the whole type, or small values whose sums stay in the type for longer; floats whose sums are exact.
template <class T>
Array<T> make_array(std::int64_t n, unsigned seed, bool small) {
  auto values = tests::make<T>(tests::Pattern::random, n, seed);
  if constexpr (std::is_integral_v<T>) {
    for (auto& x : values) x = small ? static_cast<T>(x % 3) : x;
  }
  return {std::move(values)};
}

/// Short arrays are made element by element, so that a counterexample shrinks to the relevant elements.
template <class T>
rc::Gen<Array<T>> arrays() {
  auto seeded = rc::gen::map(rc::gen::tuple(lengths(), rc::gen::arbitrary<unsigned>(), rc::gen::arbitrary<bool>()),
                             [](const std::tuple<std::int64_t, unsigned, bool>& how) {
                               return make_array<T>(std::get<0>(how), std::get<1>(how), std::get<2>(how));
                             });
  if constexpr (std::is_floating_point_v<T>) {
    return seeded;
  } else {
    const auto listed = rc::gen::map(rc::gen::arbitrary<std::vector<T>>(),
                                     [](std::vector<T> values) { return Array<T>{std::move(values)}; });
    return rc::gen::weightedOneOf<Array<T>>({{1, listed}, {2, seeded}});
  }
}

/// A rung of the ladder and a thread count. Rungs that random arrays cannot satisfy are left out. The library's rung is
/// left out for narrow elements, which it does not support.
template <class T>
Policy any_policy(std::string_view problem) {
  std::vector<std::string_view> ids;
  for (const auto& rung : tests::cpu_rungs(problem)) {
    if (rung.needs.starts_with("stops ==") || (rung.kind == Kind::library && sizeof(T) < 4)) continue;
    ids.push_back(rung.id);
  }
  const auto chosen = *rc::gen::inRange<std::size_t>(0, ids.size());
  const auto threads = *rc::gen::element(1, 2, 3, 7).as("threads of " + std::string(ids[chosen]));
  return par.with_rung(ids[chosen]).with_threads(threads);
}

template <class T>
Array<T> any_array() {
  return *arrays<T>().as("array");
}

/// Tests a law; a counterexample is printed, with the seed that reproduces it.
template <class Law>
void expect_always(Law law) {
  EXPECT_TRUE(rc::check(law));
}

/// The library that a user would choose instead does not support every call; the steps of the ladder do.
bool may_refuse(const Policy& policy) {
  const auto rungs = tests::cpu_rungs("scan");
  return std::any_of(rungs.begin(), rungs.end(),
                     [&](const RungInfo& rung) { return rung.id == policy.rung && rung.kind == Kind::library; });
}

/// Runs a scan; returns false if the rung refuses it and may do so.
template <class Call>
bool ran(const Policy& policy, Call call) {
  try {
    call(policy);
    return true;
  } catch (const Error& error) {
    RC_ASSERT(error.code() == Code::unsupported);
    RC_ASSERT(may_refuse(policy));
    return false;
  }
}

template <class T>
class Properties : public testing::Test {};
using Types = testing::Types<std::int8_t, std::int64_t, float>;
TYPED_TEST_SUITE(Properties, Types);

template <class T, class Op>
void scan_equals_reference(Op op) {
  const auto in = any_array<T>().values;
  const auto n = std::ssize(in);
  const Policy policy = any_policy<T>("scan");
  const bool exclusive = *rc::gen::arbitrary<bool>().as("exclusive");
  const bool in_place = *rc::gen::arbitrary<bool>().as("in place");
  Guarded<T> out(n, *rc::gen::inRange(0, 9).as("misaligned"));
  if (in_place) std::copy(in.begin(), in.end(), out.data());
  const T* from = in_place ? out.data() : in.data();
  const T init{3};
  const bool done = ran(policy, [&](const Policy& chosen) {
    if (exclusive) {
      exclusive_scan(chosen, from, n, out.data(), init, op);
    } else {
      inclusive_scan(chosen, from, n, out.data(), op);
    }
  });
  if (!done) return;
  const auto reference = exclusive ? reference::ExactReference<T, Op>(op, init) : reference::ExactReference<T, Op>(op);
  RC_ASSERT(reference::first_wrong(reference, in.data(), out.data(), n, exclusive) == kNoIndex);
  RC_ASSERT(out.intact());
}

TYPED_TEST(Properties, AScanEqualsTheReference) {
  for_each_operator<TypeParam>([]<class Op>(Op op) {
    if constexpr (tests::is_exact<TypeParam, Op>) expect_always([&] { scan_equals_reference<TypeParam>(op); });
  });
}

TYPED_TEST(Properties, AnExclusiveScanIsTheInclusiveOneAPlaceLater) {
  using T = TypeParam;
  expect_always([] {
    const auto in = any_array<T>().values;
    std::vector<T> inclusive(in.size());
    std::vector<T> exclusive(in.size());
    const T init{7};
    inclusive_scan(any_policy<T>("scan"), in, inclusive, init, add);
    if (!ran(any_policy<T>("scan"), [&](const Policy& policy) { exclusive_scan(policy, in, exclusive, init); })) {
      return;
    }
    bool same = in.empty() || exclusive[0] == init;
    for (std::size_t i = 0; i < in.size(); ++i) {
      same &= (i == 0 || exclusive[i] == inclusive[i - 1]) && inclusive[i] == add(exclusive[i], in[i]);
    }
    RC_ASSERT(same);
  });
}

TYPED_TEST(Properties, TheLastOfAScanIsTheReduction) {
  using T = TypeParam;
  expect_always([] {
    const auto in = any_array<T>().values;
    std::vector<T> out(in.size());
    const T init{2};
    inclusive_scan(any_policy<T>("scan"), in, out, init, add);
    RC_ASSERT(reduce(any_policy<T>("reduce"), in, init).value == (in.empty() ? init : out.back()));
    if (!ran(any_policy<T>("scan"), [&](const Policy& policy) { inclusive_scan(policy, in, out, init, min); })) {
      return;
    }
    RC_ASSERT(reduce(any_policy<T>("reduce"), in, init, min).value == (in.empty() ? init : out.back()));
  });
}

/// Returns up to four places to split n elements, in order, between 0 and n.
std::vector<std::int64_t> any_cuts(std::int64_t n) {
  auto cuts = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(0, 5),
                                                             rc::gen::inRange<std::int64_t>(0, n + 1))
                   .as("cuts");
  std::sort(cuts.begin(), cuts.end());
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(n);
  return cuts;
}

TYPED_TEST(Properties, PartsWithTheirCarryAreTheWhole) {
  using T = TypeParam;
  expect_always([] {
    const auto in = any_array<T>().values;
    const bool exclusive = *rc::gen::arbitrary<bool>().as("exclusive");
    const auto cuts = any_cuts(std::ssize(in));
    std::vector<T> whole(in.size());
    std::vector<T> parts(in.size());
    auto carry = exclusive ? carry_of(T{4}) : empty_carry<T>();
    auto merged = carry;
    bool done = ran(any_policy<T>("scan"), [&](const Policy& policy) {
      if (exclusive) {
        exclusive_scan(policy, in, whole, T{4});
      } else {
        inclusive_scan(policy, in, whole);
      }
    });
    for (std::size_t p = 1; p < cuts.size(); ++p) {
      const T* from = in.data() + cuts[p - 1];
      const std::int64_t count = cuts[p] - cuts[p - 1];
      auto part = empty_carry<T>();
      reduce_into(any_policy<T>("reduce"), from, count, add, part);
      merged = merge_carries(add, merged, part);
      // Each part uses a different rung.
      done = done && ran(any_policy<T>("scan"), [&](const Policy& policy) {
               if (exclusive) {
                 exclusive_scan(policy, from, count, parts.data() + cuts[p - 1], add, carry);
               } else {
                 inclusive_scan(policy, from, count, parts.data() + cuts[p - 1], add, carry);
               }
             });
      if (!done) return;
      RC_ASSERT(carry.any == merged.any);
      if (carry.any) RC_ASSERT(detail::value_of(carry) == detail::value_of(merged));
    }
    RC_ASSERT(whole == parts);
  });
}

TYPED_TEST(Properties, CheckedSumsAgreeWithExactOnes) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    expect_always([] {
      auto in = any_array<T>().values;
      // Divided, so that sums overflow the type late or never.
      const auto divisor = *rc::gen::element(1, 2, 11, 100).as("divisor");
      for (auto& x : in) x = static_cast<T>(x / static_cast<T>(divisor));
      Int128 sum = 0;
      std::int64_t first = kNoIndex;
      const auto fits = [](Int128 x) {
        return x >= Int128{std::numeric_limits<T>::min()} && x <= Int128{std::numeric_limits<T>::max()};
      };
      for (std::size_t i = 0; i < in.size(); ++i) {
        sum += in[i];
        if (first == kNoIndex && !fits(sum)) first = static_cast<std::int64_t>(i);
      }
      const auto index_of = [](auto call) -> std::optional<std::int64_t> {
        try {
          call();
        } catch (const Error& error) {
          if (error.code() == Code::unsupported) return std::nullopt;  // some rungs cannot check overflow
          RC_ASSERT(error.code() == Code::overflow);
          return error.index() == kNoIndex ? -2 : error.index();  // an overflow without an index
        }
        return kNoIndex;
      };
      std::vector<T> out(in.size());
      const Policy scanned = any_policy<T>("scan").with_overflow(Overflow::checked);
      const auto found = index_of([&] { inclusive_scan(scanned, in, out); });
      if (found) {
        RC_ASSERT(*found == first);
        const std::int64_t right = first == kNoIndex ? std::ssize(in) : first;
        RC_ASSERT(reference::first_wrong(reference::ExactReference<T, Add>(add), in.data(), out.data(), right, false) ==
                  kNoIndex);
      }
      T value{};
      const Policy reduced = any_policy<T>("reduce").with_overflow(Overflow::checked);
      const auto left = index_of([&] { value = reduce(reduced, in); });
      if (left) {
        RC_ASSERT(*left == (fits(sum) ? kNoIndex : -2));
        if (fits(sum)) RC_ASSERT(Int128{value} == sum);
      }
    });
  }
}

/// Longer than the size from which outputs bypass the caches (8 MB), in every type and alignment.
template <class T>
class Streams : public testing::Test {};
TYPED_TEST_SUITE(Streams, tests::ElementTypes);

TYPED_TEST(Streams, ScansLargerThanTheCachesEqualTheReference) {
  using T = TypeParam;
  const std::int64_t n = (std::int64_t{8} << 20) / std::int64_t{sizeof(T)} + 13;
  // Small numbers that cancel out, so that floats stay exact.
  auto values = tests::make<T>(tests::Pattern::random, n, 18);
  if constexpr (std::is_floating_point_v<T>) {
    for (std::int64_t i = 1; i < n; i += 2) {
      values[static_cast<std::size_t>(i)] = -values[static_cast<std::size_t>(i - 1)];
    }
  }
  for (const auto& rung : tests::cpu_rungs("scan")) {
    if (rung.kind == Kind::library) continue;
    for (const bool exclusive : {false, true}) {
      for (const std::int64_t misaligned : {0, 1}) {
        Guarded<T> out(n, misaligned);
        const Policy policy = par.with_rung(rung.id).with_threads(2);
        if (exclusive) {
          exclusive_scan(policy, values.data(), n, out.data(), T{1});
        } else {
          inclusive_scan(policy, values.data(), n, out.data());
        }
        const auto reference =
            exclusive ? reference::ExactReference<T, Add>(add, T{1}) : reference::ExactReference<T, Add>(add);
        EXPECT_EQ(reference::first_wrong(reference, values.data(), out.data(), n, exclusive), kNoIndex)
            << rung.id << " exclusive " << exclusive << " misaligned " << misaligned;
        EXPECT_TRUE(out.intact()) << rung.id;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------ ragged offsets

template <class T>
class ListProperties : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(ListProperties, BoundTypes);

/// Lengths of lists. Empty lists and lists of one element cause most errors, and are most common in real data.
Array<std::int64_t> any_list_lengths() {
  const auto n = *lengths().as("lists");
  std::mt19937_64 random(*rc::gen::arbitrary<unsigned>().as("seed"));
  const auto longest = *rc::gen::element<std::int64_t>(0, 1, 2, 9, 1000).as("longest");
  Array<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto kind = random() % 8;
    const auto any = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(longest + 1));
    all.values.push_back(kind < 3 ? 0 : kind < 6 ? std::min<std::int64_t>(1, longest) : any);
  }
  return all;
}

template <class T>
tests::Bounds<T> bounds_of(const std::vector<std::int64_t>& all_lengths) {
  std::mt19937_64 random(*rc::gen::arbitrary<unsigned>().as("seed of starts"));
  tests::Bounds<T> lists;
  for (const std::int64_t length : all_lengths) {
    lists.starts.push_back(static_cast<T>(random() % 1000000));
    lists.stops.push_back(static_cast<T>(lists.starts.back() + static_cast<T>(length)));
  }
  return lists;
}

TYPED_TEST(ListProperties, DifferencesOfOffsetsAreTheLengths) {
  expect_always([] {
    const auto expected = any_list_lengths().values;
    const auto lists = bounds_of<TypeParam>(expected);
    const auto n = std::ssize(expected);
    Guarded<std::int64_t> offsets(n + 1, *rc::gen::inRange(0, 8).as("misaligned"));
    const auto result = upsweep::offsets(any_policy<TypeParam>("offsets"), lists.starts, lists.stops, offsets.span());
    RC_ASSERT(offsets.data()[0] == 0);
    std::vector<std::int64_t> differences(expected.size());
    std::transform(offsets.data() + 1, offsets.data() + n + 1, offsets.data(), differences.begin(), std::minus<>{});
    RC_ASSERT(differences == expected);
    RC_ASSERT(result.total == std::accumulate(expected.begin(), expected.end(), std::int64_t{0}));
    RC_ASSERT(offsets.intact());
  });
}

TYPED_TEST(ListProperties, OffsetsOfOffsetsAreThemselves) {
  expect_always([] {
    const auto sizes = any_list_lengths().values;
    std::vector<TypeParam> bounds{TypeParam{0}};
    for (const std::int64_t size : sizes) {
      bounds.push_back(static_cast<TypeParam>(bounds.back() + static_cast<TypeParam>(size)));
    }
    const auto n = std::ssize(sizes);
    std::vector<std::int64_t> offsets(bounds.size(), 77);
    const Policy policy = *rc::gen::arbitrary<bool>().as("as the API picks") ? par : any_policy<TypeParam>("offsets");
    upsweep::offsets(policy, bounds, bounds, offsets, {.stops_offset = 1, .length = n});
    RC_ASSERT(offsets == std::vector<std::int64_t>(bounds.begin(), bounds.end()));
  });
}

TYPED_TEST(ListProperties, WhereverBadListsAreTheFirstIsNamed) {
  expect_always([] {
    auto lists = bounds_of<TypeParam>(any_list_lengths().values);
    const auto n = std::ssize(lists.starts);
    RC_PRE(n > 0);
    const bool strict = *rc::gen::arbitrary<bool>().as("strict");
    const auto bad = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(0, 6),
                                                                    rc::gen::inRange<std::int64_t>(0, n))
                          .as("bad lists");
    for (const std::int64_t at : bad) {
      const auto i = static_cast<std::size_t>(at);
      const int kind = *rc::gen::inRange(0, 3).as("kind");
      lists.stops[i] = kind == 2 ? std::numeric_limits<TypeParam>::max() : TypeParam{4};
      lists.starts[i] = kind == 0 ? TypeParam{5} : kind == 1 ? static_cast<TypeParam>(-1) : TypeParam{0};
    }
    const Policy policy = any_policy<TypeParam>("offsets");
    Guarded<std::int64_t> offsets(n + 1);
    const tests::Failure outcome = tests::failure_of(
        [&] { upsweep::offsets(policy, lists.starts, lists.stops, offsets.span(), {.strict = strict}); });
    const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n, strict);
    RC_ASSERT(tests::complaint(expected, outcome, offsets.data()) == "");
    RC_ASSERT(offsets.intact());
  });
}

TYPED_TEST(ListProperties, ListsInPartsAreTheWhole) {
  expect_always([] {
    const auto lists = bounds_of<TypeParam>(any_list_lengths().values);
    const auto n = std::ssize(lists.starts);
    const auto cuts = any_cuts(n);
    std::vector<std::int64_t> offsets(lists.starts.size() + 1, 77);
    OffsetsCarry carry;
    OffsetsCarry merged;
    for (std::size_t p = 1; p < cuts.size(); ++p) {
      const std::int64_t first = cuts[p - 1];
      const std::int64_t count = cuts[p] - first;
      std::vector<std::int64_t> alone(static_cast<std::size_t>(count) + 1);
      OffsetsCarry part;
      upsweep::offsets(any_policy<TypeParam>("offsets"), lists.starts.data() + first, lists.stops.data() + first, count,
                       alone.data(), false, part);
      merged = merge_carries(merged, part);
      upsweep::offsets(any_policy<TypeParam>("offsets"), lists.starts.data() + first, lists.stops.data() + first, count,
                       offsets.data() + first, false, carry);
    }
    const auto expected = tests::expected_offsets(lists.starts.data(), lists.stops.data(), n);
    RC_ASSERT(tests::complaint(expected, {}, offsets.data()) == "");
    RC_ASSERT(carry.total == merged.total);
    RC_ASSERT(carry.lists == n);
    RC_ASSERT(merged.lists == n);
  });
}

// --------------------------------------------------------------------------------------------------------- subset sums

using Items = std::vector<std::int64_t>;

std::int64_t total_of(const Items& items) { return std::accumulate(items.begin(), items.end(), std::int64_t{0}); }

/// Up to 14 items: many equal, dense or sparse; sometimes with a common divisor. Their sum is at most 14 * 6 * 2000.
Items any_items() {
  const auto largest = *rc::gen::element<std::int64_t>(3, 20, 300, 2000).as("largest");
  const auto count = *rc::gen::inRange<std::size_t>(0, 15);
  const auto unit = *rc::gen::weightedElement<std::int64_t>({{3, 1}, {1, 2}, {1, 6}}).as("unit");
  Array<std::int64_t> items{
      *rc::gen::container<Items>(count, rc::gen::inRange<std::int64_t>(1, largest + 1)).as("items in units")};
  for (std::int64_t& item : items.values) item *= unit;
  return items.values;
}

/// The sum of any subset, or sometimes any number up to slightly more than all items.
std::int64_t any_target(const Items& items) {
  if (*rc::gen::inRange(0, 3).as("0: any target") == 0) {
    return *rc::gen::inRange<std::int64_t>(0, total_of(items) + 3).as("target");
  }
  const auto taken = *rc::gen::container<std::vector<bool>>(items.size(), rc::gen::arbitrary<bool>()).as("taken");
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < items.size(); ++i) sum += taken[i] ? items[i] : 0;
  return sum;
}

/// A rung that decides, or sometimes the API's choice, and a thread count. Without `exact`, the rung that only supports
/// exact targets is left out.
Policy any_solver(bool exact = true) {
  std::vector<std::string_view> ids{""};
  for (const auto& rung : tests::cpu_rungs("subset-sum")) {
    if (exact || rung.id != "cpu.schroeppel_shamir") ids.push_back(rung.id);
  }
  const auto chosen = *rc::gen::inRange<std::size_t>(0, ids.size());
  return par.with_rung(ids[chosen])
      .with_threads(*rc::gen::element(1, 2, 5).as("threads of " + std::string(ids[chosen])));
}

/// Returns an answer with or without its items, which are added up again; with or without reduction and early stop.
SubsetSum any_answer(const Policy& policy, const Items& items, std::int64_t target, std::int64_t below = 0,
                     std::int64_t above = 0) {
  SubsetSumOptions options{.below = below, .above = above};
  options.witness = *rc::gen::arbitrary<bool>().as("witness");
  options.reduce = *rc::gen::arbitrary<bool>().as("reduce");
  options.early_stop = *rc::gen::arbitrary<bool>().as("early stop");
  const SubsetSum answer = find_subset(policy, items, target, options);
  if (!answer || !options.witness) {
    RC_ASSERT(answer.indices.empty());
    return answer;
  }
  std::int64_t sum = 0;
  std::int64_t before = -1;
  for (const std::int64_t index : answer.indices) {
    RC_ASSERT(index > before);
    RC_ASSERT(index < std::ssize(items));
    sum += items[static_cast<std::size_t>(index)];
    before = index;
  }
  RC_ASSERT(answer.sum == sum);
  return answer;
}

bool is_reachable(const Items& items, std::int64_t target) {
  const SubsetSum answer = any_answer(any_solver(), items, target);
  RC_ASSERT(!answer || answer.sum == target);
  return answer.reachable;
}

/// The sums 0 … limit, one bit each, computed by a rung that fills bitmaps.
std::vector<bool> sums_up_to(const Items& items, std::int64_t limit) {
  const auto rung = *rc::gen::element<std::string>("", "cpu.table", "cpu.columns", "cpu.threads", "cpu.bits",
                                                   "cpu.bits_simd", "cpu.enumerate")
                         .as("filled by");
  Guarded<std::uint64_t> words(limit / 64 + 1, *rc::gen::inRange(0, 8).as("misaligned"));
  reachable_sums(par.with_rung(rung).with_threads(3), items.data(), std::ssize(items), limit, words.data());
  RC_ASSERT(words.intact());
  std::vector<bool> sums;
  for (std::int64_t i = 0; i < std::ssize(words.span()) * 64; ++i) {
    const bool is_there = (words.data()[i / 64] >> (i % 64) & 1) != 0;
    if (i <= limit) sums.push_back(is_there);
    RC_ASSERT(i <= limit || !is_there);
  }
  return sums;
}

TEST(SubsetSumProperties, SomeItemsAreFoundAgain) {
  expect_always([] {
    const Items items = any_items();
    const auto taken = *rc::gen::container<std::vector<bool>>(items.size(), rc::gen::arbitrary<bool>()).as("taken");
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < items.size(); ++i) sum += taken[i] ? items[i] : 0;
    RC_ASSERT(is_reachable(items, sum));
  });
}

TEST(SubsetSumProperties, SomeOfManyItemsAreFoundAgain) {
  // There are enough items that bitmaps are filled for them, and for their halves.
  expect_always([] {
    const auto count = *rc::gen::inRange<std::int64_t>(30, 300).as("items");
    const auto largest = *rc::gen::element<std::int64_t>(40, 500, 4000).as("largest");
    const auto unit = *rc::gen::element<std::int64_t>(1, 6).as("unit");
    std::mt19937_64 random(*rc::gen::arbitrary<unsigned>().as("seed"));
    Items items;
    for (std::int64_t i = 0; i < count; ++i) {
      items.push_back(unit * (1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest))));
    }
    items[random() % items.size()] += 1;  // with this item, not all are multiples
    std::int64_t sum = 0;
    for (const std::int64_t item : items) sum += random() % 4 == 0 ? item : 0;
    const Policy policy =
        par.with_rung(*rc::gen::element<std::string_view>("", "cpu.bits", "cpu.bits_simd").as("rung"));
    const SubsetSum answer = any_answer(policy, items, sum);
    RC_ASSERT(answer.reachable);
    RC_ASSERT(answer.sum == sum);
  });
}

TEST(SubsetSumProperties, AnotherItemTakesASumFurther) {
  expect_always([] {
    Items items = any_items();
    const std::int64_t target = any_target(items);
    const bool before = is_reachable(items, target);
    const auto item = *rc::gen::inRange<std::int64_t>(1, 3000).as("item");
    const bool less = item <= target && is_reachable(items, target - item);
    items.insert(items.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(items) + 1).as("place"), item);
    RC_ASSERT(is_reachable(items, target) == (before || less));
    if (before) RC_ASSERT(is_reachable(items, target + item));
  });
}

TEST(SubsetSumProperties, TheOrderOfTheItemsDoesNotMatter) {
  expect_always([] {
    const Items items = any_items();
    const std::int64_t target = any_target(items);
    Items others = items;
    std::shuffle(others.begin(), others.end(),
                 std::mt19937_64(*rc::gen::arbitrary<unsigned>().as("seed of the order")));
    RC_ASSERT(is_reachable(items, target) == is_reachable(others, target));
    RC_ASSERT(sums_up_to(items, target) == sums_up_to(others, target));
  });
}

TEST(SubsetSumProperties, WhatIsReachedCanBeLeftOut) {
  expect_always([] {
    const Items items = any_items();
    const std::int64_t target = any_target(items);
    RC_PRE(target <= total_of(items));
    RC_ASSERT(is_reachable(items, target) == is_reachable(items, total_of(items) - target));
  });
}

TEST(SubsetSumProperties, MultiplesReachMultiplesOnly) {
  expect_always([] {
    Items items = any_items();
    const std::int64_t target = any_target(items);
    const bool before = is_reachable(items, target);
    const auto factor = *rc::gen::element<std::int64_t>(2, 3, 64, 100000).as("factor");
    for (std::int64_t& item : items) item *= factor;
    // Only rungs that list sums: bitmaps would be larger by this factor.
    const auto rung =
        *rc::gen::element<std::string>("", "cpu.enumerate", "cpu.meet_in_the_middle", "cpu.schroeppel_shamir")
             .as("rung");
    const Policy policy = par.with_rung(rung);
    RC_ASSERT(any_answer(policy, items, target * factor).reachable == before);
    RC_ASSERT(!any_answer(policy, items, target * factor + 1));
  });
}

TEST(SubsetSumProperties, TheBitmapSaysWhatIsDecided) {
  expect_always([] {
    const Items items = any_items();
    const std::int64_t limit = any_target(items);
    const std::vector<bool> sums = sums_up_to(items, limit);
    for (int i = 0; i < 5; ++i) {
      const auto target = *rc::gen::inRange<std::int64_t>(0, limit + 1).as("asked about");
      RC_ASSERT(is_reachable(items, target) == sums[static_cast<std::size_t>(target)]);
    }
    RC_ASSERT(is_reachable(items, limit) == sums.back());
  });
}

TEST(SubsetSumProperties, TheNearestSumIsTheBitmapsNearest) {
  expect_always([] {
    const Items items = any_items();
    const std::int64_t limit = total_of(items) + 30;
    const std::vector<bool> sums = sums_up_to(items, limit);
    for (int i = 0; i < 12; ++i) {
      // The target is in the middle between two adjacent sums, of which the lower one counts, or close to the middle.
      std::int64_t under = *rc::gen::inRange<std::int64_t>(0, total_of(items) + 1).as("between this sum and the next");
      while (!sums[static_cast<std::size_t>(under)]) --under;
      std::int64_t over = under + 1;
      while (over < limit && !sums[static_cast<std::size_t>(over)]) ++over;
      const auto beside = *rc::gen::element<std::int64_t>(0, 0, 0, 1, 1, -1, 2, -2).as("beside the middle");
      const std::int64_t target = std::max<std::int64_t>((under + over) / 2 + beside, 0);
      const auto below = *rc::gen::element<std::int64_t>(0, 3, over, target).as("below");
      const auto above = *rc::gen::element<std::int64_t>(0, 3, below, below, limit).as("above");
      std::int64_t nearest = -1;
      for (std::int64_t distance = limit; distance >= 0; --distance) {
        const auto is_sum = [&](std::int64_t sum) {
          return sum >= 0 && sum <= limit && sums[static_cast<std::size_t>(sum)];
        };
        if (distance <= above && is_sum(target + distance)) nearest = target + distance;
        if (distance <= below && is_sum(target - distance)) nearest = target - distance;  // the lower one of two
      }
      const SubsetSum answer = any_answer(any_solver(below == 0 && above == 0), items, target, below, above);
      RC_ASSERT(answer.reachable == (nearest >= 0));
      if (answer) RC_ASSERT(answer.sum == nearest);
    }
  });
}

TEST(SubsetSumProperties, SumsOfTwoPartsAreThoseOfTheWhole) {
  // The sums of two halves of the items determine all sums: they are added pair by pair.
  expect_always([] {
    const Items items = any_items();
    const std::int64_t limit = *rc::gen::inRange<std::int64_t>(0, 3000).as("limit");
    const auto cut = items.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(items) + 1).as("cut");
    const std::vector<bool> left = sums_up_to({items.begin(), cut}, limit);
    const std::vector<bool> right = sums_up_to({cut, items.end()}, limit);
    std::vector<bool> both(left.size());
    for (std::size_t a = 0; a < left.size(); ++a) {
      if (!left[a]) continue;
      for (std::size_t b = 0; a + b < both.size(); ++b) both[a + b] = both[a + b] || right[b];
    }
    RC_ASSERT(sums_up_to(items, limit) == both);
  });
}

}  // namespace
}  // namespace upsweep
