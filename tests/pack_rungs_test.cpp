// SPDX-License-Identifier: Apache-2.0
// tests/pack_rungs_test.cpp: every rung of the pack ladder, its steps, and conversions of lists are compared with plain
// loops. Cases: patterns of lists, bounds, element sizes, misalignment, threads, instruction sets, nulls, and invalid
// lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "failure.hpp"
#include "list_lengths.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "sixteen.hpp"
#include "upsweep/broadcast.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/pack.hpp"

namespace upsweep {
namespace {

using tests::code_of;
using tests::Failure;
using tests::failure_of;
using tests::Guarded;
using tests::kSanitized;
using tests::LengthPattern;
using tests::Sixteen;

using Positions = std::vector<std::int64_t>;

template <class E>
std::vector<E> make_content(std::int64_t n, unsigned seed = 3) {
  std::mt19937_64 random(seed);
  std::vector<E> content(static_cast<std::size_t>(n));
  for (E& element : content) {
    if constexpr (std::is_same_v<E, Sixteen>) {
      element = {{random(), random()}};
    } else {
      element = static_cast<E>(random());
    }
  }
  return content;
}

// ---- The expected result of lists, one element after the other.

struct Expected {
  Positions offsets{0};
  Positions positions;  ///< position of each packed element in the content
};

template <class T>
Expected expected_of(const std::vector<T>& starts, const std::vector<T>& stops, const std::vector<bool>& valid = {}) {
  Expected expected;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (valid.empty() || valid[i]) {
      for (auto j = std::int64_t{starts[i]}; j < std::int64_t{stops[i]}; ++j) expected.positions.push_back(j);
    }
    expected.offsets.push_back(std::ssize(expected.positions));
  }
  return expected;
}

template <class E>
std::vector<E> taken(const std::vector<E>& content, const Positions& positions) {
  std::vector<E> out;
  for (const std::int64_t position : positions) out.push_back(content[static_cast<std::size_t>(position)]);
  return out;
}

template <class E>
bool same(const std::vector<E>& expected, std::span<const E> found) {
  return std::equal(expected.begin(), expected.end(), found.begin(), found.end());
}

/// Lists of a pattern in a longer content: with gaps, in any order, some of them twice.
template <class T>
struct Made {
  std::vector<T> starts;
  std::vector<T> stops;
  std::int64_t content = 0;
};

enum class Order : std::uint8_t { adjacent, gaps, shuffled };

template <class T>
Made<T> make_bounds(LengthPattern pattern, std::int64_t elements, Order order, unsigned seed = 1) {
  Made<T> made;
  std::mt19937_64 random(seed);
  std::int64_t at = order == Order::adjacent ? 0 : 5;
  for (const std::int64_t length : tests::make_lengths(pattern, elements)) {
    made.starts.push_back(static_cast<T>(at));
    made.stops.push_back(static_cast<T>(at + length));
    at += length + (order == Order::adjacent ? 0 : static_cast<std::int64_t>(random() % 3));
  }
  made.content = at;
  if (order != Order::shuffled || made.starts.empty()) return made;
  for (std::size_t i = made.starts.size() - 1; i > 0; --i) {
    const std::size_t other = random() % (i + 1);
    std::swap(made.starts[i], made.starts[other]);
    std::swap(made.stops[i], made.stops[other]);
    if (random() % 8 == 0) {  // the same list twice
      const auto length = made.stops[i] - made.starts[i];
      if (length < 100) {
        made.starts[other] = made.starts[i];
        made.stops[other] = made.stops[i];
      }
    }
  }
  return made;
}

/// A few elements, and enough for several threads.
std::vector<std::int64_t> sizes(std::int64_t element_size) {
  const std::int64_t many = element_size <= 2 ? 300'000 : 120'000;
  if (kSanitized) return {0, 1, 70, many};
  return {0, 1, 3, 63, 64, 65, 129, 1000, 4097, many};
}

std::vector<int> thread_counts(std::int64_t elements) {
  return elements > 10'000 ? std::vector{1, 2, 3, 4} : std::vector{1, 3};
}

template <class E>
std::string describe(const RungInfo& rung, LengthPattern pattern, std::int64_t elements, const Policy& policy) {
  return std::string(rung.id) + " " + std::string(tests::name(pattern)) + " " + std::to_string(elements) +
         " elements of " + std::to_string(sizeof(E)) + " threads " + std::to_string(policy.threads) + " isa " +
         std::string(name(policy.isa));
}

template <class T, class E>
void check_pack(const Policy& policy, const Made<T>& made, const Expected& expected, const std::vector<E>& content,
                std::int64_t misaligned, const std::string& what) {
  const auto packed = taken(content, expected.positions);
  Guarded<std::int64_t> offsets(std::ssize(expected.offsets), 1);
  Guarded<E> out(std::ssize(packed), misaligned);
  const PackResult result =
      pack(policy, Lists(made.starts, made.stops), offsets.span(), PackColumn(content, out.span()));
  EXPECT_EQ(result.total, std::ssize(packed)) << what;
  EXPECT_TRUE(same<std::int64_t>(expected.offsets, offsets.span())) << what;
  EXPECT_TRUE(same<E>(packed, out.span())) << what;
  EXPECT_TRUE(offsets.intact() && out.intact()) << what;
  // With given offsets, which begin at another value.
  Guarded<E> again(std::ssize(packed), misaligned + 1);
  Positions given = expected.offsets;
  for (std::int64_t& offset : given) offset += 11;
  (void)pack_content(policy, Lists(made.starts, made.stops), given, PackColumn(content, again.span()));
  EXPECT_TRUE(same<E>(packed, again.span()) && again.intact()) << what << " with given offsets";
}

template <class Types>
class PackRungs : public testing::Test {};
using BoundAndElement = testing::Types<std::tuple<std::int64_t, std::uint64_t>, std::tuple<std::int32_t, std::uint8_t>,
                                       std::tuple<std::uint32_t, std::uint16_t>,
                                       std::tuple<std::int32_t, std::uint32_t>, std::tuple<std::int64_t, Sixteen>>;
TYPED_TEST_SUITE(PackRungs, BoundAndElement);

TYPED_TEST(PackRungs, GatherEveryPattern) {
  using T = std::tuple_element_t<0, TypeParam>;
  using E = std::tuple_element_t<1, TypeParam>;
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    for (const std::int64_t elements : sizes(sizeof(E))) {
      for (const Order order : {Order::adjacent, Order::gaps, Order::shuffled}) {
        const Made<T> made = make_bounds<T>(pattern, elements, order);
        const Expected expected = expected_of(made.starts, made.stops);
        const auto content = make_content<E>(made.content);
        for (const auto& rung : tests::cpu_rungs("pack")) {
          const bool production = rung.id == "cpu.staged";
          for (const Isa isa : production ? tests::isas() : std::vector{Isa::best}) {
            for (const int threads : thread_counts(elements)) {
              if (!production && threads == 2) continue;
              const Policy policy = par.with_threads(threads).with_rung(rung.id).with_isa(isa);
              check_pack(policy, made, expected, content, threads, describe<E>(rung, pattern, elements, policy));
            }
          }
        }
      }
    }
  }
}

TEST(Pack, ListsByOffsetsAndOfOneSize) {
  const Positions offsets{2, 2, 5, 6};
  const std::vector<int> content{0, 10, 20, 30, 40, 50, 60};
  for (const auto& rung : tests::cpu_rungs("pack")) {
    const Policy policy = par.with_rung(rung.id);
    Positions out_offsets(4);
    std::vector<int> out(4);
    (void)pack(policy, offsets, out_offsets, PackColumn(content, out));
    EXPECT_EQ(out_offsets, (Positions{0, 0, 3, 4})) << rung.id;
    EXPECT_EQ(out, (std::vector{20, 30, 40, 50})) << rung.id;
    std::vector<int> six(6);
    const PackResult result = pack(policy, Lists::of_size(3, 2), out_offsets, PackColumn(content, six));
    EXPECT_EQ(result.total, 6);
    EXPECT_EQ(out_offsets, (Positions{0, 2, 4, 6})) << rung.id;
    EXPECT_EQ(six, (std::vector{0, 10, 20, 30, 40, 50})) << rung.id;
    const std::vector<std::uint8_t> valid{1, 0, 1};
    (void)pack(policy, Lists::of_size(3, 2).with_validity(valid), out_offsets, PackColumn(content, six));
    EXPECT_EQ(out_offsets, (Positions{0, 2, 2, 4})) << rung.id;
    EXPECT_EQ(six, (std::vector{0, 10, 40, 50, 40, 50})) << rung.id << ": memory past the lists stays as it was";
  }
}

TEST(Pack, ColumnsOfSeveralTypesAtOnce) {
  const auto made = make_bounds<std::int64_t>(LengthPattern::poisson, kSanitized ? 50'000 : 200'000, Order::shuffled);
  const Expected expected = expected_of(made.starts, made.stops);
  const auto total = std::ssize(expected.positions);
  const auto one = make_content<std::uint8_t>(made.content);
  const auto eight = make_content<std::uint64_t>(made.content);
  const auto sixteen = make_content<Sixteen>(made.content);
  for (const auto& rung : tests::cpu_rungs("pack")) {
    Positions offsets(expected.offsets.size());
    Guarded<std::uint8_t> out_one(total, 3);
    Guarded<std::uint64_t> out_eight(total);
    Guarded<Sixteen> out_sixteen(total, 1);
    (void)pack(par.with_rung(rung.id).with_threads(3), Lists(made.starts, made.stops), offsets,
               PackColumn(one, out_one.span()), PackColumn(eight, out_eight.span()),
               PackColumn(sixteen, out_sixteen.span()));
    EXPECT_TRUE(same<std::uint8_t>(taken(one, expected.positions), out_one.span())) << rung.id;
    EXPECT_TRUE(same<std::uint64_t>(taken(eight, expected.positions), out_eight.span())) << rung.id;
    EXPECT_TRUE(same<Sixteen>(taken(sixteen, expected.positions), out_sixteen.span())) << rung.id;
    EXPECT_TRUE(out_one.intact() && out_eight.intact() && out_sixteen.intact()) << rung.id;
  }
}

/// The bounds of null lists are invalid for any list.
TEST(Pack, NullListsAreEmptyWhateverTheirBoundsAre) {
  for (const std::int64_t elements : {std::int64_t{40}, kSanitized ? std::int64_t{60'000} : std::int64_t{250'000}}) {
    auto made = make_bounds<std::int64_t>(LengthPattern::poisson, elements, Order::shuffled);
    const auto n = std::ssize(made.starts);
    std::vector<bool> valid;
    std::vector<std::uint8_t> bytes;
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(n / 8 + 2));
    std::mt19937_64 random(9);
    for (std::int64_t i = 0; i < n; ++i) {
      const bool is_valid = random() % 4 != 0;
      valid.push_back(is_valid);
      bytes.push_back(is_valid ? 7 : 0);
      const auto bit = static_cast<std::size_t>(i + 3);
      if (is_valid) bits[bit / 8] = static_cast<std::uint8_t>(bits[bit / 8] | 1U << (bit % 8));
      if (is_valid) continue;
      const auto list = static_cast<std::size_t>(i);
      made.starts[list] = i % 2 == 0 ? std::numeric_limits<std::int64_t>::min() : std::int64_t{1} << 60;
      made.stops[list] = i % 3 == 0 ? -7 : std::numeric_limits<std::int64_t>::max();
    }
    const Expected expected = expected_of(made.starts, made.stops, valid);
    const auto content = make_content<std::uint32_t>(made.content);
    const auto packed = taken(content, expected.positions);
    for (const Mask& mask : {Mask(bytes), Mask::bits(bits.data(), n, 3)}) {
      const Lists lists = Lists(made.starts, made.stops).with_validity(mask);
      for (const auto& rung : tests::cpu_rungs("pack")) {
        for (const int threads : {1, 3}) {
          const Policy policy = par.with_rung(rung.id).with_threads(threads);
          Positions offsets(expected.offsets.size());
          Guarded<std::uint32_t> out(std::ssize(packed), 1);
          (void)pack(policy, lists, offsets, PackColumn(content, out.span()));
          EXPECT_EQ(offsets, expected.offsets) << rung.id;
          EXPECT_TRUE(same<std::uint32_t>(packed, out.span()) && out.intact()) << rung.id;
          std::vector<std::uint32_t> again(packed.size());
          (void)pack_content(policy, lists, offsets, PackColumn(content, again));
          EXPECT_EQ(again, packed) << rung.id;
        }
      }
      Positions positions(packed.size());
      (void)broadcast_to_offsets(par, lists, expected.offsets, made.content, positions);
      EXPECT_EQ(positions, expected.positions);
    }
  }
}

TEST(Pack, ListViewsAreStartsAndSizes) {
  // From the example of Arrow's columnar format: out of order, overlapping, empty lists that start anywhere, a null
  // list of any size.
  const std::vector<std::int32_t> starts{4, 7, 0, 0, 3, 999};
  const std::vector<std::int32_t> sizes{3, -5, 4, 0, 2, 0};
  const std::vector<std::uint8_t> valid{1, 0, 1, 1, 1, 1};
  const std::vector<std::int16_t> content{0, -127, 127, 50, 12, -7, 25};
  const ListViews views = ListViews(starts, sizes).with_validity(valid);
  for (const auto& rung : tests::cpu_rungs("pack")) {
    const Policy policy = par.with_rung(rung.id);
    Positions offsets(7);
    EXPECT_EQ(pack_offsets(policy, views, 7, offsets).total, 9) << rung.id;
    EXPECT_EQ(offsets, (Positions{0, 3, 3, 7, 7, 9, 9})) << rung.id;
    std::vector<std::int16_t> out(9);
    (void)pack_content(policy, views, offsets, PackColumn(content, out));
    EXPECT_EQ(out, (std::vector<std::int16_t>{12, -7, 25, 0, -127, 127, 50, 50, 12})) << rung.id;
    std::fill(out.begin(), out.end(), std::int16_t{0});
    (void)pack(policy, views, offsets, PackColumn(content, out));
    EXPECT_EQ(out, (std::vector<std::int16_t>{12, -7, 25, 0, -127, 127, 50, 50, 12})) << rung.id;
    const auto index_of = [&](const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& many) {
      try {
        (void)pack(policy, ListViews(from, many), std::vector<std::int64_t>(3), PackColumn(content, out));
      } catch (const Error& error) {
        return std::pair(error.code(), error.index());
      }
      return std::pair(Code::ok, kNoIndex);
    };
    EXPECT_EQ(index_of({0, 1}, {1, -1}), std::pair(Code::stop_before_start, std::int64_t{1})) << rung.id;
    EXPECT_EQ(index_of({-1, 1}, {1, -1}), std::pair(Code::negative_start, std::int64_t{0})) << rung.id;
    EXPECT_EQ(index_of({0, 6}, {7, 2}), std::pair(Code::stop_past_end, std::int64_t{1})) << rung.id;
    EXPECT_EQ(index_of({2147483647, 6}, {2147483647, 2}), std::pair(Code::stop_past_end, std::int64_t{0})) << rung.id;
  }
}

/// Lists of lists, packed from the outermost to the innermost, as pack.hpp says.
TEST(Pack, NestedListsFromTheOutsideIn) {
  const Positions inner{0, 2, 2, 5, 6, 9};
  const std::vector<char> content{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'};
  const Positions outer_starts{3, 0, 2};
  const Positions outer_stops{5, 2, 2};
  const std::span inner_starts(inner.data(), 5);
  const std::span inner_stops(inner.data() + 1, 5);
  Positions outer_offsets(4);
  const Lists outer(outer_starts, outer_stops);
  const std::int64_t lists = pack_offsets(par, outer, 5, outer_offsets).total;
  ASSERT_EQ(lists, 4);
  Positions starts(4);
  Positions stops(4);
  (void)pack_content(par, outer, outer_offsets, PackColumn(inner_starts, starts), PackColumn(inner_stops, stops));
  Positions inner_offsets(5);
  std::vector<char> out(6);
  (void)pack(par, Lists(starts, stops), inner_offsets, PackColumn(content, out));
  EXPECT_EQ(outer_offsets, (Positions{0, 2, 4, 4}));
  EXPECT_EQ(inner_offsets, (Positions{0, 1, 4, 6, 6}));
  EXPECT_EQ(std::string(out.begin(), out.end()), "fghiab");
  Positions flat(4);
  flatten(par, outer_offsets, inner_offsets, flat);
  EXPECT_EQ(flat, (Positions{0, 4, 6, 6}));
}

// -------------------------------------------------------------------------------------------------------------- errors

TEST(Pack, NamesTheFirstBadList) {
  const std::int64_t elements = kSanitized ? 60'000 : 300'000;
  const auto good = make_bounds<std::int64_t>(LengthPattern::poisson, elements, Order::gaps);
  const auto n = std::ssize(good.starts);
  const auto content = make_content<std::uint32_t>(good.content);
  const Expected expected = expected_of(good.starts, good.stops);
  const auto total = std::ssize(expected.positions);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, n / 2, n - 2, n - 1}) {
    for (const Code code : {Code::stop_before_start, Code::negative_start, Code::stop_past_end}) {
      for (const std::int64_t also : {at, n - 1}) {
        auto made = good;
        for (const std::int64_t bad : {also, at}) {
          const auto i = static_cast<std::size_t>(bad);
          const Code here = bad == at ? code : Code::stop_before_start;
          made.starts[i] = here == Code::negative_start ? -1 : 10;
          made.stops[i] = here == Code::stop_before_start ? 9 : here == Code::stop_past_end ? good.content + 1 : 12;
        }
        for (const auto& rung : tests::cpu_rungs("pack")) {
          for (const int threads : {1, 4}) {
            const Policy policy = par.with_rung(rung.id).with_threads(threads);
            const Lists lists(made.starts, made.stops);
            Guarded<std::int64_t> offsets(n + 1);
            Guarded<std::uint32_t> out(total + 20);
            const Failure expected_failure{code, at};
            EXPECT_EQ(failure_of([&] { (void)pack(policy, lists, offsets.span(), PackColumn(content, out.span())); }),
                      expected_failure)
                << rung.id << " threads " << threads;
            EXPECT_EQ(failure_of([&] {
                        (void)pack_content(policy, lists, expected.offsets, PackColumn(content, out.span()));
                      }),
                      expected_failure)
                << rung.id << " threads " << threads << " with given offsets";
            EXPECT_TRUE(offsets.intact() && out.intact()) << rung.id;
          }
        }
      }
    }
  }
}

TEST(Pack, NamesTheFirstListThatGivenOffsetsDoNotFit) {
  const std::int64_t elements = kSanitized ? 60'000 : 300'000;
  const auto made = make_bounds<std::int64_t>(LengthPattern::poisson, elements, Order::shuffled);
  const auto n = std::ssize(made.starts);
  const auto content = make_content<std::uint64_t>(made.content);
  const Expected expected = expected_of(made.starts, made.stops);
  const auto total = std::ssize(expected.positions);
  const Lists lists(made.starts, made.stops);
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  for (const std::int64_t at : {std::int64_t{1}, std::int64_t{2}, n / 2, n - 1}) {
    for (const std::int64_t change : {std::int64_t{1}, std::int64_t{-1}, kHuge, -kHuge}) {
      Positions offsets = expected.offsets;
      offsets[static_cast<std::size_t>(at)] += change;
      const Failure first{Code::unequal_lengths, at - 1};
      for (const auto& rung : tests::cpu_rungs("pack")) {
        for (const int threads : {1, 4}) {
          Guarded<std::uint64_t> out(total, 1);
          EXPECT_EQ(failure_of([&] {
                      (void)pack_content(par.with_rung(rung.id).with_threads(threads), lists, offsets,
                                         PackColumn(content, out.span()));
                    }),
                    first)
              << rung.id << " threads " << threads;
          EXPECT_TRUE(out.intact()) << rung.id;
        }
      }
      Guarded<std::int64_t> positions(total);
      EXPECT_EQ(failure_of([&] {
                  (void)broadcast_to_offsets(par.with_threads(3), lists, offsets, made.content, positions.span());
                }),
                first);
      EXPECT_TRUE(positions.intact());
    }
  }
}

TEST(Pack, WithoutColumnsWritesOffsetsAlone) {
  const Positions starts{5, 0, 3};
  const Positions stops{9, 3, 3};
  Positions offsets(4);
  for (const RungInfo& rung : tests::rungs_of("pack", Backend::cpu)) {
    EXPECT_EQ(pack(par.with_rung(rung.id), Lists(starts, stops), offsets).total, 7) << rung.id;
    EXPECT_EQ(offsets, (Positions{0, 4, 7, 7})) << rung.id;
    EXPECT_EQ(failure_of([&] { pack_offsets(par.with_rung(rung.id), Lists(starts, stops), 8, offsets); }),
              (Failure{Code::stop_past_end, 0}))
        << rung.id;
  }
}

TEST(Pack, SaysWhatIsWrong) {
  const Positions offsets{0, 2, 3};
  const std::vector<int> content{1, 2, 3};
  Positions out_offsets(3);
  std::vector<int> out(3);
  std::vector<int> short_out(2);
  for (const auto& rung : tests::cpu_rungs("pack")) {
    const Policy policy = par.with_rung(rung.id);
    const Failure too_small{Code::unequal_lengths, kNoIndex};
    EXPECT_EQ(failure_of([&] { (void)pack(policy, offsets, out_offsets, PackColumn(content, short_out)); }), too_small)
        << rung.id;
    EXPECT_EQ(failure_of([&] { (void)pack_content(policy, offsets, offsets, PackColumn(content, short_out)); }),
              too_small)
        << rung.id;
    const Positions far{0, std::numeric_limits<std::int64_t>::max()};
    const std::vector<std::int64_t> zeros(3, 0);
    const std::vector<std::int64_t> most(3, std::numeric_limits<std::int64_t>::max());
    Positions four(4);
    EXPECT_EQ(failure_of([&] {
                (void)pack_offsets(policy, Lists(zeros, most), std::numeric_limits<std::int64_t>::max(), four);
              }),
              (Failure{Code::overflow, 1}))
        << rung.id;
    EXPECT_EQ(pack_offsets(policy, far, far[1], Positions(2)).total, far[1]) << rung.id;
    Positions none(1, -1);
    EXPECT_EQ(
        pack(policy, Lists::by_offsets<std::int64_t>(nullptr, 0), none, PackColumn(nullptr, 0, nullptr, 0, 4)).total, 0)
        << rung.id;
    EXPECT_EQ(none[0], 0) << rung.id;
  }
  const auto call = [&](const PackColumn& column) { (void)pack(par, offsets, out_offsets, column); };
  PackColumn column = PackColumn(content, out);
  column.element_size = 3;
  EXPECT_EQ(code_of([&] { call(column); }), Code::invalid_argument);
  column = PackColumn(content, out);
  column.out = nullptr;
  EXPECT_EQ(code_of([&] { call(column); }), Code::invalid_argument);
  column = PackColumn(content, out);
  column.length = -1;
  EXPECT_EQ(code_of([&] { call(column); }), Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)pack(par, offsets, Positions(2), PackColumn(content, out)); }), Code::unequal_lengths);
  EXPECT_EQ(
      code_of([&] { (void)pack(par, offsets, out_offsets, PackColumn(content, out), PackColumn(short_out, out)); }),
      Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)pack(par.with_rung("cpu.quick"), offsets, out_offsets); }), Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)pack(par.with_threads(-1), offsets, out_offsets); }), Code::invalid_argument);
  EXPECT_EQ(pack(par, offsets, out_offsets, PackColumn(content, out)).rung, "cpu.staged");
}

// ----------------------------------------------------------------------------------------------------------- positions

template <class T>
std::vector<T> shifted(const Positions& offsets, std::int64_t first) {
  std::vector<T> all;
  for (const std::int64_t offset : offsets) all.push_back(static_cast<T>(offset + first));
  return all;
}

template <class T>
class ListConversions : public testing::Test {};
using BoundTypes = testing::Types<std::int32_t, std::uint32_t, std::int64_t>;
TYPED_TEST_SUITE(ListConversions, BoundTypes);

TYPED_TEST(ListConversions, OfEveryPattern) {
  using T = TypeParam;
  for (const LengthPattern pattern : tests::kLengthPatterns) {
    for (const std::int64_t elements : sizes(sizeof(std::int64_t))) {
      SCOPED_TRACE(std::string(tests::name(pattern)) + " " + std::to_string(elements));
      const Positions lengths = tests::make_lengths(pattern, elements);
      Positions offsets{0};
      for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
      const auto n = std::ssize(lengths);
      Positions owners;
      for (std::int64_t i = 0; i < n; ++i)
        owners.insert(owners.end(), static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]), i);
      for (const int threads : thread_counts(elements)) {
        const Policy policy = par.with_threads(threads);
        const std::vector<T> short_lengths(lengths.begin(), lengths.end());
        Guarded<std::int64_t> found(n + 1, 1);
        EXPECT_EQ(lengths_to_offsets(policy, short_lengths, found.span()), offsets.back());
        EXPECT_TRUE(same<std::int64_t>(offsets, found.span()) && found.intact());
        const std::vector<T> parents(owners.begin(), owners.end());
        Guarded<std::int64_t> back(n + 1, 2);
        parents_to_offsets(policy, parents, back.span());
        EXPECT_TRUE(same<std::int64_t>(offsets, back.span()) && back.intact());
        Guarded<std::int64_t> positions(offsets.back(), 1);
        const std::vector<T> starts = shifted<T>(offsets, 3);
        EXPECT_EQ(broadcast_to_offsets(policy, starts, offsets, offsets.back() + 3, positions.span()), offsets.back());
        Positions in_order(owners.size());
        std::iota(in_order.begin(), in_order.end(), 3);
        EXPECT_TRUE(same<std::int64_t>(in_order, positions.span()) && positions.intact());
      }
    }
  }
}

TEST(ListConversions, FlattenGoesThroughTheInnerOffsets) {
  const std::int64_t n = kSanitized ? 60'000 : 200'000;
  std::mt19937_64 random(4);
  std::vector<std::int32_t> inner{2};
  for (std::int64_t i = 0; i < n; ++i) inner.push_back(inner.back() + static_cast<std::int32_t>(random() % 4));
  Positions outer{1};
  while (outer.back() < n - 10) outer.push_back(outer.back() + static_cast<std::int64_t>(random() % 5));
  const auto lists = std::ssize(outer) - 1;
  Positions expected;
  for (const std::int64_t offset : outer) expected.push_back(inner[static_cast<std::size_t>(offset)]);
  for (const int threads : {1, 2, 4}) {
    const Policy policy = par.with_threads(threads);
    Guarded<std::int64_t> out(lists + 1, 1);
    flatten(policy, outer, inner, out.span());
    EXPECT_TRUE(same<std::int64_t>(expected, out.span()) && out.intact());
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, lists / 2, lists}) {
      Positions bad = outer;
      bad[static_cast<std::size_t>(at)] = n + 1;
      const std::int64_t first = std::max<std::int64_t>(at - 1, 0);
      EXPECT_EQ(failure_of([&] { flatten(policy, bad, inner, out.span()); }),
                (Failure{Code::index_out_of_range, first}))
          << at;
      bad[static_cast<std::size_t>(at)] = -1;
      EXPECT_EQ(failure_of([&] { flatten(policy, bad, inner, out.span()); }).index, first) << at;
    }
  }
  Positions none(1);
  flatten(par, Lists::of_size(0, 0), inner, none);
}

TEST(ListConversions, NameTheFirstBadLength) {
  const std::int64_t elements = kSanitized ? 60'000 : 300'000;
  const Positions lengths = tests::make_lengths(LengthPattern::poisson, elements);
  const auto n = std::ssize(lengths);
  Positions offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  for (const std::int64_t at : {std::int64_t{1}, n / 2, n - 1}) {
    Positions negative = lengths;
    negative[static_cast<std::size_t>(at)] = -3;
    negative.back() = -1;
    Positions overflowing = lengths;
    overflowing[static_cast<std::size_t>(at)] = std::numeric_limits<std::int64_t>::max();
    const std::int64_t next =
        std::find_if(lengths.begin() + at + 1, lengths.end(), [](auto l) { return l > 0; }) - lengths.begin();
    const std::int64_t expected = offsets[static_cast<std::size_t>(at)] > 0 ? at : next;
    for (const int threads : {1, 3}) {
      Guarded<std::int64_t> out(n + 1);
      EXPECT_EQ(failure_of([&] { (void)lengths_to_offsets(par.with_threads(threads), negative, out.span()); }),
                (Failure{Code::stop_before_start, at}));
      EXPECT_EQ(failure_of([&] { (void)lengths_to_offsets(par.with_threads(threads), overflowing, out.span()); }),
                (Failure{Code::overflow, expected}));
      EXPECT_TRUE(out.intact());
    }
  }
}

TEST(ListConversions, NameTheFirstBadParent) {
  const std::int64_t n = 1000;
  const std::int64_t elements = kSanitized ? 100'000 : 400'000;
  Positions good;
  for (std::int64_t k = 0; k < elements; ++k) good.push_back(5 + k * (n - 10) / elements);
  for (const std::int64_t at : {std::int64_t{0}, std::int64_t{1}, elements / 2, elements - 1}) {
    for (const std::int64_t value :
         {std::int64_t{-1}, n, n + 1000, std::numeric_limits<std::int64_t>::min(), std::int64_t{2}}) {
      if (value == 2 && at == 0) continue;  // this case is sorted
      Positions bad = good;
      bad[static_cast<std::size_t>(at)] = value;
      const Failure first{value == 2 ? Code::stop_before_start : Code::index_out_of_range, at};
      for (const int threads : {1, 4}) {
        Guarded<std::int64_t> out(n + 1);
        EXPECT_EQ(failure_of([&] { parents_to_offsets(par.with_threads(threads), bad, out.span()); }), first)
            << at << ' ' << value;
        EXPECT_TRUE(out.intact()) << at << ' ' << value;
      }
    }
  }
  Positions out(4, -1);
  parents_to_offsets(par, Positions{}, out);
  EXPECT_EQ(out, (Positions{0, 0, 0, 0}));
}

TEST(ListConversions, SayWhatIsWrong) {
  const Positions starts{0, 2};
  const Positions offsets{0, 2, 3};
  const std::vector<std::uint8_t> valid{1, 0};
  Positions out(3);
  Positions two(2);
  EXPECT_EQ(code_of([&] { (void)broadcast_to_offsets(par.with_rung("cpu.serial"), offsets, offsets, 3, out); }),
            Code::unsupported);
  EXPECT_EQ(code_of([&] { (void)broadcast_to_offsets(par.with_rung("cpu.none"), offsets, offsets, 3, out); }),
            Code::unknown_rung);
  EXPECT_EQ(code_of([&] { (void)broadcast_to_offsets(par, offsets, offsets, 2, out); }), Code::stop_past_end);
  EXPECT_EQ(code_of([&] { (void)broadcast_to_offsets(par, offsets, offsets, 3, two); }), Code::unequal_lengths);
  EXPECT_EQ(code_of([&] { (void)lengths_to_offsets(par, offsets, two); }), Code::unequal_lengths);
  EXPECT_EQ(lengths_to_offsets(par, starts, out, valid), 0) << "null lists have no elements";
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code_of([&] { flatten(par, Lists::of_size(kMost, 0), Lists(offsets), out.data()); }),
            Code::invalid_argument);
  EXPECT_EQ(code_of([&] { (void)gpu::broadcast_workspace({}, kMost, 3); }), Code::invalid_argument);
}

TEST(ListConversions, RefuseOutputsThatOverlapInputs) {
  Positions outer{0, 0, 1, 2, 4};
  Positions inner{1, 3, 5, 7, 9};
  const Positions outer_before = outer;
  const Positions inner_before = inner;
  const auto is_refused = [](auto call) { return code_of(call) == Code::invalid_argument; };
  const Lists lists(outer);
  for (std::int64_t* const out : {outer.data(), inner.data(), inner.data() + 4, outer.data() + 1}) {
    EXPECT_TRUE(is_refused([&] { flatten(par, lists, Lists(inner), out); }));
    EXPECT_TRUE(is_refused([&] { flatten(gpu::Policy{}, lists, Lists(inner), out); }));
  }
  EXPECT_TRUE(is_refused([&] { (void)lengths_to_offsets(par, inner.data(), 4, inner.data()); }));
  EXPECT_TRUE(is_refused([&] { (void)lengths_to_offsets(gpu::Policy{}, inner.data(), 4, inner.data()); }));
  EXPECT_TRUE(is_refused([&] { parents_to_offsets(par, outer.data(), 4, 4, outer.data()); }));
  EXPECT_TRUE(is_refused([&] { parents_to_offsets(gpu::Policy{}, outer.data(), 4, 4, outer.data()); }));
  EXPECT_TRUE(is_refused([&] { (void)broadcast_to_offsets(par, lists, inner.data(), 9, inner.data(), 5); }));
  EXPECT_TRUE(is_refused([&] { (void)broadcast_to_offsets(par, lists, inner.data(), 9, outer.data(), 5); }));
  EXPECT_TRUE(is_refused([&] { (void)broadcast_to_offsets(gpu::Policy{}, lists, inner.data(), 9, outer.data(), 5); }));
  EXPECT_EQ(outer, outer_before);
  EXPECT_EQ(inner, inner_before);
  Positions out(5);
  flatten(par, lists, Lists(inner), out.data());
  EXPECT_EQ(out, (Positions{1, 1, 3, 5, 9}));
}

}  // namespace
}  // namespace upsweep
