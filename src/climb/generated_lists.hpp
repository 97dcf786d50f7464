// SPDX-License-Identifier: Apache-2.0
// climb/generated_lists.hpp: the patterns of lists that ladders are climbed on, as offsets of a given number of
// elements.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "climb/generated.hpp"
#include "climb/problem.hpp"
#include "upsweep/lists.hpp"

namespace upsweep {

enum class ListPattern : std::uint8_t {
  poisson,  ///< like the particles of an event: Poisson(3)
  fixed3,
  fixed32,
  fixed1000,
  zero_to_4,  ///< each length is equally likely
  empty,      ///< one empty list for each requested element
  one,        ///< a single long list
  giants,     ///< 64 lists that together contain a half of all elements, among lists of one
  pareto,     ///< 1 and more, with exponent 1.2: a few lists contain most elements
};
inline constexpr std::string_view kListPatterns[] = {"poisson", "fixed3", "fixed32", "fixed1000", "0to4",
                                                     "empty",   "one",    "giants",  "pareto"};

/// The setting of every ladder that is climbed on lists.
inline constexpr SettingInfo kListSetting{
    .name = "lists", .help = "generate lists of these lengths (default: poisson, of mean 3)", .choices = kListPatterns};

/// The studies of a problem of lists: lengths of content, lengths of lists, threads.
inline constexpr std::int64_t kManyElements[] = {1 << 24};
inline constexpr Study::Value kFixed3[] = {{"lists", "fixed3"}};
inline constexpr Study::Value kFixed32[] = {{"lists", "fixed32"}};
inline constexpr Study::Value kFixed1000[] = {{"lists", "fixed1000"}};
inline constexpr Study::Value kPareto[] = {{"lists", "pareto"}};
inline constexpr Study::Value kGiants[] = {{"lists", "giants"}};
inline constexpr Study kListStudies[] = {{.name = "sizes", .sizes = kSweep},
                                         {.name = "lists", .sizes = kManyElements, .settings = kFixed3},
                                         {.name = "lists", .sizes = kManyElements, .settings = kFixed32},
                                         {.name = "lists", .sizes = kManyElements, .settings = kFixed1000},
                                         {.name = "lists", .sizes = kManyElements, .settings = kPareto},
                                         {.name = "lists", .sizes = kManyElements, .settings = kGiants},
                                         {.name = "threads", .sizes = kManyElements, .scales = true}};

/// The studies of problems whose work grows with the square of list lengths: without long lists.
inline constexpr Study kShortListStudies[] = {{.name = "sizes", .sizes = kSweep},
                                              {.name = "lists", .sizes = kManyElements, .settings = kFixed3},
                                              {.name = "threads", .sizes = kManyElements, .scales = true}};

/// The requested pattern.
inline ListPattern list_pattern(const ClimbRequest& request) {
  return static_cast<ListPattern>(setting(request, kListSetting.name).value_or(Setting{}).value);
}

/// "lists: pareto": the description of generated lists in an instance.
inline std::string pattern_name(ListPattern pattern) {
  return "lists: " + std::string(kListPatterns[static_cast<int>(pattern)]);
}

/// Lengths of a pattern, one after the other.
class ListLengths {
 public:
  ListLengths(ListPattern pattern, std::int64_t elements) : pattern_(pattern), elements_(elements) {
    double term = std::exp(-3.0);
    double sum = 0;
    for (std::size_t k = 0; k < poisson_.size(); ++k) {
      sum += term;
      term *= 3.0 / static_cast<double>(k + 1);
      poisson_[k] = sum;
    }
    giant_ = std::max<std::int64_t>(elements / 128, 1);
    lists_between_ = std::max<std::int64_t>(elements / 2 / 64, 1);
  }

  std::int64_t next() {
    switch (pattern_) {
      case ListPattern::poisson: {
        const double u = uniform();
        std::int64_t k = 0;
        while (k < std::ssize(poisson_) && poisson_[static_cast<std::size_t>(k)] < u) ++k;
        return k;
      }
      case ListPattern::fixed3:
        return 3;
      case ListPattern::fixed32:
        return 32;
      case ListPattern::fixed1000:
        return 1000;
      case ListPattern::zero_to_4:
        return static_cast<std::int64_t>(random_() % 5);
      case ListPattern::empty:
        return 0;
      case ListPattern::one:
        return elements_;
      case ListPattern::giants:
        return ++lists_ % lists_between_ == lists_between_ / 2 ? giant_ : 1;
      case ListPattern::pareto:
        return static_cast<std::int64_t>(std::min(std::pow(uniform(), -1 / 1.2), 1e12));
    }
    detail::no_such_value();
  }

 private:
  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53; }

  ListPattern pattern_;
  std::int64_t elements_;
  std::int64_t giant_;
  std::int64_t lists_between_;
  std::int64_t lists_ = 0;
  std::array<double, 20> poisson_{};
  std::mt19937_64 random_{45};
};

/// Offsets of lists that contain `elements` elements together. The last list is truncated at the end. For the pattern
/// of empty lists, there are `elements` lists.
inline std::vector<std::int64_t> generated_offsets(ListPattern pattern, std::int64_t elements) {
  if (pattern == ListPattern::empty) return std::vector<std::int64_t>(static_cast<std::size_t>(elements) + 1, 0);
  std::vector<std::int64_t> offsets{0};
  offsets.reserve(static_cast<std::size_t>(elements / 2));  // pages that are not written take no memory
  for (ListLengths lengths(pattern, elements); offsets.back() < elements;) {
    offsets.push_back(offsets.back() + std::min(lengths.next(), elements - offsets.back()));
  }
  return offsets;
}

/// The number of lists between ascending offsets that are within the first n elements of the content.
template <class Bound>
std::int64_t count_within(const Bound* offsets, std::int64_t lists, std::int64_t n) {
  if (n >= static_cast<std::int64_t>(offsets[lists])) return lists;  // without a search, which would be timed
  const auto is_past = [](std::int64_t at, Bound offset) { return at < static_cast<std::int64_t>(offset); };
  const std::int64_t offsets_within = std::upper_bound(offsets, offsets + lists + 1, n, is_past) - offsets;
  return std::max<std::int64_t>(offsets_within - 1, 0);
}

/// Generated offsets on huge pages, in a type of bounds that holds all of them.
template <class T>
Elements<T> as_bounds(const std::vector<std::int64_t>& values) {
  Elements<T> bounds(std::ssize(values));
  std::transform(values.begin(), values.end(), bounds.data(), [](std::int64_t value) { return static_cast<T>(value); });
  return bounds;
}

}  // namespace upsweep
