// SPDX-License-Identifier: Apache-2.0
// tests/list_properties_test.cpp: laws of operations on lists that hold for any lists, tested with random lists, rungs
// and thread counts.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rungs.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/by_key.hpp"
#include "upsweep/combinations.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/pack.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/segmented_scan.hpp"
#include "upsweep/segmented_sort.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using Values = std::vector<std::int64_t>;

/// Adjacent lists, and their content.
struct Ragged {
  Values offsets;
  Values content;

  [[nodiscard]] std::int64_t lists() const { return std::ssize(offsets) - 1; }
  [[nodiscard]] std::int64_t elements() const { return std::ssize(content); }
};

/// Mostly short lists, sometimes one longer than a block's 4,096 elements. The first offset need not be 0.
Ragged any_ragged() {
  const auto lengths = *rc::gen::container<Values>(
                            rc::gen::weightedOneOf<std::int64_t>({{30, rc::gen::inRange<std::int64_t>(0, 9)},
                                                                  {6, rc::gen::inRange<std::int64_t>(9, 200)},
                                                                  {1, rc::gen::inRange<std::int64_t>(4000, 9000)}}))
                            .as("lengths");
  const auto first = *rc::gen::inRange<std::int64_t>(0, 5).as("first offset");
  Ragged ragged{{first}, {}};
  for (const std::int64_t length : lengths) ragged.offsets.push_back(ragged.offsets.back() + length);
  auto state = *rc::gen::arbitrary<std::uint64_t>().as("seed of the content");
  ragged.content.resize(static_cast<std::size_t>(ragged.offsets.back()) + 3);
  for (std::int64_t& value : ragged.content) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<std::int64_t>(state >> 56) - 128;
  }
  return ragged;
}

/// Like any_ragged(), without elements outside of the lists.
Ragged any_tight_ragged() {
  Ragged ragged = any_ragged();
  const std::int64_t first = ragged.offsets.front();
  for (std::int64_t& offset : ragged.offsets) offset -= first;
  ragged.content.resize(static_cast<std::size_t>(ragged.offsets.back()));
  return ragged;
}

std::vector<std::uint8_t> any_mask(std::int64_t n) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>().as("seed of the mask");
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = (seed >> (i * 7 % 61)) & 1;
  return mask;
}

Policy any_policy(std::string_view problem) {
  const auto rungs = tests::cpu_rungs(problem);
  const auto chosen = *rc::gen::inRange<std::size_t>(0, rungs.size());
  const auto threads = *rc::gen::element(1, 2, 3, 7).as("threads of " + std::string(rungs[chosen].id));
  return par.with_rung(rungs[chosen].id).with_threads(threads);
}

template <class T = std::int64_t>
std::vector<T> zeros(std::int64_t n) {
  return std::vector<T>(static_cast<std::size_t>(n));
}

/// Tests a law; a counterexample is printed, with the seed that reproduces it.
template <class Law>
void expect_always(Law law) {
  EXPECT_TRUE(rc::check(law));
}

TEST(ListProperties, TheFoldOfFoldsIsTheFoldOfAll) {
  expect_always([] {
    const Ragged ragged = any_tight_ragged();
    auto sums = zeros(ragged.lists());
    segmented_reduce(any_policy("segmented-reduce"), ragged.offsets, ragged.content, sums);
    const auto sum_of = [](const Values& values) { return reduce(par, values, std::int64_t{0}).value; };
    RC_ASSERT(sum_of(sums) == sum_of(ragged.content));
  });
}

TEST(ListProperties, FoldsFollowTheirListsWhereverTheseStand) {
  expect_always([] {
    const Ragged ragged = any_ragged();
    auto order = zeros(ragged.lists());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
    Values starts;
    Values stops;
    for (const std::int64_t list : order) {
      starts.push_back(ragged.offsets[static_cast<std::size_t>(list)]);
      stops.push_back(ragged.offsets[static_cast<std::size_t>(list) + 1]);
    }
    auto straight = zeros(ragged.lists());
    auto reversed = zeros(ragged.lists());
    segmented_reduce(par.with_rung("cpu.serial"), ragged.offsets, ragged.content, straight, argmax);
    segmented_reduce(par, Lists(starts, stops), ragged.content, reversed, argmax);
    std::reverse(reversed.begin(), reversed.end());
    RC_ASSERT(straight == reversed);
  });
}

TEST(ListProperties, TheLastOfAListsScanIsItsFold) {
  expect_always([] {
    const Ragged ragged = any_ragged();
    auto running = zeros(ragged.elements());
    auto folds = zeros(ragged.lists());
    segmented_inclusive_scan(any_policy("segmented-scan"), ragged.offsets, ragged.content, running, max);
    segmented_reduce(any_policy("segmented-reduce"), ragged.offsets, ragged.content, folds, max);
    for (std::size_t i = 0; i < folds.size(); ++i) {
      if (ragged.offsets[i] == ragged.offsets[i + 1]) continue;
      RC_ASSERT(running[static_cast<std::size_t>(ragged.offsets[i + 1]) - 1] == folds[i]);
    }
  });
}

TEST(ListProperties, PackedListsHaveTheFoldsOfTheListsThatTheyWere) {
  expect_always([] {
    const Ragged ragged = any_ragged();
    Values starts(ragged.offsets.begin(), ragged.offsets.end() - 1);
    Values stops(ragged.offsets.begin() + 1, ragged.offsets.end());
    std::reverse(starts.begin(), starts.end());
    std::reverse(stops.begin(), stops.end());
    auto offsets = zeros(ragged.lists() + 1);
    auto content = zeros(ragged.offsets.back() - ragged.offsets.front());
    pack(any_policy("pack"), Lists(starts, stops), offsets, PackColumn(ragged.content, content));
    RC_ASSERT(offsets.front() == 0);
    RC_ASSERT(offsets.back() == std::ssize(content));
    auto before = zeros(ragged.lists());
    auto after = zeros(ragged.lists());
    segmented_reduce(par, Lists(starts, stops), ragged.content, before);
    segmented_reduce(par, offsets, content, after);
    RC_ASSERT(before == after);
  });
}

TEST(ListProperties, WhatAMaskKeepsAndWhatItDropsAreTheList) {
  expect_always([] {
    const Ragged ragged = any_ragged();
    const auto mask = any_mask(ragged.elements());
    auto other = mask;
    for (std::uint8_t& one : other) one ^= 1;
    const auto selected = [&](const std::vector<std::uint8_t>& chosen) {
      std::pair both{zeros(ragged.lists() + 1), zeros(ragged.elements())};
      const auto kept = select(any_policy("select"), ragged.offsets, chosen, both.first, ragged.content, both.second);
      RC_ASSERT(kept == both.first.back());
      both.second.resize(static_cast<std::size_t>(kept));
      return both;
    };
    const auto [kept_offsets, kept] = selected(mask);
    const auto [dropped_offsets, dropped] = selected(other);
    for (std::size_t i = 0; i < ragged.offsets.size(); ++i) {
      RC_ASSERT(kept_offsets[i] + dropped_offsets[i] == ragged.offsets[i] - ragged.offsets.front());
    }
    // The kept elements, then the dropped ones, of all elements together.
    const std::vector inner(mask.begin() + ragged.offsets.front(), mask.begin() + ragged.offsets.back());
    const Values content(ragged.content.begin() + ragged.offsets.front(),
                         ragged.content.begin() + ragged.offsets.back());
    auto parted = zeros(std::ssize(content));
    RC_ASSERT(partition(par, inner, content, parted) == std::ssize(kept));
    RC_ASSERT(std::equal(kept.begin(), kept.end(), parted.begin()));
    RC_ASSERT(std::equal(dropped.begin(), dropped.end(), parted.begin() + std::ssize(kept)));
  });
}

TEST(ListProperties, SortedListsAreTheListsTakenByTheirArgsort) {
  expect_always([] {
    const Ragged ragged = any_tight_ragged();
    const SortOptions options{.descending = *rc::gen::arbitrary<bool>().as("descending")};
    auto sorted = zeros(ragged.elements());
    auto positions = zeros(ragged.elements());
    segmented_sort(any_policy("segmented-sort"), ragged.offsets, ragged.content, sorted, options);
    segmented_argsort(any_policy("segmented-sort"), ragged.offsets, ragged.content, positions, options);
    auto offsets = zeros(ragged.lists() + 1);
    auto taken = zeros(ragged.elements());
    take(par, ragged.offsets, ragged.content, ragged.offsets, positions, offsets, taken);
    RC_ASSERT(taken == sorted);
    for (std::size_t i = 0; i + 1 < ragged.offsets.size(); ++i) {
      const auto first = sorted.begin() + ragged.offsets[i];
      const auto last = sorted.begin() + ragged.offsets[i + 1];
      const bool ascends = std::is_sorted(first, last);
      const bool descends = std::is_sorted(first, last, std::greater<>{});
      RC_ASSERT((options.descending && descends) || (!options.descending && ascends));
    }
  });
}

TEST(ListProperties, OffsetsParentsAndLocalIndicesSayTheSame) {
  expect_always([] {
    const Ragged ragged = any_tight_ragged();
    auto parents = zeros(ragged.elements());
    auto index = zeros(ragged.elements());
    auto starts = zeros(ragged.elements());
    auto back = zeros(ragged.lists() + 1);
    offsets_to_parents(par, ragged.offsets, parents);
    local_index(par, ragged.offsets, index);
    parents_to_offsets(par, parents, back);
    RC_ASSERT(back == ragged.offsets);
    const Values first(ragged.offsets.begin(), ragged.offsets.end() - 1);
    broadcast(par, ragged.offsets, first, starts);
    for (std::size_t j = 0; j < index.size(); ++j) RC_ASSERT(starts[j] + index[j] == static_cast<std::int64_t>(j));
  });
}

TEST(ListProperties, FoldsByParentsAreThoseOfTheListsThatAreNotEmpty) {
  expect_always([] {
    const Ragged ragged = any_tight_ragged();
    auto parents = zeros(ragged.elements());
    offsets_to_parents(par, ragged.offsets, parents);
    auto keys = zeros(ragged.lists());
    auto folds = zeros(ragged.lists());
    auto sums = zeros(ragged.lists());
    const auto runs = reduce_by_key(any_policy("by-key"), parents, ragged.content, keys, folds).runs;
    segmented_reduce(any_policy("segmented-reduce"), ragged.offsets, ragged.content, sums);
    std::int64_t run = 0;
    for (std::int64_t list = 0; list < ragged.lists(); ++list) {
      const auto i = static_cast<std::size_t>(list);
      if (ragged.offsets[i] == ragged.offsets[i + 1]) continue;
      RC_ASSERT(run < runs);
      RC_ASSERT(keys[static_cast<std::size_t>(run)] == list);
      RC_ASSERT(folds[static_cast<std::size_t>(run)] == sums[i]);
      ++run;
    }
    RC_ASSERT(run == runs);
  });
}

TEST(ListProperties, PairsOfAListAndItsPairsWithEqualOnesAreItsSquare) {
  expect_always([] {
    Ragged ragged = any_tight_ragged();
    std::erase_if(ragged.offsets, [&](std::int64_t offset) { return offset > 2000; });  // squares are long
    const std::int64_t elements = ragged.offsets.back();
    auto tuples = zeros(ragged.lists() + 1);
    const auto pairs = [&](bool replacement) {
      combinations_offsets(any_policy("combinations"), ragged.offsets, elements, 2, replacement, tuples);
      return tuples;
    };
    const auto without = pairs(false);
    const auto with = pairs(true);
    cartesian_offsets(
        any_policy("combinations"),
        {CartesianInput{Lists(ragged.offsets), elements}, CartesianInput{Lists(ragged.offsets), elements}}, tuples);
    for (std::size_t i = 0; i < tuples.size(); ++i) RC_ASSERT(without[i] + with[i] == tuples[i]);
  });
}

}  // namespace
}  // namespace upsweep
