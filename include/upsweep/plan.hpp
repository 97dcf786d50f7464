// SPDX-License-Identifier: Apache-2.0
// upsweep/plan.hpp: typed programs over lists: built once, compiled to a plan, and run over columns in one pass.
//
// A program computes columns from columns: element-wise functions, masks, combinations, products, reductions. A Builder
// records it as values over domains. compile() returns a Plan, which is immutable. run() processes blocks of 1,024
// events on all cores, and keeps the intermediate arrays of a block in the cache. src/plan/README.md specifies each
// operation.
//
// Domain    an index space: the events, the elements of lists, the elements that a mask keeps. Most domains are lists:
//           each element belongs to one element of the parent domain.
// Value     one number per element of a domain, or a scalar (constant, parameter), which has no domain.
// Position  an int32 value that names an element of another domain, counted from the start of the block. Differences of
//           positions are meaningful outside of a block; positions are not.
//
// Equal nodes are one node: a call with the same arguments returns the same handle. Two arrays have the same lists if
// their domains are the same handle.
//
// Missing   values are two values: one of booleans (valid) and one of numbers. The caller combines the masks.
// Errors    Error invalid_argument: the message names the call and its operands. Data errors of run(): malformed
//           offsets (stop_before_start, negative_start, stop_past_end; index() is the list), unequal_lengths (a column
//           is too short), out_of_memory (the lists of one event need more than Limits allows), interrupted. A check()
//           of the program that fails is not an exception: see Result::failure().
// Floats    have the same bits for any number of threads, any block and any instruction set. Lists are summed in order.
// Histogram values are binned while their block is in the cache, and are not stored. The events are divided into at
//           most 256 work units of at least 4,096 events. The numbers of events and bins determine the number of units.
//           Each unit has its own bins, which are added up in the order of the units.
// Memory    of the bins of all units: at most 32 MiB, or one unit if that needs more. A bin needs 8 bytes, or 32 if the
//           histogram has at most 4,096 bins, and with weights 16. A histogram has at most 2^25 bins.
// GPU       One kernel is written and compiled for the plan. A block of threads executes it on up to 128 events, whose
//           arrays are in shared memory. Elementary functions are CUDA's, within a few ulp of those of the CPU. Sums of
//           weights are exact and then rounded. Other results have the same bits as on the CPU. Limits apply to the
//           memory that a block of threads uses for events which do not fit shared memory. Plans with call() are
//           refused (unsupported).
// Threads   run() may be called from several threads at once. Concurrent calls share nothing but the cores.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "upsweep/detail/go_on.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"

namespace upsweep::plan {

/// The types of values. The first ten have the numbers of upsweep::Type.
enum class ElementType : std::uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  boolean,  ///< a byte, 0 or 1
};
inline constexpr int kElementTypes = 11;

/// Returns the name of a type as NumPy spells it: "int32", "float64", "bool".
[[nodiscard]] std::string_view name(ElementType type) noexcept;
[[nodiscard]] std::optional<ElementType> parse_element_type(std::string_view text) noexcept;
[[nodiscard]] int size_of(ElementType type) noexcept;

/// Handles. They are small integers, valid for the Builder that returned them.
enum class Value : std::int32_t {};
enum class Domain : std::int32_t {};

/// A number with its type: a constant, or the argument of a call.
class Scalar {
 public:
  Scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  explicit Scalar(T value) : type_(type_for<T>()) {
    std::memcpy(&bits_, &value, sizeof value);
  }
  /// Returns the number as `type`, converted as C converts it.
  [[nodiscard]] static Scalar of(ElementType type, double number);
  [[nodiscard]] static Scalar of(ElementType type, std::int64_t number);
  [[nodiscard]] static Scalar of(ElementType type, std::uint64_t number);

  [[nodiscard]] ElementType type() const noexcept { return type_; }
  /// The value's bytes, followed by zeros.
  [[nodiscard]] std::uint64_t bits() const noexcept { return bits_; }
  friend bool operator==(const Scalar&, const Scalar&) = default;

 private:
  template <class T>
  static constexpr ElementType type_for() {
    if constexpr (std::same_as<T, bool>) {
      return ElementType::boolean;
    } else if constexpr (std::floating_point<T>) {
      static_assert(sizeof(T) <= 8);
      return sizeof(T) == 4 ? ElementType::float32 : ElementType::float64;
    } else {
      constexpr int kLog = sizeof(T) == 8 ? 3 : static_cast<int>(sizeof(T) / 2);
      return static_cast<ElementType>(kLog + (std::is_signed_v<T> ? 0 : 4));
    }
  }
  ElementType type_ = ElementType::float64;
  std::uint64_t bits_ = 0;
};

/// The element-wise operations. All operands have one type, except where stated. The rules are NumPy's; promotion is
/// the caller's: insert convert().
enum class Op : std::uint8_t {
  // arithmetic, of integers (modulo 2^bits) and floats
  add,
  subtract,
  multiply,
  divide,        ///< floats only
  floor_divide,  ///< rounds down; of integers 0 if the divisor is 0
  remainder,     ///< has the divisor's sign; of integers 0 if the divisor is 0
  fmod,          ///< has the dividend's sign; of integers 0 if the divisor is 0
  power,         ///< of integers modulo 2^bits, and 0 if the exponent is negative
  maximum,       ///< NaN if an operand is NaN
  minimum,
  fmax,  ///< the other operand if one is NaN; floats only
  fmin,
  negative,
  absolute,
  sign,
  // integers and booleans, bit by bit; of booleans the logical operation
  bit_and,
  bit_or,
  bit_xor,
  invert,
  shift_left,   ///< integers only; by a negative distance, or by at least the number of bits: 0
  shift_right,  ///< likewise; of negative integers -1
  // comparisons, of any type: booleans
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  unequal,
  // selection
  where,  ///< (boolean, x, y): x where the boolean is true, otherwise y; x and y of any type
  // floats: booleans
  is_nan,
  is_infinite,
  is_finite,
  sign_bit,
  // floats
  copysign,
  floor,
  ceil,
  trunc,
  rint,
  sqrt,
  cbrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  arcsin,
  arccos,
  arctan,
  sinh,
  cosh,
  tanh,
  arcsinh,
  arccosh,
  arctanh,
  arctan2,
  hypot,
};
inline constexpr int kOps = static_cast<int>(Op::hypot) + 1;

/// Returns the name of an operation, as the enumerator is spelled.
[[nodiscard]] std::string_view name(Op op) noexcept;
[[nodiscard]] std::optional<Op> parse_op(std::string_view text) noexcept;
/// Returns the number of operands: 1, 2 or 3.
[[nodiscard]] int arity(Op op) noexcept;
/// Returns whether the operation is defined for operands of this type (for `where`: for x and y).
[[nodiscard]] bool is_defined(Op op, ElementType type) noexcept;

/// The reductions of lists, with Awkward Array's rules.
enum class Reduction : std::uint8_t {
  sum,      ///< in order; integers and booleans as int64, unsigned as uint64, floats as themselves
  product,  ///< likewise
  any,      ///< booleans; any type: unequal to 0
  all,
  minimum,  ///< ignores NaN; of an empty list infinity, or the maximum of the type
  maximum,
  argmin,  ///< a position: of the first minimum, or of the first element if that is NaN; -1 if the list is empty
  argmax,
};
[[nodiscard]] std::string_view name(Reduction reduction) noexcept;
[[nodiscard]] std::optional<Reduction> parse_reduction(std::string_view text) noexcept;

/// An element-wise function of the caller, with the interface of a loop of a NumPy ufunc.
/// args: the operands, then the result. steps: the bytes from one element to the next; 0 of a scalar.
/// The loop is called on several threads at once. It must not throw, and it must outlive the plan.
struct Loop {
  void (*run)(char** args, const std::intptr_t* n, const std::intptr_t* steps, void* data) = nullptr;
  void* data = nullptr;
  friend bool operator==(const Loop&, const Loop&) = default;
};

/// An axis of a histogram: which bin a value belongs to. The rules are those of boost-histogram. An axis has n bins.
/// The flags say whether it also has a bin below them (underflow) and one above them (overflow). Values without a bin
/// are ignored. NaN belongs to the overflow.
struct Axis {
  enum class Kind : std::uint8_t {
    regular,   ///< n bins of one width: bin floor((x - low) / (high - low) * n); values as float64
    variable,  ///< n + 1 edges: the bin of the last edge that is <= x; values as float64
    integer,   ///< a bin for each integer start … stop - 1; floats are rounded down
    category,  ///< a bin for each of some integers, no underflow; other integers belong to the overflow
  };
  Kind kind = Kind::regular;
  /// Whether there are such bins. Without an overflow, the upper edge of a regular or variable axis belongs to its last
  /// bin.
  bool underflow = true;
  bool overflow = true;
  std::int64_t bins = 0;  ///< regular
  double low = 0;
  double high = 0;                     ///< may be less than `low`
  std::vector<double> edges{};         ///< variable: at least two, finite and ascending
  std::int64_t start = 0, stop = 0;    ///< integer
  std::vector<std::int64_t> values{};  ///< category: different ones, less than 2^63 - 1

  [[nodiscard]] static Axis regular(std::int64_t bins, double low, double high) {
    return {.kind = Kind::regular, .bins = bins, .low = low, .high = high};
  }
  [[nodiscard]] static Axis variable(std::vector<double> edges) {
    return {.kind = Kind::variable, .edges = std::move(edges)};
  }
  [[nodiscard]] static Axis integer(std::int64_t start, std::int64_t stop) {
    return {.kind = Kind::integer, .start = start, .stop = stop};
  }
  [[nodiscard]] static Axis category(std::vector<std::int64_t> values) {
    return {.kind = Kind::category, .underflow = false, .values = std::move(values)};
  }
  /// Returns the axis with both flow bins or without; a category has no underflow in either case.
  [[nodiscard]] Axis with_flow(bool is_there) && {
    underflow = is_there && kind != Kind::category, overflow = is_there;
    return std::move(*this);
  }
  friend bool operator==(const Axis&, const Axis&) = default;
};

/// A bin of a histogram with weights.
struct WeightedBin {
  double sum = 0;      ///< of weights
  double squares = 0;  ///< the sum of the squares of weights
  friend bool operator==(const WeightedBin&, const WeightedBin&) = default;
};

/// An input: an array in host memory, or for a run on a GPU in its memory.
struct Column {
  const void* data = nullptr;
  std::int64_t length = 0;  ///< elements
};

/// The limits of a run.
struct Limits {
  /// The bytes that one worker may allocate for one block. A block with longer lists is divided, down to one event. If
  /// the lists of a single event need more, run() throws out_of_memory.
  std::int64_t worker_bytes = std::int64_t{1} << 30;
};

/// A check() of the program that failed.
struct Failure {
  int message;         ///< the argument of check()
  std::int64_t event;  ///< the first event for which a check fails; of several checks the one recorded first
};

namespace detail {
class Program;
class Compiled;
class Run;
class DeviceRun;
}  // namespace detail

/// The outputs of a run.
class Result {
 public:
  Result(Result&&) noexcept;
  Result& operator=(Result&&) noexcept;
  ~Result();
  /// Returns the check that failed. The outputs are then empty.
  [[nodiscard]] std::optional<Failure> failure() const noexcept;
  [[nodiscard]] int outputs() const noexcept;
  [[nodiscard]] ElementType type(int output) const;
  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size(int output) const;
  /// Copies the elements of an output, in the order of the events, to size(output) elements at `to`. If run() has
  /// written the output to that memory, does nothing.
  void copy(int output, void* to) const;
  template <class T>
  [[nodiscard]] std::vector<T> values(int output) const {
    std::vector<T> out(static_cast<std::size_t>(size(output)));
    copy(output, out.data());
    return out;
  }
  /// Returns the memory of size(output) elements, which the caller frees by std::free(). The output is then empty.
  /// Returns null if the output must be copied: unless it has at least 1 MiB and the run used one thread.
  [[nodiscard]] void* release(int output);
  /// Copies the bins of a histogram without weights, in C order: the product of Plan::shape(). Throws
  /// invalid_argument if a check has failed.
  void copy_counts(int histogram, std::int64_t* to) const;
  /// Copies the bins of a histogram with weights, in C order. Throws invalid_argument if a check has failed.
  void copy_sums(int histogram, WeightedBin* to) const;

 private:
  friend class Plan;
  explicit Result(std::unique_ptr<detail::Run> run) noexcept;
  std::unique_ptr<detail::Run> run_;
};

/// The outputs of a run on a GPU, in its memory. The stream and the memory resource of the run must outlive them.
class DeviceResult {
 public:
  DeviceResult(DeviceResult&&) noexcept;
  DeviceResult& operator=(DeviceResult&&) noexcept;
  ~DeviceResult();
  /// Returns the check that failed. The outputs are then empty.
  [[nodiscard]] std::optional<Failure> failure() const noexcept;
  [[nodiscard]] int outputs() const noexcept;
  [[nodiscard]] ElementType type(int output) const;
  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size(int output) const;
  /// Returns the elements of an output in device memory, which lives as long as the result; null if there are none.
  [[nodiscard]] const void* data(int output) const;
  /// Copies the elements of an output to memory of the host or of the device, and waits for them.
  void copy(int output, void* to) const;
  /// As Result::copy_counts(): to host memory.
  void copy_counts(int histogram, std::int64_t* to) const;
  /// As Result::copy_sums(): to host memory. The sums are exact and then rounded.
  void copy_sums(int histogram, WeightedBin* to) const;

 private:
  friend class Plan;
  explicit DeviceResult(std::unique_ptr<detail::DeviceRun> run) noexcept;
  std::unique_ptr<detail::DeviceRun> run_;
};

/// A compiled program. Copies share it.
class Plan {
 public:
  /// Runs the plan over `events` events. `columns` and `parameters` are those that the program names by index. Columns
  /// that the plan does not read may be null. `outputs` is empty, or names memory for each output, which may be null.
  /// Outputs whose sizes are known before the run are written to that memory. It must outlive the result.
  [[nodiscard]] Result run(const Policy& policy, std::span<const Column> columns, std::span<const Scalar> parameters,
                           std::int64_t events, const Limits& limits = {}, const upsweep::detail::GoOn& go_on = {},
                           std::span<void* const> outputs = {}) const;
  [[nodiscard]] Result run(std::span<const Column> columns, std::span<const Scalar> parameters,
                           std::int64_t events) const {
    return run(par, columns, parameters, events);
  }

  /// Runs the plan on a GPU. `columns` are in its memory. Waits for the stream, and for the result. The first run on a
  /// device compiles the plan, and finds out from some of the events how long the lists are. All memory is allocated
  /// from the policy's `memory`, which must outlive the result; its `workspace` is not used. Throws also not_built,
  /// no_device, device_failed, device_memory, and unsupported for Overflow::checked. A histogram with weights of more
  /// than 2^30 bytes of exact sums is also unsupported.
  [[nodiscard]] DeviceResult run(const gpu::Policy& policy, std::span<const Column> columns,
                                 std::span<const Scalar> parameters, std::int64_t events,
                                 const Limits& limits = {}) const;

  /// Returns the number of elements of each output of a run, or -1 if it is not known before the run. It is known of
  /// values over events, list and regular, and of offsets of lists over events. Malformed offsets may have any number.
  [[nodiscard]] std::vector<std::int64_t> sizes(std::span<const Column> columns, std::int64_t events) const;
  /// Returns the indices of the columns that the plan reads, in ascending order.
  [[nodiscard]] std::span<const int> columns() const noexcept;
  [[nodiscard]] int outputs() const noexcept;
  [[nodiscard]] ElementType type(int output) const;
  [[nodiscard]] int histograms() const noexcept;
  /// Returns the number of bins of each axis of a histogram, flow bins included.
  [[nodiscard]] std::span<const std::int64_t> shape(int histogram) const;
  [[nodiscard]] bool has_weights(int histogram) const;
  /// Returns the number of instructions.
  [[nodiscard]] int instructions() const noexcept;
  /// Returns the instructions, one a line.
  [[nodiscard]] std::string to_text() const;
  /// Returns the CUDA C++ code of the kernel for GPUs. Throws unsupported as run() does.
  [[nodiscard]] std::string to_cuda() const;

 private:
  friend class Builder;
  explicit Plan(std::shared_ptr<const detail::Compiled> code) noexcept : code_(std::move(code)) {}
  std::shared_ptr<const detail::Compiled> code_;
};

/// Records a program.
class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  // ---- domains

  /// Returns the domain of the events.
  [[nodiscard]] Domain events();
  /// Returns the elements of input lists. List i of `parent` is elements offsets[i] … offsets[i + 1] - 1, where
  /// `column` holds the offsets: one more than `parent` has elements, of int32, uint32 or int64; the first need not be
  /// 0. `parent` is events() or a domain of list() or regular().
  [[nodiscard]] Domain list(Domain parent, int column, ElementType offsets = ElementType::int64);
  /// Returns `size` elements for each element of `parent`, which may be any domain.
  [[nodiscard]] Domain regular(Domain parent, std::int64_t size);
  /// Returns the elements of `domain` for which `mask` is true. Its parent is that of `domain`.
  [[nodiscard]] Domain filter(Domain domain, Value mask);
  /// Returns lists of `lists` by position: `index` holds positions of parent(lists). The domain of `index` is the
  /// parent. A position out of range is safe, but the list is unspecified.
  [[nodiscard]] Domain gather(Domain lists, Value index);
  /// Returns the choices of k elements of each list, 1 to 8, in lexicographic order.
  [[nodiscard]] Domain combinations(Domain lists, int k, bool replacement = false);
  /// Returns the pairs of an element of `a` and one of `b`, two domains of one parent. Nested: the parent is `a`.
  [[nodiscard]] Domain product(Domain a, Domain b, bool nested);
  /// Returns the elements of lists of one parent, one after the other.
  [[nodiscard]] Domain concatenation(std::span<const Domain> lists);
  /// Returns each list extended to at least `length` elements. The position of an added element is -1.
  [[nodiscard]] Domain pad(Domain lists, std::int64_t length);
  /// Returns the same elements as lists of the parent's parent. Values over `lists` are values over the result.
  [[nodiscard]] Domain flatten(Domain lists);
  /// Returns the parent; nothing for the events, and for a filter of them.
  [[nodiscard]] std::optional<Domain> parent(Domain domain) const;
  /// Returns whether values over one of the domains are values over the other one.
  [[nodiscard]] bool same_elements(Domain a, Domain b) const;

  // ---- values

  /// Returns an input over events(), or over a domain of list() or regular(). It holds the elements of all events.
  [[nodiscard]] Value column(int column, ElementType type, Domain domain);
  [[nodiscard]] Value constant(Scalar number);
  /// Returns a scalar that is an argument of each run.
  [[nodiscard]] Value parameter(int index, ElementType type);
  /// Returns op(args…). Scalars apply to every element; the result of scalars is a scalar.
  [[nodiscard]] Value map(Op op, std::span<const Value> args);
  [[nodiscard]] Value map(Op op, std::initializer_list<Value> args) {
    return map(op, std::span(args.begin(), args.size()));
  }
  /// Returns loop(args…) as `type`, of one to three operands of any types. Equal arguments must give equal results.
  [[nodiscard]] Value call(const Loop& loop, std::span<const Value> args, ElementType type);
  [[nodiscard]] Value call(const Loop& loop, std::initializer_list<Value> args, ElementType type) {
    return call(loop, std::span(args.begin(), args.size()), type);
  }
  /// Returns x as `type`. Floats are rounded towards 0; a float that does not fit an integer type yields its minimum,
  /// or of unsigned types 0. Booleans become 0 and 1; x becomes the boolean x != 0.
  [[nodiscard]] Value convert(Value x, ElementType type);
  /// Returns a scalar as one value per element of `domain`.
  [[nodiscard]] Value fill(Value scalar, Domain domain);
  /// Returns the elements of x at positions `index`, over the domain of `index`. A position out of range is safe, but
  /// the value is unspecified: the caller masks it.
  [[nodiscard]] Value take(Value x, Value index);
  /// Returns elements of a whole column by number, over the domain of `index`, an integer of any type. A number out of
  /// range reads the nearest element, and 0 if there is none.
  [[nodiscard]] Value lookup(int column, ElementType type, Value index);
  /// Returns for each x the number of elements of a whole ascending column that are less (right: less or equal), as
  /// int64. That is numpy.searchsorted. NaN is greater than every number.
  [[nodiscard]] Value search(int column, Value x, bool right);
  /// Returns for each element its own position.
  [[nodiscard]] Value positions(Domain domain);
  /// Returns the numbers of elements of `domain` at positions `index`, counted from the beginning of its columns, int64
  /// over the domain of `index`. `domain` is events, list or regular. The number of a negative position is -1.
  [[nodiscard]] Value numbers(Value index, Domain domain);
  /// Returns for each element the position of its parent.
  [[nodiscard]] Value parents(Domain lists);
  /// Returns for each list the position of its first element, over the parent.
  [[nodiscard]] Value starts(Domain lists);
  /// Returns for each list its number of elements as int32, over the parent.
  [[nodiscard]] Value counts(Domain lists);
  /// Returns for each element the position of the element that it stems from. filter, gather, pad: `which` is 0.
  /// combinations: 0 to k - 1. product: 0 for a, 1 for b.
  [[nodiscard]] Value source(Domain domain, int which = 0);
  /// Returns the values over a concatenation: one value for each of its parts, of one type, or a scalar.
  [[nodiscard]] Value concatenate(Domain concatenation, std::span<const Value> parts);
  /// Returns the reduction of each list, over the parent. x may be a scalar.
  [[nodiscard]] Value reduce(Reduction reduction, Value x, Domain lists);
  /// Returns the positions that sort each list of x, stable; over `lists`. NaN comes first in either order.
  [[nodiscard]] Value argsort(Value x, Domain lists, bool ascending);

  [[nodiscard]] ElementType type(Value value) const;
  /// Returns the domain; nothing for a scalar.
  [[nodiscard]] std::optional<Domain> domain(Value value) const;

  // ---- effects

  /// Adds an output: the values of all blocks. Returns its index.
  int output(Value value);
  /// Adds an output of int64: the offsets of the lists, from 0, one more than the parent has elements.
  int output_offsets(Domain lists);
  /// Adds a histogram. Axis i bins the values `values[i]`, all over one domain. Scalars apply to every element. With a
  /// weight, which is converted to float64, each bin adds up weights and their squares, in order within a work unit;
  /// otherwise it counts. Returns the index of the histogram, which is not an output.
  int histogram(std::span<const Value> values, std::span<const Axis> axes, std::optional<Value> weight = {});
  /// Adds a check: the run fails with `message` if an element of `mask` is false.
  void check(Value mask, int message);

  // ---- the program

  /// Throws if columns or parameters are used with two types or domains, or if the program has no output, histogram or
  /// check.
  void verify() const;
  /// Returns the program, one node a line.
  [[nodiscard]] std::string to_text() const;
  /// Verifies and compiles the program. The Builder may be used further.
  [[nodiscard]] Plan compile() const;

 private:
  std::unique_ptr<detail::Program> program_;
};

}  // namespace upsweep::plan
