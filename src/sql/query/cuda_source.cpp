// SPDX-License-Identifier: Apache-2.0
// sql/query/cuda_source.cpp: writes a query's kernels: rows in stages, values by SQL's rules, states that copies fold
// into.
//
// A thread processes several rows at a time. The stages are the conditions of WHERE, one after the other, then keys and
// aggregates. Each stage loads the columns that no earlier stage needed, for the rows that are still kept. All loads
// precede the first use. Many bytes are therefore in flight, and none for rows that a condition has excluded.
#include "sql/query/cuda_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sql/expression/cuda_prelude.hpp"
#include "sql/query/cuda_common.hpp"

namespace upsweep::query {
namespace {

/// Returns the type in which a thread stores an element.
const char* type_of(Storage storage) {
  constexpr const char* kTypes[kStorageCount] = {"signed char",   "short",          "int",      "i64",
                                                 "unsigned char", "unsigned short", "unsigned", "u64",
                                                 "i128",          "float",          "double",   "bool"};
  return kTypes[static_cast<int>(storage)];
}
/// Returns the function that loads an element.
std::string load_of(Storage storage) {
  if (storage == Storage::int128) return "wide_at";
  return storage == Storage::bit ? "bit_at" : fmt::format("at<{}>", type_of(storage));
}

class Generator : ValueWriter {
 public:
  Generator(const QueryPlan& plan, const SourceOptions& options)
      : ValueWriter(plan.fields, options.columns), plan_(plan), options_(options) {
    int bytes = 0;
    for (const Field& field : plan.fields) bytes += std::max(width_of(field.storage) / 8, 1);
    // The loaded columns of a thread fill at most about half of its registers.
    source_.rows_per_thread = bytes <= 24 ? 8 : bytes <= 48 ? 4 : bytes <= 96 ? 2 : 1;
  }

  KernelSource fold();
  KernelSource number();

 private:
  [[nodiscard]] static std::string word(int number) { return fmt::format("a.w[{}]", number); }
  [[nodiscard]] static int values_of(int column) { return argument::first_column + 2 * column; }

  // ---- stages
  void load(const std::vector<Node>& nodes);
  void filters();
  void for_rows(const std::string& body);
  std::string group_of_row();
  void open_kernel(const char* name);
  void open_states();
  void open_rows();
  KernelSource finish();

  // ---- states
  int cell(StateCell cell);
  int count_of(const Node& input, const Value& v);
  int sum_of(const Value& v);
  int extreme_of(const Aggregate& aggregate, Value& v);
  std::string accumulate();
  void place_cells();
  /// The words of a cell in a state, and the word that counts its values.
  struct CellWords {
    std::string low, high, guard;  ///< `high` is empty if one word suffices
  };
  CellWords place(const StateCell& c, bool own, const char* format) const;
  static std::string stored(const StateCell& c, const CellWords& at);
  static std::string included(const StateCell& c, const CellWords& at, const std::string& value, bool checked);
  std::string state_struct(bool own) const;
  void add_arguments();

  const QueryPlan& plan_;
  const SourceOptions& options_;
  KernelSource source_;
  std::set<int> loaded_;
  std::map<int, int> count_cells_;  ///< by the input's id
};

// -------------------------------------------------------------------------------------------------------------- stages

/// Loads the columns that the nodes are the first to need, for the kept rows.
void Generator::load(const std::vector<Node>& nodes) {
  for (const int c : columns_of(nodes)) {
    if (!loaded_.insert(c).second) continue;
    const Storage storage = field(c).storage;
    line("{} column{}[U];", type_of(storage), c);
    line("#pragma unroll");
    line("for (int u = 0; u < U; ++u) column{}[u] = keep[u] ? {}({}, first + u * T) : ({})(0);", c, load_of(storage),
         word(values_of(c)), type_of(storage));
    if (!shape(c).nullable) continue;
    line("bool absent{}[U];", c);
    line("#pragma unroll");
    line("for (int u = 0; u < U; ++u) absent{}[u] = keep[u] && !bit_at({}, first + u * T);", c, word(values_of(c) + 1));
  }
}

void Generator::for_rows(const std::string& body) {
  line("#pragma unroll");
  line("for (int u = 0; u < U; ++u) {{");
  text(body);
  line("}}");
}

void Generator::filters() {
  for (const Node& filter : plan_.filters) {
    load({filter});
    open_scope();
    for_rows(apart([&] {
      line("if (keep[u]) {{");
      const Value& v = value(filter);
      line("keep[u] = {}{};", v.text, v.null.empty() ? "" : " && !" + v.null);
      line("}}");
    }));
    close_scope();
  }
}

void Generator::open_kernel(const char* name) {
  line("extern \"C\" __global__ void __launch_bounds__(T, {}) {}(const __grid_constant__ Words a) {{",
       std::max(kResidentThreads / options_.threads, 1), name);
  line("const i64 rows = (i64){};", word(argument::rows));
  line("const int lane = (int)threadIdx.x % 32;");
  line("bool bad = false;");
}

/// Opens the states of a thread or a warp.
void Generator::open_states() {
  if (options_.copies == Copies::registers) return line("u64 s[OWN] = {{}};");
  line("const i64 groups = (i64){};", word(argument::groups));
  if (options_.copies == Copies::threads) {
    line("extern __shared__ u64 cells[];");
    line("for (i64 k = threadIdx.x; k < groups * OWN * T; k += T) cells[k] = 0;");
    // A thread clears only the words that it uses: every T-th word.
  } else {
    line("u64* const own = (u64*){} + (i64)(blockIdx.x * (T / 32) + threadIdx.x / 32) * groups * OWN;",
         word(argument::partials));
  }
}

void Generator::open_rows() {
  line("for (i64 base = (i64)blockIdx.x * (T * U); base < rows; base += (i64)gridDim.x * (T * U)) {{");
  line("const i64 first = base + threadIdx.x;");
  line("bool keep[U];");
  line("#pragma unroll");
  line("for (int u = 0; u < U; ++u) keep[u] = first + u * T < rows;");
}

/// Returns the group of row u, which is kept.
std::string Generator::group_of_row() {
  if (options_.keying == Keying::hashed) return "id[u]";
  std::string group;
  for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
    const Value v = value(plan_.keys[k]);
    const std::string slots = fmt::format("SLOTS_{}", k);
    std::string slot = fmt::format("(i64){}", v.text);
    if (!v.null.empty()) slot = fmt::format("({} ? {} - 1 : {})", v.null, slots, slot);
    group = k == 0 ? slot : fmt::format("({}) * {} + {}", group, slots, slot);
  }
  return group;
}

// -------------------------------------------------------------------------------------------------------------- states

int Generator::cell(StateCell cell) {
  source_.cells.push_back(cell);
  return static_cast<int>(source_.cells.size()) - 1;
}

/// Returns the cell that counts the rows where an input is not NULL.
int Generator::count_of(const Node& input, const Value& v) {
  if (v.null.empty()) return 0;  // counts every row
  const auto [known, is_new] = count_cells_.emplace(input->id, 0);
  if (is_new) known->second = cell({.kind = StateCell::Kind::count});
  return known->second;
}

void Generator::place_cells() {
  for (StateCell& cell : source_.cells) {
    cell.own_at = source_.own_words;
    cell.at = source_.words;
    source_.own_words += cell.own_wide ? 2 : 1;
    source_.words += cell.wide ? 2 : 1;
  }
}

int Generator::sum_of(const Value& v) {
  const bool real = v.form == Form::real;
  const bool wide = v.form == Form::wide;
  const bool copy_fits = sum_fits(v.operand(), UInt128{1} << options_.copy_bits);
  return cell({.kind = StateCell::Kind::sum,
               .real = real,
               .own_wide = wide || (!real && !copy_fits),
               .wide = !real,
               .checked = wide && !sum_fits(v.operand(), UInt128{1} << 32)});
}

/// For text, the value becomes the rank of its string.
int Generator::extreme_of(const Aggregate& aggregate, Value& v) {
  if (aggregate.type.kind == ValueKind::text) {
    const int column = aggregate.input->column;
    auto& ranked = source_.ranked;
    auto place = std::find(ranked.begin(), ranked.end(), column);
    if (place == ranked.end()) place = ranked.insert(ranked.end(), column);
    const std::string there = v.null.empty() ? "true" : "!" + v.null;
    v = named(Form::narrow, fmt::format("{} ? (i64)at<int>(RANKS_{}, {}) : 0", there, place - ranked.begin(), v.text),
              v.null, bound_of(Storage::int32));
  }
  const bool wide = v.form == Form::wide;
  return cell({.kind = StateCell::Kind::extreme,
               .real = v.form == Form::real,
               .minimum = aggregate.fold == Fold::minimum,
               .own_wide = wide,
               .wide = wide,
               .guard = source_.counts.back()});
}

/// Returns the text that adds a kept row to the state that AT() leads to.
std::string Generator::accumulate() {
  using Kind = StateCell::Kind;
  cell({.kind = Kind::rows});
  if (plan_.grouped) cell({.kind = Kind::first_row});
  struct Input {
    int cell;
    Value value;
  };
  std::vector<Input> inputs;
  const std::string computing = apart([&] {
    for (const Aggregate& aggregate : plan_.aggregates) {
      source_.values.push_back(-1);
      source_.counts.push_back(0);
      if (aggregate.fold == Fold::count_rows) continue;
      Value v = value(aggregate.input);
      source_.counts.back() = count_of(aggregate.input, v);
      if (aggregate.fold != Fold::count) {
        source_.values.back() = aggregate.fold == Fold::sum ? sum_of(v) : extreme_of(aggregate, v);
        inputs.push_back({source_.values.back(), v});
      }
      if (source_.counts.back() != 0) inputs.push_back({source_.counts.back(), v});
    }
  });
  place_cells();

  const std::string adding = apart([&] {
    std::set<int> done;
    // Extremes read the counts, so the counts are updated after them.
    for (const bool counts : {false, true}) {
      for (const Input& input : inputs) {
        const StateCell& c = source_.cells[static_cast<std::size_t>(input.cell)];
        const bool is_count = c.kind == StateCell::Kind::count;
        if (is_count != counts || input.cell == 0 || !done.insert(input.cell).second) continue;
        const Value& v = input.value;
        line("{}{{ {} }}", v.null.empty() ? "" : fmt::format("if (!{}) ", v.null),
             included(c, place(c, true, "AT({})"), is_count ? "1" : held_as(c.own_wide ? Form::wide : v.form, v),
                      c.checked));
      }
    }
    if (plan_.grouped) line("if (AT(0) == 0) AT(1) = (u64)(first + u * T);");
    line("AT(0) += 1;");
  });
  return computing + adding;
}

/// Returns the position of a cell in a copy's state, or in a merged state.
Generator::CellWords Generator::place(const StateCell& c, bool own, const char* format) const {
  const auto word = [&](int number) { return fmt::format(fmt::runtime(format), number); };
  const auto first = [&](const StateCell& cell) { return own ? cell.own_at : cell.at; };
  const bool wide = own ? c.own_wide : c.wide;
  return {word(first(c)), wide ? word(first(c) + 1) : "",
          word(first(source_.cells[static_cast<std::size_t>(c.guard)]))};
}

/// Stored sums of reals have the sign flipped. Cells begin with zeros, and sums begin with -0.0, which changes no bit
/// of an added value.
const char* flip_of(const StateCell& c) { return c.kind == StateCell::Kind::sum ? " ^ (1ULL << 63)" : ""; }

/// Returns a cell's value at a position.
std::string Generator::stored(const StateCell& c, const CellWords& at) {
  if (c.real) return fmt::format("real({}{})", at.low, flip_of(c));
  return at.high.empty() ? fmt::format("(i64){}", at.low) : fmt::format("join({}, {})", at.low, at.high);
}

/// Returns the statement that adds a value, or the result of another state, to the cell.
std::string Generator::included(const StateCell& c, const CellWords& at, const std::string& value, bool checked) {
  const std::string before = stored(c, at);
  const auto put = [&](const std::string& text) {
    if (c.real) return fmt::format("{} = bits_of({}){};", at.low, text, flip_of(c));
    if (at.high.empty()) return fmt::format("{} = (u64)(i64)({});", at.low, text);
    return fmt::format("{{ const i128 t = {}; {} = (u64)(u128)t; {} = (u64)((u128)t >> 64); }}", text, at.low, at.high);
  };
  if (c.kind == StateCell::Kind::extreme) {
    const std::string& less = c.minimum ? value : before;
    const std::string& more = c.minimum ? before : value;
    return fmt::format("if ({} == 0 || {}) {}", at.guard,
                       fmt::format(fmt::runtime(c.real ? "is_less({}, {})" : "{} < {}"), less, more), put(value));
  }
  if (c.real) return put(before + " + " + value);
  if (at.high.empty()) return fmt::format("{} += (u64)({});", at.low, value);
  return put(fmt::format(fmt::runtime(checked ? "checked_add({}, {}, bad)" : "{} + {}"), before, value));
}

/// Returns the text that merges the states of copies, or merged states: adds the results of o to s.
std::string Generator::state_struct(bool own) const {
  using Kind = StateCell::Kind;
  std::string extremes;
  std::string others;
  for (const StateCell& c : source_.cells) {
    const CellWords s = place(c, own, "s[{}]");
    const CellWords o = place(c, own, "o[{}]");
    if (c.kind == Kind::extreme) {
      extremes += fmt::format("if ({} != 0) {{ {} }}\n", o.guard, included(c, s, stored(c, o), false));
    } else if (c.kind == Kind::first_row) {
      others += fmt::format("if (o[0] != 0 && (s[0] == 0 || {1} < {0})) {0} = {1};\n", s.low, o.low);
    } else if (c.kind != Kind::rows) {
      others += included(c, s, stored(c, o), true) + "\n";
    }
  }
  return fmt::format(
      "struct {} {{\nstatic constexpr int kWords = {};\nINLINE void merge(u64* s, const u64* o, bool& bad) "
      "{{\n{}{}s[0] += o[0];\n}}\n}};\n",
      own ? "Own" : "All", own ? "OWN" : "ALL", extremes, others);
}

void Generator::add_arguments() {
  int next = argument::first_column + 2 * static_cast<int>(plan_.columns.size());
  for (std::size_t i = 0; i < string_tests().size(); ++i) line("#define PASSES_{} a.w[{}]", i, next++);
  for (std::size_t i = 0; i < source_.ranked.size(); ++i) line("#define RANKS_{} a.w[{}]", i, next++);
  for (std::size_t i = 0; i < literals().size(); ++i) line("#define LITERAL_{} a.w[{}]", i, next++);
  for (std::size_t i = 0; i < member_tests().size(); ++i) {
    line("#define MEMBERS_{} a.w[{}]", i, next++);
    line("#define COUNT_{} (i64)a.w[{}]", i, next++);
  }
  for (std::size_t i = 0; i < plan_.keys.size(); ++i) line("#define SLOTS_{} (i64)a.w[{}]", i, next++);
  source_.arguments = next;
}

/// Returns the source of the text that has been written.
KernelSource Generator::finish() {
  const std::string words =
      source_.has_words_in_memory() ? std::string(kWordsInMemory) : fmt::format("u64 w[{}];", source_.arguments);
  source_.text = fmt::format("{}{}struct Words {{ {} }};\nconstexpr int T = {}, U = {}, OWN = {}, ALL = {};\n{}",
                             kPrelude, function_text(), words, options_.threads, source_.rows_per_thread,
                             std::max(source_.own_words, 1), std::max(source_.words, 1), take());
  source_.string_tests = string_tests();
  source_.literals = literals();
  source_.member_tests = member_tests();
  return std::move(source_);
}

KernelSource Generator::fold() {
  open_kernel("fold");
  open_states();
  open_rows();
  std::vector<Node> needed;
  if (options_.keying == Keying::hashed) {
    line("int id[U];");
    for_rows(apart([&] {
      line("id[u] = keep[u] ? at<int>({}, first + u * T) : -1;", word(argument::ids));
      line("keep[u] = id[u] >= 0;");
    }));
  } else {
    filters();
    needed = plan_.keys;
  }
  for (const Aggregate& aggregate : plan_.aggregates) {
    if (aggregate.input) needed.push_back(aggregate.input);
  }
  load(needed);
  const bool turns = options_.copies == Copies::warps;
  for_rows(apart([&] {
    if (turns) line("i64 group = -1 - lane;");
    line("if (keep[u]) {{");
    if (turns) {
      line("group = id[u];");
      line("}}");
      text(kTakeTurns);
    } else if (options_.copies == Copies::threads) {
      line("u64* const s = cells + (i64)({}) * OWN * T + threadIdx.x;", group_of_row());
    }
    text(accumulate());
    line("}}");
    if (turns) {
      line("__syncwarp();");
      line("}}");
    }
  }));
  line("}}");
  if (!turns) {
    line("u64* const partials = (u64*){};", word(argument::partials));
    text(options_.copies == Copies::threads ? kFoldThreads : kFoldRegisters);
  }
  line("if (bad) *(int*){} = 1;", word(argument::trouble));
  line("}}");
  const std::string kernel = take();

  add_arguments();
  line("#define AT(k) s[{}]", options_.copies == Copies::threads ? "(k) * T" : "k");
  text(state_struct(true));
  text(state_struct(false));
  text(kFoldLanes);
  text(kernel);
  // ---- merge
  line("INLINE void widen(const u64* from, u64* to) {{");
  for (const StateCell& c : source_.cells) {
    line("to[{}] = from[{}];", c.at, c.own_at);
    if (c.wide && c.own_wide) line("to[{}] = from[{}];", c.at + 1, c.own_at + 1);
    if (c.wide && !c.own_wide) line("to[{}] = (u64)((i64)from[{}] >> 63);", c.at + 1, c.own_at);
  }
  line("}}");
  text(fmt::format(kMerge, fmt::arg("groups", +argument::groups), fmt::arg("copies", +argument::copies),
                   fmt::arg("partials", +argument::partials), fmt::arg("merged", +argument::merged),
                   fmt::arg("trouble", +argument::trouble)));
  return finish();
}

// ----------------------------------------------------------------------------------------------------------- numbering

KernelSource Generator::number() {
  open_kernel("number_rows");
  open_rows();
  filters();
  load(plan_.keys);
  int words = 0;
  for_rows(apart([&] {
    line("int id = -1;");
    line("if (keep[u]) {{");
    line("u64 key[KEY];");
    std::vector<std::string> nulls(static_cast<std::size_t>(null_words(plan_.keys.size())), "0");
    for (std::size_t k = 0; k < plan_.keys.size(); ++k) {
      const Value v = value(plan_.keys[k]);
      const std::string there = v.null.empty() ? "" : fmt::format("{} ? 0 : ", v.null);
      source_.wide_keys.push_back(v.form == Form::wide);
      if (v.form == Form::wide) {
        line("key[{}] = {}(u64)(u128)({});", words, there, v.text);
        line("key[{}] = {}(u64)((u128)({}) >> 64);", words + 1, there, v.text);
        words += 2;
      } else {
        line("key[{}] = {}(u64)(i64)({});", words++, there, v.text);
      }
      if (!v.null.empty()) nulls[k / kNullsPerWord] += fmt::format(" | (u64){} << {}", v.null, k % kNullsPerWord);
    }
    for (const std::string& bits : nulls) line("key[{}] = {};", words++, bits);
    line("id = find(a, key);");
    line("}}");
    line("if (first + u * T < rows) ((int*){})[first + u * T] = id;", word(argument::ids));
  }));
  line("}}");
  line("if (bad) *(int*){} = 1;", word(argument::trouble));
  line("}}");
  const std::string kernel = take();
  add_arguments();
  line("constexpr int KEY = {};", words);
  text(fmt::format(kFind, fmt::arg("tags", +argument::tags), fmt::arg("keys", +argument::keys),
                   fmt::arg("mask", +argument::mask), fmt::arg("found", +argument::found),
                   fmt::arg("limit", +argument::limit), fmt::arg("trouble", +argument::trouble)));
  text(kernel);
  source_.words = words;
  return finish();
}

}  // namespace

KernelSource fold_source(const QueryPlan& plan, const SourceOptions& options) {
  return Generator(plan, options).fold();
}
KernelSource number_source(const QueryPlan& plan, const SourceOptions& options) {
  return Generator(plan, options).number();
}

}  // namespace upsweep::query
