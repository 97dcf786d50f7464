// SPDX-License-Identifier: Apache-2.0
// upsweep/mpi.hpp: the library's calls over the ranks of an MPI communicator, each on its own share of the arrays.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   upsweep::mpi::inclusive_scan(MPI_COMM_WORLD, upsweep::par, mine, n, running);  // goes on where rank - 1 ends
//
// Header-only, over MPI's C API: link upsweep::mpi, which brings it (find_package(upsweep COMPONENTS mpi)).
//
// Shares    the arrays are those of all ranks, one after the other in the order of the ranks. A share may have any length, also
//           0, another one on every rank, and beyond 2^31. What is said of indices and positions below counts over all ranks.
// Calls     every rank of the communicator makes the same call: of the same function, types, operator, initial value and
//           overflow. Policies may differ else, in threads, rungs, and whether a rank is on a GPU. An operator of one's own is
//           taken to be the same on all, and need not commute.
// Travels   the carry of each rank (8 to 264 bytes), gathered by all and merged in the order of the ranks; no elements, but
//           the items of find_subset(). A call takes two all-reductions of up to 64 bytes and one or two all-gathers, and is
//           over on no rank before all have begun it. Only collectives are used, so that no message of the caller's is met.
// Floats    a share is folded as reduce.hpp does, sums and products with what rounding lost, and these folds are merged rank by
//           rank: the same bits for the same shares, whatever MPI, threads and alignment. Other shares: other bits.
// Errors    an error on any rank is thrown on every one: the same code, index and message, which names the rank. Of several
//           that of the lowest rank, and so the first bad element. Besides the library's: invalid_argument where the
//           ranks' calls or builds differ (found out before any work), and communication, where MPI reports an error and the
//           communicator's handler returns (MPI_ERRORS_RETURN): that one may be another on each rank. After an error outputs
//           are unspecified.
// Threads   of the ranks of one host share its cores: bind them (mpiexec --map-by), or say with_threads(). MPI is called by
//           the calling thread alone (MPI_THREAD_FUNNELED); calls at the same time need communicators of their own.
// GPUs      with a gpu::Policy and device memory as gpu.hpp has it: scans, reduce, offsets, filtered_sum, for compiled
//           operators. Carries come to the host, for which the stream is waited for.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "upsweep/detail/mpi_call.hpp"
#include "upsweep/detail/mpi_lists.hpp"
#include "upsweep/detail/mpi_subset_sum.hpp"
#include "upsweep/filtered_sum.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/lists.hpp"
#include "upsweep/offsets.hpp"
#include "upsweep/reduce.hpp"
#include "upsweep/scan.hpp"
#include "upsweep/segmented_reduce.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::mpi {
namespace detail {

template <class Policy, class In, class Out, class Op>
concept CanFold =
    !std::is_const_v<Out> && (std::same_as<Policy, upsweep::Policy> ||
                              (std::same_as<Policy, gpu::Policy> && upsweep::detail::RunsCompiled<In, Out, Op>));

/// carry ← carry ⊕ the elements. Returns the rung.
template <class In, class Out, class Op>
std::string_view fold_share(const Policy& policy, const In* in, std::int64_t n, const Op& op, ScanCarry<Out>& carry) {
  return reduce_into(policy, in, n, op, carry);
}
template <class In, class Out, class Op>
std::string_view fold_share(const gpu::Policy& policy, const In* in, std::int64_t n, const Op& op,
                            ScanCarry<Out>& carry) {
  const Out before = carry.any ? carry.total : identity<Out>(operator_of<Op, Out>());
  const auto all = upsweep::reduce(policy, in, n, before, op);
  if (n > 0) carry = carry_of(all.value);
  return all.rung;
}

/// The scan of a share that `before` precedes.
template <class In, class Out, class Op>
ScanResult scan_share(const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      ScanCarry<Out> before) {
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, before);
}
template <class In, class Out, class Op>
ScanResult scan_share(const gpu::Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      const ScanCarry<Out>& before) {
  // There a scan begins with a value: what rounding took from it is put back in before.
  const auto begin = before.any ? carry_of(upsweep::detail::value_of(before)) : before;
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, begin);
}

template <class Carry>
struct Share {
  Carry carry;
  std::int64_t n;
};

/// Two passes over a share, as its scan cannot begin before all shares to its left are folded; one where there are none.
template <class Policy, class In, class Out, class Op>
ScanResult scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op,
                bool exclusive, ScanCarry<Out> before) {
  const Hash init = Hash() << before.any << before.total;
  const Function function = exclusive ? Function::exclusive_scan : Function::inclusive_scan;
  Call call(comm, signature<In, Out, Op>(function, policy.overflow, init.sum()));
  call.run(0, [&] {
    upsweep::detail::require_array(in, n, "input");
    upsweep::detail::require_array(out, n, "output");
  });
  Share<ScanCarry<Out>> mine{empty_carry<Out>(), std::max<std::int64_t>(n, 0)};
  const bool is_last = call.rank() + 1 == call.size();
  // By what reduce() chooses: a rung that is asked for is one of scan's ladder.
  if (!is_last) call.run(0, [&] { fold_share(policy.with_rung({}), in, n, op, mine.carry); });
  const auto shares = call.gather(mine);
  std::int64_t first = 0;
  for (int r = 0; r < call.rank(); ++r) {
    const auto& share = shares[static_cast<std::size_t>(r)];
    upsweep::detail::merge(op, before, share.carry);
    first += share.n;
  }
  ScanResult result{};
  call.run(first, [&] { result = scan_share(policy, in, n, out, op, exclusive, before); });
  call.settle();
  return result;
}

}  // namespace detail

/// out[i] = x0 ⊕ … ⊕ xi, of the elements of all ranks up to that one; n of them here.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, false, empty_carry<Out>());
}

/// Starts with `init`, before the elements of rank 0.
template <class Policy, class In, class Out, class Op>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op) {
  return detail::scan(comm, policy, in, n, out, op, false, carry_of<Out>(init));
}

/// out[i] = init ⊕ x0 ⊕ … ⊕ xi-1.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult exclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, true, carry_of<Out>(init));
}

/// init ⊕ x0 ⊕ … of all ranks, on every rank. Overflow::checked: the exact sum of all, kept in 128 bits, must fit.
template <class Policy, class In, class T, class Op = Add>
  requires detail::CanFold<Policy, In, T, Op>
Reduction<T> reduce(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, T init, Op op = {}) {
  using detail::Function;
  detail::Call call(comm,
                    detail::signature<In, T, Op>(Function::reduce, policy.overflow, (detail::Hash() << init).sum()));
  auto mine = call.rank() == 0 ? carry_of(init) : empty_carry<T>();
  std::string_view rung;
  call.run(0, [&] { rung = detail::fold_share(policy, in, n, op, mine); });
  const auto carries = call.gather(mine);
  call.settle();
  auto all = empty_carry<T>();
  for (const auto& carry : carries) upsweep::detail::merge(op, all, carry);
  if (std::is_integral_v<T> && policy.overflow == Overflow::checked && all.wraps != 0)
    upsweep::detail::throw_sum_overflow(type_of<T>());
  return {upsweep::detail::value_of(all), rung};
}

/// @cond
// Calls that are refused, with the reason.
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto inclusive_scan(MPI_Comm /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto exclusive_scan(MPI_Comm /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto reduce(MPI_Comm /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
template <class P, class... Rest>
  requires upsweep::detail::OperatorFirst<P, Rest...>
auto segmented_reduce(MPI_Comm /*comm*/, const P& /*policy*/, Rest&&... /*rest*/) {
  return upsweep::detail::refuse_order<P, Rest...>();
}
/// @endcond

// ---- Offsets of lists.

namespace detail {

/// What a rank's lists come to on their own.
struct OffsetsShare {
  std::int64_t total = 0;
  std::int64_t lists = 0;
  bool is_bad = false;
};

/// What the lists of the ranks before one come to; nothing where one of theirs is bad or their total leaves int64, which is
/// for the first such rank to find.
inline std::optional<OffsetsCarry> lists_before(const std::vector<OffsetsShare>& shares, int rank) {
  OffsetsCarry before;
  for (int r = 0; r < rank; ++r) {
    const OffsetsShare& share = shares[static_cast<std::size_t>(r)];
    if (share.is_bad || __builtin_add_overflow(before.total, share.total, &before.total)) return std::nullopt;
    before.lists += share.lists;
  }
  return before;
}

}  // namespace detail

/// The offsets of the lists of all ranks, packed one after the other; of those of n lists here, n + 1. The result has the total
/// of all ranks. An error's index is the first bad list of all.
template <class Policy, ListBound T>
OffsetsResult offsets(MPI_Comm comm, const Policy& policy, const T* starts, const T* stops, std::int64_t n,
                      std::int64_t* offsets, bool strict = false) {
  using detail::Function;
  detail::Call call(comm, detail::signature(Function::offsets, type_of<T>(), strict ? 1 : 0));
  OffsetsResult result{};
  detail::OffsetsShare mine{.lists = std::max<std::int64_t>(n, 0)};
  call.run(0, [&] {
    OffsetsCarry alone;
    try {
      result = upsweep::offsets(policy, starts, stops, n, offsets, strict, alone);
    } catch (const Error& error) {
      if (error.index() == kNoIndex) throw;
      mine.is_bad = true;  // which list is the first one depends on the offset that they begin with
    }
    mine.total = alone.total;
  });
  const auto shares = call.gather(mine);
  // The lists once more, now that it is known what precedes them.
  call.run(0, [&] {
    auto before = detail::lists_before(shares, call.rank());
    if (!before || (before->total == 0 && !mine.is_bad)) return;
    result = upsweep::offsets(policy, starts, stops, n, offsets, strict, *before);
  });
  call.settle();
  result.total = 0;
  for (const auto& share : shares) result.total += share.total;
  return result;
}

/// out[i] = init ⊕ the elements of list i. A list is its rank's on which it begins, and may end on another one. `lists` are those
/// that begin here, their bounds counted over all ranks; `out` has an element for each of them. Given by offsets, one rank's last
/// list ends where the next rank's first one begins. Given by starts and stops, they may lie in any order, overlap and have gaps,
/// but one list of a rank goes on on later ones, and none of these lists overlaps another of them. `valid`: false where an
/// element of this rank's is null. A list that goes on past its rank is folded as reduce() does.
template <class In, class Out, class Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, init, policy}, lists, content, n, out, valid);
}

/// The same without an initial value.
template <class In, class Out, class Op = Add>
  requires(!upsweep::detail::NamedReducer<Op>)
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op op = {}, const Mask& valid = {}) {
  static_assert(operator_of<Op, Out>() != Operator::custom,
                "an operator of your own needs an init: what an empty list gives");
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, std::nullopt, policy}, lists, content, n, out,
                              valid);
}

/// any, all, count, count_nonzero, argmin or argmax of every list.
template <class In, class Out, upsweep::detail::NamedReducer Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::NamedFold<In, Out, Op>{policy}, lists, content, n, out, valid);
}

// ---- Sums of products.

/// Σ quantity[i]·price[i] where key[i] < limit, over the rows of all ranks, modulo 2^64; n rows here.
template <class Policy>
FilteredSum filtered_sum(MPI_Comm comm, const Policy& policy, const std::uint32_t* key, const std::int64_t* quantity,
                         const std::int64_t* price, std::int64_t n, std::uint32_t limit) {
  using detail::Function;
  detail::Call call(comm, detail::signature(Function::filtered_sum, Type::uint32, limit));
  FilteredSum mine{};
  call.run(0, [&] { mine = upsweep::filtered_sum(policy, key, quantity, price, n, limit); });
  const auto sums = call.gather(mine.sum);
  call.settle();
  return {std::accumulate(sums.begin(), sums.end(), std::int64_t{0}, add), mine.rung};
}

/// Whether some of the items of all ranks add up to the target, and which: positions over all ranks. n items are given here.
/// Rank 0 does what needs no long search, and all that by which bitmaps are filled; a search among lists of sums, for an exact
/// target, is done by all, each its share, by cpu.schroeppel_shamir. The answer is the same for any number of ranks,
/// unless memory or a rung that is asked for makes rank 0 go another way.
inline SubsetSum find_subset(MPI_Comm comm, const Policy& policy, const std::int64_t* items, std::int64_t n,
                             std::int64_t target, const SubsetSumOptions& options = {}) {
  using detail::Function;
  const detail::Hash arguments = detail::Hash() << target << options.witness << options.below << options.above
                                                << options.reduce << options.early_stop;
  detail::Call call(comm, detail::signature(Function::find_subset, Type::int64, arguments.sum()));
  const auto all = detail::all_items(call, items, n);
  SubsetSum answer;
  bool is_shared = false;
  if (call.rank() == 0) {
    call.run(0, [&] {
      auto begun = upsweep::detail::begin_subset_sum(policy, all.data(), std::ssize(all), target, options);
      is_shared = !begun;
      if (begun) answer = *std::move(begun);
    });
  }
  call.settle();
  call.broadcast(&is_shared, sizeof is_shared);
  if (is_shared) answer = detail::share_search(call, policy, all, target, options);
  return detail::broadcast(call, std::move(answer));
}

}  // namespace upsweep::mpi
