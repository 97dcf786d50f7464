// SPDX-License-Identifier: Apache-2.0
// plan/builder.cpp: checks each call of plan::Builder, and adds its node to the program.
#include <algorithm>
#include <map>
#include <utility>

#include "plan/compile.hpp"
#include "plan/histogram.hpp"
#include "plan/program.hpp"
#include "plan/types.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan {
namespace {

using detail::DomainKind;
using detail::Id;
using detail::Kind;
using detail::kNone;
using detail::Program;

constexpr int kMaxMembers = 8;   ///< of a combination
constexpr int kMaxOperands = 3;  ///< of a call

[[noreturn]] void refuse(const std::string& call, const std::string& why) {
  throw Error(Code::invalid_argument, "plan::Builder::" + call + ": " + why);
}

Id checked(const Program& program, const std::string& call, Value value) {
  const Id id = static_cast<Id>(value);
  if (id < 0 || id >= static_cast<Id>(program.nodes.size())) {
    refuse(call, "value " + std::to_string(id) + " is not a value of this builder");
  }
  return id;
}

Id checked(const Program& program, const std::string& call, Domain domain) {
  const Id id = static_cast<Id>(domain);
  if (id < 0 || id >= static_cast<Id>(program.domains.size())) {
    refuse(call, "domain " + std::to_string(id) + " is not a domain of this builder");
  }
  return id;
}

std::string text(const Program& program, Id node) { return "'" + program.node_text(node) + "'"; }
std::string domain_text(const Program& program, Id domain) { return "'" + program.domain_text(domain) + "'"; }

/// Returns a domain that must have a parent.
Id checked_lists(const Program& program, const std::string& call, Domain lists) {
  const Id id = checked(program, call, lists);
  if (program.domain_at(id).parent == kNone) refuse(call, domain_text(program, id) + " is not a domain of lists");
  return id;
}

void require_type(const Program& program, const std::string& call, Id node, ElementType type, const std::string& what) {
  if (program.at(node).type == type) return;
  refuse(call, what + " must be of type " + std::string(name(type)) + ", but is " + text(program, node));
}

void require_over(const Program& program, const std::string& call, Id node, Id domain, const std::string& what) {
  if (program.at(node).domain == program.space(domain)) return;
  refuse(call, what + " must be a value over " + domain_text(program, domain) + ", but is " + text(program, node) +
                   (program.is_scalar(node) ? "; use fill()" : ""));
}

void require_one_domain(const Program& program, const std::string& call, const std::vector<Id>& operands) {
  Id over = kNone;
  for (const Id id : operands) {
    if (program.is_scalar(id)) continue;
    if (over != kNone && program.at(over).domain != program.at(id).domain) {
      refuse(call,
             text(program, over) + " and " + text(program, id) + " are values over different domains; use take()");
    }
    over = id;
  }
}

void require_column(const std::string& call, int column) {
  if (column < 0) refuse(call, "column " + std::to_string(column) + " is negative");
}

/// Whether columns of the domain begin at a place that only inputs determine.
bool is_input(const Program& program, Id domain) {
  for (;;) {
    const auto& d = program.domain_at(domain);
    if (d.kind == DomainKind::events) return true;
    if (d.kind != DomainKind::list && d.kind != DomainKind::regular) return false;
    domain = d.parent;
  }
}

/// Returns x over the domain: a scalar is filled.
Id filled(Program& program, const std::string& call, Id x, Id domain, const std::string& what) {
  if (program.is_scalar(x)) return program.fill(x, domain);
  require_over(program, call, x, domain, what);
  return x;
}

/// Returns the value in the type that the axis bins: float64, or int64 of integers whose bins are integers.
Id binned(Program& program, Id x, const Axis& axis, const std::string& what) {
  const ElementType type = program.at(x).type;
  const bool is_discrete = axis.kind == Axis::Kind::integer || axis.kind == Axis::Kind::category;
  if (!is_discrete || (axis.kind == Axis::Kind::integer && detail::is_float(type))) {
    return program.convert(x, ElementType::float64);
  }
  if (detail::is_float(type)) {
    refuse("histogram", what + " must be integers or booleans for a category axis, but is " + text(program, x));
  }
  if (type == ElementType::uint64) {  // 2^63 - 1 and more have no bin but the overflow
    const Scalar most(static_cast<std::uint64_t>(INT64_MAX));
    const Id limit = program.node(
        {.kind = Kind::constant, .type = type, .payload = static_cast<std::int64_t>(most.bits()), .args = {}});
    x = program.map(Op::minimum, {x, limit});
  }
  return program.convert(x, ElementType::int64);
}

ElementType type_of_reduction(Reduction reduction, ElementType type) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::product:
      if (detail::is_float(type)) return type;
      return type == ElementType::boolean || detail::is_signed(type) ? ElementType::int64 : ElementType::uint64;
    case Reduction::any:
    case Reduction::all:
      return ElementType::boolean;
    case Reduction::minimum:
    case Reduction::maximum:
      return type;
    case Reduction::argmin:
    case Reduction::argmax:
      return ElementType::int32;
  }
  upsweep::detail::no_such_value();
}

Value value(Id id) { return static_cast<Value>(id); }
Domain domain_of(Id id) { return static_cast<Domain>(id); }

}  // namespace

Builder::Builder() : program_(std::make_unique<Program>()) {}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

// ------------------------------------------------------------------------------------------------------------- domains

Domain Builder::events() { return domain_of(program_->domain({.kind = DomainKind::events, .parts = {}})); }

Domain Builder::list(Domain parent, int column, ElementType offsets) {
  const Id p = checked(*program_, "list", parent);
  require_column("list", column);
  if (offsets != ElementType::int32 && offsets != ElementType::uint32 && offsets != ElementType::int64) {
    refuse("list", "offsets must be int32, uint32 or int64, not " + std::string(name(offsets)));
  }
  if (!is_input(*program_, p)) refuse("list", domain_text(*program_, p) + " is not events, list or regular");
  return domain_of(program_->domain(
      {.kind = DomainKind::list, .parent = p, .payload = column, .flag = static_cast<int>(offsets), .parts = {}}));
}

Domain Builder::regular(Domain parent, std::int64_t size) {
  const Id p = checked(*program_, "regular", parent);
  if (size < 0 || size > INT32_MAX) refuse("regular", "the size " + std::to_string(size) + " is not in 0 … 2^31 - 1");
  return domain_of(program_->domain({.kind = DomainKind::regular, .parent = p, .payload = size, .parts = {}}));
}

Domain Builder::filter(Domain domain, Value mask) {
  const Id d = checked(*program_, "filter", domain), m = checked(*program_, "filter", mask);
  require_type(*program_, "filter", m, ElementType::boolean, "the mask");
  const Id over = filled(*program_, "filter", m, d, "the mask");
  return domain_of(program_->domain(
      {.kind = DomainKind::filter, .parent = program_->domain_at(d).parent, .value = over, .parts = {d}}));
}

Domain Builder::gather(Domain lists, Value index) {
  const Id l = checked_lists(*program_, "gather", lists), i = checked(*program_, "gather", index);
  require_type(*program_, "gather", i, ElementType::int32, "the index");
  if (program_->is_scalar(i)) refuse("gather", "the index is a scalar; use fill()");
  return domain_of(
      program_->domain({.kind = DomainKind::gather, .parent = program_->at(i).domain, .value = i, .parts = {l}}));
}

Domain Builder::combinations(Domain lists, int k, bool replacement) {
  const Id l = checked_lists(*program_, "combinations", lists);
  if (k < 1 || k > kMaxMembers) refuse("combinations", "k is " + std::to_string(k) + ", but must be 1 to 8");
  return domain_of(program_->domain({.kind = DomainKind::combinations,
                                     .parent = program_->domain_at(l).parent,
                                     .payload = k,
                                     .flag = replacement ? 1 : 0,
                                     .parts = {l}}));
}

Domain Builder::product(Domain a, Domain b, bool nested) {
  const Id x = checked_lists(*program_, "product", a), y = checked_lists(*program_, "product", b);
  if (program_->domain_at(x).parent != program_->domain_at(y).parent) {
    refuse("product", domain_text(*program_, x) + " and " + domain_text(*program_, y) + " have different parents");
  }
  const Domain made = domain_of(program_->domain({.kind = DomainKind::product, .parent = x, .parts = {x, y}}));
  return nested ? made : flatten(made);
}

Domain Builder::concatenation(std::span<const Domain> lists) {
  if (lists.empty()) refuse("concatenation", "there are no lists");
  std::vector<Id> parts;
  for (const Domain part : lists) parts.push_back(checked_lists(*program_, "concatenation", part));
  const Id parent = program_->domain_at(parts[0]).parent;
  for (const Id part : parts) {
    if (program_->domain_at(part).parent != parent) {
      refuse("concatenation",
             domain_text(*program_, parts[0]) + " and " + domain_text(*program_, part) + " have different parents");
    }
  }
  return domain_of(program_->domain({.kind = DomainKind::concatenation, .parent = parent, .parts = std::move(parts)}));
}

Domain Builder::pad(Domain lists, std::int64_t length) {
  const Id l = checked_lists(*program_, "pad", lists);
  if (length < 0 || length > INT32_MAX)
    refuse("pad", "the length " + std::to_string(length) + " is not in 0 … 2^31 - 1");
  return domain_of(program_->domain(
      {.kind = DomainKind::pad, .parent = program_->domain_at(l).parent, .payload = length, .parts = {l}}));
}

Domain Builder::flatten(Domain lists) {
  const Id l = checked_lists(*program_, "flatten", lists);
  const Id outer = program_->domain_at(l).parent;
  if (program_->domain_at(outer).parent == kNone) {
    refuse("flatten", domain_text(*program_, l) + " has no lists of lists; values over it are flat already");
  }
  return domain_of(program_->domain({.kind = DomainKind::flatten,
                                     .parent = program_->domain_at(outer).parent,
                                     .space = program_->space(l),
                                     .parts = {l}}));
}

std::optional<Domain> Builder::parent(Domain domain) const {
  const Id parent = program_->domain_at(checked(*program_, "parent", domain)).parent;
  if (parent == kNone) return std::nullopt;
  return domain_of(parent);
}

bool Builder::same_elements(Domain a, Domain b) const {
  return program_->space(checked(*program_, "same_elements", a)) ==
         program_->space(checked(*program_, "same_elements", b));
}

// -------------------------------------------------------------------------------------------------------------- values

Value Builder::column(int column, ElementType type, Domain domain) {
  const Id d = checked(*program_, "column", domain);
  require_column("column", column);
  if (!is_input(*program_, d)) refuse("column", domain_text(*program_, d) + " is not events, list or regular");
  return value(program_->node({.kind = Kind::column, .type = type, .domain = d, .payload = column, .args = {}}));
}

Value Builder::constant(Scalar number) {
  return value(program_->node({.kind = Kind::constant,
                               .type = number.type(),
                               .payload = static_cast<std::int64_t>(number.bits()),
                               .args = {}}));
}

Value Builder::parameter(int index, ElementType type) {
  if (index < 0) refuse("parameter", "index " + std::to_string(index) + " is negative");
  return value(program_->node({.kind = Kind::parameter, .type = type, .payload = index, .args = {}}));
}

Value Builder::map(Op op, std::span<const Value> args) {
  const std::string call = "map(" + std::string(name(op)) + ")";
  if (static_cast<int>(args.size()) != arity(op)) {
    refuse(call, "needs " + std::to_string(arity(op)) + " operands, not " + std::to_string(args.size()));
  }
  std::vector<Id> ids;
  for (const Value arg : args) ids.push_back(checked(*program_, call, arg));
  const std::size_t first = op == Op::where ? 1 : 0;
  if (op == Op::where) require_type(*program_, call, ids[0], ElementType::boolean, "the condition");
  const ElementType type = program_->at(ids[first]).type;
  if (!is_defined(op, type)) refuse(call, "is not defined for " + text(*program_, ids[first]));
  for (std::size_t i = first; i < ids.size(); ++i) {
    if (program_->at(ids[i]).type != type) {
      refuse(call,
             text(*program_, ids[first]) + " and " + text(*program_, ids[i]) + " have different types; use convert()");
    }
  }
  require_one_domain(*program_, call, ids);
  return value(program_->map(op, std::move(ids)));
}

Value Builder::convert(Value x, ElementType type) {
  return value(program_->convert(checked(*program_, "convert", x), type));
}

Value Builder::fill(Value scalar, Domain domain) {
  const Id x = checked(*program_, "fill", scalar), d = checked(*program_, "fill", domain);
  if (!program_->is_scalar(x)) refuse("fill", text(*program_, x) + " is not a scalar");
  return value(program_->fill(x, d));
}

Value Builder::take(Value x, Value index) {
  const Id from = checked(*program_, "take", x), i = checked(*program_, "take", index);
  require_type(*program_, "take", i, ElementType::int32, "the index");
  if (program_->is_scalar(i)) refuse("take", "the index is a scalar; use fill()");
  return value(program_->take(from, i));
}

Value Builder::call(const Loop& loop, std::span<const Value> args, ElementType type) {
  if (loop.run == nullptr) refuse("call", "the loop is null");
  if (args.empty() || args.size() > kMaxOperands) {
    refuse("call", "a loop has 1 to 3 operands, not " + std::to_string(args.size()));
  }
  std::vector<Id> ids;
  for (const Value arg : args) ids.push_back(checked(*program_, "call", arg));
  require_one_domain(*program_, "call", ids);
  return value(program_->call(loop, std::move(ids), type));
}

Value Builder::lookup(int column, ElementType type, Value index) {
  Id i = checked(*program_, "lookup", index);
  require_column("lookup", column);
  if (!detail::is_integer(program_->at(i).type)) {
    refuse("lookup", "the index must be an integer, but is " + text(*program_, i));
  }
  if (program_->is_scalar(i)) refuse("lookup", "the index is a scalar; use fill()");
  i = program_->convert(i, ElementType::int64);
  return value(program_->node(
      {.kind = Kind::lookup, .type = type, .domain = program_->at(i).domain, .payload = column, .args = {i}}));
}

Value Builder::search(int column, Value x, bool right) {
  const Id from = checked(*program_, "search", x);
  require_column("search", column);
  if (program_->at(from).type == ElementType::boolean) refuse("search", "is not defined for " + text(*program_, from));
  if (program_->is_scalar(from)) refuse("search", "x is a scalar; use fill()");
  return value(program_->node({.kind = Kind::search,
                               .type = ElementType::int64,
                               .domain = program_->at(from).domain,
                               .of = right ? 1 : 0,
                               .payload = column,
                               .args = {from}}));
}

Value Builder::positions(Domain domain) {
  const Id d = program_->space(checked(*program_, "positions", domain));
  return value(program_->node({.kind = Kind::positions, .type = ElementType::int32, .domain = d, .args = {}}));
}

Value Builder::numbers(Value index, Domain domain) {
  const Id i = checked(*program_, "numbers", index), d = program_->space(checked(*program_, "numbers", domain));
  require_type(*program_, "numbers", i, ElementType::int32, "the index");
  if (program_->is_scalar(i)) refuse("numbers", "the index is a scalar; use fill()");
  if (!is_input(*program_, d)) refuse("numbers", domain_text(*program_, d) + " is not events, list or regular");
  return value(program_->node(
      {.kind = Kind::numbers, .type = ElementType::int64, .domain = program_->at(i).domain, .of = d, .args = {i}}));
}

Value Builder::parents(Domain lists) { return value(program_->parents(checked_lists(*program_, "parents", lists))); }

Value Builder::starts(Domain lists) {
  const Id d = checked_lists(*program_, "starts", lists);
  return value(program_->node({.kind = Kind::starts,
                               .type = ElementType::int32,
                               .domain = program_->space(program_->domain_at(d).parent),
                               .of = d,
                               .args = {}}));
}

Value Builder::counts(Domain lists) {
  const Id d = checked_lists(*program_, "counts", lists);
  const Id over = program_->space(program_->domain_at(d).parent);
  if (program_->domain_at(d).kind == DomainKind::regular) {
    return fill(constant(Scalar(static_cast<std::int32_t>(program_->domain_at(d).payload))), domain_of(over));
  }
  return value(program_->node({.kind = Kind::counts, .type = ElementType::int32, .domain = over, .of = d, .args = {}}));
}

Value Builder::source(Domain domain, int which) {
  const Id d = checked(*program_, "source", domain);
  Id origin = d;
  while (program_->domain_at(origin).kind == DomainKind::flatten) origin = program_->domain_at(origin).parts[0];
  int members = 0;
  switch (program_->domain_at(origin).kind) {
    case DomainKind::filter:
    case DomainKind::gather:
    case DomainKind::pad:
      members = 1;
      break;
    case DomainKind::product:
      members = 2;
      break;
    case DomainKind::combinations:
      members = static_cast<int>(program_->domain_at(origin).payload);
      break;
    default:
      refuse("source", domain_text(*program_, d) + " does not stem from another domain");
  }
  if (which < 0 || which >= members) {
    refuse("source", "member " + std::to_string(which) + " of " + domain_text(*program_, d) +
                         " does not exist; there are " + std::to_string(members));
  }
  return value(program_->source(d, which));
}

Value Builder::concatenate(Domain concatenation, std::span<const Value> parts) {
  const Id d = checked(*program_, "concatenate", concatenation);
  if (program_->domain_at(d).kind != DomainKind::concatenation) {
    refuse("concatenate", domain_text(*program_, d) + " is not a concatenation");
  }
  const std::vector<Id> lists = program_->domain_at(d).parts;
  if (parts.size() != lists.size()) {
    refuse("concatenate", "needs " + std::to_string(lists.size()) + " values, not " + std::to_string(parts.size()));
  }
  std::vector<Id> ids;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Id part = checked(*program_, "concatenate", parts[i]);
    ids.push_back(filled(*program_, "concatenate", part, lists[i], "part " + std::to_string(i)));
    if (program_->at(ids[i]).type != program_->at(ids[0]).type) {
      refuse("concatenate",
             text(*program_, ids[0]) + " and " + text(*program_, ids[i]) + " have different types; use convert()");
    }
  }
  const ElementType type = program_->at(ids[0]).type;
  const Id beside = program_->beside(program_->beside_domain(d), std::move(ids), type);
  return value(program_->take(beside, program_->source(d, 0)));
}

Value Builder::reduce(Reduction reduction, Value x, Domain lists) {
  const std::string call = "reduce(" + std::string(name(reduction)) + ")";
  const Id d = checked_lists(*program_, call, lists);
  const Id from = filled(*program_, call, checked(*program_, call, x), d, "x");
  return value(program_->node({.kind = Kind::reduce,
                               .type = type_of_reduction(reduction, program_->at(from).type),
                               .domain = program_->space(program_->domain_at(d).parent),
                               .of = d,
                               .payload = static_cast<int>(reduction),
                               .args = {from}}));
}

Value Builder::argsort(Value x, Domain lists, bool ascending) {
  const Id d = checked_lists(*program_, "argsort", lists);
  const Id from = filled(*program_, "argsort", checked(*program_, "argsort", x), d, "x");
  return value(program_->node({.kind = Kind::argsort,
                               .type = ElementType::int32,
                               .domain = program_->space(d),
                               .of = d,
                               .payload = ascending ? 1 : 0,
                               .args = {from}}));
}

ElementType Builder::type(Value value) const { return program_->at(checked(*program_, "type", value)).type; }

std::optional<Domain> Builder::domain(Value value) const {
  const Id domain = program_->at(checked(*program_, "domain", value)).domain;
  if (domain == kNone) return std::nullopt;
  return domain_of(domain);
}

// ------------------------------------------------------------------------------------------------------------- effects

int Builder::output(Value value) {
  const Id id = checked(*program_, "output", value);
  if (program_->is_scalar(id)) refuse("output", text(*program_, id) + " is a scalar; use fill()");
  program_->outputs.push_back(id);
  return static_cast<int>(program_->outputs.size()) - 1;
}

int Builder::output_offsets(Domain lists) {
  program_->outputs.push_back(program_->offsets(checked_lists(*program_, "output_offsets", lists)));
  return static_cast<int>(program_->outputs.size()) - 1;
}

int Builder::histogram(std::span<const Value> values, std::span<const Axis> axes, std::optional<Value> weight) {
  if (values.empty() || values.size() != axes.size()) {
    refuse("histogram",
           std::to_string(values.size()) + " values for " + std::to_string(axes.size()) + " axes; each axis needs one");
  }
  detail::require_axes(axes);
  std::vector<Id> ids;
  for (const Value value : values) ids.push_back(checked(*program_, "histogram", value));
  if (weight) ids.push_back(checked(*program_, "histogram", *weight));
  const auto over = std::ranges::find_if(ids, [&](Id id) { return !program_->is_scalar(id); });
  if (over == ids.end()) refuse("histogram", "all values are scalars; use fill()");
  const Id domain = program_->at(*over).domain;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool is_weight = i == axes.size();
    const std::string what = is_weight ? "the weight" : "value " + std::to_string(i);
    if (!is_weight) ids[i] = binned(*program_, ids[i], axes[i], what);
    if (is_weight) ids[i] = program_->convert(ids[i], ElementType::float64);
    ids[i] = filled(*program_, "histogram", ids[i], domain, what);
  }
  const Id weights = weight ? ids.back() : kNone;
  ids.resize(axes.size());
  program_->histograms.push_back({{axes.begin(), axes.end()}, std::move(ids), weights});
  return static_cast<int>(program_->histograms.size()) - 1;
}

void Builder::check(Value mask, int message) {
  const Id id = checked(*program_, "check", mask);
  require_type(*program_, "check", id, ElementType::boolean, "the mask");
  if (program_->is_scalar(id)) refuse("check", text(*program_, id) + " is a scalar; use fill()");
  program_->checks.push_back({id, message});
}

void Builder::verify() const { program_->verify(); }
std::string Builder::to_text() const { return program_->to_text(); }

Plan Builder::compile() const {
  program_->verify();
  return Plan(detail::compiled(*program_));
}

}  // namespace upsweep::plan
