// SPDX-License-Identifier: Apache-2.0
// upsweep/mpi.hpp: the library's calls over the ranks of an MPI communicator, each on its shard of the arrays.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
//   upsweep::mpi::inclusive_scan(MPI_COMM_WORLD, upsweep::par, mine, n, running);  // continues after rank - 1
//
// Header-only, over MPI's C API: link upsweep::mpi, which also links MPI (find_package(upsweep COMPONENTS mpi)).
//
// Shards    an array consists of the shards of all ranks, in the order of the ranks. A shard may have any length, also
//           0 and more than 2^31, and lengths may differ between ranks. Indices and positions below count over all
//           ranks.
// Calls     every rank of the communicator makes the same call, with the same types, operator, initial value and
//           overflow. Other properties of the policies may differ: threads, rungs, and whether a rank is on a GPU.
//           Custom operators are assumed to be equal on all ranks, and need not commute.
// Messages  every rank receives the carries of all ranks (8 to 264 bytes each) and merges them in the order of the
//           ranks. Elements are not sent, except the items of find_subset(). A call needs two all-reductions of up to
//           64 bytes and one or two all-gathers. No rank ends a call before all ranks have begun it. Only collectives
//           are used, so that the library cannot receive a message of the caller by mistake.
// Floats    a shard is folded as in reduce.hpp. For sums and products, the carry includes the rounding error. The folds
//           of shards are merged rank by rank. Equal shards give equal bits for any MPI, number of threads and
//           alignment. Other lengths of shards give other bits.
// Errors    an error on any rank is thrown on every rank: the same code, index and message, which names the rank. If
//           several ranks fail, the error of the lowest rank is thrown, which is therefore about the first bad element.
//           There are two more errors. `invalid_argument`: the ranks' calls or builds differ (detected before any
//           work). `communication`: MPI reports an error and the communicator's handler returns (MPI_ERRORS_RETURN).
//           The error `communication` may differ between ranks. After an error outputs are unspecified.
// Threads   the ranks of one host share its cores: bind the ranks (mpiexec --map-by), or use with_threads(). Only the
//           calling thread calls MPI (MPI_THREAD_FUNNELED). Concurrent calls need separate communicators.
// GPUs      with a gpu::Policy and device memory as in gpu.hpp: scans, reduce, offsets, filtered_sum, for compiled
//           operators. Carries are copied to the host, so these calls wait for the stream.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

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

/// Folds the elements into the carry: carry ← carry ⊕ the elements. Returns the rung.
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

/// Scans a shard. `before` is the fold of the elements of all ranks before this rank.
template <class In, class Out, class Op>
ScanResult scan_share(const Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      ScanCarry<Out> before) {
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, before);
}
template <class In, class Out, class Op>
ScanResult scan_share(const gpu::Policy& policy, const In* in, std::int64_t n, Out* out, const Op& op, bool exclusive,
                      const ScanCarry<Out>& before) {
  // On a GPU, a scan begins with a value: the rounding error in `before` is added back to it.
  const auto begin = before.any ? carry_of(upsweep::detail::value_of(before)) : before;
  return upsweep::detail::scan(policy, in, n, out, op, exclusive, begin);
}

template <class Carry>
struct Share {
  Carry carry;
  std::int64_t n;
};

/// Scans the shards of all ranks. A rank reads its shard twice: its scan cannot begin before the shards of all ranks
/// before it are folded. If there is only one rank, it reads the shard once.
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
  // Uses the rung that reduce() chooses: a requested rung belongs to the ladder of scan.
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

/// Computes the inclusive scan out[i] = x0 ⊕ … ⊕ xi over the elements of all ranks; this rank has n elements.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, false, empty_carry<Out>());
}

/// Computes the inclusive scan over the elements of all ranks, starting with `init` before the elements of rank 0.
template <class Policy, class In, class Out, class Op>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult inclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op) {
  return detail::scan(comm, policy, in, n, out, op, false, carry_of<Out>(init));
}

/// Computes the exclusive scan out[i] = init ⊕ x0 ⊕ … ⊕ xi-1 over the elements of all ranks.
template <class Policy, class In, class Out, class Op = Add>
  requires detail::CanFold<Policy, In, Out, Op>
ScanResult exclusive_scan(MPI_Comm comm, const Policy& policy, const In* in, std::int64_t n, Out* out,
                          std::type_identity_t<Out> init, Op op = {}) {
  return detail::scan(comm, policy, in, n, out, op, true, carry_of<Out>(init));
}

/// Returns init ⊕ x0 ⊕ … of all ranks, on every rank. With Overflow::checked, the sum of the elements of all ranks must
/// fit; it is exact, because it is kept in 128 bits.
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

/// The result for only one rank's lists.
struct OffsetsShare {
  std::int64_t total = 0;
  std::int64_t lists = 0;
  bool is_bad = false;
};

/// Returns the carry of the lists of the ranks before `rank`. Returns nullopt if one of these lists is bad or their
/// total exceeds int64: the first such rank then reports the error.
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

/// Computes the offsets of the lists of all ranks, packed one after the other. This rank has n lists and n + 1
/// offsets. The result contains the total of all ranks. An error's index is the first bad list of all ranks.
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
      mine.is_bad = true;  // which list is the first bad one depends on the offset that they begin with
    }
    mine.total = alone.total;
  });
  const auto shares = call.gather(mine);
  // Computes the offsets again, now that the carry of the preceding ranks is known.
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

/// Computes out[i] = init ⊕ the elements of list i. A list belongs to the rank on which it begins, and may end on
/// another rank. `lists` are the lists that begin on this rank, with bounds that count over all ranks. `out` has one
/// element for each of these lists. Lists by offsets: the first list of the next rank begins where the last list of
/// this rank ends. Lists by starts and stops may be in any order, overlap and have gaps, with two limits. Only one list
/// of a rank may continue on later ranks. The lists that continue on later ranks must not overlap each other. `valid`
/// is false where an element of this rank is null. A list that continues on a later rank is folded as in reduce().
template <class In, class Out, class Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, std::type_identity_t<Out> init, Op op, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, init, policy}, lists, content, n, out, valid);
}

/// Reduces each list without an initial value.
template <class In, class Out, class Op = Add>
  requires(!upsweep::detail::NamedReducer<Op>)
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op op = {}, const Mask& valid = {}) {
  static_assert(operator_of<Op, Out>() != Operator::custom,
                "a custom operator needs an initial value, which is the result of an empty list");
  return detail::reduce_lists(comm, detail::ListFold<In, Out, Op>{op, std::nullopt, policy}, lists, content, n, out,
                              valid);
}

/// Computes any, all, count, count_nonzero, argmin or argmax of each list.
template <class In, class Out, upsweep::detail::NamedReducer Op>
ListsResult segmented_reduce(MPI_Comm comm, const Policy& policy, const Lists& lists, const In* content, std::int64_t n,
                             Out* out, Op, const Mask& valid = {}) {
  return detail::reduce_lists(comm, detail::NamedFold<In, Out, Op>{policy}, lists, content, n, out, valid);
}

// ---- Sums of products.

/// Computes Σ quantity[i]·price[i] of the rows with key[i] < limit, over the rows of all ranks, modulo 2^64. This rank
/// has n rows.
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

/// Finds items of all ranks that add up to the target. Each rank passes its items; the positions in the answer count
/// over all ranks.
///
/// Rank 0 alone works where one rank is fast enough, and where the strategy fills a bitmap of sums. All ranks share the
/// search if the target must be met exactly and the strategy is cpu.schroeppel_shamir, which merges lists of sums. Then
/// the answer does not depend on the number of ranks. Another right answer may be found if rank 0
/// chooses another strategy, because its memory does not suffice or the policy names a rung.
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
