// SPDX-License-Identifier: Apache-2.0
// tests/selections.hpp: lists, masks and content to select from, the expected result, and the check of the actual one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "climb/generated_lists.hpp"
#include "patterns.hpp"
#include "problems/dense/select/reference.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/select.hpp"

namespace upsweep::tests {

/// Lists, as starts and stops, in some content, and a mask of the kept elements.
struct Selection {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> stops;
  std::vector<bool> valid;  ///< empty: no list is null
  std::vector<bool> mask;

  [[nodiscard]] std::int64_t content() const { return std::ssize(mask); }
  [[nodiscard]] std::int64_t lists() const { return std::ssize(starts); }
  [[nodiscard]] impl::select::ExpectedSelection expected() const {
    return impl::select::expected_selection(starts, stops, valid, mask);
  }
};

/// Marks `share` percent of the elements at random.
inline std::vector<bool> make_mask(std::int64_t n, unsigned share, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<bool> mask(static_cast<std::size_t>(n));
  for (auto&& kept : mask) kept = random() % 100 < share;
  return mask;
}

/// Adjacent lists with n elements in total (for empty lists: n lists). `before` elements of content precede the first
/// list and `after` elements follow the last.
inline Selection adjacent_lists(upsweep::ListPattern pattern, std::int64_t n, unsigned share, std::int64_t before = 0,
                                std::int64_t after = 0) {
  const std::vector<std::int64_t> offsets = generated_offsets(pattern, n);
  Selection given;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    given.starts.push_back(offsets[i] + before);
    given.stops.push_back(offsets[i + 1] + before);
  }
  given.mask = make_mask(offsets.back() + before + after, share, static_cast<unsigned>(n) + share);
  return given;
}

/// The same lists in another order; some occur twice, some not at all. `nulls`: a fifth of them is null.
inline Selection shuffled(Selection given, bool nulls, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  const Selection old = given;
  for (std::size_t i = 0; i < old.starts.size(); ++i) {
    const std::size_t from = random() % old.starts.size();
    given.starts[i] = old.starts[from];
    given.stops[i] = old.stops[from];
  }
  if (!nulls) return given;
  for (std::size_t i = 0; i < old.starts.size(); ++i) {
    given.valid.push_back(random() % 5 != 0);
    if (given.valid.back() || random() % 2 == 0) continue;
    given.starts[i] = 1'000'000'000;  // must not be read
    given.stops[i] = -7;
  }
  return given;
}

/// Lists of indices into lists, and the result of a take by them.
struct JaggedTake {
  Selection lists;
  Selection index_lists;  ///< its mask has one element per index
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> offsets{0};
};

/// Makes index lists of a pattern, in order or not, into lists of up to 5 elements, by a plain loop.
inline JaggedTake make_jagged_take(upsweep::ListPattern pattern, std::int64_t n, bool in_order) {
  std::mt19937_64 random(static_cast<unsigned>(n));
  JaggedTake made;
  made.index_lists = adjacent_lists(pattern, n, 0, 2, 3);
  made.indices.resize(static_cast<std::size_t>(made.index_lists.content()), 1'000'000);
  if (!in_order) {
    // Each list once: overlapping lists would need indices that are valid for several lists.
    const Selection old = made.index_lists;
    for (std::size_t i = 0; i < old.starts.size(); ++i) {
      made.index_lists.starts[i] = old.starts[old.starts.size() - 1 - i];
      made.index_lists.stops[i] = old.stops[old.starts.size() - 1 - i];
    }
  }
  std::int64_t end = 0;
  for (std::size_t i = 0; i < made.index_lists.starts.size(); ++i) {
    const std::int64_t first = made.index_lists.starts[i];
    const std::int64_t stop = made.index_lists.stops[i];
    const auto length = static_cast<std::int64_t>(random() % 5) + (first < stop ? 1 : 0);
    made.lists.starts.push_back(end);
    made.lists.stops.push_back(end += length);
    for (std::int64_t j = first; j < stop; ++j) {
      const auto local = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(length));
      made.indices[static_cast<std::size_t>(j)] = random() % 2 == 0 ? local : local - length;
      made.positions.push_back(made.lists.starts[i] + local);
    }
    made.offsets.push_back(std::ssize(made.positions));
  }
  made.lists.mask.resize(static_cast<std::size_t>(end));
  return made;
}

/// Booleans as bytes, some of them with values other than 1, or as bits from a given bit on. The allocation has exactly
/// the required number of bytes.
class GivenMask {
 public:
  explicit GivenMask(const std::vector<bool>& booleans, std::int64_t first_bit = -1)
      : count_(std::ssize(booleans)),
        first_bit_(first_bit),
        bytes_(first_bit < 0 ? count_ : (first_bit + count_ + 7) / 8, 1) {
    std::fill_n(bytes_.data(), bytes_.span().size(), first_bit < 0 ? 0 : 0xFF);  // bits outside are set
    for (std::int64_t i = 0; i < count_; ++i) set(i, booleans[static_cast<std::size_t>(i)]);
  }

  [[nodiscard]] Mask view() {
    return first_bit_ < 0 ? Mask::bytes(bytes_.data(), count_) : Mask::bits(bytes_.data(), count_, first_bit_);
  }

 private:
  void set(std::int64_t i, bool value) {
    if (first_bit_ < 0) {
      bytes_.data()[i] = static_cast<std::uint8_t>(value ? 1U << (i % 8) : 0U);
      return;
    }
    const std::int64_t bit = first_bit_ + i;
    const auto one = static_cast<std::uint8_t>(1U << (bit % 8));
    std::uint8_t& byte = bytes_.data()[bit / 8];
    byte = static_cast<std::uint8_t>(value ? byte | one : byte & ~one);
  }

  std::int64_t count_;
  std::int64_t first_bit_;
  Guarded<std::uint8_t> bytes_;
};

/// Elements of 16 bytes.
struct Wide {
  std::uint64_t low;
  std::uint64_t high;
};

/// Elements whose values follow their positions, distinct as far as their size allows.
template <class E>
E element(std::int64_t position) {
  const std::uint64_t bits = (static_cast<std::uint64_t>(position) + 1) * 0x9E3779B97F4A7C15U;
  if constexpr (sizeof(E) == 16) {
    return {bits, ~bits};
  } else {
    return static_cast<E>(bits >> (64 - 8 * sizeof(E)));
  }
}

/// A column of `n` elements, and an output of `capacity`, with guard bytes around both.
template <class E>
class GuardedColumn {
 public:
  GuardedColumn(std::int64_t n, std::int64_t capacity, std::int64_t misaligned)
      : content_(n, misaligned), out_(capacity, misaligned), n_(n), capacity_(capacity) {
    for (std::int64_t j = 0; j < n; ++j) content_.data()[j] = element<E>(j);
  }

  [[nodiscard]] SelectColumn view() { return {content_.data(), n_, out_.data(), capacity_}; }

  /// Returns the error in the output, from element `first` on, or an empty string.
  [[nodiscard]] std::string complaint(const std::vector<std::int64_t>& positions, std::int64_t first = 0) {
    if (!out_.intact()) return "something was written around the output";
    if (!content_.intact()) return "something was written around the content";
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const E expected = element<E>(positions[k]);
      // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): bits are moved, those of NaN too
      if (std::memcmp(out_.data() + first + static_cast<std::int64_t>(k), &expected, sizeof(E)) != 0) {
        return "element " + std::to_string(k) + " of " + std::to_string(positions.size()) + " is wrong";
      }
    }
    return "";
  }
  [[nodiscard]] bool intact() const { return out_.intact(); }

 private:
  Guarded<E> content_;
  Guarded<E> out_;
  std::int64_t n_;
  std::int64_t capacity_;
};

/// Runs a selection by lists with columns of two types: select(lists, mask, out_offsets, columns) is the call, or a
/// mutant of it. Returns the error in its result, or an empty string. T: type of the bounds. E: type of the elements.
template <class T, class E, class Select>
std::string complaint(const Selection& given, bool by_offsets, std::int64_t first_bit, std::int64_t misaligned,
                      const Select& select) {
  const impl::select::ExpectedSelection expected = given.expected();
  const auto kept = std::ssize(expected.positions);
  const std::int64_t n = given.lists();
  Guarded<T> starts(n + 1, misaligned);
  Guarded<T> stops(n, misaligned);
  for (std::int64_t i = 0; i < n; ++i) {
    starts.data()[i] = static_cast<T>(given.starts[static_cast<std::size_t>(i)]);
    stops.data()[i] = static_cast<T>(given.stops[static_cast<std::size_t>(i)]);
  }
  starts.data()[n] = n == 0 ? T{0} : stops.data()[n - 1];
  GivenMask mask(given.mask, first_bit);
  GivenMask valid(given.valid, first_bit);
  Lists lists = by_offsets ? Lists::by_offsets(starts.data(), n) : Lists::by_bounds(starts.data(), stops.data(), n);
  if (!given.valid.empty()) lists = lists.with_validity(valid.view());
  Guarded<std::int64_t> out_offsets(n + 1, misaligned);
  GuardedColumn<E> column(given.content(), kept, misaligned);
  GuardedColumn<std::uint16_t> other(given.content(), kept, misaligned);
  const SelectColumn columns[] = {column.view(), other.view()};
  const std::int64_t answer = select(lists, mask.view(), out_offsets.data(), std::span<const SelectColumn>(columns));
  if (answer != kept) return std::to_string(answer) + " instead of " + std::to_string(kept) + " kept";
  if (!out_offsets.intact()) return "something was written around the offsets";
  for (std::int64_t i = 0; i <= n; ++i) {
    const std::int64_t right = expected.offsets[static_cast<std::size_t>(i)];
    if (out_offsets.data()[i] != right) {
      return "offset " + std::to_string(i) + " is " + std::to_string(out_offsets.data()[i]) + ", not " +
             std::to_string(right);
    }
  }
  std::string wrong = column.complaint(expected.positions);
  return wrong.empty() ? other.complaint(expected.positions) : wrong;
}

}  // namespace upsweep::tests
