// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/mpi_lists.hpp: lists whose elements are on several ranks: their layout, and the merge of their folds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/detail/list_error.hpp"
#include "upsweep/detail/mpi_call.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep::mpi {
namespace detail {

/// The position of a rank's share and its lists among those of all ranks.
struct ListsShare {
  std::int64_t elements = 0;
  std::int64_t lists = 0;
  bool are_adjacent = true;  ///< by offsets: the next rank's first list begins where this rank's last list ends
  std::int64_t begin = 0;    ///< of the first list, if they are adjacent
  std::int64_t last = 0;     ///< the list that ends last, counted on this rank
  std::int64_t begin_of_last = 0;
  std::int64_t end = 0;   ///< of that list; 0 if there is none
  bool is_known = false;  ///< false: the rank has failed, and the positions of its lists are unknown
};

/// The shares of all ranks, seen from one rank.
class ListsLayout {
 public:
  ListsLayout(std::vector<ListsShare> shares, int rank) : shares_(std::move(shares)), rank_(rank) {
    for (int r = 0; r < rank; ++r) {
      first_element_ += share(r).elements;
      first_list_ += share(r).lists;
      if (share(r).end <= open_until_) continue;
      open_until_ = share(r).end;
      open_since_ = share(r).begin_of_last;
    }
  }

  [[nodiscard]] std::int64_t first_element() const { return first_element_; }
  [[nodiscard]] std::int64_t end_of_elements() const { return first_element_ + share(rank_).elements; }
  [[nodiscard]] std::int64_t first_list() const { return first_list_; }
  /// Whether the list that ends last continues on later ranks.
  [[nodiscard]] bool crosses() const { return share(rank_).end > end_of_elements(); }
  /// Returns the number of elements at the beginning of this share that belong to a list of an earlier rank.
  [[nodiscard]] std::int64_t head() const {
    return std::clamp<std::int64_t>(open_until_ - first_element_, 0, share(rank_).elements);
  }
  /// Returns the position in that list of the first of these elements.
  [[nodiscard]] std::int64_t position_of_head() const { return first_element_ - open_since_; }
  /// Returns the end of the ranks, starting with the next one, whose heads belong to this rank's list.
  [[nodiscard]] int end_of_heads() const {
    int r = rank_ + 1;
    for (std::int64_t begin = end_of_elements(); r < size() && begin < share(rank_).end; ++r) {
      begin += share(r).elements;
    }
    return r;
  }

  /// Throws if the list that ends last is invalid:
  /// - it continues past all elements;
  /// - or it overlaps a list of another rank that also continues on later ranks;
  /// - or lists are adjacent, and it does not end where the next list begins.
  void require_last_list() const {
    const ListsShare& mine = share(rank_);
    if (mine.lists == 0) return;
    std::int64_t border = end_of_elements();
    for (int r = rank_ + 1; r < size(); ++r) {
      const std::int64_t begin = border;
      border += share(r).elements;
      if (share(r).lists == 0) continue;
      if (mine.are_adjacent && share(r).are_adjacent) {
        if (share(r).begin == mine.end) return;
        refuse(Code::invalid_argument,
               ", but the next one, on rank " + std::to_string(r) + ", begins at " + std::to_string(share(r).begin));
      }
      // If its list does not begin there, that rank reports it.
      const bool overlap = crosses() && begin < mine.end && share(r).end > border && share(r).begin_of_last >= begin &&
                           share(r).begin_of_last < mine.end;
      if (!overlap) continue;
      refuse(Code::unsupported, ", past " + std::to_string(share(r).begin_of_last) + ", where a list of rank " +
                                    std::to_string(r) + " begins that also continues on later ranks");
    }
    if (mine.end <= border) return;
    refuse(Code::stop_past_end, ", past the " + std::to_string(border) + " elements of all ranks");
  }

 private:
  [[nodiscard]] int size() const { return static_cast<int>(shares_.size()); }
  [[nodiscard]] const ListsShare& share(int r) const { return shares_[static_cast<std::size_t>(r)]; }
  [[noreturn]] void refuse(Code code, const std::string& why) const {
    const std::int64_t list = first_list_ + share(rank_).last;
    throw Error(code, "list " + std::to_string(list) + " ends at " + std::to_string(share(rank_).end) + why, list);
  }

  std::vector<ListsShare> shares_;
  int rank_;
  std::int64_t first_element_ = 0;
  std::int64_t first_list_ = 0;
  std::int64_t open_until_ = 0;  // the maximum end of the lists of earlier ranks
  std::int64_t open_since_ = 0;
};

/// Calls f(starts, stops) with pointers to the lists' bound type.
template <class F>
auto with_bounds(const Lists& lists, F f) {
  const auto call = [&]<class T>(T) {
    return f(static_cast<const T*>(lists.starts), static_cast<const T*>(lists.stops));
  };
  if (lists.type == Type::int32) return call(std::int32_t{});
  if (lists.type == Type::uint32) return call(std::uint32_t{});
  if (lists.type != Type::int64) upsweep::detail::no_such_value();
  return call(std::int64_t{});
}

inline bool is_null(const Lists& lists, std::int64_t list) { return lists.valid.is_given() && !lists.valid[list]; }

inline ListsShare lists_share(const Lists& lists, std::int64_t n) {
  if (lists.has_size)
    throw Error(Code::unsupported, "lists that cross ranks are given by offsets, or by starts and stops");
  upsweep::detail::require_lists(lists, n);
  ListsShare share{.elements = n, .lists = lists.count, .are_adjacent = lists.are_adjacent()};
  if (lists.count == 0) return share;
  with_bounds(lists, [&](const auto* starts, const auto* stops) {
    const auto take = [&](std::int64_t list) {
      share.last = list;
      share.begin_of_last = static_cast<std::int64_t>(starts[list]);
      share.end = static_cast<std::int64_t>(stops[list]);
    };
    if (share.are_adjacent) {
      share.begin = static_cast<std::int64_t>(starts[0]);
      return take(lists.count - 1);
    }
    for (std::int64_t i = 0; i < lists.count; ++i) {
      if (!is_null(lists, i) && starts[i] != stops[i] && static_cast<std::int64_t>(stops[i]) > share.end) take(i);
    }
  });
  return share;
}

/// The lists of a rank as positions in its share. A list that crosses ranks is omitted or empty.
class LocalLists {
 public:
  /// Every list must begin in the share. All lists except the one that ends last must end there.
  LocalLists(const Lists& lists, const ListsShare& share, const ListsLayout& layout)
      : valid_(lists.valid), count_(lists.count), are_adjacent_(share.are_adjacent) {
    starts_.resize(static_cast<std::size_t>(count_) + 1);
    stops_.resize(static_cast<std::size_t>(are_adjacent_ ? 0 : count_));
    with_bounds(lists, [&](const auto* starts, const auto* stops) {
      for (std::int64_t i = 0; i < count_; ++i) {
        const auto start = static_cast<std::int64_t>(starts[i]);
        const auto stop = static_cast<std::int64_t>(stops[i]);
        if (!are_adjacent_ && (is_null(lists, i) || start == stop)) continue;
        require_list(layout, share, i, start, stop);
        if (i == share.last) layout.require_last_list();
        put(i, start - layout.first_element(), stop - layout.first_element());
      }
    });
    begin_of_last_ = share.lists == 0 ? 0 : starts_[static_cast<std::size_t>(share.last)];
    if (!layout.crosses()) return;
    if (are_adjacent_) {
      --count_;
    } else {
      put(share.last, 0, 0);
    }
  }

  [[nodiscard]] Lists lists() const {
    if (!are_adjacent_) return Lists::by_bounds(starts_.data(), stops_.data(), count_);
    Mask valid = valid_;
    if (valid.is_given()) valid.length = count_;
    return Lists::by_offsets(starts_.data(), count_).with_validity(valid);
  }
  [[nodiscard]] std::int64_t begin_of_last() const { return begin_of_last_; }

 private:
  void put(std::int64_t list, std::int64_t start, std::int64_t stop) {
    starts_[static_cast<std::size_t>(list)] = start;
    (are_adjacent_ ? starts_[static_cast<std::size_t>(list) + 1] : stops_[static_cast<std::size_t>(list)]) = stop;
  }

  static void require_list(const ListsLayout& layout, const ListsShare& share, std::int64_t i, std::int64_t start,
                           std::int64_t stop) {
    const std::int64_t list = layout.first_list() + i;
    const std::int64_t first = layout.first_element();
    const std::int64_t end = layout.end_of_elements();
    if (start < first || start > end) {
      throw Error(Code::index_out_of_range,
                  upsweep::detail::invalid_list(list, "start (" + std::to_string(start) +
                                                          ") is not in this rank's elements, [" +
                                                          std::to_string(first) + ", " + std::to_string(end) + ")"),
                  list);
    }
    if (stop < start) {
      throw Error(Code::stop_before_start,
                  upsweep::detail::invalid_list(Code::stop_before_start, list, start, stop, end), list);
    }
    if (stop > end && i != share.last && !share.are_adjacent) {
      throw Error(Code::unsupported,
                  "list " + std::to_string(list) + " continues on later ranks, as list " +
                      std::to_string(layout.first_list() + share.last) + " does: only one list of a rank may",
                  list);
    }
  }

  Mask valid_;
  std::int64_t count_;
  bool are_adjacent_;
  std::vector<std::int64_t> starts_;  // offsets of adjacent lists
  std::vector<std::int64_t> stops_;   // of other lists
  std::int64_t begin_of_last_ = 0;
};

// ---- Folds of lists, and the partial folds of a list that crosses ranks.

/// A fold by an operator.
template <class In, class Out, class Op>
struct ListFold {
  using Partial = ScanCarry<Out>;
  using Element = upsweep::detail::ElementType<In>;

  Op op;
  std::optional<Out> init;
  const Policy& policy;

  [[nodiscard]] Signature signature() const {
    Hash hash;
    hash << init.has_value();
    if (init) hash << *init;
    return detail::signature<Element, Out, Op>(Function::segmented_reduce, policy.overflow, hash.sum());
  }
  [[nodiscard]] Partial begin() const {
    if (init) return carry_of<Out>(*init);
    if constexpr (operator_of<Op, Out>() == Operator::add || operator_of<Op, Out>() == Operator::custom) {
      return empty_carry<Out>();  // the sum of an empty carry is 0
    } else {
      return carry_of(identity<Out>(operator_of<Op, Out>()));
    }
  }
  [[nodiscard]] static Partial nothing() { return empty_carry<Out>(); }

  /// Adds the elements from `begin` to before `end`.
  void add(const In* content, std::int64_t begin, std::int64_t end, const Mask& valid, std::int64_t /*position*/,
           std::int64_t /*n*/, Partial& partial) const {
    const Policy folds = policy.with_rung({});  // a requested rung is a rung of the lists' ladder
    if (!valid.is_given()) {
      reduce_into(folds, content + begin, end - begin, op, partial);
      return;
    }
    constexpr std::size_t kMost = std::size_t{1} << 16;
    std::vector<Element> kept;
    for (std::int64_t i = begin; i < end; ++i) {
      if (valid[i]) kept.push_back(content[i]);
      if (kept.size() == kMost || i + 1 == end) {
        reduce_into(folds, kept.data(), std::ssize(kept), op, partial);
        kept.clear();
      }
    }
  }
  void merge(Partial& left, const Partial& right) const { upsweep::detail::merge(op, left, right); }

  [[nodiscard]] Out value(const Partial& partial, std::int64_t list) const {
    if (std::is_integral_v<Out> && policy.overflow == Overflow::checked && partial.wraps != 0) {
      throw Error(Code::overflow,
                  "the sum of list " + std::to_string(list) + " does not fit " + std::string(name(type_of<Out>())) +
                      ": reduce into a wider type, or let it wrap",
                  list);
    }
    return upsweep::detail::value_of(partial);
  }
  std::string_view whole_lists(const Lists& lists, const In* content, std::int64_t n, Out* out,
                               const Mask& valid) const {
    if constexpr (operator_of<Op, Out>() != Operator::custom) {
      if (!init) return upsweep::segmented_reduce(policy, lists, content, n, out, op, valid).rung;
    }
    return upsweep::segmented_reduce(policy, lists, content, n, out, *init, op, valid).rung;
  }
};

/// A count, a boolean, or a position together with its element.
template <class Element>
struct NamedPartial {
  std::int64_t value;
  Element element;
  bool is_there;  ///< of positions
};

/// A fold by a named reducer.
template <class In, class Out, upsweep::detail::NamedReducer Op>
struct NamedFold {
  using Element = upsweep::detail::ElementType<In>;
  using Partial = NamedPartial<Element>;
  static constexpr Reducer kReducer = Op::kReducer;
  static constexpr bool kIsPosition = kReducer == Reducer::argmin || kReducer == Reducer::argmax;

  const Policy& policy;

  [[nodiscard]] static Signature signature() {
    return detail::signature<Element, upsweep::detail::ElementType<Out>, Op>();
  }
  [[nodiscard]] static Partial begin() { return nothing(); }
  [[nodiscard]] static Partial nothing() { return {kReducer == Reducer::all ? 1 : kIsPosition ? -1 : 0, {}, false}; }

  /// `position` is the position of the first element in its list. `n` is the length of `content`.
  void add(const In* content, std::int64_t begin, std::int64_t end, const Mask& valid, std::int64_t position,
           std::int64_t n, Partial& partial) const {
    const std::array<std::int64_t, 2> offsets{begin, end};
    Out out{};
    whole_lists(Lists::by_offsets(offsets.data(), 1), content, n, &out, valid);
    if constexpr (!kIsPosition) {
      merge(partial, {static_cast<std::int64_t>(out), {}, true});
    } else if (out >= 0) {
      merge(partial, {position + out, content[begin + out], true});
    }
  }
  static void merge(Partial& left, const Partial& right) {
    if constexpr (kIsPosition) {
      if (right.is_there && (!left.is_there || comes_first(right.element, left.element))) left = right;
    } else if constexpr (kReducer == Reducer::any) {
      left.value |= right.value;
    } else if constexpr (kReducer == Reducer::all) {
      left.value &= right.value;
    } else {
      static_assert(kReducer == Reducer::count || kReducer == Reducer::count_nonzero,
                    "a new reducer needs its merge here");
      left.value += right.value;
    }
  }
  [[nodiscard]] static Out value(const Partial& partial, std::int64_t /*list*/) {
    return static_cast<Out>(partial.value);
  }
  std::string_view whole_lists(const Lists& lists, const In* content, std::int64_t n, Out* out,
                               const Mask& valid) const {
    return upsweep::segmented_reduce(policy, lists, content, n, out, Op{}, valid).rung;
  }

 private:
  /// Whether a later element replaces the earlier one. The first NaN is never replaced.
  static bool comes_first(Element later, Element earlier) {
    if constexpr (std::is_floating_point_v<Element>) {
      if (std::isnan(earlier) || std::isnan(later)) return !std::isnan(earlier);
    }
    return kReducer == Reducer::argmin ? later < earlier : earlier < later;
  }
};

template <class Fold, class In, class Out>
ListsResult reduce_lists(MPI_Comm comm, const Fold& fold, const Lists& lists, const In* content, std::int64_t n,
                         Out* out, const Mask& valid) {
  Call call(comm, fold.signature());
  ListsShare share;
  call.run(0, [&] {
    upsweep::detail::require_array(content, n, "content");
    upsweep::detail::require_mask(valid, n, "mask");
    share = lists_share(lists, n);
    upsweep::detail::require_array(out, lists.count, "output");
    share.is_known = true;
  });
  std::vector<ListsShare> shares = call.gather(share);
  // If a share is not known, earlier ranks would report its consequences first.
  if (!std::all_of(shares.begin(), shares.end(), [](const ListsShare& of) { return of.is_known; })) call.settle();
  const ListsLayout layout(std::move(shares), call.rank());

  ListsResult result{share.lists, {}};
  auto head = fold.nothing();
  auto last = fold.begin();
  std::optional<LocalLists> local;
  call.run(0, [&] {
    local.emplace(lists, share, layout);
    fold.add(content, 0, layout.head(), valid, layout.position_of_head(), n, head);
    if (layout.crosses()) fold.add(content, local->begin_of_last(), n, valid, 0, n, last);
  });
  call.run(layout.first_list(), [&] { result.rung = fold.whole_lists(local->lists(), content, n, out, valid); });
  const auto heads = call.gather(head);
  call.run(layout.first_list(), [&] {
    if (!layout.crosses()) return;
    for (int r = call.rank() + 1; r < layout.end_of_heads(); ++r) {
      fold.merge(last, heads[static_cast<std::size_t>(r)]);
    }
    out[share.last] = fold.value(is_null(lists, share.last) ? fold.begin() : last, share.last);
  });
  call.settle();
  return result;
}

}  // namespace detail
}  // namespace upsweep::mpi
