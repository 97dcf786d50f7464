// SPDX-License-Identifier: Apache-2.0
// plan/program.cpp: makes equal nodes once, and applies the rules that make equal values equal nodes.
#include "plan/program.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "plan/histogram.hpp"
#include "plan/types.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan::detail {
namespace {

/// The maximum depth to which the builder moves a take below element-wise nodes.
constexpr int kMaxDepth = 100;

void mix(std::size_t& hash, std::int64_t value) {
  hash ^= static_cast<std::size_t>(value) + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
}

ElementType type_of_map(Op op, const Program& program, const std::vector<Id>& args) {
  if (op >= Op::less && op <= Op::unequal) return ElementType::boolean;
  if (op >= Op::is_nan && op <= Op::sign_bit) return ElementType::boolean;
  return program.at(args[op == Op::where ? 1 : 0]).type;
}

}  // namespace

std::size_t Program::NodeHash::operator()(const Node& node) const noexcept {
  std::size_t hash = 0;
  for (const std::int64_t part : {std::int64_t{static_cast<int>(node.kind)}, std::int64_t{static_cast<int>(node.type)},
                                  std::int64_t{node.domain}, std::int64_t{node.of}, node.payload}) {
    mix(hash, part);
  }
  for (const Id arg : node.args) mix(hash, arg);
  return hash;
}

std::size_t Program::DomainHash::operator()(const DomainNode& domain) const noexcept {
  std::size_t hash = 0;
  for (const std::int64_t part : {std::int64_t{static_cast<int>(domain.kind)}, std::int64_t{domain.parent},
                                  std::int64_t{domain.value}, domain.payload, domain.flag}) {
    mix(hash, part);
  }
  for (const Id part : domain.parts) mix(hash, part);
  return hash;
}

Id Program::node(Node made) {
  const auto found = found_nodes_.find(made);
  if (found != found_nodes_.end()) return found->second;
  if (nodes.size() >= max_nodes) {
    throw Error(Code::unsupported, "the program has more than " + std::to_string(max_nodes) + " nodes; divide it");
  }
  const Id id = static_cast<Id>(nodes.size());
  derived_.push_back(derived(made));
  nodes.push_back(made);
  found_nodes_.emplace(std::move(made), id);
  return id;
}

/// A domain's space is itself, except for flatten.
Id Program::domain(DomainNode made) {
  const Id given = made.space;
  made.space = kNone;
  const auto found = found_domains_.find(made);
  if (found != found_domains_.end()) return found->second;
  if (domains.size() >= max_nodes) {
    throw Error(Code::unsupported, "the program has more than " + std::to_string(max_nodes) + " domains; divide it");
  }
  const Id id = static_cast<Id>(domains.size());
  found_domains_.emplace(made, id);
  made.space = given == kNone ? id : given;
  domains.push_back(std::move(made));
  return id;
}

Program::Derived Program::derived(const Node& node) const {
  switch (node.kind) {
    case Kind::positions:
      return {.chooses = true, .target = node.domain};
    case Kind::argsort:
      return {.chooses = true, .target = space(node.of)};
    case Kind::parents:
      return {.chooses = false, .target = space(domain_at(node.of).parent)};
    case Kind::reduce: {
      const auto reduction = static_cast<Reduction>(node.payload);
      return {.chooses = reduction == Reduction::argmin || reduction == Reduction::argmax, .target = kNone};
    }
    case Kind::take: {
      const Derived &outer = derived_[static_cast<std::size_t>(node.args[0])],
                    &inner = derived_[static_cast<std::size_t>(node.args[1])];
      const bool is_inside = inner.target != kNone && inner.target == at(node.args[0]).domain;
      return {.chooses = outer.chooses && inner.chooses, .target = is_inside ? outer.target : kNone};
    }
    case Kind::source: {
      const DomainNode& d = domain_at(node.of);
      switch (d.kind) {
        case DomainKind::filter:
          return {.chooses = true, .target = space(d.parts[0])};
        case DomainKind::gather:
          return {.chooses = chooses(d.value), .target = space(d.parts[0])};
        case DomainKind::combinations:
          return {.chooses = false, .target = space(d.parts[0])};
        case DomainKind::product:
          return {.chooses = false, .target = space(d.parts[1])};
        // The payload is the domain of all parts.
        case DomainKind::concatenation:
          return {.chooses = true, .target = static_cast<Id>(node.payload)};
        default:
          return {};
      }
    }
    default:
      return {};
  }
}

/// Positions, and the local indices that are made of them: the rules below must find these equal.
bool Program::is_positional(Id node) const {
  const Node& n = at(node);
  if (n.type == ElementType::int32) return true;
  return n.kind == Kind::convert && n.type == ElementType::int64 && at(n.args[0]).type == ElementType::int32;
}

Id Program::domain_of(std::vector<Id>& args, bool& are_filled) const {
  Id over = kNone;
  are_filled = true;
  for (Id& arg : args) {
    if (is_scalar(arg)) continue;
    over = at(arg).domain;
    are_filled = are_filled && at(arg).kind == Kind::fill;
    if (at(arg).kind == Kind::fill) arg = at(arg).args[0];
  }
  are_filled = are_filled && over != kNone;
  return over;
}

Id Program::map(Op op, std::vector<Id> args) {
  const ElementType type = type_of_map(op, *this, args);
  bool are_filled = false;
  const Id over = domain_of(args, are_filled);
  if (are_filled) return fill(map(op, std::move(args)), over);
  if (op == Op::add && is_integer(type)) {  // x - y + y
    for (const int i : {0, 1}) {
      const Node& difference = at(args[static_cast<std::size_t>(i)]);
      if (difference.kind == Kind::map && static_cast<Op>(difference.payload) == Op::subtract &&
          difference.args[1] == args[static_cast<std::size_t>(1 - i)] && !is_scalar(difference.args[0])) {
        return difference.args[0];
      }
    }
  }
  return node(
      {.kind = Kind::map, .type = type, .domain = over, .payload = static_cast<int>(op), .args = std::move(args)});
}

Id Program::call(const Loop& loop, std::vector<Id> args, ElementType type) {
  bool are_filled = false;
  const Id over = domain_of(args, are_filled);
  if (are_filled) return fill(call(loop, std::move(args), type), over);
  const auto found = std::ranges::find(loops, loop);
  const std::int64_t payload = found - loops.begin();
  if (found == loops.end()) loops.push_back(loop);
  return node({.kind = Kind::call, .type = type, .domain = over, .payload = payload, .args = std::move(args)});
}

Id Program::convert(Id x, ElementType type) {
  const Node given = at(x);
  if (given.type == type) return x;
  if (given.kind == Kind::fill) return fill(convert(given.args[0], type), given.domain);
  if (given.kind == Kind::convert && is_integer(given.type) && at(given.args[0]).type == type && is_integer(type) &&
      size_of(given.type) >= size_of(type)) {
    return given.args[0];  // there and back
  }
  return node({.kind = Kind::convert, .type = type, .domain = given.domain, .args = {x}});
}

Id Program::fill(Id scalar, Id domain) {
  return node({.kind = Kind::fill, .type = at(scalar).type, .domain = space(domain), .args = {scalar}});
}

Id Program::take(Id x, Id index) { return take(x, index, 0); }

Id Program::take(Id x, Id index, int depth) {
  const Node given = at(x);
  const Id over = at(index).domain;
  if (given.domain == kNone) return x;
  if (given.kind == Kind::fill) return fill(given.args[0], over);
  if (given.kind == Kind::positions && target(index) == given.domain) return index;
  if (at(index).kind == Kind::positions && at(index).domain == given.domain) return x;
  if (chooses(index) && is_positional(x) && depth < kMaxDepth) {
    if (given.kind == Kind::take) return take(given.args[0], take(given.args[1], index, depth + 1), depth + 1);
    if (given.kind == Kind::convert) return convert(take(given.args[0], index, depth + 1), given.type);
    if (given.kind == Kind::map) {
      std::vector<Id> args;
      args.reserve(given.args.size());
      for (const Id arg : given.args) args.push_back(take(arg, index, depth + 1));
      return map(static_cast<Op>(given.payload), std::move(args));
    }
  }
  return node({.kind = Kind::take, .type = given.type, .domain = over, .args = {x, index}});
}

Id Program::parents(Id domain) {
  const DomainNode d = domain_at(domain);
  if (d.kind == DomainKind::filter) return take(parents(d.parts[0]), source(domain, 0));
  if (d.kind == DomainKind::flatten) {
    const Id inner = d.parts[0];
    return take(parents(domain_at(inner).parent), parents(inner));
  }
  return node({.kind = Kind::parents, .type = ElementType::int32, .domain = space(domain), .of = domain, .args = {}});
}

Id Program::source(Id domain, int which) {
  const DomainNode& d = domain_at(domain);
  if (d.kind == DomainKind::flatten) return source(d.parts[0], which);
  if (d.kind == DomainKind::product && which == 0) return parents(domain);
  const std::int64_t payload = d.kind == DomainKind::concatenation ? beside_domain(domain) : which;
  return node({.kind = Kind::source,
               .type = ElementType::int32,
               .domain = domain,
               .of = domain,
               .payload = payload,
               .args = {}});
}

Id Program::offsets(Id domain) {
  return node({.kind = Kind::offsets,
               .type = ElementType::int32,
               .domain = space(domain_at(domain).parent),
               .of = domain,
               .args = {}});
}

Id Program::before(Id filter) {
  return node({.kind = Kind::before,
               .type = ElementType::int32,
               .domain = space(domain_at(filter).parts[0]),
               .of = filter,
               .args = {}});
}

Id Program::beside_domain(Id concatenation) {
  return domain({.kind = DomainKind::beside, .parts = domain_at(concatenation).parts});
}

Id Program::beside(Id domain, std::vector<Id> parts, ElementType type) {
  const Node& first = at(parts[0]);
  const bool is_one_scalar = std::ranges::all_of(
      parts, [&](Id part) { return at(part).kind == Kind::fill && at(part).args[0] == first.args[0]; });
  if (first.kind == Kind::fill && is_one_scalar) return fill(first.args[0], domain);
  return node({.kind = Kind::beside, .type = type, .domain = domain, .of = domain, .args = std::move(parts)});
}

// ---------------------------------------------------------------------------------------------------------------- text

namespace {

constexpr std::string_view kKinds[] = {"column", "constant", "parameter", "fill",      "map",     "call",    "convert",
                                       "take",   "lookup",   "search",    "positions", "numbers", "parents", "starts",
                                       "counts", "source",   "beside",    "reduce",    "argsort", "offsets", "before"};
constexpr std::string_view kDomainKinds[] = {"events",  "list",          "regular", "filter",  "gather", "combinations",
                                             "product", "concatenation", "pad",     "flatten", "beside"};
static_assert(std::size(kKinds) == static_cast<std::size_t>(Kind::before) + 1);
static_assert(std::size(kDomainKinds) == static_cast<std::size_t>(DomainKind::beside) + 1);

std::string domain_name(Id id) { return "d" + std::to_string(id); }
std::string node_name(Id id) { return "%" + std::to_string(id); }

std::string number_text(ElementType type, std::int64_t bits) {
  return visit_element(type, [&]<class T>(std::type_identity<T>) {
    T number;
    std::memcpy(&number, &bits, sizeof number);
    return std::to_string(number);
  });
}

}  // namespace

std::string Program::domain_text(Id id) const {
  const DomainNode& d = domain_at(id);
  std::string text = domain_name(id) + " = " + std::string(kDomainKinds[static_cast<std::size_t>(d.kind)]);
  for (const Id part : d.parts) text += " " + domain_name(part);
  if (d.value != kNone) text += " " + node_name(d.value);
  switch (d.kind) {
    case DomainKind::list:
      text += " column " + std::to_string(d.payload);
      break;
    case DomainKind::regular:
    case DomainKind::pad:
      text += " " + std::to_string(d.payload);
      break;
    case DomainKind::combinations:
      text += " " + std::to_string(d.payload) + (d.flag != 0 ? " with replacement" : "");
      break;
    default:
      break;
  }
  if (d.parent != kNone) text += " in " + domain_name(d.parent);
  return text;
}

std::string Program::node_text(Id id) const {
  const Node& n = at(id);
  std::string text = node_name(id) + " = ";
  if (n.kind == Kind::map) {
    text += name(static_cast<Op>(n.payload));
  } else if (n.kind == Kind::reduce) {
    text += name(static_cast<Reduction>(n.payload));
  } else {
    text += kKinds[static_cast<std::size_t>(n.kind)];
  }
  switch (n.kind) {
    case Kind::constant:
      text += " " + number_text(n.type, n.payload);
      break;
    case Kind::column:
    case Kind::parameter:
    case Kind::call:
    case Kind::lookup:
    case Kind::search:
      text += " " + std::to_string(n.payload);
      break;
    case Kind::source:
      text += " " + domain_name(n.of);
      if (domain_at(n.of).kind != DomainKind::concatenation) text += " " + std::to_string(n.payload);
      break;
    default:
      if (n.of != kNone && n.kind != Kind::beside) text += " " + domain_name(n.of);
  }
  for (const Id arg : n.args) text += " " + node_name(arg);
  text += ": " + std::string(name(n.type));
  if (n.domain != kNone) text += " " + domain_name(n.domain);
  return text;
}

std::string Program::to_text() const {
  std::string text;
  for (std::size_t i = 0; i < domains.size(); ++i) text += domain_text(static_cast<Id>(i)) + "\n";
  for (std::size_t i = 0; i < nodes.size(); ++i) text += node_text(static_cast<Id>(i)) + "\n";
  for (const Check& check : checks) {
    text += "check " + node_name(check.mask) + " message " + std::to_string(check.message) + "\n";
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    text += "output " + std::to_string(i) + " " + node_name(outputs[i]) + "\n";
  }
  for (std::size_t h = 0; h < histograms.size(); ++h) {
    const Histogram& histogram = histograms[h];
    text += "histogram " + std::to_string(h);
    for (std::size_t i = 0; i < histogram.axes.size(); ++i) {
      text += " " + node_name(histogram.values[i]) + " " + axis_text(histogram.axes[i]);
    }
    if (histogram.weight != kNone) text += " weight " + node_name(histogram.weight);
    text += "\n";
  }
  return text;
}

}  // namespace upsweep::plan::detail
