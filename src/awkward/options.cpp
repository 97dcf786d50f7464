// SPDX-License-Identifier: Apache-2.0
// awkward/options.cpp: Awkward Array's kernels for elements that may be missing: find and number the valid ones.
#include <algorithm>
#include <array>
#include <type_traits>

#include "awkward/kept.hpp"
#include "awkward/ranges.hpp"
#include "cpu/index_kernels.hpp"

namespace upsweep::awkward {
namespace {

/// Elements that are valid by a mask of bytes. The carried value of an element is its position.
struct ByMask {
  const std::int8_t* mask;
  bool valid_when;

  [[nodiscard]] bool is_there(std::int64_t i) const { return (mask[i] != 0) == valid_when; }
  [[nodiscard]] std::int64_t carried(std::int64_t i) const { return i; }
  [[nodiscard]] const void* array() const { return mask; }
};

/// Elements that are valid by an index that is not negative. The carried value of an element is its index.
template <class T>
struct ByIndex {
  const T* index;

  [[nodiscard]] bool is_there(std::int64_t i) const { return std::is_unsigned_v<T> || index[i] >= T{0}; }
  [[nodiscard]] std::int64_t carried(std::int64_t i) const { return static_cast<std::int64_t>(index[i]); }
  [[nodiscard]] const void* array() const { return index; }
};

/// Returns the number, or -1 for a missing element. It uses no conditional, which would compile to a branch.
std::int64_t or_missing(std::int64_t number, bool is_there) { return number | (std::int64_t{is_there} - 1); }

template <class Option>
auto count_there(Option option) {
  return [=](std::int64_t first, std::int64_t last) {
    return count_if(first, last, [=](std::int64_t i) { return option.is_there(i); });
  };
}

/// tocarry ← the valid elements of n. Calls number_is(i, number) for each element; the number of a missing one is
/// negative.
template <class Option, class NumberIs>
void carry(std::int64_t* tocarry, Option option, std::int64_t n, NumberIs number_is) {
  write_in_order(n, count_there(option), [=](std::int64_t first, std::int64_t last, Destination place) {
    std::int64_t number = place.at;
    for (std::int64_t i = first; i < last; ++i) {
      const bool is_there = option.is_there(i);
      if (is_written(number, is_there, place)) tocarry[number] = option.carried(i);
      number_is(i, or_missing(number, is_there));
      number += is_there ? 1 : 0;
    }
    return number;
  });
}

KernelError masked_carry(std::int64_t* tocarry, ByMask option, std::int64_t n) {
  const auto& kernels = cpu::index_kernels(Isa::best);
  const auto range = [=](std::int64_t first, std::int64_t last) {
    return cpu::MaskRange{option.mask, option.valid_when, first, last};
  };
  const auto call = [&] {
    write_in_order(
        count_of(n), [&](std::int64_t first, std::int64_t last) { return kernels.count(range(first, last)); },
        [&](std::int64_t first, std::int64_t last, Destination place) {
          return kernels.positions(range(first, last), tocarry, place.at, place.end);
        });
  };
  return run_on(n, call, option.mask);
}

KernelError masked_carry_and_numbers(std::int64_t* tocarry, std::int64_t* tonumbers, ByMask option, std::int64_t n) {
  const auto call = [&] {
    carry(tocarry, option, count_of(n), [=](std::int64_t i, std::int64_t number) { tonumbers[i] = number; });
  };
  return run_on(n, call, option.mask, tonumbers);
}

/// Returns the first of n indices that is past the end of the content or, if none may be missing, negative.
template <class T>
std::int64_t first_out_of_range(const T* index, std::int64_t n, std::int64_t content, bool may_be_missing) {
  return first_bad_of_ranges(n, [=](std::int64_t first, std::int64_t last) {
    const auto is_bad = [=](std::int64_t i) {
      return static_cast<std::int64_t>(index[i]) >= content ||
             (!may_be_missing && static_cast<std::int64_t>(index[i]) < 0);
    };
    bool found = false;
    for (std::int64_t i = first; i < last; ++i) found |= is_bad(i);
    if (!found) return kNoIndex;
    while (!is_bad(first)) ++first;
    return first;
  });
}

/// Calls work() if all indices are within the content.
template <class T, class Work>
KernelError with_indices(const T* index, std::int64_t n, std::int64_t content, bool may_be_missing, Work work) {
  if (any_null(n, index)) return null_array();
  std::int64_t bad = kNoIndex;
  const KernelError error = run(
      [&] {
        bad = first_out_of_range(index, n, content, may_be_missing);
        if (bad == kNoIndex) work();
      },
      as_refused);
  return bad == kNoIndex ? error : failure("index out of range", bad, static_cast<std::int64_t>(index[bad]));
}

template <class T>
KernelError indexed_carry(std::int64_t* tocarry, const T* index, std::int64_t length, std::int64_t content) {
  const std::int64_t n = count_of(length);
  return with_indices(index, n, content, false, [=] {
    for_ranges(n, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) tocarry[i] = static_cast<std::int64_t>(index[i]);
    });
  });
}

template <class T>
KernelError indexed_carry_and_numbers(std::int64_t* tocarry, T* tonumbers, const T* index, std::int64_t length,
                                      std::int64_t content) {
  const std::int64_t n = count_of(length);
  return with_indices(index, n, content, true, [=] {
    carry(tocarry, ByIndex<T>{index}, n,
          [=](std::int64_t i, std::int64_t number) { tonumbers[i] = static_cast<T>(number); });
  });
}

/// Carries the valid elements of lists, with new offsets of the lists.
template <class Option>
KernelError carry_of_lists(std::int64_t* tocarry, std::int64_t* tooffsets, std::int64_t* tonumbers, Option option,
                           const std::int64_t* offsets, std::int64_t length) {
  const std::int64_t n = count_of(length);
  if (tooffsets == nullptr || any_null(n, offsets)) return null_array();
  if (n > 0 && offsets[n] > offsets[0] && option.array() == nullptr) return null_array();
  tooffsets[0] = 0;
  std::int64_t bad = kNoIndex;
  const auto call = [&] {
    bad = first_decrease(offsets, n);
    if (bad != kNoIndex) return;
    const auto is_there = [=](std::int64_t j) { return option.is_there(j); };
    write_in_order(
        n, [=](std::int64_t first, std::int64_t last) { return count_if(offsets[first], offsets[last], is_there); },
        [=](std::int64_t first, std::int64_t last, Destination place) {
          return walk_lists(
              offsets, first, last, place.at, is_there,
              [=](std::int64_t j, std::int64_t number, bool is_kept) {
                if (is_written(number, is_kept, place)) tocarry[number] = option.carried(j);
                tonumbers[j] = or_missing(number, is_kept);
              },
              [=](std::int64_t i, std::int64_t number) { tooffsets[i + 1] = number; });
        });
  };
  const KernelError error = run(call, as_refused);
  return bad == kNoIndex ? error : failure("offsets must be monotonically increasing", bad);
}

KernelError mask_to_index(std::int64_t* toindex, ByMask option, std::int64_t n) {
  const auto call = [&] {
    for_ranges(count_of(n), [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) toindex[i] = or_missing(i, option.is_there(i));
    });
  };
  return run_on(n, call, toindex, option.mask);
}

/// Arrays of equal lengths with indices, of which negative ones mark missing elements.
template <std::size_t kArrays>
struct Together {
  std::array<const std::int64_t*, kArrays> indices;
  std::array<std::int64_t*, kArrays> tocarries;
  std::int64_t* topositions;  ///< null: not wanted
  std::int64_t* toindex;

  /// Returns 1 if the element is valid in all arrays, otherwise 0.
  [[nodiscard]] std::int64_t is_valid(std::int64_t i) const {
    std::int64_t signs = 0;
    for (const std::int64_t* const index : indices) signs |= index[i];
    return static_cast<std::int64_t>(~static_cast<std::uint64_t>(signs) >> 63U);
  }
  [[nodiscard]] std::int64_t count(std::int64_t first, std::int64_t last) const {
    std::int64_t count = 0;
    for (std::int64_t i = first; i < last; ++i) count += is_valid(i);
    return count;
  }
  /// Numbers the valid elements, of which `end` - `number` follow, and writes their indices.
  void write(std::int64_t first, std::int64_t last, std::int64_t number, std::int64_t end) const {
    const Together own = *this;
    std::int64_t i = first;
    for (; number < end; ++i) {
      const std::int64_t valid = own.is_valid(i);
      own.toindex[i] = or_missing(number, valid != 0);
      for (std::size_t array = 0; array < kArrays; ++array) own.tocarries[array][number] = own.indices[array][i];
      if (own.topositions != nullptr) own.topositions[number] = i;
      number += valid;
    }
    std::fill(own.toindex + i, own.toindex + last, -1);
  }
};

/// indices[0] and tocarries[0] are those of arrays without missing elements; null if there are none.
template <std::size_t kArrays>
void valid_together(std::int64_t* numvalid, std::int64_t* toindex, std::int64_t* const* tocarries,
                    const std::int64_t* const* indices, std::int64_t length) {
  Together<kArrays> together{.indices = {}, .tocarries = {}, .topositions = tocarries[0], .toindex = toindex};
  std::copy_n(indices + 1, kArrays, together.indices.begin());
  std::copy_n(tocarries + 1, kArrays, together.tocarries.begin());
  *numvalid = write_in_order(
      length, [=](std::int64_t first, std::int64_t last) { return together.count(first, last); },
      [=](std::int64_t first, std::int64_t last, Destination place) {
        const std::int64_t end = place.end > 0 ? place.end : place.at + together.count(first, last);
        together.write(first, last, place.at, end);
        return end;
      });
}

KernelError valid_together(std::int64_t* numvalid, std::int64_t* toindex, std::int64_t* const* tocarries,
                           const std::int64_t* const* indices, std::int64_t arrays, std::int64_t length) {
  if (numvalid == nullptr || toindex == nullptr || tocarries == nullptr || indices == nullptr) return null_array();
  if (arrays < 1 || arrays > 4 || length < 0) return null_array();
  const auto call = [&] {
    switch (arrays) {
      case 1:
        return valid_together<1>(numvalid, toindex, tocarries, indices, length);
      case 2:
        return valid_together<2>(numvalid, toindex, tocarries, indices, length);
      case 3:
        return valid_together<3>(numvalid, toindex, tocarries, indices, length);
      default:
        return valid_together<4>(numvalid, toindex, tocarries, indices, length);
    }
  };
  return run(call, as_refused);
}

/// toindex ← inner at the places of outer. Elements that are missing in outer stay missing.
template <class Outer, class Inner>
KernelError index_of_index(std::int64_t* toindex, const Outer* outer, std::int64_t length, const Inner* inner,
                           std::int64_t content) {
  const std::int64_t n = count_of(length);
  if (any_null(n, toindex, outer) || any_null(content, inner)) return null_array();
  std::int64_t bad = kNoIndex;
  const auto call = [&] {
    bad = first_bad_of_ranges(n, [=](std::int64_t first, std::int64_t last) {
      // The sign of a difference tells of a bad place, or of one that is far below 0. Differences need no comparison of
      // 64 bits, which SSE2 lacks.
      std::int64_t signs = 0;
      for (std::int64_t i = first; i < last; ++i) signs |= content - 1 - static_cast<std::int64_t>(outer[i]);
      std::int64_t end = last;
      if (signs < 0) {  // what follows the first bad place is not written
        for (end = first; end < last && static_cast<std::int64_t>(outer[end]) < content;) ++end;
      }
      if (content <= 0) std::fill(toindex + first, toindex + end, -1);
      for (std::int64_t i = content > 0 ? first : end; i < end; ++i) {
        const auto place = static_cast<std::int64_t>(outer[i]);
        const bool is_there = place >= 0;
        // Reads an element in any case: a conditional would compile to a branch.
        const auto value = static_cast<std::int64_t>(inner[place & -std::int64_t{is_there}]);
        toindex[i] = or_missing(value, is_there);
      }
      return end < last ? end : kNoIndex;
    });
  };
  const KernelError error = run(call, as_refused);
  return bad == kNoIndex ? error : failure("index out of range", bad, static_cast<std::int64_t>(outer[bad]));
}

/// toindex ← the index of another array plus `base`, from toindex[first_place] on; -1 for a missing element.
template <class T>
KernelError append_index(std::int64_t* toindex, std::int64_t first_place, const T* index, std::int64_t length,
                         std::int64_t base) {
  const auto call = [&] {
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const ByIndex<T> option{index};
        toindex[first_place + i] = or_missing(option.carried(i) + base, option.is_there(i));
      }
    });
  };
  return run_on(length, call, toindex, index);
}

KernelError append_positions(std::int64_t* toindex, std::int64_t first_place, std::int64_t length, std::int64_t base) {
  const auto call = [&] {
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) toindex[first_place + i] = i + base;
    });
  };
  return run_on(length, call, toindex);
}

/// toindex ← the index; -1 where the mask is not 0.
template <class T>
KernelError mask_index(std::int64_t* toindex, const std::int8_t* mask, const T* index, std::int64_t length) {
  const auto call = [&] {
    for_ranges(length, [=](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        toindex[i] = or_missing(static_cast<std::int64_t>(index[i]), mask[i] == 0);
      }
    });
  };
  return run_on(length, call, toindex, mask, index);
}

template <class T>
KernelError count_missing(std::int64_t* numnull, const T* index, std::int64_t length) {
  if (numnull == nullptr) return null_array();
  const std::int64_t n = count_of(length);
  return run_on(length, [&] { *numnull = n - sum_of_ranges(n, count_there(ByIndex<T>{index})); }, index);
}

/// Processes offsets in any order, one after the other, as Awkward's kernel does. The elements between two offsets are
/// counted if the second offset is larger.
template <class T>
void drop_missing_in_any_order(T* tooffsets, const T* index, const T* offsets, std::int64_t length) {
  T missing = 0;
  T before = 0;
  for (std::int64_t i = 0; i < length; ++i) {
    for (T j = before; j < offsets[i]; ++j) missing = static_cast<T>(missing + (index[j] < T{0} ? 1 : 0));
    tooffsets[i] = static_cast<T>(offsets[i] - missing);
    before = offsets[i];
  }
}

/// Subtracts from each offset the number of missing elements before it.
template <class T>
KernelError drop_missing(T* tooffsets, const T* index, const T* offsets, std::int64_t length, std::int64_t elements) {
  if (length <= 0) return success();
  if (any_null(length, tooffsets, offsets)) return null_array();
  const std::int64_t n = length - 1;
  if (offsets[n] > elements) return failure("offsets[i] > len(content)", n);
  if (offsets[0] < 0) return failure("offsets[i] < 0", 0);
  const auto call = [&] {
    if (first_decrease(offsets, n) != kNoIndex) {
      drop_missing_in_any_order(tooffsets, index, offsets, length);
      return;
    }
    const auto is_missing = [=](std::int64_t j) { return index[j] < T{0}; };
    const std::int64_t before = count_if(0, offsets[0], is_missing);
    tooffsets[0] = static_cast<T>(offsets[0] - before);
    write_in_order(
        n, [=](std::int64_t first, std::int64_t last) { return count_if(offsets[first], offsets[last], is_missing); },
        [=](std::int64_t first, std::int64_t last, Destination place) {
          return walk_lists(
              offsets, first, last, place.at, is_missing, [](std::int64_t, std::int64_t, bool) {},
              [=](std::int64_t i, std::int64_t number) {
                tooffsets[i + 1] = static_cast<T>(offsets[i + 1] - before - number);
              });
        });
  };
  return run(call, as_refused);
}

}  // namespace
}  // namespace upsweep::awkward

using upsweep::awkward::KernelError;

// NOLINTBEGIN(bugprone-macro-parentheses): their arguments are types.
#define UPSWEEP_KERNELS(NAME, T)                                                                                       \
  KernelError awkward_IndexedArray##NAME##_getitem_nextcarry_64(int64_t* tocarry, const T* fromindex,                  \
                                                                int64_t lenindex, int64_t lencontent) {                \
    return upsweep::awkward::indexed_carry(tocarry, fromindex, lenindex, lencontent);                                  \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_getitem_nextcarry_outindex_64(                                              \
      int64_t* tocarry, T* toindex, const T* fromindex, int64_t lenindex, int64_t lencontent) {                        \
    return upsweep::awkward::indexed_carry_and_numbers(tocarry, toindex, fromindex, lenindex, lencontent);             \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_reduce_next_64(int64_t* nextcarry, int64_t* nextoffsets, int64_t* outindex, \
                                                          const T* index, const int64_t* offsets, int64_t outlength) { \
    return upsweep::awkward::carry_of_lists(nextcarry, nextoffsets, outindex, upsweep::awkward::ByIndex<T>{index},     \
                                            offsets, outlength);                                                       \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_numnull(int64_t* numnull, const T* fromindex, int64_t lenindex) {           \
    return upsweep::awkward::count_missing(numnull, fromindex, lenindex);                                              \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_simplify32_to64(int64_t* toindex, const T* outerindex, int64_t outerlength, \
                                                           const int32_t* innerindex, int64_t innerlength) {           \
    return upsweep::awkward::index_of_index(toindex, outerindex, outerlength, innerindex, innerlength);                \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_simplifyU32_to64(                                                           \
      int64_t* toindex, const T* outerindex, int64_t outerlength, const uint32_t* innerindex, int64_t innerlength) {   \
    return upsweep::awkward::index_of_index(toindex, outerindex, outerlength, innerindex, innerlength);                \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_simplify64_to64(int64_t* toindex, const T* outerindex, int64_t outerlength, \
                                                           const int64_t* innerindex, int64_t innerlength) {           \
    return upsweep::awkward::index_of_index(toindex, outerindex, outerlength, innerindex, innerlength);                \
  }                                                                                                                    \
  KernelError awkward_IndexedArray_fill_to64_from##NAME(int64_t* toindex, int64_t toindexoffset, const T* fromindex,   \
                                                        int64_t length, int64_t base) {                                \
    return upsweep::awkward::append_index(toindex, toindexoffset, fromindex, length, base);                            \
  }                                                                                                                    \
  KernelError awkward_IndexedArray##NAME##_overlay_mask8_to64(int64_t* toindex, const int8_t* mask,                    \
                                                              const T* fromindex, int64_t length) {                    \
    return upsweep::awkward::mask_index(toindex, mask, fromindex, length);                                             \
  }
UPSWEEP_AWKWARD_BOUNDS(UPSWEEP_KERNELS)
#undef UPSWEEP_KERNELS
// NOLINTEND(bugprone-macro-parentheses)

KernelError awkward_upsweep_valid_together_64(int64_t* numvalid, int64_t* toindex, int64_t* const* tocarries,
                                              const int64_t* const* indices, int64_t arrays, int64_t length) {
  return upsweep::awkward::valid_together(numvalid, toindex, tocarries, indices, arrays, length);
}
KernelError awkward_IndexedArray_fill_to64_count(int64_t* toindex, int64_t toindexoffset, int64_t length,
                                                 int64_t base) {
  return upsweep::awkward::append_positions(toindex, toindexoffset, length, base);
}
KernelError awkward_ByteMaskedArray_getitem_nextcarry_64(int64_t* tocarry, const int8_t* mask, int64_t length,
                                                         bool validwhen) {
  return upsweep::awkward::masked_carry(tocarry, {mask, validwhen}, length);
}
KernelError awkward_ByteMaskedArray_getitem_nextcarry_outindex_64(int64_t* tocarry, int64_t* outindex,
                                                                  const int8_t* mask, int64_t length, bool validwhen) {
  return upsweep::awkward::masked_carry_and_numbers(tocarry, outindex, {mask, validwhen}, length);
}
KernelError awkward_ByteMaskedArray_reduce_next_64(int64_t* nextcarry, int64_t* nextoffsets, int64_t* outindex,
                                                   const int8_t* mask, const int64_t* offsets, int64_t outlength,
                                                   bool validwhen) {
  return upsweep::awkward::carry_of_lists(nextcarry, nextoffsets, outindex, upsweep::awkward::ByMask{mask, validwhen},
                                          offsets, outlength);
}
KernelError awkward_ByteMaskedArray_toIndexedOptionArray64(int64_t* toindex, const int8_t* mask, int64_t length,
                                                           bool validwhen) {
  return upsweep::awkward::mask_to_index(toindex, {mask, validwhen}, length);
}
KernelError awkward_ListOffsetArray_drop_none_indexes_32(int32_t* tooffsets, const int32_t* noneindexes,
                                                         const int32_t* fromoffsets, int64_t length_offsets,
                                                         int64_t length_indexes) {
  return upsweep::awkward::drop_missing(tooffsets, noneindexes, fromoffsets, length_offsets, length_indexes);
}
KernelError awkward_ListOffsetArray_drop_none_indexes_64(int64_t* tooffsets, const int64_t* noneindexes,
                                                         const int64_t* fromoffsets, int64_t length_offsets,
                                                         int64_t length_indexes) {
  return upsweep::awkward::drop_missing(tooffsets, noneindexes, fromoffsets, length_offsets, length_indexes);
}
