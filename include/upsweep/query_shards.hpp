// SPDX-License-Identifier: Apache-2.0
// upsweep/query_shards.hpp: runs a query over one table whose rows are on several GPUs of a host.
//
//   const upsweep::gpu::Group group({0, 1});
//   const upsweep::DeviceTable first(group.policy(0), january);
//   const upsweep::DeviceTable second(group.policy(1), february);
//   const upsweep::Answer answer = upsweep::run(query, group, {&first, &second});
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "upsweep/query.hpp"
#include "upsweep/shards.hpp"

namespace upsweep {

/// Runs a query over one table per member. Each member folds its table as Query::run() does, in a thread that the group
/// keeps. The results are merged in the order of the members. The table of a member is a DeviceTable of its device, or
/// any other table; the columns of other tables are copied to the device. Float sums have the same bits on every run.
/// They differ from those of one GPU, because sums are rounded where tables meet. Throws Error as Query::fold() does.
/// If several tables fail, it throws the error of the first. Throws invalid_argument if there is not one table per
/// member.
[[nodiscard]] inline Answer run(const Query& query, const gpu::Group& group, const std::vector<const Table*>& tables) {
  detail::require_members(group, tables.size());
  std::vector<std::optional<QueryCarry>> carries(tables.size());
  std::vector<std::exception_ptr> errors(tables.size());
  detail::for_each_member(group, [&](std::size_t m) {
    try {
      carries[m].emplace(query.fold(group.policy(static_cast<int>(m)), *tables[m]));
    } catch (...) {
      errors[m] = std::current_exception();
    }
  });
  for (std::size_t m = 0; m < tables.size(); ++m) {
    if (!errors[m]) continue;
    try {
      std::rethrow_exception(errors[m]);
    } catch (const Error& error) {
      throw Error(error.code(), "table " + std::to_string(m) + ": " + error.what(), error.index());
    }
  }
  QueryCarry merged = *std::move(carries[0]);
  for (std::size_t m = 1; m < carries.size(); ++m) merged.merge(*carries[m]);
  return query.answer(merged);
}

}  // namespace upsweep
