// SPDX-License-Identifier: Apache-2.0
// apps/upsweep/segment.cpp: `upsweep segment`: reduces, scans or sorts every list of a column separately.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "chunks.hpp"
#include "commands.hpp"
#include "core/lists.hpp"
#include "io/first_fault.hpp"
#include "io/list_reader.hpp"
#include "io/result_writer.hpp"
#include "list_columns.hpp"
#include "null_order.hpp"
#include "output.hpp"
#include "upsweep/detail/operator_hint.hpp"
#include "upsweep/query.hpp"
#include "upsweep/segmented_reduce.hpp"

namespace upsweep::command {
namespace {

// ------------------------------------------------------------------------------------------------------------- options

enum class Kind : std::uint8_t { fold, reducer, scan, sort, argsort };

constexpr std::array kReducers{Reducer::any,           Reducer::all,    Reducer::count,
                               Reducer::count_nonzero, Reducer::argmin, Reducer::argmax};

Kind kind_of(const std::string& op) {
  if (op == "scan") return Kind::scan;
  if (op == "sort") return Kind::sort;
  if (op == "argsort") return Kind::argsort;
  const auto is_asked_for = [&](Reducer reducer) { return name(reducer) == op; };
  if (std::any_of(kReducers.begin(), kReducers.end(), is_asked_for)) return Kind::reducer;
  if (parse_operator(op)) return Kind::fold;
  refuse("--op '{}' is not one of {}{}", op, segment_names(), detail::operator_hint(op, "--op "));
}

/// Whether the operation has a value for each element, not for each list.
bool gives_lists(Kind kind) { return kind == Kind::scan || kind == Kind::sort || kind == Kind::argsort; }

/// An operation on lists, with its types for the elements of a column.
struct Operation {
  Kind kind = Kind::fold;
  Operator op = Operator::add;  ///< of folds and scans
  Reducer reducer = Reducer::count;
  bool exclusive = false;
  SortOptions order = {};
  Overflow overflow = Overflow::wrap;
  Type type = Type::int64;   ///< of the computation
  Type given = Type::int64;  ///< of the output: for decimals also float64
  io::ColumnInfo meaning;    ///< of the output
  std::optional<dynamic::Carry> init = {};

  [[nodiscard]] bool gives_lists() const { return upsweep::command::gives_lists(kind); }
  [[nodiscard]] bool folds() const { return kind == Kind::fold || kind == Kind::scan; }
  [[nodiscard]] io::ResultColumn column() const { return column_of(meaning, given, op); }
  /// Whether the element is the identity that folds of decimals or dates begin with, which is not a decimal or date.
  [[nodiscard]] bool is_none(const void* element) const {
    if (!folds() || !selects(op) || given != Type::int64 || meaning.meaning == io::Meaning::number) return false;
    std::int64_t value = 0;
    std::memcpy(&value, element, sizeof value);
    return value == identity<std::int64_t>(op);
  }
};

/// Throws invalid_argument for options of another operation.
void require_options(const SegmentOptions& options, Kind kind) {
  const bool folds = kind == Kind::fold || kind == Kind::scan;
  const bool sorts = kind == Kind::sort || kind == Kind::argsort;
  const auto require = [&](bool given, bool is_offered, const char* option, const char* whose) {
    if (given && !is_offered) refuse("{} is for {}, not for --op {}", option, whose, options.op);
  };
  require(options.by.has_value(), kind == Kind::scan, "--by", "--op scan");
  require(options.exclusive, kind == Kind::scan, "--exclusive", "--op scan");
  require(options.init.has_value(), folds, "--init", "folds and scans");
  require(!options.dtype.empty(), folds, "--dtype", "folds and scans");
  require(!options.overflow.empty(), folds, "--overflow", "folds and scans");
  require(options.descending, sorts, "--descending", "sort and argsort");
  require(options.nan_first, sorts, "--nan-first", "sort and argsort");
}

void set_fold(Operation& operation, const SegmentOptions& options, const io::ColumnInfo& elements) {
  operation.meaning = meaning_of(elements, options.dtype);
  const Type computed = parse_dtype(options.dtype, operation.meaning);
  operation.op = operation.kind == Kind::scan
                     ? parse_op(options.by.value_or("add"), operation.meaning, computed, "--by")
                     : parse_op(options.op, operation.meaning, computed);
  operation.type = type_by(operation.op, computed, options.dtype, operation.meaning);
  operation.given = given_type(operation.type, options.dtype);
  operation.overflow = parse_overflow(options.overflow, operation.op, operation.type);
  if (operation.given != operation.type && options.overflow == "wrap") {
    refuse("--overflow wrap is not offered with --dtype {}: sums of decimals are exact, or an error", options.dtype);
  }
  if (options.init) operation.init = parse_carry(*options.init, operation.type, operation.meaning, "--init");
  // The minimum of no booleans is true, which is not the identity of uint8.
  if (operation.meaning.meaning == io::Meaning::boolean && operation.op == Operator::min && !operation.init) {
    operation.init = parse_carry("true", operation.type, operation.meaning, "--init");
  }
}

Operation operation_of(const SegmentOptions& options, const io::ColumnInfo& elements) {
  Operation operation{.kind = kind_of(options.op), .exclusive = options.exclusive};
  require_options(options, operation.kind);
  operation.order = {.descending = options.descending, .nan_first = options.nan_first};
  operation.meaning.field = elements.field;
  operation.meaning.name = elements.name;
  if (operation.folds()) {
    set_fold(operation, options, elements);
  } else if (operation.kind == Kind::sort) {
    operation.type = operation.given = elements.type;
    operation.meaning = elements;
  } else if (operation.kind == Kind::reducer) {
    operation.reducer =
        *std::find_if(kReducers.begin(), kReducers.end(), [&](Reducer reducer) { return name(reducer) == options.op; });
    if (operation.reducer == Reducer::any || operation.reducer == Reducer::all) {
      operation.type = operation.given = Type::uint8;
      operation.meaning.meaning = io::Meaning::boolean;
    }
  }
  return operation;
}

// --------------------------------------------------------------------------------------------------------------- input

/// The lists of a file of content that a file of offsets describes: all at once.
class OffsetsAndContent final : public io::ListReader {
 public:
  OffsetsAndContent(std::unique_ptr<io::ColumnReader> offsets, std::unique_ptr<io::ColumnReader> content)
      : offsets_(std::move(offsets)), content_(std::move(content)), info_(content_->info()) {
    require_list_bound(offsets_->info());
    info_.count = offsets_->info().count < 0 ? -1 : std::max<std::int64_t>(offsets_->info().count - 1, 0);
  }

  [[nodiscard]] const io::ColumnInfo& info() const override { return info_; }
  [[nodiscard]] const std::string& offsets_name() const { return offsets_->info().name; }

  bool next(io::ListBatch& batch) override {
    batch = {};
    if (std::exchange(done_, true)) return false;
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    io::Chunk offsets;
    io::Chunk content;
    io::FirstFault faults;
    faults.attempt(offsets_name(), [&] { offsets = offsets_->next(kAll); });
    faults.attempt(info_.name, [&] { content = content_->next(kAll); });
    faults.rethrow();
    if (offsets.count == 0) {
      throw Error(Code::unequal_lengths,
                  fmt::format("{}: has no elements; n lists need n + 1 offsets", offsets_name()));
    }
    batch.lists = dynamic::lists_of_offsets({offsets.data, offsets.count, offsets_->info().type});
    batch.content = content.data;
    batch.length = content.count;
    batch.valid = content.valid;
    return true;
  }

 private:
  std::unique_ptr<io::ColumnReader> offsets_;
  std::unique_ptr<io::ColumnReader> content_;
  io::ColumnInfo info_;
  bool done_ = false;
};

/// The lists, and the name in messages of the file with their bounds.
struct Input {
  std::unique_ptr<io::ListReader> lists;
  std::string name;
  bool is_list_column = false;
};

Input open_input(const SegmentOptions& options, io::Levels most, const Common& common) {
  io::OpenedColumn content;
  std::unique_ptr<io::ColumnReader> offsets;
  io::FirstFault faults;
  faults.attempt(options.content,
                 [&] { content = io::open_elements_or_lists(options.content, common.threads, most, common.csv); });
  if (options.offsets) {
    faults.attempt(*options.offsets, [&] {
      offsets = io::open_column(*options.offsets, common.threads, io::Nulls::refused, common.csv);
    });
  }
  faults.rethrow();
  if (content.elements) take_remarks(content.elements->remarks(), common.shows_remarks());
  if (offsets) take_remarks(offsets->remarks(), common.shows_remarks());
  const std::string name = content.info().name;
  if (content.lists && options.offsets) refuse("--offsets is for columns without lists: {} has its own", name);
  if (content.lists) return {std::move(content.lists), name, true};
  if (!options.offsets) refuse("{} is not a column of lists: use --offsets to give the bounds of its lists", name);
  auto lists = std::make_unique<OffsetsAndContent>(std::move(offsets), std::move(content.elements));
  std::string offsets_name = lists->offsets_name();
  return {std::move(lists), std::move(offsets_name), false};
}

// ---------------------------------------------------------------------------------------------------------- the work

/// The results that the summary needs, without the work.
struct Segmented {
  std::int64_t lists = 0;
  std::int64_t count = 0;  ///< values
  bool first_is_null = false;
  bool last_is_null = false;
  alignas(8) std::byte first[8] = {};
  alignas(8) std::byte last[8] = {};
};

[[noreturn]] void rethrow(const Error& error, const Operation& operation, const Input& input,
                          const io::ListBatch& batch) {
  if (error.code() != Code::overflow || error.index() == kNoIndex)
    rethrow_for_lists(error, input.name, batch.first_list);
  const std::int64_t list = batch.first_list + error.index();
  const std::string_view word = input.lists->is_nested() ? "inner list" : "list";
  const bool scaled = is_scaled(operation.type, operation.meaning);
  if (operation.given != operation.type) {
    throw Error(Code::overflow,
                fmt::format("{}: {} of {} {} has more than 18 digits, the limit for sums of decimals in lists",
                            input.lists->info().name, operation.kind == Kind::scan ? "a sum" : "the sum", word, list),
                list);
  }
  throw Error(Code::overflow,
              fmt::format("{}: {} of {} {} does not fit {}: choose {}--overflow wrap", input.lists->info().name,
                          operation.kind == Kind::scan ? "a sum" : "the sum", word, list, name(operation.type),
                          scaled ? "" : "a wider --dtype or "),
              list);
}

/// Not for sorts.
std::string_view run_fold(dynamic::Staged* device, const Policy& policy, const Operation& operation,
                          const io::ListBatch& batch, Type content, dynamic::Array out) {
  const dynamic::ConstArray from{batch.content, batch.length, content};
  const Lists& lists = batch.lists;
  if (operation.kind == Kind::reducer) {
    return device != nullptr ? device->segmented_reduce(operation.reducer, lists, from, out, batch.valid)
                             : dynamic::segmented_reduce(policy, operation.reducer, lists, from, out, batch.valid);
  }
  alignas(8) std::byte init[8] = {};
  if (operation.init) operation.init->value(init);
  const void* const begin = operation.init ? init : nullptr;
  if (operation.kind == Kind::fold) {
    return device != nullptr
               ? device->segmented_reduce(policy.overflow, operation.op, lists, from, out, begin, batch.valid)
               : dynamic::segmented_reduce(policy, operation.op, lists, from, out, begin, batch.valid);
  }
  const dynamic::ScanOptions options{.op = operation.op, .exclusive = operation.exclusive};
  return device != nullptr ? device->segmented_scan(policy.overflow, options, lists, from, out, begin, batch.valid)
                           : dynamic::segmented_scan(policy, options, lists, from, out, begin, batch.valid);
}

std::string_view run_sort(dynamic::Staged* device, const Policy& policy, const Operation& operation, const Lists& lists,
                          dynamic::ConstArray from, dynamic::Array out) {
  if (operation.kind == Kind::sort) {
    return device != nullptr ? device->segmented_sort(lists, from, out, operation.order)
                             : dynamic::segmented_sort(policy, lists, from, out, operation.order);
  }
  return device != nullptr ? device->segmented_argsort(lists, from, out, operation.order)
                           : dynamic::segmented_argsort(policy, lists, from, out, operation.order);
}

/// Converts scaled integers to the values that they represent, in place.
void unscale(const Operation& operation, std::vector<std::byte>& values) {
  if (operation.given == operation.type) return;
  for (std::size_t at = 0; at < values.size(); at += sizeof(double)) {
    std::int64_t exact = 0;
    std::memcpy(&exact, values.data() + at, sizeof exact);
    const bool is_identity = selects(operation.op) && exact == identity<std::int64_t>(operation.op);
    const double value = is_identity ? identity<double>(operation.op) : decimal_value(exact, operation.meaning.scale);
    std::memcpy(values.data() + at, &value, sizeof value);
  }
}

/// The offsets of lists that follow each other without gaps.
std::vector<std::int64_t> offsets_of(const Lists& lists) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(lists.count) + 1);
  if (lists.count == 0) return offsets;
  visit_bounds(lists, [&](auto bounds) {
    offsets[0] = bounds.start(0);
    for (std::int64_t i = 0; i < lists.count; ++i) offsets[static_cast<std::size_t>(i) + 1] = bounds.stop(i);
  });
  // If all lists are empty, their offsets may be anything.
  if (offsets.front() == offsets.back()) std::fill(offsets.begin(), offsets.end(), 0);
  return offsets;
}

/// Runs an operation on one batch of lists after the other.
class Segmenter {
 public:
  Segmenter(const Common& common, const Operation& operation, const Input& input, io::ResultWriter* writer, bool packs)
      : common_(common),
        operation_(operation),
        input_(input),
        calls_(common, operation.overflow),
        beside_(ListCalls::beside(common)),
        writer_(writer),
        packs_(packs) {}

  void add(io::ListBatch batch) {
    const bool is_nested = input_.lists->is_nested();
    if (is_nested) require_outer(batch);
    const Lists outer = is_nested ? batch.outer : batch.lists;
    if (is_nested) batch.first_list = inner_lists_;
    inner_lists_ += batch.lists.count;
    const std::int64_t n = operation_.gives_lists() ? batch.length : batch.lists.count;
    values_.assign(static_cast<std::size_t>(n * size_of(operation_.type)), std::byte{0});
    valid_.clear();
    try {
      compute(batch, {values_.data(), n, operation_.type});
    } catch (const Error& error) {
      rethrow(error, operation_, input_, batch);
    }
    unscale(operation_, values_);
    const io::ResultArray values{values_.data(), valid_.empty() ? Mask() : Mask(valid_), outer.valid};
    if (packs_) {
      write_lists(outer, values, n);
    } else {
      note(values, 0, n);
      if (writer_ != nullptr) writer_->write({&values, 1}, n);
    }
    done_.lists += outer.count;
  }

  [[nodiscard]] const Segmented& done() const { return done_; }
  [[nodiscard]] const Work& work() const { return calls_.work(); }

 private:
  void compute(const io::ListBatch& batch, dynamic::Array out) {
    const Type type = input_.lists->info().type;
    const bool sorts = operation_.kind == Kind::sort || operation_.kind == Kind::argsort;
    if (!sorts) {
      calls_.run(batch.length, [&](dynamic::Staged* device, const Policy& policy) {
        return run_fold(device, policy, operation_, batch, type, out);
      });
      return;
    }
    const SortLists sort = [&](const Lists& lists, dynamic::ConstArray from, dynamic::Array to) {
      calls_.run(from.length, [&](dynamic::Staged* device, const Policy& policy) {
        return run_sort(device, policy, operation_, lists, from, to);
      });
    };
    const Policy policy = par.with_threads(common_.threads);
    if (!batch.valid.is_given()) {
      sort(batch.lists, {batch.content, batch.length, type}, out);
    } else if (operation_.kind == Kind::sort) {
      valid_ = sort_nulls_last(batch, type, out, policy, sort);
    } else {
      argsort_nulls_last(batch, type, static_cast<std::int64_t*>(out.data), policy, sort);
    }
  }

  /// Throws the Error of the first bad outer list.
  void require_outer(const io::ListBatch& batch) const {
    const Lists& outer = batch.outer;
    for (std::int64_t i = 0; i < outer.count; ++i) {
      if ((outer.valid.is_given() && !outer.valid[i]) || check_list(outer, i, batch.lists.count) == Code::ok) continue;
      try {
        throw_bad_list(outer, i, batch.lists.count);
      } catch (const Error& error) {
        rethrow_for_lists(error, input_.name, batch.first_list);
      }
    }
  }

  /// Writes values that are parallel to the elements of the lists. Copies them only if lists do not follow each other.
  void write_lists(const Lists& lists, io::ResultArray values, std::int64_t n) {
    std::vector<std::int64_t> offsets;
    if (nulls_are_empty(lists)) {
      offsets = offsets_of(lists);
    } else {
      const Elements all{{values.elements, n, operation_.given}, values.valid};
      packed_.pack(beside_, lists, {&all, 1}, input_.lists->info().name);
      offsets.assign(packed_.offsets().begin(), packed_.offsets().end());
      const io::ResultArray packed = packed_.result();
      values.elements = packed.elements;
      values.valid = packed.valid;
    }
    note(values, offsets.front(), offsets.back());
    if (writer_ != nullptr) writer_->write_lists(offsets, {&values, 1});
  }

  /// Notes the values `first` … `end` - 1.
  void note(const io::ResultArray& values, std::int64_t first, std::int64_t end) {
    if (first == end) return;
    const auto take = [&](std::int64_t i, std::byte* value, bool& is_null) {
      const auto size = static_cast<std::size_t>(size_of(operation_.given));
      std::memcpy(value, static_cast<const std::byte*>(values.elements) + static_cast<std::size_t>(i) * size, size);
      is_null = values.valid.is_given() && !values.valid[i];
    };
    if (done_.count == 0) take(first, done_.first, done_.first_is_null);
    take(end - 1, done_.last, done_.last_is_null);
    done_.count += end - first;
  }

  const Common& common_;
  const Operation& operation_;
  const Input& input_;
  ListCalls calls_;
  ListCalls beside_;
  io::ResultWriter* writer_;
  bool packs_;
  std::vector<std::byte> values_;
  std::vector<std::uint8_t> valid_;  // of the values; empty: none is NULL
  Packed packed_;
  Segmented done_;
  std::int64_t inner_lists_ = 0;  // before the current batch: inner lists of lists of lists, otherwise lists
};

void report(const Common& common, const SegmentOptions& options, const Segmented& done, const Work& work,
            const Operation& operation, const io::ResultWriter* writer, io::ResultFormat format) {
  const Type type = operation.given;
  const io::ColumnInfo& meaning = operation.meaning;
  const auto json_of = [&](const std::byte* element, bool is_null) {
    return done.count == 0 || is_null || operation.is_none(element) ? Json() : to_json(element, type, meaning);
  };
  const auto text_of = [&](const std::byte* element, bool is_null) {
    if (is_null) return std::string("NULL");
    return operation.is_none(element) ? "none" : to_text(element, type, meaning);
  };
  if (common.json) {
    Json result{{"count", done.count},
                {"lists", done.lists},
                {"dtype", type_word(type, meaning)},
                {"first", json_of(done.first, done.first_is_null)},
                {"last", json_of(done.last, done.last_is_null)},
                {"rung", work.rung}};
    work.add_times(result);
    result["output"] = options.output ? Json(*options.output) : Json();
    result["files"] = files_json(writer);
    if (is_scaled(type, meaning)) result["scale"] = meaning.scale;
    print_json(result);
    return;
  }
  if (options.output == "-" || (common.quiet && options.output)) return;
  std::string text = fmt::format("lists  {}\ncount  {}\ntype   {}\n", grouped(done.lists), grouped(done.count),
                                 type_text(type, meaning));
  if (done.count > 0) {
    text += fmt::format("first  {}\nlast   {}\n", text_of(done.first, done.first_is_null),
                        text_of(done.last, done.last_is_null));
  }
  text += fmt::format("rung   {}\ntime   {}\n", work.rung, work.time_text());
  if (writer != nullptr) text += files_text(*writer);
  const bool stores_numbers = options.output && !io::is_table(format);
  if (stores_numbers && done.count > 0 && !done.last_is_null && !operation.is_none(done.last)) {
    if (const std::string stored = stored_text(done.last, type, meaning); !stored.empty()) {
      text += fmt::format("scale  the values in {} are {}\n", printable(*options.output), stored);
    }
  }
  print(text);
}

}  // namespace

std::string segment_names() {
  std::array<std::string_view, kReducers.size()> reducers;
  std::transform(kReducers.begin(), kReducers.end(), reducers.begin(), [](Reducer reducer) { return name(reducer); });
  return fmt::format("{}, {}, scan, sort, argsort", operator_names(), fmt::join(reducers, ", "));
}

int run_segment(const Common& common, const SegmentOptions& asked) {
  SegmentOptions options = asked;
  const io::ResultFormat format = settle_output(common, options);
  (void)common.policy();
  const io::Levels most = gives_lists(kind_of(options.op)) ? io::Levels::one : io::Levels::two;
  require_one_standard_input({options.content, options.offsets.value_or("")});
  const Input input = open_input(options, most, common);
  const Operation operation = operation_of(options, input.lists->info());

  // With a file of offsets, .npy has the length of the content and can replace it.
  const bool is_table = options.output && io::is_table(format);
  const bool packs = input.lists->is_nested() || (operation.gives_lists() && (input.is_list_column || is_table));
  std::unique_ptr<io::ResultWriter> writer;
  if (options.output) {
    writer = io::open_results(*options.output, format, packs ? io::Shape::lists : io::Shape::values,
                              {operation.column()}, cell_text(format));
  }
  Segmenter segmenter(common, operation, input, writer.get(), packs);
  Progress progress(common.quiet);
  io::ListBatch batch;
  while (input.lists->next(batch)) {
    segmenter.add(batch);
    progress.count("lists", segmenter.done().lists, input.lists->info().count);
  }
  // A column without lists still runs its rung, so that an unsuitable rung is refused.
  if (segmenter.done().lists == 0 && input.is_list_column) segmenter.add({});
  name_and_report(writer.get(), [&] {
    report(common, options, segmenter.done(), segmenter.work(), operation, writer.get(), format);
  });
  return 0;
}

}  // namespace upsweep::command
