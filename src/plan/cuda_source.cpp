// SPDX-License-Identifier: Apache-2.0
// plan/cuda_source.cpp: writes a plan as one CUDA kernel.
//
// A block of threads takes events in turn. It executes the instructions as a worker of the CPU does. A group of
// element-wise steps is a loop, whose values stay in registers. Other results are arrays in shared memory. If they do
// not fit, half of the events are tried.
#include "plan/cuda_source.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "plan/cuda_prelude.hpp"
#include "plan/types.hpp"
#include "upsweep/error.hpp"

namespace upsweep::plan::detail {
namespace {

using Text = std::string;

// The code of a plan is written once, so temporary strings do not matter.
// NOLINTBEGIN(performance-inefficient-string-concatenation)

Text str(std::int64_t x) { return std::to_string(x); }
const char* type_name(ElementType type) {
  static constexpr std::array kNames = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "u8"};
  return kNames[static_cast<std::size_t>(type)];
}
int bits_of(ElementType type) { return 8 * size_of(type); }
Text cast(ElementType type, const Text& x) { return Text("(") + type_name(type) + ")(" + x + ")"; }
Text lowest(ElementType type) {
  if (!is_signed(type)) return Text("(") + type_name(type) + ")0";
  return Text("(") + type_name(type) + ")((u64)1 << " + str(bits_of(type) - 1) + ")";
}
Text highest(ElementType type) {
  return Text("(") + type_name(type) + ")(~(u64)0 >> " + str(64 - bits_of(type) + (is_signed(type) ? 1 : 0)) + ")";
}
Text infinity(ElementType type, bool negative) {
  return Text(negative ? "-" : "") + "number<" + type_name(type) + ">(" +
         (type == ElementType::float32 ? "0x7f800000ull" : "0x7ff0000000000000ull") + ")";
}

class Writer {
 public:
  explicit Writer(const Compiled& code) : code_(code) {}

  CudaCode run() {
    if (!code_.loops.empty()) {
      throw Error(Code::unsupported, "plan: a plan with loops of the caller does not run on a GPU");
    }
    find_arrays();
    find_counters();
    lay_out_words();
    body();
    made_.source = head() + kCudaPrelude + out_ + counts() + kCudaKernel;
    return std::move(made_);
  }

 private:
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] const Slot& slot(std::int32_t s) const { return code_.slots[index(s)]; }
  static Text word(int i) { return "a.w[" + str(i) + "]"; }

  // ---- arrays, counters, words

  void array(std::int32_t s, std::int32_t domain, bool has_end, int instruction) {
    if (s < 0 || slot(s).place != Place::block || array_of_.contains(s)) return;
    array_of_[s] = static_cast<int>(made_.arrays.size());
    made_.arrays.push_back({s, domain, has_end, instruction, instruction});
  }

  void find_arrays() {
    for (int i = 0; i < static_cast<int>(code_.instructions.size()); ++i) {
      const Instruction& in = code_.instructions[index(i)];
      switch (in.action) {
        case Action::group:
          for (std::int32_t s = in.first; s < in.last; ++s) {
            if (code_.steps[index(s)].out_stride != 0) array(code_.steps[index(s)].out, in.domain, false, i);
          }
          break;
        case Action::filter:
          array(in.out, in.made, false, i);
          array(in.extra, in.domain, true, i);
          break;
        case Action::input_offsets:
        case Action::regular_offsets:
        case Action::filter_offsets:
        case Action::gather_offsets:
        case Action::combination_offsets:
        case Action::product_offsets:
        case Action::concatenation_offsets:
        case Action::pad_offsets:
        case Action::flat_offsets:
          array(in.out, in.domain, true, i);
          break;
        case Action::combination_source:
          for (std::int32_t o = in.first; o < in.last; o += 2) array(code_.operands[index(o)], in.made, false, i);
          break;
        case Action::reduce:
          array(in.out, in.domain, false, i);
          break;
        default:
          array(in.out, in.made, false, i);
      }
      for_each_read(code_, in, [&](std::int32_t s) {
        const auto found = array_of_.find(s);
        if (found != array_of_.end()) made_.arrays[index(found->second)].last = i;
      });
    }
  }

  /// Outputs over one domain share a counter. Each output of offsets has one for the elements of its lists.
  void find_counters() {
    made_.counter_of_output.assign(code_.outputs.size(), -1);
    for (const Instruction& in : code_.instructions) {
      if (in.action != Action::output && in.action != Action::output_offsets) continue;
      if (in.domain != 0 && !counter_of_domain_.contains(in.domain)) {
        counter_of_domain_[in.domain] = made_.counters++;
      }
      if (in.domain != 0) made_.counter_of_output[index(in.member)] = counter_of_domain_[in.domain];
      if (in.action == Action::output_offsets) total_counter_[in.member] = made_.counters++;
    }
    made_.counters = std::max(made_.counters, 1);  // CUDA C++ has no empty arrays
  }

  void lay_out_words() {
    CudaWords& w = made_.words;
    w.columns = CudaWords::tables;
    w.scalars = w.columns + 2 * code_.names_of_columns;
    w.capacities = w.scalars + static_cast<int>(code_.scalars.size());
    w.places = w.capacities + 2 * code_.domains;
    w.outputs = w.places + 2 * static_cast<int>(made_.arrays.size());
    w.axes = w.outputs + 2 * static_cast<int>(code_.outputs.size());
    w.cells = w.axes;
    for (const HistogramCode& histogram : code_.histograms) w.cells += static_cast<int>(histogram.axes.size());
    w.counted = w.cells + static_cast<int>(code_.histograms.size());
    w.count = w.counted + static_cast<int>(code_.histograms.size());
  }

  // ---- operands

  /// The name of a scalar, or of the first element of an array.
  [[nodiscard]] Text name(std::int32_t s) const { return (slot(s).place == Place::scalar ? "s" : "p") + str(s); }
  [[nodiscard]] static Text length(std::int32_t domain) { return "n" + str(domain); }
  [[nodiscard]] Text operand(const Step& step, int k) const {
    const std::int32_t s = step.in[k];
    if (slot(s).place == Place::scalar) return "s" + str(s);
    if (slot(s).place == Place::tile) return "v" + str(s);
    if (inside_.contains(s) && step.in_stride[k] != 0) return "v" + str(s);
    return step.in_stride[k] != 0 ? name(s) + "[i]" : name(s);
  }

  Text binary(ElementType t, const Text& x, const char* op, const Text& y) {
    if (t == ElementType::boolean || is_float(t)) return cast(t, x + " " + op + " " + y);
    return cast(t, "(u64)" + x + " " + op + " (u64)" + y);
  }

  Text map_text(Op op, ElementType t, const Text& x, const Text& y, const Text& z) {
    const Text both = "(" + x + ", " + y + ")";
    const bool is_real = is_float(t);
    const auto choice = [&](const char* compare, const Text& nan) {
      return "(" + x + " " + compare + " " + y + (is_real ? " || " + nan + " != " + nan : Text()) + " ? " + x + " : " +
             y + ")";
    };
    const auto compare = [&](const char* sign) { return "(u8)(" + x + " " + sign + " " + y + ")"; };
    const auto function = [&](const char* f) { return cast(t, Text(f) + "(" + x + ")"); };
    switch (op) {
      case Op::add:
        return binary(t, x, "+", y);
      case Op::subtract:
        return binary(t, x, "-", y);
      case Op::multiply:
        return binary(t, x, "*", y);
      case Op::divide:
        return x + " / " + y;
      case Op::floor_divide:
        return (is_real ? "floor_divide_floats" : "floor_divide_integers") + both;
      case Op::remainder:
        return (is_real ? "remainder_floats" : "remainder_integers") + both;
      case Op::fmod:
        return (is_real ? "fmod" : "fmod_integers") + both;
      case Op::power:
        return is_real ? cast(t, "pow" + both) : "power_integers" + both;
      case Op::maximum:
        return choice(">=", x);
      case Op::minimum:
        return choice("<=", x);
      case Op::fmax:
        return choice(">=", y);
      case Op::fmin:
        return choice("<=", y);
      case Op::negative:
        return is_real ? "-" + x : cast(t, "0 - (u64)" + x);
      case Op::absolute:
        return is_real ? function("fabs") : is_signed(t) ? cast(t, x + " < 0 ? 0 - (u64)" + x + " : (u64)" + x) : x;
      case Op::sign:
        return is_real ? "(" + x + " > 0 ? (" + type_name(t) + ")1 : " + x + " < 0 ? (" + type_name(t) + ")-1 : " + x +
                             " == 0 ? (" + type_name(t) + ")0 : " + x + ")"
                       : cast(t, "(" + x + " > 0) - (" + x + " < 0)");
      case Op::bit_and:
        return binary(t, x, "&", y);
      case Op::bit_or:
        return binary(t, x, "|", y);
      case Op::bit_xor:
        return binary(t, x, "^", y);
      case Op::invert:
        return t == ElementType::boolean ? "(u8)(" + x + " == 0)" : cast(t, "~" + x);
      case Op::shift_left:
        return "((u64)" + y + " < " + str(bits_of(t)) + " ? " + cast(t, "(u64)" + x + " << " + y) + " : (" +
               type_name(t) + ")0)";
      case Op::shift_right:
        return "((u64)" + y + " < " + str(bits_of(t)) + " ? " + cast(t, x + " >> " + y) + " : " +
               cast(t, is_signed(t) ? x + " < 0 ? -1 : 0" : Text("0")) + ")";
      case Op::less:
        return compare("<");
      case Op::less_equal:
        return compare("<=");
      case Op::greater:
        return compare(">");
      case Op::greater_equal:
        return compare(">=");
      case Op::equal:
        return compare("==");
      case Op::unequal:
        return compare("!=");
      case Op::where:
        return "(" + x + " != 0 ? " + y + " : " + z + ")";
      case Op::is_nan:
        return "(u8)(" + x + " != " + x + ")";
      case Op::is_infinite:
        return "(u8)(fabs(" + x + ") == " + infinity(t, false) + ")";
      case Op::is_finite:
        return "(u8)(fabs(" + x + ") < " + infinity(t, false) + ")";
      case Op::sign_bit:
        return "(u8)(signbit(" + x + ") ? 1 : 0)";
      case Op::copysign:
        return "copysign" + both;
      case Op::arctan2:
        return "atan2" + both;
      case Op::hypot:
        return "hypot" + both;
      case Op::arcsin:
        return function("asin");
      case Op::arccos:
        return function("acos");
      case Op::arctan:
        return function("atan");
      case Op::arcsinh:
        return function("asinh");
      case Op::arccosh:
        return function("acosh");
      case Op::arctanh:
        return function("atanh");
      default:
        return function(Text(plan::name(op)).c_str());  // floor … tanh: the names are C's
    }
  }

  Text convert_text(ElementType from, ElementType to, const Text& x) {
    if (to == ElementType::boolean) return "(u8)(" + x + " != 0)";
    if (!is_float(from) || is_float(to)) return cast(to, x);
    return Text("integer_of_float<") + type_name(to) + ">(" + x + ", " + (is_signed(to) ? "true" : "false") + ", " +
           str(bits_of(to)) + ", " + lowest(to) + ")";
  }

  /// The value of a step for element i.
  Text value(const Step& step) {
    const auto in = [&](int k) { return step.in[k] < 0 ? Text() : operand(step, k); };
    const int kernel = step.kernel;
    if (kernel < kConvert) {
      return map_text(static_cast<Op>(kernel / kElementTypes), static_cast<ElementType>(kernel % kElementTypes), in(0),
                      in(1), in(2));
    }
    if (kernel < kTake) {
      const int pair = kernel - kConvert;
      return convert_text(static_cast<ElementType>(pair / kElementTypes),
                          static_cast<ElementType>(pair % kElementTypes), in(0));
    }
    const auto element = [&](int k) {  // of a whole array, which may be a scalar
      return slot(step.in[k]).place == Place::scalar ? in(k) : in(k) + "[" + in(k + 1) + "]";
    };
    if (kernel < kTakeClamped) return element(0);
    if (kernel < kLookup) {
      return "clamped(" + in(0) + ", " + in(1) + ", " + length(step.length_of) + ")";
    }
    if (kernel < kCopy) {
      return "clamped(" + in(0) + ", " + in(1) + ", (i64)" + column_length(step.in[0]) + ")";
    }
    if (kernel < kTakeAdd) return in(0);
    if (kernel < kAddTake) return element(0) + " + " + element(2);
    if (kernel < kCounts) return in(0) + " + " + element(1);
    if (kernel == kCounts) return name(step.in[0]) + "[i + 1] - " + name(step.in[0]) + "[i]";
    if (kernel == kPositions) return "i";
    if (kernel == kNumbers) {
      const Text base = step.length_of > 0 ? "b" + str(step.length_of - 1) : "begin";
      return "(" + in(0) + " < 0 ? (i64)-1 : " + base + " + " + in(0) + ")";
    }
    const bool right = kernel >= kSearchRight;
    return "searched(" + in(0) + ", " + name(step.in[1]) + ", (i64)" + column_length(step.in[1]) + ", " +
           (right ? "true" : "false") + ")";
  }

  [[nodiscard]] Text column_length(std::int32_t s) const { return word(made_.words.columns + 2 * slot(s).index + 1); }

  // ---- the code

  void line(const Text& text) { out_ += "  " + text + "\n"; }
  void each(const Text& n, const Text& body) {
    line("EACH (i32 i = threadIdx.x; i < " + n + "; i += kThreads) { " + body + " }");
  }
  void set_length(std::int32_t domain, const Text& total) {
    line("{ const i64 total = " + total + "; if (!fits(a, t, " + str(domain) + ", total)) return kTooLarge; " +
         length(domain) + " = (i32)total; }");
  }

  [[nodiscard]] Text head() const {
    Text made = "constexpr int kThreads = " + str(kCudaThreads) + ", kWords = " + str(std::max(made_.words.count, 1)) +
                ", kCounters = " + str(made_.counters) + ", kDomains = " + str(code_.domains) +
                ", kArrays = " + str(static_cast<std::int64_t>(made_.arrays.size())) +
                ", kDigitBits = " + str(kDigitBits) + ", kDigits = " + str(kDigits) +
                ", kSumWords = " + str(kSumWords) + ";\n";
    made +=
        "enum { kEvents, kBlocks, kEventsPerBlock, kTickets, kStates, kLengths, kTotals, kTrouble, kArena, "
        "kArenaBytes, kIsLarge };\n";
    return kCudaTypes + made;
  }

  void body() {
    const CudaWords& w = made_.words;
    out_ += R"text(
DEVICE i64 capacity_of(const Words& a, const Team& t, int domain) {
  return (i64)a.w[)text" +
            str(w.capacities) + R"text( + (t.is_large ? kDomains : 0) + domain];
}
DEVICE bool fits(const Words& a, Team& t, int domain, i64 total) {
  if (threadIdx.x == 0) {
    if (t.longest[domain] < total) t.longest[domain] = total;
    if (t.is_single && t.longest[kDomains + domain] < total) t.longest[kDomains + domain] = total;
  }
  return total <= capacity_of(a, t, domain);
}

// Executes all instructions on n events.
DEVICE int attempt(const Words& a, Team& t, char* arena, char* counts, i64 block, i64 begin, i32 n0, bool is_whole) {
)text";
    line("i32 failed = 0x7fffffff;");
    scalars();
    for (int domain = 1; domain < code_.domains; ++domain) line("i32 n" + str(domain) + " = 0;");
    arrays();
    inputs();
    for (const Instruction& in : code_.instructions) {
      if (in.action == Action::group) {
        group(in);
      } else {
        structure(in);
      }
    }
    line("return failed < 0x7fffffff ? kCheck + failed : kFine;\n}");
  }

  void scalars() {
    for (std::size_t i = 0; i < code_.scalars.size(); ++i) {
      const std::int32_t s = code_.scalars[i].slot;
      const char* type = type_name(slot(s).type);
      line(Text("const ") + type + " s" + str(s) + " = number<" + type + ">(" +
           word(made_.words.scalars + static_cast<int>(i)) + ");");
    }
    for (const Step& step : code_.prologue) {
      line(Text("const ") + type_name(slot(step.out).type) + " s" + str(step.out) + " = " + value(step) + ";");
    }
  }

  void arrays() {
    line("const int places = " + str(made_.words.places) + " + (t.is_large ? kArrays : 0);");
    for (std::size_t i = 0; i < made_.arrays.size(); ++i) {
      const std::int32_t s = made_.arrays[i].slot;
      const Text type = type_name(slot(s).type);
      line(type + "* const p" + str(s) + " = (" + type + "*)(arena + a.w[places + " +
           str(static_cast<std::int64_t>(i)) + "]);");
    }
  }

  void inputs() {
    for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
      const InputDomain& input = code_.inputs[i];
      const Text number = str(static_cast<std::int64_t>(i));
      const Text from = input.parent < 0 ? "begin" : "b" + str(input.parent);
      const Text upto = input.parent < 0 ? "(begin + n0)" : "e" + str(input.parent);
      if (input.column < 0) {
        const Text size = str(input.size);
        if (input.size > 0)
          line("if (" + upto + " > (i64)0x7fffffffffffffff / " + size + ") return bad_lists(a, begin);");
        line("const i64 b" + number + " = " + from + " * " + size + ", e" + number + " = " + upto + " * " + size + ";");
      } else {
        const Text type = type_name(input.offsets);
        const Text column = "((const " + type + "*)" + word(made_.words.columns + 2 * input.column) + ")";
        line("if (" + upto + " >= (i64)" + word(made_.words.columns + 2 * input.column + 1) +
             ") return bad_lists(a, begin);");
        line("const i64 b" + number + " = " + column + "[" + from + "], e" + number + " = " + column + "[" + upto +
             "];");
        line("if (b" + number + " < 0 || e" + number + " < b" + number + ") return bad_lists(a, begin);");
      }
      set_length(input.domain, "e" + number + " - b" + number);
    }
    for (const BoundColumn& bound : code_.columns) {
      const Text type = type_name(bound.type);
      const Text column = "(const " + type + "*)" + word(made_.words.columns + 2 * bound.column);
      if (!bound.is_table && bound.input >= 0) {
        const Text upto = "e" + str(bound.input);
        line("if (" + upto + " > (i64)" + word(made_.words.columns + 2 * bound.column + 1) +
             ") return bad_lists(a, begin);");
      }
      const Text first = bound.is_table ? Text() : bound.input < 0 ? " + begin" : " + b" + str(bound.input);
      line("const " + type + "* const p" + str(bound.slot) + " = " + column + first + ";");
    }
  }

  void group(const Instruction& in) {
    inside_.clear();
    Text body;
    for (std::int32_t k = in.first; k < in.last; ++k) {
      const Step& step = code_.steps[index(k)];
      body += "\n    const " + Text(type_name(slot(step.out).type)) + " v" + str(step.out) + " = " + value(step) + ";";
      if (step.out_stride != 0) body += " " + name(step.out) + "[i] = v" + str(step.out) + ";";
      inside_.insert(step.out);
    }
    each(length(in.domain), body + "\n  ");
    inside_.clear();
    line("sync();");
  }

  /// Makes offsets of lists. `length` is the length of list i; `before` declares what it needs.
  void sum_lengths(const Instruction& in, const Text& before, const Text& length_of_list) {
    const Text out = name(in.out), n = length(in.domain);
    each(n, before + " " + out + "[i] = as_length(" + length_of_list + ");");
    set_length(in.made, "scan(t, " + n + ", " + out + ")");
  }

  void structure(const Instruction& in) {
    const Text n = in.domain >= 0 ? length(in.domain) : "0";
    const auto p = [&](int k) { return name(in.in[k]); };
    const Text out = in.out >= 0 ? name(in.out) : Text();
    const Text count = in.made >= 0 ? length(in.made) : Text();
    switch (in.action) {
      case Action::group:
        return;
      case Action::input_offsets: {
        const InputDomain& of = code_.inputs[index(in.member)];
        const Text from = of.parent < 0 ? "begin" : "b" + str(of.parent);
        line("{ const " + Text(type_name(of.offsets)) + "* const from = (const " + type_name(of.offsets) + "*)" +
             word(made_.words.columns + 2 * of.column) + " + " + from + ";");
        line("i32 bad = 0x7fffffff;");
        line("EACH (i32 i = threadIdx.x; i <= " + n + "; i += kThreads) { " + out +
             "[i] = (i32)((i64)from[i] - (i64)from[0]);" +
             " if (i > 0 && from[i] < from[i - 1] && i < bad) bad = i; }");
        line("if (any_thread(bad < 0x7fffffff)) { if (bad < 0x7fffffff) bad_lists(a, begin); return kBadLists; } }");
        break;
      }
      case Action::regular_offsets:
        set_length(in.made, "(i64)" + n + " * " + str(in.size));
        line("EACH (i32 i = threadIdx.x; i <= " + n + "; i += kThreads) " + out + "[i] = i * (i32)" + str(in.size) +
             ";");
        break;
      case Action::filter: {
        const Text places = in.out >= 0 ? out : Text("(i32*)0");
        const Text before = in.extra >= 0 ? name(in.extra) : Text("(i32*)0");
        set_length(in.made, "filter(t, " + n + ", " + p(0) + ", " + places + ", capacity_of(a, t, " + str(in.made) +
                                "), " + before + ")");
        break;
      }
      case Action::filter_offsets:
        line("EACH (i32 i = threadIdx.x; i <= " + n + "; i += kThreads) " + out + "[i] = " + p(1) + "[" + p(0) +
             "[i]];");
        break;
      case Action::flat_offsets:
        line("EACH (i32 i = threadIdx.x; i <= " + n + "; i += kThreads) " + out + "[i] = " + p(0) + "[" + p(1) +
             "[i]];");
        break;
      case Action::gather_offsets:
        sum_lengths(in, chosen(in, "i"), "c < 0 ? 0 : " + p(0) + "[c + 1] - " + p(0) + "[c]");
        break;
      case Action::gather_source:
        each(count, "const i32 l = list_of(" + p(2) + ", " + n + ", i); " + chosen(in, "l") + " " + out +
                        "[i] = " + p(0) + "[c] + (i - " + p(2) + "[l]);");
        break;
      case Action::combination_offsets:
        sum_lengths(in, "const i64 m = " + p(0) + "[i + 1] - " + p(0) + "[i];",
                    in.size == 2 && !in.flag ? Text("m * (m - 1) / 2")
                    : in.size == 3 && !in.flag
                        ? Text("m < 4096 ? m * (m - 1) * (m - 2) / 6 : tuple_count(m, 3, false)")
                        : "tuple_count(m, " + str(in.size) + ", " + (in.flag ? "true" : "false") + ")");
        break;
      case Action::combination_source: {
        Text body = "const i32 l = list_of(" + p(1) + ", " + n + ", i), first = " + p(0) +
                    "[l]; const i64 m = " + p(0) + "[l + 1] - first; i64 rank = i - " + p(1) + "[l];";
        const bool is_pair = in.size == 2 && !in.flag, is_triple = in.size == 3 && !in.flag;
        if (is_pair) body += " i32 q = 0; for (; rank >= m - 1 - q; ++q) rank -= m - 1 - q;";
        if (is_triple) {
          body +=
              " i32 q = 0; for (i64 c; rank >= (c = (m - 1 - q) * (m - 2 - q) / 2); ++q) rank -= c;"
              " i32 r = q + 1; for (; rank >= m - 1 - r; ++r) rank -= m - 1 - r;";
        }
        for (std::int32_t o = in.first; o < in.last; o += 2) {
          const Text member = str(code_.operands[index(o + 1)]);
          body += " " + name(code_.operands[index(o)]) + "[i] = ";
          const std::int32_t number = code_.operands[index(o + 1)];
          if (is_pair || is_triple) {
            body += number == 0            ? "first + q;"
                    : number + 1 < in.size ? "first + r;"
                    : is_pair              ? "first + q + 1 + (i32)rank;"
                                           : "first + r + 1 + (i32)rank;";
          } else {
            body += "tuple_member(first, m, " + str(in.size) + ", " + (in.flag ? "true" : "false") + ", " + member +
                    ", rank);";
          }
        }
        each(count, body);
        break;
      }
      case Action::product_offsets:
        sum_lengths(in, "const i32 q = " + p(0) + "[i];", p(1) + "[q + 1] - " + p(1) + "[q]");
        break;
      case Action::product_source:
        each(count, "const i32 l = list_of(" + p(2) + ", " + n + ", i); " + out + "[i] = " + p(1) + "[" + p(0) +
                        "[l]] + (i - " + p(2) + "[l]);");
        break;
      case Action::concatenation_offsets: {
        Text total, sum;
        for (std::int32_t o = in.first; o < in.last; ++o) {
          const Text part = name(code_.operands[index(o)]);
          total += (o > in.first ? " + (i64)" : "(i64)") + part + "[" + n + "]";
          sum += (o > in.first ? " + " : "") + part + "[i]";
        }
        set_length(in.made, total);
        line("EACH (i32 i = threadIdx.x; i <= " + n + "; i += kThreads) " + out + "[i] = " + sum + ";");
        break;
      }
      case Action::concatenation_source: {
        const Text own = p(0);
        Text body =
            "const i32 l = list_of(" + own + ", " + n + ", i); i32 rest = i - " + own + "[l], base = 0, at = 0;";
        for (std::int32_t o = in.first; o < in.last; ++o) {
          const Text part = name(code_.operands[index(o)]);
          body += " { const i32 m = " + part + "[l + 1] - " + part + "[l]; if (rest >= 0 && rest < m) at = base + " +
                  part + "[l] + rest; rest -= m; base += " + part + "[" + n + "]; }";
        }
        each(own + "[" + n + "]", body + " " + out + "[i] = at;");
        break;
      }
      case Action::pad_offsets:
        sum_lengths(in, "const i64 m = " + p(0) + "[i + 1] - " + p(0) + "[i];",
                    "m > " + str(in.size) + " ? m : " + str(in.size));
        break;
      case Action::pad_source:
        each(count, "const i32 l = list_of(" + p(1) + ", " + n + ", i), k = i - " + p(1) + "[l], first = " + p(0) +
                        "[l]; " + out + "[i] = k < " + p(0) + "[l + 1] - first ? first + k : -1;");
        break;
      case Action::parents:
        each(count, out + "[i] = list_of(" + p(0) + ", " + n + ", i);");
        break;
      case Action::beside: {
        Text total = "0";
        for (std::int32_t o = in.first; o < in.last; o += 2) total += " + (i64)" + length(code_.operands[index(o + 1)]);
        set_length(in.made, total);
        Text base = "0";
        for (std::int32_t o = in.first; o < in.last; o += 2) {
          const Text m = length(code_.operands[index(o + 1)]);
          const std::int32_t part = code_.operands[index(o)];
          each(m, out + "[" + base + " + i] = " + name(part) + (slot(part).place == Place::scalar ? "" : "[i]") + ";");
          base += " + " + m;
        }
        break;
      }
      case Action::reduce:
        each(n, "const i32 from = " + p(1) + "[i], upto = " + p(1) + "[i + 1]; " + reduction(in, out));
        break;
      case Action::argsort:
        each(count, sorting(in, out));
        break;
      case Action::output:
        output(in);
        break;
      case Action::output_offsets:
        output_offsets(in);
        break;
      case Action::check:
        line("{ bool bad = false; EACH (i32 i = threadIdx.x; i < " + n + "; i += kThreads) bad |= " + p(0) +
             "[i] == 0;");
        line("if (any_thread(bad) && " + str(in.member) + " < failed) failed = " + str(in.member) + "; }");
        break;
      case Action::histogram:
        histogram(in);
        break;
    }
    line("sync();");
  }

  Text chosen(const Instruction& in, const Text& i) {
    const Text last = "(" + length(in.member) + " - 1)";
    return "i32 c = " + name(in.in[1]) + "[" + i + "]; c = c < 0 ? 0 : c; c = c < " + last + " ? c : " + last + ";";
  }

  Text reduction(const Instruction& in, const Text& out) {
    const auto which = static_cast<Reduction>(in.which);
    const bool is_scalar = slot(in.in[0]).place == Place::scalar;
    const Text x = is_scalar ? name(in.in[0]) : name(in.in[0]) + "[k]";
    const Text type = type_name(in.type), result = type_name(slot(in.out).type);
    const auto fold = [&](const Text& start, const Text& next) {
      return result + " r = " + start + "; EACH (i32 k = from; k < upto; ++k) { const " + type + " x = " + x +
             "; r = " + next + "; } " + out + "[i] = r;";
    };
    const bool is_real = is_float(in.type);
    const Text low = is_real ? infinity(in.type, true) : in.type == ElementType::boolean ? "(u8)0" : lowest(in.type);
    const Text high = is_real ? infinity(in.type, false) : in.type == ElementType::boolean ? "(u8)1" : highest(in.type);
    switch (which) {
      case Reduction::sum:
        return fold("0", is_real ? "r + x" : "(" + result + ")((u64)r + (u64)(" + result + ")x)");
      case Reduction::product:
        return fold("1", is_real ? "r * x" : "(" + result + ")((u64)r * (u64)(" + result + ")x)");
      case Reduction::any:
        return fold("0", "(u8)(r | (x != 0 ? 1 : 0))");
      case Reduction::all:
        return fold("1", "(u8)(r & (x != 0 ? 1 : 0))");
      case Reduction::minimum:
        return fold(high, "x < r ? x : r");
      case Reduction::maximum:
        return fold(low, "x > r ? x : r");
      default:
        break;
    }
    const Text at = is_scalar ? x : name(in.in[0]) + "[from]";
    return "i32 place = from < upto ? from : -1; if (place >= 0) { " + type + " best = " + at +
           "; EACH (i32 k = from + 1; k < upto; ++k) { const " + type + " x = " + x + "; if (x " +
           (which == Reduction::argmin ? "<" : ">") + " best) best = x, place = k; } } " + out + "[i] = place;";
  }

  /// Each element counts those of its list that precede it.
  Text sorting(const Instruction& in, const Text& out) {
    const Text offsets = name(in.in[1]), lists = length(in.domain), x = name(in.in[0]);
    const bool is_scalar = slot(in.in[0]).place == Place::scalar;
    const auto at = [&](const char* k) { return is_scalar ? x : x + "[" + k + "]"; };
    const Text sign = in.flag ? "<" : ">";
    const Text before = is_float(in.type) ? "(y != y ? x == x : y " + sign + " x)" : "(y " + sign + " x)";
    const Text same = is_float(in.type) ? "(y == x || (y != y && x != x))" : "(y == x)";
    return "const i32 l = list_of(" + offsets + ", " + lists + ", i), from = " + offsets + "[l], upto = " + offsets +
           "[l + 1]; const " + type_name(in.type) + " x = " + at("i") +
           "; i32 rank = 0; EACH (i32 k = from; k < upto; ++k) { const " + type_name(in.type) + " y = " + at("k") +
           "; rank += " + before + " || (" + same + " && k < i) ? 1 : 0; } " + out + "[from + rank] = i;";
  }

  Text place(std::int32_t domain) {
    if (domain == 0) return "begin";
    return "place_of(t, (volatile u64*)" + word(CudaWords::states) + ", " + str(counter_of_domain_.at(domain)) +
           ", block, is_whole, " + length(domain) + ")";
  }
  /// Adds the length of the attempt to the counters, once it has succeeded.
  void output(const Instruction& in) {
    const int w = made_.words.outputs + 2 * in.member;
    const Text type = type_name(in.type);
    line("{ const i64 at = " + place(in.domain) + "; " + type + "* const to = (" + type + "*)" + word(w) +
         "; const i64 most = (i64)" + word(w + 1) + ";");
    each(length(in.domain), "if (at + i < most) to[at + i] = " + name(in.in[0]) + "[i];");
    line("}");
  }
  void histogram(const Instruction& in) {
    line("if (threadIdx.x == 0) t.binned += " + length(in.domain) + ";");
    const HistogramCode& of = code_.histograms[index(in.member)];
    int axis = made_.words.axes;
    for (std::int32_t h = 0; h < in.member; ++h) axis += static_cast<int>(code_.histograms[index(h)].axes.size());
    const auto x = [&](std::int32_t o) {
      const std::int32_t s = code_.operands[index(o)];
      return slot(s).place == Place::scalar ? name(s) : name(s) + "[i]";
    };
    Text cell = "i64 cell = 0;";
    std::int32_t operand = in.first;
    for (const HistogramCode::AxisCode& code : of.axes) {
      cell += " cell += " + Text(rule_name(code.binning.rule)) + "(" + x(operand++) + ", (const Axis*)" + word(axis++) +
              ");";
    }
    const Text cells = "(u64*)" + word(made_.words.cells + in.member);
    if (of.has_weights) {
      each(length(in.domain), cell + " add_weight(" + cells + ", cell, " + x(operand) + ");");
    } else {
      const Text at = word(made_.words.counted + in.member);
      line("if (" + at + " != ~(u64)0) { u32* const counted = (u32*)(counts + " + at + ");");
      each(length(in.domain), cell + " atomicAdd(counted + cell, 1u);");
      line("} else {");
      each(length(in.domain), cell + " atomicAdd(" + cells + " + cell, (u64)1);");
      line("}");
    }
  }
  static const char* rule_name(BinRule rule) {
    switch (rule) {
      case BinRule::regular:
        return "bin_regular";
      case BinRule::few_edges:
      case BinRule::edges:
        return "bin_edges";
      case BinRule::integer:
        return "bin_integer";
      case BinRule::integer_of_floats:
        return "bin_integer_of_floats";
      case BinRule::category:
        return "bin_category";
    }
    upsweep::detail::no_such_value();
  }
  void output_offsets(const Instruction& in) {
    const int w = made_.words.outputs + 2 * in.member;
    const Text total = name(in.in[0]) + "[" + length(in.domain) + "]";
    line("{ const i64 at = 1 + " + place(in.domain) + "; i64* const to = (i64*)" + word(w) +
         "; const i64 most = (i64)" + word(w + 1) + ";");
    line("const i64 base = place_of(t, (volatile u64*)" + word(CudaWords::states) + ", " +
         str(total_counter_.at(in.member)) + ", block, is_whole, " + total + ");");
    each(length(in.domain), "if (at + i < most) to[at + i] = base + " + name(in.in[0]) + "[i + 1];");
    line("}");
  }

  /// The functions that set the counts in shared memory to 0, and add them to those of the run.
  [[nodiscard]] Text counts() const {
    Text cleared = "DEVICE void clear_counts(const Words& a, char* counts) {\n",
         flushed = "DEVICE void flush(const Words& a, char* counts) {\n";
    for (std::size_t h = 0; h < code_.histograms.size(); ++h) {
      if (code_.histograms[h].has_weights) continue;
      const int number = static_cast<int>(h);
      const Text at = word(made_.words.counted + number), cells = str(code_.histograms[h].cells);
      cleared += "  if (" + at + " != ~(u64)0) EACH (i32 i = threadIdx.x; i < " + cells +
                 "; i += kThreads) ((u32*)(counts + " + at + "))[i] = 0;\n";
      flushed += "  flush_counts(counts, " + at + ", (u64*)" + word(made_.words.cells + number) + ", " + cells + ");\n";
    }
    return cleared + "}\n" + flushed + "}\n";
  }

  const Compiled& code_;
  CudaCode made_;
  Text out_;
  std::map<std::int32_t, int> array_of_;
  std::map<std::int32_t, int> counter_of_domain_, total_counter_;
  std::set<std::int32_t> inside_;  ///< slots that the current group has in registers
};

// NOLINTEND(performance-inefficient-string-concatenation)

}  // namespace

CudaCode cuda_code(const Compiled& code) { return Writer(code).run(); }

}  // namespace upsweep::plan::detail
