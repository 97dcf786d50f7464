// SPDX-License-Identifier: Apache-2.0
// problems/lists/combinations/rung.hpp: types and functions that the files of the rungs share.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ladder.hpp"
#include "cpu/list_batch.hpp"
#include "problems/lists/combinations/tuples.hpp"
#include "upsweep/detail/combinations_call.hpp"

namespace upsweep::impl::combinations {

using Call = detail::CombinationsCall;
using Rung = upsweep::Rung<Call>;

/// The ladder, starting with the naive loop.
std::vector<RungInfo> rungs();

/// Results of the pass that checks the lists.
struct TuplesPlan {
  std::vector<std::int64_t> first_tuple;  ///< first tuple of every work unit of lists, and the total at the end
};

inline std::int64_t list_count(const Call& call) { return call.inputs.front().lists.count; }
inline std::int64_t work_unit_count(const Call& call) { return cpu::list_blocks(call.inputs.front().lists); }

/// A work unit of lists of every input, and the number of tuples of each list.
class TupleWorkUnit {
 public:
  /// Throws std::bad_alloc.
  TupleWorkUnit(const Call& call, Isa isa);

  /// Reads work unit number `which`, up to the first list that is bad in any input. Returns this list, or kNoIndex.
  std::int64_t read(std::int64_t which);

  [[nodiscard]] std::int64_t count() const { return inputs_.front().count; }
  /// Number of tuples of list i; kNoIndex if it exceeds int64.
  [[nodiscard]] std::int64_t tuples(std::int64_t i) const { return tuples_[static_cast<std::size_t>(i)]; }
  /// The lists of input d.
  [[nodiscard]] const cpu::ListBlock& input(std::int64_t d) const { return inputs_[static_cast<std::size_t>(d)]; }
  /// The lists for position d of a tuple.
  [[nodiscard]] const cpu::ListBlock& at(std::int64_t d) const { return input(call_.is_cartesian ? d : 0); }

 private:
  void count_combinations();
  void count_products();

  const Call& call_;
  Isa isa_;
  std::vector<cpu::ListBlock> inputs_;
  std::vector<std::int64_t> tuples_;
};

/// A walk through the tuples of the call's lists.
inline Walk walk_of(const Call& call) { return call.is_cartesian ? Walk(call.n) : Walk(call.n, call.replacement); }

/// Puts the lengths of list i into a walk.
inline void set_lengths(Walk& walk, const TupleWorkUnit& work_unit, std::int64_t i) {
  for (std::int64_t d = 0; d < walk.inputs(); ++d) walk.length(d) = work_unit.input(d).lengths[i];
}

}  // namespace upsweep::impl::combinations
