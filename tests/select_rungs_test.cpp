// SPDX-License-Identifier: Apache-2.0
// tests/select_rungs_test.cpp: every rung of the select ladder is compared with the reference. Cases: patterns of
// lists, types, sizes, masks, misalignment, threads, instruction sets and errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/lists.hpp"
#include "failure.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::adjacent_lists;
using tests::code_of;
using tests::Failure;
using tests::failure_of;
using tests::GivenMask;
using tests::Guarded;
using tests::GuardedColumn;
using tests::isas;
using tests::make_mask;
using tests::Selection;
using tests::shuffled;
using tests::Wide;
using Pattern = upsweep::ListPattern;

constexpr Pattern kPatterns[] = {Pattern::poisson,   Pattern::fixed3,    Pattern::fixed32,
                                 Pattern::fixed1000, Pattern::zero_to_4, Pattern::empty,
                                 Pattern::one,       Pattern::giants,    Pattern::pareto};
constexpr unsigned kShares[] = {0, 1, 50, 90, 100};
// Sizes around a group of a register (4 to 16), a word of marks (64), a block of marks (2^16), and several of these.
constexpr std::int64_t kSizes[] = {0,   1,   2,   7,    8,    9,     15,    16,    17,    63,     64,    65,
                                   127, 128, 129, 1000, 4097, 65535, 65536, 65537, 65600, 131072, 200001};
constexpr std::int64_t kFewSizes[] = {0, 1, 8, 63, 64, 65, 1000, 65537};

std::span<const std::int64_t> sizes(bool few = tests::kSanitized) {
  if (few) return kFewSizes;
  return kSizes;
}

auto selecting(const Policy& policy) {
  return
      [policy](const Lists& lists, const Mask& mask, std::int64_t* out_offsets, std::span<const SelectColumn> columns) {
        return select(policy, lists, mask, out_offsets, columns).kept;
      };
}

/// Checks every rung, and the API's choice.
template <class T, class E>
void check_rungs(const Policy& policy, const Selection& given, bool by_offsets, std::int64_t first_bit,
                 std::int64_t misaligned = 0) {
  for (const RungInfo& rung : tests::cpu_rungs("select")) {
    const Policy named = policy.with_rung(rung.id);
    EXPECT_EQ((tests::complaint<T, E>(given, by_offsets, first_bit, misaligned, selecting(named))), "") << rung.id;
  }
  EXPECT_EQ((tests::complaint<T, E>(given, by_offsets, first_bit, misaligned, selecting(policy))), "");
}

template <class T>
void check_size(const Policy& policy, const Selection& given, bool by_offsets, std::int64_t first_bit, int bytes,
                std::int64_t misaligned = 0) {
  SCOPED_TRACE(testing::Message() << "elements of " << bytes << " bytes, first bit " << first_bit << ", misaligned "
                                  << misaligned);
  switch (bytes) {
    case 1:
      return check_rungs<T, std::uint8_t>(policy, given, by_offsets, first_bit, misaligned);
    case 2:
      return check_rungs<T, std::uint16_t>(policy, given, by_offsets, first_bit, misaligned);
    case 4:
      return check_rungs<T, std::uint32_t>(policy, given, by_offsets, first_bit, misaligned);
    case 8:
      return check_rungs<T, std::uint64_t>(policy, given, by_offsets, first_bit, misaligned);
    default:
      return check_rungs<T, Wide>(policy, given, by_offsets, first_bit, misaligned);
  }
}

template <class T>
class SelectRungs : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(SelectRungs, BoundTypes);

TYPED_TEST(SelectRungs, EveryPatternSizeAndShareMatchesTheReference) {
  std::int64_t turn = 0;
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t n : sizes(tests::kSanitized || sizeof(TypeParam) == 4)) {
      for (const unsigned share : kShares) {
        // Element sizes, bitmaps, and the content around the lists vary from case to case.
        const int bytes = 1 << (turn % 5);
        const std::int64_t first_bit = turn % 3 == 0 ? turn % 11 : -1;
        const Selection given = adjacent_lists(pattern, n, share, turn % 4 == 0 ? turn % 77 : 0, turn % 2 * 5);
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " share " << share);
        check_size<TypeParam>(par.with_threads(2), given, true, first_bit, bytes);
        ++turn;
      }
    }
  }
}

TYPED_TEST(SelectRungs, ListsInAnyOrderMatchTheReference) {
  std::int64_t turn = 0;
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t n : {1, 9, 64, 1000, 70001}) {
      // For a single long list, or giants, two cases are enough.
      for (const bool nulls : {false, true}) {
        const Selection given = shuffled(adjacent_lists(pattern, n, kShares[turn % 5], 3, 5), nulls);
        SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << " nulls " << nulls);
        check_size<TypeParam>(par.with_threads(3), given, false, turn % 3 == 0 ? turn % 9 : -1, 1 << (turn % 5));
        ++turn;
      }
    }
  }
}

TEST(SelectRungs, EveryInstructionSetThreadCountAndAlignmentMatchesTheReference) {
  for (const Pattern pattern : {Pattern::poisson, Pattern::one, Pattern::giants}) {
    for (const std::int64_t n : {5, 100, 70003, 270001}) {
      if (tests::kSanitized && n > 100000) continue;
      const Selection adjacent = adjacent_lists(pattern, n, 40, 1, 2);
      const Selection anywhere = shuffled(adjacent, n % 3 == 0);
      for (const Isa isa : isas()) {
        for (const int threads : {1, 2, 3, 4}) {
          SCOPED_TRACE(testing::Message()
                       << pattern_name(pattern) << " n " << n << " isa " << name(isa) << " threads " << threads);
          const Policy policy = par.with_isa(isa).with_threads(threads);
          for (const int bytes : {1, 2, 4, 8, 16}) {
            const Policy production = policy.with_rung("cpu.compress");
            const auto run = [&]<class E>() {
              const std::int64_t misaligned = threads - 1;
              EXPECT_EQ((tests::complaint<std::int64_t, E>(adjacent, true, -1, misaligned, selecting(production))), "");
              EXPECT_EQ(
                  (tests::complaint<std::int32_t, E>(anywhere, false, threads, misaligned, selecting(production))), "");
            };
            if (bytes == 1) run.operator()<std::uint8_t>();
            if (bytes == 2) run.operator()<std::uint16_t>();
            if (bytes == 4) run.operator()<std::uint32_t>();
            if (bytes == 8) run.operator()<std::uint64_t>();
            if (bytes == 16) run.operator()<Wide>();
          }
        }
      }
    }
  }
}

TEST(SelectRungs, EveryElementAloneIsKept) {
  // No lane, word or block border is lost, and every bit of a bitmap belongs to the right element.
  const std::int64_t n = 300;
  for (std::int64_t kept = 0; kept < n; ++kept) {
    Selection given = adjacent_lists(Pattern::zero_to_4, n, 0);
    given.mask[static_cast<std::size_t>(kept)] = true;
    for (const Isa isa : isas()) {
      const auto run = selecting(seq.with_isa(isa).with_rung("cpu.compress"));
      ASSERT_EQ((tests::complaint<std::int64_t, std::uint64_t>(given, true, -1, 0, run)), "") << kept;
      ASSERT_EQ((tests::complaint<std::int64_t, std::uint32_t>(given, true, kept % 19, 0, run)), "") << kept;
    }
  }
}

TEST(SelectRungs, ListsOfOneSizeAreLists) {
  for (const std::int64_t size : {0, 1, 3, 32, 1000}) {
    const std::int64_t count = size == 0 ? 5 : 70'000 / size;
    const std::vector<bool> booleans = make_mask(count * size + 7, 50);
    GivenMask mask(booleans);
    std::vector<std::int64_t> kept{0};
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = booleans.begin() + i * size;
      kept.push_back(kept.back() + std::count(first, first + size, true));
    }
    for (const RungInfo& rung : tests::cpu_rungs("select")) {
      std::vector<std::int64_t> offsets(kept.size());
      const Selected selected = select(par.with_rung(rung.id), Lists::of_size(count, size), mask.view(), offsets);
      EXPECT_EQ(selected.kept, kept.back()) << rung.id;
      EXPECT_EQ(offsets, kept) << rung.id;
    }
  }
}

TEST(SelectRungs, ArraysWithoutListsAreCompacted) {
  for (const std::int64_t n : sizes()) {
    for (const unsigned share : kShares) {
      const std::vector<bool> booleans = make_mask(n, share);
      std::vector<std::int64_t> positions;
      for (std::int64_t j = 0; j < n; ++j) {
        if (booleans[static_cast<std::size_t>(j)]) positions.push_back(j);
      }
      for (const std::int64_t first_bit : {-1, 0, 5, 64, 71}) {
        GivenMask mask(booleans, first_bit);
        for (const RungInfo& rung : tests::cpu_rungs("select")) {
          const Policy policy = par.with_rung(rung.id).with_threads(3);
          GuardedColumn<float> column(n, std::ssize(positions), 1);
          GuardedColumn<Wide> wide(n, std::ssize(positions), 1);
          const Selected selected = select(policy, mask.view(), column.view(), wide.view());
          EXPECT_EQ(selected, std::ssize(positions)) << rung.id;
          EXPECT_EQ(selected.rung, rung.id);
          EXPECT_EQ(column.complaint(positions), "") << rung.id << " n " << n << " first bit " << first_bit;
          EXPECT_EQ(wide.complaint(positions), "") << rung.id << " n " << n << " first bit " << first_bit;
          EXPECT_EQ(count_kept(policy, mask.view()), std::ssize(positions)) << rung.id;
        }
      }
    }
  }
}

// -------------------------------------------------------------------------------------------------------------- errors

/// Checks every rung, with columns and with only counting.
void expect_failure(const Lists& lists, const Mask& mask, const Failure& expected, const std::string& what) {
  for (const RungInfo& rung : tests::cpu_rungs("select")) {
    for (const int threads : {1, 3}) {
      const Policy policy = par.with_rung(rung.id).with_threads(threads);
      Guarded<std::int64_t> offsets(lists.count + 1);
      GuardedColumn<double> column(mask.length, mask.length, 0);
      const SelectColumn view = column.view();
      EXPECT_EQ(failure_of([&] { select(policy, lists, mask, offsets.data(), std::span(&view, 1)); }), expected)
          << rung.id << ' ' << what;
      EXPECT_EQ(failure_of([&] { (void)count_kept(policy, lists, mask); }), expected) << rung.id << ' ' << what;
      EXPECT_TRUE(offsets.intact() && column.intact()) << rung.id << ' ' << what;
    }
  }
}

TEST(SelectErrors, NameTheFirstBadList) {
  for (const std::int64_t n : {3, 50, 200001}) {
    const Selection given = adjacent_lists(Pattern::fixed3, n, 50);
    std::vector<std::int64_t> good{0};
    good.insert(good.end(), given.stops.begin(), given.stops.end());
    GivenMask mask(given.mask);
    const std::int64_t lists = given.lists();
    for (const std::int64_t bad : {std::int64_t{0}, lists / 2, lists - 1}) {
      const auto at = static_cast<std::size_t>(bad);
      std::vector<std::int64_t> offsets = good;
      offsets[at + 1] = offsets[at] - 1;
      expect_failure(offsets, mask.view(), {Code::stop_before_start, bad}, "decreases");
      offsets = good;
      offsets[at + 1] = n + 1;
      expect_failure(offsets, mask.view(), {Code::stop_past_end, bad}, "past the end");
      offsets = good;
      offsets[at + 1] = std::numeric_limits<std::int64_t>::max();
      offsets.back() = -1;  // the last list is also invalid
      expect_failure(offsets, mask.view(),
                     {at + 1 == offsets.size() - 1 ? Code::stop_before_start : Code::stop_past_end, bad}, "two");
      offsets = good;
      offsets[0] = -5;
      expect_failure(offsets, mask.view(), {Code::negative_start, 0}, "negative");
      // The same lists by starts and stops.
      std::vector<std::int64_t> starts(good.begin(), good.end() - 1);
      std::vector<std::int64_t> stops(good.begin() + 1, good.end());
      stops[at] = starts[at] - 1;
      stops.back() = starts.back() - 1;
      expect_failure({starts, stops}, mask.view(), {Code::stop_before_start, bad}, "bounds");
      starts[at] = -1;
      stops[at] = 2;
      expect_failure({starts, stops}, mask.view(), {Code::negative_start, bad}, "bounds");
    }
  }
}

TEST(SelectErrors, DecreasesThatWrapAroundAreFound) {
  // Lengths modulo 2^64 are not negative, and their sum is 0.
  GivenMask mask(make_mask(64, 50));
  std::vector<std::int64_t> offsets(30, 10);
  offsets[9] = std::numeric_limits<std::int64_t>::min() + 9;
  offsets[10] = 8;
  expect_failure(offsets, mask.view(), {Code::stop_before_start, 8}, "wraps");
}

TEST(SelectErrors, BoundsOfEmptyListsMayBeAnything) {
  GivenMask mask(make_mask(10, 50));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bound :
       {std::int64_t{-5}, std::int64_t{0}, std::int64_t{10}, std::int64_t{11}, most, -most}) {
    const std::vector<std::int64_t> offsets(100, bound);
    for (const RungInfo& rung : tests::cpu_rungs("select")) {
      std::vector<std::int64_t> out(100, 7);
      EXPECT_EQ(select(par.with_rung(rung.id), offsets, mask.view(), out), 0) << rung.id;
      EXPECT_EQ(out, std::vector<std::int64_t>(100, 0)) << rung.id << ' ' << bound;
    }
  }
}

TEST(SelectErrors, OutputsOfTooSmallCapacityAreNotOverrun) {
  for (const std::int64_t n : {4, 100, 100001}) {
    const Selection given = adjacent_lists(Pattern::poisson, n, 60);
    const auto kept = std::ssize(given.expected().positions);
    std::vector<std::int64_t> offsets{0};
    offsets.insert(offsets.end(), given.stops.begin(), given.stops.end());
    GivenMask mask(given.mask);
    for (const std::int64_t capacity : {kept - 1, std::int64_t{0}}) {
      for (const RungInfo& rung : tests::cpu_rungs("select")) {
        const Policy policy = par.with_rung(rung.id).with_threads(2);
        GuardedColumn<std::uint64_t> column(n, n, 0);
        GuardedColumn<std::uint8_t> other(n, capacity, 0);
        std::vector<std::int64_t> out(offsets.size());
        const Failure expected{Code::unequal_lengths, kNoIndex};
        EXPECT_EQ(failure_of([&] { select(policy, offsets, mask.view(), out, column.view(), other.view()); }), expected)
            << rung.id;
        EXPECT_EQ(failure_of([&] { select(policy, mask.view(), column.view(), other.view()); }), expected) << rung.id;
        EXPECT_TRUE(column.intact() && other.intact()) << rung.id;
        // An invalid list is reported first.
        std::vector<std::int64_t> bad = offsets;
        bad.back() = n + 1;
        EXPECT_EQ(failure_of([&] { select(policy, bad, mask.view(), out, other.view()); }),
                  (Failure{Code::stop_past_end, std::ssize(bad) - 2}))
            << rung.id;
      }
    }
  }
}

TEST(SelectApi, SaysWhatIsWrong) {
  const std::vector<std::int64_t> offsets{0, 2, 4};
  const std::vector<std::uint8_t> mask{1, 0, 1, 1};
  const std::vector<double> content{1, 2, 3, 4};
  std::vector<double> out(4);
  std::vector<std::int64_t> out_offsets(3);
  const auto code = [](auto call) { return failure_of(call).code; };
  const auto with = [&](const Policy& policy) {
    return code([&] { select(policy, offsets, mask, out_offsets, content, out); });
  };
  EXPECT_EQ(with(par), Code::ok);
  EXPECT_EQ(out_offsets, (std::vector<std::int64_t>{0, 1, 3}));
  EXPECT_EQ((std::vector<double>{out.begin(), out.begin() + 3}), (std::vector<double>{1, 3, 4}));
  EXPECT_EQ(with(par.with_threads(-1)), Code::invalid_argument);
  EXPECT_EQ(with(par.with_rung("cpu.quick")), Code::unknown_rung);
  const std::vector<std::uint8_t> longer(5);
  EXPECT_EQ(code([&] { select(par, offsets, longer, out_offsets, content, out); }), Code::unequal_lengths);
  std::vector<std::int64_t> fewer(2);
  EXPECT_EQ(code([&] { select(par, offsets, mask, fewer, content, out); }), Code::unequal_lengths);
  EXPECT_EQ(code([&] { select(par, mask, SelectColumn(content.data(), 4, out.data(), 4, 3)); }),
            Code::unsupported_type);
  EXPECT_EQ(code([&] { select(par, mask, SelectColumn(content.data(), 4, nullptr, 4, 8)); }), Code::invalid_argument);
  EXPECT_EQ(code([&] { select(par, Mask::bytes(nullptr, 4), content, out); }), Code::invalid_argument);
  EXPECT_EQ(code([&] { select(par, Mask::bits(mask.data(), 4, -1), content, out); }), Code::invalid_argument);
  EXPECT_EQ(code([&] { select(par, mask, out, out); }), Code::invalid_argument) << "in place";
  EXPECT_EQ(code([&] { select(par, mask, SelectColumn(content, out), SelectColumn(content, out)); }),
            Code::invalid_argument)
      << "two columns into one output";
  EXPECT_EQ(code([&] { select(par, Lists::of_size(2, 3), mask, out_offsets, content, out); }), Code::unequal_lengths);
  EXPECT_EQ(code([&] { count_kept(par, Lists::of_size(std::int64_t{1} << 49, 0), mask); }), Code::invalid_argument);
  EXPECT_EQ(select(par, std::vector<std::uint8_t>{}), 0);
  std::vector<std::int64_t> none(1, 7);
  EXPECT_EQ(select(par, std::vector<std::int64_t>{0}, std::vector<std::uint8_t>{}, none), 0);
  EXPECT_EQ(none[0], 0);
}

TEST(SelectApi, PicksByLengthOnly) {
  for (const std::int64_t n : {0, 1, 64, 65, 100000}) {
    const std::vector<std::uint8_t> mask(static_cast<std::size_t>(n), 1);
    for (const int threads : {0, 1, 3}) {
      EXPECT_EQ(count_kept(par.with_threads(threads), mask).rung, n <= 64 ? "cpu.serial" : "cpu.compress");
    }
  }
}

// --------------------------------------------------------------------- outputs that are made when it is known how long

/// A selection of int64 whose output is allocated by a function of its length. `clears`: the function clears the mask,
/// which must not be read again afterwards.
struct MadeOutput {
  MadeOutput(const Selection& given, bool has_lists, bool clears = false)
      : mask(given.mask.begin(), given.mask.end()), content(given.mask.size()), offsets(given.starts.size() + 1) {
    std::iota(content.begin(), content.end(), std::int64_t{7});
    column = SelectColumn(content.data(), std::ssize(content), static_cast<std::int64_t*>(nullptr), 0);
    call.has_lists = has_lists;
    call.mask = mask;
    if (has_lists) call.lists = Lists(given.starts, given.stops);
    if (has_lists) call.out_offsets = offsets.data();
    call.columns = std::span(&column, 1);
    call.allocate_outputs = [this, clears](std::int64_t kept) {
      ++times;
      if (clears) std::fill(mask.begin(), mask.end(), std::uint8_t{0});
      out.assign(static_cast<std::size_t>(kept), -1);
      column.out = out.data();
      column.capacity = kept;
    };
  }

  std::vector<std::uint8_t> mask;
  std::vector<std::int64_t> content;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> out;
  SelectColumn column;
  detail::SelectCall call;
  int times = 0;
};

/// Checks the output; without lists the array is treated as one list.
void check_made_output(const Selection& given, bool has_lists, const Policy& policy) {
  Selection as_one = given;
  if (!has_lists) {
    as_one.starts = {0};
    as_one.stops = {given.content()};
  }
  const auto expected = as_one.expected();
  const bool clears = policy.rung == "cpu.compress";
  MadeOutput made(given, has_lists, clears);
  EXPECT_EQ(detail::run_select(policy, made.call), policy.rung);
  EXPECT_EQ(made.times, 1) << policy.rung;
  std::vector<std::int64_t> elements = expected.positions;
  for (std::int64_t& element : elements) element += 7;
  EXPECT_EQ(made.out, elements) << policy.rung;
  EXPECT_EQ(made.call.kept, std::ssize(elements)) << policy.rung;
  if (has_lists) {
    EXPECT_EQ(made.offsets, expected.offsets) << policy.rung;
  }
}

TEST(SelectRungs, OutputsAreMadeOnceItIsKnownHowLongTheyAre) {
  for (const auto& rung : tests::cpu_rungs("select")) {
    for (const std::int64_t n : {0, 1, 70, 1000, 70001}) {
      for (const int threads : {1, 3}) {
        const Policy policy = par.with_threads(threads).with_rung(rung.id);
        const Selection lists = adjacent_lists(Pattern::poisson, n, 50);
        check_made_output(lists, false, policy);
        check_made_output(lists, true, policy);
        if (n > 0) check_made_output(shuffled(lists, false), true, policy);
      }
    }
  }
}

TEST(SelectRungs, MarksOfAdjacentListsAreKeptWhileOutputsAreMade) {
  const std::vector<std::int64_t> offsets{2, 2, 5, 9};
  Selection given;
  given.starts = {2, 2, 5};
  given.stops = {2, 5, 9};
  given.mask = make_mask(12, 50);
  MadeOutput made(given, true, true);
  made.call.lists = Lists(offsets);
  (void)detail::run_select(par.with_rung("cpu.compress"), made.call);
  EXPECT_EQ(made.offsets, given.expected().offsets);
  EXPECT_EQ(std::ssize(made.out), made.offsets.back());
  // Empty lists may have any position; the outputs are still allocated.
  const std::vector<std::int64_t> far{100, 100};
  made.call.lists = Lists(far);
  (void)detail::run_select(par.with_rung("cpu.compress"), made.call);
  EXPECT_EQ(made.times, 2);
  EXPECT_TRUE(made.out.empty());
}

TEST(SelectRungs, OutputsThatCannotBeMadeEndTheCall) {
  Selection given = adjacent_lists(Pattern::poisson, 1000, 50);
  for (const auto& rung : tests::cpu_rungs("select")) {
    const Policy policy = par.with_threads(2).with_rung(rung.id);
    MadeOutput thrown(given, true);
    thrown.call.allocate_outputs = [](std::int64_t) { throw std::length_error("none"); };
    EXPECT_THROW(detail::run_select(policy, thrown.call), std::length_error) << rung.id;
    MadeOutput short_one(given, true);
    short_one.call.allocate_outputs = [&](std::int64_t kept) {
      short_one.out.resize(static_cast<std::size_t>(kept - 1));
      short_one.column.out = short_one.out.data();
      short_one.column.capacity = kept - 1;
    };
    EXPECT_EQ(code_of([&] { detail::run_select(policy, short_one.call); }), Code::unequal_lengths) << rung.id;
    // The mask has changed when the call counts again to report what is too small.
    MadeOutput changed(given, true);
    changed.call.allocate_outputs = [&](std::int64_t kept) {
      std::fill(changed.mask.begin(), changed.mask.end(), std::uint8_t{0});
      changed.out.resize(static_cast<std::size_t>(kept - 1));
      changed.column.out = changed.out.data();
      changed.column.capacity = kept - 1;
    };
    tests::expect_error(Code::invalid_argument, "the mask changed while the call ran",
                        [&] { detail::run_select(policy, changed.call); });
    // An invalid list is reported first.
    Selection bad = given;
    bad.stops[3] = given.content() + 1;
    MadeOutput of_bad(bad, true);
    of_bad.call.allocate_outputs = thrown.call.allocate_outputs;
    EXPECT_EQ(failure_of([&] { detail::run_select(policy, of_bad.call); }), (Failure{Code::stop_past_end, 3}))
        << rung.id;
  }
}

// --------------------------------------------------------------------------------------------------------------- lists

TEST(Lists, ThatAreGoodWhenTheyAreReadAgainHaveChanged) {
  const std::vector<std::int64_t> offsets{0, 2, 4};
  EXPECT_EQ(failure_of([&] { throw_bad_list(Lists(offsets), 1, 4); }).code, Code::invalid_argument);
  EXPECT_EQ(failure_of([&] { throw_bad_list(Lists(offsets), 1, 3); }).code, Code::stop_past_end);
}

TEST(Lists, AreAsAdjacentBeforeTheyHaveMemory) {
  const std::int32_t* const none = nullptr;
  EXPECT_TRUE(Lists::by_offsets(none, 5).are_adjacent());
  EXPECT_TRUE(Lists::by_offsets(none, 0).are_adjacent());
  EXPECT_FALSE(Lists::by_bounds(none, none, 5).are_adjacent());
  // But they cannot be read.
  const std::vector<std::uint8_t> mask(5);
  for (const Lists& lists : {Lists::by_offsets(none, 5), Lists::by_bounds(none, none, 5)}) {
    EXPECT_EQ(failure_of([&] { (void)count_kept(par, lists, mask); }).code, Code::invalid_argument);
  }
}

}  // namespace
}  // namespace upsweep
