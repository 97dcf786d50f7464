// SPDX-License-Identifier: Apache-2.0
// plan/sink.cpp: computes element-wise values for chosen elements only, instead of choosing from values of all.
//
// A node *sinks* if a take through a choosing index (a filter, argmin) is replaced by the node's operation on taken
// operands. A node also has other users. If one of them needs it as an array of the block (a reduction, a mask, an
// output), it does not sink. If another one reads it in tiles, it sinks only if it costs less than to store it.
#include "plan/sink.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "plan/needs.hpp"

namespace upsweep::plan::detail {
namespace {

/// The maximum cost at which a value is computed both for all elements in tiles and again for the chosen ones. A store
/// and a load cost about the time of 2 to 16 operations on a quarter of the elements.
constexpr int kCheap = 16;
constexpr int kExpensive = kCheap + 1;
constexpr int kMaxDepth = 200;
/// The program may grow by this factor.
constexpr std::size_t kGrowth = 4;

bool is_cheap(Op op) {
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::maximum:
    case Op::minimum:
    case Op::negative:
    case Op::absolute:
    case Op::where:
      return true;
    default:
      return (op >= Op::bit_and && op <= Op::invert) || (op >= Op::less && op <= Op::unequal);
  }
}

class Sinking {
 public:
  explicit Sinking(Program& program)
      : program_(program),
        order_(live_order(program)),
        count_(program.nodes.size()),
        uses_(count_),
        rewritten_(count_, kNone) {}

  void run() {
    count_costs();
    find_uses();
    rewrite();
  }

 private:
  /// How a node is used, and the decision.
  struct Uses {
    bool as_array = false;
    bool in_tiles = false;
    bool chosen = false;  ///< through a choosing index, or by a node that sinks
    bool sinks = false;
    int cost = 0;
  };

  Uses& uses(Id node) { return uses_[static_cast<std::size_t>(node)]; }
  bool sinks(Id node) { return node < static_cast<Id>(count_) && uses(node).sinks; }
  Id rewritten(Id node) {
    const Id found = node < static_cast<Id>(count_) ? rewritten_[static_cast<std::size_t>(node)] : kNone;
    return found == kNone ? node : found;
  }

  /// Whether all parts of a concatenation are the same operation.
  [[nodiscard]] bool is_one_operation(const std::vector<Id>& parts) const {
    const Node& first = program_.at(parts[0]);
    return first.kind == Kind::map && std::ranges::all_of(parts, [&](Id part) {
             const Node& n = program_.at(part);
             return n.kind == Kind::map && n.payload == first.payload;
           });
  }

  void count_costs() {
    for (const Id id : order_) {
      const Node& n = program_.at(id);
      int& cost = uses(id).cost;
      if (n.kind == Kind::map || n.kind == Kind::convert || n.kind == Kind::take) {
        cost = n.kind == Kind::map && !is_cheap(static_cast<Op>(n.payload)) ? kExpensive : 1;
        const std::size_t first = n.kind == Kind::take ? 1 : 0;  // what is taken from is an array
        for (std::size_t i = first; i < n.args.size(); ++i) cost = std::min(kExpensive, cost + uses(n.args[i]).cost);
      } else if (n.kind == Kind::beside || n.kind == Kind::call) {
        cost = kExpensive;
      }
    }
  }

  void find_uses() {
    for (const Program::Check& check : program_.checks) uses(check.mask).as_array = true;
    for (const Id output : program_.outputs) uses(output).as_array = true;
    for (const Program::Histogram& histogram : program_.histograms) {
      for (const Id value : histogram.values) uses(value).as_array = true;
      if (histogram.weight != kNone) uses(histogram.weight).as_array = true;
    }
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Id id = order_[i];
      if (static_cast<std::size_t>(id) >= count_) continue;  // cannot be: the order contains no later nodes
      decide(id);
      if (is_element_wise(program_.at(id).kind) || program_.at(id).kind == Kind::beside) {
        pass_on(id);
      } else {
        for (const Id need : needs(program_, id)) uses(need).as_array = true;
      }
    }
  }

  void decide(Id id) {
    const Node& n = program_.at(id);
    Uses& u = uses(id);
    if (n.domain == kNone || u.as_array || !u.chosen) return;
    if (u.in_tiles && u.cost > kCheap) return;
    switch (n.kind) {
      case Kind::map:
      case Kind::call:
      case Kind::convert:
      case Kind::take:
        u.sinks = true;
        break;
      case Kind::beside:
        u.sinks = is_one_operation(n.args);
        break;
      default:
        break;
    }
  }

  void pass_on(Id id) {
    const Node& n = program_.at(id);
    const Uses u = uses(id);
    const bool is_computed = !u.sinks || u.in_tiles;  // for all elements
    switch (n.kind) {
      case Kind::take: {
        Uses &from = uses(n.args[0]), &index = uses(n.args[1]);
        (program_.chooses(n.args[1]) ? from.chosen : from.as_array) = true;
        if (u.sinks) index.chosen = true;
        if (is_computed) index.in_tiles = true;
        break;
      }
      case Kind::beside:
        for (const Id part : n.args) (u.sinks ? uses(part).chosen : uses(part).as_array) = true;
        break;
      default:
        for (const Id arg : n.args) {
          if (u.sinks) uses(arg).chosen = true;
          if (is_computed) uses(arg).in_tiles = true;
        }
        for (const Id need : needs(program_, id)) {
          if (std::ranges::find(n.args, need) == n.args.end()) uses(need).as_array = true;
        }
    }
  }

  void rewrite() {
    for (const Id id : order_) rewritten_[static_cast<std::size_t>(id)] = rewrite(id);
    for (Id& output : program_.outputs) output = rewritten(output);
    for (Program::Check& check : program_.checks) check.mask = rewritten(check.mask);
    for (Program::Histogram& histogram : program_.histograms) {
      for (Id& value : histogram.values) value = rewritten(value);
      if (histogram.weight != kNone) histogram.weight = rewritten(histogram.weight);
    }
  }

  Id rewrite(Id id) {
    Node n = program_.at(id);
    if (n.kind == Kind::before) {  // the mask of a filter: its order is that of `before`
      Id& mask = program_.domains[static_cast<std::size_t>(n.of)].value;
      mask = rewritten(mask);
      return id;
    }
    if (n.kind == Kind::offsets && program_.domain_at(n.of).kind == DomainKind::gather) {
      Id& index = program_.domains[static_cast<std::size_t>(n.of)].value;
      index = rewritten(index);
      return id;
    }
    if (n.kind == Kind::take && program_.chooses(n.args[1])) return sunk(n.args[0], rewritten(n.args[1]), 0);
    for (Id& arg : n.args) arg = rewritten(arg);
    if (n.kind == Kind::map || n.kind == Kind::call) return again(n, n.args);
    if (n.kind == Kind::convert) return program_.convert(n.args[0], n.type);
    if (n.kind == Kind::take) return program_.take(n.args[0], n.args[1]);
    return program_.node(std::move(n));
  }

  /// Returns the operation of a map or call on other operands.
  Id again(const Node& n, std::vector<Id> args) {
    if (n.kind == Kind::map) return program_.map(static_cast<Op>(n.payload), std::move(args));
    const Loop loop = program_.loops[static_cast<std::size_t>(n.payload)];
    return program_.call(loop, std::move(args), n.type);
  }

  /// Returns x[index]. x is a node of the program before it is rewritten, and index one of after.
  Id sunk(Id x, Id index, int depth) {
    const Node n = program_.at(x);
    if (n.domain == kNone || n.kind == Kind::fill) return program_.take(x, index);
    if (!sinks(x) || depth > kMaxDepth || program_.nodes.size() > kGrowth * count_ + 1000) {
      return program_.take(rewritten(x), index);
    }
    const auto [found, is_new] = sunk_.try_emplace({x, index}, kNone);
    if (!is_new) return found->second;
    Id made = kNone;
    switch (n.kind) {
      case Kind::take: {
        const Id composed = program_.take(rewritten(n.args[1]), index);
        made = program_.chooses(n.args[1]) ? sunk(n.args[0], composed, depth + 1)
                                           : program_.take(rewritten(n.args[0]), composed);
        break;
      }
      case Kind::convert:
        made = program_.convert(sunk(n.args[0], index, depth + 1), n.type);
        break;
      case Kind::beside:
        made = beside(n.of, n.args, n.type, index, depth + 1);
        break;
      default: {
        std::vector<Id> args;
        args.reserve(n.args.size());
        for (const Id arg : n.args) args.push_back(sunk(arg, index, depth + 1));
        made = again(n, std::move(args));
      }
    }
    sunk_[{x, index}] = made;
    return made;
  }

  /// Returns the elements at `index` of the parts of a concatenation: of one operation, the operation on its operands.
  Id beside(Id domain, const std::vector<Id>& parts, ElementType type, Id index, int depth) {
    const bool all_sink = std::ranges::all_of(parts, [&](Id part) { return sinks(part); });
    if (!all_sink || !is_one_operation(parts) || depth > kMaxDepth) {
      std::vector<Id> args;
      args.reserve(parts.size());
      for (const Id part : parts) args.push_back(rewritten(part));
      return program_.take(program_.beside(domain, std::move(args), type), index);
    }
    const std::vector<Id> lists = program_.domain_at(domain).parts;
    const auto op = static_cast<Op>(program_.at(parts[0]).payload);
    std::vector<Id> args;
    for (std::size_t a = 0; a < program_.at(parts[0]).args.size(); ++a) {
      std::vector<Id> operands;
      operands.reserve(parts.size());
      for (const Id part : parts) operands.push_back(program_.at(part).args[a]);
      const bool is_one_scalar = std::ranges::all_of(
          operands, [&](Id operand) { return operand == operands[0] && program_.is_scalar(operand); });
      if (is_one_scalar) {
        args.push_back(operands[0]);
        continue;
      }
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (program_.is_scalar(operands[i])) operands[i] = program_.fill(operands[i], lists[i]);
      }
      const ElementType operand_type = program_.at(operands[0]).type;
      args.push_back(beside(domain, operands, operand_type, index, depth + 1));
    }
    return program_.map(op, std::move(args));
  }

  Program& program_;
  std::vector<Id> order_;
  std::size_t count_;  // nodes before the rewriting
  std::vector<Uses> uses_;
  std::vector<Id> rewritten_;
  std::map<std::pair<Id, Id>, Id> sunk_;
};

}  // namespace

void sink_takes(Program& program) { Sinking(program).run(); }

}  // namespace upsweep::plan::detail
