// SPDX-License-Identifier: Apache-2.0
// plan/program.hpp: the nodes and domains of a recorded program. Equal ones are made once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "upsweep/plan.hpp"

namespace upsweep::plan::detail {

using Id = std::int32_t;
inline constexpr Id kNone = -1;

/// More nodes are refused, so that recursive passes fit a small stack, and quadratic ones end soon.
inline constexpr std::size_t kMaxNodes = 20'000;

enum class Kind : std::uint8_t {
  column,
  constant,
  parameter,
  fill,
  map,
  call,  ///< of the caller's loop
  convert,
  take,
  lookup,
  search,
  positions,
  numbers,  ///< of positions in an input domain
  parents,
  starts,
  counts,
  source,
  beside,  ///< the values of the parts of a concatenation, part after part
  reduce,
  argsort,
  offsets,  ///< of a domain, over the parent and one more
  before,   ///< of a filter: the number of kept elements before each element, and one more
};

/// An operation and its arguments.
struct Node {
  Kind kind{};
  ElementType type{};
  Id domain = kNone;         ///< whose elements have the values; kNone: a scalar
  Id of = kNone;             ///< the domain that the node is about, for instance that of the reduced lists
  std::int64_t payload = 0;  ///< Op, Reduction, column, member, loop, or the bits of a constant
  std::vector<Id> args;
  friend bool operator==(const Node&, const Node&) = default;
};

enum class DomainKind : std::uint8_t {
  events,
  list,
  regular,
  filter,
  gather,
  combinations,
  product,
  concatenation,
  pad,
  flatten,
  beside,  ///< the elements of all parts of a concatenation, part after part
};

struct DomainNode {
  DomainKind kind{};
  Id parent = kNone;
  Id space = kNone;          ///< the domain that has the same elements, and values: not itself for flatten
  Id value = kNone;          ///< a mask or an index
  std::int64_t payload = 0;  ///< column, size, k, or length
  std::int64_t flag = 0;     ///< replacement, or the type of offsets
  std::vector<Id> parts;     ///< domains that it is made of
  friend bool operator==(const DomainNode&, const DomainNode&) = default;
};

class Program {
 public:
  std::vector<Node> nodes;
  std::vector<DomainNode> domains;
  std::vector<Loop> loops;
  std::vector<Id> outputs;  ///< nodes; an `offsets` node is an output of offsets
  struct Check {
    Id mask;
    int message;
  };
  std::vector<Check> checks;
  struct Histogram {
    std::vector<Axis> axes;
    std::vector<Id> values;  ///< one for each axis, of the type that kernels bin
    Id weight = kNone;       ///< float64
  };
  std::vector<Histogram> histograms;

  /// Returns the node that is equal, or a new one.
  Id node(Node made);
  Id domain(DomainNode made);

  // Values that are made from others, with the rules that make equal values equal nodes.
  Id map(Op op, std::vector<Id> args);
  Id call(const Loop& loop, std::vector<Id> args, ElementType type);
  Id convert(Id x, ElementType type);
  Id take(Id x, Id index);
  Id fill(Id scalar, Id domain);
  Id parents(Id domain);
  Id source(Id domain, int which);
  Id offsets(Id domain);
  Id before(Id filter);
  Id beside(Id domain, std::vector<Id> parts, ElementType type);
  /// Returns the domain of all parts of a concatenation.
  Id beside_domain(Id concatenation);

  [[nodiscard]] const Node& at(Id node) const { return nodes[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const DomainNode& domain_at(Id domain) const { return domains[static_cast<std::size_t>(domain)]; }
  [[nodiscard]] Id space(Id domain) const { return domain_at(domain).space; }
  [[nodiscard]] bool is_scalar(Id node) const { return at(node).domain == kNone; }
  /// Returns whether the positions name each element at most once, so that there are no more positions than elements.
  [[nodiscard]] bool chooses(Id index) const { return derived_[static_cast<std::size_t>(index)].chooses; }
  /// Returns the domain of which all positions are elements, whatever the data; kNone: it is not known.
  [[nodiscard]] Id target(Id index) const { return derived_[static_cast<std::size_t>(index)].target; }
  /// Returns the text of a node: "%3 = add %1 %2".
  [[nodiscard]] std::string node_text(Id node) const;
  [[nodiscard]] std::string domain_text(Id domain) const;
  [[nodiscard]] std::string to_text() const;
  void verify() const;

  std::size_t max_nodes = kMaxNodes;

 private:
  /// Facts about the values of a node as positions.
  struct Derived {
    bool chooses = false;
    Id target = kNone;
  };
  [[nodiscard]] Derived derived(const Node& node) const;
  /// Returns the domain of operands of an element-wise function. Operands that are filled scalars become scalars. Sets
  /// `are_filled` if all are.
  Id domain_of(std::vector<Id>& args, bool& are_filled) const;
  [[nodiscard]] bool is_positional(Id node) const;
  Id take(Id x, Id index, int depth);

  struct NodeHash {
    std::size_t operator()(const Node& node) const noexcept;
  };
  struct DomainHash {
    std::size_t operator()(const DomainNode& domain) const noexcept;
  };
  std::vector<Derived> derived_;  // by node
  std::unordered_map<Node, Id, NodeHash> found_nodes_;
  std::unordered_map<DomainNode, Id, DomainHash> found_domains_;
};

}  // namespace upsweep::plan::detail
