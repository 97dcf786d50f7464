// SPDX-License-Identifier: Apache-2.0
// tests/take_rungs_test.cpp: every rung of the take ladder is compared with its reference. Cases: arrays and lists,
// types of indices, element sizes, misalignment, threads, instruction sets, invalid indices and lists in Awkward's
// order, and what calls refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "failure.hpp"
#include "problems/dense/take/reference.hpp"
#include "rungs.hpp"
#include "selections.hpp"
#include "upsweep/select.hpp"

namespace upsweep {
namespace {

using tests::Failure;
using tests::failure_of;
using tests::GivenMask;
using tests::Guarded;
using tests::GuardedColumn;
using tests::isas;
using tests::JaggedTake;
using tests::make_jagged_take;
using tests::Wide;
using Pattern = upsweep::ListPattern;
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;

constexpr Pattern kPatterns[] = {Pattern::poisson,   Pattern::fixed3,    Pattern::fixed32,
                                 Pattern::fixed1000, Pattern::zero_to_4, Pattern::empty,
                                 Pattern::one,       Pattern::giants,    Pattern::pareto};

/// Every rung, the production rung with every instruction set, and the API's choice.
std::vector<Policy> policies(int threads) {
  std::vector<Policy> all{par.with_threads(threads)};
  for (const RungInfo& rung : tests::cpu_rungs("take")) all.push_back(par.with_threads(threads).with_rung(rung.id));
  for (const Isa isa : isas()) all.push_back(par.with_threads(threads).with_rung("cpu.gather").with_isa(isa));
  return all;
}
/// The policies whose rungs take from lists.
std::vector<Policy> list_policies(int threads) {
  std::vector<Policy> all = policies(threads);
  std::erase_if(all, [](const Policy& policy) { return policy.rung == "cpu.std_par"; });
  return all;
}

std::string describe(const Policy& policy) {
  return std::string(policy.rung) + " threads " + std::to_string(policy.threads) + " isa " +
         std::string(name(policy.isa));
}

// ----------------------------------------------------------------------------------------------------------- of arrays

template <class T>
class TakeRungs : public testing::Test {};
TYPED_TEST_SUITE(TakeRungs, BoundTypes);

TYPED_TEST(TakeRungs, GathersByPositionsFromBothEnds) {
  using T = TypeParam;
  std::mt19937_64 random(5);
  for (const std::int64_t content : {1, 5, 1000}) {
    for (const std::int64_t n : {0, 1, 7, 8, 9, 1023, 1024, 1025, 300001}) {
      std::vector<T> indices(static_cast<std::size_t>(n));
      std::vector<std::int64_t> positions(indices.size());
      for (std::size_t k = 0; k < indices.size(); ++k) {
        positions[k] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(content));
        const bool from_end = std::is_signed_v<T> && random() % 2 == 0;
        indices[k] = static_cast<T>(from_end ? positions[k] - content : positions[k]);
      }
      const std::int64_t of_content[] = {0, content};
      const std::int64_t of_indices[] = {0, n};
      for (const int threads : {1, 3}) {
        for (const Policy& policy : policies(threads)) {
          SCOPED_TRACE(testing::Message() << describe(policy) << ' ' << n << " of " << content);
          GuardedColumn<double> column(content, n, 1);
          GuardedColumn<Wide> wide(content, n, 1);
          GuardedColumn<std::uint16_t> narrow(content, n + 2, 1);
          GuardedColumn<std::uint32_t> word(content, n, 0);
          GuardedColumn<std::uint8_t> byte(content, n, 0);
          take(policy, Indices(indices), column.view(), wide.view(), narrow.view(), word.view(), byte.view());
          EXPECT_EQ(column.complaint(positions), "");
          EXPECT_EQ(wide.complaint(positions), "");
          EXPECT_EQ(narrow.complaint(positions), "");
          EXPECT_EQ(word.complaint(positions), "");
          EXPECT_EQ(byte.complaint(positions), "");
          const SelectColumn view = column.view();
          EXPECT_EQ(
              impl::take::first_wrong(of_content, of_indices, 1, indices.data(), static_cast<const double*>(view.data),
                                      static_cast<const double*>(view.out)),
              kNoIndex);
        }
      }
    }
  }
}

TYPED_TEST(TakeRungs, NamesTheFirstBadIndex) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 9, 100000}) {
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1}) {
      for (const std::int64_t bad :
           {std::int64_t{7}, std::int64_t{std::numeric_limits<T>::max()}, std::int64_t{std::is_signed_v<T> ? -8 : 8},
            std::int64_t{std::is_signed_v<T> ? std::numeric_limits<T>::min() : 9}}) {
        std::vector<T> indices(static_cast<std::size_t>(n), T{6});
        indices[static_cast<std::size_t>(at)] = static_cast<T>(bad);
        indices.back() = static_cast<T>(bad);
        for (const Policy& policy : policies(2)) {
          GuardedColumn<double> column(7, n, 1);
          EXPECT_EQ(failure_of([&] { take(policy, Indices(indices), column.view()); }),
                    (Failure{Code::index_out_of_range, at}))
              << bad << ' ' << describe(policy);
          EXPECT_TRUE(column.intact()) << describe(policy);
        }
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ of lists

TEST(TakeOfLists, MatchesThePlainLoop) {
  for (const Pattern pattern : kPatterns) {
    for (const std::int64_t n : {0, 1, 8, 9, 100, 1025, 70000, 300000}) {
      if (tests::kSanitized && n > 100000) continue;
      for (const bool in_order : {true, false}) {
        const JaggedTake made = make_jagged_take(pattern, n, in_order);
        const Lists lists(made.lists.starts, made.lists.stops);
        const Lists index_lists(made.index_lists.starts, made.index_lists.stops);
        const std::int64_t content = made.lists.content();
        for (const int threads : {1, 3}) {
          for (const Policy& policy : list_policies(threads)) {
            SCOPED_TRACE(testing::Message() << pattern_name(pattern) << " n " << n << ' ' << describe(policy));
            Guarded<std::int64_t> offsets(std::ssize(made.offsets));
            GuardedColumn<double> column(content, std::ssize(made.positions), 1);
            const SelectColumn view = column.view();
            EXPECT_EQ(
                take(policy, lists, content, index_lists, Indices(made.indices), offsets.data(), std::span(&view, 1)),
                std::ssize(made.positions));
            EXPECT_EQ(column.complaint(made.positions), "");
            EXPECT_TRUE(std::ranges::equal(offsets.span(), made.offsets) && offsets.intact());
            Guarded<std::int64_t> positions(std::ssize(made.positions));
            EXPECT_EQ(take_positions(policy, lists, content, index_lists, Indices(made.indices), offsets.data(),
                                     positions.data(), std::ssize(made.positions)),
                      std::ssize(made.positions));
            EXPECT_TRUE(std::ranges::equal(positions.span(), made.positions) && positions.intact());
          }
        }
      }
    }
  }
}

TEST(TakeOfLists, ReportsErrorsListByListAsAwkwardDoes) {
  const std::int64_t n = 40000;
  const std::vector<double> content(3 * n);
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> index_starts;
  std::vector<std::int64_t> index_stops;
  for (std::int64_t i = 0; i < n; ++i) {
    offsets.push_back(3 * i);
    index_starts.push_back(2 * i);
    index_stops.push_back(2 * i + 2);
  }
  std::vector<std::int64_t> starts = offsets;
  std::vector<std::int64_t> stops = offsets;
  for (std::int64_t& stop : stops) stop += 3;
  std::vector<std::int64_t> indices(2 * n, -3);
  std::vector<std::int64_t> out_offsets(n + 1);
  std::vector<double> out(2 * n);
  /// Returns the error, which must be the same for all rungs.
  const auto failure = [&] {
    Failure first;
    for (const Policy& policy : list_policies(3)) {
      const Failure found = failure_of([&] {
        take(policy, Lists(starts, stops), content, Lists(index_starts, index_stops), Indices(indices), out_offsets,
             out);
      });
      if (policy.rung.empty()) first = found;
      EXPECT_EQ(found, first) << describe(policy);
    }
    return first;
  };
  EXPECT_EQ(failure(), Failure{});
  // Errors are added from the last list to the first; the first error in list order is reported.
  starts[n - 1] = 5;  // stops past the end
  stops[n - 1] = 3 * n + 1;
  EXPECT_EQ(failure(), (Failure{Code::stop_past_end, n - 1}));
  indices[2 * (n - 2) + 1] = 3;
  EXPECT_EQ(failure(), (Failure{Code::index_out_of_range, 2 * (n - 2) + 1}));
  stops[20] = starts[20] - 1;
  EXPECT_EQ(failure(), (Failure{Code::stop_before_start, 20}));
  index_stops[20] = index_starts[20];  // the list is not checked if it has no indices
  EXPECT_EQ(failure(), (Failure{Code::index_out_of_range, 2 * (n - 2) + 1}));
  index_stops[10] = 2 * n + 1;
  EXPECT_EQ(failure(), (Failure{Code::stop_past_end, 10}));
  starts[10] = -2;  // the indices' list is checked first
  EXPECT_EQ(failure(), (Failure{Code::stop_past_end, 10}));
  index_stops[10] = 22;
  EXPECT_EQ(failure(), (Failure{Code::negative_start, 10}));
  indices[19] = -4;
  EXPECT_EQ(failure(), (Failure{Code::index_out_of_range, 19}));
  index_starts[0] = 3;
  EXPECT_EQ(failure(), (Failure{Code::stop_before_start, 0}));
}

TEST(TakeOfLists, NullListsAreEmpty) {
  const std::vector<double> content{1, 2, 3, 4};
  const std::vector<std::int64_t> offsets{0, 2, 4};
  const std::vector<std::int64_t> index_offsets{0, 1, 3};
  const std::vector<std::int64_t> indices{1, 0, -1};
  const std::vector<bool> second{false, true};
  GivenMask valid(second);
  for (const Policy& policy : list_policies(1)) {
    std::vector<std::int64_t> out_offsets(3);
    std::vector<double> out(3);
    EXPECT_EQ(take(policy, Lists(offsets), content, Lists(index_offsets).with_validity(valid.view()), Indices(indices),
                   out_offsets, out),
              2)
        << describe(policy);
    EXPECT_EQ(out_offsets, (std::vector<std::int64_t>{0, 0, 2})) << describe(policy);
    EXPECT_EQ(out, (std::vector<double>{3, 4, 0})) << describe(policy);
    EXPECT_EQ(failure_of([&] {
                take(policy, Lists(offsets).with_validity(valid.view()), content, Lists(index_offsets),
                     Indices(indices), out_offsets, out);
              }),
              (Failure{Code::index_out_of_range, 0}))
        << describe(policy);
  }
}

TEST(TakeOfLists, OutputsOfTooSmallCapacityAreNotOverrun) {
  JaggedTake made = make_jagged_take(Pattern::poisson, 40'000, true);
  const auto taken = std::ssize(made.positions);
  const auto failure = [&](const Policy& policy, std::int64_t capacity) {
    GuardedColumn<std::uint64_t> column(made.lists.content(), capacity, 0);
    const SelectColumn view = column.view();
    Guarded<std::int64_t> offsets(std::ssize(made.offsets));
    const Failure found = failure_of([&] {
      take(policy, Lists(made.lists.starts, made.lists.stops), made.lists.content(),
           Lists(made.index_lists.starts, made.index_lists.stops), Indices(made.indices), offsets.data(),
           std::span(&view, 1));
    });
    EXPECT_TRUE(column.intact() && offsets.intact()) << describe(policy);
    return found;
  };
  for (const std::int64_t capacity : {taken - 1, std::int64_t{0}}) {
    for (const Policy& policy : list_policies(2)) {
      EXPECT_EQ(failure(policy, capacity), (Failure{Code::unequal_lengths, kNoIndex})) << describe(policy);
    }
  }
  // An invalid index is only checked if there is capacity for it; an invalid list is checked before that.
  made.indices[static_cast<std::size_t>(made.index_lists.starts[0])] = 1'000'000;
  made.index_lists.stops[0] = std::max(made.index_lists.stops[0], made.index_lists.starts[0] + 1);
  for (const Policy& policy : list_policies(2)) {
    EXPECT_EQ(failure(policy, 0), (Failure{Code::unequal_lengths, kNoIndex})) << describe(policy);
  }
  made.lists.starts.back() = -1;
  made.index_lists.starts.back() = made.index_lists.stops.back() - 1;
  for (const Policy& policy : list_policies(2)) {
    EXPECT_EQ(failure(policy, 0).code, Code::index_out_of_range) << describe(policy);
  }
}

TEST(TakeOfLists, OutputsAreMadeOnceItIsKnownHowLongTheyAre) {
  JaggedTake made = make_jagged_take(Pattern::poisson, 40'000, true);
  std::vector<std::int64_t> content(made.lists.mask.size());
  std::iota(content.begin(), content.end(), std::int64_t{7});
  std::vector<std::int64_t> elements = made.positions;
  for (std::int64_t& element : elements) element += 7;
  const std::vector<std::int64_t> indices = made.indices;
  for (const std::string rung : {"cpu.serial", "cpu.gather"}) {
    for (const int threads : {1, 3}) {
      const Policy policy = par.with_threads(threads).with_rung(rung);
      std::vector<std::int64_t> offsets(made.offsets.size());
      std::vector<std::int64_t> out;
      SelectColumn column(content.data(), std::ssize(content), out.data(), 0);
      auto call = detail::take_call(Lists(made.lists.starts, made.lists.stops), std::ssize(content),
                                    Lists(made.index_lists.starts, made.index_lists.stops), Indices(made.indices),
                                    offsets.data());
      call.columns = std::span(&column, 1);
      int times = 0;
      call.allocate_outputs = [&](std::int64_t taken) {
        ++times;
        made.indices = indices;
        out.assign(static_cast<std::size_t>(taken), -1);
        column.out = out.data();
        column.capacity = taken;
      };
      // The indices are read only once: after the outputs were allocated.
      if (rung == "cpu.gather") std::fill(made.indices.begin(), made.indices.end(), 1'000'000);
      EXPECT_EQ(detail::run_take(policy, call), rung);
      EXPECT_EQ(times, 1) << describe(policy);
      EXPECT_EQ(out, elements) << describe(policy);
      EXPECT_EQ(offsets, made.offsets) << describe(policy);
      call.allocate_outputs = [](std::int64_t) { throw std::length_error("none"); };
      EXPECT_THROW(detail::run_take(policy, call), std::length_error) << describe(policy);
      made.indices[static_cast<std::size_t>(made.index_lists.starts[0])] = 1'000'000;
      made.index_lists.stops[0] = std::max(made.index_lists.stops[0], made.index_lists.starts[0] + 1);
      EXPECT_EQ(failure_of([&] { detail::run_take(policy, call); }).code, Code::index_out_of_range)
          << describe(policy) << ": a bad index comes first";
      made = make_jagged_take(Pattern::poisson, 40'000, true);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ the call

TEST(TakeApi, RunsTheTopRungOrTheOneThatIsNamed) {
  const std::vector<double> content{1, 2, 3};
  const std::vector<std::int64_t> indices{0, -1};
  std::vector<double> out(2);
  const SelectColumn column(content, out);
  detail::TakeCall call{.indices = indices, .columns = std::span(&column, 1)};
  EXPECT_EQ(detail::run_take(par, call), "cpu.gather");
  EXPECT_EQ(call.taken, 2);
  EXPECT_EQ(detail::run_take(par.with_rung("cpu.serial"), call), "cpu.serial");
  EXPECT_EQ(out, (std::vector<double>{1, 3}));
  EXPECT_EQ(failure_of([&] { take(par.with_rung("cpu.quick"), content, indices, out); }).code, Code::unknown_rung);
  EXPECT_EQ(failure_of([&] { take(par.with_rung("cuda.tiles"), content, indices, out); }).code,
            tests::code_of_gpu_rung());
  const std::vector<std::int64_t> one{0, 3};
  const std::vector<std::int64_t> two{0, 2};
  std::vector<std::int64_t> offsets(2);
  EXPECT_EQ(failure_of([&] {
              take(par.with_rung("cpu.std_par"), Lists(one), content, Lists(two), Indices(indices), offsets, out);
            }).code,
            Code::unsupported);
}

TEST(TakeApi, SaysWhatIsWrong) {
  const std::vector<double> content{1, 2, 3};
  const std::vector<std::int64_t> indices{0, -1};
  std::vector<double> out(2);
  take(par, content, indices, out);
  EXPECT_EQ(out, (std::vector<double>{1, 3}));
  EXPECT_EQ(failure_of([&] { take(par, content, indices, std::span(out.data(), 1)); }).code, Code::unequal_lengths);
  EXPECT_EQ(failure_of([&] { take(par, std::vector<double>{}, indices, out); }),
            (Failure{Code::index_out_of_range, 0}));
  std::vector<std::int64_t> offsets(2);
  const std::vector<std::int64_t> one{0, 3};
  const std::vector<std::int64_t> two{0, 1, 2};
  EXPECT_EQ(failure_of([&] {
              take(par, Lists(one), content, Lists(two), Indices(indices), std::vector<std::int64_t>(3), out);
            }).code,
            Code::unequal_lengths);
  EXPECT_EQ(failure_of([&] {
              take(par, Lists(one), content, Lists(std::vector<std::int64_t>{0, 2}), Indices(indices), offsets,
                   std::span(out.data(), 1));
            }).code,
            Code::unequal_lengths);
}

}  // namespace
}  // namespace upsweep
