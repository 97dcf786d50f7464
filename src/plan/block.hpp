// SPDX-License-Identifier: Apache-2.0
// plan/block.hpp: runs the instructions of a plan on the events of a block.
#pragma once

#include "plan/run.hpp"

namespace upsweep::plan::detail {

/// The parts of a run that do not change while it lasts.
struct RunContext {
  const Compiled& code;
  const Kernels& kernels;
  const ElementKernel* elements;
  const Column* columns;     ///< by number
  const Destination* given;  ///< by output
  std::int64_t limit;        ///< bytes of the arrays of a worker
};

/// Runs events begin … begin + count - 1, in several attempts if necessary, and appends their outputs. Returns the
/// check that failed first. Throws Error.
std::optional<Failure> run_block(const RunContext& context, Worker& worker, std::int64_t begin, std::int64_t count);

/// Throws the Error of the first event of these whose inputs are malformed; returns if there is none. `columns` of
/// offsets are in host memory.
void refuse_inputs(const RunContext& context, Worker& worker, std::int64_t begin, std::int64_t count);

/// Throws the Error of an event that needs more memory than `limit` bytes.
[[noreturn]] void refuse_event(std::int64_t limit, std::int64_t event);

}  // namespace upsweep::plan::detail
