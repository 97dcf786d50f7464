// SPDX-License-Identifier: Apache-2.0
// upsweep/detail/mpi_subset_sum.hpp: a subset sum that all ranks search together.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <numeric>
#include <string_view>
#include <vector>

#include "upsweep/detail/mpi_call.hpp"
#include "upsweep/ladder.hpp"
#include "upsweep/subset_sum.hpp"

namespace upsweep::mpi {
namespace detail {

/// The items of all ranks, on every rank.
inline std::vector<std::int64_t> all_items(Call& call, const std::int64_t* items, std::int64_t n) {
  const auto counts = call.gather(n);
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + call.rank(), std::int64_t{0});
  call.run(0, [&] {
    if (total > INT_MAX) throw Error(Code::unsupported, "more than 2^31 items over all ranks");
  });
  call.run(first, [&] { upsweep::detail::require_items(items, n); });
  call.settle();
  std::vector<int> sizes(counts.begin(), counts.end());
  std::vector<int> places(counts.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), 0);
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  check(MPI_Allgatherv(items, static_cast<int>(n), MPI_INT64_T, all.data(), sizes.data(), places.data(), MPI_INT64_T,
                       call.comm()),
        "MPI_Allgatherv");
  return all;
}

/// Returns the static id of the rung with this name. A rank needs it to name a rung that ran on another rank.
inline std::string_view rung_called(std::string_view id) {
  for (const RungInfo& rung : ladder("subset-sum")) {
    if (rung.id == id) return rung.id;
  }
  return "none";
}

/// Sends rank 0's answer to every rank.
inline SubsetSum broadcast(const Call& call, SubsetSum answer) {
  struct {
    std::int64_t sum;
    std::int64_t indices;
    bool reachable;
    std::array<char, 48> rung;
  } sent{answer.sum, std::ssize(answer.indices), answer.reachable, {}};
  answer.rung.copy(sent.rung.data(), sent.rung.size() - 1);
  call.broadcast(&sent, sizeof sent);
  answer.sum = sent.sum;
  answer.reachable = sent.reachable;
  answer.rung = rung_called(sent.rung.data());
  answer.indices.resize(static_cast<std::size_t>(sent.indices));
  call.broadcast(answer.indices.data(), sent.indices * std::int64_t{sizeof(std::int64_t)});
  return answer;
}

/// Searches by remainders. The classes of remainders are distributed over the ranks.
inline SubsetSum share_search(Call& call, const Policy& policy, const std::vector<std::int64_t>& items,
                              std::int64_t target, const SubsetSumOptions& options) {
  using upsweep::detail::SharedSearch;
  std::exception_ptr broken;
  bool has_told = false;
  bool failed_elsewhere = false;
  const SharedSearch shared{call.rank(), call.size(), [&](std::int64_t found) {
                              has_told = true;
                              try {
                                const std::int64_t least = call.least(found);
                                failed_elsewhere = least == SharedSearch::kFailed && found != SharedSearch::kFailed;
                                return least;
                              } catch (const Error&) {
                                broken = std::current_exception();
                                return SharedSearch::kFailed;
                              }
                            }};
  SubsetSum answer;
  call.run(0, [&] {
    try {
      answer = upsweep::detail::share_subset_sum(policy, items.data(), std::ssize(items), target, options, shared);
    } catch (...) {
      if (broken) return;
      if (!has_told) (void)shared.least(SharedSearch::kFailed);  // the other ranks wait for this rank
      if (!failed_elsewhere) throw;
    }
  });
  if (broken) std::rethrow_exception(broken);
  call.settle();
  return answer;
}

}  // namespace detail
}  // namespace upsweep::mpi
