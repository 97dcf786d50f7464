// SPDX-License-Identifier: Apache-2.0
// plan/needs.hpp: the nodes that must be computed before a node, and the order of all nodes that the effects need.
#pragma once

#include <vector>

#include "plan/program.hpp"

namespace upsweep::plan::detail {

/// Returns the node that determines the number of elements of a domain; kNone: the run does.
Id length_node(Program& program, Id domain);

/// Returns the nodes that must be computed before `node`. May add nodes for offsets.
std::vector<Id> needs(Program& program, Id node);

/// Returns the nodes that outputs, checks and histograms need, each after those that it needs itself.
std::vector<Id> live_order(Program& program);

/// Returns whether the node is computed by a loop over tiles.
bool is_element_wise(Kind kind);

}  // namespace upsweep::plan::detail
