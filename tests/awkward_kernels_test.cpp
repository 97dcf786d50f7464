// SPDX-License-Identifier: Apache-2.0
// tests/awkward_kernels_test.cpp: the C functions for Awkward Array, except compact_offsets. Each function of every
// type is compared with a plain loop with Awkward's semantics. Errors are also tested.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "awkward_library.hpp"
#include "patterns.hpp"
#include "upsweep/awkward.h"

namespace upsweep {
namespace {

using tests::Guarded;
using tests::kNothing;
using Offsets = std::vector<std::int64_t>;

std::string text_of(const upsweep_awkward_error& error) { return error.str == nullptr ? "" : error.str; }

void expect_error(const upsweep_awkward_error& error, const std::string& text, std::int64_t identity,
                  std::int64_t attempt = kNothing) {
  EXPECT_EQ(text_of(error), text);
  EXPECT_EQ(error.identity, identity);
  EXPECT_EQ(error.attempt, attempt);
  ASSERT_NE(error.filename, nullptr);
  EXPECT_EQ(std::string(error.filename).back(), ')');
}

// --------------------------------------------------------------------------------------------------------------- lists

enum class Shape : std::uint8_t { none, empty, one, few, giants };
constexpr Shape kShapes[] = {Shape::none, Shape::empty, Shape::one, Shape::few, Shape::giants};

/// Makes offsets that begin at 3.
Offsets offsets_of(Shape shape, std::int64_t most = 1000) {
  std::mt19937_64 random(7);
  Offsets offsets{3};
  const std::int64_t lists = shape == Shape::none ? 0 : shape == Shape::one ? 1 : most;
  for (std::int64_t i = 0; i < lists; ++i) {
    std::int64_t length = 0;
    if (shape == Shape::one) length = 20000;
    if (shape == Shape::few) length = static_cast<std::int64_t>(random() % 9);
    if (shape == Shape::giants) length = i % 331 == 200 ? 9000 : 1;
    offsets.push_back(offsets.back() + length);
  }
  return offsets;
}

std::int64_t lists_in(const Offsets& offsets) { return std::ssize(offsets) - 1; }

/// Small integers, so that sums of floats are exact. If requested, some floats are NaN.
template <class T>
std::vector<T> content_of(const Offsets& offsets, bool nan = false) {
  std::mt19937_64 random(11);
  std::vector<T> content(static_cast<std::size_t>(offsets.back()));
  for (std::size_t j = 0; j < content.size(); ++j) {
    const auto value = static_cast<int>(random() % 7);
    if constexpr (std::is_same_v<T, bool>) {
      content[j] = value > 3;
    } else {
      content[j] = static_cast<T>(std::is_signed_v<T> ? value - 3 : value);
    }
    if constexpr (std::is_floating_point_v<T>) {
      if (nan && random() % 3 == 0) content[j] = std::numeric_limits<T>::quiet_NaN();
      if (content[j] == T{0} && random() % 2 == 0) content[j] = -T{0};
    }
  }
  return content;
}

template <class T>
struct Elements {
  explicit Elements(const std::vector<T>& from) : array(std::ssize(from)) {
    std::copy(from.begin(), from.end(), array.data());
  }
  [[nodiscard]] const T* data() { return array.data(); }
  Guarded<T> array;  // not a std::vector<bool>
};

/// Checks that the outputs are the same bits; any NaN equals any NaN.
template <class T>
void expect_same(Guarded<T>& out, const std::vector<T>& expected, const std::string& what) {
  EXPECT_TRUE(out.intact()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const T found = out.data()[i];
    const T wanted = expected[i];
    if (found != found && wanted != wanted) continue;
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): of floats too the bits are to be the same
    ASSERT_EQ(std::memcmp(&found, &wanted, sizeof(T)), 0)
        << what << ": " << i << " is " << +found << ", not " << +wanted;
  }
}

/// Computes fold(content, first, last) of each list.
template <class Out, class T, class Fold>
std::vector<Out> folds(const Offsets& offsets, const T* content, Fold fold) {
  std::vector<Out> out;
  out.reserve(static_cast<std::size_t>(lists_in(offsets)));
  for (std::int64_t i = 0; i < lists_in(offsets); ++i) {
    out.push_back(fold(content, offsets[static_cast<std::size_t>(i)], offsets[static_cast<std::size_t>(i) + 1]));
  }
  return out;
}

/// Compares run(out, content, offsets) with the folds of a plain loop.
template <class Out, class T, class Run, class Fold>
void check_reducer(const std::string& name, Run run, Fold fold) {
  for (const Shape shape : kShapes) {
    const Offsets offsets = offsets_of(shape);
    Elements<T> content(content_of<T>(offsets, true));
    Guarded<Out> out(lists_in(offsets), 1);
    EXPECT_EQ(text_of(run(out.data(), content.data(), offsets.data(), lists_in(offsets))), "") << name;
    expect_same(out, folds<Out>(offsets, content.data(), fold), name);
  }
  // The call must report the first invalid list.
  const std::int64_t bad[] = {0, 2, 1, 0};
  Elements<T> content(std::vector<T>(3));
  Guarded<Out> out(3, 1);
  expect_error(run(out.data(), content.data(), bad, 3), "offsets must be monotonically increasing", 1);
  EXPECT_TRUE(out.intact());
  EXPECT_NE(text_of(run(out.data(), nullptr, offsets_of(Shape::few, 3).data(), 3)), "");
}

// ------------------------------------------------------------------------------------------------------------ reducers

template <class T>
bool is_not_zero(T x) {
  return x != T{0};
}

template <class Out, class T, class Run>
void check_sum(const std::string& name, Run run) {
  check_reducer<Out, T>(name, run, [](const T* x, std::int64_t first, std::int64_t last) {
    auto sum = Out{0};
    for (std::int64_t j = first; j < last; ++j) sum = static_cast<Out>(sum + static_cast<Out>(x[j]));
    return sum;
  });
}
template <class Out, class T, class Run>
void check_product(const std::string& name, Run run) {
  check_reducer<Out, T>(name, run, [](const T* x, std::int64_t first, std::int64_t last) {
    if constexpr (std::is_integral_v<Out>) {
      std::uint64_t product = 1;  // modulo 2^64, and so also modulo smaller powers of 2
      for (std::int64_t j = first; j < last; ++j) product *= static_cast<std::uint64_t>(x[j]);
      return static_cast<Out>(product);
    } else {
      Out product{1};
      for (std::int64_t j = first; j < last; ++j) product *= static_cast<Out>(x[j]);
      return product;
    }
  });
}

TEST(AwkwardReducers, Sums) {
#define CHECK(OUT, OUT_T, IN, IN_T) \
  check_sum<OUT_T, IN_T>(#OUT " " #IN, UPSWEEP_KERNEL(awkward_reduce_sum_##OUT##_##IN##_64));
  UPSWEEP_AWKWARD_SUMS(CHECK)
#undef CHECK
  check_sum<std::int64_t, bool>("int64 bool", UPSWEEP_KERNEL(awkward_reduce_sum_int64_bool_64));
}

TEST(AwkwardReducers, Products) {
#define CHECK(OUT, OUT_T, IN, IN_T) \
  check_product<OUT_T, IN_T>(#OUT " " #IN, UPSWEEP_KERNEL(awkward_reduce_prod_##OUT##_##IN##_64));
  UPSWEEP_AWKWARD_PRODUCTS(CHECK)
#undef CHECK
}

TEST(AwkwardReducers, AnyAllAndCounts) {
  const auto check = []<class T>(std::type_identity<T>, const std::string& name, auto any, auto all, auto count) {
    check_reducer<bool, T>(name, any, [](const T* x, std::int64_t first, std::int64_t last) {
      return std::any_of(x + first, x + last, is_not_zero<T>);
    });
    check_reducer<bool, T>(name, all, [](const T* x, std::int64_t first, std::int64_t last) {
      return std::all_of(x + first, x + last, is_not_zero<T>);
    });
    check_reducer<std::int64_t, T>(name, count, [](const T* x, std::int64_t first, std::int64_t last) {
      return std::int64_t{std::count_if(x + first, x + last, is_not_zero<T>)};
    });
  };
#define CHECK(NAME, T)                                                                       \
  check(std::type_identity<T>{}, #NAME, UPSWEEP_KERNEL(awkward_reduce_sum_bool_##NAME##_64), \
        UPSWEEP_KERNEL(awkward_reduce_prod_bool_##NAME##_64),                                \
        UPSWEEP_KERNEL(awkward_reduce_countnonzero_##NAME##_64));
  UPSWEEP_AWKWARD_ELEMENTS(CHECK)
#undef CHECK
}

/// Tests two initial values: an identity that the elements can also have, and one that they cannot have.
template <class T, class Run, class Better>
void check_extremum(const std::string& name, Run run, Better is_better, T none) {
  for (const T identity : {none, T{1}}) {
    const auto with_identity = [&](T* out, const T* x, const std::int64_t* offsets, std::int64_t n) {
      return run(out, x, offsets, n, identity);
    };
    check_reducer<T, T>(name, with_identity, [&](const T* x, std::int64_t first, std::int64_t last) {
      T best = identity;
      for (std::int64_t j = first; j < last; ++j) best = is_better(x[j], best) ? x[j] : best;
      return best;
    });
  }
}

template <class T, class Run, class Better>
void check_extremum_at(const std::string& name, Run run, Better is_better) {
  const auto without_starts = [&](std::int64_t* out, const T* x, const std::int64_t* offsets, std::int64_t n) {
    return run(out, x, offsets, nullptr, n);
  };
  check_reducer<std::int64_t, T>(name, without_starts, [&](const T* x, std::int64_t first, std::int64_t last) {
    std::int64_t best = first < last ? first : -1;
    for (std::int64_t j = first + 1; j < last; ++j) best = is_better(x[j], x[best]) ? j : best;
    return best;
  });
}

template <class T>
constexpr T kLeast =
    std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
constexpr T kGreatest =
    std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

TEST(AwkwardReducers, ExtremaSkipNaN) {
#define CHECK(NAME, T)                                                                                        \
  check_extremum<T>(#NAME " min", UPSWEEP_KERNEL(awkward_reduce_min_##NAME##_##NAME##_64), std::less<T>{},    \
                    kGreatest<T>);                                                                            \
  check_extremum<T>(#NAME " max", UPSWEEP_KERNEL(awkward_reduce_max_##NAME##_##NAME##_64), std::greater<T>{}, \
                    kLeast<T>);                                                                               \
  check_extremum_at<T>(#NAME " argmin", UPSWEEP_KERNEL(awkward_reduce_argmin_##NAME##_64), std::less<T>{});   \
  check_extremum_at<T>(#NAME " argmax", UPSWEEP_KERNEL(awkward_reduce_argmax_##NAME##_64), std::greater<T>{});
  UPSWEEP_AWKWARD_NUMBERS(CHECK)
#undef CHECK
}

template <class T>
std::int64_t place_of_greatest(const T* x, std::int64_t first, std::int64_t last) {
  std::int64_t best = first < last ? first : -1;
  for (std::int64_t j = first + 1; j < last; ++j) best = x[j] > x[best] ? j : best;
  return best;
}
template <class T>
T greatest(const T* x, std::int64_t first, std::int64_t last) {
  T best = kLeast<T>;
  for (std::int64_t j = first; j < last; ++j) best = x[j] > best ? x[j] : best;
  return best;
}

template <class T, class Max, class Argmax>
void check_extrema(Max max, Argmax argmax, const Offsets& offsets, const std::vector<T>& x, const std::string& name) {
  const auto n = lists_in(offsets);
  Guarded<T> most(n, 1);
  Guarded<std::int64_t> at(n, 1);
  EXPECT_EQ(text_of(max(most.data(), x.data(), offsets.data(), n, kLeast<T>)), "");
  EXPECT_EQ(text_of(argmax(at.data(), x.data(), offsets.data(), nullptr, n)), "");
  expect_same(at, folds<std::int64_t>(offsets, x.data(), place_of_greatest<T>), "argmax of " + name);
  expect_same(most, folds<T>(offsets, x.data(), greatest<T>), "max of " + name);
}

// More lists than are processed together; only the last one contains NaN.
TEST(AwkwardReducers, ExtremaOfManyLists) {
  const auto max = UPSWEEP_KERNEL(awkward_reduce_max_float64_float64_64);
  const auto argmax = UPSWEEP_KERNEL(awkward_reduce_argmax_float64_64);
  const Offsets offsets = offsets_of(Shape::few, 300000);
  auto x = content_of<double>(offsets);
  x[x.size() - 2] = std::numeric_limits<double>::quiet_NaN();
  check_extrema(max, argmax, offsets, x, "many lists");
  Offsets bad = offsets;
  bad[200001] = bad[200000] - 1;
  Guarded<std::int64_t> at(lists_in(bad), 1);
  expect_error(argmax(at.data(), x.data(), bad.data(), nullptr, lists_in(bad)),
               "offsets must be monotonically increasing", 200000);
}

// Ranges of short lists, which use separate kernels, with some longer lists between them.
TEST(AwkwardReducers, ExtremaOfShortListsAndOthers) {
  Offsets offsets = offsets_of(Shape::few, 100000);
  std::int64_t more = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    more += i == 20000 ? 24 : i == 40000 || i == 50000 ? 5000 : i == 99999 ? 40 : 0;
    offsets[i] += more;
  }
#define CHECK(NAME, T)                                                   \
  check_extrema(UPSWEEP_KERNEL(awkward_reduce_max_##NAME##_##NAME##_64), \
                UPSWEEP_KERNEL(awkward_reduce_argmax_##NAME##_64), offsets, content_of<T>(offsets, true), #NAME);
  UPSWEEP_AWKWARD_NUMBERS(CHECK)
#undef CHECK
}

// Equal elements that are all the identity, and zeros of either sign: the first one stays.
TEST(AwkwardReducers, ExtremaOfEquals) {
  const auto max = UPSWEEP_KERNEL(awkward_reduce_max_float64_float64_64);
  const auto argmax = UPSWEEP_KERNEL(awkward_reduce_argmax_float64_64);
  const Offsets offsets = offsets_of(Shape::few, 1000);
  for (const double value : {kLeast<double>, kGreatest<double>, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    check_extrema(max, argmax, offsets, std::vector(static_cast<std::size_t>(offsets.back()), value), "equals");
  }
  std::vector<double> zeros(static_cast<std::size_t>(offsets.back()));
  for (std::size_t j = 0; j < zeros.size(); ++j) zeros[j] = j % 3 == 0 ? -0.0 : 0.0;
  check_extrema(max, argmax, offsets, zeros, "zeros");
}

// --------------------------------------------------------------------------------------------------------------- sorts

template <class T>
bool is_before(T a, T b, bool ascending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return ascending ? a < b : b < a;
}

/// Positions in the content. The outputs before and after the lists must not change.
template <class T>
std::vector<std::int64_t> order(const Offsets& offsets, const T* x, std::int64_t length, bool ascending) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(length));
  std::iota(at.begin(), at.end(), 0);
  for (std::int64_t i = 0; i < lists_in(offsets); ++i) {
    const auto first = std::min(length, offsets[static_cast<std::size_t>(i)]);
    const auto last = std::min(length, offsets[static_cast<std::size_t>(i) + 1]);
    std::stable_sort(at.begin() + first, at.begin() + last,
                     [&](std::int64_t a, std::int64_t b) { return is_before(x[a], x[b], ascending); });
  }
  return at;
}

/// `more` elements follow the last list. If it is negative, that number of elements is missing at the end of the last
/// lists.
template <class T, class Sort>
void check_sort(const std::string& name, Sort sort, std::int64_t more) {
  for (const Shape shape : kShapes) {
    for (const bool ascending : {true, false}) {
      const Offsets offsets = offsets_of(shape);
      if (shape == Shape::none && more < 0) continue;
      Offsets longer = offsets;
      longer.back() += std::max<std::int64_t>(more, 0);
      Elements<T> content(content_of<T>(longer, true));
      const std::int64_t length = offsets.back() + more;
      const std::int64_t copied = std::min(length, offsets.back());
      Guarded<T> out(copied, 1);
      EXPECT_EQ(text_of(sort(out.data(), content.data(), length, offsets.data(), std::ssize(offsets), ascending, true)),
                "");
      std::vector<T> expected;
      for (const auto at : order(offsets, content.data(), length, ascending)) expected.push_back(content.data()[at]);
      for (std::int64_t j = 0; j < copied; ++j) {
        ASSERT_EQ(+out.data()[j] == +out.data()[j],
                  +expected[static_cast<std::size_t>(j)] == +expected[static_cast<std::size_t>(j)]);
        if (out.data()[j] != out.data()[j]) continue;
        ASSERT_EQ(+out.data()[j], +expected[static_cast<std::size_t>(j)]) << name << ' ' << j;
      }
      EXPECT_TRUE(out.intact()) << name;
    }
  }
}

template <class T, class Offset, class Sort>
void check_argsort(const std::string& name, Sort sort, std::int64_t more) {
  for (const Shape shape : kShapes) {
    for (const bool ascending : {true, false}) {
      const Offsets offsets = offsets_of(shape);
      const std::vector<Offset> given(offsets.begin(), offsets.end());
      Offsets longer = offsets;
      longer.back() += std::max<std::int64_t>(more, 0);
      Elements<T> content(content_of<T>(longer, true));
      const std::int64_t length = offsets.back() + more;
      Guarded<std::int64_t> out(length, 1);
      EXPECT_EQ(text_of(sort(out.data(), content.data(), length, given.data(), std::ssize(given), ascending, false)),
                "");
      auto expected = order(offsets, content.data(), length, ascending);
      for (std::int64_t i = 0; i < lists_in(offsets); ++i) {
        const auto first = offsets[static_cast<std::size_t>(i)];
        const auto last = std::min(length, offsets[static_cast<std::size_t>(i) + 1]);
        for (std::int64_t j = first; j < last; ++j) expected[static_cast<std::size_t>(j)] -= first;
      }
      expect_same(out, expected, name);
    }
  }
  const Offset bad[] = {0, 2, 1};
  Elements<T> content(std::vector<T>(2));
  Guarded<std::int64_t> out(2, 1);
  expect_error(sort(out.data(), content.data(), 2, bad, 3, true, true), "offsets must be monotonically increasing", 1);
}

TEST(AwkwardSorts, EveryType) {
  for (const std::int64_t more : {0, 5, -2}) {
#define CHECK(NAME, T)                                                                                     \
  check_sort<T>(#NAME, UPSWEEP_KERNEL(awkward_sort_##NAME), more);                                         \
  check_argsort<T, std::int32_t>(#NAME " int32", UPSWEEP_KERNEL(awkward_argsort_##NAME##_int32), more);    \
  check_argsort<T, std::uint32_t>(#NAME " uint32", UPSWEEP_KERNEL(awkward_argsort_##NAME##_uint32), more); \
  check_argsort<T, std::int64_t>(#NAME " int64", UPSWEEP_KERNEL(awkward_argsort_##NAME##_int64), more);    \
  check_argsort<T, std::uint64_t>(#NAME " uint64", UPSWEEP_KERNEL(awkward_argsort_##NAME##_uint64), more);
    UPSWEEP_AWKWARD_ELEMENTS(CHECK)
#undef CHECK
  }
}

// ----------------------------------------------------------------------------------------------------------- positions

template <class T>
std::vector<T> as(const Offsets& offsets) {
  return {offsets.begin(), offsets.end()};
}

template <class T, class LocalIndex, class Spread>
void check_positions(LocalIndex local_index, Spread spread) {
  for (const Shape shape : kShapes) {
    const Offsets offsets = offsets_of(shape);
    const auto given = as<T>(offsets);
    const auto n = lists_in(offsets);
    std::vector<std::int64_t> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), 100);
    Guarded<std::int64_t> index(offsets.back(), 1);
    Guarded<std::int64_t> spreads(offsets.back(), 1);
    // The output before the first list must not change.
    std::vector<std::int64_t> expected(index.data(), index.data() + offsets.back());
    auto expected_spread = expected;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto first = offsets[static_cast<std::size_t>(i)];
      for (std::int64_t j = first; j < offsets[static_cast<std::size_t>(i) + 1]; ++j) {
        expected[static_cast<std::size_t>(j)] = j - first;
        expected_spread[static_cast<std::size_t>(j)] = 100 + i;
      }
    }
    EXPECT_EQ(text_of(local_index(index.data(), given.data(), n)), "");
    EXPECT_EQ(text_of(spread(spreads.data(), values.data(), given.data(), n)), "");
    expect_same(index, expected, "local index");
    expect_same(spreads, expected_spread, "spread");
  }
  // Lists in any order are a case of localindex only; lists that end before they start are empty.
  const T disorder[] = {2, 1, 4, 0};
  Guarded<std::int64_t> index(4, 1);
  EXPECT_EQ(text_of(local_index(index.data(), disorder, 3)), "");
  EXPECT_EQ(std::vector(index.data() + 1, index.data() + 4), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(index.intact());
  const std::int64_t values[] = {7, 8, 9};
  expect_error(spread(index.data(), values, disorder, 3), "offsets must be monotonically increasing", 0);
  if constexpr (std::is_signed_v<T>) {
    const T negative[] = {-2, 0, 3};
    expect_error(local_index(index.data(), negative, 2), "starts[i] < 0", 0);
    expect_error(spread(index.data(), values, negative, 2), "starts[i] < 0", 0);
    const T in_disorder[] = {1, -2, 2};
    expect_error(local_index(index.data(), in_disorder, 2), "starts[i] < 0", 1);
    EXPECT_TRUE(index.intact());
  }
}

template <class T, class Broadcast>
void check_broadcast(Broadcast broadcast) {
  const std::int64_t offsets[] = {0, 2, 2, 5};
  const T starts[] = {6, 9, 1};
  const T stops[] = {8, 9, 4};
  Guarded<std::int64_t> out(5, 1);
  EXPECT_EQ(text_of(broadcast(out.data(), offsets, 4, starts, stops, 8)), "");
  expect_same(out, {6, 7, 1, 2, 3}, "broadcast");
  EXPECT_EQ(text_of(broadcast(nullptr, offsets, 1, starts, stops, 8)), "");
  expect_error(broadcast(out.data(), offsets, 4, starts, stops, 7), "stops[i] > len(content)", 0, 8);
  const std::int64_t decreasing[] = {0, 2, 1, 4};
  expect_error(broadcast(out.data(), decreasing, 4, starts, stops, 8),
               "broadcast's offsets must be monotonically increasing", 1);
  const std::int64_t longer[] = {0, 2, 2, 6};
  Guarded<std::int64_t> more(6, 1);
  expect_error(broadcast(more.data(), longer, 4, starts, stops, 8), "cannot broadcast nested list", 2);
  EXPECT_TRUE(out.intact() && more.intact());
  EXPECT_NE(text_of(broadcast(out.data(), offsets, 4, static_cast<const T*>(nullptr), stops, 8)), "");
}

template <class T, class Flatten>
void check_flatten(Flatten flatten) {
  const std::int64_t inner[] = {5, 7, 7, 12};
  const auto check = [&](const std::vector<T>& outer, const std::vector<std::int64_t>& expected) {
    Guarded<std::int64_t> out(std::ssize(outer), 1);
    EXPECT_EQ(text_of(flatten(out.data(), outer.data(), std::ssize(outer), inner)), "");
    expect_same(out, expected, "flatten");
  };
  check({0, 2, 2, 3}, {5, 7, 7, 12});
  check({1, 3}, {7, 12});
  check({3}, {12});
  check({0, 0}, {5, 5});
  check({3, 1, 2}, {12, 7, 7});
  check({}, {});
  if constexpr (std::is_signed_v<T>) {
    const T outer[] = {0, -1, 2};
    Guarded<std::int64_t> out(3, 1);
    expect_error(flatten(out.data(), outer, 3, inner), "outer offset out of range", 1, -1);
  }
}

TEST(AwkwardPositions, EveryTypeOfBounds) {
#define CHECK(NAME, T)                                                                                \
  check_positions<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_localindex_64),                         \
                     UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_next_range_spreadadvanced_64)); \
  check_broadcast<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_broadcast_tooffsets_64));               \
  check_flatten<T>(UPSWEEP_KERNEL(awkward_ListOffsetArray##NAME##_flatten_offsets_64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

TEST(AwkwardPositions, OfListsOfOneSize) {
  Guarded<std::int64_t> out(6, 1);
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_RegularArray_localindex_64)(out.data(), 3, 2)), "");
  expect_same(out, {0, 1, 2, 0, 1, 2}, "local index");
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_localindex_64)(out.data(), 6)), "");
  expect_same(out, {0, 1, 2, 3, 4, 5}, "index");
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_RegularArray_reduce_local_nextparents_64)(out.data(), 2, 3)), "");
  expect_same(out, {0, 0, 1, 1, 2, 2}, "parents");
  const std::int64_t values[] = {5, 6};
  const auto spread = UPSWEEP_KERNEL(awkward_RegularArray_getitem_next_range_spreadadvanced_64);
  EXPECT_EQ(text_of(spread(out.data(), values, 2, 3)), "");
  expect_same(out, {5, 5, 5, 6, 6, 6}, "spread");
  EXPECT_NE(text_of(UPSWEEP_KERNEL(awkward_localindex_64)(nullptr, 6)), "");
  EXPECT_EQ(text_of(UPSWEEP_KERNEL(awkward_localindex_64)(nullptr, 0)), "");
}

TEST(AwkwardPositions, Parents) {
  const auto parents = UPSWEEP_KERNEL(awkward_ListOffsetArray64_reduce_local_nextparents_64);
  const std::int64_t offsets[] = {3, 5, 5, 8};
  Guarded<std::int64_t> out(5, 1);
  EXPECT_EQ(text_of(parents(out.data(), offsets, 3, 5)), "");
  expect_same(out, {0, 0, 2, 2, 2}, "parents");
  EXPECT_NE(text_of(parents(out.data(), offsets, 3, 4)), "");
  const std::int64_t bad[] = {3, 2, 8};
  expect_error(parents(out.data(), bad, 2, 5), "offsets must be monotonically increasing", 0);
  EXPECT_TRUE(out.intact());
}

// --------------------------------------------------------------------------------------------------------------- takes

template <class T, class Apply>
void check_apply(Apply apply) {
  const T starts[] = {4, 0, 2, 7};
  const T stops[] = {7, 0, 4, 9};
  const std::int64_t first[] = {0, 2, 2, 3};
  const std::int64_t last[] = {2, 2, 3, 5};
  const std::vector<std::int64_t> good{-1, 0, 1, -2, 1};
  Guarded<std::int64_t> offsets(5, 1);
  Guarded<std::int64_t> carry(5, 1);
  const auto run = [&](const std::int64_t* index_starts, const std::int64_t* index_stops,
                       const std::vector<std::int64_t>& indices, std::int64_t content) {
    const auto error = apply(offsets.data(), carry.data(), index_starts, index_stops, 4, indices.data(),
                             std::ssize(indices), starts, stops, content);
    EXPECT_TRUE(offsets.intact() && carry.intact());
    return error;
  };
  EXPECT_EQ(text_of(run(first, last, good, 9)), "");
  expect_same(offsets, {0, 2, 2, 3, 5}, "offsets");
  expect_same(carry, {6, 4, 3, 7, 8}, "carry");
  expect_error(run(first, last, {-1, 0, 2, -2, 1}, 9), "index out of range", 2, 2);
  expect_error(run(first, last, {-1, 0, 1, -3, 5}, 9), "index out of range", 3, -3);
  expect_error(run(first, last, good, 8), "stops[i] > len(content)", 3);
  expect_error(run(first, last, {-1, 0, 1, -2}, 9), "jagged slice's offsets extend beyond its content", 3, 5);
  const std::int64_t disorder[] = {2, 2, 2, 5};
  expect_error(run(last, disorder, good, 9), "jagged slice's stops[i] < starts[i]", 2);
}

template <class T, class Apply>
void check_apply_errors(Apply apply) {
  const T starts[] = {4, 3};
  const T stops[] = {7, 2};
  const std::int64_t indices[] = {0, 0};
  Guarded<std::int64_t> offsets(3, 1);
  Guarded<std::int64_t> carry(2, 1);
  const std::int64_t first[] = {0, 1};
  const std::int64_t last[] = {1, 2};
  expect_error(apply(offsets.data(), carry.data(), first, last, 2, indices, 2, starts, stops, 9),
               "stops[i] < starts[i]", 1);
  // The indices of an empty list are not checked.
  const std::int64_t none[] = {1, 1};
  EXPECT_EQ(text_of(apply(offsets.data(), carry.data(), first, none, 2, indices, 2, starts, stops, 9)), "");
  const std::int64_t decreasing[] = {1, 0};
  expect_error(apply(offsets.data(), carry.data(), first, decreasing, 2, indices, 2, starts, stops, 9),
               "jagged slice's stops[i] < starts[i]", 1);
  EXPECT_NE(text_of(apply(offsets.data(), carry.data(), nullptr, last, 2, indices, 2, starts, stops, 9)), "");
  EXPECT_TRUE(offsets.intact() && carry.intact());
}

TEST(AwkwardTakes, JaggedApply) {
#define CHECK(NAME, T)                                                               \
  check_apply<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_jagged_apply_64)); \
  check_apply_errors<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_getitem_jagged_apply_64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

TEST(AwkwardTakes, NullsOfAByteMask) {
  const auto numnull = UPSWEEP_KERNEL(awkward_ByteMaskedArray_numnull);
  const std::int8_t mask[] = {0, 1, -1, 0, 2};
  std::int64_t nulls = -1;
  EXPECT_EQ(text_of(numnull(&nulls, mask, 5, true)), "");
  EXPECT_EQ(nulls, 2);
  EXPECT_EQ(text_of(numnull(&nulls, mask, 5, false)), "");
  EXPECT_EQ(nulls, 3);
  EXPECT_EQ(text_of(numnull(&nulls, nullptr, 0, false)), "");
  EXPECT_EQ(nulls, 0);
}

// -------------------------------------------------------------------------------------------------------- combinations

/// Appends the choices of n elements of [first, last), in order.
void choose(std::int64_t first, std::int64_t last, std::int64_t n, bool replacement, std::vector<std::int64_t>& chosen,
            std::vector<std::vector<std::int64_t>>& out) {
  if (std::ssize(chosen) == n) {
    for (std::size_t k = 0; k < chosen.size(); ++k) out[k].push_back(chosen[k]);
    return;
  }
  for (std::int64_t j = first; j < last; ++j) {
    chosen.push_back(j);
    choose(replacement ? j : j + 1, last, n, replacement, chosen, out);
    chosen.pop_back();
  }
}

template <class T, class Length, class Choose>
void check_combinations(Length length, Choose combine) {
  const T starts[] = {4, 0, 9, 1};
  const T stops[] = {8, 0, 10, 7};
  for (const std::int64_t n : {1, 2, 3, 4}) {
    for (const bool replacement : {false, true}) {
      std::vector<std::vector<std::int64_t>> expected(static_cast<std::size_t>(n));
      std::vector<std::int64_t> expected_offsets{0};
      std::vector<std::int64_t> chosen;
      for (int i = 0; i < 4; ++i) {
        choose(starts[i], stops[i], n, replacement, chosen, expected);
        expected_offsets.push_back(std::ssize(expected[0]));
      }
      std::int64_t total = -1;
      Guarded<std::int64_t> offsets(5, 1);
      EXPECT_EQ(text_of(length(&total, offsets.data(), n, replacement, starts, stops, 4)), "");
      EXPECT_EQ(total, std::ssize(expected[0]));
      expect_same(offsets, expected_offsets, "offsets");
      std::vector<Guarded<std::int64_t>> carry;
      std::vector<std::int64_t*> carries;
      carries.reserve(static_cast<std::size_t>(n));
      for (std::int64_t k = 0; k < n; ++k) carries.push_back(carry.emplace_back(total, 1).data());
      Guarded<std::int64_t> ends(n, 1);
      std::vector<std::int64_t> unused(static_cast<std::size_t>(n));
      EXPECT_EQ(text_of(combine(carries.data(), ends.data(), unused.data(), n, replacement, starts, stops, 4)), "");
      for (std::size_t k = 0; k < expected.size(); ++k) expect_same(carry[k], expected[k], "carry");
      expect_same(ends, std::vector<std::int64_t>(static_cast<std::size_t>(n), total), "ends");
    }
  }
  std::int64_t total = -1;
  std::int64_t offsets[3] = {};
  const T before[] = {4, 9};
  const T after[] = {6, 8};
  expect_error(length(&total, offsets, 2, false, before, after, 2), "stops[i] < starts[i]", 1);
  EXPECT_EQ(text_of(length(&total, offsets, 0, false, before, after, 0)), "");
  EXPECT_EQ(total, 0);
  const T nought[] = {0};
  const T many[] = {2000000000};
  expect_error(length(&total, offsets, 3, false, nought, many, 1), "combinations overflow int64", 0);
  EXPECT_NE(text_of(length(&total, offsets, 0, false, nought, many, 1)), "");
}

TEST(AwkwardCombinations, EveryTypeOfBounds) {
#define CHECK(NAME, T)                                                                    \
  check_combinations<T>(UPSWEEP_KERNEL(awkward_ListArray##NAME##_combinations_length_64), \
                        UPSWEEP_KERNEL(awkward_ListArray##NAME##_combinations_64));
  UPSWEEP_AWKWARD_BOUNDS(CHECK)
#undef CHECK
}

// More lists than are counted together. In the second case one of them is too long to be counted with the others.
TEST(AwkwardCombinations, PairsOfManyLists) {
  const auto length = UPSWEEP_KERNEL(awkward_ListArray64_combinations_length_64);
  for (const std::int64_t longest : {0, 70000}) {
    Offsets bounds = offsets_of(Shape::few, 40000);
    for (std::size_t i = 30000; i < bounds.size(); ++i) bounds[i] += longest;
    for (const bool replacement : {false, true}) {
      Offsets expected{0};
      for (std::size_t i = 1; i < bounds.size(); ++i) {
        const std::int64_t elements = bounds[i] - bounds[i - 1];
        expected.push_back(expected.back() + elements * (elements + (replacement ? 1 : -1)) / 2);
      }
      std::int64_t total = -1;
      Guarded<std::int64_t> offsets(std::ssize(bounds), 1);
      EXPECT_EQ(
          text_of(length(&total, offsets.data(), 2, replacement, bounds.data(), bounds.data() + 1, lists_in(bounds))),
          "");
      EXPECT_EQ(total, expected.back());
      expect_same(offsets, expected, "offsets");
    }
    bounds[35001] = bounds[35000] - 1;
    std::int64_t total = -1;
    Guarded<std::int64_t> offsets(std::ssize(bounds), 1);
    expect_error(length(&total, offsets.data(), 2, false, bounds.data(), bounds.data() + 1, lists_in(bounds)),
                 "stops[i] < starts[i]", 35000);
  }
}

TEST(AwkwardCombinations, OfListsOfOneSize) {
  Guarded<std::int64_t> left(6, 1);
  Guarded<std::int64_t> right(6, 1);
  std::int64_t* carry[] = {left.data(), right.data()};
  std::int64_t ends[2] = {};
  std::int64_t unused[2] = {};
  const auto combine = UPSWEEP_KERNEL(awkward_RegularArray_combinations_64);
  EXPECT_EQ(text_of(combine(carry, ends, unused, 2, false, 3, 2)), "");
  expect_same(left, {0, 0, 1, 3, 3, 4}, "left");
  expect_same(right, {1, 2, 2, 4, 5, 5}, "right");
  EXPECT_EQ(ends[0], 6);
  EXPECT_EQ(ends[1], 6);
}

}  // namespace
}  // namespace upsweep
