// SPDX-License-Identifier: Apache-2.0
// upsweep/filtered_sum.hpp: a sum of products over the rows that match a predicate, in one pass over the columns.
//
//   filtered_sum = Σ quantity[i]·price[i] over the rows i with key[i] < limit
//
// It is the result of SELECT SUM(quantity * price) FROM … WHERE key < limit. The columns have n rows each. The result
// is 0 if no row matches.
//
// Types     uint32 keys, int64 quantities (whole units) and prices (the smallest unit of the currency).
// Integers  wrap: the sum is exact modulo 2^64, for any order of the rows. Therefore the sum has the same bits for any
//           rung, thread count, alignment, instruction set and device. Overflow::checked is not supported
//           (unsupported).
// Chunks    the sum is also the carry. Compute the sums of chunks of the columns, and add them modulo 2^64.
// Memory    a rung need not read all columns of rows that do not match: see the traffic of the rungs in ladder.hpp.
// GPU       with a gpu::Policy and device memory: see gpu.hpp. `filtered_sum()` waits for the stream, because it
//           returns the sum. cuda.zero_copy also accepts pinned host memory.
// Errors    Error: invalid_argument, unequal_lengths, unknown_rung, unsupported, out_of_memory.
// Source    C. Balkesen, "Exercise Session 12", Data Processing on Modern Hardware, ETH Zurich 2012.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <iterator>
#include <ranges>
#include <string_view>
#include <type_traits>

#include "upsweep/detail/arguments.hpp"
#include "upsweep/detail/filtered_sum_call.hpp"
#include "upsweep/detail/result.hpp"
#include "upsweep/scan.hpp"

namespace upsweep {

/// The sum and the rung that ran. It converts to the sum, as a Reduction does.
struct FilteredSum {
  std::int64_t sum = 0;
  std::string_view rung;

  constexpr FilteredSum() = default;
  constexpr FilteredSum(std::int64_t answer, std::string_view id) : sum(answer), rung(id) {}
  constexpr operator std::int64_t() const { return sum; }  // NOLINT(google-explicit-constructor): it is the answer

 private:
  template <detail::OtherNumber<std::int64_t> U>
  FilteredSum(U);  // NOLINT(google-explicit-constructor): never defined, see OtherNumber
};

namespace detail {

template <class R, class T>
concept ColumnOf = InputArray<R> && std::is_same_v<ElementOf<R>, T>;

inline FilteredSumCall filtered_sum_call(const std::uint32_t* key, const std::int64_t* quantity,
                                         const std::int64_t* price, std::int64_t n, std::uint32_t limit) {
  require_array(key, n, "key");
  require_array(quantity, n, "quantity");
  require_array(price, n, "price");
  FilteredSumCall call;
  call.key = key;
  call.quantity = quantity;
  call.price = price;
  call.n = n;
  call.limit = limit;
  return call;
}

inline FilteredSum filtered_sum(const Policy& policy, FilteredSumCall& call) {
  std::int64_t sum = 0;
  call.out = &sum;
  const std::string_view rung = run_filtered_sum(policy, call);
  return {sum, rung};
}
inline FilteredSum filtered_sum(const gpu::Policy& policy, FilteredSumCall& call) {
  std::int64_t sum = 0;
  const std::string_view rung = run_filtered_sum_and_wait(policy, call, sum);
  return {sum, rung};
}

inline constexpr ArgumentRules kFilteredSumRules{.alike = 3};

}  // namespace detail

/// Computes Σ quantity[i]·price[i] of the rows with key[i] < limit, modulo 2^64.
template <detail::AnyPolicy P = Policy>
FilteredSum filtered_sum(const P& policy, const std::uint32_t* key, const std::int64_t* quantity,
                         const std::int64_t* price, std::int64_t n, std::uint32_t limit) {
  detail::FilteredSumCall call = detail::filtered_sum_call(key, quantity, price, n, limit);
  return detail::filtered_sum(policy, call);
}

/// Computes the filtered sum over ranges (arrays, vectors, spans) of one length.
template <detail::ColumnOf<std::uint32_t> Key, detail::ColumnOf<std::int64_t> Quantity,
          detail::ColumnOf<std::int64_t> Price, detail::AnyPolicy P = Policy>
FilteredSum filtered_sum(const P& policy, const Key& key, const Quantity& quantity, const Price& price,
                         std::uint32_t limit) {
  detail::require_memory_of<P, Key, Quantity, Price>();
  detail::require_columns(std::ssize(key), std::ssize(quantity), std::ssize(price));
  return upsweep::filtered_sum(policy, std::ranges::data(key), std::ranges::data(quantity), std::ranges::data(price),
                               std::ssize(key), limit);
}

/// @cond
// Calls that are refused, with the reason.
template <class First, class... Rest>
  requires detail::Refused<detail::kFilteredSumRules, First, Rest...>
auto filtered_sum(const First& /*first*/, Rest&&... /*rest*/) {
  return detail::refuse<detail::kFilteredSumRules, First, Rest...>();
}
/// @endcond

/// Computes the filtered sum into *out, in device memory, without waiting. Returns the rung. Rungs whose partial sums
/// are added on the host are refused (unsupported). The number of rows may be in device memory: pass
/// gpu::Length(address, most), which cuda.fused and cuda.zero_copy support.
inline std::string_view filtered_sum_async(const gpu::Policy& policy, const std::uint32_t* key,
                                           const std::int64_t* quantity, const std::int64_t* price, gpu::Length n,
                                           std::uint32_t limit, std::int64_t* out) {
  detail::require_array(out, 1, "result");
  detail::FilteredSumCall call = detail::filtered_sum_call(key, quantity, price, n.most, limit);
  call.n_at = n.at;
  call.out = out;
  return detail::run_filtered_sum(policy, call);
}

namespace gpu {

/// Returns the size of the Workspace that filtered sums of up to n rows need under the policy.
inline WorkspaceSize filtered_sum_workspace(const Policy& policy, std::int64_t n) {
  upsweep::detail::FilteredSumCall call;
  call.n = n;
  return upsweep::detail::filtered_sum_workspace(policy, call);
}

}  // namespace gpu
}  // namespace upsweep
