// SPDX-License-Identifier: Apache-2.0
// plan/compile.cpp: orders the nodes of a program, and gives each a place: a buffer, a register, or none.
//
// Order      a structural node (offsets, positions, reductions) is emitted as soon as possible. Otherwise all
//            element-wise nodes that are ready are collected by domain, and the largest collection becomes a group.
// Places     a value that does not leave its group lives in a register: a tile. Other values are arrays of the block.
//            Their buffers are used again once the last reader is done.
// Fusion     x[i] + y[j] and x + y[j] are one step each, because sums over combinations consist of them.
#include "plan/compile.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "plan/histogram.hpp"
#include "plan/kernels.hpp"
#include "plan/needs.hpp"
#include "plan/sink.hpp"
#include "plan/types.hpp"

namespace upsweep::plan::detail {
namespace {

int log2_size(ElementType type) { return std::countr_zero(static_cast<unsigned>(size_of(type))); }

/// An operand of an element-wise node.
struct Operand {
  Id node;
  bool whole;  ///< read at other places than the tile's
};

class Compiler {
 public:
  explicit Compiler(const Program& program) : program_(program), code_(std::make_shared<Compiled>()) {
    program_.max_nodes = SIZE_MAX;
  }

  std::shared_ptr<const Compiled> run() {
    sink_takes(program_);
    code_->loops = program_.loops;
    order_ = live_order(program_);
    const std::size_t count = program_.nodes.size();
    slot_.assign(count, -1), done_.assign(count, 0), users_.assign(count, {}), needs_.assign(count, {});
    fused_.assign(count, 0), needed_by_effect_.assign(count, 0), position_.assign(count, -1);
    for (std::size_t i = 0; i < order_.size(); ++i) position_[at(order_[i])] = static_cast<int>(i);
    find_needs();
    fuse();
    bind_inputs();
    emit_all();
    assign_buffers();
    code_->registers = registers_;
    finish_inputs();
    return code_;
  }

 private:
  static std::size_t at(Id node) { return static_cast<std::size_t>(node); }
  [[nodiscard]] const Node& node(Id id) const { return program_.at(id); }

  // ---- what each node needs

  void find_needs() {
    for (const Id id : order_) {
      needs_[at(id)] = needs(program_, id);
      std::ranges::sort(needs_[at(id)]);
      const auto same = std::ranges::unique(needs_[at(id)]);
      needs_[at(id)].erase(same.begin(), same.end());
      for (const Id need : needs_[at(id)]) users_[at(need)].push_back(id);
    }
    for (const Program::Check& check : program_.checks) needed_by_effect_[at(check.mask)] = 1;
    for (const Id output : program_.outputs) needed_by_effect_[at(output)] = 1;
    for (const Program::Histogram& histogram : program_.histograms) {
      for (const Id value : histogram.values) needed_by_effect_[at(value)] = 1;
      if (histogram.weight != kNone) needed_by_effect_[at(histogram.weight)] = 1;
    }
  }

  /// Whether a take is part of the only node that uses it.
  [[nodiscard]] bool is_fusible_take(Id id) const {
    const Node& n = node(id);
    if (n.kind != Kind::take || users_[at(id)].size() != 1 || needed_by_effect_[at(id)] != 0) return false;
    return is_float(n.type) && is_inside(n);
  }
  /// Whether all positions of a take are in range.
  [[nodiscard]] bool is_inside(const Node& take) const {
    return program_.target(take.args[1]) == node(take.args[0]).domain;
  }

  void fuse() {
    for (const Id id : order_) {
      const Node& n = node(id);
      if (n.kind != Kind::map || static_cast<Op>(n.payload) != Op::add || n.domain == kNone) continue;
      const Id x = n.args[0], y = n.args[1];
      if (x == y || program_.is_scalar(x) || !is_fusible_take(y)) continue;
      absorb(y, id);
      if (is_fusible_take(x)) absorb(x, id);
    }
  }

  void absorb(Id take, Id user) {
    fused_[at(take)] = 1;
    auto& list = needs_[at(user)];
    std::erase(list, take);
    for (const Id need : needs_[at(take)]) {
      if (std::ranges::find(list, need) == list.end()) list.push_back(need);
      std::erase(users_[at(need)], take);
      if (std::ranges::find(users_[at(need)], user) == users_[at(need)].end()) users_[at(need)].push_back(user);
    }
  }

  /// Returns the operands of an element-wise node, in the order of its kernel.
  [[nodiscard]] std::vector<Operand> operands(Id id) const {
    const Node& n = node(id);
    switch (n.kind) {
      case Kind::take:
        return {{n.args[0], true}, {n.args[1], false}};
      case Kind::counts:
        return {{offsets_of(n.of), false}};
      case Kind::positions:
        return {};
      default:
        break;
    }
    std::vector<Operand> made;
    for (const Id arg : n.args) {
      if (fused_[at(arg)] != 0) {
        made.push_back({node(arg).args[0], true});
        made.push_back({node(arg).args[1], false});
      } else {
        made.push_back({arg, false});
      }
    }
    return made;
  }

  [[nodiscard]] bool reads_whole(Id user, Id value) const {
    if (!is_element_wise(node(user).kind)) return true;
    return std::ranges::any_of(operands(user), [&](const Operand& o) { return o.node == value && o.whole; });
  }

  [[nodiscard]] Id offsets_of(Id domain) const { return const_cast<Program&>(program_).offsets(domain); }

  // ---- domains, slots

  std::int32_t domain(Id id) {
    const Id space = program_.space(id);
    if (program_.domain_at(space).kind == DomainKind::events) return 0;
    const auto [found, is_new] = domains_.try_emplace(space, code_->domains);
    if (is_new) ++code_->domains;
    return found->second;
  }

  std::int32_t new_slot(Place place, ElementType type, std::int32_t index = -1) {
    code_->slots.push_back({place, type, index});
    return static_cast<std::int32_t>(code_->slots.size()) - 1;
  }

  std::int32_t slot(Id id) {
    std::int32_t& found = slot_[at(id)];
    if (found < 0) {
      const Node& n = node(id);
      if (n.kind == Kind::starts) return found = slot(offsets_of(n.of));
      found = new_slot(program_.is_scalar(id) ? Place::scalar : Place::block, n.type);
    }
    return found;
  }

  // ---- inputs and scalars

  void bind_inputs() {
    for (const Id id : order_) {
      const Node& n = node(id);
      switch (n.kind) {
        case Kind::column:
          input_of(n.domain);
          slot_[at(id)] = new_slot(Place::column, n.type, static_cast<std::int32_t>(n.payload));
          break;
        case Kind::offsets:
        case Kind::numbers:
          input_of(n.of);
          break;
        case Kind::constant:
        case Kind::parameter: {
          slot_[at(id)] = new_slot(Place::scalar, n.type);
          const bool is_constant = n.kind == Kind::constant;
          code_->scalars.push_back({slot_[at(id)], is_constant ? -1 : static_cast<std::int32_t>(n.payload),
                                    is_constant ? scalar(n) : Scalar::of(n.type, std::int64_t{0})});
          break;
        }
        default:
          break;
      }
      if (n.kind == Kind::column || n.kind == Kind::constant || n.kind == Kind::parameter) done_[at(id)] = 1;
    }
    for (const Id id : order_) {
      const Node& n = node(id);
      if (n.kind == Kind::column) add_column(slot_[at(id)], n, input_of(n.domain), false);
    }
  }

  static Scalar scalar(const Node& n) {
    return visit_element(n.type, [&]<class T>(std::type_identity<T>) {
      T number;
      std::memcpy(&number, &n.payload, sizeof number);
      return Scalar(number);
    });
  }

  void add_column(std::int32_t slot, const Node& n, std::int32_t input, bool is_table) {
    code_->columns.push_back({slot, static_cast<std::int32_t>(n.payload), input,
                              code_->slots[static_cast<std::size_t>(slot)].type, is_table});
  }

  /// Returns the index of an input domain; -1 for the events and for domains that are not inputs.
  std::int32_t input_of(Id id) {
    const DomainNode d = program_.domain_at(id);
    if (d.kind != DomainKind::list && d.kind != DomainKind::regular) return -1;
    if (program_.domain_at(d.parent).kind != DomainKind::events && input_of(d.parent) < 0)
      return -1;  // regular, of others
    const auto found = inputs_.find(id);
    if (found != inputs_.end()) return found->second;
    const std::int32_t parent = input_of(d.parent);
    const bool is_list = d.kind == DomainKind::list;
    code_->inputs.push_back({domain(id), parent, is_list ? static_cast<std::int32_t>(d.payload) : -1,
                             static_cast<ElementType>(d.flag), is_list ? 0 : d.payload});
    return inputs_[id] = static_cast<std::int32_t>(code_->inputs.size()) - 1;
  }

  std::int32_t table(const Node& n, ElementType type) {
    const auto [found, is_new] = tables_.try_emplace(n.payload, -1);
    if (is_new) {
      found->second = new_slot(Place::table, type, static_cast<std::int32_t>(n.payload));
      add_column(found->second, n, -1, true);
    }
    return found->second;
  }

  void finish_inputs() {
    std::vector<int>& used = code_->used_columns;
    for (const BoundColumn& column : code_->columns) used.push_back(column.column);
    for (const InputDomain& input : code_->inputs) {
      if (input.column >= 0) used.push_back(input.column);
    }
    std::ranges::sort(used);
    const auto same = std::ranges::unique(used);
    used.erase(same.begin(), same.end());
    code_->names_of_columns = used.empty() ? 0 : used.back() + 1;
  }

  // ---- order

  [[nodiscard]] bool is_ready(Id id) const {
    return std::ranges::all_of(needs_[at(id)], [&](Id need) { return done_[at(need)] != 0; });
  }

  void emit_all() {
    std::vector<Id> waiting;
    for (const Id id : order_) {
      if (done_[at(id)] != 0 || fused_[at(id)] != 0) continue;
      if (program_.is_scalar(id)) {
        code_->prologue.push_back(step(id));
        done_[at(id)] = 1;
      } else {
        waiting.push_back(id);
      }
    }
    emit_effects();
    while (!waiting.empty()) {
      if (!emit_structure(waiting)) emit_group(waiting);
      std::erase_if(waiting, [&](Id id) { return done_[at(id)] != 0; });
      emit_effects();
    }
    emit_histograms();
    code_->node_instructions = static_cast<int>(code_->instructions.size() + code_->steps.size());
  }

  bool emit_structure(const std::vector<Id>& waiting) {
    bool any = false;
    for (const Id id : waiting) {
      if (done_[at(id)] != 0 || is_element_wise(node(id).kind) || !is_ready(id)) continue;
      structure(id);
      done_[at(id)] = 1;
      any = true;
    }
    return any;
  }

  void emit_group(const std::vector<Id>& waiting) {
    std::map<Id, std::vector<Id>> groups;
    std::vector<char> grouped(program_.nodes.size(), 0);
    for (const Id id : waiting) {
      if (!is_element_wise(node(id).kind)) continue;
      const bool fits = std::ranges::all_of(needs_[at(id)], [&](Id need) {
        if (done_[at(need)] != 0) return true;
        return grouped[at(need)] != 0 && node(need).domain == node(id).domain && !reads_whole(id, need);
      });
      if (!fits) continue;
      grouped[at(id)] = 1;
      groups[node(id).domain].push_back(id);
    }
    const auto best = std::ranges::max_element(groups, {}, [](const auto& group) { return group.second.size(); });
    group(best->second);
  }

  // ---- element-wise

  /// Returns the step of a node whose operands have slots.
  Step step(Id id) {
    const Node& n = node(id);
    Step made;
    int k = 0;
    for (const Operand& operand : operands(id)) {
      const std::int32_t from = slot(operand.node);
      const Slot& s = code_->slots[static_cast<std::size_t>(from)];
      made.in[k] = from;
      const bool moves = !operand.whole && (s.place == Place::block || s.place == Place::column);
      made.in_stride[k++] = static_cast<std::uint8_t>(moves ? size_of(s.type) : 0);
    }
    made.kernel = kernel(n, made);
    made.out = slot(id);
    return made;
  }

  int kernel(const Node& n, Step& made) {
    const int type = static_cast<int>(n.type);
    switch (n.kind) {
      case Kind::map: {
        const int fused = static_cast<int>(std::ranges::count_if(n.args, [&](Id arg) { return fused_[at(arg)] != 0; }));
        if (fused > 0) return (fused == 2 ? kTakeAdd : kAddTake) + (n.type == ElementType::float64 ? 1 : 0);
        const Id first = n.args[static_cast<Op>(n.payload) == Op::where ? 1 : 0];
        return static_cast<int>(n.payload) * kElementTypes + static_cast<int>(node(first).type);
      }
      case Kind::call:
        return kCalls + static_cast<int>(n.payload);
      case Kind::convert:
        return kConvert + static_cast<int>(node(n.args[0]).type) * kElementTypes + type;
      case Kind::take:
        if (is_inside(n)) return kTake + log2_size(n.type);
        made.length_of = domain(node(n.args[0]).domain);
        return kTakeClamped + log2_size(n.type);
      case Kind::lookup:
        made.in[1] = made.in[0], made.in_stride[1] = made.in_stride[0];
        made.in[0] = made.length_of = table(n, n.type), made.in_stride[0] = 0;
        return kLookup + log2_size(n.type);
      case Kind::search:
        made.in[1] = made.length_of = table(n, node(n.args[0]).type);
        return (n.of != 0 ? kSearchRight : kSearchLeft) + static_cast<int>(node(n.args[0]).type);
      case Kind::positions:
        return kPositions;
      case Kind::numbers:
        made.length_of = 1 + input_of(n.of);
        return kNumbers;
      case Kind::counts:
        return kCounts;
      default:
        return kCopy + log2_size(n.type);  // fill
    }
  }

  void group(const std::vector<Id>& nodes) {
    std::vector<int> last(program_.nodes.size(), -1);  // the last step that reads a node
    std::vector<char> inside(program_.nodes.size(), 0);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      inside[at(nodes[i])] = 1;
      for (const Operand& operand : operands(nodes[i])) last[at(operand.node)] = static_cast<int>(i);
    }
    Instruction made{.action = Action::group, .domain = domain(node(nodes[0]).domain)};
    made.first = static_cast<std::int32_t>(code_->steps.size());
    std::vector<std::int32_t> free;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Id id = nodes[i];
      const bool leaves = needed_by_effect_[at(id)] != 0 || std::ranges::any_of(users_[at(id)], [&](Id user) {
                            return inside[at(user)] == 0 || reads_whole(user, id);
                          });
      if (!leaves) {
        if (free.empty()) free.push_back(registers_++);
        slot_[at(id)] = new_slot(Place::tile, node(id).type, free.back());
        free.pop_back();
      }
      Step s = step(id);
      s.out_stride = static_cast<std::uint8_t>(leaves ? size_of(node(id).type) : 0);
      s.output = only_output(id);
      if (s.output >= 0) is_placed_[static_cast<std::size_t>(s.output)] = 1;
      code_->steps.push_back(s);
      std::vector<std::int32_t> dead;
      for (const Operand& operand : operands(id)) {
        const Slot& from = code_->slots[static_cast<std::size_t>(slot_[at(operand.node)])];
        if (from.place == Place::tile && last[at(operand.node)] == static_cast<int>(i)) dead.push_back(from.index);
      }
      std::ranges::sort(dead);
      const auto same = std::ranges::unique(dead);
      dead.erase(same.begin(), same.end());
      free.insert(free.end(), dead.begin(), dead.end());
      done_[at(id)] = 1;
    }
    made.last = static_cast<std::int32_t>(code_->steps.size());
    code_->instructions.push_back(made);
  }

  /// Returns the output that is this node, if nothing else needs the node; otherwise -1.
  [[nodiscard]] std::int32_t only_output(Id id) const {
    if (!users_[at(id)].empty() || std::ranges::count(program_.outputs, id) != 1) return -1;
    const bool is_checked = std::ranges::any_of(program_.checks, [&](const auto& check) { return check.mask == id; });
    const bool is_binned = std::ranges::any_of(program_.histograms, [&](const auto& histogram) {
      return histogram.weight == id || std::ranges::find(histogram.values, id) != histogram.values.end();
    });
    if (is_checked || is_binned) return -1;
    return static_cast<std::int32_t>(std::ranges::find(program_.outputs, id) - program_.outputs.begin());
  }

  // ---- structure

  Instruction& put(Action action, Id over) {
    code_->instructions.push_back({.action = action});
    Instruction& made = code_->instructions.back();
    if (over != kNone) made.domain = domain(over);
    return made;
  }

  void operands_of_parts(Instruction& made, const std::vector<Id>& parts) {
    made.first = static_cast<std::int32_t>(code_->operands.size());
    for (const Id part : parts) code_->operands.push_back(slot(offsets_of(part)));
    made.last = static_cast<std::int32_t>(code_->operands.size());
  }

  void structure(Id id) {
    const Node n = node(id);
    switch (n.kind) {
      case Kind::starts:
        slot(id);
        break;
      case Kind::offsets:
        offsets(id, n);
        break;
      case Kind::source:
        source(id, n);
        break;
      case Kind::parents: {
        Instruction& made = put(Action::parents, program_.domain_at(n.of).parent);
        made.in[0] = slot(offsets_of(n.of)), made.out = slot(id), made.made = domain(n.of);
        break;
      }
      case Kind::before: {
        const DomainNode d = program_.domain_at(n.of);
        Instruction& made = put(Action::filter, d.parts[0]);
        made.in[0] = slot(d.value), made.made = domain(n.of);
        const Id places = program_.source(n.of, 0);
        if (at(places) < position_.size() && position_[at(places)] >= 0) made.out = slot(places);
        const bool is_read = std::ranges::any_of(
            users_[at(id)], [&](Id user) { return node(user).kind == Kind::offsets && node(user).of == n.of; });
        if (is_read) made.extra = slot(id);
        break;
      }
      case Kind::beside: {
        Instruction& made = put(Action::beside, kNone);
        made.type = n.type, made.out = slot(id), made.made = domain(n.of);
        made.first = static_cast<std::int32_t>(code_->operands.size());
        const std::vector<Id> parts = program_.domain_at(n.of).parts;
        for (std::size_t i = 0; i < n.args.size(); ++i) {
          code_->operands.push_back(slot(n.args[i]));
          code_->operands.push_back(domain(parts[i]));
        }
        made.last = static_cast<std::int32_t>(code_->operands.size());
        break;
      }
      case Kind::reduce:
      case Kind::argsort: {
        Instruction& made =
            put(n.kind == Kind::reduce ? Action::reduce : Action::argsort, program_.domain_at(n.of).parent);
        made.type = node(n.args[0]).type, made.which = static_cast<std::uint8_t>(n.payload), made.flag = n.payload != 0;
        made.in[0] = slot(n.args[0]), made.in[1] = slot(offsets_of(n.of)), made.out = slot(id),
        made.made = domain(n.of);
        break;
      }
      default:
        upsweep::detail::no_such_value();
    }
  }

  void offsets(Id id, const Node& n) {
    const DomainNode d = program_.domain_at(n.of);
    const auto start = [&](Action action, Id over) -> Instruction& {
      Instruction& made = put(action, over);
      made.out = slot(id), made.made = domain(n.of), made.size = d.payload, made.flag = d.flag != 0;
      return made;
    };
    switch (d.kind) {
      case DomainKind::list:
        start(Action::input_offsets, d.parent).member = input_of(n.of);
        break;
      case DomainKind::regular:
        start(Action::regular_offsets, d.parent);
        break;
      case DomainKind::filter: {
        Instruction& made = start(Action::filter_offsets, d.parent);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = slot(program_.before(n.of));
        break;
      }
      case DomainKind::gather: {
        Instruction& made = start(Action::gather_offsets, d.parent);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = slot(d.value);
        made.member = domain(program_.domain_at(d.parts[0]).parent);
        break;
      }
      case DomainKind::combinations: {
        start(Action::combination_offsets, d.parent).in[0] = slot(offsets_of(d.parts[0]));
        break;
      }
      case DomainKind::product: {
        Instruction& made = start(Action::product_offsets, d.parent);
        made.in[0] = slot(program_.parents(d.parts[0])), made.in[1] = slot(offsets_of(d.parts[1]));
        break;
      }
      case DomainKind::concatenation:
        operands_of_parts(start(Action::concatenation_offsets, d.parent), d.parts);
        break;
      case DomainKind::pad:
        start(Action::pad_offsets, d.parent).in[0] = slot(offsets_of(d.parts[0]));
        break;
      case DomainKind::flatten: {
        Instruction& made = start(Action::flat_offsets, d.parent);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = slot(offsets_of(program_.domain_at(d.parts[0]).parent));
        break;
      }
      default:
        upsweep::detail::no_such_value();
    }
  }

  void source(Id id, const Node& n) {
    const DomainNode d = program_.domain_at(n.of);
    if (d.kind == DomainKind::filter) return;  // `before` writes it
    const std::int32_t own = slot(offsets_of(n.of));
    const auto start = [&](Action action) -> Instruction& {
      Instruction& made = put(action, d.parent);
      made.out = slot(id), made.made = domain(n.of), made.size = d.payload, made.flag = d.flag != 0;
      return made;
    };
    switch (d.kind) {
      case DomainKind::gather: {
        Instruction& made = start(Action::gather_source);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = slot(d.value), made.in[2] = own;
        made.member = domain(program_.domain_at(d.parts[0]).parent);
        break;
      }
      case DomainKind::combinations: {
        Instruction& made = start(Action::combination_source);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = own, made.out = -1;
        made.first = static_cast<std::int32_t>(code_->operands.size());
        for (int member = 0; member < static_cast<int>(d.payload); ++member) {  // all that are needed, in one pass
          const Id other = program_.source(n.of, member);
          if (at(other) >= position_.size() || position_[at(other)] < 0) continue;
          code_->operands.push_back(slot(other));
          code_->operands.push_back(member);
          done_[at(other)] = 1;
        }
        made.last = static_cast<std::int32_t>(code_->operands.size());
        break;
      }
      case DomainKind::product: {
        Instruction& made = start(Action::product_source);
        made.in[0] = slot(program_.parents(d.parts[0])), made.in[1] = slot(offsets_of(d.parts[1])), made.in[2] = own;
        break;
      }
      case DomainKind::concatenation: {
        Instruction& made = start(Action::concatenation_source);
        made.in[0] = own;
        operands_of_parts(made, d.parts);
        break;
      }
      default: {  // pad
        Instruction& made = start(Action::pad_source);
        made.in[0] = slot(offsets_of(d.parts[0])), made.in[1] = own;
      }
    }
  }

  // ---- effects

  void emit_effects() {
    if (!effects_begun_) {
      effects_begun_ = true;
      checks_done_.assign(program_.checks.size(), 0), outputs_done_.assign(program_.outputs.size(), 0);
      is_placed_.assign(program_.outputs.size(), 0);
      for (const Program::Check& check : program_.checks) code_->messages.push_back(check.message);
      for (const Id output : program_.outputs) {
        const bool is_offsets = node(output).kind == Kind::offsets;
        OutputInfo made{is_offsets ? ElementType::int64 : node(output).type, is_offsets};
        const Id over = program_.space(node(output).domain);
        const bool is_over_events = program_.domain_at(over).kind == DomainKind::events;
        if (is_over_events || (!is_offsets && input_of(over) >= 0)) made.input = 1 + input_of(over);
        code_->outputs.push_back(made);
      }
    }
    for (std::size_t i = 0; i < program_.checks.size(); ++i) {
      const Id mask = program_.checks[i].mask;
      if (checks_done_[i] != 0 || !is_complete(mask)) continue;
      checks_done_[i] = 1;
      Instruction& made = put(Action::check, node(mask).domain);
      made.in[0] = slot(mask), made.member = static_cast<std::int32_t>(i);
    }
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const Id output = program_.outputs[i];
      if (outputs_done_[i] != 0 || !is_complete(output)) continue;
      outputs_done_[i] = 1;
      Instruction& made =
          put(code_->outputs[i].is_offsets ? Action::output_offsets : Action::output, node(output).domain);
      made.in[0] = slot(output), made.type = node(output).type, made.member = static_cast<std::int32_t>(i);
      made.flag = is_placed_[i] != 0;
    }
  }

  /// Histograms are filled last: once their bins change, the attempt to run the block must not fail.
  void emit_histograms() {
    for (std::size_t h = 0; h < program_.histograms.size(); ++h) {
      const Program::Histogram& histogram = program_.histograms[h];
      Instruction& made = put(Action::histogram, node(histogram.values[0]).domain);
      made.member = static_cast<std::int32_t>(h);
      made.first = static_cast<std::int32_t>(code_->operands.size());
      for (const Id value : histogram.values) code_->operands.push_back(slot(value));
      if (histogram.weight != kNone) code_->operands.push_back(slot(histogram.weight));
      made.last = static_cast<std::int32_t>(code_->operands.size());
      std::vector<bool> are_floats(histogram.values.size());
      std::transform(histogram.values.begin(), histogram.values.end(), are_floats.begin(),
                     [&](Id value) { return is_float(node(value).type); });
      code_->histograms.push_back(histogram_code(histogram.axes, are_floats, histogram.weight != kNone));
      code_->histograms.back().offset = code_->unit_bytes;
      code_->unit_bytes += cell_bytes(code_->histograms.back());
    }
  }

  /// Whether a value and the length of its domain are there.
  [[nodiscard]] bool is_complete(Id id) {
    if (done_[at(id)] == 0) return false;
    const Id length = length_node(program_, node(id).domain);
    return length == kNone || done_[at(length)] != 0;
  }

  // ---- buffers

  template <class F>
  void for_each_write(const Instruction& in, F f) const {
    f(in.out), f(in.extra);
    for (std::int32_t i = in.first; in.action == Action::combination_source && i < in.last; i += 2) {
      f(code_->operands[static_cast<std::size_t>(i)]);
    }
    for (std::int32_t i = in.first; in.action == Action::group && i < in.last; ++i) {
      f(code_->steps[static_cast<std::size_t>(i)].out);
    }
  }

  /// Arrays whose lifes do not overlap share a buffer; preferably those of one domain, which are of one size.
  void assign_buffers() {
    std::vector<int> last(code_->slots.size(), -1);
    const auto& instructions = code_->instructions;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto note = [&](std::int32_t s) {
        if (s >= 0) last[static_cast<std::size_t>(s)] = static_cast<int>(i);
      };
      for_each_read(*code_, instructions[i], note);
      for_each_write(instructions[i], note);
    }
    struct Free {
      std::int32_t buffer, domain;
    };
    std::vector<Free> free;
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const std::int32_t size_class = instructions[i].domain;
      for_each_write(instructions[i], [&](std::int32_t s) {
        if (s < 0) return;
        Slot& slot = code_->slots[static_cast<std::size_t>(s)];
        if (slot.place != Place::block || slot.index >= 0) return;
        if (free.empty()) {
          slot.index = code_->buffers++;
          return;
        }
        auto found = std::find_if(free.rbegin(), free.rend(), [&](const Free& f) { return f.domain == size_class; });
        if (found == free.rend()) found = free.rbegin();
        slot.index = found->buffer;
        free.erase(std::next(found).base());
      });
      const auto release = [&](std::int32_t s) {
        if (s < 0 || last[static_cast<std::size_t>(s)] != static_cast<int>(i)) return;
        const Slot& slot = code_->slots[static_cast<std::size_t>(s)];
        if (slot.place != Place::block) return;
        free.push_back({slot.index, size_class});
        last[static_cast<std::size_t>(s)] = -1;
      };
      for_each_read(*code_, instructions[i], release);
      for_each_write(instructions[i], release);
    }
  }

  Program program_;
  std::shared_ptr<Compiled> code_;
  std::vector<Id> order_;
  std::vector<int> position_;  // by node: its index in order_; -1: it is not needed
  std::vector<std::int32_t> slot_;
  std::vector<char> done_, fused_, needed_by_effect_, checks_done_, outputs_done_;
  std::vector<char> is_placed_;  // by output: a step computes it where it is
  std::vector<std::vector<Id>> users_, needs_;
  std::map<Id, std::int32_t> domains_, inputs_;
  std::map<std::int64_t, std::int32_t> tables_;
  int registers_ = 0;
  bool effects_begun_ = false;
};

}  // namespace

std::shared_ptr<const Compiled> compiled(const Program& program) { return Compiler(program).run(); }

}  // namespace upsweep::plan::detail
