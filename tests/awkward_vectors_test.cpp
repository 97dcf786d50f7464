// SPDX-License-Identifier: Apache-2.0
// tests/awkward_vectors_test.cpp: the vector kernels that Awkward Array's functions use, on every available instruction
// set, compared with plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/visit.hpp"
#include "cpu/index_kernels.hpp"
#include "cpu/list_kernels.hpp"
#include "patterns.hpp"
#include "rungs.hpp"
#include "system/isa.hpp"

namespace upsweep {
namespace {

using tests::Guarded;
using Index = std::vector<std::int64_t>;

/// Sizes around groups of 8 and 16 lists, and of 64 elements.
constexpr std::array<std::int64_t, 11> kSizes = {0, 1, 7, 8, 9, 15, 17, 63, 64, 200, 1001};

Index offsets_of(std::int64_t lists, unsigned most) {
  std::mt19937_64 random(3);
  Index offsets{0};
  for (std::int64_t i = 0; i < lists; ++i) {
    offsets.push_back(offsets.back() + static_cast<std::int64_t>(random() % (most + 1)));
  }
  return offsets;
}

/// Makes few different values, so that there are ties. Floats include NaN, zeros of both signs and infinities.
template <class T>
std::vector<T> content_of(std::int64_t n) {
  std::mt19937_64 random(4);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& value : x) {
    const auto which = static_cast<int>(random() % 9);
    value = static_cast<T>(std::is_signed_v<T> ? which - 6 : which);
    if constexpr (std::is_floating_point_v<T>) {
      if (which == 6 && random() % 2 == 0) value = -T{0};
      if (which > 6) value = std::numeric_limits<T>::quiet_NaN();
      if (which == 0) value = -std::numeric_limits<T>::infinity();
    }
  }
  return x;
}

template <class T, bool kGreatest>
bool is_better(T a, T b) {
  return kGreatest ? a > b : a < b;
}

template <class T, bool kGreatest>
void check_extrema(Isa isa, const Index& offsets) {
  const auto n = std::ssize(offsets) - 1;
  const auto x = content_of<T>(offsets.back());
  const cpu::ListKernels& kernels = cpu::list_kernels(isa);
  const int type = cpu::at(type_of<T>());
  const T init = kGreatest ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  Guarded<T> best(n, 1);
  Guarded<std::int64_t> places(n, 1);
  (kGreatest ? kernels.greatest : kernels.least)[type](nullptr, x.data(), offsets.back(), offsets.data(),
                                                       offsets.data() + 1, n, &init, best.data());
  (kGreatest ? kernels.place_of_greatest : kernels.place_of_least)[type](x.data(), offsets.back(), offsets.data(),
                                                                         offsets.data() + 1, n, places.data());
  EXPECT_TRUE(best.intact());
  EXPECT_TRUE(places.intact());
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = offsets[static_cast<std::size_t>(i)];
    const std::int64_t last = offsets[static_cast<std::size_t>(i) + 1];
    T value = init;
    std::int64_t place = first < last ? first : -1;
    for (std::int64_t j = first; j < last; ++j) {
      const T next = x[static_cast<std::size_t>(j)];
      if (is_better<T, kGreatest>(next, value)) value = next;
      if (is_better<T, kGreatest>(next, x[static_cast<std::size_t>(place)])) place = j;
    }
    ASSERT_EQ(places.data()[i], place) << i;
    ASSERT_EQ(best.data()[i], value) << i;
    if constexpr (std::is_floating_point_v<T>) {
      ASSERT_EQ(std::signbit(best.data()[i]), std::signbit(value)) << i;
    }
  }
}

template <class Check>
void on_every_isa(Check check) {
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (!has_isa(isa)) continue;
    SCOPED_TRACE(static_cast<int>(isa));
    check(isa);
  }
}

TEST(AwkwardVectors, Extrema) {
  on_every_isa([](Isa isa) {
    for (const std::int64_t lists : kSizes) {
      for (const unsigned most : {0U, 1U, 6U, 31U}) {
        const Index offsets = offsets_of(lists, most);
        for_each_type([&]<class T>(std::type_identity<T>) {
          if constexpr (sizeof(T) >= 4) {
            check_extrema<T, false>(isa, offsets);
            check_extrema<T, true>(isa, offsets);
          }
        });
      }
    }
  });
}

template <class Tag, class T>
void check_unions(Isa isa, std::int64_t n) {
  const auto& kernels = std::get<cpu::UnionKernels<Tag, T>>(cpu::index_kernels(isa).unions);
  std::mt19937_64 random(5);
  std::vector<Tag> tags(static_cast<std::size_t>(n));
  std::vector<T> index(static_cast<std::size_t>(n));
  for (auto& tag : tags) tag = static_cast<Tag>(random() % 3);
  for (auto& i : index) i = static_cast<T>(random() % 1000);
  Guarded<std::int8_t> to_tags(n, 1);
  Guarded<std::int64_t> to_index(n, 1);
  std::fill_n(to_tags.data(), n, std::int8_t{9});
  std::fill_n(to_index.data(), n, -7);
  kernels.retag(tags.data(), index.data(), n, {.from = 258, .to = 5, .base = 0}, to_tags.data(), to_index.data());
  kernels.retag(tags.data(), index.data(), n, {.from = 2, .to = 4, .base = 100}, to_tags.data(), to_index.data());
  for (std::int64_t i = 0; i < n; ++i) {
    const bool is_it = tags[static_cast<std::size_t>(i)] == 2;
    ASSERT_EQ(to_tags.data()[i], is_it ? 4 : 9);
    ASSERT_EQ(to_index.data()[i], is_it ? static_cast<std::int64_t>(index[static_cast<std::size_t>(i)]) + 100 : -7);
  }
  EXPECT_TRUE(to_tags.intact());
  EXPECT_TRUE(to_index.intact());

  // Lists with gaps between them.
  const Index offsets = offsets_of(n, 20);
  Index starts;
  Index counts;
  std::vector<std::int64_t> expected(static_cast<std::size_t>(offsets.back()), -1);
  std::int64_t number = 3;
  for (std::int64_t i = 0; i < n; ++i) {
    starts.push_back(offsets[static_cast<std::size_t>(i)]);
    counts.push_back((offsets[static_cast<std::size_t>(i) + 1] - starts.back()) / 2);
    for (std::int64_t j = 0; j < counts.back(); ++j) expected[static_cast<std::size_t>(starts.back() + j)] = number++;
  }
  Guarded<Tag> filled_tags(offsets.back(), 1);
  Guarded<T> filled(offsets.back(), 1);
  std::fill_n(filled_tags.data(), offsets.back(), Tag{9});
  std::fill_n(filled.data(), offsets.back(), T{77});
  EXPECT_EQ(
      kernels.fill(filled_tags.data(), filled.data(), Tag{5}, {starts.data(), counts.data(), n, offsets.back()}, 3),
      number);
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(filled_tags.data()[j], expected[j] < 0 ? Tag{9} : Tag{5});
    ASSERT_EQ(static_cast<std::int64_t>(filled.data()[j]), expected[j] < 0 ? 77 : expected[j]);
  }
  EXPECT_TRUE(filled_tags.intact());
  EXPECT_TRUE(filled.intact());
}

TEST(AwkwardVectors, Unions) {
  on_every_isa([](Isa isa) {
    for (const std::int64_t n : kSizes) {
      check_unions<std::int8_t, std::int32_t>(isa, n);
      check_unions<std::int8_t, std::uint32_t>(isa, n);
      check_unions<std::int8_t, std::int64_t>(isa, n);
      check_unions<std::int64_t, std::int64_t>(isa, n);
    }
  });
}

TEST(AwkwardVectors, Masks) {
  on_every_isa([](Isa isa) {
    for (const std::int64_t n : kSizes) {
      for (const unsigned one_in : {1U, 2U, 50U}) {
        std::mt19937_64 random(6);
        Guarded<std::int8_t> mask(n, 1);
        for (std::int64_t i = 0; i < n; ++i) mask.data()[i] = random() % one_in == 0 ? -3 : 0;
        for (const bool nonzero : {false, true}) {
          const std::int64_t first = n > 9 ? 3 : 0;
          Index expected;
          for (std::int64_t i = first; i < n; ++i) {
            if ((mask.data()[i] != 0) == nonzero) expected.push_back(i);
          }
          const cpu::MaskRange range{mask.data(), nonzero, first, n};
          EXPECT_EQ(cpu::index_kernels(isa).count(range), std::ssize(expected));
          Guarded<std::int64_t> to(std::ssize(expected), 1);
          EXPECT_EQ(cpu::index_kernels(isa).positions(range, to.data(), 0, std::ssize(expected)), std::ssize(expected));
          EXPECT_TRUE(to.intact());
          EXPECT_EQ(Index(to.data(), to.data() + expected.size()), expected);
        }
      }
    }
  });
}

TEST(AwkwardVectors, EmptyLists) {
  on_every_isa([](Isa isa) {
    for (const std::int64_t n : kSizes) {
      Index offsets = offsets_of(n, 2);
      if (n > 8) offsets[5] = offsets[4] - 1;
      Guarded<std::int8_t> to(n, 1);
      cpu::index_kernels(isa).are_empty(offsets.data(), n, to.data());
      EXPECT_TRUE(to.intact());
      for (std::int64_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        ASSERT_EQ(to.data()[i], offsets[k + 1] > offsets[k] ? 0 : 1);
      }
    }
  });
}

}  // namespace
}  // namespace upsweep
