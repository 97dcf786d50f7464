// SPDX-License-Identifier: Apache-2.0
// plan/needs.cpp: the nodes that must be computed before a node, and the order of all nodes that the effects need.
#include "plan/needs.hpp"

#include <utility>

namespace upsweep::plan::detail {
namespace {

void add(std::vector<Id>& to, Id node) {
  if (node != kNone) to.push_back(node);
}

void add_offsets(Program& program, std::vector<Id>& to, const std::vector<Id>& lists) {
  for (const Id part : lists) to.push_back(program.offsets(part));
}

/// Returns the nodes that the offsets of a domain are computed from. Its positions also need the offsets.
std::vector<Id> needs_of_offsets(Program& program, Id domain) {
  const DomainNode d = program.domain_at(domain);
  std::vector<Id> made;
  switch (d.kind) {
    case DomainKind::list:
    case DomainKind::regular:
      add(made, length_node(program, d.parent));
      break;
    case DomainKind::filter:
      made = {program.offsets(d.parts[0]), program.before(domain)};
      break;
    case DomainKind::gather:
      made = {program.offsets(d.parts[0]), d.value};
      break;
    case DomainKind::product:
      made = {program.parents(d.parts[0]), program.offsets(d.parts[1])};
      break;
    case DomainKind::flatten:
      made = {program.offsets(d.parts[0]), program.offsets(program.domain_at(d.parts[0]).parent)};
      break;
    case DomainKind::combinations:
    case DomainKind::concatenation:
    case DomainKind::pad:
      add_offsets(program, made, d.parts);
      break;
    case DomainKind::events:
    case DomainKind::beside:
      break;
  }
  return made;
}

}  // namespace

Id length_node(Program& program, Id domain) {
  const Id space = program.space(domain);
  switch (program.domain_at(space).kind) {
    case DomainKind::events:
    case DomainKind::beside:
      return kNone;  // of `beside` the parts are needed, and its values only by position
    case DomainKind::filter:
      return program.before(space);
    default:
      return program.offsets(space);
  }
}

std::vector<Id> needs(Program& program, Id node) {
  const Node n = program.at(node);
  std::vector<Id> made = n.args;
  switch (n.kind) {
    case Kind::constant:
    case Kind::parameter:
      break;
    case Kind::take:
      add(made, length_node(program, n.domain));
      add(made, length_node(program, program.at(n.args[0]).domain));
      break;
    case Kind::column:
    case Kind::fill:
    case Kind::map:
    case Kind::call:
    case Kind::convert:
    case Kind::lookup:
    case Kind::search:
    case Kind::positions:
    case Kind::numbers:
      if (n.domain != kNone) add(made, length_node(program, n.domain));
      break;
    case Kind::parents:
    case Kind::starts:
    case Kind::counts:
    case Kind::reduce:
    case Kind::argsort:
      add(made, program.offsets(n.of));
      break;
    case Kind::source:
      if (program.domain_at(n.of).kind == DomainKind::filter) {
        add(made, program.before(n.of));
      } else {
        made = needs_of_offsets(program, n.of);
        add(made, program.offsets(n.of));
      }
      break;
    case Kind::beside: {
      const std::vector<Id> parts = program.domain_at(n.of).parts;
      for (const Id part : parts) add(made, length_node(program, part));
      break;
    }
    case Kind::offsets:
      return needs_of_offsets(program, n.of);
    case Kind::before: {
      const DomainNode d = program.domain_at(n.of);
      add(made, d.value);
      add(made, length_node(program, d.parts[0]));
      break;
    }
  }
  return made;
}

std::vector<Id> live_order(Program& program) {
  std::vector<Id> order;
  std::vector<char> seen;
  struct Visit {
    Id node;
    std::vector<Id> needs;
    std::size_t next;
  };
  std::vector<Visit> stack;  // not recursive: a chain may have thousands of nodes
  const auto enter = [&](Id node) {
    if (seen.size() < program.nodes.size()) seen.resize(program.nodes.size());
    if (seen[static_cast<std::size_t>(node)] != 0) return;
    seen[static_cast<std::size_t>(node)] = 1;
    stack.push_back({node, needs(program, node), 0});
  };
  const auto visit = [&](Id root) {
    if (root == kNone) return;
    enter(root);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.needs.size()) {
        enter(top.needs[top.next++]);
      } else {
        order.push_back(top.node);
        stack.pop_back();
      }
    }
  };
  for (const Program::Check& check : program.checks) visit(check.mask);
  for (const Id output : std::vector<Id>(program.outputs)) {
    visit(output);
    if (program.at(output).kind != Kind::offsets) visit(length_node(program, program.at(output).domain));
  }
  for (const Program::Histogram& histogram : std::vector<Program::Histogram>(program.histograms)) {
    for (const Id value : histogram.values) visit(value);
    visit(histogram.weight);
    visit(length_node(program, program.at(histogram.values[0]).domain));
  }
  return order;
}

bool is_element_wise(Kind kind) {
  switch (kind) {
    case Kind::fill:
    case Kind::map:
    case Kind::call:
    case Kind::convert:
    case Kind::take:
    case Kind::lookup:
    case Kind::search:
    case Kind::positions:
    case Kind::numbers:
    case Kind::counts:
      return true;
    default:
      return false;
  }
}

}  // namespace upsweep::plan::detail
